//! Requests of several words.

use super::{LocationId, WorkId};

/// A put or get of several words by one request. Each word is read once and then written once; the order of
/// different words is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Whether it is a put, from the thread's node, and not a get.
    pub is_put: bool,
    /// The words on the thread's own node.
    pub local: Vec<LocationId>,
    /// As many words of a remote node.
    pub remote: Vec<LocationId>,
    /// The work id of `:=^d`.
    pub id: Option<WorkId>,
    /// Which of the thread's queue pairs to the remote node it uses.
    pub queue_pair: u32,
}

impl Words {
    /// Each word that it reads, with the one that it writes it to.
    pub fn moves(&self) -> impl Iterator<Item = (LocationId, LocationId)> {
        let both = self.local.iter().copied().zip(self.remote.iter().copied());
        both.map(|(local, remote)| if self.is_put { (local, remote) } else { (remote, local) })
    }
}

/// The array that a location is a word of, and the number of the word, by its name `x[1]`.
pub fn array_of(location: &str) -> Option<(&str, usize)> {
    let (array, number) = location.strip_suffix(']')?.split_once('[')?;
    Some((array, number.parse().ok()?))
}
