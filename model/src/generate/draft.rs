//! A test before it becomes a file: a shape, a claim about it, and its allowed twin.

use std::collections::BTreeSet;

use lang::Test;
use lang::cat::model::Model;
use lang::litmus::ast::VerdictKind;
use lang::outcome::{Outcome, Value};

use super::distinguish::{Condition, Undecided, outcomes};
use super::naming::Naming;
use super::program::{checked, observed, tree};
use super::shape::{Completion, Location, Shape};
use super::step::{Post, Step};
use super::text::{self, Content};

/// The most outcomes that a file lists.
pub(super) const MOST_LISTED: usize = 24;

/// What a value in a condition belongs to: a step of a thread, or a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shown {
    /// The value that a step reads: the thread and the step.
    Step(usize, usize),
    /// The final value of a location.
    Location(Location),
}

/// A condition that does not depend on names: a conjunction of values.
pub type Claim = Vec<(Shown, Value)>;

/// A test before it has a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Draft {
    /// The program.
    pub shape: Shape,
    /// The outcome that the test is about. If empty, the test is about all outcomes.
    pub claim: Claim,
}

impl Draft {
    /// The draft for a condition on the observables of a shape's test.
    pub fn new(shape: &Shape, test: &Test, condition: &Condition) -> Self {
        let naming = Naming::new(shape);
        let shown = |index: usize| naming.shown(&test.observables[index].name);
        let claim = condition.iter().filter_map(|(index, value)| Some((shown(*index)?, *value)));
        Self { shape: shape.clone(), claim: claim.collect() }
    }

    /// The test, which observes everything that the claim names; and the claim as a condition.
    pub fn test(&self, completion: Completion) -> Option<(Test, Condition)> {
        let naming = Naming::new(&self.shape);
        let mut names = observed(&self.shape, &naming);
        let mut condition = Condition::new();
        for (shown, value) in &self.claim {
            let name = naming.name(*shown)?;
            let known = names.iter().position(|known| known == name);
            let index = known.unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            condition.push((index, *value));
        }
        Some((checked(tree(&self.shape, &naming, completion), &names), condition))
    }

    /// A test as similar as possible to this one, in which the model allows the outcome. It has one fence or
    /// wait less, a later wait, one other statement less, a plain access instead of an atomic one, or two
    /// statements swapped.
    pub fn twin(&self, completion: Completion, model: &Model) -> Option<Self> {
        let mut seen = BTreeSet::new();
        for twin in self.variants(completion) {
            let size = |shape: &Shape| shape.threads.iter().all(|thread| !thread.body.is_empty());
            let has_sense = size(&twin.shape) && !twin.shape.receives_from_nobody();
            if twin.claim.is_empty() || !has_sense || !seen.insert(twin.clone()) {
                continue;
            }
            let Some((test, condition)) = twin.test(completion) else { continue };
            let Ok(found) = outcomes(&test, model) else { continue };
            if found.iter().any(|outcome| super::distinguish::holds(&condition, outcome)) {
                return Some(twin);
            }
        }
        None
    }

    fn variants(&self, completion: Completion) -> Vec<Self> {
        let mut found = Vec::new();
        let is_order = |step: &Step| {
            matches!(
                step,
                Step::Fence | Step::Await { .. } | Step::RemoteFence { .. } | Step::Flush { .. }
            )
        };
        let places: Vec<(usize, usize)> = (0..self.shape.threads.len())
            .flat_map(|thread| {
                (0..self.shape.threads[thread].body.len()).map(move |at| (thread, at))
            })
            .collect();
        let step = |(thread, at): &(usize, usize)| self.shape.threads[*thread].body[*at];
        let orders = places.iter().filter(|at| is_order(&step(at)));
        found.extend(orders.filter_map(|(thread, at)| self.without(*thread, *at, completion)));
        let orders = places.iter().filter(|at| is_order(&step(at)));
        found.extend(orders.filter_map(|(thread, at)| self.swapped(*thread, *at, completion)));
        let others = places.iter().filter(|at| !is_order(&step(at)));
        found.extend(others.filter_map(|(thread, at)| self.without(*thread, *at, completion)));
        found.extend(places.iter().flat_map(|(thread, at)| self.weakened(*thread, *at)));
        let others = places.iter().filter(|at| !is_order(&step(at)));
        found.extend(others.filter_map(|(thread, at)| self.swapped(*thread, *at, completion)));
        found
    }

