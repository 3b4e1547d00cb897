//! docs/diagnostics.md has every code, with an example that really shows it. `UPDATE_EXPECT=1 cargo test`
//! writes anew what the examples print.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

use crate::scratch::Scratch;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use lang::diagnostic::Code;
use serde_json::Value as Json;

#[path = "../src/commands/explain_code/page.rs"]
mod page;

use page::{Entry, entries};

/// The headings whose codes have no example; the page says why.
const WITHOUT_EXAMPLE: [&str; 2] = ["Without an example", "Faults of litmus"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn page_path() -> PathBuf {
    root().join("docs/diagnostics.md")
}

/// The commands of an example.
fn commands<'p>(entry: &Entry<'_>, page: &'p str) -> Vec<&'p str> {
    let session = entry.session.clone().map_or("", |session| &page[session]);
    session.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
}

/// What the example of a code prints of it: the commands, and the diagnostic.
fn session(entry: &Entry<'_>, page: &str) -> Result<String, String> {
    let folder = Scratch::new();
    for (name, text) in &entry.files {
        std::fs::write(folder.0.join(name), text).unwrap();
    }
    let commands = commands(entry, page);
    let program = Path::new(env!("CARGO_BIN_EXE_litmus")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.arg("-c").arg(commands.join("\n")).current_dir(&folder.0).env("PATH", path);
    for variable in ["COLUMNS", "NO_COLOR", "RUST_BACKTRACE"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    let found = drawn(&error, entry.code).or_else(|| in_json(&text, entry.code));
    let found = found.ok_or_else(|| {
        format!("the example of `{}` ({}) does not show it: {text}{error}", entry.code, entry.of)
    })?;
    let commands: String = commands.iter().map(|command| format!("$ {command}\n")).collect();
    Ok(format!("{commands}{found}"))
}

/// The first diagnostic of that code among those on standard error.
fn drawn(error: &str, code: &str) -> Option<String> {
    let is_first = |line: &str| line.starts_with('[') && line.contains("] ");
    let mut lines = error.lines().skip_while(|line| !line.starts_with(&format!("[{code}] ")));
    let first = lines.next()?;
    let rest = lines.take_while(|line| !is_first(line));
    Some([first].into_iter().chain(rest).map(|line| format!("{}\n", line.trim_end())).collect())
}

/// The first diagnostic of that code in JSON.
fn in_json(text: &str, code: &str) -> Option<String> {
    fn find<'j>(json: &'j Json, code: &str) -> Option<&'j Json> {
        match json {
            Json::Object(fields) if fields.get("code").is_some_and(|found| found == code) => {
                Some(json)
            }
            Json::Object(fields) => fields.values().find_map(|json| find(json, code)),
            Json::Array(all) => all.iter().find_map(|json| find(json, code)),
            _ => None,
        }
    }
    let json: Json = serde_json::from_str(text).ok()?;
    Some(format!("{:#}\n", find(&json, code)?))
}

#[test]
fn examples_show_their_codes() {
    let old = std::fs::read_to_string(page_path()).unwrap();
    let all = entries(&old);
    let mut wrong = Vec::new();
    let mut new = old.clone();
    // From the end on, so that the places before stay.
    for entry in all.iter().rev() {
        let has_none = WITHOUT_EXAMPLE.contains(&entry.of);
        match &entry.session {
            _ if entry.meaning.is_empty() => wrong.push(format!("`{}` has no meaning", entry.code)),
            None if has_none => {}
            None => wrong.push(format!("`{}` ({}) has no example", entry.code, entry.of)),
            Some(_) if has_none => wrong.push(format!("`{}` has an example", entry.code)),
            Some(range) => match session(entry, &old) {
                Ok(session) => new.replace_range(range.clone(), &session),
                Err(message) => wrong.push(message),
            },
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(all.len() > 150, "{} codes", all.len());
    expect_test::expect_file![page_path()].assert_eq(&new);
}

/// `litmus explain-code` prints what the page says: of all codes in a line, of one everything.
#[test]
fn codes_are_explained() {
    let page = std::fs::read_to_string(page_path()).unwrap();
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litmus"));
        let output = command.arg("explain-code").args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (all, list) = (entries(&page), ask(&[]));
    assert_eq!(list.lines().count(), all.len());
    for entry in &all {
        let told = ask(&[entry.code]);
        assert!(list.contains(&entry.meaning) && told.contains(&entry.meaning), "{told}");
        assert!(told.contains(&page[entry.session.clone().unwrap_or(0..0)]), "{told}");
        let lines = entry.files.iter().flat_map(|(_, text)| text.lines());
        lines.for_each(|line| assert!(told.contains(line), "{told}"));
    }
}

#[test]
fn headings_are_in_use() {
    let page = std::fs::read_to_string(page_path()).unwrap();
    let all = entries(&page);
    for heading in WITHOUT_EXAMPLE {
        assert!(all.iter().any(|entry| entry.of == heading), "{heading}");
    }
    let mut seen = BTreeSet::new();
    for entry in &all {
        assert!(seen.insert((entry.of, entry.code)), "`{}` stands twice", entry.code);
    }
}

/// The words of the sources in a folder that stand behind `Code::`.
fn codes_in_sources(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            codes_in_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let word = |rest: &str| rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            found.extend(text.split("Code::").skip(1).map(word));
        }
    }
}

#[test]
fn every_code_is_on_the_page() {
    let page = std::fs::read_to_string(page_path()).unwrap();
    let explained: BTreeSet<&str> = entries(&page).iter().map(|entry| entry.code).collect();
    let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(explained, codes, "left: docs/diagnostics.md; right: the sources");
}

#[test]
fn every_code_is_in_use() {
    let mut found = BTreeSet::new();
    for name in ["lang", "compiler", "compiler/skeleton", "model", "executor/evidence", "cli"] {
        codes_in_sources(&root().join(name).join("src"), &mut found);
    }
    let unused: Vec<&Code> =
        Code::ALL.iter().filter(|code| !found.contains(&format!("{code:?}"))).collect();
    assert!(unused.is_empty(), "{unused:?}");
}
