//! Expressions with names resolved, types known, and function calls replaced by what they stand for.

use super::super::model::{self, Type};
use super::super::syntax::{BinaryOp, Expr, ExprKind, PostfixOp};
use super::super::{DEEPEST_EXPANDED, LARGEST_MODEL, printer};
use super::{Checker, article};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Where an expression stands, hence what its names mean.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) file: usize,
    /// The number of its statement: what later ones introduce cannot be used.
    pub(super) written: usize,
    /// The entry whose body it is.
    pub(super) entry: Option<usize>,
    /// Names and values of the function's parameters; none for arguments that are wrong.
    pub(super) parameters: &'a [(&'a str, Option<Value>)],
    /// The recursion that it is part of.
    pub(super) group: Option<&'a Group>,
    /// True where more of a name makes less of the whole.
    pub(super) is_negative: bool,
    /// For a function's body, the outermost call that it stands for: a file and a place.
    pub(super) call: Option<(usize, Span)>,
}

/// A recursion while it is checked.
pub(super) struct Group {
    pub(super) entry: usize,
    pub(super) definition: usize,
    pub(super) types: Vec<Ty>,
}

/// What is known of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ty {
    Is(Type),
    /// As for `0`: whichever is needed, else this one.
    Either(Type),
}

impl Ty {
    pub(super) fn or_default(self) -> Type {
        match self {
            Self::Is(ty) | Self::Either(ty) => ty,
        }
    }

    pub(super) fn is_fixed(self) -> bool {
        matches!(self, Self::Is(_))
    }
}

/// What is chosen with an execution.
#[derive(Clone, Copy)]
pub(super) enum Chosen {
    ReadsFrom,
    Entry(usize),
}

/// A checked expression.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) expr: model::Expr,
    pub(super) ty: Ty,
    /// A choice that occurs in it.
    pub(super) chosen: Option<Chosen>,
    /// The file and place of a name of the recursion at hand.
    pub(super) recursive: Option<(usize, Span)>,
    /// How many operators and names it has.
    pub(super) size: usize,
    pub(super) height: usize,
}

impl Value {
    pub(super) fn leaf(expr: model::Expr, ty: Ty) -> Self {
        Self { expr, ty, chosen: None, recursive: None, size: 1, height: 1 }
    }

    /// A value of any type.
    pub(super) fn anything() -> Self {
        Self::leaf(model::Expr::Empty, Ty::Either(Type::Relation))
    }

    /// The expression as one of a type, if its own type is open.
    pub(super) fn fixed(mut self, ty: Type) -> model::Expr {
        if !self.ty.is_fixed() {
            fix(&mut self.expr, ty);
        }
        self.expr
    }
}

/// Makes an expression of open type one of a type: only complements say which they are of.
fn fix(expr: &mut model::Expr, to: Type) {
    use model::Expr::{Complement, Difference, Intersection, Union};
    match expr {
        Union(left, right) | Intersection(left, right) | Difference(left, right) => {
            fix(left, to);
            fix(right, to);
        }
        Complement(ty, inner) => {
            *ty = to;
            fix(inner, to);
        }
        _ => {}
    }
}

