//! What is asked about a changed program.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::litmus::print;
use lang::outcome::{Asked, Claim, Condition, Outcome};
use lang::source::Source;
use serde_json::Value as Json;

use crate::allowed::Question;
use crate::explain::{Search, explain, search};
use crate::machine::{self, CompileError, Ending, Variant};
use crate::verdict;

use super::Repair;
use super::edits::{Edit, apply};

/// Whether changes forbid what is to be forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helps {
    Yes,
    No,
    /// A limit or a bound was hit.
    Open,
}

/// The most states that are explored to know whether a program ends, and what it shows.
const STATES: u64 = 20_000;

/// Questions about changes of one program.
pub struct Asking<'a> {
    repair: &'a Repair<'a>,
    /// By model: which outcomes must not be, and which must stay, by their index in [`Asking::claims`].
    wanted: Vec<Wanted>,
    /// The model and the claim of the first outcome that is to be forbidden and is not.
    wrong: Option<(usize, usize)>,
    known: HashMap<BTreeSet<usize>, Helps>,
    /// The same by the text of the changed program: of several polls in one gap, each is a change.
    texts: HashMap<String, Helps>,
    /// Whether the program always ends, by model.
    ends: Vec<Ending>,
    /// Claims that something is allowed that a model forbids.
    pub hopeless: Vec<String>,
    /// What was not decided.
    pub open: Vec<String>,
    /// How many programs were asked about.
    pub count: usize,
}

#[derive(Default)]
struct Wanted {
    never: Vec<usize>,
    always: Vec<usize>,
    is_wrong: bool,
    can_end: bool,
}

/// Conditions, and whether their outcomes are to be allowed.
type Claims = Vec<(Asked, bool)>;

impl<'a> Asking<'a> {
    pub fn new(repair: &'a Repair<'a>, test: &Test) -> Result<Self, Vec<Diagnostic>> {
        let mut asking = Self {
            repair,
            wanted: Vec::new(),
            wrong: None,
            known: HashMap::new(),
            texts: HashMap::new(),
            ends: Vec::new(),
            hopeless: Vec::new(),
            open: Vec::new(),
            count: 0,
        };
        for index in 0..repair.models.len() {
            let wanted = asking.wanted(test, index)?;
            asking.wanted.push(wanted);
            asking.ends.push(asking.ending(test, index));
        }
        Ok(asking)
    }

    /// What holds of the program as it is, and must go on to hold.
    fn wanted(&mut self, test: &Test, index: usize) -> Result<Wanted, Vec<Diagnostic>> {
        let (test, claims) = self.claims(test, index)?;
        let mut wanted = Wanted { can_end: true, ..Wanted::default() };
        for (at, (asked, is_allowed)) in claims.iter().enumerate() {
            let shown = self.shows(&test, index, &asked.condition);
            match (shown, is_allowed) {
                (Err(why), _) => self.open.push(why),
                (Ok(true), true) => wanted.always.push(at),
                (Ok(false), true) => {
                    // What the user forbids on the command line may be just what was claimed.
                    if self.repair.forbid.is_none() {
                        self.hopeless.push(asked.text.clone());
                    }
                }
                (Ok(shown), false) => {
                    wanted.never.push(at);
                    wanted.is_wrong |= shown;
                    if shown && self.wrong.is_none() {
                        self.wrong = Some((index, at));
                    }
                }
            }
        }
        match self.shows(&test, index, &Condition::And(Vec::new())) {
            Ok(can_end) => wanted.can_end = can_end,
            Err(why) => self.open.push(why),
        }
        if !wanted.can_end && self.forbids_some(&test, index) {
            let model = &self.repair.models[index].0.name;
            self.open.push(format!(
                "under {model} no execution ends, so what is forbidden is forbidden of nothing"
            ));
        }
        Ok(wanted)
    }

    /// Whether a verdict is about some outcomes: `exactly {}` says that no execution ends.
    fn forbids_some(&self, test: &Test, index: usize) -> bool {
        let (model, is_own) = self.repair.models[index];
        let mut claims = test.expectations.iter();
        self.repair.forbid.is_some()
            || claims.any(|one| {
                matches!(one.claim, Claim::Forbidden(_) | Claim::Always(_))
                    && verdict::applies(test, one, &model.name, is_own)
            })
    }

    /// Whether the program is right as it is. `None`: something is to be done.
    pub fn is_right_already(&self) -> Option<bool> {
        if self.wanted.iter().any(|wanted| wanted.is_wrong) {
            return None;
        }
        Some(self.open.is_empty() && self.hopeless.is_empty())
    }

