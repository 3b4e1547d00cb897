//! `1:r`: a register named with its thread, as herd names them.
//!
//! A name belongs to one thread of a file, so `r` says as much. The thread is looked at here, where it is
//! still known, and is not kept. Threads count from 1, or from 0 if that is so of all that the file names.

use super::super::ast::{File, Name, Number};
use super::super::check::assigned;
use super::Context;
use super::implied::declared;
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Sink;

/// Reports each register of a file that is named with a thread that does not own it.
pub fn check(context: &mut Context<'_>, file: &File) {
    let mut owned = std::mem::take(&mut context.owned);
    if owned.is_empty() {
        return;
    }
    let owners = assigned(file);
    // What no thread assigns and nobody declares is an error of its own, also where the row that assigns it
    // cannot be read.
    owned.retain(|(_, Name { text, .. })| {
        owners.contains_key(text.as_str()) || declared(file, text).is_some()
    });
    check_owners(context.sink, &owned, |name| owners.get(name.text.as_str()).copied());
}

/// The same, with the index of the thread that owns a name.
pub fn check_owners(
    sink: &mut Sink,
    owned: &[(Number, Name)],
    owner: impl Fn(&Name) -> Option<usize>,
) {
    let known = || owned.iter().filter_map(|(number, name)| Some((number, owner(name)?)));
    let from_1 = known().all(|(number, owner)| number.value == owner as u64 + 1);
    let from_0 = !from_1 && known().all(|(number, owner)| number.value == owner as u64);
    for (number, name) in owned {
        let place = number.place.span.to(name.place.span);
        let Some(owner) = owner(name) else {
            let message = format!("expected a register of a thread, found `{}`", name.text);
            let error = Diagnostic::error(Code::WrongThread, place, message);
            let error = error.help(format!("a location is written `{}`", name.text));
            sink.push(error.replace(place, name.text.as_str()));
            continue;
        };
        if number.value != owner as u64 + u64::from(!from_0) {
            let message = format!("`{}` is a register of thread {}", name.text, owner + 1);
            let error = Diagnostic::error(Code::WrongThread, number.place.span, message);
            let help =
                format!("write `{0}` or `{1}:{0}`; threads count from 1", name.text, owner + 1);
            sink.push(error.help(help).replace(place, name.text.as_str()));
        }
    }
}
