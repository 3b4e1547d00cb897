//! A model and the files that it includes, as one list of statements.

use super::syntax::{Name, Statement, StatementKind};
use super::{Loader, MOST_STATEMENTS, parser};
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Sink;
use crate::source::Source;

/// How many includes may be open at a time.
const DEEPEST_INCLUDE: usize = 16;
/// How many files a model may have.
const MOST_FILES: usize = 64;

pub(super) struct Files {
    /// The model's own first.
    pub(super) sources: Vec<Source>,
    pub(super) title: Option<String>,
    /// Every statement but `include`, with its file's index.
    pub(super) statements: Vec<(usize, Statement)>,
    /// How many statements there are, `include` counted.
    count: usize,
}

pub(super) fn read(source: &Source, loader: Loader<'_>, sink: &mut Sink) -> Files {
    let mut files = Files { sources: Vec::new(), title: None, statements: Vec::new(), count: 0 };
    let mut open = Vec::new();
    files.title = files.add(source.clone(), loader, &mut open, sink);
    files
}

impl Files {
    /// Adds a file and what it includes; `open` are the files between it and the model's own. Its title is
    /// returned.
    fn add(
        &mut self,
        source: Source,
        loader: Loader<'_>,
        open: &mut Vec<usize>,
        sink: &mut Sink,
    ) -> Option<String> {
        let file = self.sources.len();
        let (tree, diagnostics) = parser::parse(&source.text);
        self.sources.push(source);
        for diagnostic in diagnostics {
            sink.push_in(file, diagnostic);
        }
        open.push(file);
        for statement in tree.statements {
            self.count += 1;
            if self.count > MOST_STATEMENTS {
                let message = format!("a model has at most {MOST_STATEMENTS} statements");
                sink.push_in(file, Diagnostic::error(Code::TooLarge, statement.span, message));
                break;
            }
            match &statement.kind {
                StatementKind::Include(name) => self.include(file, name, loader, open, sink),
                _ => self.statements.push((file, statement)),
            }
        }
        open.pop();
        tree.title
    }

    fn include(
        &mut self,
        file: usize,
        name: &Name,
        loader: Loader<'_>,
        open: &mut Vec<usize>,
        sink: &mut Sink,
    ) {
        let Some(source) = loader(&name.text, &self.sources[file].name) else {
            let message = format!("expected a model or a readable file, found `{}`", name.text);
            sink.push_in(
                file,
                Diagnostic::error(Code::UnreadableInclude, name.span, message)
                    .help("the name of a model that is shipped, or a path from this file's folder"),
            );
            return;
        };
        match self.sources.iter().position(|known| known.name == source.name) {
            Some(known) if open.contains(&known) => {
                sink.push_in(file, self.cycle(known, name, open));
            }
            // A file that two others include is read once.
            Some(_) => {}
            None if open.len() >= DEEPEST_INCLUDE || self.sources.len() >= MOST_FILES => {
                let message = format!(
                    "expected at most {MOST_FILES} files and {DEEPEST_INCLUDE} includes within each other, found more"
                );
                sink.push_in(file, Diagnostic::error(Code::TooLarge, name.span, message));
            }
            None => {
                self.add(source, loader, open, sink);
            }
        }
    }

    fn cycle(&self, known: usize, name: &Name, open: &[usize]) -> Diagnostic {
        let first = open.iter().position(|file| *file == known).unwrap_or(0);
        let mut path: Vec<&str> =
            open[first..].iter().map(|file| self.sources[*file].name.as_str()).collect();
        path.push(&self.sources[known].name);
        let path = path.join(" → ");
        Diagnostic::error(Code::IncludeCycle, name.span, "this file includes itself").help(path)
    }
}
