//! All sets of additions in one solver session: a program with every addition under a switch. What the solver
//! learns of one set serves for all others.

use std::collections::BTreeSet;

use lang::Test;
use lang::outcome::Condition;

use super::Repair;
use super::ask::Asking;
use super::edits::{Edit, switched};
use crate::allowed::Question;
use crate::smt::cnf::Lit;
use crate::smt::solver::Answer;
use crate::smt::{Next, Session};

/// The most additions of one session. By measurement, a formula with more of them takes longer than many
/// small ones.
const SWITCHES: usize = 48;

/// A program with switches, by model, and what must not be.
pub struct Program {
    tests: Vec<(Test, Vec<Condition>)>,
    /// The registers of the switches.
    registers: Vec<String>,
}

impl Program {
    /// The program after the changes of a base, with additions under switches. `None` if it has loops, or if
    /// there are too many additions.
    pub fn new(
        asking: &Asking<'_>,
        edits: &[Edit],
        base: &BTreeSet<usize>,
        additions: &[usize],
    ) -> Option<Self> {
        if additions.len() > SWITCHES {
            return None;
        }
        let repair = asking.repair();
        let names = repair.named();
        let fresh = |word: &str| {
            let mut name = word.to_owned();
            while names.contains(&name) {
                name.push('_');
            }
            name
        };
        let made = |index: usize| base.contains(&index);
        let (file, registers) = switched(repair.file, edits, made, additions, fresh)?;
        let test = repair.test(&file).ok()?;
        let tests = (0..repair.models.len()).map(|index| asking.never(&test, index));
        Some(Self { tests: tests.collect::<Option<_>>()?, registers })
    }

    /// The questions, one for each model. `None` if one cannot be asked.
    pub fn questions<'q>(&'q self, repair: &'q Repair<'_>) -> Option<Vec<Question<'q>>> {
        let Repair { libraries, options, .. } = repair;
        let all = self.tests.iter().zip(&repair.models).map(|((test, _), (model, _))| {
            let question = Question::of(test, model).libraries(libraries).options(options);
            let question = question.switches(&self.registers).question().ok()?;
            question.skeleton.exceeded.is_empty().then_some(question)
        });
        all.collect()
    }
}

/// What a session says of the sets of additions that have a set in them.
pub enum Beyond {
    /// None of them allows what is to be forbidden.
    Helps,
    /// This one allows it.
    Not(BTreeSet<usize>),
    /// A limit was reached.
    Unknown,
}

/// The sessions, one for each model.
pub struct Together<'q> {
    /// Each with the literals of what is to be forbidden.
    sessions: Vec<(Session<'q>, Vec<Lit>)>,
    /// The additions, each with its switch in each session.
    switches: Vec<(usize, Vec<Lit>)>,
}

impl<'q> Together<'q> {
    /// Starts the sessions. `None` if that is not possible within the limits.
    pub fn new(
        repair: &Repair<'_>,
        program: &Program,
        questions: &'q [Question<'q>],
        additions: &[usize],
    ) -> Option<Self> {
        let mut sessions = Vec::new();
        let mut switches: Vec<(usize, Vec<Lit>)> =
            additions.iter().map(|index| (*index, Vec::new())).collect();
        for (question, (_, never)) in questions.iter().zip(&program.tests) {
            let session = question.session_about(never.clone(), &repair.options, |_| true).ok()?;
            for (number, (_, literals)) in switches.iter_mut().enumerate() {
                literals.push(session.switch(number)?);
            }
            let never = (0..never.len()).map(|condition| session.meeting(condition));
            let never = never.collect::<Option<_>>()?;
            sessions.push((session, never));
        }
        Some(Self { sessions, switches })
    }

    /// Looks for an execution with these additions at least that shows what is to be forbidden.
    pub fn beyond(&mut self, set: &BTreeSet<usize>) -> Beyond {
        for (at, (session, never)) in self.sessions.iter_mut().enumerate() {
            let switches = self.switches.iter().map(|(index, all)| (*index, all[at]));
            let on = switches.clone().filter(|(index, _)| set.contains(index));
            let mut assumptions = session.counted();
            assumptions.extend(on.map(|(_, literal)| literal));
            for literal in never {
                let mut found = BTreeSet::new();
                let meeting = [&assumptions[..], &[*literal]].concat();
                let answer = session.each(&meeting, &mut |at| {
                    let on = switches.clone().filter(|(_, literal)| at.holds(*literal));
                    found.extend(on.map(|(index, _)| index));
                    Next::Stop
                });
                match answer {
                    Answer::Satisfiable => return Beyond::Not(found),
                    Answer::Unknown => return Beyond::Unknown,
                    Answer::Unsatisfiable => {}
                }
            }
        }
        Beyond::Helps
    }
}
