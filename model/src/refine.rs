//! Is a library's implementation one? For all small clients: are the outcomes of the client with calls
//! replaced by the implementation among those that the specification allows?
//!
//! Soundness of implementations [LOCO, Definition 3.12], checked up to a bound and not proved. The lower
//! libraries keep their specifications, as in the definition. It is about executions that end, so one more
//! thing is asked: can each execution of the implementation end (`stuck`)?

mod answer;
mod bounds;
mod change;
mod clients;
mod history;
mod never;
mod steps;
mod stuck;
mod symmetry;
mod text;
mod uncalled;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use compiler::library::{Depth, Libraries, inline, wrong_bodies};
use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::{Code, Diagnostic};
use lang::library::{Library, Method, ParameterKind};
use lang::outcome::Outcome;
use lang::program::{Expr, Program, Register, RegisterId, StmtKind, ThreadId};
use lang::source::Source;

use crate::allowed::{Allowed, Options, Question};
use crate::asking::{Refused, first_message};
use crate::bound::Loops;
use crate::library::Composed;
use crate::machine::may_wait;
use crate::smt::Found;

pub use answer::{Answer, Counterexample, Wrong};
pub use bounds::{Bounds, OWN};
pub use change::{Changed, Changes, Changing, Needed};
pub use clients::{Client, MOST, Op, TooMany, by_default, clients};
pub use never::{Never, STATEMENTS};
pub use symmetry::Symmetry;
pub use text::text;

/// A library and the implementation that is to be checked.
#[derive(Debug)]
pub struct Refinement {
    /// The libraries; of the one checked, with the implementation to be checked.
    libraries: Libraries,
    /// The text of its specification.
    specification: Source,
    /// Its number.
    number: usize,
    /// The model of the specification.
    model: Model,
    /// The model of the implementation.
    lower: Model,
    /// What both models are with libraries.
    composed: [Composed; 2],
}

impl Refinement {
    /// The check of a library's implementation, or of another's.
    ///
    /// # Errors
    /// Why there is nothing to check.
    pub fn new(
        libraries: &Libraries,
        library: &Library,
        implementation: Option<&Library>,
        model: &Model,
        load: impl Fn(&str) -> Option<Model>,
    ) -> Result<Self, String> {
        let specification = library.source.clone();
        let mut library = library.clone();
        if let Some(other) = implementation {
            if other.implementation.is_none() {
                return Err(format!("the library `{}` has no implementation", other.name));
            }
            library.implementation.clone_from(&other.implementation);
            library.source.clone_from(&other.source);
        }
        let name = &library.name;
        let text = library.implementation.as_ref();
        let text = text.ok_or_else(|| format!("the library `{name}` has no implementation"))?;
        let named = |name: &Option<String>, default: &Model| match name {
            Some(name) => load(name).ok_or_else(|| format!("there is no model `{name}`")),
            None => Ok(default.clone()),
        };
        let spec = named(&library.base, model)?;
        let over = text.over.as_ref().map(|(name, _)| name.clone());
        let lower = named(&over, &spec)?;
        let mut libraries = libraries.clone();
        libraries.all.retain(|known| known.name != library.name);
        libraries.all.push(Arc::new(library));
        let number = libraries.all.len() - 1;
        let composed = Default::default();
        Ok(Self { libraries, specification, number, model: spec, lower, composed })
    }

    /// The library.
    pub fn library(&self) -> &Library {
        &self.libraries.all[self.number]
    }

    /// All texts that an answer follows from.
    pub fn texts(&self) -> Vec<&str> {
        let all = self.libraries.all.iter().map(|library| &library.source);
        all.chain([&self.specification]).map(|source| source.text.as_str()).collect()
    }

