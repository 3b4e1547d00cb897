//! What a run comes to, at its end: violations with their cycles, a table by group, and the verdict in one line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use executor::judge::Judgement;
use executor::reports::data::Verdict;
use executor::reports::judging::wanted;
use lang::Test;
use lang::outcome::Outcome;
use lang::source::Source;
use model::allowed::Question;
use model::explain::explain;

use super::result::RunResult;
use crate::engine::Request;
use crate::models::LoadedModel;
use crate::table;
use crate::terminal::{Look, Tint};

/// How many violations are told with their cycles.
const TOLD: usize = 5;
/// From how many tests on there is a table by group.
const MANY: usize = 5;

/// What explains a violation.
#[derive(Clone)]
pub struct Evidence {
    /// The test.
    pub test: Test,
    /// Its text.
    pub source: Arc<Source>,
    /// The model that forbids.
    pub model: LoadedModel,
}

/// Counts, and the first violations.
#[derive(Default)]
pub struct Summary {
    /// The heaviest judgement of each test by group, file and machine.
    tests: BTreeMap<(String, String, String), Judgement>,
    violations: BTreeSet<(String, String)>,
    unseen: BTreeSet<(String, String)>,
    told: Vec<(Evidence, Outcome, u64, u64)>,
    runs: u64,
    /// Tests that broke.
    pub failed: usize,
    /// Tests that were not run.
    pub skipped: usize,
}

impl Summary {
    /// One more result.
    pub fn add(&mut self, result: &RunResult) {
        let (file, machine) = result.identity();
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let group = folder.rsplit('/').next().unwrap_or_default().to_owned();
        let key = (group, file.to_owned(), machine.to_owned());
        let is_new = !self.tests.contains_key(&key);
        let judged = result.judged();
        let judgement = self.tests.entry(key).or_insert(judged.overall);
        *judgement = (*judgement).max(judged.overall);
        if is_new {
            self.runs += result.finished();
        }
        let name = format!("{file} {machine}");
        self.unseen
            .extend(judged.unseen.iter().map(|outcome| (name.clone(), format!("{outcome:?}"))));
        for seen in judged.outcomes.iter().filter(|seen| seen.judgement == Judgement::Violation) {
            let is_new = self.violations.insert((name.clone(), format!("{:?}", seen.outcome)));
            if let Some(evidence) = result.evidence().filter(|_| is_new && self.told.len() < TOLD) {
                let told = (evidence.clone(), seen.outcome.clone(), seen.count, result.finished());
                self.told.push(told);
            }
        }
    }

    /// The table by group, if there are enough tests for one; in words where it is too wide.
    pub fn groups(&self, look: Look) -> String {
        if self.tests.len() < MANY {
            return String::new();
        }
        let mut groups: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
        for ((group, _, _), judgement) in &self.tests {
            let name = if group.is_empty() { "." } else { group };
            groups.entry(name).or_default()[*judgement as usize] += 1;
        }
        let heads = ["group", "conforms", "with unseen", "inconclusive", "VIOLATION"];
        let names = groups.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        // Columns are as wide as their heads, with three characters between two, and four at the sides.
        let width = names + heads[1..].iter().map(|head| head.len() + 3).sum::<usize>() + 6;
        if look.width.is_some_and(|least| width > least) {
            let line = |(name, counts): (&&str, &[usize; 4])| {
                let counts = counts.iter().zip(&heads[1..]).filter(|(number, _)| **number > 0);
                let counts: Vec<String> =
                    counts.map(|(number, what)| format!("{number} {what}")).collect();
                look.fit(&format!("  {name}: {}", counts.join(", ")))
            };
            return groups.iter().map(line).collect();
        }
        let cell = |number: usize| if number == 0 { "·".to_owned() } else { number.to_string() };
        let row = |(name, counts): (&&str, &[usize; 4])| {
            let mut row = vec![(*name).to_owned()];
            row.extend(counts.map(cell));
            row
        };
        let rows: Vec<Vec<String>> = groups.iter().map(row).collect();
        table::draw(&heads, &rows, true)
    }

    /// The first violations, each with the cycle that forbids it.
    pub fn violations(&self, look: Look, request: &Request) -> String {
        let mut text = String::new();
        for (evidence, outcome, count, finished) in &self.told {
            let name = look.paint(Tint::Bad, &evidence.test.name);
            let outcome_text = executor::reports::judging::outcome_text(&evidence.test, outcome);
            let model = evidence.model.name();
            text.push_str(&format!(
                "{name}: {outcome_text}, {count} of {finished} runs, forbidden by {model}"
            ));
            match cycle(evidence, outcome, request) {
                Some((axiom, words)) => {
                    text.push_str(&format!(" ({axiom})\n{}", wrap(&words, look.width)));
                }
                None => text.push_str(": no execution gives these values\n"),
            }
        }
        let more = self.violations.len() - self.told.len();
        if more > 0 {
            text.push_str(&format!("… and {more} more\n"));
        }
        text
    }

    /// The verdict in one line.
    pub fn verdict(&self, look: Look, interrupted: bool) -> String {
        let count =
            |judgement: Judgement| self.tests.values().filter(|one| **one == judgement).count();
        let verdict = Verdict {
            tests: self.tests.len(),
            violations: self.violations.len(),
            violating_tests: count(Judgement::Violation),
            unseen: self.unseen.len(),
            inconclusive: count(Judgement::Inconclusive),
            skipped: self.skipped,
            failed: self.failed,
            interrupted: usize::from(interrupted),
            runs: self.runs,
            ..Verdict::default()
        }
        .described();
        let tint = match verdict.word.as_str() {
            "violation" => Tint::Bad,
            "conforms" => Tint::Good,
            _ => Tint::Open,
        };
        format!("{}\n", look.paint(tint, look.fit(&verdict.line).trim_end()))
    }
}

/// The axiom, and the way around: `aNRW x=1 → oppo[nrW, nrW] → aNRW y=1 → …`.
fn cycle(
    evidence: &Evidence,
    outcome: &Outcome,
    request: &Request,
) -> Option<(String, Vec<String>)> {
    let question =
        Question::new(&evidence.test, evidence.model.model(), request.libraries(), request.loops)
            .ok()?;
    let explanation = explain(&question, &request.options(), &wanted(outcome)).ok()?;
    let chain = explanation.chain(&evidence.source)?;
    let mut words = Vec::new();
    for step in &chain.steps {
        words.extend([step.event.clone(), format!("—{}→", step.relation)]);
    }
    words.extend(chain.steps.last().map(|step| step.to.clone()));
    Some((chain.axiom, words))
}

/// Lines that fit the terminal, indented.
fn wrap(words: &[String], width: Option<usize>) -> String {
    let width = width.unwrap_or(usize::MAX).max(40);
    let mut text = String::new();
    let mut used = 0;
    for word in words {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            text.push('\n');
            used = 0;
        }
        text.push_str(if used == 0 { "    " } else { " " });
        used += if used == 0 { 4 } else { 1 } + length;
        text.push_str(word);
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_fit() {
        let words: Vec<String> = (0..20).map(|number| format!("word{number}")).collect();
        let text = wrap(&words, Some(40));
        assert!(text.lines().count() > 3 && text.lines().all(|line| line.chars().count() <= 40));
        assert_eq!(wrap(&words, None).lines().count(), 1);
    }
}
