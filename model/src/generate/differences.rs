//! Finds the differences between two models by the structure of their texts: statements, axioms, definitions,
//! table cells.

use lang::cat::model::{Axiom, Cell, Definition, DefinitionKind, Model, Table};

/// A difference between two models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The description.
    pub text: String,
    /// Whether the difference is in one cell of a table.
    pub is_cell: bool,
}

impl Said {
    fn new(text: String) -> Self {
        Self { text, is_cell: false }
    }
}

/// Describes each difference, in the order of the first model and then of the second. Empty if there are
/// none.
pub fn differences(one: &Model, two: &Model) -> Vec<Said> {
    let mut found = Vec::new();
    for (these, others, name) in [(one, two, &one.name), (two, one, &two.name)] {
        let only = these.calls.iter().filter(|call| !others.calls.contains(call));
        let only: Vec<&str> = only.copied().collect();
        if !only.is_empty() {
            found
                .push(Said::new(format!("only {name} defines the statements {}", only.join(", "))));
        }
    }
    for definition in &one.definitions {
        compare_definition(definition, one, two, &mut found);
    }
    let names = |definition: &Definition| name(definition).to_owned();
    for definition in &two.definitions {
        if !one.definitions.iter().any(|other| name(other) == name(definition)) {
            found.push(Said::new(format!("only {} defines {}", two.name, names(definition))));
        }
    }
    let text = |axiom: &Axiom, model: &Model| (axiom.kind, print(model, &axiom.body));
    for axiom in &one.axioms {
        match two.axioms.iter().find(|other| other.name == axiom.name) {
            None => {
                found.push(Said::new(format!("only {} has the axiom {}", one.name, axiom.name)))
            }
            Some(other) if text(axiom, one) != text(other, two) => {
                found.push(Said::new(format!("the axiom {} differs", axiom.name)));
            }
            Some(_) => {}
        }
    }
    for axiom in &two.axioms {
        if !one.axioms.iter().any(|other| other.name == axiom.name) {
            found.push(Said::new(format!("only {} has the axiom {}", two.name, axiom.name)));
        }
    }
    found
}

fn name(definition: &Definition) -> &str {
    match &definition.kind {
        DefinitionKind::Let { name, .. } | DefinitionKind::Choice { name, .. } => name,
        DefinitionKind::Table(table) => &table.name,
        DefinitionKind::Rec(bodies) => bodies.first().map_or("", |body| &body.name),
    }
}

fn compare_definition(definition: &Definition, one: &Model, two: &Model, found: &mut Vec<Said>) {
    let this = name(definition);
    let Some(other) = two.definitions.iter().find(|other| name(other) == this) else {
        found.push(Said::new(format!("only {} defines {this}", one.name)));
        return;
    };
    match (&definition.kind, &other.kind) {
        (DefinitionKind::Table(left), DefinitionKind::Table(right)) => {
            compare_tables((one, left), (two, right), found);
        }
        (left, right) => {
            if print_kind(one, left) != print_kind(two, right) {
                found.push(Said::new(format!("{this} differs")));
            }
        }
    }
}

fn compare_tables(
    (one, left): (&Model, &Table),
    (two, right): (&Model, &Table),
    found: &mut Vec<Said>,
) {
    for (row, _, cells) in &left.rows {
        for ((column, _), cell) in left.columns.iter().zip(cells) {
            let other = right.rows.iter().find(|(other, ..)| other == row);
            let at = right.columns.iter().position(|(other, _)| other == column);
            let Some(((.., others), at)) = other.zip(at) else { continue };
            let (ours, theirs) = (symbol(left, *cell), symbol(right, others[at]));
            if ours != theirs {
                let text = format!("{}[{row}, {column}] is {ours} and {theirs}", left.name);
                found.push(Said { text, is_cell: true });
            }
        }
    }
    let name = &left.name;
    if print(one, &left.on) != print(two, &right.on) {
        found.push(Said::new(format!("{name} is on another relation")));
    }
    for (letter, body) in &left.letters {
        let other = right.letters.iter().find(|(other, _)| other == letter);
        if other.is_some_and(|(_, other)| print(one, body) != print(two, other)) {
            found.push(Said::new(format!("{letter} stands for another relation in {name}")));
        }
    }
    let columns = |model, table: &Table| -> Vec<(String, String)> {
        let heads = table.columns.iter();
        heads.map(|(head, set)| (head.clone(), print(model, set))).collect()
    };
    let rows = |model, table: &Table| -> Vec<(String, String)> {
        let heads = table.rows.iter();
        heads.map(|(head, set, _)| (head.clone(), print(model, set))).collect()
    };
    compare_heads(name, "columns", columns(one, left), columns(two, right), found);
    compare_heads(name, "rows", rows(one, left), rows(two, right), found);
}

/// Compares the heads of two tables: names and sets, in any order.
fn compare_heads(
    table: &str,
    what: &str,
    mut ours: Vec<(String, String)>,
    mut theirs: Vec<(String, String)>,
    found: &mut Vec<Said>,
) {
    ours.sort();
    theirs.sort();
    if ours != theirs {
        found.push(Said::new(format!("{table} has other {what}")));
    }
}

/// A cell in the notation of models.
pub fn symbol(table: &Table, cell: Cell) -> String {
    match cell {
        Cell::Ordered => "✓".to_owned(),
        Cell::Unordered => "·".to_owned(),
        Cell::Where(letter) => table.letters.get(letter).map_or("?", |(name, _)| name).to_owned(),
    }
}

fn print(model: &Model, expr: &lang::cat::model::Expr) -> String {
    // Definitions are named by their number, so that a change of position alone is not a difference.
    let mut text = format!("{expr:?}");
    for (index, definition) in model.definitions.iter().enumerate() {
        text = text.replace(
            &format!("DefinitionId {{ definition: {index}, "),
            &format!("{} {{ ", name(definition)),
        );
    }
    text
}

fn print_kind(model: &Model, kind: &DefinitionKind) -> String {
    match kind {
        DefinitionKind::Let { body, .. } => print(model, body),
        DefinitionKind::Choice { total_on, extends, .. } => {
            let extends = extends.as_ref().map(|extends| print(model, extends));
            format!("{} {extends:?}", print(model, total_on))
        }
        DefinitionKind::Rec(bodies) => {
            bodies.iter().map(|body| print(model, &body.body)).collect::<Vec<_>>().join(" ")
        }
        DefinitionKind::Table(_) => String::new(),
    }
}