    /// Checks one client.
    ///
    /// # Errors
    /// What is wrong with the library's text, found at a call of this client.
    pub fn check(&self, client: &Client, options: &Options) -> Result<Answer, String> {
        if self.library().sequential.is_some() {
            return self.by_histories(client, options);
        }
        let program = text(client, self.library(), None);
        let wrong = |errors: Vec<Diagnostic>| format!("{}, in\n{program}", first_message(&errors));
        let (test, errors) = lang::litmus::load(&Source::new("client", program.clone()));
        let Some(test) = test else {
            if errors.iter().any(|error| NOT_CLIENTS.contains(&error.code)) {
                return Ok(Answer::IllFormed);
            }
            return Err(wrong(errors));
        };
        let allowed = match self.specified(&test, options) {
            Ok(Some(allowed)) => allowed,
            Ok(None) => return Ok(Answer::IllFormed),
            Err(Refused::Limit(reached)) => return Ok(Answer::Unknown(reached.to_string())),
            Err(refused) => return Err(wrong(refused.diagnostics())),
        };
        if allowed.complete.is_none() {
            return Ok(Answer::Unknown(allowed.reason.unwrap_or_default()));
        }
        let lowered = inline(&test, &self.libraries, Depth::Only(self.number)).map_err(wrong)?;
        let asked = Asked { client, test: &test, allowed: &allowed, options };
        // Over no other library, the machine knows all that the implementation shows, however often its loops
        // go round.
        let is_lowest = self.libraries.used(&lowered.program).is_empty();
        let mut open = None;
        if is_lowest {
            match self.by_machine(&asked, &lowered, false)? {
                ByMachine::Decided(answer) => return Ok(answer),
                ByMachine::Open(reason) => open = Some(reason),
            }
        }
        let shown = match self.by_axioms(&lowered, &asked) {
            Ok(ByAxioms::Known(shown)) => shown,
            Ok(ByAxioms::Other(outcome)) => return self.other_outcome(&asked, &outcome, &[]),
            Ok(ByAxioms::Misuse(found)) => {
                return Ok(Answer::Refuted(Box::new(Counterexample::misuse(&program, &found))));
            }
            Ok(ByAxioms::Unknown(why)) => return Ok(Answer::Unknown(open.unwrap_or(why))),
            Err(Refused::Limit(reached)) => {
                return Ok(Answer::Unknown(open.unwrap_or_else(|| reached.to_string())));
            }
            Err(refused) => return Err(wrong(refused.diagnostics())),
        };
        if !shown.cut_off && !shown.ends && allowed.outcomes.is_empty() {
            return Ok(Answer::Nothing);
        }
        let reason = match open {
            // Then nothing is open: nothing waits, and the axioms tell the rest.
            Some(_) if shown.ends && !shown.cut_off && !may_wait(&lowered.program) => {
                return Ok(asked.holds(false));
            }
            Some(reason) => reason,
            None => match self.by_implementations(&asked, &lowered, shown)? {
                ByMachine::Decided(answer) => return Ok(answer),
                ByMachine::Open(reason) => reason,
            },
        };
        Ok(Answer::Unknown(format!("it is not known whether each execution can end: {reason}")))
    }

    /// The question what the specification allows of a program. The caller's limits hold.
    fn specification<'a>(
        &'a self,
        test: &'a Test,
        options: &Options,
    ) -> Result<Question<'a>, Refused> {
        let asking = Question::of(test, &self.model).libraries(&self.libraries);
        asking.composed(&self.composed[0]).loops(options.loop_bound).question()
    }

    /// The question what the implementation allows, over the specifications of lower libraries.
    fn implementation<'a>(
        &'a self,
        lowered: &'a Test,
        options: &Options,
    ) -> Result<Question<'a>, Refused> {
        let asking = Question::of(lowered, &self.lower).libraries(&self.libraries);
        asking.composed(&self.composed[1]).loops(options.loop_bound).question()
    }

    /// What the specification allows of a program; `None` if the program misuses the library.
    fn specified(&self, test: &Test, options: &Options) -> Result<Option<Allowed>, Refused> {
        match self.specification(test, options) {
            Ok(question) => question.allowed(options).map(Some),
            Err(Refused::Misuse(_)) => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    /// Asks for an outcome of the implementation, over the specifications of lower libraries, that is not
    /// allowed.
    fn by_axioms(&self, lowered: &Test, asked: &Asked<'_>) -> Result<ByAxioms, Refused> {
        let Asked { allowed, options, .. } = asked;
        let lower = match self.implementation(lowered, options) {
            Ok(lower) => lower,
            Err(refused) => {
                return refused.misuse().cloned().map(ByAxioms::Misuse).ok_or(refused);
            }
        };
        let mut session = lower.session(options, |_| true)?;
        // Executions that misuse a lower library are left out below.
        if let Some(misuse) = session.misuses().first() {
            let misuse = &lower.skeleton.misuses[*misuse];
            let found = Diagnostic::error(misuse.code, misuse.span, misuse.message.as_str());
            return Ok(ByAxioms::Misuse(found));
        }
        let cut_off = !matches!(lower.loops(options)?, Loops::Within(_));
        let within = session.counted();
        let ends = match session.find(&within) {
            Found::Nothing => false,
            Found::Unknown => return Ok(ByAxioms::Unknown(session.why_unknown())),
            Found::Execution(_) => true,
        };
        allowed.outcomes.iter().for_each(|outcome| session.block(outcome));
        Ok(match session.find(&within) {
            Found::Nothing => ByAxioms::Known(Shown { ends, cut_off }),
            Found::Unknown => ByAxioms::Unknown(session.why_unknown()),
            Found::Execution(execution) => ByAxioms::Other(execution.outcome),
        })
    }
}

/// A client that is being checked.
struct Asked<'a> {
    client: &'a Client,
    test: &'a Test,
    /// What the specification allows.
    allowed: &'a Allowed,
    options: &'a Options,
}

/// What the machine says of a client.
enum ByMachine {
    /// All.
    Decided(Answer),
    /// Not all, because of this.
    Open(String),
}

/// What an implementation shows by the axioms.
enum ByAxioms {
    /// An outcome that is not allowed.
    Other(Outcome),
    /// A use of a lower library that its rules exclude.
    Misuse(Diagnostic),
    /// Only what is allowed.
    Known(Shown),
    /// A limit was hit: this one.
    Unknown(String),
}

/// What is known of executions within the bound on loops.
#[derive(Clone, Copy)]
struct Shown {
    /// Some execution ends.
    ends: bool,
    /// Some loop can go round more often.
    cut_off: bool,
}

