//! Enumerates every coreRMA program up to a size in which local reads can see all writes.

use lang::limits;

use super::program::{Location, Program, Statement};

/// The maximum size of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The number of processes, 1 or 2. Each does something.
    pub processes: usize,
    /// The most actions, including the initial writes of locations.
    pub size: usize,
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { processes, size } = self;
        let plural = if *processes == 1 { "" } else { "es" };
        write!(f, "{processes} process{plural}, {size} actions")
    }
}

/// Calls `each` with every program within the bounds, up to the names of locations and the order of
/// processes. At a location's home process, a program has at least as many local reads of the location as it
/// has writers. So every writer's value can be seen by a local read of its own (Dan, Lam, Hoefler, Vechev,
/// OOPSLA 2016, §6.1).
pub fn programs(bounds: Bounds, each: &mut impl FnMut(Program)) {
    let program = Program { processes: vec![Vec::new()], homes: Vec::new() };
    let mut growing = Growing { bounds, program, used: 0, unseen: Vec::new(), each };
    growing.grow();
}

/// A program under construction: the last process is not complete.
struct Growing<'a, F> {
    bounds: Bounds,
    program: Program,
    /// The number of actions so far.
    used: usize,
    /// For each location, the number of its writers minus the number of its local reads.
    unseen: Vec<i8>,
    each: &'a mut F,
}

impl<F: FnMut(Program)> Growing<'_, F> {
    fn process(&self) -> u8 {
        self.program.processes.len() as u8 - 1
    }

    /// The number of reads that are still needed.
    fn missing(&self) -> usize {
        self.unseen.iter().map(|unseen| usize::try_from(*unseen).unwrap_or(0)).sum()
    }

    fn grow(&mut self) {
        limits::look();
        if self.program.processes.last().is_some_and(|body| !body.is_empty()) {
            self.end_process();
        }
        for target in 0..self.bounds.processes as u8 {
            self.with(Statement::Flush { process: target });
        }
        // A read may be one of those that `missing` counts already.
        self.local(0, 0, &mut |this, at| {
            this.with(Statement::Read { at });
            this.with(Statement::Write { at });
        });
        self.local(2, 1, &mut |this, local| {
            this.any(2, 1, &mut |this, remote| {
                this.with(Statement::Put { to: remote, from: local });
                this.with(Statement::Get { into: local, from: remote });
                this.local(3, 2, &mut |this, addend| {
                    this.with(Statement::Rga { into: local, at: remote, addend });
                    this.local(4, 2, &mut |this, desired| {
                        this.with(Statement::Cas {
                            into: local,
                            at: remote,
                            expected: addend,
                            desired,
                        });
                    });
                });
            });
        });
    }

    /// Whether a statement with `actions` actions and `writes` writes may fit, together with the reads that
    /// its writes need.
    fn fits(&self, actions: usize, writes: usize) -> bool {
        let surplus = self.unseen.iter().map(|unseen| usize::from(unseen.min(&0).unsigned_abs()));
        let reads = writes.saturating_sub(surplus.sum());
        self.used + self.missing() + actions + reads <= self.bounds.size
    }

    fn end_process(&mut self) {
        let process = self.process();
        // The locations of this process are read in this process.
        let is_seen =
            |(at, unseen): (usize, &i8)| self.program.homes[at] != process || *unseen <= 0;
        if !self.unseen.iter().enumerate().all(is_seen) {
            return;
        }
        if usize::from(process) + 1 < self.bounds.processes {
            self.program.processes.push(Vec::new());
            self.grow();
            self.program.processes.pop();
        } else if self.missing() == 0
            && !has_idle(&self.program)
            && self.program == self.program.canonical()
        {
            (self.each)(self.program.clone());
        }
    }

    /// Calls `then` with each location of this process, known or new, if a statement of this size may fit.
    fn local(&mut self, actions: usize, writes: usize, then: &mut dyn FnMut(&mut Self, Location)) {
        if !self.fits(actions, writes) {
            return;
        }
        let process = self.process();
        for at in 0..self.program.homes.len() {
            if self.program.homes[at] == process {
                then(self, at as Location);
            }
        }
        if self.fits(actions + 1, writes) {
            self.new_place(process, then);
        }
    }

    /// Like [`Self::local`], with the locations of any process.
    fn any(&mut self, actions: usize, writes: usize, then: &mut dyn FnMut(&mut Self, Location)) {
        if !self.fits(actions, writes) {
            return;
        }
        for at in 0..self.program.homes.len() {
            then(self, at as Location);
        }
        for home in 0..self.bounds.processes as u8 {
            if self.fits(actions + 1, writes) {
                self.new_place(home, then);
            }
        }
    }

    fn new_place(&mut self, home: u8, then: &mut dyn FnMut(&mut Self, Location)) {
        self.used += 1;
        self.program.homes.push(home);
        self.unseen.push(0);
        then(self, self.program.homes.len() as Location - 1);
        self.unseen.pop();
        self.program.homes.pop();
        self.used -= 1;
    }

    fn with(&mut self, statement: Statement) {
        let size = statement.size();
        let change = |this: &mut Self, by: i8| {
            if let Statement::Read { at } = statement {
                this.unseen[usize::from(at)] -= by;
            } else {
                let writers = statement.actions().filter(|action| action.writes);
                writers.for_each(|action| this.unseen[usize::from(action.at)] += by);
            }
        };
        change(self, 1);
        self.used += size;
        let process = self.process();
        // No later process could read the locations of earlier ones.
        let is_late = |(at, unseen): (usize, &i8)| self.program.homes[at] < process && *unseen > 0;
        if self.used + self.missing() <= self.bounds.size
            && !self.unseen.iter().enumerate().any(is_late)
            && let Some(body) = self.program.processes.last_mut()
        {
            body.push(statement);
            self.grow();
            if let Some(body) = self.program.processes.last_mut() {
                body.pop();
            }
        }
        self.used -= size;
        change(self, -1);
    }
}

/// Whether the program has a statement without effect: a local read of a location that nobody writes, or a
/// flush without an access to its process since the last flush. The first flush may instead have an access
/// before the next flush.
fn has_idle(program: &Program) -> bool {
    let is_written = |place: Location| {
        let actions = program.statements().flat_map(|(_, statement)| statement.actions());
        actions.filter(|action| action.writes).any(|action| action.at == place)
    };
    let goes_to = |statement: &Statement, process: u8| {
        statement.target().is_some_and(|place| program.homes[usize::from(place)] == process)
    };
    program.processes.iter().any(|body| {
        body.iter().enumerate().any(|(index, statement)| match *statement {
            Statement::Read { at } => !is_written(at),
            Statement::Flush { process } => {
                let (before, after) = (&body[..index], &body[index + 1..]);
                let is_other = |other: &&Statement| *other != statement;
                let goes_there = |other: &Statement| goes_to(other, process);
                let orders_before = before.iter().rev().take_while(is_other).any(goes_there);
                let orders_after = after.iter().take_while(is_other).any(goes_there);
                !orders_before && (before.contains(statement) || !orders_after)
            }
            _ => false,
        })
    })
}
