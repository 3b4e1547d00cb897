//! Instructions to statements.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::condition::{Quantifier, RawCondition};
use super::jumps;
use super::parse::{Instruction, Operand, Raw, RawPlace, RawValue, Word};
use super::registers::{self, Architecture, Width};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::front::Sink;
use crate::litmus::ast::build::{self, access, binary, named, number};
use crate::litmus::ast::{
    Atom, Block, Cells, Claim, Constant, Declaration, DeclarationRow, Expr, ExprKind, File, Form,
    HeaderKind, HeaderLine, Name, Observed, Place, ResultKind, ResultLine, Statement,
    StatementKind, Target, Thread, Value, Verdict, VerdictKind, Via,
};
use crate::litmus::methods::{KEYWORDS, Method};
use crate::program::BinaryOp;

/// Where names of registers begin; then comes the thread's number, and `_`.
const PREFIX: &str = "P";

/// The name that herd gives what we name so: `0:rax` for `P0_rax`.
pub fn shown_name(name: &str) -> String {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
    match parts {
        Some((thread, register)) if thread.parse::<usize>().is_ok() => {
            format!("{thread}:{register}")
        }
        _ => name.to_owned(),
    }
}

/// Whether [`Lowerer::temporary`] makes such names.
fn is_temporary(name: &str) -> bool {
    let parts = name.strip_prefix('t').and_then(|rest| rest.split_once('_'));
    parts.is_some_and(|(thread, number)| {
        thread.parse::<usize>().is_ok() && number.parse::<usize>().is_ok()
    })
}

/// Whether a location can have this name beside the names that registers get here.
pub fn is_location_name(name: &str) -> bool {
    let is_letter = name.chars().next().is_some_and(|first| first.is_ascii_alphabetic());
    let is_ours = shown_name(name) != name || is_temporary(name);
    is_letter && !is_ours && !KEYWORDS.contains(&name)
}

/// A file as one of ours.
pub fn file(raw: &Raw, sink: &mut Sink) -> Option<File> {
    let mut lowerer = Lowerer {
        architecture: raw.architecture,
        sink,
        locations: BTreeMap::new(),
        order: Vec::new(),
        widths: HashMap::new(),
        initial: HashMap::new(),
        addresses: HashMap::new(),
        used: HashSet::new(),
        thread: 0,
        temporaries: 0,
    };
    lowerer.initial_state(raw);
    let mut threads = Vec::new();
    for (index, (lines, place)) in raw.threads.iter().enumerate() {
        (lowerer.thread, lowerer.temporaries) = (index, 0);
        let statements = jumps::statements(&mut lowerer, lines);
        let body = Block { statements, end: Place::default() };
        threads.push(Thread { node: 1, body, place: *place });
    }
    let results = lowerer.results(raw);
    lowerer.initialize(&mut threads);
    Some(File {
        name: Name { text: raw.name.0.clone(), place: raw.name.1 },
        header: header(raw),
        declarations: lowerer.declarations(raw.threads.len(), raw.name.1),
        rule: raw.name.1,
        form: Form::Columns,
        threads,
        results,
        comments: Vec::new(),
    })
}

fn header(raw: &Raw) -> Vec<HeaderLine> {
    let place = raw.name.1;
    let model = Name { text: "tso".to_owned(), place };
    let title = raw.title.clone().map(|title| HeaderLine { kind: HeaderKind::Title(title), place });
    let models = HeaderLine { kind: HeaderKind::Models(vec![model]), place };
    title.into_iter().chain([models]).collect()
}

/// What threads have in common.
pub struct Lowerer<'a> {
    architecture: Architecture,
    sink: &'a mut Sink,
    /// Initial values.
    locations: BTreeMap<String, (u64, Place)>,
    /// Locations in the order in which they were met.
    order: Vec<String>,
    /// How wide the first access of a location was.
    widths: HashMap<String, (Width, Place)>,
    /// Initial values of registers, by our name.
    initial: HashMap<String, u64>,
    /// Registers that hold a location's address, by our name.
    addresses: HashMap<String, Word>,
    /// Registers, by thread and our name, that something uses.
    used: HashSet<(usize, String)>,
    thread: usize,
    temporaries: usize,
}

