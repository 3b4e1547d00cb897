//! Reports in JSON: of `allowed` and `run`.

use std::collections::HashMap;
use std::path::Path;

use campaign::merge::{Output, Refused, Whole};
use campaign::shard::ShardOf;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::exit::Exit;
use crate::options::Format;
use crate::problem::Reported;
use crate::sink::{Sink, Skip, Status};
use crate::terminal::Terminal;

/// A report as it was printed.
#[derive(PartialEq)]
pub struct Printed {
    /// What stands before the lists, and after them; both are of the whole.
    head: Map<String, Json>,
    tail: Map<String, Json>,
    results: Vec<Json>,
    /// Errors and warnings.
    problems: Vec<Reported>,
    skipped: Vec<Skip>,
    exit: u64,
}

/// Something that a report lists.
#[derive(Clone, PartialEq)]
pub enum Listed {
    Result(Json),
    Problem(Reported),
    Skip(Skip),
}

/// What sorts items without an input; those of an input sort by its index plus one.
const OF_NO_INPUT: usize = 0;

/// What merge looks at in a result: those of `allowed` have a status, those of `run` a judgement.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shown {
    test: String,
    file: String,
    model: String,
    machine: String,
    reason: Option<String>,
    status: Option<String>,
    judgement: Option<String>,
}

impl Output for Printed {
    type Item = Listed;

    fn read(path: &Path, bytes: &[u8]) -> Result<(ShardOf, Self), Refused> {
        let (shard, fields): (_, Map<String, Json>) = super::object(path, bytes)?;
        Ok((shard, Self::of(fields).ok_or_else(|| Refused::not_a_part(path))?))
    }

    fn take(&mut self, shard: &ShardOf) -> Vec<(usize, Listed)> {
        let numbers = shard.items.iter().map(|(number, name)| (name.as_str(), number + 1));
        let numbers: HashMap<&str, usize> = numbers.collect();
        let number = |file: &str| numbers.get(file).copied().unwrap_or(OF_NO_INPUT);
        let results = self.results.drain(..);
        let results = results.map(|json| (number(&Shown::of(&json).file), Listed::Result(json)));
        let problems = self.problems.drain(..);
        let problems = problems.map(|reported| (number(&reported.file), Listed::Problem(reported)));
        let skipped = self.skipped.drain(..);
        let skipped = skipped.map(|skip| (number(&skip.file), Listed::Skip(skip)));
        results.chain(problems).chain(skipped).collect()
    }
}

impl Printed {
    /// `None` if a field is not what reports have.
    fn of(fields: Map<String, Json>) -> Option<Self> {
        fn list<T: DeserializeOwned>(json: Json) -> Option<Vec<T>> {
            serde_json::from_value(json).ok()
        }
        let (head, tail) = (Map::new(), Map::new());
        let (results, problems, skipped) = (Vec::new(), Vec::new(), Vec::new());
        let mut printed = Self { head, tail, results, problems, skipped, exit: 0 };
        let mut is_tail = false;
        for (name, value) in fields {
            match name.as_str() {
                "results" => {
                    let Json::Array(results) = value else { return None };
                    (printed.results, is_tail) = (results, true);
                }
                "errors" | "warnings" => printed.problems.extend(list(value)?),
                "skipped" => printed.skipped = list(value)?,
                "exit" => printed.exit = value.as_u64()?,
                "counts" => {}
                _ if is_tail => drop(printed.tail.insert(name, value)),
                _ => drop(printed.head.insert(name, value)),
            }
        }
        Some(printed)
    }
}

impl Shown {
    fn of(json: &Json) -> Self {
        Self::deserialize(json).unwrap_or_default()
    }

    fn word(&self) -> &str {
        self.status.as_deref().or(self.judgement.as_deref()).unwrap_or("unknown")
    }

    fn status(&self) -> Status {
        match self.word() {
            "ok" | "conforms" | "unseen" => Status::Good,
            "yes" => Status::Yes,
            "no" => Status::No,
            "unchecked" => Status::Unchecked,
            "fail" | "violation" => Status::Bad,
            _ => Status::Open,
        }
    }

    /// A line of a table, for what is not as it should be.
    fn line(&self) -> String {
        if !matches!(self.status(), Status::Bad | Status::Open) {
            return String::new();
        }
        let of = if self.machine.is_empty() { &self.model } else { &self.machine };
        let reason = self.reason.iter().map(|reason| format!(" ({reason})"));
        format!("{}  {}  {of}{}\n", self.word(), self.test, reason.collect::<String>())
    }
}

pub fn print(whole: Whole<Printed>, format: Format, terminal: &mut Terminal) -> Exit {
    let parts = whole.parts.iter().map(|part| &part.content);
    let Some(first) = parts.clone().next() else { return Exit::Fine };
    let owned = |(name, value): (&String, &Json)| (name.clone(), value.clone());
    let head: Vec<(String, Json)> = first.head.iter().map(owned).collect();
    let head: Vec<(&str, Json)> =
        head.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let mut report = Sink::new(terminal, format, &head);
    parts.clone().for_each(|part| report.exit.raise(Exit::of_code(part.exit)));
    // What is of no input is in every part, and counts once.
    let mut general = Vec::new();
    for (number, listed) in whole.items {
        if number == OF_NO_INPUT {
            if general.contains(&listed) {
                continue;
            }
            general.push(listed.clone());
        }
        match listed {
            Listed::Result(json) => {
                let shown = Shown::of(&json);
                report.result(shown.status(), || json, || shown.line());
            }
            Listed::Problem(reported) => report.reported(reported),
            Listed::Skip(skip) => report.known_skip(skip),
        }
    }
    let tail = first.tail.iter().map(|(name, value)| {
        // Whether something was interrupted is so of the whole if of a part.
        let any = parts.clone().any(|part| part.tail.get(name) == Some(&Json::Bool(true)));
        (name.as_str(), if value.is_boolean() { Json::Bool(any) } else { value.clone() })
    });
    let tail: Vec<(&str, Json)> = tail.collect();
    report.finish(&tail, Some(["good", "BAD", "unknown"]))
}
