//! How large the clients are that are tried.

use lang::library::{Library, Method, ParameterKind, RuleKind};

use super::symmetry::Symmetry;

/// Each statement that writes has a value of its own, so that what is read tells which.
pub const OWN: u64 = 0;

/// A family of clients: all up to its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Threads.
    pub threads: usize,
    /// Calls of the library per thread.
    pub calls: usize,
    /// Nodes.
    pub nodes: u32,
    /// Different values written, or [`OWN`].
    pub values: u64,
    /// All values are 0.
    pub zero: bool,
    /// Plain accesses in all.
    pub plain: usize,
    /// Objects of each class; as many as a method takes if 0.
    pub objects: usize,
    /// The largest size of objects that have one; the smallest is 1.
    pub sizes: u64,
    /// Statements in all; no bound if 0.
    pub size: usize,
    /// Plain accesses are of one location, and only where the thread has called the first method of a pair
    /// such as `Acq` and `Rel` and not yet the second.
    pub guarded: bool,
    /// Two plain accesses, which also reach the thread's own node through the NIC, in clients of this many
    /// statements; none if 0.
    pub near: usize,
    /// Objects have initial values other than 0.
    pub initial: bool,
    /// A thread that does nothing comes first, and takes part in no object.
    pub ahead: bool,
    /// Of clients that are the same up to this, one is made.
    pub symmetry: Symmetry,
}

impl Default for Bounds {
    /// Two threads of two calls on two nodes.
    fn default() -> Self {
        Self {
            threads: 2,
            calls: 2,
            nodes: 2,
            values: OWN,
            zero: false,
            plain: 2,
            objects: 0,
            sizes: 1,
            size: 0,
            guarded: false,
            near: NEAR,
            initial: false,
            ahead: false,
            symmetry: Symmetry::Names,
        }
    }
}

/// Two accesses through the NIC to the own node with two calls between them.
const NEAR: usize = 4;
/// Two accesses of one section, the second through the NIC, and one that comes between them if another
/// section begins early.
const NEAR_GUARDED: usize = 3;
/// An object's initial value shows where one call looks at it, perhaps after another.
const INITIAL: usize = 2;

/// One call changes an object, and another looks at it, or at another one, perhaps after a third.
const APART: usize = 3;

/// A call that goes on in the background, a wait for it, a call after it, and a look of another thread.
const AFTER_WAIT: usize = 4;

/// One access to read and one to write, in the sections of two threads: as many show that sections exclude
/// each other.
const GUARDED: usize = 4;

impl Bounds {
    /// These bounds, and those families beyond them that tell more of a library of this kind: sections with
    /// more accesses, twice as many calls where none passes a value, a thread alone with one more call,
    /// buffers of several sizes, 0 for every value, a call after a wait, accesses through the NIC to the own
    /// node, initial values other than 0, participants that are not the first threads, and an object more
    /// than methods take.
    pub fn families(self, library: &Library) -> Vec<Bounds> {
        let is_base = library.base.is_some();
        if library.sequential.is_some() && (self.plain, self.near) != (0, 0) {
            // Histories are of calls.
            return Bounds { plain: 0, near: 0, ..self }.families(library);
        }
        // One access alone shows nothing.
        let plain = if self.plain == 1 && !is_base { 0 } else { self.plain };
        let objects = self.objects_of(library);
        let main = Bounds { plain, objects, near: 0, ..self };
        let at_most = |most: usize| if main.size == 0 { most } else { main.size.min(most) };
        let mut all = vec![main];
        let is_of_two = main.threads > 1 && main.calls > 1;
        if pair(library).is_some() && is_of_two && plain > 0 {
            all.push(Bounds { plain: plain.max(GUARDED), guarded: true, ..main });
        }
        // Calls that pass no value have few clients: what works only twice shows.
        let often = !has_values(library) && is_of_two;
        if often {
            all.push(Bounds { threads: 2, calls: main.calls * 2, plain: 0, ..main });
        }
        if main.threads > 1 {
            let plain = if is_base { plain } else { 0 };
            let calls = if often { main.calls * 2 } else { main.calls } + 1;
            all.push(Bounds { threads: 1, calls, plain, ..main });
        }
        if has_sizes(library) && is_of_two {
            // So many messages that one is left out, or read twice.
            let calls = main.calls + 1;
            let values = if main.values == 1 { 2 } else { main.values };
            all.push(Bounds { values, calls, sizes: calls as u64, plain: 0, ..main });
        }
        if has_values(library) {
            all.push(Bounds { zero: true, plain: 0, ..main });
        }
        if is_of_two && has_values(library) && library.methods.iter().any(Method::is_wait) {
            let (calls, size) = (main.calls + 1, at_most(AFTER_WAIT));
            all.push(Bounds { calls, size, plain: 0, ..main });
        }
        if self.near > 0 && !is_base {
            all.push(Bounds { near: self.near, size: at_most(self.near), plain: 2, ..main });
            if pair(library).is_some() && is_of_two && plain > 0 {
                let size = at_most(4 + NEAR_GUARDED);
                all.push(Bounds { near: size, size, plain: NEAR_GUARDED, guarded: true, ..main });
            }
        }
        if library.attributes().contains("initial") {
            all.push(Bounds { initial: true, plain: 0, size: at_most(INITIAL), ..main });
        }
        if library.attributes().contains("threads") {
            all.push(Bounds { ahead: true, plain: 0, size: at_most(APART), ..main });
        }
        if self.objects == 0 && !library.classes.is_empty() {
            all.push(Bounds { objects: objects + 1, plain: 0, size: at_most(APART), ..main });
        }
        all
    }

