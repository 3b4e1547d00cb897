//! Parts that were changed or cut on their way to `litmus merge`.

use crate::scratch::Scratch;

/// Makes both parts of a command in files, and says what their names are.
fn parts(scratch: &Scratch, command: &str, name: &str) -> [String; 2] {
    [1, 2].map(|part| {
        let file = format!("{part}{name}");
        let line = format!("\"$LITMUS\" {command} --shard {part}/2",);
        let line = line.replace("{part}", &file);
        let line = if command.contains("{part}") { line } else { format!("{line} > {file}") };
        let (code, _, error) = scratch.shell(&line);
        assert!(code <= 1, "{line}: {code}: {error}");
        file
    })
}

fn lines(scratch: &Scratch, name: &str) -> Vec<String> {
    scratch.read(name).lines().map(str::to_owned).collect()
}

/// Merges parts, the first of which is `changed`; it must be refused, and nothing written.
fn refused(scratch: &Scratch, changed: &str, other: &str, output: &str) {
    let (code, text, error) = scratch.run(&format!("merge {changed} {other}{output}"));
    assert_eq!(code, 65, "{changed}: {text}{error}");
    assert!(error.contains("changed") || error.contains("not-a-part"), "{error}");
    assert!(!scratch.0.join("all").exists(), "{changed}");
}

#[test]
fn a_lost_line_or_a_changed_word_is_refused() {
    let scratch = Scratch::new();
    scratch.tests(6);
    let run = "run . -n 50 --seed 3 --format json";
    for (command, words) in [
        ("allowed . --format json", ("\"status\":\"ok\"", "\"status\":\"fail\"")),
        (run, ("\"judgement\":\"conforms\"", "\"judgement\":\"violation\"")),
        ("coverage . --model rdma-tso --format json", ("\"hole\"", "\"implied\"")),
    ] {
        let [one, other] = parts(&scratch, command, ".json");
        let text = scratch.read(&one);
        assert!(text.contains(words.0), "{command}: {text}");
        assert_eq!(
            scratch.run(&format!("merge {one} {other} --format json")).0 % 64,
            i32::from(command.contains("coverage"))
        );
        scratch.write("word", text.replacen(words.0, words.1, 1));
        refused(&scratch, "word", &other, "");
        if !command.contains("coverage") {
            let mut lines = lines(&scratch, &one);
            lines.remove(1);
            scratch.write("line", lines.join("\n") + "\n");
            refused(&scratch, "line", &other, "");
        }
    }
    let [one, other] = parts(&scratch, &format!("{run} --record {{part}}"), ".jsonl");
    let all = lines(&scratch, &one);
    for line in 0..all.len() - 1 {
        let mut lines = all.clone();
        lines.remove(line);
        scratch.write("line", lines.join("\n") + "\n");
        let (code, _, error) = scratch.run(&format!("merge line {other} -o all"));
        assert_eq!(code, 65, "without line {line}: {error}");
    }
    scratch.write("word", scratch.read(&one).replacen("\"count\":", "\"count\":1", 1));
    refused(&scratch, "word", &other, " -o all");
    assert_eq!(scratch.run(&format!("merge {one} {other} -o all")).0, 0);
}

/// What is cut between two lines says so, alone and merged.
#[test]
fn a_record_without_its_end_is_not_whole() {
    let scratch = Scratch::new();
    scratch.tests(4);
    let run = "run . -n 50 --seed 3 --format json";
    let [one, other] = parts(&scratch, &format!("{run} --record {{part}}"), ".jsonl");
    let all = lines(&scratch, &one);
    scratch.write("cut", all[..all.len() - 1].join("\n") + "\n");
    let (code, _, error) = scratch.run(&format!("merge cut {other} -o all"));
    assert!(code == 2 && error.contains("cut"), "{code}: {error}");
    for record in ["cut", "all"] {
        for options in ["", " -o report --mutants 0", " --format json"] {
            let (code, text, error) = scratch.run(&format!("report {record}{options}"));
            let told = format!("{text}{error}");
            assert!(
                code == 2 && told.contains("may be missing"),
                "{record}{options}: {code}: {told}"
            );
        }
    }
}

