//! The changes of a model: one axiom, table cell, order, or part of a union at a time. A suite tests those
//! parts of a model whose change makes some verdict wrong.

mod cells;
mod parts;
mod possible;
mod relations;
mod signs;

use lang::cat::model::{
    Cell, Definition, DefinitionKind, Expr, Model, UNDEFINED_READS, UNDEFINED_WRITES,
};

use parts::Site;

use crate::library::each;

pub use cells::{CellOf, InTable};
pub use possible::{Extent, Side};
pub use relations::relations;

/// An expression over more kinds of events than this is not described by listing them.
const FEW: usize = 3;

/// What a change affects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A cell of one table, or of several tables that share it.
    Cell(CellOf),
    /// An axiom, by its name.
    Axiom(String),
    /// A chosen order, by its index in [`Model::definitions`].
    Order(Named),
    /// An alternative of a union in an axiom or definition: the name of the axiom or definition, and the
    /// number of the alternative, from 1.
    Part(String, usize),
    /// A relation, everywhere that the model's relations and axioms use it.
    Relation(String),
}

/// A model with one thing changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// What the change affects.
    pub subject: Subject,
    /// The change in words: `drop oppo[nlR, narR]`.
    pub name: String,
    /// What was removed. For a cell that becomes ordered: the pairs that it now orders.
    lost: Expr,
    /// The place of what was removed, if it is a part of something.
    site: Option<Site>,
    /// The changed model.
    pub model: Model,
    /// Whether the change allows more: something was removed from what the model forbids. Otherwise it allows
    /// less.
    pub allows_more: bool,
    /// An expression without choices. If it is empty for a test, the change has no effect on the test.
    pub about: Expr,
}

/// A part of a model, by its position and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Named {
    /// The position in its list, from 0.
    pub index: usize,
    /// The name in the model's text.
    pub name: String,
}

impl Change {
    /// What is lost, without the verb `drop`: `oppo[nrW, nrW]`.
    pub fn lost(&self) -> &str {
        self.name.strip_prefix("drop ").unwrap_or(&self.name)
    }

    /// The alternative of a union that was removed, in the model's notation. `None` for other changes.
    pub fn part(&self) -> Option<String> {
        matches!(self.subject, Subject::Part(..)).then(|| self.model.text_of(&self.lost))
    }

