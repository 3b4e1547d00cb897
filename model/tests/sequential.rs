//! Programs that call sequential objects, against orders of calls that are enumerated here, by objects
//! written here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::{Code, Diagnostic};
use lang::outcome::{Outcome, Value};
use lang::source::Source;
use model::engine::{Engine, Refusal, Request, ask};
use model::machine::{self, Ending};
use model::models;
use model::sequential::{Order, order};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

fn test(text: &str) -> Test {
    let source = Source::new("test", text);
    let (test, errors) = lang::litmus::load_with(&source, model::library::shipped().words());
    let is_wrong = errors.iter().any(Diagnostic::is_error);
    test.filter(|_| !is_wrong).unwrap_or_else(|| {
        panic!("{}", errors.iter().map(|error| error.render(&source, false)).collect::<String>())
    })
}

fn asked(test: &Test, engine: Engine) -> Result<model::engine::Found, Refusal> {
    ask(test, &model(), &Request { engine, ..Request::default() })
}

fn model() -> Model {
    models::load_shipped("rdma-wait-rmw").expect("it is shipped").expect("it loads").model
}

/// A call, on objects that all programs here have.
#[derive(Clone, Copy, Debug)]
enum Call {
    Write(u64),
    Read,
    Add(u64),
    Push(u64),
    Pop,
    Insert(u64, u64),
    Update(u64, u64),
    Delete(u64),
    Lookup(u64),
}

/// What the objects hold.
#[derive(Clone, Default)]
struct Memory {
    word: u64,
    /// All items that were ever pushed, and how many of them were popped.
    queue: Vec<u64>,
    popped: usize,
    keys: BTreeMap<u64, u64>,
}

impl Call {
    fn text(self) -> String {
        match self {
            Self::Write(v) => format!("Write(x, {v})"),
            Self::Read => "Read(x)".to_owned(),
            Self::Add(v) => format!("Add(x, {v})"),
            Self::Push(v) => format!("Push(q, {v})"),
            Self::Pop => "Pop(q)".to_owned(),
            Self::Insert(k, v) => format!("Insert(s, {k}, {v})"),
            Self::Update(k, v) => format!("Update(s, {k}, {v})"),
            Self::Delete(k) => format!("Delete(s, {k})"),
            Self::Lookup(k) => format!("Lookup(s, {k})"),
        }
    }

    fn returns(self) -> bool {
        !matches!(self, Self::Write(_) | Self::Push(_))
    }

    /// What it returns; `None` if it waits.
    fn take(self, memory: &mut Memory) -> Option<Value> {
        let is = |condition: bool| Some(Value::Int(u64::from(condition)));
        match self {
            Self::Write(v) => {
                memory.word = v;
                Some(Value::Bottom)
            }
            Self::Read => Some(Value::Int(memory.word)),
            Self::Add(v) => {
                memory.word += v;
                Some(Value::Int(memory.word - v))
            }
            // The queue has room for four items in all.
            Self::Push(v) => (memory.queue.len() < 4).then(|| {
                memory.queue.push(v);
                Value::Bottom
            }),
            Self::Pop => {
                let item = memory.queue.get(memory.popped).copied();
                memory.popped += usize::from(item.is_some());
                item.map(Value::Int)
            }
            Self::Insert(k, v) if memory.keys.contains_key(&k) => {
                let _ = v;
                is(false)
            }
            Self::Insert(k, v) => {
                memory.keys.insert(k, v);
                is(true)
            }
            Self::Update(k, v) => is(memory.keys.get_mut(&k).map(|held| *held = v).is_some()),
            Self::Delete(k) => is(memory.keys.remove(&k).is_some()),
            Self::Lookup(k) => Some(memory.keys.get(&k).map_or(Value::Bottom, |v| Value::Int(*v))),
        }
    }
}

/// Takes the calls in all orders. Whether each of them comes to an end.
fn enumerate(
    threads: &[Vec<Call>],
    at: &[usize],
    (memory, results): (&Memory, &BTreeMap<(usize, usize), Value>),
    outcomes: &mut BTreeSet<Vec<Value>>,
) -> bool {
    if threads.iter().zip(at).all(|(calls, at)| *at == calls.len()) {
        outcomes.insert(results.values().copied().collect());
        return true;
    }
    let (mut some, mut all) = (false, true);
    for (thread, calls) in threads.iter().enumerate() {
        let Some(call) = calls.get(at[thread]) else { continue };
        let mut memory = memory.clone();
        let Some(result) = call.take(&mut memory) else { continue };
        let (mut results, mut next) = (results.clone(), at.to_vec());
        if call.returns() {
            results.insert((thread, at[thread]), result);
        }
        next[thread] += 1;
        some = true;
        all &= enumerate(threads, &next, (&memory, &results), outcomes);
    }
    some && all
}

