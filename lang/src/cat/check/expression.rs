//! Expressions with names resolved, types known, and function calls replaced by what they stand for.

use super::super::collect::{Body, Entry};
use super::super::model::{self, Base, DefinitionId, Type};
use super::super::syntax::{BinaryOp, Expr, ExprKind, Name, PostfixOp};
use super::super::{DEEPEST_EXPANDED, LARGEST_MODEL, codes, names, printer};
use super::{Checker, Known, article};
use crate::diagnostic::Diagnostic;
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
    recursive: Option<(usize, Span)>,
    size: usize,
    height: usize,
}

impl Value {
    fn leaf(expr: model::Expr, ty: Ty) -> Self {
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
                let error = Diagnostic::error(codes::WRONG_TYPE, expr.span, message)
                    .label(found)
                    .help(help);
                self.error(scope.file, error);
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
        self.depth += 1;
        let value = if self.depth > DEEPEST_EXPANDED {
            self.too_deep(expr.span, scope);
            None
        } else {
            self.value_at_depth(expr, scope)
        };
        self.depth -= 1;
        self.within_limits(value?, expr.span, scope)
    }

    fn within_limits(&mut self, value: Value, span: Span, scope: &Scope<'_>) -> Option<Value> {
        if value.height > DEEPEST_EXPANDED {
            self.too_deep(span, scope);
            return None;
        }
        if self.steps > LARGEST_MODEL {
            let message = format!(
                "a model has at most {LARGEST_MODEL} operators and names, with calls replaced by what they stand for"
            );
            self.error(scope.file, Diagnostic::error(codes::TOO_LARGE, span, message));
            return None;
        }
        Some(value)
    }

    fn too_deep(&mut self, span: Span, scope: &Scope<'_>) {
        let message = format!(
            "an expression has at most {DEEPEST_EXPANDED} levels, with calls replaced by what they stand for"
        );
        let error =
            Diagnostic::error(codes::TOO_DEEP, span, message).help("name a part of it with `let`");
        self.error(scope.file, error);
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
        let error = Diagnostic::error(codes::WRONG_TYPE, whole.span, message)
            .label("of these two")
            .related(left.span, article(left_type))
            .related(right.span, article(right_type))
            .help(format!("`[S]` relates every event of the set `S` to itself{}", bracketed(set)));
        self.error(scope.file, error);
    }

    fn name(&mut self, name: &str, span: Span, scope: &Scope<'_>) -> Option<Value> {
        if let Some((_, value)) = scope.parameters.iter().find(|(parameter, _)| *parameter == name)
        {
            return self.parameter(value.clone()?, scope);
        }
        if let Some(value) = self.of_group(name, span, scope) {
            return value;
        }
        if let Some((index, place)) = self.visible(name, span, scope)? {
            if let Body::Function(function) = &self.parts.entries[index].body {
                let expected = &function.parameters;
                let parameters: Vec<&str> =
                    expected.iter().map(|name| name.text.as_str()).collect();
                let message = format!("expected `(` after the function `{name}`");
                let help = format!("it is used as `{name}({})`", parameters.join(", "));
                self.error(
                    scope.file,
                    Diagnostic::error(codes::MISSING_ARGUMENTS, span, message).help(help),
                );
                return None;
            }
            let Known { id, ty, chosen } = *self.known[index].get(place)?;
            return Some(Value { chosen, ..Value::leaf(model::Expr::Defined(id), Ty::Is(ty)) });
        }
        if let Some(base) = Base::ALL.iter().find(|base| base.name() == name) {
            let chosen = (*base == Base::ReadsFrom).then_some(Chosen::ReadsFrom);
            return Some(Value {
                chosen,
                ..Value::leaf(model::Expr::Base(*base), Ty::Is(base.ty()))
            });
        }
        let parameters = scope.parameters.iter().map(|(name, _)| *name);
        let visible = self
            .parts
            .names
            .iter()
            .filter(|(_, (index, _))| self.parts.entries[*index].position < scope.written);
        let error =
            names::unknown(name, span, parameters.chain(visible.map(|(name, _)| name.as_str())));
        self.error(scope.file, error);
        None
    }

    /// A parameter stands for its argument, which counts as often as it is used.
    fn parameter(&mut self, value: Value, scope: &Scope<'_>) -> Option<Value> {
        self.steps += value.size - 1;
        if let (true, Some((file, span))) = (scope.is_negative, value.recursive) {
            self.not_monotone(file, span, "the function takes it away from something");
            return None;
        }
        Some(value)
    }

