//! Options beside a preset, whose effect is measured.

use std::fmt;

use clap::CommandFactory;

/// Options as in a shell, and the words that they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    text: String,
    words: Vec<String>,
}

/// What `litmus nic power` sets itself.
const OF_NIC: &[&str] = &["--preset", "--seed", "--fault", "--network", "--library", "--"];
const OF_RUN: &[&str] =
    &["--backend", "--seed", "-n", "--iterations", "--record", "--resume", "-o", "--output", "--"];

/// Options of `litmus nic`, as in a shell.
///
/// # Errors
/// A quote that is not closed, no words, options that are set anyway, and what that command refuses.
pub fn of_nic(text: &str) -> Result<Words, String> {
    let words = words(text, OF_NIC)?;
    check("nic", &words, "command")?;
    Ok(words)
}

/// Options of `litmus run`.
///
/// # Errors
/// As [`of_nic`].
pub fn of_run(text: &str) -> Result<Words, String> {
    let words = words(text, OF_RUN)?;
    check("run", &words, "paths")?;
    Ok(words)
}

/// Has a command's own parser read the options, before anything runs. `follows` is what comes after them.
fn check(name: &str, words: &Words, follows: &str) -> Result<(), String> {
    let all = words.words.iter().map(String::as_str);
    let all = ["litmus", name].into_iter().chain(all).chain([follows]);
    let found = crate::Arguments::command().try_get_matches_from(all);
    let name = format!("litmus {name}");
    let matches = found.map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        format!("{name}: {}", first.strip_prefix("error: ").unwrap_or(first))
    })?;
    let matches = matches.subcommand().map(|(_, matches)| matches);
    match matches.and_then(|matches| matches.get_raw(follows)).map_or(0, Iterator::count) {
        1 => Ok(()),
        _ => Err(format!("{name}: expected options alone, found an argument beside them")),
    }
}

fn words(text: &str, taken: &[&str]) -> Result<Words, String> {
    let words = shlex::split(text).ok_or("expected options, found a quote that is not closed")?;
    if words.is_empty() {
        return Err("expected options, found nothing".to_owned());
    }
    let is_taken = |word: &&String| {
        let name = word.split('=').next().unwrap_or_default();
        let is_short = |one: &&&str| !one.starts_with("--") && !name.starts_with("--");
        taken.contains(&name) || taken.iter().filter(is_short).any(|one| name.starts_with(one))
    };
    match words.iter().find(is_taken) {
        Some(word) => Err(format!("expected other options, found {word}, which power sets itself")),
        None => Ok(Words { text: text.to_owned(), words }),
    }
}

/// Options of one of the two programs that run the tests.
#[derive(Clone, Debug)]
pub enum With {
    /// Of `litmus nic`.
    Nic(Words),
    /// Of `litmus run`.
    Run(Words),
}

/// All of them, each once.
pub fn all(nic: &[Words], run: &[Words]) -> Vec<With> {
    let unique = |all: &[Words]| {
        let is_first = |(index, words): &(usize, &Words)| !all[..*index].contains(words);
        let kept = all.iter().enumerate().filter(is_first);
        kept.map(|(_, words)| words.clone()).collect::<Vec<Words>>()
    };
    let nic = unique(nic).into_iter().map(With::Nic);
    nic.chain(unique(run).into_iter().map(With::Run)).collect()
}

impl With {
    /// Those of `litmus nic`.
    pub fn of_nic(&self) -> &[String] {
        match self {
            Self::Nic(words) => &words.words,
            Self::Run(_) => &[],
        }
    }

    /// Those of `litmus run`.
    pub fn of_run(&self) -> &[String] {
        match self {
            Self::Nic(_) => &[],
            Self::Run(words) => &words.words,
        }
    }

    /// As the name of a file: other characters than letters, digits, dots and `-` are `_`.
    pub fn file_name(&self) -> String {
        let plain =
            |one: char| if one.is_ascii_alphanumeric() || ".-".contains(one) { one } else { '_' };
        self.to_string().chars().map(plain).collect()
    }
}

impl fmt::Display for With {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nic(words) => write!(f, "nic {}", words.text),
            Self::Run(words) => write!(f, "run {}", words.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_words_as_in_a_shell() {
        assert!(of_nic("--delay '10").is_err());
        assert!(of_nic(" ").is_err());
        let found = of_nic("--delay 10 --tear").unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(found.words, ["--delay", "10", "--tear"]);
    }

    #[test]
    fn what_is_set_anyway_is_refused() {
        for text in ["--seed 1", "--fault=rmw-twice", "--tear --preset calm", "-- ls"] {
            assert!(of_nic(text).is_err(), "{text}");
        }
        for text in ["-n 5", "-n5", "--backend=sim", "--spread 0 -o there"] {
            assert!(of_run(text).is_err(), "{text}");
        }
        assert!(of_run("--preset calm --no-shuffle").is_ok());
    }

    #[test]
    fn what_the_command_itself_refuses_is_refused_first() {
        for (found, expected) in [
            (of_nic("--dely 3"), "litmus nic: unexpected argument '--dely' found"),
            (
                of_nic("--tear ls"),
                "litmus nic: expected options alone, found an argument beside them",
            ),
            (of_run("--spread x"), "litmus run: invalid value 'x' for '--spread <NS>': "),
        ] {
            let found = found.expect_err("no such options");
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn those_of_both_programs_are_told_apart_and_none_is_taken_twice() {
        let delay = of_nic("--delay 10").unwrap_or_else(|why| panic!("{why}"));
        let all = all(&[delay.clone(), delay.clone()], &[delay]);
        let names: Vec<String> = all.iter().map(With::file_name).collect();
        assert_eq!(names, ["nic_--delay_10", "run_--delay_10"]);
        assert_eq!((all[0].of_nic().len(), all[0].of_run().len()), (2, 0));
        assert_eq!((all[1].of_nic().len(), all[1].of_run().len()), (0, 2));
    }
}