/// What is wrong with a library's text that only calls show, at any placement of threads and objects: of
/// bodies at the statement, of specifications at the method.
pub fn wrong_at_calls(libraries: &Libraries, library: &Library, model: &Model) -> Vec<Diagnostic> {
    wrong_at_calls_again(libraries, library, model, &mut Calls::default())
}

/// Programs that call a library, by their texts. Most edits of a library leave them as they are, and to read
/// them again takes most of the time.
#[derive(Default)]
pub struct Calls(HashMap<String, Option<Test>>);

/// The same of a library that was edited since.
pub fn wrong_at_calls_again(
    libraries: &Libraries,
    library: &Library,
    model: &Model,
    calls: &mut Calls,
) -> Vec<Diagnostic> {
    let mut before = std::mem::take(&mut calls.0);
    let mut libraries = libraries.clone();
    libraries.all.push(Arc::new(library.clone()));
    let number = libraries.all.len() - 1;
    let mut found: Vec<Diagnostic> = Vec::new();
    for (index, client) in placed(library).into_iter().enumerate() {
        lang::limits::look();
        let text = text(&client, library, None);
        let (text, test) = before.remove_entry(&text).unwrap_or_else(|| {
            let source = Source::new("client", text);
            let test = lang::litmus::load(&source).0;
            (source.text, test)
        });
        let Some(test) = calls.0.entry(text).or_insert(test) else { continue };
        found.extend(wrong_bodies(test, &libraries, number));
        let any = with_any_values(test.clone(), library);
        let reach = wrong_bodies(&any, &libraries, number);
        found.extend(reach.into_iter().filter(|error| NOT_CLIENTS.contains(&error.code)));
        // What methods mean, one call of each shows.
        if client.size() > 2 || index > MOST_ASKED {
            continue;
        }
        let asked = Question::of(test, model).libraries(&libraries).loops(Some(1)).question();
        if let Err(Refused::Library(call, error)) = asked {
            let method = library.methods.iter().find(|method| method.name == call);
            let span = method.map(|method| method.span).unwrap_or_default();
            found.push(Diagnostic { span, ..*error });
        }
    }
    // One placement is enough to see what is wrong, the one of the smallest client.
    let mut seen = BTreeSet::new();
    found.retain(|error| seen.insert((error.span.start, error.code)));
    found.sort_by_key(|error| error.span.start);
    found
}

/// A client that passes values that nobody knows, so that no branch of a body is left out because of them.
fn with_any_values(mut test: Test, library: &Library) -> Test {
    let Program { threads, registers, .. } = &mut test.program;
    for (index, thread) in threads.iter_mut().enumerate() {
        let register = RegisterId(registers.len());
        registers.push(Register { name: None, thread: ThreadId(index) });
        for stmt in &mut thread.body {
            if let StmtKind::Call(call) = &mut stmt.kind {
                let method = library.method(&call.method).map(|(_, method)| method);
                let parameters = method.into_iter().flat_map(|method| &method.parameters);
                let values = parameters.filter(|one| one.kind == ParameterKind::Value);
                let known: Vec<bool> = values.map(|one| one.below.is_some()).collect();
                for (at, argument) in call.arguments.iter_mut().enumerate() {
                    if !known.get(at).is_some_and(|known| *known) {
                        *argument = Expr::Register(register);
                    }
                }
            }
        }
    }
    test
}

/// The most clients of which more is asked than whether their bodies can be followed.
const MOST_ASKED: usize = 1000;

/// Clients in which each method is called, by threads and on objects at all nodes: those of up to four
/// statements, so that pairs such as Acq and Rel are called by two threads, or of fewer where these are many.
fn placed(library: &Library) -> Vec<Client> {
    let of_size = |size| Bounds { plain: 0, size, ..Bounds::default() };
    let few = clients(library, &[of_size(4)], 5000);
    let mut all = few.or_else(|_| clients(library, &[of_size(2)], MOST)).unwrap_or_default();
    // Fences alone order nothing, so they are no clients. Their bodies are looked at all the same.
    let is_called = |number: usize| {
        let mut ops = all.iter().flat_map(|client| &client.threads).flat_map(|(_, ops)| ops);
        ops.any(|op| matches!(op, Op::Call { method, .. } if *method == number))
    };
    let only_nodes =
        |method: &Method| method.parameters.iter().all(|p| p.kind == ParameterKind::Nodes);
    let methods = library.methods.iter().enumerate();
    let left = methods.filter(|(number, method)| only_nodes(method) && !is_called(*number));
    let alone = left.map(|(method, _)| Client {
        nodes: 2,
        threads: vec![(1, vec![Op::call_at(method, &[1, 2])])],
        objects: Vec::new(),
        homes: Vec::new(),
        ahead: false,
    });
    let alone: Vec<Client> = alone.collect();
    all.extend(alone);
    all
}

/// Errors of programs that reach for what is on another node.
const NOT_CLIENTS: [Code; 3] =
    [Code::RemoteCpuAccess, Code::PutSourceRemote, Code::GetTargetRemote];
