//! Tests that excluding a known outcome excludes that outcome only.

mod conditions;

use std::collections::BTreeSet;

use lang::Test;
use lang::outcome::{Condition, Outcome, Value};
use lang::source::Source;

use crate::allowed::{Options, Question};
use crate::smt::solver::Answer;
use crate::smt::{Next, Session, Sizes, enumerate_by};

const ONE_READ: &str = "litmus t\nmodel sc\n\n  x = 0  |\n  ------\n  x := 1 | a := x\n";

/// A program whose two readers do not depend on each other.
const TWO_READERS: &str = "litmus t\nmodel sc\n
  x = 0  |        |
  ----------------------
  x := 1 | a := x | c := x
  x := 2 | b := x | d := x\n";

/// A program with conflicting accesses, so that observables can be ⊤.
const CONFLICT: &str = "litmus t\ndialect corerma\nmodel corerma\n
  X = 0     || Y = 1\n  ----------------\n  put(Y^2, X) || a = Y.n\n";

/// Asks about a program under a model.
fn in_session<T>(text: &str, model: &str, ask: impl FnOnce(&mut Session<'_>) -> T) -> T {
    in_session_about(Vec::new(), text, model, ask)
}

/// The same, in a session that can be asked about conditions.
fn in_session_about<T>(
    conditions: Vec<Condition>,
    text: &str,
    model: &str,
    ask: impl FnOnce(&mut Session<'_>) -> T,
) -> T {
    let libraries = crate::library::shipped();
    let (test, errors) = lang::litmus::load_with(&Source::new("t", text), libraries.words());
    let test: Test = test.unwrap_or_else(|| panic!("{errors:?}"));
    let loaded = crate::models::loaded(model).expect("it is shipped");
    let question =
        Question::of(&test, &loaded.model).libraries(libraries).question().expect("it fits");
    let session = question.session_about(conditions, &Options::default(), |_| true);
    ask(&mut session.expect("it is encoded"))
}

/// The outcomes that a program still has under a model after some known outcomes are excluded.
fn beside(text: &str, model: &str, known: &[Vec<Value>]) -> BTreeSet<Vec<Value>> {
    let mut found = BTreeSet::new();
    in_session(text, model, |session| {
        known.iter().for_each(|outcome| session.block(&Outcome(outcome.clone())));
        let within = session.counted();
        session.each(&within, &mut |at| {
            assert!(found.insert(at.outcome().0), "an outcome is found twice");
            Next::OtherOutcome
        });
    });
    found
}

/// Observables that can be ⊤: an outcome with it is not the same as those that it covers.
#[test]
fn parts_have_the_same_outcomes() {
    let tests = [(CONFLICT, "corerma"), (ONE_READ, "sc"), (TWO_READERS, "sc")];
    let both = tests.map(|test| [(test, Sizes::SMALLEST), (test, Sizes::PARTS)]);
    for ((text, model), sizes) in both.into_iter().flatten() {
        let mut witnesses = BTreeSet::new();
        let (outcomes, answer) = in_session(text, model, |session| {
            enumerate_by(session, sizes, &mut |at| {
                assert!(witnesses.insert(at.outcome().0), "an outcome is found twice");
            })
        });
        assert_eq!(answer, Answer::Unsatisfiable);
        assert_eq!(witnesses, outcomes.into_iter().map(|outcome| outcome.0).collect());
        assert_eq!(witnesses, beside(text, model, &[]));
    }
}

fn numbers(values: &[u64]) -> Vec<Value> {
    values.iter().map(|value| Value::Int(*value)).collect()
}

/// A read that does not happen, of a location with more values than a domain lists: the initial one, which is
/// not listed, is never read.
#[test]
fn what_no_domain_lists_hides_no_execution() {
    let writes =
        |name: &str, step: u64| (1..8).map(move |n| format!("{name} := {}", n * step)).collect();
    let words = |all: [&str; 5]| all.map(str::to_owned).to_vec();
    let threads: [Vec<String>; 5] = [
        writes("y", 1),
        writes("z", 10),
        words(["a := y", "b := z", "x := a + b", "", ""]),
        words(["x := 6000", "c := f", "if c = 1 {", "d := x", "}"]),
        words(["f := 1", "", "", "", ""]),
    ];
    let mut text =
        "litmus t\nmodel tso\n\n  x = 5000, y = 0, z = 0, f = 0 | | | |\n  ---\n".to_owned();
    for row in 0..7 {
        let cells = threads.iter().map(|thread| thread.get(row).map_or("", String::as_str));
        text += &format!("  {}\n", cells.collect::<Vec<_>>().join(" | "));
    }
    let found = beside(&(text + "\n  observe c\n"), "tso", &[]);
    assert_eq!(found, BTreeSet::from([numbers(&[0]), numbers(&[1])]));
}

/// Of a program that forbids something, the solver comes upon it.
#[test]
fn what_axioms_exclude_is_told() {
    let text = "litmus t\nmodel sc\n\n  x = 0, y = 0  |\n  ------\n  x := 1 | y := 1\n  a := y | b := x\n\n  observe a, b\n";
    let (test, errors) =
        lang::litmus::load_with(&Source::new("t", text), crate::library::shipped().words());
    let test: Test = test.unwrap_or_else(|| panic!("{errors:?}"));
    for (model, excluded) in [("sc", vec![Outcome(numbers(&[0, 0]))]), ("tso", Vec::new())] {
        let loaded = crate::models::load_shipped(model).expect("it is shipped").expect("it loads");
        let question = Question::of(&test, &loaded.model).question().expect("it fits");
        let found = question.allowed(&Options::default()).expect("it is encoded");
        assert_eq!(Vec::from_iter(found.excluded), excluded, "{model}");
    }
}

/// Observables are `a` and `x`.
#[test]
fn what_is_known_is_excluded() {
    let all = beside(ONE_READ, "sc", &[]);
    assert_eq!(all, BTreeSet::from([numbers(&[0, 1]), numbers(&[1, 1])]));
    let rest = beside(ONE_READ, "sc", &[numbers(&[0, 1])]);
    assert_eq!(rest, BTreeSet::from([numbers(&[1, 1])]));
}

/// Outcomes that another program or model has, and this one does not.
#[test]
fn what_cannot_be_shown_excludes_nothing() {
    for known in [numbers(&[5, 1]), numbers(&[0, 7]), numbers(&[5, 7])] {
        assert_eq!(beside(ONE_READ, "sc", &[known]).len(), 2);
    }
    let failed = vec![Value::Bottom, Value::Int(1)];
    assert_eq!(beside(ONE_READ, "sc", &[failed]).len(), 2);
}

/// ⊤ in a known outcome stands for every value, even if nothing can be ⊤.
#[test]
fn any_value_excludes_all_values() {
    let rest = beside(ONE_READ, "sc", &[vec![Value::Undefined, Value::Int(1)]]);
    assert!(rest.is_empty(), "{rest:?}");
    let rest = beside(ONE_READ, "sc", &[vec![Value::Undefined, Value::Int(7)]]);
    assert_eq!(rest.len(), 2);
}

/// A known number does not exclude ⊤. ⊤ is an outcome of its own.
#[test]
fn a_number_does_not_exclude_any_value() {
    let all = beside(CONFLICT, "corerma", &[]);
    let undefined = all.iter().find(|outcome| outcome.contains(&Value::Undefined));
    let undefined = undefined.unwrap_or_else(|| panic!("no conflict: {all:?}"));
    let number = |value: &Value| match value {
        Value::Undefined => Value::Int(0),
        known => *known,
    };
    let known = undefined.iter().map(number).collect();
    let rest = beside(CONFLICT, "corerma", &[known]);
    assert!(rest.contains(undefined), "{rest:?}");
    assert!(!beside(CONFLICT, "corerma", std::slice::from_ref(undefined)).contains(undefined));
}

/// The number of outcomes that a program of one thread has under a model with one more order.
fn outcomes_with(order: &str) -> usize {
    let text = "litmus t\nmodel own\n\n  x = 0\n  ---\n  x := 1\n  a := x\n";
    let (test, errors) =
        lang::litmus::load_with(&Source::new("t", text), crate::library::shipped().words());
    let test: Test = test.unwrap_or_else(|| panic!("{errors:?}"));
    let model = format!(
        "calls Write Read\nexists mo total on W * W & loc extends IW * (W \\ IW) & loc\n\
         let rb = (rf^-1; mo) \\ id\n{order}\nacyclic po | rf | mo | rb as happens-before\n"
    );
    let loaded = lang::cat::load(&Source::new("own.cat", model), &|_, _| None);
    let model = loaded.expect("the model is right").model;
    let libraries = crate::library::shipped();
    let question = Question::of(&test, &model).libraries(libraries).question().expect("it fits");
    let allowed = question.allowed(&Options::default()).expect("it is decided");
    assert!(allowed.complete.is_some());
    allowed.outcomes.len()
}

/// An order that must relate a pair both ways does not exist.
#[test]
fn an_order_against_itself_cannot_be_chosen() {
    assert_eq!(outcomes_with(""), 1);
    assert_eq!(outcomes_with("exists o total on po extends po"), 1);
    assert_eq!(outcomes_with("exists o total on po extends po^-1"), 1);
    assert_eq!(outcomes_with("exists o total on po extends po | po^-1"), 0);
    // The order need not relate pairs outside its domain.
    assert_eq!(outcomes_with("exists o total on po & ext extends po | po^-1"), 1);
}

/// One thread writes one location: the axioms give the order of its writes, and the formula has no variable
/// for it.
#[test]
fn what_axioms_decide_is_not_chosen() {
    for model in ["sc", "tso", "rdma-tso", "rdma-tso-rmw", "rdma-wait-rmw"] {
        let clauses = |writes: usize| {
            let rows: String = (1..=writes).map(|number| format!("  x := {number}\n")).collect();
            let text =
                format!("litmus t\nmodel {model}\n\n  x = 0\n  ---\n{rows}\n  x = {writes} ✓\n");
            let (test, errors) =
                lang::litmus::load_with(&Source::new("t", text), crate::library::shipped().words());
            let test: Test = test.unwrap_or_else(|| panic!("{errors:?}"));
            let loaded = crate::models::load_shipped(model).expect("shipped").expect("it loads");
            let libraries = crate::library::shipped();
            let question = Question::of(&test, &loaded.model)
                .libraries(libraries)
                .question()
                .expect("it fits");
            let found = question.allowed(&Options::default()).expect("it is encoded");
            assert!(
                found.complete.is_some() && found.outcomes.len() == 1,
                "{model}: {:?}",
                found.outcomes
            );
            let session = question.session(&Options::default(), |_| true).expect("it is encoded");
            session.clauses()
        };
        assert!(clauses(40) <= 8 * clauses(10), "{model}: {} and {}", clauses(10), clauses(40));
    }
}

/// An event that does not happen orders no other events, even if the order extends a relation in which it
/// stands between them.
#[test]
fn what_does_not_happen_orders_nothing() {
    let text = "litmus t\nmodel own\n\n  x = 0, y = 0\n         |\n  ---\n  x := 1 | y := 1\n  a := y |\n  \
        if a = 1 { b := FAA(x, 1) } |\n  x := 3 |\n\n  (a, x) = (0, 1) ✓\n";
    let (test, errors) =
        lang::litmus::load_with(&Source::new("t", text), crate::library::shipped().words());
    let test: Test = test.unwrap_or_else(|| panic!("{errors:?}"));
    let model = "calls Write Read FAA\nexists mo total on W * W & loc extends IW * (W \\ IW) & loc \
        | (aCW * aCAS | aCAS * aCW) & po & loc\nacyclic rf as one\n";
    let loaded = lang::cat::load(&Source::new("own.cat", model), &|_, _| None);
    let model = loaded.expect("the model is right").model;
    let libraries = crate::library::shipped();
    let question = Question::of(&test, &model).libraries(libraries).question().expect("it fits");
    let allowed = question.allowed(&Options::default()).expect("it is decided");
    let index = |name: &str| test.observables.iter().position(|known| known.name == name);
    let (a, x) = (index("a").expect("shown"), index("x").expect("shown"));
    let of = |read: u64| -> BTreeSet<Value> {
        let outcomes = allowed.outcomes.iter().filter(|outcome| outcome.0[a] == Value::Int(read));
        outcomes.map(|outcome| outcome.0[x]).collect()
    };
    assert!(allowed.complete.is_some());
    assert_eq!(of(0), BTreeSet::from([Value::Int(1), Value::Int(3)]));
    assert_eq!(of(1), BTreeSet::from([Value::Int(3)]), "the one between happens");
}
