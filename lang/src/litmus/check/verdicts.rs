//! What outcomes show, and what verdicts claim of them.

use rustc_hash::FxHashMap;

use crate::Test;
use crate::diagnostic::{Code, Diagnostic};
use crate::limits;
use crate::outcome::{Claim, Condition, Expectation, Observable, Observed, Operand, Value};
use crate::program::{BinaryOp, LARGEST_WORD, Origin, RegisterId};

use super::super::ast::{self, Atom, Constant, ResultKind, VerdictKind};
use super::super::{models, print};
use super::{Checker, Meaning, arrays, mixed, unsigned};

/// Fills in observables and expectations.
pub fn verdicts(checker: &mut Checker<'_>, test: &mut Test) {
    let mut list = List::new(checker, Vec::new());
    let file = list.checker.file;
    let mut observes = false;
    for line in &file.results {
        if let ResultKind::Observe(names) = &line.kind {
            observes = true;
            for name in names {
                for name in list.words_of(name).unwrap_or_else(|| vec![name.clone()]) {
                    list.index(&name);
                }
            }
        }
    }
    let mut shown = list.observables.len();
    for line in &file.results {
        let ResultKind::Verdicts(model, verdicts) = &line.kind else { continue };
        if let Some(name) = model {
            listed(list.checker, test, name);
        }
        for verdict in verdicts {
            limits::look();
            let Some(claim) = list.verdict(&verdict.kind) else { continue };
            test.expectations.push(Expectation {
                model: model.as_ref().map(|name| name.text.clone()),
                claim,
                is_question: verdict.is_question,
                text: print::verdict_text(verdict),
                span: verdict.place.span,
            });
        }
    }
    if !observes {
        if list.observables.is_empty() {
            list.everything();
        }
        shown = list.observables.len();
    }
    test.observables = list.observables;
    test.shown = shown;
}

/// Reports a verdict on a model that the header does not name: without `--model`, nobody would ask about it.
fn listed(checker: &mut Checker<'_>, test: &Test, name: &ast::Name) {
    if test.lists(&name.text) {
        return;
    }
    let message = format!("expected a model of the header, found `{}`", name.text);
    let listed = test.models.iter().map(String::as_str);
    let error = Diagnostic::error(Code::UnlistedModel, name.place.span, message);
    let stem = name.text.strip_suffix(".cat").filter(|stem| test.lists(stem));
    let error = match checker.sink.suggest(&name.text, listed) {
        _ if let Some(stem) = stem => {
            error.help(format!("write `{stem}`")).replace(name.place.span, stem)
        }
        Some(near) => error.did_you_mean(near),
        None => {
            let written = test.models.iter().map(|name| models::model_as_written(name));
            error.help(format!(
                "verdicts hold for {}; if `{}` is a model (`litmus models` lists the shipped ones), \
                 `model {} {}` in the header adds it",
                test.models.join(", "),
                name.text,
                written.collect::<Vec<_>>().join(" "),
                name.text
            ))
        }
    };
    checker.sink.push(error);
}

/// What outcomes show, and the names that verdicts give it.
pub struct List<'c, 'a> {
    checker: &'c mut Checker<'a>,
    /// What outcomes show so far.
    pub observables: Vec<Observable>,
    indices: FxHashMap<Observed, usize>,
    /// Registers whose values have several words.
    words: FxHashMap<RegisterId, u32>,
}

impl<'c, 'a> List<'c, 'a> {
    /// A list that goes on from what outcomes show already.
    pub fn new(checker: &'c mut Checker<'a>, observables: Vec<Observable>) -> Self {
        let words = mixed::of_registers(&checker.program);
        let indices = observables.iter().enumerate().map(|(index, shown)| (shown.what, index));
        Self { indices: indices.collect(), checker, observables, words }
    }

    fn add(&mut self, name: String, what: Observed) -> usize {
        let next = self.observables.len();
        let index = *self.indices.entry(what).or_insert(next);
        if index == next {
            let words = match what {
                Observed::Register(register) => self.words.get(&register).copied().unwrap_or(1),
                Observed::Location(_) | Observed::Copy(..) => 1,
            };
            self.observables.push(Observable { name, what, words });
        }
        index
    }

    /// Registers, declared locations and fresh ones, each in their order of appearance. A crash leaves no
    /// registers.
    fn everything(&mut self) {
        let program = &self.checker.program;
        let registers = program.registers.iter().enumerate().filter_map(|(index, register)| {
            let what = Observed::Register(RegisterId(index));
            register.name.clone().map(|name| (name, what))
        });
        let of = |origin: Origin| {
            let all = program.locations.iter().enumerate();
            all.filter(move |(_, location)| location.origin == origin).map(|(index, location)| {
                let what = Observed::Location(crate::program::LocationId(index));
                (location.name.clone(), what)
            })
        };
        let registers = registers.filter(|_| program.crash.is_none());
        let all: Vec<_> = registers.chain(of(Origin::Declared)).chain(of(Origin::Fresh)).collect();
        for (name, what) in all {
            self.add(name, what);
        }
    }

