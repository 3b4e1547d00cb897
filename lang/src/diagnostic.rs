//! Errors and warnings with a code, places and a hint; drawn by ariadne.

use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind};

use crate::source::{Source, Span};

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
    /// A stable kebab-case name of the cause, such as `wrong-home-node`.
    pub code: &'static str,
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
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// The same with words at the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same with another place.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// The same with a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// True for errors.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The message with its place drawn into the text, as terminals show it.
    pub fn render(&self, source: &Source, color: bool) -> String {
        let name = source.name.as_str();
        let (kind, tint) = match self.severity {
            Severity::Error => (ReportKind::Error, Color::Red),
            Severity::Warning => (ReportKind::Warning, Color::Yellow),
        };
        let config = Config::default()
            .with_color(color)
            .with_char_set(CharSet::Ascii)
            .with_index_type(IndexType::Byte)
            .with_compact(false);
        let mut report = Report::build(kind, (name, self.span.range()))
            .with_config(config)
            .with_code(self.code)
            .with_message(&self.message);
        let caret = if self.label.is_empty() { "here" } else { self.label.as_str() };
        report = report
            .with_label(Label::new((name, self.span.range())).with_message(caret).with_color(tint));
        for (span, text) in &self.related {
            report = report.with_label(
                Label::new((name, span.range())).with_message(text).with_color(Color::Blue),
            );
        }
        if let Some(help) = &self.help {
            report = report.with_help(help);
        }
        let mut out = Vec::new();
        // Writing into memory cannot fail; an empty text would only be less pretty.
        let _ =
            report.finish().write((name, ariadne::Source::from(source.text.as_str())), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// True if any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// The known name nearest to a misspelt one, if any is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 1 + name.chars().count() / 4;
    known
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min()
        .map(|(_, candidate)| candidate)
}

/// The number of single-character edits between two words, letter case not counted.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substitute = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
