//! The question at the end: `exists`, `~exists`, `forall`.

use pest::iterators::Pair;

use super::parse::{RawPlace, RawValue, Reader, Rule};
use crate::litmus::ast::Place;

/// What is asked.
pub struct Question {
    /// How.
    pub quantifier: Quantifier,
    /// Of which outcomes.
    pub condition: RawCondition,
    /// The whole question.
    pub place: Place,
}

/// How outcomes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// `exists`
    Exists,
    /// `~exists`
    Never,
    /// `forall`
    Always,
}

/// A condition on an outcome.
pub enum RawCondition {
    /// `true`, `false`
    Truth(bool),
    /// `0:rax=1`, `x<>1`
    Compare {
        /// The left side.
        left: (RawPlace, Place),
        /// `=`, and not `<>`.
        is_equal: bool,
        /// The right side.
        right: RawValue,
        /// The whole comparison.
        place: Place,
    },
    /// Two at least.
    And(Vec<RawCondition>),
    /// Two at least.
    Or(Vec<RawCondition>),
    /// `~ …`
    Not(Box<RawCondition>),
}

impl Reader<'_> {
    /// Reads a question.
    pub fn question(&mut self, pair: Pair<'_, Rule>) -> Option<Question> {
        let place = self.places.of(&pair);
        let mut parts = pair.into_inner();
        let quantifier = match parts.next()?.into_inner().next()?.as_rule() {
            Rule::never => Quantifier::Never,
            Rule::forall => Quantifier::Always,
            _ => Quantifier::Exists,
        };
        Some(Question { quantifier, condition: self.condition(parts.next()?)?, place })
    }

    /// Conditions are nested no deeper than parentheses are, and that was looked at before.
    fn condition(&mut self, pair: Pair<'_, Rule>) -> Option<RawCondition> {
        match pair.as_rule() {
            Rule::condition => self.several(pair, RawCondition::Or),
            Rule::conjunction => self.several(pair, RawCondition::And),
            Rule::negation => {
                let (mut negations, mut condition) = (0, None);
                for part in pair.into_inner() {
                    match part.as_rule() {
                        Rule::not => negations += 1,
                        _ => condition = self.condition(part),
                    }
                }
                let condition = condition?;
                Some(if negations % 2 == 0 {
                    condition
                } else {
                    RawCondition::Not(Box::new(condition))
                })
            }
            Rule::truth => Some(RawCondition::Truth(pair.as_str().trim() == "true")),
            Rule::comparison => self.comparison(pair),
            _ => self.condition(pair.into_inner().next()?),
        }
    }

    fn several(
        &mut self,
        pair: Pair<'_, Rule>,
        join: fn(Vec<RawCondition>) -> RawCondition,
    ) -> Option<RawCondition> {
        let parts: Option<Vec<RawCondition>> =
            pair.into_inner().map(|part| self.condition(part)).collect();
        let mut parts = parts?;
        if parts.len() == 1 { parts.pop() } else { Some(join(parts)) }
    }

    fn comparison(&mut self, pair: Pair<'_, Rule>) -> Option<RawCondition> {
        let place = self.places.of(&pair);
        let mut parts = pair.into_inner();
        let left = self.place(parts.next()?)?;
        let is_equal = parts.next()?.as_rule() == Rule::equal;
        let right = parts.next()?;
        let right = match right.as_rule() {
            Rule::number => RawValue::Number(self.number(&right)?),
            _ => RawValue::Address(self.location(right)?),
        };
        Some(RawCondition::Compare { left, is_equal, right, place })
    }
}
