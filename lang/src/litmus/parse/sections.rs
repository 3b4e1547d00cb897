//! Which lines are header, declarations, statements, verdicts.

use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::herd;
use crate::library::Words;
use crate::source::Span;

use super::super::ast::{Form, Place};
use super::{Context, cells, header, labels};

/// The lines of a file, by what they are.
pub struct Sections {
    /// `litmus NAME`
    pub name: Option<Span>,
    /// The other header lines.
    pub header: Vec<Span>,
    /// The rows above the rule.
    pub declarations: Vec<Span>,
    /// The rule.
    pub rule: Place,
    /// How the threads are written.
    pub form: Form,
    /// The rows below the rule.
    pub rows: Vec<Span>,
    /// The verdict lines; each may span several lines of the text.
    pub results: Vec<Span>,
}

/// Sorts the lines.
pub fn find(context: &mut Context<'_>) -> Option<Sections> {
    let lines = context.text.lines();
    let mut sections = Sections {
        name: None,
        header: Vec::new(),
        declarations: Vec::new(),
        rule: Place::default(),
        form: Form::Columns,
        rows: Vec::new(),
        results: Vec::new(),
    };
    let mut rest = lines.as_slice();
    match rest.first() {
        Some(first) if first_word(context.text.slice(*first)) == "litmus" => {
            sections.name = Some(*first);
            rest = &rest[1..];
        }
        first => {
            let span = first.copied().unwrap_or_default();
            if let Some(other) = herd::other_architecture(context.text.slice(span)) {
                let message =
                    format!("expected a program for X86 or X86_64, found one for {other}");
                let error = Diagnostic::error(Code::UnknownArchitecture, span, message);
                context.sink.push(error.help("of herd's files, those for x86 are read"));
                return None;
            }
            let message = format!("expected `litmus NAME`, found {}", found(context, span));
            context.sink.push(Diagnostic::error(Code::MissingName, span, message));
        }
    }
    let labels = labels::find(context.text, rest);
    context.first_label = labels.first().map(|(_, first)| *first);
    let is_label = |line: &Span| labels.iter().any(|(label, _)| label == line);
    let text = |line: &Span| context.text.slice(*line);
    let start = rest.iter().position(|line| is_rule(text(line)) || is_block(text(line)));
    // The labels of the columns stand where the rule would.
    let Some(start) = start.or_else(|| rest.iter().position(is_label)) else {
        missing_rule(context, rest);
        return None;
    };
    for line in rest[..start].iter().filter(|line| !is_label(line)) {
        if is_header(text(line), context.words) {
            sections.header.push(*line);
        } else {
            sections.declarations.push(*line);
        }
    }
    sections.rule = context.text.place(rest[start]);
    rest = if is_block(text(&rest[start])) { &rest[start..] } else { &rest[start + 1..] };
    if rest.first().is_some_and(|line| is_block(text(line))) {
        sections.form = Form::Blocks;
        // Blocks end where their braces do; cells::blocks finds out.
        let program = cells::blocks_extent(context, rest);
        sections.rows = rest[..program].to_vec();
        sections.results = join(context, &rest[program..]);
    } else {
        let program = program_rows(context, rest, &is_label);
        let is_rule = |line: &&Span| is_rule(context.text.slice(**line));
        let rows = rest[..program].iter().filter(|line| !is_rule(line) && !is_label(line));
        sections.rows = rows.copied().collect();
        // Figures have rules above and below their verdicts.
        let results: Vec<Span> =
            rest[program..].iter().filter(|line| !is_rule(line)).copied().collect();
        sections.results = join(context, &results);
    }
    Some(sections)
}

fn found(context: &Context<'_>, span: Span) -> String {
    match first_word(context.text.slice(span)) {
        "" => "the end of the file".to_owned(),
        word => format!("`{word}`"),
    }
}

/// The first word, or the first character if there is no word.
fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let end = if end == 0 { text.chars().next().map_or(0, char::len_utf8) } else { end };
    &text[..end]
}

