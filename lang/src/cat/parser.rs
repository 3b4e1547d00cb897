//! Tokens to syntax tree: statements.
//!
//! Every statement begins with a reserved word, so after an error the parser goes on at the next one.

mod expression;
mod table;

use super::lexer::{Kind, Token};
use super::model::AxiomKind;
use super::syntax::{
    Axiom, Binding, Exists, File, Function, Name, SetCell, Statement, StatementKind,
};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::front::{Cursor, Parse};
use crate::source::Span;

/// The syntax tree of a text, and what is wrong with it; statements with errors are left out.
pub fn parse(text: &str) -> (File, Vec<Diagnostic>) {
    let mut parser = Parser { tokens: Cursor::new(text), nesting: 0, in_table_head: false };
    let file = parser.file();
    let mut diagnostics = parser.tokens.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    diagnostics.truncate(super::MOST_DIAGNOSTICS);
    (file, diagnostics)
}

struct Parser<'a> {
    tokens: Cursor<'a, Kind>,
    /// How many operands are open around the next token.
    nesting: usize,
    /// True between `table` and its rows: a `|` at the head of a line ends the expression.
    in_table_head: bool,
}

impl<'a> Parser<'a> {
    fn file(&mut self) -> File {
        let mut file = File { title: self.tokens.title(), ..File::default() };
        while !self.tokens.is_at_end() && self.tokens.diagnostics.len() < super::MOST_DIAGNOSTICS {
            let before = self.tokens.token().span;
            if let Err(error) = self.statement(&mut file.statements) {
                self.tokens.report(*error);
                if self.tokens.token().span == before {
                    self.tokens.advance();
                }
                self.skip_to_statement();
            }
        }
        file
    }