    /// The value of a name of the recursion at hand; the outer none if it is no such name.
    fn of_group(&mut self, name: &str, span: Span, scope: &Scope<'_>) -> Option<Option<Value>> {
        let group = scope.group?;
        let &(entry, body) = self.parts.names.get(name)?;
        if entry != group.entry {
            return None;
        }
        if scope.is_negative {
            self.not_monotone(scope.file, span, "it stands right of `\\` or under `~`");
            return Some(None);
        }
        let id = DefinitionId { definition: group.definition, body };
        let value = Value::leaf(model::Expr::Defined(id), group.types[body]);
        Some(Some(Value { recursive: Some((scope.file, span)), ..value }))
    }

    fn not_monotone(&mut self, file: usize, span: Span, why: &str) {
        let error = Diagnostic::error(codes::NOT_MONOTONE, span, "a recursion cannot take away from itself")
            .label(why)
            .help("a recursion is the least relation that its equations allow; that exists if they only ever add");
        self.error(file, error);
    }

    /// The entry of a name that is defined, and which of its names it is; the outer none if it cannot be used here,
    /// which is then reported.
    fn visible(
        &mut self,
        name: &str,
        span: Span,
        scope: &Scope<'_>,
    ) -> Option<Option<(usize, usize)>> {
        let Some(&(index, place)) = self.parts.names.get(name) else { return Some(None) };
        let own = scope.entry.map(|own| (own, &self.parts.entries[own]));
        if let Some((_, Entry { former: Some(former), .. })) = own
            && own.and_then(|(_, entry)| entry.name_at(0)).is_some_and(|own| own.text == name)
        {
            return Some(Some((*former, 0)));
        }
        if self.parts.entries[index].position < scope.written {
            return Some(Some((index, place)));
        }
        let error = if scope.entry == Some(index) {
            let message = format!("`{name}` is used in its own definition");
            let error = Diagnostic::error(codes::USED_BEFORE_DEFINITION, span, message);
            match self.parts.entries[index].body {
                Body::Let(_) => error.help(format!("`let rec {name} = …` defines it by recursion")),
                Body::Function(_) => {
                    error.help("a function cannot be recursive: a call stands for its body")
                }
                _ => error,
            }
        } else {
            names::too_early(name, span, scope.file, self.parts, (index, place), self.sources)
        };
        self.error(scope.file, error);
        None
    }

    fn call(
        &mut self,
        name: &Name,
        arguments: &[Expr],
        span: Span,
        scope: &Scope<'_>,
    ) -> Option<Value> {
        let values: Vec<Option<Value>> =
            arguments.iter().map(|argument| self.value(argument, scope)).collect();
        let is_parameter = scope.parameters.iter().any(|(parameter, _)| *parameter == name.text);
        let known = if is_parameter { None } else { self.visible(&name.text, name.span, scope)? };
        let Some((Body::Function(function), index)) =
            known.map(|(index, _)| (&self.parts.entries[index].body, index))
        else {
            // Also says so if the name means nothing at all.
            self.name(&name.text, name.span, scope)?;
            let message = format!("`{}` is no function", name.text);
            let error = Diagnostic::error(codes::NOT_A_FUNCTION, name.span, message)
                .help("an operator may be missing before `(`: `|`, `&`, `;`, `\\` or `*`");
            self.error(scope.file, error);
            return None;
        };
        let (expected, found) = (function.parameters.len(), values.len());
        if expected != found {
            let message =
                format!("expected {expected} arguments of `{}`, found {found}", name.text);
            self.error(scope.file, Diagnostic::error(codes::WRONG_ARGUMENT_COUNT, span, message));
            return None;
        }
        let entry = &self.parts.entries[index];
        if entry.is_broken {
            return None;
        }
        let parameters: Vec<(&str, Option<Value>)> =
            function.parameters.iter().map(|name| name.text.as_str()).zip(values).collect();
        let inner = Scope { parameters: &parameters, ..Scope::of_entry(index, entry) };
        self.value(&function.body, &inner)
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

/// `: `[W]`` for a set that has a name.
fn bracketed(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Name(name) => format!(": `[{name}]`"),
        _ => String::new(),
    }
}
