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
use crate::paths::{name_of, path_of};
use crate::program::ProgramText;
use crate::shipped;
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
        self.open.insert(uri, document);
    }

    /// A text that the editor has closed.
    pub fn close(&mut self, uri: &Uri) {
        self.open.remove(uri);
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
        // What depends on models depends on other texts.
        self.open.values_mut().for_each(|document| document.known = OnceCell::new());
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
        Rc::clone(document.known.get_or_init(|| Rc::new(self.look_at(source()))))
    }

    /// What is wrong with a text that the editor does not have.
    pub fn problems_of(&self, source: Source) -> Vec<Diagnostic> {
        self.look_at(source).problems
    }

    fn look_at(&self, source: Source) -> Known {
        let texts = |path: &Path| self.text_of(path);
        let ending = source.name.rsplit('.').next().unwrap_or_default();
        let (names, problems, what) = match ending {
            "cat" => {
                let (model, names, problems) = ModelText::new(&source, &texts);
                (names, problems, What::Model(model))
            }
            "lib" => {
                let (library, names, problems) = LibraryText::new(&source);
                (names, problems, What::Library(library))
            }
            _ => {
                let (program, names, problems) = ProgramText::new(&source, &texts);
                (names, problems, What::Program(program))
            }
        };
        Known { source, names, problems, what }
    }

    /// The text of a file, as it is in the editor if that has it open.
    pub fn text_of(&self, path: &Path) -> Option<String> {
        let is_it = |document: &&Document| path_of(&document.uri).as_deref() == Some(path);
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
