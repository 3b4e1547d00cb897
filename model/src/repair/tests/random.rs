//! Random programs: the search against trying all sets of up to three changes, and what it finds against the
//! other engine.
//!
//! `LITMUS_RANDOM=N` sets how many programs, `LITMUS_SEED=S` the seed of the first; the others follow it. A
//! failure prints its seed and the program.

use std::time::Duration;

use lang::limits::Limits;
use lang::outcome::Asked;

use super::*;
use crate::allowed::{Question, undefined_calls};
use crate::machine::{self, Random, Variant};
use crate::verdict;
use programs::{generate, load, messages, number, queue_pairs, shared_posts, unsignaled};

#[allow(dead_code, unused_imports, reason = "other tests use what this one does not")]
#[path = "../../../tests/programs/mod.rs"]
mod programs;

const PROGRAMS: u64 = 360;
/// The most changes of which all sets are tried.
const MOST: usize = 14;
/// The most statements that wait or fence of which all sets are left out.
const MOST_REMOVALS: usize = 7;
/// How many outcomes of a program are looked at for one to forbid.
const ATTEMPTS: usize = 16;
const STATES: u64 = 20_000;

/// What happened, so that nothing is left out in silence.
#[derive(Debug, Default)]
struct Counts {
    compared: u64,
    repairs: u64,
    /// Repairs that give a request its completion back.
    signaled: u64,
    /// Programs with messages.
    messages: u64,
    /// Programs with queue pairs that threads share.
    shared: u64,
    /// Repairs that poll a receive.
    receives: u64,
    without: u64,
    largest: usize,
    explored: u64,
    not_explored: u64,
    too_large: u64,
    weakened: u64,
    /// Of these, programs of which something may go.
    may_go: u64,
    too_large_to_weaken: u64,
    open: u64,
    one_outcome: u64,
    no_model: u64,
}

#[test]
fn random_programs_are_repaired_as_trying_all_sets_repairs_them() {
    let (first, count) = (number("LITMUS_SEED", 1), number("LITMUS_RANDOM", PROGRAMS));
    let mut counts = Counts::default();
    for seed in first..first + count {
        if let Err((program, why)) = compare(seed, &mut counts) {
            panic!("LITMUS_SEED={seed}: {why}\n\n{program}");
        }
    }
    println!("{count} programs: {counts:#?}");
    let with_repairs = counts.compared - counts.without;
    let is_enough = counts.compared >= 100 && with_repairs >= 10;
    let is_enough = is_enough && counts.signaled > 0 && counts.may_go > 0;
    let is_enough = is_enough && counts.messages > 0 && counts.shared > 0;
    assert!(count < PROGRAMS || is_enough, "{counts:?}");
}

/// Whether its program has queue pairs that threads share.
fn is_shared(seed: u64) -> bool {
    seed / 3 % 4 == 3 && seed / 24 % 4 == 1
}