    /// Goes on to the next reserved word that begins a statement, or to a word at the very beginning of a
    /// line, which is meant to be one.
    fn skip_to_statement(&mut self) {
        while self.tokens.peek() != Kind::EndOfFile && !self.tokens.peek().starts_statement() {
            let start = self.tokens.token().span.start;
            let is_word = matches!(self.tokens.peek(), Kind::Name | Kind::String | Kind::Tilde);
            if is_word && self.tokens.text[..start].ends_with('\n') {
                return;
            }
            self.tokens.advance();
        }
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Parse<()> {
        let start = self.tokens.token().span;
        let kind = match self.tokens.peek() {
            Kind::Include => {
                self.tokens.advance();
                StatementKind::Include(self.string("the included model's name in quotes")?)
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
                self.tokens.advance();
                StatementKind::Machine(self.name("the machine's name")?)
            }
            Kind::Hardware => {
                self.tokens.advance();
                StatementKind::Hardware(self.name("the name of a model, or `none`")?)
            }
            Kind::Drop => {
                self.tokens.advance();
                StatementKind::Drop(match self.tokens.peek() {
                    Kind::String => self.string("the name of an axiom")?,
                    _ => self.name("the name of an axiom")?,
                })
            }
            Kind::Set => self.set()?,
            Kind::Replace => {
                self.tokens.advance();
                self.tokens.expect(Kind::Let, "`let`")?;
                StatementKind::Replace(self.binding()?)
            }
            _ => return Err(self.no_statement()),
        };
        statements.push(self.since(start, kind));
        Ok(())
    }

    fn since(&self, start: Span, kind: StatementKind) -> Statement {
        Statement { kind, span: start.to(self.tokens.previous()) }
    }

    /// `let …`, `let rec … and …`, `let f(…) = …`. A `let … and …` without `rec` is as many statements.
    fn definition(&mut self, statements: &mut Vec<Statement>) -> Parse<()> {
        let start = self.tokens.token().span;
        self.tokens.advance();
        if self.tokens.accept(Kind::Rec) {
            let mut bodies = vec![self.rec_binding()?];
            while self.tokens.accept(Kind::And) {
                bodies.push(self.rec_binding()?);
            }
            statements.push(self.since(start, StatementKind::Rec(bodies)));
            return Ok(());
        }
        loop {
            let name = self.name("the name that is defined")?;
            let kind = if self.tokens.peek() == Kind::LeftParenthesis {
                let parameters = self.parameters()?;
                self.tokens.expect(Kind::Equals, "`=`")?;
                let body = self.expression()?;
                StatementKind::Function(Function { name, parameters, body })
            } else {
                self.tokens.expect(Kind::Equals, "`=`")?;
                StatementKind::Let(Binding { name, body: self.expression()? })
            };
            statements.push(self.since(start, kind));
            if !self.tokens.accept(Kind::And) {
                return Ok(());
            }
        }
    }

    fn rec_binding(&mut self) -> Parse<Binding> {
        let name = self.name("the name that is defined")?;
        if self.tokens.peek() == Kind::LeftParenthesis {
            let span = self.tokens.token().span;
            return Err(Box::new(
                Diagnostic::error(Code::Syntax, span, "expected `=`, found `(`")
                    .help("a function cannot be recursive: a call stands for its body"),
            ));
        }
        self.tokens.expect(Kind::Equals, "`=`")?;
        Ok(Binding { name, body: self.expression()? })
    }

    fn binding(&mut self) -> Parse<Binding> {
        let name = self.name("the name that is defined")?;
        self.tokens.expect(Kind::Equals, "`=`")?;
        Ok(Binding { name, body: self.expression()? })
    }

    fn parameters(&mut self) -> Parse<Vec<Name>> {
        self.tokens.advance();
        let mut parameters = vec![self.name("a parameter")?];
        while self.tokens.accept(Kind::Comma) {
            parameters.push(self.name("a parameter")?);
        }
        self.tokens.expect(Kind::RightParenthesis, "`,` or `)`")?;
        Ok(parameters)
    }

    fn exists(&mut self) -> Parse<StatementKind> {
        self.tokens.advance();
        let name = self.name("the name of the chosen order")?;
        self.tokens.expect(Kind::Total, "`total on`")?;
        self.tokens.expect(Kind::On, "`on`")?;
        let total_on = self.expression()?;
        let extends =
            if self.tokens.accept(Kind::Extends) { Some(self.expression()?) } else { None };
        Ok(StatementKind::Exists(Exists { name, total_on, extends }))
    }

    fn axiom(&mut self, kind: AxiomKind) -> Parse<StatementKind> {
        self.tokens.advance();
        let body = self.expression()?;
        let name =
            if self.tokens.accept(Kind::As) { Some(self.name("the axiom's name")?) } else { None };
        Ok(StatementKind::Axiom(Axiom { kind, body, name }))
    }

    fn set(&mut self) -> Parse<StatementKind> {
        self.tokens.advance();
        let table = self.name("the name of a table")?;
        self.tokens.expect(Kind::LeftBracket, "`[`")?;
        let row = self.name("the head of a row")?;
        self.tokens.expect(Kind::Comma, "`,`")?;
        let column = self.name("the head of a column")?;
        self.tokens.expect(Kind::RightBracket, "`]`")?;
        self.tokens.expect(Kind::Equals, "`=`")?;
        let cell = self.cell()?;
        Ok(StatementKind::Set(SetCell { table, row, column, cell }))
    }

    /// The names after `calls` or `uncall`: at least one.
    fn names(&mut self) -> Parse<Vec<Name>> {
        self.tokens.advance();
        let mut names = vec![self.name("the name of a statement, such as `Put`")?];
        while self.tokens.peek() == Kind::Name {
            names.push(self.name("")?);
        }
        Ok(names)
    }

    fn name(&mut self, what: &str) -> Parse<Name> {
        let token = self.tokens.token();
        let (text, span) = self.tokens.name(what).map_err(|mut error| {
            error.help = self.reserved(token);
            error
        })?;
        Ok(Name { text, span })
    }

    fn string(&mut self, what: &str) -> Parse<Name> {
        let (text, span) = self.tokens.string(what)?;
        Ok(Name { text, span })
    }

    fn no_statement(&self) -> Box<Diagnostic> {
        let token = self.tokens.token();
        let word = self.tokens.text_of(token);
        if token.kind == Kind::Name && HERD_ONLY.contains(&word) {
            let message = format!("`{word}` of herd is not in this language");
            return Box::new(Diagnostic::error(Code::NotInThisLanguage, token.span, message));
        }
        let mut error = *self.tokens.expected(match token.first_on_line {
            true => "a statement",
            false => "an operator or a statement",
        });
        if token.kind == Kind::Name
            && let Some(known) = nearest(word, STATEMENTS)
        {
            return Box::new(error.did_you_mean(known));
        }
        error.help = match token.kind {
            Kind::Tilde => Some("conditions are not negated: say what must be empty".to_owned()),
            Kind::String => Some("the title stands at the head of the file, once".to_owned()),
            _ => None,
        };
        Box::new(error)
    }

    /// A hint for a reserved word in the place of a name. One that begins a line is meant to be what it is.
    fn reserved(&self, token: Token) -> Option<String> {
        let is_meant = token.first_on_line || !token.kind.is_keyword();
        (!is_meant).then(|| format!("`{}` is a reserved word", self.tokens.text_of(token)))
    }
}

/// The words that begin statements.
const STATEMENTS: [&str; 14] = [
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
    "hardware",
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
