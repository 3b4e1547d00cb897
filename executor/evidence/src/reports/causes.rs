//! What violations have in common: an order that is lost, or that none explains them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::data::{Cause, Nature};
use super::findings::FoundViolation;

/// What distinguishes causes: the record, the kind of violation, and what is lost in words.
type Key = (usize, Nature, String);

/// Groups the violations, and tells each its group. Findings are sorted by the size of their programs.
pub fn causes(found: &mut [FoundViolation]) -> Vec<Cause> {
    let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (index, one) in found.iter().enumerate() {
        let finding = &one.finding;
        // The first loss is the one that explains most.
        let lost = finding.lost.first().map_or(String::new(), |lost| lost.meaning.clone());
        groups.entry((finding.run, finding.nature, lost)).or_default().push(index);
    }
    let mut causes: Vec<(Cause, Vec<usize>)> =
        groups.into_iter().map(|(key, members)| (cause(key, &members, found), members)).collect();
    // What may be the harness's fault is apart from what is the machine's, and what nobody explains comes
    // last.
    causes.sort_by_key(|(cause, _)| {
        let open = !cause.is_explained;
        (cause.run, cause.nature, open, Reverse(cause.programs.len()), cause.words.clone())
    });
    for (number, (_, members)) in causes.iter().enumerate() {
        members.iter().for_each(|index| found[*index].finding.cause = number);
    }
    causes.into_iter().map(|(cause, _)| cause).collect()
}

fn cause((run, nature, lost): Key, members: &[usize], found: &[FoundViolation]) -> Cause {
    let findings = || members.iter().map(|index| &found[*index].finding);
    let mut programs: Vec<usize> = Vec::new();
    for finding in findings() {
        if !programs.contains(&finding.program) {
            programs.push(finding.program);
        }
    }
    let names: BTreeSet<&str> = findings()
        .filter_map(|finding| finding.lost.first())
        .map(|lost| lost.name.as_str())
        .collect();
    let outcomes = |holds: &dyn Fn(bool) -> bool| {
        let some = findings().filter(|finding| holds(finding.is_known));
        some.map(|finding| (finding.program, finding.outcome.as_str())).collect::<BTreeSet<_>>()
    };
    let is_explained = !lost.is_empty();
    let words = match nature {
        Nature::Weaker if is_explained => lost,
        Nature::Weaker if members.iter().any(|index| found[*index].is_undecided) => {
            "it is not known which orders of the models explain these: a limit was reached".to_owned()
        }
        Nature::Weaker => "no few orders of the models explain these".to_owned(),
        Nature::Library => "the model allows these of the library's implementation, and the library's specification does not: `litmus refine` is about that".to_owned(),
        Nature::Impossible => "no execution of the program gives these values, whatever the memory model: look for a fault of the harness (a word that was not reset, or read too early), or for an atomic operation that was not one".to_owned(),
    };
    let rates = || findings().map(|finding| finding.rate.rate);
    Cause {
        run,
        names: names.into_iter().map(str::to_owned).collect(),
        words,
        nature,
        is_explained,
        programs,
        outcomes: outcomes(&|_| true).len(),
        known: outcomes(&|is_known| is_known).difference(&outcomes(&|is_known| !is_known)).count(),
        lowest: rates().fold(f64::INFINITY, f64::min),
        highest: rates().fold(0.0, f64::max),
    }
}
