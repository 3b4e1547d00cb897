//! Is every axiom, table cell and part of every shipped model tested? Each is changed in turn, and some
//! file of the suite must notice: one named test per change. What no test can notice, because the rest of
//! the model implies it, is listed with the reason in `litmus-suite/implied.md`; an entry there
//! that some test does notice is stale, and fails.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use lang::Test;
use lang::cat::model::{Cell, DefinitionKind, Expr, Model};
use libtest_mimic::{Arguments, Failed, Trial};
use model::allowed::{Options, Question};
use model::{models, verdict};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let tests = Arc::new(load_suite(&suite));
    assert!(!tests.is_empty(), "no litmus files below {}", suite.display());
    let mut implied = implied(&suite.join("implied.md"));
    let mut trials = Vec::new();
    for (name, _) in models::SHIPPED {
        let loaded = models::load_shipped(name).expect("shipped").expect("it loads");
        for (change, mutant) in mutants(&loaded.model) {
            let listed = implied.remove(&(name.to_string(), change.clone()));
            let tests = Arc::clone(&tests);
            trials.push(Trial::test(format!("{name}::{change}"), move || {
                match (noticed(&tests, &mutant), listed) {
                    (Some(_), None) | (None, Some(_)) => Ok(()),
                    (None, None) => Err("no file of the suite notices this change".into()),
                    (Some(test), Some(_)) => {
                        Err(format!("`{test}` notices this change: implied.md is stale").into())
                    }
                }
            }));
        }
    }
    for ((model, change), _) in implied {
        let message = format!("implied.md lists `{change}` of `{model}`, which is no change");
        trials.push(Trial::test(format!("{model}::{change}"), move || Err(Failed::from(message))));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Every litmus file of the suite, checked.
fn load_suite(folder: &Path) -> Vec<Test> {
    let mut paths = Vec::new();
    collect(folder, &mut paths);
    paths.sort();
    let tests = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("the suite is readable");
        let source = lang::source::Source::new(path.display().to_string(), text);
        // A file that does not load fails in the suite's own test.
        lang::litmus::load(&source).0
    });
    tests.flatten().collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the suite is readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "litmus") {
            found.push(path);
        }
    }
}

/// The rows `| model | change | reason |` of the list of what is implied.
fn implied(path: &Path) -> BTreeMap<(String, String), String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim().strip_prefix('|')?.split('|').map(str::trim).collect();
        let [model, change, reason, ..] = cells[..] else { return None };
        let quoted = |cell: &str| Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned());
        Some(((quoted(model)?, quoted(change)?), reason.to_owned()))
    });
    rows.collect()
}

/// The name of a test of which some verdict no longer holds.
fn noticed(tests: &[Test], mutant: &Model) -> Option<String> {
    let concerned = tests.iter().filter(|test| test.models.contains(&mutant.name));
    let fails = |test: &&Test| {
        let Ok(question) = Question::new(test, mutant, None) else { return true };
        let Ok(allowed) = question.allowed(&Options::default()) else { return true };
        let claims = verdict::check(test, &mutant.name, false, &allowed);
        claims.iter().any(|claim| claim.holds() == Some(false))
    };
    concerned.into_iter().find(fails).map(|test| test.name.clone())
}

/// Every change of one axiom, one cell, or one part of a union, with its name.
fn mutants(model: &Model) -> Vec<(String, Model)> {
    let mut mutants = Vec::new();
    for (index, axiom) in model.axioms.iter().enumerate() {
        let mut mutant = model.clone();
        mutant.axioms.remove(index);
        mutants.push((format!("drop {}", axiom.name), mutant));
    }
    for (index, definition) in model.definitions.iter().enumerate() {
        match &definition.kind {
            DefinitionKind::Table(table) => {
                for (row, (row_name, _, cells)) in table.rows.iter().enumerate() {
                    for (column, cell) in cells.iter().enumerate() {
                        let changed = flip(*cell, cells);
                        let mut mutant = model.clone();
                        if let DefinitionKind::Table(table) = &mut mutant.definitions[index].kind {
                            table.rows[row].2[column] = changed;
                        }
                        let (table_name, column_name) = (&table.name, &table.columns[column].0);
                        let sign = if changed == Cell::Unordered { "drop" } else { "order" };
                        mutants.push((
                            format!("{sign} {table_name}[{row_name}, {column_name}]"),
                            mutant,
                        ));
                    }
                }
            }
            DefinitionKind::Let { name, body, .. } => {
                let parts = union_parts(strip(body));
                for part in 0..if parts.len() > 1 { parts.len() } else { 0 } {
                    let mut mutant = model.clone();
                    if let DefinitionKind::Let { body, .. } = &mut mutant.definitions[index].kind {
                        *body = without(body, &parts, part);
                    }
                    mutants.push((format!("drop part {} of {name}", part + 1), mutant));
                }
            }
            DefinitionKind::Rec(_) | DefinitionKind::Choice { .. } => {}
        }
    }
    mutants
}

/// The opposite of a cell; a cell that is to be ordered is so as the others of its row are.
fn flip(cell: Cell, row: &[Cell]) -> Cell {
    match cell {
        Cell::Ordered | Cell::Where(_) => Cell::Unordered,
        Cell::Unordered => row
            .iter()
            .copied()
            .find(|other| matches!(other, Cell::Where(_)))
            .unwrap_or(Cell::Ordered),
    }
}

/// A closure's operand, as most unions stand in one.
fn strip(body: &Expr) -> &Expr {
    if let Expr::Plus(inner) = body { inner } else { body }
}

fn union_parts(body: &Expr) -> Vec<Expr> {
    match body {
        Expr::Union(left, right) => {
            let mut parts = union_parts(left);
            parts.extend(union_parts(right));
            parts
        }
        other => vec![other.clone()],
    }
}

fn without(body: &Expr, parts: &[Expr], dropped: usize) -> Expr {
    let kept = parts.iter().enumerate().filter(|(index, _)| *index != dropped);
    let union = kept
        .map(|(_, part)| part.clone())
        .reduce(|left, right| Expr::Union(Box::new(left), Box::new(right)))
        .unwrap_or(Expr::Empty);
    if matches!(body, Expr::Plus(_)) { Expr::Plus(Box::new(union)) } else { union }
}
