//! Tests of the litmus language.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod asked;
mod diagnostics;
mod documentation;
mod fuzz;
mod meaning;
mod printed;
mod roundtrip;
mod trees;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::library::{Collection, Words};
use lang::litmus::ast::File;
use lang::source::Source;

/// The litmus files in a folder of test_data, in the order of their names; never none.
fn files(folder: &str) -> Vec<(PathBuf, Source)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test_data").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "litmus"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no files in {}", folder.display());
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

fn read(path: &Path) -> Source {
    let name = path.file_name().unwrap().to_string_lossy();
    Source::new(name, std::fs::read_to_string(path).unwrap())
}

/// All diagnostics, as a terminal shows them.
fn rendered(source: &Source) -> String {
    let (_, diagnostics) = load(source);
    diagnostics.iter().map(|diagnostic| diagnostic.render(source, false)).collect()
}

/// The words of the shipped libraries.
fn words() -> Words<'static> {
    static LIBRARIES: Collection = Collection::later(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model");
        let model = |name: &str, _: &str| {
            let text = std::fs::read_to_string(folder.join(format!("models/{name}.cat"))).ok()?;
            Some(Source::new(name, text))
        };
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder.join("libraries"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        let library = |path: &PathBuf| lang::library::load(&read(path), &model).unwrap();
        let all = paths.iter().map(library).filter(|library| library.base.is_none());
        all.map(Arc::new).collect()
    });
    Words::of(&LIBRARIES)
}

fn parse(source: &Source) -> (Option<File>, Vec<Diagnostic>) {
    lang::litmus::parse(source, words())
}

fn check(file: &File, source: &Source) -> (Option<Test>, Vec<Diagnostic>) {
    lang::litmus::check(file, source, words())
}

fn load(source: &Source) -> (Option<Test>, Vec<Diagnostic>) {
    lang::litmus::load_with(source, words())
}
