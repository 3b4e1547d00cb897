//! The verdict: of each record, and of all.

use std::collections::BTreeSet;

use super::data::{
    Bounds, Broken, Finding, Nature, RunReport, Skipped, TestJudgement, Tested, Verdict,
    VerdictWord,
};
use super::percent;
use super::rejudge::JudgedRecord;
use crate::judge::{Forbids, Judgement};
use crate::record::{ShardOf, Status};

/// Words from the heaviest to the lightest, and how the verdict of several records says them.
const WORDS: [(VerdictWord, &str); 7] = [
    (VerdictWord::Violation, "VIOLATION in"),
    (VerdictWord::Inconclusive, "inconclusive:"),
    (VerdictWord::Known, "known violations only:"),
    (VerdictWord::NothingTested, "nothing tested in"),
    (VerdictWord::NotKnown, "it is not known whether anything could have been a violation in"),
    (VerdictWord::NothingForbidden, "nothing that is forbidden was tested in"),
    (VerdictWord::Conforms, "conforms:"),
];

/// What the verdict on some tests is made of.
pub struct Parts<'a> {
    /// The tests.
    pub tests: &'a [&'a JudgedRecord],
    /// What was tested with them.
    pub tested: &'a Tested,
    /// The violations among them.
    pub findings: &'a [&'a Finding],
    /// What was not run.
    pub skipped: &'a [&'a Skipped],
    /// What broke.
    pub errors: &'a [&'a Broken],
    /// How many allowed outcomes were never seen.
    pub unseen: usize,
    /// Whether a record is not whole.
    pub is_partial: bool,
    /// Which part of the programs a record is about.
    pub part: Option<String>,
}

/// Which part of all programs a part is, if it is not all of them.
pub fn part(shard: Option<&ShardOf>) -> Option<String> {
    let shard = shard.filter(|shard| shard.of > 1)?;
    Some(format!("part {} of {}", shard.part, shard.of))
}

/// The verdict on some tests, in which a violation that a baseline has too does not count.
pub fn verdict(parts: &Parts<'_>) -> Verdict {
    let Parts { tests, tested, findings, .. } = parts;
    let count = |holds: &dyn Fn(&JudgedRecord) -> bool| {
        let programs = tests.iter().filter(|test| holds(test)).map(|test| test.report.program);
        programs.collect::<BTreeSet<_>>().len()
    };
    let outcomes = |is_known: bool| -> BTreeSet<(usize, &str)> {
        let some = findings.iter().filter(|finding| finding.is_known == is_known);
        some.map(|finding| (finding.program, finding.outcome.as_str())).collect()
    };
    let new = outcomes(false);
    let known = outcomes(true).difference(&new).count();
    let named = |names: BTreeSet<(&str, &str)>| names.len();
    let run: BTreeSet<(&str, &str)> =
        tests.iter().map(|test| (test.report.name.as_str(), test.program.file.as_str())).collect();
    let is_run = |skip: &Skipped| run.contains(&(skip.test.as_str(), skip.file.as_str()));
    let permissive = count(&|test| is_permissive(test) && test.report.finished > 0);
    Verdict {
        programs: tested.programs,
        forbidding: tested.forbidding,
        permissive,
        undecided: count(&|test| {
            test.program.forbids == Forbids::Unknown && test.report.finished > 0
        }),
        violations: new.len(),
        violating: new.iter().map(|(program, _)| program).collect::<BTreeSet<_>>().len(),
        known,
        unseen: parts.unseen,
        against_file: count(&|test| {
            let mut rows = test.report.results.iter().flat_map(|result| &result.rows);
            rows.any(|row| row.against_file && row.judgement != Judgement::Inconclusive)
        }),
        inconclusive: count(&|test| test.report.judgement == TestJudgement::Inconclusive),
        skipped: named(
            parts
                .skipped
                .iter()
                .filter(|skip| skip.model.is_none() || !is_run(skip))
                .map(|skip| (skip.test.as_str(), skip.file.as_str()))
                .collect(),
        ),
        failed: count(&|test| test.report.status == Status::Failed),
        unusable: named(
            parts
                .errors
                .iter()
                .filter(|error| !error.is_of_backend())
                .map(|error| (error.test.as_str(), error.file.as_str()))
                .collect(),
        ),
        interrupted: count(&|test| test.report.status == Status::Interrupted),
        is_partial: parts.is_partial,
        part: parts.part.clone(),
        tests: tests.iter().filter(|test| test.report.finished > 0).count(),
        runs: tested.runs,
        ..Verdict::default()
    }
    .described()
}

