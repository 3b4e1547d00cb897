//! Exit codes.

/// What a command comes to, in the order of weight: of several, the heaviest is what the process exits with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// All as expected.
    #[default]
    Fine,
    /// Nothing wrong, but something unknown: a limit, a bound, a test that cannot be run or compiled.
    Unknown,
    /// A violation, a verdict that does not hold, a file that is not formatted.
    Violation,
    /// What a command exited with that was started, if not 0.
    Command(u8),
    /// An input that cannot be read or is wrong.
    BadInput,
    /// The command line is wrong.
    Usage,
    /// Output that cannot be written.
    Unwritable,
    /// A bug.
    Internal,
}

impl Exit {
    /// The number for the shell.
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Violation => 1,
            Self::Unknown => 2,
            Self::Command(code) => code,
            Self::Usage => 64,
            Self::BadInput => 65,
            Self::Internal => 70,
            Self::Unwritable => 74,
        }
    }

    /// The one with this number; what no command exits with is a bug.
    pub fn of_code(code: u64) -> Self {
        let all = [Self::Fine, Self::Violation, Self::Unknown, Self::Usage, Self::BadInput];
        let mut all = all.into_iter().chain([Self::Unwritable]);
        all.find(|exit| u64::from(exit.code()) == code).unwrap_or(Self::Internal)
    }

    /// At least as heavy as another.
    pub fn raise(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

/// The exit codes as `--help` documents them.
pub const HELP: &str = "\
Exit codes:
   0  all as expected
   1  a violation, a verdict that does not hold, engines that disagree, a file that is not formatted
   2  nothing wrong, but something unknown: a limit, a bound, a test that cannot be run or compiled
  64  the command line is wrong
  65  an input cannot be read or is wrong
  70  an internal error: a bug
  74  output that cannot be written: no space, no permission, a place that something else has
If several apply, the first of 70, 74, 64, 65, 1, 2 is taken.
A reader of the output that goes away, as in `litmus allowed . | head`, ends the work; what was not looked at is unknown.";

#[cfg(test)]
mod tests {
    use super::*;

    /// The cheat sheet lists every exit code and no other.
    #[test]
    fn the_cheat_sheet_has_all_exit_codes() {
        let of_help = HELP.lines().filter_map(|line| line.get(..4)?.trim().parse::<u8>().ok());
        let all = [Exit::Fine, Exit::Violation, Exit::Unknown, Exit::Usage, Exit::BadInput];
        let all = all.into_iter().chain([Exit::Internal, Exit::Unwritable]).map(Exit::code);
        let all: Vec<u8> = all.collect();
        assert_eq!(of_help.collect::<Vec<u8>>(), all);
        let page = include_str!("../../docs/cheat-sheet.md");
        let (_, codes) = page.split_once("Exit codes:").unwrap_or_default();
        let words = codes.split(|letter: char| !letter.is_ascii_digit());
        assert_eq!(words.filter_map(|word| word.parse().ok()).collect::<Vec<u8>>(), all);
    }
}
