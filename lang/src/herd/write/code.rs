//! A thread's statements as instructions.

use std::collections::{BTreeMap, BTreeSet};

use super::refusal;
use crate::diagnostic::Diagnostic;
use crate::program::{BinaryOp, Expr, LocationId, Program, RegisterId, Stmt, StmtKind, ThreadId};
use crate::source::Span;

/// The registers that programs get, in this order; `rsp` and `rbp` are the compiler's when litmus7 runs a
/// test.
const REGISTERS: [&str; 14] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
];

/// How many branches our reader takes in another.
const DEEPEST: usize = 32;

/// A thread as a column.
pub struct Column {
    /// Its instructions and labels.
    pub lines: Vec<String>,
    /// The registers of x86 that hold the program's.
    pub registers: BTreeMap<RegisterId, &'static str>,
    /// Registers that the initial state names: those observed, and those that may be read before they are
    /// assigned.
    pub declared: BTreeSet<&'static str>,
}

/// A number that an instruction can hold, and that is the same in four bytes and in eight.
pub fn checked(value: u64, span: Span) -> Result<u64, Box<Diagnostic>> {
    if value > i32::MAX as u64 {
        return Err(refusal(span, "a number of more than 31 bits"));
    }
    Ok(value)
}

/// Writes a thread. `locations` are the names of the program's.
pub fn column(
    program: &Program,
    thread: ThreadId,
    locations: &[String],
    observed: &[RegisterId],
) -> Result<Column, Box<Diagnostic>> {
    let body = program.threads.get(thread.0).map_or(&[][..], |thread| &thread.body);
    let own = |id: &RegisterId| program.registers.get(id.0).is_some_and(|one| one.thread == thread);
    let observed: Vec<RegisterId> = observed.iter().copied().filter(own).collect();
    let mut wanted: BTreeSet<RegisterId> = observed.iter().copied().collect();
    let has_cas = survey(body, &mut wanted);
    let mut writer = Writer {
        number: thread.0,
        locations,
        wanted,
        lines: Vec::new(),
        free: REGISTERS[usize::from(has_cas)..].iter(),
        registers: BTreeMap::new(),
        scratch: None,
        assigned: BTreeSet::new(),
        declared: BTreeSet::new(),
        labels: 0,
        depth: 0,
    };
    writer.statements(body)?;
    for id in observed {
        let name = writer.register(id, Span::default())?;
        writer.declared.insert(name);
    }
    Ok(Column { lines: writer.lines, registers: writer.registers, declared: writer.declared })
}

/// Adds the registers that expressions name; whether there is a compare-and-swap.
fn survey(body: &[Stmt], wanted: &mut BTreeSet<RegisterId>) -> bool {
    let mut has_cas = false;
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { value, .. }
            | StmtKind::Write { value, .. }
            | StmtKind::Exchange { value, .. }
            | StmtKind::Faa { addend: value, .. } => wanted.extend(value.registers()),
            StmtKind::Cas { expected, desired, .. } => {
                has_cas = true;
                wanted.extend(expected.registers());
                wanted.extend(desired.registers());
            }
            StmtKind::If { condition, then, otherwise } => {
                wanted.extend(condition.registers());
                has_cas |= survey(then, wanted);
                has_cas |= survey(otherwise, wanted);
            }
            // All else is refused.
            _ => {}
        }
    }
    has_cas
}

struct Writer<'a> {
    number: usize,
    locations: &'a [String],
    /// Registers whose value matters.
    wanted: BTreeSet<RegisterId>,
    lines: Vec<String>,
    free: std::slice::Iter<'static, &'static str>,
    registers: BTreeMap<RegisterId, &'static str>,
    /// The register for values on their way.
    scratch: Option<&'static str>,
    /// Registers that have been assigned on every way to here.
    assigned: BTreeSet<RegisterId>,
    declared: BTreeSet<&'static str>,
    labels: usize,
    depth: usize,
}

