//! A model that includes and changes another.

use lang::cat::model::{Cell, DefinitionKind, Model};
use lang::cat::{Loaded, load};
use lang::source::Source;

use super::expressions::full;
use super::{load_right, rendered};

/// The model's plain definitions and axioms as text.
fn shown(model: &Model) -> Vec<String> {
    let definitions = model.definitions.iter().filter_map(|definition| match &definition.kind {
        DefinitionKind::Let { name, body, .. } => Some(format!("{name} = {}", full(model, body))),
        _ => None,
    });
    let axioms =
        model.axioms.iter().map(|axiom| format!("{}: {}", axiom.name, full(model, &axiom.body)));
    definitions.chain(axioms).collect()
}

fn cell(model: &Model, name: &str, row: &str, column: &str) -> Cell {
    let cells = model.definitions.iter().find_map(|definition| match &definition.kind {
        DefinitionKind::Table(table) if table.name == name => {
            let column = table.columns.iter().position(|(head, _)| head == column)?;
            table.rows.iter().find(|(head, ..)| head == row).map(|(_, _, cells)| cells[column])
        }
        _ => None,
    });
    cells.unwrap()
}

#[test]
fn keeps_what_it_does_not_change() {
    let loaded = load_right("\"a copy\"\ninclude \"rdma-tso\"");
    let original =
        load_right(&std::fs::read_to_string(super::folder("model/models/rdma-tso.cat")).unwrap());
    assert_eq!(loaded.model.definitions, original.model.definitions);
    assert_eq!(loaded.model.axioms, original.model.axioms);
    assert_eq!(loaded.model.calls, original.model.calls);
    assert_eq!(rendered(&loaded.warnings), "");
    assert_eq!(loaded.model.title.as_deref(), Some("a copy"));
    assert_eq!(loaded.model.machine, None, "the machine is the original's");
    assert_eq!(loaded.model.name, "test");
    let names: Vec<_> = loaded.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["test.cat", "rdma-tso.cat"]);
    assert!(
        loaded.axiom_sources.iter().chain(&loaded.definition_sources).all(|source| *source == 1)
    );
}

#[test]
fn changes_cells_axioms_and_calls() {
    let loaded = load_right(
        "include \"rdma-tso-rmw\"\n\
         set oppo[nrW, nrW] = ·\n\
         set oppo[lW, lR] = ✓\n\
         set oppo[nlW, nF] = Q\n\
         drop issued-before\n\
         uncall RCAS RFAA\n\
         calls GFence Put\n\
         machine other\n\
         irreflexive ob; po as more",
    );
    let model = &loaded.model;
    assert_eq!(cell(model, "oppo", "nrW", "nrW"), Cell::Unordered);
    assert_eq!(cell(model, "oppo", "lW", "lR"), Cell::Ordered);
    assert_eq!(cell(model, "oppo", "nlW", "nF"), Cell::Where(0));
    assert_eq!(cell(model, "ippo", "nrW", "nrW"), Cell::Where(0));
    let axioms: Vec<_> = model.axioms.iter().map(|axiom| axiom.name.as_str()).collect();
    assert_eq!(axioms, ["completions-in-order", "observed-before", "more"]);
    assert_eq!(loaded.axiom_sources, [1, 1, 0]);
    assert_eq!(
        model.calls,
        [
            "Write",
            "Read",
            "CAS",
            "FAA",
            "Mfence",
            "Put",
            "Get",
            "Rfence",
            "Poll",
            "SharedPoll",
            "Unsignaled",
            "Words",
            "GFence"
        ]
    );
    assert_eq!(model.machine.as_deref(), Some("other"));
}

#[test]
fn replaces_for_what_follows_too() {
    let text =
        "exists mo total on loc\nlet a = po\nlet b = a; a\nreplace let a = rf\nacyclic b as x";
    assert_eq!(shown(&load_right(text).model), ["a = rf", "b = (a ; a)", "x: b"]);
}

#[test]
fn replaces_with_what_is_defined_later() {
    let text = "exists mo total on loc\nlet a = po\nlet b = a; a\nlet c = rf\nlet d = c | c\n\
                replace let a = d\nacyclic b as x";
    assert_eq!(
        shown(&load_right(text).model),
        ["c = rf", "d = (c | c)", "a = d", "b = (a ; a)", "x: b"]
    );
}

#[test]
fn extends_what_it_replaces() {
    let text = "exists mo total on loc\nlet a = po\nlet b = a; a\nreplace let a = a | rf\n\
                replace let a = a \\ loc\nacyclic b as x";
    assert_eq!(
        shown(&load_right(text).model),
        ["a'' = po", "a' = (a'' | rf)", "a = (a' \\ loc)", "b = (a ; a)", "x: b"]
    );
}

#[test]
fn forgets_what_was_replaced_in_between() {
    let text = "exists mo total on loc\nlet a = po\nreplace let a = a | rf\nreplace let a = loc\nacyclic a as x";
    assert_eq!(shown(&load_right(text).model), ["a = loc", "x: a"]);
}

#[test]
fn gives_a_replacement_the_type_of_what_it_replaces() {
    let text = "exists mo total on loc\nlet a = W\nreplace let a = 0\nacyclic [a] as x";
    assert_eq!(shown(&load_right(text).model), ["a = 0", "x: [a]"]);
    let text = "exists mo total on loc\nreplace let mo = 0\nacyclic mo as x";
    assert_eq!(shown(&load_right(text).model), ["mo = 0", "x: mo"]);
}

#[test]
fn extends_a_table() {
    let text = "include \"rdma-wait\"\nreplace let ppo = ppo | [aNRW]; po & same-node; [aRF]";
    let loaded = load_right(text);
    assert_eq!(cell(&loaded.model, "ppo'", "aCW", "aCR"), Cell::Unordered);
    assert!(
        shown(&loaded.model)
            .contains(&"ppo = (ppo' | (([aNRW] ; (po & same-node)) ; [aRF]))".to_owned())
    );
}

fn load_files(files: &[(&str, &str)]) -> Loaded {
    let (name, text) = files[0];
    let loader = |name: &str, _: &str| {
        let (name, text) = files.iter().find(|(known, _)| *known == name)?;
        Some(Source::new(*name, *text))
    };
    load(&Source::new(name, text), &loader).unwrap_or_else(|errors| panic!("{}", rendered(&errors)))
}

#[test]
fn includes_a_file_once() {
    let loaded = load_files(&[
        ("top", "include \"left\"\ninclude \"right\"\nacyclic a | b as x"),
        ("left", "include \"base\"\nlet a = mo"),
        ("right", "include \"base\"\nlet b = mo"),
        ("base", "exists mo total on loc"),
    ]);
    assert_eq!(loaded.sources.len(), 4);
    assert_eq!(loaded.definition_sources, [2, 1, 3]);
}

#[test]
fn asks_for_includes_with_the_name_of_their_file() {
    let asked = std::cell::RefCell::new(Vec::new());
    let loader = |name: &str, from: &str| {
        asked.borrow_mut().push((name.to_owned(), from.to_owned()));
        Some(Source::new(format!("{name}!"), if name == "a" { "include \"b\"" } else { "" }))
    };
    let loaded = load(&Source::new("dir/top.cat", "include \"a\""), &loader).unwrap();
    assert_eq!(loaded.model.name, "top");
    let expected = [("a", "dir/top.cat"), ("b", "a!")];
    assert_eq!(*asked.borrow(), expected.map(|(name, from)| (name.to_owned(), from.to_owned())));
}
