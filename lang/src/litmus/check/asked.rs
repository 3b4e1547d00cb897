//! What is asked about a checked test, in the language of verdicts.

use rustc_hash::FxHashMap;

use crate::Test;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::herd;
use crate::library::Words;
use crate::outcome::{Asked, Condition};
use crate::program::{LocationId, Origin, Program, RegisterId};

use super::super::ast::{self, Claim, File, Name, Number};
use super::super::{parse, print};
use super::verdicts::List;
use super::{Checker, Meaning, arrays};
use crate::front::Sink;

/// Resolves the names of claims that all hold. What outcomes of the test do not show yet, they show from now
/// on, last.
pub fn asked(
    parse::Question { mut claims, owned }: parse::Question,
    test: &mut Test,
    sink: &mut Sink,
) -> Option<Asked> {
    let meanings = meanings(&test.program);
    let owned = herd_names(&mut claims, &owned, &meanings);
    known(&mut claims, test, &meanings, sink);
    let register = |name: &Name| match meanings.get(&name.text) {
        Some(Meaning::Register(register)) => Some(test.program.registers[register.0].thread.0),
        _ => None,
    };
    let is_known = |(_, name): &&(Number, Name)| meanings.contains_key(&name.text);
    let owned: Vec<_> = owned.iter().filter(is_known).cloned().collect();
    parse::check_owners(sink, &owned, register);
    if sink.has_errors() {
        return None;
    }
    let file = File::default();
    let mut checker = Checker::new(&file, Words::default(), sink);
    checker.program = test.program.clone();
    checker.arrays = arrays::of_program(&checker.program).into_iter().map(|(_, one)| one).collect();
    checker.meanings = meanings;
    let mut list = List::new(&mut checker, std::mem::take(&mut test.observables));
    let conditions = list.conditions(&claims);
    test.observables = list.observables;
    let text = claims.iter().map(print::claim).collect::<Vec<_>>().join(", ");
    let condition = match conditions? {
        mut one if one.len() == 1 => one.pop()?,
        all => Condition::And(all),
    };
    (!sink.has_errors()).then_some(Asked { condition, text })
}

/// The names of a program; registers that come from a file of herd's also under the names that they have
/// there.
fn meanings(program: &Program) -> FxHashMap<String, Meaning> {
    let mut meanings = FxHashMap::default();
    for (index, object) in program.objects.iter().enumerate() {
        meanings.insert(object.name.clone(), Meaning::Object(index));
    }
    for (index, location) in program.locations.iter().enumerate() {
        if location.origin != Origin::Unnamed {
            meanings.insert(location.name.clone(), Meaning::Location(LocationId(index)));
        }
    }
    for (index, (name, _)) in arrays::of_program(program).into_iter().enumerate() {
        meanings.insert(name, Meaning::Array(index));
    }
    for (index, register) in program.registers.iter().enumerate() {
        let Some(name) = &register.name else { continue };
        for name in [herd::shown_name(name), name.clone()] {
            meanings.insert(name, Meaning::Register(RegisterId(index)));
        }
    }
    meanings
}

/// What an outcome of a test can show, for people.
fn names(test: &Test) -> Vec<String> {
    let Program { registers, locations, .. } = &test.program;
    let registers = registers.iter().filter_map(|one| Some(herd::shown_name(one.name.as_ref()?)));
    let locations = locations.iter().filter(|one| one.origin != Origin::Unnamed);
    let shown = test.observables.iter().map(|shown| shown.name.clone());
    let mut names: Vec<String> = Vec::new();
    for name in shown.chain(registers).chain(locations.map(|one| one.name.clone())) {
        if !names.contains(&name) && names.len() < 20 {
            names.push(name);
        }
    }
    names
}

/// Gives `0:rax` the name of a register of herd's; the names that are left are ours.
fn herd_names(
    claims: &mut [Claim],
    owned: &[(Number, Name)],
    meanings: &FxHashMap<String, Meaning>,
) -> Vec<(Number, Name)> {
    let herd_name = |(number, name): &(Number, Name)| format!("{}:{}", number.value, name.text);
    let is_herds = |one: &&(Number, Name)| {
        !meanings.contains_key(&one.1.text) && meanings.contains_key(&herd_name(one))
    };
    let (herds, ours): (Vec<_>, Vec<_>) = owned.iter().partition(is_herds);
    let mut rename = |observed: &mut ast::Observed| {
        let place = observed.name.place.span;
        if let Some(one) = herds.iter().find(|(_, name)| name.place.span == place) {
            observed.name.text = herd_name(one);
        }
    };
    claims.iter_mut().for_each(|claim| claim.each_name(&mut rename));
    ours.into_iter().cloned().collect()
}

/// Reports names that the test does not have.
fn known(
    claims: &mut [Claim],
    test: &Test,
    meanings: &FxHashMap<String, Meaning>,
    sink: &mut Sink,
) {
    let mut look = |observed: &mut ast::Observed| {
        let Name { text, place } = &observed.name;
        if meanings.contains_key(text) {
            return;
        }
        let message = format!("expected a register or a location of the test, found `{text}`");
        let error = Diagnostic::error(Code::UndeclaredName, place.span, message);
        sink.push(match nearest(text, meanings.keys().map(String::as_str)) {
            Some(near) => error.did_you_mean(near),
            None => error.help(format!("the test has {}", names(test).join(", "))),
        });
    };
    claims.iter_mut().for_each(|claim| claim.each_name(&mut look));
}