/// A line of dashes, three at least; bars may continue the columns through it.
fn is_rule(line: &str) -> bool {
    let dashes = |c: char| matches!(c, '-' | '─' | '—' | '–' | '━');
    line.chars().take_while(|&c| dashes(c)).count() >= 3
        && line.chars().all(|c| dashes(c) || matches!(c, ' ' | '|' | '‖' | '+'))
}

/// `thread 1 …`
fn is_block(line: &str) -> bool {
    let rest = line.strip_prefix("thread").unwrap_or("");
    rest.starts_with(' ') && rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// A line above the rule that is not a declaration: it has a header's keyword, or nothing that declarations
/// have.
fn is_header(line: &str, words: Words<'_>) -> bool {
    let word = first_word(line);
    let after = line[word.len()..].trim_start();
    if header::KEYWORDS.contains(&word) || word == "observe" {
        return !after.starts_with(['=', ',', '[', '@', '|', '‖']);
    }
    let declares = |word: &str| words.class(word).is_some();
    // Comparing words takes long.
    let is_close = || word.len() < 16 && nearest(word, header::KEYWORDS.iter().copied()).is_some();
    // An object of a class that a library brings.
    let is_class = word.starts_with(|c: char| c.is_ascii_uppercase())
        && after.starts_with(|c: char| c.is_ascii_alphabetic())
        && (!is_close() || declares_objects(after));
    line.starts_with('"')
        || !is_class
            && (!line.contains(['=', '|', '‖', '[']) || after.starts_with('"') && is_close())
            && !declares(word)
}

/// What follows a class: a name, and nothing or what declarations have behind it.
fn declares_objects(text: &str) -> bool {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let rest = end.map_or("", |end| text[end..].trim_start());
    rest.is_empty()
        || rest.starts_with(|c: char| ",@{=|‖;".contains(c) || c.is_ascii_digit())
        || first_word(rest) == "size"
}

fn missing_rule(context: &mut Context<'_>, lines: &[Span]) {
    let statement = lines.iter().find(|line| context.text.slice(**line).contains(":="));
    let span = statement.or(lines.last()).copied().unwrap_or_default();
    let error = Diagnostic::error(
        Code::MissingRule,
        span,
        "expected a line of dashes between declarations and statements, found none",
    );
    let error = error.help("write `---` below the declarations, even if there are none");
    let is_meant = |text: &str| !text.is_empty() && text.chars().all(|one| "-=_–—".contains(one));
    let meant = lines.iter().find(|line| is_meant(context.text.slice(**line).trim()));
    context.sink.push(match (meant, statement) {
        (Some(line), _) => error.replace(*line, "---"),
        (None, Some(line)) => error.replace(Span::new(line.start, line.start), "---\n"),
        (None, None) => error,
    });
}

/// How many of the lines are rows of the program.
fn program_rows(
    context: &mut Context<'_>,
    lines: &[Span],
    is_label: &impl Fn(&Span) -> bool,
) -> usize {
    let slice = |line: &Span| context.text.slice(*line);
    let bars = lines.iter().any(|line| !cells::is_one(context.text, *line));
    let mut braces = 0usize;
    let mut previous: Option<usize> = None;
    for (index, line) in lines.iter().enumerate() {
        let text = context.text.slice(*line);
        let at = context.text.line_of(line.start);
        let gap = previous.is_none_or(|previous| at > previous + 1);
        previous = Some(at);
        let no_bars = cells::is_one(context.text, *line);
        if no_bars && is_result(text) || gap && braces == 0 && no_bars && is_condition(text, bars) {
            return index;
        }
        if is_rule(text) {
            // Figures have rules around labels, and above verdicts.
            if lines[..index].iter().all(|line| is_rule(slice(line)) || is_label(line)) {
                continue;
            }
            let ends = |next: &Span| {
                let (next, no_bars) = (slice(next), cells::is_one(context.text, *next));
                is_rule(next) || no_bars && (is_result(next) || is_condition(next, bars))
            };
            if lines.get(index + 1).is_none_or(ends) {
                return index;
            }
            let error = Diagnostic::error(Code::SecondRule, *line, "the program has a second rule");
            let error = error.help("one line of dashes separates declarations and statements");
            context.sink.push(error.fixed("delete the rule", *line, ""));
        }
        let opened = text.matches('{').count();
        braces = (braces + opened).saturating_sub(text.matches('}').count());
    }
    lines.len()
}

/// Signs that only verdicts have. `?` is the only one in ASCII.
pub const MARKS: [char; 14] =
    ['✓', '✗', '✔', '✘', '√', '☑', '✅', '×', '✕', '✖', '❌', '☒', '∈', '?'];

/// Marks of verdicts as LaTeX writes them.
const LATEX_MARKS: [&str; 4] = ["\\checkmark", "\\cmark", "\\times", "\\xmark"];

/// `Expected outputs: …`, above a set of outcomes.
fn is_caption(line: &str) -> bool {
    let Some((before, _)) = line.split_once(':') else { return false };
    let words = before.trim().to_lowercase();
    is_caption_word(words.trim_start_matches("expected ").trim_start_matches("allowed "))
}

/// Whether a word before a colon is a caption, in any letter case, and not the name of a model.
pub fn is_caption_word(word: &str) -> bool {
    ["output", "outputs", "outcome", "outcomes"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(word))
}

/// A line that can only be a verdict.
fn is_result(line: &str) -> bool {
    let word = first_word(line);
    let after = line[word.len()..].trim_start();
    if is_caption(line) {
        return true;
    }
    let negated = line.trim_start_matches(['~', '¬', '!', ' ']);
    let negated = negated.strip_prefix("not ").unwrap_or(negated).trim_start();
    let keyword = ["forall", "exactly", "observe"].contains(&word)
        || first_word(negated) == "exists" && !after.starts_with(":=");
    let has_word = |wanted: &str| {
        line.contains(wanted)
            && line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == wanted)
    };
    let has_mark = if line.is_ascii() { line.contains('?') } else { line.contains(MARKS) };
    let marked = has_mark
        || line.contains('\\') && LATEX_MARKS.iter().any(|mark| line.contains(mark))
        || has_word("allowed")
        || has_word("forbidden");
    let label_end =
        line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
    let prefixed = label_end.is_some_and(|end| {
        let rest = line[end..].trim_start();
        end > 0 && rest.starts_with(':') && !rest.starts_with(":=")
    });
    keyword && !after.starts_with(['=', ':']) || marked || prefixed
}

