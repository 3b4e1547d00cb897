//! The changes of a model: one axiom, table cell, order, or part of a union at a time. What a suite tests is
//! what changes of it some verdict notices.

mod cells;
mod possible;

use lang::cat::model::{
    Cell, Definition, DefinitionKind, Expr, Model, UNDEFINED_READS, UNDEFINED_WRITES,
};

pub use cells::{CellOf, InTable};

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
        possible::is_possible(original, &self.lost)
    }

    /// The cell, if it is of one.
    pub fn cell(&self) -> Option<&CellOf> {
        match &self.subject {
            Subject::Cell(cell) => Some(cell),
            _ => None,
        }
    }

    /// Whether it is of the order of events all of which are CPUs'.
    pub fn is_of_cpus(&self) -> bool {
        let place = self.cell().and_then(|cell| cell.tables.first());
        let sets = place.and_then(|place| place.sets(&self.model));
        sets.is_some_and(|sets| sets.iter().all(|set| possible::is_of_cpus(&self.model, set)))
    }

    /// What it means that something is not kept, in the words of the model.
    pub fn meaning(&self) -> String {
        let name = self.lost();
        if let Some(cell) = self.cell() {
            let event = |name: &String| self.model.says(name).unwrap_or_else(|| name.clone());
            let (row, column) = (event(&cell.row), event(&cell.column));
            return if row == column {
                format!("{row} is not kept before a later one, in program order")
            } else {
                format!("{row} is not kept before {column} that follows in program order")
            };
        }
        match (self.model.without(name), name.split_once(" of ")) {
            (Some(said), _) => said.to_owned(),
            (None, Some((part, whole))) => {
                format!("a part of the model's {whole} ({part}) is not kept")
            }
            (None, None) => format!("the model's {name} is not kept"),
        }
    }

    /// Does the same to another model, one that differs from the original by such changes of other things; whether
    /// that can be done. Parts of unions cannot be dropped together.
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
            Subject::Axiom(name) => {
                let count = model.axioms.len();
                model.axioms.retain(|axiom| axiom.name != *name);
                model.axioms.len() < count
            }
            Subject::Part(..) => false,
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
        for (number, (body, part)) in without_part(&axiom.body).into_iter().enumerate() {
            let mut mutant = model.clone();
            mutant.axioms[index].body = body;
            changes.push(dropped_part((number, part), &axiom.name, mutant));
        }
    }
    changes.extend(recursions(model));
    for (index, definition) in model.definitions.iter().enumerate() {
        let (name, body) = match &definition.kind {
            DefinitionKind::Let { name, body, .. } => (name, body),
            DefinitionKind::Choice { name, total_on, .. } => (name, total_on),
            // These have functions of their own.
            DefinitionKind::Rec(_) | DefinitionKind::Table(_) => continue,
        };
        let replaced = |with: Expr| {
            let mut mutant = model.clone();
            match &mut mutant.definitions[index].kind {
                DefinitionKind::Let { body, .. } => *body = with,
                DefinitionKind::Choice { total_on, .. } => *total_on = with,
                _ => {}
            }
            mutant
        };
        // Without an order of writes there are no final values to speak of.
        if matches!(definition.kind, DefinitionKind::Choice { .. }) && name != "mo" {
            let order = Named { index, name: name.clone() };
            changes.push(dropped(Subject::Order(order), body.clone(), replaced(Expr::Empty)));
        }
        for (number, (body, part)) in without_part(body).into_iter().enumerate() {
            changes.push(dropped_part((number, part), name, replaced(body)));
        }
    }
    changes.extend(cells::changes(model));
    changes
}

/// Each part of each equation of a recursive group left out.
fn recursions(model: &Model) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, definition) in model.definitions.iter().enumerate() {
        let DefinitionKind::Rec(bodies) = &definition.kind else { continue };
        for (equation, body) in bodies.iter().enumerate() {
            for (number, (without, part)) in without_part(&body.body).into_iter().enumerate() {
                let mut mutant = model.clone();
                if let DefinitionKind::Rec(bodies) = &mut mutant.definitions[index].kind {
                    bodies[equation].body = without;
                }
                changes.push(dropped_part((number, part), &body.name, mutant));
            }
        }
    }
    changes
}

fn dropped(subject: Subject, lost: Expr, model: Model) -> Change {
    let name = match &subject {
        Subject::Part(name, part) => format!("drop part {part} of {name}"),
        Subject::Axiom(name) | Subject::Order(Named { name, .. }) => format!("drop {name}"),
        Subject::Cell(_) => String::new(),
    };
    // An undefined value stands for every value: fewer of them allow less.
    let of_undefined = [UNDEFINED_READS, UNDEFINED_WRITES];
    let allows_more =
        !matches!(&subject, Subject::Part(of, _) if of_undefined.contains(&of.as_str()));
    Change { subject, name, lost, model, allows_more, about: Expr::Universe }
}

fn dropped_part((number, part): (usize, Expr), name: &str, model: Model) -> Change {
    dropped(Subject::Part(name.to_owned(), number + 1), part, model)
}

/// The expression with one alternative of one union left out, and that alternative, for each in the order of the text, where
/// this makes the whole smaller.
fn without_part(body: &Expr) -> Vec<(Expr, Expr)> {
    let rebuilt = |operand: &Expr, rebuild: &dyn Fn(Box<Expr>) -> Expr| -> Vec<(Expr, Expr)> {
        let parts = without_part(operand).into_iter();
        parts.map(|(operand, part)| (rebuild(Box::new(operand)), part)).collect()
    };
    let either = |left: &Expr, right: &Expr, rebuild: &dyn Fn(Box<Expr>, Box<Expr>) -> Expr| {
        let mut all = rebuilt(left, &|left| rebuild(left, Box::new(right.clone())));
        all.extend(rebuilt(right, &|right| rebuild(Box::new(left.clone()), right)));
        all
    };
    match body {
        Expr::Union(left, right) => {
            let mut all = Vec::new();
            // The left of `a | b | c` is a union itself, of which each part is left out.
            if !matches!(**left, Expr::Union(..)) {
                all.push(((**right).clone(), (**left).clone()));
            }
            all.extend(rebuilt(left, &|left| Expr::Union(left, right.clone())));
            all.push(((**left).clone(), (**right).clone()));
            all.extend(rebuilt(right, &|right| Expr::Union(left.clone(), right)));
            all
        }
        Expr::Intersection(left, right) => either(left, right, &Expr::Intersection),
        Expr::Product(left, right) => either(left, right, &Expr::Product),
        Expr::Sequence(left, right) => either(left, right, &Expr::Sequence),
        Expr::Difference(left, right) => {
            rebuilt(left, &|left| Expr::Difference(left, right.clone()))
        }
        Expr::Identity(inner) => rebuilt(inner, &Expr::Identity),
        Expr::Inverse(inner) => rebuilt(inner, &Expr::Inverse),
        Expr::Plus(inner) => rebuilt(inner, &Expr::Plus),
        _ => Vec::new(),
    }
}
