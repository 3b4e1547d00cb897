//! Changes of models with tables of any shapes.

use std::path::Path;
use std::sync::Arc;

use lang::cat::model::{Cell, DefinitionKind, Model, Table};
use lang::source::Source;
use model::allowed::{Options, Question};
use model::changes::{self, Change};
use model::coverage::Suite;
use model::generate::differences::differences;
use model::generate::pivot::{Pivot, Tried};
use model::generate::search::{Bounds, Known, Vocabulary};

fn shipped(name: &str) -> Model {
    model::models::load_shipped(name).expect("shipped").expect("it loads").model
}

fn load(text: &str) -> Model {
    let loader = |include: &str, _: &str| model::models::shipped(include.strip_suffix(".cat")?);
    match lang::cat::load(&Source::new("own.cat", text), &loader) {
        Ok(loaded) => loaded.model,
        Err(found) => panic!("{}", found[0].1.render(&found[0].0, false)),
    }
}

/// rdma-tso with the tables and what stands behind them.
fn with_tables(tables: &str, ib: &str, ob: &str) -> Model {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("models/rdma-tso.cat"))
            .expect("shipped");
    let (head, _) = text.split_once("table ippo").expect("a table");
    load(&format!(
        "{head}\n{tables}\n\
         let ib = ({ib} | rf | pf | nfo | rbi)+\n\
         let ob = ({ob} | rfe | [nlW]; pf | nfo | rb | mo | [Inst]; ib)+\n\
         irreflexive ib as issued-before\nirreflexive ob as observed-before\n"
    ))
}

/// The text of a table of some rows and columns of a shipped one, in the order in which they are named.
fn part(name: &str, of: &Table, rows: &[&str], columns: &[&str]) -> String {
    let mut text = format!("table {name} on po where Q = same-qp\n| |");
    columns.iter().for_each(|head| text += &format!(" {head} |"));
    for row in rows {
        let (.., cells) = of.rows.iter().find(|known| known.0 == *row).expect("a row");
        text += &format!("\n| {row} |");
        for column in columns {
            let at = of.columns.iter().position(|known| known.0 == *column).expect("a column");
            let cell = match cells[at] {
                Cell::Ordered => "✓",
                Cell::Unordered => "·",
                Cell::Where(_) => "Q",
            };
            text += &format!(" {cell} |");
        }
    }
    text + "\nend\n"
}

fn table(model: &Model, name: &str) -> Table {
    let is_it = |kind: &DefinitionKind| match kind {
        DefinitionKind::Table(table) if table.name == name => Some(table.clone()),
        _ => None,
    };
    model.definitions.iter().find_map(|definition| is_it(&definition.kind)).expect("a table")
}

const CPU: [&str; 5] = ["lR", "lW", "CAS", "F", "P"];
const NIC: [&str; 5] = ["nlR", "nrW", "nrR", "nlW", "nF"];
const ALL: [&str; 10] = ["lR", "lW", "CAS", "F", "P", "nlR", "nrW", "nrR", "nlW", "nF"];
/// The same in another order.
const TURNED: [&str; 10] = ["nF", "nlW", "nrR", "nrW", "nlR", "P", "F", "CAS", "lW", "lR"];

/// rdma-tso as the papers do not print it: `oppo` backwards.
fn turned() -> Model {
    let shipped = shipped("rdma-tso");
    let ippo = part("ippo", &table(&shipped, "ippo"), &ALL, &ALL);
    let oppo = part("oppo", &table(&shipped, "oppo"), &TURNED, &TURNED);
    with_tables(&(ippo + &oppo), "ippo", "oppo")
}

/// The same with `oppo` in two tables of different shapes, neither that of `ippo`.
fn in_three() -> Model {
    let shipped = shipped("rdma-tso");
    let oppo = table(&shipped, "oppo");
    let ippo = part("ippo", &table(&shipped, "ippo"), &ALL, &ALL);
    let cpu = part("cpu", &oppo, &CPU, &ALL);
    let nic = part("nic", &oppo, &NIC, &TURNED[..5]);
    with_tables(&(cpu + &ippo + &nic), "ippo", "(cpu | nic)")
}

/// The cells of a table: table, row, column, and what stands there.
type Cells = Vec<(String, String, String, Cell)>;

