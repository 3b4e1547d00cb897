//! Where the stages put what they find wrong.

use std::collections::BTreeMap;

use super::MOST_DIAGNOSTICS;
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

/// Diagnostics with the index of their file, each once.
#[derive(Default)]
pub(super) struct Sink {
    found: BTreeMap<(usize, Span, &'static str), Diagnostic>,
    errors: usize,
    warnings: usize,
    /// While true, nothing is kept: types are tried before they are checked.
    pub(super) quiet: bool,
}

impl Sink {
    pub(super) fn push(&mut self, file: usize, diagnostic: Diagnostic) {
        let count = if diagnostic.is_error() { &mut self.errors } else { &mut self.warnings };
        if self.quiet || *count >= MOST_DIAGNOSTICS {
            return;
        }
        self.found.entry((file, diagnostic.span, diagnostic.code)).or_insert_with(|| {
            *count += 1;
            diagnostic
        });
    }

    /// True if an error would not be kept: then it need not be worded.
    pub(super) fn is_deaf(&self) -> bool {
        self.quiet || self.errors >= MOST_DIAGNOSTICS
    }

    pub(super) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All of them, by file and place.
    pub(super) fn into_pairs(self, sources: &[Source]) -> Vec<(Source, Diagnostic)> {
        self.found
            .into_iter()
            .filter_map(|((file, ..), found)| Some((sources.get(file)?.clone(), found)))
            .collect()
    }
}
