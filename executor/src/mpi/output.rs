//! What a program printed: a histogram, or what went wrong.

use evidence::observation::Observations;
use evidence::reports::logs;
use lang::Test;
use lang::outcome::{Outcome, Value};

use super::process::Ended;

/// What the program counts of runs without an outcome: a line `12      blocked`.
const UNFINISHED: [&str; 3] =
    ["do not count: an assumption was false", "blocked", "given up in a loop"];

/// Reads the histogram of a test.
///
/// # Errors
/// It is not there, or not of this test.
pub fn read(text: &str, test: &Test) -> Result<Observations, String> {
    let wrong =
        |(line, what): (usize, String)| format!("line {line} of the program's output: {what}");
    let tests = logs::parse(text).map_err(wrong)?;
    let [log] = tests.as_slice() else {
        return Err(format!("expected the histogram of one test, found {}", tests.len()));
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
        *seen.outcomes.entry(outcome).or_default() += count;
    }
    let counted = |what: &str| {
        let of = |line: &str| line.trim().strip_suffix(what)?.trim().parse::<u64>().ok();
        text.lines().find_map(of).unwrap_or(0)
    };
    [seen.assume_failed, seen.blocked, seen.unfinished] = UNFINISHED.map(counted);
    Ok(seen)
}

/// Why a program failed, in a line. Launchers say it among much else.
pub fn trouble(ended: &Ended, launcher: &str) -> String {
    let text = format!("{}\n{}", ended.errors, ended.output);
    let lines =
        || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("---"));
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
    let of = |what: &&str| {
        let mut rest = lines().skip_while(|line| !line.contains(*what));
        let found = rest.next()?;
        // MPICH says what it is about behind that.
        let more = rest.next().filter(|_| found.contains("Assertion failed"));
        Some(more.map_or_else(|| found.to_owned(), |more| format!("{found}: {more}")))
    };
    let found = telling.iter().find_map(of).or_else(|| lines().next().map(str::to_owned));
    let found = found.unwrap_or_else(|| "it said nothing".to_owned());
    let hint = if found.contains("run as root") {
        "; Open MPI runs as root if OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 are set"
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
        let seen = read(OUTPUT, &test()).unwrap();
        let outcome = |a| Outcome(vec![Value::Int(a), Value::Int(0)]);
        assert_eq!(seen.outcomes, [(outcome(0), 7), (outcome(1), 3)].into());
        assert_eq!((seen.assume_failed, seen.blocked, seen.unfinished), (2, 1, 4));
        assert_eq!(seen.iterations(), 17);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        assert!(read("", &test()).is_err_and(|why| why.contains("found 0")));
        let cut = OUTPUT.split_at(50).0;
        assert!(read(cut, &test()).is_err());
        let other = OUTPUT.replace("x=0", "z=0");
        assert!(read(&other, &test()).is_err_and(|why| why.contains("lacks `x`")));
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
