//! Candidates: small programs on which two models are likely to differ, by size.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use lang::Test;
use lang::cat::model::Model;
use lang::limits;

use super::cycles::closed;
use super::distinguish::{Condition, Undecided, difference};
use super::orders::Ordered;
use super::program::test;
use super::segments::{Library, Segment, words};
use super::shape::{Completion, Shape};

/// How large programs may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most statements in all; to wait for an operation counts as one, however many polls it takes.
    pub size: usize,
    /// The most statements of a thread.
    pub thread: usize,
    /// The most threads.
    pub threads: usize,
    /// The most nodes.
    pub nodes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { size: 8, thread: 4, threads: 3, nodes: 3 }
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { size, thread, threads, nodes } = self;
        write!(f, "{size} statements, {thread} per thread, {threads} threads, {nodes} nodes")
    }
}

/// Statements that models share, and how they wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// Names of statements, as models speak of them.
    pub calls: Vec<&'static str>,
    /// How programs wait.
    pub completion: Completion,
}

impl Vocabulary {
    /// What all these models define.
    pub fn of(models: &[&Model]) -> Self {
        let defined = |call: &&str| models.iter().all(|model| model.calls.contains(call));
        let all = lang::cat::model::CALLS;
        let calls: Vec<&'static str> = all.into_iter().filter(|call| defined(call)).collect();
        let completion = match () {
            () if calls.contains(&"Poll") => Completion::Poll,
            () if calls.contains(&"Wait") => Completion::Wait,
            () => Completion::Never,
        };
        Self { calls, completion }
    }
}

/// What is known of a model before candidates are made.
#[derive(Debug)]
pub struct Known<'m> {
    /// The model.
    pub model: &'m Model,
    /// Its segments.
    pub library: Library,
    /// The smallest of them for each way of meeting others.
    pub simplest: Vec<Segment>,
}

impl<'m> Known<'m> {
    /// Finds the segments of a model, by so many workers.
    pub fn new(model: &'m Model, vocabulary: &Vocabulary, bounds: &Bounds, jobs: usize) -> Self {
        let words = words(bounds.thread, &vocabulary.calls, vocabulary.completion);
        let ordered = ordered(&words, vocabulary.completion, model, jobs);
        let library = Library::new(&words, vocabulary.completion, model, ordered);
        let simplest = library.simplest();
        Self { model, library, simplest }
    }
}

fn ordered(
    words: &[Shape],
    completion: Completion,
    model: &Model,
    jobs: usize,
) -> HashMap<Shape, Option<Ordered>> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(HashMap::with_capacity(words.len()));
    let work = || {
        let mut found = Vec::new();
        while let Some(shape) = words.get(next.fetch_add(1, Ordering::Relaxed)) {
            limits::look_now();
            found.push((shape.clone(), Ordered::new(shape, completion, model)));
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    };
    // The limits of this thread hold for all.
    let (limits, reached) = (limits::current(), Mutex::new(None));
    let limited = || {
        if let Err(limit) = limits.within(work) {
            reached.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(limit);
        }
    };
    std::thread::scope(|scope| {
        (1..jobs).for_each(|_| drop(scope.spawn(limited)));
        limited();
    });
    if let Some(limit) = reached.into_inner().unwrap_or_else(PoisonError::into_inner) {
        limits::give_up(limit);
    }
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Programs that one model may forbid and another may allow.
#[derive(Debug)]
pub struct Candidates {
    /// Segments through which the difference shows.
    pivots: Vec<Segment>,
    /// How many of them are ordered by one model only; the others come after.
    lost: usize,
    /// Segments that close cycles with them.
    companions: Vec<Segment>,
    bounds: Bounds,
}

/// Segments longer than this are no pivots where the models order all of them alike.
const LONGEST_WITHOUT_PIVOT: usize = 2;
/// Nor are programs larger than this candidates there.
const LARGEST_WITHOUT_PIVOT: usize = 3;
/// More segments that close cycles with each other are too many.
const MOST_PAIRED: usize = 64;

impl Candidates {
    /// Those for a model that forbids and one that allows. `simplest` are more segments to close cycles with.
    /// Where the difference may be in how threads meet (`may_meet`), all cycles of short threads are candidates too.
    pub fn new(
        forbids: &Known<'_>,
        allows: &Model,
        simplest: &[Segment],
        may_meet: bool,
        bounds: Bounds,
    ) -> Self {
        let mut pivots = forbids.library.lost(allows);
        if pivots.is_empty() {
            pivots = forbids.library.spoiled(allows);
        }
        // What loses almost everything is no rule of its own: an axiom, say.
        let is_all = pivots.len() * 2 > forbids.library.segments.len();
        if is_all {
            pivots.retain(|segment| segment.size() <= LONGEST_WITHOUT_PIVOT);
        }
        let lost = if is_all { 0 } else { pivots.len() };
        if may_meet {
            let segments = forbids.library.segments.iter();
            let short = segments.filter(|segment| segment.size() <= LONGEST_WITHOUT_PIVOT);
            let short = short.filter(|segment| !pivots.contains(segment)).cloned();
            pivots.extend(short.collect::<Vec<_>>());
        }
        let mut companions = forbids.simplest.clone();
        // Where all threads hang on the rule, as in LOCO, Fig. 4 right.
        let paired = if lost > MOST_PAIRED { &[] } else { &pivots[..lost] };
        for segment in simplest.iter().chain(paired) {
            if !companions.contains(segment) {
                companions.push(segment.clone());
            }
        }
        Self { pivots, lost, companions, bounds }
    }

    /// The segments through which the difference shows.
    pub fn pivots(&self) -> &[Segment] {
        &self.pivots
    }

    /// The candidates of a size, in order, each once.
    pub fn of_size(&self, size: usize) -> Vec<Shape> {
        let mut found = BTreeSet::new();
        let nodes = self.bounds.nodes;
        let is_large = size > LARGEST_WITHOUT_PIVOT;
        let pivots = if is_large { &self.pivots[..self.lost] } else { &self.pivots[..] };
        for pivot in pivots {
            let Some(rest) = size.checked_sub(pivot.size()) else { continue };
            if rest == 0 {
                found.extend(closed(&[pivot], nodes));
                continue;
            }
            if self.bounds.threads < 2 {
                continue;
            }
            for second in self.companions.iter().filter(|second| second.size() <= rest) {
                limits::look();
                if second.size() == rest {
                    found.extend(closed(&[pivot, second], nodes));
                }
                // Of three threads, two are the CPU's: one that writes, and one that passes on what it sees.
                if self.bounds.threads < 3 || second.size() + 1 != rest || !second.is_plain() {
                    continue;
                }
                let third = |third: &&Segment| third.size() == 1 && third.is_plain();
                for third in self.companions.iter().filter(third) {
                    found.extend(closed(&[pivot, second, third], nodes));
                    found.extend(closed(&[pivot, third, second], nodes));
                }
            }
        }
        found.into_iter().collect()
    }
}

/// What a candidate shows.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The program.
    pub shape: Shape,
    /// The program as a test.
    pub test: Test,
    /// Holds of an outcome that only the one model allows.
    pub condition: Condition,
}

/// Whether a model allows what another forbids, and what.
///
/// # Errors
/// If an engine cannot say.
pub fn check(
    shape: &Shape,
    completion: Completion,
    forbids: &Model,
    allows: &Model,
) -> Result<Option<Difference>, Undecided> {
    let test = test(shape, completion);
    let condition = difference(&test, forbids, allows)?;
    Ok(condition.map(|condition| Difference { shape: shape.clone(), test, condition }))
}
