//! Sessions with `litmus lsp`, the process that editors start, over its standard input and output.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

mod client;
mod edited;
mod files;
mod hostile;
mod meanings;
mod renames;

use client::{Client, at};
use serde_json::{Value, json};

const PROGRAM: &str = "\
litmus session
model rdma-wait rdma-wait-rmw

  y = 0       ||  x = 0
  --------------------------
  x^2 :=^d 1  ||  y^1 :=^e 1   // ā 𝔸 ✓
  Wait(d)     ||  Wait(e)
  a := y      ||  b := x

  (a, b) = (0, 0) ✓
  (a, b) = (1, 1) ✗
";

fn labels(hints: &Value) -> Vec<&str> {
    hints.as_array().unwrap().iter().map(|hint| hint["label"].as_str().unwrap()).collect()
}

#[test]
fn a_session() {
    let mut client = Client::new(json!({}));
    assert_eq!(client.capabilities["positionEncoding"], "utf-16");
    let uri = client.open("session.litmus", PROGRAM);
    assert_eq!(client.problems(&uri), json!([]));
    // `x^2 :=^d 1`
    let hover = client.ask("textDocument/hover", at(&uri, 5, 2));
    let text = hover["contents"]["value"].as_str().unwrap();
    for part in ["location of node 2", "RDMA WRITE", "`aNLR`", "`aNRW`", "`x` on node 2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let hover = client.ask("textDocument/hover", at(&uri, 1, 8));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.starts_with("`rdma-wait`: "), "{text}");
    // The `x` of `b := x` is declared in the column of node 2.
    let defined = client.ask("textDocument/definition", at(&uri, 7, 23));
    assert_eq!(defined["range"]["start"], json!({ "line": 3, "character": 18 }));
    let mut asked = at(&uri, 5, 2);
    asked["context"] = json!({ "includeDeclaration": true });
    assert_eq!(client.ask("textDocument/references", asked).as_array().unwrap().len(), 3);
    // The work id of the wait is that of the put, and no location.
    let mut asked = at(&uri, 6, 7);
    asked["newName"] = json!("done");
    let renamed = client.ask("textDocument/rename", asked.clone());
    let edits = renamed["changes"][&uri].as_array().unwrap();
    assert_eq!(edits.len(), 2);
    assert_eq!(edits[0]["range"]["start"], json!({ "line": 5, "character": 9 }));
    for name in ["e", "1d", "if"] {
        asked["newName"] = json!(name);
        assert!(client.refused("textDocument/rename", asked.clone()).contains(name), "{name}");
    }
    let words = client.ask("textDocument/completion", at(&uri, 7, 2));
    let words: Vec<&str> =
        words.as_array().unwrap().iter().map(|word| word["label"].as_str().unwrap()).collect();
    assert!(["x", "Wait", "Rfence", "loop", "✓"].iter().all(|word| words.contains(word)));
    let words = client.ask("textDocument/completion", at(&uri, 1, 6));
    assert!(words.as_array().unwrap().iter().any(|word| word["label"] == "rdma-tso-rmw"));
    let document = json!({ "textDocument": { "uri": uri } });
    let symbols = client.ask("textDocument/documentSymbol", document.clone());
    let names = symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap());
    let expected =
        ["session", "y", "x", "thread 1 on node 1", "thread 2 on node 2", "verdict", "verdict"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    let lenses = client.ask("textDocument/codeLens", document);
    assert_eq!(lenses.as_array().unwrap().len(), 4);
    let hints = client.hints(&uri);
    assert_eq!(labels(&hints), ["✓ found", "✗ violated"]);
    client.change(
        &uri,
        2,
        &PROGRAM.replace("(0, 0) ✓", "(0, 0) ✗").replace("(1, 1) ✗", "(1, 2) ✗"),
    );
    assert_eq!(labels(&client.hints(&uri)), ["✗ violated", "✓ never"]);
    assert_eq!(hints[1]["position"], json!({ "line": 10, "character": 19 }));
    client.end();
}

#[test]
fn a_text_is_formatted_as_litmus_fmt_does() {
    let mut client = Client::new(json!({}));
    let text = "litmus loose\nmodel rdma-wait\nx=0||y=0\n---\nx:=1||b:=y\nb=0 ✓\n";
    let uri = client.open("loose.litmus", text);
    let asked = json!({ "textDocument": { "uri": uri }, "options": { "tabSize": 2, "insertSpaces": true } });
    let edits = client.ask("textDocument/formatting", asked.clone());
    let formatted = client::applied(text, &edits);
    let (tree, _) = lang::litmus::parse(
        &lang::source::Source::new("loose.litmus", text),
        model::library::shipped().words(),
    );
    assert_eq!(formatted, lang::litmus::print(&tree.unwrap()));
    client.change(&uri, 2, &formatted);
    assert_eq!(client.ask("textDocument/formatting", asked.clone()), json!([]));
    client.change(&uri, 3, "litmus loose\n  x = 0\n  ---\n  x := :=\n");
    assert_eq!(client.ask("textDocument/formatting", asked), Value::Null);
    client.end();
}

#[test]
fn columns_are_bytes_for_editors_that_say_so() {
    // Columns of `x` and `y`, behind characters of two, three and four bytes.
    for (encoding, x, y) in [("utf-8", 16, 21), ("utf-16", 11, 16)] {
        let general = json!({ "general": { "positionEncodings": [encoding, "utf-16"] } });
        let mut client = Client::new(general);
        assert_eq!(client.capabilities["positionEncoding"], encoding);
        let text = "litmus columns\nmodel sc\n\n  x = 0\n  ---\n  (*ā✓𝔸*) x := y\n";
        let uri = client.open("columns.litmus", text);
        let problems = client.problems(&uri);
        assert_eq!(problems[0]["code"], "undeclared-name");
        assert_eq!(problems[0]["range"]["start"], json!({ "line": 5, "character": y }));
        let defined = client.ask("textDocument/definition", at(&uri, 5, x));
        assert_eq!(defined["range"]["start"], json!({ "line": 3, "character": 2 }));
        client.end();
    }
}

/// A program with far more executions than there is time for.
fn long() -> String {
    let words: Vec<String> = (0..14).map(|word| format!("w{word} = 0")).collect();
    let writes = |node| (0..14).map(move |word| format!("w{word}^1 := {node}")).collect::<Vec<_>>();
    let all: Vec<String> = (0..14).map(|word| format!("w{word}")).collect();
    let rows: String = writes(2)
        .iter()
        .zip(writes(3))
        .map(|(two, three)| format!("  || {two} || {three}\n"))
        .collect();
    format!(
        "litmus long\nmodel rdma-tso-rmw\n\n  {} || ||\n  ---\n{rows}\n  exactly {{}} for ({})\n",
        words.join(", "),
        all.join(", ")
    )
}

#[test]
fn what_is_canceled_is_not_done() {
    let mut client = Client::new(json!({}));
    let uri = client.open("long.litmus", &long());
    assert_eq!(client.problems(&uri), json!([]));
    let id = client.send("textDocument/inlayHint", client::everywhere(&uri));
    client.tell("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.answer(id)["error"]["code"], -32800);
    // An edit makes the question one of a text that is gone.
    let id = client.send("textDocument/inlayHint", client::everywhere(&uri));
    client.change(&uri, 2, PROGRAM);
    assert_eq!(client.answer(id)["error"]["code"], -32801);
    assert_eq!(labels(&client.hints(&uri)).len(), 2);
    let asked = json!({ "command": "litmus.explain", "arguments": [uri] });
    let id = client.send("workspace/executeCommand", asked);
    client.tell("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.answer(id)["error"]["code"], -32800);
    client.end();
}

#[test]
fn commands_are_those_of_the_command_line() {
    let mut client = Client::new(json!({}));
    let uri = client.open("session.litmus", PROGRAM);
    let mut run = |command: &str| {
        let asked = json!({ "command": command, "arguments": [uri] });
        let done = client.ask("workspace/executeCommand", asked);
        (done["exit"].as_i64(), done["output"].as_str().unwrap().to_owned())
    };
    let (exit, output) = run("litmus.check");
    assert_eq!((exit, output.contains("1 file: 0 errors")), (Some(0), true), "{output}");
    let (_, output) = run("litmus.explain");
    assert!(output.contains("(a, b) = (1, 1)"), "{output}");
    let (_, output) = run("litmus.run");
    assert!(output.contains("session"), "{output}");
    let (_, output) = run("litmus.repair");
    assert!(output.contains("session"), "{output}");
    let asked = json!({ "command": "litmus.other", "arguments": [uri] });
    assert!(client.refused("workspace/executeCommand", asked).contains("offered"));
    assert!(client.refused("litmus/other", json!({})).contains("no request"));
    client.end();
}

/// A wrong statement hides neither the others nor the names in it.
#[test]
fn what_is_not_wrong_still_works() {
    let mut client = Client::new(json!({}));
    let broken = PROGRAM.replace("a := y ", "a := := y");
    let uri = client.open("session.litmus", &broken);
    assert_eq!(client.problems(&uri)[0]["code"], "syntax");
    let mut asked = at(&uri, 5, 18);
    asked["context"] = json!({ "includeDeclaration": true });
    let places = client.ask("textDocument/references", asked);
    let lines =
        places.as_array().unwrap().iter().map(|place| place["range"]["start"]["line"].as_u64());
    assert_eq!(lines.flatten().collect::<Vec<_>>(), [3, 5, 7], "also in the wrong statement");
    let document = json!({ "textDocument": { "uri": uri } });
    let symbols = client.ask("textDocument/documentSymbol", document);
    assert_eq!(symbols.as_array().unwrap().len(), 7);
    // Without a rule there is no tree at all.
    client.change(&uri, 2, &PROGRAM.replace("---", "...").replace('-', "."));
    assert_eq!(client.problems(&uri)[0]["code"], "missing-rule");
    let mut asked = at(&uri, 5, 18);
    asked["context"] = json!({ "includeDeclaration": true });
    assert_eq!(client.ask("textDocument/references", asked).as_array().unwrap().len(), 3);
    client.end();
}

#[test]
fn models_have_names_and_meanings() {
    let mut client = Client::new(json!({}));
    let text = "\"mine\"\ninclude \"rdma-tso.cat\"\nlet r = rf & ext // ✓\nlet f(x, y) = x; y; r\nacyclic f(r, ippo) as fine\ndrop fine\n";
    let uri = client.open("mine.cat", text);
    let hover = |client: &mut Client, line, column| {
        let hover = client.ask("textDocument/hover", at(&uri, line, column));
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    assert!(
        hover(&mut client, 2, 8).contains("the value read is the one written")
            || hover(&mut client, 2, 8).contains("A write to every read")
    );
    let table = hover(&mut client, 4, 14);
    assert!(table.contains("table ippo on po") && table.contains("rdma-tso.cat"), "{table}");
    let mut asked = at(&uri, 3, 6);
    asked["context"] = json!({ "includeDeclaration": true });
    // The parameter `x` is no other `x`.
    assert_eq!(client.ask("textDocument/references", asked).as_array().unwrap().len(), 2);
    let defined = client.ask("textDocument/definition", at(&uri, 5, 6));
    assert_eq!(defined["range"]["start"]["line"], 4);
    // A shipped model is a file that editors can show.
    for (line, column) in [(1, 12), (4, 14)] {
        let defined = client.ask("textDocument/definition", at(&uri, line, column));
        let path = defined["uri"].as_str().unwrap().strip_prefix("file://").unwrap();
        assert!(std::fs::read_to_string(path).unwrap().contains("table ippo on po"), "{path}");
    }
    client.end();
}
