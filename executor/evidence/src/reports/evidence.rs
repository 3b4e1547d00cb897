//! The tables of orders of models, with what the tests show about each cell.
//!
//! A test is about a cell if the model without it allows an outcome that the model forbids: a machine that
//! did not keep the order could show that. If it was seen, the order may be lost, or another one is: the
//! cells that the nearest variant leaves out are called broken. If it was not, the cell was kept as far as
//! was looked.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use compiler::library::Libraries;
use lang::Test;
use lang::cat::model::{Axiom, AxiomKind, Cell, DefinitionKind, Model, Table};
use lang::outcome::Outcome;
use lang::source::Span;
use model::allowed::Question;
use model::changes::{self, Change, InTable};
use model::smt::theory::{Evaluation, Facts};
use rayon::prelude::*;

use super::Request;
use super::data::{CellEvidence, CellReport, Coverage, Diagnosis, Lost, TableReport, TableRow};
use super::rejudge::{Judged, JudgedRecord};
use super::statistics::rule_of_three;
use super::tested::violations;
use super::variants::name_of;
use crate::judge::{Judgement, decided, shows};

/// What a program shows about cells.
#[derive(Default)]
struct Says {
    /// The cells that it is about, each with the violations that its loss would explain.
    about: BTreeMap<Place, BTreeSet<Outcome>>,
    /// The cells for which a limit was reached before it was known whether it is about them.
    open: BTreeSet<Place>,
}

/// A program, and the tests of all records that have it.
struct Group<'a> {
    first: &'a JudgedRecord,
    by: usize,
    tests: Vec<&'a JudgedRecord>,
}

/// Draws the tables of each record, with the evidence.
pub fn tables(judged: &Judged, diagnoses: &[Diagnosis], request: &Request<'_>) -> Vec<TableReport> {
    let of = |name: String| of_model(&name, judged, diagnoses, request);
    let mut tables: Vec<TableReport> = main_models(judged).into_iter().flat_map(of).collect();
    tables.sort_by_key(|table| table.run);
    tables
}

/// How many ordered cells a record's tables have, and how many of them some test is about.
pub fn coverage(tables: &[&TableReport]) -> Coverage {
    // A program that several models judge counts once.
    let programs: BTreeSet<usize> = tables.iter().flat_map(|table| &table.open).copied().collect();
    let mut coverage = Coverage { undecided: programs.len(), ..Coverage::default() };
    for cell in tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells) {
        match cell.evidence {
            CellEvidence::Unordered => continue,
            CellEvidence::Untested => {}
            CellEvidence::NotKnown => coverage.cells_not_known += 1,
            CellEvidence::Broken
            | CellEvidence::Explains
            | CellEvidence::Kept
            | CellEvidence::Quiet => coverage.cells_tested += 1,
        }
        coverage.cells += 1;
    }
    coverage
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

/// Tables with the same events in rows and columns, which are drawn as one.
type Shape<'m> = Vec<(usize, &'m Table)>;

/// A cell: the shape that its tables have, its row and its column.
type Place = (usize, usize, usize);

fn shapes(model: &Model) -> Vec<Shape<'_>> {
    let mut shapes: Vec<Shape<'_>> = Vec::new();
    for (index, definition) in model.definitions.iter().enumerate() {
        let DefinitionKind::Table(table) = &definition.kind else { continue };
        match shapes.iter_mut().find(|shape| heads(shape[0].1) == heads(table)) {
            Some(shape) => shape.push((index, table)),
            None => shapes.push(vec![(index, table)]),
        }
    }
    shapes
}

/// The names of a table's rows and columns.
fn heads(table: &Table) -> (Vec<&str>, Vec<&str>) {
    let rows = table.rows.iter().map(|(name, ..)| name.as_str());
    (rows.collect(), table.columns.iter().map(|(name, _)| name.as_str()).collect())
}

