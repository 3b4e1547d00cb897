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

/// Time is looked at while a formula is made, which can take longer than to solve it.
#[test]
fn a_large_program_is_given_up_in_time() {
    let scratch = Scratch::new("in-time");
    let rows = |number: usize| format!("  x := {number}  |  x := {}\n", number + 1000);
    let rows: String = (1..300).map(rows).collect();
    scratch.write("large.litmus", format!("litmus large\n\n  x = 0\n  ---\n{rows}\n  x = 1 ✓\n"));
    for command in [
        "allowed large.litmus --timeout 1 --model rdma-tso",
        "allowed large.litmus --timeout 1 --model rdma-tso --solver z3",
        "explain large.litmus --outcome x=1 --timeout 1 --model rdma-tso",
    ] {
        let began = std::time::Instant::now();
        let (code, text, error) = scratch.run(command);
        assert_eq!(code, 2, "{command}: {text}{error}");
        assert!(format!("{text}{error}").contains("time limit"), "{command}: {text}{error}");
        assert!(began.elapsed().as_secs() < 60, "{command}: {:?}", began.elapsed());
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
