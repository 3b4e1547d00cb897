//! Additions under switches: one program that is each of many.

use lang::litmus::ast::build::{access, assign, binary, named, number};
use lang::litmus::ast::{Block, Expr, File, Place, Statement, StatementKind, Via};
use lang::program::BinaryOp;

use super::candidates::{Flow, flow};
use super::{Edit, What, apply};

/// A register that is 1 iff an addition is made.
#[derive(Clone, Debug)]
pub struct Switch {
    register: String,
    /// The register that counts what additions have polled before, if a flush has fewer polls then.
    polled: Option<String>,
}

/// The file with some changes made, and with additions of which each has a switch. Returns the registers of
/// the switches too. `None` if the changes do not go together, or if there are loops: a flush in a loop
/// would count what the round before has polled.
pub fn switched(
    file: &File,
    edits: &[Edit],
    made: impl Fn(usize) -> bool,
    additions: &[usize],
    fresh: impl Fn(&str) -> String,
) -> Option<(File, Vec<String>)> {
    if file.threads.iter().any(|thread| flow(&thread.body) == Flow::Loops) {
        return None;
    }
    let is_flush = |index: &usize| edits[*index].polls().is_some();
    let counts = additions.iter().any(is_flush);
    let mut registers = Vec::new();
    let mut chosen: Vec<Edit> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let mut edit = edit.clone();
        if additions.contains(&index) {
            let register = fresh(&format!("switch{index}"));
            let polled = edit.polls_on().filter(|_| counts).map(|(thread, on)| {
                let path: String =
                    edit.site.path.iter().map(|(at, block)| format!("{at}_{block}_")).collect();
                fresh(&format!("polled{thread}_{path}{}_{}", on.node, on.queue_pair))
            });
            registers.push(register.clone());
            edit.switch = Some(Switch { register, polled });
        } else if !made(index) {
            continue;
        }
        chosen.push(edit);
    }
    let chosen: Vec<&Edit> = chosen.iter().collect();
    Some((apply(file, &chosen)?, registers))
}

impl Switch {
    /// What an edit adds, under this switch. Polls of a flush are fewer by what was polled before, as
    /// [`super::settled`] has it.
    pub fn under(&self, edit: &Edit, place: Place) -> Vec<Statement> {
        let mut added = edit.added(place);
        if let Some(polled) = &self.polled {
            let counted = || named(polled, place);
            let now = match &edit.what {
                What::Flush { polls, id: None, .. } => {
                    // The first poll is of its own get.
                    for (at, poll) in added.iter_mut().skip(2).enumerate() {
                        let left = number((polls - 1 - at) as u64, place);
                        let is_left = binary(BinaryOp::Less, counted(), left);
                        *poll = when(is_left, vec![poll.clone()], place);
                    }
                    let before = binary(BinaryOp::Multiply, counted(), number(0, place));
                    binary(BinaryOp::Add, before, number(*polls as u64 - 1, place))
                }
                _ => binary(BinaryOp::Add, counted(), number(1, place)),
            };
            added.push(assign(access(polled, None, place), Via::Plain, now));
        }
        // A name is a register where something is assigned to it that names another one.
        let register = || named(&self.register, place);
        added.push(assign(access(&self.register, None, place), Via::Plain, register()));
        let is_on = binary(BinaryOp::Equal, register(), number(1, place));
        vec![when(is_on, added, place)]
    }
}

fn when(condition: Expr, statements: Vec<Statement>, place: Place) -> Statement {
    let branches = vec![(condition, Block { statements, end: place })];
    Statement { kind: StatementKind::If { branches, otherwise: None }, unsignaled: false, place }
}
