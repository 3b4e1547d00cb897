//! Tokens to a [`Library`]. The first error ends it.

mod expression;
mod statement;
mod tokens;

use super::Library;
use super::lexer::{self, Kind, Token};
use super::syntax::{
    Body, Case, Event, Implementation, Item, Local, Memory, Method, Parameter, ParameterKind,
    Place, Rule, RuleKind, Shape,
};
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Source, Span};

type Parse<T> = Result<T, Box<Diagnostic>>;

/// How deep expressions and blocks may be nested.
const DEEPEST: usize = 64;

/// A library without its consistency, and where that stands.
pub struct File {
    pub library: Library,
    pub consistency: Option<Span>,
}

/// The words that begin sections.
const SECTIONS: [&str; 12] = [
    "source",
    "class",
    "marked",
    "shows",
    "memory",
    "call",
    "requires",
    "shares",
    "consistency",
    "specification",
    "implementation",
    "object",
];

/// Whether two lists of parameters say the same, wherever they stand.
fn is_same(left: &[Parameter], right: &[Parameter]) -> bool {
    let pairs = left.iter().zip(right);
    left.len() == right.len()
        && pairs.into_iter().all(|(a, b)| a.kind == b.kind && a.name == b.name)
}

/// Reads a file.
pub fn parse(text: &str) -> Parse<File> {
    let mut parser = Parser { text, tokens: lexer::tokens(text), next: 0, depth: 0 };
    parser.file()
}

