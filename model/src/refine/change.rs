//! Changes of an implementation: the least that make it sound, and what may go while it stays so.
//!
//! A changed implementation is a changed text, read again. What waits or fences only takes outcomes away. So
//! if a set of additions is sound, no larger one is minimal, and if a set of removals does harm, every larger
//! one does. Clients that refuted one change are the first to be asked about the next.

use std::collections::BTreeSet;

use compiler::library::Libraries;
use lang::cat::model::Model;
use lang::library::Library;
use lang::library::syntax::{Body, Expr, ParameterKind, Statement, StatementKind};
use lang::source::{Source, Span};

use super::{Answer, Client, Counterexample, Refinement};
use crate::allowed::Options;

/// The statements that only wait or keep an order; so do methods of libraries that wait for an id.
const SYNCHRONIZATION: [&str; 5] = ["Wait", "Rfence", "GFence", "Mfence", "Poll"];

/// The most statements of which all sets are looked at.
const MOST: usize = 12;

/// An implementation that is to be changed.
pub struct Changing<'a> {
    /// The libraries.
    pub libraries: &'a Libraries,
    /// The library with the specification.
    pub library: &'a Library,
    /// Where the implementation is: the same library or another.
    pub implementation: &'a Library,
    /// The model of the specification.
    pub base: &'a Model,
    /// Finds a model by its name.
    pub load: &'a dyn Fn(&str) -> Option<Model>,
    /// The clients, the smallest first.
    pub clients: &'a [Client],
    /// How to ask about a client, from now on.
    pub options: &'a dyn Fn() -> Options,
}

/// A change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    span: Span,
    text: String,
    words: String,
}

/// Changes that make an implementation sound, or that it stays sound with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The changes, in words.
    pub changes: Vec<String>,
    /// The library's text after them.
    pub text: String,
}

/// Statements of which one must stay, and the client that shows it.
#[derive(Clone, Debug)]
pub struct Needed {
    /// The statements, in words.
    pub statements: Vec<String>,
    /// What goes wrong without them.
    pub without: Box<Counterexample>,
}

/// What the search came to, within the clients.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The implementation is sound as it is.
    pub is_sound: bool,
    /// All minimal repairs, or all largest sets that may go.
    pub sets: Vec<Changed>,
    /// Of what may go: the smallest sets that may not.
    pub needed: Vec<Needed>,
    /// What was not decided, and why.
    pub open: Vec<String>,
    /// How many changes were possible.
    pub candidates: usize,
    /// How many changed implementations were asked about.
    pub asked: usize,
}

/// What came of an implementation.
enum ChangeResult {
    Sound,
    Refuted(Box<Counterexample>),
    Open(String),
    /// Its text is not a library.
    Wrong,
}

