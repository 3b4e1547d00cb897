//! Files of the suite.

use std::path::{Path, PathBuf};

/// All litmus files below a folder, in the order of their paths.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the suite is readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "litmus") {
            found.push(path);
        }
    }
}
