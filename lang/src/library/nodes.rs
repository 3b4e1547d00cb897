//! What a library's text depends on of nodes.
//!
//! In bodies, `x.home` and `me` are numbers too: what compares them, or computes with them, depends on which
//! node and which thread it is. So what is not known to be independent counts as dependent.

use super::Library;
use super::syntax::{
    Case, Event, Expr, Item, Memory, Method, ParameterKind, Place, Shape, Statement, StatementKind,
};

/// Statements that bodies may call without an object, unless a library has methods of these names. Others may
/// take nodes among their arguments.
pub const STATEMENTS: [&str; 8] =
    ["Wait", "Mfence", "CAS", "FAA", "RCAS", "RFAA", "Rfence", "Poll"];
/// Those whose arguments are nodes; of the others, they are memory, values and work ids.
const TOWARDS: [&str; 2] = ["Rfence", "Poll"];
/// Numbers of objects that are the same on every node.
const NUMBERS: [&str; 2] = ["size", "initial"];
/// Names that depend on the thread, or on the program's nodes and threads.
const DEPENDENT: [&str; 4] = ["here", "me", "all", "threads"];

impl Library {
    /// Whether all that its calls do goes to nodes of objects, or stays in the memory of the thread itself,
    /// and nothing else depends on which nodes these are. It says nothing of libraries that its bodies use.
    pub fn goes_home_only(&self) -> bool {
        let (mut memory, mut is_alone) = (Vec::from_iter(&self.memory), true);
        let mut bodies: Vec<&Statement> = Vec::new();
        if let Some(implementation) = &self.implementation {
            memory.extend(&implementation.memory);
            bodies.extend(implementation.bodies.iter().flat_map(|body| &body.statements));
            is_alone = implementation.services.is_empty()
                && implementation.locals.iter().all(|local| !local.per_node);
        }
        let text = Text { memory };
        self.base.is_none()
            && is_alone
            && text.memory.iter().all(|memory| text.is_placed(memory))
            && self.methods.iter().all(|method| text.method(method))
            && bodies.into_iter().all(|statement| text.statement(&statement.kind))
    }
}

/// A text, of which each part may depend on nodes only as above. The functions say whether it does.
struct Text<'a> {
    /// All memory, of the specification and the implementation.
    memory: Vec<&'a Memory>,
}

