//! The texts that the editor has open, and what is known of each.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use lang::diagnostic::Diagnostic;
use lang::source::Source;
use lsp_types::{TextDocumentContentChangeEvent, Uri};

use crate::library::LibraryText;
use crate::models::ModelText;
use crate::names::Names;
use crate::paths::{name_of, path_of, resolved};
use crate::program::ProgramText;
use crate::shipped::{self, Texts};
use crate::text::{Encoding, Text};

/// A text.
pub struct Document {
    /// What the editor calls it.
    pub uri: Uri,
    /// How often it has changed.
    pub version: i32,
    /// The text.
    pub text: Text,
    known: OnceCell<Rc<Known>>,
}

/// What is known of a text.
pub struct Known {
    /// The text, named as in messages.
    pub source: Source,
    /// Where names stand.
    pub names: Names,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
    /// What only texts of its language have.
    pub what: What,
}

impl Known {
    /// What is wrong, and what may be once the text can all be read.
    pub fn all_problems(&self) -> impl Iterator<Item = &Diagnostic> {
        let perhaps = match &self.what {
            What::Program(program) => program.survey.perhaps.as_slice(),
            What::Model(model) => model.perhaps.as_slice(),
            What::Library(_) => &[],
        };
        let is_new = |one: &&Diagnostic| {
            !self.problems.iter().any(|known| known.span == one.span && known.code == one.code)
        };
        self.problems.iter().chain(perhaps.iter().filter(is_new))
    }
}

/// A text by its language.
pub enum What {
    /// A program.
    Program(ProgramText),
    /// A model.
    Model(ModelText),
    /// A library.
    Library(LibraryText),
}

/// All of them.
#[derive(Default)]
pub struct Documents {
    encoding: Encoding,
    open: HashMap<Uri, Document>,
}

impl Documents {
    /// None yet, of an editor that counts columns so.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, open: HashMap::new() }
    }

    /// A text that the editor has opened.
    pub fn open(&mut self, uri: Uri, version: i32, text: String) {
        let text = Text::new(text, self.encoding);
        let document = Document { uri: uri.clone(), version, text, known: OnceCell::new() };
        self.open.insert(uri.clone(), document);
        self.has_changed(&uri);
    }

    /// A text that the editor has closed.
    pub fn close(&mut self, uri: &Uri) {
        self.open.remove(uri);
        self.has_changed(uri);
    }

    /// A file is not what it was: what depends on it is looked at again. Any text may depend on a model.
    pub fn has_changed(&mut self, uri: &Uri) {
        let depends = |document: &&mut Document| is_model(uri) || document.uri == *uri;
        let stale = self.open.values_mut().filter(depends);
        stale.for_each(|document| document.known = OnceCell::new());
    }

    /// Changes a text.
    pub fn change(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) {
        let encoding = self.encoding;
        let Some(document) = self.open.get_mut(uri) else { return };
        for change in changes {
            match change.range {
                Some(range) => document.text.replace(range, &change.text),
                None => document.text = Text::new(change.text, encoding),
            }
        }
        document.version = version;
        self.has_changed(uri);
    }

    /// A text by its name.
    pub fn get(&self, uri: &Uri) -> Option<&Document> {
        self.open.get(uri)
    }

    /// All texts.
    pub fn all(&self) -> impl Iterator<Item = &Document> {
        self.open.values()
    }

    /// What is known of a text.
    pub fn known(&self, document: &Document) -> Rc<Known> {
        let source = || Source::new(name_of(&document.uri), document.text.text.clone());
        Rc::clone(
            document.known.get_or_init(|| Rc::new(look_at(source(), &|path| self.text_of(path)))),
        )
    }

    /// What would be known of a text if it were another one.
    pub fn with_text(&self, document: &Document, text: String) -> Known {
        self.with_texts(document, &[(document.uri.clone(), text)])
    }

    /// What would be known of a text if it and others were other ones.
    pub fn with_texts(&self, document: &Document, texts: &[(Uri, String)]) -> Known {
        let of = |uri: &Uri| texts.iter().find(|(other, _)| other == uri).map(|(_, text)| text);
        let text = of(&document.uri).unwrap_or(&document.text.text);
        let changed = |path: &Path| {
            let is_it = |(uri, _): &&(Uri, String)| path_of(uri) == Some(resolved(path));
            let changed = texts.iter().find(is_it).map(|(_, text)| text.clone());
            changed.or_else(|| self.text_of(path))
        };
        look_at(Source::new(name_of(&document.uri), text.clone()), &changed)
    }

    /// The text of a file, as it is in the editor if that has it open.
    pub fn text_of(&self, path: &Path) -> Option<String> {
        let path = &resolved(path);
        let is_it = |document: &&Document| path_of(&document.uri).as_ref() == Some(path);
        match self.open.values().find(is_it) {
            Some(document) => Some(document.text.text.clone()),
            None => shipped::stored(path),
        }
    }

    /// Texts as editors count them.
    pub fn counted(&self, text: String) -> Text {
        Text::new(text, self.encoding)
    }
}

/// Whether a document is a model.
pub fn is_model(uri: &Uri) -> bool {
    uri.as_str().ends_with(".cat")
}

fn look_at(source: Source, texts: Texts<'_>) -> Known {
    let ending = source.name.rsplit('.').next().unwrap_or_default();
    let (names, mut problems, what) = match ending {
        "cat" => {
            let (model, names, problems) = ModelText::new(&source, texts);
            (names, problems, What::Model(model))
        }
        "lib" => {
            let (library, names, problems) = LibraryText::new(&source);
            (names, problems, What::Library(library))
        }
        _ => {
            let (program, names, problems) = ProgramText::new(&source, texts);
            (names, problems, What::Program(program))
        }
    };
    problems.sort_by_key(|problem| problem.span);
    Known { source, names, problems, what }
}
