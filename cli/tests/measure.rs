//! `docs/measure`, which makes the tables of docs/performance.md.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of a workspace")
}

fn measure(page: &Path, arguments: &[&str]) -> Output {
    Command::new(root().join("docs/measure"))
        .args(arguments)
        .env("MEASURE_PAGE", page)
        .output()
        .expect("bash runs")
}

/// A page in a folder for tests.
fn page(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the folder can be written");
    path
}

const PAGE: &str = r#"above
<!-- made by: echo '| a & \1 |' -->
old
<!-- end -->
between
<!-- made, if asked, by: echo slow -->
older
<!-- end -->
below
"#;

/// The page without what depends on the commit.
fn text(page: &Path) -> String {
    let text = std::fs::read_to_string(page).expect("it is there");
    let lines = text.lines().map(|line| line.split(", at ").next().unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn parts_are_replaced_and_nothing_else() {
    let page = page("parts.md", PAGE);
    assert!(measure(&page, &[]).status.success());
    let made = PAGE.replace("old\n", "\n| a & \\1 |\n\n`echo '| a & \\1 |'`\n\n");
    assert_eq!(text(&page), made, "what takes long is left as it is");
    assert!(measure(&page, &["slow"]).status.success());
    assert_eq!(text(&page), made.replace("older\n", "\nslow\n\n`echo slow`\n\n"));
}

#[test]
fn failures_leave_the_page() {
    let broken = PAGE.replace("echo slow", "echo half; false");
    let page = page("failures.md", &broken);
    assert_eq!(measure(&page, &["half"]).status.code(), Some(1));
    assert_eq!(measure(&page, &["no-such-word"]).status.code(), Some(1));
    assert_eq!(text(&page), broken);
    std::fs::write(&page, "<!-- made by: echo a -->\ntext").expect("the folder can be written");
    assert_eq!(measure(&page, &[]).status.code(), Some(1), "a part has no end");
}

#[test]
fn the_page_names_benchmarks_that_are_there() {
    let page = root().join("docs/performance.md");
    assert!(measure(&page, &["--check"]).status.success());
    let listed = measure(&page, &["--list"]);
    let commands = String::from_utf8(listed.stdout).expect("it is text");
    let mut benches = 0;
    for command in commands.lines() {
        let words: Vec<&str> = command.split(' ').collect();
        if let ["cargo", "bench", "-p", package, "--bench", bench, ..] = words[..] {
            let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml"));
            let manifest = manifest.expect("the package is there");
            assert!(manifest.contains(&format!("[[bench]]\nname = \"{bench}\"")), "{command}");
            benches += 1;
        }
    }
    assert!(benches > 3, "{commands}");
}
