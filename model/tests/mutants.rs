//! Is every statement of every shipped implementation needed, as far as `litmus refine` can tell? Each is
//! changed in turn: a statement is left out, a number, an operator, a returned or written value is another.
//! The changed implementation must be refuted, or seen to do nothing, or not be one (`litmus check` refuses
//! it); what is neither is listed with the reason in `mutants.md`. An entry there of a mutant that is refuted
//! is stale, and fails.

mod mutate;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use lang::library::Library;
use lang::source::Source;
use libtest_mimic::{Failed, Trial};
use model::allowed::Options;
use model::refine::{Answer, Bounds, Client, Refinement, by_default, clients};
use model::{library, models};
use mutate::{Mutant, mutants};

/// What survives, and why: rows `| library | mutant | reason |`.
const SURVIVORS: &str = include_str!("mutants.md");

/// Of the clients at the default bounds, this many are tried: on all, the test would take as long as
/// `litmus refine` of every library for each mutant.
const MOST: usize = 1500;
/// First this many of those without plain accesses, which tell most mutants.
const WITHOUT_PLAIN: usize = 200;
/// Of a listed mutant, this many: most are sound. As many show that a method never does what it may.
const OF_LISTED: usize = 300;

/// One for each mutant of each shipped implementation.
pub fn trials() -> Vec<Trial> {
    let mut listed = survivors();
    let mut trials = Vec::new();
    let mut without = Vec::new();
    for (name, text) in library::SHIPPED {
        let known = library::load(&Source::new(format!("{name}.lib"), *text)).expect("it loads");
        if known.implementation.is_none() {
            continue;
        }
        let shipped = Arc::new(known);
        let clients = Arc::new(LazyLock::new({
            let shipped = Arc::clone(&shipped);
            move || tried(&shipped)
        }));
        let mutants = mutants(&shipped);
        without.extend(mutants.is_empty().then_some(*name));
        for mutant in mutants {
            let title = format!("mutants::{name}::{}", mutant.name);
            let is_listed = listed.remove(&(name.to_string(), mutant.name.clone())).is_some();
            let (shipped, clients) = (Arc::clone(&shipped), Arc::clone(&clients));
            trials.push(Trial::test(title, move || judge(&shipped, &clients, &mutant, is_listed)));
        }
    }
    for (library, mutant) in listed.into_keys() {
        let message = format!("mutants.md lists `{mutant}` of `{library}`, which is not a mutant");
        trials.push(Trial::test(format!("mutants::{library}::{mutant}"), move || {
            Err(Failed::from(message))
        }));
    }
    assert!(!trials.is_empty() && without.is_empty(), "no mutants of {without:?}");
    trials
}

/// The clients that are tried, those first that tell most at least cost.
fn tried(library: &Library) -> Vec<Client> {
    let (families, all) = by_default(Bounds::default(), library).expect("there are few");
    let of = |families: &[Bounds]| clients(library, families, all.len()).expect("there are few");
    let without = Bounds { plain: 0, near: 0, ..Bounds::default() }.families(library);
    let mut tried = of(&without);
    tried.truncate(WITHOUT_PLAIN);
    let guarded = families.iter().filter(|family| family.guarded && family.near == 0);
    tried.extend(guarded.flat_map(|family| of(&[*family])));
    tried.extend(all.iter().filter(|client| !tried.contains(client)).cloned().collect::<Vec<_>>());
    tried.truncate(MOST);
    tried
}

fn judge(
    shipped: &Library,
    clients: &[Client],
    mutant: &Mutant,
    is_listed: bool,
) -> Result<(), Failed> {
    let Ok(changed) = library::load(&Source::new(format!("{}.lib", shipped.name), &*mutant.text))
    else {
        return if is_listed { Err("it is not a library, and is listed".into()) } else { Ok(()) };
    };
    let (first, rest) = clients.split_at(clients.len().min(OF_LISTED));
    let rest = if is_listed { &[] } else { rest };
    match (fate(shipped, first, rest, &changed), is_listed) {
        (Fate::Refuted | Fate::Refused | Fate::Noticed, false) | (Fate::Survives, true) => Ok(()),
        (Fate::Survives, false) => Err("it is not refuted, and not listed in mutants.md".into()),
        (Fate::Refuted | Fate::Refused | Fate::Noticed, true) => {
            Err("it is refuted: mutants.md is stale".into())
        }
        (Fate::Unknown(reason), _) => Err(format!("unknown: {reason}").into()),
    }
}

enum Fate {
    Refuted,
    /// Its text is wrong, which clients tell.
    Refused,
    /// It never does what it may, which is said.
    Noticed,
    Survives,
    Unknown(String),
}

fn fate(shipped: &Library, first: &[Client], rest: &[Client], changed: &Library) -> Fate {
    let load = |name: &str| Some(models::load_shipped(name)?.ok()?.model);
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let refinement = Refinement::new(library::shipped(), shipped, Some(changed), &base, load);
    let refinement = refinement.expect("it can be checked");
    let options = Options { loop_bound: Some(2), ..Options::default() };
    let fate = try_all(&refinement, first, &options);
    if !matches!(fate, Fate::Survives) {
        return fate;
    }
    match refinement.never(first, &options) {
        Ok(never) if never.is_empty() => try_all(&refinement, rest, &options),
        Ok(_) => Fate::Noticed,
        Err(_) => Fate::Refused,
    }
}

fn try_all(refinement: &Refinement, clients: &[Client], options: &Options) -> Fate {
    let mut fate = Fate::Survives;
    for client in clients {
        match refinement.check(client, options) {
            Ok(Answer::Refuted(_)) => return Fate::Refuted,
            Ok(Answer::Unknown(reason)) => fate = Fate::Unknown(reason),
            Ok(Answer::Holds { .. } | Answer::Nothing | Answer::IllFormed) => {}
            Err(_) => return Fate::Refused,
        }
    }
    fate
}

/// The list, by library and mutant.
fn survivors() -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for row in SURVIVORS.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [library, mutant, reason] = cells[..] else { panic!("expected three columns: {row}") };
        let library = library.trim_start_matches("| ").trim_matches('`').to_owned();
        let mutant = mutant.trim().trim_matches('`').to_owned();
        let reason = reason.trim_end_matches(" |").to_owned();
        assert!(!reason.trim().is_empty(), "expected a reason: {row}");
        assert!(found.insert((library, mutant), reason).is_none(), "listed twice: {row}");
    }
    found
}
