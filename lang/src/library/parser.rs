//! Tokens to a [`Library`].

mod expression;
mod method;
mod recovery;
mod statement;

use std::collections::HashMap;

use super::Library;
use super::lexer::Kind;
use super::syntax::{
    Body, Implementation, Local, Memory, Parameter, ParameterKind, Place, Sequential, Service,
    Shape,
};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::front::{Cursor, MOST_DIAGNOSTICS, Parse};
use crate::source::{Source, Span};

/// How deep expressions and blocks may be nested.
const DEEPEST: usize = 64;

/// A library without its consistency, and where that and other words stand.
pub struct File {
    pub library: Library,
    pub consistency: Option<Span>,
    pub heads: Heads,
}

/// Where words stand of which a library keeps no place.
#[derive(Default)]
pub struct Heads {
    /// Its classes, in order.
    pub classes: Vec<Span>,
    /// The memory that programs show.
    pub shows: Option<Span>,
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
    "sequential",
    "specification",
    "implementation",
];

/// Reads a file.
pub fn parse(text: &str) -> Result<File, Vec<Diagnostic>> {
    let tokens = Cursor::new(text);
    if tokens.is_at_end() && !tokens.diagnostics.is_empty() {
        return Err(tokens.diagnostics);
    }
    let margin = tokens.token().span.start;
    let margin = margin - text[..margin].rfind('\n').map_or(0, |end| end + 1);
    let mut parser = Parser { tokens, depth: 0, margin, callers: HashMap::new() };
    let file = parser.file().map_err(|error| parser.tokens.report(*error));
    let errors = parser.tokens.diagnostics;
    file.ok().filter(|_| errors.is_empty()).ok_or(errors)
}

/// An error about a word, with the one that may be meant.
fn suggested<const N: usize>(
    error: Box<Diagnostic>,
    word: &str,
    known: [&'static str; N],
) -> Box<Diagnostic> {
    match nearest(word, known) {
        Some(near) => Box::new(error.did_you_mean(near)),
        None => error,
    }
}

struct Parser<'a> {
    tokens: Cursor<'a, Kind>,
    depth: usize,
    /// In which column sections begin, in bytes.
    margin: usize,
    /// Who may call each method, as its first case says.
    callers: HashMap<String, String>,
}

