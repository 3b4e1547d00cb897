//! What is shown of statements and names, offered to write, and mended.

use serde_json::{Value, json};

use super::PROGRAM;
use super::client::{Client, applied, at};

fn codes(problems: &Value) -> Vec<&str> {
    problems.as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

#[test]
fn every_statement_says_what_is_sent() {
    let mut client = Client::new(json!({}));
    let text = "litmus says\nmodel rdma-verbs\n\n  x[4] = 0; z = 0        ||  y[4] = 0; b = 0\n  ---\n  \
                y[0..2]^2 := x[1..3]  ||  Recv(1, b)\n  SendImm(2, z, 3)      ||  a := PollRecv(1)\n\n  a = 3 ✓\n";
    let uri = client.open("says.litmus", text);
    assert_eq!(client.problems(&uri), json!([]));
    let array = client.hover(&uri, 5, 2);
    assert!(array.starts_with("`y`: an array of 4 words on node 2"), "{array}");
    assert!(array.contains("one `RDMA WRITE` of 2 words"), "{array}");
    assert!(client.hover(&uri, 6, 4).contains("`SEND WITH IMMEDIATE`"));
    let poll = client.hover(&uri, 6, 31);
    assert!(poll.contains("the CPU polls for the oldest completion of its receives"), "{poll}");
    assert!(poll.contains("the completion of a receive") && !poll.contains("`_"), "{poll}");
    let rma = "litmus rma\nmodel corerma\ndialect corerma\n\n  X = 0  ||  Y = 0\n  ---\n  put(Y^2, X)  ||  skip\n";
    let uri = client.open("rma.litmus", rma);
    assert!(client.hover(&uri, 6, 3).contains("a remote write: `X` on node 1 is read"));
    client.end();
}

#[test]
fn names_of_libraries_are_explained() {
    let mut client = Client::new(json!({}));
    let wlock = model::library::SHIPPED.iter().find(|(name, _)| *name == "wlock").unwrap().1;
    let uri = client.open("wlock.lib", wlock);
    let line = |part: &str| wlock.lines().position(|line| line.contains(part)).unwrap();
    for (part, column, expected) in [
        ("RFAA(l.ticket", 4, "RFAA"),
        ("RFAA(l.ticket", 9, "call Acq(WLock l)"),
        ("RFAA(l.ticket", 11, "memory WLock.ticket per thread"),
        ("RFAA(l.ticket", 18, "the thread that calls"),
        ("let so =", 6, "let so ="),
        ("let so =", 12, "aCW"),
        ("Bcast(", 6, "of the library `sv`"),
    ] {
        let text = client.hover(&uri, line(part), column);
        assert!(text.contains(expected), "{part} {column}: {text}");
    }
    let document = json!({ "textDocument": { "uri": uri } });
    let symbols = client.ask("textDocument/documentSymbol", document);
    let symbols = symbols.as_array().unwrap().iter();
    let names: Vec<_> = symbols
        .map(|one| format!("{} {}", one["detail"].as_str().unwrap(), one["name"].as_str().unwrap()))
        .collect();
    let expected = [
        "class WLock",
        "call Acq",
        "call Rel",
        "exists lo",
        "let po_x",
        "let held",
        "let so",
        "memory next",
        "memory ticket",
        "object released",
        "call Acq",
        "call Rel",
    ];
    assert_eq!(names, expected);
    client.end();
}

#[test]
fn words_are_offered_where_they_fit() {
    let mut client = Client::new(json!({}));
    let labels = |items: &[Value]| -> Vec<String> {
        items.iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    };
    let program = client.open("p.litmus", "");
    let model = client.open("m.cat", "");
    let none: [&str; 0] = [];
    let mut words = |uri: &str, text: &str| {
        client.change(uri, 3, text);
        let line = text.matches('\n').count();
        let column = text.rsplit('\n').next().unwrap().encode_utf16().count();
        let items = client.ask("textDocument/completion", at(uri, line, column));
        items.as_array().unwrap().clone()
    };
    assert_eq!(labels(&words(&program, "litmus a\ndialect ")), ["corerma"]);
    let models = words(&program, "litmus a\nmodel sc rdma-ts");
    let tso = models.iter().find(|item| item["label"] == "rdma-tso").unwrap();
    assert_eq!(tso["textEdit"]["newText"], "rdma-tso");
    assert_eq!(tso["textEdit"]["range"]["start"], json!({ "line": 1, "character": 9 }));
    let text = "litmus a\n\n  ā = 0\n  ---\n  ā := 1 // W";
    assert_eq!(labels(&words(&program, text)), none);
    let text = "litmus a\n\n  x = 0\n  ---\n  x := 1\n  Wa";
    let items = words(&program, text);
    let wait = items.iter().find(|item| item["label"] == "Wait").unwrap();
    assert_eq!(wait["textEdit"]["range"]["start"], json!({ "line": 5, "character": 2 }));
    assert_eq!(labels(&words(&model, "(* let")), none);
    let files = words(&model, "include \"rdma-");
    assert!(files.iter().all(|item| item["label"].as_str().unwrap().ends_with(".cat")));
    let tso = files.iter().find(|item| item["label"] == "rdma-tso.cat").unwrap();
    assert_eq!(tso["textEdit"]["range"]["start"]["character"], 9);
    assert!(labels(&words(&model, "let r = po-")).contains(&"po".to_owned()));
    client.end();
}

/// A statement that cannot be read hides neither unknown names nor what the others mean.
#[test]
fn one_wrong_statement_hides_little() {
    let mut client = Client::new(json!({}));
    let broken = PROGRAM.replace("a := y ", "a := := y").replace("b := x", "b := z");
    let uri = client.open("session.litmus", &broken);
    assert_eq!(codes(&client.problems(&uri)), ["syntax", "undeclared-name"]);
    let text = client.hover(&uri, 5, 3);
    assert!(text.contains("RDMA WRITE") && text.contains("`aNLR`"), "{text}");
    // What the statement that cannot be read may define is not called unknown.
    client.change(&uri, 2, &PROGRAM.replace("b := x", "b := := x"));
    assert_eq!(codes(&client.problems(&uri)), ["syntax"]);
    let model = client.open("m.cat", "let a = nonsense\nlet b = = po\nlet c = b\nlet d = rf\n");
    assert_eq!(codes(&client.problems(&model)), ["unknown-name", "syntax"]);
    assert!(client.hover(&model, 3, 8).contains("relation"));
    client.end();
}

/// Each of several quick fixes, one after the other, leaves one problem less.
#[test]
fn several_problems_are_mended_one_by_one() {
    let mut client = Client::new(json!({}));
    let mut text = "litmus two\nmodel rdma-tso-rmv\n\n  total = 0  ||  other = 0\n  ---\n  a = totl   ||  b := othre\n\n  a = 0 ✓\n".to_owned();
    let uri = client.open("two.litmus", &text);
    let problems = client.problems(&uri);
    let expected = ["unknown-model", "syntax", "undeclared-name", "undeclared-name"];
    assert_eq!(codes(&problems), expected);
    for left in (0..expected.len()).rev() {
        let fixes = client.fixes(&uri);
        assert_eq!(fixes.len(), left + 1);
        text = applied(&text, &fixes[left / 2]["edit"]["changes"][&uri]);
        client.change(&uri, 5 - i32::try_from(left).unwrap(), &text);
        assert_eq!(client.problems(&uri).as_array().unwrap().len(), left, "{text}");
    }
    client.end();
}

/// What a hint says is not offered as a fix if it mends nothing.
#[test]
fn no_fix_is_offered_that_does_not_mend() {
    let mut client = Client::new(json!({}));
    for (name, text, code) in [
        ("rule", "litmus rule\nmodel sc\n\n  x = 0\n  -*-\n  x := 1\n", "missing-rule"),
        (
            "thread",
            "litmus thread\nmodel sc\n\n  x = 0  |\n  ---\n  alpha := x  |  x := alpa\n",
            "undeclared-name",
        ),
        (
            "listed",
            "litmus listed\nmodel rdma-tso-rmv\n\n  x = 0\n  ---\n  x := 1\n\n  rdma-tso-rmw: x = 1 ✓\n",
            "unlisted-model",
        ),
    ] {
        let uri = client.open(&format!("{name}.litmus"), text);
        let problems = client.problems(&uri);
        assert!(codes(&problems).contains(&code), "{problems}");
        let fixes = client.fixes(&uri);
        let of_code = |fix: &&Value| fix["diagnostics"][0]["code"] == code;
        assert_eq!(fixes.iter().filter(of_code).count(), 0, "{name}: {fixes:?}");
    }
    // A relation where a set has to be.
    let uri = client.open("type.cat", "let abcd = po\nlet r = [abce]; po\n");
    assert_eq!(codes(&client.problems(&uri)), ["unknown-name"]);
    assert_eq!(client.fixes(&uri).len(), 0);
    client.end();
}
