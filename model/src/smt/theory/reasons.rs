//! Why a candidate breaks an axiom: the literals behind each pair that a relation has or lacks.

use std::collections::VecDeque;

use lang::cat::model::{AxiomKind, Type};
use rustc_hash::FxHashSet;

use super::super::cnf::Lit;
use super::super::plan::{NodeIndex, Op, Undefined};
use super::{Evaluation, Literals};

/// How far the iteration of recursive groups has come; at the end, this.
const FINAL: u32 = u32::MAX;

impl Evaluation<'_> {
    /// For each way in which the candidate breaks an axiom that was found: literals, all true in the
    /// candidate, that together break it. Nothing iff the candidate is consistent.
    pub fn violations(
        &self,
        axioms: &[(AxiomKind, NodeIndex)],
        literals: &dyn Literals,
    ) -> Vec<Vec<Lit>> {
        let mut found = Vec::new();
        for (kind, node) in axioms {
            for reason in self.violation_reasons(*kind, *node, literals) {
                if !found.contains(&reason) {
                    found.push(reason);
                }
            }
        }
        found
    }

    /// Where the candidate says of an event that it is in a set, or that it is not, and the set says otherwise: literals, all
    /// true in the candidate, that cannot be so together. `said` is the literal for each event.
    pub fn misjudged(
        &self,
        set: &Undefined,
        said: &[Lit],
        is_true: &dyn Fn(Lit) -> bool,
        literals: &dyn Literals,
    ) -> Vec<Vec<Lit>> {
        let Some(node) = set.node else { return Vec::new() };
        let mut found = Vec::new();
        for (event, _) in set.at_most.pairs() {
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

    fn violation_reasons(
        &self,
        kind: AxiomKind,
        node: NodeIndex,
        literals: &dyn Literals,
    ) -> Vec<Vec<Lit>> {
        let value = &self.values[node];
        let size = self.plan.size;
        let mut reasons = Vec::new();
        let mut add = |explain: &dyn Fn(&mut Trace)| {
            let mut trace = Trace::new(literals);
            explain(&mut trace);
            reasons.push(trace.finish());
        };
        match kind {
            AxiomKind::Empty => value
                .pairs()
                .for_each(|(a, b)| add(&|trace| self.present(node, a, b, FINAL, trace))),
            AxiomKind::Irreflexive => (0..size)
                .filter(|event| value.contains(*event, *event))
                .for_each(|a| add(&|trace| self.present(node, a, a, FINAL, trace))),
            AxiomKind::Acyclic => {
                let closure = value.closure();
                (0..size)
                    .filter(|event| closure.contains(*event, *event))
                    .for_each(|a| add(&|trace| self.path(node, a, a, FINAL, trace)));
            }
        }
        reasons
    }

    /// Whether a node related the pair at a stage of the iteration of its group.
    fn holds(&self, node: NodeIndex, a: usize, b: usize, stage: u32) -> bool {
        if stage == FINAL || self.plan.nodes[node].is_static {
            return self.values[node].contains(a, b);
        }
        let all = 0..self.plan.size;
        match &self.plan.nodes[node].op {
            Op::Recursive(index) => {
                let found = self.stages[*index][a * self.plan.size + b];
                found != 0 && found < stage
            }
            Op::Union(operands) => operands.iter().any(|x| self.holds(*x, a, b, stage)),
            Op::Intersection(x, y) => self.holds(*x, a, b, stage) && self.holds(*y, a, b, stage),
            // What is taken away is not of the group, for the group is monotone.
            Op::Difference(x, y) => self.holds(*x, a, b, stage) && !self.values[*y].contains(a, b),
            Op::Product(x, y) => self.holds(*x, a, a, stage) && self.holds(*y, b, b, stage),
            Op::Sequence(x, y) => {
                all.into_iter().any(|m| self.holds(*x, a, m, stage) && self.holds(*y, m, b, stage))
            }
            Op::Inverse(x) => self.holds(*x, b, a, stage),
            Op::Plus(x) => self.find_path(*x, a, b, stage).is_some(),
            Op::Domain(x) => a == b && all.into_iter().any(|m| self.holds(*x, a, m, stage)),
            Op::Range(x) => a == b && all.into_iter().any(|m| self.holds(*x, m, a, stage)),
            _ => self.values[node].contains(a, b),
        }
    }

    /// Whether a pair of a node holds whatever is chosen, as long as the same events happen.
    fn is_certain(&self, node: NodeIndex, a: usize, b: usize) -> bool {
        self.plan.under[node].is_some_and(|under| self.values[under].contains(a, b))
    }

    /// Why a node relates a pair.
    fn present(&self, node: NodeIndex, a: usize, b: usize, stage: u32, trace: &mut Trace<'_>) {
        // The node below holds too, and depends on nothing but which events happen.
        let node = match self.plan.under[node] {
            Some(under) if self.values[under].contains(a, b) => under,
            _ => node,
        };
        let all = 0..self.plan.size;
        match &self.plan.nodes[node].op {
            Op::Static(_) | Op::Universe | Op::Empty => trace.executed(a, b),
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

    /// A path of one step at least with the fewest steps that are not certain.
    fn find_path(&self, node: NodeIndex, a: usize, b: usize, stage: u32) -> Option<Vec<usize>> {
        let size = self.plan.size;
        let mut distance = vec![usize::MAX; size];
        let mut before = vec![usize::MAX; size];
        let mut queue = VecDeque::from([(a, 0)]);
        let mut is_start = true;
        while let Some((event, cost)) = queue.pop_front() {
            if !is_start && (cost > distance[event] || event == b) {
                if event == b && cost == distance[event] {
                    break;
                }
                continue;
            }
            is_start = false;
            for next in 0..size {
                if !self.holds(node, event, next, stage) {
                    continue;
                }
                let certain = self.is_certain(node, event, next);
                let cost = cost + usize::from(!certain);
                if cost < distance[next] {
                    distance[next] = cost;
                    before[next] = event;
                    let entry = (next, cost);
                    if certain { queue.push_front(entry) } else { queue.push_back(entry) }
                }
            }
        }
        if distance[b] == usize::MAX {
            return None;
        }
        let mut path = vec![b];
        let mut event = before[b];
        while event != a {
            path.push(event);
            event = before[event];
        }
        path.push(a);
        path.reverse();
        Some(path)
    }

    /// Why a node does not relate a pair.
    fn absent(&self, node: NodeIndex, a: usize, b: usize, trace: &mut Trace<'_>) {
        let executed = &self.facts.executed;
        for event in [a, b] {
            if !executed.contains(event, event) {
                trace.literal(!trace.literals.executed(event));
                return;
            }
        }
        let size = self.plan.size;
        match &self.plan.nodes[node].op {
            Op::Static(_) | Op::Empty | Op::Universe => {}
            Op::ReadsFrom => trace.literal(!trace.literals.reads_from(a, b)),
            Op::PollsFrom => trace.literal(!trace.literals.polls_from(a, b)),
            Op::Choice(choice) => trace.literal(!trace.literals.choice(*choice, a, b)),
            // The bodies cannot add any of the pairs that are explained here as long as they have none of them, and the
            // least fixed point begins with none. So each may take the absence of the others for granted.
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
                for m in 0..size {
                    self.one_absent([(*x, a, m), (*y, m, b)], trace);
                }
            }
            Op::Inverse(x) => self.absent(*x, b, a, trace),
            Op::Plus(x) => {
                let reached = |event: usize| self.values[node].contains(a, event);
                for from in (0..size).filter(|event| *event == a || reached(*event)) {
                    for to in (0..size).filter(|event| !reached(*event)) {
                        self.absent(*x, from, to, trace);
                    }
                }
            }
            Op::Domain(x) if a == b => (0..size).for_each(|m| self.absent(*x, a, m, trace)),
            Op::Range(x) if a == b => (0..size).for_each(|m| self.absent(*x, m, a, trace)),
            Op::Domain(_) | Op::Range(_) => {}
        }
    }

    /// Why one of two pairs is missing; the one that needs fewer words.
    fn one_absent(&self, pairs: [(NodeIndex, usize, usize); 2], trace: &mut Trace<'_>) {
        let missing = pairs.into_iter().filter(|(node, a, b)| !self.values[*node].contains(*a, *b));
        let missing: Vec<_> = missing.collect();
        // What only the program decides costs nothing; what is recursive is explained only if it must be, and not to be compared.
        let cost = |(node, ..): &(NodeIndex, usize, usize)| {
            let node = &self.plan.nodes[*node];
            u8::from(!node.is_local) + u8::from(node.is_recursive)
        };
        let cheapest = missing.iter().min_by_key(|pair| cost(pair));
        if let Some(pair @ (node, a, b)) = cheapest
            && (missing.len() == 1 || cost(pair) == 0 || missing.iter().any(|pair| cost(pair) == 2))
        {
            return self.absent(*node, *a, *b, trace);
        }
        let mut best: Option<Trace<'_>> = None;
        for (node, a, b) in missing {
            let lacking = trace.lacking.clone();
            let mut attempt = Trace { lacking, ..Trace::new(trace.literals) };
            self.absent(node, a, b, &mut attempt);
            if best.as_ref().is_none_or(|best| attempt.reason.len() < best.reason.len()) {
                best = Some(attempt);
            }
        }
        if let Some(best) = best {
            trace.reason.extend(best.reason);
            trace.lacking = best.lacking;
        }
    }
}

/// The literals found so far.
struct Trace<'a> {
    literals: &'a dyn Literals,
    reason: Vec<Lit>,
    /// Pairs of recursive names whose absence is being explained.
    lacking: FxHashSet<(NodeIndex, usize, usize)>,
}

impl<'a> Trace<'a> {
    fn new(literals: &'a dyn Literals) -> Self {
        Self { literals, reason: Vec::new(), lacking: FxHashSet::default() }
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
