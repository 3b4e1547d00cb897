//! What errors and warnings look like. `UPDATE_EXPECT=1 cargo test -p lang` rewrites the expectations.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{check, load, parse};
use expect_test::{expect, expect_file};
use lang::diagnostic::Code;
use lang::litmus::decode;
use lang::source::Source;

#[test]
fn invalid_files_are_explained() {
    for (path, source) in crate::files("err") {
        let text = crate::rendered(&source);
        assert!(!text.is_empty(), "{}: no diagnostic", path.display());
        expect_file![path.with_extension("txt")].assert_eq(&text);
    }
}

#[test]
fn a_tree_comes_without_errors_only() {
    for (path, source) in crate::files("err") {
        let (file, diagnostics) = parse(&source);
        let failed = diagnostics.iter().any(|diagnostic| diagnostic.is_error());
        assert_eq!(file.is_none(), failed, "{}", path.display());
        if let Some(file) = file {
            let (test, diagnostics) = check(&file, &source);
            let failed = diagnostics.iter().any(|diagnostic| diagnostic.is_error());
            assert_eq!(test.is_none(), failed, "{}", path.display());
        }
    }
}

#[test]
fn bytes_that_are_no_program() {
    let text = |bytes: &[u8]| match decode("t.litmus", bytes) {
        Ok(_) => "fine".to_owned(),
        Err(error) => error.0.render(&error.1, false),
    };
    expect![[r#"
        [not-utf8] Error: expected UTF-8 text, found the byte 0xff on line 3, column 5
           ,-[ t.litmus:3:5 ]
           |
         3 |   --�-
           |     |  
           |     `-- here
           | 
           | Help: save the file as UTF-8
        ---'
    "#]]
    .assert_eq(&text(b"litmus t\n  x = 0\n  --\xff-\n"));
    expect![[r#"
        [empty-file] Error: expected a litmus program, found an empty file
           ,-[ t.litmus:1:1 ]
           |
         1 | 
           | | 
           | `- here
           | 
           | Help: the first line is `litmus NAME`
        ---'
    "#]]
    .assert_eq(&text(b"\n \t\n"));
    expect!["fine"].assert_eq(&text("\u{feff}litmus t".as_bytes()));
    let large = Source::new("t.litmus", " ".repeat(lang::litmus::MAX_BYTES + 1));
    expect!["the file has 1048577 bytes, and 1048576 are the limit"]
        .assert_eq(&load(&large).1[0].message);
}

/// Every code that the sources of the language name.
fn codes_in_sources(folder: &Path, codes: &mut BTreeSet<&'static str>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            codes_in_sources(&path, codes);
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            let is_named = |code: &&Code| {
                let name = format!("Code::{code:?}");
                let mut after = text.split(&name).skip(1);
                after.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            };
            codes.extend(Code::ALL.iter().filter(is_named).map(|code| code.name()));
        }
    }
}

#[test]
fn every_code_is_documented_and_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut codes = BTreeSet::new();
    codes_in_sources(&root.join("src/litmus"), &mut codes);
    let page = std::fs::read_to_string(root.join("../docs/diagnostics.md")).unwrap();
    let (_, programs) = page.split_once("\n## Programs\n").unwrap();
    let programs = programs.split("\n## ").next().unwrap();
    let documented: BTreeSet<&str> =
        programs.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    assert_eq!(documented, codes, "left: docs/diagnostics.md; right: the sources");
    let mut tested = BTreeSet::from(["not-utf8", "empty-file", "file-too-large"]);
    for (_, source) in crate::files("err") {
        tested.extend(load(&source).1.iter().map(|diagnostic| diagnostic.code.name()));
    }
    assert_eq!(tested, codes, "left: tested; right: the sources");
}