/// Whether a test cannot show a violation, by the program's other machines neither.
fn is_permissive(test: &JudgedRecord) -> bool {
    test.program.forbids == Forbids::Nothing
}

/// `1 program`, `2 programs`.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

impl Verdict {
    /// With the word and the line that follow from the numbers.
    #[must_use]
    pub fn described(self) -> Self {
        let mut verdict = self;
        verdict.word = verdict.find_word();
        let mut parts = verdict.head();
        if let (Some(part), Some(head)) = (&verdict.part, parts.first_mut()) {
            head.push_str(&format!(" in {part}"));
        }
        let more = [
            (verdict.failed, "broke"),
            (verdict.unusable, "unusable"),
            (verdict.interrupted, "not run to the end"),
            (verdict.skipped, "skipped"),
        ];
        let some = more.into_iter().filter(|(number, _)| *number > 0);
        parts.extend(some.map(|(number, what)| format!("{} {what}", counted(number, "program"))));
        let against = match verdict.against_file {
            0 => None,
            1 => Some("1 program shows what its file marks ✗: that verdict is wrong".to_owned()),
            many => Some(format!(
                "{many} programs show what their files mark ✗: those verdicts are wrong"
            )),
        };
        // Somebody claimed something, and it is not so: only a violation is news before that.
        let place = usize::from(verdict.word == VerdictWord::Violation).min(parts.len());
        parts.splice(place..place, against);
        parts.extend(verdict.is_partial.then(|| "the record is not whole".to_owned()));
        verdict.line = parts.join(" · ");
        verdict
    }

    /// Whether something stays unknown.
    pub fn is_open(&self) -> bool {
        let Self { inconclusive, failed, unusable, interrupted, is_partial, .. } = self;
        [inconclusive, failed, unusable, interrupted].into_iter().any(|many| *many > 0)
            || *is_partial
    }

    fn find_word(&self) -> VerdictWord {
        if self.violations > 0 {
            VerdictWord::Violation
        } else if self.is_open() {
            // Without a single finished run there is not even that.
            match self.programs {
                0 => VerdictWord::NothingTested,
                _ => VerdictWord::Inconclusive,
            }
        } else if self.programs == 0 {
            VerdictWord::NothingTested
        } else if self.known > 0 {
            VerdictWord::Known
        } else if self.forbidding == 0 && self.undecided > 0 {
            VerdictWord::NotKnown
        } else if self.forbidding == 0 {
            VerdictWord::NothingForbidden
        } else {
            VerdictWord::Conforms
        }
    }