impl Writer<'_> {
    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn fresh(&mut self, span: Span) -> Result<&'static str, Box<Diagnostic>> {
        let next = self.free.next().copied();
        next.ok_or_else(|| refusal(span, "a thread of more registers than x86 has"))
    }

    fn register(&mut self, id: RegisterId, span: Span) -> Result<&'static str, Box<Diagnostic>> {
        if let Some(name) = self.registers.get(&id) {
            return Ok(name);
        }
        let name = self.fresh(span)?;
        self.registers.insert(id, name);
        Ok(name)
    }

    fn scratch(&mut self, span: Span) -> Result<&'static str, Box<Diagnostic>> {
        if let Some(name) = self.scratch {
            return Ok(name);
        }
        let name = self.fresh(span)?;
        self.scratch = Some(name);
        Ok(name)
    }

    /// A register that is read.
    fn read(&mut self, id: RegisterId, span: Span) -> Result<&'static str, Box<Diagnostic>> {
        let name = self.register(id, span)?;
        if !self.assigned.contains(&id) {
            self.declared.insert(name);
        }
        Ok(name)
    }

    fn location(&self, id: LocationId, span: Span) -> Result<String, Box<Diagnostic>> {
        let name = self.locations.get(id.0);
        name.map(|name| format!("({name})")).ok_or_else(|| refusal(span, "no location"))
    }

    fn statements(&mut self, body: &[Stmt]) -> Result<(), Box<Diagnostic>> {
        body.iter().try_for_each(|stmt| self.statement(stmt))
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<(), Box<Diagnostic>> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign { register, value } => {
                let target = self.register(*register, span)?;
                self.value(value, target, span)?;
                self.assigned.insert(*register);
            }
            StmtKind::Read { register, location } => {
                let target = self.register(*register, span)?;
                let location = self.location(*location, span)?;
                self.line(format!("movq {location},%{target}"));
                self.assigned.insert(*register);
            }
            StmtKind::Write { location, value } => {
                let location = self.location(*location, span)?;
                let operand = self.operand(value, span)?;
                self.line(format!("movq {operand},{location}"));
            }
            StmtKind::Cas { register, location, expected, desired } => {
                let location = self.location(*location, span)?;
                self.compare_and_swap(*register, &location, expected, desired, span)?;
            }
            StmtKind::Faa { register, location, addend } => {
                let location = self.location(*location, span)?;
                if register.is_some_and(|register| self.wanted.contains(&register)) {
                    let found = "a fetch-and-add whose result is used";
                    let help = "herd has `lock add`, which forgets what was there, and no xadd";
                    return Err(Box::new(refusal(span, found).help(help)));
                }
                let operand = self.operand(addend, span)?;
                self.line(format!("lock addq {operand},{location}"));
            }
            StmtKind::Exchange { register, location, value } => {
                let location = self.location(*location, span)?;
                let target = match register {
                    Some(register) => self.register(*register, span)?,
                    None => self.scratch(span)?,
                };
                self.value(value, target, span)?;
                self.line(format!("xchgq {location},%{target}"));
                self.assigned.extend(register);
            }
            StmtKind::Fence => self.line("mfence".to_owned()),
            StmtKind::If { condition, then, otherwise } => {
                self.branch(condition, then, otherwise, span)?;
            }
            kind if kind.is_of_nic() => return Err(refusal(span, "a remote operation")),
            StmtKind::Call(_) => return Err(refusal(span, "a library")),
            StmtKind::Assume(_) => return Err(refusal(span, "an assumption")),
            StmtKind::Loop(_) | StmtKind::Break => return Err(refusal(span, "a loop")),
            _ => return Err(refusal(span, "a statement of coreRMA")),
        }
        Ok(())
    }

    /// `rax` is compared, and holds what was there afterwards, whether it was equal or not.
    fn compare_and_swap(
        &mut self,
        register: Option<RegisterId>,
        location: &str,
        expected: &Expr,
        desired: &Expr,
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        self.value(expected, "rax", span)?;
        let desired = match desired {
            Expr::Register(id) => self.read(*id, span)?,
            _ => {
                let scratch = self.scratch(span)?;
                self.value(desired, scratch, span)?;
                scratch
            }
        };
        self.line(format!("lock cmpxchgq {location},%{desired}"));
        if let Some(register) = register.filter(|register| self.wanted.contains(register)) {
            let target = self.register(register, span)?;
            self.line(format!("movq %rax,%{target}"));
            self.assigned.insert(register);
        }
        Ok(())
    }

    /// A value as the operand of an instruction.
    fn operand(&mut self, value: &Expr, span: Span) -> Result<String, Box<Diagnostic>> {
        let (registers, constant) = sum(value, span)?;
        Ok(match registers.as_slice() {
            [] => format!("${constant}"),
            [id] if constant == 0 => format!("%{}", self.read(*id, span)?),
            _ => {
                let scratch = self.scratch(span)?;
                self.value(value, scratch, span)?;
                format!("%{scratch}")
            }
        })
    }

    /// Puts a value into a register.
    fn value(
        &mut self,
        value: &Expr,
        target: &'static str,
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        let (registers, constant) = sum(value, span)?;
        let mut terms = Vec::new();
        for id in registers {
            terms.push(self.read(id, span)?);
        }
        let uses = terms.iter().filter(|term| **term == target).count();
        if uses > 1 {
            // The target's old value is needed until the end.
            let scratch = self.scratch(span)?;
            self.sum_into(&terms, constant, scratch);
            self.line(format!("movq %{scratch},%{target}"));
            return Ok(());
        }
        terms.sort_by_key(|term| *term != target);
        self.sum_into(&terms, constant, target);
        Ok(())
    }

    /// Adds up; only the first term may be the target.
    fn sum_into(&mut self, terms: &[&'static str], constant: u64, target: &'static str) {
        let Some((first, rest)) = terms.split_first() else {
            return self.line(format!("movq ${constant},%{target}"));
        };
        if *first != target {
            self.line(format!("movq %{first},%{target}"));
        }
        for term in rest {
            self.line(format!("addq %{term},%{target}"));
        }
        if constant != 0 {
            self.line(format!("addq ${constant},%{target}"));
        }
    }

    fn branch(
        &mut self,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        let mut tests = Vec::new();
        conjuncts(condition, true, &mut tests);
        // Two jumps to one alternative are more than our reader takes.
        if tests.len() > 1 && !otherwise.is_empty() {
            return Err(refusal(span, "a condition of several parts with `else`"));
        }
        let around = self.depth;
        self.depth += tests.len();
        if self.depth > DEEPEST {
            return Err(refusal(span, "branches nested deeper than 32"));
        }
        let (beyond, end) = (self.label(), self.label());
        for (test, wanted) in tests {
            self.jump_unless(test, wanted, &beyond, span)?;
        }
        let before = self.assigned.clone();
        self.statements(then)?;
        let after = std::mem::replace(&mut self.assigned, before);
        if !otherwise.is_empty() {
            self.line(format!("jmp {end}"));
        }
        self.line(format!("{beyond}:"));
        if !otherwise.is_empty() {
            self.statements(otherwise)?;
            self.line(format!("{end}:"));
        }
        self.assigned.retain(|register| after.contains(register));
        self.depth = around;
        Ok(())
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}_{}", self.number, self.labels)
    }

    /// Jumps to the label if the test does not come out as wanted.
    fn jump_unless(
        &mut self,
        test: &Expr,
        wanted: bool,
        label: &str,
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        let zero = Expr::Constant(0);
        let (left, right, is_equal) = match test {
            Expr::Binary(BinaryOp::Equal, left, right) => (&**left, &**right, wanted),
            Expr::Binary(BinaryOp::NotEqual, left, right) => (&**left, &**right, !wanted),
            other => (other, &zero, !wanted),
        };
        // What is compared stands in a register, with a number or another.
        let (left, right) = if is_constant(left) { (right, left) } else { (left, right) };
        let (Expr::Register(left), Expr::Register(_) | Expr::Constant(_)) = (left, right) else {
            return Err(refusal(span, "a condition that one comparison does not answer"));
        };
        let operand = self.operand(right, span)?;
        let left = self.read(*left, span)?;
        self.line(format!("cmpq {operand},%{left}"));
        self.line(format!("{} {label}", if is_equal { "jne" } else { "je" }));
        Ok(())
    }
}

