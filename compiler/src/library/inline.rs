//! Replaces calls by their implementations.

mod body;
mod fold;
mod reach;
mod service;

use std::collections::{BTreeSet, HashMap, HashSet};

use lang::Test;
use lang::diagnostic::{Code, Diagnostic};
use lang::library::{Library, Shape};
use lang::outcome::{Claim, Condition, Expectation, Operand};
use lang::program::{
    BinaryOp, Call, Expr, LocationId, PutSource, RegisterId, Stmt, StmtKind, ThreadId, Towards,
    WorkId,
};
use lang::source::Span;

use super::layout::{add, observe, unknown_classes};
use super::{Bound, Environment, Libraries, as_call, each_call};
use reach::Broken;
use service::Serving;

/// How far calls are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// All calls, until only base statements are left.
    Full,
    /// Only calls of the library with this number.
    Only(usize),
}

/// The most levels of libraries that are implemented over each other.
const DEEPEST: usize = 16;

/// The test, with calls replaced by the implementations of their libraries.
///
/// # Errors
/// Fails if a library has no implementation, or an implementation cannot be expanded; these errors are at the
/// call. Fails also if no library defines an object's class, at the class.
pub fn inline(test: &Test, libraries: &Libraries, depth: Depth) -> Result<Test, Vec<Diagnostic>> {
    let observed = observed(test, libraries);
    if depth == Depth::Full && libraries.used(&test.program).is_empty() && observed.is_empty() {
        let errors = unknown_classes(&test.program, libraries);
        return if errors.is_empty() { Ok(test.clone()) } else { Err(errors) };
    }
    super::prepare(test, libraries)?;
    let mut test = super::bound(test, libraries)?;
    test.expectations = test.expectations.iter().filter_map(of_implementation).collect();
    let mut laid_out = LaidOut::default();
    for round in 0..=DEEPEST {
        let mut targets: BTreeSet<usize> = match depth {
            Depth::Full => libraries.used(&test.program).into_iter().collect(),
            Depth::Only(number) => [number].into(),
        };
        if depth == Depth::Full && round == 0 {
            targets.extend(&observed);
        }
        if targets.is_empty() {
            break;
        }
        if round == DEEPEST {
            return Err(vec![recursive(&test, libraries)]);
        }
        let mut inliner = Inliner::new(test, libraries, &targets);
        inliner.laid_out = laid_out;
        inliner.lay_out();
        if inliner.errors.is_empty() {
            inliner.threads();
        }
        if !inliner.errors.is_empty() {
            return Err(inliner.errors);
        }
        (test, laid_out) = (inliner.test, inliner.laid_out);
        if depth != Depth::Full {
            break;
        }
    }
    if test.observables.iter().any(|o| matches!(o.what, lang::outcome::Observed::Copy(..)))
        && depth == Depth::Full
    {
        observe(&mut test, implementation_memory, libraries)?;
    }
    Ok(test)
}

/// Errors in the bodies of a library that a test calls, at their place in the library's text.
pub fn wrong_bodies(test: &Test, libraries: &Libraries, number: usize) -> Vec<Diagnostic> {
    let targets = [number].into();
    let test = super::bound(test, libraries).unwrap_or_else(|_| test.clone());
    let mut inliner = Inliner::new(test, libraries, &targets);
    inliner.lay_out();
    if inliner.errors.is_empty() {
        inliner.threads();
    }
    let own = inliner.wrong.into_iter().filter(|(library, _)| *library == number);
    own.map(|(_, error)| error).collect()
}

/// The libraries of observed objects. The program need not call them.
fn observed(test: &Test, libraries: &Libraries) -> BTreeSet<usize> {
    let objects = test.observables.iter().filter_map(|observable| match observable.what {
        lang::outcome::Observed::Copy(object, _) => Some(object),
        _ => None,
    });
    let class = |object: usize| &test.program.objects[object].class;
    objects.filter_map(|object| Some(libraries.of_class(class(object))?.0)).collect()
}

/// The error if calls remain after the last level.
fn recursive(test: &Test, libraries: &Libraries) -> Diagnostic {
    let mut first = None;
    each_call(&test.program, &mut |_, call, span| {
        let name = libraries.resolve(&test.program, call).map(|found| found.library.name.clone());
        first.get_or_insert((name.unwrap_or_default(), call.method.clone(), span));
    });
    let (library, method, span) = first.unwrap_or_default();
    let message = format!(
        "expected at most {DEEPEST} libraries over each other: `{method}` of `{library}` calls itself"
    );
    Diagnostic::error(Code::RecursiveImplementation, span, message)
}