/// A program of a seed, with one of its outcomes forbidden and another to be kept.
fn asked(seed: u64, kinds: &[Kind], counts: &mut Counts) -> Option<(String, &'static str)> {
    // Of the programs that are put to models of verbs, half have messages.
    let has_messages = seed / 3 % 4 == 3 && (seed / 24).is_multiple_of(2);
    let program = match seed % 3 {
        _ if has_messages => messages(seed).to_string(),
        _ if is_shared(seed) => shared_posts(seed).to_string(),
        0 => queue_pairs(seed).to_string(),
        1 => unsignaled(seed).to_string(),
        _ => generate(seed).to_string(),
    };
    let test = load(&program).unwrap_or_else(|error| panic!("{program}\n{error}"));
    let defines = |name: &&str| {
        let model = crate::models::load_shipped(name).unwrap().unwrap().model;
        undefined_calls(&test, &model, crate::library::shipped()).is_empty()
    };
    // Models of both ways to wait, where what is added for one is taken by the other.
    let both = match seed / 12 % 3 {
        0 => ["verbs", "verbs-ooo"],
        1 => ["verbs-ooo", "verbs"],
        _ if has_messages => ["rdma-verbs", "verbs"],
        _ => ["verbs", "verbs-ooo"],
    };
    let mut names = ["rdma-tso-rmw", "rdma-wait-rmw"].into_iter().chain(both);
    let name = match seed / 3 % 4 {
        3 => both.into_iter().find(defines),
        _ => names.find(defines),
    };
    let Some(name) = name else {
        counts.no_model += 1;
        return None;
    };
    let model = crate::models::load_shipped(name).unwrap().unwrap().model;
    let options = Options { limits: Limits::of_time(Duration::from_secs(2)), ..Options::default() };
    let question = Question::of(&test, &model).options(&options).question().ok()?;
    let allowed = question.allowed(&options).ok()?;
    let outcomes: Vec<_> = allowed.outcomes.iter().collect();
    if outcomes.len() < 2 {
        counts.one_outcome += 1;
        return None;
    }
    let mut random = Random::new(seed);
    let mut one = |all: usize| random.below(all as u32) as usize;
    let observables = &question.test.observables;
    let mut found = None;
    for attempt in 0..ATTEMPTS {
        let bad = outcomes[one(outcomes.len())];
        let parts: BTreeSet<usize> = match attempt % 2 {
            0 => (0..observables.len()).collect(),
            _ => [one(observables.len()), one(observables.len())].into_iter().collect(),
        };
        let bad = Asked::values(observables, parts.into_iter().map(|at| (at, bad.0[at])));
        let kept: Vec<_> = outcomes.iter().filter(|one| !bad.condition.holds(one)).collect();
        if kept.is_empty() {
            continue;
        }
        let kept = Asked::outcome(observables, kept[one(kept.len())]);
        let [kept, bad] = [kept, bad].map(|asked| asked.text.replace(", ", " ∧ "));
        // Verdicts are of the models of the header.
        let program = program.replacen("\nbound", &format!("\nmodel {name}\nbound"), 1);
        let text = format!("{program}\n{kept} ✓\n{bad} ✗\n");
        // Most outcomes have nothing to do with order: one that all additions forbid is better.
        let is_of_order = with(&text, name, None, |mut repair| {
            repair.kinds = kinds.to_vec();
            let test = repair.test(repair.file).unwrap();
            let edits = edits::candidates(&repair, &test);
            let all = (0..edits.len())
                .filter(|one| !edits[*one].is_rewriting() && !edits[*one].is_sized())
                .collect();
            let mut asking = ask::Asking::new(&repair, &test).unwrap();
            asking.forbids(&edits, &all) == ask::Helps::Yes
        });
        found = Some((text, name));
        if is_of_order {
            break;
        }
    }
    found
}