    /// Removes a step that no other thread can see.
    fn without(&self, thread: usize, at: usize, completion: Completion) -> Option<Self> {
        let step = self.shape.threads[thread].body[at];
        let is_shared = |place: Location| {
            self.shape.accesses().filter(|(.., access)| access.place == place).count() > 1
        };
        if step.accesses().any(|access| access.writes && is_shared(access.place)) {
            return None;
        }
        let (shape, moved) = self.shape.without(thread, at, completion);
        let claim = self.claim.iter().filter_map(|(shown, value)| {
            let shown = match *shown {
                Shown::Step(other, step) if other == thread => Shown::Step(other, moved[step]?),
                other => other,
            };
            Some((shown, *value))
        });
        Self { shape, claim: claim.collect() }.compressed()
    }

    /// Swaps a step with the step after it.
    fn swapped(&self, thread: usize, at: usize, completion: Completion) -> Option<Self> {
        let mut shape = self.shape.clone();
        let body = &mut shape.threads[thread].body;
        let next = at + 1;
        if next >= body.len() || body[next].earlier() == Some(at as u8) {
            return None;
        }
        body.swap(at, next);
        let mut posts: Vec<Post> =
            (0..body.len()).map(|step| self.shape.threads[thread].post(step)).collect();
        posts.swap(at, next);
        let other = |step: usize| match step {
            _ if step == at => next,
            _ if step == next => at,
            _ => step,
        };
        for step in body.iter_mut() {
            if let Some(earlier) = step.earlier() {
                *step = step.referring_to(other(usize::from(earlier)) as u8);
            }
        }
        shape.threads[thread] = std::mem::take(&mut shape.threads[thread]).posted(posts);
        if !shape.waits_for_something(completion) {
            return None;
        }
        let claim = self.claim.iter().map(|(shown, value)| match *shown {
            Shown::Step(known, step) if known == thread => {
                (Shown::Step(known, other(step)), *value)
            }
            shown => (shown, *value),
        });
        Some(Self { shape, claim: claim.collect() })
    }

    /// Replaces an atomic access by plain ones.
    fn weakened(&self, thread: usize, at: usize) -> Vec<Self> {
        let weaker = match self.shape.threads[thread].body[at] {
            Step::Rcas { at, into, hits } => {
                let mut weaker = vec![Step::Get { from: at, into }];
                weaker.extend(hits.then_some(Step::PutValue { to: at }));
                weaker
            }
            Step::AtomicWrite { to } => vec![Step::PutValue { to }],
            Step::Rfaa { at, into } => {
                vec![Step::PutValue { to: at }, Step::Get { from: at, into }]
            }
            Step::Cas { at, hits } => {
                let mut weaker = vec![Step::Read { at }];
                weaker.extend(hits.then_some(Step::Write { at }));
                weaker
            }
            Step::Faa { at } => vec![Step::Write { at }, Step::Read { at }],
            _ => Vec::new(),
        };
        let replaced = weaker.into_iter().filter_map(|step| {
            let mut shape = self.shape.clone();
            shape.threads[thread].body[at] = step;
            let reads = matches!(step, Step::Read { .. });
            let lost = |shown: &Shown| *shown == Shown::Step(thread, at) && !reads;
            let claim = self.claim.iter().filter(|(shown, _)| !lost(shown)).copied().collect();
            Self { shape, claim }.compressed()
        });
        replaced.collect()
    }

    /// Removes locations that nothing accesses. Claims about their values are dropped.
    fn compressed(&self) -> Option<Self> {
        let used: BTreeSet<Location> =
            self.shape.accesses().map(|(.., access)| access.place).collect();
        let used: Vec<Location> = used.into_iter().collect();
        let index = |place: Location| used.iter().position(|known| *known == place);
        let place = |place: Location| index(place).unwrap_or_default() as Location;
        let mut shape = self.shape.clone();
        for step in shape.threads.iter_mut().flat_map(|thread| &mut thread.body) {
            *step = step.renamed(&place, &|node| node);
        }
        shape.homes = used.iter().map(|place| self.shape.homes[usize::from(*place)]).collect();
        let nodes: BTreeSet<u8> = shape
            .threads
            .iter()
            .map(|thread| thread.node)
            .chain(shape.homes.iter().copied())
            .collect();
        // Nodes must be numbered without gaps.
        if nodes.iter().enumerate().any(|(index, node)| index != usize::from(*node)) {
            return None;
        }
        let claim = self.claim.iter().filter_map(|(shown, value)| match *shown {
            Shown::Location(place) => Some((Shown::Location(index(place)? as Location), *value)),
            shown => Some((shown, *value)),
        });
        Some(Self { shape, claim: claim.collect() })
    }

