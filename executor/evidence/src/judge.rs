//! Judgement: a pure function of what a model allows and what was observed.

use std::collections::BTreeSet;

use lang::outcome::Outcome;

use crate::observation::Observations;

/// What observations say of a model. In the order of their weight: a whole is judged by its heaviest part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Judgement {
    /// Allowed, and observed.
    Conforms,
    /// Allowed, and never observed: this says something of the stress, and nothing against the machine.
    Unseen,
    /// It is unknown whether it is allowed.
    Inconclusive,
    /// Forbidden, and observed.
    Violation,
}

impl Judgement {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::Unseen => "unseen",
            Self::Inconclusive => "inconclusive",
            Self::Violation => "violation",
        }
    }
}

/// The outcomes that a model allows, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedSet {
    /// Outcomes over all observables of a test.
    pub outcomes: BTreeSet<Outcome>,
    /// Whether there are no others.
    pub complete: bool,
}

impl AllowedSet {
    /// Whether an outcome is one of them. `⊤` in an allowed outcome stands for every value.
    pub fn contains(&self, outcome: &Outcome) -> bool {
        self.outcomes.contains(outcome) || self.outcomes.iter().any(|known| known.covers(outcome))
    }
}

/// An outcome that was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedOutcome {
    /// Over all observables of the test.
    pub outcome: Outcome,
    /// In how many runs.
    pub count: u64,
    /// Never [`Judgement::Unseen`].
    pub judgement: Judgement,
}

/// A test judged under a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedTest {
    /// What was observed.
    pub outcomes: Vec<JudgedOutcome>,
    /// What is allowed and was not observed.
    pub unseen: Vec<Outcome>,
    /// The heaviest of all.
    pub overall: Judgement,
}

/// Judges observations. `allowed` is `None` if nothing is known of the model's outcomes.
///
/// Without a single finished run nothing can be said, even if the model says that no run finishes.
pub fn judge(allowed: Option<&AllowedSet>, seen: &Observations) -> JudgedTest {
    let outcomes: Vec<JudgedOutcome> = seen
        .outcomes
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(outcome, count)| JudgedOutcome {
            outcome: outcome.clone(),
            count: *count,
            judgement: judge_outcome(allowed, outcome),
        })
        .collect();
    let known = allowed.iter().flat_map(|allowed| &allowed.outcomes);
    let was_seen = |outcome: &Outcome| {
        let one = AllowedSet { outcomes: BTreeSet::from([outcome.clone()]), complete: true };
        outcomes.iter().any(|judged| one.contains(&judged.outcome))
    };
    let unseen: Vec<Outcome> = known.filter(|outcome| !was_seen(outcome)).cloned().collect();

    let base = if outcomes.is_empty() {
        Judgement::Inconclusive
    } else if unseen.is_empty() {
        Judgement::Conforms
    } else {
        Judgement::Unseen
    };
    let overall = outcomes.iter().map(|judged| judged.judgement).fold(base, Judgement::max);
    JudgedTest { outcomes, unseen, overall }
}

fn judge_outcome(allowed: Option<&AllowedSet>, outcome: &Outcome) -> Judgement {
    match allowed {
        Some(allowed) if allowed.contains(outcome) => Judgement::Conforms,
        Some(allowed) if allowed.complete => Judgement::Violation,
        _ => Judgement::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang::outcome::Value;

    fn outcome(value: u64) -> Outcome {
        Outcome(vec![Value::Int(value)])
    }

    fn allowed(values: &[u64], complete: bool) -> Option<AllowedSet> {
        Some(AllowedSet {
            outcomes: values.iter().map(|value| outcome(*value)).collect(),
            complete,
        })
    }

    fn seen(values: &[u64]) -> Observations {
        Observations {
            outcomes: values.iter().map(|value| (outcome(*value), 1)).collect(),
            ..Observations::default()
        }
    }

    /// What is known of the outcome, × whether it was observed, × whether another, allowed one was.
    #[test]
    fn whole_table() {
        use Judgement::{Conforms, Inconclusive, Unseen, Violation};
        type Row = (
            &'static str,
            Option<AllowedSet>,
            &'static [u64],
            Judgement,
            &'static [Judgement],
            usize,
        );
        let rows: [Row; 16] = [
            ("allowed, complete, seen", allowed(&[0], true), &[0], Conforms, &[Conforms], 0),
            ("allowed, complete, not seen", allowed(&[0], true), &[], Inconclusive, &[], 1),
            ("allowed, incomplete, seen", allowed(&[0], false), &[0], Conforms, &[Conforms], 0),
            ("allowed, incomplete, not seen", allowed(&[0], false), &[], Inconclusive, &[], 1),
            ("forbidden, seen", allowed(&[], true), &[0], Violation, &[Violation], 0),
            ("nothing ends, nothing seen", allowed(&[], true), &[], Inconclusive, &[], 0),
            ("open, seen", allowed(&[], false), &[0], Inconclusive, &[Inconclusive], 0),
            ("open, not seen", allowed(&[], false), &[], Inconclusive, &[], 0),
            ("unknown, seen", None, &[0], Inconclusive, &[Inconclusive], 0),
            ("unknown, not seen", None, &[], Inconclusive, &[], 0),
            ("one of two seen", allowed(&[0, 1], true), &[0], Unseen, &[Conforms], 1),
            ("both seen", allowed(&[0, 1], true), &[0, 1], Conforms, &[Conforms, Conforms], 0),
            (
                "violation outweighs unseen",
                allowed(&[0, 1], true),
                &[0, 2],
                Violation,
                &[Conforms, Violation],
                1,
            ),
            (
                "violation beside what conforms",
                allowed(&[0], true),
                &[0, 2],
                Violation,
                &[Conforms, Violation],
                0,
            ),
            (
                "inconclusive outweighs unseen",
                allowed(&[0, 1], false),
                &[0, 2],
                Inconclusive,
                &[Conforms, Inconclusive],
                1,
            ),
            ("incomplete and unseen", allowed(&[0, 1], false), &[1], Unseen, &[Conforms], 1),
        ];
        for (name, allowed, observed, overall, each, unseen) in rows {
            let judged = judge(allowed.as_ref(), &seen(observed));
            assert_eq!(judged.overall, overall, "{name}");
            let judgements: Vec<_> = judged.outcomes.iter().map(|one| one.judgement).collect();
            assert_eq!(judgements, each, "{name}");
            assert_eq!(judged.unseen.len(), unseen, "{name}");
        }
    }

    #[test]
    fn priority() {
        use Judgement::{Conforms, Inconclusive, Unseen, Violation};
        assert!(Violation > Inconclusive && Inconclusive > Unseen && Unseen > Conforms);
    }

    #[test]
    fn undefined_allows_every_value_and_is_seen_by_any() {
        let any = AllowedSet {
            outcomes: BTreeSet::from([Outcome(vec![Value::Undefined])]),
            complete: true,
        };
        assert_eq!(judge(Some(&any), &seen(&[7])).overall, Judgement::Conforms);
    }

    #[test]
    fn a_count_of_zero_is_not_an_observation() {
        // 3 is not allowed: seen, it would be a violation.
        let mut other = seen(&[4]);
        other.outcomes.insert(outcome(3), 0);
        assert_eq!(judge(allowed(&[4], true).as_ref(), &other).overall, Judgement::Conforms);
        let mut none = seen(&[3]);
        none.outcomes.insert(outcome(3), 0);
        assert_eq!(judge(allowed(&[], true).as_ref(), &none).overall, Judgement::Inconclusive);
    }
}
