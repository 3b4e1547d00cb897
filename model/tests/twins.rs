//! A test of the suite and its twin differ by one ordering. Where that is a wait or a fence, repair finds it
//! for the twin, or something cheaper; and what a test does without is known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use expect_test::expect_file;
use lang::Test;
use lang::cat::model::Model;
use lang::outcome::Claim;
use lang::program::{Stmt, StmtKind};
use lang::source::Source;
use model::allowed::Options;

use model::repair::{Costs, Kind, Repair};
use model::verdict;

struct File {
    source: Source,
    test: Test,
    twin: Option<String>,
}

fn suite() -> BTreeMap<String, File> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let mut all = BTreeMap::new();
    for path in crate::files::below(&suite) {
        let text = std::fs::read_to_string(&path).expect("the suite is readable");
        let mut twins = text.lines().filter_map(|line| line.strip_prefix("// twin: "));
        let twin = twins.next().map(str::to_owned);
        let source = Source::new(path.display().to_string(), text);
        let words = model::library::shipped().words();
        let Some(test) = lang::litmus::load_with(&source, words).0 else { continue };
        all.insert(test.name.clone(), File { source, test, twin });
    }
    all
}

/// The waits and fences of a program, and the texts of its other statements without work ids.
fn parts(file: &File) -> (Vec<Kind>, Vec<Vec<String>>) {
    let mut kinds = Vec::new();
    let threads = file.test.program.threads.iter();
    let others = threads.map(|thread| {
        let mut others = Vec::new();
        thread.body.iter().for_each(|stmt| match kind(stmt) {
            Some(kind) => kinds.push(kind),
            None => others.push(without_ids(&file.source.text[stmt.span.range()])),
        });
        others
    });
    let others = others.collect();
    (kinds, others)
}

fn kind(stmt: &Stmt) -> Option<Kind> {
    match &stmt.kind {
        StmtKind::Poll(_) => Some(Kind::Poll),
        StmtKind::PollReceive { register: None, .. } => Some(Kind::PollReceive),
        StmtKind::Wait(_) => Some(Kind::Wait),
        StmtKind::RemoteFence(_) => Some(Kind::Rfence),
        StmtKind::GlobalFence(_) => Some(Kind::Gfence),
        StmtKind::Fence => Some(Kind::Mfence),
        _ => None,
    }
}

/// `x^2 :=^d y` is `x^2:=y`.
fn without_ids(text: &str) -> String {
    let words = text.split_whitespace();
    words.map(|word| if word.starts_with(":=^") { ":=" } else { word }).collect()
}

