//! Finds tests that depend on one rule of a model: forbidden with it, allowed without it, and every statement
//! is needed. ("Pivot" as in coreRMA's generator, "Modeling and analysis of remote memory access
//! programming", §6.)

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};

use lang::cat::model::Model;
use lang::mutex::lock;

use super::distinguish::{Undecided, differ};
use super::program::test;
use super::search::{Bounds, Candidates, Difference, Known, Vocabulary, check};
use super::shape::Shape;
use crate::changes::Change;

/// A rule of a model, and the programs that may show its effect.
#[derive(Debug)]
pub struct Pivot<'m> {
    /// The stronger of the two models: the original model or the changed one.
    pub forbids: &'m Model,
    /// The weaker of the two models.
    pub allows: &'m Model,
    candidates: Candidates,
    pub(super) vocabulary: &'m Vocabulary,
    /// For smaller shapes that were examined: whether the models differ on them.
    known: Mutex<HashMap<Shape, bool>>,
}

impl<'m> Pivot<'m> {
    /// The pivot for a change of a model. A change that forbids more needs the segments of the changed model.
    /// They are searched with threads of one statement less.
    pub fn new(
        known: &Known<'m>,
        change: &'m Change,
        vocabulary: &'m Vocabulary,
        bounds: Bounds,
        jobs: usize,
    ) -> Self {
        // A table cell orders the events of one thread. It does not affect how threads meet.
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

    /// The programs of a size that may show the rule's effect.
    pub fn of_size(&self, size: usize) -> Vec<Shape> {
        self.candidates.of_size(size)
    }

    /// How the models differ on a program. `None` if they do not, or if a statement is not needed for the
    /// difference.
    ///
    /// # Errors
    /// Fails if the engine has no answer.
    pub fn check(&self, shape: &Shape) -> Result<Option<Difference>, Undecided> {
        let completion = self.vocabulary.completion;
        let smaller = shape.smaller(completion);
        // Most candidates contain a smaller program that was examined before, and this lookup is cheap.
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
        lock(&self.known)
    }

    pub(super) fn differ(&self, shape: Shape) -> Result<bool, Undecided> {
        if let Some(answer) = self.known().get(&shape) {
            return Ok(*answer);
        }
        let program = test(&shape, self.vocabulary.completion);
        let answer = differ(&program, self.forbids, self.allows)?;
        self.known().insert(shape, answer);
        Ok(answer)
    }

    /// The smallest test that is known to be minimal, found by one worker. `tried` counts the programs.
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

/// Counters of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// The number of programs that were tried.
    pub programs: u64,
    /// The number of programs for which the engine had no answer.
    pub undecided: u64,
}