    fn head(&self) -> Vec<String> {
        let forbidding = match self.forbidding {
            1 => "1 program that forbids something".to_owned(),
            number => format!("{number} programs that forbid something"),
        };
        let only = |number: usize, more: &str| match number {
            1 => format!("1 {more} shows only how weak the machine is"),
            _ => format!("{number} {more} show only how weak the machine is"),
        };
        let permissive = match self.permissive {
            0 => String::new(),
            number => format!("; {}", only(number, "more")),
        };
        let undecided = match self.undecided {
            0 => String::new(),
            number => {
                let more = counted(number, "more program");
                format!("; it is not known whether {more} can show a violation")
            }
        };
        let permissive = permissive + &undecided;
        let known = (self.known > 0).then(|| format!("{} known", self.known));
        let open = (self.inconclusive > 0)
            .then(|| format!("{} inconclusive", counted(self.inconclusive, "program")));
        match self.word {
            VerdictWord::Violation => {
                let new = if self.known > 0 { "new forbidden" } else { "forbidden" };
                let outcomes = counted(self.violations, &format!("{new} outcome"));
                let shows = if self.violating == 1 { "shows" } else { "show" };
                let head =
                    format!("VIOLATION · {} of {forbidding} {shows} {outcomes}", self.violating);
                [Some(head), known, open].into_iter().flatten().collect()
            }
            VerdictWord::Known => {
                let head = "no new violation".to_owned();
                [Some(head), known, Some(forbidding + &permissive)].into_iter().flatten().collect()
            }
            VerdictWord::Inconclusive => {
                let head = if self.known > 0 { "no new violation" } else { "no violation" };
                let all = [Some(head.to_owned()), known, open, Some(forbidding + &permissive)];
                all.into_iter().flatten().collect()
            }
            VerdictWord::NotKnown => {
                let programs = counted(self.undecided, "program");
                vec![
                    "no violation".to_owned(),
                    format!(
                        "it is not known whether {programs} could have shown one: a limit was reached"
                    ),
                ]
            }
            VerdictWord::NothingForbidden => {
                let programs = match self.programs {
                    1 => "program",
                    _ => "programs",
                };
                let bounds = if self.programs == 1 { "bounds" } else { "bound" };
                vec![
                    "nothing could have been a violation".to_owned(),
                    format!("{}, and {bounds} nothing", only(self.programs, programs)),
                ]
            }
            VerdictWord::NothingTested => vec!["nothing was tested".to_owned()],
            VerdictWord::Conforms => {
                vec!["conforms".to_owned(), format!("{forbidding}: 0 violations{permissive}")]
            }
        }
    }
}

/// How much a verdict means: first what was able to show, then what follows for what was not seen.
pub fn confidence(verdict: &Verdict, tested: &Tested, findings: &[&Finding]) -> String {
    let mut parts = Vec::new();
    match verdict.word {
        VerdictWord::Violation
            if findings.iter().all(|finding| finding.nature == Nature::Impossible) =>
        {
            parts.push(
                "no memory model explains what was seen, so look for a fault of the harness first"
                    .to_owned(),
            );
        }
        VerdictWord::Violation => {
            parts.push("certain as far as the model is right: one forbidden outcome is enough, and each comes with why".to_owned());
            return parts.join("; ");
        }
        VerdictWord::NothingTested => return "none".to_owned(),
        VerdictWord::NotKnown => {
            parts.push("not known: a limit (of loops, time or memory) was reached before it was decided what is forbidden; with higher limits, judge again".to_owned());
        }
        VerdictWord::NothingForbidden => {
            parts.push("none in conformance: no outcome of these programs is forbidden".to_owned());
        }
        _ => {}
    }
    parts.extend(sensitivity(tested));
    parts.extend(tested.bounds.as_ref().map(bounds));
    if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
}

