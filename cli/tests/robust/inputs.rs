//! Inputs without an end, and places where nothing can be kept.

use super::common::{MP, Scratch};

#[test]
fn endless_inputs_are_refused() {
    let scratch = Scratch::new("endless");
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
    let scratch = Scratch::new("no-cache");
    scratch.write("MP.litmus", MP);
    let (code, _, error) = scratch.run("allowed MP.litmus --cache /proc/self");
    assert!(code == 64 && error.contains("cannot be written"), "{code}: {error}");
}

#[test]
fn numbers_of_any_size_are_taken_or_refused() {
    let scratch = Scratch::new("numbers");
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
