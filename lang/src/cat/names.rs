//! What to say of a name that means nothing here.

use super::collect::Parts;
use super::model::Base;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::source::{Source, Span};

/// `file:line:column` of a place.
pub(super) fn place(sources: &[Source], file: usize, span: Span) -> String {
    sources.get(file).map_or_else(String::new, |source| {
        let (line, column) = source.line_column(span.start);
        format!("{}:{line}:{column}", source.name)
    })
}

/// The error for a name that nothing before it defines; `visible` are the names that could stand there.
pub(super) fn unknown<'a>(
    name: &str,
    span: Span,
    visible: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let error = Diagnostic::error(Code::UnknownName, span, format!("unknown name `{name}`"));
    let mut known: Vec<&str> = visible.into_iter().collect();
    if let Some((help, instead)) = synonym(name) {
        let error = error.help(help);
        let is_known = known.contains(&instead)
            || Base::ALL.iter().any(|base| base.name() == instead)
            || !instead.starts_with(|c: char| c.is_alphabetic());
        return if is_known && !instead.is_empty() { error.replace(span, instead) } else { error };
    }
    known.extend(Base::ALL.iter().map(|base| base.name()));
    known.sort_unstable();
    match nearest(name, known) {
        Some(known) => error.did_you_mean(known),
        None => error,
    }
}

/// The error for a name that is defined further down.
pub(super) fn too_early(
    name: &str,
    span: Span,
    file: usize,
    parts: &Parts,
    known: (usize, usize),
    sources: &[Source],
) -> Diagnostic {
    let entry = &parts.entries[known.0];
    let definition = entry.name_at(known.1).map_or(span, |name| name.span);
    let message = format!("`{name}` is used before its definition");
    let error = Diagnostic::error(Code::UsedBeforeDefinition, span, message);
    if entry.file == file {
        error.related(definition, "defined here")
    } else {
        error.help(format!("it is defined in {}", place(sources, entry.file, definition)))
    }
}

/// What herd, other papers, or the papers in another notation call something that models here can say, and
/// what to write instead, if one expression says it.
fn synonym(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "fr" | "fre" | "fri" => {
            ("the models here call it `rb`: `let rb = (rf^-1; mo) \\ id`", "rb")
        }
        "co" | "coe" | "coi" | "ws" => {
            ("the models here call it `mo`, and choose it: `exists mo total on …`", "mo")
        }
        "rfe" => ("define it: `let rfe = rf & ext`", "(rf & ext)"),
        "rfi" => ("define it: `let rfi = rf & int`", "(rf & int)"),
        "sb" => ("program order is `po`", "po"),
        "addr" | "data" | "ctrl" | "dep" | "deps" => (
            "dependencies order nothing more: the CPUs here are TSO, whose reads stay before all that follows them",
            "",
        ),
        "po-loc" => ("define it: `let po-loc = po & loc`", "(po & loc)"),
        "sloc" | "same-loc" => ("accesses of one location are related by `loc`", "loc"),
        "sthd" | "same-thread" => ("events of one thread are related by `int`", "int"),
        "sqp" | "same-qp" => {
            ("events of one queue pair are related by `same-queue-pair`", "same-queue-pair")
        }
        "iso" => ("events of one operation are related by `same-op`", "same-op"),
        "E" | "Event" | "SEvent" => ("all events are `_`, no events `0`", "_"),
        "emptyset" => ("all events are `_`, no events `0`", "0"),
        "lR" => ("the stamp of CPU reads is `aCR`", "aCR"),
        "lW" => ("the stamp of CPU writes is `aCW`", "aCW"),
        "nlR" => ("the stamp of NIC local reads is `aNLR`", "aNLR"),
        "nrW" => ("the stamp of NIC remote writes is `aNRW`", "aNRW"),
        "narR" => ("the stamp of NIC atomic remote reads is `aNAR`", "aNAR"),
        "nrR" => ("the stamp of NIC remote reads is `aNRR`", "aNRR"),
        "nlW" => ("the stamp of NIC local writes is `aNLW`", "aNLW"),
        "nF" => ("the stamp of remote fences is `aRF`", "aRF"),
        "F" | "MFENCE" => ("the stamp of CPU fences is `aMF`", "aMF"),
        _ => return None,
    })
}
