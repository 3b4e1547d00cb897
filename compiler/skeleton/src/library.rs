//! Translates library calls to events, as the library's text specifies, and checks the rules for their use.

use std::collections::BTreeMap;

use lang::diagnostic::Code;
use lang::library::{Case, Event as EventText, Expr as Text, Item, ParameterKind, Place, RuleKind};
use lang::limits;
use lang::program::{BOTTOM, BinaryOp, Call, LARGEST_WORD, LocationId, Stmt, ThreadId};
use lang::source::Span;

use super::build::{Builder, Shape, Unsupported};
use super::{Condition, EventId, Guard, Misuse, Origin, Stamp, Value, ValueId};
use compiler::library::misuse::{self, Said};
use compiler::library::{Bound, Environment, Resolved, as_call};

/// What is known about each thread's use of objects: what it holds, and how often it called which method.
#[derive(Default)]
pub struct Users {
    /// By library, rule, thread and object: the condition that the object is held (the first call of an
    /// alternating pair was the last one), and the place of that call.
    held: BTreeMap<(usize, usize, ThreadId, usize), (Guard, Span)>,
    /// By library, rule and object: the threads that take part, and the conditions of their calls.
    counted: BTreeMap<(usize, usize, usize), Counted>,
}

#[derive(Default)]
struct Counted {
    calls: BTreeMap<ThreadId, Vec<(Guard, Span)>>,
}

type Env = Environment<ValueId>;