fn program(threads: &[Vec<Call>]) -> String {
    let mut text =
        "litmus random\nmodel rdma-wait-rmw\n\n  Atomic x\n  Queue q\n  KV s\n".to_owned();
    text += "  ---------\n";
    let longest = threads.iter().map(Vec::len).max().unwrap_or(0);
    let mut registers = Vec::new();
    for row in 0..longest {
        let cell = |(thread, calls): (usize, &Vec<Call>)| match calls.get(row) {
            Some(call) if call.returns() => {
                registers.push((thread, row));
                format!("r{thread}_{row} := {}", call.text())
            }
            Some(call) => call.text(),
            None => String::new(),
        };
        let cells: Vec<String> = threads.iter().enumerate().map(cell).collect();
        writeln!(text, "  {}", cells.join(" || ")).expect("a string takes all");
    }
    registers.sort_unstable();
    let names: Vec<String> = registers.iter().map(|(t, row)| format!("r{t}_{row}")).collect();
    if !names.is_empty() {
        writeln!(text, "\n  observe {}", names.join(", ")).expect("a string takes all");
    }
    text
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (1..4_u64).prop_map(Call::Write),
        Just(Call::Read),
        (1..4_u64).prop_map(Call::Add),
        (1..4_u64).prop_map(Call::Push),
        Just(Call::Pop),
        (0..2_u64, 1..4_u64).prop_map(|(k, v)| Call::Insert(k, v)),
        (0..2_u64, 1..4_u64).prop_map(|(k, v)| Call::Update(k, v)),
        (0..2_u64).prop_map(Call::Delete),
        (0..2_u64).prop_map(Call::Lookup),
    ]
}

/// The outcomes of all orders of the calls, and whether each of them comes to an end.
fn all_orders(threads: &[Vec<Call>]) -> (BTreeSet<Vec<Value>>, bool) {
    let mut outcomes = BTreeSet::new();
    let start = vec![0; threads.len()];
    let state = (&Memory::default(), &BTreeMap::new());
    let always = enumerate(threads, &start, state, &mut outcomes);
    (outcomes, always)
}

/// The engine gives the outcomes of all orders, and says whether all of them end.
fn agree(threads: &[Vec<Call>]) -> Result<(), TestCaseError> {
    let (expected, always) = all_orders(threads);
    let text = program(threads);
    let found = asked(&test(&text), Engine::Auto).expect("it can be asked");
    let shown: BTreeSet<Vec<Value>> =
        found.allowed.outcomes.iter().map(|Outcome(values)| values.clone()).collect();
    prop_assert_eq!(&shown, &expected, "{}", text);
    prop_assert_eq!(found.ending == Ending::Always, always, "{}", text);
    Ok(())
}

