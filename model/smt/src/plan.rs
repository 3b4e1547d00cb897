//! Lays a model out for one skeleton: every expression once, operands first.
//!
//! Sets are kept as identities, so that `[S]` is S itself and one set of operators serves both types.
//!
//! What only depends on which events happen, and relates each two of them or not whatever others do, is
//! computed here: for all events, it is a constant, and for fewer, what is left of it. So most of a model's
//! tables become one relation each, and what a test has no events for is empty.

mod apply;
pub mod base;
pub mod bounds;
mod forced;
mod layout;

use lang::cat::model::{Model, Type, UNDEFINED_READS, UNDEFINED_WRITES};
use skeleton::Skeleton;

use crate::relation::Relation;
pub use apply::apply;
pub use base::stamp;
pub use forced::forced;
use layout::Layout;

/// Index into [`Plan::nodes`].
pub type NodeIndex = usize;

/// An operator and its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A set or relation that is known, by its number. Only which events happen restricts it.
    Constant(usize),
    /// rf, which the solver chooses.
    ReadsFrom,
    /// pf, which follows from which operations happen.
    PollsFrom,
    /// An order of the model, by its index in [`Plan::choices`].
    Choice(usize),
    /// A name of a recursive group, by its number among the names of all groups.
    Recursive(usize),
    /// The empty set or relation.
    Empty,
    /// Union of all operands.
    Union(Vec<NodeIndex>),
    /// Intersection.
    Intersection(NodeIndex, NodeIndex),
    /// Difference: in the first and not in the second.
    Difference(NodeIndex, NodeIndex),
    /// Complement, of a set or a relation.
    Complement(Type, NodeIndex),
    /// Product: from each event of the first set to each of the second.
    Product(NodeIndex, NodeIndex),
    /// Composition: one relation after the other.
    Sequence(NodeIndex, NodeIndex),
    /// Inverse.
    Inverse(NodeIndex),
    /// Transitive closure.
    Plus(NodeIndex),
    /// Domain: the set of events with a successor.
    Domain(NodeIndex),
    /// Range: the set of events with a predecessor.
    Range(NodeIndex),
}

impl Op {
    /// The operands of the operator. A recursive name has none.
    pub fn operands(&self) -> impl Iterator<Item = NodeIndex> {
        let (few, many): (_, &[NodeIndex]) = match self {
            Self::Union(all) => ([None, None], all),
            Self::Intersection(a, b)
            | Self::Difference(a, b)
            | Self::Product(a, b)
            | Self::Sequence(a, b) => ([Some(*a), Some(*b)], &[]),
            Self::Complement(_, a)
            | Self::Inverse(a)
            | Self::Plus(a)
            | Self::Domain(a)
            | Self::Range(a) => ([Some(*a), None], &[]),
            Self::Constant(_)
            | Self::ReadsFrom
            | Self::PollsFrom
            | Self::Choice(_)
            | Self::Recursive(_)
            | Self::Empty => ([None, None], &[]),
        };
        few.into_iter().flatten().chain(many.iter().copied())
    }

    /// Whether the operator relates two events or not whatever it relates other events to.
    fn is_pairwise(&self) -> bool {
        matches!(
            self,
            Self::Union(_)
                | Self::Intersection(..)
                | Self::Difference(..)
                | Self::Complement(..)
                | Self::Product(..)
                | Self::Inverse(_)
        )
    }
}

/// One node of the plan.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operator that computes the node's value.
    pub op: Op,
    /// The value depends only on which events happen, not on choices.
    pub is_static: bool,
    /// A recursive name occurs in the expression.
    pub is_recursive: bool,
    /// The node is an order, or an axiom, ⊤ or an explanation depends on it.
    pub is_needed: bool,
}

/// A recursive group: nodes `first..last` are evaluated until the bodies are stable.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The first node of the group.
    pub first: NodeIndex,
    /// One past the last node of the group.
    pub last: NodeIndex,
    /// For each name of the group: its [`Op::Recursive`] node and its body's node.
    pub bodies: Vec<(NodeIndex, NodeIndex)>,
    /// Needed nodes of the group that depend on choices but on no recursive name. They are computed once.
    pub fixed: Vec<NodeIndex>,
    /// Needed nodes of the group that depend on a recursive name, without the names themselves.
    pub growing: Vec<NodeIndex>,
}