/// What the machine was brought to show: the honest figures of how hard it was tried.
fn sensitivity(tested: &Tested) -> Option<String> {
    let Tested { weak, weak_seen, twins, twins_seen, .. } = tested;
    let weak = (*weak > 0).then(|| match weak {
        1 => format!("{weak_seen} of 1 test that allows weakness showed some"),
        _ => format!("{weak_seen} of {weak} tests that allow weakness showed some"),
    });
    let twins = (*twins > 0).then(|| {
        format!("the allowed twin showed in {twins_seen} of {twins} tests that forbid something and have one")
    });
    let all: Vec<String> = [weak, twins].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn bounds(bounds: &Bounds) -> String {
    let Bounds { tests, median, worst, joint, pooled, .. } = bounds;
    let name = bounds.worst_name();
    match tests {
        _ if *median >= 1.0 => format!(
            "too few runs to bound anything: a forbidden outcome that half of all runs show could have been missed; the test with the fewest, {name}, has {}",
            bounds.worst_runs
        ),
        1 => format!(
            "a forbidden outcome that was missed has a rate below {} in {name} (95 %)",
            percent(*worst)
        ),
        _ => {
            let (median, worst) = (percent(*median), percent(*worst));
            let worst = if median == worst { String::new() } else { format!("{worst} in ") };
            let (joint, pooled) = (percent(*joint), percent(*pooled));
            format!(
                "a forbidden outcome that was missed has a rate below {median} in the median test and {worst}the worst, {name} (95 %, each by itself), below {joint} in all {tests} tests at once, and below {pooled} of all their runs together"
            )
        }
    }
}

/// The verdict on several records, by their keys: the heaviest, which counts each program once.
pub fn overall(all: Verdict, runs: &[RunReport]) -> Verdict {
    let subjects: Vec<&RunReport> = runs.iter().filter(|run| !run.is_baseline).collect();
    if let [only] = &subjects[..] {
        return only.verdict.clone();
    }
    let mut verdict = all;
    let mut parts = Vec::new();
    for (word, says) in WORDS {
        let keys: Vec<String> = subjects
            .iter()
            .filter(|run| run.verdict.word == word)
            .map(|run| match &run.verdict.part {
                Some(part) => format!("{} ({part})", run.key),
                None => run.key.clone(),
            })
            .collect();
        if keys.is_empty() {
            continue;
        }
        if parts.is_empty() {
            verdict.word = word;
        }
        let numbers = match word {
            VerdictWord::Violation => format!(
                ": {} {} {}",
                counted(verdict.violating, "program"),
                if verdict.violating == 1 { "shows" } else { "show" },
                counted(verdict.violations, "forbidden outcome")
            ),
            _ => String::new(),
        };
        parts.push(format!("{says} {}{numbers}", keys.join(", ")));
    }
    verdict.line =
        if parts.is_empty() { "nothing was tested".to_owned() } else { parts.join(" · ") };
    verdict.confidence = "each record has its own, in the comparison".to_owned();
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let line = |verdict: Verdict| {
            let verdict = verdict.described();
            format!("{:?}: {}", verdict.word, verdict.line)
        };
        let base =
            Verdict { programs: 408, forbidding: 212, permissive: 196, ..Verdict::default() };
        for (verdict, expected) in [
            (
                base.clone(),
                "Conforms: conforms · 212 programs that forbid something: 0 violations; 196 more show only how weak the machine is",
            ),
            (
                Verdict { violations: 2, violating: 1, known: 1, skipped: 3, ..base.clone() },
                "Violation: VIOLATION · 1 of 212 programs that forbid something shows 2 new forbidden outcomes · 1 known · 3 programs skipped",
            ),
            (
                Verdict { part: Some("part 1 of 3".to_owned()), permissive: 0, ..base.clone() },
                "Conforms: conforms in part 1 of 3 · 212 programs that forbid something: 0 violations",
            ),
            (
                Verdict { known: 1, ..base.clone() },
                "Known: no new violation · 1 known · 212 programs that forbid something; 196 more show only how weak the machine is",
            ),
            (
                Verdict { inconclusive: 1, permissive: 0, ..base },
                "Inconclusive: no violation · 1 program inconclusive · 212 programs that forbid something",
            ),
            (
                Verdict { programs: 1, permissive: 1, ..Verdict::default() },
                "NothingForbidden: nothing could have been a violation · 1 program shows only how weak the machine is, and bounds nothing",
            ),
            (Verdict::default(), "NothingTested: nothing was tested"),
        ] {
            assert_eq!(line(verdict), expected);
        }
    }
}
