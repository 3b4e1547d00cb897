//! Outcomes: what a test shows when it has run, and conditions on them.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use crate::program::{BinaryOp, LARGEST_WORD, LocationId, NodeId, RegisterId};
use crate::source::Span;

/// A value that an outcome shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// A number; true and false are 1 and 0.
    Int(u64),
    /// `⊥`, the result of a library call that failed; `null` in JSON.
    Bottom,
    /// `⊤`, any value at all (coreRMA, after a conflict); `"undefined"` in JSON.
    Undefined,
}

/// The smallest number that is shown as a negative one, -2^31.
const SMALLEST: u64 = (i32::MIN as i64) as u64;

impl Value {
    /// The value that a word stands for.
    pub fn of_word(word: u64) -> Self {
        if word == crate::program::BOTTOM { Self::Bottom } else { Self::Int(word) }
    }

    /// Whether it is the value, or `⊤`, which stands for every value.
    pub fn covers(self, value: Self) -> bool {
        self == value || self == Self::Undefined
    }

    /// The value for people, of something whose values have some number of words: several are shown as those,
    /// `(1, 2)`.
    pub fn show(self, words: u32) -> String {
        match self {
            Self::Int(number) if words > 1 => {
                let mut rest = number;
                let mut parts: Vec<String> = Vec::new();
                for _ in 0..words {
                    parts.push((rest % LARGEST_WORD).to_string());
                    rest /= LARGEST_WORD;
                }
                parts.reverse();
                // Any other value is shown as it is.
                if rest == 0 { format!("({})", parts.join(", ")) } else { self.to_string() }
            }
            value => value.to_string(),
        }
    }

    /// The word that stands for it; `⊤` has none.
    pub fn word(self) -> Option<u64> {
        match self {
            Self::Int(value) => Some(value),
            Self::Bottom => Some(crate::program::BOTTOM),
            Self::Undefined => None,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // Arithmetic is modulo 2^64: these are what programs get by subtraction.
            Self::Int(value @ SMALLEST..) => write!(f, "-{}", value.wrapping_neg()),
            Self::Int(value) => write!(f, "{value}"),
            Self::Bottom => write!(f, "⊥"),
            Self::Undefined => write!(f, "⊤"),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(value) => serializer.serialize_u64(*value),
            Self::Bottom => serializer.serialize_none(),
            Self::Undefined => serializer.serialize_str("undefined"),
        }
    }
}

/// Something whose final value an outcome shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Observed {
    /// The last value a register took.
    Register(RegisterId),
    /// What memory holds when every store buffer and queue has drained.
    Location(LocationId),
    /// A node's copy of a library object, by the object's index in the program.
    Copy(usize, NodeId),
}

/// A name that outcomes show, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observable {
    /// As outcomes print it: `a`, `x`, `x@2`.
    pub name: String,
    /// What it is.
    pub what: Observed,
    /// How many words its value has: 1, but for values of mixed size.
    pub words: u32,
}

impl Observable {
    /// An observable of one word.
    pub fn new(name: impl Into<String>, what: Observed) -> Self {
        Self { name: name.into(), what, words: 1 }
    }

    /// A value of it for people.
    pub fn show(&self, value: Value) -> String {
        value.show(self.words)
    }
}

/// The values of the observables of one execution, in the order of [`crate::Test::observables`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Outcome(pub Vec<Value>);

impl Outcome {
    /// Whether this, where it is allowed, allows the other: `⊤` in it stands for every value.
    pub fn covers(&self, shown: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&shown.0);
        self.0.len() == shown.0.len() && pairs.all(|(known, value)| known.covers(*value))
    }
}

/// A condition on an outcome. Indices are into [`crate::Test::observables`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Always true or always false.
    Constant(bool),
    /// `left op right`, with op one of the six comparisons. `⊥` equals only itself and is not ordered; so
    /// does a `⊤` that the condition names, while one that an outcome shows stands for every value.
    Compare(BinaryOp, Operand, Operand),
    /// All hold; true if there are none.
    And(Vec<Condition>),
    /// One holds at least; false if there are none.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value of an observable.
    Observable(usize),
    /// A value.
    Value(Value),
    /// What an operator of arithmetic makes of two.
    Computed(BinaryOp, Box<Operand>, Box<Operand>),
}

impl Operand {
    fn value(&self, outcome: &Outcome) -> Value {
        match self {
            Self::Observable(index) => outcome.0[*index],
            Self::Value(value) => *value,
            Self::Computed(op, left, right) => {
                Self::computed(*op, left.value(outcome), right.value(outcome))
            }
        }
    }

    /// What an operator makes of two values.
    pub fn computed(op: BinaryOp, left: Value, right: Value) -> Value {
        match (left.word(), right.word()) {
            (Some(left), Some(right)) => Value::of_word(op.apply(left, right)),
            // What is computed from any value is any value.
            _ => Value::Undefined,
        }
    }

    /// Calls a function for each observable in it.
    pub fn each_observable(&self, visit: &mut impl FnMut(usize)) {
        match self {
            Self::Observable(index) => visit(*index),
            Self::Value(_) => {}
            Self::Computed(_, left, right) => {
                left.each_observable(visit);
                right.each_observable(visit);
            }
        }
    }
}

impl Condition {
    /// Whether the condition holds of an outcome, or can: `⊤` stands for every value.
    pub fn holds(&self, outcome: &Outcome) -> bool {
        self.can_be(outcome, true)
    }

