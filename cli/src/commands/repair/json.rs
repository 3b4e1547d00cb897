//! Repairs as JSON, for editors: `litmus-repair/1`.

use lang::source::{Source, Span};
use model::repair::{Costs, Kind, Needed, Rejected, Removable, Repaired, Repairs, Weakened};
use serde::Serialize;
use similar::{DiffTag, TextDiff};

use super::show::{by_gain, sorted};
use super::{Found, OfModels};

/// What came of a file under some models.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfFile {
    /// The test's name.
    test: String,
    /// Its file.
    file: String,
    /// The models that were asked together.
    models: Vec<String>,
    /// Nothing was wrong with the program.
    right: bool,
    /// All was decided: there are no other repairs of this size, or no larger sets that may go.
    complete: bool,
    /// What was not decided, and why.
    undecided: Vec<String>,
    /// How many changes were possible.
    candidates: usize,
    /// How many changed programs were asked about.
    asked: usize,
    #[serde(flatten)]
    found: What,
}

/// What was looked for.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum What {
    /// Repairs.
    Repairs {
        /// The most changes of one repair.
        size: usize,
        /// Claims that something is allowed that a model forbids: no synchronization helps.
        not_allowed: Vec<String>,
        /// The fewest changes of a repair with more of them than `size`, if the search came upon one.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, schemars(default))]
        larger: Option<usize>,
        /// All minimal repairs of this size, the cheapest first.
        repairs: Vec<Repair>,
        /// What is near them and is not a repair, with `--neighbors`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(test, schemars(default))]
        neighbors: Vec<Neighbor>,
    },
    /// What may go, with `--weaken`.
    Weakened {
        /// Some outcome must not be. If none is named, nothing is needed, and nothing was asked.
        forbids_something: bool,
        /// How many statements could also go, were they not marked `keep`.
        kept: usize,
        /// The largest sets of statements that may go together, the dearest first.
        may_go: Vec<MayGo>,
        /// The smallest sets of statements of which one must stay.
        needed: Vec<MustStay>,
    },
}

/// One repair.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Repair {
    /// What it costs by the table of costs.
    cost: u64,
    /// Its changes.
    changes: Vec<Change>,
    /// What an editor does to the file: it then holds `program`.
    edits: Vec<Edit>,
    /// The repaired file, in normal form.
    program: String,
    /// What changes, as a diff of the file's normal form.
    diff: String,
    /// Why the outcome that was wrong is forbidden then, with the cycle that it would close. It is empty if
    /// that was not found out.
    why: String,
    /// The same as `litmus explain --format json` has it, with the places in `program`. It is null if that
    /// was not found out.
    explanation: serde_json::Value,
    /// Other repairs, which differ from this one only in the names of threads, nodes and locations. The
    /// program is symmetric, and they do the same in other threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    alike: Vec<Alike>,
}

/// A repair that differs from a listed one only in names.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Alike {
    /// Its changes, in words.
    changes: Vec<String>,
    /// What an editor does to the file: it then holds `program`.
    edits: Vec<Edit>,
    /// The repaired file, in normal form.
    program: String,
}

/// Changes that are not a repair: a change alone, or a repair without one of its changes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Neighbor {
    /// The changes, in words.
    changes: Vec<String>,
    /// The outcome that is still allowed. It is null if something is lost that must stay, such as an outcome
    /// that is claimed to be allowed, or the end of the program.
    still_allowed: Option<String>,
    /// The model that allows it.
    model: Option<String>,
}

/// Statements that may go together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MayGo {
    /// What they cost by the table of costs.
    saves: u64,
    /// The statements.
    removed: Vec<Change>,
    /// What an editor does to the file: it then holds `program`.
    edits: Vec<Edit>,
    /// The file without them, in normal form.
    program: String,
    /// What changes, as a diff of the file's normal form.
    diff: String,
}

/// Statements of which one must stay.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MustStay {
    /// The statements, in words.
    one_of: Vec<String>,
    /// The outcome that is allowed without them.
    else_allowed: String,
    /// The model that allows it.
    model: String,
}

/// A change of the program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Change {
    /// The word of `--only`.
    kind: &'static str,
    /// The change in words.
    words: String,
    /// The statement that changes or goes; for what is added, the empty place where it belongs.
    #[serde(flatten)]
    place: Place,
}

/// Lines and columns of the file as it is, counted from 1; columns count characters.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Place {
    line: usize,
    column: usize,
    end_line: usize,
    /// One past the last character.
    end_column: usize,
}

/// Text to be replaced. The places of all edits are in the file as it is, and do not overlap.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Edit {
    #[serde(flatten)]
    place: Place,
    /// What is there instead.
    text: String,
}