/// Where a change's cell is drawn: once for each shape of its tables.
fn places(shapes: &[Shape<'_>], change: &Change) -> BTreeSet<Place> {
    let shape_of = |index: usize| {
        shapes.iter().position(|shape| shape.iter().any(|(table, _)| *table == index))
    };
    let place = |at: &InTable| Some((shape_of(at.table.index)?, at.row, at.column));
    let cell = change.cell();
    cell.into_iter().flat_map(|cell| &cell.tables).filter_map(place).collect()
}

/// The tables of a model, for each record with tests that it judges. Programs that several tests or records
/// share are examined once.
fn of_model(
    name: &str,
    judged: &Judged,
    diagnoses: &[Diagnosis],
    request: &Request<'_>,
) -> Vec<TableReport> {
    let of = |test: &JudgedRecord| test.by.iter().position(|by| by.judge.identity.name == name);
    let mut tests: Vec<(&JudgedRecord, usize)> = judged
        .tests
        .iter()
        .filter(|test| test.report.finished > 0)
        .filter_map(|test| Some((test, of(test)?)))
        .collect();
    let Some(model) = tests.first().map(|(test, by)| test.by[*by].judge.model.clone()) else {
        return Vec::new();
    };
    let shapes = shapes(&model);
    if shapes.is_empty() {
        return Vec::new();
    }
    tests.sort_by_key(|(test, _)| test.size);
    let runs: BTreeSet<usize> = tests.iter().map(|(test, _)| test.report.run).collect();
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (test, by) in tests {
        let group = *known.entry(&test.body).or_insert_with(|| {
            groups.push(Group { first: test, by, tests: Vec::new() });
            groups.len() - 1
        });
        groups[group].tests.push(test);
    }
    let changes: Vec<Change> = changes::of(&model)
        .into_iter()
        .filter(|change| change.allows_more && change.cell().is_some())
        .collect();
    let examined = groups.len().min(request.examined);
    let says: Vec<Says> = groups[..examined]
        .par_iter()
        .map(|group| says(&model, &shapes, &changes, group, request))
        .collect();
    let of_run = |run: usize| {
        let dropped = diagnoses
            .iter()
            .filter(|diagnosis| diagnosis.run == run)
            .flat_map(|diagnosis| &diagnosis.models)
            .find(|without| without.model == name)
            .map_or(&[][..], |without| &without.dropped[..]);
        let left_out = left_out(&shapes, &changes, dropped);
        let drawing = Drawing { name, run, groups: &groups, says: &says, left_out };
        let shapes = shapes.iter().enumerate();
        shapes.map(move |(number, shape)| drawing.table(number, shape)).collect::<Vec<_>>()
    };
    runs.into_iter().flat_map(of_run).collect()
}

/// What the tables of a model and a record are drawn from.
struct Drawing<'a> {
    name: &'a str,
    run: usize,
    groups: &'a [Group<'a>],
    says: &'a [Says],
    left_out: Vec<Place>,
}

impl Drawing<'_> {
    fn tests<'g>(&self, group: &'g Group<'_>) -> impl Iterator<Item = &'g JudgedRecord> {
        let run = self.run;
        group.tests.iter().copied().filter(move |test| test.report.run == run)
    }

    fn table(&self, number: usize, shape: &Shape<'_>) -> TableReport {
        let mut cells: BTreeMap<(usize, usize), CellReport> = BTreeMap::new();
        for (group, says) in self.groups.iter().zip(self.says) {
            let about = says.about.iter().filter(|(place, _)| place.0 == number);
            for ((_, row, column), explained) in about {
                for test in self.tests(group) {
                    let explains = violations(test).into_iter().any(|one| explained.contains(one));
                    add(cells.entry((*row, *column)).or_default(), test, explains);
                }
            }
            for (_, row, column) in says.open.iter().filter(|place| place.0 == number) {
                let tests = self.tests(group).count();
                cells.entry((*row, *column)).or_default().undecided += tests;
            }
        }
        for (_, row, column) in self.left_out.iter().filter(|place| place.0 == number) {
            cells.entry((*row, *column)).or_default().evidence = CellEvidence::Broken;
        }
        let first = shape[0].1;
        let rows = first.rows.iter().enumerate().map(|(row, (name, _, _))| {
            let cell = |column: usize| finish(shape, (row, column), cells.remove(&(row, column)));
            TableRow { name: name.clone(), cells: (0..first.columns.len()).map(cell).collect() }
        });
        let rows = rows.collect();
        let has_tests = |group: &&Group<'_>| self.tests(group).next().is_some();
        let open: BTreeSet<usize> = (self.groups.iter().zip(self.says))
            .filter(|(group, says)| !says.open.is_empty() && has_tests(group))
            .map(|(group, _)| group.first.report.program)
            .collect();
        TableReport {
            run: self.run,
            model: self.name.to_owned(),
            tables: shape.iter().map(|(_, table)| table.name.clone()).collect(),
            columns: first.columns.iter().map(|(name, _)| name.clone()).collect(),
            rows,
            examined: self.groups[..self.says.len()].iter().filter(has_tests).count(),
            programs: self.groups.iter().filter(has_tests).count(),
            undecided: open.len(),
            open,
        }
    }
}

