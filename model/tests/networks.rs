//! The table in `docs/networks.md`: for each network and each other, a program that is safe on the one and
//! not on the other. It is what the folder `networks` of the suite says; `UPDATE_EXPECT=1` writes it. If a
//! cell is empty, no program of that folder has an outcome more on the other network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use lang::Test;
use lang::cat::model::Model;
use lang::outcome::{Claim, Outcome};
use lang::source::Source;
use model::allowed::{Options, Question, undefined_calls};
use model::{library, models, verdict};

const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->";

/// How many statements a program of the table may have.
const MOST: usize = 4;

/// The names of models of networks: `verbs`, and those that include it.
fn networks() -> Vec<Model> {
    let load = |name: &str| models::load_shipped(name).expect("shipped").expect("it loads");
    let all = models::SHIPPED.iter().map(|(name, _)| load(name));
    let networks = all.filter(|loaded| loaded.includes("verbs"));
    let mut models: Vec<Model> = networks.map(|loaded| loaded.model).collect();
    models.sort_by_key(|model| (!model.name.starts_with("verbs"), model.name.clone()));
    models
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The tests of the folder, smallest first.
fn tests() -> Vec<Test> {
    let load = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("the suite is readable");
        let source = Source::new(path.display().to_string(), text);
        lang::litmus::load_with(&source, library::shipped().words()).0.expect("it loads")
    };
    let mut tests: Vec<Test> =
        crate::files::below(&root().join("litmus-suite/networks")).iter().map(load).collect();
    tests.sort_by_key(|test| (test.program.size(), test.name.len(), test.name.clone()));
    tests
}

/// Whether the file says that the model forbids what the test is about. `None` if it says nothing of
/// the model.
fn is_safe(test: &Test, model: &Model) -> Option<bool> {
    let mut claims = test.expectations.iter();
    let claim = claims.find(|claim| verdict::applies(test, claim, &model.name, false))?;
    Some(matches!(claim.claim, Claim::Forbidden(_)))
}

/// The smallest test that is safe on one network and not on the other.
fn telling<'t>(tests: &'t [Test], from: &Model, to: &Model) -> Option<&'t Test> {
    let differs =
        |test: &&Test| is_safe(test, from) == Some(true) && is_safe(test, to) == Some(false);
    tests.iter().filter(|test| test.program.size() <= MOST).find(differs)
}

#[test]
fn the_table_of_networks_is_what_the_suite_says() {
    let (networks, tests) = (networks(), tests());
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut table = String::from("| from \\ to |");
    networks.iter().for_each(|to| write!(table, " {} |", to.name).expect("strings grow"));
    table.push_str(&format!("\n|---|{}\n", "---|".repeat(networks.len())));
    let mut legend = String::from("| | program | question |\n|---|---|---|\n");
    for from in &networks {
        write!(table, "| **{}** |", from.name).expect("strings grow");
        for to in &networks {
            let cell = match telling(&tests, from, to) {
                Some(test) => {
                    let next = used.len() + 1;
                    let number = *used.entry(&test.name).or_insert_with(|| {
                        let (name, title) = (&test.name, test.title.as_deref().unwrap_or(""));
                        let link = format!("../litmus-suite/networks/{name}.litmus");
                        writeln!(legend, "| {next} | [{name}]({link}) | {title} |")
                            .expect("strings grow");
                        next
                    });
                    number.to_string()
                }
                None if from.name == to.name => String::new(),
                None => "·".to_owned(),
            };
            write!(table, " {cell} |").expect("strings grow");
        }
        table.push('\n');
    }
    let path = root().join("docs/networks.md");
    let page = std::fs::read_to_string(&path).expect("docs/networks.md is there");
    let (before, rest) = page.split_once(BEGIN).expect("it has `<!-- table -->`");
    let (_, after) = rest.split_once(END).expect("it has `<!-- end of table -->`");
    let wanted = format!("{before}{BEGIN}\n{table}\n{legend}\n{END}{after}");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &wanted).expect("docs/networks.md can be written");
    }
    assert!(
        page == wanted || std::env::var_os("UPDATE_EXPECT").is_some(),
        "docs/networks.md: the table is stale; run `UPDATE_EXPECT=1 cargo test -p model networks`"
    );
}

#[test]
fn where_no_program_tells_networks_apart_none_has_an_outcome_more() {
    let (networks, tests) = (networks(), tests());
    let mut wrong = Vec::new();
    for test in &tests {
        let outcomes: BTreeMap<&str, BTreeSet<Outcome>> = networks
            .iter()
            .filter_map(|model| Some((&*model.name, allowed(test, model)?)))
            .collect();
        for from in &networks {
            for to in networks.iter().filter(|to| telling(&tests, from, to).is_none()) {
                let (Some(here), Some(there)) =
                    (outcomes.get(&*from.name), outcomes.get(&*to.name))
                else {
                    continue;
                };
                if !there.is_subset(here) {
                    wrong.push(format!("{}: from {} to {}", test.name, from.name, to.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A program that is safe on all of them, which the page names.
#[test]
fn some_program_is_safe_on_all_networks() {
    let (networks, tests) = (networks(), tests());
    let test = tests.iter().find(|test| test.name == "Net+put-wait-w").expect("it is there");
    for model in &networks {
        assert_eq!(is_safe(test, model), Some(true), "{}", model.name);
    }
}

/// All outcomes; `None` if the model does not define the test's statements.
fn allowed(test: &Test, model: &Model) -> Option<BTreeSet<Outcome>> {
    if !undefined_calls(test, model, library::shipped()).is_empty() {
        return None;
    }
    let question = Question::of(test, model).question().expect("it can be asked");
    let allowed = question.allowed(&Options::default()).expect("it is answered");
    assert!(allowed.complete.is_some(), "{} under {}", test.name, model.name);
    Some(allowed.outcomes)
}
