//! The tables of orders of models, with what the tests say of each cell.
//!
//! A test is about a cell if the model without it allows an outcome that the model forbids: a machine that did not
//! keep the order could show that. If it was seen, the order may be lost, or another one is: the
//! cells that the nearest variant leaves out are called broken. If it was not, the cell was kept as far as was looked.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lang::cat::model::{Axiom, AxiomKind, Cell, DefinitionKind, Model, Table};
use lang::source::Span;
use model::allowed::Question;
use model::changes::{self, CellOf, Change, InTable};
use model::smt::Found;
use model::smt::theory::{Evaluation, Facts};
use rayon::prelude::*;

use super::Request;
use super::data::{CellReport, TableReport, TableRow, Variant};
use super::judging::{By, Judged, JudgedRecord, wanted};
use super::variants::lost;
use crate::judge::Judgement;

/// All tables.
pub struct Evidence {
    /// Those of each model that is not judged by another one's tests; tables of one shape are drawn as one.
    pub tables: Vec<TableReport>,
    /// Ordered cells of all tables.
    pub cells: usize,
    /// Those that some test is about.
    pub tested: usize,
}

/// A cell of tables of one shape: the shape's number, the row and the column.
type Place = (usize, usize, usize);

/// What one program says: for each cell that it is about, whether its loss would explain a violation.
type Says = BTreeMap<Place, bool>;

/// Draws the tables, with the evidence.
pub fn tables(judged: &Judged, variants: &[Variant], request: &Request<'_>) -> Evidence {
    let mut evidence = Evidence { tables: Vec::new(), cells: 0, tested: 0 };
    for name in main_models(judged) {
        let variant = variants.iter().find(|variant| variant.model == name);
        for table in of_model(&name, variant, judged, request) {
            for cell in table.rows.iter().flat_map(|row| &row.cells) {
                evidence.cells += usize::from(cell.evidence != "unordered");
                evidence.tested +=
                    usize::from(!matches!(cell.evidence.as_str(), "unordered" | "untested"));
            }
            evidence.tables.push(table);
        }
    }
    evidence
}

/// Models that judge some test that no model with more tests judges: the others would say the same again.
fn main_models(judged: &Judged) -> Vec<String> {
    let tests_of = |name: &str| -> BTreeSet<usize> {
        let judges = |test: &JudgedRecord| test.by.iter().any(|by| by.judge.identity.name == name);
        (0..judged.tests.len()).filter(|index| judges(&judged.tests[*index])).collect()
    };
    let all: Vec<(String, BTreeSet<usize>)> =
        judged.models.iter().map(|model| (model.name.clone(), tests_of(&model.name))).collect();
    let is_covered = |(index, (name, tests)): &(usize, &(String, BTreeSet<usize>))| {
        // Violations are shown under every model that has them.
        let has_violation = tests.iter().any(|test| {
            let mut by = judged.tests[*test].by.iter();
            by.any(|by| {
                by.judge.identity.name == *name && by.judged.overall == Judgement::Violation
            })
        });
        !has_violation
            && all.iter().enumerate().any(|(other, (_, larger))| {
                tests.is_subset(larger) && (tests.len() < larger.len() || other < *index)
            })
    };
    let main = all.iter().enumerate().filter(|one| !is_covered(one));
    main.map(|(_, (name, _))| name.clone()).collect()
}

/// Tables of one shape, each with the number of its definition.
type Drawn<'m> = Vec<(usize, &'m Table)>;

/// The tables of a model, by their shapes: those with the same heads are drawn as one.
fn drawn(model: &Model) -> Vec<Drawn<'_>> {
    let heads = |table: &Table| -> (Vec<String>, Vec<String>) {
        let rows = table.rows.iter().map(|(name, ..)| name.clone());
        (rows.collect(), table.columns.iter().map(|(name, _)| name.clone()).collect())
    };
    let mut shapes: Vec<Drawn<'_>> = Vec::new();
    for (index, definition) in model.definitions.iter().enumerate() {
        let DefinitionKind::Table(table) = &definition.kind else { continue };
        match shapes.iter_mut().find(|shape| heads(shape[0].1) == heads(table)) {
            Some(shape) => shape.push((index, table)),
            None => shapes.push(vec![(index, table)]),
        }
    }
    shapes
}

