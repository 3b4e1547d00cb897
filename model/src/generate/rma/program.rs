//! coreRMA programs without names and values: which statement accesses which location.
//!
//! As in [`super::super::shape`], the rest follows. Locations begin with different values, local writes write
//! different values, and every local read has a register of its own (Dan, Lam, Hoefler, Vechev, OOPSLA 2016,
//! §6.1). All accesses are atomic.

use lang::litmus::ast::build::{self, Column, access, call, number};
use lang::litmus::ast::{self, Expr, File, HeaderKind, HeaderLine, Value, Via};
use lang::litmus::methods::Method;
use lang::{Dialect, Test};
use skeleton::Stamp;

use crate::generate::naming::pick;
use crate::generate::program::checked;

/// The number of a location in its program, from 0.
pub type Location = u8;

/// A statement. The target process of a remote access is the home of the location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(
    missing_docs,
    reason = "the fields are places; what they are for is said with each statement"
)]
pub enum Statement {
    /// `a = X`
    Read { at: Location },
    /// `X = v`
    Write { at: Location },
    /// `flush(p)`; processes count from 0
    Flush { process: u8 },
    /// `put(Z^p, X)`
    Put { to: Location, from: Location },
    /// `X = get(Z^p)`
    Get { into: Location, from: Location },
    /// `X = rga(Z^p, Y)`
    Rga { into: Location, at: Location, addend: Location },
    /// `X = cas(Z^p, Y, W)`
    Cas { into: Location, at: Location, expected: Location, desired: Location },
}

/// The access of an action to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// The location.
    pub at: Location,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
}

impl Statement {
    /// The actions that access memory, in program order (Table 3). A flush has one action, which accesses
    /// none.
    pub fn actions(self) -> impl Iterator<Item = Action> {
        let read = |at| Some(Action { at, reads: true, writes: false });
        let write = |at| Some(Action { at, reads: false, writes: true });
        let both = |at| Some(Action { at, reads: true, writes: true });
        let actions = match self {
            Self::Read { at } => [read(at), None, None, None],
            Self::Write { at } => [write(at), None, None, None],
            Self::Flush { .. } => [None; 4],
            Self::Put { to, from } => [read(from), write(to), None, None],
            Self::Get { into, from } => [read(from), write(into), None, None],
            Self::Rga { into, at, addend } => [read(addend), both(at), write(into), None],
            Self::Cas { into, at, expected, desired } => {
                [read(expected), read(desired), both(at), write(into)]
            }
        };
        actions.into_iter().flatten()
    }

    /// The kinds of its actions (Table 3).
    pub fn stamps(self) -> &'static [Stamp] {
        match self {
            Self::Read { .. } => &[Stamp::CpuRead],
            Self::Write { .. } => &[Stamp::CpuWrite],
            Self::Flush { .. } => &[Stamp::Flush],
            Self::Put { .. } => &[Stamp::NicLocalRead, Stamp::NicRemoteWrite],
            Self::Get { .. } => &[Stamp::NicRemoteRead, Stamp::NicLocalWrite],
            Self::Rga { .. } => &[Stamp::NicLocalRead, Stamp::NicFetchOp, Stamp::NicLocalWrite],
            Self::Cas { .. } => &[Stamp::NicLocalRead, Stamp::NicCompareSwap, Stamp::NicLocalWrite],
        }
    }

    /// The number of actions.
    pub fn size(self) -> usize {
        self.actions().count().max(1)
    }

    /// The location of the remote access, for remote statements.
    pub fn target(self) -> Option<Location> {
        match self {
            Self::Read { .. } | Self::Write { .. } | Self::Flush { .. } => None,
            Self::Put { to, .. } => Some(to),
            Self::Get { from, .. } => Some(from),
            Self::Rga { at, .. } | Self::Cas { at, .. } => Some(at),
        }
    }

    /// The word for the statement in names of tests.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read { .. } => "r",
            Self::Write { .. } => "w",
            Self::Flush { .. } => "flush",
            Self::Put { .. } => "put",
            Self::Get { .. } => "get",
            Self::Rga { .. } => "rga",
            Self::Cas { .. } => "cas",
        }
    }

    fn renamed(
        self,
        mut place: impl FnMut(Location) -> Location,
        process: impl Fn(u8) -> u8,
    ) -> Self {
        match self {
            Self::Read { at } => Self::Read { at: place(at) },
            Self::Write { at } => Self::Write { at: place(at) },
            Self::Flush { process: to } => Self::Flush { process: process(to) },
            Self::Put { to, from } => Self::Put { to: place(to), from: place(from) },
            Self::Get { into, from } => Self::Get { into: place(into), from: place(from) },
            Self::Rga { into, at, addend } => {
                Self::Rga { into: place(into), at: place(at), addend: place(addend) }
            }
            Self::Cas { into, at, expected, desired } => Self::Cas {
                into: place(into),
                at: place(at),
                expected: place(expected),
                desired: place(desired),
            },
        }
    }
}

/// A program. Locations are numbered in the order in which the text first names them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Program {
    /// The statements of each process.
    pub processes: Vec<Vec<Statement>>,
    /// The home process of each location.
    pub homes: Vec<u8>,
}

const PLACES: [&str; 12] = ["X", "Y", "Z", "W", "U", "V", "S", "T", "P", "Q", "R", "O"];

fn place_name(place: Location) -> String {
    pick(&PLACES, usize::from(place))
}

fn register_name(index: usize) -> String {
    const LETTERS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    pick(&LETTERS, index)
}

