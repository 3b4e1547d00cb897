//! Texts as the editor has them, as files for commands: an edit counts before it is stored.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use lang::cat;

use crate::documents::{Document, Documents, What};
use crate::names::{Names, Space};
use crate::paths::{name_of, path_of, resolved};
use crate::{models, shipped};

/// The most files that are copied for a command.
const MOST: usize = 64;

/// A text with all that it names, by their paths.
pub struct Files {
    main: PathBuf,
    texts: BTreeMap<PathBuf, String>,
}

/// The same in a folder of its own, which is removed when this is dropped.
pub struct Copies {
    folder: PathBuf,
    /// The folder that it stands for.
    stands_for: PathBuf,
    /// The text's file.
    pub main: PathBuf,
}

impl Documents {
    /// The files of a text, if one of them is not stored as the editor has it; `None` if all are.
    pub fn unsaved(&self, document: &Document) -> Option<Files> {
        let known = self.known(document);
        let main = path_of(&document.uri).unwrap_or_else(|| {
            let name = name_of(&document.uri);
            // What is not stored anywhere has a name all the same.
            Path::new("/").join(name.rsplit(['/', ':']).next().unwrap_or_default())
        });
        let main = resolved(&main);
        let mut texts = BTreeMap::from([(main.clone(), document.text.text.clone())]);
        let mut open = vec![(main.clone(), named(&known.names))];
        if let What::Library(_) = known.what {
            open.clear();
        }
        while let Some((of, names)) = open.pop() {
            for name in names.into_iter().filter(|name| name.ends_with(".cat")) {
                let path = resolved(&shipped::beside(&of.to_string_lossy(), &name));
                if texts.contains_key(&path) || texts.len() >= MOST {
                    continue;
                }
                let Some(text) = self.text_of(&path) else { continue };
                open.push((path.clone(), named(&models::names(&cat::parse(&text).0))));
                texts.insert(path, text);
            }
        }
        let is_stored =
            texts.iter().all(|(path, text)| shipped::stored(path).as_ref() == Some(text));
        (!is_stored).then_some(Files { main, texts })
    }
}

/// The models that a text names.
fn named(names: &Names) -> Vec<String> {
    let models = names.all().iter().filter(|name| name.space == Space::Model);
    models.map(|name| name.name.clone()).collect()
}

impl Files {
    /// Writes them, where they are to each other as they are in truth.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self) -> io::Result<Copies> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("litmus-lsp-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder)?;
        let mut stands_for = self.main.parent().unwrap_or(Path::new("")).to_owned();
        while !self.texts.keys().all(|path| path.starts_with(&stands_for)) && stands_for.pop() {}
        let within = |path: &Path| folder.join(path.strip_prefix(&stands_for).unwrap_or(path));
        let main = within(&self.main);
        // From here on the folder is removed, whatever fails.
        let copies = Copies { main, folder: folder.clone(), stands_for: stands_for.clone() };
        for (path, text) in &self.texts {
            let path = within(path);
            std::fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            std::fs::write(path, text)?;
        }
        Ok(copies)
    }
}

impl Copies {
    /// An output, with paths as they are in truth.
    pub fn in_truth(&self, output: &str) -> String {
        let [copies, truth] = [&self.folder, &self.stands_for].map(|path| {
            // A path that ends with a separator, whatever it is.
            path.join("").to_string_lossy().into_owned()
        });
        output.replace(&copies, &truth)
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // What cannot be removed, the system removes with its other temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
