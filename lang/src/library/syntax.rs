//! What a library file says.

use crate::program::BinaryOp;
use crate::source::Span;

/// Words of memory that each object of a class has, or that the library has once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The class whose objects have it; `None` for memory of the library.
    pub class: Option<String>,
    /// The name after the dot.
    pub name: String,
    /// For an object of a lower library in each place: its class.
    pub object: Option<String>,
    /// Where the words are.
    pub shape: Shape,
    /// Whether the text says `at home`, which is where memory is that says nothing.
    pub says_home: bool,
    /// How many words there are in each place, numbered from 0; one without number if `None`.
    pub count: Option<Expr>,
    /// The value before the program starts; 0 if `None`.
    pub initial: Option<Expr>,
    /// Its place in the text.
    pub span: Span,
}

impl Memory {
    /// The names by which its count and initial value refer to the object.
    pub fn objects_named(&self) -> Vec<String> {
        fn collect(expr: &Expr, found: &mut Vec<String>) {
            if let Expr::Place(place) | Expr::Remote(place) = expr {
                found.extend(place.object.clone());
            }
            expr.parts().for_each(|part| collect(part, found));
        }
        let mut found = Vec::new();
        self.count.iter().chain(&self.initial).for_each(|expr| collect(expr, &mut found));
        found
    }
}

/// Where words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// On the object's node; on node 1 if it has none.
    Home,
    /// One on each node, `name@n`.
    EachNode,
    /// One for each thread, on its node, `name[t]`.
    EachThread,
}

/// A method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its parameters in order.
    pub parameters: Vec<Parameter>,
    /// The threads that may call it (`by x.writer`); all if `None`.
    pub callers: Option<Expr>,
    /// How programs write it, if not as a call: `x :=SV v`.
    pub written: Option<String>,
    /// Other words for it that programs may use.
    pub also: Vec<String>,
    /// What it is called elsewhere; a program that uses the word gets a hint with the name.
    pub like: Vec<String>,
    /// What a call may be; one case is chosen freely among those that fit.
    pub cases: Vec<Case>,
    /// Its place.
    pub span: Span,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What is passed.
    pub kind: ParameterKind,
    /// Its name.
    pub name: String,
    /// What it is if nothing is passed.
    pub default: Option<Expr>,
    /// For a value: what it is less than (`value k < 2`). Calls pass a known number then, so it may stand in
    /// brackets.
    pub below: Option<u64>,
}

/// What is passed for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// An object of a class.
    Object(String),
    /// A location of memory, as the base language's statements take it; of the base's methods only.
    Location,
    /// A value.
    Value,
    /// All values that are passed.
    Values,
    /// A work id, or none.
    Id,
    /// A set of nodes.
    Nodes,
}

/// One way in which a call may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The result.
    pub returns: Option<Expr>,
    /// When only.
    pub when: Option<Expr>,
    /// Executions without the call show the same, so a spinning loop may leave it out.
    pub idle: bool,
    /// Its subevents.
    pub items: Vec<Item>,
    /// Its place.
    pub span: Span,
}

/// A part of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `for n in N { … }`.
    For {
        /// The variable.
        variable: String,
        /// The nodes.
        over: Expr,
        /// What happens for each.
        items: Vec<Item>,
    },
    /// A subevent.
    Event(Box<Event>),
}

/// `aNLR(n) reads v from x.copy@here`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The stamp, as the papers write it: `aNLR`.
    pub stamp: String,
    /// The node in brackets.
    pub node: Option<Expr>,
    /// The name for the value read, and where it is read.
    pub reads: Option<(String, Place)>,
    /// The value written, and where.
    pub writes: Option<(Expr, Place)>,
    /// A location that is neither read nor written.
    pub at: Option<Place>,
    /// Its place.
    pub span: Span,
}

/// A place in memory, `x.copy@n`, `x.slot[i]`, `dummy@n`; or an attribute, `x.home`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The parameter before the dot.
    pub object: Option<String>,
    /// The name of the memory or attribute.
    pub name: String,
    /// The node after `@`.
    pub node: Option<Box<Expr>>,
    /// The thread or number in brackets.
    pub index: Vec<Expr>,
    /// Its place in the text.
    pub span: Span,
}

