//! Binds the names in a library's text to what they stand for at a call.

use std::collections::HashMap;

use lang::library::notation::WORDS;
use lang::library::{Expr, Parameter, ParameterKind, Place, Shape};
use lang::outcome::Value;
use lang::program::{Call, LocationId, NodeId, Program, ThreadId, WorkId};

use crate::code::Operand;

/// What a name stands for. `V` is the representation of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound<V> {
    /// An object, by its index in the program.
    Object(usize),
    /// A location, as base statements use it.
    Location(LocationId),
    /// A value.
    Value(V),
    /// All values that were passed, for a parameter that takes several.
    Values(Vec<V>),
    /// A work id, or none.
    Id(Option<WorkId>),
    /// A set of nodes.
    Nodes(Vec<NodeId>),
    /// A single node of a set.
    Node(NodeId),
    /// A single thread of a set.
    Thread(ThreadId),
    /// A constant number.
    Number(u64),
}

/// The names that are bound at a place in a library's text.
#[derive(Clone, Debug)]
pub struct Environment<V> {
    /// The thread that calls.
    pub thread: ThreadId,
    /// The bound names.
    pub names: HashMap<String, Bound<V>>,
}

/// The reason why a name cannot be used: it stands for something of the wrong kind.
pub type Refused = String;

/// A set of nodes or of threads, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Set {
    /// Nodes.
    Nodes(Vec<NodeId>),
    /// Threads.
    Threads(Vec<ThreadId>),
}

/// The base of the digits of a mixed-size value: each word is below 10,000, and the first word is the highest
/// digit.
pub const WORD: u64 = lang::program::LARGEST_WORD;

/// Packs several words into one value.
pub fn pack(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum: u64, word| sum.wrapping_mul(WORD).wrapping_add(*word))
}

impl<V: Clone> Environment<V> {
    /// Binds the parameters of a call.
    ///
    /// # Errors
    /// Fails if there are too few or too many values.
    pub fn of_call(
        program: &Program,
        thread: ThreadId,
        parameters: &[Parameter],
        call: &Call,
        values: Vec<V>,
    ) -> Result<Self, Refused> {
        let mut environment = Self { thread, names: HashMap::new() };
        let mut objects = [&call.object, &call.source].into_iter();
        let mut values = values.into_iter();
        for parameter in parameters {
            let bound = match &parameter.kind {
                ParameterKind::Object(class) => {
                    let name = objects.next().and_then(Option::as_ref);
                    let name = name.ok_or("expected an object, found none")?;
                    let found = program.objects.iter().position(|object| object.name == *name);
                    let found = found.ok_or_else(|| format!("there is no object `{name}`"))?;
                    let own = &program.objects[found].class;
                    if own != class && own != WORDS {
                        return Err(format!(
                            "expected an object of class {class}, found `{name}` of class {own}"
                        ));
                    }
                    Bound::Object(found)
                }
                ParameterKind::Value => {
                    Bound::Value(values.next().ok_or("expected a value, found none")?)
                }
                ParameterKind::Values => Bound::Values(values.by_ref().collect()),
                ParameterKind::Id => Bound::Id(call.id),
                ParameterKind::Nodes => match (&call.nodes, &parameter.default) {
                    (Some(nodes), _) => Bound::Nodes(nodes.clone()),
                    (None, Some(default)) => Bound::Nodes(environment.nodes(program, default)?),
                    (None, None) => return Err("expected a set of nodes, found none".to_owned()),
                },
                ParameterKind::Location => return Err("not a call with a location".to_owned()),
            };
            environment.names.insert(parameter.name.clone(), bound);
        }
        if values.next().is_some() {
            return Err("expected fewer values, found more".to_owned());
        }
        Ok(environment)
    }

    /// The object that a name stands for.
    pub fn object(&self, name: &str) -> Result<usize, Refused> {
        match self.names.get(name) {
            Some(Bound::Object(object)) => Ok(*object),
            _ => Err(format!("expected an object, found `{name}`")),
        }
    }

    /// Evaluates a set of nodes.
    pub fn nodes(&self, program: &Program, expr: &Expr) -> Result<Vec<NodeId>, Refused> {
        match self.set(program, expr)? {
            Set::Nodes(nodes) => Ok(nodes),
            Set::Threads(_) => Err("expected nodes, found threads: write `nodes(…)`".to_owned()),
        }
    }

    /// Evaluates an expression that must be a single node.
    pub fn node(&self, program: &Program, expr: &Expr) -> Result<NodeId, Refused> {
        match self.nodes(program, expr)?.as_slice() {
            [node] => Ok(*node),
            nodes => Err(format!("expected one node, found {}", nodes.len())),
        }
    }

