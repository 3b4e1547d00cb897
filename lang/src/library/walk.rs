//! Passes over a library's text.

use std::collections::BTreeSet;

use super::Library;
use super::check::ATTRIBUTES;
use super::syntax::{
    Event, Expr, Item, Memory, ParameterKind, Place, Shape, Statement, StatementKind,
};

/// What texts are made of.
enum Part<'a> {
    /// A place, in an expression or not.
    Place(&'a Place),
    /// An expression, also one in others or in a place.
    Expr(&'a Expr),
    Item(&'a Item),
    Statement(&'a StatementKind),
}

impl Library {
    /// The attributes of objects that the text uses: `home`, `threads`, `writer`, `size`, `initial`.
    pub fn attributes(&self) -> BTreeSet<&'static str> {
        let mut found = self.specified();
        let Some(implementation) = &self.implementation else { return found };
        self.implemented(&mut |part| note(part, &mut found));
        in_memory(&implementation.memory, &mut found);
        found
    }

    /// The names that bodies call: methods of lower libraries, and statements.
    pub fn calls(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        self.implemented(&mut |part| {
            if let Part::Statement(StatementKind::Call { name, .. }) = part {
                found.insert(name.as_str());
            }
        });
        found
    }

    /// Whether its requests go to nodes of objects alone, and nothing else of its text depends on nodes: then
    /// it does not matter where threads are. Of libraries that its bodies use, this says nothing.
    pub fn goes_home_only(&self) -> bool {
        let lower = self.implementation.iter().flat_map(|of_it| &of_it.memory);
        let memory: Vec<&Memory> = self.memory.iter().chain(lower).collect();
        let is_placed = |memory: &&Memory| {
            let is_near = memory.shape == Shape::EachThread && memory.object.is_none();
            memory.class.is_some() && (is_near || memory.shape == Shape::Home)
        };
        let mut parameters = self.methods.iter().flat_map(|method| &method.parameters);
        let takes_nodes = parameters.any(|parameter| parameter.kind == ParameterKind::Nodes);
        let has_nodes = self.implementation.as_ref().is_some_and(|of_it| {
            !of_it.services.is_empty() || of_it.locals.iter().any(|local| local.per_node)
        });
        let mut goes = self.base.is_none() && memory.iter().all(is_placed);
        goes &= !takes_nodes && !has_nodes;
        let mut look = |part: Part<'_>| goes &= is_towards_home(&part, &memory);
        self.in_specification(&mut look);
        self.implemented(&mut look);
        let of_memory = memory.iter().flat_map(|memory| memory.count.iter().chain(&memory.initial));
        of_memory.for_each(|expr| in_expr(expr, &mut look));
        goes
    }

    /// Whether what its calls mean depends on the node of their object.
    pub fn needs_home(&self) -> bool {
        self.specified().contains("home")
    }

    /// The attributes that its specification uses.
    fn specified(&self) -> BTreeSet<&'static str> {
        let mut found = BTreeSet::new();
        self.in_specification(&mut |part| note(part, &mut found));
        in_memory(&self.memory, &mut found);
        found
    }

    fn in_specification<'a>(&'a self, visit: &mut impl FnMut(Part<'a>)) {
        for method in &self.methods {
            method.callers.iter().for_each(|expr| in_expr(expr, visit));
            for case in &method.cases {
                let exprs = case.returns.iter().chain(&case.when);
                exprs.for_each(|expr| in_expr(expr, visit));
                in_items(&case.items, visit);
            }
        }
    }

    fn implemented<'a>(&'a self, visit: &mut impl FnMut(Part<'a>)) {
        let Some(implementation) = &self.implementation else { return };
        let bodies = implementation.bodies.iter().map(|body| &body.statements);
        let services = implementation.services.iter().map(|service| &service.statements);
        bodies.chain(services).for_each(|block| in_block(block, visit));
    }
}

/// Whether a part of a text says nothing of nodes but that of an object.
fn is_towards_home(part: &Part<'_>, memory: &[&Memory]) -> bool {
    let is_of = |place: &Place, shape: Shape| {
        let mut named = memory.iter().filter(|memory| memory.name == place.name).peekable();
        named.peek().is_some() && named.all(|memory| memory.shape == shape)
    };
    let is_object = |place: &Place| {
        let mut named = memory.iter().filter(|memory| memory.name == place.name);
        named.all(|memory| memory.object.is_some())
    };
    let is_home = |expr: &Expr| matches!(expr, Expr::Place(place) if place.name == "home");
    let is_own = |index: &Expr| matches!(index, Expr::Name(name, _) if name == "me");
    match part {
        Part::Place(place) => match place.name.as_str() {
            "threads" => false,
            name if ATTRIBUTES.contains(&name) => true,
            _ => {
                let is_near = is_of(place, Shape::EachThread) && place.index.iter().all(is_own);
                place.node.is_none() && (is_near || is_of(place, Shape::Home))
            }
        },
        Part::Expr(Expr::Remote(place)) => is_of(place, Shape::Home),
        // Only threads of that node can reach it without the NIC.
        Part::Expr(Expr::Place(place)) => !is_of(place, Shape::Home) || is_object(place),
        Part::Expr(Expr::Name(name, _)) => !["here", "all", "threads"].contains(&name.as_str()),
        Part::Expr(Expr::Function(name, ..)) => ["pack", "word"].contains(&name.as_str()),
        Part::Expr(expr) => !matches!(expr, Expr::Set(_) | Expr::Without(..) | Expr::Union(..)),
        Part::Item(Item::For { .. }) => false,
        Part::Item(Item::Event(event)) => event.node.iter().all(is_home),
        Part::Statement(kind) => !matches!(kind, StatementKind::For(..)),
    }
}

fn note(part: Part<'_>, found: &mut BTreeSet<&'static str>) {
    let Part::Place(place) = part else { return };
    let known = ATTRIBUTES.iter().find(|known| **known == place.name);
    if place.object.is_some() && place.node.is_none() && place.index.is_empty() {
        found.extend(known.copied());
    }
}

fn in_memory(all: &[Memory], found: &mut BTreeSet<&'static str>) {
    for memory in all {
        let exprs = memory.count.iter().chain(&memory.initial);
        exprs.for_each(|expr| in_expr(expr, &mut |part| note(part, found)));
        let is_home = memory.shape == Shape::Home && memory.class.is_some();
        let says_so = is_home && (memory.object.is_none() || memory.says_home);
        found.extend(says_so.then_some("home"));
    }
}

fn in_items<'a>(items: &'a [Item], visit: &mut impl FnMut(Part<'a>)) {
    for item in items {
        visit(Part::Item(item));
        match item {
            Item::For { over, items, .. } => {
                in_expr(over, visit);
                in_items(items, visit);
            }
            Item::Event(event) => in_event(event, visit),
        }
    }
}

fn in_event<'a>(event: &'a Event, visit: &mut impl FnMut(Part<'a>)) {
    event.node.iter().for_each(|node| in_expr(node, visit));
    event.reads.iter().for_each(|(_, place)| in_place(place, visit));
    if let Some((value, place)) = &event.writes {
        in_expr(value, visit);
        in_place(place, visit);
    }
    event.at.iter().for_each(|place| in_place(place, visit));
}

fn in_block<'a>(block: &'a [Statement], visit: &mut impl FnMut(Part<'a>)) {
    for statement in block {
        visit(Part::Statement(&statement.kind));
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

fn in_place<'a>(place: &'a Place, visit: &mut impl FnMut(Part<'a>)) {
    visit(Part::Place(place));
    place.node.iter().for_each(|node| in_expr(node, visit));
    place.index.iter().for_each(|index| in_expr(index, visit));
}

fn in_expr<'a>(expr: &'a Expr, visit: &mut impl FnMut(Part<'a>)) {
    visit(Part::Expr(expr));
    if let Expr::Place(place) | Expr::Remote(place) = expr {
        in_place(place, visit);
    }
    expr.parts().for_each(|part| in_expr(part, visit));
}
