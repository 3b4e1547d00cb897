//! All minimal sets of changes after which a program is as wanted.
//!
//! What is added to a program only takes outcomes away. So a set of additions that does not help is made as
//! large as it can be without helping; a repair has one of the additions that are not in it. The smallest
//! sets that have one of each of these are asked next (as in Reiter's hitting sets). Other changes may allow
//! more, so each set of them is a base of its own, which is tried with all additions: a rewriting, and what
//! leaves a completion that a Poll may take. All questions about a base are put to one solver session
//! (`together`). A flush with its polls may make the program wait for ever; then
//! it is tried with fewer, and with polls beside it.

use std::collections::BTreeSet;

use super::ask::{Asking, Helps};
use super::edits::{Edit, Sizes, completing, has_double, is_without_get, polls_alone, sized};
use super::together::{Beyond, Program, Together};

type Set = BTreeSet<usize>;

/// The most bases of one search. If there are more, only those with fewer changes are tried; the result says
/// so.
const BASES: usize = 256;
/// The most sets of changes that are tried where a flush with its polls makes the program wait for ever.
const BESIDE: usize = 256;
/// The most numbers of polls that are tried of the flushes of a set.
const SIZES: usize = 64;

/// The minimal sets of changes, by their indices, and the fewest changes of one with more of them, if the
/// search came upon one. A set has at most one rewriting.
pub fn minimal(edits: &[Edit], size: usize, asking: &mut Asking<'_>) -> (Vec<Set>, Option<usize>) {
    let listed = (0..edits.len()).filter(|index| !edits[*index].is_sized());
    let (rewritings, additions): (Vec<usize>, Vec<usize>) =
        listed.partition(|index| edits[*index].is_rewriting());
    let completing = completing(asking.repair(), edits);
    let mut found = Found { edits, size, sets: Vec::new(), tried: 0 };
    let rewritings = || std::iter::once(None).chain(rewritings.iter().copied().map(Some));
    let bases = |number: usize| {
        let sets = subsets(&completing, number);
        let with = rewritings().flat_map(move |one| {
            sets.clone().into_iter().map(move |set| set.into_iter().chain(one).collect::<Set>())
        });
        let fits = |set: &Set| set.len() <= size && go_together(edits, set);
        with.filter(fits).collect::<Vec<Set>>()
    };
    let mut count = 0;
    for number in 0..=size.min(completing.len()) {
        let bases = bases(number);
        count += bases.len();
        if number > 1 && count > BASES {
            asking.leave_open(format!(
                "repairs with {number} or more changes after which a Poll may take another completion were \
                 not tried: there are too many"
            ));
            break;
        }
        for base in bases {
            if found.sets.iter().any(|(known, _)| known.is_subset(&base)) {
                continue;
            }
            let goes_with = |one: &usize| {
                !completing.contains(one) && edits[*one].goes_with(rewriting(edits, &base))
            };
            let additions: &Vec<usize> = &additions.iter().copied().filter(goes_with).collect();
            let all = additions.iter().copied().chain(base.iter().copied()).collect();
            if asking.forbids(edits, &all) == Helps::No {
                continue;
            }
            let known = found.without(&base);
            let repair = asking.repair();
            let program = Program::new(asking, edits, &base, additions);
            let questions = program.as_ref().and_then(|program| program.questions(repair));
            let together = program.as_ref().zip(questions.as_deref());
            let together = together.and_then(|(program, questions)| {
                Together::new(repair, program, questions, additions)
            });
            let asking = &mut *asking;
            let (base, is_weaker) = (&base, false);
            let helping = Helping { edits, base, additions, asking, together, is_weaker };
            let (sets, _) = helping.all(size - base.len(), known);
            found.take(sets, additions, asking);
        }
    }
    found.smallest(asking)
}

fn rewriting<'e>(edits: &'e [Edit], set: &Set) -> Option<&'e Edit> {
    set.iter().map(|index| &edits[*index]).find(|edit| edit.is_rewriting())
}

fn go_together(edits: &[Edit], set: &Set) -> bool {
    set.iter().all(|index| edits[*index].goes_with(rewriting(edits, set)))
}

/// All sets of `number` changes out of `of`.
fn subsets(of: &[usize], number: usize) -> Vec<Set> {
    if number == 0 {
        return vec![Set::new()];
    }
    let Some((first, rest)) = of.split_first() else { return Vec::new() };
    let with = subsets(rest, number - 1).into_iter();
    let with = with.map(|set| set.into_iter().chain([*first]).collect());
    with.chain(subsets(rest, number)).collect()
}

/// What has been found: sets with all their flushes in full, and the same of the sizes that do.
struct Found<'e> {
    edits: &'e [Edit],
    size: usize,
    sets: Vec<(Set, Vec<Set>)>,
    /// How many sets were tried beside those that make the program wait for ever.
    tried: usize,
}

