//! Arrays: requests of several words, and indices that are none of a word.

use lang::diagnostic::Code;
use lang::program::{Stmt, Words};
use lang::source::Span;

use super::super::{Guard, Misuse, Stamp};
use super::{Builder, Shape};

impl Builder<'_> {
    /// A put or get of several words: for each, the events of one of a word. All are of one operation.
    pub(super) fn words(&mut self, words: &Words, stmt: &Stmt) {
        let Some(towards) = self.program.towards(&stmt.kind) else { return };
        let live = self.live;
        let whole = self.request(stmt.span, towards, words.id);
        let (reads, writes) = match words.is_put {
            true => (Stamp::NicLocalRead, Stamp::NicRemoteWrite),
            false => (Stamp::NicRemoteRead, Stamp::NicLocalWrite),
        };
        let mut ends = Vec::new();
        for (word, (from, to)) in words.moves().enumerate() {
            let shape = Shape { word, ..whole };
            let value = self.read(shape, reads, live, from);
            ends.push(self.event(shape, writes, live, Some(to), Some(value)));
        }
        if let Some(last) = ends.pop() {
            self.operation(stmt, towards, last, ends);
        }
    }

    /// An access of a word that an array does not have. The execution does not count.
    pub(super) fn out_of_range(&mut self, array: &str, words: u64, span: Span) {
        let (guard, point) = (self.live, self.point());
        if guard != Guard::FALSE {
            let code = Code::IndexOutOfRange;
            let message = format!("the index of `{array}` is not from 0 to {}", words - 1);
            self.skeleton.misuses.push(Misuse { guard, point, code, message, span, related: None });
        }
        self.live = Guard::FALSE;
    }
}
