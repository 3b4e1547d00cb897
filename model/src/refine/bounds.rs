//! How large the clients are that are tried.

use lang::library::{Library, ParameterKind, RuleKind};

/// A family of clients: all that are no larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Threads.
    pub threads: usize,
    /// Calls of the library per thread.
    pub calls: usize,
    /// Nodes.
    pub nodes: u32,
    /// Different values written.
    pub values: u64,
    /// Plain accesses in all.
    pub plain: usize,
    /// Objects.
    pub objects: usize,
    /// The largest size of objects that have one; the smallest is 1.
    pub sizes: u64,
    /// Statements in all; no bound if 0.
    pub size: usize,
    /// Plain accesses are of one location, and only where the thread has called the first method of a pair such as
    /// `Acq` and `Rel` and not yet the second.
    pub guarded: bool,
}

impl Default for Bounds {
    /// Two threads of two calls on two nodes.
    fn default() -> Self {
        Self {
            threads: 2,
            calls: 2,
            nodes: 2,
            values: 1,
            plain: 2,
            objects: 1,
            sizes: 1,
            size: 0,
            guarded: false,
        }
    }
}

/// One access to read and one to write, in the sections of two threads: as many show that sections exclude each other.
const GUARDED: usize = 4;

impl Bounds {
    /// These bounds, and those families beyond them that tell more of a library of this kind: sections with more
    /// accesses, a thread alone with one more call, and messages that can be told apart.
    pub fn families(self, library: &Library) -> Vec<Bounds> {
        let is_base = library.base.is_some();
        // One access alone shows nothing.
        let plain = if self.plain == 1 && !is_base { 0 } else { self.plain };
        let main = Bounds { plain, ..self };
        let mut all = vec![main];
        let is_of_two = main.threads > 1 && main.calls > 1;
        if pair(library).is_some() && is_of_two && plain > 0 {
            all.push(Bounds { plain: plain.max(GUARDED), guarded: true, ..main });
        }
        if main.threads > 1 {
            let plain = if is_base { plain } else { 0 };
            all.push(Bounds { threads: 1, calls: main.calls + 1, plain, ..main });
        }
        if has_sizes(library) && is_of_two {
            let sizes = main.sizes.max(main.calls as u64);
            all.push(Bounds { values: main.values.max(2), sizes, plain: 0, ..main });
        }
        all
    }

    /// The bounds in words, where they are not those of the family before.
    pub fn describe(families: &[Bounds], library: &Library) -> String {
        let mut parts = Vec::new();
        for (index, bounds) in families.iter().enumerate() {
            let Bounds { threads, calls, nodes, values, plain, objects, sizes, size, guarded } =
                bounds;
            let text = match () {
                () if index == 0 => {
                    let most =
                        if *size > 0 { format!(", {size} statements") } else { String::new() };
                    format!(
                        "{threads} threads of {calls} calls, {plain} plain accesses, {nodes} nodes, {values} values, {objects} objects{most}"
                    )
                }
                () if *guarded => {
                    let (first, second) = pair(library).unwrap_or_default();
                    format!("{plain} plain accesses of one location between {first} and {second}")
                }
                () if *threads == 1 => {
                    let without = if *plain == 0 { " and no plain access" } else { "" };
                    format!("1 thread of {calls} calls{without}")
                }
                () => format!("size {sizes}, {values} values and no plain access"),
            };
            parts.push(text);
        }
        parts.join("; ")
    }
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