    /// The test with all that is claimed or asked of it under a model.
    fn claims(&self, test: &Test, index: usize) -> Result<(Test, Claims), Vec<Diagnostic>> {
        let (model, is_own) = self.repair.models[index];
        let mut test = test.clone();
        let applies = |claim: &&_| verdict::applies(&test, claim, &model.name, is_own);
        let claims = test.expectations.iter().filter(applies).filter(|claim| !claim.is_question);
        let claims = claims.flat_map(|claim| verdict::asked(claim, &test.observables));
        let mut claims: Claims = claims.collect();
        if let Some(text) = self.repair.forbid {
            let forbidden = lang::litmus::ask(&Source::new("--forbid", text), &mut test)?;
            let without = Condition::Not(Box::new(forbidden.condition.clone()));
            for (asked, _) in claims.iter_mut().filter(|(_, is_allowed)| *is_allowed) {
                asked.condition = Condition::And(vec![asked.condition.clone(), without.clone()]);
            }
            claims.insert(0, (forbidden, false));
        }
        Ok((test, claims))
    }

    /// Whether an outcome that meets a condition is allowed; else why that is not known.
    fn shows(&self, test: &Test, index: usize, condition: &Condition) -> Result<bool, String> {
        let Repair { libraries, options, .. } = self.repair;
        let question = Question::of(test, self.repair.models[index].0).libraries(libraries);
        let question = question.options(options).question().map_err(|why| why.message())?;
        match search(&question, options, condition).map_err(|why| why.message())? {
            Search::Found(_) => Ok(true),
            Search::Nothing(_) => Ok(false),
            Search::Unknown(why) => Err(why),
        }
    }

    /// Why a repaired text forbids what was wrong; empty if that is not known.
    pub fn why(&self, text: &str) -> (String, Json) {
        let Repair { libraries, options, models, .. } = self.repair;
        let source = Source::new(self.repair.source.name.as_str(), text);
        let explained = || {
            let (index, at) = self.wrong?;
            let test = lang::litmus::load_with(&source, libraries.words()).0?;
            let (test, claims) = self.claims(&test, index).ok()?;
            let question = Question::of(&test, models[index].0).libraries(libraries);
            let question = question.options(options).question().ok()?;
            let explanation = explain(&question, options, &claims.get(at)?.0).ok()?;
            Some((explanation.text(&source), explanation.json(&source)))
        };
        explained().unwrap_or_default()
    }

    /// The first claim that does not hold after changes, with its model.
    pub fn broken_by(&self, edits: &[Edit], set: &BTreeSet<usize>) -> Option<(String, String)> {
        let test = self.changed(edits, set)?;
        (0..self.wanted.len()).find_map(|index| {
            let (test, claims) = self.claims(&test, index).ok()?;
            let mut never = self.wanted[index].never.iter().map(|at| &claims[*at].0);
            let shown = |asked: &&Asked| self.shows(&test, index, &asked.condition) == Ok(true);
            let model = self.repair.models[index].0.name.clone();
            never.find(shown).map(|asked| (asked.text.clone(), model))
        })
    }

    /// Whether anything is to be forbidden.
    pub fn forbids_something(&self) -> bool {
        self.wanted.iter().any(|wanted| !wanted.never.is_empty())
    }

    /// What is repaired.
    pub fn repair(&self) -> &'a Repair<'a> {
        self.repair
    }

    /// Remembers, once, what was not decided.
    pub fn leave_open(&mut self, why: String) {
        if !self.open.contains(&why) {
            self.open.push(why);
        }
    }

    fn changed(&self, edits: &[Edit], set: &BTreeSet<usize>) -> Option<Test> {
        let edits: Vec<&Edit> = set.iter().map(|index| &edits[*index]).collect();
        let file = apply(self.repair.file, &edits)?;
        self.repair.test(&file).ok()
    }

    /// The test with all that is asked of it under a model, and which outcomes must not be.
    pub fn never(&self, test: &Test, index: usize) -> Option<(Test, Vec<Condition>)> {
        let (test, claims) = self.claims(test, index).ok()?;
        let never = self.wanted[index].never.iter();
        Some((test, never.map(|at| claims[*at].0.condition.clone()).collect()))
    }

    /// Whether a set of changes forbids all that is to be forbidden, under all models.
    pub fn forbids(&mut self, edits: &[Edit], set: &BTreeSet<usize>) -> Helps {
        if let Some(known) = self.known.get(set) {
            return *known;
        }
        let chosen: Vec<&Edit> = set.iter().map(|index| &edits[*index]).collect();
        let helps = apply(self.repair.file, &chosen).map_or(Helps::No, |file| {
            let text = print(&file);
            if let Some(known) = self.texts.get(&text) {
                return *known;
            }
            let helps = self.repair.test(&file).map_or(Helps::No, |test| self.forbids_in(&test));
            self.texts.insert(text, helps);
            helps
        });
        self.known.insert(set.clone(), helps);
        helps
    }