impl Changing<'_> {
    /// The smallest sets of up to `size` additions after which the implementation is sound.
    pub fn repair(&self, size: usize) -> Changes {
        let mut search = Search::new(self);
        if search.is_answered() {
            return search.changes;
        }
        let mut edits = self.additions();
        edits.retain(|edit| self.changed(&[edit]).is_some());
        search.changes.candidates = edits.len();
        let mut sound: Vec<BTreeSet<usize>> = Vec::new();
        for set in sets(edits.len(), size).filter(|set| !set.is_empty()) {
            if sound.iter().any(|known| known.is_subset(&set)) {
                continue;
            }
            let chosen: Vec<&Edit> = set.iter().map(|one| &edits[*one]).collect();
            if matches!(search.ask(&chosen), ChangeResult::Sound) {
                search.take(&chosen);
                sound.push(set);
            }
        }
        search.changes
    }

    /// The largest sets of statements that may go while the implementation stays sound.
    pub fn weaken(&self) -> Changes {
        let mut search = Search::new(self);
        if !search.changes.is_sound {
            return search.changes;
        }
        let edits = self.removals();
        search.changes.candidates = edits.len();
        if edits.len() > MOST {
            let (found, most) = (edits.len(), MOST);
            search
                .open(format!("{found} statements wait or fence; sets of up to {most} are tried"));
            return search.changes;
        }
        let (mut sound, mut harmful) = (Vec::new(), Vec::<BTreeSet<usize>>::new());
        for set in sets(edits.len(), edits.len()).filter(|set| !set.is_empty()) {
            if harmful.iter().any(|known| known.is_subset(&set)) {
                continue;
            }
            let chosen: Vec<&Edit> = set.iter().map(|one| &edits[*one]).collect();
            match search.ask(&chosen) {
                ChangeResult::Sound => sound.push(set),
                ChangeResult::Refuted(without) => {
                    let statements = chosen.iter().map(|edit| edit.words.clone()).collect();
                    search.changes.needed.push(Needed { statements, without });
                    harmful.push(set);
                }
                // The answer says so; what has more is not looked at.
                ChangeResult::Open(_) => harmful.push(set),
                ChangeResult::Wrong => {
                    search.open("without a statement, the text is not a library".to_owned());
                    harmful.push(set);
                }
            }
        }
        let largest = |set: &&BTreeSet<usize>| {
            !sound.iter().any(|other| other != *set && set.is_subset(other))
        };
        for set in sound.iter().filter(largest) {
            let chosen: Vec<&Edit> = set.iter().map(|one| &edits[*one]).collect();
            search.take(&chosen);
        }
        search.changes
    }

    /// The library with changes of its text; `None` if that is not a library.
    fn changed(&self, edits: &[&Edit]) -> Option<Library> {
        crate::library::load(&self.source(edits)).ok()
    }

    fn source(&self, edits: &[&Edit]) -> Source {
        let source = &self.implementation.source;
        let (mut text, mut edits) = (source.text.clone(), edits.to_vec());
        // From the end, so that places stay; of two at one place, the first stays the first.
        edits.reverse();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
        for edit in edits {
            if text.get(edit.span.range()).is_some() {
                text.replace_range(edit.span.range(), &edit.text);
            }
        }
        Source::new(source.name.as_str(), text)
    }

    fn bodies(&self) -> &[Body] {
        self.implementation.implementation.as_ref().map_or(&[], |all| &all.bodies)
    }

    fn place(&self, body: &Body, span: Span) -> String {
        let source = &self.implementation.source;
        let text = source.text.get(span.range()).unwrap_or_default();
        let text = text.lines().next().unwrap_or_default().trim_end();
        format!("{}: `{text}` (line {})", body.method, source.line_column(span.start).0)
    }

    /// Whether a library has a method of this name that waits.
    fn is_wait(&self, name: &str) -> bool {
        let methods = self.libraries.all.iter().flat_map(|library| &library.methods);
        methods.filter(|method| method.is_wait()).any(|method| method.name == name)
    }

    /// Statements that wait or fence, each left out.
    fn removals(&self) -> Vec<Edit> {
        let mut found = Vec::new();
        for body in self.bodies() {
            each(&body.statements, &mut |one, _| {
                let StatementKind::Call { result: None, name, .. } = &one.kind else { return };
                if SYNCHRONIZATION.contains(&name.as_str()) || self.is_wait(name) {
                    let (span, words) = (one.span, self.place(body, one.span));
                    found.push(Edit { span, text: "skip".to_owned(), words });
                }
            });
        }
        found
    }

    /// What may be added in each gap: fences, and waits for the work ids of the body.
    fn additions(&self) -> Vec<Edit> {
        let mut found = Vec::new();
        for body in self.bodies() {
            let mut added: Vec<String> = vec!["Mfence".to_owned(), "GFence(all)".to_owned()];
            let objects =
                body.parameters.iter().filter(|one| matches!(one.kind, ParameterKind::Object(_)));
            added.extend(objects.map(|object| format!("Rfence({}.home)", object.name)));
            added.extend(ids(&body.statements).iter().map(|id| format!("Wait({id})")));
            each(&body.statements, &mut |one, is_last| {
                for text in &added {
                    found.push(self.before(body, one, text));
                    if is_last
                        && !matches!(one.kind, StatementKind::Return(_) | StatementKind::Break)
                    {
                        found.push(self.behind(body, one, text));
                    }
                }
            });
        }
        found
    }

    fn before(&self, body: &Body, one: &Statement, added: &str) -> Edit {
        let text = format!("{added}{}", self.line_break(one));
        let words = format!("{}, before it add {added}", self.place(body, one.span));
        Edit { span: Span::new(one.span.start, one.span.start), text, words }
    }

    fn behind(&self, body: &Body, one: &Statement, added: &str) -> Edit {
        let text = format!("{}{added}", self.line_break(one));
        let words = format!("{}, after it add {added}", self.place(body, one.span));
        Edit { span: Span::new(one.span.end, one.span.end), text, words }
    }

    /// What stands between a statement and another one: a new line if the statement begins its own.
    fn line_break(&self, one: &Statement) -> String {
        let before = self.implementation.source.text.get(..one.span.start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        match line.trim().is_empty() {
            true => format!("\n{line}"),
            false => "; ".to_owned(),
        }
    }
}

