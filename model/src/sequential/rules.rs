//! The rules of libraries that well-formed programs meet, kept while a program runs.

use std::collections::BTreeMap;

use compiler::library::Libraries;
use compiler::library::misuse::{self, Said};
use lang::diagnostic::Diagnostic;
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
        let wrong =
            |(code, message): Said| Err(Box::new(Diagnostic::error(code, called.span, message)));
        for (rule, kind) in libraries.all[called.library].rules.iter().enumerate() {
            let key = (called.library, rule, object, thread);
            match &kind.kind {
                RuleKind::Alternate(first, second) if called.method == *first => {
                    if self.0.insert(key, 1).is_some() {
                        return wrong(misuse::already_held(name, first, second));
                    }
                }
                RuleKind::Alternate(first, second) if called.method == *second => {
                    if self.0.remove(&key).is_none() {
                        return wrong(misuse::not_held(name, first, second));
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
            let wrong = |(code, message): Said| {
                Err(Box::new(Diagnostic::error(code, object_of.span, message)))
            };
            match &libraries.all[*library].rules[*rule].kind {
                RuleKind::Alternate(_, second) => {
                    return wrong(misuse::never_released(name, second));
                }
                RuleKind::Equal(method) => {
                    let calls = |thread: usize| {
                        self.0.get(&(*library, *rule, *object, thread)).copied().unwrap_or(0)
                    };
                    let takes_part = |thread: usize| {
                        object_of.threads.contains(&ThreadId(thread)) || calls(thread) != 0
                    };
                    let is_other = |other: &usize| takes_part(*other) && calls(*other) != *count;
                    if let Some(other) = (0..program.threads.len()).find(is_other) {
                        let threads = (ThreadId(*thread), ThreadId(other));
                        return wrong(misuse::unequal_calls(name, method, threads));
                    }
                }
            }
        }
        Ok(())
    }
}
