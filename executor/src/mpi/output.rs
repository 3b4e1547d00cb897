//! What a program printed: a histogram, or what went wrong.

use evidence::observation::Observations;
use evidence::reports::logs;
use lang::Test;
use lang::outcome::{Outcome, Value};

use super::process::Ended;

/// What the program counts of runs without an outcome: a line `12      blocked`.
const UNFINISHED: [&str; 3] =
    ["do not count: an assumption was false", "blocked", "given up in a loop"];

/// Reads the histogram of a test that was run so often.
///
/// # Errors
/// It is not there, not of this test, or of another number of runs.
pub fn read(text: &str, test: &Test, runs: u64) -> Result<Observations, String> {
    let wrong =
        |(line, what): (usize, String)| format!("line {line} of the program's output: {what}");
    // Launchers may print lines of their own.
    let mut tests = logs::parse(text).map_err(wrong)?;
    tests.retain(|log| log.name == test.name);
    let [log] = tests.as_slice() else {
        let found = tests.len();
        return Err(format!("expected one histogram of {}, found {found}", test.name));
    };
    let mut seen = Observations::default();
    for (pairs, count) in &log.states {
        let value = |name: &str| {
            let found = pairs.iter().find(|(known, _)| known == name);
            found.and_then(|(_, value)| value.parse().ok()).map(Value::Int)
        };
        let values = test.observables.iter().map(|one| {
            value(&one.name)
                .ok_or_else(|| format!("a state of the program's output lacks `{}`", one.name))
        });
        let outcome = Outcome(values.collect::<Result<_, _>>()?);
        if pairs.len() != test.observables.len() {
            return Err(format!("a state of the program's output has {} values", pairs.len()));
        }
        seen.outcomes.insert(outcome, *count);
    }
    let counted = |what: &str| {
        let of = |line: &str| line.trim().strip_suffix(what)?.trim().parse::<u64>().ok();
        text.lines().find_map(of).unwrap_or(0)
    };
    [seen.assume_failed, seen.blocked, seen.unfinished] = UNFINISHED.map(counted);
    let others = [seen.assume_failed, seen.blocked, seen.unfinished];
    let counts = seen.outcomes.values().chain(&others);
    match counts.copied().try_fold(0u64, u64::checked_add) {
        Some(sum) if sum == runs => Ok(seen),
        sum => {
            let sum = sum.map_or_else(|| "too many".to_owned(), |sum| sum.to_string());
            Err(format!("expected {runs} runs in the program's output, found {sum}"))
        }
    }
}

/// The first line with the first of the words that any line has.
pub fn with_first<'a>(words: &[&str], lines: &[&'a str]) -> Option<&'a str> {
    let with = |word: &&str| lines.iter().find(|line| line.contains(*word)).copied();
    words.iter().find_map(with)
}

/// Why a program failed, in a line. Launchers say it among much else.
pub fn trouble(ended: &Ended, launcher: &str) -> String {
    let text = format!("{}\n{}", ended.errors, ended.output);
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("---")).collect();
    let telling = [
        ": node ",
        "Assertion failed",
        "expected ",
        "exited on signal",
        "EXIT STRING",
        "EXIT CODE",
        "Signal:",
        "run as root",
        "not enough slots",
    ];
    let said = with_first(&telling, &lines).or(lines.first().copied());
    let mut found = said.unwrap_or("it said nothing").to_owned();
    if found.contains("Assertion failed") {
        // MPICH says what it is about in the next line.
        let behind = lines.iter().skip_while(|line| **line != found).nth(1);
        found.extend(behind.map(|more| format!(": {more}")));
    }
    let hint = if found.contains("run as root") {
        "; Open MPI runs as root if OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 are set"
    } else if found.contains("exited on signal 11") {
        "; Open MPI 4's default for one machine crashes in atomics (docs/findings.md): --mpirun 'mpirun --mca osc \
         sm' chooses another"
    } else if found.contains("not enough slots") {
        "; Open MPI runs more processes than cores with --mpirun 'mpirun --oversubscribe'"
    } else {
        ""
    };
    let how = ended.code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
    format!("{launcher} ended with {how}: {found}{hint}")
}

#[cfg(test)]
mod tests {
    use lang::source::Source;

    use super::*;

    fn test() -> Test {
        let text =
            "litmus T\n  x = 0 || y = 0\n  ---\n  y^2 := 1 || a := y\n\n  a = 1 ✓\n  x = 0 ✓\n";
        lang::litmus::load(&Source::new("T", text)).0.expect("it loads")
    }

    const OUTPUT: &str = "\
Test T Allowed
Histogram (2 states)
7       :>a=0; x=0;
3       :>a=1; x=0;
2       do not count: an assumption was false
1       blocked
4       given up in a loop

Not judged: no model was asked
";

    #[test]
    fn a_histogram_is_read() {
        let seen = read(OUTPUT, &test(), 17).unwrap();
        let outcome = |a| Outcome(vec![Value::Int(a), Value::Int(0)]);
        assert_eq!(seen.outcomes, [(outcome(0), 7), (outcome(1), 3)].into());
        assert_eq!((seen.assume_failed, seen.blocked, seen.unfinished), (2, 1, 4));
        assert_eq!(seen.iterations(), 17);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        let cut = OUTPUT.split_at(50).0;
        let other = OUTPUT.replace("x=0", "z=0");
        let more = OUTPUT.replace("x=0;", "x=0; z=1;");
        let many = OUTPUT.replace("7       :", "18446744073709551615 :");
        for (text, why) in [
            ("", "found 0"),
            (cut, "expected 1 more states"),
            (&other, "lacks `x`"),
            (&more, "has 3 values"),
            (&many, "expected 17 runs in the program's output, found too many"),
            (&OUTPUT.replace("4       given", "3       given"), "found 16"),
            (&OUTPUT.replace("Test T", "Test Other"), "expected one histogram of T, found 0"),
        ] {
            let refused = read(text, &test(), 17).expect_err(text);
            assert!(refused.contains(why), "{refused}");
        }
        let noisy = format!("Test connection established\n{OUTPUT}");
        assert!(read(&noisy, &test(), 17).is_ok());
    }

    #[test]
    fn trouble_is_said_in_a_line() {
        let killed = "----\nmpirun noticed that process rank 1 with PID 7 on node a exited on signal 9 (Killed).\n---\n";
        let ended =
            |code, errors: &str| Ended { code, errors: errors.to_owned(), ..Ended::default() };
        let text = trouble(&ended(Some(137), killed), "mpirun");
        assert!(text.starts_with("mpirun ended with exit code 137: mpirun noticed"), "{text}");
        assert!(text.contains("exited on signal 9 (Killed)"), "{text}");
        let root = trouble(
            &ended(Some(1), "---\nmpirun has detected an attempt to run as root.\n"),
            "mpirun",
        );
        assert!(root.contains("OMPI_ALLOW_RUN_AS_ROOT=1"), "{root}");
        let asserted = "\nAssertion failed in file a.c at line 286: FALSE\nranges overlap, len_=8\n\nAbort(1)\n";
        let asserted = trouble(&ended(Some(1), asserted), "mpirun.mpich");
        assert!(asserted.ends_with(": FALSE: ranges overlap, len_=8"), "{asserted}");
        assert_eq!(
            trouble(&ended(None, ""), "mpirun"),
            "mpirun ended with a signal: it said nothing"
        );
    }
}