/// What a verdict about a specification means for implementations: an implementation shows only outcomes of
/// its specification, but need not show all.
fn of_implementation(expectation: &Expectation) -> Option<Expectation> {
    let claim = match &expectation.claim {
        Claim::Allowed(_) if !expectation.is_question => return None,
        Claim::Exactly { observables, outcomes } => {
            let equal = |(index, value): (&usize, &lang::outcome::Value)| {
                let (left, right) = (Operand::Observable(*index), Operand::Value(*value));
                Condition::Compare(BinaryOp::Equal, left, right)
            };
            let each = |outcome: &Vec<lang::outcome::Value>| {
                Condition::And(observables.iter().zip(outcome).map(equal).collect())
            };
            Claim::Always(Condition::Or(outcomes.iter().map(each).collect()))
        }
        claim => claim.clone(),
    };
    Some(Expectation { claim, ..expectation.clone() })
}

fn implementation_memory(library: &Library) -> &[lang::library::Memory] {
    library.implementation.as_ref().map_or(&[], |implementation| &implementation.memory)
}

struct Inliner<'l> {
    test: Test,
    libraries: &'l Libraries,
    targets: &'l BTreeSet<usize>,
    /// The locations of the test, by name.
    locations: HashMap<String, LocationId>,
    /// Variables that a thread keeps between calls.
    locals: HashMap<(usize, ThreadId, String), RegisterId>,
    errors: Vec<Diagnostic>,
    /// The innermost statement of the current error: its library's number and its place there.
    place: Option<(usize, Span)>,
    /// The rule of programs that the statement of the current error breaks.
    broken: Option<Broken>,
    /// All errors, at their places in the libraries' texts.
    wrong: Vec<(usize, Diagnostic)>,
    /// How many statements of bodies were expanded.
    followed: usize,
    /// Threads that were added, whose bodies are still to be expanded.
    serving: Vec<Serving<'l>>,
    /// What has its memory already, from earlier rounds too.
    laid_out: LaidOut,
}

/// Objects by their library's number and their index; libraries themselves without.
type LaidOut = HashSet<(usize, Option<usize>)>;

/// The call that is being replaced.
struct Site<'l> {
    thread: ThreadId,
    span: Span,
    number: usize,
    library: &'l Library,
    environment: Environment<Expr>,
    /// The variables of the body.
    variables: HashMap<String, RegisterId>,
    /// The register for the result.
    result: RegisterId,
    /// The object that is called. The work ids of the body belong to it.
    object: String,
    /// The method that is called.
    method: String,
}

type Refused = String;

impl<'l> Inliner<'l> {
    fn new(test: Test, libraries: &'l Libraries, targets: &'l BTreeSet<usize>) -> Self {
        let (locations, locals) = (HashMap::new(), HashMap::new());
        Self {
            test,
            libraries,
            targets,
            locations,
            locals,
            errors: Vec::new(),
            place: None,
            broken: None,
            wrong: Vec::new(),
            followed: 0,
            serving: Vec::new(),
            laid_out: LaidOut::default(),
        }
    }

    /// Adds the memory and the objects that the implementations need.
    fn lay_out(&mut self) {
        let used = self.libraries.used(&self.test.program);
        self.add_services(&used);
        for index in 0..self.test.program.objects.len() {
            let class = self.test.program.objects[index].class.clone();
            let Some((number, library)) = self.libraries.of_class(&class) else { continue };
            if !self.targets.contains(&number) || !self.laid_out.insert((number, Some(index))) {
                continue;
            }
            for memory in implementation_memory(library) {
                if memory.class.as_ref() == Some(&class) {
                    let added =
                        add(&mut self.test.program, library, memory, Some(index), Span::default());
                    self.errors.extend(added.err().map(|error| *error));
                }
            }
        }
        for number in self.targets.iter().filter(|number| used.contains(number)) {
            if !self.laid_out.insert((*number, None)) {
                continue;
            }
            let library = &self.libraries.all[*number];
            for memory in implementation_memory(library) {
                if memory.class.is_none() {
                    let added = add(&mut self.test.program, library, memory, None, Span::default());
                    self.errors.extend(added.err().map(|error| *error));
                }
            }
        }
        let all = self.test.program.locations.iter().enumerate();
        self.locations =
            all.map(|(index, location)| (location.name.clone(), LocationId(index))).collect();
    }