impl Checker<'_> {
    /// The checked expression, which must be of a type; none if it is wrong, which is then reported.
    pub(super) fn value_of_type(
        &mut self,
        expr: &Expr,
        ty: Type,
        scope: &Scope<'_>,
    ) -> Option<Value> {
        let value = self.value(expr, scope)?;
        self.coerced(value, ty, expr, scope)
    }

    fn coerced(
        &mut self,
        mut value: Value,
        ty: Type,
        expr: &Expr,
        scope: &Scope<'_>,
    ) -> Option<Value> {
        match value.ty {
            Ty::Is(is) if is != ty => {
                let what = shown(expr);
                let (expected, found) = (article(ty), article(is));
                let message = format!("expected {expected}, found the {} {what}", &found[2..]);
                let help = match ty {
                    Type::Relation => format!("`[S]` relates every event of the set `S` to itself{}", bracketed(expr)),
                    Type::Set => "`domain(r)` are the events that `r` starts from, `range(r)` those it leads to".to_owned(),
                };
                let error =
                    Diagnostic::error(Code::WrongType, expr.span, message).label(found).help(help);
                self.error(scope, error);
                None
            }
            Ty::Is(_) => Some(value),
            Ty::Either(_) => {
                fix(&mut value.expr, ty);
                value.ty = Ty::Is(ty);
                Some(value)
            }
        }
    }

    /// The checked expression; none if it is wrong, which is then reported.
    pub(super) fn value(&mut self, expr: &Expr, scope: &Scope<'_>) -> Option<Value> {
        self.steps += 1;
        if self.steps > LARGEST_MODEL {
            self.too_large(expr.span, scope);
            return None;
        }
        self.depth += 1;
        let value = if self.depth > DEEPEST_EXPANDED {
            self.too_deep(expr.span, scope);
            None
        } else {
            self.value_at_depth(expr, scope)
        };
        self.depth -= 1;
        let value = value?;
        if value.height > DEEPEST_EXPANDED {
            self.too_deep(expr.span, scope);
            return None;
        }
        Some(value)
    }

    /// Says once that the model is too large: everything after that is left out.
    fn too_large(&mut self, span: Span, scope: &Scope<'_>) {
        if !self.sink.quiet && !std::mem::replace(&mut self.is_too_large, true) {
            let message = format!(
                "a model has at most {LARGEST_MODEL} operators and names, calls replaced by what they stand for"
            );
            self.error(scope, Diagnostic::error(Code::TooLarge, span, message));
        }
    }

    fn too_deep(&mut self, span: Span, scope: &Scope<'_>) {
        let message = format!(
            "an expression has at most {DEEPEST_EXPANDED} levels, calls replaced by what they stand for"
        );
        let error =
            Diagnostic::error(Code::TooDeep, span, message).help("name a part of it with `let`");
        self.error(scope, error);
    }

    fn value_at_depth(&mut self, expr: &Expr, scope: &Scope<'_>) -> Option<Value> {
        use model::Expr as M;
        match &expr.kind {
            ExprKind::Name(name) => self.name(name, expr.span, scope),
            ExprKind::Zero => Some(Value::anything()),
            ExprKind::Braces => Some(Value::leaf(M::Empty, Ty::Either(Type::Set))),
            ExprKind::Universe => Some(Value::leaf(M::Universe, Ty::Is(Type::Set))),
            ExprKind::Binary(operator, left, right) => {
                self.binary(*operator, left, right, expr, scope)
            }
            ExprKind::Complement(inner) => {
                let inner = self.value(inner, &Scope { is_negative: true, ..*scope })?;
                let ty = inner.ty;
                Some(unary(inner, ty, |inner| M::Complement(ty.or_default(), inner)))
            }
            ExprKind::Identity(inner) => {
                let inner = self.value_of_type(inner, Type::Set, scope)?;
                Some(unary(inner, Ty::Is(Type::Relation), M::Identity))
            }
            ExprKind::Postfix(operator, inner) => {
                let inner = self.value_of_type(inner, Type::Relation, scope)?;
                Some(unary(
                    inner,
                    Ty::Is(Type::Relation),
                    match operator {
                        PostfixOp::Inverse => M::Inverse,
                        PostfixOp::Plus => M::Plus,
                        PostfixOp::Star => M::Star,
                        PostfixOp::Optional => M::Optional,
                    },
                ))
            }
            ExprKind::Domain(inner) | ExprKind::Range(inner) => {
                let is_domain = matches!(expr.kind, ExprKind::Domain(_));
                let inner = self.value_of_type(inner, Type::Relation, scope)?;
                Some(unary(inner, Ty::Is(Type::Set), if is_domain { M::Domain } else { M::Range }))
            }
            ExprKind::Call(name, arguments) => self.call(name, arguments, expr.span, scope),
        }
    }

    fn binary(
        &mut self,
        operator: BinaryOp,
        left: &Expr,
        right: &Expr,
        whole: &Expr,
        scope: &Scope<'_>,
    ) -> Option<Value> {
        use model::Expr as M;
        let is_difference = operator == BinaryOp::Difference;
        let right_scope = Scope { is_negative: scope.is_negative || is_difference, ..*scope };
        // Both before either `?`: what is wrong on the right is said too.
        let (left_value, right_value) = (self.value(left, scope), self.value(right, &right_scope));
        let (mut left_value, mut right_value) = (left_value?, right_value?);
        let needed = match operator {
            BinaryOp::Sequence => Some(Type::Relation),
            BinaryOp::Product => Some(Type::Set),
            _ => None,
        };
        if let Some(ty) = needed {
            let coerced = (
                self.coerced(left_value, ty, left, scope),
                self.coerced(right_value, ty, right, scope),
            );
            let (left_value, right_value) = (coerced.0?, coerced.1?);
            let build = if operator == BinaryOp::Product { M::Product } else { M::Sequence };
            return Some(both(left_value, right_value, Ty::Is(Type::Relation), build));
        }
        let ty = match (left_value.ty, right_value.ty) {
            (Ty::Either(_), Ty::Is(ty)) => {
                fix(&mut left_value.expr, ty);
                Ty::Is(ty)
            }
            (Ty::Is(ty), Ty::Either(_)) => {
                fix(&mut right_value.expr, ty);
                Ty::Is(ty)
            }
            (Ty::Either(ty), Ty::Either(_)) => Ty::Either(ty),
            (Ty::Is(a), Ty::Is(b)) if a == b => Ty::Is(a),
            (Ty::Is(a), Ty::Is(b)) => {
                self.mixed(operator, (left, a), (right, b), whole, scope);
                return None;
            }
        };
        let build = match operator {
            BinaryOp::Union => M::Union,
            BinaryOp::Intersection => M::Intersection,
            _ => M::Difference,
        };
        Some(both(left_value, right_value, ty, build))
    }

    fn mixed(
        &mut self,
        operator: BinaryOp,
        (left, left_type): (&Expr, Type),
        (right, right_type): (&Expr, Type),
        whole: &Expr,
        scope: &Scope<'_>,
    ) {
        let message = format!(
            "expected two sets or two relations around `{}`, found {} and {}",
            operator.symbol(),
            article(left_type),
            article(right_type)
        );
        let set = if left_type == Type::Set { left } else { right };
        let error = Diagnostic::error(Code::WrongType, whole.span, message)
            .label("of these two")
            .related(left.span, article(left_type))
            .related(right.span, article(right_type))
            .help(format!("`[S]` relates every event of the set `S` to itself{}", bracketed(set)));
        self.error(scope, error);
    }
}

fn unary(inner: Value, ty: Ty, build: impl FnOnce(Box<model::Expr>) -> model::Expr) -> Value {
    Value {
        expr: build(Box::new(inner.expr)),
        ty,
        size: inner.size + 1,
        height: inner.height + 1,
        ..inner
    }
}

fn both(
    left: Value,
    right: Value,
    ty: Ty,
    build: impl FnOnce(Box<model::Expr>, Box<model::Expr>) -> model::Expr,
) -> Value {
    Value {
        expr: build(Box::new(left.expr), Box::new(right.expr)),
        ty,
        chosen: left.chosen.or(right.chosen),
        recursive: left.recursive.or(right.recursive),
        size: left.size + right.size + 1,
        height: left.height.max(right.height) + 1,
    }
}

/// A short expression in quotes, or a word for a long one.
fn shown(expr: &Expr) -> String {
    let text = printer::print_expr(expr);
    if text.chars().count() <= 30 { format!("`{text}`") } else { "here".to_owned() }
}

/// What to add to a hint about brackets, for a set that has a name.
fn bracketed(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Name(name) => format!(": `[{name}]`"),
        _ => String::new(),
    }
}
