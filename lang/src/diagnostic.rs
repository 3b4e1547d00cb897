//! Errors and warnings with a code, places and a hint; drawn by ariadne.

use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind};

use crate::source::{Source, Span};

mod clip;
mod code;
mod fix;

use clip::Clipped;
pub use code::Code;
pub use fix::{Fix, apply};

/// Whether a diagnostic stops the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The text has a meaning, but probably not the intended one.
    Warning,
    /// The text has no meaning.
    Error,
}

/// One thing that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What kind of problem it is.
    pub code: Code,
    /// One lower-case sentence without a full stop.
    pub message: String,
    /// Where: the place that messages are sorted by.
    pub span: Span,
    /// What to write at the caret under `span`; empty to repeat nothing.
    pub label: String,
    /// Other places that belong to the matter.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
    /// A change that does it.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: clip::message(message.into()),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
            fix: None,
        }
    }

    /// A warning at a place.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// The same with words at the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = clip::message(label.into());
        self
    }

    /// The same with another place.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, clip::message(text.into())));
        self
    }

    /// The same with a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(clip::message(help.into()));
        self
    }

    /// True for errors.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The message with its place drawn into the text, as terminals show it: of long lines, what is around
    /// the place.
    pub fn render(&self, source: &Source, color: bool) -> String {
        let spans = || std::iter::once(self.span).chain(self.related.iter().map(|(span, _)| *span));
        let places: Vec<usize> = spans().flat_map(|span| [span.start, span.end]).collect();
        let clipped = Clipped::new(&source.text, &places);
        let drawn = self.draw(&source.name, &clipped, color);
        if clipped.text.len() == source.text.len() {
            return drawn;
        }
        // Lines and columns are those of the whole text.
        let left = Source::new(source.name.clone(), clipped.text.as_ref());
        spans().fold(drawn, |drawn, span| {
            let (line, column) = left.line_column(clipped.place(span.start));
            let (_, whole) = source.line_column(span.start);
            let at = |column: usize| format!("{}:{line}:{column} ]", source.name);
            drawn.replacen(&at(column), &at(whole), 1)
        })
    }

    fn draw(&self, name: &str, clipped: &Clipped<'_>, color: bool) -> String {
        let (kind, tint) = match self.severity {
            Severity::Error => (ReportKind::Error, Color::Red),
            Severity::Warning => (ReportKind::Warning, Color::Yellow),
        };
        let config = Config::default()
            .with_color(color)
            .with_char_set(CharSet::Ascii)
            .with_index_type(IndexType::Byte)
            .with_compact(false);
        let place = |span: Span| (name, clipped.place(span.start)..clipped.place(span.end));
        let mut report = Report::build(kind, place(self.span))
            .with_config(config)
            .with_code(self.code.name())
            .with_message(&self.message);
        let caret = if self.label.is_empty() { "here" } else { self.label.as_str() };
        report =
            report.with_label(Label::new(place(self.span)).with_message(caret).with_color(tint));
        for (span, text) in &self.related {
            report = report
                .with_label(Label::new(place(*span)).with_message(text).with_color(Color::Blue));
        }
        if let Some(help) = &self.help {
            report = report.with_help(help);
        }
        let mut out = Vec::new();
        // Writing into memory cannot fail; an empty text would only be less pretty.
        let _ =
            report.finish().write((name, ariadne::Source::from(clipped.text.as_ref())), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// True if any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// The known name that a misspelt one means, if one is near enough: a few edits away, or what it abbreviates.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let length = name.chars().count();
    let near = known.iter().map(|candidate| (edit_distance(name, candidate), *candidate));
    let near = near.filter(|(distance, candidate)| {
        let other = candidate.chars().count();
        *distance <= most_edits(length.min(other)) && *distance < other
    });
    near.min().map(|(_, candidate)| candidate).or_else(|| {
        let longer = known.into_iter().filter(|candidate| abbreviates(name, candidate));
        longer.min_by_key(|candidate| (candidate.len(), *candidate))
    })
}

/// How many edits leave a word of that length recognizable: of a short one, hardly any.
fn most_edits(length: usize) -> usize {
    match length {
        0..=5 => 1,
        6..=8 => 2,
        _ => 3,
    }
}

/// Whether a word has the first letter of another, some of the others in their order, and half of them at
/// least: `Recv` for `Receive`.
fn abbreviates(short: &str, long: &str) -> bool {
    let (short, long) = (short.to_lowercase(), long.to_lowercase());
    let (count, whole) = (short.chars().count(), long.chars().count());
    let mut rest = long.chars();
    short.chars().next() == long.chars().next()
        && (3..whole).contains(&count)
        && 2 * count >= whole
        && short.chars().all(|letter| rest.any(|other| other == letter))
}

/// The number of edits between two words, letter case not counted: a character more, less, or another, or two
/// neighbors exchanged.
fn edit_distance(left: &str, right: &str) -> usize {
    let [left, right]: [Vec<char>; 2] =
        [left, right].map(|word| word.to_lowercase().chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut edits = (row[j] + usize::from(a != b)).min(row[j + 1] + 1).min(next[j] + 1);
            let is_exchange = i > 0 && j > 0 && left[i - 1] == *b && right[j - 1] == *a;
            if is_exchange {
                edits = edits.min(before[j - 1] + 1);
            }
            next.push(edits);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_is_meant_is_near() {
        let words = ["Rel", "Release", "Receive", "Wait", "Acq", "Submit", "Mfence", "CAS", "Bar"];
        for (found, meant) in [
            ("Recv", Some("Receive")),
            ("Wiat", Some("Wait")),
            ("mfense", Some("Mfence")),
            ("Sub", Some("Submit")),
            ("CASS", Some("CAS")),
            ("Rell", Some("Rel")),
            ("addr", None),
            ("x", None),
            ("goto", None),
            ("", None),
        ] {
            assert_eq!(nearest(found, words), meant, "{found}");
        }
        assert_eq!(nearest("addr", ["aCAR", "aCR", "aNAR"]), None);
        assert_eq!(nearest("rdma-wiat", ["rdma-wait", "rdma-tso"]), Some("rdma-wait"));
        assert_eq!(nearest("aa", ["a", "b"]), None);
    }
}