/// An existential order of the model.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The name of the order in the model.
    pub name: String,
    /// The order relates every two different events that this relation relates.
    pub total_on: Relation,
    /// The order never reverses these pairs.
    pub extends: Relation,
}

/// A model laid out for one skeleton.
#[derive(Clone, Debug)]
pub struct Plan {
    /// All expressions, operands first.
    pub nodes: Vec<Node>,
    /// Recursive groups in the order of their nodes.
    pub groups: Vec<Group>,
    /// The existential orders.
    pub choices: Vec<Choice>,
    /// The node of each axiom's body, in the model's order.
    pub axioms: Vec<NodeIndex>,
    /// The set of reads whose value is undefined (⊤), if the model defines one.
    pub undefined_reads: Option<NodeIndex>,
    /// The set of writes that leave ⊤ in memory if they come last, if the model defines one.
    pub undefined_writes: Option<NodeIndex>,
    /// For each node, a static node that is contained in it, if there is a useful one.
    pub under: Vec<Option<NodeIndex>>,
    /// The number of events.
    pub size: usize,
    /// The values of [`Op::Constant`] when all events happen; none is empty.
    constants: Vec<Relation>,
}

/// The reason why a plan cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(pub String);

impl Plan {
    /// Lays a model out for a skeleton.
    ///
    /// # Errors
    /// Fails if the model chooses an order over a relation that is itself chosen.
    pub fn new(model: &Model, skeleton: &Skeleton) -> Result<Self, PlanError> {
        let mut layout = Layout::new(skeleton);
        for definition in &model.definitions {
            layout.define(&definition.kind)?;
        }
        for axiom in &model.axioms {
            layout.axiom(&axiom.body);
        }
        let named = |name| Some(model.defined(name)?.definition);
        Ok(layout.plan(named(UNDEFINED_READS), named(UNDEFINED_WRITES)))
    }

    /// Marks the nodes that are needed: the orders (each has an axiom of its own), and what the axioms and
    /// the sets of ⊤ depend on.
    fn mark_needed(&mut self) {
        let undefined = [self.undefined_reads, self.undefined_writes];
        let mut needed = self.axioms.clone();
        needed.extend(undefined.into_iter().flatten());
        let is_order = |node: &NodeIndex| matches!(self.nodes[*node].op, Op::Choice(_));
        needed.extend((0..self.nodes.len()).filter(is_order));
        while let Some(node) = needed.pop() {
            if std::mem::replace(&mut self.nodes[node].is_needed, true) {
                continue;
            }
            match self.nodes[node].op {
                Op::Recursive(_) => {
                    let of_it = |group: &&Group| group.bodies.iter().any(|(name, _)| *name == node);
                    let groups = self.groups.iter().filter(of_it);
                    needed.extend(groups.flat_map(|group| &group.bodies).map(|(_, body)| *body));
                }
                ref op => needed.extend(op.operands()),
            }
            needed.extend(self.under[node]);
        }
        for group in &mut self.groups {
            let nodes = &self.nodes;
            let is_computed = |node: &NodeIndex| {
                let is_name = matches!(nodes[*node].op, Op::Recursive(_));
                nodes[*node].is_needed && !nodes[*node].is_static && !is_name
            };
            let computed = (group.first..group.last).filter(is_computed);
            (group.growing, group.fixed) = computed.partition(|node| nodes[*node].is_recursive);
        }
    }

    /// The body of a name of a recursive group.
    pub fn body(&self, name: NodeIndex) -> Option<NodeIndex> {
        let mut bodies = self.groups.iter().flat_map(|group| &group.bodies);
        bodies.find(|(node, _)| *node == name).map(|(_, body)| *body)
    }

    /// The value of a node when all events happen, if it is constant and not empty.
    pub fn constant(&self, node: NodeIndex) -> Option<&Relation> {
        match self.nodes[node].op {
            Op::Constant(constant) => Some(&self.constants[constant]),
            _ => None,
        }
    }
}