/// Questions about changed implementations.
struct Search<'a> {
    changing: &'a Changing<'a>,
    /// Clients that refuted an implementation, by their numbers.
    first: Vec<usize>,
    changes: Changes,
}

impl<'a> Search<'a> {
    /// Begins with the implementation as it is.
    fn new(changing: &'a Changing<'a>) -> Self {
        let mut search = Self { changing, first: Vec::new(), changes: Changes::default() };
        search.changes.is_sound = matches!(search.ask(&[]), ChangeResult::Sound);
        search
    }

    /// Whether nothing is to be repaired, or nothing is known.
    fn is_answered(&self) -> bool {
        self.changes.is_sound || !self.changes.open.is_empty()
    }

    fn open(&mut self, why: String) {
        if !self.changes.open.contains(&why) {
            self.changes.open.push(why);
        }
    }

    fn take(&mut self, edits: &[&Edit]) {
        let changes = edits.iter().map(|edit| edit.words.clone()).collect();
        let text = self.changing.source(edits).text;
        self.changes.sets.push(Changed { changes, text });
    }

    fn ask(&mut self, edits: &[&Edit]) -> ChangeResult {
        self.changes.asked += 1;
        let came = self.came(edits);
        if let ChangeResult::Open(why) = &came {
            self.open(why.clone());
        }
        came
    }

    fn came(&mut self, edits: &[&Edit]) -> ChangeResult {
        let Changing { libraries, library, base, load, clients, options, .. } = self.changing;
        let Some(changed) = self.changing.changed(edits) else { return ChangeResult::Wrong };
        let refinement = Refinement::new(libraries, library, Some(&changed), base, load);
        let Ok(refinement) = refinement else { return ChangeResult::Wrong };
        let (first, mut open) = (self.first.clone(), None);
        let rest = (0..clients.len()).filter(|number| !first.contains(number));
        for number in first.iter().copied().chain(rest) {
            let Some(client) = clients.get(number) else { continue };
            let options = options();
            let answer = options.limits.within(|| refinement.check(client, &options));
            match answer {
                Ok(Ok(Answer::Holds { .. } | Answer::Nothing | Answer::IllFormed)) => {}
                Ok(Ok(Answer::Unknown(why))) => open = Some(why),
                Err(reached) => open = Some(reached.to_string()),
                Ok(Err(error)) => return ChangeResult::Open(error),
                Ok(Ok(Answer::Refuted(found))) => {
                    // The last that refuted is likely to refute the next.
                    self.first.retain(|known| *known != number);
                    self.first.insert(0, number);
                    return ChangeResult::Refuted(found);
                }
            }
        }
        open.map_or(ChangeResult::Sound, ChangeResult::Open)
    }
}

/// All sets of at most `most` of the first numbers, the smallest first.
fn sets(of: usize, most: usize) -> impl Iterator<Item = BTreeSet<usize>> {
    let larger = move |sets: &Vec<BTreeSet<usize>>| -> Option<Vec<BTreeSet<usize>>> {
        let with_more = |set: &BTreeSet<usize>| {
            let (set, next) = (set.clone(), set.last().map_or(0, |last| last + 1));
            (next..of).map(move |one| set.iter().copied().chain([one]).collect())
        };
        Some(sets.iter().flat_map(with_more).collect())
    };
    std::iter::successors(Some(vec![BTreeSet::new()]), larger).take(most + 1).flatten()
}

/// Every statement of a block and of the blocks in it, and whether it is the last one of its block.
fn each<'s>(block: &'s [Statement], work: &mut impl FnMut(&'s Statement, bool)) {
    for (index, one) in block.iter().enumerate() {
        work(one, index + 1 == block.len());
        one.kind.blocks().for_each(|block| each(block, work));
    }
}

/// The work ids of a body, as they are written.
fn ids(block: &[Statement]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each(block, &mut |one, _| {
        let id: Option<&Expr> = match &one.kind {
            StatementKind::Assign { id, .. } => id.as_ref(),
            StatementKind::Call { id, name, arguments, .. } => match name.as_str() {
                "RCAS" => arguments.get(4),
                "RFAA" => arguments.get(3),
                _ => id.as_ref(),
            },
            _ => None,
        };
        if let Some(Expr::Name(name, _)) = id {
            found.insert(name.clone());
        }
    });
    found
}
