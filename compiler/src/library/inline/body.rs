//! Expands the body of an implementation at one call.

use lang::library::syntax::{Local, Place};
use lang::library::{Expr as Text, ParameterKind, Statement, StatementKind};
use lang::program::{
    BinaryOp, Call, Expr, LocationId, PutSource, RegisterId, Stmt, StmtKind, Towards, WorkId,
};

use super::super::bind::{Set, WORD};
use super::super::{Bound, as_call};
use super::fold::{fold, fold_not};
use super::{Inliner, Refused, Site};

/// The most statements of bodies that are expanded.
const MOST_STATEMENTS: usize = 1 << 16;

impl Inliner<'_> {
    pub(super) fn statements(
        &mut self,
        site: &mut Site<'_>,
        body: &[Statement],
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refused> {
        for statement in body {
            self.followed += 1;
            let done = match self.followed {
                0..=MOST_STATEMENTS => self.body_statement(site, &statement.kind, out),
                _ => Err(format!("expected at most {MOST_STATEMENTS} statements, found more")),
            };
            if let Err(reason) = done {
                self.place.get_or_insert((site.number, statement.span));
                return Err(reason);
            }
        }
        Ok(())
    }

    fn body_statement(
        &mut self,
        site: &mut Site<'_>,
        kind: &StatementKind,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refused> {
        let span = site.span;
        let mut push = |kind: StmtKind| out.push(Stmt { kind, unsignaled: false, span });
        match kind {
            StatementKind::Assign { target, id, value } => {
                return self.assign(site, target, id.as_ref(), value, out);
            }
            StatementKind::Call { result, name, arguments, id } => {
                let result = result.as_ref().map(|(name, _)| self.variable(site, name));
                return self.lower_call(site, name, arguments, result, id.as_ref(), out);
            }
            StatementKind::If(condition, then, otherwise) => {
                let condition = self.value(site, condition, out)?;
                if let Expr::Constant(known) = condition {
                    return self.statements(site, if known != 0 { then } else { otherwise }, out);
                }
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                self.statements(site, then, &mut yes)?;
                self.statements(site, otherwise, &mut no)?;
                let kind = StmtKind::If { condition, then: yes, otherwise: no };
                out.push(Stmt { kind, unsignaled: false, span });
            }
            StatementKind::Loop(body) => {
                let mut inner = Vec::new();
                let known = self.test.program.registers.len();
                self.statements(site, body, &mut inner)?;
                self.forget(known, site.thread, span, &mut inner);
                push(StmtKind::Loop(inner));
            }
            StatementKind::While(condition, body) => {
                let mut inner = Vec::new();
                let known = self.test.program.registers.len();
                let condition = self.value(site, condition, &mut inner)?;
                let leave = vec![Stmt { kind: StmtKind::Break, unsignaled: false, span }];
                let condition = fold_not(condition);
                let kind = StmtKind::If { condition, then: leave, otherwise: Vec::new() };
                inner.push(Stmt { kind, unsignaled: false, span });
                self.statements(site, body, &mut inner)?;
                self.forget(known, site.thread, span, &mut inner);
                push(StmtKind::Loop(inner));
            }
            StatementKind::For(variable, over, body) => {
                let set = site.environment.set(&self.test.program, over)?;
                let members: Vec<Bound<Expr>> = match set {
                    Set::Nodes(nodes) => nodes.into_iter().map(Bound::Node).collect(),
                    Set::Threads(threads) => threads.into_iter().map(Bound::Thread).collect(),
                };
                return self.each(site, variable, members, body, out);
            }
            StatementKind::Count(variable, first, last, body) => {
                let number = |expr| site.environment.number(&self.test.program, expr);
                let (Some(first), Some(last)) = (number(first), number(last)) else {
                    return Err("expected known numbers around `..`".to_owned());
                };
                if last > first.saturating_add(1 << 10) {
                    return Err("expected at most 1024 numbers, found more".to_owned());
                }
                let members = (first..last).map(Bound::Number).collect();
                return self.each(site, variable, members, body, out);
            }
            StatementKind::Break => push(StmtKind::Break),
            StatementKind::Skip => {}
            StatementKind::Return(None) => {}
            StatementKind::Return(Some(value)) => {
                let value = self.value(site, value, out)?;
                out.push(Stmt {
                    kind: StmtKind::Assign { register: site.result, value },
                    unsignaled: false,
                    span,
                });
            }
        }
        Ok(())
    }

    fn each(
        &mut self,
        site: &mut Site<'_>,
        variable: &str,
        members: Vec<Bound<Expr>>,
        body: &[Statement],
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refused> {
        for member in members {
            lang::limits::look();
            site.environment.names.insert(variable.to_owned(), member);
            self.statements(site, body, out)?;
        }
        site.environment.names.remove(variable);
        Ok(())
    }

    fn variable(&mut self, site: &mut Site<'_>, name: &str) -> RegisterId {
        if let Some(register) = site.variables.get(name) {
            return *register;
        }
        let register = self.register(site.thread);
        site.variables.insert(name.to_owned(), register);
        register
    }

    fn is_local(&self, site: &Site<'_>, name: &str) -> bool {
        self.local(site, name).is_some()
    }

    fn local<'s>(&self, site: &Site<'s>, name: &str) -> Option<&'s Local> {
        let locals = site.library.implementation.iter().flat_map(|all| &all.locals);
        locals.into_iter().find(|local| local.name == name)
    }

    /// The register of a variable that the thread keeps.
    fn kept(&mut self, site: &Site<'_>, place: &Place) -> Result<RegisterId, Refused> {
        let mut key = place.name.clone();
        for index in &place.index {
            if let Text::Name(name, _) = index
                && let Some(Bound::Id(id)) = site.environment.names.get(name)
            {
                let id = id.map_or("none".to_owned(), |id| id.0.to_string());
                key = format!("{key}[id {id}]");
                continue;
            }
            let number = site.environment.number(&self.test.program, index);
            let number = number.or_else(|| {
                let node = site.environment.node(&self.test.program, index).ok()?;
                Some(u64::from(node.0))
            });
            let number = number.ok_or("expected a known number in brackets")?;
            key = format!("{key}[{number}]");
        }
        let key = (site.number, site.thread, key);
        if let Some(register) = self.locals.get(&key) {
            return Ok(*register);
        }
        let register = self.register(site.thread);
        self.locals.insert(key, register);
        Ok(register)
    }

    fn assign(
        &mut self,
        site: &mut Site<'_>,
        target: &Text,
        id: Option<&Text>,
        value: &Text,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refused> {
        let span = site.span;
        let register = match target {
            Text::Name(name, _) if !site.environment.names.contains_key(name) => {
                Some(self.variable(site, name))
            }
            Text::Place(place) if place.object.is_none() && self.is_local(site, &place.name) => {
                Some(self.kept(site, place)?)
            }
            _ => None,
        };
        if let Some(register) = register {
            let kind = match self.read_only(site, value)? {
                Some(location) => StmtKind::Read { register, location },
                None => StmtKind::Assign { register, value: self.value(site, value, out)? },
            };
            self.reaches(site, &kind)?;
            out.push(Stmt { kind, unsignaled: false, span });
            return Ok(());
        }
        let id = self.id(site, id)?;
        let kind = match (target, value) {
            (Text::Remote(place), value) => {
                let target = self.location(site, place)?;
                let source = match self.read_only(site, value)? {
                    Some(location) => PutSource::Location(location),
                    None => PutSource::Value(self.value(site, value, out)?),
                };
                StmtKind::Put { target, source, id, queue_pair: 0, inline: false }
            }
            (target, Text::Remote(source)) => {
                let source = self.location(site, source)?;
                let target = self.read_only(site, target)?.ok_or("expected memory for a get")?;
                StmtKind::Get { target, source, id, queue_pair: 0 }
            }
            (target, value) => {
                let location = self.read_only(site, target)?.ok_or("expected memory to write")?;
                StmtKind::Write { location, value: self.value(site, value, out)? }
            }
        };
        self.reaches(site, &kind)?;
        out.push(Stmt { kind, unsignaled: false, span });
        Ok(())
    }

    /// The location, if the expression is only the name of a location.
    fn read_only(&self, site: &Site<'_>, expr: &Text) -> Result<Option<LocationId>, Refused> {
        match expr {
            Text::Name(name, _) => match site.environment.names.get(name) {
                Some(Bound::Location(location)) => Ok(Some(*location)),
                _ => Ok(None),
            },
            Text::Place(place) => {
                let is_value = (place.object.is_none() && self.is_local(site, &place.name))
                    || site.environment.number(&self.test.program, expr).is_some();
                if is_value { Ok(None) } else { self.location(site, place).map(Some) }
            }
            _ => Ok(None),
        }
    }

    fn location(&self, site: &Site<'_>, place: &Place) -> Result<LocationId, Refused> {
        if place.object.is_none()
            && let Some(Bound::Location(location)) = site.environment.names.get(&place.name)
        {
            return Ok(*location);
        }
        let name = self.place_name(site, place)?;
        self.locations.get(&name).copied().ok_or_else(|| format!("there is no memory `{name}`"))
    }

    fn place_name(&self, site: &Site<'_>, place: &Place) -> Result<String, Refused> {
        let shape = self.shape(site, &place.name)?;
        site.environment.place_name(&self.test.program, &site.library.name, place, shape)
    }

    fn id(&mut self, site: &Site<'_>, id: Option<&Text>) -> Result<Option<WorkId>, Refused> {
        match id {
            None => Ok(None),
            Some(Text::Name(name, _)) => match site.environment.names.get(name) {
                Some(Bound::Id(id)) => Ok(*id),
                Some(_) => Err(format!("expected a work id, found `{name}`")),
                None if name == "_" => Ok(None),
                None => Ok(Some(self.work_id(site, name))),
            },
            Some(_) => Err("expected a work id, found a value".to_owned()),
        }
    }

    /// Translates an expression. Reads of memory are emitted before the statement that uses them.
    fn value(
        &mut self,
        site: &mut Site<'_>,
        expr: &Text,
        out: &mut Vec<Stmt>,
    ) -> Result<Expr, Refused> {
        if let Some(number) = site.environment.number(&self.test.program, expr) {
            return Ok(Expr::Constant(number));
        }
        if let Some(location) = self.read_only(site, expr)? {
            let register = self.register(site.thread);
            let kind = StmtKind::Read { register, location };
            self.reaches(site, &kind)?;
            out.push(Stmt { kind, unsignaled: false, span: site.span });
            return Ok(Expr::Register(register));
        }
        Ok(match expr {
            Text::Number(number) => Expr::Constant(*number),
            Text::Bottom => Expr::Bottom,
            Text::Name(name, _) => match site.environment.names.get(name) {
                Some(Bound::Value(value)) => value.clone(),
                Some(_) => return Err(format!("expected a value, found `{name}`")),
                None => match site.variables.get(name) {
                    Some(register) => Expr::Register(*register),
                    None => return Err(format!("`{name}` has no value here")),
                },
            },
            Text::Place(place) => Expr::Register(self.kept(site, place)?),
            Text::Not(inner) => fold_not(self.value(site, inner, out)?),
            Text::Binary(op, left, right) => {
                let left = self.value(site, left, out)?;
                let right = self.value(site, right, out)?;
                fold(*op, left, right)
            }
            Text::Function(name, arguments, _) => match (name.as_str(), arguments.as_slice()) {
                ("pack", [words]) => self.packed(site, words)?,
                ("word", [Text::Name(name, _), index]) => {
                    let index = site.environment.number(&self.test.program, index);
                    let index = index.and_then(|index| usize::try_from(index).ok());
                    match (site.environment.names.get(name), index) {
                        (Some(Bound::Values(values)), Some(index)) if index < values.len() => {
                            values[index].clone()
                        }
                        _ => return Err(format!("expected values and a number, found `{name}`")),
                    }
                }
                _ => return Err(format!("expected a value, found `{name}(…)`")),
            },
            Text::Remote(_) | Text::Set(_) | Text::Without(..) | Text::Union(..) => {
                return Err("expected a value, found a set or a remote location".to_owned());
            }
        })
    }

    fn packed(&mut self, site: &Site<'_>, words: &Text) -> Result<Expr, Refused> {
        let Text::Name(name, _) = words else { return Err("expected values".to_owned()) };
        let Some(Bound::Values(values)) = site.environment.names.get(name) else {
            return Err(format!("expected values, found `{name}`"));
        };
        Ok(values.iter().fold(Expr::Constant(0), |sum, word| {
            let shifted = fold(BinaryOp::Multiply, sum, Expr::Constant(WORD));
            fold(BinaryOp::Add, shifted, word.clone())
        }))
    }

    /// Translates a call in a body: of a base statement, or of a lower library.
    fn lower_call(
        &mut self,
        site: &mut Site<'_>,
        name: &str,
        arguments: &[Text],
        result: Option<RegisterId>,
        id: Option<&Text>,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refused> {
        let span = site.span;
        let kind = match (name, arguments) {
            ("Mfence", []) => StmtKind::Fence,
            ("Wait", [id]) => {
                let id = self.id(site, Some(id))?;
                StmtKind::Wait(id.ok_or("expected a work id, found `_`")?)
            }
            ("Poll", [node]) => StmtKind::Poll(vec![self.towards(site, node)?]),
            ("Rfence", [node]) => StmtKind::RemoteFence(self.towards(site, node)?),
            ("GFence", [nodes]) => {
                let nodes = site.environment.nodes(&self.test.program, nodes)?;
                if nodes.is_empty() {
                    return Ok(());
                }
                StmtKind::GlobalFence(nodes)
            }
            ("RCAS" | "RFAA", [place, Text::Remote(target), rest @ ..]) => {
                let place = self.read_only(site, place)?.ok_or("expected memory for the result")?;
                let target = self.location(site, target)?;
                let (values, last) = rest
                    .split_at_checked(if name == "RCAS" { 2 } else { 1 })
                    .ok_or("too few values")?;
                let id = self.id(site, id.or(last.first()))?;
                let mut known = Vec::new();
                for value in values {
                    known.push(self.value(site, value, out)?);
                }
                match known.as_slice() {
                    [expected, desired] => StmtKind::Rcas {
                        result: place,
                        target,
                        expected: expected.clone(),
                        desired: desired.clone(),
                        id,
                        queue_pair: 0,
                    },
                    [addend] => {
                        let addend = addend.clone();
                        StmtKind::Rfaa { result: place, target, addend, id, queue_pair: 0 }
                    }
                    _ => return Err("too few values".to_owned()),
                }
            }
            ("CAS" | "FAA", [place, values @ ..])
                if self.read_only(site, place).is_ok_and(|l| l.is_some()) =>
            {
                let location = self.read_only(site, place)?.ok_or("expected memory")?;
                let mut known = Vec::new();
                for value in values {
                    known.push(self.value(site, value, out)?);
                }
                match known.as_slice() {
                    [expected, desired] if name == "CAS" => StmtKind::Cas {
                        register: result,
                        location,
                        expected: expected.clone(),
                        desired: desired.clone(),
                    },
                    [addend] if name == "FAA" => {
                        StmtKind::Faa { register: result, location, addend: addend.clone() }
                    }
                    _ => return Err(format!("wrong arguments of `{name}`")),
                }
            }
            _ => StmtKind::Call(self.library_call(site, name, arguments, result, out)?),
        };
        if let Some(call) = as_call(&kind)
            && self.libraries.resolve(&self.test.program, &call).is_none()
        {
            return Err(format!("no library defines `{name}`, which the implementation calls"));
        }
        self.reaches(site, &kind)?;
        out.push(Stmt { kind, unsignaled: false, span });
        Ok(())
    }

    fn library_call(
        &mut self,
        site: &mut Site<'_>,
        name: &str,
        arguments: &[Text],
        result: Option<RegisterId>,
        out: &mut Vec<Stmt>,
    ) -> Result<Call, Refused> {
        let mut call = Call {
            method: name.to_owned(),
            object: None,
            source: None,
            register: result,
            arguments: Vec::new(),
            nodes: None,
            id: None,
            at: None,
        };
        let mut rest = arguments;
        if let [Text::Place(place), more @ ..] = arguments
            && let Ok(object) = self.place_name(site, place)
            && self.test.program.objects.iter().any(|known| known.name == object)
        {
            call.object = Some(object);
            rest = more;
        }
        let libraries = self.libraries;
        let resolved = libraries.resolve(&self.test.program, &call);
        let resolved =
            resolved.ok_or_else(|| format!("no library defines `{name}` for these arguments"))?;
        let mut rest = rest.iter();
        for parameter in &resolved.method.parameters {
            match parameter.kind {
                ParameterKind::Object(_) | ParameterKind::Location => {}
                ParameterKind::Value => {
                    let value = rest.next().ok_or("expected a value, found none")?;
                    call.arguments.push(self.value(site, value, out)?);
                }
                ParameterKind::Values => {
                    for value in rest.by_ref() {
                        call.arguments.push(self.value(site, value, out)?);
                    }
                }
                ParameterKind::Id => {
                    if let Some(id) = rest.next() {
                        call.id = self.id(site, Some(id))?;
                    }
                }
                ParameterKind::Nodes => {
                    if let Some(nodes) = rest.next() {
                        call.nodes = Some(site.environment.nodes(&self.test.program, nodes)?);
                    }
                }
            }
        }
        if rest.next().is_some() {
            return Err(format!("expected fewer arguments of `{name}`, found more"));
        }
        Ok(call)
    }

    /// The queue pair 0 to a node, which is what libraries use.
    fn towards(&self, site: &Site<'_>, expr: &Text) -> Result<Towards, Refused> {
        let node = site.environment.node(&self.test.program, expr)?;
        Ok(Towards { node, queue_pair: 0 })
    }
}