impl Program {
    /// The number of actions, including initial writes. The paper's bounds count this size.
    pub fn size(&self) -> usize {
        let statements = self.processes.iter().flatten();
        self.homes.len() + statements.map(|statement| statement.size()).sum::<usize>()
    }

    /// All statements with their process, in order.
    pub fn statements(&self) -> impl Iterator<Item = (usize, Statement)> + '_ {
        let of = |(process, body): (usize, &'_ Vec<Statement>)| {
            body.clone().into_iter().map(move |statement| (process, statement))
        };
        self.processes.iter().enumerate().flat_map(of)
    }

    /// The initial value of a location.
    pub fn initial(&self, place: Location) -> u64 {
        u64::from(place)
    }

    /// The value that a local write writes; `index` counts the local writes.
    pub fn written(&self, index: usize) -> u64 {
        (self.homes.len() + index) as u64
    }

    /// The same program in canonical form: locations are numbered by first use, and the smaller order of the
    /// processes is chosen.
    pub fn canonical(&self) -> Self {
        let mut best = self.renumbered(false);
        if self.processes.len() == 2 {
            best = best.min(self.renumbered(true));
        }
        best
    }

    fn renumbered(&self, swapped: bool) -> Self {
        let mut order: Vec<usize> = (0..self.processes.len()).collect();
        if swapped {
            order.reverse();
        }
        let process = |old: u8| if swapped { 1 - old } else { old };
        let mut names: Vec<Option<Location>> = vec![None; self.homes.len()];
        let mut homes = Vec::new();
        let mut place = |old: Location| {
            *names[usize::from(old)].get_or_insert_with(|| {
                homes.push(process(self.homes[usize::from(old)]));
                homes.len() as Location - 1
            })
        };
        let bodies = order.iter().map(|index| {
            let body = self.processes[*index].iter();
            body.map(|statement| statement.renamed(&mut place, process)).collect()
        });
        let processes = bodies.collect();
        Self { processes, homes }
    }

    /// The program as a test. It observes its registers, in order.
    pub fn test(&self) -> Test {
        checked(self.tree(), &self.registers())
    }

    /// The program as the language's tree.
    pub fn tree(&self) -> File {
        let place = ast::Place::default();
        let declare = |at: usize| {
            build::location(&place_name(at as Location), self.initial(at as Location), place)
        };
        let (mut registers, mut writes) = (0, 0);
        let mut line =
            |statement: &Statement| self.statement(*statement, &mut registers, &mut writes);
        let processes = self.processes.iter().enumerate();
        let columns = processes.map(|(process, body)| {
            let own = (0..self.homes.len()).filter(|at| usize::from(self.homes[*at]) == process);
            Column {
                node: process as u32 + 1,
                declarations: own.map(declare).collect(),
                statements: body.iter().map(&mut line).collect(),
            }
        });
        let header = vec![HeaderLine { kind: HeaderKind::Dialect(Dialect::CoreRma), place }];
        File { header, ..build::columns(columns.collect()) }
    }

    /// For each place, the number of its location in the test, where locations are numbered by column.
    pub fn locations(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.homes.len()).collect();
        places.sort_by_key(|place| self.homes[*place]);
        let mut locations = vec![0; places.len()];
        for (location, place) in places.into_iter().enumerate() {
            locations[place] = location;
        }
        locations
    }

    /// A statement; `registers` and `writes` count those before it.
    fn statement(
        &self,
        statement: Statement,
        registers: &mut usize,
        writes: &mut usize,
    ) -> ast::Statement {
        let place = ast::Place::default();
        let own = |at: Location| access(&place_name(at), None, place);
        let far = |at: Location| {
            let home = u64::from(self.homes[usize::from(at)]) + 1;
            Expr::from(access(&place_name(at), Some(home), place))
        };
        let plain = |target, value: Value| build::assign(target, Via::Plain, value);
        let next = |count: &mut usize| std::mem::replace(count, *count + 1);
        match statement {
            Statement::Read { at } => {
                let register = access(&register_name(next(registers)), None, place);
                plain(register, Expr::from(own(at)).into())
            }
            Statement::Write { at } => {
                plain(own(at), number(self.written(next(writes)), place).into())
            }
            Statement::Flush { process } => {
                let process = number(u64::from(process) + 1, place);
                build::statement(call(Method::RmaFlush, [process], place))
            }
            Statement::Put { to, from } => {
                build::statement(call(Method::RmaPut, [far(to), own(from).into()], place))
            }
            Statement::Get { into, from } => {
                plain(own(into), call(Method::RmaGet, [far(from)], place).into())
            }
            Statement::Rga { into, at, addend } => {
                plain(own(into), call(Method::RmaRga, [far(at), own(addend).into()], place).into())
            }
            Statement::Cas { into, at, expected, desired } => {
                let arguments = [far(at), own(expected).into(), own(desired).into()];
                plain(own(into), call(Method::RmaCas, arguments, place).into())
            }
        }
    }

    /// The names of the registers, in order.
    pub fn registers(&self) -> Vec<String> {
        let reads = self.statements().filter(|(_, one)| matches!(one, Statement::Read { .. }));
        (0..reads.count()).map(register_name).collect()
    }

    /// The name of the test in the style of diy: what each process does.
    pub fn name(&self) -> String {
        let words = |body: &Vec<Statement>| -> String {
            body.iter().map(|statement| statement.word()).collect::<Vec<_>>().join("-")
        };
        self.processes.iter().map(words).collect::<Vec<_>>().join("+")
    }
}
