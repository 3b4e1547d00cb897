//! Repairs: the smallest changes of a program that make its verdicts hold, and what may go while they do.
//!
//! `edits` lists the possible changes and makes them in the syntax tree. `ask` says of a changed program
//! whether it is as wanted. `search` finds all minimal sets of changes.

mod alike;
mod ask;
mod edits;
mod kind;
mod search;
mod together;

use std::collections::{BTreeMap, BTreeSet};

use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::Diagnostic;
use lang::library::Words;
use lang::litmus::ast::{File, Statement, StatementKind};
use lang::litmus::print;
use lang::outcome::Expectation;
use lang::source::{Source, Span};

use compiler::library::Libraries;
use serde_json::Value as Json;

use crate::allowed::Options;
use crate::verdict;

pub use kind::{Kind, REWRITES};

/// What is to be repaired.
pub struct Repair<'a> {
    /// The file's syntax.
    pub file: &'a File,
    /// The file's text.
    pub source: &'a Source,
    /// The libraries that the program may call.
    pub libraries: &'a Libraries,
    /// The models, and whether each is the user's own: a repair holds under all of them.
    pub models: Vec<(&'a Model, bool)>,
    /// The outcomes that must not be, in the language of verdicts. `None`: those that the file forbids.
    pub forbid: Option<&'a str>,
    /// The kinds of changes that may be made.
    pub kinds: Vec<Kind>,
    /// The most changes in one repair.
    pub size: usize,
    /// How to ask.
    pub options: Options,
}

/// One repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The changes, in words.
    pub changes: Vec<String>,
    /// The kinds of the changes.
    pub kinds: Vec<Kind>,
    /// Where in the file they are: statements that change, and gaps, which are empty.
    pub places: Vec<Span>,
    /// The numbers of the changes among all candidates.
    set: BTreeSet<usize>,
    /// The repaired program, in normal form.
    pub text: String,
    /// Why it forbids the first outcome that was wrong.
    pub why: String,
    /// The same as JSON, as `litmus explain` has it; null if it is not known.
    pub explanation: Json,
    /// Other repairs that come to the same program but for names.
    pub alike: Vec<Alike>,
}

/// A repair of which a listed one differs only in names: it does the same in other threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The changes, in words.
    pub changes: Vec<String>,
    /// The repaired program, in normal form.
    pub text: String,
}

/// What the search came to.
#[derive(Clone, Debug, Default)]
pub struct Repairs {
    /// All minimal repairs up to the size, of several that differ only in names one.
    pub repairs: Vec<Repaired>,
    /// Nothing is wrong: no outcome that is to be forbidden is allowed.
    pub is_right: bool,
    /// Claims that something is allowed that the model forbids: no synchronization helps.
    pub hopeless: Vec<String>,
    /// What was not decided, and why. If it is empty, there are no other repairs within the size.
    pub open: Vec<String>,
    /// How many changed programs were asked about.
    pub asked: usize,
    /// How many changes were possible.
    pub candidates: usize,
    /// The fewest changes of a repair with more of them than the size, if the search came upon one.
    pub larger: Option<usize>,
}

/// Changes that are not a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The changes, in words.
    pub changes: Vec<String>,
    /// The outcome that is still allowed, and by which model. If there is none, an
    /// outcome that is to stay is lost, or the program may no longer end.
    pub allows: Option<(String, String)>,
}

/// What may go of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weakened {
    /// All verdicts hold of the program as it is. If not, nothing else was asked.
    pub is_right: bool,
    /// Some outcome is to be forbidden. If none is, everything may go.
    pub forbids: bool,
    /// The largest sets of statements that may go together.
    pub sets: Vec<Removable>,
    /// The smallest sets of statements that may not, and why.
    pub needed: Vec<Needed>,
    /// What was not decided, and why. If it is empty, there are no larger sets.
    pub open: Vec<String>,
    /// How many statements could go.
    pub candidates: usize,
    /// How many more could, were they not marked `keep`.
    pub kept: usize,
    /// How many changed programs were asked about.
    pub asked: usize,
}

