//! Tests with many cases, each with a name of its own: files of the suite, changes of the models, mutants of
//! the libraries.
//!
//! `cargo test -p model --test cases suite::litmus-suite/put-get` runs those whose names contain the text.

mod files;
mod herd;
mod mutants;
mod mutation;
mod suite;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let mut add = |group: &str, found: Vec<Trial>| {
        assert!(!found.is_empty(), "{group} has no cases");
        trials.extend(found);
    };
    add("suite", suite::trials());
    add("herd", herd::trials());
    add("mutation", mutation::trials());
    add("mutants", mutants::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}
