//! Questions as the page asks them.

use serde_json::{Value as Json, json};

const FLAG: &str = "litmus flag
model rdma-tso-rmw

              ||  x = 0, f = 0
  ----------------------------
  x^2 := 1    ||  a := f
  f^2/1 := 1  ||  b := x

  (a, b) = (1, 0) ✗
";

/// The same on one queue pair, as models without several take it.
fn one_queue_pair() -> String {
    FLAG.replace("f^2/1 := 1  ", "f^2 := 1    ")
}

fn answer(question: &Json) -> Json {
    serde_json::from_str(&crate::answer(&question.to_string())).unwrap()
}

#[test]
fn a_program_is_judged() {
    let judged = answer(&json!({ "ask": "judge", "text": FLAG }));
    assert_eq!(judged["model"], "rdma-tso-rmw", "{judged}");
    assert_eq!(judged["outcomes"]["names"], json!(["a", "b"]));
    assert_eq!(judged["outcomes"]["count"], 4);
    assert_eq!(judged["outcomes"]["complete"], true);
    assert_eq!(judged["verdicts"][0]["holds"], false);
    let sc = answer(&json!({ "ask": "judge", "text": one_queue_pair(), "model": "sc" }));
    assert_eq!((&sc["outcomes"]["count"], &sc["verdicts"]), (&json!(3), &json!([])), "{sc}");
}

/// Loops that exceed their bound are never said to be decided.
#[test]
fn what_is_not_decided_is_said() {
    // verbs has no machine that could go on behind the bound.
    let text = "litmus loop\nmodel verbs\nbound loops = 1\n\nx = 0 || x1 = 0\n-----\n\
        loop { a := FAA(x, 1); if a = 3 { break } } ||\n\na = 3 ✗\n";
    let judged = answer(&json!({ "ask": "judge", "text": text }));
    assert_eq!(judged["outcomes"]["complete"], false, "{judged}");
    assert!(judged["verdicts"][0]["holds"].is_null(), "{judged}");
}

#[test]
fn places_are_in_utf_16() {
    let text = FLAG.replace("x^2 := 1  ", "y := \"𝔘\"");
    let judged = answer(&json!({ "ask": "judge", "text": text }));
    let first = &judged["diagnostics"][0];
    assert_eq!(
        (&first["file"], &first["severity"]),
        (&json!("program"), &json!("error")),
        "{judged}"
    );
    let length = text.encode_utf16().count() as u64;
    assert!(first["from"].as_u64() <= first["to"].as_u64() && first["to"].as_u64() <= Some(length));
    let after = format!("// 𝔘𝔘 ü\n{FLAG}").replace("f^2/1", "f^7/1");
    let judged = answer(&json!({ "ask": "judge", "text": after }));
    let from = judged["diagnostics"][0]["from"].as_u64().unwrap() as usize;
    let units: Vec<u16> = after.encode_utf16().collect();
    assert!(String::from_utf16(&units[from..]).unwrap().starts_with("7/1"), "{judged}");
}

/// An editor can only mark what has its place in the text.
#[test]
fn unknown_models_are_wrong_where_the_header_names_them() {
    let text = FLAG.replace("model rdma-tso-rmw", "model sc rdma-tso-rmw").replace("sc", "scc");
    for ask in ["judge", "explain", "compare", "repair"] {
        let found = answer(&json!({ "ask": ask, "text": text, "outcome": "a = 1", "with": "sc" }));
        let first = &found["diagnostics"][0];
        assert_eq!((&first["file"], &first["line"]), (&json!("program"), &json!(2)), "{found}");
        assert_eq!((&first["from"], &first["to"]), (&json!(18), &json!(21)), "{found}");
    }
    let chosen = answer(&json!({ "ask": "judge", "text": FLAG, "model": "scc" }));
    assert_eq!(chosen["diagnostics"][0]["file"], "scc", "{chosen}");
}

#[test]
fn outcomes_are_explained_and_drawn() {
    let ask =
        |outcome: &str| answer(&json!({ "ask": "explain", "text": FLAG, "outcome": outcome }));
    let allowed = ask("a = 1 and b = 0");
    assert_eq!(allowed["verdict"], "allowed", "{allowed}");
    assert!(allowed["picture"].as_str().unwrap().starts_with("<svg"), "{allowed}");
    assert_eq!(ask("a = 7")["verdict"], "forbidden");
    assert_eq!(ask("a = ")["diagnostics"][0]["file"], "outcome");
}

#[test]
fn models_are_compared() {
    let differ =
        answer(&json!({ "ask": "compare", "text": one_queue_pair(), "with": "verbs-ooo" }));
    assert_eq!(differ["only"][1]["rows"], json!([["1", "0"]]), "{differ}");
    assert_eq!(differ["only"][0]["count"], 0);
    let unknown = answer(&json!({ "ask": "compare", "text": FLAG, "with": "scc" }));
    assert_eq!(unknown["diagnostics"][0]["code"], "unknown-model");
}

#[test]
fn programs_are_repaired_and_formatted() {
    let repaired = answer(&json!({ "ask": "repair", "text": FLAG }));
    let text = repaired["repairs"][0]["text"].as_str().unwrap();
    let judged = answer(&json!({ "ask": "judge", "text": text }));
    assert_eq!(judged["verdicts"][0]["holds"], true, "{judged}");
    let formatted = answer(&json!({ "ask": "format", "text": FLAG.replace("  a := f", "a:=f") }));
    assert_eq!(formatted["text"], FLAG);
}

#[test]
fn own_models_and_libraries_are_used() {
    let shipped = answer(&json!({ "ask": "shipped" }));
    assert!(shipped["models"].as_array().unwrap().iter().any(|model| model["name"] == "tso"));
    assert!(shipped["libraries"].as_array().unwrap().contains(&json!("wlock")));
    let text = answer(&json!({ "ask": "text", "file": "sc.cat" }))["text"].clone();
    let own = json!([["mine.cat", text]]);
    let text = one_queue_pair();
    let judged = answer(&json!({ "ask": "judge", "text": text, "model": "mine", "own": own }));
    assert_eq!(judged["outcomes"]["count"], 3, "{judged}");
    assert_eq!(judged["verdicts"][0]["holds"], true, "verdicts are about models of one's own");
    let odd = format!("{}\nlet nothing = po\n", own[0][1].as_str().unwrap());
    let own = json!([["mine.cat", odd]]);
    let judged = answer(&json!({ "ask": "judge", "text": text, "model": "mine", "own": own }));
    let warning = &judged["diagnostics"][0];
    assert_eq!(
        (&warning["file"], &warning["severity"]),
        (&json!("mine.cat"), &json!("warning")),
        "{judged}"
    );
    assert_eq!(judged["outcomes"]["count"], 3, "a warning is no error: {judged}");
    for (file, text) in [("mine.cat", "let x = "), ("mine.lib", "library {"), ("mine.lib", "")] {
        let own = json!([[file, text]]);
        let judged = answer(&json!({ "ask": "judge", "text": FLAG, "model": "mine", "own": own }));
        assert_ne!(judged["diagnostics"], json!([]), "{file}: {text}");
        let checked = answer(&json!({ "ask": "check", "file": file, "text": text }));
        assert_eq!(checked["diagnostics"][0]["file"], file, "{checked}");
    }
}

#[test]
fn a_wrong_question_is_an_answer() {
    assert!(answer(&json!({ "ask": "nothing" }))["error"].is_string());
    assert!(answer(&json!([]))["error"].is_string());
}