    /// The observables that it fixes, and their values.
    pub fn fixed(&self) -> Vec<(usize, Value)> {
        match self {
            Self::Compare(BinaryOp::Equal, Operand::Observable(index), Operand::Value(value)) => {
                vec![(*index, *value)]
            }
            Self::And(all) => all.iter().flat_map(Self::fixed).collect(),
            _ => Vec::new(),
        }
    }

    /// The observables that it is about, by their indices.
    pub fn named(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        self.add_named(&mut found);
        found
    }

    fn add_named(&self, found: &mut BTreeSet<usize>) {
        match self {
            Self::Constant(_) => {}
            Self::Compare(_, left, right) => {
                for operand in [left, right] {
                    operand.each_observable(&mut |index| {
                        found.insert(index);
                    });
                }
            }
            Self::And(all) | Self::Or(all) => all.iter().for_each(|inner| inner.add_named(found)),
            Self::Not(inner) => inner.add_named(found),
        }
    }

    /// Whether the condition fails of an outcome, or can. Of one with `⊤` it may both hold and fail.
    pub fn fails(&self, outcome: &Outcome) -> bool {
        self.can_be(outcome, false)
    }

    fn can_be(&self, outcome: &Outcome, wanted: bool) -> bool {
        match self {
            Self::Constant(value) => *value == wanted,
            Self::Compare(op, left, right) => {
                let asks = ask_for_undefined(left, right);
                can_compare(*op, (left.value(outcome), right.value(outcome)), asks, wanted)
            }
            // That all hold, or that none does, each with values for ⊤ of its own.
            Self::And(all) if wanted => all.iter().all(|inner| inner.can_be(outcome, true)),
            Self::And(all) => all.iter().any(|inner| inner.can_be(outcome, false)),
            Self::Or(all) if wanted => all.iter().any(|inner| inner.can_be(outcome, true)),
            Self::Or(all) => all.iter().all(|inner| inner.can_be(outcome, false)),
            Self::Not(inner) => inner.can_be(outcome, !wanted),
        }
    }
}

/// Whether a side of a comparison is `⊤` in the text, which is the symbol itself.
pub fn ask_for_undefined(left: &Operand, right: &Operand) -> bool {
    [left, right].contains(&&Operand::Value(Value::Undefined))
}

/// Whether a comparison of two values holds, or fails if it is not `wanted`, or can. `asks` says that one of
/// them is `⊤` in the text.
pub fn can_compare(op: BinaryOp, (left, right): (Value, Value), asks: bool, wanted: bool) -> bool {
    let is_unknown = !asks && (left == Value::Undefined || right == Value::Undefined);
    is_unknown || compare(op, left, right) == wanted
}

fn compare(op: BinaryOp, left: Value, right: Value) -> bool {
    match (op, left, right) {
        (BinaryOp::Equal, _, _) => left == right,
        (BinaryOp::NotEqual, _, _) => left != right,
        (_, Value::Int(left), Value::Int(right)) => op.apply(left, right) != 0,
        _ => false,
    }
}

/// Outcomes that somebody asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Which.
    pub condition: Condition,
    /// The same for people.
    pub text: String,
}

impl Asked {
    /// The outcomes in which some observables, by their index, have the given values.
    pub fn values(
        observables: &[Observable],
        values: impl IntoIterator<Item = (usize, Value)>,
    ) -> Self {
        let (mut all, mut texts) = (Vec::new(), Vec::new());
        for (index, value) in values {
            let shown = &observables[index];
            texts.push(format!("{} = {}", shown.name, shown.show(value)));
            let (left, right) = (Operand::Observable(index), Operand::Value(value));
            all.push(Condition::Compare(BinaryOp::Equal, left, right));
        }
        Self { condition: Condition::And(all), text: texts.join(", ") }
    }

    /// The outcome.
    pub fn outcome(observables: &[Observable], outcome: &Outcome) -> Self {
        Self::values(observables, outcome.0.iter().copied().enumerate())
    }
}

/// What a verdict line of a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The only model that the line is about; `None` for all the models of the file's header.
    pub model: Option<String>,
    /// The claim.
    pub claim: Claim,
    /// Whether the text only asks, so that no answer is wrong.
    pub is_question: bool,
    /// The condition as the text prints it, in one spelling.
    pub text: String,
    /// The whole verdict in the text.
    pub span: Span,
}

/// What is claimed of the outcomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Some outcome satisfies the condition (`✓`, `exists`).
    Allowed(Condition),
    /// No outcome satisfies the condition (`✗`, `~exists`).
    Forbidden(Condition),
    /// Every outcome satisfies the condition (`forall`).
    Always(Condition),
    /// The outcomes, restricted to these observables, are exactly these (`exactly { … } for (…)`).
    Exactly {
        /// Indices into [`crate::Test::observables`].
        observables: Vec<usize>,
        /// Sorted, without repetition.
        outcomes: Vec<Vec<Value>>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_programs_write_them() {
        let shown = |value: u64, words: u32| Value::Int(value).show(words);
        for (value, words, text) in [
            (0, 1, "0"),
            (u64::MAX, 1, "-1"),
            (0_u64.wrapping_sub(1 << 31), 1, "-2147483648"),
            (0_u64.wrapping_sub(1 << 31) - 1, 1, "18446744071562067967"),
            (10_002, 1, "10002"),
            (10_002, 2, "(1, 2)"),
            (10_002, 3, "(0, 1, 2)"),
            (100_000_000, 2, "100000000"),
            (u64::MAX, 2, "-1"),
        ] {
            assert_eq!(shown(value, words), text);
        }
        assert_eq!((Value::Bottom.show(2), Value::Undefined.show(1)), ("⊥".into(), "⊤".into()));
    }
}
