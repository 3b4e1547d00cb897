//! Inputs without an end, and places where nothing can be kept.

use super::common::MP;
use crate::scratch::Scratch;

#[test]
fn endless_inputs_are_refused() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    for command in [
        "allowed /dev/zero",
        "allowed MP.litmus --library /dev/zero",
        "allowed MP.litmus --model /dev/zero",
        "check /dev/zero",
        "report /dev/zero",
        "merge /dev/zero /dev/zero",
        "refine wlock --resume /dev/zero --size 3",
        "run MP.litmus --library /dev/zero -n 1",
    ] {
        let (code, text, error) = scratch.shell(&format!("timeout 60 \"$LITMUS\" {command}"));
        assert!(code == 64 || code == 65, "{command}: {code}: {text}{error}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_cache_that_cannot_be_written_is_refused() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    let (code, _, error) = scratch.run("allowed MP.litmus --cache /proc/self");
    assert!(code == 74 && error.contains("cannot be written"), "{code}: {error}");
}

#[test]
fn numbers_of_any_size_are_taken_or_refused() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    let huge = "18446744073709551615";
    for command in [
        format!("gen random --count {huge} -o suite"),
        format!("gen random --count 1 --size {huge} -o suite"),
        format!("allowed MP.litmus --loops {huge}"),
        format!("run MP.litmus -n 1 -j {huge}"),
        format!("compare sc tso --count {huge}"),
        "gen random --count 1 --model corerma -o suite".to_owned(),
        "gen cycles --model corerma -o suite".to_owned(),
    ] {
        let (code, text, error) = scratch.run(&command);
        assert_eq!(code, 64, "{command}: {text}{error}");
    }
    let (code, _, error) = scratch.run(&format!("run MP.litmus -n 1 --seed {huge}"));
    assert_eq!(code, 0, "{error}");
}

/// What is wrong on a line of 0.2 MB is shown with what is around it, at its place.
#[test]
fn long_lines_are_cut() {
    let scratch = Scratch::new();
    let filler = |text: &str| text.repeat(180_000 / text.len());
    let cases = [
        ("name.litmus", filler("x"), "1:1 ]"),
        (
            "cell.litmus",
            MP.replace("a := y", &format!("{}a := yy", filler("skip; "))),
            "6:180022 ]",
        ),
        ("word.litmus", MP.replace("a := y", &filler("aä")), "6:18 ]"),
        ("list.litmus", MP.replace("x = 0", &format!("{}x = 0, x = 1", filler("y, "))), "]"),
        ("order.cat", format!("acyclic {}pp as order\n", filler("po | ")), "]"),
        ("call.lib", format!("library call {} oops\n", filler("(")), "]"),
        (
            "x86.litmus",
            format!("X86_64 t\n{{ {} x=@ }}\n P0 ;\n nop ;\nexists (x=1)\n", filler("x=1;")),
            "]",
        ),
    ];
    for (name, text, place) in cases {
        scratch.write(name, text);
        let (code, _, error) = scratch.run(&format!("check {name}"));
        let longest = error.lines().map(str::len).max().unwrap_or_default();
        assert!(code == 65 && error.contains("Error"), "{name}: {code}");
        assert!(longest < 1500 && error.len() < 100_000, "{name}: {longest} of {}", error.len());
        assert!(error.contains(&format!("[ {name}:")) && error.contains(place), "{name}: {error}");
        let (_, json, _) = scratch.run(&format!("check {name} --format json"));
        assert!(json.len() < 100_000, "{name}: {}", json.len());
    }
}
