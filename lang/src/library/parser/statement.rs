//! Statements of implementations.

use super::super::lexer::Kind;
use super::super::syntax::{Expr, Statement, StatementKind};
use super::Parser;
use crate::front::Parse;
use crate::limits;

/// Functions of expressions; any other name before `(` is a call.
const FUNCTIONS: [&str; 6] = ["nodes", "node", "threads", "pack", "word", "count"];

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parse<Vec<Statement>> {
        self.tokens.expect_text("{")?;
        self.deeper()?;
        let mut statements = Vec::new();
        while !self.tokens.accept_text("}") {
            limits::look();
            if self.tokens.accept_text(";") {
                continue;
            }
            let start = self.tokens.token().span;
            let kind = self.statement()?;
            statements.push(Statement { kind, span: start.to(self.tokens.previous()) });
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
