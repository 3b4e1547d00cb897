//! Tests that hang on one rule of a model: forbidden with it, allowed without, and no statement too many.
//! ("Pivot" as in coreRMA's generator, "Modeling and analysis of remote memory access programming", §6.)

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lang::cat::model::Model;

use super::distinguish::{Undecided, differ};
use super::program::test;
use super::search::{Bounds, Candidates, Difference, Known, Vocabulary, check};
use super::shape::Shape;
use crate::changes::Change;

/// A rule of a model, and the programs that may show it.
#[derive(Debug)]
pub struct Pivot<'m> {
    /// The stronger of the two models: the model, or what it becomes by the change.
    pub forbids: &'m Model,
    /// The weaker one.
    pub allows: &'m Model,
    candidates: Candidates,
    vocabulary: &'m Vocabulary,
    /// Whether models were found to differ on a smaller shape.
    known: Mutex<HashMap<Shape, bool>>,
}

impl<'m> Pivot<'m> {
    /// The pivot on a change of a model. A change that forbids more needs the segments of what the model
    /// becomes: they are looked for with threads of one statement less.
    pub fn new(
        known: &Known<'m>,
        change: &'m Change,
        vocabulary: &'m Vocabulary,
        bounds: Bounds,
        jobs: usize,
    ) -> Self {
        // A cell says what a thread's events are, and nothing of how threads meet.
        let may_meet = change.cell().is_none();
        let (candidates, forbids, allows) = if change.allows_more {
            let candidates = Candidates::new(known, &change.model, &[], may_meet, bounds);
            (candidates, known.model, &change.model)
        } else {
            let shorter = Bounds { thread: bounds.thread.saturating_sub(1).max(1), ..bounds };
            let stronger = Known::new(&change.model, vocabulary, &shorter, jobs);
            let candidates =
                Candidates::new(&stronger, known.model, &known.simplest, may_meet, bounds);
            (candidates, &change.model, known.model)
        };
        Self { forbids, allows, candidates, vocabulary, known: Mutex::default() }
    }

    /// The programs of a size that may show the rule.
    pub fn of_size(&self, size: usize) -> Vec<Shape> {
        self.candidates.of_size(size)
    }

    /// What a program shows of the rule, if it does and no statement is too many.
    ///
    /// # Errors
    /// If the engine cannot say.
    pub fn check(&self, shape: &Shape) -> Result<Option<Difference>, Undecided> {
        let completion = self.vocabulary.completion;
        let smaller = shape.smaller(completion);
        // Most candidates contain one that was examined before: that costs nothing to see.
        if smaller.iter().any(|smaller| self.known().get(smaller) == Some(&true)) {
            return Ok(None);
        }
        let found = check(shape, completion, self.forbids, self.allows)?;
        self.known().insert(shape.clone(), found.is_some());
        let Some(found) = found else { return Ok(None) };
        for smaller in smaller {
            if self.differ(smaller)? {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Shape, bool>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn differ(&self, shape: Shape) -> Result<bool, Undecided> {
        if let Some(answer) = self.known().get(&shape) {
            return Ok(*answer);
        }
        let program = test(&shape, self.vocabulary.completion);
        let answer = differ(&program, self.forbids, self.allows)?;
        self.known().insert(shape, answer);
        Ok(answer)
    }

    /// The smallest minimal test of which that is known, by one worker; what was tried is counted.
    pub fn smallest(&self, size: usize, tried: &mut Tried) -> Option<Difference> {
        let mut seen = BTreeSet::new();
        for size in 1..=size {
            for shape in self.of_size(size) {
                if !seen.insert(shape.clone()) {
                    continue;
                }
                tried.programs += 1;
                match self.check(&shape) {
                    Ok(Some(found)) => return Some(found),
                    Ok(None) => {}
                    Err(_) => tried.undecided += 1,
                }
            }
        }
        None
    }
}

/// How many programs a search tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// All of them.
    pub programs: u64,
    /// Those of which the engine could not tell.
    pub undecided: u64,
}