    /// The index of an observable; an unknown one is an error.
    fn index(&mut self, observed: &ast::Observed) -> Option<usize> {
        let name = &observed.name;
        let copy = match observed.copy {
            Some(number) => Some(self.checker.node(number)?),
            None => None,
        };
        let what = match self.checker.meaning(name)? {
            Meaning::Register(_) if self.checker.program.crash.is_some() => {
                let message = format!("expected a location, found the register `{}`", name.text);
                let help =
                    "a crash leaves memory only: write the register into a location".to_owned();
                self.checker.error(Code::NotObservable, name.place, message, help);
                return None;
            }
            Meaning::Register(register) if copy.is_none() => Observed::Register(register),
            Meaning::Location(location) => {
                let home = self.checker.location(location).node;
                if copy.is_some_and(|node| node != home) {
                    let message = format!("`{}` is on node {}", name.text, home.0);
                    let error = Diagnostic::error(Code::WrongHomeNode, name.place.span, message);
                    let error = error.help(format!("write `{}`", name.text));
                    let copy = observed.copy.map_or(name.place, |number| number.place).span;
                    let span = name.place.span.to(copy);
                    self.checker.sink.push(error.replace(span, name.text.as_str()));
                    return None;
                }
                Observed::Location(location)
            }
            Meaning::Register(_) => {
                let message =
                    format!("expected a shared variable, found the register `{}`", name.text);
                self.checker.error(Code::NotObservable, name.place, message, String::new());
                return None;
            }
            Meaning::Array(_) => {
                let message = format!("expected one value, found the words of `{}`", name.text);
                let help = format!("`{0}[0]` is one; `{0} = (1, 2)` compares all", name.text);
                self.checker.error(Code::NotObservable, name.place, message, help);
                return None;
            }
            Meaning::Object(index) => {
                let object = &self.checker.program.objects[index];
                let Some(node) = copy.or(object.node) else {
                    let message =
                        format!("expected a node's copy of `{0}`, found `{0}`", name.text);
                    let error = Diagnostic::error(Code::NotObservable, name.place.span, message);
                    let copy = format!("{}@1", name.text);
                    let error = error.help(format!("write `{copy}` for node 1's copy"));
                    self.checker.sink.push(error.replace(name.place.span, copy));
                    return None;
                };
                Observed::Copy(index, node)
            }
        };
        let shown = match (what, copy) {
            (Observed::Copy(..), Some(node)) => format!("{}@{}", name.text, node.0),
            _ => name.text.clone(),
        };
        Some(self.add(shown, what))
    }

    fn verdict(&mut self, kind: &VerdictKind) -> Option<Claim> {
        Some(match kind {
            VerdictKind::Allowed(claim) => Claim::Allowed(self.condition(claim)?),
            VerdictKind::Forbidden(claim) => Claim::Forbidden(self.condition(claim)?),
            VerdictKind::Always(claim) => Claim::Always(self.condition(claim)?),
            VerdictKind::Exactly { outcomes, observed } => {
                let indices: Vec<Option<usize>> =
                    observed.iter().map(|name| self.index(name)).collect();
                let observables: Option<Vec<usize>> = indices.into_iter().collect();
                observables.as_ref()?;
                for (constant, name) in
                    outcomes.iter().flat_map(|(all, _)| all.iter().zip(observed))
                {
                    if let Constant::Words(words) = constant
                        && !self.are_words_of(words, name)
                    {
                        return None;
                    }
                }
                let mut outcomes: Vec<Vec<Value>> =
                    outcomes.iter().map(|(values, _)| values.iter().map(value).collect()).collect();
                outcomes.sort();
                outcomes.dedup();
                Claim::Exactly { observables: observables?, outcomes }
            }
        })
    }

    fn condition(&mut self, claim: &ast::Claim) -> Option<Condition> {
        Some(match claim {
            ast::Claim::Truth(value) => Condition::Constant(*value),
            ast::Claim::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            ast::Claim::And(all) => Condition::And(self.conditions(all)?),
            ast::Claim::Or(all) => Condition::Or(self.conditions(all)?),
            ast::Claim::Compare { op, left, right, place } => {
                let (left, right) = &self.word_by_word(*op, left, right)?;
                let number = |atom: &Atom| match atom {
                    Atom::Constant(Constant::Number(number)) => Some(*number),
                    _ => None,
                };
                for (left, right) in left.iter().zip(right) {
                    let found = unsigned::comparison(*op, number(left), number(right), place.span);
                    found.into_iter().for_each(|warning| self.checker.sink.push(warning));
                }
                let atoms = left.iter().zip(right);
                if !atoms.map(|(left, right)| self.words_fit(left, right)).fold(true, |a, b| a & b)
                {
                    return None;
                }
                let pairs: Vec<_> = left
                    .iter()
                    .zip(right)
                    .map(|(left, right)| (self.operand(left), self.operand(right)))
                    .collect();
                let mut all = Vec::new();
                for (left, right) in pairs {
                    all.push(Condition::Compare(*op, left?, right?));
                }
                match (all.len(), op) {
                    (1, _) => all.pop()?,
                    (_, BinaryOp::NotEqual) => Condition::Or(all),
                    _ => Condition::And(all),
                }
            }
        })
    }

