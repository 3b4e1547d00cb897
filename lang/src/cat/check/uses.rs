//! What a name in an expression stands for, alone or with arguments.

use super::super::collect::{Body, Entry};
use super::super::model::{self, Base, DefinitionId};
use super::super::names;
use super::super::syntax::{Expr, Name};
use super::expression::{Chosen, Scope, Ty, Value};
use super::{Checker, Known};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

impl Checker<'_> {
    pub(super) fn name(&mut self, name: &str, span: Span, scope: &Scope<'_>) -> Option<Value> {
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
                    scope,
                    Diagnostic::error(Code::MissingArguments, span, message).help(help),
                );
                return None;
            }
            let Known { id, ty, chosen } = *self.known[index].get(place)?;
            return Some(Value { chosen, ..Value::leaf(model::Expr::Defined(id), Ty::Is(ty)) });
        }
        let method = self.parts.methods.iter().position(|method| method == name);
        if let Some(number) = method.and_then(|number| u8::try_from(number).ok()) {
            let expr = model::Expr::Base(Base::Method(0, number));
            return Some(Value::leaf(expr, Ty::Is(model::Type::Set)));
        }
        if let Some(base) = Base::ALL.iter().find(|base| base.name() == name) {
            let chosen = (*base == Base::ReadsFrom).then_some(Chosen::ReadsFrom);
            return Some(Value {
                chosen,
                ..Value::leaf(model::Expr::Base(*base), Ty::Is(base.ty()))
            });
        }
        if self.sink.is_deaf() {
            return None;
        }
        let parameters = scope.parameters.iter().map(|(name, _)| *name);
        let visible = self
            .parts
            .names
            .iter()
            .filter(|(_, (index, _))| self.parts.entries[*index].position < scope.written);
        let error =
            names::unknown(name, span, parameters.chain(visible.map(|(name, _)| name.as_str())));
        self.error(scope, error);
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

    /// The value of a name of the recursion at hand; the outer none if it is not such a name.
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
        let error = Diagnostic::error(Code::NotMonotone, span, "a recursion cannot take away from itself")
            .label(why)
            .help("a recursion is the least relation that its equations allow; that exists if they only ever add");
        self.sink.push_in(file, error);
    }

    /// The entry of a name that is defined, and which of its names it is; the outer none if it cannot be used
    /// here, which is then reported.
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
            let error = Diagnostic::error(Code::UsedBeforeDefinition, span, message);
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
        self.error(scope, error);
        None
    }

    pub(super) fn call(
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
            let message = format!("`{}` is not a function", name.text);
            let error = Diagnostic::error(Code::NotAFunction, name.span, message)
                .help("an operator may be missing before `(`: `|`, `&`, `;`, `\\` or `*`");
            self.error(scope, error);
            return None;
        };
        let (expected, found) = (function.parameters.len(), values.len());
        if expected != found {
            let message =
                format!("expected {expected} arguments of `{}`, found {found}", name.text);
            self.error(scope, Diagnostic::error(Code::WrongArgumentCount, span, message));
            return None;
        }
        let entry = &self.parts.entries[index];
        if entry.is_broken {
            return None;
        }
        let parameters: Vec<(&str, Option<Value>)> =
            function.parameters.iter().map(|name| name.text.as_str()).zip(values).collect();
        let call = scope.call.or(Some((scope.file, span)));
        let inner = Scope { parameters: &parameters, call, ..Scope::of_entry(index, entry) };
        self.value(&function.body, &inner)
    }
}
