//! Random coreRMA programs, and their text.

use std::fmt;

/// A location by its number, and whether the access is atomic.
pub type Access = (usize, bool);

/// A straight-line program.
#[derive(Clone, Debug)]
pub struct Program {
    pub locations: Vec<Location>,
    pub processes: Vec<Vec<Statement>>,
    /// How many registers there are; each is read into once.
    pub registers: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// From 0.
    pub home: usize,
    pub initial: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    Read(usize, Access),
    /// A register, if any, plus a constant.
    Write(Access, Option<usize>, u64),
    Put(Access, Access),
    Get(Access, Access),
    Rga(Access, Access, Access),
    Cas(Access, Access, Access, Access),
    Flush(usize),
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |(x, atomic): &Access| format!("X{x}{}", if *atomic { "" } else { ".n" });
        let far =
            |access: &Access| format!("{}^{}", name(access), self.locations[access.0].home + 1);
        writeln!(f, "litmus random\ndialect corerma\n")?;
        let declared: Vec<String> = (0..self.processes.len())
            .map(|process| {
                let own = self.locations.iter().enumerate().filter(|(_, x)| x.home == process);
                own.map(|(id, x)| format!("X{id} = {}", x.initial)).collect::<Vec<_>>().join(", ")
            })
            .collect();
        writeln!(f, "  {}\n  ----", declared.join(" || "))?;
        let rows = self.processes.iter().map(Vec::len).max().unwrap_or_default();
        for row in 0..rows.max(1) {
            let cells: Vec<String> = self
                .processes
                .iter()
                .map(|body| match body.get(row) {
                    None => String::new(),
                    Some(Statement::Read(r, x)) => format!("r{r} = {}", name(x)),
                    Some(Statement::Write(x, None, value)) => format!("{} = {value}", name(x)),
                    Some(Statement::Write(x, Some(r), value)) => {
                        format!("{} = r{r} + {value}", name(x))
                    }
                    Some(Statement::Put(z, x)) => format!("put({}, {})", far(z), name(x)),
                    Some(Statement::Get(x, z)) => format!("{} = get({})", name(x), far(z)),
                    Some(Statement::Rga(x, z, y)) => {
                        format!("{} = rga({}, {})", name(x), far(z), name(y))
                    }
                    Some(Statement::Cas(x, z, y, w)) => {
                        format!("{} = cas({}, {}, {})", name(x), far(z), name(y), name(w))
                    }
                    Some(Statement::Flush(process)) => format!("flush({})", process + 1),
                })
                .collect();
            writeln!(f, "  {}", cells.join(" || "))?;
        }
        let registers = (0..self.registers).map(|r| format!("r{r}"));
        let locations = (0..self.locations.len()).map(|x| format!("X{x}"));
        writeln!(f, "\n  observe {}", registers.chain(locations).collect::<Vec<_>>().join(", "))
    }
}

/// splitmix64
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }
}

/// The program of a seed: 1 to 3 processes, at most seven statements. One in two has non-atomic accesses.
pub fn generate(seed: u64) -> Program {
    let mut random = Random(seed);
    let processes = [1, 2, 2, 2, 2, 3][random.below(6)];
    let mut locations = Vec::new();
    for home in 0..processes {
        for _ in 0..1 + random.below(2) {
            locations.push(Location { home, initial: random.below(2) as u64 });
        }
    }
    let mixed = random.below(2) == 0;
    let mut program = Program { locations, processes: vec![Vec::new(); processes], registers: 0 };
    for _ in 0..3 + random.below(5) {
        let process = random.below(processes);
        let statement = statement(&mut random, &mut program, process, mixed);
        program.processes[process].push(statement);
    }
    program
}

fn statement(random: &mut Random, program: &mut Program, process: usize, mixed: bool) -> Statement {
    let own: Vec<usize> =
        (0..program.locations.len()).filter(|x| program.locations[*x].home == process).collect();
    // One remote statement in five goes to its own process.
    let loopback = random.below(5) == 0 || program.processes.len() == 1;
    let far: Vec<usize> = (0..program.locations.len())
        .filter(|x| (program.locations[*x].home == process) == loopback)
        .collect();
    let pick = |from: &[usize], random: &mut Random| {
        (from[random.below(from.len())], !(mixed && random.below(3) == 0))
    };
    let x = pick(&own, random);
    let z = pick(&far, random);
    let y = pick(&own, random);
    let w = pick(&own, random);
    let registers: Vec<usize> = program.processes[process]
        .iter()
        .filter_map(|s| if let Statement::Read(r, _) = s { Some(*r) } else { None })
        .collect();
    match random.below(16) {
        0..=3 => {
            program.registers += 1;
            Statement::Read(program.registers - 1, x)
        }
        4..=5 => {
            let register = registers.last().copied().filter(|_| random.below(2) == 0);
            Statement::Write(x, register, 1 + random.below(3) as u64)
        }
        6..=8 => Statement::Put(z, x),
        9..=11 => Statement::Get(x, z),
        12 => Statement::Rga(x, z, y),
        13 => Statement::Cas(x, z, y, w),
        _ => Statement::Flush(program.locations[z.0].home),
    }
}

/// A smallest program of which something is still so: statements are left out one at a time.
pub fn shrink(program: &Program, still: impl Fn(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    'again: loop {
        for process in 0..smallest.processes.len() {
            for at in 0..smallest.processes[process].len() {
                let mut smaller = smallest.clone();
                let gone = smaller.processes[process].remove(at);
                if let Statement::Read(register, _) = gone {
                    forget(&mut smaller, register);
                }
                if still(&smaller) {
                    smallest = smaller;
                    continue 'again;
                }
            }
        }
        return smallest;
    }
}

/// Takes a register out, and numbers the others anew.
fn forget(program: &mut Program, gone: usize) {
    program.registers -= 1;
    for statement in program.processes.iter_mut().flatten() {
        match statement {
            Statement::Read(register, _) if *register > gone => *register -= 1,
            Statement::Write(_, used, _) => {
                *used = used.filter(|register| *register != gone);
                *used = used.map(|register| if register > gone { register - 1 } else { register });
            }
            _ => {}
        }
    }
}
