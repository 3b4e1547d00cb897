//! What could not be decided says so with its reason, wherever results go.

use serde_json::Value as Json;

use crate::scratch::Scratch;

/// A loop that goes round more often than it is unrolled. The model is the user's: no machine is asked.
const LONG: &str = "\
litmus NAME
model \"own.cat\"

  x = 0                           ||  y = 0, z = 0
  -------------------------------------------------
  while c < 9 { c := FAA(x, 1) }  ||  a := z
  y^2 := 1                        ||  b := y
  z^2 := 1                        ||

  (a, b) = (1, 0) ✗
";

const BOUND: &str = "a loop can run more than 4 times";

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    // Copies of shipped models are known to mean what their machines do; this is more than a copy.
    let shipped = include_str!("../../../model/models/rdma-tso.cat");
    scratch.write("own.cat", format!("{shipped}empty 0 as nothing\n"));
    for name in ["A", "B"] {
        scratch.write(&format!("{name}.litmus"), LONG.replace("NAME", name));
    }
    scratch
}

/// The results of a command, which exits with 2.
fn results(scratch: &Scratch, command: &str) -> Vec<Json> {
    let (code, text, error) = scratch.run(command);
    assert_eq!(code, 2, "{command}: {text}{error}");
    let mut json: Json = serde_json::from_str(&text).unwrap();
    serde_json::from_value(json["results"].take()).unwrap()
}

#[test]
fn unknown_verdicts_have_their_reason_also_after_merge() {
    let scratch = scratch();
    for option in ["", " --verdict-only"] {
        let command = format!("allowed A.litmus B.litmus --format json{option}");
        let whole = results(&scratch, &command);
        assert_eq!(whole.len(), 2);
        for result in &whole {
            assert_eq!((&result["status"], &result["reason"]), (&"unknown".into(), &BOUND.into()));
        }
        for part in ["1", "2"] {
            let (code, text, error) = scratch.run(&format!("{command} --shard {part}/2"));
            assert_eq!(code, 2, "{error}");
            scratch.write(&format!("{part}.json"), text);
        }
        assert_eq!(results(&scratch, "merge 1.json 2.json --format json"), whole, "{option}");
        let (_, text, _) = scratch.run("merge 1.json 2.json");
        assert_eq!(text.matches(BOUND).count(), 2, "{text}");
    }
}

#[test]
fn what_is_not_known_to_differ_is_not_an_empty_list() {
    let scratch = scratch();
    let found = results(&scratch, "compare own.cat sc A.litmus --format json");
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&found["same"], &found["complete"]), (&Json::Null, &false.into()));
    assert_eq!(found["reasons"][0]["model"], "own");
    assert_eq!(found["reasons"][1]["reason"], BOUND);
    assert_eq!(found["only"][0]["outcomes"], Json::Null);
    let (_, text, _) = scratch.run("compare own.cat sc A.litmus");
    assert!(text.contains(&format!("not all outcomes under own are known: {BOUND}")), "{text}");
}

#[test]
fn runs_say_whether_the_model_is_known_and_why_not() {
    let scratch = scratch();
    let found = results(&scratch, "run A.litmus -n 50 --seed 1 --format json");
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&found["complete"], &found["forbids"]), (&false.into(), &"unknown".into()));
    assert_eq!((&found["judgement"], &found["reason"]), (&"inconclusive".into(), &BOUND.into()));
    // A run that shows nothing says nothing, whatever the model says.
    scratch.write("stuck.litmus", "litmus stuck\nmodel tso\n\n  x = 0\n  ---\n  a := x; while a = 0 { a := x }\n\n  a = 0 ✗\n");
    let found = results(&scratch, "run stuck.litmus -n 50 --seed 1 --format json");
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (&found["judgement"], &found["reason"]),
        (&"inconclusive".into(), &"no run ended".into())
    );
}

#[test]
fn networks_of_which_it_is_not_known_are_not_unsafe_ones() {
    let scratch = scratch();
    for index in 0..9 {
        scratch.write(&format!("{index}.litmus"), LONG.replace("NAME", &index.to_string()));
    }
    let command = "allowed . --across --model own.cat --model sc";
    let found = results(&scratch, &format!("{command} --format json"));
    let network = &found[0]["networks"][0];
    assert_eq!((&network["safe"], &network["reason"]), (&Json::Null, &BOUND.into()));
    let (_, text, _) = scratch.run(&format!("{command} -x A"));
    assert!(text.contains("safe on 1 of 2 networks, 1 unknown, not known of own"), "{text}");
    let (_, text, _) = scratch.run("allowed A.litmus --across --model own.cat");
    assert!(text.contains(&format!("(a, b) = (1, 0): unknown ({BOUND})")), "{text}");
}

#[test]
fn a_search_that_is_cut_off_says_so_in_json() {
    let scratch = scratch();
    let command = "compare own.cat sc --format json --timeout 0.000001";
    let (code, text, error) = scratch.run(command);
    assert_eq!(code, 2, "{text}{error}");
    let json: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&json["programs"], &json["reason"]),
        (&Json::Null, &"the time limit was reached".into())
    );
    assert_eq!(json["models"][0], "own");
}