impl OfModels {
    pub(super) fn json(&self, costs: &Costs) -> OfFile {
        let (test, file, models) = (self.test.clone(), self.file.clone(), self.models.clone());
        match &self.found {
            Found::Repairs { answer, size, neighbors, .. } => {
                let Repairs { is_right, hopeless, open, asked, candidates, .. } = answer;
                let repairs = sorted(answer, costs).into_iter();
                let repairs = repairs.map(|(cost, one)| self.repair(cost, one)).collect();
                let (right, complete) = (*is_right, open.is_empty());
                let (undecided, candidates, asked) = (open.clone(), *candidates, *asked);
                let (not_allowed, larger) = (hopeless.clone(), answer.larger);
                let neighbors = neighbors.iter().map(neighbor).collect();
                let found = What::Repairs { size: *size, not_allowed, larger, repairs, neighbors };
                OfFile { test, file, models, right, complete, undecided, candidates, asked, found }
            }
            Found::Weakened(weakened) => {
                let Weakened { is_right, forbids, needed, open, candidates, asked, .. } = weakened;
                let sets = by_gain(weakened, costs).into_iter();
                let may_go = sets.map(|(saves, set)| self.may_go(saves, set)).collect();
                let needed = needed.iter().map(must_stay).collect();
                let (right, complete) = (*is_right, open.is_empty());
                let (undecided, candidates, asked) = (open.clone(), *candidates, *asked);
                let found = What::Weakened {
                    forbids_something: *forbids,
                    kept: weakened.kept,
                    may_go,
                    needed,
                };
                OfFile { test, file, models, right, complete, undecided, candidates, asked, found }
            }
        }
    }

    fn repair(&self, cost: u64, repair: &Repaired) -> Repair {
        let Repaired { changes, kinds, places, text, why, explanation, alike, .. } = repair;
        let alike = alike.iter().map(|one| Alike {
            changes: one.changes.clone(),
            edits: edits(&self.source, &one.text),
            program: one.text.clone(),
        });
        Repair {
            cost,
            changes: self.changes(changes, kinds, places),
            edits: edits(&self.source, text),
            program: text.clone(),
            diff: self.diff(text),
            why: why.clone(),
            explanation: explanation.clone(),
            alike: alike.collect(),
        }
    }

    fn may_go(&self, saves: u64, set: &Removable) -> MayGo {
        let Removable { removed, kinds, places, text } = set;
        MayGo {
            saves,
            removed: self.changes(removed, kinds, places),
            edits: edits(&self.source, text),
            program: text.clone(),
            diff: self.diff(text),
        }
    }

    fn changes(&self, words: &[String], kinds: &[Kind], places: &[Span]) -> Vec<Change> {
        let all = words.iter().zip(kinds).zip(places);
        let change = |((words, kind), span): ((&String, &Kind), &Span)| {
            let place = Place::of(&self.source, *span);
            Change { kind: kind.word(), words: words.clone(), place }
        };
        all.map(change).collect()
    }
}

fn neighbor(rejected: &Rejected) -> Neighbor {
    let (still_allowed, model) = rejected.allows.clone().unzip();
    Neighbor { changes: rejected.changes.clone(), still_allowed, model }
}

fn must_stay(needed: &Needed) -> MustStay {
    let Needed { statements, outcome, model } = needed;
    let (one_of, else_allowed, model) = (statements.clone(), outcome.clone(), model.clone());
    MustStay { one_of, else_allowed, model }
}

impl Place {
    fn of(source: &Source, span: Span) -> Self {
        let (line, column) = source.line_column(span.start);
        let (end_line, end_column) = source.line_column(span.end);
        Self { line, column, end_line, end_column }
    }
}

/// Whole lines of a text that are replaced to make another of it.
fn edits(source: &Source, to: &str) -> Vec<Edit> {
    let diff = TextDiff::from_lines(&source.text[..], to);
    let starts = |lines: &mut dyn Iterator<Item = &str>| -> Vec<usize> {
        let add = |at: &mut usize, line: &str| {
            *at += line.len();
            Some(*at)
        };
        std::iter::once(0).chain(lines.scan(0, add)).collect()
    };
    let old = starts(&mut source.text.split_inclusive('\n'));
    let new = starts(&mut to.split_inclusive('\n'));
    let at = |starts: &[usize], line: usize| starts.get(line).copied().unwrap_or_default();
    let changed = diff.ops().iter().filter(|one| one.tag() != DiffTag::Equal);
    let edit = |one: &similar::DiffOp| {
        let (from, into) = (one.old_range(), one.new_range());
        let place = Place::of(source, Span::new(at(&old, from.start), at(&old, from.end)));
        let text = to.get(at(&new, into.start)..at(&new, into.end)).unwrap_or_default();
        Edit { place, text: text.to_owned() }
    };
    changed.map(edit).collect()
}

#[cfg(test)]
mod tests;