/// What changes of cells do, by what is taken or added: the number of table, row and column, with the changed
/// cell.
fn by_name(model: &Model) -> Vec<(String, Cells)> {
    let edits = |change: &Change| {
        let cell = change.cell()?;
        let edited = |place: &changes::InTable| {
            let DefinitionKind::Table(table) = &change.model.definitions[place.table.index].kind
            else {
                panic!("{}: not a table", change.name);
            };
            let (row, _, cells) = &table.rows[place.row];
            let column = &table.columns[place.column].0;
            assert_eq!((row, column), (&cell.row, &cell.column), "{}", change.name);
            (table.name.clone(), row.clone(), column.clone(), cells[place.column])
        };
        let mut edited: Vec<_> = cell.tables.iter().map(edited).collect();
        edited.sort_by_key(|(table, row, column, _)| (table.clone(), row.clone(), column.clone()));
        Some((change.name.clone(), edited))
    };
    let mut all: Vec<_> = changes::of(model).iter().filter_map(edits).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

#[test]
fn cells_are_paired_by_what_they_mean() {
    let (shipped, turned) = (by_name(&shipped("rdma-tso")), by_name(&turned()));
    assert!(shipped.len() > 250, "{}", shipped.len());
    assert_eq!(shipped, turned);
}

#[test]
fn each_cell_of_each_shape_is_changed_once() {
    let model = in_three();
    let all: Vec<Change> = changes::of(&model);
    let cells = |name: &str| {
        let alone = |change: &&Change| change.cell().is_some_and(|cell| cell.names() == [name]);
        all.iter().filter(alone).count()
    };
    assert_eq!([cells("ippo"), cells("cpu"), cells("nic")], [100, 50, 25]);
    let mut names: Vec<&str> = all.iter().map(|change| change.name.as_str()).collect();
    names.sort_unstable();
    let number = names.len();
    names.dedup();
    assert_eq!(names.len(), number, "two changes of one name");
    // `cpu` and `nic` have nothing in common.
    let pairs = all.iter().filter_map(Change::cell).filter(|cell| cell.tables.len() > 1);
    for cell in pairs {
        assert!(cell.names() == ["cpu", "ippo"] || cell.names() == ["ippo", "nic"], "{cell:?}");
    }
    let change = all.iter().find(|change| change.name == "drop [nrW, nF]");
    assert!(change.is_none(), "the tables do not agree");
    assert!(all.iter().any(|change| change.name == "drop [nrW, nlW]"), "they do");
}

/// Three tables of which two agree: these change together too, and the name says which.
#[test]
fn some_of_several_tables_agree() {
    let table = |name: &str, cell: &str, heads: [&str; 2]| {
        let [first, second] = heads;
        let cells = |row: &str| {
            let of = |column: &str| if (row, column) == ("lW", "lR") { cell } else { "✓" };
            format!("| {row} | {} | {} |\n", of(first), of(second))
        };
        format!(
            "table {name} on po where Q = same-qp\n| | {first} | {second} |\n{}{}end\n",
            cells(first),
            cells(second)
        )
    };
    let tables = table("a", "·", ["lR", "lW"])
        + &table("b", "✓", ["lW", "lR"])
        + &table("c", "·", ["lW", "lR"]);
    let model = with_tables(&tables, "a", "(b | c)");
    let names: Vec<String> = changes::of(&model)
        .into_iter()
        .filter(|change| {
            change.cell().is_some_and(|cell| (&*cell.row, &*cell.column) == ("lW", "lR"))
        })
        .map(|change| change.name)
        .collect();
    assert_eq!(
        names,
        ["order a[lW, lR]", "drop b[lW, lR]", "order c[lW, lR]", "order a+c[lW, lR]"]
    );
}

/// Changes that are said to allow more do, and those of cells can be made together.
#[test]
fn changes_apply_to_changed_models() {
    let model = in_three();
    let cells: Vec<Change> = changes::of(&model)
        .into_iter()
        .filter(|change| change.allows_more && change.cell().is_some())
        .collect();
    let mut all = model.clone();
    assert!(cells.iter().all(|change| change.apply_to(&mut all)));
    for definition in &all.definitions {
        if let DefinitionKind::Table(table) = &definition.kind {
            let cells = table.rows.iter().flat_map(|(.., cells)| cells);
            assert!(cells.into_iter().all(|cell| *cell == Cell::Unordered), "{}", table.name);
        }
    }
}

#[test]
fn suites_notice_changes_of_any_shape() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../litmus-suite/rmw-paper/SB+put-get-poll+put-get-poll.litmus");
    let path = if path.exists() {
        path
    } else {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../litmus-suite/loco-popl26/SB+put-get-poll+put-get-poll.litmus")
    };
    let text = std::fs::read_to_string(path).expect("the suite is readable");
    let (test, _) = lang::litmus::load_with(
        &Source::new("own.litmus", &text),
        model::library::shipped().words(),
    );
    let tests = Arc::new(vec![test.expect("it loads")]);
    let noticed = |model: Model| -> Vec<String> {
        let suite = Suite::new(model, &tests, model::library::shipped(), true);
        let all = 0..suite.changes.len();
        let noticed = all.filter(|change| suite.noticed(*change).expect("decided").is_some());
        let mut names: Vec<String> =
            noticed.map(|change| suite.changes[change].name.clone()).collect();
        names.sort();
        names
    };
    let shipped = noticed(shipped("rdma-tso"));
    assert!(shipped.contains(&"drop [P, lR]".to_owned()), "{shipped:?}");
    assert_eq!(noticed(turned()), shipped);
    assert!(noticed(in_three()).contains(&"drop [P, lR]".to_owned()));
}

