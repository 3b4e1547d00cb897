//! Can each execution of an implementation end? The definition of soundness is about executions that end, so
//! an implementation that is stuck would show nothing and be sound.
//!
//! Asked on the machine, with the implementations of all libraries: from each state that it reaches, some
//! steps must lead to the end of the client. A specification may forbid that too: two threads that take two
//! locks each in another order, or one that waits for what another has taken. So a state is held against an
//! implementation only if, by the specification, some of the calls that do not come back may return, after
//! those that came back with what these returned. A call that takes what another thread holds
//! (`requires A before B`) is not asked to.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use compiler::library::{Depth, inline};
use lang::Test;
use lang::library::RuleKind;
use lang::outcome::{Observed, Outcome, Value};
use lang::source::{Source, Span};

use super::answer::{Answer, Counterexample, Wrong};
use super::clients::{Client, Op};
use super::steps::numbered;
use super::text::{kept, part, text};
use super::{Asked, ByMachine, Refinement, Shown};
use crate::allowed::Options;
use crate::asking::Refused;
use crate::asking::first_message;
use crate::machine::{self, Effort, FaultSet, Limits, Stuck, Variant, Witness};

/// How many states of one client are looked at.
pub(super) const STATES: u64 = 1_000_000;

/// How far threads have come in a state from which no execution ends.
struct Halt {
    /// By thread, how many statements are done.
    done: Vec<usize>,
    /// By name, what those that are done have returned.
    returned: Vec<(String, Value)>,
}

/// What the specification says of a state from which no execution ends.
enum Said {
    /// This program, with what has been returned, is allowed: the calls may return.
    GoesOn(String),
    /// It is stuck there as well.
    Stuck,
    /// It cannot be asked.
    Unknown,
}

impl Asked<'_> {
    pub(super) fn holds(&self, cut_off: bool) -> Answer {
        Answer::Holds { outcomes: self.allowed.outcomes.len(), cut_off }
    }
}

impl Refinement {
    /// What the machine says of a client whose outcomes are allowed by the axioms, with the implementations
    /// of all libraries.
    pub(super) fn by_implementations(
        &self,
        asked: &Asked<'_>,
        lowered: &Test,
        shown: Shown,
    ) -> Result<ByMachine, String> {
        let full = match inline(lowered, &self.libraries, Depth::Full) {
            Ok(full) => full,
            Err(errors) => return Ok(ByMachine::Open(first_message(&errors))),
        };
        let Shown { ends, cut_off } = shown;
        if ends && !cut_off && !machine::may_wait(&full.program) {
            return Ok(ByMachine::Decided(asked.holds(false)));
        }
        self.by_machine(asked, &full, cut_off)
    }

    /// What the machine says of a client with its calls replaced.
    pub(super) fn by_machine(
        &self,
        asked: &Asked<'_>,
        full: &Test,
        cut_off: bool,
    ) -> Result<ByMachine, String> {
        let Some(variant) = self.lower.machine.as_deref().and_then(Variant::from_name) else {
            let name = &self.lower.name;
            return Ok(ByMachine::Open(format!("the model `{name}` has no machine")));
        };
        let Options { limits, .. } = asked.options;
        let limits = Limits { states: STATES, until: limits.clone(), ..Limits::default() };
        let known = &asked.allowed.outcomes;
        let is_other = |outcome: &&Outcome| !known.iter().any(|known| known.covers(outcome));
        let mut judged = Ok(ByMachine::Decided(asked.holds(cut_off)));
        let found =
            machine::progress(full, variant, Effort::Full, limits.clone(), |found, stuck| {
                if known.is_empty() || found.outcomes.iter().any(|outcome| is_other(&outcome)) {
                    return ControlFlow::Break(());
                }
                let Some(said) = self.is_stuck(asked, &stuck).transpose() else {
                    return ControlFlow::Continue(());
                };
                judged = said;
                // Another way to be stuck may tell more.
                match &judged {
                    Ok(ByMachine::Open(_)) => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                }
            });
        let found = match found {
            Ok(explored) => explored,
            Err(error) => return Ok(ByMachine::Open(error.diagnostic().message)),
        };
        if let Some(outcome) = found.outcomes.iter().find(is_other) {
            let way = machine::witness(full, variant, FaultSet::NONE, outcome, limits);
            let steps = match way {
                Ok(Witness::Steps(steps)) => steps,
                _ => Vec::new(),
            };
            return self.other_outcome(asked, outcome, &steps).map(ByMachine::Decided);
        }
        match (judged, found.reason) {
            (Ok(ByMachine::Decided(Answer::Holds { .. })), Some(reason)) => {
                Ok(ByMachine::Open(reason))
            }
            // By the specification no execution ends.
            (Ok(_), None) if known.is_empty() => Ok(ByMachine::Decided(Answer::Nothing)),
            (judged, _) => judged,
        }
    }

