//! A coreRMA test before it becomes a file: a program, and an outcome that one application of a rule forbids.

use std::collections::BTreeSet;

use lang::cat::model::Model;
use lang::litmus::ast::VerdictKind;
use lang::outcome::{Outcome, Value};

use super::program::{Program, Statement};
use crate::generate::distinguish::{Undecided, outcomes};
use crate::generate::draft::MOST_LISTED;
use crate::generate::text::{self, Content};

/// A test before it has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The program.
    pub program: Program,
    /// The outcome that the test is about: the value of each local read, in order.
    pub claim: Vec<u64>,
}

impl Draft {
    /// The file, with these verdicts.
    pub fn content(&self, verdicts: Vec<VerdictKind>) -> Content {
        let verdicts = verdicts.into_iter().map(|verdict| (None, verdict));
        Content {
            key: format!("{:?}", self.program.canonical()),
            name: self.program.name(),
            file: text::with_verdicts(self.program.tree(), verdicts),
        }
    }

    fn claimed(&self) -> Outcome {
        Outcome(self.claim.iter().map(|value| Value::Int(*value)).collect())
    }

    /// Asks which outcomes a model allows. Returns whether the claim is allowed, and the verdicts: of the
    /// claim, and of all outcomes if they are not too many.
    ///
    /// # Errors
    /// Fails if the engine cannot find all outcomes.
    pub fn verdicts(&self, model: &Model) -> Result<(bool, Vec<VerdictKind>), Undecided> {
        let found = outcomes(&self.program.test(), model)?;
        let is_allowed = found.contains(&self.claimed());
        Ok((is_allowed, self.judged(&found, is_allowed)))
    }

    fn judged(&self, found: &BTreeSet<Outcome>, is_allowed: bool) -> Vec<VerdictKind> {
        let registers = self.program.registers();
        let names: Vec<&str> = registers.iter().map(String::as_str).collect();
        let claim = text::condition(&names, &self.claimed().0);
        let mut verdicts = vec![text::verdict(claim, is_allowed)];
        if found.len() <= MOST_LISTED && !found.is_empty() {
            verdicts.push(text::exactly(&names, found));
        }
        verdicts
    }

    /// Removes one flush, or swaps two adjacent statements of a process, so that the outcome becomes allowed.
    /// Returns the changed test with its verdicts.
    ///
    /// # Errors
    /// As [`Self::verdicts`].
    pub fn twin(&self, model: &Model) -> Result<Option<(Self, Vec<VerdictKind>)>, Undecided> {
        for twin in self.variants() {
            let (is_allowed, verdicts) = twin.verdicts(model)?;
            if is_allowed {
                return Ok(Some((twin, verdicts)));
            }
        }
        Ok(None)
    }

    fn variants(&self) -> Vec<Self> {
        // Keeps the value of each read with its statement, so that both move together.
        let mut values = self.claim.iter().copied();
        let mut value = |statement: &Statement| match statement {
            Statement::Read { .. } => (*statement, values.next()),
            _ => (*statement, None),
        };
        let bodies: Vec<Vec<(Statement, Option<u64>)>> = self
            .program
            .processes
            .iter()
            .map(|body| body.iter().map(&mut value).collect())
            .collect();
        let with = |process: usize, body: Vec<(Statement, Option<u64>)>| {
            let mut bodies = bodies.clone();
            bodies[process] = body;
            let claim = bodies.iter().flatten().filter_map(|(_, value)| *value).collect();
            let statements = |body: &Vec<(Statement, Option<u64>)>| {
                body.iter().map(|(statement, _)| *statement).collect()
            };
            let processes = bodies.iter().map(statements).collect();
            Self { program: Program { processes, homes: self.program.homes.clone() }, claim }
        };
        let (mut without, mut swapped) = (Vec::new(), Vec::new());
        for (process, body) in bodies.iter().enumerate() {
            for index in 0..body.len() {
                if matches!(body[index].0, Statement::Flush { .. }) && body.len() > 1 {
                    let mut less = body.clone();
                    less.remove(index);
                    without.push(with(process, less));
                }
                if index > 0 {
                    let mut other = body.clone();
                    other.swap(index - 1, index);
                    swapped.push(with(process, other));
                }
            }
        }
        without.extend(swapped);
        without
    }
}