    /// How many objects of each class there are.
    pub fn objects_of(&self, library: &Library) -> usize {
        let taken = |method: &Method, class: &String| {
            let objects = method.parameters.iter().map(|parameter| &parameter.kind);
            objects.filter(|kind| matches!(kind, ParameterKind::Object(of) if of == class)).count()
        };
        let most = |class| library.methods.iter().map(|method| taken(method, class)).max();
        match self.objects {
            0 => library.classes.iter().filter_map(most).max().unwrap_or(0).max(1),
            objects => objects,
        }
    }

    /// The bounds in words, where they are not those of the family before.
    pub fn describe(families: &[Bounds], library: &Library) -> String {
        let Some((first, further)) = families.split_first() else { return String::new() };
        let mut parts = vec![first.whole(library)];
        for (index, bounds) in further.iter().enumerate() {
            let text = bounds.beyond(first, index == 0, library);
            // Histories have no plain accesses anyway.
            parts.push(match library.sequential {
                Some(_) => text.replace(" and no plain access", ""),
                None => text,
            });
        }
        parts.join("; ")
    }

    fn values_text(&self) -> String {
        match self.values {
            OWN => "values of their own".to_owned(),
            values => count(values, "value"),
        }
    }

    /// All bounds, in words.
    fn whole(&self, library: &Library) -> String {
        let most = match self.size {
            0 => String::new(),
            size => format!(", {}", count(size as u64, "statement")),
        };
        let accesses = match library.sequential {
            Some(_) => String::new(),
            None => format!("{}, ", count(self.plain as u64, "plain access")),
        };
        format!(
            "{} of {}, {accesses}{}, {}, {}{most}",
            count(self.threads as u64, "thread"),
            count(self.calls as u64, "call"),
            count(u64::from(self.nodes), "node"),
            self.values_text(),
            count(self.objects as u64, "object"),
        )
    }

    /// What a family has that the first one does not.
    fn beyond(&self, first: &Self, is_second: bool, library: &Library) -> String {
        let Self { threads, plain, sizes, .. } = self;
        let [calls, statements] = [(self.calls, "call"), (self.size, "statement")]
            .map(|(number, of)| count(number as u64, of));
        let between = || {
            let (first, second) = pair(library).unwrap_or_default();
            format!(" between {first} and {second}")
        };
        match () {
            () if self.near > 0 => {
                let between = if self.guarded { between() } else { String::new() };
                format!(
                    "{plain} plain accesses{between}, also through the NIC to the own node, in {statements}"
                )
            }
            () if self.objects > first.objects => {
                format!("{} in {statements}", count(self.objects as u64, "object"))
            }
            () if self.ahead => format!("a first thread that takes no part in {statements}"),
            () if self.initial => format!("initial values other than 0 in {statements}"),
            () if is_second && self.size > first.size => {
                format!("{} in {statements}", count(*plain as u64, "plain access"))
            }
            () if self.guarded => {
                format!("{plain} plain accesses of one location{}", between())
            }
            () if self.zero => "0 for every value and no plain access".to_owned(),
            () if *threads > 1 && self.size > 0 => {
                format!("{calls} in {statements} and no plain access")
            }
            () if *threads > 1 && self.calls == 2 * first.calls => {
                format!("{threads} threads of {calls} and no plain access")
            }
            () if *threads == 1 && first.threads > 1 => {
                let without = if *plain == 0 { " and no plain access" } else { "" };
                format!("1 thread of {calls}{without}")
            }
            () => format!("{calls}, size {sizes}, {} and no plain access", self.values_text()),
        }
    }
}

fn count(number: u64, of: &str) -> String {
    let end = match number {
        1 => "",
        _ if of.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {of}{end}")
}

/// Whether values are passed to some method.
fn has_values(library: &Library) -> bool {
    let mut parameters = library.methods.iter().flat_map(|method| &method.parameters);
    parameters
        .any(|parameter| matches!(parameter.kind, ParameterKind::Value | ParameterKind::Values))
}

/// The first pair of methods that alternate.
fn pair(library: &Library) -> Option<(&str, &str)> {
    library.rules.iter().find_map(|rule| match &rule.kind {
        RuleKind::Alternate(first, second) => Some((first.as_str(), second.as_str())),
        RuleKind::Equal(_) => None,
    })
}

/// Whether objects hold several values, as many as they are declared for.
pub fn has_sizes(library: &Library) -> bool {
    library.attributes().contains("size") && !has_words(library)
}

/// Whether objects have several words, which are written at once.
pub fn has_words(library: &Library) -> bool {
    let mut parameters = library.methods.iter().flat_map(|method| &method.parameters);
    parameters.any(|parameter| parameter.kind == ParameterKind::Values)
}
