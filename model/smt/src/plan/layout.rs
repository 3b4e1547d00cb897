//! Lays the expressions of a model out as the nodes of a plan.

use lang::cat::model::{Base, Cell, DefinitionKind, Expr, Table};
use lang::limits;
use rustc_hash::{FxBuildHasher, FxHashMap};
use skeleton::Skeleton;

use super::{Choice, Group, Node, NodeIndex, Op, Plan, PlanError, apply, base};
use crate::relation::Relation;
use crate::theory::Evaluation;

/// A plan that is being made.
pub struct Layout<'a> {
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

impl<'a> Layout<'a> {
    /// Without definitions and axioms.
    pub fn new(skeleton: &'a Skeleton) -> Self {
        let size = skeleton.events.len();
        // Room for what most tests take: to grow step by step took a tenth of the time.
        let plan = Plan {
            nodes: Vec::with_capacity(256),
            groups: Vec::new(),
            choices: Vec::new(),
            axioms: Vec::new(),
            undefined_reads: None,
            undefined_writes: None,
            under: Vec::new(),
            size,
            constants: Vec::new(),
        };
        Self {
            plan,
            skeleton,
            all: Relation::identity(size),
            nothing: Relation::empty(size),
            bases: FxHashMap::with_capacity_and_hasher(64, FxBuildHasher),
            constants: FxHashMap::with_capacity_and_hasher(64, FxBuildHasher),
            known: FxHashMap::with_capacity_and_hasher(256, FxBuildHasher),
            definitions: Vec::new(),
            recursive: 0,
        }
    }

    /// Lays a definition out; those before it are laid out.
    ///
    /// # Errors
    /// Fails if the model chooses an order over a relation that is itself chosen.
    pub fn define(&mut self, kind: &DefinitionKind) -> Result<(), PlanError> {
        let nodes = self.definition(kind)?;
        self.definitions.push(nodes);
        Ok(())
    }

    /// Lays an axiom's body out.
    pub fn axiom(&mut self, body: &Expr) {
        let node = self.expression(body);
        self.plan.axioms.push(node);
    }

    /// The plan. The definitions of ⊤ are given by their number, if the model has them.
    pub fn plan(mut self, undefined_reads: Option<usize>, undefined_writes: Option<usize>) -> Plan {
        self.underapproximate();
        let node = |definition: usize| self.definitions[definition][0];
        self.plan.undefined_reads = undefined_reads.map(node);
        self.plan.undefined_writes = undefined_writes.map(node);
        self.plan.mark_needed();
        self.plan
    }

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
        Ok(Evaluation::constant(&self.plan, node))
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
        let of = |node: NodeIndex| &self.plan.nodes[node];
        let is_known = |node: NodeIndex| matches!(of(node).op, Op::Constant(_) | Op::Empty);
        let node = if op.is_pairwise() && op.operands().all(is_known) {
            let mut value = Relation::default();
            apply(&op, &mut value, &self.all, |node| {
                self.plan.constant(node).unwrap_or(&self.nothing)
            });
            self.of_value(value)
        } else {
            let chosen =
                matches!(op, Op::ReadsFrom | Op::PollsFrom | Op::Choice(_) | Op::Recursive(_));
            let is_static = !chosen && op.operands().all(|node| of(node).is_static);
            let is_recursive = matches!(op, Op::Recursive(_))
                || op.operands().any(|operand| of(operand).is_recursive);
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
