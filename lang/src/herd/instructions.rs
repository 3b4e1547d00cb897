//! What each instruction does.

use super::lower::{Lowerer, assign, fence, rmw};
use super::parse::{Instruction, Operand};
use super::registers::Width;
use crate::litmus::ast::build::{binary, named, number};
use crate::litmus::ast::{Expr, Place, Statement, StatementKind};
use crate::litmus::methods::Method;
use crate::program::BinaryOp;

/// What a conditional jump asks.
#[derive(Clone)]
pub struct Flags {
    /// True if the zero flag is set.
    pub is_zero: Expr,
}

/// Instructions without an effect on what x86-TSO models.
const IDLE: [&str; 8] = ["nop", "nopl", "nopw", "endbr64", "pause", "sfence", "lfence", "cld"];
/// Arithmetic of two operands.
const ARITHMETIC: [&str; 3] = ["add", "sub", "xor"];
/// All others, without endings for sizes.
const OTHERS: [&str; 9] = ["mov", "xchg", "inc", "dec", "xadd", "cmpxchg", "cmp", "test", "mfence"];

/// The words of instructions, for hints.
pub fn words() -> impl Iterator<Item = &'static str> {
    IDLE.into_iter().chain(ARITHMETIC).chain(OTHERS)
}

/// An instruction's name without the ending for its size, and that.
fn split(mnemonic: &str) -> Option<(&'static str, Option<char>)> {
    let known = |word: &str| words().find(|known| *known == word);
    if let Some(word) = known(mnemonic) {
        return Some((word, None));
    }
    let ending = mnemonic.chars().next_back().filter(|last| "bwlq".contains(*last))?;
    known(&mnemonic[..mnemonic.len() - 1]).map(|word| (word, Some(ending)))
}

/// One side of an instruction.
enum Side {
    Value(Expr),
    Register(String),
    Memory(String),
}

impl Lowerer<'_> {
    /// The statements of an instruction that is not a jump, and the flags that it sets; `None` if it was
    /// refused.
    pub fn instruction(
        &mut self,
        instruction: &Instruction,
        out: &mut Vec<Statement>,
    ) -> Option<Option<Flags>> {
        let place = instruction.place;
        let Some((word, ending)) = split(&instruction.mnemonic) else {
            let message = format!("the instruction `{}` is not supported", instruction.mnemonic);
            self.refuse(place, message);
            return None;
        };
        if instruction.lock
            && !["xchg", "inc", "dec", "xadd", "cmpxchg", "add", "sub"].contains(&word)
        {
            self.refuse(place, format!("`lock {word}` is not supported"));
            return None;
        }
        if IDLE.contains(&word) {
            out.push(Statement { kind: StatementKind::Skip, unsignaled: false, place });
            return Some(None);
        }
        if word == "mfence" {
            out.push(fence(place));
            return Some(None);
        }
        let width = self.width(instruction, ending)?;
        let mut sides = Vec::new();
        for operand in self.operands(instruction) {
            sides.push(self.side(operand, width, place)?);
        }
        let mut step = Step { lowerer: self, place, out, lock: instruction.lock };
        step.run(word, sides)
    }

    fn side(&mut self, operand: &Operand, width: Width, place: Place) -> Option<Side> {
        Some(match operand {
            Operand::Immediate(value) => Side::Value(number(*value, place)),
            Operand::Memory(word) => Side::Memory(self.memory(word, Some(width))?),
            Operand::Register(word) => Side::Register(self.register(word)?.0),
        })
    }
}

struct Step<'s, 'a> {
    lowerer: &'s mut Lowerer<'a>,
    place: Place,
    out: &'s mut Vec<Statement>,
    lock: bool,
}

impl Step<'_, '_> {
    fn refuse(&mut self, message: String) -> Option<Option<Flags>> {
        self.lowerer.refuse(self.place, message);
        None
    }

    /// The value of a side; what is in memory is read first.
    fn value(&mut self, side: &Side) -> Expr {
        match side {
            Side::Value(value) => value.clone(),
            Side::Register(name) => named(name, self.place),
            Side::Memory(location) => {
                let register = self.lowerer.temporary();
                self.out.push(assign(&register, named(location, self.place), self.place));
                named(&register, self.place)
            }
        }
    }

    fn store(&mut self, side: &Side, value: Expr) {
        if let Side::Register(name) | Side::Memory(name) = side {
            self.out.push(assign(name, value, self.place));
        }
    }

