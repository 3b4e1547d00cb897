use super::*;
use crate::bound::Complete;
use crate::verdict::Verdict;
use lang::outcome::Value;

fn found(values: &[u64], complete: bool) -> Result<Found, Refusal> {
    let outcome = |value: &u64| Outcome(vec![Value::Int(*value)]);
    let outcomes = values.iter().map(outcome).collect();
    let allowed =
        Allowed { outcomes, complete: complete.then(Complete::on_trust), ..Allowed::default() };
    Ok(Found { allowed, ..Found::default() })
}

/// smt, explore: what the two come to (agree, outcomes, complete).
#[test]
fn two_answers() {
    let rows = [
        (found(&[0, 1], true), found(&[0, 1], true), true, 2, true),
        (found(&[0, 1], true), found(&[0], false), true, 2, true),
        (found(&[0], false), found(&[0, 1], true), true, 2, true),
        (found(&[0], false), found(&[1], false), true, 2, false),
        (found(&[0], true), found(&[0, 1], true), false, 2, false),
        (found(&[0], true), found(&[1], false), false, 2, false),
        (found(&[1], false), found(&[0], true), false, 2, false),
    ];
    for (index, (smt, explore, agree, outcomes, complete)) in rows.into_iter().enumerate() {
        let found = both(smt, explore).unwrap();
        assert_eq!(found.disagreement.is_none(), agree, "row {index}");
        assert_eq!(found.allowed.outcomes.len(), outcomes, "row {index}");
        assert_eq!(found.allowed.complete.is_some(), complete, "row {index}");
    }
}

/// What is found of a test with these settings.
fn asked(text: &str, model: &str, request: Request) -> Found {
    let (test, wrong) = lang::litmus::load(&lang::source::Source::new("t.litmus", text));
    let test = test.unwrap_or_else(|| panic!("{wrong:?}"));
    let model = crate::models::load_shipped(model).unwrap().unwrap().model;
    ask(&test, &model, &request).unwrap()
}

#[test]
fn what_the_bound_leaves_open_is_explored() {
    // A lock that is tried until it is free: no bound is enough, and there are few states.
    let text = "litmus lock\nmodel rdma-tso-rmw\n\na = 0 || l = 0 || b = 0\n-----\n\
         loop { a := RCAS(l^2, 0, 1); Poll(2); c := a; if c = 0 { break } } || \
         || loop { b := RCAS(l^2, 0, 1); Poll(2); d := b; if d = 0 { break } }\n\
         l^2 := 0 || || l^2 := 0\n";
    let by = |engine| asked(text, "rdma-tso-rmw", Request { engine, ..Request::default() });
    let found = by(Engine::Smt);
    assert!(found.allowed.complete.is_none() && found.allowed.is_beyond_bound);
    assert_eq!(found.by, Engine::Smt);
    for (engine, answers) in [(Engine::Axioms, Engine::Both), (Engine::Auto, Engine::Explore)] {
        let found = by(engine);
        assert!(found.allowed.complete.is_some() && !found.allowed.is_beyond_bound);
        assert_eq!(found.by, answers);
        assert!(!found.allowed.outcomes.is_empty());
    }
}

#[test]
fn few_states_are_explored_and_else_the_axioms_are_asked() {
    let text = "litmus SB\nmodel tso\n\nx = 0, y = 0\n-----\nx := 1 | y := 1\na := y | b := x\n";
    let soon = asked(text, "tso", Request::default());
    assert!(soon.by == Engine::Explore && soon.explored.is_some());
    let most = Request { max_states: Some(1), ..Request::default() };
    let late = asked(text, "tso", most);
    assert!(late.by == Engine::Smt && late.explored.is_none());
    assert!(soon.allowed.complete.and(late.allowed.complete).is_some());
    assert_eq!(soon.allowed.outcomes, late.allowed.outcomes);
    // No machine says what it means.
    assert_eq!(asked(text, "verbs", Request::default()).by, Engine::Smt);
}