struct Parser<'a> {
    text: &'a str,
    /// Never empty; the last is the end of the file.
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    fn file(&mut self) -> Parse<File> {
        self.keyword("library").map_err(|error| {
            Box::new(error.help("a file has a whole library: `library NAME`, its specification, and then its implementation"))
        })?;
        let mut library = Library {
            name: self.label()?,
            title: None,
            origin: None,
            classes: Vec::new(),
            words: None,
            locations: None,
            calls: None,
            class_spellings: Vec::new(),
            mark: None,
            shows: None,
            memory: Vec::new(),
            methods: Vec::new(),
            rules: Vec::new(),
            shares: Vec::new(),
            consistency: None,
            base: None,
            implementation: None,
            source: Source::new("", ""),
        };
        if self.peek() == Kind::String {
            library.title = Some(self.string()?);
        }
        let mut consistency = None;
        while self.peek() != Kind::EndOfFile {
            match self.word() {
                "source" => {
                    self.advance();
                    library.origin = Some(self.string()?);
                }
                "specification" => {
                    self.advance();
                    library.base = Some(self.string()?);
                }
                "class" => self.class(&mut library)?,
                "marked" => {
                    self.advance();
                    library.mark = Some(self.name("the mark of methods")?.0);
                }
                "shows" => {
                    self.advance();
                    library.shows = Some(self.name("the name of memory")?.0);
                }
                "memory" => library.memory.push(self.memory()?),
                "call" => self.method(&mut library)?,
                "requires" => library.rules.push(self.rule()?),
                "shares" => {
                    self.advance();
                    library.shares.push(self.name("the name of a statement")?.0);
                }
                "consistency" if consistency.is_none() => {
                    self.advance();
                    consistency = Some(self.passed_over()?);
                }
                "implementation" if library.implementation.is_none() => {
                    library.implementation = Some(self.implementation()?);
                }
                other => {
                    let mut error = self.expected("a section such as `call` or `implementation`");
                    error.help =
                        nearest(other, SECTIONS).map(|near| format!("did you mean `{near}`?"));
                    return Err(error);
                }
            }
        }
        Ok(File { library, consistency })
    }

    /// `class SC`, `class Mixed of words`, `class SC of locations`, `class Ring of calls also RingBuffer`.
    fn class(&mut self, library: &mut Library) -> Parse<()> {
        self.advance();
        let (class, _) = self.name("the name of a class")?;
        if self.word() == "of" {
            self.advance();
            let declared = match self.word() {
                "words" => &mut library.words,
                "locations" => &mut library.locations,
                "calls" => &mut library.calls,
                _ => return Err(self.expected("`words`, `locations` or `calls`")),
            };
            *declared = Some(class.clone());
            self.advance();
        }
        let also = self.names("also", "another spelling of the class")?;
        library.class_spellings.extend(also.into_iter().map(|word| (word, class.clone())));
        library.classes.push(class);
        Ok(())
    }

    /// `also Acquire, Lock`: names behind a keyword, if it is there.
    fn names(&mut self, keyword: &str, what: &str) -> Parse<Vec<String>> {
        let mut names = Vec::new();
        if self.word() == keyword {
            self.advance();
            names.push(self.name(what)?.0);
            while self.accept(",") {
                names.push(self.name(what)?.0);
            }
        }
        Ok(names)
    }

    /// `{ … }` in another language: what stands between the braces.
    fn passed_over(&mut self) -> Parse<Span> {
        let open = self.token().span;
        self.symbol("{")?;
        let start = open.end;
        let mut depth = 1;
        loop {
            match (self.peek(), self.text_here()) {
                (Kind::EndOfFile, _) => return Err(self.expected("`}`")),
                (_, "{") => depth += 1,
                (_, "}") => depth -= 1,
                _ => {}
            }
            let end = self.token().span.start;
            self.advance();
            if depth == 0 {
                return Ok(Span::new(start, end));
            }
        }
    }

    /// `memory SVar.copy on each node = x.initial`, `object Barrier.count : SVar per thread`.
    fn memory(&mut self) -> Parse<Memory> {
        let start = self.token().span;
        let is_object = self.word() == "object";
        self.advance();
        let (first, _) = self.name("the name of memory")?;
        let (class, name) = match self.accept(".") {
            true => (Some(first), self.name("the name of memory")?.0),
            false => (None, first),
        };
        let object = match is_object {
            true => {
                self.symbol(":")?;
                Some(self.name("a class")?.0)
            }
            false => None,
        };
        let count = match self.accept("[") {
            true => {
                let count = self.expression()?;
                self.symbol("]")?;
                Some(count)
            }
            false => None,
        };
        let says_home = self.word() == "at";
        let shape = match self.word() {
            "on" => {
                self.advance();
                self.keyword("each")?;
                self.keyword("node")?;
                Shape::EachNode
            }
            "per" => {
                self.advance();
                self.keyword("thread")?;
                Shape::EachThread
            }
            "at" => {
                self.advance();
                self.keyword("home")?;
                Shape::Home
            }
            _ => Shape::Home,
        };
        let initial = if self.accept("=") { Some(self.expression()?) } else { None };
        let span = start.to(self.previous());
        Ok(Memory { class, name, object, shape, says_home, count, initial, span })
    }

    /// `call Read(SVar x) returns v idle { … }`: a case of a method.
    fn method(&mut self, library: &mut Library) -> Parse<()> {
        let start = self.token().span;
        self.advance();
        let (name, place) = self.name("the name of a method")?;
        let parameters = self.parameters()?;
        let written = self.written()?;
        let also = self.names("also", "another word for the method")?;
        let like = self.names("like", "what it is called elsewhere")?;
        let mut callers = None;
        if self.word() == "by" {
            self.advance();
            callers = Some(self.expression()?);
        }
        let mut case =
            Case { returns: None, when: None, idle: false, items: Vec::new(), span: start };
        if self.word() == "returns" {
            self.advance();
            case.returns = Some(self.expression()?);
        }
        if self.word() == "when" {
            self.advance();
            case.when = Some(self.expression()?);
        }
        if self.word() == "idle" {
            self.advance();
            case.idle = true;
        }
        if self.text_here() == "{" {
            case.items = self.items()?;
        }
        case.span = start.to(self.previous());
        match library.methods.iter_mut().find(|method| method.name == name) {
            Some(method) if is_same(&method.parameters, &parameters) => {
                method.cases.push(case);
            }
            Some(method) => {
                let message = format!("expected the same parameters for each case of `{name}`");
                let error = Diagnostic::error("different-parameters", place, message);
                return Err(Box::new(error.related(method.span, "the first case")));
            }
            None => {
                let span = case.span;
                library.methods.push(Method {
                    name,
                    parameters,
                    callers,
                    written,
                    also,
                    like,
                    cases: vec![case],
                    span,
                });
            }
        }
        Ok(())
    }

    /// `written x :=SV v`: all on the line.
    fn written(&mut self) -> Parse<Option<String>> {
        if self.word() != "written" {
            return Ok(None);
        }
        self.advance();
        let start = self.token().span;
        let line = |span: Span| self.text[..span.start].matches('\n').count();
        let first = line(start);
        let mut end = start;
        let mut next = self.next;
        while let Some(token) = self.tokens.get(next) {
            let text = &self.text[token.span.range()];
            let is_over = token.kind == Kind::EndOfFile || line(token.span) != first;
            if is_over || matches!(text, "{" | "also" | "like" | "by" | "returns" | "when" | "idle")
            {
                break;
            }
            (end, next) = (token.span, next + 1);
        }
        if next == self.next {
            return Err(self.expected("how programs write it, such as `x := v`"));
        }
        self.next = next;
        Ok(Some(self.text[start.to(end).range()].to_owned()))
    }

    fn parameters(&mut self) -> Parse<Vec<Parameter>> {
        self.symbol("(")?;
        let mut parameters = Vec::new();
        while !self.accept(")") {
            if !parameters.is_empty() {
                self.symbol(",")?;
            }
            let (kind, _) = self.name("what is passed: `value`, `id`, `nodes` or a class")?;
            let kind = match kind.as_str() {
                "value" => ParameterKind::Value,
                "values" => ParameterKind::Values,
                "id" => ParameterKind::Id,
                "nodes" => ParameterKind::Nodes,
                "location" => ParameterKind::Location,
                _ => ParameterKind::Object(kind),
            };
            let (name, _) = self.name("the parameter's name")?;
            let default = if self.accept("=") { Some(self.expression()?) } else { None };
            parameters.push(Parameter { kind, name, default });
        }
        Ok(parameters)
    }

    fn items(&mut self) -> Parse<Vec<Item>> {
        self.symbol("{")?;
        self.deeper()?;
        let mut items = Vec::new();
        while !self.accept("}") {
            if self.accept(";") {
                continue;
            }
            if self.word() == "for" {
                self.advance();
                let (variable, _) = self.name("a variable")?;
                self.keyword("in")?;
                let over = self.expression()?;
                items.push(Item::For { variable, over, items: self.items()? });
            } else {
                items.push(Item::Event(Box::new(self.event()?)));
            }
        }
        self.depth -= 1;
        Ok(items)
    }

    fn event(&mut self) -> Parse<Event> {
        let start = self.token().span;
        let (stamp, _) = self.name("a stamp such as `aCW`")?;
        let mut event =
            Event { stamp, node: None, reads: None, writes: None, at: None, span: start };
        if self.accept("(") {
            event.node = Some(self.expression()?);
            self.symbol(")")?;
        }
        loop {
            match self.word() {
                "reads" => {
                    self.advance();
                    let (name, _) = self.name("a name for the value read")?;
                    self.keyword("from")?;
                    event.reads = Some((name, self.place()?));
                }
                "writes" => {
                    self.advance();
                    let value = self.expression()?;
                    self.keyword("to")?;
                    event.writes = Some((value, self.place()?));
                }
                "at" => {
                    self.advance();
                    event.at = Some(self.place()?);
                }
                _ => break,
            }
            if !self.accept(",") {
                break;
            }
        }
        event.span = start.to(self.previous());
        Ok(event)
    }

    fn rule(&mut self) -> Parse<Rule> {
        let start = self.token().span;
        self.advance();
        let kind = if self.word() == "equal" {
            self.advance();
            RuleKind::Equal(self.name("the name of a method")?.0)
        } else {
            let (first, _) = self.name("the name of a method")?;
            self.keyword("before")?;
            RuleKind::Alternate(first, self.name("the name of a method")?.0)
        };
        Ok(Rule { kind, span: start.to(self.previous()) })
    }

    fn implementation(&mut self) -> Parse<Implementation> {
        self.advance();
        let mut implementation = Implementation {
            over: None,
            memory: Vec::new(),
            locals: Vec::new(),
            bodies: Vec::new(),
        };
        if self.word() == "over" {
            self.advance();
            let place = self.token().span;
            implementation.over = Some((self.label()?, place.to(self.previous())));
        }
        self.symbol("{")?;
        while !self.accept("}") {
            match self.word() {
                "memory" | "object" => implementation.memory.push(self.memory()?),
                "local" => implementation.locals.push(self.local()?),
                "call" => implementation.bodies.push(self.body()?),
                _ => return Err(self.expected("`memory`, `object`, `local`, `call` or `}`")),
            }
        }
        Ok(implementation)
    }

    fn local(&mut self) -> Parse<Local> {
        self.advance();
        let (name, span) = self.name("the name of a variable")?;
        let (mut per_node, mut per_id) = (false, false);
        while self.word() == "per" {
            self.advance();
            match self.word() {
                "node" => per_node = true,
                "id" => per_id = true,
                _ => return Err(self.expected("`node` or `id`")),
            }
            self.advance();
        }
        Ok(Local { name, per_node, per_id, span })
    }

    fn body(&mut self) -> Parse<Body> {
        let start = self.token().span;
        self.advance();
        let (method, _) = self.name("the name of a method")?;
        let parameters = self.parameters()?;
        let span = start.to(self.previous());
        let statements = self.block()?;
        Ok(Body { method, parameters, statements, span })
    }

    fn place(&mut self) -> Parse<Place> {
        let start = self.token().span;
        let (first, _) = self.name("a place in memory, such as `x.copy@here`")?;
        self.place_after(first, start)
    }

    /// A place whose first word has been read.
    fn place_after(&mut self, first: String, start: Span) -> Parse<Place> {
        let (object, name) = match self.accept(".") {
            true => (Some(first), self.name("the name of memory or an attribute")?.0),
            false => (None, first),
        };
        let mut place = Place { object, name, node: None, index: Vec::new(), span: start };
        loop {
            if self.accept("@") {
                place.node = Some(Box::new(self.primary()?));
            } else if self.accept("[") {
                place.index.push(self.expression()?);
                self.symbol("]")?;
            } else {
                break;
            }
        }
        place.span = start.to(self.previous());
        Ok(place)
    }
}
