//! A part of the work: `--shard I/N`. `litmus merge` puts the parts together.

use std::collections::HashSet;
use std::sync::OnceLock;

use campaign::shard::{Shard, ShardOf};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use evidence::record::{LibraryText, hash_text};
use lang::litmus::MAX_BYTES;

use crate::input::{self, Input, load_test};
use crate::models::Models;

/// Which part of the work to do.
#[derive(Args)]
pub struct ShardOption {
    /// Do only part I of N, a fair share of the work; `litmus merge` puts the outputs together
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

impl ShardOption {
    /// Keeps the inputs of this part, if there is one, and says which these are. Results depend on `models`
    /// and `libraries` too, whose texts the command line does not say.
    ///
    /// # Errors
    /// Inputs that cannot be split: standard input, which each part would read for itself, and one that is
    /// named twice.
    pub fn keep(
        &self,
        inputs: &mut Vec<Input>,
        models: &Models,
        libraries: &[LibraryText],
    ) -> Result<Option<ShardOf>, String> {
        if self.shard.is_none() {
            return Ok(None);
        }
        let mut known = HashSet::new();
        let mut settings = models.identities();
        libraries.iter().for_each(|library| settings += &format!("\n{}", library.hash));
        let (mut names, mut costs) = (Vec::new(), Vec::new());
        for input in &*inputs {
            let name = input.name();
            if input.is_stdin() {
                return Err(
                    "--shard needs files; standard input is not the same for all parts".to_owned()
                );
            }
            if !known.insert(&input.path) {
                return Err(format!("--shard needs each input once, and {name} is named twice"));
            }
            // What cannot be read will be said later.
            let content = input::small(&input.path, MAX_BYTES).unwrap_or_default();
            settings += &format!("\n{}", hash_text(&String::from_utf8_lossy(&content)));
            settings += &header_models(input, &content, models);
            let size = content.len() as u64;
            // A larger file has more events, and time grows faster than their number.
            costs.push(size.saturating_mul(size));
            names.push(name);
        }
        let shard = self.items(&names, &costs, &settings);
        let own = shard.iter().flat_map(|shard| &shard.items);
        *inputs = own.map(|(item, _)| inputs[*item].clone()).collect();
        Ok(shard)
    }

    /// Which of the items of these names and costs are this part's, if there is one; `settings` is what else
    /// the results depend on, as far as the command line does not say it.
    pub fn items(&self, names: &[String], costs: &[u64], settings: &str) -> Option<ShardOf> {
        let asked = format!("{}\n{settings}", ASKED.get().map_or("", String::as_str));
        Some(self.shard?.of(names, costs, &asked))
    }
}

/// Names and hashes of the models of files that a test's header names.
fn header_models(input: &Input, content: &[u8], models: &Models) -> String {
    let may_name = content.windows(4).any(|bytes| bytes == b".cat") && models.chosen.is_empty();
    let loaded = may_name.then(|| load_test(input, models.libraries()).0).flatten();
    let asked = loaded.and_then(|(test, source)| models.of_test(&test, &source).ok());
    let asked = asked.unwrap_or_default();
    let own = asked.iter().filter(|model| model.is_own);
    own.map(|model| format!("\n{}", model.identity.hash)).collect()
}

/// Options that results do not depend on: where a part runs, what it writes, and what people see of it.
const OTHERS: [&str; 9] =
    ["shard", "jobs", "record", "resume", "output", "cache", "color", "quiet", "verbose"];

/// What the command line asks.
static ASKED: OnceLock<String> = OnceLock::new();

/// Remembers what the command line asks, however it was typed.
pub fn take(command: &Command, given: &ArgMatches) {
    ASKED.get_or_init(|| asked(command, given));
}

fn asked(mut command: &Command, mut given: &ArgMatches) -> String {
    let mut asked = env!("CARGO_PKG_VERSION").to_owned();
    while let Some((name, below)) = given.subcommand() {
        let Some(known) = command.find_subcommand(name) else { break };
        (command, given) = (known, below);
        asked += &format!("\n{name}");
    }
    let mut names: Vec<&str> = command.get_arguments().map(|one| one.get_id().as_str()).collect();
    names.retain(|name| !OTHERS.contains(name));
    names.sort_unstable();
    for name in names {
        let is_typed = !matches!(given.value_source(name), None | Some(ValueSource::DefaultValue));
        let values = given.try_get_raw(name).ok().flatten().filter(|_| is_typed);
        for value in values.into_iter().flatten() {
            asked += &format!("\n{name}={}", value.to_string_lossy());
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked is the same however it is typed, and another where another thing is asked.
    #[test]
    fn a_question_is_what_is_asked() {
        let asked = |line: &str| {
            let command = crate::command();
            let given = command.clone().try_get_matches_from(line.split(' ')).unwrap();
            asked(&command, &given)
        };
        let one = asked("litmus run a b --seed 7 -n 5 -j 2 --shard 1/2 --record r");
        for same in [
            "litmus run -n=5 --seed=7 a b -j4 --shard=2/2 --resume other -q",
            "litmus --color never run a --iterations 5 b --seed 7",
        ] {
            assert_eq!(asked(same), one, "{same}");
        }
        for other in ["run b a --seed 7 -n 5", "run a b --seed 7 -n 5 --fault x", "allowed a b"] {
            assert_ne!(asked(&format!("litmus {other}")), one, "{other}");
        }
        assert_ne!(asked("litmus allowed a --timeout 3"), asked("litmus allowed a"));
        assert_ne!(asked("litmus gen random -o x"), asked("litmus gen cycles -o x"));
    }
}
