//! Where all stages of all languages put what they find wrong.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::source::{Source, Span};

/// The most errors that are reported of a text and what it includes, and the most warnings.
pub const MOST_DIAGNOSTICS: usize = 100;

/// Diagnostics with the index of their file, each once.
#[derive(Default)]
pub(crate) struct Sink {
    found: BTreeMap<(usize, Span, Code, String), Diagnostic>,
    errors: usize,
    warnings: usize,
    /// While true, nothing is kept: types are tried before they are checked.
    pub(crate) quiet: bool,
}

impl Sink {
    /// Keeps what is wrong with the only file, or with the first.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.push_in(0, diagnostic);
    }

    pub(crate) fn push_in(&mut self, file: usize, diagnostic: Diagnostic) {
        let count = if diagnostic.is_error() { &mut self.errors } else { &mut self.warnings };
        if self.quiet || *count >= MOST_DIAGNOSTICS {
            return;
        }
        let key = (file, diagnostic.span, diagnostic.code, diagnostic.message.clone());
        self.found.entry(key).or_insert_with(|| {
            *count += 1;
            diagnostic
        });
    }

    /// The word that is reported at a place stands at another one, too: what mends the one mends the other.
    pub(crate) fn also(&mut self, code: Code, reported: Span, span: Span) {
        let is_of = |one: &&mut Diagnostic| one.code == code && one.span == reported;
        if let Some(fix) = self.found.values_mut().find(is_of).and_then(|one| one.fix.as_mut())
            && let Some((_, text)) = fix.edits.first().cloned()
            && !fix.edits.iter().any(|(known, _)| *known == span)
        {
            fix.edits.push((span, text));
        }
    }

    /// True if an error would not be kept: then it needs no words and no hints.
    pub(crate) fn is_deaf(&self) -> bool {
        self.quiet || self.errors >= MOST_DIAGNOSTICS
    }

    /// The known word that a misspelt one is nearest to.
    pub(crate) fn suggest<'a>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        // Comparing words takes the product of their lengths.
        let short = |word: &str| word.len() <= 64;
        let known = known.into_iter().filter(|known| short(known));
        if self.is_deaf() || !short(word) { None } else { nearest(word, known) }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All of them, by place.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        self.found.into_values().collect()
    }

    /// All of them, by file and place.
    pub(crate) fn into_pairs(self, sources: &[Source]) -> Vec<(Source, Diagnostic)> {
        self.found
            .into_iter()
            .filter_map(|((file, ..), found)| Some((sources.get(file)?.clone(), found)))
            .collect()
    }
}
