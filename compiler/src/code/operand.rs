//! Compiles expressions for repeated evaluation.

use lang::program::{BinaryOp, Expr, RegisterId};

/// A value that an instruction needs: a constant, a register, or a postfix program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A constant, known before the program runs.
    Constant(u64),
    /// A register's value.
    Register(RegisterId),
    /// Any other expression.
    Computed(Computation),
}

/// A postfix program over a stack. It leaves one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    steps: Box<[Step]>,
    depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Push(u64),
    Load(RegisterId),
    Not,
    Binary(BinaryOp),
}

/// Computations up to this stack depth do not allocate.
const SMALL_DEPTH: usize = 16;

impl Operand {
    /// Compiles an expression to the form that evaluates fastest. Constant expressions are evaluated now.
    pub fn new(expression: &Expr) -> Self {
        let computation = Computation::new(expression);
        match *computation.steps {
            [Step::Push(value)] => Self::Constant(value),
            [Step::Load(register)] => Self::Register(register),
            _ if computation.registers().next().is_none() => {
                Self::Constant(computation.evaluate(&[]))
            }
            _ => Self::Computed(computation),
        }
    }

    /// Evaluates the operand for a register file that is indexed by [`RegisterId`]. The file must have all
    /// [`Operand::registers`].
    #[inline]
    pub fn evaluate(&self, registers: &[u64]) -> u64 {
        match self {
            Self::Constant(value) => *value,
            Self::Register(register) => registers[register.0],
            Self::Computed(computation) => computation.evaluate(registers),
        }
    }

    /// The registers that the value depends on. A register is repeated if the expression repeats it.
    pub fn registers(&self) -> impl Iterator<Item = RegisterId> + '_ {
        let (one, many) = match self {
            Self::Constant(_) => (None, None),
            Self::Register(register) => (Some(*register), None),
            Self::Computed(computation) => (None, Some(computation.registers())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

impl Computation {
    /// Puts operands before operators. There is no recursion, because expressions may be as deep as memory
    /// allows.
    fn new(expression: &Expr) -> Self {
        let mut steps = Vec::new();
        let mut todo = vec![expression];
        // The order root, right, left, when reversed, is left, right, root.
        while let Some(expression) = todo.pop() {
            match expression {
                Expr::Constant(value) => steps.push(Step::Push(*value)),
                Expr::Bottom => steps.push(Step::Push(lang::program::BOTTOM)),
                Expr::Register(register) => steps.push(Step::Load(*register)),
                Expr::Not(inner) => {
                    steps.push(Step::Not);
                    todo.push(inner);
                }
                Expr::Binary(op, left, right) => {
                    steps.push(Step::Binary(*op));
                    todo.push(left);
                    todo.push(right);
                }
            }
        }
        steps.reverse();
        let (mut now, mut depth) = (0usize, 0usize);
        for step in &steps {
            match step {
                Step::Push(_) | Step::Load(_) => now += 1,
                Step::Not => {}
                Step::Binary(_) => now -= 1,
            }
            depth = depth.max(now);
        }
        Self { steps: steps.into_boxed_slice(), depth }
    }

    fn evaluate(&self, registers: &[u64]) -> u64 {
        if self.depth <= SMALL_DEPTH {
            self.evaluate_on(&mut [0; SMALL_DEPTH], registers)
        } else {
            self.evaluate_on(&mut vec![0; self.depth], registers)
        }
    }

    fn evaluate_on(&self, stack: &mut [u64], registers: &[u64]) -> u64 {
        let mut top = 0;
        for step in &self.steps {
            match *step {
                Step::Push(value) => {
                    stack[top] = value;
                    top += 1;
                }
                Step::Load(register) => {
                    stack[top] = registers[register.0];
                    top += 1;
                }
                Step::Not => stack[top - 1] = u64::from(stack[top - 1] == 0),
                Step::Binary(op) => {
                    top -= 1;
                    stack[top - 1] = op.apply(stack[top - 1], stack[top]);
                }
            }
        }
        stack[0]
    }

    fn registers(&self) -> impl Iterator<Item = RegisterId> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Load(register) => Some(*register),
            _ => None,
        })
    }
}