/// The parts of a condition that must all come out as said.
fn conjuncts<'e>(condition: &'e Expr, wanted: bool, out: &mut Vec<(&'e Expr, bool)>) {
    match condition {
        Expr::Not(inner) => conjuncts(inner, !wanted, out),
        Expr::Binary(BinaryOp::And, left, right) if wanted => {
            conjuncts(left, true, out);
            conjuncts(right, true, out);
        }
        Expr::Binary(BinaryOp::Or, left, right) if !wanted => {
            conjuncts(left, false, out);
            conjuncts(right, false, out);
        }
        other => out.push((other, wanted)),
    }
}

fn is_constant(value: &Expr) -> bool {
    value.registers().is_empty()
}

/// A value as registers and a number that are added up.
fn sum(value: &Expr, span: Span) -> Result<(Vec<RegisterId>, u64), Box<Diagnostic>> {
    if is_constant(value) {
        return Ok((Vec::new(), checked(value.evaluate(&|_| 0), span)?));
    }
    match value {
        Expr::Register(id) => Ok((vec![*id], 0)),
        Expr::Binary(BinaryOp::Add, left, right) => {
            let ((mut registers, left), (more, right)) = (sum(left, span)?, sum(right, span)?);
            registers.extend(more);
            Ok((registers, checked(left.saturating_add(right), span)?))
        }
        _ => Err(refusal(span, "arithmetic other than sums")),
    }
}