    /// What a stuck state says of the implementation; nothing if the specification is stuck there too.
    fn is_stuck(&self, asked: &Asked<'_>, stuck: &Stuck) -> Result<Option<ByMachine>, String> {
        let Asked { client, test, options, .. } = asked;
        let program = text(client, self.library(), None);
        let source = Source::new("client", program.clone());
        let halt = halt(client, test, &source, stuck);
        let is_done = |(done, thread): (&usize, &(u32, Vec<Op>))| *done == thread.1.len();
        let forbidden = match halt.done.iter().zip(&client.threads).all(is_done) {
            true => SERVICE_STUCK.to_owned(),
            false => match self.specification_goes_on(client, &halt, options)? {
                Said::GoesOn(allows) => {
                    let said = "With what has been returned, the specification lets calls return";
                    format!("{said}:\n\n{allows}")
                }
                Said::Stuck => return Ok(None),
                Said::Unknown => {
                    let reason = "one is stuck, and the specification cannot be asked there";
                    return Ok(Some(ByMachine::Open(reason.to_owned())));
                }
            },
        };
        let (wrong, outcome) = (Wrong::Stuck, halt.returned);
        let execution = where_stuck(&source, stuck);
        let found = Counterexample { wrong, program, outcome, execution, forbidden };
        Ok(Some(ByMachine::Decided(Answer::Refuted(Box::new(found)))))
    }

    /// Whether, by the specification, some of the calls that do not come back may return.
    fn specification_goes_on(
        &self,
        client: &Client,
        halt: &Halt,
        options: &Options,
    ) -> Result<Said, String> {
        let is_done = |thread: usize| halt.done[thread] == client.threads[thread].1.len();
        let open: Vec<usize> = (0..client.threads.len())
            .filter(|thread| !is_done(*thread) && !self.waits_for_holder(client, halt, *thread))
            .collect();
        let mut is_known = true;
        // First all of them together, as in a barrier.
        for some in (1..1_u32 << open.len()).rev() {
            let some: BTreeSet<usize> =
                (0..open.len()).filter(|index| some >> index & 1 == 1).map(|i| open[i]).collect();
            let step = |thread: usize| usize::from(some.contains(&thread));
            let lengths: Vec<usize> =
                halt.done.iter().enumerate().map(|(thread, done)| done + step(thread)).collect();
            match self.allows(client, &lengths, halt, options)? {
                Some(Said::Stuck) => {}
                Some(Said::Unknown) => is_known = false,
                Some(said) => return Ok(said),
                // Whoever calls must call as often as others: ask whether they may go on to their ends.
                None => {
                    let end = |(thread, done): (usize, &usize)| match some.contains(&thread) {
                        true => client.threads[thread].1.len(),
                        false => *done,
                    };
                    let lengths: Vec<usize> = halt.done.iter().enumerate().map(end).collect();
                    match self.allows(client, &lengths, halt, options)? {
                        Some(said @ Said::GoesOn(_)) => return Ok(said),
                        Some(Said::Unknown) => is_known = false,
                        Some(Said::Stuck) | None => {}
                    }
                }
            }
        }
        Ok(if is_known { Said::Stuck } else { Said::Unknown })
    }

    /// Whether the specification allows the client cut off after some statements of each thread, and what
    /// is held then released, with what has been returned. `None` if that misuses the library.
    fn allows(
        &self,
        client: &Client,
        lengths: &[usize],
        halt: &Halt,
        options: &Options,
    ) -> Result<Option<Said>, String> {
        let mut cut = client.clone();
        for (thread, length) in lengths.iter().enumerate() {
            let ops = &mut cut.threads[thread].1;
            ops.truncate(*length);
            ops.extend(self.releases(&client.threads[thread].1[..*length]));
        }
        let program = part(&cut, client, self.library(), None);
        let (test, errors) = lang::litmus::load(&Source::new("client", program));
        let test = test.ok_or_else(|| first_message(&errors))?;
        let allowed = match self.specified(&test, options) {
            Ok(Some(allowed)) => allowed,
            Ok(None) => return Ok(None),
            Err(Refused::Limit(_)) => return Ok(Some(Said::Unknown)),
            Err(refused) => return Err(refused.message()),
        };
        let index = |name: &str| test.observables.iter().position(|o| o.name == name);
        let agrees = allowed.outcomes.iter().any(|outcome| {
            halt.returned.iter().all(|(name, value)| {
                index(name).is_none_or(|index| outcome.0[index].covers(*value))
            })
        });
        Ok(Some(match (agrees, allowed.complete.is_some()) {
            (true, _) => {
                let shown: &[(String, Value)] = &halt.returned;
                Said::GoesOn(part(&cut, client, self.library(), Some(shown)))
            }
            (false, true) => Said::Stuck,
            (false, false) => Said::Unknown,
        }))
    }

