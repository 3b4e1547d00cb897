//! Models by name and from files, those that the editor has open first.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use lang::cat::{self, Loaded};
use lang::diagnostic::Diagnostic;
use lang::mutex::lock;
use lang::source::Source;
use model::library::SHIPPED as LIBRARIES;
use model::models::{SHIPPED, shipped};

/// A model that is ready for questions.
#[derive(Debug)]
pub struct ReadyModel {
    /// The model and its files.
    pub loaded: Loaded,
    /// Whether it is the user's: then verdicts that name no model are about it too.
    pub is_own: bool,
}

/// Texts of files: what the editor has open counts before what is stored.
pub type Texts<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The folder that shipped texts seem to be in. What they include is looked for there only.
pub const FOLDER: &str = "<shipped>/";

/// A shipped model, loaded once.
pub fn model(name: &str) -> Option<Arc<ReadyModel>> {
    static LOADED: LazyLock<Mutex<HashMap<String, Arc<ReadyModel>>>> =
        LazyLock::new(Mutex::default);
    let mut known = lock(&LOADED);
    if let Some(model) = known.get(name) {
        return Some(Arc::clone(model));
    }
    // Tests load every shipped model, so there are no diagnostics to lose.
    let loaded = cat::load(&text(name)?, &|include, _| text(include)).ok()?;
    let model = Arc::new(ReadyModel { loaded, is_own: false });
    known.insert(name.to_owned(), Arc::clone(&model));
    Some(model)
}

/// The text of a shipped model.
pub fn text(name: &str) -> Option<Source> {
    let source = shipped(name.strip_suffix(".cat").unwrap_or(name))?;
    Some(Source::new(format!("{FOLDER}{}", source.name), source.text))
}

/// A file beside the one that includes it, or else a shipped model. A file does not include itself so.
pub fn included(include: &str, includer: &str, texts: Texts<'_>) -> Option<Source> {
    if !includer.starts_with(FOLDER) {
        let path = beside(includer, include);
        if path != Path::new(includer)
            && let Some(found) = texts(&path)
        {
            return Some(Source::new(path.to_string_lossy(), found));
        }
    }
    text(include)
}

/// A path that a file names.
pub fn beside(file: &str, path: &str) -> PathBuf {
    Path::new(file).parent().unwrap_or(Path::new("")).join(path)
}

/// The model of a file.
///
/// # Errors
/// What is wrong with it.
pub fn of_file(
    path: &Path,
    texts: Texts<'_>,
) -> Result<Arc<ReadyModel>, Vec<(Source, Diagnostic)>> {
    let source = Source::new(path.to_string_lossy(), texts(path).unwrap_or_default());
    let loaded = cat::load(&source, &|include, includer| included(include, includer, texts))?;
    Ok(Arc::new(ReadyModel { loaded, is_own: true }))
}

/// The text of a stored file, if it is one that can be read.
pub fn stored(path: &Path) -> Option<String> {
    let mut text = String::new();
    let most = cat::LARGEST_FILE as u64 + 1;
    std::fs::File::open(path).ok()?.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

/// A file with the text of a shipped model or library, for editors to show: it is written where programs keep
/// what they can make again.
pub fn shown(file: &str) -> Option<PathBuf> {
    let (name, text) = match file.strip_suffix(".lib") {
        Some(name) => (file, LIBRARIES.iter().find(|(known, _)| *known == name)?.1),
        None => {
            let name = file.strip_suffix(".cat").unwrap_or(file);
            (file, SHIPPED.iter().find(|(known, _)| *known == name)?.1)
        }
    };
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty());
    let folder = cache.map(PathBuf::from).or_else(home)?.join("litmus/shipped");
    let path = folder.join(name);
    if stored(&path).as_deref() != Some(text) {
        std::fs::create_dir_all(&folder).ok()?;
        std::fs::write(&path, text).ok()?;
    }
    Some(path)
}
