//! The texts that the editor has open, and what is known of each.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use lang::diagnostic::Diagnostic;
use lang::limits::{Limits, Reached, give_up};
use lang::source::Source;
use lsp_types::{TextDocumentContentChangeEvent, Uri};

use crate::library::LibraryText;
use crate::models::ModelText;
use crate::names::Names;
use crate::paths::{name_of, path_of, resolved, uri_of};
use crate::program::ProgramText;
use crate::shipped::{self, Texts};
use crate::text::{Encoding, Text};
use crate::workspace;

/// What has taken so long when a limit ended it is not tried again: it would end so again.
const LONG: Duration = Duration::from_millis(500);

/// A text.
pub struct Document {
    /// What the editor calls it.
    pub uri: Uri,
    /// How often it has changed.
    pub version: i32,
    /// The text.
    pub text: Text,
    /// `None` if it takes too long to know it.
    known: OnceCell<Option<Rc<Known>>>,
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
    Program(Box<ProgramText>),
    /// A model.
    Model(Box<ModelText>),
    /// A library.
    Library(Box<LibraryText>),
}

/// All of them.
#[derive(Default)]
pub struct Documents {
    encoding: Encoding,
    /// The editor's folders.
    folders: Vec<PathBuf>,
    open: HashMap<Uri, Document>,
}

impl Documents {
    /// None yet, of an editor that counts columns so, and has these folders open.
    pub fn new(encoding: Encoding, folders: Vec<PathBuf>) -> Self {
        Self { encoding, folders, open: HashMap::new() }
    }

    fn document(&self, uri: Uri, version: i32, text: String) -> Document {
        Document { uri, version, text: Text::new(text, self.encoding), known: OnceCell::new() }
    }

    /// A text that the editor has opened.
    pub fn open(&mut self, uri: Uri, version: i32, text: String) {
        let document = self.document(uri.clone(), version, text);
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

    /// The stored models that include others and have a name in them: those in the editor's folders and
    /// beside a text, without those that are open.
    pub fn stored_models(&self, beside: &Document, name: &str) -> Vec<Document> {
        let path = path_of(&beside.uri);
        let folder = path.as_deref().and_then(Path::parent);
        let stored = workspace::models(&self.folders, folder).into_iter().filter_map(|path| {
            let uri = uri_of(&path).filter(|uri| self.get(uri).is_none())?;
            let text = shipped::stored(&path)?;
            let concerns = text.contains("include") && text.contains(name);
            concerns.then(|| self.document(uri, 0, text))
        });
        stored.collect()
    }

    /// What is known of a text.
    pub fn known(&self, document: &Document) -> Rc<Known> {
        let begin = Instant::now();
        let look = || {
            let source = Source::new(name_of(&document.uri), document.text.text.clone());
            let known = Limits::default().within(|| look_at(source, &|path| self.text_of(path)));
            match known {
                Ok(known) => Some(Rc::new(known)),
                Err(_) if begin.elapsed() >= LONG => None,
                Err(reached) => give_up(reached),
            }
        };
        let known = document.known.get_or_init(look);
        known.clone().unwrap_or_else(|| give_up(Reached::Time))
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
            (names, problems, What::Model(Box::new(model)))
        }
        "lib" => {
            let (library, names, problems) = LibraryText::new(&source);
            (names, problems, What::Library(Box::new(library)))
        }
        _ => {
            let (program, names, problems) = ProgramText::new(&source, texts);
            (names, problems, What::Program(Box::new(program)))
        }
    };
    problems.sort_by_key(|problem| problem.span);
    Known { source, names, problems, what }
}
