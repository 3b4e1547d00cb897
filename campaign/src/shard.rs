//! Parts of the work, split by what each item costs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::hash_text;

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

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<usize>().ok();
        let numbers = text.split_once('/').and_then(|(part, of)| number(part).zip(number(of)));
        match numbers {
            Some((part, of)) if 1 <= part && part <= of && of <= MOST => Ok(Self { part, of }),
            _ => Err(format!("expected I/N, as in 3/8, with I from 1 to N and N at most {MOST}")),
        }
    }
}

impl Shard {
    /// Which of the items are this part's, in order: the dearest item first, each goes to the part that has
    /// least to do so far. It depends on the costs only, so that all parts agree.
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

    /// This part of the items of these names and costs; `asked` is what all parts of one whole have in
    /// common.
    pub fn of(self, names: &[String], costs: &[u64], asked: &str) -> ShardOf {
        let named = |item: &usize| (*item, names[*item].clone());
        ShardOf {
            part: self.part,
            of: self.of,
            question: hash_text(&format!("{asked}\n{}", names.join("\n"))),
            inputs: names.len(),
            items: self.items(costs).iter().map(named).collect(),
        }
    }
}

/// Which part of a whole an output is, as `--shard` splits it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShardOf {
    /// Which part, from 1.
    pub part: usize,
    /// How many parts there are.
    pub of: usize,
    /// [`hash_text`] of all that parts of one whole have in common: the command, its inputs.
    pub question: String,
    /// How many inputs the whole has.
    pub inputs: usize,
    /// The number of each input of this part, from 0, and its name.
    pub items: Vec<(usize, String)>,
}

impl ShardOf {
    /// The numbers of this part's items.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        self.items.iter().map(|(number, _)| *number)
    }
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
            let least = loads.iter().min().copied().unwrap_or(0);
            let most = loads.iter().max().copied().unwrap_or(0);
            assert!(most - least <= 401, "{of} parts: {least} to {most}");
        }
    }

    #[test]
    fn part_of_whole() {
        assert_eq!("3/8".parse(), Ok(Shard { part: 3, of: 8 }));
        for wrong in ["", "3", "0/8", "9/8", "1/0", "a/b", "1/2/3", "1/9999999"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