    /// Evaluates a set of threads.
    pub fn threads(&self, program: &Program, expr: &Expr) -> Result<Vec<ThreadId>, Refused> {
        match self.set(program, expr)? {
            Set::Threads(threads) => Ok(threads),
            Set::Nodes(_) => Err("expected threads, found nodes".to_owned()),
        }
    }

    /// Evaluates a set of nodes or threads.
    pub fn set(&self, program: &Program, expr: &Expr) -> Result<Set, Refused> {
        let here = |thread: ThreadId| program.threads[thread.0].node;
        Ok(match expr {
            Expr::Name(name, _) => match (name.as_str(), self.names.get(name)) {
                ("all", None) => Set::Nodes((1..=program.nodes).map(NodeId).collect()),
                ("threads", None) => {
                    Set::Threads((0..program.own_threads()).map(ThreadId).collect())
                }
                ("here", None) => Set::Nodes(vec![here(self.thread)]),
                ("me", None) => Set::Threads(vec![self.thread]),
                (_, Some(Bound::Nodes(nodes))) => Set::Nodes(nodes.clone()),
                (_, Some(Bound::Node(node))) => Set::Nodes(vec![*node]),
                (_, Some(Bound::Thread(thread))) => Set::Threads(vec![*thread]),
                (_, Some(Bound::Location(location))) => {
                    Set::Nodes(vec![program.locations[location.0].node])
                }
                _ => return Err(format!("expected nodes or threads, found `{name}`")),
            },
            Expr::Place(Place { object: Some(object), name, .. }) => {
                let object = &program.objects[self.object(object)?];
                match name.as_str() {
                    "home" => Set::Nodes(vec![object.node.unwrap_or(NodeId(1))]),
                    "threads" => Set::Threads(object.threads.clone()),
                    "writer" => Set::Threads(object.writer.into_iter().collect()),
                    _ => return Err(format!("expected nodes or threads, found `{name}`")),
                }
            }
            Expr::Set(all) => {
                let mut sets = all.iter().map(|expr| self.set(program, expr));
                let Some(first) = sets.next() else { return Ok(Set::Nodes(Vec::new())) };
                sets.try_fold(first?, |left, right| unite(left, right?))?
            }
            Expr::Function(name, arguments, _) if name == "nodes" || name == "node" => {
                let [argument] = arguments.as_slice() else {
                    return Err(format!("expected one argument of `{name}`"));
                };
                let threads = match self.set(program, argument)? {
                    Set::Threads(threads) => threads,
                    nodes => return Ok(nodes),
                };
                let mut nodes: Vec<NodeId> = threads.into_iter().map(here).collect();
                nodes.sort_unstable();
                nodes.dedup();
                Set::Nodes(nodes)
            }
            Expr::Function(name, arguments, _) if name == "threads" => {
                let [argument] = arguments.as_slice() else {
                    return Err(format!("expected one argument of `{name}`"));
                };
                let nodes = match self.set(program, argument)? {
                    Set::Nodes(nodes) => nodes,
                    threads => return Ok(threads),
                };
                let all = (0..program.own_threads()).map(ThreadId);
                Set::Threads(all.filter(|thread| nodes.contains(&here(*thread))).collect())
            }
            Expr::Union(left, right) => unite(self.set(program, left)?, self.set(program, right)?)?,
            Expr::Without(left, right) => {
                match (self.set(program, left)?, self.set(program, right)?) {
                    (Set::Nodes(mut left), Set::Nodes(right)) => {
                        left.retain(|node| !right.contains(node));
                        Set::Nodes(left)
                    }
                    (Set::Threads(mut left), Set::Threads(right)) => {
                        left.retain(|thread| !right.contains(thread));
                        Set::Threads(left)
                    }
                    _ => return Err("expected two sets of one kind".to_owned()),
                }
            }
            _ => return Err("expected nodes or threads, found a value".to_owned()),
        })
    }

    /// The value of a constant expression: a thread, a node, an attribute, or a number.
    pub fn number(&self, program: &Program, expr: &Expr) -> Option<u64> {
        match expr {
            Expr::Number(number) => Some(*number),
            Expr::Name(name, _) => match (name.as_str(), self.names.get(name)) {
                ("me", None) => Some(self.thread.number() as u64),
                ("here", None) => Some(u64::from(program.threads[self.thread.0].node.0)),
                (_, Some(Bound::Node(node))) => Some(u64::from(node.0)),
                (_, Some(Bound::Thread(thread))) => Some(thread.number() as u64),
                (_, Some(Bound::Number(number))) => Some(*number),
                _ => None,
            },
            Expr::Place(place) => {
                attribute(program, self.object(place.object.as_ref()?).ok()?, &place.name)
            }
            Expr::Function(name, arguments, _) => match (name.as_str(), arguments.as_slice()) {
                ("node", [_]) => self.node(program, expr).ok().map(|node| u64::from(node.0)),
                ("count", [set]) => Some(match self.set(program, set).ok()? {
                    Set::Nodes(nodes) => nodes.len() as u64,
                    Set::Threads(threads) => threads.len() as u64,
                }),
                ("word", [Expr::Place(place), index]) if place.name == "initial" => {
                    let object = &program.objects[self.object(place.object.as_ref()?).ok()?];
                    let index = usize::try_from(self.number(program, index)?).ok()?;
                    object.initial.get(index).copied()
                }
                _ => None,
            },
            Expr::Binary(op, left, right) => {
                Some(op.apply(self.number(program, left)?, self.number(program, right)?))
            }
            Expr::Not(inner) => Some(u64::from(self.number(program, inner)? == 0)),
            _ => None,
        }
    }

