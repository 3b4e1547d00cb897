//! Arrays whose words the program accesses one by one, and requests of several of their words.

use rustc_hash::FxHashSet;

use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Location, LocationId, NodeId, Origin, Program, StmtKind, Words};

use super::super::MOST_WORDS;
use super::super::ast::{
    self, Access, Block, DeclarationKind, Expr, ExprKind, File, Index, Name, Number, StatementKind,
    Target, Value, Via,
};
use super::super::parse::uses::uses;
use super::lower::Lowerer;
use super::{Checker, Meaning};

/// An array. Its words are locations, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its first word.
    pub first: LocationId,
    /// How many words it has.
    pub words: usize,
}

impl Array {
    fn word(self, number: usize) -> LocationId {
        LocationId(self.first.0 + number)
    }
}

/// The name of an array of which `x[1]` is a word.
pub fn of_word(name: &str) -> Option<&str> {
    name.split_once('[').map(|(array, _)| array)
}

/// The name of a word.
pub fn word_name(array: &str, number: usize) -> String {
    format!("{array}[{number}]")
}

/// The arrays whose words the program or a verdict names, and those that whole copies of them are from or
/// to. Others belong to a library, which knows whole values only.
pub fn by_words(file: &File) -> FxHashSet<String> {
    let mut found = FxHashSet::default();
    for one in uses(file) {
        match one.index {
            Some(_) => found.insert(one.name.text.clone()),
            None => of_word(&one.name.text).is_some_and(|array| found.insert(array.to_owned())),
        };
    }
    for observed in file.results.iter().flat_map(ast::ResultLine::names) {
        found.extend(of_word(&observed.name.text).map(str::to_owned));
    }
    let mut copies = Vec::new();
    file.threads.iter().for_each(|thread| whole_copies(&thread.body, &mut copies));
    loop {
        let known = found.len();
        for (to, from) in &copies {
            if found.contains(*to) || found.contains(*from) {
                found.extend([(*to).to_owned(), (*from).to_owned()]);
            }
        }
        if found.len() == known {
            return found;
        }
    }
}

/// The names in puts and gets of all of something.
fn whole_copies<'f>(block: &'f Block, found: &mut Vec<(&'f str, &'f str)>) {
    for statement in &block.statements {
        match &statement.kind {
            StatementKind::Assign {
                target: Target::Access(to),
                value: Value::Expr(value),
                via,
            } => {
                if let ExprKind::Access(from) = &value.kind
                    && to.home.is_own() != from.home.is_own()
                    && !matches!(via, Via::Library(_))
                {
                    let array = |access: &'f Access| {
                        of_word(&access.name.text).unwrap_or(&access.name.text)
                    };
                    found.push((array(to), array(from)));
                }
            }
            StatementKind::If { branches, otherwise } => {
                branches.iter().for_each(|(_, block)| whole_copies(block, found));
                otherwise.iter().for_each(|block| whole_copies(block, found));
            }
            StatementKind::While(_, block) | StatementKind::Loop(block) => {
                whole_copies(block, found);
            }
            _ => {}
        }
    }
}

/// Declares the words of an array.
pub fn declare(
    checker: &mut Checker<'_>,
    name: &Name,
    node: NodeId,
    size: Number,
    initial: &[Number],
) -> Meaning {
    let words = usize::try_from(size.value.min(MOST_WORDS)).unwrap_or(0);
    let first = LocationId(checker.program.locations.len());
    for number in 0..words {
        let value = if let [one] = initial { Some(one) } else { initial.get(number) };
        let word = word_name(&name.text, number);
        let location = checker.add_location(Location {
            name: word.clone(),
            node,
            initial: value.map_or(0, |value| value.value),
            origin: Origin::Declared,
            span: name.place.span,
        });
        checker.introduced.insert(word.clone(), name.place.span);
        checker.meanings.insert(word, Meaning::Location(location));
    }
    checker.arrays.push(Array { first, words });
    Meaning::Array(checker.arrays.len() - 1)
}

/// The arrays of a checked program, by the names of their words.
pub fn of_program(program: &Program) -> Vec<(String, Array)> {
    let mut found: Vec<(String, Array)> = Vec::new();
    for (index, location) in program.locations.iter().enumerate() {
        let Some(name) = of_word(&location.name) else { continue };
        match found.last_mut() {
            Some((last, array)) if last == name => array.words += 1,
            _ => found.push((name.to_owned(), Array { first: LocationId(index), words: 1 })),
        }
    }
    found
}

/// Whether a declaration is of an array of words.
pub fn is_array(checker: &Checker<'_>, name: &Name, kind: &DeclarationKind) -> bool {
    matches!(kind, DeclarationKind::Mixed { .. }) && checker.by_words.contains(&name.text)
}

