//! Options beside a preset, whose effect is measured.

use std::fmt;

/// Options as in a shell, and the words that they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    text: String,
    words: Vec<String>,
}

/// Takes a text apart, as a shell does.
///
/// # Errors
/// A quote that is not closed, and no words.
pub fn words(text: &str) -> Result<Words, String> {
    let words = shlex::split(text).ok_or("expected options, found a quote that is not closed")?;
    if words.is_empty() {
        return Err("expected options, found nothing".to_owned());
    }
    Ok(Words { text: text.to_owned(), words })
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
        assert!(words("--delay '10").is_err());
        assert!(words(" ").is_err());
        let found = words("--delay 10 --tear").unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(found.words, ["--delay", "10", "--tear"]);
    }

    #[test]
    fn those_of_both_programs_are_told_apart_and_none_is_taken_twice() {
        let delay = words("--delay 10").unwrap_or_else(|why| panic!("{why}"));
        let all = all(&[delay.clone(), delay.clone()], &[delay]);
        let names: Vec<String> = all.iter().map(With::file_name).collect();
        assert_eq!(names, ["nic_--delay_10", "run_--delay_10"]);
        assert_eq!((all[0].of_nic().len(), all[0].of_run().len()), (2, 0));
        assert_eq!((all[1].of_nic().len(), all[1].of_run().len()), (0, 2));
    }
}
