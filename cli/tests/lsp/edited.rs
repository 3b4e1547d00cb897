//! Texts that other texts depend on, as they are edited, opened, closed, and changed elsewhere.

use serde_json::{Value, json};

use super::client::{Client, everywhere};

const PROGRAM: &str = "litmus uses\nmodel \"own.cat\"\n\n  x = 0\n  ---\n  x := 1\n\n  x = 1 ✓\n";
const MODEL: &str = "\"own\"\ninclude \"rdma-tso-rmw.cat\"\n";

fn codes(problems: &Value) -> Vec<&str> {
    problems.as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

fn run(client: &mut Client, command: &str, uri: &str) -> (Option<i64>, String) {
    let asked = json!({ "command": command, "arguments": [uri] });
    let done = client.ask("workspace/executeCommand", asked);
    (done["exit"].as_i64(), done["output"].as_str().unwrap().to_owned())
}

#[test]
fn programs_are_checked_again_when_their_model_changes() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp-edited");
    std::fs::create_dir_all(&folder).unwrap();
    let _ = std::fs::remove_file(folder.join("own.cat"));
    let uri = |name: &str| format!("file://{}", folder.join(name).display());
    let mut client = Client::new(json!({}));
    let program = client.open_at(&uri("uses.litmus"), PROGRAM);
    assert_eq!(codes(&client.problems(&program)), ["unusable-model-file"]);
    let model = client.open_at(&uri("own.cat"), MODEL);
    assert_eq!(client.problems(&program), json!([]));
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": model } }));
    assert_eq!(codes(&client.problems(&program)), ["unusable-model-file"]);
    std::fs::write(folder.join("own.cat"), MODEL).unwrap();
    let changes = json!({ "changes": [{ "uri": model, "type": 1 }] });
    client.tell("workspace/didChangeWatchedFiles", changes);
    assert_eq!(client.problems(&program), json!([]));
    // Verdicts too: now nothing is possible.
    let mark =
        |client: &mut Client| client.hints(&program)[0]["label"].as_str().unwrap().to_owned();
    assert_eq!(mark(&mut client), "✓ found");
    client.open_at(&model, &format!("{MODEL}empty W as nothing\nlet W = aCW | aMF\n"));
    assert_eq!(codes(&client.problems(&program)), ["unusable-model-file"]);
    client.change(&model, 2, &format!("{MODEL}empty aCW as nothing\n"));
    let problems = client.problems(&program);
    assert_eq!(problems, json!([]));
    assert_eq!(mark(&mut client), "✗ violated");
    client.end();
}

#[test]
fn commands_see_what_is_not_stored() {
    let mut client = Client::new(json!({}));
    let model = client.open("own.cat", MODEL);
    let program = client.open("uses.litmus", PROGRAM);
    let (exit, output) = run(&mut client, "litmus.check", &program);
    assert_eq!((exit, output.contains("1 file: 0 errors")), (Some(0), true), "{output}");
    let (exit, output) = run(&mut client, "litmus.check", &model);
    assert_eq!((exit, output.contains("1 file: 0 errors")), (Some(0), true), "{output}");
    client.change(&model, 2, &format!("{MODEL}let w = nonsense\n"));
    for uri in [&model, &program] {
        let (exit, output) = run(&mut client, "litmus.check", uri);
        assert_eq!(exit, Some(65), "{output}");
        assert!(output.contains("nonsense"), "{output}");
        assert!(output.contains("/no/such/folder/own.cat"), "as if it were stored: {output}");
    }
    client.change(&model, 3, &format!("{MODEL}empty aCW as nothing\n"));
    let (_, output) = run(&mut client, "litmus.explain", &program);
    assert!(output.contains("nothing"), "{output}");
    let library = client.open("own.lib", "library own\nclass Own\ncall Do(Own x) { nonsense }\n");
    let (exit, output) = run(&mut client, "litmus.check", &library);
    assert_eq!((exit, output.contains("own.lib:3")), (Some(65), true), "{output}");
    let asked = json!({ "command": "litmus.check", "arguments": ["file:///no/such/file.cat"] });
    let why = client.refused("workspace/executeCommand", asked);
    assert!(why.contains("expected a file or an open text"), "{why}");
    client.end();
}

/// Whether a process runs, other than its parent's, that names a part of a path.
#[cfg(target_os = "linux")]
fn runs(part: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(part)
    })
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_ends_soon_after_a_server_that_is_killed() {
    let mut client = Client::new(json!({}));
    let uri = client.open("long.litmus", &super::long());
    assert_eq!(client.problems(&uri), json!([]));
    let copies = format!("litmus-lsp-{}-", client.process());
    let asked = json!({ "command": "litmus.explain", "arguments": [uri] });
    client.send("workspace/executeCommand", asked);
    while !runs(&copies) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    client.kill();
    let begin = std::time::Instant::now();
    while runs(&copies) {
        assert!(begin.elapsed() < std::time::Duration::from_secs(20), "nobody ends it");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_command_outlives_the_server() {
    for says_so in [true, false] {
        let mut client = Client::new(json!({}));
        let uri = client.open("long.litmus", &super::long());
        assert_eq!(client.problems(&uri), json!([]));
        let copies = format!("litmus-lsp-{}-", client.process());
        let asked = json!({ "command": "litmus.explain", "arguments": [uri] });
        let id = client.send("workspace/executeCommand", asked);
        while !runs(&copies) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        client.send("textDocument/inlayHint", everywhere(&uri));
        if says_so {
            assert_eq!(client.ask("shutdown", Value::Null), Value::Null);
            assert!(!runs(&copies));
            assert_eq!(client.answer(id)["error"]["code"], -32800);
            client.tell("exit", Value::Null);
        } else {
            client.vanish();
        }
        assert!(!runs(&copies), "{says_so}");
        let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let names = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
        assert!(!names.into_iter().any(|name| name.starts_with(&copies)), "copies are removed");
    }
}
