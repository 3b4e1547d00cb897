//! What is said of the sets and relations of a model to those who read explanations and reports: by its text,
//! in comments that begin with `///`, or where that says nothing, by what a definition means.

use std::sync::Arc;

use super::model::{Base, Definition, DefinitionKind, Expr, Model};

/// What a text says of what it defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Of a set, what its events are; of a relation, why one event comes before the other.
    pub says: Option<String>,
    /// What is lost without it.
    pub without: Option<String>,
}

/// What stands for the location of the event that a relation leads to.
pub const LOCATION: &str = "{location}";

/// Why a read comes before the writes after the one that it reads.
pub const READS_BEFORE: &str = "what is read of {location} is older than what is written";
const WRITTEN_BEFORE: &str = "the first write of {location} takes effect before the second";
const PROGRAM_ORDER: &str = "program order";

impl Words {
    /// The words of a comment; a paragraph that begins with `without:` says what is lost.
    pub(super) fn of<'t>(lines: impl IntoIterator<Item = &'t str>) -> Option<Self> {
        let mut words = Self::default();
        let mut part = &mut words.says;
        for line in lines {
            let mut line = line.trim();
            if let Some(rest) = line.strip_prefix("without:") {
                (part, line) = (&mut words.without, rest.trim_start());
            }
            let known = part.get_or_insert_default();
            let space = if known.is_empty() || line.is_empty() { "" } else { " " };
            *known = format!("{known}{space}{line}");
        }
        let is_some = |part: &Option<String>| part.as_ref().is_some_and(|words| !words.is_empty());
        (is_some(&words.says) || is_some(&words.without)).then_some(words)
    }
}

impl Model {
    /// What is said of a set's events or of why a relation orders its own, by the name in the model.
    pub fn says(&self, name: &str) -> Option<String> {
        if let Some(said) = self.words.get(name).and_then(|words| words.says.as_ref()) {
            return Some(said.clone());
        }
        if let Some(base) = Base::ALL.iter().find(|base| base.name() == name) {
            return of_base(*base).map(str::to_owned);
        }
        let is_it = |definition: &&Arc<Definition>| definition.name() == Some(name);
        match self.meaning(&self.definitions.iter().rfind(is_it)?.kind)? {
            said if said.starts_with(PROGRAM_ORDER) => {
                Some(format!("{name} keeps this much of {said}"))
            }
            said => Some(said),
        }
    }

    /// What is lost without a relation, if the text says it.
    pub fn without(&self, name: &str) -> Option<&str> {
        self.words.get(name)?.without.as_deref()
    }

    fn meaning(&self, kind: &DefinitionKind) -> Option<String> {
        match kind {
            DefinitionKind::Let { body, .. } => self.meaning_of(body),
            DefinitionKind::Choice { name, .. } => {
                is_memory_order(name).then(|| WRITTEN_BEFORE.to_owned())
            }
            DefinitionKind::Table(table) => self.meaning_of(&table.on),
            DefinitionKind::Rec(_) => None,
        }
    }

    /// What is said of the events or pairs of which an expression has some.
    fn meaning_of(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Base(base) => of_base(*base).map(str::to_owned),
            Expr::Defined(id) => {
                let definition = &self.definitions[id.definition];
                let words = self.words.get(definition.name()?).and_then(|words| words.says.clone());
                words.or_else(|| self.meaning(&definition.kind))
            }
            Expr::Difference(whole, _) => self.meaning_of(whole),
            // That both are in program order says the least.
            Expr::Intersection(left, right) => {
                let (left, right) = (self.meaning_of(left), self.meaning_of(right));
                left.clone().filter(|said| said != PROGRAM_ORDER).or(right).or(left)
            }
            Expr::Union(left, right) => {
                self.meaning_of(left).filter(|said| self.meaning_of(right).as_ref() == Some(said))
            }
            Expr::Sequence(..) => {
                let mut parts = Vec::new();
                sequence(expr, &mut parts);
                match parts[..] {
                    [one] => self.meaning_of(one),
                    [Expr::Inverse(first), then] => {
                        let first = self.meaning_of(first)?;
                        let is_before = of_base(Base::ReadsFrom) == Some(first.as_str())
                            && self.meaning_of(then)? == WRITTEN_BEFORE;
                        is_before.then(|| READS_BEFORE.to_owned())
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Whether an order is that of writes to a location: `mo`, or as herd calls it `co`; of a library too.
pub fn is_memory_order(name: &str) -> bool {
    matches!(name.rsplit('.').next(), Some("mo" | "co"))
}

/// The parts of `[S]; r; s; [T]` that are not sets.
fn sequence<'e>(expr: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match expr {
        Expr::Sequence(first, then) => {
            sequence(first, parts);
            sequence(then, parts);
        }
        Expr::Identity(_) => {}
        other => parts.push(other),
    }
}

fn of_base(base: Base) -> Option<&'static str> {
    Some(match base {
        Base::CpuRead => "a CPU read",
        Base::CpuWrite => "a CPU write",
        Base::CpuRmw => "a CPU read-modify-write",
        Base::Fence => "a CPU fence",
        Base::Wait => "a poll or wait",
        Base::NicLocalRead => "the NIC's read of a put's source",
        Base::NicRemoteWrite => "a put's write at its target",
        Base::NicRemoteCompletion => "the completion of a receive",
        Base::NicAtomicWrite => "an atomic write at its target",
        Base::NicFlush => "a flush at its target",
        Base::NicPersist => "a flush to persistent memory at its target",
        Base::Recovery => "what the crash leaves of a location",
        Base::ReceivePosted => "a receive is posted",
        Base::Posted => "a request comes to a queue pair that threads share",
        Base::SameReceive => "the message consumes this receive",
        Base::SameOperation => "both are of one request",
        Base::NicAtomicRead => "the read of a remote RMW",
        Base::NicRemoteRead => "a get's read at the remote node",
        Base::NicLocalWrite => "the arrival of a get's or remote RMW's result",
        Base::RemoteFence => "a remote fence",
        Base::GlobalFence => "a global fence",
        Base::Identity => "this event itself",
        Base::ProgramOrder => PROGRAM_ORDER,
        Base::ReadsFrom => "the value read is the one written",
        Base::Rmw => "the RMW reads before it writes",
        Base::PollsFrom => "the poll answers for this operation",
        _ => return None,
    })
}