/// Statements that may go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removable {
    /// The statements and their lines.
    pub removed: Vec<String>,
    /// Their kinds.
    pub kinds: Vec<Kind>,
    /// Where they are in the file.
    pub places: Vec<Span>,
    /// The program without them, in normal form.
    pub text: String,
}

/// Statements of which one must stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The statements and their lines.
    pub statements: Vec<String>,
    /// The verdict that does not hold without them.
    pub outcome: String,
    /// The model that allows it then.
    pub model: String,
}

impl Repairs {
    /// The texts of all repaired programs, also of those that differ only in names.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let alike = self.repairs.iter().flat_map(|repair| &repair.alike);
        let first = self.repairs.iter().map(|repair| &repair.text);
        first.chain(alike.map(|alike| &alike.text)).map(String::as_str)
    }
}

impl Repair<'_> {
    /// All minimal repairs.
    ///
    /// # Errors
    /// What is wrong with the program or the condition.
    pub fn find(&self) -> Result<Repairs, Vec<Diagnostic>> {
        let test = self.test(self.file)?;
        let mut asking = ask::Asking::new(self, &test)?;
        let hopeless = asking.hopeless.clone();
        if let Some(is_right) = asking.is_right_already() {
            let mut open = asking.open.clone();
            open.extend(self.of_other_models(&test));
            let is_right = is_right && open.is_empty();
            return Ok(Repairs { is_right, hopeless, open, ..Repairs::default() });
        }
        let candidates = edits::candidates(self, &test);
        let count = candidates.iter().filter(|one| !one.is_sized()).count();
        let (mut found, larger) = search::minimal(&candidates, self.size, &mut asking);
        found.sort();
        let mut repairs: Vec<Repaired> = Vec::new();
        let mut known = BTreeSet::new();
        let mut codes: BTreeMap<(Vec<Kind>, String), usize> = BTreeMap::new();
        for set in found {
            let edits: Vec<&edits::Edit> = set.iter().map(|index| &candidates[*index]).collect();
            let Some(file) = edits::apply(self.file, &edits) else { continue };
            let text = print(&file);
            if !known.insert(text.clone()) {
                continue;
            }
            let settled = edits::settled(&edits);
            let changes = settled.iter().map(|edit| edit.words()).collect();
            let kinds: Vec<Kind> = edits.iter().map(|edit| edit.kind()).collect();
            if let Some(code) = self.code(&file) {
                let mut sorted = kinds.clone();
                sorted.sort();
                let first = *codes.entry((sorted, code)).or_insert(repairs.len());
                if let Some(same) = repairs.get_mut(first) {
                    same.alike.push(Alike { changes, text });
                    continue;
                }
            }
            let places = edits.iter().map(|edit| edit.at()).collect();
            let (why, explanation) = asking.why(&text);
            let alike = Vec::new();
            repairs.push(Repaired { changes, kinds, places, set, text, why, explanation, alike });
        }
        repairs.sort_by(|one, other| one.text.cmp(&other.text));
        let (open, asked) = (asking.open, asking.count);
        let (is_right, candidates) = (false, count);
        Ok(Repairs { repairs, is_right, hopeless, open, asked, candidates, larger })
    }

    /// What is near the repairs and is none: each change alone, and each repair without one of its changes.
    ///
    /// # Errors
    /// What is wrong with the program or the condition.
    pub fn neighbors(&self, found: &Repairs) -> Result<Vec<Rejected>, Vec<Diagnostic>> {
        let test = self.test(self.file)?;
        let mut asking = ask::Asking::new(self, &test)?;
        if asking.is_right_already().is_some() {
            return Ok(Vec::new());
        }
        let candidates = edits::candidates(self, &test);
        let mut near: BTreeSet<BTreeSet<usize>> =
            (0..candidates.len()).map(|one| BTreeSet::from([one])).collect();
        // Of a flush, only the size of a repair is listed as near it.
        near.retain(|set| set.iter().all(|one| !candidates[*one].is_sized()));
        for repair in &found.repairs {
            let without = |one: &usize| repair.set.iter().copied().filter(|of| of != one).collect();
            near.extend(repair.set.iter().map(without));
        }
        near.remove(&BTreeSet::new());
        let mut rejected = Vec::new();
        for set in near {
            let edits: Vec<&edits::Edit> = set.iter().map(|index| &candidates[*index]).collect();
            let Some(file) = edits::apply(self.file, &edits) else { continue };
            let text = print(&file);
            if found.texts().any(|repair| repair == text) {
                continue;
            }
            let allows = match asking.forbids(&candidates, &set) {
                // It is more than a repair has.
                ask::Helps::Yes if asking.keeps_the_rest(&candidates, &set) => continue,
                ask::Helps::Yes => None,
                ask::Helps::No => match asking.broken_by(&candidates, &set) {
                    Some(allows) => Some(allows),
                    None => continue,
                },
                // A limit was reached: nothing more is decided.
                ask::Helps::Open => break,
            };
            let settled = edits::settled(&edits);
            let changes = settled.iter().map(|edit| edit.words()).collect();
            rejected.push(Rejected { changes, allows });
        }
        Ok(rejected)
    }

    /// What may go while all verdicts hold.
    ///
    /// # Errors
    /// What is wrong with the program or the condition.
    pub fn weaken(&self) -> Result<Weakened, Vec<Diagnostic>> {
        let test = self.test(self.file)?;
        let mut asking = ask::Asking::new(self, &test)?;
        let candidates = edits::removals(self, &test);
        let mut answer = Weakened {
            is_right: asking.is_right_already() == Some(true),
            forbids: asking.forbids_something(),
            open: asking.open.clone(),
            candidates: candidates.len(),
            kept: edits::kept(self),
            ..Weakened::default()
        };
        if !answer.is_right || !answer.forbids {
            return Ok(answer);
        }
        let (sets, harmful) = search::maximal(&candidates, &mut asking);
        let words = |set: &BTreeSet<usize>| -> Vec<String> {
            set.iter().map(|index| candidates[*index].words()).collect()
        };
        for set in sets.iter().filter(|set| !set.is_empty()) {
            let edits: Vec<&edits::Edit> = set.iter().map(|index| &candidates[*index]).collect();
            let edits = edits::told_once(&edits);
            let Some(file) = edits::apply(self.file, &edits) else { continue };
            let kinds = edits.iter().map(|edit| edit.kind()).collect();
            let places = edits.iter().map(|edit| edit.at()).collect();
            let removed = edits.iter().map(|edit| edit.words()).collect();
            answer.sets.push(Removable { removed, kinds, places, text: print(&file) });
        }
        // Where the wait alone is needed, so is what it is for.
        let by_wait = |set: &BTreeSet<usize>| -> BTreeSet<usize> {
            set.iter().map(|one| edits::wait_of(&candidates, *one).unwrap_or(*one)).collect()
        };
        let is_said = |set: &&BTreeSet<usize>| {
            let less = by_wait(set);
            less != **set && harmful.iter().any(|other| other.is_subset(&less))
        };
        for set in harmful.iter().filter(|set| !is_said(set)) {
            if let Some((outcome, model)) = asking.broken_by(&candidates, set) {
                answer.needed.push(Needed { statements: words(set), outcome, model });
            }
        }
        (answer.open, answer.asked) = (asking.open, asking.count);
        Ok(answer)
    }

    /// Whether a comment `keep` stands in a line of a statement; of one with a body, in its first line.
    fn is_kept(&self, statement: &Statement) -> bool {
        let place = statement.place;
        let last = match statement.kind {
            StatementKind::If { .. } | StatementKind::While(..) | StatementKind::Loop(_) => {
                place.line
            }
            // Lines of places count from 0.
            _ => self.source.line_column(place.span.end).0 - 1,
        };
        let is_keep = |text: &str| {
            let text = text.trim_matches(['/', '*', '#', '(', ')', ' ']);
            let word = text.split_once(':').map_or(text, |(word, _)| word);
            word.trim_end().eq_ignore_ascii_case("keep")
        };
        let mut comments = self.file.comments.iter();
        comments.any(|comment| {
            (place.line..=last).contains(&comment.place.line) && is_keep(&comment.text)
        })
    }

    /// What to say where the file's verdicts are about other models, so that none was looked at.
    fn of_other_models(&self, test: &Test) -> Option<String> {
        let claims = || test.expectations.iter().filter(|claim| !claim.is_question);
        let is_here = |claim: &Expectation| {
            let mut models = self.models.iter();
            models.any(|(model, is_own)| verdict::applies(test, claim, &model.name, *is_own))
        };
        let is_other = self.forbid.is_none() && claims().next().is_some() && !claims().any(is_here);
        is_other.then(|| {
            "the file's verdicts are about other models; name one of theirs with --model, or say what to \
             forbid with --forbid"
                .to_owned()
        })
    }

    /// The same for programs that differ only in names. `None` if they are not compared.
    fn code(&self, file: &File) -> Option<String> {
        let mut test = self.test(file).ok()?;
        let forbid = match self.forbid {
            None => None,
            Some(text) => {
                Some(lang::litmus::ask(&Source::new("--forbid", text), &mut test).ok()?.condition)
            }
        };
        alike::code(&test, forbid.as_ref())
    }

    /// All words of the program, each as often as it is there.
    fn named(&self) -> Vec<String> {
        let text = print(self.file);
        let words = text.split(|letter: char| !letter.is_alphanumeric() && !"_'".contains(letter));
        words.map(str::to_owned).collect()
    }

    fn words(&self) -> Words<'_> {
        self.libraries.words()
    }

    fn test(&self, file: &File) -> Result<Test, Vec<Diagnostic>> {
        let (test, diagnostics) = lang::litmus::check(file, self.source, self.words());
        test.ok_or(diagnostics)
    }
}

