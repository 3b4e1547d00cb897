//! The model language, from outside.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use lang::diagnostic::Diagnostic;
use lang::source::Source;

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

fn rendered(diagnostics: &[(Source, Diagnostic)]) -> String {
    diagnostics.iter().map(|(source, diagnostic)| diagnostic.render(source, false)).collect()
}