    /// The objects that are held after some statements, each with the methods that take and release it.
    fn held(&self, ops: &[Op]) -> Vec<(usize, usize, usize)> {
        let library = self.library();
        let mut held: Vec<(usize, usize, usize)> = Vec::new();
        for rule in &library.rules {
            let RuleKind::Alternate(first, second) = &rule.kind else { continue };
            let (Some((first, _)), Some((second, _))) =
                (library.method(first), library.method(second))
            else {
                continue;
            };
            for op in ops {
                let Op::Call { method, objects, .. } = op else { continue };
                let Some(object) = objects.first() else { continue };
                if *method == first {
                    held.push((*object, first, second));
                } else if *method == second {
                    held.retain(|(known, taken, _)| known != object || *taken != first);
                }
            }
        }
        held
    }

    /// Calls that release what is held after some statements, the last taken first.
    fn releases(&self, ops: &[Op]) -> Vec<Op> {
        let release = |(object, _, second): (usize, usize, usize)| Op::Call {
            method: second,
            objects: vec![object],
            locations: Vec::new(),
            values: Vec::new(),
            id: false,
            nodes: None,
        };
        self.held(ops).into_iter().rev().map(release).collect()
    }

    /// Whether a thread is about to take what another one holds.
    fn waits_for_holder(&self, client: &Client, halt: &Halt, thread: usize) -> bool {
        let Some(Op::Call { method, objects, .. }) =
            client.threads[thread].1.get(halt.done[thread])
        else {
            return false;
        };
        client.threads.iter().zip(&halt.done).enumerate().any(|(other, ((_, ops), done))| {
            let held = self.held(&ops[..*done]);
            let mut wanted = held.iter().filter(|(object, ..)| objects.first() == Some(object));
            other != thread && wanted.any(|(_, first, _)| first == method)
        })
    }
}

/// What is said if all calls have returned, and no steps lead to the end all the same.
pub(super) const SERVICE_STUCK: &str =
    "All calls have returned, and a service never comes to the end of its round.";

/// Where threads do not come back from, in words.
pub(super) fn where_stuck(source: &Source, stuck: &Stuck) -> String {
    let mut words = String::from("stuck: from here no steps lead to the end\n\n");
    for (number, at) in stuck.at.iter().enumerate() {
        let number = number + 1;
        words.push_str(&match at {
            None => format!("  thread {number} is done\n"),
            // A service, which is no thread of the client.
            Some(span) if span.is_nowhere() => String::new(),
            Some(span) => {
                let (line, call) = (source.line_column(span.start).0, &source.text[span.range()]);
                format!("  thread {number} does not come back from `{call}` (line {line})\n")
            }
        });
    }
    words.push_str("\nThe steps that lead there, with the implementations of all libraries:\n\n");
    words.push_str(&numbered(&stuck.steps));
    words
}

/// How far the threads of a client have come. Each statement of a client has a line of its own.
fn halt(client: &Client, test: &Test, source: &Source, stuck: &Stuck) -> Halt {
    let line = |span: Span| source.line_column(span.start).0;
    let kept = kept(client);
    let mut done: Vec<usize> = vec![0; client.threads.len()];
    for (position, thread) in kept.iter().enumerate() {
        let body = &test.program.threads[position].body;
        let lines: BTreeSet<usize> = body.iter().map(|stmt| line(stmt.span)).collect();
        done[*thread] = match stuck.at[position] {
            None => lines.len(),
            Some(at) => lines.range(..line(at)).count(),
        };
    }
    let returned = test.observables.iter().filter_map(|observable| {
        let Observed::Register(register) = observable.what else { return None };
        let position = test.program.registers[register.0].thread.0;
        let op: usize = observable.name.get(1..)?.parse().ok()?;
        let value = Value::of_word(stuck.registers[register.0]);
        (op <= done[kept[position]]).then(|| (observable.name.clone(), value))
    });
    let returned = returned.collect();
    Halt { done, returned }
}