/// Where a cell is drawn: once for each shape of its tables.
fn places(shapes: &[Drawn<'_>], cell: &CellOf) -> BTreeSet<Place> {
    let shape_of = |index: usize| {
        shapes.iter().position(|shape| shape.iter().any(|(table, _)| *table == index))
    };
    let place = |at: &InTable| Some((shape_of(at.table.index)?, at.row, at.column));
    cell.tables.iter().filter_map(place).collect()
}

fn of_model(
    name: &str,
    variant: Option<&Variant>,
    judged: &Judged,
    request: &Request<'_>,
) -> Vec<TableReport> {
    let of = |test: &JudgedRecord| test.by.iter().position(|by| by.judge.identity.name == name);
    let mut tests: Vec<(&JudgedRecord, usize)> =
        judged.tests.iter().filter_map(|test| Some((test, of(test)?))).collect();
    let Some(model) = tests.first().map(|(test, by)| test.by[*by].judge.model.clone()) else {
        return Vec::new();
    };
    let shapes = drawn(&model);
    if shapes.is_empty() {
        return Vec::new();
    }
    tests.sort_by_key(|(test, _)| test.size);
    // Programs that several tests or records share are examined once.
    let mut groups: Vec<(&JudgedRecord, usize, Vec<&JudgedRecord>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (test, by) in tests {
        let group = *known.entry(&test.body).or_insert_with(|| {
            groups.push((test, by, Vec::new()));
            groups.len() - 1
        });
        groups[group].2.push(test);
    }
    let changes: Vec<Change> = changes::of(&model)
        .into_iter()
        .filter(|change| change.allows_more && change.cell().is_some())
        .collect();
    let programs = groups.len();
    let examined = programs.min(request.examined);
    let says: Vec<Says> = groups[..examined]
        .par_iter()
        .map(|(test, by, same)| {
            says((&model, &shapes), &changes, test, &test.by[*by], same, request)
        })
        .collect();
    let mut cells: BTreeMap<Place, CellReport> = BTreeMap::new();
    for ((_, _, same), says) in groups.iter().zip(&says) {
        for (place, explains) in says {
            add(cells.entry(*place).or_default(), same, *explains);
        }
    }
    for cell in left_out(&changes, variant) {
        for place in places(&shapes, cell) {
            cells.entry(place).or_default().evidence = "broken".to_owned();
        }
    }
    let mut reports = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        let (_, first) = shape[0];
        let rows = first.rows.iter().enumerate().map(|(row, (name, ..))| {
            let mut cell =
                |column| finish(shape, (row, column), cells.remove(&(number, row, column)));
            TableRow {
                name: name.clone(),
                cells: (0..first.columns.len()).map(&mut cell).collect(),
            }
        });
        reports.push(TableReport {
            model: name.to_owned(),
            tables: shape.iter().map(|(_, table)| table.name.clone()).collect(),
            columns: first.columns.iter().map(|(name, _)| name.clone()).collect(),
            rows: rows.collect(),
            examined,
            programs,
        });
    }
    reports
}

/// The cells that the nearest variant does without.
fn left_out<'c>(changes: &'c [Change], variant: Option<&Variant>) -> Vec<&'c CellOf> {
    let is_left_out = |change: &&Change| {
        let name = lost(change).name;
        variant.is_some_and(|variant| variant.dropped.iter().any(|lost| lost.name == name))
    };
    changes.iter().filter(is_left_out).filter_map(Change::cell).collect()
}

fn add(cell: &mut CellReport, tests: &[&JudgedRecord], explains: bool) {
    for test in tests {
        cell.tests += 1;
        cell.runs = cell.runs.saturating_add(test.report.finished);
        cell.twins += usize::from(test.report.twin.as_ref().is_some_and(|twin| twin.seen_weak));
        if cell.example.is_none() || (explains && cell.evidence != "explains") {
            cell.example = Some(test.report.name.clone());
        }
    }
    if explains {
        cell.evidence = "explains".to_owned();
    }
}

