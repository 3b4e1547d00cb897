//! Lists the model and library files, so that a new one in `models/`, `libraries/` or
//! `objects/` needs no line of Rust.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    list("models", ".cat", "shipped.rs")?;
    list("libraries", ".lib", "libraries.rs")?;
    list("objects", ".lib", "objects.rs")
}

fn list(folder: &str, ending: &str, target: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed={folder}");
    let mut names: Vec<String> = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(ending).map(str::to_owned))
        .collect();
    names.sort();
    let here = env::current_dir()?;
    let mut list = String::from("&[\n");
    for name in names {
        let path = here.join(folder).join(format!("{name}{ending}"));
        println!("cargo::rerun-if-changed={}", path.display());
        list.push_str(&format!("    ({name:?}, include_str!({path:?})),\n"));
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join(target), list)
}
