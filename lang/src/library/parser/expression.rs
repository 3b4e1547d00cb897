//! Expressions: values, nodes, and sets of nodes or threads.

use super::super::lexer::Kind;
use super::super::syntax::Expr;
use super::Parser;
use crate::front::Parse;
use crate::program::BinaryOp;
use crate::source::Span;

impl Parser<'_> {
    /// `or` binds loosest, then `and`, `not`, comparisons, sets (`|`, `\`), sums, products.
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.deeper()?;
        let mut left = self.conjunction()?;
        while self.tokens.accept_text("or") {
            left = binary(BinaryOp::Or, left, self.conjunction()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn conjunction(&mut self) -> Parse<Expr> {
        let mut left = self.negation()?;
        while self.tokens.accept_text("and") {
            left = binary(BinaryOp::And, left, self.negation()?);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parse<Expr> {
        if self.tokens.accept_text("not") {
            self.deeper()?;
            let inner = self.negation()?;
            self.depth -= 1;
            return Ok(Expr::Not(Box::new(inner)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parse<Expr> {
        let left = self.sets()?;
        let op = match (self.tokens.peek(), self.tokens.text_here()) {
            (Kind::NotEqual, _) => BinaryOp::NotEqual,
            (Kind::LessEqual, _) => BinaryOp::LessEqual,
            (Kind::GreaterEqual, _) => BinaryOp::GreaterEqual,
            (_, "=") => BinaryOp::Equal,
            (_, "<") => BinaryOp::Less,
            (_, ">") => BinaryOp::Greater,
            _ => return Ok(left),
        };
        self.tokens.advance();
        if op == BinaryOp::Equal && self.tokens.text_here() == "=" {
            let error = self.tokens.expected("an expression");
            let second = self.tokens.token().span;
            return Err(Box::new(error.help("equality is written `=`").replace(second, "")));
        }
        Ok(binary(op, left, self.sets()?))
    }

    fn sets(&mut self) -> Parse<Expr> {
        let mut left = self.sum()?;
        loop {
            if self.tokens.accept_text("\\") {
                left = Expr::Without(Box::new(left), Box::new(self.sum()?));
            } else if self.tokens.accept_text("|") {
                left = Expr::Union(Box::new(left), Box::new(self.sum()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn sum(&mut self) -> Parse<Expr> {
        let mut left = self.product()?;
        loop {
            let op = match self.tokens.text_here() {
                "+" => BinaryOp::Add,
                "-" => BinaryOp::Subtract,
                _ => return Ok(left),
            };
            self.tokens.advance();
            left = binary(op, left, self.product()?);
        }
    }

    fn product(&mut self) -> Parse<Expr> {
        let mut left = self.primary()?;
        loop {
            let op = match self.tokens.text_here() {
                "*" => BinaryOp::Multiply,
                "%" => BinaryOp::Remainder,
                _ => return Ok(left),
            };
            self.tokens.advance();
            left = binary(op, left, self.primary()?);
        }
    }

    /// The node after `@`: brackets behind its name are the place's, `x.copy@n[i]`.
    pub(super) fn node(&mut self) -> Parse<Expr> {
        let span = self.tokens.token().span;
        if self.tokens.peek() != Kind::Word
            || matches!(self.tokens.text_here(), "bot" | "true" | "false")
        {
            return self.primary();
        }
        let (name, _) = self.tokens.name("")?;
        if self.tokens.text_here() == "[" {
            return Ok(Expr::Name(name, span));
        }
        self.named(name, span)
    }

    pub(super) fn primary(&mut self) -> Parse<Expr> {
        let span = self.tokens.token().span;
        match (self.tokens.peek(), self.tokens.text_here()) {
            (Kind::Number, text) => {
                let Ok(value) = text.parse() else {
                    return Err(self.tokens.expected("a number of 64 bits"));
                };
                self.tokens.advance();
                Ok(Expr::Number(value))
            }
            (Kind::Bottom, _) | (_, "bot") => {
                self.tokens.advance();
                Ok(Expr::Bottom)
            }
            (_, "true" | "false") => {
                let value = u64::from(self.tokens.text_here() == "true");
                self.tokens.advance();
                Ok(Expr::Number(value))
            }
            (_, "(") => {
                self.tokens.advance();
                let inner = self.expression()?;
                self.tokens.expect_text(")")?;
                Ok(inner)
            }
            (_, "~") => {
                self.tokens.advance();
                Ok(Expr::Remote(self.place()?))
            }
            (_, "{") => {
                self.tokens.advance();
                let mut all = Vec::new();
                while !self.tokens.accept_text("}") {
                    if !all.is_empty() {
                        self.tokens.expect_between(",", "}")?;
                    }
                    all.push(self.expression()?);
                }
                Ok(Expr::Set(all))
            }
            (Kind::Word, _) => {
                let (name, _) = self.tokens.name("")?;
                self.named(name, span)
            }
            _ => Err(self.tokens.expected("an expression")),
        }
    }

    /// A function, a place or a name, whose first word has been read.
    fn named(&mut self, name: String, span: Span) -> Parse<Expr> {
        if self.tokens.accept_text("(") {
            let mut arguments = Vec::new();
            while !self.tokens.accept_text(")") {
                if !arguments.is_empty() {
                    self.tokens.expect_between(",", ")")?;
                }
                arguments.push(self.expression()?);
            }
            return Ok(Expr::Function(name, arguments, span.to(self.tokens.previous())));
        }
        if matches!(self.tokens.text_here(), "." | "@" | "[") {
            return Ok(Expr::Place(self.place_after(name, span)?));
        }
        Ok(Expr::Name(name, span))
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Box::new(left), Box::new(right))
}
