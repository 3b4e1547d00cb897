//! What no editor should send, and texts that nobody writes.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, at};

#[test]
fn what_is_no_message_is_answered() {
    let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let message = |id: i32, method: &str| {
        framed(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} }).to_string())
    };
    let told = |method: &str| framed(&json!({ "jsonrpc": "2.0", "method": method }).to_string());
    let input = [
        message(1, "initialize"),
        told("initialized"),
        framed("{ no json"),
        framed("[]"),
        message(2, "shutdown"),
        told("exit"),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_litmus"));
    command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.concat().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["-32700", "-32600", "\"id\":null", "\"id\":2,\"result\":null"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A length that no memory has is no reason to panic.
    let input = format!("Content-Length: {}\r\n\r\n{{}}", u64::MAX);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("expected a message of at most"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn wrong_parameters_are_named() {
    let mut client = Client::new(json!({}));
    let uri = client.open("session.litmus", super::PROGRAM);
    for method in ["hover", "rename", "completion", "codeAction", "formatting", "inlayHint"] {
        let method = format!("textDocument/{method}");
        assert_eq!(client.code(&method, json!({ "uri": uri })), -32602, "{method}");
    }
    assert_eq!(client.code("workspace/executeCommand", json!([])), -32602);
    client.end();
}

#[test]
fn long_texts_are_answered_in_time() {
    let mut client = Client::new(json!({}));
    let begin = Instant::now();
    let deep = format!("litmus deep\nmodel sc\n\n  x = 0\n  ---\n  {}\n", "x^((".repeat(200_000));
    let uri = client.open("deep.litmus", &deep);
    let problems = client.problems(&uri);
    assert_eq!(problems.as_array().unwrap().len(), 1, "{problems}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let many = format!("litmus many\nmodel sc\n\n  x = 0\n  ---\n{}", "  x := 1\n".repeat(20_000));
    let uri = client.open("many.litmus", &many);
    let text = client.hover(&uri, 100, 2);
    assert!(text.contains("the CPU writes `x` on node 1"), "{text}");
    assert_eq!(client.ask("textDocument/hover", at(&uri, 2, 0)), Value::Null);
    client.end();
}

#[test]
fn what_takes_too_long_is_tried_once() {
    let mut client = Client::with(json!({}), None, 1);
    // Seconds, for each name is compared with all others.
    let rows: String = (0..55_000).map(|row| format!("  y{row} := z{row}\n")).collect();
    let text = format!("litmus session\nmodel sc\n\n  x = 0\n  ---\n{rows}");
    let uri = client.open("session.litmus", &text);
    let problems = client.problems(&uri);
    assert!(problems.to_string().contains("takes more than the 1 seconds"), "{problems}");
    let begin = Instant::now();
    for line in 0..30 {
        let why = client.refused("textDocument/hover", at(&uri, line, 2));
        assert!(why.contains("takes more than"), "{why}");
    }
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    // A change may have mended it.
    client.change(&uri, 2, super::PROGRAM);
    assert_eq!(client.problems(&uri), json!([]));
    client.end();
}