    fn threads(&mut self) {
        for index in 0..self.test.program.threads.len() {
            let body = std::mem::take(&mut self.test.program.threads[index].body);
            let body = self.block(ThreadId(index), body);
            self.test.program.threads[index].body = body;
        }
        self.serve();
        let mut remaining = Vec::new();
        let targets = self.targets;
        each_call(&self.test.program, &mut |_, call, span| {
            let resolved = self.libraries.resolve(&self.test.program, call);
            if resolved.is_none() {
                remaining.push((call.method.clone(), span));
            }
        });
        let _ = targets;
        for (method, span) in remaining {
            let message = format!("no library defines `{method}`, which an implementation calls");
            self.errors.push(Diagnostic::error(Code::UndefinedCall, span, message));
        }
    }

    fn block(&mut self, thread: ThreadId, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::new();
        for stmt in body {
            match stmt.kind {
                StmtKind::If { condition, then, otherwise } => {
                    let then = self.block(thread, then);
                    let otherwise = self.block(thread, otherwise);
                    let kind = StmtKind::If { condition, then, otherwise };
                    out.push(Stmt { kind, unsignaled: false, span: stmt.span });
                }
                StmtKind::Loop(body) => {
                    let known = self.test.program.registers.len();
                    let mut body = self.block(thread, body);
                    self.forget(known, thread, stmt.span, &mut body);
                    let kind = StmtKind::Loop(body);
                    out.push(Stmt { kind, unsignaled: false, span: stmt.span });
                }
                kind => self.replace(thread, Stmt { kind, ..stmt }, &mut out),
            }
        }
        out
    }

    fn replace(&mut self, thread: ThreadId, stmt: Stmt, out: &mut Vec<Stmt>) {
        let Stmt { kind, unsignaled, span } = stmt;
        let done = match as_call(&kind) {
            Some(call) => self.call(thread, &call, span),
            None => self.base_call(thread, &kind, span),
        };
        let done = match done {
            Ok(Some(_)) if unsignaled => Err("a library has no unsignaled requests".to_owned()),
            done => done,
        };
        match done {
            Ok(Some(statements)) => out.extend(statements),
            Ok(None) => out.push(Stmt { kind, unsignaled, span }),
            Err(reason) => {
                let error = self.cannot(span, reason);
                self.errors.push(error);
            }
        }
    }

    /// The error at a place of the program; it is also noted at its place in the library's text.
    fn cannot(&mut self, span: Span, reason: Refused) -> Diagnostic {
        let mut error = Diagnostic::error(Code::CannotInline, span, reason);
        let broken = self.broken.take();
        if let Some((number, at)) = self.place.take() {
            let text = &self.libraries.all[number].source;
            let line = text.line_column(at.start).0;
            error = error.help(format!("it is about line {line} of {}", text.name));
            let code = broken.as_ref().map_or(Code::WrongBody, |broken| broken.code);
            let mut wrong = Diagnostic::error(code, at, error.message.clone());
            if let Some(broken) = broken {
                wrong = wrong.help(broken.help);
            }
            self.wrong.push((number, wrong));
        }
        error
    }

    /// The statements that replace a call. `None` if its library is not replaced.
    fn call(
        &mut self,
        thread: ThreadId,
        call: &Call,
        span: Span,
    ) -> Result<Option<Vec<Stmt>>, Refused> {
        let Some(resolved) = self.libraries.resolve(&self.test.program, call) else {
            return Ok(None);
        };
        if !self.targets.contains(&resolved.number) {
            return Ok(None);
        }
        let library = resolved.library;
        let name = &library.name;
        let implementation = library.implementation.as_ref();
        let implementation =
            implementation.ok_or_else(|| format!("the library `{name}` has no implementation"))?;
        let body = implementation.bodies.iter().find(|body| body.method == call.method);
        let body = body.ok_or_else(|| format!("`{}` has no implementation", call.method))?;
        let program = &self.test.program;
        let environment = Environment::of_arguments(program, thread, &body.parameters, call)?;
        let result = match call.register {
            Some(register) => register,
            None => self.register(thread),
        };
        let object = call.object.clone().unwrap_or_default();
        let number = resolved.number;
        let variables = HashMap::new();
        let method = call.method.clone();
        let mut site =
            Site { thread, span, number, library, environment, variables, result, object, method };
        let mut out = Vec::new();
        self.statements(&mut site, &body.statements, &mut out)?;
        Ok(Some(out))
    }

