//! What a search blames first.

use lang::cat::model::{Axiom, AxiomKind, DefinitionKind, Model};
use model::changes::{Change, Side, Subject};

/// What is blamed first. A vendor's report is about a NIC, and the model's larger parts explain too much.
/// Which events an order is about, the model's text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Orders and rules that a NIC takes part in.
    Nic,
    /// Relations and parts of definitions of which it takes part in each pair.
    NicRelation,
    /// Orders and rules of CPUs.
    Cpu,
    /// Other parts of definitions.
    Part,
    /// Axioms about orders as a whole.
    Axiom,
}

impl Tier {
    /// All of them, in this order.
    pub const ALL: [Self; 5] = [Self::Nic, Self::NicRelation, Self::Cpu, Self::Part, Self::Axiom];

    /// That of a change of a model.
    pub fn of(change: &Change, model: &Model) -> Self {
        let side = change.extent(model).side;
        let of_side = if side == Side::Cpu { Self::Cpu } else { Self::Nic };
        match &change.subject {
            Subject::Order(_) | Subject::Cell(_) => of_side,
            // A name stands for all of what is named, and an order is left out as a whole: those are
            // candidates themselves.
            Subject::Part(of, _) if change.is_of_a_name() || is_order(model, of) => Self::Part,
            Subject::Part(..) | Subject::Relation(_) if side == Side::Nic => Self::NicRelation,
            Subject::Part(..) | Subject::Relation(_) => Self::Part,
            Subject::Axiom(name) => {
                let is_rule = |axiom: &Axiom| axiom.name == *name && axiom.kind == AxiomKind::Empty;
                if model.axioms.iter().any(is_rule) { of_side } else { Self::Axiom }
            }
        }
    }

    /// Whether all of them can be left out together.
    pub fn is_small(self) -> bool {
        self <= Self::Cpu
    }
}

/// Whether a name is that of an order that is chosen.
fn is_order(model: &Model, name: &str) -> bool {
    let of = |kind: &DefinitionKind| matches!(kind, DefinitionKind::Choice { name: of, .. } if of == name);
    model.definitions.iter().any(|definition| of(&definition.kind))
}

/// Of equals, the one with the least to say.
pub fn cost(change: &Change) -> usize {
    match &change.subject {
        Subject::Cell(cell) => cell.tables.len(),
        Subject::Order(_) | Subject::Axiom(_) => 3,
        Subject::Relation(_) => 4,
        Subject::Part(..) => 5,
    }
}
