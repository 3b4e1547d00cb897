//! What ARCHITECTURE.md promises of the source tree, and what no compiler checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use lang::source::Source;

/// The crates, and which of the others each may use. The engines stand apart, so that their agreement means
/// something: `machine` cannot see the skeleton, and neither `machine`, `smt` nor `checker` can see another
/// of the three.
const CRATES: [(&str, &[&str]); 14] = [
    ("lang", &[]),
    ("campaign", &[]),
    ("compiler", &["lang"]),
    ("skeleton", &["lang", "compiler"]),
    ("machine", &["lang", "compiler"]),
    ("checker", &["lang", "skeleton"]),
    ("smt", &["lang", "skeleton"]),
    ("model", &["lang", "compiler", "skeleton", "machine", "checker", "smt"]),
    ("evidence", &["lang", "campaign", "compiler", "model"]),
    ("executor", &["lang", "compiler", "model", "evidence"]),
    ("nic", &[]),
    ("lsp", &["lang", "compiler", "skeleton", "model"]),
    ("playground", &["lang", "compiler", "model"]),
    ("cli", &["lang", "campaign", "compiler", "skeleton", "model", "evidence", "executor", "lsp"]),
];
/// The folders that they are in.
const FOLDERS: [&str; 10] = [
    "lang",
    "campaign",
    "compiler",
    "model",
    "executor",
    "nic",
    "lsp",
    "playground",
    "python/src",
    "cli",
];
/// The widest that a comment may be, in columns.
const COLUMNS: usize = 110;
/// The longest that a source file may be, in lines.
const LINES: usize = 500;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("this crate is in a workspace").to_owned()
}

/// Files with an ending, by their path from the root.
fn files(folder: &str, extension: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folders can be listed").flatten() {
            let path = entry.path();
            let built = path.file_name().is_some_and(|name| name == "target");
            if path.is_dir() && !built {
                folders.push(path);
            } else if path.extension().is_some_and(|known| known == extension) {
                let text = std::fs::read_to_string(&path).expect("files can be read");
                let short = path.strip_prefix(root()).expect("it is below the root");
                found.insert(short.display().to_string().replace('\\', "/"), text);
            }
        }
    }
    assert!(!found.is_empty(), "no file *.{extension} in {folder}");
    found
}

fn rust_files() -> BTreeMap<String, String> {
    FOLDERS.iter().flat_map(|name| files(name, "rs")).collect()
}

fn report(found: &[String]) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// What cargo knows of the crates of the workspace.
fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs its tests, so it can be run");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("a workspace has packages").clone()
}

#[test]
fn crates_depend_one_way() {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let packages = packages();
    let mut names: Vec<String> = packages.iter().map(|package| text(&package["name"])).collect();
    let mut wrong = Vec::new();
    for package in &packages {
        let name = text(&package["name"]);
        let may_use = CRATES.iter().find(|known| known.0 == name).map_or(&[][..], |known| known.1);
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let used: Vec<String> = dependencies.map(|used| text(&used["name"])).collect();
        for used in &used {
            if CRATES.iter().any(|known| known.0 == used) && !may_use.contains(&used.as_str()) {
                wrong.push(format!("{name} must not depend on {used}"));
            }
        }
        let unused = may_use.iter().filter(|known| !used.iter().any(|used| used == *known));
        wrong.extend(unused.map(|unused| format!("{name} does not depend on {unused} any more")));
    }
    report(&wrong);
    names.sort();
    let mut known = CRATES.map(|(name, _)| name.to_owned());
    known.sort();
    assert_eq!(names, known, "ARCHITECTURE.md and this test list the crates");
}

/// The crates of others, in groups with what each is for: Cargo.toml's comments above them.
fn dependencies() -> Vec<(String, Vec<String>)> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("there is one");
    let (_, all) = manifest.split_once("[workspace.dependencies]").expect("crates are listed");
    let (all, _) = all.split_once("\n[").expect("other parts follow");
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for paragraph in all.split("\n\n") {
        let (reason, lines): (Vec<&str>, Vec<&str>) =
            paragraph.trim().lines().partition(|line| line.starts_with('#'));
        let foreign = lines.iter().filter(|line| !line.contains("path = "));
        let names: Vec<String> =
            foreign.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect();
        if !names.is_empty() {
            assert_eq!(reason.len(), 1, "one line says what these are for: {names:?}");
            groups.push((reason[0].trim_start_matches("# ").to_owned(), names));
        }
    }
    groups
}