/// What changes cost.
#[derive(Clone, Debug)]
pub struct Costs(BTreeMap<Kind, u64>);

/// The costs that hold if the user gives no others.
const COSTS: &str = include_str!("../repair/costs.txt");

impl Default for Costs {
    /// The shipped table; a test checks that it can be read.
    fn default() -> Self {
        Self::read("").unwrap_or_else(|_| Self(BTreeMap::new()))
    }
}

impl Costs {
    /// Reads a table: a line has a word and a number; what follows `#` is a comment. Kinds that it does not
    /// name cost what the shipped table says.
    ///
    /// # Errors
    /// The number of the first wrong line, from 1, and what is wrong with it.
    pub fn read(text: &str) -> Result<Self, (usize, String)> {
        let mut costs = BTreeMap::new();
        for (number, line) in COSTS.lines().map(|line| (0, line)).chain((1..).zip(text.lines())) {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(word) = words.next() else { continue };
            let kind = Kind::of(word).ok_or_else(|| (number, Kind::unknown(word)))?;
            let cost = words.next().unwrap_or_default();
            let wrong = || (number, format!("expected a number after `{word}`, found `{cost}`"));
            let cost: u32 = cost.parse().map_err(|_| wrong())?;
            costs.insert(kind, cost.into());
            if let Some(more) = words.next() {
                return Err((number, format!("expected the end of the line, found `{more}`")));
            }
        }
        Ok(Self(costs))
    }

    /// What changes of these kinds cost.
    pub fn of(&self, kinds: &[Kind]) -> u64 {
        kinds.iter().map(|kind| self.0.get(kind).copied().unwrap_or_default()).sum()
    }
}

#[cfg(test)]
mod tests;
