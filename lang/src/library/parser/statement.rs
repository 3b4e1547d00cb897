//! Statements of implementations.

use super::super::check::FUNCTIONS;
use super::super::lexer::Kind;
use super::super::syntax::{Expr, Statement, StatementKind};
use super::Parser;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::front::Parse;
use crate::limits;
use crate::source::Span;

/// The words of statements.
const WORDS: [&str; 9] =
    ["if", "else", "loop", "while", "for", "break", "skip", "return", "Mfence"];

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parse<Vec<Statement>> {
        if let Err(error) = self.tokens.expect_text("{") {
            // Where the line ends without it, it is taken to be there: the block has a `}`.
            if !self.tokens.token().first_on_line || self.is_outside() {
                return Err(error);
            }
            self.tokens.report(*error);
        }
        self.deeper()?;
        let mut statements = Vec::new();
        while !self.tokens.accept_text("}") {
            limits::look();
            if self.tokens.accept_text(";") {
                continue;
            }
            if self.is_outside() {
                return Err(self.tokens.expected("`}`"));
            }
            let (start, depth) = (self.tokens.token().span, self.depth);
            match self.statement() {
                Ok(kind) => {
                    let span = start.to(self.tokens.previous());
                    statements.push(Statement { kind, span });
                }
                Err(error) => {
                    self.past_statement(start, error)?;
                    self.depth = depth;
                }
            }
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self) -> Parse<StatementKind> {
        match self.tokens.word() {
            "if" => {
                self.tokens.advance();
                self.conditional()
            }
            "loop" => {
                self.tokens.advance();
                Ok(StatementKind::Loop(self.block()?))
            }
            "while" => {
                self.tokens.advance();
                let condition = self.expression()?;
                Ok(StatementKind::While(condition, self.block()?))
            }
            "for" => self.repetition(),
            "break" => {
                self.tokens.advance();
                Ok(StatementKind::Break)
            }
            "skip" => {
                self.tokens.advance();
                Ok(StatementKind::Skip)
            }
            "return" => {
                self.tokens.advance();
                let value = match self.tokens.text_here() {
                    ";" | "}" => None,
                    _ => Some(self.expression()?),
                };
                Ok(StatementKind::Return(value))
            }
            _ => self.simple(),
        }
    }

    /// A word that nothing is assigned to.
    fn no_statement(&self, name: &str, span: Span) -> Box<Diagnostic> {
        if WORDS.contains(&name) {
            let message = format!("expected a statement, found `{name}`");
            let error = Diagnostic::error(Code::Syntax, span, message);
            return Box::new(error.help("`else` stands behind the block of an `if`"));
        }
        let error = self.tokens.expected("`:=`");
        let is_behind_block = self.tokens.text[..span.start].trim_end().ends_with('}');
        let known = WORDS.into_iter().filter(|known| *known != "else" || is_behind_block);
        match nearest(name, known) {
            Some(near) => {
                let message = format!("expected a statement, found `{name}`");
                Box::new(Diagnostic::error(Code::Syntax, span, message).did_you_mean(near))
            }
            None => error,
        }
    }

    fn conditional(&mut self) -> Parse<StatementKind> {
        self.deeper()?;
        let condition = self.expression()?;
        let then = self.block()?;
        let mut otherwise = Vec::new();
        if self.tokens.accept_text("else") {
            if self.tokens.word() == "if" {
                let start = self.tokens.token().span;
                self.tokens.advance();
                let kind = self.conditional()?;
                otherwise.push(Statement { kind, span: start.to(self.tokens.previous()) });
            } else {
                otherwise = self.block()?;
            }
        }
        self.depth -= 1;
        Ok(StatementKind::If(condition, then, otherwise))
    }

    fn repetition(&mut self) -> Parse<StatementKind> {
        self.tokens.advance();
        let (variable, _) = self.tokens.name("a variable")?;
        self.tokens.expect_text("in")?;
        let first = self.expression()?;
        if self.tokens.accept(Kind::Range) {
            let last = self.expression()?;
            return Ok(StatementKind::Count(variable, first, last, self.block()?));
        }
        Ok(StatementKind::For(variable, first, self.block()?))
    }

    /// An assignment or a call.
    fn simple(&mut self) -> Parse<StatementKind> {
        let target = self.primary()?;
        if self.tokens.peek() != Kind::Assign {
            return match target {
                Expr::Function(name, arguments, _) => {
                    Ok(StatementKind::Call { result: None, name, arguments, id: None })
                }
                Expr::Name(name, _) if name == "Mfence" => {
                    Ok(StatementKind::Call { result: None, name, arguments: Vec::new(), id: None })
                }
                Expr::Name(name, span) => Err(self.no_statement(&name, span)),
                _ => Err(self.tokens.expected("`:=`")),
            };
        }
        self.tokens.advance();
        let id = if self.tokens.accept_text("^") { Some(self.primary()?) } else { None };
        match (self.expression()?, target) {
            (Expr::Function(name, arguments, _), Expr::Name(result, span))
                if !FUNCTIONS.contains(&name.as_str()) =>
            {
                Ok(StatementKind::Call { result: Some((result, span)), name, arguments, id })
            }
            (value, target) => Ok(StatementKind::Assign { target, id, value }),
        }
    }
}
