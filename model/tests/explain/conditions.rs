//! Conditions that somebody asks about are explained as the outcomes say that are allowed.

use crate::programs::{generate, load, models, number};
use lang::Test;
use lang::cat::model::Model;
use lang::outcome::Asked;
use lang::source::Source;
use model::allowed::{Options, Question, undefined_calls};
use model::explain::{Reason, explain};

const PROGRAMS: u64 = 5;

/// Compares what is said of a condition with the outcomes; whether it is allowed, or `None` if that is
/// unknown.
fn compare(test: &mut Test, model: &Model, text: &str) -> Result<Option<bool>, String> {
    let asked = lang::litmus::ask(&Source::new("asked", text), test)
        .map_err(|errors| format!("{text}: {}", errors[0].message))?;
    explained(test, model, &asked).map_err(|error| format!("{}, {text}: {error}", model.name))
}

fn explained(test: &Test, model: &Model, asked: &Asked) -> Result<Option<bool>, String> {
    let first = |refused: model::asking::Refused| refused.text();
    let question = Question::of(test, model).question().map_err(first)?;
    let options = Options::default();
    let allowed = question.allowed(&options).map_err(first)?;
    let expected = allowed.outcomes.iter().any(|outcome| asked.condition.holds(outcome));
    let explanation = explain(&question, &options, asked).map_err(first)?;
    let found = match &explanation.reason {
        Reason::Witness(execution) if !asked.condition.holds(&execution.outcome) => {
            return Err(format!("{:?} is not an example", execution.outcome));
        }
        Reason::Broken(broken) if !asked.condition.holds(&broken.execution.outcome) => {
            return Err(format!("{:?} is not an example", broken.execution.outcome));
        }
        Reason::Witness(_) => true,
        Reason::Unknown(_) if allowed.complete.is_none() && !expected => return Ok(None),
        Reason::Unknown(_) => return Err("unknown".to_owned()),
        _ if allowed.complete.is_none() => return Err("unknown is said to be forbidden".to_owned()),
        _ => false,
    };
    if found == expected {
        Ok(Some(found))
    } else {
        Err(format!("expected {expected}, found {found}"))
    }
}

#[test]
fn conditions_mean_what_outcomes_say() {
    let models = models();
    let (mut allowed, mut forbidden, mut unknown) = (0, 0, 0);
    let seed = number("LITMUS_SEED", 1);
    for seed in seed..seed + number("LITMUS_RANDOM", PROGRAMS) {
        let program = generate(seed).to_string();
        let mut test = load(&program).expect("it is well formed");
        let names: Vec<String> = test.observables.iter().map(|shown| shown.name.clone()).collect();
        let mut conditions = vec!["true".to_owned(), "false".to_owned()];
        for pair in names.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            conditions.push(format!("{a} = {b}"));
            conditions.push(format!("{a} != {b}; {a} + {b} > 1"));
            conditions.push(format!("({a} + 1) % 2 = 0 or {a} = 2 and not {b} = 0"));
            conditions.push(format!("({a}, {b}) in {{(0, 1), (1, 0)}} ✗"));
            conditions.push(format!("forall ({a} <= {b})"));
        }
        // Once by few combinations of values, and once with all names, by outcomes.
        conditions.push(format!("{} % 3 = 2", names.join(" + ")));
        let fits = |model: &&Model| {
            undefined_calls(&test.clone(), model, model::library::shipped()).is_empty()
        };
        for model in models.iter().filter(fits).collect::<Vec<_>>() {
            for condition in &conditions {
                let found = compare(&mut test, model, condition)
                    .unwrap_or_else(|error| panic!("LITMUS_SEED={seed}: {error}\n\n{program}"));
                match found {
                    Some(true) => allowed += 1,
                    Some(false) => forbidden += 1,
                    None => unknown += 1,
                }
            }
        }
    }
    println!("{allowed} conditions are allowed, {forbidden} forbidden, {unknown} unknown");
    assert!(allowed > 0 && forbidden > 0);
}

/// More combinations of values than are tried one by one.
#[test]
fn conditions_on_many_values_are_decided() {
    let writes = (1..=9).map(|value| format!("x := {value}"));
    let rows = writes.enumerate().map(|(row, write)| match row {
        0 => format!("  {write} | a := x | c := x\n"),
        1 => format!("  {write} | b := x | \n"),
        _ => format!("  {write} |  | \n"),
    });
    let text = format!("litmus t\nmodel tso\n\n  x = 0 |  | \n ---\n{}", rows.collect::<String>());
    let mut test = load(&text).unwrap_or_else(|error| panic!("{text}{error}"));
    let models = models();
    let tso = models.iter().find(|model| model.name == "tso").expect("it is shipped");
    for (condition, expected) in [
        ("a + b + c = 27", true),
        ("a > b", false),
        ("a < b, b < c", true),
        ("a = b + 1 or a + b + c = 28", false),
        ("a * 10 + b = 37", true),
    ] {
        assert_eq!(compare(&mut test, tso, condition), Ok(Some(expected)), "{condition}");
    }
}

/// What breaks an axiom in the nearest execution is what the outcome names, though more could be broken.
#[test]
fn nearest_executions_are_about_the_outcome() {
    let rows = [
        // Reads of z that are out of order, and writes of it, have nothing to do with it.
        (
            "rdma-tso",
            "(a, b) = (1, 0)",
            "  z = 0 || x = 0, y = 0\n ---\n x^2 := 1 || a := y\n y^2 := 1 || b := x\n z := 1 || \n c := z || \n z := 2 || \n",
            "xy",
        ),
        (
            "tso",
            "(a, b) = (0, 0)",
            "  x = 0, y = 0, z = 0 | |\n ---\n x := 1 | y := 1 | z := 1\n Mfence | Mfence | c := z\n a := y | b := x | z := 2\n",
            "xy",
        ),
        // A lock, and a shared variable that nobody asks about.
        (
            "rdma-wait-rmw",
            "a != b",
            "  SVar s\n  WLock l; x = 0, y = 0 |\n ---\n Acq(l) | Acq(l)\n x := 1 | a := x\n y := 1 | b := y\n Rel(l) | Rel(l)\n s :=SV 1 | c :=SV s\n | d :=SV s\n",
            "xy",
        ),
    ];
    let models = models();
    for (model, condition, body, about) in rows {
        let text = format!("litmus t\nmodel {model}\n\n{body}");
        let mut test = load(&text).unwrap_or_else(|error| panic!("{text}{error}"));
        let model = models.iter().find(|one| one.name == model).expect("it is shipped");
        let asked = lang::litmus::ask(&Source::new("asked", condition), &mut test).expect("right");
        let question = Question::of(&test, model).question().expect("they fit");
        let explanation = explain(&question, &Options::default(), &asked).expect("asked");
        let Reason::Broken(broken) = &explanation.reason else {
            panic!("{text}: {:?}", explanation.reason);
        };
        assert_eq!(broken.all_axioms.len(), 1, "{text}: {:?}", broken.all_axioms);
        let locations = &question.test.program.locations;
        for step in &broken.steps {
            let Some(location) = question.skeleton.event(step.from).location else { continue };
            let name = &locations[location.0].name;
            assert!(
                about.contains(name.as_str()),
                "{text}: {name} is on the way: {:?}",
                broken.steps
            );
        }
    }
}
