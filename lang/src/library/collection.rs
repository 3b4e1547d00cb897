//! Several libraries, which are read at the first look.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use super::Library;

/// Libraries in order. Most programs call none, and then those that come with the tool need not be read: that
/// was half of the time that a short command takes.
#[derive(Clone, Debug)]
pub struct Collection {
    libraries: OnceLock<Vec<Arc<Library>>>,
    read: fn() -> Vec<Arc<Library>>,
}

impl Collection {
    /// The libraries that `read` gives. It is called at the first look, if there is one.
    pub const fn later(read: fn() -> Vec<Arc<Library>>) -> Self {
        Self { libraries: OnceLock::new(), read }
    }
}

impl Default for Collection {
    fn default() -> Self {
        Self::later(Vec::new)
    }
}

impl Deref for Collection {
    type Target = Vec<Arc<Library>>;

    fn deref(&self) -> &Self::Target {
        self.libraries.get_or_init(self.read)
    }
}

impl DerefMut for Collection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        let libraries = self.libraries.take().unwrap_or_else(self.read);
        self.libraries = OnceLock::from(libraries);
        self.libraries.get_mut().expect("it has just been set")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Words;
    use crate::program::StmtKind;
    use crate::source::Source;

    const OF_VERBS: &str = "litmus t
model verbs

  x = 0, r = 0       ||  v = 1, z[2] = (0, 0)
  -------------------------------------------
  a := x             ||  Recv(1, r)
  r := RCAS(v^2, 1, 2)  ||  b := CAS(v, 0, 1)
  z[1]^2 :=^d x      ||  Rfence(1)
  Wait(d)            ||
  Poll(2)            ||
";
    const OF_CORERMA: &str = "litmus t
model corerma

  x = 0, s = 0      ||  y = 0
  ---------------------------
  s := rga(y^2, x)  ||  a := y
  flush(2)          ||
";

    const COUNTER: &str = "library counter
class Ctr
memory Ctr.word at home = 0
call AtomicWrite(Ctr x, value v) written x :=CT v { aMF writes v to x.word }
consistency { let so = po }
";

    /// On an object, a method has its name, even if that is a statement too.
    #[test]
    fn methods_of_objects_come_before_statements() {
        let source = Source::new("counter.lib", COUNTER);
        let library = crate::library::load(&source, &|_, _| None).expect("it is right");
        let mut all = Collection::default();
        all.push(Arc::new(library));
        let text = "litmus t\nmodel sc\n\n  Ctr x  |\n  --------\n  AtomicWrite(x, 1)  |\n";
        let loaded = crate::litmus::load_with(&Source::new("t.litmus", text), Words::of(&all));
        let test = loaded.0.unwrap_or_else(|| panic!("{:?}", loaded.1));
        let first = &test.program.threads[0].body[0].kind;
        let is_call = matches!(first, StmtKind::Call(call) if call.object.as_deref() == Some("x"));
        assert!(is_call, "{first:?}");
    }

    /// Programs that call nothing do without libraries.
    #[test]
    fn is_not_read_for_statements() {
        let unread = Collection::later(|| panic!("expected no look at libraries"));
        for text in [OF_VERBS, OF_CORERMA] {
            crate::litmus::load_with(&Source::new("t.litmus", text), Words::of(&unread));
        }
    }

    /// What calls something looks at them, once, and changes are kept.
    #[test]
    fn is_read_for_calls() {
        let mut none = Collection::later(Vec::new);
        let text = "litmus t\nmodel sc\n\n  Queue q  |\n  --------\n  q.Push(1)  |\n";
        crate::litmus::load_with(&Source::new("t.litmus", text), Words::of(&none));
        assert!(none.libraries.get().is_some());
        none.clear();
        assert!(none.is_empty());
    }
}
