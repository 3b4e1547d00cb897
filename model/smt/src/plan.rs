//! Lays a model out for one skeleton: every expression once, operands first.
//!
//! Sets are kept as identities, so that `[S]` is S itself and one set of operators serves both types.
//!
//! What only depends on which events happen, and relates each two of them or not whatever others do, is
//! computed here: for all events, it is a constant, and for fewer, what is left of it. So most of a model's
//! tables become one relation each, and what a test has no events for is empty.

mod apply;
mod base;
pub mod bounds;
mod forced;

use lang::cat::model::{
    Base, Cell, DefinitionKind, Expr, Model, Table, Type, UNDEFINED_READS, UNDEFINED_WRITES,
};
use lang::limits;
use rustc_hash::FxHashMap;
use skeleton::Skeleton;

use crate::relation::Relation;
pub use apply::apply;
pub use base::stamp;
pub use forced::forced;

/// Index into [`Plan::nodes`].
pub type NodeIndex = usize;

/// An operator and its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A set or relation of [`Plan::constants`], by its index. Only which events happen restricts it.
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
    pub fn operands(&self) -> Vec<NodeIndex> {
        match self {
            Self::Union(all) => all.clone(),
            Self::Intersection(a, b)
            | Self::Difference(a, b)
            | Self::Product(a, b)
            | Self::Sequence(a, b) => vec![*a, *b],
            Self::Complement(_, a)
            | Self::Inverse(a)
            | Self::Plus(a)
            | Self::Domain(a)
            | Self::Range(a) => vec![*a],
            Self::Constant(_)
            | Self::ReadsFrom
            | Self::PollsFrom
            | Self::Choice(_)
            | Self::Recursive(_)
            | Self::Empty => Vec::new(),
        }
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
        let size = skeleton.events.len();
        let plan = Self {
            nodes: Vec::new(),
            groups: Vec::new(),
            choices: Vec::new(),
            axioms: Vec::new(),
            undefined_reads: None,
            undefined_writes: None,
            under: Vec::new(),
            size,
            constants: Vec::new(),
        };
        let mut layout = Layout {
            plan,
            skeleton,
            all: Relation::identity(size),
            nothing: Relation::empty(size),
            bases: FxHashMap::default(),
            constants: FxHashMap::default(),
            known: FxHashMap::default(),
            definitions: Vec::new(),
            recursive: 0,
        };
        for definition in &model.definitions {
            let nodes = layout.definition(&definition.kind)?;
            layout.definitions.push(nodes);
        }
        for axiom in &model.axioms {
            let node = layout.expression(&axiom.body);
            layout.plan.axioms.push(node);
        }
        layout.underapproximate();
        let mut plan = layout.plan;
        let named = |name| Some(layout.definitions[model.defined(name)?.definition][0]);
        plan.undefined_reads = named(UNDEFINED_READS);
        plan.undefined_writes = named(UNDEFINED_WRITES);
        plan.mark_needed();
        Ok(plan)
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

struct Layout<'a> {
    plan: Plan,
    skeleton: &'a Skeleton,
    /// All events, as an identity relation.
    all: Relation,
    nothing: Relation,
    bases: FxHashMap<Base, NodeIndex>,
    /// The nodes of the constants by their values.
    constants: FxHashMap<Relation, NodeIndex>,
    known: FxHashMap<Op, NodeIndex>,
    /// The nodes of each definition laid out so far. A recursive group has several.
    definitions: Vec<Vec<NodeIndex>>,
    recursive: usize,
}