impl Lowerer<'_> {
    /// Refuses something.
    pub fn refuse(&mut self, place: Place, message: impl Into<String>) {
        self.sink.push(Diagnostic::error(Code::HerdUnsupported, place.span, message));
    }

    fn initial_state(&mut self, raw: &Raw) {
        for (place, value, whole) in &raw.initial {
            match (place, value) {
                (RawPlace::Location(word), RawValue::Number(value)) => {
                    self.location(word);
                    if let Some(known) = self.locations.get_mut(&word.0) {
                        known.0 = *value;
                    }
                }
                (RawPlace::Location(_), RawValue::Address(_)) => {
                    self.refuse(*whole, "an address in memory is not supported");
                }
                (RawPlace::Register(thread, word), value) => {
                    let Some((name, _)) = self.register_of(*thread, word, raw.threads.len()) else {
                        continue;
                    };
                    match value {
                        RawValue::Number(value) => {
                            self.initial.insert(name, *value);
                        }
                        RawValue::Address(location) => {
                            self.location(location);
                            self.addresses.insert(name, location.clone());
                        }
                    }
                }
            }
        }
    }

    /// Makes a location known. Those that nobody declares begin with 0.
    fn location(&mut self, (name, place): &Word) {
        if !self.locations.contains_key(name) {
            if !is_location_name(name) {
                let message = format!("a location of the name `{name}` is not supported");
                self.refuse(*place, message);
            }
            self.locations.insert(name.clone(), (0, *place));
            self.order.push(name.clone());
        }
    }

    /// Our name of a register, and how much of it is meant.
    fn register_of(
        &mut self,
        thread: usize,
        (text, place): &Word,
        threads: usize,
    ) -> Option<(String, Width)> {
        if thread >= threads {
            let message = format!("expected a thread below {threads}, found {thread}");
            self.sink.push(Diagnostic::error(Code::NoSuchThread, place.span, message));
            return None;
        }
        let Some((name, width)) = registers::register(self.architecture, text) else {
            let message = format!("expected a register of x86, found `{text}`");
            let error = Diagnostic::error(Code::UnknownRegister, place.span, message);
            let word = text.trim_start_matches('%');
            let near = nearest(word, registers::names(self.architecture));
            let error = match near {
                Some(near) => error.did_you_mean(near),
                None => error.help("a location is written `[x]` or `(x)`"),
            };
            self.sink.push(error);
            return None;
        };
        if width == Width::Narrow {
            self.refuse(*place, format!("a part of a register, `{text}`, is not supported"));
            return None;
        }
        Some((format!("{PREFIX}{thread}_{name}"), width))
    }

    /// Our name of a register of the thread at hand, which must not hold an address.
    pub fn register(&mut self, word: &Word) -> Option<(String, Width)> {
        let (name, width) = self.register_of(self.thread, word, usize::MAX)?;
        if self.addresses.contains_key(&name) {
            self.refuse(word.1, "an address is supported only between parentheses");
            return None;
        }
        self.used.insert((self.thread, name.clone()));
        Some((name, width))
    }

    /// The location of a memory operand: itself a location, or a register that holds an address.
    pub fn memory(&mut self, word: &Word, width: Option<Width>) -> Option<String> {
        let name = match registers::register(self.architecture, &word.0) {
            Some(_) => {
                let (name, _) = self.register_of(self.thread, word, usize::MAX)?;
                let Some((location, _)) = self.addresses.get(&name).cloned() else {
                    let message = format!(
                        "expected a location, or a register that the initial state gives an address, found `{}`",
                        word.0
                    );
                    self.refuse(word.1, message);
                    return None;
                };
                location
            }
            None => {
                if word.0.starts_with('%') {
                    self.register_of(self.thread, word, usize::MAX)?;
                }
                self.location(word);
                word.0.clone()
            }
        };
        let width = width?;
        let (first, at) = *self.widths.entry(name.clone()).or_insert((width, word.1));
        if first != width {
            let message = format!("accesses of `{name}` of different sizes are not supported");
            let error = Diagnostic::error(Code::HerdUnsupported, word.1.span, message);
            self.sink.push(error.related(at.span, "another size here"));
            return None;
        }
        Some(name)
    }

    /// A register that no instruction names.
    pub fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("t{}_{}", self.thread, self.temporaries)
    }

    /// How wide an instruction is: by the ending of its name, or else by its registers.
    pub fn width(&mut self, instruction: &Instruction, ending: Option<char>) -> Option<Width> {
        let by_ending = match ending {
            Some('b' | 'w') => Some(Width::Narrow),
            Some('l') => Some(Width::Long),
            Some('q') => Some(Width::Quad),
            _ => None,
        };
        let named = instruction.operands.iter().find_map(|operand| match operand {
            Operand::Register(word) => {
                registers::register(self.architecture, &word.0).map(|(_, width)| width)
            }
            _ => None,
        });
        let width = by_ending.or(named).unwrap_or(match self.architecture {
            Architecture::X86 => Width::Long,
            Architecture::X86_64 => Width::Quad,
        });
        if width == Width::Narrow {
            self.refuse(instruction.place, "accesses of one or two bytes are not supported");
            return None;
        }
        Some(width)
    }

    /// The operands, the target last.
    pub fn operands<'i>(&self, instruction: &'i Instruction) -> Vec<&'i Operand> {
        let mut operands: Vec<&Operand> = instruction.operands.iter().collect();
        if self.architecture == Architecture::X86 {
            operands.reverse();
        }
        operands
    }

    /// Registers begin with what the initial state says, or 0.
    fn initialize(&mut self, threads: &mut [Thread]) {
        let mut used: Vec<(usize, String)> = self.used.drain().collect();
        used.sort();
        for (thread, name) in used.into_iter().rev() {
            let initial = self.initial.get(&name).copied();
            let Some(Thread { body, place, .. }) = threads.get_mut(thread) else { continue };
            // Registers begin with 0. A name that nothing but constants are assigned to would be none in our
            // language.
            let own = named(&name, *place);
            let value = match initial.filter(|value| *value != 0) {
                Some(value) => binary(BinaryOp::Add, own, number(value, *place)),
                None if is_register(&body.statements, &name) => continue,
                None => own,
            };
            body.statements.insert(0, assign(&name, value, *place));
        }
    }

    fn declarations(&self, columns: usize, place: Place) -> Vec<DeclarationRow> {
        let declare = |name: &String| {
            let (value, place) = self.locations.get(name).copied().unwrap_or_default();
            build::location(name, value, place)
        };
        let all: Vec<Declaration> = self.order.iter().map(declare).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let mut cells = vec![Vec::new(); columns.max(1)];
        cells[0] = all;
        vec![DeclarationRow { cells: Cells::Columns(cells), place }]
    }

    fn results(&mut self, raw: &Raw) -> Vec<ResultLine> {
        let threads = raw.threads.len();
        let mut observed: Vec<Observed> = Vec::new();
        let mut add = |one: Option<Observed>| {
            if let Some(one) = one
                && observed.iter().all(|known| known.name.text != one.name.text)
            {
                observed.push(one);
            }
        };
        for place in &raw.shown {
            add(self.observed(place, threads));
        }
        let question = raw.question.as_ref().and_then(|question| {
            let mut named = Vec::new();
            let claim = self.claim(&question.condition, threads, &mut named)?;
            named.into_iter().for_each(|one| add(Some(one)));
            Some((question, claim))
        });
        let line = |kind, place| ResultLine { kind, place, end: place };
        let mut results = Vec::new();
        if !observed.is_empty() {
            results.push(line(ResultKind::Observe(observed), raw.end));
        }
        if let Some((question, claim)) = question {
            let kind = match question.quantifier {
                Quantifier::Exists => VerdictKind::Allowed(claim),
                Quantifier::Never => VerdictKind::Forbidden(claim),
                Quantifier::Always => VerdictKind::Always(claim),
            };
            let verdict = Verdict { kind, is_question: true, place: question.place };
            results.push(line(ResultKind::Verdicts(None, vec![verdict]), question.place));
        }
        results
    }

    fn observed(&mut self, (raw, place): &(RawPlace, Place), threads: usize) -> Option<Observed> {
        let text = match raw {
            RawPlace::Location(word) => {
                if registers::register(self.architecture, &word.0).is_some() {
                    self.refuse(*place, format!("expected `THREAD:{0}`, found `{0}`", word.0));
                    return None;
                }
                self.location(word);
                word.0.clone()
            }
            RawPlace::Register(thread, word) => {
                let (name, _) = self.register_of(*thread, word, threads)?;
                if self.addresses.contains_key(&name) {
                    self.refuse(*place, "an address in a condition is not supported");
                    return None;
                }
                self.used.insert((*thread, name.clone()));
                name
            }
        };
        Some(Observed { name: Name { text, place: *place }, copy: None })
    }

    fn claim(
        &mut self,
        condition: &RawCondition,
        threads: usize,
        named: &mut Vec<Observed>,
    ) -> Option<Claim> {
        let mut all = |parts: &[RawCondition]| -> Option<Vec<Claim>> {
            parts.iter().map(|part| self.claim(part, threads, named)).collect()
        };
        Some(match condition {
            RawCondition::Truth(truth) => Claim::Truth(*truth),
            RawCondition::And(parts) => Claim::And(all(parts)?),
            RawCondition::Or(parts) => Claim::Or(all(parts)?),
            RawCondition::Not(inner) => Claim::Not(Box::new(self.claim(inner, threads, named)?)),
            RawCondition::Compare { left, is_equal, right, place } => {
                let RawValue::Number(value) = right else {
                    self.refuse(*place, "an address in a condition is not supported");
                    return None;
                };
                let observed = self.observed(left, threads)?;
                named.push(observed.clone());
                Claim::Compare {
                    op: if *is_equal { BinaryOp::Equal } else { BinaryOp::NotEqual },
                    left: vec![Atom::Observed(observed)],
                    right: vec![Atom::Constant(Constant::Number(*value))],
                    place: *place,
                }
            }
        })
    }
}