impl Parser<'_> {
    fn file(&mut self) -> Parse<File> {
        self.tokens.expect_text("library").map_err(|error| {
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
            sequential: None,
            base: None,
            implementation: None,
            source: Source::new("", ""),
        };
        library.title = self.tokens.title();
        let mut file = File { library, consistency: None, heads: Heads::default() };
        while !self.tokens.is_at_end() && self.tokens.diagnostics.len() < MOST_DIAGNOSTICS {
            let (start, depth) = (self.tokens.token().span, self.depth);
            if let Err(error) = self.section(&mut file) {
                self.past_section(start, *error);
                self.depth = depth;
            }
        }
        Ok(file)
    }

    fn section(&mut self, file: &mut File) -> Parse<()> {
        let File { library, consistency, heads } = file;
        match self.tokens.word() {
            "source" if library.origin.is_none() => {
                self.tokens.advance();
                library.origin = Some(self.tokens.string("a string in quotes")?.0);
            }
            "specification" if library.base.is_none() => {
                self.tokens.advance();
                library.base = Some(self.tokens.string("a string in quotes")?.0);
            }
            "class" => heads.classes.push(self.class(library)?),
            "marked" if library.mark.is_none() => {
                self.tokens.advance();
                library.mark = Some(self.tokens.name("the mark of methods")?.0);
            }
            "shows" if library.shows.is_none() => {
                self.tokens.advance();
                let (name, span) = self.tokens.name("the name of memory")?;
                (library.shows, heads.shows) = (Some(name), Some(span));
            }
            "memory" => library.memory.push(self.memory()?),
            "call" => self.method(library)?,
            "requires" => library.rules.push(self.rule()?),
            "shares" => {
                self.tokens.advance();
                library.shares.push(self.tokens.name("the name of a statement")?.0);
            }
            "consistency" if consistency.is_none() => {
                self.tokens.advance();
                *consistency = Some(self.passed_over()?);
            }
            "sequential" if library.sequential.is_none() => {
                library.sequential = Some(self.sequential()?);
            }
            "implementation" if library.implementation.is_none() => {
                library.implementation = Some(self.implementation()?);
            }
            other => {
                if SECTIONS.contains(&other) {
                    let message = format!("expected one `{other}`, found another");
                    let span = self.tokens.token().span;
                    return Err(Box::new(Diagnostic::error(Code::Syntax, span, message)));
                }
                let error = self.tokens.expected("a section such as `call` or `implementation`");
                if recovery::PARTS.contains(&other) {
                    let help = format!("`{other}` stands in `implementation {{ … }}`");
                    return Err(Box::new(error.help(help)));
                }
                return Err(suggested(error, other, SECTIONS));
            }
        }
        Ok(())
    }

    /// `class SC`, `class Mixed of words`, `class SC of locations`, `class Ring of calls also RingBuffer`.
    fn class(&mut self, library: &mut Library) -> Parse<Span> {
        self.tokens.advance();
        let (class, span) = self.tokens.name("the name of a class")?;
        if !class.starts_with(|c: char| c.is_ascii_uppercase()) {
            let message =
                format!("expected a class that begins with a capital letter, found `{class}`");
            let error = Diagnostic::error(Code::Syntax, span, message);
            return Err(Box::new(
                error.help("programs tell declarations of objects by it: `Class x`"),
            ));
        }
        if self.tokens.accept_text("of") {
            let declared = match self.tokens.word() {
                "words" => &mut library.words,
                "locations" => &mut library.locations,
                "calls" => &mut library.calls,
                _ => return Err(self.tokens.expected("`words`, `locations` or `calls`")),
            };
            *declared = Some(class.clone());
            self.tokens.advance();
        }
        let also = self.names("also", "another spelling of the class")?;
        library.class_spellings.extend(also.into_iter().map(|word| (word, class.clone())));
        library.classes.push(class);
        Ok(span)
    }

    /// `also Acquire, Lock`: names behind a keyword, if it is there.
    fn names(&mut self, keyword: &str, what: &str) -> Parse<Vec<String>> {
        let mut names = Vec::new();
        if self.tokens.accept_text(keyword) {
            names.push(self.tokens.name(what)?.0);
            while self.tokens.accept_text(",") {
                names.push(self.tokens.name(what)?.0);
            }
        }
        Ok(names)
    }

    /// `{ … }` in another language: what stands between the braces.
    fn passed_over(&mut self) -> Parse<Span> {
        let open = self.tokens.token().span;
        self.tokens.expect_text("{")?;
        let start = open.end;
        let mut depth = 1;
        loop {
            match (self.tokens.peek(), self.tokens.text_here()) {
                _ if self.tokens.is_at_end() || self.is_section() => {
                    return Err(self.tokens.expected("`}`"));
                }
                (_, "{") => depth += 1,
                (_, "}") => depth -= 1,
                _ => {}
            }
            let end = self.tokens.token().span.start;
            self.tokens.advance();
            if depth == 0 {
                return Ok(Span::new(start, end));
            }
        }
    }

    /// `memory SVar.copy on each node = x.initial`, `object Barrier.count : SVar per thread`.
    fn memory(&mut self) -> Parse<Memory> {
        let start = self.tokens.token().span;
        let is_object = self.tokens.word() == "object";
        self.tokens.advance();
        let (first, _) = self.tokens.name("the name of memory")?;
        let (class, name) = match self.tokens.accept_text(".") {
            true => (Some(first), self.tokens.name("the name of memory")?.0),
            false => (None, first),
        };
        let object = match is_object {
            true => {
                self.tokens.expect_text(":")?;
                Some(self.tokens.name("a class")?.0)
            }
            false => None,
        };
        let count = match self.tokens.accept_text("[") {
            true => {
                let count = self.expression()?;
                self.tokens.expect_text("]")?;
                Some(count)
            }
            false => None,
        };
        let says_home = self.tokens.word() == "at";
        let shape = match self.tokens.word() {
            "on" => {
                self.tokens.advance();
                self.tokens.expect_text("each")?;
                self.tokens.expect_text("node")?;
                Shape::EachNode
            }
            "per" => {
                self.tokens.advance();
                self.tokens.expect_text("thread")?;
                Shape::EachThread
            }
            "at" => {
                self.tokens.advance();
                self.tokens.expect_text("home")?;
                Shape::Home
            }
            _ => Shape::Home,
        };
        let initial = if self.tokens.accept_text("=") { Some(self.expression()?) } else { None };
        let span = start.to(self.tokens.previous());
        Ok(Memory { class, name, object, shape, says_home, count, initial, span })
    }

    /// `sequential { memory Cell.value; call Write(Cell x, value v) { … } } linearizable`.
    fn sequential(&mut self) -> Parse<Sequential> {
        let start = self.tokens.token().span;
        self.tokens.advance();
        let mut sequential = Sequential { memory: Vec::new(), bodies: Vec::new(), span: start };
        self.tokens.expect_text("{")?;
        self.parts(|parser| {
            match parser.tokens.word() {
                "memory" => sequential.memory.push(parser.memory()?),
                "call" => sequential.bodies.push(parser.body()?),
                other => {
                    let error = parser.tokens.expected("`memory`, `call` or `}`");
                    return Err(suggested(error, other, ["memory", "call"]));
                }
            }
            Ok(())
        })?;
        let is_misspelt = nearest(self.tokens.word(), ["linearizable"]).is_some();
        self.tokens.expect_text("linearizable").map_err(|error| {
            let help = "it is the condition: `sequential { … } linearizable`";
            let (error, span) = (error.help(help), self.tokens.token().span);
            Box::new(if is_misspelt { error.replace(span, "linearizable") } else { error })
        })?;
        Ok(sequential)
    }

    fn implementation(&mut self) -> Parse<Implementation> {
        self.tokens.advance();
        let mut implementation = Implementation {
            over: None,
            memory: Vec::new(),
            locals: Vec::new(),
            bodies: Vec::new(),
            services: Vec::new(),
        };
        if self.tokens.accept_text("over") {
            let place = self.tokens.token().span;
            implementation.over = Some((self.label()?, place.to(self.tokens.previous())));
        }
        self.tokens.expect_text("{")?;
        self.parts(|parser| {
            match parser.tokens.word() {
                "memory" | "object" => implementation.memory.push(parser.memory()?),
                "local" => implementation.locals.push(parser.local()?),
                "call" => implementation.bodies.push(parser.body()?),
                "service" => implementation.services.push(parser.service()?),
                other => {
                    let error = parser
                        .tokens
                        .expected("`memory`, `object`, `local`, `call`, `service` or `}`");
                    return Err(suggested(error, other, recovery::PARTS));
                }
            }
            Ok(())
        })?;
        Ok(implementation)
    }

    /// What stands in the braces of a section, part by part.
    fn parts(&mut self, mut part: impl FnMut(&mut Self) -> Parse<()>) -> Parse<()> {
        while !self.tokens.accept_text("}") {
            let (start, depth) = (self.tokens.token().span, self.depth);
            if let Err(error) = part(self) {
                self.past_part(start, error)?;
                self.depth = depth;
            }
        }
        Ok(())
    }

    fn local(&mut self) -> Parse<Local> {
        self.tokens.advance();
        let (name, span) = self.tokens.name("the name of a variable")?;
        let (mut per_node, mut per_id) = (false, false);
        while self.tokens.accept_text("per") {
            match self.tokens.word() {
                "node" => per_node = true,
                "id" => per_id = true,
                _ => return Err(self.tokens.expected("`node` or `id`")),
            }
            self.tokens.advance();
        }
        Ok(Local { name, per_node, per_id, span })
    }

    fn body(&mut self) -> Parse<Body> {
        let start = self.tokens.token().span;
        self.tokens.advance();
        let (method, _) = self.tokens.name("the name of a method")?;
        let parameters = self.parameters()?;
        let span = start.to(self.tokens.previous());
        let statements = self.block()?;
        Ok(Body { method, parameters, statements, span })
    }

    fn service(&mut self) -> Parse<Service> {
        let start = self.tokens.token().span;
        self.tokens.advance();
        let (class, _) = self.tokens.name("the name of a class")?;
        let (name, _) = self.tokens.name("a name for the object")?;
        for word in ["on", "each", "node"] {
            self.tokens.expect_text(word)?;
        }
        let span = start.to(self.tokens.previous());
        let kind = ParameterKind::Object(class);
        let parameter = Parameter { kind, name, default: None, below: None };
        Ok(Service { parameter, statements: self.block()?, span })
    }

    fn place(&mut self) -> Parse<Place> {
        let start = self.tokens.token().span;
        let (first, _) = self.tokens.name("a place in memory, such as `x.copy@here`")?;
        self.place_after(first, start)
    }

    /// A place whose first word has been read.
    fn place_after(&mut self, first: String, start: Span) -> Parse<Place> {
        let (object, name) = match self.tokens.accept_text(".") {
            true => (Some(first), self.tokens.name("the name of memory or an attribute")?.0),
            false => (None, first),
        };
        let mut place = Place { object, name, node: None, index: Vec::new(), span: start };
        loop {
            if self.tokens.accept_text("@") {
                place.node = Some(Box::new(self.node()?));
            } else if self.tokens.accept_text("[") {
                place.index.push(self.expression()?);
                self.tokens.expect_text("]")?;
            } else {
                break;
            }
        }
        place.span = start.to(self.tokens.previous());
        Ok(place)
    }

    /// Goes one level deeper; what is called comes back out of it.
    fn deeper(&mut self) -> Parse<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("nested deeper than {DEEPEST}");
            let here = self.tokens.token().span;
            return Err(Box::new(Diagnostic::error(Code::NestingTooDeep, here, message)));
        }
        Ok(())
    }

    /// A name with hyphens, such as `rdma-wait`.
    fn label(&mut self) -> Parse<String> {
        let (mut label, mut end) = self.tokens.name("a name")?;
        while self.tokens.text_here() == "-" && self.tokens.token().span.start == end.end {
            self.tokens.advance();
            let part = self.tokens.token();
            if !self.tokens.accept(Kind::Number) {
                self.tokens.expect(Kind::Word, "the rest of the name")?;
            }
            label = format!("{label}-{}", self.tokens.text_of(part));
            end = part.span;
        }
        Ok(label)
    }
}
