//! A sequential object: its state, and what a call does with it.

use std::collections::HashMap;

use compiler::library::{Bound, Environment};
use lang::library::{Body, Expr, Library, Place, Statement, StatementKind};
use lang::program::{BOTTOM, Program, ThreadId};

/// What is wrong with a body, in words.
pub type Wrong = String;

/// The most statements of one call.
const FUEL: usize = 1_000_000;

/// The words of a state.
pub type State = Vec<u64>;

/// Where the words of a memory are in a state: the first, and how many there are if it says.
type Words = (usize, Option<u64>);

/// The objects of a client.
pub struct Objects<'a> {
    library: &'a Library,
    program: &'a Program,
    /// By memory, and by the object that has it; `None` for memory of the library.
    words: HashMap<(&'a str, Option<usize>), Words>,
    /// The state before all calls.
    pub initial: State,
}

/// A call of a client: a method, objects by their numbers in the program, and values.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: String,
    pub objects: Vec<usize>,
    pub values: Vec<u64>,
}

impl<'a> Objects<'a> {
    /// The objects of a program, as they begin.
    pub fn new(library: &'a Library, program: &'a Program) -> Self {
        let (words, initial) = (HashMap::new(), Vec::new());
        let mut all = Self { library, program, words, initial };
        for memory in library.sequential.iter().flat_map(|sequential| &sequential.memory) {
            let of_class = program.objects.iter().enumerate();
            let of_class =
                of_class.filter(|(_, object)| Some(&object.class) == memory.class.as_ref());
            let mut objects: Vec<Option<usize>> = of_class.map(|(index, _)| Some(index)).collect();
            if memory.class.is_none() {
                objects.push(None);
            }
            for object in objects {
                let mut environment = environment();
                for name in memory.objects_named() {
                    environment.names.extend(object.map(|object| (name, Bound::Object(object))));
                }
                let number = |expr: &Expr| environment.number(program, expr);
                let count = memory.count.as_ref().and_then(number);
                let initial = memory.initial.as_ref().and_then(number).unwrap_or(0);
                all.words.insert((&memory.name, object), (all.initial.len(), count));
                let length = all.initial.len() + count.unwrap_or(1) as usize;
                all.initial.resize(length, initial);
            }
        }
        all
    }

    /// Takes a call at once. The result, if it has one; `None` if the call does not return from that state.
    ///
    /// # Errors
    /// What is wrong with the body.
    pub fn take(&self, call: &Call, state: &mut State) -> Result<Option<Option<u64>>, Wrong> {
        let bodies = self.library.sequential.iter().flat_map(|sequential| &sequential.bodies);
        let body = bodies.into_iter().find(|body| body.method == call.method);
        let body = body.ok_or_else(|| format!("the sequential object lacks `{}`", call.method))?;
        let mut run = Run { objects: self, state, names: environment(), fuel: FUEL, result: None };
        run.bind(body, call)?;
        Ok(match run.block(&body.statements)? {
            Flow::NoReturn => None,
            Flow::On | Flow::Break => Some(run.result),
        })
    }
}

fn environment() -> Environment<u64> {
    Environment { thread: ThreadId(0), names: HashMap::new() }
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Break,
    NoReturn,
}

/// A call that takes place.
struct Run<'r, 'a> {
    objects: &'r Objects<'a>,
    state: &'r mut State,
    names: Environment<u64>,
    /// How many statements it may still take.
    fuel: usize,
    result: Option<u64>,
}

impl Run<'_, '_> {
    fn bind(&mut self, body: &Body, call: &Call) -> Result<(), Wrong> {
        let (mut objects, mut values) = (call.objects.iter(), call.values.iter());
        for parameter in &body.parameters {
            let bound = match parameter.kind {
                lang::library::ParameterKind::Object(_) => {
                    objects.next().map(|o| Bound::Object(*o))
                }
                _ => values.next().map(|value| Bound::Number(*value)),
            };
            let bound = bound.ok_or_else(|| format!("`{}` is not passed", parameter.name))?;
            self.names.names.insert(parameter.name.clone(), bound);
        }
        Ok(())
    }

