//! The graphs of values and conditions. Equal nodes exist once.

use lang::limits;
use lang::program::{BOTTOM, BinaryOp, Expr, RegisterId};

use super::build::Builder;
use super::{Condition, Guard, Value, ValueId};

impl Builder<'_> {
    pub(super) fn value(&mut self, value: Value) -> ValueId {
        if let Some(id) = self.value_ids.get(&value) {
            return *id;
        }
        limits::look();
        let id = ValueId(self.skeleton.values.len());
        self.skeleton.values.push(value.clone());
        self.value_ids.insert(value, id);
        id
    }

    pub(super) fn constant(&mut self, value: u64) -> ValueId {
        self.value(Value::Constant(value))
    }

    pub(super) fn known(&self, id: ValueId) -> Option<u64> {
        match self.skeleton.values[id.0] {
            Value::Constant(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn condition(&mut self, condition: Condition) -> Guard {
        limits::look();
        let next = self.skeleton.conditions.len();
        let index = *self.condition_ids.entry(condition).or_insert(next);
        if index == next {
            self.skeleton.conditions.push(condition);
        }
        Guard { condition: index, negated: false }
    }

    pub(super) fn and(&mut self, left: Guard, right: Guard) -> Guard {
        match (left, right) {
            (Guard::TRUE, other) | (other, Guard::TRUE) => other,
            _ if left == right => left,
            _ if left == Guard::FALSE || right == Guard::FALSE || left == !right => Guard::FALSE,
            _ => self.condition(Condition::And(left.min(right), left.max(right))),
        }
    }

    pub(super) fn or(&mut self, left: Guard, right: Guard) -> Guard {
        !self.and(!left, !right)
    }

    pub(super) fn non_zero(&mut self, value: ValueId) -> Guard {
        match self.skeleton.values[value.0] {
            Value::Constant(constant) => {
                if constant == 0 {
                    Guard::FALSE
                } else {
                    Guard::TRUE
                }
            }
            Value::Binary(BinaryOp::Equal, left, right) => self.equal(left, right),
            Value::Binary(BinaryOp::NotEqual, left, right) => !self.equal(left, right),
            Value::Binary(BinaryOp::And, left, right) => {
                let (left, right) = (self.non_zero(left), self.non_zero(right));
                self.and(left, right)
            }
            Value::Binary(BinaryOp::Or, left, right) => {
                let (left, right) = (self.non_zero(left), self.non_zero(right));
                self.or(left, right)
            }
            _ => self.condition(Condition::NonZero(value)),
        }
    }

    pub(super) fn equal(&mut self, left: ValueId, right: ValueId) -> Guard {
        limits::look();
        let pair = [(left, right), (right, left)];
        for (one, other) in pair {
            if let Value::Select(guard, then, otherwise) = self.skeleton.values[one.0]
                && self.known(other).is_some()
            {
                let then = self.equal(then, other);
                let otherwise = self.equal(otherwise, other);
                let (then, otherwise) = (self.and(guard, then), self.and(!guard, otherwise));
                return self.or(then, otherwise);
            }
        }
        match (self.known(left), self.known(right)) {
            _ if left == right => Guard::TRUE,
            (Some(left), Some(right)) if left != right => Guard::FALSE,
            _ => self.condition(Condition::Equal(left.min(right), left.max(right))),
        }
    }

    pub(super) fn select(&mut self, guard: Guard, then: ValueId, otherwise: ValueId) -> ValueId {
        match guard {
            Guard::TRUE => then,
            Guard::FALSE => otherwise,
            _ if then == otherwise => then,
            _ => self.value(Value::Select(guard, then, otherwise)),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: ValueId, right: ValueId) -> ValueId {
        match (self.known(left), self.known(right)) {
            (Some(left), Some(right)) => self.constant(op.apply(left, right)),
            _ => self.value(Value::Binary(op, left, right)),
        }
    }

    pub(super) fn expression(&mut self, expr: &Expr) -> ValueId {
        match expr {
            Expr::Constant(value) => self.constant(*value),
            Expr::Bottom => self.constant(BOTTOM),
            Expr::Register(RegisterId(index)) => self.registers[*index],
            Expr::Not(inner) => {
                let inner = self.expression(inner);
                let zero = self.constant(0);
                self.binary(BinaryOp::Equal, inner, zero)
            }
            Expr::Binary(op, left, right) => {
                let left = self.expression(left);
                let right = self.expression(right);
                self.binary(*op, left, right)
            }
        }
    }
}