/// One thread with k writes and two with k reads each, all of one location. What was read is used in the end,
/// so states differ in it.
fn reads(k: usize) -> String {
    let line = |i| format!("x := {} | a{i} := x | b{i} := x\n", i + 1);
    let lines: String = (0..k).map(line).collect();
    let sum = |name: &str| (0..k).map(|i| format!("{name}{i}")).collect::<Vec<_>>().join(" + ");
    let last = format!(" | a := {} | b := {}\n", sum("a"), sum("b"));
    format!("litmus RD{k}\nmodel tso\n\nx = 0 | |\n-----\n{lines}{last}")
}

/// Five writes have more states than are explored at first, and as many outcomes.
#[test]
fn the_machine_goes_on_where_it_shows_an_outcome_in_each_state() {
    let many = asked(&reads(5), "tso", Request::default());
    assert_eq!((many.by, many.allowed.outcomes.len()), (Engine::Explore, 63_504));
    assert!(many.allowed.complete.is_some());
    // With few states allowed, the axioms know the rest.
    let few = |states| Request { max_states: Some(states), ..Request::default() };
    let late = asked(&reads(5), "tso", few(22_000));
    assert_eq!(late.by, Engine::Both);
    assert!(late.allowed.outcomes == many.allowed.outcomes);
    assert!(late.allowed.complete.is_some());
    let four = asked(&reads(4), "tso", few(1000));
    assert_eq!((four.by, four.allowed.outcomes.len()), (Engine::Smt, 4900));
}

/// Verdicts alone do not wait for all outcomes, unless they are counted.
#[test]
fn verdicts_need_few_states_or_one_question() {
    let of = |claims: &str, states| {
        let text = format!("{}\n{claims}\n", reads(4));
        let (test, wrong) = lang::litmus::load(&lang::source::Source::new("t.litmus", text));
        let test = test.unwrap_or_else(|| panic!("{wrong:?}"));
        let model = crate::models::load_shipped("tso").unwrap().unwrap().model;
        let request = Request { max_states: states, ..Request::default() };
        verdicts(&test, (&model, false), &request).unwrap()
    };
    let all = |found: &Verdicts| -> Vec<Verdict> {
        found.answered.checked.iter().map(|checked| checked.verdict).collect()
    };
    let (shown, hidden) = ("(a0, b3) = (1, 4) ✓", "(a0, a1) = (2, 1) ✗");
    let found = of(&format!("{shown}\n{hidden}"), None);
    assert_eq!((found.by, all(&found)), (Engine::Smt, vec![Verdict::Allowed, Verdict::Forbidden]));
    // What an outcome shows needs no others.
    let found = of("a3 ≠ 9 ✓\nforall a3 = 9", None);
    assert_eq!(
        (found.by, all(&found)),
        (Engine::Explore, vec![Verdict::Allowed, Verdict::NotAlways])
    );
    let found = of("", None);
    assert_eq!((found.by, all(&found)), (Engine::Explore, Vec::new()));
    // Questions count outcomes.
    for states in [None, Some(10)] {
        let found = of("(a0, b3) = (1, 4) ?", states);
        let seen = found.answered.checked[0].seen.unwrap();
        assert!(seen.complete && (seen.positive, seen.negative) == (1, 24), "{seen:?}");
    }
}

/// What the machine has shown counts, if there is no time left for the axioms.
#[test]
fn what_is_known_when_time_is_over_is_kept() {
    let limits = Limits::of_time(Duration::from_secs(3));
    let request = Request { max_states: Some(40_000), limits, ..Request::default() };
    let found = asked(&reads(8), "tso", request);
    assert!(found.allowed.complete.is_none() && found.allowed.reason.is_some());
    assert!(found.allowed.outcomes.len() > MANY_OUTCOMES, "{}", found.allowed.outcomes.len());
}

#[test]
fn one_answer_is_kept_and_marked() {
    let unsupported = || Err(Refusal::Unsupported("no machine".to_owned()));
    let alone = both(found(&[0], true), unsupported()).unwrap();
    assert_eq!(alone.unsupported.as_deref(), Some("not compared: no machine"));
    assert!(alone.allowed.complete.is_some());
    assert!(matches!(both(unsupported(), unsupported()), Err(Refusal::Unsupported(_))));
}
