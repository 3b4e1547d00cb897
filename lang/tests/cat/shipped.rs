//! The shipped models.

use lang::cat::model::{Cell, DefinitionKind, Hardware, Table};
use lang::cat::{Loaded, load};

use super::{cat_files, folder, load_right, read, rendered};

fn shipped(name: &str) -> Loaded {
    let source = read(&folder("model/models").join(format!("{name}.cat")));
    load(&source, &|_, _| None).unwrap_or_else(|errors| panic!("{}", rendered(&errors)))
}

#[test]
fn load_without_warnings_and_say_what_they_are() {
    for path in cat_files("model/models") {
        let source = read(&path);
        let included =
            |name: &str, _: &str| Some(read(&folder("model/models").join(format!("{name}.cat"))));
        let loaded =
            load(&source, &included).unwrap_or_else(|errors| panic!("{}", rendered(&errors)));
        assert_eq!(rendered(&loaded.warnings), "");
        let model = &loaded.model;
        assert_eq!(source.name, format!("{}.cat", model.name));
        assert!(model.title.is_some(), "{} has no title", model.name);
        // The operational semantics is that of RDMA^TSO and coreRMA, and of no other network, nor of MPI.
        let is_network = loaded.includes("verbs") || model.name == "mpi-rma";
        assert_ne!(model.machine.is_some(), is_network, "{}: the machine", model.name);
        if let Hardware::By(judge) = &model.hardware {
            let judge =
                load_right(&read(&folder("model/models").join(format!("{judge}.cat"))).text);
            assert_eq!(judge.model.hardware, Hardware::Itself, "{}: hardware", model.name);
        }
        for axiom in &model.axioms {
            let is_named = axiom
                .name
                .chars()
                .all(|character| character.is_ascii_lowercase() || character == '-');
            assert!(is_named, "{}: the axiom `{}` has no name", model.name, axiom.name);
        }
    }
}

fn table(loaded: &Loaded, name: &str) -> Table {
    let mut definitions = loaded.model.definitions.iter();
    let table = definitions.find_map(|definition| match &definition.kind {
        DefinitionKind::Table(table) if table.name == name => Some(table.clone()),
        _ => None,
    });
    table.unwrap()
}

/// The rows of a table as text, without the rows and columns of the names in `without`.
fn drawn(table: &Table, without: &[&str]) -> Vec<String> {
    let letter = |cell: &Cell| match cell {
        Cell::Ordered => "✓",
        Cell::Unordered => "·",
        Cell::Where(letter) => &table.letters[*letter].0,
    };
    let rows = table.rows.iter().filter(|(head, ..)| !without.contains(&head.as_str()));
    rows.map(|(row, _, cells)| {
        let cells = cells.iter().zip(&table.columns);
        let cells = cells.filter(|(_, (column, _))| !without.contains(&column.as_str()));
        let cells: Vec<&str> = cells.map(|(cell, _)| letter(cell)).collect();
        format!("{row} {}", cells.join(" "))
    })
    .collect()
}

#[test]
fn models_with_remote_rmws_extend_those_without() {
    for name in ["ippo", "oppo"] {
        let (with, without) = (shipped("rdma-tso-rmw"), shipped("rdma-tso"));
        assert_eq!(
            drawn(&table(&with, name), &["narR", "narW"]),
            drawn(&table(&without, name), &[])
        );
    }
    let (with, without) = (shipped("rdma-wait-rmw"), shipped("rdma-wait"));
    assert_eq!(drawn(&table(&with, "ppo"), &["aNAR"]), drawn(&table(&without, "ppo"), &[]));
}
