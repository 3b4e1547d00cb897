//! Tree to [`Test`]: every name gets its meaning, every access its home.

mod access;
mod arrays;
mod asked;
mod calls;
mod corerma;
mod crash;
mod declarations;
mod indexed;
mod libraries;
mod lower;
mod messages;
mod mixed;
mod names;
mod queue_pairs;
mod unsigned;
mod verdicts;
mod warnings;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::Test;
use crate::diagnostic::{Code, Diagnostic};
use crate::library::Words;
use crate::program::{
    Location, LocationId, NodeId, Origin, Program, Register, RegisterId, ThreadId, WorkId,
};
use crate::source::{Source, Span};

use super::ast::{File, HeaderKind, Name, Number, Place};
use crate::front::Sink;

pub use asked::asked;
pub use names::assigned;

/// What a name means; one name means one thing in the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Location(LocationId),
    Register(RegisterId),
    /// Index into [`Program::objects`].
    Object(usize),
    /// Index into [`Checker::arrays`].
    Array(usize),
}

/// What the parts of the check share.
struct Checker<'a> {
    file: &'a File,
    /// The words of the libraries that are known.
    words: Words<'a>,
    sink: &'a mut Sink,
    program: Program,
    meanings: FxHashMap<String, Meaning>,
    /// The arrays whose words are locations.
    arrays: Vec<arrays::Array>,
    /// Their names.
    by_words: FxHashSet<String>,
    work_ids: FxHashMap<String, WorkId>,
    /// Where names stand that are work ids.
    ids: Vec<Span>,
    /// How many locations nobody names.
    unnamed: usize,
    /// Where each name is declared, or first assigned.
    introduced: FxHashMap<String, Span>,
    /// Names assigned in two threads, which has been reported.
    clashing: FxHashSet<String>,
    /// Names that a statement or verdict uses.
    used: FxHashSet<String>,
    /// What has been reported, of which name: each cause once.
    reported: FxHashSet<(Code, String)>,
    /// Names that mean nothing, and where that has been reported.
    undeclared: FxHashMap<String, Span>,
}

impl<'a> Checker<'a> {
    fn new(file: &'a File, words: Words<'a>, sink: &'a mut Sink) -> Self {
        Self {
            file,
            words,
            sink,
            program: Program::default(),
            meanings: FxHashMap::default(),
            arrays: Vec::new(),
            by_words: arrays::by_words(file),
            work_ids: FxHashMap::default(),
            ids: Vec::new(),
            unnamed: 0,
            introduced: FxHashMap::default(),
            clashing: FxHashSet::default(),
            used: FxHashSet::default(),
            reported: FxHashSet::default(),
            undeclared: FxHashMap::default(),
        }
    }

    fn error(&mut self, code: Code, place: Place, message: String, help: String) {
        let error = Diagnostic::error(code, place.span, message);
        self.sink.push(if help.is_empty() { error } else { error.help(help) });
    }

    /// Whether something is reported of a name for the first time.
    fn is_new(&mut self, code: Code, name: &str) -> bool {
        self.reported.insert((code, name.to_owned()))
    }

    /// What a name means; a name that means nothing is an error.
    fn meaning(&mut self, name: &Name) -> Option<Meaning> {
        self.meaning_or(name, || format!("`{} = 0`", name.text))
    }

    /// The same, with a declaration to suggest.
    fn meaning_or(&mut self, name: &Name, declaration: impl FnOnce() -> String) -> Option<Meaning> {
        if !self.used.contains(&name.text) {
            self.used.insert(name.text.clone());
        }
        let found = self.meanings.get(&name.text).copied();
        if let Some(array) = arrays::of_word(&name.text) {
            self.used.insert(array.to_owned());
            if found.is_none() {
                self.no_word(name, array);
            }
            return found;
        }
        if found.is_some() {
            return found;
        }
        let span = name.place.span;
        if let Some(reported) = self.undeclared.get(&name.text) {
            self.sink.also(Code::UndeclaredName, *reported, span);
        } else {
            self.undeclared.insert(name.text.clone(), span);
            let known = self.meanings.keys().map(String::as_str);
            let message = format!("expected a declared name or a register, found `{}`", name.text);
            let error = Diagnostic::error(Code::UndeclaredName, span, message);
            self.sink.push(match self.sink.suggest(&name.text, known) {
                Some(known) => error.did_you_mean(known),
                None => error.help(format!("declare it above the rule, such as {}", declaration())),
            });
        }
        None
    }

    /// A node that exists.
    fn node(&mut self, number: Number) -> Option<NodeId> {
        let nodes = self.program.nodes;
        match u32::try_from(number.value) {
            Ok(node) if (1..=nodes).contains(&node) => Some(NodeId(node)),
            _ => {
                let message = format!("expected a node from 1 to {nodes}, found {}", number.value);
                let help =
                    "nodes are numbered from 1, left to right, or all of them from 0".to_owned();
                self.error(Code::NoSuchNode, number.place, message, help);
                None
            }
        }
    }