    /// The words of an array.
    fn words_of(&self, name: &ast::Observed) -> Option<Vec<ast::Observed>> {
        let Some(Meaning::Array(array)) = self.checker.meanings.get(&name.name.text) else {
            return None;
        };
        let word = |number| {
            let text = arrays::word_name(&name.name.text, number);
            ast::Observed { name: ast::Name { text, ..name.name.clone() }, ..name.clone() }
        };
        Some((0..self.checker.arrays[*array].words).map(word).collect())
    }

    /// Arrays as their words: `x = (1, 2)` is `(x[0], x[1]) = (1, 2)`.
    fn word_by_word(
        &mut self,
        op: BinaryOp,
        left: &[Atom],
        right: &[Atom],
    ) -> Option<(Vec<Atom>, Vec<Atom>)> {
        let mut sides = (Vec::new(), Vec::new());
        for pair in left.iter().zip(right) {
            let array = |atom: &Atom| match atom {
                Atom::Observed(name) => self.words_of(name).map(|words| (name.clone(), words)),
                _ => None,
            };
            let Some((name, words)) = array(pair.0).or_else(|| array(pair.1)) else {
                sides.0.push(pair.0.clone());
                sides.1.push(pair.1.clone());
                continue;
            };
            if !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
                let message = format!("expected `=` or `≠` for the words of `{}`", name.name.text);
                self.checker.error(Code::TupleOrder, name.name.place, message, String::new());
                return None;
            }
            let split = |atom: &Atom| match atom {
                Atom::Constant(Constant::Words(all)) => {
                    all.iter().map(|one| Atom::Constant(Constant::Number(one.value))).collect()
                }
                other => match array(other) {
                    Some((_, words)) => words.into_iter().map(Atom::Observed).collect(),
                    None => vec![other.clone()],
                },
            };
            let (mine, theirs): (Vec<Atom>, Vec<Atom>) = (split(pair.0), split(pair.1));
            if mine.len() != theirs.len() {
                let count = words.len();
                let message = format!("expected the {count} words of `{}`", name.name.text);
                self.checker.error(Code::TupleLength, name.name.place, message, String::new());
                return None;
            }
            sides.0.extend(mine);
            sides.1.extend(theirs);
        }
        Some(sides)
    }

    /// Whether `(1, 2)` stands opposite to something whose values have two words.
    fn words_fit(&mut self, left: &Atom, right: &Atom) -> bool {
        let (words, other) = match (left, right) {
            (Atom::Constant(Constant::Words(words)), other)
            | (other, Atom::Constant(Constant::Words(words))) => (words, other),
            _ => return true,
        };
        let Atom::Observed(name) = other else {
            let place = words.first().map_or_else(ast::Place::default, |word| word.place);
            let message = format!("expected one value, found {}", words.len());
            self.checker.error(Code::TupleLength, place, message, String::new());
            return false;
        };
        self.are_words_of(words, name)
    }

    fn are_words_of(&mut self, words: &[ast::Number], name: &ast::Observed) -> bool {
        let Some(index) = self.index(name) else { return false };
        if let Some(large) = words.iter().find(|word| word.value >= LARGEST_WORD) {
            let message = format!("expected a word below {LARGEST_WORD}, found {}", large.value);
            self.checker.error(Code::WordTooLarge, large.place, message, String::new());
            return false;
        }
        let wanted = self.observables[index].words as usize;
        if words.len() == wanted {
            return true;
        }
        let (found, name) = (words.len(), &name.name);
        let message = match wanted {
            1 => format!("expected one value of `{}`, found {found}", name.text),
            _ => format!("expected the {wanted} words of `{}`, found {found}", name.text),
        };
        let place = words.first().map_or(name.place, |word| word.place);
        self.checker.error(Code::TupleLength, place, message, String::new());
        false
    }

    /// Conditions; every unknown name in them is reported.
    pub fn conditions(&mut self, claims: &[ast::Claim]) -> Option<Vec<Condition>> {
        let all: Vec<_> = claims.iter().map(|claim| self.condition(claim)).collect();
        all.into_iter().collect()
    }

    fn operand(&mut self, atom: &Atom) -> Option<Operand> {
        match atom {
            Atom::Constant(constant) => Some(Operand::Value(value(constant))),
            Atom::Observed(name) => self.index(name).map(Operand::Observable),
            Atom::Binary(op, left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                Some(Operand::Computed(*op, Box::new(left?), Box::new(right?)))
            }
        }
    }
}

fn value(constant: &Constant) -> Value {
    match constant {
        Constant::Number(value) => Value::Int(*value),
        Constant::Truth(value) => Value::Int(u64::from(*value)),
        Constant::Bottom => Value::Bottom,
        Constant::Undefined => Value::Undefined,
        Constant::Words(words) => {
            // Larger words are an error of their own.
            let digit = |value: u64, word: &ast::Number| {
                value.wrapping_mul(LARGEST_WORD).wrapping_add(word.value)
            };
            Value::Int(words.iter().fold(0, digit))
        }
    }
}