#[test]
fn a_full_queue_waits() {
    for pushed in [4, 5] {
        let (pushes, pop) = (vec![Call::Push(1); pushed], vec![Call::Pop]);
        agree(&[pushes, pop]).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn outcomes_are_those_of_all_orders() {
    let threads = prop::collection::vec(prop::collection::vec(call(), 1..4), 2..4);
    let (mut many, mut stuck) = (0, 0);
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&threads, |threads| agree(&threads));
    result.unwrap_or_else(|error| panic!("{error}"));
    // What the random programs are worth.
    let mut runner = TestRunner::deterministic();
    for _ in 0..100 {
        let threads = threads.new_tree(&mut runner).expect("it is generated").current();
        let (outcomes, always) = all_orders(&threads);
        many += usize::from(outcomes.len() > 2);
        stuck += usize::from(!always);
    }
    assert!(many > 15 && stuck > 10, "{many} with several outcomes, {stuck} that may not end");
}

#[test]
fn an_order_has_the_outcome() {
    let text = "litmus order\nmodel rdma-wait-rmw\n\n  Queue q\n  ----\n  Push(q, 1) || Push(q, 2) || \
                a := Pop(q)\n  || || b := Pop(q)\n\n  (a, b) = (2, 1) ✓\n  (a, b) = (1, 1) ✗\n";
    let test = test(text);
    let order = |number: usize| {
        let (lang::outcome::Claim::Allowed(wanted) | lang::outcome::Claim::Forbidden(wanted)) =
            &test.expectations[number].claim
        else {
            panic!("another claim")
        };
        order(&test, &Request::default(), wanted).expect("it can be asked")
    };
    let Order::Found(calls) = order(0) else { panic!("no order") };
    let results: Vec<u64> = calls.iter().filter_map(|taken| taken.result).collect();
    assert_eq!(results, [2, 1]);
    assert!(matches!(order(1), Order::None { states, ends: true, .. } if states > 5));
}

#[test]
fn rules_of_libraries_are_kept() {
    let head = "litmus rules\nmodel rdma-wait-rmw\n\n  Ticket l\n  ----\n";
    for (body, code) in [
        ("  Acq(l)\n  Acq(l)\n  Rel(l)\n", Code::AlreadyHeld),
        ("  Rel(l)\n", Code::NotHeld),
        ("  Acq(l)\n", Code::NeverReleased),
    ] {
        let test = test(&format!("{head}{body}"));
        let Err(Refusal::Bad(errors)) = asked(&test, Engine::Auto) else {
            panic!("{body} is taken")
        };
        assert_eq!(errors[0].code, code, "{body}");
        let wrong = model::asking::wrong_under(&test, &[&model()], model::library::shipped());
        assert_eq!(wrong[0].code, code, "{body}");
    }
    let sometimes = format!("{head}  Acq(l) || Acq(l)\n  Rel(l) || \n");
    let found = asked(&test(&sometimes), Engine::Auto).expect("it can be asked").allowed;
    assert_eq!(found.misuses[0].code, Code::NeverReleased);
}

#[test]
fn locks_in_opposite_orders_wait_for_each_other() {
    let text = "litmus deadlock\nmodel rdma-wait-rmw\n\n  Ticket l@1\n  Ticket m@2\n  ----\n  \
                Acq(l) || Acq(m)\n  Acq(m) || Acq(l)\n  Rel(m) || Rel(l)\n  Rel(l) || Rel(m)\n";
    let found = asked(&test(text), Engine::Auto).expect("it can be asked");
    let Ending::NotAlways(ways) = found.ending else { panic!("it ends") };
    let lines = |way: &Vec<Option<machine::Place>>| {
        let at = |place: &Option<machine::Place>| {
            text[..place.expect("it waits").at().start].lines().count()
        };
        way.iter().map(at).collect::<Vec<usize>>()
    };
    assert_eq!(ways.iter().map(lines).collect::<Vec<_>>(), [[8, 8]]);
}

/// A thread that goes round without a call, and orders of which there are too many.
#[test]
fn programs_that_do_not_end_are_asked_about() {
    let head = "litmus endless\nmodel rdma-wait-rmw\n\n  Atomic x = 5\n  ----\n";
    let spins = test(&format!(
        "{head}  a := Read(x) || Write(x, 1)\n  loop {{ if a = 1 {{ break }} }} ||\n\n  a = 1 ✓\n"
    ));
    let found = asked(&spins, Engine::Auto).expect("it can be asked");
    assert_eq!(found.allowed.outcomes.len(), 1);
    assert!(matches!(found.ending, Ending::NotAlways(_)));
    let many = test(&format!("{head}  loop {{ a := Add(x, 1) }} || b := Read(x)\n"));
    let found = ask(&many, &model(), &Request { max_states: Some(50), ..Request::default() });
    let found = found.expect("it can be asked").allowed;
    assert!(found.complete.is_none() && found.reason.is_some_and(|why| why.contains("50 states")));
}

/// What a call passes is of the class, and of the numbers, that its method takes.
#[test]
fn arguments_are_those_that_methods_take() {
    let head = "litmus arguments\nmodel rdma-wait-rmw\n\n  KV s\n  Atomic x\n  ----\n";
    for (call, says) in [
        ("i := Insert(s, 2, 1)", "below 2 for `k`, found 2"),
        ("i := Insert(s, 0 - 1, 1)", "below 2 for `k`, found -1"),
        ("k := Read(x)\n  i := Insert(s, k, 1)", "a known number below 2 for `k`"),
    ] {
        let Err(refusal) = asked(&test(&format!("{head}  {call}\n")), Engine::Auto) else {
            panic!("{call} is taken")
        };
        assert!(refusal.message().contains(says), "{call}");
    }
}

#[test]
fn what_stands_beside_calls_is_refused() {
    let head = "litmus beside\nmodel rdma-wait-rmw\n\n  Queue q\n";
    for (declared, beside) in [
        ("  z = 0", "  Push(q, 1)\n  z := 1"),
        ("  || z = 0", "  Push(q, 1) ||\n  z^2 := 1 ||"),
        ("  WLock l", "  Push(q, 1)\n  Acq(l)\n  Rel(l)"),
        ("", "  Push(q, 1)\n  Mfence"),
    ] {
        let text = format!("{head}{declared}\n  ----\n{beside}\n");
        let Err(Refusal::Bad(errors)) = asked(&test(&text), Engine::Auto) else {
            panic!("{beside} is taken")
        };
        assert_eq!(errors[0].code, Code::LibraryNotUsable, "{beside}");
    }
    let only = test(&format!("{head}  ----\n  Push(q, 1)\n"));
    assert!(matches!(asked(&only, Engine::Smt), Err(Refusal::Unsupported(_))));
    assert!(asked(&only, Engine::Both).expect("it can be asked").unsupported.is_some());
}