/// The cells that the nearest variant does without.
fn left_out(shapes: &[Shape<'_>], changes: &[Change], dropped: &[Lost]) -> Vec<Place> {
    let is_left_out = |change: &&Change| {
        let name = change.cell().map(name_of).unwrap_or_default();
        dropped.iter().any(|lost| lost.name == name)
    };
    changes.iter().filter(is_left_out).flat_map(|change| places(shapes, change)).collect()
}

fn add(cell: &mut CellReport, test: &JudgedRecord, explains: bool) {
    cell.tests += 1;
    cell.runs = cell.runs.saturating_add(test.report.finished);
    cell.twins += usize::from(test.report.twin.as_ref().is_some_and(|twin| twin.seen_weak));
    if cell.example.is_none() || (explains && cell.evidence != CellEvidence::Explains) {
        cell.example = Some(test.name());
    }
    if explains {
        cell.evidence = CellEvidence::Explains;
    }
}

fn finish(
    tables: &[(usize, &Table)],
    (row, column): (usize, usize),
    found: Option<CellReport>,
) -> CellReport {
    let text = |table: &Table| match table.rows.get(row).and_then(|row| row.2.get(column)) {
        Some(Cell::Ordered) => "✓".to_owned(),
        Some(Cell::Where(letter)) => table.letters[*letter].0.clone(),
        Some(Cell::Unordered) | None => "·".to_owned(),
    };
    let text: Vec<String> = tables.iter().map(|(_, table)| text(table)).collect();
    let mut cell = found.unwrap_or_default();
    if text.iter().all(|text| text == "·") {
        cell.evidence = CellEvidence::Unordered;
    } else if cell.evidence == CellEvidence::Untested {
        cell.evidence = match (cell.tests, cell.twins) {
            (0, _) if cell.undecided > 0 => CellEvidence::NotKnown,
            (0, _) => CellEvidence::Untested,
            (_, 0) => CellEvidence::Quiet,
            _ => CellEvidence::Kept,
        };
        cell.bound = rule_of_three(cell.runs);
    }
    cell.text = text;
    cell
}

/// The cells that a program is about.
fn says(
    model: &Model,
    shapes: &[Shape<'_>],
    changes: &[Change],
    group: &Group<'_>,
    request: &Request<'_>,
) -> Says {
    let mut says = Says::default();
    let (test, by) = (group.first, &group.first.by[group.by]);
    let Some(concerned) = concerned(model, changes, &test.test, &test.libraries) else {
        return says;
    };
    if by.allowed.complete.is_none() {
        let concerned = changes.iter().zip(concerned).filter(|(_, concerned)| *concerned);
        says.open = concerned.flat_map(|(change, _)| places(shapes, change)).collect();
        return says;
    }
    let name = &by.judge.identity.name;
    let violations: BTreeSet<&Outcome> = group
        .tests
        .iter()
        .flat_map(|test| &test.by)
        .filter(|by| by.judge.identity.name == *name)
        .flat_map(|by| by.judged.violations())
        .map(|seen| &seen.outcome)
        .collect();
    let concerned = changes.iter().zip(concerned).filter(|(_, concerned)| *concerned);
    let mut waiting = vec![concerned.map(|(change, _)| change).collect::<Vec<_>>()];
    while let Some(mut together) = waiting.pop() {
        // Most programs are about few cells: where a model without some allows no more, none of these is one.
        let more = match &together[..] {
            [] => continue,
            [change] => more_of(&change.model, group, &violations, request),
            all => {
                let mut changed = model.clone();
                let is_changed = all.iter().all(|change| change.apply_to(&mut changed));
                let more = is_changed.then(|| more_of(&changed, group, &BTreeSet::new(), request));
                more.unwrap_or_default()
            }
        };
        if together.len() > 1 {
            if more.is_new != Some(false) {
                let half = together.split_off(together.len() / 2);
                waiting.extend([half, together]);
            }
            continue;
        }
        for place in together.iter().flat_map(|change| places(shapes, change)) {
            match more.is_new {
                Some(true) => says.about.entry(place).or_default().extend(more.explained.clone()),
                Some(false) => {}
                None => {
                    says.open.insert(place);
                }
            }
        }
    }
    says
}

/// What a changed model allows of a program that the model does not.
#[derive(Default)]
struct More {
    /// Whether there is anything; `None` if a limit was reached first.
    is_new: Option<bool>,
    /// The violations among it.
    explained: BTreeSet<Outcome>,
}

fn more_of(
    changed: &Model,
    group: &Group<'_>,
    violations: &BTreeSet<&Outcome>,
    request: &Request<'_>,
) -> More {
    let (test, by) = (group.first, &group.first.by[group.by]);
    let options = (request.options)();
    let asking = Question::of(&test.test, changed).libraries(&test.libraries).options(&options);
    let Ok(question) = asking.question() else { return More::default() };
    let Ok(mut session) = question.session(&options, |_| true) else { return More::default() };
    let mut explains = |outcome: &&&Outcome| shows(&question, &mut session, outcome) == Some(true);
    let explained: BTreeSet<Outcome> =
        violations.iter().filter(&mut explains).map(|one| (*one).clone()).collect();
    if !explained.is_empty() {
        return More { is_new: Some(true), explained };
    }
    // What the model allows is still allowed: only what is new is of interest.
    by.allowed.outcomes.iter().for_each(|outcome| session.block(outcome));
    let within = session.counted();
    More { is_new: decided(&question, &session.find(&within)), explained }
}

/// For each change, whether the program has events that it is about. Where it has none, the change changes
/// nothing.
pub fn concerned(
    model: &Model,
    changes: &[Change],
    test: &Test,
    libraries: &Libraries,
) -> Option<Vec<bool>> {
    let mut model = model.clone();
    let about = |change: &Change| Axiom {
        name: String::new(),
        kind: AxiomKind::Empty,
        body: change.about.clone(),
        comment: None,
        span: Span::default(),
    };
    model.axioms = changes.iter().map(about).collect();
    let plan = Question::of(test, &model).libraries(libraries).question().ok()?.plan;
    let values = Evaluation::new(&plan, Facts::all_events(&plan));
    Some(plan.axioms.iter().map(|node| !values.value(*node).is_empty()).collect())
}