/// Puts a file to the search for repairs, or for what may go, under one model.
fn with<R>(file: &File, model: &Model, forbid: Option<&str>, ask: impl Fn(Repair<'_>) -> R) -> R {
    let libraries = model::library::shipped();
    let syntax = lang::litmus::parse(&file.source, libraries.words()).0.expect("it was loaded");
    ask(Repair {
        file: &syntax,
        source: &file.source,
        libraries,
        models: vec![(model, false)],
        forbid,
        kinds: Kind::ALL.iter().map(|(kind, _)| *kind).collect(),
        size: 3,
        options: Options::default(),
    })
}

/// The models that two tests name, loaded.
fn models(test: &Test, other: &Test) -> Vec<Model> {
    let names = test.models.iter().filter(|name| other.models.contains(name));
    let loaded = names.filter_map(|name| model::models::load_shipped(name)?.ok());
    loaded.map(|loaded| loaded.model).collect()
}

fn is_plain(test: &Test) -> bool {
    test.dialect != lang::Dialect::CoreRma
}

#[test]
fn repairs_are_no_dearer_than_what_the_suite_adds() {
    let (suite, costs) = (suite(), Costs::default());
    let (mut asked, mut others) = (0, 0);
    for (name, file) in suite.iter().filter(|(_, file)| is_plain(&file.test)) {
        let Some(twin) = file.twin.as_ref().and_then(|twin| suite.get(twin)) else { continue };
        let ((kinds, same), (before, statements)) = (parts(file), parts(twin));
        // The other twins differ in what they access, or in which order.
        if same != statements || kinds.len() <= before.len() || !is_plain(&twin.test) {
            others += 1;
            continue;
        }
        let most = costs.of(&kinds) - costs.of(&before).min(costs.of(&kinds));
        for model in models(&file.test, &twin.test) {
            let claims = file.test.expectations.iter();
            let claims =
                claims.filter(|claim| verdict::applies(&file.test, claim, &model.name, false));
            let mut forbidden = claims.filter(|claim| matches!(claim.claim, Claim::Forbidden(_)));
            let Some(claim) = forbidden.next() else { continue };
            let forbid = &verdict::asked(claim, &file.test.observables)[0].0.text;
            let found = with(twin, &model, Some(forbid), |repair| repair.find().unwrap());
            if found.is_right {
                continue;
            }
            asked += 1;
            let cheapest = found.repairs.iter().map(|repair| costs.of(&repair.kinds)).min();
            assert!(
                cheapest.is_some_and(|cost| cost <= most),
                "{name} under {}: expected a repair of its twin for at most {most}, found {cheapest:?}",
                model.name,
            );
        }
    }
    println!("{asked} repairs of twins, {others} pairs that differ in other statements");
    assert!(asked > 50 && others > 10, "too few to say anything");
}

/// Calls of sequential objects have no events, so no change of a program can be asked about.
fn has_events(file: &File) -> bool {
    !model::sequential::is_called(&file.test, model::library::shipped())
}

/// The tests of the suite with waits and fences that none of their verdicts needs, and why each is so.
#[test]
fn what_the_suite_does_without_is_known() {
    let mut text = String::new();
    for (name, file) in suite().iter().filter(|(_, file)| is_plain(&file.test) && has_events(file))
    {
        for model in models(&file.test, &file.test) {
            let found = with(file, &model, None, |repair| repair.weaken().unwrap());
            assert!(found.open.is_empty(), "{name} under {}: {:?}", model.name, found.open);
            for set in found.sets {
                text += &format!("{name}  {}: {}\n", model.name, set.removed.join("; "));
            }
        }
    }
    expect_file!["twins/may-go.txt"].assert_eq(&text);
    let tests: BTreeSet<&str> =
        text.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name).collect();
    let reasons: BTreeSet<&str> = include_str!("twins/why.txt")
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(tests, reasons, "each of these tests has a reason in twins/why.txt, and no other");
}

/// Repairs of the field's bugs, so that what each repaired test forbids does not happen. The repair of the
/// thread about the bug is among them, but for bugs that no synchronization mends: an accumulate by get and
/// put, and atomics of a CPU and of a NIC on one word.
#[test]
fn bugs_of_the_field_are_repaired() {
    let suite = suite();
    let mut text = String::new();
    for (name, file) in suite.iter().filter(|(_, file)| file.source.name.contains("/field/")) {
        let Some(bug) = file.twin.as_ref().and_then(|twin| suite.get(twin)) else { continue };
        for model in models(&file.test, &bug.test) {
            let claims = file.test.expectations.iter();
            let mut claims =
                claims.filter(|claim| verdict::applies(&file.test, claim, &model.name, false));
            let forbidden = claims.find(|claim| matches!(claim.claim, Claim::Forbidden(_)));
            let Some(claim) = forbidden else { continue };
            let forbid = &verdict::asked(claim, &file.test.observables)[0].0.text;
            let found = with(bug, &model, Some(forbid), |repair| repair.find().unwrap());
            // A crash shows also what comes before a flush that waits for ever, of which there are many.
            let is_known = |why: &&String| {
                bug.test.program.crash.is_some() && why.starts_with("where a flush waits for ever")
            };
            let open: Vec<&String> = found.open.iter().filter(|why| !is_known(why)).collect();
            assert!(open.is_empty(), "{name} under {}: {open:?}", model.name);
            if found.is_right {
                continue;
            }
            text += &format!("{} under {}: {forbid}\n", bug.test.name, model.name);
            let alike = found.repairs.iter().flat_map(|repair| &repair.alike);
            let alike = alike.map(|alike| (&alike.text, &alike.changes));
            let first = found.repairs.iter().map(|repair| (&repair.text, &repair.changes));
            for changes in first.chain(alike).collect::<BTreeMap<_, _>>().values() {
                text += &format!("  {}\n", changes.join("; "));
            }
            if found.repairs.is_empty() {
                text += &format!("  none of {} changes helps\n", found.candidates);
            }
        }
    }
    expect_file!["twins/field.txt"].assert_eq(&text);
}
