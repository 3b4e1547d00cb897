//! Changes of a text that make a diagnostic go away, for editors to offer.

use super::Diagnostic;
use crate::source::Span;

/// A change of the text in which a problem was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, in a few words.
    pub title: String,
    /// What to replace, and by what. Places do not overlap; an empty one is where text is inserted.
    pub edits: Vec<(Span, String)>,
}

impl Diagnostic {
    /// The same with a change that replaces a part of the text, called after its new text.
    #[must_use]
    pub fn replace(self, span: Span, text: impl Into<String>) -> Self {
        let text = text.into();
        let title = format!("write `{}`", text.trim());
        self.fixed(title, span, text)
    }

    /// The same with a change that replaces a part of the text.
    #[must_use]
    pub fn fixed(mut self, title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        self.fix = Some(Fix { title: title.into(), edits: vec![(span, text.into())] });
        self
    }

    /// The same with the hint that a known word is meant by the one that stands at the place.
    #[must_use]
    pub fn did_you_mean(self, known: &str) -> Self {
        let span = self.span;
        self.help(format!("did you mean `{known}`?")).replace(span, known)
    }
}

/// The text after some changes, whatever their order.
pub fn apply(text: &str, edits: &[(Span, String)]) -> String {
    let mut edits: Vec<&(Span, String)> = edits.iter().collect();
    edits.sort_by_key(|(span, _)| *span);
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for (span, new) in edits {
        out.push_str(text.get(end..span.start).unwrap_or_default());
        out.push_str(new);
        end = end.max(span.end);
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_applied_by_place() {
        let edits = [(Span::new(4, 5), "z".to_owned()), (Span::new(1, 1), "^2".to_owned())];
        assert_eq!(apply("x = y", &edits), "x^2 = z");
        assert_eq!(apply("x", &[]), "x");
    }
}
