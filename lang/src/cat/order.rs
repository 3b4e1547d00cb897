//! An order of the definitions in which each uses earlier ones only.
//!
//! The order of the text would do, were it not for `replace`: it puts a body in the place of an older
//! one, and that body may use what is defined later. No recursion here: a text may hold a chain of
//! as many definitions as it has room for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::collect::Parts;
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Sink;
use crate::source::Span;

/// The indexes of `parts.entries` in such an order; those that a replacement made circular are left out.
pub(super) fn order(parts: &Parts, sink: &mut Sink) -> Vec<usize> {
    let uses: Vec<Vec<(usize, Span)>> =
        (0..parts.entries.len()).map(|entry| used(parts, entry)).collect();
    let mut users = vec![Vec::new(); uses.len()];
    let mut missing = vec![0; uses.len()];
    for (entry, used) in uses.iter().enumerate() {
        missing[entry] = used.len();
        used.iter().for_each(|(used, _)| users[*used].push(entry));
    }
    let place = |entry: usize| Reverse((parts.entries[entry].position, entry));
    let mut ready: BinaryHeap<_> =
        (0..uses.len()).filter(|entry| missing[*entry] == 0).map(place).collect();
    let mut order = Vec::with_capacity(uses.len());
    while let Some(Reverse((_, entry))) = ready.pop() {
        order.push(entry);
        for user in &users[entry] {
            missing[*user] -= 1;
            if missing[*user] == 0 {
                ready.push(place(*user));
            }
        }
    }
    if let Some(entry) = (0..uses.len()).find(|entry| missing[*entry] > 0) {
        report_cycle(parts, &uses, &missing, entry, sink);
    }
    order
}

/// The entries that an entry needs, with the place of a use. Names that it may not use are left to the check.
fn used(parts: &Parts, index: usize) -> Vec<(usize, Span)> {
    let entry = &parts.entries[index];
    let mut used: Vec<(usize, Span)> = Vec::new();
    if let (Some(former), Some(name)) = (entry.former, entry.name_at(0)) {
        // Its type is needed even if its value is not.
        used.push((former, name.span));
    }
    let own = entry.former.and(entry.name_at(0));
    entry.each_use(&mut |name, span| {
        if own.is_some_and(|own| own.text == name) {
            return;
        }
        let Some(&(known, _)) = parts.names.get(name) else { return };
        if known != index && parts.entries[known].position < entry.written {
            used.push((known, span));
        }
    });
    used.sort_unstable();
    used.dedup_by_key(|(known, _)| *known);
    used
}

/// Reports a cycle that is found from an entry that waits for others: each such entry waits for another.
fn report_cycle(
    parts: &Parts,
    uses: &[Vec<(usize, Span)>],
    missing: &[usize],
    start: usize,
    sink: &mut Sink,
) {
    let waits_for = |entry: usize| uses[entry].iter().find(|(used, _)| missing[*used] > 0);
    let mut seen = vec![false; uses.len()];
    let mut at = start;
    // Once an entry is met again, we are on a cycle, and some entry there is a replacement.
    while let Some(&(next, span)) = waits_for(at) {
        let is_known = std::mem::replace(&mut seen[at], true);
        if is_known && parts.entries[at].former.is_some() {
            let name = |index: usize| parts.entries[index].name_at(0).map_or("", |name| &name.text);
            let (replaced, next) = (name(at), name(next));
            let message = format!("the new `{replaced}` depends on itself, through `{next}`");
            let error = Diagnostic::error(Code::CyclicReplacement, span, message);
            let help = format!("under its own name, `{replaced}` means here what it was before");
            sink.push_in(parts.entries[at].file, error.help(help));
            return;
        }
        at = next;
    }
}