    /// A thread that exists.
    fn thread(&mut self, number: Number) -> Option<ThreadId> {
        let count = self.file.threads.len();
        match usize::try_from(number.value) {
            Ok(thread) if (1..=count).contains(&thread) => Some(ThreadId(thread - 1)),
            _ => {
                let message =
                    format!("expected a thread from 1 to {count}, found {}", number.value);
                let help = "thread numbers are column numbers, from 1".to_owned();
                self.error(Code::NoSuchThread, number.place, message, help);
                None
            }
        }
    }

    fn work_id(&mut self, name: &Name) -> WorkId {
        self.ids.push(name.place.span);
        let next = WorkId(self.program.work_ids.len());
        let id = *self.work_ids.entry(name.text.clone()).or_insert(next);
        if id == next {
            self.program.work_ids.push(name.text.clone());
        }
        id
    }

    fn location(&self, id: LocationId) -> &Location {
        &self.program.locations[id.0]
    }

    fn add_location(&mut self, location: Location) -> LocationId {
        self.program.locations.push(location);
        LocationId(self.program.locations.len() - 1)
    }

    /// A location for a result that nobody reads.
    fn unnamed_location(&mut self, node: NodeId, span: Span) -> LocationId {
        self.unnamed += 1;
        let name = format!("_{}", self.unnamed);
        self.add_location(Location { name, node, initial: 0, origin: Origin::Unnamed, span })
    }

    fn add_register(&mut self, name: Option<String>, thread: ThreadId) -> RegisterId {
        self.program.registers.push(Register { name, thread });
        RegisterId(self.program.registers.len() - 1)
    }
}

/// Checks a file. The test is only of use if there is no error. With it come the places of names that are
/// work ids.
pub fn file(file: &File, source: &Source, words: Words<'_>, sink: &mut Sink) -> (Test, Vec<Span>) {
    let mut checker = Checker::new(file, words, sink);
    let mut test = header(&mut checker, source);
    declarations::declare(&mut checker);
    names::introduce(&mut checker);
    for index in 0..file.threads.len() {
        let thread = lower::thread(&mut checker, ThreadId(index));
        checker.program.threads.push(thread);
    }
    queue_pairs::unexpected(&mut checker);
    verdicts::verdicts(&mut checker, &mut test);
    messages::receives(&mut checker, &test.expectations);
    crash::check(&mut checker);
    warnings::warn(&mut checker);
    test.program = checker.program;
    (test, checker.ids)
}

fn header(checker: &mut Checker<'_>, source: &Source) -> Test {
    let file = checker.file;
    let mut test = Test {
        name: file.name.text.clone(),
        title: None,
        source: None,
        models: Vec::new(),
        tags: Vec::new(),
        loop_bound: None,
        dialect: file.dialect(),
        program: Program::default(),
        observables: Vec::new(),
        shown: 0,
        expectations: Vec::new(),
    };
    let mut seen: Vec<(std::mem::Discriminant<HeaderKind>, Span)> = Vec::new();
    for line in &file.header {
        let kind = std::mem::discriminant(&line.kind);
        if let Some((_, first)) = seen.iter().find(|(old, _)| *old == kind) {
            let message = "this header line stands twice";
            let error = Diagnostic::error(Code::RepeatedHeader, line.place.span, message);
            checker.sink.push(error.related(*first, "the first one"));
            continue;
        }
        seen.push((kind, line.place.span));
        let texts = |names: &[Name]| names.iter().map(|name| name.text.clone()).collect();
        match &line.kind {
            HeaderKind::Title(text) => test.title = Some(text.clone()),
            HeaderKind::Source(text) => test.source = Some(text.clone()),
            HeaderKind::Models(names) => test.models = texts(names),
            HeaderKind::Tags(names) => test.tags = texts(names),
            HeaderKind::LoopBound(bound) => test.loop_bound = Some(*bound),
            HeaderKind::Dialect(_) => {}
            HeaderKind::Crash => checker.program.crash = Some(line.place.span),
        }
    }
    if test.models.is_empty() {
        test.models.push(test.dialect.model().to_owned());
    }
    let path = std::path::Path::new(&source.name);
    let is_file = path.extension().is_some_and(|extension| extension == "litmus");
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    if is_file && stem != test.name.as_str() {
        let message = format!("the test is named `{}`, and its file `{stem}`", test.name);
        let span = file.name.place.span;
        let warning = Diagnostic::warning(Code::NameDiffersFromFile, span, message);
        checker.sink.push(warning.replace(span, stem));
    }
    test
}
