//! Tokens to syntax tree: expressions, by precedence climbing.

use super::super::lexer::Kind;
use super::super::syntax::{BinaryOp, Expr, ExprKind, Name, PostfixOp};
use super::Parser;
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Parse;
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.operators(BinaryOp::Union)
    }

    /// An expression whose outermost operator binds at least as tightly as `loosest`.
    fn operators(&mut self, loosest: BinaryOp) -> Parse<Expr> {
        let mut left = self.operand()?;
        while let Some(operator) = self.binary_operator() {
            if operator < loosest {
                break;
            }
            self.tokens.advance();
            let right = match tighter(operator) {
                Some(tighter) => self.operators(tighter)?,
                None => self.operand()?,
            };
            let span = left.span.to(right.span);
            left = self.built(ExprKind::Binary(operator, Box::new(left), Box::new(right)), span)?;
        }
        Ok(left)
    }

    fn binary_operator(&self) -> Option<BinaryOp> {
        match self.tokens.peek() {
            Kind::Pipe if self.in_table_head && self.tokens.token().first_on_line => None,
            Kind::Pipe => Some(BinaryOp::Union),
            Kind::Semicolon => Some(BinaryOp::Sequence),
            Kind::Backslash => Some(BinaryOp::Difference),
            Kind::Ampersand => Some(BinaryOp::Intersection),
            Kind::Star => Some(BinaryOp::Product),
            _ => None,
        }
    }

    /// An operand with the operators before and behind it.
    fn operand(&mut self) -> Parse<Expr> {
        if self.nesting >= super::super::DEEPEST {
            return Err(too_deep(self.tokens.token().span));
        }
        self.nesting += 1;
        let operand = self.nested_operand();
        self.nesting -= 1;
        operand
    }

    fn nested_operand(&mut self) -> Parse<Expr> {
        let start = self.tokens.token().span;
        if self.tokens.accept(Kind::Tilde) {
            let inner = self.operand()?;
            let span = start.to(inner.span);
            return self.built(ExprKind::Complement(Box::new(inner)), span);
        }
        let mut operand = self.primary()?;
        while let Some(operator) = self.postfix_operator() {
            let span = operand.span.to(self.tokens.token().span);
            self.tokens.advance();
            operand = self.built(ExprKind::Postfix(operator, Box::new(operand)), span)?;
        }
        Ok(operand)
    }

    fn postfix_operator(&self) -> Option<PostfixOp> {
        match self.tokens.peek() {
            Kind::Inverse => Some(PostfixOp::Inverse),
            Kind::Plus => Some(PostfixOp::Plus),
            Kind::Question => Some(PostfixOp::Optional),
            Kind::Star => {
                let product = self.tokens.text_of(self.tokens.token()) == "*"
                    && self.tokens.token_after().kind.starts_operand();
                if product { None } else { Some(PostfixOp::Star) }
            }
            _ => None,
        }
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = self.tokens.token();
        let span = token.span;
        let kind = match token.kind {
            Kind::Name => {
                self.tokens.advance();
                let text = self.tokens.text_of(token).to_owned();
                if self.tokens.peek() == Kind::LeftParenthesis {
                    return self.call(Name { text, span });
                }
                ExprKind::Name(text)
            }
            Kind::Number if self.tokens.text_of(token) == "0" => {
                self.tokens.advance();
                ExprKind::Zero
            }
            Kind::LeftBrace => {
                self.tokens.advance();
                self.tokens.expect(Kind::RightBrace, "`}`")?;
                ExprKind::Braces
            }
            Kind::Underscore => {
                self.tokens.advance();
                ExprKind::Universe
            }
            Kind::LeftParenthesis => {
                self.tokens.advance();
                return self.enclosed(Kind::RightParenthesis, "an operator or `)`");
            }
            Kind::LeftBracket => {
                self.tokens.advance();
                ExprKind::Identity(Box::new(
                    self.enclosed(Kind::RightBracket, "an operator or `]`")?,
                ))
            }
            Kind::Domain => ExprKind::Domain(self.argument()?),
            Kind::Range => ExprKind::Range(self.argument()?),
            _ => return Err(self.no_operand()),
        };
        self.built(kind, span.to(self.tokens.previous()))
    }

    fn no_operand(&self) -> Box<Diagnostic> {
        let mut error = self.tokens.expected("a set or relation");
        let token = self.tokens.token();
        error.help = match token.kind {
            Kind::Number => Some("the only number is `0`, nothing".to_owned()),
            _ => self.reserved(token),
        };
        error
    }

    /// What stands before a closing parenthesis or bracket. A line that begins with `|` goes on in there.
    fn enclosed(&mut self, close: Kind, expected: &str) -> Parse<Expr> {
        let in_table_head = std::mem::replace(&mut self.in_table_head, false);
        let inner = self.expression();
        self.in_table_head = in_table_head;
        let inner = inner?;
        self.tokens.expect(close, expected)?;
        Ok(inner)
    }

    /// The argument of `domain` or `range`.
    fn argument(&mut self) -> Parse<Box<Expr>> {
        self.tokens.advance();
        self.tokens.expect(Kind::LeftParenthesis, "`(`")?;
        Ok(Box::new(self.enclosed(Kind::RightParenthesis, "an operator or `)`")?))
    }

    fn call(&mut self, name: Name) -> Parse<Expr> {
        self.tokens.advance();
        let in_table_head = std::mem::replace(&mut self.in_table_head, false);
        let arguments = self.arguments();
        self.in_table_head = in_table_head;
        let span = name.span.to(self.tokens.previous());
        self.built(ExprKind::Call(name, arguments?), span)
    }

    fn arguments(&mut self) -> Parse<Vec<Expr>> {
        let mut arguments = vec![self.expression()?];
        while self.tokens.accept(Kind::Comma) {
            arguments.push(self.expression()?);
        }
        self.tokens.expect(Kind::RightParenthesis, "an operator, `,` or `)`")?;
        Ok(arguments)
    }

    fn built(&self, kind: ExprKind, span: Span) -> Parse<Expr> {
        let expression = Expr::new(kind, span);
        if expression.height() > super::super::DEEPEST {
            Err(too_deep(span))
        } else {
            Ok(expression)
        }
    }
}

/// The next tighter binary operator.
fn tighter(operator: BinaryOp) -> Option<BinaryOp> {
    match operator {
        BinaryOp::Union => Some(BinaryOp::Sequence),
        BinaryOp::Sequence => Some(BinaryOp::Difference),
        BinaryOp::Difference => Some(BinaryOp::Intersection),
        BinaryOp::Intersection => Some(BinaryOp::Product),
        BinaryOp::Product => None,
    }
}

fn too_deep(span: Span) -> Box<Diagnostic> {
    let message = format!("an expression has at most {} levels", super::super::DEEPEST);
    Box::new(Diagnostic::error(Code::TooDeep, span, message).help(
        "name a part of it with `let`; a chain such as `a | b | c` has a level for each operator",
    ))
}