    fn run(&mut self, word: &str, sides: Vec<Side>) -> Option<Option<Flags>> {
        let place = self.place;
        match (word, sides.as_slice()) {
            ("mov", [Side::Memory(_), Side::Memory(_)]) => {
                return self.refuse("expected one operand in memory, found two".to_owned());
            }
            ("mov", [Side::Memory(location), Side::Register(name)]) => {
                self.out.push(assign(name, named(location, place), place));
            }
            ("mov", [from, to @ (Side::Register(_) | Side::Memory(_))]) => {
                let value = self.value(from);
                self.store(to, value);
            }
            // An exchange with memory is locked, with the prefix or without.
            ("xchg", [Side::Register(name), Side::Memory(location)])
            | ("xchg", [Side::Memory(location), Side::Register(name)]) => {
                let value = vec![named(name, place)];
                self.out.push(rmw(Some(name), Method::Xchg, location, value, place));
            }
            ("xchg", [left @ Side::Register(_), right @ Side::Register(_)]) if !self.lock => {
                let register = self.lowerer.temporary();
                let value = self.value(left);
                self.out.push(assign(&register, value, place));
                let value = self.value(right);
                self.store(left, value);
                self.store(right, named(&register, place));
            }
            ("xadd", [Side::Register(name), Side::Memory(location)]) if self.lock => {
                let value = vec![named(name, place)];
                self.out.push(rmw(Some(name), Method::Faa, location, value, place));
            }
            // AT&T's order, and herd's own for X86_64: its parser takes the location first.
            ("cmpxchg", [from @ Side::Register(_), Side::Memory(location)])
            | ("cmpxchg", [Side::Memory(location), from @ Side::Register(_)])
                if self.lock =>
            {
                return self.compare_and_exchange(from, location);
            }
            ("inc" | "dec", [target @ (Side::Register(_) | Side::Memory(_))]) => {
                let op = if word == "inc" { BinaryOp::Add } else { BinaryOp::Subtract };
                return self.arithmetic(op, number(1, place), target);
            }
            ("add" | "sub", [from, to @ (Side::Register(_) | Side::Memory(_))]) => {
                let op = if word == "add" { BinaryOp::Add } else { BinaryOp::Subtract };
                if matches!((from, to), (Side::Memory(_), Side::Memory(_))) {
                    return self.refuse("expected one operand in memory, found two".to_owned());
                }
                let value = self.value(from);
                return self.arithmetic(op, value, to);
            }
            // How programs set a register to 0, and keep a dependency on what it was.
            ("xor", [Side::Register(from), to @ Side::Register(name)]) if from == name => {
                let value = binary(BinaryOp::Subtract, named(name, place), named(name, place));
                self.store(to, value);
            }
            ("cmp", [left, right]) => {
                let (left, right) = (self.value(left), self.value(right));
                return Some(Some(Flags { is_zero: binary(BinaryOp::Equal, right, left) }));
            }
            ("test", [Side::Register(left), Side::Register(right)]) if left == right => {
                let is_zero = binary(BinaryOp::Equal, named(left, place), number(0, place));
                return Some(Some(Flags { is_zero }));
            }
            _ => {
                let lock = if self.lock { "lock " } else { "" };
                return self.refuse(format!("`{lock}{word}` with such operands is not supported"));
            }
        }
        Some(None)
    }

    /// `rax` takes what was there; the location takes the new value if that was what `rax` was.
    fn compare_and_exchange(&mut self, from: &Side, location: &str) -> Option<Option<Flags>> {
        let place = self.place;
        let word = ("eax".to_owned(), place);
        let (rax, _) = self.lowerer.register(&word)?;
        let before = self.lowerer.temporary();
        self.out.push(assign(&before, named(&rax, place), place));
        let values = vec![named(&rax, place), self.value(from)];
        self.out.push(rmw(Some(&rax), Method::Cas, location, values, place));
        let is_zero = binary(BinaryOp::Equal, named(&before, place), named(&rax, place));
        Some(Some(Flags { is_zero }))
    }

    fn arithmetic(&mut self, op: BinaryOp, value: Expr, target: &Side) -> Option<Option<Flags>> {
        let place = self.place;
        match target {
            Side::Memory(location) if self.lock => {
                let addend = match op {
                    BinaryOp::Add => value,
                    _ => binary(op, number(0, place), value),
                };
                self.out.push(rmw(None, Method::Faa, location, vec![addend], place));
            }
            _ if self.lock => {
                return self.refuse("`lock` with a register is not supported".to_owned());
            }
            _ => {
                let old = self.value(target);
                self.store(target, binary(op, old, value));
            }
        }
        Some(None)
    }
}
