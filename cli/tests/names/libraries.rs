//! Renamed copies of shipped libraries are as good as these.

use crate::scratch::Scratch;
use std::path::Path;

use super::{assert_same, litmus, of_libraries, renamed, root};

/// What a command prints, with the names that were changed as they were, and the folder of the copies gone.
fn printed(arguments: &[&str], folder: &Path) -> String {
    let (code, text) = litmus(arguments);
    as_they_were(&format!("{code:?}\n{text}"), folder)
}

/// A text with the names that were changed as they were, and the folder of the copies gone.
fn as_they_were(text: &str, folder: &Path) -> String {
    let mut text = text.replace(&format!("{}/", folder.display()), "");
    text = text.replace("litmus-suite/libraries/", "").replace("model/tests/broken/", "");
    for name in of_libraries() {
        text = text.replace(&format!("Z{name}"), &name).replace(&format!("z{name}"), &name);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every way in which papers write what libraries define.
const SPELLED: &str = "litmus spelled
  SVar x = 0, y = 0; WLock l || RingBuffer q 1 -> {2} size 2 ||  z = 0
  ---
  x :=_{SV} 1 || a := Read_SV(y) || b := CAS_SC(z, 0, 1)
  Bcast_{SV}(x, d, {2, 3}) || c := Receive^RBL(q) || Acq_NL(m^2)
  WaitSV(d) || Acquire(l) || Rel^NL(m)
  Submit(q, 1) || Release_WL(l) ||
  Write_SV(x, 2) || Bar_BAL(w) || Broadcast(x)
  Bar(w) || ||
  c = 1 ✓
";

/// A user's copy of a shipped library under other names is as good as the shipped one.
#[test]
fn renamed_copies_of_libraries_do_the_same() {
    let scratch = Scratch::new();
    // Reports group tests by their folder's name.
    let folder = scratch.0.join("libraries");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let names = of_libraries();
    let renamed = |text: &str| renamed(text, |c| c.is_ascii_alphanumeric(), &names);
    let mut options: Vec<String> = Vec::new();
    for (name, text) in model::library::SHIPPED.iter().filter(|(_, text)| text.contains("\nclass "))
    {
        let path = folder.join(format!("{name}.lib"));
        std::fs::write(&path, renamed(text)).expect("it can be written");
        options.extend(["--library".to_owned(), path.display().to_string()]);
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut compared = 0;
    for entry in
        std::fs::read_dir(root().join("litmus-suite/libraries")).expect("the suite").flatten()
    {
        let name = entry.file_name().into_string().expect("it is text");
        if !name.ends_with(".litmus") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("the suite is readable");
        let copy = folder.join(&name);
        std::fs::write(&copy, renamed(&text)).expect("it can be written");
        let (own, copy) = (format!("litmus-suite/libraries/{name}"), copy.display().to_string());
        for command in [
            &["allowed", "--format", "json", "--model", "rdma-wait-rmw"][..],
            &["allowed", "--inline", "--model", "rdma-wait-rmw", "--loops", "2"],
            &["run", "-n", "20", "--seed", "7", "-j", "1"],
        ] {
            let shipped = printed(&[command, &[&own]].concat(), &folder);
            let other = printed(&[command, &[&copy], &options].concat(), &folder);
            // What a run shows depends on the test's text too; that it shows a violation does not.
            let told = |text: &str| match command[0] {
                "run" => text.split(' ').next().unwrap_or_default().to_owned(),
                _ => text.to_owned(),
            };
            assert_eq!(told(&shipped), told(&other), "{command:?} {name}");
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
    all_at_once(&folder, &options);
    // As papers spell calls, and with what they leave out: what is read is the same.
    let copy = folder.join("spelled.litmus");
    std::fs::write(&copy, SPELLED).expect("it can be written");
    let shipped = printed(&["fmt", &copy.display().to_string()], &folder);
    assert!(shipped.contains("Bcast(x, d, {2, 3})"), "{shipped}");
    std::fs::write(&copy, renamed(SPELLED)).expect("it can be written");
    let other = printed(&[&["fmt", &copy.display().to_string()], &options[..]].concat(), &folder);
    // The rule is as long as the rows are.
    assert_eq!(shipped.replace('-', ""), other.replace('-', ""));
    let bounds = ["--threads", "2", "--calls", "1", "--plain", "0", "--size", "2"];
    for name in ["sv", "bal", "wlock", "sc", "msw"] {
        let copy = folder.join(format!("{name}.lib")).display().to_string();
        let shipped = printed(&[&["refine", name], &bounds[..]].concat(), &folder);
        let other = printed(&[&["refine", &copy], &bounds[..], &options].concat(), &folder);
        // How fast it was comes next.
        let told = |text: &str| text.split(" clients up to symmetry").next().map(str::to_owned);
        assert_eq!(told(&shipped), told(&other.replace(".lib:", ":")), "refine {name}");
    }
    let explain = ["explain", "--model", "rdma-wait-rmw", "--outcome", "a = 1, b = 0"];
    let own = "litmus-suite/libraries/SC+MP.litmus";
    let copy = folder.join("SC+MP.litmus").display().to_string();
    let shipped = printed(&[&explain[..], &[own]].concat(), &folder);
    assert!(shipped.starts_with("Some(0) forbidden"), "{shipped}");
    assert_eq!(shipped, printed(&[&explain[..], &[&copy], &options].concat(), &folder));
}

/// Commands about many tests: what they print of the copies is what they print of the shipped ones.
fn all_at_once(folder: &Path, options: &[&str]) {
    let own = "litmus-suite/libraries";
    let copies = folder.display().to_string();
    for command in [
        &["coverage", "--format", "json", "--model", "rdma-wait-rmw"][..],
        &["coverage", "--format", "json", "--model", "rdma-wait-rmw", "--shard", "1/2"],
        &["compare", "--format", "json", "rdma-wait-rmw", "rdma-wait"],
        &["allowed", "--list", "--format", "json"],
    ] {
        let shipped = printed(&[command, &[own]].concat(), folder);
        let other = printed(&[command, &[&copies], options].concat(), folder);
        // A part says what it is a part of, by a number.
        let told = |text: &str| text.split("\"shard\"").next().map(str::to_owned);
        assert_eq!(told(&shipped), told(&other), "{command:?}");
        assert!(shipped.len() > 1000, "{command:?}: {shipped}");
    }
    reports(folder, (own, &copies), options);
}

/// The same observations of the shipped libraries and of the copies give the same reports.
fn reports(folder: &Path, (own, copies): (&str, &str), options: &[&str]) {
    let run = ["run", "-n", "200", "--seed", "7", "-j", "1", "--format", "log"];
    let log = |arguments: &[&str]| {
        let text = litmus(arguments).1;
        assert!(text.contains("\nHash="), "{arguments:?}: {text}");
        text
    };
    // What a run shows depends on the test's text too: all is taken from one, but for what the text is.
    let fault = ["--fault", "completion-at-issue"];
    let shipped = log(&[&run[..], &fault, &[own]].concat());
    let other = log(&[&run[..], &[copies], options].concat());
    let hashes = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("Hash="));
        lines.map(str::to_owned).collect()
    };
    let (mut renamed, new) = (shipped.clone(), hashes(&other));
    assert_eq!(hashes(&shipped).len(), new.len());
    for (old, new) in hashes(&shipped).iter().zip(&new) {
        renamed = renamed.replace(old, new);
    }
    let report = |log: &str, tests: &str, options: &[&str]| {
        let path = folder.join("seen.log");
        std::fs::write(&path, log).expect("it can be written");
        let (path, out) = (path.display().to_string(), folder.join("out"));
        let output = out.display().to_string();
        let report = ["report", &path, "--tests", tests, "-o", &output, "--mutants", "0"];
        let (code, text) = litmus(&[&report[..], options].concat());
        let mut all = format!("{code:?}\n{text}");
        // Pictures are as wide as names, and the others say which files were used.
        for file in ["report.md", "junit.xml"] {
            all += &std::fs::read_to_string(out.join(file)).expect("the report has it");
        }
        for option in options.chunks(2) {
            all = all.replace(&format!(" {} {}", option[0], option[1]), "");
        }
        for hash in hashes(log) {
            all = all.replace(hash.trim_start_matches("Hash="), "");
        }
        all
    };
    let shipped = report(&shipped, own, &[]);
    let other = report(&renamed, copies, options);
    assert!(shipped.contains("VIOLATION"), "no violation is shown");
    let (shipped, other) = (as_they_were(&shipped, folder), as_they_were(&other, folder));
    assert_same(&shipped, &other, "libraries");
    // A record has its libraries with it.
    let path = folder.join("seen.jsonl").display().to_string();
    litmus(&[&run[..7], &["--record", &path, copies], options].concat());
    let (code, text) = litmus(&["report", &path, "--mutants", "0"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, _) = litmus(&[&["report", &path], options].concat());
    assert_eq!(code, Some(64));
}
