//! The rules of libraries that well-formed programs meet, kept while a program runs.

use std::collections::BTreeMap;

use compiler::library::Libraries;
use lang::diagnostic::{Code, Diagnostic};
use lang::library::RuleKind;
use lang::program::{Program, ThreadId};

use super::calls::Called;

/// A rule of a library for an object: the library's number, the rule's, the object's, and the thread.
type Key = (usize, usize, usize, usize);

/// How often each thread has called what a rule counts: 1 if it holds the object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kept(BTreeMap<Key, u32>);

impl Kept {
    /// Notes a call of a thread.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn call(
        &mut self,
        (thread, called): (usize, &Called),
        (program, libraries): (&Program, &Libraries),
    ) -> Result<(), Box<Diagnostic>> {
        let Some(object) = called.objects.first().copied() else { return Ok(()) };
        let name = &program.objects[object].name;
        let wrong = |code, message| Err(Box::new(Diagnostic::error(code, called.span, message)));
        for (rule, kind) in libraries.all[called.library].rules.iter().enumerate() {
            let key = (called.library, rule, object, thread);
            match &kind.kind {
                RuleKind::Alternate(first, second) if called.method == *first => {
                    if self.0.insert(key, 1).is_some() {
                        let message =
                            format!("`{name}` is held already: {first} twice without {second}");
                        return wrong(Code::AlreadyHeld, message);
                    }
                }
                RuleKind::Alternate(first, second) if called.method == *second => {
                    if self.0.remove(&key).is_none() {
                        let message = format!("`{name}` is not held: {second} without {first}");
                        return wrong(Code::NotHeld, message);
                    }
                }
                RuleKind::Equal(method) if called.method == *method => {
                    *self.0.entry(key).or_default() += 1;
                }
                RuleKind::Alternate(..) | RuleKind::Equal(_) => {}
            }
        }
        Ok(())
    }

    /// What the rules say when all threads have ended.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn end(&self, program: &Program, libraries: &Libraries) -> Result<(), Box<Diagnostic>> {
        for ((library, rule, object, thread), count) in &self.0 {
            let object_of = &program.objects[*object];
            let name = &object_of.name;
            let wrong =
                |code, message| Err(Box::new(Diagnostic::error(code, object_of.span, message)));
            match &libraries.all[*library].rules[*rule].kind {
                RuleKind::Alternate(_, second) => {
                    let message =
                        format!("`{name}` is never released: the thread ends without {second}");
                    return wrong(Code::NeverReleased, message);
                }
                RuleKind::Equal(method) => {
                    let calls = |thread: usize| {
                        self.0.get(&(*library, *rule, *object, thread)).copied().unwrap_or(0)
                    };
                    let mut others = object_of.threads.iter().map(|thread| thread.0);
                    let other = others.find(|other| calls(*other) != *count);
                    let other = other.or_else(|| {
                        let mut all = 0..program.threads.len();
                        all.find(|other| calls(*other) != 0 && calls(*other) != *count)
                    });
                    if let Some(other) = other {
                        let (one, other) = (ThreadId(*thread).number(), ThreadId(other).number());
                        let message = format!(
                            "threads {one} and {other} call {method}({name}) unequally often"
                        );
                        return wrong(Code::UnequalCalls, message);
                    }
                }
            }
        }
        Ok(())
    }
}
