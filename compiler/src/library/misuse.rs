//! What is said of programs that break the rules of a library, wherever that is seen.

use lang::diagnostic::Code;
use lang::program::ThreadId;

/// A code, and the message with it.
pub type Said = (Code, String);

/// An object of this name is taken twice.
pub fn already_held(name: &str, first: &str, second: &str) -> Said {
    (Code::AlreadyHeld, format!("`{name}` is held already: {first} twice without {second}"))
}

/// It is released without being taken.
pub fn not_held(name: &str, first: &str, second: &str) -> Said {
    (Code::NotHeld, format!("`{name}` is not held: {second} without {first}"))
}

/// Its thread ends and holds it.
pub fn never_released(name: &str, second: &str) -> Said {
    let message = format!("`{name}` is never released: the thread ends without {second}");
    (Code::NeverReleased, message)
}

/// Two threads call a method on it, and one more often than the other.
pub fn unequal_calls(name: &str, method: &str, (one, other): (ThreadId, ThreadId)) -> Said {
    let (one, other) = (one.number(), other.number());
    (Code::UnequalCalls, format!("threads {one} and {other} call {method}({name}) unequally often"))
}