impl Layout<'_> {
    fn definition(&mut self, kind: &DefinitionKind) -> Result<Vec<NodeIndex>, PlanError> {
        Ok(match kind {
            DefinitionKind::Let { body, .. } => vec![self.expression(body)],
            DefinitionKind::Table(table) => vec![self.table(table)],
            DefinitionKind::Choice { name, total_on, extends } => {
                let total_on = self.constant(name, total_on)?;
                let extends = match extends {
                    Some(extends) => self.constant(name, extends)?,
                    None => Relation::empty(self.plan.size),
                };
                // Nothing to choose: what is made of it is empty too, and often does not depend on choices.
                let op = match total_on.is_empty() {
                    true => Op::Empty,
                    false => Op::Choice(self.plan.choices.len()),
                };
                self.plan.choices.push(Choice { name: name.clone(), total_on, extends });
                vec![self.node(op)]
            }
            DefinitionKind::Rec(bodies) => {
                let first = self.plan.nodes.len();
                let mut names = Vec::new();
                for _ in bodies {
                    names.push(self.node(Op::Recursive(self.recursive)));
                    self.recursive += 1;
                }
                self.definitions.push(names.clone());
                // A shared node outside the group would not be evaluated again with the group.
                let outside = std::mem::take(&mut self.known);
                let body_nodes: Vec<NodeIndex> =
                    bodies.iter().map(|body| self.expression(&body.body)).collect();
                self.known = outside;
                self.definitions.pop();
                let bodies = names.iter().copied().zip(body_nodes).collect();
                let last = self.plan.nodes.len();
                self.plan.groups.push(Group { first, last, bodies, ..Group::default() });
                names
            }
        })
    }

    /// The value of an expression without choices, when all events happen.
    fn constant(&mut self, name: &str, expr: &Expr) -> Result<Relation, PlanError> {
        let node = self.expression(expr);
        if !self.plan.nodes[node].is_static {
            return Err(PlanError(format!(
                "the order `{name}` is chosen over a relation that is itself chosen"
            )));
        }
        Ok(super::theory::Evaluation::constant(&self.plan, node))
    }

    fn node(&mut self, op: Op) -> NodeIndex {
        let op = match self.simpler(op) {
            Ok(node) => return node,
            Err(op) => op,
        };
        if let Some(node) = self.known.get(&op) {
            return *node;
        }
        limits::look();
        let operands = op.operands();
        let of = |node: &NodeIndex| &self.plan.nodes[*node];
        let is_known = |node: &NodeIndex| matches!(of(node).op, Op::Constant(_) | Op::Empty);
        let node = if op.is_pairwise() && operands.iter().all(is_known) {
            let mut value = Relation::default();
            apply(&op, &mut value, &self.all, |node| {
                self.plan.constant(node).unwrap_or(&self.nothing)
            });
            self.of_value(value)
        } else {
            let chosen =
                matches!(op, Op::ReadsFrom | Op::PollsFrom | Op::Choice(_) | Op::Recursive(_));
            let is_static = !chosen && operands.iter().all(|node| of(node).is_static);
            let is_recursive = matches!(op, Op::Recursive(_))
                || operands.iter().any(|operand| of(operand).is_recursive);
            self.add(op.clone(), is_static, is_recursive)
        };
        self.known.insert(op, node);
        node
    }

    fn add(&mut self, op: Op, is_static: bool, is_recursive: bool) -> NodeIndex {
        self.plan.nodes.push(Node { op, is_static, is_recursive, is_needed: false });
        self.plan.nodes.len() - 1
    }

    /// The node of a constant.
    fn of_value(&mut self, value: Relation) -> NodeIndex {
        if value.is_empty() {
            return self.node(Op::Empty);
        }
        if let Some(node) = self.constants.get(&value) {
            return *node;
        }
        self.plan.constants.push(value.clone());
        let node = self.add(Op::Constant(self.plan.constants.len() - 1), true, false);
        self.constants.insert(value, node);
        node
    }

    fn is_empty(&self, node: NodeIndex) -> bool {
        self.plan.nodes[node].op == Op::Empty
    }

    /// The node of an operator whose operands are empty, if that is known without it; else what is left of
    /// it.
    fn simpler(&self, op: Op) -> Result<NodeIndex, Op> {
        let is_empty = |node: &NodeIndex| self.is_empty(*node);
        match op {
            Op::Union(mut all) => {
                let empty = all.iter().copied().find(is_empty);
                all.retain(|operand| !is_empty(operand));
                match (all.as_slice(), empty) {
                    ([], Some(empty)) => Ok(empty),
                    ([one], _) => Ok(*one),
                    _ => Err(Op::Union(all)),
                }
            }
            Op::Difference(a, b) if is_empty(&a) || is_empty(&b) => Ok(a),
            Op::Intersection(a, b) | Op::Product(a, b) | Op::Sequence(a, b)
                if is_empty(&a) || is_empty(&b) =>
            {
                Ok(if is_empty(&a) { a } else { b })
            }
            Op::Inverse(a) | Op::Plus(a) | Op::Domain(a) | Op::Range(a) if is_empty(&a) => Ok(a),
            op => Err(op),
        }
    }

    fn expression(&mut self, expr: &Expr) -> NodeIndex {
        let op = match expr {
            Expr::Base(Base::ReadsFrom) => Op::ReadsFrom,
            Expr::Base(Base::PollsFrom) => Op::PollsFrom,
            Expr::Base(base) => return self.base(*base),
            Expr::Defined(id) => return self.definitions[id.definition][id.body],
            Expr::Empty => Op::Empty,
            Expr::Universe => return self.base(Base::Identity),
            Expr::Union(..) => {
                let mut operands = Vec::new();
                self.union_operands(expr, &mut operands);
                Op::Union(operands)
            }
            Expr::Intersection(a, b) => Op::Intersection(self.expression(a), self.expression(b)),
            Expr::Difference(a, b) => Op::Difference(self.expression(a), self.expression(b)),
            Expr::Complement(ty, a) => Op::Complement(*ty, self.expression(a)),
            Expr::Product(a, b) => Op::Product(self.expression(a), self.expression(b)),
            Expr::Identity(a) => return self.expression(a),
            Expr::Sequence(a, b) => Op::Sequence(self.expression(a), self.expression(b)),
            Expr::Inverse(a) => Op::Inverse(self.expression(a)),
            Expr::Plus(a) => Op::Plus(self.expression(a)),
            Expr::Star(a) => {
                let inner = self.expression(a);
                let plus = self.node(Op::Plus(inner));
                Op::Union(vec![self.base(Base::Identity), plus])
            }
            Expr::Optional(a) => {
                let inner = self.expression(a);
                Op::Union(vec![self.base(Base::Identity), inner])
            }
            Expr::Domain(a) => Op::Domain(self.expression(a)),
            Expr::Range(a) => Op::Range(self.expression(a)),
        };
        self.node(op)
    }

    /// For each node, finds a static node that is contained in it.
    fn underapproximate(&mut self) {
        let count = self.plan.nodes.len();
        let mut under: Vec<Option<NodeIndex>> = vec![None; count];
        for node in 0..count {
            let below = |node: &NodeIndex| under[*node];
            under[node] = match self.plan.nodes[node].op.clone() {
                _ if self.plan.nodes[node].is_static => Some(node),
                Op::Union(all) => {
                    let parts: Vec<NodeIndex> = all.iter().filter_map(below).collect();
                    (!parts.is_empty()).then(|| self.node(Op::Union(parts)))
                }
                Op::Intersection(a, b) => {
                    below(&a).zip(below(&b)).map(|(a, b)| self.node(Op::Intersection(a, b)))
                }
                Op::Sequence(a, b) => {
                    below(&a).zip(below(&b)).map(|(a, b)| self.node(Op::Sequence(a, b)))
                }
                Op::Difference(a, b) if self.plan.nodes[b].is_static => {
                    below(&a).map(|a| self.node(Op::Difference(a, b)))
                }
                Op::Inverse(a) => below(&a).map(|a| self.node(Op::Inverse(a))),
                Op::Plus(a) => below(&a).map(|a| self.node(Op::Plus(a))),
                _ => None,
            };
        }
        under.extend((count..self.plan.nodes.len()).map(Some));
        self.plan.under = under;
    }

    fn union_operands(&mut self, expr: &Expr, operands: &mut Vec<NodeIndex>) {
        if let Expr::Union(a, b) = expr {
            self.union_operands(a, operands);
            self.union_operands(b, operands);
        } else {
            operands.push(self.expression(expr));
        }
    }

    fn base(&mut self, base: Base) -> NodeIndex {
        if let Some(node) = self.bases.get(&base) {
            return *node;
        }
        let node = self.of_value(base::relation(self.skeleton, base));
        self.bases.insert(base, node);
        node
    }

    fn table(&mut self, table: &Table) -> NodeIndex {
        let on = self.expression(&table.on);
        let letters: Vec<NodeIndex> =
            table.letters.iter().map(|(_, relation)| self.expression(relation)).collect();
        let columns: Vec<NodeIndex> =
            table.columns.iter().map(|(_, set)| self.expression(set)).collect();
        let mut cells = Vec::new();
        for (_, row, row_cells) in &table.rows {
            let row = self.expression(row);
            // Most tests have events of few kinds.
            if self.is_empty(row) {
                continue;
            }
            for (column, cell) in columns.iter().zip(row_cells) {
                if self.is_empty(*column) {
                    continue;
                }
                let restrict = match cell {
                    Cell::Unordered => continue,
                    Cell::Ordered => on,
                    Cell::Where(letter) => self.node(Op::Intersection(on, letters[*letter])),
                };
                let kinds = self.node(Op::Product(row, *column));
                cells.push(self.node(Op::Intersection(kinds, restrict)));
            }
        }
        self.node(Op::Union(cells))
    }
}