#[test]
fn names_in_parts_stay_in_their_folder() {
    let scratch = Scratch::new();
    let outside = scratch.0.join("pwn.litmus");
    let [one, other] = parts(&scratch, "gen random --count 130 -o {part}", "");
    let part = format!("{one}/part.jsonl");
    let text = scratch.read(&part);
    scratch.write(&part, text.replace("\"name\":\"", "\"name\":\"../pwn"));
    refused(&scratch, &one, &other, " -o all");
    // Even a part that is sealed again writes nowhere else.
    let sealed = text.lines().map(|line| {
        let mut json: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(made) = json.get_mut("made").and_then(|made| made.as_array_mut()) {
            made.iter_mut().for_each(|made| made["test"]["name"] = "../pwn".into());
        }
        json.as_object_mut().unwrap().shift_remove("digest");
        seal(json)
    });
    let sealed: Vec<String> = sealed.collect();
    scratch.write(&part, sealed.join("\n") + "\n");
    let (code, _, error) = scratch.run(&format!("merge {one} {other} -o all"));
    assert!(code == 74 && error.contains("cannot be that of a file"), "{code}: {error}");
    assert!(!outside.exists() && !scratch.0.join("all").exists());
    assert_eq!(scratch.names(".").len(), 2, "{:?}", scratch.names("."));
}

/// As litmus seals objects: FNV-1a of names and values, each with a byte of its own behind it.
fn seal(mut json: serde_json::Value) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for (name, value) in json.as_object().unwrap() {
        add(name);
        match value.as_array() {
            Some(all) => all.iter().for_each(|one| add(&one.to_string())),
            None => add(&value.to_string()),
        }
    }
    json["digest"] = format!("{hash:016x}").into();
    json.to_string()
}

/// Parts of one number that are whole, and say different things.
#[test]
fn parts_in_conflict_are_refused() {
    let scratch = Scratch::new();
    scratch.tests(4);
    let [one, other] = parts(&scratch, "allowed . --format json", ".json");
    let mut json: serde_json::Value = serde_json::from_str(&scratch.read(&one)).unwrap();
    json["results"][0]["complete"] = false.into();
    json.as_object_mut().unwrap().shift_remove("digest");
    scratch.write("differs", seal(json));
    let (code, _, error) = scratch.run(&format!("merge {one} {other} differs"));
    assert!(code == 65 && error.contains("conflicting-parts"), "{code}: {error}");
}

#[test]
fn a_part_of_a_suite_that_was_changed_is_refused() {
    let scratch = Scratch::new();
    let [one, other] = parts(&scratch, "gen random --count 260 --model rdma-tso -o {part}", "");
    let part = format!("{one}/part.jsonl");
    let all = lines(&scratch, &part);
    let text = scratch.read(&part);
    for changed in [
        all[..all.len() - 1].join("\n") + "\n",
        all[..1].iter().chain(&all[2..]).cloned().collect::<Vec<_>>().join("\n") + "\n",
        [&all[0], &all[1], &all[1]].map(String::as_str).join("\n") + "\n",
        text.replacen("exactly", "exactlx", 1),
    ] {
        assert_ne!(changed, text);
        scratch.write(&part, changed);
        let (code, _, error) = scratch.run(&format!("merge {one} {other} -o all"));
        assert_eq!(code, 65, "{error}");
        assert!(!scratch.0.join("all").exists());
    }
    scratch.write(&part, text);
    assert_eq!(scratch.run(&format!("merge {one} {other} -o all")).0, 0);
    assert_eq!(scratch.run("gen random --count 260 --model rdma-tso -o whole").0, 0);
    assert_eq!(scratch.names("all"), scratch.names("whole"));
}