/// The list of dependencies is made of Cargo.toml; `UPDATE_EXPECT=1` writes it.
#[test]
fn contributing_lists_the_dependencies() {
    let groups = dependencies();
    let path = root().join("CONTRIBUTING.md");
    let text = std::fs::read_to_string(&path).expect("there is one");
    let head = "| crate | for |\n|---|---|\n";
    let (before, rest) = text.split_once(head).expect("there is a table");
    let (_, after) = rest.split_once("\n\n").expect("text follows the table");
    let rows = groups.iter().map(|(reason, names)| format!("| {} | {reason} |", names.join(", ")));
    let rows = rows.collect::<Vec<_>>().join("\n");
    expect_test::expect_file![path].assert_eq(&format!("{before}{head}{rows}\n\n{after}"));
    // Crates take no others, and each is used.
    let packages = packages();
    let used = packages.iter().flat_map(|package| package["dependencies"].as_array()).flatten();
    let used: BTreeSet<&str> = used
        .filter(|dependency| dependency["source"].is_string())
        .filter_map(|dependency| dependency["name"].as_str())
        .collect();
    let listed: BTreeSet<&str> =
        groups.iter().flat_map(|(_, names)| names).map(String::as_str).collect();
    assert_eq!(used, listed, "Cargo.toml's list is that of the crates' own");
}

#[test]
fn only_cli_prints_reads_arguments_and_exits() {
    // The language server speaks to editors by standard output, and a build tool is a program of its own.
    let exempt = ["cli/", "lsp/src/transport.rs", "playground/bind/"];
    let words = [
        "println!",
        "print!",
        "eprintln!",
        "eprint!",
        "process::exit",
        "env::args",
        "args_os",
        "stdout()",
        "stderr()",
    ];
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        let is_exempt = exempt.iter().any(|exempt| path.starts_with(exempt));
        if is_exempt || !path.contains("/src/") || is_test {
            continue;
        }
        found.extend(places(&path, &text, &words));
    }
    report(&found);
}

#[test]
fn only_the_walls_to_c_are_unsafe() {
    let walls = [
        "cli/src/allocator.rs",
        "executor/src/rdma/verbs/ffi",
        "executor/src/rdma/ofi/ffi",
        "executor/src/rdma/lines.rs",
        "nic/src/ffi",
    ];
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        if !walls.iter().any(|wall| path.starts_with(wall)) {
            found.extend(places(&path, &text, &["unsafe"]));
        }
    }
    report(&found);
}

#[test]
fn nothing_is_forbidden_on_trust() {
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        if path != "cli/src/cache.rs" && path != "model/src/bound.rs" && !is_test {
            found.extend(places(&path, &text, &["on_trust"]));
        }
    }
    report(&found);
}

#[test]
fn nothing_is_left_to_do() {
    let words = ["todo!", "unimplemented!", "dbg!"];
    let found = rust_files();
    let found = found.iter().flat_map(|(path, text)| places(path, text, &words));
    report(&found.collect::<Vec<_>>());
}

#[test]
fn files_are_short() {
    let mut all = rust_files();
    all.extend(files("lang", "pest"));
    let long = all.iter().filter(|(_, text)| text.lines().count() > LINES);
    let long = long.map(|(path, text)| format!("{path}: {} lines", text.lines().count()));
    report(&long.collect::<Vec<_>>());
}

/// rustfmt wraps code, not comments.
#[test]
fn comments_are_narrow() {
    let mut wide = Vec::new();
    for (path, text) in rust_files() {
        for (index, line) in text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if is_comment && line.chars().count() > COLUMNS && line.trim().contains(' ') {
                wide.push(format!("{path}:{}: {} columns", index + 1, line.chars().count()));
            }
        }
    }
    report(&wide);
}

#[test]
fn links_lead_somewhere() {
    let mut pages = files("docs", "md");
    for folder in ["litmus-suite", "editors", "python", "testbed"] {
        pages.extend(files(folder, "md"));
    }
    for entry in std::fs::read_dir(root()).expect("the root can be listed").flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        if name.ends_with(".md") {
            pages.insert(name, std::fs::read_to_string(entry.path()).expect("files can be read"));
        }
    }
    let mut dead = Vec::new();
    for (page, text) in &pages {
        let folder = Path::new(page).parent().unwrap_or(Path::new(""));
        for link in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if path.is_empty() { root().join(page) } else { root().join(folder).join(path) };
            let there = match std::fs::read_to_string(&target) {
                Ok(text) if !heading.is_empty() => {
                    headings(&text).iter().any(|known| known == heading)
                }
                _ => target.exists(),
            };
            if !there {
                dead.push(format!("{page}: {link} leads nowhere"));
            }
        }
    }
    report(&dead);
}

#[test]
fn every_model_file_is_shipped() {
    let mut shipped: Vec<String> =
        model::models::SHIPPED.iter().map(|(name, _)| format!("model/models/{name}.cat")).collect();
    shipped.sort();
    assert_eq!(shipped, files("model/models", "cat").into_keys().collect::<Vec<_>>());
    for (name, _) in model::models::SHIPPED {
        let loaded = model::models::load_shipped(name);
        assert!(loaded.is_some_and(|loaded| loaded.is_ok()), "{name} does not load");
    }
}