fn compare(seed: u64, counts: &mut Counts) -> Result<(), (String, String)> {
    let kinds: &[Kind] = match seed / 3 % 4 {
        3 if (seed / 24).is_multiple_of(2) => match seed % 3 {
            0 => &[Kind::PollReceive, Kind::Poll],
            1 => &[Kind::PollReceive, Kind::Wait, Kind::QueuePair],
            _ => &[Kind::PollReceive, Kind::Flush, Kind::Exchange],
        },
        // Programs with unsignaled requests.
        _ if seed % 3 == 1 => &[Kind::Signal, Kind::Poll, Kind::Wait],
        0 => &[Kind::Poll, Kind::Wait, Kind::Mfence],
        1 => &[Kind::Rfence, Kind::Poll, Kind::Wait],
        2 => &[Kind::Rcas, Kind::Exchange, Kind::QueuePair, Kind::Poll],
        _ => &[Kind::Flush, Kind::Exchange, Kind::Wait, Kind::Poll],
    };
    let Some((text, model)) = asked(seed, kinds, counts) else { return Ok(()) };
    with(&text, model, None, |mut repair| {
        (repair.kinds, repair.size) = (kinds.to_vec(), 3);
        let test = repair.test(repair.file).unwrap();
        let candidates = edits::candidates(&repair, &test);
        if candidates.iter().filter(|one| !one.is_sized()).count() > MOST {
            counts.too_large += 1;
            return Ok(());
        }
        let found = repair.find().map_err(|why| format!("{why:?}"))?;
        if !found.open.is_empty() {
            counts.open += 1;
            return Ok(());
        }
        if found.is_right || !found.hopeless.is_empty() {
            return Err(format!("its outcomes are no longer allowed: {found:?}"));
        }
        let texts = texts(&found);
        let all = brute(&repair);
        if texts != all {
            let (less, more) = (all.difference(&texts), texts.difference(&all));
            let (less, more): (Vec<_>, Vec<_>) = (less.collect(), more.collect());
            return Err(format!("missing: {less:#?}\ntoo many: {more:#?}\nof {}", all.len()));
        }
        counts.compared += 1;
        counts.repairs += texts.len() as u64;
        let signals = |one: &&Repaired| one.kinds.contains(&Kind::Signal);
        counts.signaled += found.repairs.iter().filter(signals).count() as u64;
        counts.messages += u64::from(test.program.first_message().is_some());
        counts.shared += u64::from(test.program.shared_queue_pair().is_some());
        let polls_receive = |one: &&Repaired| one.kinds.contains(&Kind::PollReceive);
        counts.receives += found.repairs.iter().filter(polls_receive).count() as u64;
        counts.without += u64::from(texts.is_empty());
        let sizes = found.repairs.iter().map(|one| one.kinds.len());
        counts.largest = sizes.max().unwrap_or_default().max(counts.largest);
        texts.iter().try_for_each(|text| explored(text, &repair, counts))?;
        texts.first().map_or(Ok(()), |text| weakened(text, model, counts))
    })
    .map_err(|why| (text, why))
}

/// What may go of a repaired program is what trying all sets says.
fn weakened(text: &str, model: &str, counts: &mut Counts) -> Result<(), String> {
    with(text, model, None, |repair| {
        let test = repair.test(repair.file).unwrap();
        if edits::removals(&repair, &test).len() > MOST_REMOVALS {
            counts.too_large_to_weaken += 1;
            return Ok(());
        }
        let found = repair.weaken().map_err(|why| format!("{why:?}"))?;
        if !found.open.is_empty() || !found.is_right {
            return Err(format!("not right after its repair: {found:?}"));
        }
        let sets: BTreeSet<String> = found.sets.iter().map(|set| set.text.clone()).collect();
        let all = brute_weaken(&repair);
        counts.weakened += 1;
        counts.may_go += u64::from(!all.is_empty());
        if sets == all { Ok(()) } else { Err(format!("may go: {sets:#?}, of {all:#?}")) }
    })
}

/// The machine says of a repaired program what its verdicts say.
fn explored(text: &str, repair: &Repair<'_>, counts: &mut Counts) -> Result<(), String> {
    let test = load(text)?;
    let name = repair.models[0].0.machine.as_deref();
    // The models of verbs have no machine.
    let Some(variant) = name.and_then(Variant::from_name) else {
        counts.not_explored += 1;
        return Ok(());
    };
    let limits = machine::Limits { states: STATES, ..machine::Limits::default() };
    let found = machine::explore(&test, variant, limits).map_err(|error| format!("{error:?}"))?;
    if !found.complete {
        counts.not_explored += 1;
        return Ok(());
    }
    counts.explored += 1;
    let claims = test.expectations.iter();
    for (asked, is_allowed) in claims.flat_map(|claim| verdict::asked(claim, &test.observables)) {
        let shown = found.outcomes.iter().any(|outcome| asked.condition.holds(outcome));
        if shown != is_allowed {
            return Err(format!("the machine shows {}: {shown}, of\n{text}", asked.text));
        }
    }
    Ok(())
}
