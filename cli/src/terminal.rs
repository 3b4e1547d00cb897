//! Where output goes, and whether in color.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exit::Exit;
use crate::output;
use crate::table;

/// When to use color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On terminals, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    fn decide(self, is_terminal: bool) -> bool {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && !is_set("NO_COLOR") && !dumb,
        }
    }
}

/// Colors of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// As it should be.
    Good,
    /// Wrong.
    Bad,
    /// Open.
    Open,
    /// Names.
    Strong,
    /// What is of less interest.
    Faint,
}

/// How to write: what a worker must know of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether what goes to stdout has color.
    pub color: bool,
    /// Whether what goes to stderr has color.
    pub error_color: bool,
    /// `-q`.
    pub quiet: bool,
    /// How many `-v`.
    pub verbose: u8,
    /// How wide lines may be: as COLUMNS says, or stdout if it is a terminal.
    pub width: Option<usize>,
}

impl Look {
    /// A text for stdout in a color, if there are colors.
    pub fn paint(self, tint: Tint, text: &str) -> String {
        let code = match tint {
            Tint::Good => "32",
            Tint::Bad => "1;31",
            Tint::Open => "33",
            Tint::Strong => "1",
            Tint::Faint => "2",
        };
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A line of text as lines that fit the terminal, the later ones indented.
    pub fn fit(self, line: &str) -> String {
        self.lines(line, line.trim().split(' '), "")
    }

    /// A command as lines that fit the terminal, and that a shell reads as one.
    pub fn fit_command(self, line: &str) -> String {
        let mut is_quoted = false;
        let is_end = |letter: char| {
            is_quoted ^= letter == '\'';
            letter == ' ' && !is_quoted
        };
        self.lines(line, line.trim().split(is_end), " \\")
    }

    fn lines<'w>(self, line: &str, words: impl Iterator<Item = &'w str>, end: &str) -> String {
        let width = self.width.unwrap_or(usize::MAX).max(20) - end.len();
        let indent = line.len() - line.trim_start_matches(' ').len();
        let mut text = " ".repeat(indent);
        let mut used = indent;
        for (index, word) in words.enumerate() {
            let length = table::width(word);
            if index > 0 && used + 1 + length > width {
                text.push_str(end);
                text.push('\n');
                text.push_str(&" ".repeat(indent + 2));
                used = indent + 2;
            } else if index > 0 {
                text.push(' ');
                used += 1;
            }
            text.push_str(word);
            used += length;
        }
        text.push('\n');
        text
    }
}

/// How wide lines may be, if anybody says so.
fn width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || terminal_size::terminal_size_of(io::stdout());
    let width = columns.or_else(|| terminal().map(|size| usize::from(size.0.0)));
    width.filter(|width| *width > 0)
}

/// Text without control characters, which a terminal would obey: they are shown instead. Colors stay, where
/// there are some; lines and tabs do.
fn harmless(text: &str, color: bool) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_control) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(length) = color_code(from).filter(|_| color) {
            out.push_str(&from[..length]);
            rest = &from[length..];
            continue;
        }
        let mut characters = from.chars();
        out.extend(characters.by_ref().take(1).flat_map(char::escape_default));
        rest = characters.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// How long the code of a color is that a text begins with.
fn color_code(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("\u{1b}[")?;
    let length = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    rest[length..].starts_with('m').then_some(2 + length + 1)
}

/// Standard output and standard error. A reader that has gone away is not an error: what follows is dropped.
pub struct Terminal {
    /// How to write.
    pub look: Look,
    stdout: BufWriter<Stdout>,
    closed: bool,
    failure: Option<io::Error>,
    progress: ProgressBar,
    began: Instant,
}

/// From this time on, the end says how long it took.
const LONG: Duration = Duration::from_secs(1);

