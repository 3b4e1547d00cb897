//! Shapes are abstract programs: which statements there are, and which of them meet at a location. They
//! contain nothing else.
//!
//! Values, names and registers follow from the shape. The writes of a location write different values. Every
//! read has a register of its own. Every remote read has a target of its own unless a step says otherwise. So
//! programs that differ only in values, names and registers have one shape.

use std::collections::BTreeSet;

use super::step::{Access, Post, Step};

/// The number of a location in its shape, from 0.
pub type Location = u8;

/// How a program waits for remote operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// With `Poll(n)`, which answers for operations in order.
    Poll,
    /// With work ids and `Wait(d)`.
    Wait,
    /// Not at all.
    Never,
}

/// A thread: its node, from 0, and its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thread {
    /// The node that the thread runs on, from 0.
    pub node: u8,
    /// The steps in program order.
    pub body: Vec<Step>,
    /// How each step is posted. Steps past the end are posted as usual, and the last is not, so that equal
    /// threads are equal.
    pub posts: Vec<Post>,
}

impl Thread {
    /// A thread without steps.
    pub fn new(node: u8) -> Self {
        Self { node, ..Self::default() }
    }

    /// How a step is posted.
    pub fn post(&self, step: usize) -> Post {
        self.posts.get(step).copied().unwrap_or_default()
    }

    /// Whether a step is a message, which consumes a receive.
    pub fn is_message(&self, step: usize) -> bool {
        matches!(self.body[step], Step::Send { .. }) || self.post(step).immediate
    }

    /// Puts a step before another one, or at the end.
    pub fn insert(&mut self, at: usize, step: Step, post: Post) {
        let later = |step: Step| match step.earlier() {
            Some(earlier) if usize::from(earlier) >= at => step.referring_to(earlier + 1),
            _ => step,
        };
        let mut posts: Vec<Post> = (0..self.body.len()).map(|step| self.post(step)).collect();
        posts.insert(at, post);
        self.body.iter_mut().for_each(|step| *step = later(*step));
        self.body.insert(at, step);
        *self = std::mem::take(self).posted(posts);
    }

    /// Whether a step is a remote operation with a completion.
    pub fn completes(&self, step: usize) -> bool {
        self.body[step].is_operation() && !self.post(step).unsignaled
    }

    /// The same thread, whose steps are posted like this.
    #[must_use]
    pub fn posted(mut self, mut posts: Vec<Post>) -> Self {
        let last = posts.iter().rposition(|post| *post != Post::default());
        posts.truncate(last.map_or(0, |last| last + 1));
        self.posts = posts;
        self
    }
}

/// The arrays of a shape: the first word of each, and how many words it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrays(pub BTreeSet<(Location, u8)>);

impl Arrays {
    /// The array that a location is a word of: its first word, and how many it has.
    pub fn of(&self, word: Location) -> Option<(Location, u8)> {
        let has = |(first, words): &&(Location, u8)| (*first..first + words).contains(&word);
        self.0.iter().find(has).copied()
    }
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// The threads.
    pub threads: Vec<Thread>,
    /// The node of each location.
    pub homes: Vec<u8>,
    /// Whether all nodes crash at some moment.
    pub crash: bool,
}

impl Shape {
    /// The number of steps. Waiting for an operation counts as one.
    pub fn size(&self) -> usize {
        self.threads.iter().map(|thread| thread.body.len()).sum()
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        let mut all: BTreeSet<u8> = self.homes.iter().copied().collect();
        for thread in &self.threads {
            all.insert(thread.node);
            all.extend(thread.body.iter().filter_map(|step| self.node_of(*step)));
        }
        all.len()
    }

    /// The target node of a step, if it is a remote operation or a remote fence.
    pub fn node_of(&self, step: Step) -> Option<u8> {
        match step {
            Step::RemoteFence { node } | Step::Flush { node, .. } | Step::Send { node, .. } => {
                Some(node)
            }
            _ => step.target().map(|place| self.homes[usize::from(place)]),
        }
    }

    /// The node and number of the queue pair of a thread's step, if it is a remote operation or a remote
    /// fence.
    pub fn queue_pair_of(&self, thread: &Thread, step: usize) -> Option<(u8, u8)> {
        Some((self.node_of(thread.body[step])?, thread.post(step).queue_pair))
    }

