//! Shows repairs, and what may go.

use model::repair::{Costs, Rejected, Removable, Repaired, Repairs, Weakened};
use similar::TextDiff;

use super::{Found, OfModels};
use crate::sink::Status;
use crate::table::count;

/// How to show.
pub struct Shown<'a> {
    /// What changes cost.
    pub costs: &'a Costs,
    /// Diffs, not programs.
    pub diff: bool,
    /// All programs, not only the first.
    pub verbose: bool,
    /// Only what is wrong, with the cheapest repair in words.
    pub quiet: bool,
}

/// The repairs with their costs, the cheapest first.
pub fn sorted<'a>(answer: &'a Repairs, costs: &Costs) -> Vec<(u64, &'a Repaired)> {
    let repairs = answer.repairs.iter();
    let mut sorted: Vec<_> = repairs.map(|repair| (costs.of(&repair.kinds), repair)).collect();
    sorted.sort_by_key(|(cost, repair)| (*cost, repair.kinds.len()));
    sorted
}

/// What may go with its cost, the dearest first.
pub fn by_gain<'a>(weakened: &'a Weakened, costs: &Costs) -> Vec<(u64, &'a Removable)> {
    let sets = weakened.sets.iter();
    let mut sorted: Vec<_> = sets.map(|set| (costs.of(&set.kinds), set)).collect();
    sorted.sort_by_key(|(gain, set)| std::cmp::Reverse((*gain, set.kinds.len())));
    sorted
}

impl OfModels {
    pub(super) fn status(&self) -> Status {
        match &self.found {
            Found::Repairs { answer, .. } => match () {
                () if !answer.hopeless.is_empty() => Status::Bad,
                () if answer.is_right || !answer.repairs.is_empty() => Status::Good,
                () if !answer.open.is_empty() => Status::Open,
                () => Status::Bad,
            },
            Found::Weakened(weakened) if !weakened.open.is_empty() => Status::Open,
            Found::Weakened(weakened) if weakened.is_right => Status::Good,
            Found::Weakened(_) => Status::Bad,
        }
    }

    pub(super) fn diff(&self, text: &str) -> String {
        let diff = TextDiff::from_lines(&self.normal[..], text);
        diff.unified_diff().context_radius(3).header(&self.file, &self.file).to_string()
    }

    pub(super) fn text(&self, shown: &Shown<'_>) -> String {
        if shown.quiet && self.says_nothing_wrong() {
            return String::new();
        }
        let mut text = format!("{}  {}: ", self.test, self.models.join(", "));
        match &self.found {
            Found::Repairs { answer, size, claims, neighbors } => {
                self.repairs_text(answer, *size, *claims, shown, &mut text);
                text.push_str(if neighbors.is_empty() { "" } else { "\n" });
                neighbors.iter().for_each(|one| text.push_str(&neighbor(one)));
            }
            Found::Weakened(weakened) => self.weakened_text(weakened, shown, &mut text),
        }
        text
    }

    fn says_nothing_wrong(&self) -> bool {
        match &self.found {
            Found::Repairs { answer, .. } => answer.is_right,
            Found::Weakened(_) => self.status() == Status::Good,
        }
    }

