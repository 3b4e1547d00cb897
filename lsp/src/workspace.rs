//! Models that are stored near a text, or in the folders that the editor has open.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lang::limits;

/// The most files and folders that are looked at.
const MOST: usize = 20_000;
/// Folders of what others have made.
const NOT_OURS: [&str; 2] = ["target", "node_modules"];

/// The models below some folders, and those in one.
pub fn models(below: &[PathBuf], within: Option<&Path>) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut looked = 0;
    let mut open: Vec<(PathBuf, bool)> =
        below.iter().map(|folder| (folder.clone(), true)).collect();
    open.extend(within.map(|folder| (folder.to_owned(), false)));
    while let Some((folder, is_deep)) = open.pop() {
        // Of folders that cannot be listed, nothing is known.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            limits::look_now();
            looked += 1;
            if looked > MOST {
                return found;
            }
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_ours = !name.starts_with('.') && !NOT_OURS.contains(&&*name);
            // Links, which may lead in circles, are neither.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && is_deep && is_ours {
                open.push((entry.path(), true));
            } else if kind.is_file() && name.ends_with(".cat") {
                found.insert(entry.path());
            }
        }
    }
    found
}
