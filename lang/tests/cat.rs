//! The model language, from outside.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use lang::cat::{Loaded, load};
use lang::diagnostic::Diagnostic;
use lang::source::Source;

#[path = "cat/changes.rs"]
mod changes;
#[path = "cat/errors.rs"]
mod errors;
#[path = "cat/expressions.rs"]
mod expressions;
#[path = "cat/hostile.rs"]
mod hostile;
#[path = "cat/reference.rs"]
mod reference;
#[path = "cat/round_trip.rs"]
mod round_trip;
#[path = "cat/shipped.rs"]
mod shipped;

/// A folder of the repository.
fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The files of a folder that end in `.cat`, by name; there is at least one.
fn cat_files(path: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder(path))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cat"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no models in {path}");
    files
}

fn read(path: &Path) -> Source {
    let name = path.file_name().unwrap().to_str().unwrap();
    Source::new(name, std::fs::read_to_string(path).unwrap())
}

/// Loads a text that may include the shipped models by name.
fn load_text(text: &str) -> Result<Loaded, Vec<(Source, Diagnostic)>> {
    load(&Source::new("test.cat", text), &|name, _| {
        let path = folder("model/models").join(format!("{name}.cat"));
        path.exists().then(|| read(&path))
    })
}

/// Loads a text that must be right; what is wrong with it otherwise is shown.
fn load_right(text: &str) -> Loaded {
    load_text(text).unwrap_or_else(|errors| panic!("{}", rendered(&errors)))
}

fn rendered(diagnostics: &[(Source, Diagnostic)]) -> String {
    diagnostics.iter().map(|(source, diagnostic)| diagnostic.render(source, false)).collect()
}
