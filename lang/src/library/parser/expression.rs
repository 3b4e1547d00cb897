//! Expressions: values, nodes, and sets of nodes or threads.

use super::super::lexer::Kind;
use super::super::syntax::Expr;
use super::{Parse, Parser};
use crate::program::BinaryOp;

impl Parser<'_> {
    /// `or` binds loosest, then `and`, `not`, comparisons, sets (`|`, `\`), sums, products.
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.deeper()?;
        let mut left = self.conjunction()?;
        while self.word() == "or" {
            self.advance();
            left = binary(BinaryOp::Or, left, self.conjunction()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn conjunction(&mut self) -> Parse<Expr> {
        let mut left = self.negation()?;
        while self.word() == "and" {
            self.advance();
            left = binary(BinaryOp::And, left, self.negation()?);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parse<Expr> {
        if self.word() == "not" {
            self.advance();
            self.deeper()?;
            let inner = self.negation()?;
            self.depth -= 1;
            return Ok(Expr::Not(Box::new(inner)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parse<Expr> {
        let left = self.sets()?;
        let op = match (self.peek(), self.text_here()) {
            (Kind::NotEqual, _) => BinaryOp::NotEqual,
            (Kind::LessEqual, _) => BinaryOp::LessEqual,
            (Kind::GreaterEqual, _) => BinaryOp::GreaterEqual,
            (_, "=") => BinaryOp::Equal,
            (_, "<") => BinaryOp::Less,
            (_, ">") => BinaryOp::Greater,
            _ => return Ok(left),
        };
        self.advance();
        Ok(binary(op, left, self.sets()?))
    }

    fn sets(&mut self) -> Parse<Expr> {
        let mut left = self.sum()?;
        loop {
            if self.accept("\\") {
                left = Expr::Without(Box::new(left), Box::new(self.sum()?));
            } else if self.accept("|") {
                left = Expr::Union(Box::new(left), Box::new(self.sum()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn sum(&mut self) -> Parse<Expr> {
        let mut left = self.product()?;
        loop {
            let op = match self.text_here() {
                "+" => BinaryOp::Add,
                "-" => BinaryOp::Subtract,
                _ => return Ok(left),
            };
            self.advance();
            left = binary(op, left, self.product()?);
        }
    }

    fn product(&mut self) -> Parse<Expr> {
        let mut left = self.primary()?;
        loop {
            let op = match self.text_here() {
                "*" => BinaryOp::Multiply,
                "%" => BinaryOp::Remainder,
                _ => return Ok(left),
            };
            self.advance();
            left = binary(op, left, self.primary()?);
        }
    }

    pub(super) fn primary(&mut self) -> Parse<Expr> {
        let span = self.token().span;
        match (self.peek(), self.text_here()) {
            (Kind::Number, text) => {
                let Ok(value) = text.parse() else {
                    return Err(self.expected("a number of 64 bits"));
                };
                self.advance();
                Ok(Expr::Number(value))
            }
            (Kind::Bottom, _) | (_, "bot") => {
                self.advance();
                Ok(Expr::Bottom)
            }
            (_, "true" | "false") => {
                let value = u64::from(self.text_here() == "true");
                self.advance();
                Ok(Expr::Number(value))
            }
            (_, "(") => {
                self.advance();
                let inner = self.expression()?;
                self.symbol(")")?;
                Ok(inner)
            }
            (_, "~") => {
                self.advance();
                Ok(Expr::Remote(self.place()?))
            }
            (_, "{") => {
                self.advance();
                let mut all = Vec::new();
                while !self.accept("}") {
                    if !all.is_empty() {
                        self.symbol(",")?;
                    }
                    all.push(self.expression()?);
                }
                Ok(Expr::Set(all))
            }
            (Kind::Word, _) => {
                let (name, _) = self.name("")?;
                if self.accept("(") {
                    let mut arguments = Vec::new();
                    while !self.accept(")") {
                        if !arguments.is_empty() {
                            self.symbol(",")?;
                        }
                        arguments.push(self.expression()?);
                    }
                    return Ok(Expr::Function(name, arguments, span.to(self.previous())));
                }
                if matches!(self.text_here(), "." | "@" | "[") {
                    return Ok(Expr::Place(self.place_after(name, span)?));
                }
                Ok(Expr::Name(name, span))
            }
            _ => Err(self.expected("an expression")),
        }
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Box::new(left), Box::new(right))
}