    /// The change in words, with the text of a part: `drop part 3 of ib (pf)`.
    pub fn described(&self) -> String {
        match self.part() {
            Some(part) => format!("{} ({part})", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether a program of the original model can contain anything that the change affects. This is false
    /// for statements that the model does not define.
    pub fn is_possible(&self, original: &Model) -> bool {
        !self.extent(original).is_empty()
    }

    /// The events of the original model's programs that the lost expression relates.
    pub fn extent(&self, original: &Model) -> Extent {
        possible::extent(original, &self.lost)
    }

    /// Whether the removed part is only a name, so that it stands for everything that the name defines.
    pub fn is_of_a_name(&self) -> bool {
        self.site.is_some() && matches!(self.lost, Expr::Defined(_) | Expr::Base(_))
    }

    /// Whether the removed part uses a relation or an order that the other change removes as a whole.
    pub fn is_part_of(&self, whole: &Self) -> bool {
        let is_it = |part: &Expr| match (&whole.subject, part) {
            (Subject::Order(order), Expr::Defined(id)) => id.definition == order.index,
            (Subject::Relation(_), part) => *part == whole.lost,
            _ => false,
        };
        let mut is_within = false;
        each(&self.lost, &mut |part| is_within |= is_it(part));
        is_within && matches!(self.subject, Subject::Part(..))
    }

    /// The cell, if the change affects one.
    pub fn cell(&self) -> Option<&CellOf> {
        match &self.subject {
            Subject::Cell(cell) => Some(cell),
            _ => None,
        }
    }

    /// What the loss means, in the words of the model.
    pub fn meaning(&self, original: &Model) -> String {
        let event = |name: &str| original.says(name).unwrap_or_else(|| name.to_owned());
        let name = self.lost();
        match &self.subject {
            Subject::Cell(cell) if event(&cell.row) == event(&cell.column) => {
                format!("{} is not kept before a later one, in program order", event(&cell.row))
            }
            Subject::Cell(cell) => format!(
                "{} is not kept before {} that follows in program order",
                event(&cell.row),
                event(&cell.column)
            ),
            _ if original.without(name).is_some() => {
                original.without(name).unwrap_or(name).to_owned()
            }
            Subject::Relation(_) | Subject::Part(..) => {
                let (what, extent) =
                    (self.part().unwrap_or_else(|| name.to_owned()), self.extent(original));
                if extent.from.len().max(extent.to.len()) > FEW {
                    return format!("a part of what the model keeps is lost: {what}");
                }
                let events = |stamps: &[&str]| {
                    stamps.iter().map(|stamp| event(stamp)).collect::<Vec<_>>().join(" or ")
                };
                format!(
                    "{} is not kept before {} ({what})",
                    events(&extent.from),
                    events(&extent.to)
                )
            }
            Subject::Axiom(_) | Subject::Order(_) => format!("the model's {name} is not kept"),
        }
    }

    /// Applies the same change to another model, which may differ from the original by such changes of other
    /// parts. Returns whether this is possible.
    pub fn apply_to(&self, model: &mut Model) -> bool {
        if !self.allows_more {
            return false;
        }
        match &self.subject {
            Subject::Cell(cell) => {
                cell.tables.iter().all(|place| place.set(model, Cell::Unordered))
            }
            Subject::Order(order) => match model.definition_mut(order.index) {
                Some(Definition { kind: DefinitionKind::Choice { total_on, .. }, .. }) => {
                    *total_on = Expr::Empty;
                    true
                }
                _ => false,
            },
            // Indices in the model must not change, so what is dropped becomes empty.
            Subject::Axiom(name) => {
                let mut axioms = model.axioms.iter_mut().filter(|axiom| axiom.name == *name);
                axioms.next().map(|axiom| axiom.body = Expr::Empty).is_some()
            }
            Subject::Part(..) => self.site.as_ref().is_some_and(|site| site.empty(model)),
            Subject::Relation(_) => {
                relations::empty(&self.lost, model);
                true
            }
        }
    }
}

/// All changes of a model.
pub fn of(model: &Model) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, axiom) in model.axioms.iter().enumerate() {
        let mut mutant = model.clone();
        mutant.axioms.remove(index);
        changes.push(dropped(Subject::Axiom(axiom.name.clone()), axiom.body.clone(), mutant));
        changes.extend(parts::changes(model, &axiom.name, parts::Holder::Axiom(index)));
    }
    let bodies = |index: usize| match &model.definitions[index].kind {
        DefinitionKind::Rec(bodies) => bodies.as_slice(),
        _ => &[],
    };
    for index in 0..model.definitions.len() {
        for (equation, body) in bodies(index).iter().enumerate() {
            let holder = parts::Holder::Equation(index, equation);
            changes.extend(parts::changes(model, &body.name, holder));
        }
    }
    for (index, definition) in model.definitions.iter().enumerate() {
        let (DefinitionKind::Let { name, body, .. }
        | DefinitionKind::Choice { name, total_on: body, .. }) = &definition.kind
        else {
            // The code above handles equations, and tables have changes of their cells.
            continue;
        };
        // Without an order of writes, memory would have no final values.
        if matches!(definition.kind, DefinitionKind::Choice { .. }) && name != "mo" {
            let order = Named { index, name: name.clone() };
            let mut mutant = model.clone();
            if let Some(Definition { kind: DefinitionKind::Choice { total_on, .. }, .. }) =
                mutant.definition_mut(index)
            {
                *total_on = Expr::Empty;
            }
            changes.push(dropped(Subject::Order(order), body.clone(), mutant));
        }
        changes.extend(parts::changes(model, name, parts::Holder::Definition(index)));
    }
    changes.extend(cells::changes(model));
    changes
}

fn dropped(subject: Subject, lost: Expr, model: Model) -> Change {
    let name = match &subject {
        Subject::Part(name, part) => format!("drop part {part} of {name}"),
        Subject::Axiom(name) | Subject::Order(Named { name, .. }) | Subject::Relation(name) => {
            format!("drop {name}")
        }
        Subject::Cell(_) => String::new(),
    };
    // An undefined value stands for every value, so fewer undefined values allow less.
    let of_undefined = [UNDEFINED_READS, UNDEFINED_WRITES];
    let allows_more =
        !matches!(&subject, Subject::Part(of, _) if of_undefined.contains(&of.as_str()));
    Change { subject, name, lost, site: None, model, allows_more, about: Expr::Universe }
}
