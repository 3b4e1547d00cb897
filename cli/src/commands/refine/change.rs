//! `litmus refine --repair` and `--weaken`: what an implementation lacks, and what it does not need.

use std::sync::Arc;

use model::refine::{Bounds, Changes, Changing, Client, Needed, Wrong};
use serde_json::{Value as Json, json};

use super::{Arguments, Prepared, load};
use crate::exit::Exit;
use crate::interrupt::stop_on_signal;
use crate::options::Format;
use crate::table::count;
use crate::terminal::Terminal;

/// How many additions a repair has at most, unless another number is given.
const ADDITIONS: u8 = 2;

/// Looks for changes.
pub fn run(
    arguments: &Arguments,
    prepared: &Prepared<'_>,
    families: &[Bounds],
    clients: &[Client],
    terminal: &mut Terminal,
) -> Exit {
    let stop = stop_on_signal();
    let options = || arguments.options(&Arc::clone(&stop));
    let Prepared { libraries, library, other, base, .. } = prepared;
    let changing = Changing {
        libraries,
        library,
        implementation: other.as_ref().unwrap_or(library),
        base,
        load: &load,
        clients,
        options: &options,
    };
    let size = usize::from(arguments.additions.unwrap_or(ADDITIONS));
    let changes = if arguments.weaken { changing.weaken() } else { changing.repair(size) };
    let up_to = Bounds::describe(families, library);
    let shown = Shown { name: &library.name, up_to: &up_to, size, changes: &changes };
    let text = match (arguments.format.format, arguments.weaken) {
        (Format::Json, _) => format!("{}\n", shown.json(arguments.weaken)),
        (Format::Table, true) => shown.weakened(),
        (Format::Table, false) => shown.repairs(),
    };
    terminal.out(&text);
    match () {
        () if !changes.open.is_empty() => Exit::Unknown,
        () if changes.is_sound || !arguments.weaken && !changes.sets.is_empty() => Exit::Fine,
        () => Exit::Violation,
    }
}

struct Shown<'a> {
    name: &'a str,
    /// The bounds in words.
    up_to: &'a str,
    size: usize,
    changes: &'a Changes,
}

impl Shown<'_> {
    fn weakened(&self) -> String {
        let Self { name, up_to, changes, .. } = self;
        let Changes { is_sound, sets, needed, open, candidates, .. } = changes;
        let of = count(*candidates, "statement");
        let that_wait =
            if *candidates == 1 { "that waits or fences" } else { "that wait or fence" };
        let most = sets.iter().map(|set| set.changes.len()).max().unwrap_or_default();
        let found = match () {
            () if !is_sound && open.is_empty() => {
                "it is not sound, so nothing is said of what it needs; --repair says what is missing"
                    .to_owned()
            }
            () if !is_sound => "not decided".to_owned(),
            () if *candidates == 0 => "no statement waits or fences".to_owned(),
            () if sets.is_empty() && !open.is_empty() => "not decided".to_owned(),
            () if sets.is_empty() => format!("nothing may go of {of} {that_wait}"),
            () => format!("{most} of {of} {that_wait} may go"),
        };
        let mut out = format!("{name}: {found}\n  up to {up_to}\n");
        self.open(&mut out);
        for (index, set) in sets.iter().enumerate() {
            out.push_str(&format!(
                "\n  {}. may go, and it stays sound for these clients\n",
                index + 1
            ));
            set.changes.iter().for_each(|one| out.push_str(&format!("     {one}\n")));
        }
        for Needed { statements, without } in needed {
            let (needs, without_it) = match &statements[..] {
                [one] => (format!("{one} is needed"), "without it"),
                several => (format!("one of {} is needed", several.join(", ")), "without them"),
            };
            let what = match without.wrong {
                Wrong::Outcome => "this client shows what it should not",
                Wrong::History => "this client has a history that is not linearizable",
                Wrong::Stuck => "this client does not end",
                Wrong::Misuse => "this client misuses a lower library",
            };
            out.push_str(&format!("\n  {needs}: {without_it}, {what}\n\n"));
            for line in without.program.trim_end().lines() {
                out.push_str(format!("     {line}").trim_end());
                out.push('\n');
            }
        }
        out
    }

    fn repairs(&self) -> String {
        let Self { name, up_to, size, changes } = self;
        let Changes { is_sound, sets, open, candidates, .. } = changes;
        let bound = format!("of up to {}", count(*size, "addition"));
        let found = match () {
            () if *is_sound => "nothing to repair".to_owned(),
            () if !sets.is_empty() => format!("{} {bound}", count(sets.len(), "minimal repair")),
            () if !open.is_empty() => "not decided".to_owned(),
            () => format!("no repair {bound}: each set of {candidates} additions was refuted"),
        };
        let mut out = format!("{name}: {found}\n  up to {up_to}\n");
        self.open(&mut out);
        for (index, set) in sets.iter().enumerate() {
            out.push_str(&format!("\n  {}.\n", index + 1));
            set.changes.iter().for_each(|one| out.push_str(&format!("     {one}\n")));
        }
        out
    }

    fn open(&self, out: &mut String) {
        self.changes.open.iter().for_each(|why| out.push_str(&format!("  not decided: {why}\n")));
    }

    fn json(&self, weaken: bool) -> Json {
        let Self { name, up_to, size, changes } = self;
        let Changes { is_sound, sets, needed, open, candidates, asked } = changes;
        let sets = sets.iter().map(|set| json!({ "changes": set.changes, "library": set.text }));
        let needed = needed.iter().map(|Needed { statements, without }| {
            let (wrong, client) = (without.wrong.name(), &without.program);
            json!({ "one_of": statements, "else": wrong, "client": client })
        });
        let mut json = json!({
            "schema": "litmus-refine-changes/1", "library": name, "up_to": up_to, "sound": is_sound,
            "complete": open.is_empty(), "undecided": open, "candidates": candidates, "asked": asked,
        });
        if weaken {
            json["may_go"] = sets.collect();
            json["needed"] = needed.collect();
        } else {
            json["size"] = json!(size);
            json["repairs"] = sets.collect();
        }
        json
    }
}