fn finish(
    shape: &[(usize, &Table)],
    (row, column): (usize, usize),
    found: Option<CellReport>,
) -> CellReport {
    let text = |table: &Table| match table.rows.get(row).and_then(|row| row.2.get(column)) {
        Some(Cell::Ordered) => "✓".to_owned(),
        Some(Cell::Where(letter)) => table.letters[*letter].0.clone(),
        Some(Cell::Unordered) | None => "·".to_owned(),
    };
    let text: Vec<String> = shape.iter().map(|(_, table)| text(table)).collect();
    let mut cell = found.unwrap_or_default();
    if text.iter().all(|text| text == "·") {
        cell.evidence = "unordered".to_owned();
    } else if cell.evidence.is_empty() {
        let word = match (cell.tests, cell.twins) {
            (0, _) => "untested",
            (_, 0) => "quiet",
            _ => "kept",
        };
        cell.evidence = word.to_owned();
    }
    cell.text = text;
    cell
}

/// The cells that a program is about.
fn says(
    (model, shapes): (&Model, &[Drawn<'_>]),
    changes: &[Change],
    test: &JudgedRecord,
    by: &By,
    same: &[&JudgedRecord],
    request: &Request<'_>,
) -> Says {
    let mut says = Says::new();
    let Some(allowed) = by.allowed.as_ref().filter(|allowed| allowed.complete) else { return says };
    if same.iter().all(|test| test.report.finished == 0) {
        return says;
    }
    let Some(concerned) = concerned(model, changes, test) else { return says };
    let name = &by.judge.identity.name;
    let violations: BTreeSet<_> = same
        .iter()
        .flat_map(|test| &test.by)
        .filter(|by| by.judge.identity.name == *name)
        .flat_map(|by| &by.judged.outcomes)
        .filter(|seen| seen.judgement == Judgement::Violation)
        .map(|seen| &seen.outcome)
        .collect();
    for (change, _) in changes.iter().zip(concerned).filter(|(_, concerned)| *concerned) {
        let Some(cell) = change.cell() else { continue };
        let places = places(shapes, cell);
        let is_known = |place: &Place| {
            says.get(place) == Some(&true) || (violations.is_empty() && says.contains_key(place))
        };
        if places.iter().all(is_known) {
            continue;
        }
        let options = (request.options)();
        let Ok(question) =
            Question::new(&test.test, &change.model, test.libraries, options.loop_bound)
        else {
            continue;
        };
        let Ok(mut session) = question.session(&options, |_| true) else { continue };
        let within = session.counted();
        let explains = violations.iter().any(|outcome| {
            let Some(mut assumptions) = session.showing(&wanted(outcome)) else { return false };
            assumptions.extend(&within);
            matches!(session.find(&assumptions), Found::Execution(_))
        });
        let is_about = explains || {
            // What the model allows is still allowed: only what is new is of interest.
            allowed.outcomes.iter().for_each(|outcome| session.block(outcome));
            matches!(session.find(&within), Found::Execution(_))
        };
        if is_about {
            for place in places {
                *says.entry(place).or_default() |= explains;
            }
        }
    }
    says
}

/// For each change, whether the program has events that it is about. Where it has none, the change changes nothing.
pub fn concerned(model: &Model, changes: &[Change], test: &JudgedRecord) -> Option<Vec<bool>> {
    let mut model = model.clone();
    let about = |change: &Change| Axiom {
        name: String::new(),
        kind: AxiomKind::Empty,
        body: change.about.clone(),
        comment: None,
        span: Span::default(),
    };
    model.axioms = changes.iter().map(about).collect();
    let plan = Question::new(&test.test, &model, test.libraries, None).ok()?.plan;
    let values = Evaluation::new(&plan, Facts::all_events(&plan));
    Some(plan.axioms.iter().map(|node| !values.value(*node).is_empty()).collect())
}