/// An expression: a value, a node, or a set of nodes or threads; which, its place says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number; true and false are 1 and 0.
    Number(u64),
    /// `⊥`.
    Bottom,
    /// A parameter, a variable, or one of `here me all threads`.
    Name(String, Span),
    /// Memory or an attribute.
    Place(Place),
    /// `~x.copy@n`: memory through the NIC.
    Remote(Place),
    /// `{a, b}`.
    Set(Vec<Expr>),
    /// `nodes(T)`, `node(t)`, `pack(v)`, `word(v, i)`, `count(S)`.
    Function(String, Vec<Expr>, Span),
    /// `not e`.
    Not(Box<Expr>),
    /// An operator on values.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a \ b` of sets.
    Without(Box<Expr>, Box<Expr>),
    /// `a | b` of sets.
    Union(Box<Expr>, Box<Expr>),
}

impl Expr {
    /// The expressions that it is made of, in order. Those in a place are not among them.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        let (all, first, second) = match self {
            Self::Set(all) | Self::Function(_, all, _) => (&all[..], None, None),
            Self::Not(inner) => (&[][..], Some(inner), None),
            Self::Binary(_, left, right)
            | Self::Without(left, right)
            | Self::Union(left, right) => (&[][..], Some(left), Some(right)),
            Self::Number(_) | Self::Bottom | Self::Name(..) | Self::Place(_) | Self::Remote(_) => {
                (&[][..], None, None)
            }
        };
        all.iter().chain(first.into_iter().chain(second).map(AsRef::as_ref))
    }
}

/// What well-formed programs meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which rule.
    pub kind: RuleKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// `requires Acq before Rel`: of each object, a thread's calls alternate, from the first method to the
    /// second.
    Alternate(String, String),
    /// `requires equal Bar`: the threads that may call it do so equally often.
    Equal(String),
}

/// What calls do one after another, as the specification of a library whose histories are linearizable:
/// `sequential { … } linearizable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequential {
    /// The state: words of each object of a class, or of the library.
    pub memory: Vec<Memory>,
    /// What each method does with it, and returns.
    pub bodies: Vec<Body>,
    /// Its place.
    pub span: Span,
}

/// How a library is implemented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// The model of the lowest statements.
    pub over: Option<(String, Span)>,
    /// Memory and objects that it uses.
    pub memory: Vec<Memory>,
    /// Variables that each thread keeps between calls: name, indices, place.
    pub locals: Vec<Local>,
    /// A body for each method.
    pub bodies: Vec<Body>,
    /// What threads of its own do.
    pub services: Vec<Service>,
}

/// `service KV s on each node { … }`: a thread of its own for each object and node, which does this again and
/// again until the program's threads have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The object.
    pub parameter: Parameter,
    /// What it does in each round.
    pub statements: Vec<Statement>,
    /// Its place.
    pub span: Span,
}

/// `local posted per node`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Whether there is one for each node.
    pub per_node: bool,
    /// Whether there is one for each work id.
    pub per_id: bool,
    /// Its place.
    pub span: Span,
}

/// The implementation of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The method.
    pub method: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// What is done.
    pub statements: Vec<Statement>,
    /// Its place.
    pub span: Span,
}

/// A statement of an implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Its place.
    pub span: Span,
}

/// Statements of implementations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// `a := e`, `x.copy := e`, `~x.copy@n :=^d x.copy@here`, `x.p :=^d ~x.q`.
    Assign {
        /// The variable or location written.
        target: Expr,
        /// The work id.
        id: Option<Expr>,
        /// The value.
        value: Expr,
    },
    /// `a := Name(…)` or `Name(…)`.
    Call {
        /// The variable that takes the result.
        result: Option<(String, Span)>,
        /// The name.
        name: String,
        /// Arguments.
        arguments: Vec<Expr>,
        /// A work id after `:=^`.
        id: Option<Expr>,
    },
    /// `if c { … } else { … }`.
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// `loop { … }`.
    Loop(Vec<Statement>),
    /// `while c { … }`.
    While(Expr, Vec<Statement>),
    /// `for n in S { … }`.
    For(String, Expr, Vec<Statement>),
    /// `for i in a .. b { … }`, b not included.
    Count(String, Expr, Expr, Vec<Statement>),
    /// `break`.
    Break,
    /// `skip`: nothing.
    Skip,
    /// `return e`.
    Return(Option<Expr>),
}

impl StatementKind {
    /// The blocks in it, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &[Statement]> {
        let (first, second) = match self {
            Self::If(_, then, otherwise) => (Some(then), Some(otherwise)),
            Self::Loop(body)
            | Self::While(_, body)
            | Self::For(_, _, body)
            | Self::Count(_, _, _, body) => (Some(body), None),
            Self::Assign { .. }
            | Self::Call { .. }
            | Self::Break
            | Self::Skip
            | Self::Return(_) => (None, None),
        };
        first.into_iter().chain(second).map(Vec::as_slice)
    }
}
