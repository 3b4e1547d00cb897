//! What calls mean: the methods of a library, and the rules that their callers keep.

use super::super::Library;
use super::super::syntax::{Case, Event, Item, Method, Parameter, ParameterKind, Rule, RuleKind};
use super::Parser;
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Parse;

/// What may stand behind how programs write a call.
const AFTER_WRITTEN: [&str; 7] = ["{", "also", "like", "by", "returns", "when", "idle"];

/// The most numbers that a parameter may be one of (`value k < 2`): clients are made for each.
const MOST_BELOW: u64 = 32;

impl Parser<'_> {
    /// `call Read(SVar x) returns v idle { … }`: a case of a method.
    pub(super) fn method(&mut self, library: &mut Library) -> Parse<()> {
        let start = self.tokens.token().span;
        self.tokens.advance();
        let (name, place) = self.tokens.name("the name of a method")?;
        let parameters = self.parameters()?;
        let written = self.written()?;
        let also = self.names("also", "another word for the method")?;
        let like = self.names("like", "what it is called elsewhere")?;
        let (mut callers, mut by) = (None, None);
        if self.tokens.accept_text("by") {
            let from = self.tokens.token().span;
            callers = Some(self.expression()?);
            let text = &self.tokens.text[from.to(self.tokens.previous()).range()];
            by = Some(text.split_whitespace().collect::<String>());
        }
        let mut case =
            Case { returns: None, when: None, idle: false, items: Vec::new(), span: start };
        if self.tokens.accept_text("returns") {
            case.returns = Some(self.expression()?);
        }
        if self.tokens.accept_text("when") {
            case.when = Some(self.expression()?);
        }
        if self.tokens.accept_text("idle") {
            case.idle = true;
        }
        if self.tokens.text_here() == "{" {
            case.items = self.items()?;
        }
        case.span = start.to(self.tokens.previous());
        match library.methods.iter_mut().find(|method| method.name == name) {
            Some(method) if written.is_some() || !also.is_empty() || !like.is_empty() => {
                let message =
                    format!("expected `written`, `also` and `like` of `{name}` in its first case");
                let error = Diagnostic::error(Code::Syntax, place, message);
                return Err(Box::new(error.related(method.span, "the first case")));
            }
            Some(method) if by.is_some() && self.callers.get(&name) != by.as_ref() => {
                let message = format!("expected the callers of `{name}` in its first case");
                let error = Diagnostic::error(Code::Syntax, place, message);
                return Err(Box::new(error.related(method.span, "the first case")));
            }
            Some(method) if is_same(&method.parameters, &parameters) => {
                method.cases.push(case);
            }
            Some(method) => {
                let message = format!("expected the same parameters for each case of `{name}`");
                let error = Diagnostic::error(Code::DifferentParameters, place, message);
                return Err(Box::new(error.related(method.span, "the first case")));
            }
            None => {
                self.callers.extend(by.map(|by| (name.clone(), by)));
                let span = case.span;
                library.methods.push(Method {
                    name,
                    parameters,
                    callers,
                    written,
                    also,
                    like,
                    cases: vec![case],
                    span,
                });
            }
        }
        Ok(())
    }

    /// `written x :=SV v`: all on the line.
    fn written(&mut self) -> Parse<Option<String>> {
        if !self.tokens.accept_text("written") {
            return Ok(None);
        }
        let start = self.tokens.token().span;
        let mut end = None;
        while !self.tokens.is_at_end()
            && (end.is_none() || !self.tokens.token().first_on_line)
            && !AFTER_WRITTEN.contains(&self.tokens.text_here())
        {
            self.tokens.advance();
            end = Some(self.tokens.previous());
        }
        let end =
            end.ok_or_else(|| self.tokens.expected("how programs write it, such as `x := v`"))?;
        Ok(Some(self.tokens.text[start.to(end).range()].to_owned()))
    }

    pub(super) fn parameters(&mut self) -> Parse<Vec<Parameter>> {
        self.tokens.expect_text("(")?;
        let mut parameters = Vec::new();
        while !self.tokens.accept_text(")") {
            if !parameters.is_empty() {
                self.tokens.expect_between(",", ")")?;
            }
            let (kind, _) =
                self.tokens.name("what is passed: `value`, `id`, `nodes` or a class")?;
            let kind = match kind.as_str() {
                "value" => ParameterKind::Value,
                "values" => ParameterKind::Values,
                "id" => ParameterKind::Id,
                "nodes" => ParameterKind::Nodes,
                "location" => ParameterKind::Location,
                _ => ParameterKind::Object(kind),
            };
            let (name, _) = self.tokens.name("the parameter's name")?;
            let below = if kind == ParameterKind::Value && self.tokens.accept_text("<") {
                Some(self.few()?)
            } else {
                None
            };
            let default =
                if self.tokens.accept_text("=") { Some(self.expression()?) } else { None };
            parameters.push(Parameter { kind, name, default, below });
        }
        Ok(parameters)
    }

    fn few(&mut self) -> Parse<u64> {
        match self.tokens.text_here().parse() {
            Ok(number @ 1..=MOST_BELOW) => {
                self.tokens.advance();
                Ok(number)
            }
            _ => Err(self.tokens.expected(&format!("a number from 1 to {MOST_BELOW}"))),
        }
    }

    fn items(&mut self) -> Parse<Vec<Item>> {
        self.tokens.expect_text("{")?;
        self.deeper()?;
        let mut items = Vec::new();
        while !self.tokens.accept_text("}") {
            if self.is_outside() {
                return Err(self.tokens.expected("`}`"));
            }
            if self.tokens.accept_text(";") {
                continue;
            }
            if self.tokens.accept_text("for") {
                let (variable, _) = self.tokens.name("a variable")?;
                self.tokens.expect_text("in")?;
                let over = self.expression()?;
                items.push(Item::For { variable, over, items: self.items()? });
            } else {
                items.push(Item::Event(Box::new(self.event()?)));
            }
        }
        self.depth -= 1;
        Ok(items)
    }

    fn event(&mut self) -> Parse<Event> {
        let start = self.tokens.token().span;
        let (stamp, _) = self.tokens.name("a stamp such as `aCW`")?;
        let mut event =
            Event { stamp, node: None, reads: None, writes: None, at: None, span: start };
        if self.tokens.accept_text("(") {
            event.node = Some(self.expression()?);
            self.tokens.expect_text(")")?;
        }
        loop {
            match self.tokens.word() {
                "reads" => {
                    self.tokens.advance();
                    let (name, _) = self.tokens.name("a name for the value read")?;
                    self.tokens.expect_text("from")?;
                    event.reads = Some((name, self.place()?));
                }
                "writes" => {
                    self.tokens.advance();
                    let value = self.expression()?;
                    self.tokens.expect_text("to")?;
                    event.writes = Some((value, self.place()?));
                }
                "at" => {
                    self.tokens.advance();
                    event.at = Some(self.place()?);
                }
                _ => break,
            }
            if !self.tokens.accept_text(",") {
                break;
            }
        }
        event.span = start.to(self.tokens.previous());
        Ok(event)
    }

    pub(super) fn rule(&mut self) -> Parse<Rule> {
        let start = self.tokens.token().span;
        self.tokens.advance();
        let kind = if self.tokens.accept_text("equal") {
            RuleKind::Equal(self.tokens.name("the name of a method")?.0)
        } else {
            let (first, _) = self.tokens.name("the name of a method")?;
            self.tokens.expect_text("before")?;
            RuleKind::Alternate(first, self.tokens.name("the name of a method")?.0)
        };
        Ok(Rule { kind, span: start.to(self.tokens.previous()) })
    }
}

/// Whether two lists of parameters say the same, wherever they stand.
fn is_same(left: &[Parameter], right: &[Parameter]) -> bool {
    let pairs = left.iter().zip(right);
    left.len() == right.len()
        && pairs
            .into_iter()
            .all(|(a, b)| a.kind == b.kind && a.name == b.name && a.below == b.below)
}
