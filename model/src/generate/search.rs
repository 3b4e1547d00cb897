//! Makes candidates: small programs on which two models are likely to differ, by size.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lang::Test;
use lang::cat::model::{Base, Model};
use lang::limits;
use lang::mutex::{self, lock};

use super::cycles::closed;
use super::distinguish::{Condition, Undecided, difference};
use super::orders::Ordered;
use super::program::test;
use super::segments::{Library, Segment, words};
use super::shape::{Completion, Shape};

/// The maximum size of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most statements of a program. Waiting for an operation counts as one statement, even if it takes
    /// several polls.
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

impl Bounds {
    /// Whether a shape has no more statements and nodes than these. Generators see to the threads.
    pub fn hold(&self, shape: &Shape) -> bool {
        shape.size() <= self.size
            && shape.threads.iter().all(|thread| thread.body.len() <= self.thread)
            && shape.nodes() <= self.nodes
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { size, thread, threads, nodes } = self;
        write!(f, "{size} statements, {thread} per thread, {threads} threads, {nodes} nodes")
    }
}

/// The statements that models share, and how programs wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The names of statements in models.
    pub calls: Vec<&'static str>,
    /// How programs wait for operations.
    pub completion: Completion,
    /// Whether a thread may have several queue pairs to a node.
    pub has_queue_pairs: bool,
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
        let tells_apart = |model: &&Model| crate::library::mentions(model, &[Base::SameQueuePair]);
        Self { calls, completion, has_queue_pairs: models.iter().all(tells_apart) }
    }
}

/// What is computed for a model before candidates are made.
#[derive(Debug)]
pub struct Known<'m> {
    /// The model.
    pub model: &'m Model,
    /// All segments of the model.
    pub library: Library,
    /// The smallest segments for each way of meeting others.
    pub simplest: Vec<Segment>,
}

impl<'m> Known<'m> {
    /// Finds the segments of a model with `jobs` workers.
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
        lock(&all).extend(found);
    };
    // The limits of this thread apply to all workers.
    let (limits, reached) = (limits::current(), Mutex::new(None));
    let limited = || {
        if let Err(limit) = limits.within(work) {
            lock(&reached).get_or_insert(limit);
        }
    };
    std::thread::scope(|scope| {
        (1..jobs).for_each(|_| drop(scope.spawn(limited)));
        limited();
    });
    if let Some(limit) = mutex::into_inner(reached) {
        limits::give_up(limit);
    }
    mutex::into_inner(all)
}

/// Programs that one model may forbid and another may allow.
#[derive(Debug)]
pub struct Candidates {
    /// Segments that one model orders and the other does not: through them the difference shows.
    pivots: Vec<Segment>,
    /// The number of pivots that only one model orders. The other pivots come after them.
    lost: usize,
    /// Segments that close cycles with the pivots.
    companions: Vec<Segment>,
    bounds: Bounds,
}

/// Longer segments are not pivots if the models order all segments in the same way.
const LONGEST_WITHOUT_PIVOT: usize = 2;
/// In that case, larger programs are not candidates either.
const LARGEST_WITHOUT_PIVOT: usize = 3;
/// If there are more segments than this, cycles of two pivots are not tried.
const MOST_PAIRED: usize = 64;

impl Candidates {
    /// The candidates for a model that forbids and a model that allows. `simplest` has additional segments to
    /// close cycles with. If the difference may be in how threads meet (`may_meet`), all cycles of short
    /// threads are candidates too.
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
        // A change that loses almost everything is not a rule of its own; it may be an axiom, for example.
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
        // For cycles in which all threads depend on the rule, as in LOCO, Fig. 4 right.
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

    /// The candidates of a size, each once, in a fixed order.
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
                // In programs of three threads, two use the CPU only: one writes, and one passes on what it
                // sees.
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

/// A program on which two models differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The program.
    pub shape: Shape,
    /// The program as a test.
    pub test: Test,
    /// A condition that holds for an outcome that only one of the models allows.
    pub condition: Condition,
}

/// Whether `allows` has an outcome that `forbids` does not have, and which.
///
/// # Errors
/// Fails if an engine has no answer.
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