#[test]
fn pivots_are_found_for_cells_of_any_shape() {
    for model in [shipped("rdma-tso"), turned(), in_three()] {
        let vocabulary = Vocabulary::of(&[&model]);
        let bounds = Bounds { size: 4, ..Bounds::default() };
        let known = Known::new(&model, &vocabulary, &bounds, 2);
        let all = changes::of(&model);
        let change = all.iter().find(|change| change.name == "drop [nlR, nrW]").expect("a change");
        let mut tried = Tried::default();
        let found = Pivot::new(&known, change, &vocabulary, bounds, 2).smallest(4, &mut tried);
        let found = found.expect("found");
        assert_eq!(tried.undecided, 0);
        assert_eq!(found.shape.size(), 2);
    }
}

/// Tables that say the same in another order do not differ; any other is.
#[test]
fn tables_are_compared_by_what_they_mean() {
    let texts = |one: &Model, two: &Model| -> Vec<String> {
        differences(one, two).into_iter().map(|found| found.text).collect()
    };
    let (shipped, turned) = (shipped("rdma-tso"), turned());
    let none: [&str; 0] = [];
    assert_eq!(texts(&shipped, &turned), none);
    let edited = |edit: &dyn Fn(&mut Table)| {
        let mut model = turned.clone();
        for index in 0..model.definitions.len() {
            match &mut model.definition_mut(index).expect("one").kind {
                DefinitionKind::Table(table) if table.name == "oppo" => edit(table),
                _ => {}
            }
        }
        texts(&shipped, &model)
    };
    let on = table(&shipped, "oppo").letters[0].1.clone();
    assert_eq!(edited(&|table| table.on = on.clone()), ["oppo is on another relation"]);
    let po = table(&shipped, "oppo").on;
    let letter = edited(&|table| table.letters[0].1 = po.clone());
    assert_eq!(letter, ["Q stands for another relation in oppo"]);
    assert_eq!(edited(&|table| table.rows.truncate(9)), ["oppo has other rows"]);
    let set = table(&shipped, "oppo").rows[3].1.clone();
    assert_eq!(edited(&|table| table.rows[0].1 = set.clone()), ["oppo has other rows"]);
    let columns = edited(&|table| {
        table.columns.truncate(9);
        table.rows.iter_mut().for_each(|(.., cells)| cells.truncate(9));
    });
    assert_eq!(columns, ["oppo has other columns"]);
}

/// A model cut into other tables allows what the whole one does.
#[test]
fn tables_of_any_shape_mean_the_same() {
    let text = "litmus a\n\n y = 0 || x = 0\n ----\n x^2 := 1 || y^1 := 1\n Poll(2) || Poll(1)\n a := y || b := x\n";
    let (test, found) =
        lang::litmus::load_with(&Source::new("a.litmus", text), model::library::shipped().words());
    let test = test.unwrap_or_else(|| panic!("{found:?}"));
    let outcomes = |model: Model| {
        let libraries = model::library::shipped();
        let question =
            Question::of(&test, &model).libraries(libraries).question().expect("it fits");
        question.allowed(&Options::default()).expect("decided").outcomes
    };
    let expected = outcomes(shipped("rdma-tso"));
    assert_eq!(outcomes(turned()), expected);
    assert_eq!(outcomes(in_three()), expected);
}