impl Checker<'_> {
    /// Reports `x[9]`, which nothing is.
    pub fn no_word(&mut self, word: &Name, array: &str) {
        let name = Name { text: array.to_owned(), place: word.place };
        let declaration = || format!("`{array}[4] = 0`");
        let Some(meaning) = self.meaning_or(&name, declaration) else { return };
        match meaning {
            Meaning::Array(array) => {
                let words = self.arrays[array].words;
                self.out_of_range(word, words);
            }
            _ => self.no_array(&name),
        }
    }

    /// Reports an index behind the name of something else.
    pub fn no_array(&mut self, name: &Name) {
        if self.is_new(Code::NotALocation, &name.text) {
            let message = format!("expected an array, found `{}`", name.text);
            let help = format!("declare it above the rule as `{}[4] = 0`", name.text);
            self.error(Code::NotALocation, name.place, message, help);
        }
    }

    fn out_of_range(&mut self, word: &Name, words: usize) {
        let message = format!("expected an index from 0 to {}, found `{}`", words - 1, word.text);
        let help = "words of arrays are numbered from 0".to_owned();
        self.error(Code::IndexOutOfRange, word.place, message, help);
    }

    /// The words that an access to an array, or to a part of it, is to. `None` if it is to something else.
    pub fn words(&mut self, access: &Access) -> Option<Result<Vec<LocationId>, ()>> {
        let Some(Meaning::Array(array)) = self.meanings.get(&access.name.text).copied() else {
            let Some(Index::Part(..)) = access.index.as_deref() else { return None };
            if self.meaning(&access.name).is_some() {
                self.no_array(&access.name);
            }
            return Some(Err(()));
        };
        self.used.insert(access.name.text.clone());
        let array = self.arrays[array];
        let (first, last) = match access.index.as_deref() {
            None => (0, array.words),
            Some(Index::Value(_)) => return None,
            Some(Index::Part(first, last)) => {
                let count = array.words as u64;
                if first.value >= last.value || last.value > count {
                    let message = format!(
                        "expected a part of the {count} words, found `{}..{}`",
                        first.value, last.value
                    );
                    let help = format!(
                        "it begins with the first number and ends before the second: `0..{count}` is all"
                    );
                    self.error(Code::IndexOutOfRange, access.place, message, help);
                    return Some(Err(()));
                }
                let number = |number: Number| usize::try_from(number.value).unwrap_or(0);
                (number(*first), number(*last))
            }
        };
        Some(Ok((first..last).map(|number| array.word(number)).collect()))
    }
}

/// `x := (1, 2)`, `x := 0`: a CPU write of each word, in the order of their numbers.
pub fn write(lowerer: &mut Lowerer<'_, '_>, target: &Access, expr: &Expr) -> Option<()> {
    let words = lowerer.checker.words(target)?.ok()?;
    for location in &words {
        lowerer.own(target, *location)?;
    }
    let values = match &expr.kind {
        ExprKind::Tuple(all) if all.len() != words.len() => {
            let message = format!("expected {} words, found {}", words.len(), all.len());
            return lowerer.fail(Code::WrongWords, expr.place, message, "");
        }
        ExprKind::Tuple(all) => {
            let values = all.iter().map(|word| lowerer.expression(word));
            values.collect::<Option<Vec<_>>>()?
        }
        _ => vec![lowerer.expression(expr)?; words.len()],
    };
    for (location, value) in words.into_iter().zip(values) {
        lowerer.push(StmtKind::Write { location, value });
    }
    Some(())
}

/// A put or get of several words: `x^2 := y`, `y[0..2] := x[2..4]^2`. `None` if neither side is an array or
/// a part of one.
pub fn copy(
    lowerer: &mut Lowerer<'_, '_>,
    far: &Access,
    near: &Expr,
    id: Option<&Name>,
    is_put: bool,
) -> Option<Option<()>> {
    let near = match &near.kind {
        ExprKind::Access(near) => Some(near),
        _ => None,
    };
    let remote = lowerer.checker.words(far);
    let local = near.and_then(|near| lowerer.checker.words(near));
    if remote.is_none() && local.is_none() {
        return None;
    }
    let Some(near) = near else {
        let message = "expected an array of the thread's own node, found a value";
        let help = "a request of several words copies an array, or a part of one";
        return Some(lowerer.fail(Code::PutSourceRemote, far.place, message, help));
    };
    Some(copied(lowerer, (far, remote), (near, local), id, is_put))
}

type End<'a> = (&'a Access, Option<Result<Vec<LocationId>, ()>>);

fn copied(
    lowerer: &mut Lowerer<'_, '_>,
    (far, remote): End<'_>,
    (near, local): End<'_>,
    id: Option<&Name>,
    is_put: bool,
) -> Option<()> {
    let queue_pair = lowerer.queue_pair(far)?;
    let remote = match remote {
        Some(words) => words.ok()?,
        None => vec![lowerer.remote(far)?],
    };
    let code = if is_put { Code::PutSourceRemote } else { Code::GetTargetRemote };
    let local = match local {
        Some(words) => words.ok()?,
        None => vec![lowerer.result(&Target::Access(near.clone()), code)?],
    };
    lowerer.remote_home(far, *remote.first()?)?;
    let home = lowerer.checker.location(*local.first()?).node;
    if !near.home.is_own() || home != lowerer.node {
        let (node, name) = (lowerer.node.0, &near.name.text);
        let message =
            format!("expected an array of node {node}, found `{name}` of node {}", home.0);
        let help = "one end of a request is on the thread's own node";
        return lowerer.fail(code, near.place, message, help);
    }
    if remote.len() != local.len() {
        let (wanted, found) =
            if is_put { (remote.len(), local.len()) } else { (local.len(), remote.len()) };
        let message = match wanted {
            1 => format!("expected one word, found {found}"),
            _ => format!("expected {wanted} words, found {found}"),
        };
        let place = if is_put { near.place } else { far.place };
        let help = "a part of an array is written `x[0..2]`";
        return lowerer.fail(Code::WrongWords, place, message, help);
    }
    let id = lowerer.id(id);
    lowerer.push(StmtKind::Words(Words { is_put, local, remote, id, queue_pair }));
    Some(())
}

impl Lowerer<'_, '_> {
    /// Reports `x[0..2] := …` and other places where a part of an array means nothing.
    pub fn several_words<T>(&mut self, access: &Access) -> Option<T> {
        let message = format!("expected one word, found several of `{}`", access.name.text);
        let error = Diagnostic::error(Code::WrongWords, access.place.span, message);
        let help = format!("`{}[0]` is one; a put or get copies several", access.name.text);
        self.checker.sink.push(error.help(help));
        None
    }
}
