//! Tokens to syntax tree: statements.
//!
//! Every statement begins with a reserved word, so after an error the parser goes on at the next one.

mod expression;
mod table;

use super::codes;
use super::lexer::{self, Kind, Token};
use super::model::AxiomKind;
use super::syntax::{
    Axiom, Binding, Exists, File, Function, Name, SetCell, Statement, StatementKind,
};
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::Span;

type Parse<T> = Result<T, Box<Diagnostic>>;

/// The syntax tree of a text, and what is wrong with it; statements with errors are left out.
pub fn parse(text: &str) -> (File, Vec<Diagnostic>) {
    if text.len() > super::LARGEST_FILE {
        let message = format!("expected a file of at most {} bytes", super::LARGEST_FILE);
        let error = Diagnostic::error(codes::TOO_LARGE, Span::default(), message)
            .label(format!("this one has {}", text.len()));
        return (File::default(), vec![error]);
    }
    let (tokens, diagnostics) = lexer::tokens(text);
    if tokens.is_empty() {
        return (File::default(), diagnostics);
    }
    let mut parser =
        Parser { text, tokens, next: 0, nesting: 0, in_table_head: false, diagnostics };
    let file = parser.file();
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    diagnostics.truncate(super::MOST_DIAGNOSTICS);
    (file, diagnostics)
}

