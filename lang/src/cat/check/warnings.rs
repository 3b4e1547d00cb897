//! What has a meaning, but probably not the intended one.

use super::super::collect::Parts;
use crate::cat::model::{UNDEFINED_READS, UNDEFINED_WRITES};
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Sink;
use crate::source::{Source, Span};

/// Warnings about the model's own file; what it includes may hold more than it needs.
/// `has_mo` says whether there is a relation `mo`.
pub(super) fn warn(parts: &Parts, has_mo: bool, sources: &[Source], sink: &mut Sink) {
    let used = used(parts);
    for (index, entry) in parts.entries.iter().enumerate() {
        if let (0, false, Some(name)) = (entry.file, used[index], entry.name_at(0)) {
            let message = format!("no axiom depends on `{}`", name.text);
            sink.push_in(0, Diagnostic::warning(Code::UnusedDefinition, name.span, message));
        }
    }
    let end = sources.first().map_or(0, |source| source.text.trim_end().len());
    let end = Span::new(end, end);
    if parts.calls.is_empty() {
        let warning = Diagnostic::warning(Code::NoCalls, end, "this model defines no statement")
            .help("name those that programs may use: `calls Write Read …`");
        sink.push_in(0, warning);
    }
    if parts.axioms.is_empty() {
        let message = "this model has no axiom: it allows everything";
        sink.push_in(0, Diagnostic::warning(Code::NoAxioms, end, message));
    }
    if !has_mo {
        let warning = Diagnostic::warning(Code::NoMo, end, "this model has no relation `mo`")
            .help("the final value of a location is that of its last write in `mo`");
        sink.push_in(0, warning);
    }
}

/// For each entry, whether an axiom or a name that engines look up depends on it.
fn used(parts: &Parts) -> Vec<bool> {
    let mut used = vec![false; parts.entries.len()];
    let looked_up = ["mo", UNDEFINED_READS, UNDEFINED_WRITES].iter();
    let mut open: Vec<usize> =
        looked_up.filter_map(|name| parts.names.get(*name)).map(|(index, _)| *index).collect();
    let mention = |name: &str, open: &mut Vec<usize>| {
        if let Some((index, _)) = parts.names.get(name) {
            open.push(*index);
        }
    };
    for axiom in &parts.axioms {
        axiom.body.each_name(&mut |name, _| mention(name, &mut open));
    }
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut used[index], true) {
            let entry = &parts.entries[index];
            open.extend(entry.former);
            entry.each_use(&mut |name, _| mention(name, &mut open));
        }
    }
    used
}