/// Whether an assignment shows that a name is a register's.
fn is_register(statements: &[Statement], name: &str) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        StatementKind::Assign { target: Target::Access(access), value, .. } => {
            let is_constant = matches!(value, Value::Expr(Expr { kind: ExprKind::Number(_), .. }));
            access.name.text == name && !is_constant
        }
        StatementKind::If { branches, otherwise } => {
            branches.iter().any(|(_, block)| is_register(&block.statements, name))
                || otherwise.as_ref().is_some_and(|block| is_register(&block.statements, name))
        }
        _ => false,
    })
}

/// `name := value`
pub fn assign(name: &str, value: Expr, place: Place) -> Statement {
    build::assign(access(name, None, place), Via::Plain, value)
}

/// `name := METHOD(location, …)`; without a name, the result is nobody's.
pub fn rmw(
    name: Option<&str>,
    method: Method,
    location: &str,
    values: Vec<Expr>,
    place: Place,
) -> Statement {
    let arguments = std::iter::once(named(location, place)).chain(values);
    let call = build::call(method, arguments, place);
    match name {
        None => build::statement(call),
        Some(name) => build::assign(access(name, None, place), Via::Plain, call),
    }
}

/// `Mfence`
pub fn fence(place: Place) -> Statement {
    build::statement(build::call(Method::Mfence, [], place))
}