    fn block(&mut self, block: &[Statement]) -> Result<Flow, Wrong> {
        for statement in block {
            let flow = self.statement(&statement.kind)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn statement(&mut self, kind: &StatementKind) -> Result<Flow, Wrong> {
        self.step()?;
        match kind {
            StatementKind::Assign { target, value, .. } => {
                let value = self.value(value)?;
                match target {
                    Expr::Place(place) => {
                        let word = self.word(place)?;
                        self.state[word] = value;
                    }
                    Expr::Name(name, _) => self.assign(name, value),
                    _ => return Err("expected a variable or memory to write".to_owned()),
                }
            }
            StatementKind::If(condition, then, otherwise) => {
                let block = if self.value(condition)? != 0 { then } else { otherwise };
                return self.block(block);
            }
            StatementKind::While(condition, body) => {
                while self.value(condition)? != 0 {
                    match self.round(body)? {
                        Flow::On => {}
                        Flow::Break => break,
                        Flow::NoReturn => return Ok(Flow::NoReturn),
                    }
                }
            }
            StatementKind::Loop(body) => loop {
                match self.round(body)? {
                    Flow::On => {}
                    Flow::Break => break,
                    Flow::NoReturn => return Ok(Flow::NoReturn),
                }
            },
            StatementKind::Count(variable, first, last, body) => {
                for number in self.value(first)?..self.value(last)? {
                    self.step()?;
                    self.assign(variable, number);
                    let flow = self.block(body)?;
                    if flow != Flow::On {
                        return Ok(flow);
                    }
                }
            }
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Return(value) => {
                self.result = value.as_ref().map(|value| self.value(value)).transpose()?;
            }
            StatementKind::Skip => {}
            StatementKind::Call { .. } | StatementKind::For(..) => {
                return Err("a sequential object has no such statement".to_owned());
            }
        }
        Ok(Flow::On)
    }

    /// One round of a loop. If it changes nothing and does not leave the loop, all rounds are like it.
    fn round(&mut self, body: &[Statement]) -> Result<Flow, Wrong> {
        self.step()?;
        let before = (self.state.clone(), self.names.names.clone());
        let flow = self.block(body)?;
        let is_same = before.0 == *self.state && before.1 == self.names.names;
        Ok(if flow == Flow::On && is_same { Flow::NoReturn } else { flow })
    }

    /// A statement or a round, even of an empty loop.
    fn step(&mut self) -> Result<(), Wrong> {
        lang::limits::look();
        self.fuel -= 1;
        match self.fuel {
            0 => Err(format!("a call takes more than {FUEL} statements")),
            _ => Ok(()),
        }
    }

    fn assign(&mut self, name: &str, value: u64) {
        self.names.names.insert(name.to_owned(), Bound::Number(value));
    }

    fn value(&self, expr: &Expr) -> Result<u64, Wrong> {
        Ok(match expr {
            Expr::Number(number) => *number,
            Expr::Bottom => BOTTOM,
            Expr::Not(inner) => u64::from(self.value(inner)? == 0),
            Expr::Binary(op, left, right) => op.apply(self.value(left)?, self.value(right)?),
            Expr::Name(name, _) => match self.names.names.get(name) {
                Some(Bound::Number(number)) => *number,
                _ => return Err(format!("`{name}` has no value here")),
            },
            Expr::Place(place) => match self.names.number(self.objects.program, expr) {
                Some(attribute) if place.index.is_empty() && !self.has(place) => attribute,
                _ => self.state[self.word(place)?],
            },
            _ => return Err("expected a value".to_owned()),
        })
    }

    fn object(&self, place: &Place) -> Result<Option<usize>, Wrong> {
        place.object.as_ref().map(|name| self.names.object(name)).transpose()
    }

    /// Whether a place is of the state.
    fn has(&self, place: &Place) -> bool {
        let object = self.object(place).unwrap_or_default();
        self.objects.words.contains_key(&(place.name.as_str(), object))
    }

    fn word(&self, place: &Place) -> Result<usize, Wrong> {
        let key = (place.name.as_str(), self.object(place)?);
        let found = self.objects.words.get(&key);
        let (first, count) =
            *found.ok_or_else(|| format!("there is no memory `{}`", place.name))?;
        let index = match place.index.as_slice() {
            [] if count.is_none() => 0,
            [index] => self.value(index)?,
            _ => return Err(format!("`{}` has words that are numbered", place.name)),
        };
        if index >= count.unwrap_or(1) {
            return Err(format!("there is no `{}[{index}]`", place.name));
        }
        Ok(first + index as usize)
    }
}
