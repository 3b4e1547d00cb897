//! What has been found so far.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use model::refine::{Answer, Counterexample, Never};

use super::record::ClientResult;

/// What came of clients.
#[derive(Default)]
pub struct Tally {
    /// By their numbers among all.
    pub known: BTreeMap<usize, ClientResult>,
    /// The first that is refuted, and how.
    pub refuted: Option<(usize, Box<Counterexample>)>,
    /// What keeps the library from being checked.
    pub wrong: Option<String>,
    /// Methods that never do what they may.
    pub never: Vec<Never>,
    /// Methods that no client calls.
    pub uncalled: Vec<String>,
}

impl Tally {
    /// Takes what came of a client; whether to go on.
    pub fn take(&mut self, client: usize, answer: Result<Answer, String>) -> ControlFlow<()> {
        match answer {
            Ok(answer) => {
                self.known.insert(client, ClientResult::of(&answer));
                if let Answer::Refuted(found) = answer {
                    self.refuted = Some((client, found));
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            }
            Err(message) => {
                self.wrong = Some(message);
                ControlFlow::Break(())
            }
        }
    }

    fn count(&self, is_it: impl Fn(&ClientResult) -> bool) -> usize {
        self.known.values().filter(|came| is_it(came)).count()
    }

    /// Whether a client is to be checked.
    pub fn is_open(&self, client: usize) -> bool {
        !self.known.get(&client).is_some_and(ClientResult::is_decided)
    }

    /// How many clients are decided.
    pub fn decided(&self) -> usize {
        self.count(ClientResult::is_decided)
    }

    /// How many are not, though they were checked.
    pub fn undecided(&self) -> usize {
        self.count(|came| matches!(came, ClientResult::Unknown { .. }))
    }

    /// Why, of the first of them.
    pub fn reason(&self) -> Option<&str> {
        self.known.values().find_map(|came| match came {
            ClientResult::Unknown { reason } => Some(reason.as_str()),
            _ => None,
        })
    }

    /// How many are not well formed.
    pub fn ill_formed(&self) -> usize {
        self.count(|came| *came == ClientResult::IllFormed)
    }

    /// How many do not end, by their specifications.
    pub fn nothing(&self) -> usize {
        self.count(|came| *came == ClientResult::Nothing)
    }

    /// How many were compared.
    pub fn compared(&self) -> usize {
        self.count(|came| matches!(came, ClientResult::Holds { .. }))
    }

    /// In how many a loop goes round more often than was followed.
    pub fn cut_off(&self) -> usize {
        self.count(|came| matches!(came, ClientResult::Holds { cut_off: true, .. }))
    }

    /// How many outcomes the specifications allow.
    pub fn outcomes(&self) -> usize {
        let outcomes = |came: &ClientResult| match came {
            ClientResult::Holds { outcomes, .. } => *outcomes,
            _ => 0,
        };
        self.known.values().map(outcomes).sum()
    }
}