    /// The name of the location or object that a place refers to.
    ///
    /// # Errors
    /// Reports why there is none.
    pub fn place_name(
        &self,
        program: &Program,
        library: &str,
        place: &Place,
        shape: Shape,
    ) -> Result<String, Refused> {
        let object = match &place.object {
            Some(object) => Some(self.object(object)?),
            None => None,
        };
        let mut indices = place.index.iter();
        let at = match shape {
            Shape::Home => None,
            Shape::EachNode => {
                let node = match &place.node {
                    Some(node) => self.node(program, node)?,
                    None => program.threads[self.thread.0].node,
                };
                Some(format!("@{}", node.0))
            }
            Shape::EachThread => {
                let thread = match indices.next() {
                    Some(index) => match self.threads(program, index)?.as_slice() {
                        [thread] => *thread,
                        _ => return Err("expected one thread".to_owned()),
                    },
                    None => self.thread,
                };
                Some(format!("[{}]", thread.number()))
            }
        };
        let mut name = base_name(program, library, object, &place.name);
        name.extend(at);
        for index in indices {
            let number =
                self.number(program, index).ok_or("expected a known number in brackets")?;
            name = format!("{name}[{number}]");
        }
        Ok(name)
    }
}

/// The name of memory, without its node.
pub fn base_name(program: &Program, library: &str, object: Option<usize>, memory: &str) -> String {
    match object {
        Some(object) => format!("{}.{memory}", program.objects[object].name),
        None => format!("{library}.{memory}"),
    }
}

/// The value of an object's attribute, if the attribute is a number.
fn attribute(program: &Program, object: usize, name: &str) -> Option<u64> {
    let object = &program.objects[object];
    match name {
        "home" => Some(u64::from(object.node.map_or(1, |node| node.0))),
        "writer" => object.writer.map(|thread| thread.number() as u64),
        "size" => Some(object.size.unwrap_or(DEFAULT_SIZE)),
        "initial" => Some(pack(&object.initial)),
        _ => None,
    }
}

/// The size of an object if its declaration gives none.
const DEFAULT_SIZE: u64 = 4;

fn unite(left: Set, right: Set) -> Result<Set, Refused> {
    match (left, right) {
        (Set::Nodes(mut left), Set::Nodes(right)) => {
            left.extend(right);
            left.sort_unstable();
            left.dedup();
            Ok(Set::Nodes(left))
        }
        (Set::Threads(mut left), Set::Threads(right)) => {
            left.extend(right);
            left.sort_unstable();
            left.dedup();
            Ok(Set::Threads(left))
        }
        _ => Err("expected two sets of one kind".to_owned()),
    }
}

impl Environment<lang::program::Expr> {
    /// Binds what a call passes, with the numbers that may stand in brackets.
    ///
    /// # Errors
    /// As [`Environment::of_call`], and numbers that are not known or too large.
    pub fn of_arguments(
        program: &Program,
        thread: ThreadId,
        parameters: &[Parameter],
        call: &Call,
    ) -> Result<Self, Refused> {
        let values = call.arguments.clone();
        let mut environment = Self::of_call(program, thread, parameters, call, values)?;
        for parameter in parameters {
            if let Some(below) = parameter.below {
                environment.make_known(&parameter.name, below)?;
            }
        }
        Ok(environment)
    }

    /// Makes a value that is passed a number, which may stand in brackets.
    ///
    /// # Errors
    /// Fails if it is not known before the program runs, or not less than `below`.
    fn make_known(&mut self, name: &str, below: u64) -> Result<(), Refused> {
        let Some(Bound::Value(value)) = self.names.get(name) else { return Ok(()) };
        match Operand::new(value) {
            Operand::Constant(number) if number < below => {
                self.names.insert(name.to_owned(), Bound::Number(number));
                Ok(())
            }
            Operand::Constant(number) => {
                let number = Value::of_word(number);
                Err(format!("expected a number below {below} for `{name}`, found {number}"))
            }
            _ => Err(format!("expected a known number below {below} for `{name}`, found a value")),
        }
    }
}