impl Builder<'_> {
    /// The origin of the events of a base statement.
    pub(super) fn base_origin(&self, name: Option<&str>) -> Origin {
        let mut origin = Origin::BASE;
        for number in self.used {
            let shares = &self.libraries.all[*number].shares;
            if name.is_some_and(|name| shares.iter().any(|shared| shared == name)) {
                origin.libraries |= bit(*number);
            }
        }
        origin
    }

    pub(super) fn library_call(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        let name = compiler::calls::call_name(&stmt.kind).unwrap_or_default().to_owned();
        let refuse =
            |reason: Option<String>| Unsupported { call: name.clone(), span: stmt.span, reason };
        let call = as_call(&stmt.kind).ok_or_else(|| refuse(None))?;
        let libraries = self.libraries;
        let resolved = libraries.resolve(self.program, &call).ok_or_else(|| refuse(None))?;
        self.call(&resolved, &call, stmt.span).map_err(|reason| refuse(Some(reason)))
    }

    fn call(&mut self, resolved: &Resolved<'_>, call: &Call, span: Span) -> Result<(), String> {
        let values: Vec<ValueId> =
            call.arguments.iter().map(|value| self.expression(value)).collect();
        let parameters = &resolved.method.parameters;
        if parameters.iter().any(|parameter| parameter.kind == ParameterKind::Values) {
            self.words_fit(&values, span);
        }
        let env = Environment::of_call(self.program, self.thread, parameters, call, values)?;
        let object = call.object.as_ref();
        let object =
            object.and_then(|name| self.program.objects.iter().position(|o| o.name == *name));
        let number = u8::try_from(resolved.number + 1).map_err(|_| "too many libraries")?;
        let method = u8::try_from(resolved.method_number).map_err(|_| "too many methods")?;
        self.rules(resolved, call, object.unwrap_or(0), span);
        let shape = self.shape(span, None, call.id);
        let cases = &resolved.method.cases;
        let mut rest = self.live;
        let mut results = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            let is_last = index + 1 == cases.len();
            let choice = if is_last { Guard::TRUE } else { self.free_choice() };
            let guard = self.and(rest, choice);
            self.origin = Origin {
                libraries: bit(resolved.number),
                method: Some((number, method)),
                object,
                is_idle: case.idle,
            };
            let first = EventId(self.skeleton.events.len());
            let result = self.case(resolved, case, env.clone(), guard, shape)?;
            if !is_last {
                self.skeleton.choices.push(first);
            }
            results.push((choice, result));
            rest = self.and(rest, !choice);
        }
        if let Some(register) = call.register {
            let zero = self.constant(0);
            let mut value = zero;
            for (choice, result) in results.into_iter().rev() {
                value = self.select(choice, result.unwrap_or(zero), value);
            }
            self.registers[register.0] = value;
        }
        Ok(())
    }

    /// Marks words of a mixed-size value that are too large as a misuse: packed, they would look like other
    /// words.
    fn words_fit(&mut self, words: &[ValueId], span: Span) {
        let most = self.constant(LARGEST_WORD - 1);
        for word in words {
            let large = self.binary(BinaryOp::Less, most, *word);
            let large = self.non_zero(large);
            let guard = self.and(self.live, large);
            let message = format!("a word is not below {LARGEST_WORD}");
            self.misuse(guard, (Code::WordTooLarge, message), span, None);
        }
    }

    fn free_choice(&mut self) -> Guard {
        self.choices += 1;
        self.condition(Condition::Choice(self.choices - 1))
    }

    fn case(
        &mut self,
        resolved: &Resolved<'_>,
        case: &Case,
        mut env: Env,
        guard: Guard,
        shape: Shape,
    ) -> Result<Option<ValueId>, String> {
        self.items(resolved, &case.items, &mut env, guard, shape)?;
        if let Some(when) = &case.when {
            let when = self.text_value(&env, when)?;
            let holds = self.non_zero(when);
            self.require(guard, holds);
        }
        case.returns.as_ref().map(|value| self.text_value(&env, value)).transpose()
    }

    fn items(
        &mut self,
        resolved: &Resolved<'_>,
        items: &[Item],
        env: &mut Env,
        guard: Guard,
        shape: Shape,
    ) -> Result<(), String> {
        for item in items {
            match item {
                Item::For { variable, over, items } => {
                    for node in env.nodes(self.program, over)? {
                        limits::look();
                        env.names.insert(variable.clone(), Bound::Node(node));
                        self.items(resolved, items, env, guard, shape)?;
                    }
                    env.names.remove(variable);
                }
                Item::Event(event) => self.text_event(resolved, event, env, guard, shape)?,
            }
        }
        Ok(())
    }

    fn text_event(
        &mut self,
        resolved: &Resolved<'_>,
        text: &EventText,
        env: &mut Env,
        guard: Guard,
        shape: Shape,
    ) -> Result<(), String> {
        let stamp = Stamp::from_name(&text.stamp).ok_or("unknown stamp")?;
        let node = text.node.as_ref().map(|node| env.node(self.program, node)).transpose()?;
        let mut location = None;
        let places = text.reads.iter().map(|(_, place)| place);
        let places = places.chain(text.writes.iter().map(|(_, place)| place)).chain(&text.at);
        for place in places {
            let found = self.text_location(resolved, env, place)?;
            if location.is_some_and(|known| known != found) {
                return Err("an event has one location".to_owned());
            }
            location = Some(found);
        }
        let shape = Shape { node, ..shape };
        let event = self.event(shape, stamp, guard, location, None);
        self.skeleton.events[event.0].read = None;
        if let Some((name, _)) = &text.reads {
            let value = self.value(Value::Read(event));
            self.skeleton.events[event.0].read = Some(value);
            env.names.insert(name.clone(), Bound::Value(value));
        }
        if let Some((value, _)) = &text.writes {
            let value = self.text_value(env, value)?;
            self.skeleton.events[event.0].written = Some(value);
        }
        Ok(())
    }

    fn text_location(
        &self,
        resolved: &Resolved<'_>,
        env: &Env,
        place: &Place,
    ) -> Result<LocationId, String> {
        let library = resolved.library;
        let memory = library.memory.iter().find(|memory| memory.name == place.name);
        let shape = memory.ok_or("unknown memory")?.shape;
        let name = env.place_name(self.program, &library.name, place, shape)?;
        let all = &self.program.locations;
        let found = all.iter().rposition(|location| location.name == name);
        found.map(LocationId).ok_or_else(|| format!("there is no memory `{name}`"))
    }

    fn text_value(&mut self, env: &Env, text: &Text) -> Result<ValueId, String> {
        if let Some(number) = env.number(self.program, text) {
            return Ok(self.constant(number));
        }
        Ok(match text {
            Text::Number(number) => self.constant(*number),
            Text::Bottom => self.constant(BOTTOM),
            Text::Name(name, _) => match env.names.get(name) {
                Some(Bound::Value(value)) => *value,
                _ => return Err(format!("expected a value, found `{name}`")),
            },
            Text::Not(inner) => {
                let inner = self.text_value(env, inner)?;
                let zero = self.constant(0);
                self.binary(BinaryOp::Equal, inner, zero)
            }
            Text::Binary(op, left, right) => {
                let left = self.text_value(env, left)?;
                let right = self.text_value(env, right)?;
                self.binary(*op, left, right)
            }
            Text::Function(name, arguments, _) => match (name.as_str(), arguments.as_slice()) {
                ("pack", [Text::Name(name, _)]) => match env.names.get(name) {
                    Some(Bound::Values(values)) => {
                        let base = self.constant(compiler::library::pack(&[1, 0]));
                        let mut sum = self.constant(0);
                        for word in values.clone() {
                            sum = self.binary(BinaryOp::Multiply, sum, base);
                            sum = self.binary(BinaryOp::Add, sum, word);
                        }
                        sum
                    }
                    _ => return Err(format!("expected values, found `{name}`")),
                },
                _ => return Err(format!("expected a value, found `{name}(…)`")),
            },
            _ => return Err("expected a value, found something else".to_owned()),
        })
    }

    // Rules.

    fn rules(&mut self, resolved: &Resolved<'_>, call: &Call, object: usize, span: Span) {
        let name = call.object.clone().unwrap_or_default();
        for (index, rule) in resolved.library.rules.iter().enumerate() {
            match &rule.kind {
                RuleKind::Alternate(first, second) => {
                    let key = (resolved.number, index, self.thread, object);
                    let (held, place) =
                        self.users.held.get(&key).copied().unwrap_or((Guard::FALSE, span));
                    if call.method == *first {
                        let guard = self.and(self.live, held);
                        let said = misuse::already_held(&name, first, second);
                        self.misuse(guard, said, span, Some((place, "taken here")));
                        let held = self.or(self.live, held);
                        self.users.held.insert(key, (held, span));
                    } else if call.method == *second {
                        let guard = self.and(self.live, !held);
                        self.misuse(guard, misuse::not_held(&name, first, second), span, None);
                        let held = self.and(held, !self.live);
                        self.users.held.insert(key, (held, span));
                    }
                }
                RuleKind::Equal(method) if call.method == *method => {
                    let counted = self.users.counted.entry((resolved.number, index, object));
                    let calls = counted.or_default().calls.entry(self.thread).or_default();
                    calls.push((self.live, span));
                }
                RuleKind::Equal(_) => {}
            }
        }
    }

    fn misuse(
        &mut self,
        guard: Guard,
        (code, message): Said,
        span: Span,
        related: Option<(Span, &'static str)>,
    ) {
        if guard != Guard::FALSE {
            let point = self.point();
            self.skeleton.misuses.push(Misuse { guard, point, code, message, span, related });
        }
    }

    /// Marks as a misuse what a thread still holds at its end.
    pub(super) fn thread_ends(&mut self) {
        let thread = self.thread;
        let held: Vec<_> = self.users.held.iter().filter(|(key, _)| key.2 == thread).collect();
        let held: Vec<_> = held.into_iter().map(|(key, held)| (*key, *held)).collect();
        for ((number, rule, _, object), (guard, span)) in held {
            let RuleKind::Alternate(_, second) = &self.libraries.all[number].rules[rule].kind
            else {
                continue;
            };
            let name = &self.program.objects[object].name;
            let said = misuse::never_released(name, second);
            let guard = self.and(self.live, guard);
            self.misuse(guard, said, span, None);
        }
    }

    /// Marks as a misuse if threads that must call equally often do not.
    pub(super) fn program_ends(&mut self) {
        let first = self.skeleton.misuses.len();
        for ((number, rule, object), counted) in std::mem::take(&mut self.users.counted) {
            let library = &self.libraries.all[number];
            let RuleKind::Equal(name) = &library.rules[rule].kind else { continue };
            let mut threads = self.program.objects[object].threads.clone();
            threads.extend(counted.calls.keys());
            threads.sort_unstable();
            threads.dedup();
            let counts: Vec<(ThreadId, Vec<Guard>, Option<Span>)> = threads
                .iter()
                .map(|thread| {
                    let calls = counted.calls.get(thread).map_or(&[][..], Vec::as_slice);
                    let guards: Vec<Guard> = calls.iter().map(|(guard, _)| *guard).collect();
                    (*thread, self.at_least(&guards), calls.last().map(|(_, span)| *span))
                })
                .collect();
            for pair in counts.windows(2) {
                let ((one, a, place), (other, b, other_place)) = (&pair[0], &pair[1]);
                let mut differ = Guard::FALSE;
                for k in 0..a.len().max(b.len()) {
                    let left = a.get(k).copied().unwrap_or(Guard::FALSE);
                    let right = b.get(k).copied().unwrap_or(Guard::FALSE);
                    let (more, fewer) = (self.and(left, !right), self.and(!left, right));
                    let unequal = self.or(more, fewer);
                    differ = self.or(differ, unequal);
                }
                let object = &self.program.objects[object];
                let said = misuse::unequal_calls(&object.name, name, (*one, *other));
                let span = place.or(*other_place).unwrap_or(object.span);
                self.misuse(differ, said, span, None);
            }
        }
        for misuse in &mut self.skeleton.misuses[first..] {
            misuse.point.thread = None;
        }
    }

    /// For each k from 1: the condition that at least k of the conditions hold.
    fn at_least(&mut self, guards: &[Guard]) -> Vec<Guard> {
        let mut counts: Vec<Guard> = Vec::new();
        for guard in guards {
            let mut below = Guard::TRUE;
            let mut next = Vec::new();
            for count in counts.iter().copied().chain([Guard::FALSE]) {
                let one_more = self.and(below, *guard);
                next.push(self.or(count, one_more));
                below = count;
            }
            counts = next;
        }
        counts
    }
}

fn bit(number: usize) -> u32 {
    1_u32.checked_shl(u32::try_from(number + 1).unwrap_or(31)).unwrap_or(1 << 31)
}