/// A line that looks like a condition without its verdict. In a program of one column, where a coreRMA
/// statement looks the same, only a tuple does.
fn is_condition(line: &str, bars: bool) -> bool {
    let compares = line.contains(['=', '≠', '<', '>'])
        || ["\\ne", "\\le", "\\ge"].iter().any(|sign| line.contains(sign));
    let statement = line.contains(":=") || line.contains('{') || line.ends_with('}');
    compares && !statement && (bars || line.starts_with('('))
}

/// Joins lines that an open bracket or a following `for` continues.
fn join(context: &Context<'_>, lines: &[Span]) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    let mut depth = 0usize;
    for line in lines {
        let text = context.text.slice(*line);
        let captioned = |last: &Span| {
            let last = context.text.slice(*last);
            last.ends_with(':') && is_caption(last)
        };
        let continues =
            depth > 0 || first_word(text) == "for" || joined.last().is_some_and(captioned);
        match joined.last_mut() {
            Some(last) if continues => *last = last.to(*line),
            _ => joined.push(*line),
        }
        for character in text.chars() {
            match character {
                '(' | '{' => depth += 1,
                ')' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        // A verdict's mark ends it, even if a bracket was forgotten.
        if text.ends_with(MARKS) || LATEX_MARKS.iter().any(|mark| text.ends_with(mark)) {
            depth = 0;
        }
    }
    joined
}
