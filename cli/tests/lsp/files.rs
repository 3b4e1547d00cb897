//! Files with errors, whose quick fixes make them right; and the whole suite, with which nothing is wrong.

use std::path::{Path, PathBuf};

use super::client::{Client, applied, at, everywhere};
use serde_json::{Value, json};

fn folder(name: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| endings.iter().any(|end| it == *end)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The file that has an error without a fix.
const WITHOUT_FIX: [&str; 1] = ["in-the-middle.litmus"];

#[test]
fn every_quick_fix_makes_a_file_right() {
    let files = folder("editors/tests/files", &["litmus", "cat", "lib"]);
    assert!(files.len() >= 20);
    let mut client = Client::new(json!({}));
    for path in files {
        let (name, text) = (file_name(&path), std::fs::read_to_string(&path).unwrap());
        let uri = client.open(name, &text);
        let problems = client.problems(&uri);
        let problems = problems.as_array().unwrap();
        assert_eq!(problems.len(), 1, "{name}: {problems:?}");
        let context = json!({ "diagnostics": [] });
        let mut asked = everywhere(&uri);
        asked["range"] = problems[0]["range"].clone();
        asked["context"] = context;
        let actions = client.ask("textDocument/codeAction", asked);
        let actions = actions.as_array().unwrap();
        if WITHOUT_FIX.contains(&name) {
            assert_eq!(actions.len(), 0, "{name}");
            continue;
        }
        assert_eq!(actions.len(), 1, "{name}: {problems:?}");
        assert_eq!(actions[0]["diagnostics"][0], problems[0], "{name}");
        let fixed = applied(&text, &actions[0]["edit"]["changes"][&uri]);
        client.change(&uri, 2, &fixed);
        assert_eq!(client.problems(&uri), json!([]), "{name}:\n{fixed}");
    }
    client.end();
}

/// With no file that is shipped is anything wrong, and all that may be asked of it has an answer.
#[test]
fn the_suite_is_read() {
    let mut files = folder("litmus-suite", &["litmus"]);
    // Each file is like its neighbors.
    let mut index = 0..;
    files.retain(|_| index.next().is_some_and(|index| index % 8 == 0));
    files.extend(folder("model/models", &["cat"]));
    files.extend(folder("model/libraries", &["lib"]));
    assert!(files.len() > 80);
    let mut client = Client::new(json!({}));
    for path in files {
        let (name, text) = (file_name(&path), std::fs::read_to_string(&path).unwrap());
        let uri = client.open(name, &text);
        assert_eq!(client.problems(&uri), json!([]), "{name}");
        let document = json!({ "textDocument": { "uri": uri } });
        let symbols = client.ask("textDocument/documentSymbol", document);
        // Some models only include others.
        let has_none = symbols.as_array().unwrap().is_empty();
        assert!(!has_none || name.ends_with(".cat"), "{name}");
        for (line, content) in text.lines().enumerate().filter(|(line, _)| line % 3 == 0) {
            let column = content.chars().take_while(|c| !c.is_alphabetic()).count();
            for method in ["textDocument/hover", "textDocument/definition"] {
                client.ask(method, at(&uri, line, column));
            }
            let words = client.ask("textDocument/completion", at(&uri, line, column));
            assert_ne!(words, Value::Null);
        }
        client.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }
    client.end();
}