impl Text<'_> {
    fn is_placed(&self, memory: &Memory) -> bool {
        let is_near = memory.shape == Shape::EachThread && memory.object.is_none();
        memory.class.is_some()
            && (is_near || memory.shape == Shape::Home)
            && memory.count.iter().chain(&memory.initial).all(|expr| self.value(expr))
    }

    fn method(&self, method: &Method) -> bool {
        let mut parameters = method.parameters.iter();
        parameters.all(|parameter| {
            parameter.kind != ParameterKind::Nodes
                && parameter.default.iter().all(|expr| self.value(expr))
        }) && method.callers.iter().all(|expr| self.is(expr, "writer") || self.value(expr))
            && method.cases.iter().all(|case| self.case(case))
    }

    fn case(&self, case: &Case) -> bool {
        let is_event = |item: &Item| match item {
            Item::For { .. } => false,
            Item::Event(event) => self.event(event),
        };
        case.returns.iter().chain(&case.when).all(|expr| self.value(expr))
            && case.items.iter().all(is_event)
    }

    fn event(&self, event: &Event) -> bool {
        let is_placed = |place: &Place| self.is_near(place) || self.is_at_home(place);
        event.node.iter().all(|node| self.is(node, "home"))
            && event.reads.iter().all(|(_, place)| is_placed(place))
            && event.writes.iter().all(|(expr, place)| self.value(expr) && is_placed(place))
            && event.at.iter().all(is_placed)
    }

    fn statement(&self, kind: &StatementKind) -> bool {
        let values: Vec<&Expr> = match kind {
            StatementKind::Assign { target, id, value } => {
                [target, value].into_iter().chain(id).collect()
            }
            StatementKind::Call { name, arguments, id, .. } => {
                return self.call(name, arguments) && id.iter().all(|id| self.value(id));
            }
            StatementKind::If(expr, ..) | StatementKind::While(expr, _) => vec![expr],
            StatementKind::Count(_, first, last, _) => vec![first, last],
            StatementKind::Return(value) => value.iter().collect(),
            StatementKind::Loop(_) | StatementKind::Break | StatementKind::Skip => Vec::new(),
            StatementKind::For(..) => return false,
        };
        values.into_iter().all(|expr| self.value(expr))
            && kind.blocks().flatten().all(|statement| self.statement(&statement.kind))
    }

    /// A statement, or a call of a lower library with an object.
    fn call(&self, name: &str, arguments: &[Expr]) -> bool {
        if TOWARDS.contains(&name) {
            return arguments.iter().all(|node| self.is(node, "home"));
        }
        let has_object = arguments.iter().any(|expr| self.is_object(expr));
        (has_object || STATEMENTS.contains(&name))
            && arguments.iter().all(|expr| self.is_object(expr) || self.value(expr))
    }

    /// Whether a value is the same whichever the nodes are: also that of memory, which threads reach through
    /// the NIC if it is not their own.
    fn value(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Number(_) | Expr::Bottom => true,
            Expr::Name(name, _) => !DEPENDENT.contains(&name.as_str()),
            Expr::Place(place) => {
                let is_local = place.object.is_none() && self.has_plain_index(place);
                is_local || self.is_near(place) || self.is_attribute(place, &NUMBERS)
            }
            Expr::Remote(place) => self.is_at_home(place),
            Expr::Function(name, arguments, _) => {
                ["pack", "word"].contains(&name.as_str())
                    && arguments.iter().all(|expr| self.value(expr))
            }
            Expr::Not(_) | Expr::Binary(..) => expr.parts().all(|part| self.value(part)),
            Expr::Set(_) | Expr::Without(..) | Expr::Union(..) => false,
        }
    }

    /// Whether a place is memory of the thread itself.
    fn is_near(&self, place: &Place) -> bool {
        let Some((Expr::Name(thread, _), rest)) = place.index.split_first() else { return false };
        let is_it = |memory: &Memory| memory.shape == Shape::EachThread;
        thread == "me"
            && place.node.is_none()
            && rest.iter().all(|index| self.value(index))
            && self.is_all(place, is_it)
    }

    /// Whether a place is memory on its object's node.
    fn is_at_home(&self, place: &Place) -> bool {
        self.has_plain_index(place) && self.is_all(place, |memory| memory.shape == Shape::Home)
    }

    /// Whether an expression is an object of a lower library, on its object's node.
    fn is_object(&self, expr: &Expr) -> bool {
        let is_it = |memory: &Memory| memory.shape == Shape::Home && memory.object.is_some();
        matches!(expr, Expr::Place(place) if self.has_plain_index(place) && self.is_all(place, is_it))
    }

    fn has_plain_index(&self, place: &Place) -> bool {
        place.node.is_none() && place.index.iter().all(|index| self.value(index))
    }

    /// Whether there is memory of an object with this name, and all of it is such.
    fn is_all(&self, place: &Place, is_it: impl Fn(&Memory) -> bool) -> bool {
        let mut named = self.memory.iter().filter(|memory| memory.name == place.name).peekable();
        place.object.is_some() && named.peek().is_some() && named.all(|memory| is_it(memory))
    }

    /// Whether an expression is this attribute of an object.
    fn is(&self, expr: &Expr, attribute: &str) -> bool {
        matches!(expr, Expr::Place(place) if self.is_attribute(place, &[attribute]))
    }

    /// Whether a place is one of these attributes of an object, and no memory of that name.
    fn is_attribute(&self, place: &Place, names: &[&str]) -> bool {
        place.object.is_some()
            && place.node.is_none()
            && place.index.is_empty()
            && names.contains(&place.name.as_str())
            && self.memory.iter().all(|memory| memory.name != place.name)
    }
}