    /// The smallest of all drafts that are equal to this one up to symmetry.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let arranged = self.shape.arrangements().into_iter().map(|arrangement| {
            let thread = |old: usize| arrangement.threads.iter().position(|known| *known == old);
            let place = |old: Location| arrangement.places.iter().position(|known| *known == old);
            let claim = self.claim.iter().filter_map(|(shown, value)| {
                let shown = match *shown {
                    Shown::Step(old, step) => Shown::Step(thread(old)?, step),
                    Shown::Location(old) => Shown::Location(place(old)? as Location),
                };
                Some((shown, *value))
            });
            let mut claim: Claim = claim.collect();
            claim.sort_unstable();
            Self { shape: arrangement.shape, claim }
        });
        // Drafts are compared by shape first, so the result has the canonical shape.
        arranged.min().unwrap_or_else(|| self.clone())
    }

    /// A text that two drafts share only if they are equal.
    pub fn key(&self) -> String {
        let mut key = String::new();
        for thread in &self.shape.threads {
            key += &format!("{}:", thread.node);
            for (at, step) in thread.body.iter().enumerate() {
                key += &step_key(*step);
                let Post { queue_pair, unsignaled, inline, immediate } = thread.post(at);
                if queue_pair != 0 {
                    key += &format!("/{queue_pair}");
                }
                key += if unsignaled { "u" } else { "" };
                key += if inline { "i" } else { "" };
                key += if immediate { "m" } else { "" };
            }
            key.push(';');
        }
        key += if self.shape.crash { "!" } else { "" };
        key += &self.shape.homes.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        for (shown, value) in &self.claim {
            key += &match shown {
                Shown::Step(thread, step) => format!(";{thread}.{step}={value}"),
                Shown::Location(place) => format!(";{place}={value}"),
            };
        }
        key
    }

    /// The file, with these verdicts.
    pub fn content(&self, completion: Completion, verdicts: Vec<VerdictKind>) -> Content {
        let program = tree(&self.shape, &Naming::new(&self.shape), completion);
        let verdicts = verdicts.into_iter().map(|verdict| (None, verdict));
        Content {
            key: self.key(),
            name: text::name(&self.shape, completion),
            file: text::with_verdicts(program, verdicts),
        }
    }

    /// The verdicts under a model: of the claim, and of all outcomes if they are not too many (`exactly {}`
    /// if no execution ends). A draft without a claim has none if they are too many, or nothing is observed.
    ///
    /// # Errors
    /// Fails if the engine cannot find all outcomes, or if the claim cannot be observed.
    pub fn verdicts(
        &self,
        completion: Completion,
        model: &Model,
    ) -> Result<Vec<VerdictKind>, Undecided> {
        let unobservable = || Undecided("the outcome cannot be observed".to_owned());
        let (test, condition) = self.test(completion).ok_or_else(unobservable)?;
        let found = outcomes(&test, model)?;
        let names: Vec<&str> = test.observables.iter().map(|shown| shown.name.as_str()).collect();
        let mut verdicts = Vec::new();
        if !condition.is_empty() {
            let claimed: Vec<&str> = condition.iter().map(|(index, _)| names[*index]).collect();
            let values: Vec<Value> = condition.iter().map(|(_, value)| *value).collect();
            let holds = |outcome: &Outcome| super::distinguish::holds(&condition, outcome);
            let claim = text::condition(&claimed, &values);
            verdicts.push(text::verdict(claim, found.iter().any(holds)));
        }
        if found.len() <= MOST_LISTED && !names.is_empty() {
            verdicts.push(text::exactly(&names, &found));
        }
        Ok(verdicts)
    }
}

fn step_key(step: Step) -> String {
    match step {
        Step::Write { at } => format!("W{at}"),
        Step::Read { at } => format!("R{at}"),
        Step::Cas { at, hits } => format!("{}{at}", if hits { "C" } else { "c" }),
        Step::Faa { at } => format!("A{at}"),
        Step::Fence => "F".to_owned(),
        Step::PutValue { to } => format!("V{to}"),
        Step::Put { to, from } => format!("P{to}<{from}"),
        Step::Get { from, into } => format!("G{from}>{into}"),
        Step::Rcas { at, into, hits } => format!("{}{at}>{into}", if hits { "X" } else { "x" }),
        Step::Rfaa { at, into } => format!("Y{at}>{into}"),
        Step::Await { step } => format!("@{step}"),
        Step::RemoteFence { node } => format!("N{node}"),
        Step::Flush { is_persistent, node } => {
            format!("{}{node}", if is_persistent { "D" } else { "L" })
        }
        Step::AtomicWrite { to } => format!("U{to}"),
        Step::Send { node, from } => format!("S{node}<{from:?}"),
        Step::Receive { thread, into } => format!("R{thread}>{into:?}"),
        Step::PollReceive { thread } => format!("Q{thread}"),
        Step::PutWords { to, from, words } => format!("P{to}<{from}*{words}"),
        Step::GetWords { from, into, words } => format!("G{from}>{into}*{words}"),
        Step::PutAt { to, words, index } => format!("V{to}[{index}]*{words}"),
        Step::ReadAt { at, words, index } => format!("R{at}[{index}]*{words}"),
    }
}
