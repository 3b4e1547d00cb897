//! A part of the work: `--shard I/N`, split by what each item costs. `litmus merge` puts the parts together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use clap::Args;
use executor::record::{LibraryText, ShardOf, hash_text};
use lang::litmus::MAX_BYTES;

use crate::input::{self, Input, load_test};
use crate::models::Models;

/// Which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub part: usize,
    /// How many parts there are.
    pub of: usize,
}

/// The most parts.
const MOST: usize = 1_000_000;

/// Which part of the work to do.
#[derive(Args)]
pub struct ShardOption {
    /// Do only part I of N, a fair share of the work; `litmus merge` puts the outputs together
    #[arg(long, value_name = "I/N", value_parser = parse)]
    pub shard: Option<Shard>,
}

fn parse(text: &str) -> Result<Shard, String> {
    let number = |text: &str| text.parse::<usize>().ok();
    let numbers = text.split_once('/').and_then(|(part, of)| number(part).zip(number(of)));
    match numbers {
        Some((part, of)) if 1 <= part && part <= of && of <= MOST => Ok(Shard { part, of }),
        _ => Err(format!("expected I/N, as in 3/8, with I from 1 to N and N at most {MOST}")),
    }
}

impl Shard {
    /// Which of the items are this part's, in order: the dearest item first, each goes to the part that has least to do so
    /// far. It depends on the costs only, so that all parts agree.
    pub fn items(self, costs: &[u64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by_key(|item| (Reverse(costs[*item]), *item));
        let mut parts: BinaryHeap<Reverse<(u64, usize)>> =
            (1..=self.of.min(costs.len().max(self.part))).map(|part| Reverse((0, part))).collect();
        let mut items = Vec::new();
        for item in order {
            let Some(Reverse((load, part))) = parts.pop() else { break };
            parts.push(Reverse((load.saturating_add(costs[item].max(1)), part)));
            if part == self.part {
                items.push(item);
            }
        }
        items.sort_unstable();
        items
    }
}

impl ShardOption {
    /// Keeps the inputs of this part, if there is one, and says which these are. Results hang on `models` and `libraries` too, whose
    /// texts the command line does not say.
    ///
    /// # Errors
    /// Inputs that cannot be split: standard input, which each part would read for itself, and one that is named twice.
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

    /// Which of the items of these names and costs are this part's, if there is one; `settings` is what else the results hang
    /// on, as far as the command line does not say it.
    pub fn items(&self, names: &[String], costs: &[u64], settings: &str) -> Option<ShardOf> {
        let shard = self.shard?;
        let question = question(settings) + "\n" + &names.join("\n");
        let named = |item: &usize| (*item, names[*item].clone());
        Some(ShardOf {
            part: shard.part,
            of: shard.of,
            question: hash_text(&question),
            inputs: names.len(),
            items: shard.items(costs).iter().map(named).collect(),
        })
    }
}

/// Names and hashes of the models of files that a test's header names.
fn header_models(input: &Input, content: &[u8], models: &Models) -> String {
    let may_name = content.windows(4).any(|bytes| bytes == b".cat") && models.chosen.is_empty();
    let loaded = may_name.then(|| load_test(input).0).flatten();
    let asked = loaded.and_then(|(test, source)| models.of_test(&test, &source).ok());
    let asked = asked.unwrap_or_default();
    let own = asked.iter().filter(|model| model.is_own);
    own.map(|model| format!("\n{}", model.identity.hash)).collect()
}

/// Options that results do not depend on; each has a value.
const OTHERS: [&str; 8] =
    ["--shard", "--jobs", "-j", "--record", "--output", "-o", "--cache", "--color"];

/// What is asked: the command but for where it runs and writes, and the settings.
fn question(settings: &str) -> String {
    let mut question = env!("CARGO_PKG_VERSION").to_owned();
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        let argument = argument.to_string_lossy();
        if OTHERS.contains(&&*argument) {
            drop(arguments.next());
        } else if !OTHERS.iter().any(|other| has_value(&argument, other)) {
            question += &format!("\n{argument}");
        }
    }
    question + "\n" + settings
}

/// Whether an argument is the option with its value in one: `--jobs=2`, `-j2`.
fn has_value(argument: &str, option: &str) -> bool {
    argument.strip_prefix(option).is_some_and(|rest| {
        if option.starts_with("--") { rest.starts_with('=') } else { !rest.is_empty() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every item is of one part, and no part has much more to do than another.
    #[test]
    fn parts_are_whole_and_fair() {
        let costs: Vec<u64> = (0..997).map(|item| item * 7919 % 401).collect();
        for of in [1, 2, 8, 100, 1000] {
            let parts: Vec<Vec<usize>> =
                (1..=of).map(|part| Shard { part, of }.items(&costs)).collect();
            let mut all = parts.concat();
            all.sort_unstable();
            assert_eq!(all, (0..costs.len()).collect::<Vec<_>>(), "{of} parts");
            let load = |part: &Vec<usize>| part.iter().map(|item| costs[*item].max(1)).sum::<u64>();
            let loads: Vec<u64> = parts.iter().map(load).collect();
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(most - least <= 401, "{of} parts: {least} to {most}");
        }
    }

    #[test]
    fn part_of_whole() {
        assert_eq!(parse("3/8"), Ok(Shard { part: 3, of: 8 }));
        for wrong in ["", "3", "0/8", "9/8", "1/0", "a/b", "1/2/3", "1/9999999"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