    /// The steps of all threads.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.threads.iter().flat_map(|thread| &thread.body)
    }

    /// Whether some thread receives messages.
    pub fn has_messages(&self) -> bool {
        self.steps().any(|step| step.sender().is_some())
    }

    /// Whether some thread flushes. What a flush promises, its own thread can see.
    pub fn has_flushes(&self) -> bool {
        self.steps().any(|step| matches!(step, Step::Flush { .. }))
    }

    /// Whether some request is of several words.
    pub fn has_requests_of_words(&self) -> bool {
        self.steps().any(|step| matches!(step, Step::PutWords { .. } | Step::GetWords { .. }))
    }

    /// Whether there are statements that programs with a crash do not have: messages, and indices.
    pub fn has_what_crashes_do_not(&self) -> bool {
        let has_index = |step: &Step| matches!(step, Step::PutAt { .. } | Step::ReadAt { .. });
        let sends = |thread: &Thread| (0..thread.body.len()).any(|step| thread.is_message(step));
        self.has_messages() || self.steps().any(has_index) || self.threads.iter().any(sends)
    }

    /// Whether some thread receives from a thread that sends nothing on that queue pair.
    pub(super) fn receives_from_nobody(&self) -> bool {
        self.threads.iter().any(|thread| {
            let mut steps =
                (0..thread.body.len()).filter_map(|at| Some((at, thread.body[at].sender()?)));
            steps.any(|(at, sender)| {
                let pair = Some((thread.node, thread.post(at).queue_pair));
                let sender = &self.threads[usize::from(sender)];
                let mut sent = (0..sender.body.len()).filter(|at| sender.is_message(*at));
                !sent.any(|at| self.queue_pair_of(sender, at) == pair)
            })
        })
    }

    /// The arrays. A location that no statement names as a part of an array is in none.
    pub fn arrays(&self) -> Arrays {
        let of = |step: &Step| {
            let words = step.words();
            step.arrays().map(move |first| (first, words))
        };
        Arrays(self.steps().flat_map(of).collect())
    }

    /// All accesses, with thread and step.
    pub fn accesses(&self) -> impl Iterator<Item = (usize, usize, Access)> {
        self.threads.iter().enumerate().flat_map(|(index, thread)| {
            let steps = thread.body.iter().enumerate();
            steps.flat_map(move |(at, step)| step.accesses().map(move |found| (index, at, found)))
        })
    }

    /// For each step, how many polls it stands for if the program waits by polls: 0 except for
    /// [`Step::Await`].
    pub fn polls(&self, thread: &Thread) -> Vec<usize> {
        let mut polled: Vec<((u8, u8), usize)> = Vec::new();
        let mut counts = vec![0; thread.body.len()];
        for (index, step) in thread.body.iter().enumerate() {
            let Step::Await { step } = step else { continue };
            let step = usize::from(*step);
            let Some(pair) = self.queue_pair_of(thread, step) else { continue };
            let earlier = (0..=step).filter(|other| thread.completes(*other));
            let needed =
                earlier.filter(|other| self.queue_pair_of(thread, *other) == Some(pair)).count();
            let known = polled.iter().position(|(other, _)| *other == pair);
            let slot = known.unwrap_or_else(|| {
                polled.push((pair, 0));
                polled.len() - 1
            });
            counts[index] = needed.saturating_sub(polled[slot].1);
            polled[slot].1 += counts[index];
        }
        counts
    }

    /// Whether each wait waits for something that has a completion and that no earlier wait waited for.
    pub fn waits_for_something(&self, completion: Completion) -> bool {
        self.threads.iter().all(|thread| {
            let polls = self.polls(thread);
            let body = &thread.body;
            (0..body.len()).filter(|at| matches!(body[*at], Step::Await { .. })).all(|at| {
                let completes =
                    matches!(body[at], Step::Await { step } if thread.completes(step.into()));
                match completion {
                    Completion::Poll => completes && polls[at] > 0,
                    Completion::Wait => completes && !body[..at].contains(&body[at]),
                    Completion::Never => false,
                }
            })
        })
    }

    /// Removes a step, and the steps that lose their meaning without it. Also returns the new positions of
    /// the thread's other steps.
    pub fn without(
        &self,
        thread: usize,
        step: usize,
        completion: Completion,
    ) -> (Self, Vec<Option<usize>>) {
        let mut smaller = self.clone();
        let old = &self.threads[thread].body;
        let mut posts = Vec::with_capacity(old.len());
        let mut places: Vec<Option<usize>> = Vec::with_capacity(old.len());
        let mut body: Vec<Step> = Vec::with_capacity(old.len());
        for (at, kept) in old.iter().enumerate() {
            let renumbered = match kept {
                _ if at == step => None,
                other => match other.earlier() {
                    Some(earlier) => places[usize::from(earlier)]
                        .map(|earlier| other.referring_to(earlier as u8)),
                    None => Some(*other),
                },
            };
            places.push(renumbered.map(|_| body.len()));
            posts.extend(renumbered.map(|_| self.threads[thread].post(at)));
            body.extend(renumbered);
        }
        smaller.threads[thread] =
            Thread { body, ..Thread::new(self.threads[thread].node) }.posted(posts);
        // A poll that a later wait would do anyway is not lost. A wait that stands for no polls is lost.
        let polls = smaller.polls(&smaller.threads[thread]);
        let body = &smaller.threads[thread].body;
        let empty = (0..body.len()).find(|at| {
            matches!(body[*at], Step::Await { .. })
                && match completion {
                    Completion::Poll => polls[*at] == 0,
                    _ => body[..*at].contains(&body[*at]),
                }
        });
        let Some(empty) = empty else { return (smaller, places) };
        let (smaller, again) = smaller.without(thread, empty, completion);
        (smaller, places.into_iter().map(|place| place.and_then(|place| again[place])).collect())
    }

    /// All shapes with one step less, in which a wait is for an earlier operation, or a step is posted more
    /// plainly.
    pub fn smaller(&self, completion: Completion) -> Vec<Self> {
        let mut found = BTreeSet::new();
        for (index, thread) in self.threads.iter().enumerate() {
            for (at, step) in thread.body.iter().enumerate() {
                let smaller = self.without(index, at, completion).0;
                // Who receives from nobody has no meaning.
                if !smaller.receives_from_nobody() {
                    found.insert(smaller.canonical());
                }
                found.extend(self.plainer(index, at, completion));
                let Step::Await { step: awaited } = step else { continue };
                for earlier in 0..*awaited {
                    if !thread.completes(earlier.into()) {
                        continue;
                    }
                    let mut weaker = self.clone();
                    weaker.threads[index].body[at] = Step::Await { step: earlier };
                    if weaker.waits_for_something(completion) {
                        found.insert(weaker.canonical());
                    }
                }
            }
        }
        found.into_iter().collect()
    }

    /// The shapes in which a step is posted more plainly: signaled, read by the NIC, without an immediate, or
    /// on the first queue pair.
    fn plainer(&self, thread: usize, step: usize, completion: Completion) -> Vec<Self> {
        let post = self.threads[thread].post(step);
        if post == Post::default() {
            return Vec::new();
        }
        let plain = [
            Post { unsignaled: false, ..post },
            Post { inline: false, ..post },
            Post { immediate: false, ..post },
            Post { queue_pair: 0, ..post },
        ];
        // A receive is on the queue pair of its sender, so it does not move alone.
        let changed = plain
            .into_iter()
            .filter(|plain| *plain != post && self.threads[thread].body[step].sender().is_none());
        let shapes = changed.map(|plain| {
            let mut shape = self.clone();
            let own = &self.threads[thread];
            let posts = (0..own.body.len()).map(|at| if at == step { plain } else { own.post(at) });
            shape.threads[thread] = own.clone().posted(posts.collect());
            shape
        });
        let is_fine =
            |shape: &Self| !shape.receives_from_nobody() && shape.waits_for_something(completion);
        let canonical = self.canonical();
        let shapes = shapes.filter(is_fine).map(|shape| shape.canonical());
        shapes.filter(|shape| *shape != canonical).collect()
    }
}
