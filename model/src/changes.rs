//! The changes of a model: one axiom, table cell, order, or part of a union at a time. What a suite tests is
//! what changes of it some verdict notices.

mod cells;
mod parts;
mod possible;
mod relations;

use lang::cat::model::{
    Cell, Definition, DefinitionKind, Expr, Model, UNDEFINED_READS, UNDEFINED_WRITES,
};

use parts::Site;

use crate::library::each;

pub use cells::{CellOf, InTable};
pub use possible::{Extent, Side};
pub use relations::relations;

/// More kinds of events than this are no description.
const FEW: usize = 3;

/// What a change is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A cell of one table, or of several.
    Cell(CellOf),
    /// An axiom, by name.
    Axiom(String),
    /// A chosen order, as an index into [`Model::definitions`].
    Order(Named),
    /// An alternative of a union in an axiom or definition, by its name, from 1.
    Part(String, usize),
    /// A relation, wherever the model's relations and axioms use it.
    Relation(String),
}

/// A model with one thing changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// What it is of.
    pub subject: Subject,
    /// What was done, as in `drop oppo[nlR, narR]`.
    pub name: String,
    /// What was taken away, or for a cell that is ordered now, the pairs that it orders.
    lost: Expr,
    /// Where it stands, if it is a part of something.
    site: Option<Site>,
    /// The changed model.
    pub model: Model,
    /// Whether something was taken away from what is forbidden; otherwise something was added.
    pub allows_more: bool,
    /// Where this is empty for every set of choices, the change changes nothing; an expression without choices.
    pub about: Expr,
}

/// Something of a model, by its place and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Named {
    /// Where it stands, from 0.
    pub index: usize,
    /// What it is called.
    pub name: String,
}

impl Change {
    /// What is lost, without the verb: `oppo[nrW, nrW]`.
    pub fn lost(&self) -> &str {
        self.name.strip_prefix("drop ").unwrap_or(&self.name)
    }

    /// The part of a union that was left out, as the model's text has it, if it is of one.
    pub fn part(&self) -> Option<String> {
        matches!(self.subject, Subject::Part(..)).then(|| self.model.text_of(&self.lost))
    }

    /// What was done, with the text of a part: `drop part 3 of ib (pf)`.
    pub fn described(&self) -> String {
        match self.part() {
            Some(part) => format!("{} ({part})", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether programs of the original model can have anything that it is about: not so for what is said of statements
    /// that the model does not define.
    pub fn is_possible(&self, original: &Model) -> bool {
        !self.extent(original).is_empty()
    }

    /// Which events of the original model's programs it relates.
    pub fn extent(&self, original: &Model) -> Extent {
        possible::extent(original, &self.lost)
    }

    /// Whether it is a part that is a name and nothing else, so that it stands for all of what is named.
    pub fn is_of_a_name(&self) -> bool {
        self.site.is_some() && matches!(self.lost, Expr::Defined(_) | Expr::Base(_))
    }

    /// Whether it is a part that is about a relation or an order which the other change leaves out as a whole.
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

    /// The cell, if it is of one.
    pub fn cell(&self) -> Option<&CellOf> {
        match &self.subject {
            Subject::Cell(cell) => Some(cell),
            _ => None,
        }
    }

    /// What it means that something of a model is not kept, in the model's words.
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

    /// Does the same to another model, one that differs from the original by what this function did for other changes;
    /// whether that can be done.
    pub fn apply_to(&self, model: &mut Model) -> bool {
        if !self.allows_more {
            return false;
        }
        match &self.subject {
            Subject::Cell(cell) => {
                cell.tables.iter().all(|place| place.set(model, Cell::Unordered))
            }
            Subject::Order(order) => match model.definitions.get_mut(order.index) {
                Some(Definition { kind: DefinitionKind::Choice { total_on, .. }, .. }) => {
                    *total_on = Expr::Empty;
                    true
                }
                _ => false,
            },
            // Places in the model stay as they are: what is dropped leaves nothing in its place.
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

/// Every change of a model.
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
            // Equations come above, and tables have their cells.
            continue;
        };
        // Without an order of writes there are no final values to speak of.
        if matches!(definition.kind, DefinitionKind::Choice { .. }) && name != "mo" {
            let order = Named { index, name: name.clone() };
            let mut mutant = model.clone();
            if let DefinitionKind::Choice { total_on, .. } = &mut mutant.definitions[index].kind {
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
    // An undefined value stands for every value: fewer of them allow less.
    let of_undefined = [UNDEFINED_READS, UNDEFINED_WRITES];
    let allows_more =
        !matches!(&subject, Subject::Part(of, _) if of_undefined.contains(&of.as_str()));
    Change { subject, name, lost, site: None, model, allows_more, about: Expr::Universe }
}
