//! The calls that a thread may make.

use lang::library::{Expr, Parameter, ParameterKind, Place};

use super::super::bounds::OWN;
use super::usage::subsets;
use super::{Frame, Op};

impl Frame<'_> {
    /// The calls that a thread may make.
    pub(super) fn calls(&self, thread: usize) -> Vec<Op> {
        let mut all = Vec::new();
        for (number, method) in self.library.methods.iter().enumerate() {
            let empty = Op::Call {
                method: number,
                objects: Vec::new(),
                locations: Vec::new(),
                values: Vec::new(),
                id: false,
                nodes: None,
            };
            let mut partial = vec![empty];
            let has_object = method.has_object();
            for (index, parameter) in method.parameters.iter().enumerate() {
                let is_own = self.is_own_location(&method.name, index);
                let all = partial.into_iter();
                partial = match parameter.below {
                    Some(below) => all.flat_map(|op| with_each_below(&op, below)).collect(),
                    None => all
                        .flat_map(|op| self.with(thread, op, &parameter.kind, has_object, is_own))
                        .collect(),
                };
            }
            all.extend(partial.into_iter().filter(|op| self.may_call(thread, op)));
        }
        all
    }

    /// Of a method of the base, whether the location passed is on the thread's own node.
    fn is_own_location(&self, method: &str, index: usize) -> bool {
        match method {
            "Put" => index == 1,
            _ => index == 0,
        }
    }

    fn with(
        &self,
        thread: usize,
        op: Op,
        kind: &ParameterKind,
        has_object: bool,
        is_own: bool,
    ) -> Vec<Op> {
        let Op::Call { method, objects, locations, values, id, nodes } = op else {
            return vec![op];
        };
        let call = |objects: Vec<usize>, locations: Vec<usize>, values: Vec<u64>, id, nodes| {
            Op::Call { method, objects, locations, values, id, nodes }
        };
        let and = |list: &[usize], one: usize| [list, &[one]].concat();
        match kind {
            ParameterKind::Object(class) => (0..self.objects.len())
                .filter(|object| !objects.contains(object) && self.objects[*object].class == *class)
                .map(|object| {
                    call(
                        and(&objects, object),
                        locations.clone(),
                        values.clone(),
                        id,
                        nodes.clone(),
                    )
                })
                .collect(),
            ParameterKind::Location => (0..self.homes.len())
                .filter(|location| {
                    (self.homes[*location] == self.nodes[thread]) == is_own
                        && !locations.contains(location)
                })
                .map(|location| {
                    let locations = and(&locations, location);
                    call(objects.clone(), locations, values.clone(), id, nodes.clone())
                })
                .collect(),
            ParameterKind::Value => (0..=self.largest())
                .filter(|value| {
                    let is_first = !(0..values.len()).any(|known| self.is_free(method, known));
                    *value > 0 || !is_first || self.compares(method) || self.bounds.zero
                })
                .map(|value| {
                    let values = [values.as_slice(), &[value]].concat();
                    call(objects.clone(), locations.clone(), values, id, nodes.clone())
                })
                .collect(),
            ParameterKind::Values => (u64::from(!self.bounds.zero)..=self.largest())
                .map(|value| {
                    call(objects.clone(), locations.clone(), vec![value; 2], id, nodes.clone())
                })
                .collect(),
            ParameterKind::Id => {
                vec![call(objects, locations, values, true, nodes)]
            }
            ParameterKind::Nodes => {
                let here = self.nodes[thread];
                let all: Vec<u32> =
                    (1..=self.bounds.nodes).filter(|n| !has_object || *n != here).collect();
                subsets(&all)
                    .into_iter()
                    .map(|nodes| {
                        call(objects.clone(), locations.clone(), values.clone(), id, Some(nodes))
                    })
                    .collect()
            }
        }
    }

    /// The largest value, or what stands for one of a statement's own.
    pub(super) fn largest(&self) -> u64 {
        match self.bounds.values {
            _ if self.bounds.zero => 0,
            OWN => 1,
            values => values,
        }
    }

    /// Whether a value passed at a position of the method's values is any that its type has: not one of a few
    /// that are numbered (`value k < 2`).
    pub(super) fn is_free(&self, method: usize, position: usize) -> bool {
        let parameters = &self.library.methods[method].parameters;
        let mut values = parameters.iter().filter(|p| p.kind == ParameterKind::Value);
        values.nth(position).is_none_or(|parameter| parameter.below.is_none())
    }

    /// Whether a value passed at a position is written: not one that the method compares with.
    pub(super) fn is_written(&self, method: usize, position: usize) -> bool {
        let is_first = !(0..position).any(|known| self.is_free(method, known));
        self.is_free(method, position) && !(is_first && self.compares(method))
    }

    /// Whether a method compares with its first value, so that 0 says something.
    pub(super) fn compares(&self, method: usize) -> bool {
        let parameters = &self.library.methods[method].parameters;
        let is_free = |p: &&Parameter| p.kind == ParameterKind::Value && p.below.is_none();
        parameters.iter().filter(is_free).count() > 1
    }

    /// Whether a thread is among those that may make the call.
    fn may_call(&self, thread: usize, op: &Op) -> bool {
        let Op::Call { method, objects, .. } = op else { return true };
        let method = &self.library.methods[*method];
        let of_kind =
            method.parameters.iter().filter(|p| matches!(p.kind, ParameterKind::Object(_)));
        let names: Vec<&String> = of_kind.map(|parameter| &parameter.name).collect();
        let object = |name: &Option<String>| {
            let position = names.iter().position(|known| Some(*known) == name.as_ref());
            position.and_then(|position| objects.get(position)).map(|o| &self.objects[*o])
        };
        match method.callers.as_ref() {
            Some(Expr::Place(Place { object: of, name, .. })) => object(of).is_none_or(|object| {
                object.writer.is_none_or(|writer| (name == "writer") == (thread == writer))
            }),
            Some(Expr::Function(name, of, _)) if name == "threads" => match of.as_slice() {
                [Expr::Place(Place { object: of, name, .. })] if name == "home" => {
                    object(of).is_none_or(|object| object.home.unwrap_or(1) == self.nodes[thread])
                }
                _ => true,
            },
            // Who must not call, the program says.
            _ => true,
        }
    }
}

/// The call with each of the numbers that may be passed.
fn with_each_below(op: &Op, below: u64) -> Vec<Op> {
    lang::limits::look();
    let with = |number: u64| {
        let mut op = op.clone();
        if let Op::Call { values, .. } = &mut op {
            values.push(number);
        }
        op
    };
    (0..below).map(with).collect()
}
