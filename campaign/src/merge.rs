//! Outputs of parts, put together as the output of the whole.

use std::path::{Path, PathBuf};

use crate::shard::ShardOf;

/// A kind of output that comes in parts, as a part holds it.
pub trait Output: PartialEq + Sized {
    /// What a part holds of each of its items.
    type Item;

    /// Reads a part: which one it is, and what it holds. The path is for messages.
    ///
    /// # Errors
    /// It is none, or not what was written.
    fn read(path: &Path, bytes: &[u8]) -> Result<(ShardOf, Self), Refused>;

    /// Whether two parts can be of one whole, as far as their questions do not say.
    ///
    /// # Errors
    /// What differs.
    fn fits(&self, _other: &Self) -> Result<(), String> {
        Ok(())
    }

    /// Whether a part has the items that it must have.
    ///
    /// # Errors
    /// What kind of error it is, and what is wrong.
    fn is_whole(&self, _shard: &ShardOf) -> Result<(), (Flaw, String)> {
        Ok(())
    }

    /// Takes the items out, each with its number among those of the whole.
    fn take(&mut self, shard: &ShardOf) -> Vec<(usize, Self::Item)>;
}

/// A part: where it is, which one, and what it holds.
#[derive(Debug)]
pub struct Part<T> {
    /// The file or folder.
    pub path: PathBuf,
    /// Which part.
    pub shard: ShardOf,
    /// What it holds.
    pub content: T,
}

/// What kind of error a part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It was not made with `--shard`.
    NotAPart,
    /// It and another part are not of one whole.
    OtherWhole,
    /// Two files are of one part, and differ.
    ConflictingParts,
    /// Parts are missing, or items of a part.
    MissingParts,
    /// Its items cannot be used.
    UnusablePart,
    /// It is a record that cannot be used.
    UnusableRecord,
    /// It was changed since it was made.
    ChangedPart,
    /// Its file cannot be read.
    UnreadableFile,
}

/// What cannot be merged, and why.
#[derive(Debug)]
pub struct Refused {
    /// The file or folder.
    pub path: PathBuf,
    /// What kind of error it is.
    pub flaw: Flaw,
    /// What is wrong with it.
    pub message: String,
}

impl Refused {
    /// What is wrong with a part.
    pub fn new(path: &Path, flaw: Flaw, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), flaw, message: message.into() }
    }

    /// What is not an output of a part.
    pub fn not_a_part(path: &Path) -> Self {
        Self::new(path, Flaw::NotAPart, "expected an output of a command with --shard")
    }
}

/// A whole, put together.
#[derive(Debug)]
pub struct Whole<T: Output> {
    /// What is left of the parts, in order, each once.
    pub parts: Vec<Part<T>>,
    /// What they held, in the order of the items.
    pub items: Vec<(usize, T::Item)>,
    /// What was there twice, in words.
    pub notes: Vec<String>,
}

/// Puts the parts in these files together, if they are all those of one whole.
///
/// # Errors
/// All that keeps them from that.
pub fn merge<T: Output>(files: Vec<(PathBuf, Vec<u8>)>) -> Result<Whole<T>, Vec<Refused>> {
    let (mut parts, mut refused) = (Vec::new(), Vec::new());
    for (path, bytes) in files {
        match T::read(&path, &bytes) {
            Ok((shard, content)) => parts.push(Part { path, shard, content }),
            Err(one) => refused.push(one),
        }
    }
    if refused.is_empty() {
        refused = strangers(&parts);
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut notes = Vec::new();
    let mut parts = each_once(parts, &mut notes)?;
    let mut items: Vec<_> =
        parts.iter_mut().flat_map(|part| part.content.take(&part.shard)).collect();
    items.sort_by_key(|(number, _)| *number);
    Ok(Whole { parts, items, notes })
}

/// Parts that are not of one whole with the first, or not whole themselves.
fn strangers<T: Output>(parts: &[Part<T>]) -> Vec<Refused> {
    let Some(first) = parts.first() else { return Vec::new() };
    let path = first.path.display();
    let stranger = |part: &Part<T>| {
        let refuse = |message: String| Some(Refused::new(&part.path, Flaw::OtherWhole, message));
        if part.shard.of != first.shard.of {
            refuse(format!("is of {} parts, and {path} of {}", part.shard.of, first.shard.of))
        } else if let Err(reason) = first.content.fits(&part.content) {
            refuse(format!("cannot be put to {path}: {reason}"))
        } else if part.shard.question != first.shard.question {
            refuse(format!(
                "was made by another command, version or model than {path}, or of other inputs"
            ))
        } else {
            let (flaw, message) = part.content.is_whole(&part.shard).err()?;
            Some(Refused::new(&part.path, flaw, message))
        }
    };
    parts.iter().filter_map(stranger).collect()
}

/// The parts in order, each once; none may be missing. What was there twice is noted.
fn each_once<T: Output>(
    mut parts: Vec<Part<T>>,
    notes: &mut Vec<String>,
) -> Result<Vec<Part<T>>, Vec<Refused>> {
    parts.sort_by_key(|part| part.shard.part);
    let (mut kept, mut refused) = (Vec::<Part<T>>::new(), Vec::new());
    for part in parts {
        let Some(last) = kept.last().filter(|last| last.shard.part == part.shard.part) else {
            kept.push(part);
            continue;
        };
        let (number, path) = (part.shard.part, last.path.display());
        if last.content == part.content {
            let other = part.path.display();
            notes.push(format!("part {number} is there twice, and equal: {path}, {other}"));
        } else {
            let message = format!("part {number} differs from that in {path}");
            refused.push(Refused::new(&part.path, Flaw::ConflictingParts, message));
        }
    }
    if let Some(first) = kept.first() {
        let of = first.shard.of;
        let is_there = |number: &usize| kept.iter().any(|part| part.shard.part == *number);
        let missing: Vec<String> = (1..=of)
            .filter(|number| !is_there(number))
            .map(|number| format!("{number}/{of}"))
            .collect();
        if !missing.is_empty() {
            let words = if missing.len() == 1 { "part" } else { "parts" };
            let message = format!("{} {words} missing: {}", missing.len(), missing.join(", "));
            refused.push(Refused::new(&first.path, Flaw::MissingParts, message));
        }
    }
    if refused.is_empty() { Ok(kept) } else { Err(refused) }
}