    fn repairs_text(
        &self,
        answer: &Repairs,
        size: usize,
        claims: bool,
        shown: &Shown<'_>,
        text: &mut String,
    ) {
        let Repairs { repairs, is_right, hopeless, open, candidates, asked, larger } = answer;
        let bound = format!("of up to {}", count(size, "change"));
        text.push_str(&match (*is_right, repairs.is_empty(), *larger) {
            (true, _, _) if !claims => {
                "nothing to repair: the file claims nothing; say what to forbid with --forbid"
                    .to_owned()
            }
            (true, _, _) => "nothing to repair: no outcome that must not be is allowed".to_owned(),
            (_, true, _) if !open.is_empty() => "not decided".to_owned(),
            (_, true, _) if !hopeless.is_empty() => "no repair".to_owned(),
            (_, true, Some(larger)) => {
                format!("no repair {bound}; there is one of {}", count(larger, "change"))
            }
            (_, true, _) if self.waits_differ => format!(
                "no repair {bound}: every candidate was refuted; these models share neither \
                 `Poll` nor `Wait`, so try each with its own --model"
            ),
            (_, true, _) if *candidates == 0 => {
                "no repair: there is no place for a wait or fence, and no statement to change"
                    .to_owned()
            }
            (_, true, _) => format!("no repair {bound}: every candidate was refuted"),
            (_, false, _) => format!("{} {bound}", count(repairs.len(), "minimal repair")),
        });
        text.push('\n');
        for what in hopeless {
            text.push_str(&format!(
                "  `{what}` is claimed to be allowed and is forbidden: no synchronization helps\n"
            ));
        }
        open.iter().for_each(|why| text.push_str(&format!("  not decided: {why}\n")));
        let told = if shown.quiet { 1 } else { usize::MAX };
        for (index, (cost, repair)) in
            sorted(answer, shown.costs).into_iter().take(told).enumerate()
        {
            let alike = match repair.alike.len() {
                0 => String::new(),
                more => format!(", and {more} alike"),
            };
            text.push_str(&format!("\n  {}. cost {cost}{alike}\n", index + 1));
            repair.changes.iter().for_each(|change| text.push_str(&format!("     {change}\n")));
            for alike in repair.alike.iter().filter(|_| shown.verbose) {
                text.push_str(&format!("     alike: {}\n", alike.changes.join("; ")));
            }
            if (index == 0 && !shown.quiet) || shown.verbose {
                self.program(&repair.text, &repair.why, shown, text);
            }
        }
        if shown.verbose {
            text.push_str(&format!("  {candidates} candidates, {asked} programs asked about\n"));
        }
    }

    fn weakened_text(&self, weakened: &Weakened, shown: &Shown<'_>, text: &mut String) {
        let Weakened { is_right, forbids, sets, needed, open, candidates, kept, asked } = weakened;
        let most = sets.iter().map(|set| set.removed.len()).max().unwrap_or_default();
        text.push_str(&match () {
            () if !is_right && !open.is_empty() => "not decided".to_owned(),
            () if !is_right => "its verdicts do not hold, so nothing is said of what they need; \
                 `litmus repair` without --weaken says what is missing"
                .to_owned(),
            () if !forbids => {
                "the file forbids nothing, so nothing is needed; say what must not be with --forbid"
                    .to_owned()
            }
            () if *candidates == 0 => "it has no wait or fence that could go".to_owned(),
            () if sets.is_empty() && open.is_empty() => {
                format!("nothing may go of {}", count(*candidates, "statement"))
            }
            () if sets.is_empty() => "not decided".to_owned(),
            () => format!("{most} of {} may go", count(*candidates, "statement")),
        });
        if *kept > 0 {
            text.push_str(&format!("; {} marked `keep` not tried", count(*kept, "statement")));
        }
        text.push('\n');
        open.iter().for_each(|why| text.push_str(&format!("  not decided: {why}\n")));
        for (index, (gain, set)) in by_gain(weakened, shown.costs).into_iter().enumerate() {
            text.push_str(&format!("\n  {}. may go, which saves {gain}\n", index + 1));
            set.removed.iter().for_each(|one| text.push_str(&format!("     {one}\n")));
            if index == 0 || shown.verbose {
                self.program(&set.text, "", shown, text);
            }
        }
        if !sets.is_empty() && !needed.is_empty() {
            text.push('\n');
        }
        for needed in needed {
            let (needs, without) = match &needed.statements[..] {
                [one] => (format!("{one} is needed"), "without it"),
                several => (format!("one of {} is needed", several.join(", ")), "without them"),
            };
            let model::repair::Needed { outcome, model, .. } = needed;
            text.push_str(&format!("  {needs}: {without}, {model} allows `{outcome}`\n"));
        }
        if shown.verbose {
            text.push_str(&format!("  {candidates} candidates, {asked} programs asked about\n"));
        }
    }

    /// A changed program or its diff, and what else is to be said of it.
    fn program(&self, program: &str, why: &str, shown: &Shown<'_>, text: &mut String) {
        let program = if shown.diff { &self.diff(program) } else { program };
        text.push('\n');
        let parts = [program, why].into_iter().filter(|part| !part.is_empty());
        for line in parts.flat_map(|part| part.lines().chain([""])) {
            text.push_str(format!("     {line}").trim_end());
            text.push('\n');
        }
    }
}

fn neighbor(rejected: &Rejected) -> String {
    let why = match &rejected.allows {
        Some((outcome, model)) => format!("{model} still allows `{outcome}`"),
        None => "what must stay is lost: an outcome that is claimed to be allowed, or the end of the program".to_owned(),
    };
    format!("  not a repair: {}\n     {why}\n", rejected.changes.join("; "))
}
