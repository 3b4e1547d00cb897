//! Explains why a candidate breaks an axiom: the literals behind each pair that a relation contains or lacks.

use lang::cat::model::{AxiomKind, Type};
use lang::limits;
use rustc_hash::FxHashSet;

use super::super::cnf::Lit;
use super::super::plan::{NodeIndex, Op};
use super::{Evaluation, Literals};
use crate::relation::Relation;

/// The stage of a recursive group's iteration that stands for its end.
const FINAL: u32 = u32::MAX;

/// Adds to `found` the events of a row that are still open, and notes from where they were reached.
fn reach(
    found: &mut Vec<usize>,
    open: &mut [u64],
    before: &mut [usize],
    from: usize,
    row: impl Fn(usize) -> u64,
) {
    for (word, open) in open.iter_mut().enumerate() {
        let mut new = row(word) & *open;
        *open &= !new;
        while new != 0 {
            let event = word * 64 + new.trailing_zeros() as usize;
            new &= new - 1;
            before[event] = from;
            found.push(event);
        }
    }
}

impl Evaluation<'_> {
    /// For each violation of an axiom that was found: literals that are all true in the candidate and
    /// together break the axiom. Empty iff the candidate is consistent.
    pub fn violations(
        &self,
        axioms: &[(AxiomKind, NodeIndex)],
        literals: &dyn Literals,
    ) -> Vec<Vec<Lit>> {
        let (mut found, mut known) = (Vec::new(), FxHashSet::default());
        for (kind, node) in axioms {
            for (_, reason) in self.ways_to_break(*kind, *node, literals) {
                if known.insert(reason.clone()) {
                    found.push(reason);
                }
            }
        }
        found
    }

    /// Finds events for which the candidate's claim of being in a set disagrees with the set. For each,
    /// returns literals that are all true in the candidate and cannot be true together. `said` has the
    /// literal of the claim for each event.
    pub fn misjudged(
        &self,
        set: Option<NodeIndex>,
        said: &[Lit],
        is_true: &dyn Fn(Lit) -> bool,
        literals: &dyn Literals,
    ) -> Vec<Vec<Lit>> {
        let Some(node) = set else { return Vec::new() };
        let mut found = Vec::new();
        for (event, _) in self.at_most[node].pairs() {
            let (is, claimed) = (self.values[node].contains(event, event), is_true(said[event]));
            if is == claimed {
                continue;
            }
            let mut trace = Trace::new(literals);
            trace.literal(said[event].negate_if(!claimed));
            if is {
                self.present(node, event, event, FINAL, &mut trace);
            } else {
                self.absent(node, event, event, &mut trace);
            }
            found.push(trace.finish());
        }
        found
    }

    /// For each event at which the candidate breaks the axiom: literals that are all true and together break
    /// it.
    pub fn ways_to_break(
        &self,
        kind: AxiomKind,
        node: NodeIndex,
        literals: &dyn Literals,
    ) -> Vec<(usize, Vec<Lit>)> {
        let value = &self.values[node];
        let size = self.plan.size;
        let mut reasons = Vec::new();
        let mut add = |event: usize, explain: &dyn Fn(&mut Trace)| {
            limits::look();
            let mut trace = Trace::new(literals);
            explain(&mut trace);
            reasons.push((event, trace.finish()));
        };
        match kind {
            AxiomKind::Empty => value
                .pairs()
                .for_each(|(a, b)| add(a, &|trace| self.present(node, a, b, FINAL, trace))),
            AxiomKind::Irreflexive => (0..size)
                .filter(|event| value.contains(*event, *event))
                .for_each(|a| add(a, &|trace| self.present(node, a, a, FINAL, trace))),
            AxiomKind::Acyclic => {
                let closure = value.closure();
                (0..size)
                    .filter(|event| closure.contains(*event, *event))
                    .for_each(|a| add(a, &|trace| self.path(node, a, a, FINAL, trace)));
            }
        }
        reasons
    }

    /// Whether a node related the pair at a stage of the iteration of its group.
    fn holds(&self, node: NodeIndex, a: usize, b: usize, stage: u32) -> bool {
        // The group is monotone: a pair that is not in the result was in no stage.
        if !self.values[node].contains(a, b) {
            return false;
        }
        if stage == FINAL || self.plan.nodes[node].is_static {
            return true;
        }
        limits::look();
        let mut all = 0..self.plan.size;
        match &self.plan.nodes[node].op {
            Op::Recursive(index) => {
                let found = self.stages[*index][a * self.plan.size + b];
                found != 0 && found < stage
            }
            Op::Union(operands) => operands.iter().any(|x| self.holds(*x, a, b, stage)),
            Op::Intersection(x, y) => self.holds(*x, a, b, stage) && self.holds(*y, a, b, stage),
            // The second operand is not of the group, because the group is monotone.
            Op::Difference(x, y) => self.holds(*x, a, b, stage) && !self.values[*y].contains(a, b),
            Op::Product(x, y) => self.holds(*x, a, a, stage) && self.holds(*y, b, b, stage),
            Op::Sequence(x, y) => {
                let mut middles = self.values[*x].successors(a);
                middles.any(|m| self.holds(*x, a, m, stage) && self.holds(*y, m, b, stage))
            }
            Op::Inverse(x) => self.holds(*x, b, a, stage),
            Op::Plus(x) => self.find_path(*x, a, b, stage).is_some(),
            Op::Domain(x) => a == b && all.any(|m| self.holds(*x, a, m, stage)),
            Op::Range(x) => a == b && all.any(|m| self.holds(*x, m, a, stage)),
            _ => true,
        }
    }

    /// Whether a node contains a pair for every choice, as long as the same events happen.
    fn is_certain(&self, node: NodeIndex, a: usize, b: usize) -> bool {
        self.plan.under[node].is_some_and(|under| self.values[under].contains(a, b))
    }

    /// Collects the literals that make a node contain a pair.
    fn present(&self, node: NodeIndex, a: usize, b: usize, stage: u32, trace: &mut Trace<'_>) {
        // The node below contains the pair too, and depends only on which events happen.
        let node = match self.plan.under[node] {
            Some(under) if self.values[under].contains(a, b) => under,
            _ => node,
        };
        let all = 0..self.plan.size;
        match &self.plan.nodes[node].op {
            Op::Constant(_) | Op::Empty => trace.executed(a, b),
            Op::ReadsFrom => trace.literal(trace.literals.reads_from(a, b)),
            Op::PollsFrom => trace.literal(trace.literals.polls_from(a, b)),
            Op::Choice(choice) => {
                trace.literal(trace.literals.choice(*choice, a, b));
                trace.executed(a, b);
            }
            Op::Recursive(index) => {
                let found = self.stages[*index][a * self.plan.size + b];
                if let Some(body) = self.plan.body(node) {
                    self.present(body, a, b, found, trace);
                }
            }
            Op::Union(operands) => {
                let holding = || operands.iter().filter(|x| self.holds(**x, a, b, stage));
                let best = holding().find(|x| self.is_certain(**x, a, b));
                if let Some(operand) = best.or_else(|| holding().next()) {
                    self.present(*operand, a, b, stage, trace);
                }
            }
            Op::Intersection(x, y) => {
                self.present(*x, a, b, stage, trace);
                self.present(*y, a, b, stage, trace);
            }
            Op::Difference(x, y) => {
                self.present(*x, a, b, stage, trace);
                self.absent(*y, a, b, trace);
            }
            Op::Complement(_, x) => {
                trace.executed(a, b);
                self.absent(*x, a, b, trace);
            }
            Op::Product(x, y) => {
                self.present(*x, a, a, stage, trace);
                self.present(*y, b, b, stage, trace);
            }
            Op::Sequence(x, y) => {
                let middles = || {
                    all.clone()
                        .filter(|m| self.holds(*x, a, *m, stage) && self.holds(*y, *m, b, stage))
                };
                let best = middles().max_by_key(|m| {
                    u8::from(self.is_certain(*x, a, *m)) + u8::from(self.is_certain(*y, *m, b))
                });
                if let Some(middle) = best {
                    self.present(*x, a, middle, stage, trace);
                    self.present(*y, middle, b, stage, trace);
                }
            }
            Op::Inverse(x) => self.present(*x, b, a, stage, trace),
            Op::Plus(x) => self.path(*x, a, b, stage, trace),
            Op::Domain(x) => {
                if let Some(to) = all.into_iter().find(|m| self.holds(*x, a, *m, stage)) {
                    self.present(*x, a, to, stage, trace);
                }
            }
            Op::Range(x) => {
                if let Some(from) = all.into_iter().find(|m| self.holds(*x, *m, a, stage)) {
                    self.present(*x, from, a, stage, trace);
                }
            }
        }
    }

    fn path(&self, node: NodeIndex, a: usize, b: usize, stage: u32, trace: &mut Trace<'_>) {
        for edge in self.find_path(node, a, b, stage).unwrap_or_default().windows(2) {
            self.present(node, edge[0], edge[1], stage, trace);
        }
    }

    /// A path of at least one step, with as few uncertain steps as possible.
    fn find_path(&self, node: NodeIndex, a: usize, b: usize, stage: u32) -> Option<Vec<usize>> {
        let size = self.plan.size;
        let is_final = stage == FINAL || self.plan.nodes[node].is_static;
        // The steps of the events reached so far, if a stage does not have all.
        let mut known = (!is_final).then(|| Relation::empty(size));
        let certain = self.plan.under[node].map(|under| &self.values[under]);
        let mut open = vec![u64::MAX; size.div_ceil(64).max(1)];
        let mut before = vec![usize::MAX; size];
        // Events whose paths have the same number of uncertain steps.
        let mut level = vec![a];
        while before[b] == usize::MAX && !level.is_empty() {
            limits::look();
            let mut index = 0;
            while let Some(event) = level.get(index).copied() {
                if let Some(known) = &mut known {
                    let held = |to: &usize| self.holds(node, event, *to, stage);
                    let held = self.values[node].successors(event).filter(held);
                    held.for_each(|to| known.insert(event, to));
                }
                let steps = known.as_ref().unwrap_or(&self.values[node]);
                if let Some(certain) = certain {
                    reach(&mut level, &mut open, &mut before, event, |word| {
                        steps.row(event)[word] & certain.row(event)[word]
                    });
                }
                index += 1;
            }
            let steps = known.as_ref().unwrap_or(&self.values[node]);
            let mut next = Vec::new();
            for event in level {
                reach(&mut next, &mut open, &mut before, event, |word| steps.row(event)[word]);
            }
            level = next;
        }
        (before[b] != usize::MAX).then(|| {
            let mut path = vec![b, before[b]];
            while path.last() != Some(&a) {
                path.push(before[path[path.len() - 1]]);
            }
            path.reverse();
            path
        })
    }

    /// Whether a node contains a pair in some execution, as far as is known.
    fn is_possible(&self, node: NodeIndex, a: usize, b: usize) -> bool {
        let bound = &self.at_most[node];
        bound.size() == 0 || bound.contains(a, b)
    }

    /// Collects the literals that make a node lack a pair.
    fn absent(&self, node: NodeIndex, a: usize, b: usize, trace: &mut Trace<'_>) {
        if !self.is_possible(node, a, b) {
            return;
        }
        limits::look();
        let executed = &self.facts.executed;
        for event in [a, b] {
            if !executed.contains(event, event) {
                trace.literal(!trace.literals.executed(event));
                return;
            }
        }
        let size = self.plan.size;
        match &self.plan.nodes[node].op {
            Op::Constant(_) | Op::Empty => {}
            Op::ReadsFrom => trace.literal(!trace.literals.reads_from(a, b)),
            Op::PollsFrom => trace.literal(!trace.literals.polls_from(a, b)),
            Op::Choice(choice) => trace.literal(!trace.literals.choice(*choice, a, b)),
            // The least fixed point begins with no pairs. As long as none of the pairs explained here is
            // present, the bodies cannot add any of them. So the explanation of each may assume that the
            // others are absent.
            Op::Recursive(_) => {
                let body = self.plan.body(node);
                if let (Some(body), true) = (body, trace.lacking.insert((node, a, b))) {
                    self.absent(body, a, b, trace);
                }
            }
            Op::Union(all) => all.iter().for_each(|x| self.absent(*x, a, b, trace)),
            Op::Intersection(x, y) => self.one_absent([(*x, a, b), (*y, a, b)], trace),
            Op::Difference(x, y) => {
                if self.values[*x].contains(a, b) {
                    self.present(*y, a, b, FINAL, trace);
                } else {
                    self.absent(*x, a, b, trace);
                }
            }
            Op::Complement(ty, x) => {
                if *ty == Type::Relation || a == b {
                    self.present(*x, a, b, FINAL, trace);
                }
            }
            Op::Product(x, y) => self.one_absent([(*x, a, a), (*y, b, b)], trace),
            Op::Sequence(x, y) => {
                let middles = self.at_most[*x].successors(a);
                for m in middles.filter(|m| self.is_possible(*y, *m, b)) {
                    self.one_absent([(*x, a, m), (*y, m, b)], trace);
                }
            }
            Op::Inverse(x) => self.absent(*x, b, a, trace),
            Op::Plus(x) => {
                let reached = |event: usize| self.values[node].contains(a, event);
                for from in (0..size).filter(|event| *event == a || reached(*event)) {
                    let steps = self.at_most[*x].successors(from);
                    for to in steps.filter(|event| !reached(*event)) {
                        // Other absent pairs of the closure lack the same steps, so each is explained once.
                        if trace.lacking.insert((*x, from, to)) {
                            self.absent(*x, from, to, trace);
                        }
                    }
                }
            }
            Op::Domain(x) if a == b => {
                self.at_most[*x].successors(a).for_each(|m| self.absent(*x, a, m, trace));
            }
            Op::Range(x) if a == b => {
                let from = (0..size).filter(|m| self.is_possible(*x, *m, a));
                from.for_each(|m| self.absent(*x, m, a, trace));
            }
            Op::Domain(_) | Op::Range(_) => {}
        }
    }

    /// Explains why one of two pairs is absent. Picks the pair with the shorter explanation.
    fn one_absent(&self, pairs: [(NodeIndex, usize, usize); 2], trace: &mut Trace<'_>) {
        let is_missing =
            |(node, a, b): &(NodeIndex, usize, usize)| !self.values[*node].contains(*a, *b);
        // What is never related needs no literal.
        if pairs.iter().any(|(node, a, b)| !self.is_possible(*node, *a, *b)) {
            return;
        }
        let [first, second] = pairs;
        let pair = match (is_missing(&first), is_missing(&second)) {
            (true, true) => self.cheaper(first, second, trace),
            (true, false) => Some(first),
            (false, true) => Some(second),
            (false, false) => None,
        };
        if let Some((node, a, b)) = pair {
            self.absent(node, a, b, trace);
        }
    }

    /// Of two missing pairs, the one to explain. If only trying both tells which explanation is shorter, that
    /// one is added to the trace, and the result is `None`.
    fn cheaper(
        &self,
        first: (NodeIndex, usize, usize),
        second: (NodeIndex, usize, usize),
        trace: &mut Trace<'_>,
    ) -> Option<(NodeIndex, usize, usize)> {
        // 0 is a pair that only the program decides, which needs no literal; 2 is a recursive one, which is
        // explained only if it must be, never only to compare.
        let cost = |(node, ..): &(NodeIndex, usize, usize)| {
            let node = &self.plan.nodes[*node];
            let is_known = matches!(node.op, Op::Constant(_) | Op::Empty);
            u8::from(!is_known) + u8::from(node.is_recursive)
        };
        let (one, other) = (cost(&first), cost(&second));
        let is_plain = one.min(other) == 0 || one.max(other) == 2;
        // Nested comparisons would double the work at each level.
        if is_plain || trace.depth == DEEPEST {
            return Some(if other < one { second } else { first });
        }
        let attempt = |(node, a, b): (NodeIndex, usize, usize)| {
            let (lacking, depth) = (trace.lacking.clone(), trace.depth + 1);
            let mut attempt = Trace { lacking, depth, ..Trace::new(trace.literals) };
            self.absent(node, a, b, &mut attempt);
            attempt
        };
        let (one, other) = (attempt(first), attempt(second));
        let best = if other.reason.len() < one.reason.len() { other } else { one };
        // What the worse attempt explained counts for nothing: its literals are not in the reason.
        trace.reason.extend(best.reason);
        trace.lacking = best.lacking;
        None
    }
}

/// How deeply comparisons of explanations may nest.
const DEEPEST: usize = 1;

/// The explanation so far.
struct Trace<'a> {
    literals: &'a dyn Literals,
    reason: Vec<Lit>,
    /// Pairs whose absence is being explained or was explained, for recursive names and for operands of
    /// closures.
    lacking: FxHashSet<(NodeIndex, usize, usize)>,
    /// How many comparisons this attempt is nested in.
    depth: usize,
}

impl<'a> Trace<'a> {
    fn new(literals: &'a dyn Literals) -> Self {
        Self { literals, reason: Vec::new(), lacking: FxHashSet::default(), depth: 0 }
    }

    fn finish(self) -> Vec<Lit> {
        let mut reason = self.reason;
        reason.sort_unstable();
        reason.dedup();
        reason
    }

    fn literal(&mut self, literal: Lit) {
        if literal != Lit::TRUE {
            self.reason.push(literal);
        }
    }

    fn executed(&mut self, a: usize, b: usize) {
        self.literal(self.literals.executed(a));
        if a != b {
            self.literal(self.literals.executed(b));
        }
    }
}