impl Terminal {
    /// The process's own.
    pub fn new(color: ColorChoice, quiet: bool, verbose: u8) -> Self {
        let look = Look {
            color: color.decide(io::stdout().is_terminal()),
            error_color: color.decide(io::stderr().is_terminal()),
            quiet,
            verbose,
            width: width(),
        };
        Self {
            look,
            stdout: BufWriter::new(io::stdout()),
            closed: false,
            failure: None,
            progress: ProgressBar::hidden(),
            began: Instant::now(),
        }
    }

    /// Writes text for people to stdout: names in it can be anybody's.
    pub fn show(&mut self, text: &str) {
        let text = harmless(text, self.look.color);
        self.out(&text);
    }

    /// Writes to stdout as it is.
    pub fn out(&mut self, text: &str) {
        if text.is_empty() || self.is_closed() {
            return;
        }
        let Self { stdout, progress, .. } = self;
        let written = progress.suspend(|| {
            stdout.write_all(text.as_bytes())?;
            stdout.flush()
        });
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
            Err(error) => self.failure = Some(error),
            Ok(()) => {}
        }
    }

    /// Writes to stderr.
    pub fn err(&mut self, text: &str) {
        let text = harmless(text, self.look.error_color);
        // Nobody can be told that stderr does not work.
        self.progress.suspend(|| drop(io::stderr().write_all(text.as_bytes())));
    }

    /// Writes a line to stderr, unless `-q`.
    pub fn note(&mut self, text: &str) {
        if !self.look.quiet {
            self.err(&format!("litmus: {text}\n"));
        }
    }

    /// Writes an error of the command line.
    pub fn usage_error(&mut self, text: &str) -> Exit {
        self.err(&format!("error: {text}\n"));
        Exit::Usage
    }

    /// Whether nobody reads stdout any more, so that work can end.
    pub fn is_closed(&self) -> bool {
        self.closed || self.failure.is_some()
    }

    /// Shows a progress bar on stderr, if that is a terminal.
    pub fn begin_progress(&mut self, length: usize) {
        let shown = io::stderr().is_terminal() && !self.look.quiet;
        if !shown {
            return;
        }
        self.progress.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        self.progress.set_length(length as u64);
        self.progress.reset();
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
            self.progress.set_style(style);
        }
    }

    /// The progress bar, which workers may tell of their work; hidden if there is none.
    pub fn progress(&self) -> ProgressBar {
        self.progress.clone()
    }

    /// Says on stderr how long it took, to a person who had to wait or who asks: output itself is always the
    /// same.
    pub fn tell_time(&mut self) {
        let took = self.began.elapsed();
        let is_seen = io::stderr().is_terminal() && took >= LONG;
        if is_seen || self.look.verbose > 0 {
            self.progress.finish_and_clear();
            self.note(&format!("{:.1} s", took.as_secs_f64()));
        }
    }

    /// Ends output. What could not be written is an error.
    pub fn finish(&mut self) -> Exit {
        self.progress.finish_and_clear();
        if self.failure.is_none()
            && !self.closed
            && let Err(error) = self.stdout.flush()
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.failure = Some(error);
        }
        match self.failure.take() {
            Some(error) => output::refuse(Path::new(output::STDOUT), &error, self),
            None => Exit::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_command_the_terminal() {
        let evil = "a\u{1}\u{1b}[31mb\u{1b}]0;c\u{7}\n\td";
        assert_eq!(harmless(evil, false), "a\\u{1}\\u{1b}[31mb\\u{1b}]0;c\\u{7}\n\td");
        assert_eq!(harmless(evil, true), "a\\u{1}\u{1b}[31mb\\u{1b}]0;c\\u{7}\n\td");
        assert_eq!(harmless("plain · text\n", false), "plain · text\n");
    }

    #[test]
    fn lines_fit_terminals() {
        let look =
            |width| Look { color: false, error_color: false, quiet: false, verbose: 0, width };
        let line = "  conforms · 214 programs that forbid something: 0 violations; 31 more";
        assert_eq!(look(None).fit(line), format!("{line}\n"));
        for width in [80, 40] {
            let text = look(Some(width)).fit(line);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert_eq!(text.split_whitespace().count(), line.split_whitespace().count());
        }
    }
}