/// Where tests are modules of few binaries, cargo does not look for others: a file that no module names would
/// never run.
#[test]
fn every_file_of_tests_is_a_module() {
    let mut wrong = Vec::new();
    for (folder, binaries) in [("cli/tests", ["main", "cli"]), ("model/tests", ["main", "cases"])] {
        let text = |name| std::fs::read_to_string(root().join(folder).join(format!("{name}.rs")));
        let roots = binaries.map(|name| text(name).expect("it is there")).concat();
        for (path, _) in files(folder, "rs") {
            let inside = path.strip_prefix(folder).unwrap_or(&path).trim_start_matches('/');
            let module = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs");
            if !binaries.contains(&module) && !roots.contains(&format!("\nmod {module};\n")) {
                wrong.push(format!("{path}: no binary of {folder} has the module {module}"));
            }
        }
    }
    report(&wrong);
}

#[test]
fn tests_of_the_suite_are_named_as_their_files() {
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (path, text) in files("litmus-suite", "litmus") {
        let (test, diagnostics) = lang::litmus::load_with(
            &Source::new(path.clone(), text),
            model::library::shipped().words(),
        );
        let Some(test) = test else {
            wrong.push(format!("{path}: {diagnostics:?}"));
            continue;
        };
        if Path::new(&path).file_stem().is_none_or(|stem| *stem != *test.name) {
            wrong.push(format!("{path}: the test is named {}", test.name));
        }
        if let Some(other) = paths.insert(test.name.clone(), path.clone()) {
            wrong.push(format!("{path}: {other} has the same name"));
        }
    }
    report(&wrong);
}

/// The targets of a page's links, outside of code.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        // Every other part is between backticks, but `[code](target)` is a link.
        if !fenced {
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            found.extend(targets.filter_map(|target| target.split(' ').next()));
        }
    }
    found
}

/// The anchors that a page's headings have.
fn headings(text: &str) -> Vec<String> {
    let heading = |line: &str| {
        let title = line.strip_prefix('#')?.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect())
    };
    let anchors = text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    text.lines().filter_map(heading).chain(anchors.map(str::to_owned)).collect()
}

/// Where one of the words stands in the code of a file: not in comments, text, or longer words.
fn places(path: &str, text: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in code(text).lines().enumerate() {
        for word in words {
            let whole = |at: usize| {
                let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                !part(line[..at].chars().next_back())
                    && !part(line[at + word.len()..].chars().next())
            };
            if line.match_indices(word).any(|(at, _)| whole(at)) {
                found.push(format!("{path}:{}: {word}", number + 1));
            }
        }
    }
    found
}

/// Rust text with comments, strings and characters blanked; line ends stay.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = skipped(rest, out.chars().next_back());
        let (blank, after) = rest.split_at(if skipped == 0 { c.len_utf8() } else { skipped });
        if skipped == 0 {
            out.push(c);
        } else {
            out.push(' ');
            out.extend(blank.chars().filter(|c| *c == '\n'));
        }
        rest = after;
    }
    out
}

/// How many bytes at the start are a comment, a string or a character.
fn skipped(rest: &str, before: Option<char>) -> usize {
    let through = |start: usize, end: &str| match rest[start..].find(end) {
        Some(at) => start + at + end.len(),
        None => rest.len(),
    };
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let hashes =
        rest.strip_prefix('r').map_or(0, |raw| raw.bytes().take_while(|b| *b == b'#').count());
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return through(2, "*/");
    }
    if rest.starts_with('r') && !in_word && rest[1 + hashes..].starts_with('"') {
        return through(2 + hashes, &format!("\"{}", "#".repeat(hashes)));
    }
    match rest.bytes().next() {
        Some(b'"') => quoted(rest),
        // A lifetime has no quote behind its name.
        Some(b'\'') if rest[1..].starts_with('\\') => quoted(rest),
        Some(b'\'') => {
            let width = rest[1..].chars().next().map_or(0, char::len_utf8);
            if rest[1 + width..].starts_with('\'') { width + 2 } else { 0 }
        }
        _ => 0,
    }
}

/// The length of what begins with a quote and ends with the same, in which a backslash hides the next byte.
fn quoted(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != bytes[0] {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

#[test]
fn words_are_found_in_code_only() {
    let text = "// dbg!\nlet a = \"dbg!(\\\")\"; dbg!(a);\nlet c = '\"'; r#\"dbg!\"#; b'\\''; my_dbg!(); &'a x";
    assert_eq!(places("a.rs", text, &["dbg!"]), ["a.rs:2: dbg!"]);
    assert_eq!(headings("# One: a `b`\n## C-d"), ["one-a-b", "c-d"]);
    assert_eq!(links("[a](b.md) and [`c`](d.md#e)\n```\n[x](y)\n```"), ["b.md", "d.md#e"]);
}