impl Found<'_> {
    /// What has been found, without what is in a base: with more than that, nothing is minimal.
    fn without(&self, base: &Set) -> Vec<Set> {
        self.sets.iter().map(|(set, _)| set - base).collect()
    }

    /// Takes the sets that help and keep what is to stay.
    fn take(&mut self, helping: Vec<Set>, additions: &[usize], asking: &mut Asking<'_>) {
        let mut waiting = Vec::new();
        for set in helping {
            let sizes = self.sizes_of(&set, asking);
            if sizes.is_empty() {
                waiting.push(set);
            } else {
                self.sets.push((set, sizes));
            }
        }
        for set in waiting {
            self.beside(&set, additions, asking);
        }
    }

    /// A set with its flushes of the least sizes that help and keep what is to stay.
    fn sizes_of(&self, set: &Set, asking: &mut Asking<'_>) -> Vec<Set> {
        let most: Vec<(usize, usize)> =
            set.iter().filter_map(|index| Some((*index, self.edits[*index].polls()?))).collect();
        let mut all = vec![Sizes::new()];
        for (index, most) in most {
            let with = |sizes: &Sizes| {
                let sizes = sizes.clone();
                (1..=most).map(move |number| {
                    sizes.iter().map(|(of, size)| (*of, *size)).chain([(index, number)]).collect()
                })
            };
            all = all.iter().flat_map(with).collect();
        }
        all.sort_by_key(|sizes| sizes.values().sum::<usize>());
        if all.len() > SIZES {
            all.truncate(SIZES);
            asking.leave_open(format!("of flushes together, {SIZES} numbers of polls were tried"));
        }
        let mut least: Vec<Sizes> = Vec::new();
        for sizes in all {
            let is_more = |known: &Sizes| known.iter().all(|(of, number)| *number <= sizes[of]);
            let changes = sized(self.edits, set, &sizes);
            if !least.iter().any(is_more)
                && asking.forbids(self.edits, &changes) == Helps::Yes
                && asking.keeps_the_rest(self.edits, &changes)
            {
                least.push(sizes);
            }
        }
        least.iter().map(|sizes| sized(self.edits, set, sizes)).collect()
    }

    /// A set after which the program may wait for ever, with more beside it that changes what is polled.
    fn beside(&mut self, set: &Set, additions: &[usize], asking: &mut Asking<'_>) {
        let polls_on = |index: &usize| self.edits[*index].polls_on();
        let places: BTreeSet<_> = set.iter().filter_map(polls_on).collect();
        let more: Vec<usize> = additions
            .iter()
            .copied()
            .filter(|one| {
                !set.contains(one) && polls_on(one).is_some_and(|at| places.contains(&at))
            })
            .collect();
        let is_flush = |index: &usize| self.edits[*index].polls().is_some();
        let mut sets = Vec::new();
        for number in 1..=self.size.saturating_sub(set.len()) {
            let all = subsets(&more, number).into_iter().map(|more| &more | set);
            // Without a flush, a poll more does not make a program end.
            sets.extend(all.filter(|set| set.iter().any(is_flush)));
        }
        for set in sets {
            if self.sets.iter().any(|(known, _)| known.is_subset(&set)) {
                continue;
            }
            if self.tried >= BESIDE {
                asking.leave_open(format!(
                    "where a flush waits for ever, {BESIDE} sets of changes with it were tried"
                ));
                return;
            }
            self.tried += 1;
            if asking.forbids(self.edits, &set) == Helps::Yes {
                let sizes = self.sizes_of(&set, asking);
                if !sizes.is_empty() {
                    self.sets.push((set, sizes));
                }
            }
        }
    }

    /// What has no other repair as a part: also not the polls of a flush alone. Where these are more changes
    /// than were asked for, only their number is of use.
    fn smallest(self, asking: &mut Asking<'_>) -> (Vec<Set>, Option<usize>) {
        let is_larger = |set: &Set| {
            let mut sets = self.sets.iter();
            sets.any(|(other, _)| other != set && other.is_subset(set))
        };
        let smallest = self.sets.iter().filter(|(set, _)| !is_larger(set));
        let sized: Vec<Set> = smallest.flat_map(|(_, sizes)| sizes.iter().cloned()).collect();
        let has_vain_get =
            |set: &&Set| sized.iter().any(|other| is_without_get(self.edits, other, set));
        let (mut least, mut larger) = (Vec::new(), None);
        let is_listed = |set: &&Set| !has_vain_get(set) && !has_double(self.edits, set);
        for set in sized.iter().filter(is_listed) {
            let is_repair =
                |edits: &Vec<Edit>| asking.is_repair(&edits.iter().collect::<Vec<&Edit>>());
            // Sets that are not larger were among the candidates.
            let mut larger_ones =
                polls_alone(self.edits, set).filter(|edits| edits.len() > self.size);
            let alone = larger_ones.find(is_repair).map(|edits| edits.len());
            match alone {
                Some(number) => larger = larger.into_iter().chain([number]).min(),
                None => least.push(set.clone()),
            }
        }
        (least, larger)
    }
}