    /// Converts a base statement to a call of the library that implements the base's own statements.
    fn base_call(
        &mut self,
        thread: ThreadId,
        kind: &StmtKind,
        span: Span,
    ) -> Result<Option<Vec<Stmt>>, Refused> {
        let Some(name) = crate::calls::call_name(kind) else { return Ok(None) };
        let implementing = self.targets.iter().find_map(|number| {
            let library = &self.libraries.all[*number];
            library.base.as_ref()?;
            let bodies = &library.implementation.as_ref()?.bodies;
            Some((*number, library, bodies.iter().find(|body| body.method == name)?))
        });
        let Some((number, library, body)) = implementing else { return Ok(None) };
        let is_other = |towards: Towards| towards.queue_pair != 0;
        if self.test.program.towards(kind).is_some_and(is_other) {
            let why = "knows one queue pair to each node, and the program names others";
            return Err(format!("the implementation of `{name}` {why}"));
        }
        let location = |id: &LocationId| Bound::Location(*id);
        let arguments: Vec<Bound<Expr>> = match kind {
            StmtKind::Put { target, source, id, .. } => {
                let source = match source {
                    PutSource::Location(source) => location(source),
                    PutSource::Value(value) => Bound::Value(value.clone()),
                };
                vec![location(target), source, Bound::Id(*id)]
            }
            StmtKind::Get { target, source, id, .. } => {
                vec![location(target), location(source), Bound::Id(*id)]
            }
            StmtKind::Rcas { result, target, expected, desired, id, .. } => vec![
                location(result),
                location(target),
                Bound::Value(expected.clone()),
                Bound::Value(desired.clone()),
                Bound::Id(*id),
            ],
            StmtKind::Rfaa { result, target, addend, id, .. } => vec![
                location(result),
                location(target),
                Bound::Value(addend.clone()),
                Bound::Id(*id),
            ],
            StmtKind::Words(_) => {
                let why = "is of one word, and the program copies several";
                return Err(format!("the implementation of `{name}` {why}"));
            }
            StmtKind::Wait(id) => vec![Bound::Id(Some(*id))],
            _ => return Ok(None),
        };
        if arguments.len() != body.parameters.len() {
            return Err(format!("the implementation of `{name}` takes other parameters"));
        }
        let names = body.parameters.iter().map(|parameter| parameter.name.clone());
        let environment = Environment { thread, names: names.zip(arguments).collect() };
        let result = self.register(thread);
        let object = String::new();
        let variables = HashMap::new();
        let method = name.to_owned();
        let mut site =
            Site { thread, span, number, library, environment, variables, result, object, method };
        let mut out = Vec::new();
        self.statements(&mut site, &body.statements, &mut out)?;
        Ok(Some(out))
    }

    /// Resets variables that were new in a loop's body at the start of each iteration, so that an iteration
    /// that only looked leaves nothing behind. Variables that a thread keeps are not reset.
    fn forget(&self, known: usize, thread: ThreadId, span: Span, body: &mut Vec<Stmt>) {
        let all = self.test.program.registers.iter().enumerate().skip(known);
        let own = all.filter(|(_, register)| register.thread == thread);
        let new = own.map(|(index, _)| RegisterId(index));
        let new = new.filter(|register| self.locals.values().all(|kept| kept != register));
        let reset = new.map(|register| {
            let kind = StmtKind::Assign { register, value: Expr::Constant(0) };
            Stmt { kind, unsignaled: false, span }
        });
        body.splice(0..0, reset.collect::<Vec<_>>());
    }

    fn register(&mut self, thread: ThreadId) -> RegisterId {
        let registers = &mut self.test.program.registers;
        registers.push(lang::program::Register { name: None, thread });
        RegisterId(registers.len() - 1)
    }

    /// The work id for a library's own operations.
    fn work_id(&mut self, site: &Site<'_>, name: &str) -> WorkId {
        let text = format!("{}.{}.{name}", site.library.name, site.object);
        let ids = &mut self.test.program.work_ids;
        let known = ids.iter().position(|known| *known == text);
        WorkId(known.unwrap_or_else(|| {
            ids.push(text);
            ids.len() - 1
        }))
    }

    /// The declared shape of the memory that a body names.
    fn shape(&self, site: &Site<'_>, name: &str) -> Result<Shape, Refused> {
        let memory = implementation_memory(site.library).iter().find(|memory| memory.name == name);
        memory.map(|memory| memory.shape).ok_or_else(|| format!("there is no memory `{name}`"))
    }
}