#[test]
fn a_fence_is_warned_about_only_if_it_leaves_something_out() {
    let warns = |column: &[&str]| {
        let rows: String = column.iter().map(|row| format!("  {row} ||\n")).collect();
        let text = format!("litmus t\n\n  || y = 0\n  ---\n{rows}");
        let (test, found) = load(&Source::new("t.litmus", text.as_str()));
        assert!(test.is_some(), "{found:?}");
        found.iter().any(|one| one.code == Code::FenceOfOneQueuePair)
    };
    let fence = "GFence({2})";
    assert!(warns(&["y^2/1 := 1", fence]));
    assert!(warns(&["y^2/1 := 1", "y^2/1 := 2", "Poll(2/1)", fence]));
    assert!(warns(&["y^2/1 :=^d 1", "y^2/1 :=^e 2", "Wait(d)", fence]));
    assert!(!warns(&[fence, "y^2/1 := 1"]));
    assert!(!warns(&["y^2/1 := 1", "Poll(2/1)", fence]));
    assert!(!warns(&["unsignaled y^2/1 := 1", "y^2/1 := 2", "Poll(2/1)", fence]));
    assert!(!warns(&["y^2/1 :=^d 1", "Wait(d)", fence]));
}

/// What those type who do not know columns yet, and what they are told.
#[test]
fn rows_with_other_bars_say_what_to_write() {
    let program =
        |rows: &str| format!("litmus t\n\n  x = 0 || y = 0\n  -----\n{rows}\n  x = 1 ✓\n");
    for (rows, hint) in [
        ("  x := 1\n", "a cell may be empty: `x := 1 ||`"),
        ("  x := 1 | y := 1\n", "`||` separates nodes, and `|` threads of one node"),
        (
            "  x := 1 ; y := 1\n",
            "write `||` between columns; `;` separates statements of one thread",
        ),
        ("  x := 1    y := 1\n", "write `||` between columns"),
        ("  x := 1 || y := 1\n  x = 5 X\n", "a verdict ends in `✓`, `✗` or `?`"),
        ("  x := 1 || y := 1 || x := 2\n", "every row has the same bars; a cell may be empty"),
    ] {
        let rendered = crate::rendered(&Source::new("t.litmus", program(rows)));
        assert!(
            rendered.contains("[wrong-columns]") && rendered.contains(hint),
            "{rows}{rendered}"
        );
    }
}

/// A poll of several queue pairs blocks for certain only if nothing is left on any of them.
#[test]
fn a_shared_poll_is_warned_about_only_if_it_certainly_blocks() {
    let found = |statements: &[&str]| {
        let rows: String = statements.iter().map(|row| format!("  {row} ||\n")).collect();
        let text = format!("litmus t\nmodel rdma-tso-rmw\n\n || x = 0, y = 0\n  ---\n{rows}");
        let (_, diagnostics) = load(&Source::new("t.litmus", text));
        let others = diagnostics.iter().filter(|one| one.code != Code::UnusedLocation);
        others.map(|one| format!("{}: {}", one.code, one.message)).collect::<Vec<_>>()
    };
    let (put, shared) = ("x^2 := 1", "Poll({2, 2/1})");
    assert!(found(&[put, "y^2/1 := 1", shared, "Poll(2)"]).is_empty());
    assert!(found(&[put, shared]).is_empty());
    let blocks = "poll-without-operation: no operation towards node 2 or node 2 on queue pair 1 is left to poll, \
                  so this blocks";
    assert_eq!(found(&[put, shared, shared]), [blocks]);
    assert_eq!(found(&[put, "x^2/2 := 1", "Poll({2/1, 2/3})"]).len(), 1);
    assert_eq!(
        found(&["x^2 := 1", "y^2 := 1", "Poll({})"]),
        ["wrong-arguments: expected 1 to 16 queue pairs, found 0"]
    );
    assert_eq!(
        found(&["x^2 := 1", "y^2 := 1", "GFence({2/1})"]),
        ["wrong-arguments: expected a node's number, found queue pairs"]
    );
}
