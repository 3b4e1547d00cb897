//! Passes over a library's text.

use std::collections::BTreeSet;

use super::Library;
use super::check::ATTRIBUTES;
use super::syntax::{Expr, Item, Memory, Place, Shape, Statement, StatementKind};

impl Library {
    /// The attributes of objects that the text uses: `home`, `threads`, `writer`, `size`, `initial`.
    pub fn attributes(&self) -> BTreeSet<&'static str> {
        let mut found = self.specified();
        let Some(implementation) = &self.implementation else { return found };
        for body in &implementation.bodies {
            in_block(&body.statements, &mut |place| note(place, &mut found));
        }
        for service in &implementation.services {
            in_block(&service.statements, &mut |place| note(place, &mut found));
        }
        in_memory(&implementation.memory, &mut found);
        found
    }

    /// Whether what its calls mean depends on the node of their object.
    pub fn needs_home(&self) -> bool {
        self.specified().contains("home")
    }

    /// The attributes that its specification uses.
    fn specified(&self) -> BTreeSet<&'static str> {
        let mut found = BTreeSet::new();
        let mut visit = |place: &Place| note(place, &mut found);
        for method in &self.methods {
            method.callers.iter().for_each(|expr| in_expr(expr, &mut visit));
            for case in &method.cases {
                let exprs = case.returns.iter().chain(&case.when);
                exprs.for_each(|expr| in_expr(expr, &mut visit));
                in_items(&case.items, &mut visit);
            }
        }
        in_memory(&self.memory, &mut found);
        found
    }
}

fn note(place: &Place, found: &mut BTreeSet<&'static str>) {
    let known = ATTRIBUTES.iter().find(|known| **known == place.name);
    if place.object.is_some() && place.node.is_none() && place.index.is_empty() {
        found.extend(known.copied());
    }
}

fn in_memory(all: &[Memory], found: &mut BTreeSet<&'static str>) {
    for memory in all {
        let exprs = memory.count.iter().chain(&memory.initial);
        exprs.for_each(|expr| in_expr(expr, &mut |place| note(place, found)));
        let is_home = memory.shape == Shape::Home && memory.class.is_some();
        let says_so = is_home && (memory.object.is_none() || memory.says_home);
        found.extend(says_so.then_some("home"));
    }
}

fn in_items(items: &[Item], visit: &mut impl FnMut(&Place)) {
    for item in items {
        match item {
            Item::For { over, items, .. } => {
                in_expr(over, visit);
                in_items(items, visit);
            }
            Item::Event(event) => {
                event.node.iter().for_each(|node| in_expr(node, visit));
                event.reads.iter().for_each(|(_, place)| in_place(place, visit));
                if let Some((value, place)) = &event.writes {
                    in_expr(value, visit);
                    in_place(place, visit);
                }
                event.at.iter().for_each(|place| in_place(place, visit));
            }
        }
    }
}

fn in_block(block: &[Statement], visit: &mut impl FnMut(&Place)) {
    for statement in block {
        match &statement.kind {
            StatementKind::Assign { target, value, .. } => {
                in_expr(target, visit);
                in_expr(value, visit);
            }
            StatementKind::Call { arguments, .. } => {
                arguments.iter().for_each(|argument| in_expr(argument, visit));
            }
            StatementKind::If(expr, ..)
            | StatementKind::While(expr, _)
            | StatementKind::For(_, expr, _) => in_expr(expr, visit),
            StatementKind::Count(_, first, last, _) => {
                in_expr(first, visit);
                in_expr(last, visit);
            }
            StatementKind::Return(value) => value.iter().for_each(|value| in_expr(value, visit)),
            StatementKind::Loop(_) | StatementKind::Break | StatementKind::Skip => {}
        }
        statement.kind.blocks().for_each(|block| in_block(block, visit));
    }
}

fn in_place(place: &Place, visit: &mut impl FnMut(&Place)) {
    visit(place);
    place.node.iter().for_each(|node| in_expr(node, visit));
    place.index.iter().for_each(|index| in_expr(index, visit));
}

fn in_expr(expr: &Expr, visit: &mut impl FnMut(&Place)) {
    if let Expr::Place(place) | Expr::Remote(place) = expr {
        in_place(place, visit);
    }
    expr.parts().for_each(|part| in_expr(part, visit));
}