    /// Whether a program is a repair: changes that are not among the candidates.
    pub fn is_repair(&mut self, edits: &[&Edit]) -> bool {
        let Some(file) = apply(self.repair.file, edits) else { return false };
        let Ok(test) = self.repair.test(&file) else { return false };
        self.forbids_in(&test) == Helps::Yes
            && (0..self.wanted.len()).all(|index| self.keeps(&test, index))
    }

    fn forbids_in(&mut self, test: &Test) -> Helps {
        self.count += 1;
        let mut helps = Helps::Yes;
        for index in 0..self.wanted.len() {
            let Ok((test, claims)) = self.claims(test, index) else { return Helps::No };
            for at in &self.wanted[index].never {
                match self.shows(&test, index, &claims[*at].0.condition) {
                    Ok(true) => return Helps::No,
                    Ok(false) => {}
                    Err(why) => {
                        helps = Helps::Open;
                        if !self.open.contains(&why) {
                            self.open.push(why);
                        }
                    }
                }
            }
        }
        helps
    }

    /// Whether all that is to stay is still there after changes: what is claimed to be allowed, and an end.
    pub fn keeps_the_rest(&mut self, edits: &[Edit], set: &BTreeSet<usize>) -> bool {
        let Some(test) = self.changed(edits, set) else { return false };
        (0..self.wanted.len()).all(|index| self.keeps(&test, index))
    }

    fn keeps(&mut self, test: &Test, index: usize) -> bool {
        let Ok((with_claims, claims)) = self.claims(test, index) else { return false };
        let mut all: Vec<Condition> = Vec::new();
        if self.wanted[index].can_end {
            all.push(Condition::And(Vec::new()));
        }
        all.extend(self.wanted[index].always.iter().map(|at| claims[*at].0.condition.clone()));
        for condition in &all {
            match self.shows(&with_claims, index, condition) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(why) => {
                    self.leave_open(why);
                    return false;
                }
            }
        }
        let (ending, outcomes) = self.explored(&with_claims, index);
        if let Some(outcomes) = outcomes {
            let shows = |condition: &Condition| outcomes.iter().any(|one| condition.holds(one));
            let mut never = self.wanted[index].never.iter();
            if !all.iter().all(shows) || never.any(|at| shows(&claims[*at].0.condition)) {
                self.leave_open("the engines do not agree on a changed program".to_owned());
                return false;
            }
        }
        match (&self.ends[index], ending) {
            (_, Ending::Always) => true,
            (Ending::Always, Ending::NotAlways(_)) => false,
            // What is added stands at an empty place, so its waits are told from those that were there.
            (Ending::NotAlways(before), Ending::NotAlways(after)) => after.is_subset(before),
            (Ending::Unknown, _) | (_, Ending::Unknown) => {
                self.leave_open("whether a changed program always ends is not known".to_owned());
                false
            }
        }
    }

    fn ending(&self, test: &Test, index: usize) -> Ending {
        match machine::may_wait(&test.program) {
            true => self.explored(test, index).0,
            false => Ending::Always,
        }
    }

    /// What the other engine says, as far as a small exploration shows it: whether executions end, and all
    /// outcomes.
    fn explored(&self, test: &Test, index: usize) -> (Ending, Option<BTreeSet<Outcome>>) {
        let name = self.repair.models[index].0.machine.as_deref();
        let Some(variant) = name.and_then(Variant::from_name) else {
            // If the program always ended before, a change after which it does not is not a repair.
            let is_known = test.program.crash.is_some()
                || self.ends.get(index).is_some_and(|before| *before == Ending::Always);
            let ending = match machine::always_ends(&test.program) {
                Some(true) => Ending::Always,
                // A crash also shows what a thread does before it waits for ever.
                Some(false) if is_known => Ending::NotAlways(BTreeSet::new()),
                _ => Ending::Unknown,
            };
            return (ending, None);
        };
        let until = self.repair.options.limits.clone();
        let limits =
            machine::Limits { states: STATES, until: until.clone(), ..machine::Limits::default() };
        // A crash ends every execution; what is asked is whether they would end without it.
        let mut calm = Cow::Borrowed(test);
        if test.program.crash.is_some() {
            calm.to_mut().program.crash = None;
        }
        let found = until.within(|| {
            let (mut found, ending) = machine::explore_to_ends(&calm, variant, limits.clone())?;
            if test.program.crash.is_some() {
                found = machine::explore(test, variant, limits)?;
            }
            Ok::<_, CompileError>((found, ending))
        });
        match found.ok().and_then(Result::ok) {
            Some((found, ending)) => (ending, found.complete.then_some(found.outcomes)),
            None if machine::may_wait(&test.program) => (Ending::Unknown, None),
            None => (Ending::Always, None),
        }
    }
}
