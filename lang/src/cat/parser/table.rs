//! Tokens to syntax tree: tables, whose rows are lines.

use super::super::lexer::{Kind, Token};
use super::super::syntax::{Binding, Cell, CellKind, Name, Row, StatementKind, Table};
use super::Parser;
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Parse;
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn table(&mut self) -> Parse<StatementKind> {
        self.tokens.advance();
        self.in_table_head = true;
        let head = self.table_head();
        self.in_table_head = false;
        let (name, on, letters) = head?;
        if !self.at_row() {
            return Err(self
                .tokens
                .expected("an operator, or the table's first row on a new line"));
        }
        let columns = self.head_row()?;
        let mut rows = Vec::new();
        while self.at_row() {
            // A broken row does not stop the others from being read.
            match self.row() {
                Ok(row) => rows.push(row),
                Err(error) => self.tokens.report(*error),
            }
        }
        self.tokens.expect(Kind::End, "a row or `end`")?;
        Ok(StatementKind::Table(Table { name, on, letters, columns, rows }))
    }

    fn table_head(&mut self) -> Parse<(Name, super::super::syntax::Expr, Vec<Binding>)> {
        let name = self.name("the table's name")?;
        self.tokens.expect(Kind::On, "`on`")?;
        let on = self.expression()?;
        let mut letters = Vec::new();
        if self.tokens.accept(Kind::Where) {
            letters.push(self.binding()?);
            while self.tokens.accept(Kind::Comma) {
                letters.push(self.binding()?);
            }
        }
        Ok((name, on, letters))
    }

    fn at_row(&self) -> bool {
        self.tokens.peek() == Kind::Pipe && self.tokens.token().first_on_line
    }

    /// `| | aCR | aCW |`.
    fn head_row(&mut self) -> Parse<Vec<Name>> {
        let (line, cells) = self.line()?;
        let mut cells = cells.into_iter();
        if let Some(Some(corner)) = cells.next() {
            return Err(unexpected(
                "nothing in the corner of the table",
                self.tokens.text_of(corner),
                corner.span,
            ));
        }
        let columns = cells.map(|cell| self.head(cell, line)).collect::<Parse<Vec<_>>>()?;
        if columns.is_empty() {
            return Err(unexpected("a column", "nothing", line));
        }
        Ok(columns)
    }

    fn row(&mut self) -> Parse<Row> {
        let (span, cells) = self.line()?;
        let mut cells = cells.into_iter();
        let head = self.head(cells.next().flatten(), span)?;
        let cells = cells.map(|cell| self.row_cell(cell, span)).collect::<Parse<_>>()?;
        Ok(Row { head, cells, span })
    }

    /// The line's tokens between its `|`, at most one in each place; the line is behind us even if it is
    /// wrong.
    fn line(&mut self) -> Parse<(Span, Vec<Option<Token>>)> {
        let mut tokens = vec![self.tokens.token()];
        self.tokens.advance();
        while !self.tokens.token().first_on_line {
            tokens.push(self.tokens.token());
            self.tokens.advance();
        }
        let line = tokens[0].span.to(self.tokens.previous());
        let last = tokens[tokens.len() - 1];
        if last.kind != Kind::Pipe || tokens.len() == 1 {
            let end = Span::new(last.span.end, last.span.end);
            return Err(Box::new(
                Diagnostic::error(Code::Syntax, end, "expected `|`, found the end of the row")
                    .label("a row is one line and ends with `|`"),
            ));
        }
        let mut cells = Vec::new();
        for between in tokens[1..].split_inclusive(|token| token.kind == Kind::Pipe) {
            match between {
                [] | [_] => cells.push(None),
                [cell, _] => cells.push(Some(*cell)),
                [_, second, ..] => {
                    return Err(unexpected("`|`", self.tokens.text_of(*second), second.span));
                }
            }
        }
        Ok((line, cells))
    }

    fn head(&self, cell: Option<Token>, line: Span) -> Parse<Name> {
        match cell {
            Some(token) if token.kind == Kind::Name => {
                Ok(Name { text: self.tokens.text_of(token).to_owned(), span: token.span })
            }
            Some(token) => {
                Err(unexpected("the name of a set", self.tokens.text_of(token), token.span))
            }
            None => Err(unexpected("the name of a set in every head", "an empty one", line)),
        }
    }

    fn row_cell(&self, cell: Option<Token>, line: Span) -> Parse<Cell> {
        match cell {
            Some(token) => self.cell_of(token),
            None => Err(unexpected("`✓`, `·` or a letter in every cell", "an empty one", line)),
        }
    }

    /// The next token as a cell.
    pub(super) fn cell(&mut self) -> Parse<Cell> {
        let token = self.tokens.token();
        if token.kind == Kind::EndOfFile {
            return Err(self.tokens.expected("`✓`, `·` or a letter"));
        }
        let cell = self.cell_of(token)?;
        self.tokens.advance();
        Ok(cell)
    }

    fn cell_of(&self, token: Token) -> Parse<Cell> {
        let kind = match token.kind {
            Kind::Check | Kind::Plus => CellKind::Ordered,
            Kind::Dot => CellKind::Unordered,
            Kind::Name => CellKind::Letter(self.tokens.text_of(token).to_owned()),
            _ => {
                return Err(unexpected(
                    "`✓`, `·` or a letter",
                    self.tokens.text_of(token),
                    token.span,
                ));
            }
        };
        Ok(Cell { kind, span: token.span })
    }
}

fn unexpected(expected: &str, found: &str, span: Span) -> Box<Diagnostic> {
    let quote = if found.contains(' ') || found == "nothing" { "" } else { "`" };
    let message = format!("expected {expected}, found {quote}{found}{quote}");
    Box::new(Diagnostic::error(Code::Syntax, span, message))
}
