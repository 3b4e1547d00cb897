//! What a method may do and never does: an implementation whose calls always fail is sound, and useless.

use compiler::library::{Depth, inline};
use lang::Test;
use lang::outcome::{Observed, Outcome, Value};
use lang::source::Source;

use super::Refinement;
use super::clients::{Client, Op};
use super::text::{kept, part, text};
use crate::allowed::Options;
use crate::asking::Refused;
use crate::machine::{self, Limits, Variant};

/// The clients that are looked at: of up to this many statements, and this many of these.
pub const STATEMENTS: usize = 4;
const CLIENTS: usize = 2000;
/// How many states of each.
const STATES: u64 = 100_000;

/// A method that never returned more than 0 and ⊥, though the specification lets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Never {
    /// The method.
    pub method: String,
    /// A client in which it may, with the outcome that the specification allows.
    pub program: String,
}

/// What is known of a method.
#[derive(Clone, Default)]
struct Known {
    /// A client in which it may return more.
    may: Option<String>,
    /// It did; or a limit was hit, and it might have.
    does: bool,
}

impl Refinement {
    /// The methods that never return more than 0 and ⊥ in small clients, and may.
    ///
    /// # Errors
    /// What is wrong with the library's text, found at a call.
    pub fn never(&self, clients: &[Client], options: &Options) -> Result<Vec<Never>, String> {
        // What a sequential object returns, its state decides: what never does it is not linearizable.
        if self.library().sequential.is_some() {
            return Ok(Vec::new());
        }
        let methods = &self.library().methods;
        let mut known = vec![Known::default(); methods.len()];
        for (number, method) in methods.iter().enumerate() {
            known[number].does = method.cases.iter().all(|case| case.returns.is_none());
        }
        let small = clients.iter().filter(|client| client.size() <= STATEMENTS);
        for client in small.take(CLIENTS) {
            if known.iter().all(|known| known.does) {
                break;
            }
            self.look(client, &mut known, options)?;
        }
        let never = known.into_iter().zip(methods).filter(|(known, _)| !known.does);
        Ok(never
            .filter_map(|(known, method)| {
                Some(Never { method: method.name.clone(), program: known.may? })
            })
            .collect())
    }

    fn look(&self, client: &Client, known: &mut [Known], options: &Options) -> Result<(), String> {
        let program = text(client, self.library(), None);
        let (test, _) = lang::litmus::load(&Source::new("client", program));
        let Some(test) = test else { return Ok(()) };
        let results: Vec<(usize, usize)> =
            results(client, &test).into_iter().filter(|(method, _)| !known[*method].does).collect();
        if results.is_empty() {
            return Ok(());
        }
        let allowed = match self.specified(&test, options) {
            Ok(Some(allowed)) => allowed,
            Ok(None) => return Ok(()),
            Err(Refused::Limit(_)) => return Ok(()),
            Err(refused) => return Err(refused.message()),
        };
        let more = |outcome: &&Outcome, shown: usize| !is_nothing(outcome.0[shown]);
        let may = results.into_iter().filter_map(|(method, shown)| {
            let outcome = allowed.outcomes.iter().find(|outcome| more(outcome, shown))?;
            Some((method, shown, outcome))
        });
        let may: Vec<_> = may.collect();
        if may.is_empty() {
            return Ok(());
        }
        let shown = self.shown(&test);
        for (method, index, outcome) in may {
            let does = shown
                .as_ref()
                .is_none_or(|shown| shown.iter().any(|outcome| more(&outcome, index)));
            known[method].does |= does;
            if known[method].may.is_none() {
                let names = test.observables.iter().map(|observable| observable.name.clone());
                let shown: Vec<(String, Value)> = names.zip(outcome.0.iter().copied()).collect();
                known[method].may = Some(part(client, client, self.library(), Some(&shown)));
            }
        }
        Ok(())
    }

    /// All that the machine shows of a client, with the implementations of all libraries, if it can tell.
    fn shown(&self, test: &Test) -> Option<Vec<Outcome>> {
        let lowered = inline(test, &self.libraries, Depth::Only(self.number)).ok()?;
        let full = inline(&lowered, &self.libraries, Depth::Full).ok()?;
        let variant = Variant::from_name(self.lower.machine.as_deref()?)?;
        let limits = Limits { states: STATES, ..Limits::default() };
        let found = machine::explore(&full, variant, limits).ok()?;
        found.complete.then(|| found.outcomes.into_iter().collect())
    }
}

fn is_nothing(value: Value) -> bool {
    matches!(value, Value::Int(0) | Value::Bottom)
}

/// The methods called, each with the observable that shows what a call has returned.
fn results(client: &Client, test: &Test) -> Vec<(usize, usize)> {
    let kept = kept(client);
    let shown = test.observables.iter().enumerate();
    let called = shown.filter_map(|(index, observable)| {
        let Observed::Register(register) = observable.what else { return None };
        let thread = kept[test.program.registers[register.0].thread.0];
        let op: usize = observable.name.get(1..)?.parse().ok()?;
        match client.threads[thread].1.get(op.checked_sub(1)?)? {
            Op::Call { method, .. } => Some((*method, index)),
            _ => None,
        }
    });
    called.collect()
}