struct Parser<'a> {
    text: &'a str,
    /// Never empty; the last is the end of the file.
    tokens: Vec<Token>,
    /// Always the index of a token.
    next: usize,
    /// How many operands are open around the next token.
    nesting: usize,
    /// True between `table` and its rows: a `|` at the head of a line ends the expression.
    in_table_head: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    fn file(&mut self) -> File {
        let mut file = File::default();
        if self.peek() == Kind::String {
            file.title = Some(self.string().text);
        }
        while self.peek() != Kind::EndOfFile && self.diagnostics.len() < super::MOST_DIAGNOSTICS {
            let before = self.next;
            if let Err(error) = self.statement(&mut file.statements) {
                self.report(*error);
                if self.next == before {
                    self.advance();
                }
                self.skip_to_statement();
            }
        }
        file
    }

    /// Keeps an error, unless it is about what the lexer has reported already.
    fn report(&mut self, error: Diagnostic) {
        let is_flaw =
            |token: &Token| token.kind == Kind::Flawed && token.span.start == error.span.start;
        let place = self.tokens.partition_point(|token| token.span.start < error.span.start);
        if !self.tokens.get(place).is_some_and(is_flaw) {
            self.diagnostics.push(error);
        }
    }

    /// Goes on to the next reserved word that begins a statement, or to a word at the very beginning of a
    /// line, which is meant to be one.
    fn skip_to_statement(&mut self) {
        while self.peek() != Kind::EndOfFile && !self.peek().starts_statement() {
            let start = self.token().span.start;
            let is_word = matches!(self.peek(), Kind::Name | Kind::String | Kind::Tilde);
            if is_word && self.text[..start].ends_with('\n') {
                return;
            }
            self.advance();
        }
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Parse<()> {
        let start = self.token().span;
        let kind = match self.peek() {
            Kind::Include => {
                self.advance();
                if self.peek() != Kind::String {
                    return Err(self.expected("the included model's name in quotes"));
                }
                StatementKind::Include(self.string())
            }
            Kind::Let => return self.definition(statements),
            Kind::Exists => self.exists()?,
            Kind::Table => self.table()?,
            Kind::Acyclic => self.axiom(AxiomKind::Acyclic)?,
            Kind::Irreflexive => self.axiom(AxiomKind::Irreflexive)?,
            Kind::Empty => self.axiom(AxiomKind::Empty)?,
            Kind::Calls => StatementKind::Calls(self.names()?),
            Kind::Uncall => StatementKind::Uncall(self.names()?),
            Kind::Machine => {
                self.advance();
                StatementKind::Machine(self.name("the machine's name")?)
            }
            Kind::Drop => {
                self.advance();
                StatementKind::Drop(match self.peek() {
                    Kind::String => self.string(),
                    _ => self.name("the name of an axiom")?,
                })
            }
            Kind::Set => self.set()?,
            Kind::Replace => {
                self.advance();
                self.expect(Kind::Let, "`let`")?;
                StatementKind::Replace(self.binding()?)
            }
            _ => return Err(self.no_statement()),
        };
        statements.push(self.since(start, kind));
        Ok(())
    }

    fn since(&self, start: Span, kind: StatementKind) -> Statement {
        Statement { kind, span: start.to(self.previous_span()) }
    }

    /// `let …`, `let rec … and …`, `let f(…) = …`. A `let … and …` without `rec` is as many statements.
    fn definition(&mut self, statements: &mut Vec<Statement>) -> Parse<()> {
        let start = self.token().span;
        self.advance();
        if self.accept(Kind::Rec) {
            let mut bodies = vec![self.rec_binding()?];
            while self.accept(Kind::And) {
                bodies.push(self.rec_binding()?);
            }
            statements.push(self.since(start, StatementKind::Rec(bodies)));
            return Ok(());
        }
        loop {
            let name = self.name("the name that is defined")?;
            let kind = if self.peek() == Kind::LeftParenthesis {
                let parameters = self.parameters()?;
                self.expect(Kind::Equals, "`=`")?;
                let body = self.expression()?;
                StatementKind::Function(Function { name, parameters, body })
            } else {
                self.expect(Kind::Equals, "`=`")?;
                StatementKind::Let(Binding { name, body: self.expression()? })
            };
            statements.push(self.since(start, kind));
            if !self.accept(Kind::And) {
                return Ok(());
            }
        }
    }

    fn rec_binding(&mut self) -> Parse<Binding> {
        let name = self.name("the name that is defined")?;
        if self.peek() == Kind::LeftParenthesis {
            let span = self.token().span;
            return Err(Box::new(
                Diagnostic::error(codes::SYNTAX, span, "expected `=`, found `(`")
                    .help("a function cannot be recursive: a call stands for its body"),
            ));
        }
        self.expect(Kind::Equals, "`=`")?;
        Ok(Binding { name, body: self.expression()? })
    }

    fn binding(&mut self) -> Parse<Binding> {
        let name = self.name("the name that is defined")?;
        self.expect(Kind::Equals, "`=`")?;
        Ok(Binding { name, body: self.expression()? })
    }

    fn parameters(&mut self) -> Parse<Vec<Name>> {
        self.advance();
        let mut parameters = vec![self.name("a parameter")?];
        while self.accept(Kind::Comma) {
            parameters.push(self.name("a parameter")?);
        }
        self.expect(Kind::RightParenthesis, "`,` or `)`")?;
        Ok(parameters)
    }

    fn exists(&mut self) -> Parse<StatementKind> {
        self.advance();
        let name = self.name("the name of the chosen order")?;
        self.expect(Kind::Total, "`total on`")?;
        self.expect(Kind::On, "`on`")?;
        let total_on = self.expression()?;
        let extends = if self.accept(Kind::Extends) { Some(self.expression()?) } else { None };
        Ok(StatementKind::Exists(Exists { name, total_on, extends }))
    }

    fn axiom(&mut self, kind: AxiomKind) -> Parse<StatementKind> {
        self.advance();
        let body = self.expression()?;
        let name = if self.accept(Kind::As) { Some(self.name("the axiom's name")?) } else { None };
        Ok(StatementKind::Axiom(Axiom { kind, body, name }))
    }

    fn set(&mut self) -> Parse<StatementKind> {
        self.advance();
        let table = self.name("the name of a table")?;
        self.expect(Kind::LeftBracket, "`[`")?;
        let row = self.name("the head of a row")?;
        self.expect(Kind::Comma, "`,`")?;
        let column = self.name("the head of a column")?;
        self.expect(Kind::RightBracket, "`]`")?;
        self.expect(Kind::Equals, "`=`")?;
        let cell = self.cell()?;
        Ok(StatementKind::Set(SetCell { table, row, column, cell }))
    }

    /// The names after `calls` or `uncall`: at least one.
    fn names(&mut self) -> Parse<Vec<Name>> {
        self.advance();
        let mut names = vec![self.name("the name of a statement, such as `Put`")?];
        while self.peek() == Kind::Name {
            names.push(self.name("")?);
        }
        Ok(names)
    }

    fn name(&mut self, what: &str) -> Parse<Name> {
        let token = self.token();
        if token.kind == Kind::Name {
            self.advance();
            return Ok(Name { text: self.text_of(token).to_owned(), span: token.span });
        }
        let mut error = self.expected(what);
        error.help = self.reserved(token);
        Err(error)
    }

    /// The next token, a string, without its quotes.
    fn string(&mut self) -> Name {
        let token = self.token();
        self.advance();
        Name { text: self.text_of(token).trim_matches('"').to_owned(), span: token.span }
    }

    fn no_statement(&self) -> Box<Diagnostic> {
        let token = self.token();
        let word = self.text_of(token);
        if token.kind == Kind::Name && HERD_ONLY.contains(&word) {
            let message = format!("`{word}` of herd is not in this language");
            return Box::new(Diagnostic::error(codes::NOT_IN_THIS_LANGUAGE, token.span, message));
        }
        let mut error = self.expected(match token.first_on_line {
            true => "a statement",
            false => "an operator or a statement",
        });
        error.help = match token.kind {
            Kind::Name => nearest(word, STATEMENTS).map(|known| format!("did you mean `{known}`?")),
            Kind::Tilde => Some("conditions are not negated: say what must be empty".to_owned()),
            Kind::String => Some("the title stands at the head of the file, once".to_owned()),
            _ => None,
        };
        error
    }

    /// A hint for a reserved word in the place of a name. One that begins a line is meant to be what it is.
    fn reserved(&self, token: Token) -> Option<String> {
        let is_meant = token.first_on_line || !token.kind.is_keyword();
        (!is_meant).then(|| format!("`{}` is a reserved word", self.text_of(token)))
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        let found = self.found();
        let span = self.token().span;
        Box::new(Diagnostic::error(codes::SYNTAX, span, format!("expected {what}, found {found}")))
    }

    fn found(&self) -> String {
        let token = self.token();
        match token.kind {
            Kind::EndOfFile => "the end of the file".to_owned(),
            Kind::String => "a string".to_owned(),
            _ => format!("`{}`", self.text_of(token)),
        }
    }

    fn expect(&mut self, kind: Kind, what: &str) -> Parse<()> {
        if self.accept(kind) { Ok(()) } else { Err(self.expected(what)) }
    }

    fn accept(&mut self, kind: Kind) -> bool {
        let is_next = self.peek() == kind;
        if is_next {
            self.advance();
        }
        is_next
    }

    fn advance(&mut self) {
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
    }

    fn token(&self) -> Token {
        self.tokens[self.next]
    }

    fn token_after(&self) -> Token {
        self.tokens[(self.next + 1).min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> Kind {
        self.token().kind
    }

    fn previous_span(&self) -> Span {
        self.tokens[self.next.saturating_sub(1)].span
    }

    fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.span.range()]
    }
}

/// The words that begin statements.
const STATEMENTS: [&str; 13] = [
    "include",
    "let",
    "acyclic",
    "irreflexive",
    "empty",
    "exists",
    "table",
    "calls",
    "uncall",
    "machine",
    "drop",
    "set",
    "replace",
];

/// Words that begin statements of herd's language but not of this one.
const HERD_ONLY: [&str; 15] = [
    "show",
    "unshow",
    "flag",
    "undefined_unless",
    "requires",
    "procedure",
    "call",
    "forall",
    "with",
    "enum",
    "instructions",
    "default",
    "match",
    "withco",
    "debug",
];