/// The largest sets of removals after which all that is to be forbidden still is, and the smallest sets
/// after which it is not. What is removed only adds outcomes, so what has a harmful set in it is harmful.
pub fn maximal(edits: &[Edit], asking: &mut Asking<'_>) -> (Vec<Set>, Vec<Set>) {
    let all: Vec<usize> = (0..edits.len()).collect();
    let base = Set::new();
    let (base, additions) = (&base, &all[..]);
    let harming = Helping { edits, base, additions, asking, together: None, is_weaker: true };
    let (harmful, clauses) = harming.all(edits.len(), Vec::new());
    let rest =
        |clause: &Vec<usize>| all.iter().copied().filter(|one| !clause.contains(one)).collect();
    (clauses.iter().map(rest).collect(), harmful)
}

struct Helping<'s, 'a> {
    edits: &'s [Edit],
    base: &'s Set,
    additions: &'s [usize],
    asking: &'s mut Asking<'a>,
    /// The session about all sets of additions at once. Without it, each set is a program of its own.
    together: Option<Together<'s>>,
    /// The changes remove; to help is to do harm.
    is_weaker: bool,
}

impl Helping<'_, '_> {
    /// The minimal sets of up to `most` additions that forbid what is to be forbidden, with the base. For
    /// each largest set that does not, also what is not in it. Sets that have one of the known ones in them
    /// are not looked at.
    fn all(mut self, most: usize, mut known: Vec<Set>) -> (Vec<Set>, Vec<Vec<usize>>) {
        let (mut clauses, mut helping) = (Vec::new(), Vec::new());
        let mut size = 0;
        while size <= most {
            let Some(set) = hitting(&clauses, &known, &Set::new(), size) else {
                size += 1;
                continue;
            };
            match self.helps(&set) {
                SetResult::Helps => {
                    helping.push(set.union(self.base).copied().collect());
                    known.push(set);
                }
                SetResult::Not(large) => clauses.push(self.missed(large)),
                // The result says what is undecided; sets with this one in them are not looked at.
                SetResult::Open => known.push(set),
            }
        }
        (helping, clauses)
    }

    fn helps(&mut self, set: &Set) -> SetResult {
        if let Some(together) = &mut self.together {
            self.asking.count += 1;
            match together.beyond(set) {
                Beyond::Helps => return SetResult::Helps,
                Beyond::Not(large) => return SetResult::Not(large),
                // Smaller questions may be answered within the limits.
                Beyond::Unknown => self.together = None,
            }
        }
        let all: Set = set.union(self.base).copied().collect();
        match self.asking.forbids(self.edits, &all) {
            Helps::Open => SetResult::Open,
            helps if (helps == Helps::Yes) == self.is_weaker => SetResult::Not(set.clone()),
            _ => SetResult::Helps,
        }
    }

    /// The additions that are not in a largest set that does not help, and has this one in it.
    fn missed(&mut self, set: Set) -> Vec<usize> {
        let others: Vec<usize> =
            self.additions.iter().copied().filter(|one| !set.contains(one)).collect();
        let large = self.grown(set, &others);
        others.into_iter().filter(|one| !large.contains(one)).collect()
    }

    fn grown(&mut self, set: Set, more: &[usize]) -> Set {
        let more: Vec<usize> = more.iter().copied().filter(|one| !set.contains(one)).collect();
        if more.is_empty() {
            return set;
        }
        let all: Set = set.iter().chain(&more).copied().collect();
        if let SetResult::Not(large) = self.helps(&all) {
            return large;
        }
        if more.len() == 1 {
            return set;
        }
        let (left, right) = more.split_at(more.len() / 2);
        let set = self.grown(set, left);
        self.grown(set, right)
    }
}

/// What came of a set of additions.
enum SetResult {
    Helps,
    /// This set, which has the one in it, does not.
    Not(Set),
    /// A limit or a bound was hit.
    Open,
}

/// A set of at most this many that has one of each clause, and has none of the known sets in it.
fn hitting(clauses: &[Vec<usize>], known: &[Set], chosen: &Set, most: usize) -> Option<Set> {
    if known.iter().any(|known| known.is_subset(chosen)) {
        return None;
    }
    let is_missed = |clause: &&Vec<usize>| !clause.iter().any(|one| chosen.contains(one));
    let Some(clause) = clauses.iter().find(is_missed) else { return Some(chosen.clone()) };
    if most == 0 {
        return None;
    }
    clause.iter().find_map(|one| {
        let mut chosen = chosen.clone();
        chosen.insert(*one);
        hitting(clauses, known, &chosen, most - 1)
    })
}
