//! Where a tree has names: declared ones, registers, work ids, models.

use rustc_hash::FxHashSet;

use super::ast::{
    Access, Argument, Atom, Block, Call, Claim, Expr, ExprKind, File, HeaderKind, Index, Name,
    Observed, ResultKind, StatementKind, Target, Value, VerdictKind, Via,
};
use crate::source::Span;

/// What a name is the name of. A location and a work id may have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A location, a register or an object.
    Value,
    /// Operations that one waits for.
    WorkId,
    /// A model.
    Model,
}

/// A name in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub text: String,
    /// Its place.
    pub span: Span,
    /// What it is the name of.
    pub kind: Kind,
    /// Whether it is declared here.
    pub is_declaration: bool,
}

/// The names of a tree, in the order of the text that it was read from. `ids` are the places of those
/// arguments of calls that are work ids.
pub fn names(file: &File, text: &str, ids: &[Span]) -> Vec<Named> {
    let mut finder = Finder { text, ids: ids.iter().copied().collect(), found: Vec::new() };
    for line in &file.header {
        if let HeaderKind::Models(models) = &line.kind {
            models.iter().for_each(|model| finder.add(model, Kind::Model, false));
        }
    }
    for declaration in file.declarations.iter().flat_map(|row| row.cells.all()) {
        finder.add(&declaration.name, Kind::Value, true);
    }
    file.threads.iter().for_each(|thread| finder.block(&thread.body));
    for line in &file.results {
        match &line.kind {
            ResultKind::Observe(names) => names.iter().for_each(|name| finder.observed(name)),
            ResultKind::Verdicts(model, verdicts) => {
                model.iter().for_each(|model| finder.add(model, Kind::Model, false));
                verdicts.iter().for_each(|verdict| finder.verdict(&verdict.kind));
            }
        }
    }
    let mut found = finder.found;
    found.sort_by_key(|name| (name.span, !name.is_declaration));
    found.dedup_by_key(|name| name.span);
    found
}

struct Finder<'t> {
    text: &'t str,
    ids: FxHashSet<Span>,
    found: Vec<Named>,
}

impl Finder<'_> {
    /// Names that the text only implies have no place.
    fn add(&mut self, name: &Name, kind: Kind, is_declaration: bool) {
        let mut span = name.place.span;
        let mut text = name.text.as_str();
        // A word of an array, `x[1]`, has the array's name.
        let written = self.text.get(span.range()).unwrap_or_default();
        if let (Some((array, _)), Some(end)) = (text.split_once('['), written.find('[')) {
            text = array;
            span.end = span.start + written[..end].trim_end().len();
        }
        if span.start < span.end {
            self.found.push(Named { text: text.to_owned(), span, kind, is_declaration });
        }
    }

    fn access(&mut self, access: &Access) {
        let is_id = self.ids.contains(&access.name.place.span);
        self.add(&access.name, if is_id { Kind::WorkId } else { Kind::Value }, false);
        if let Some(Index::Value(index)) = access.index.as_deref() {
            self.expression(index);
        }
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Assign { target, via, value } => {
                    if let Target::Access(access) = target {
                        self.access(access);
                    }
                    if let Via::Id(Some(name)) = via {
                        self.add(name, Kind::WorkId, false);
                    }
                    match value {
                        Value::Expr(expr) | Value::Inline(expr) => self.expression(expr),
                        Value::Call(call) => self.call(call),
                    }
                }
                StatementKind::Call(call) => self.call(call),
                StatementKind::If { branches, otherwise } => {
                    for (condition, block) in branches {
                        self.expression(condition);
                        self.block(block);
                    }
                    otherwise.iter().for_each(|block| self.block(block));
                }
                StatementKind::While(condition, block) => {
                    self.expression(condition);
                    self.block(block);
                }
                StatementKind::Loop(block) => self.block(block),
                StatementKind::Assume(condition) => self.expression(condition),
                StatementKind::Break | StatementKind::Skip => {}
            }
        }
    }

    fn call(&mut self, call: &Call) {
        for argument in &call.arguments {
            if let Argument::Expr(expr) = argument {
                self.expression(expr);
            }
        }
    }

    fn expression(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Access(access) => self.access(access),
            ExprKind::Not(inner) => self.expression(inner),
            ExprKind::Binary(_, left, right) => {
                self.expression(left);
                self.expression(right);
            }
            ExprKind::Tuple(all) => all.iter().for_each(|inner| self.expression(inner)),
            ExprKind::Number(_) | ExprKind::Truth(_) | ExprKind::Bottom => {}
        }
    }

    fn observed(&mut self, observed: &Observed) {
        self.add(&observed.name, Kind::Value, false);
    }

    fn verdict(&mut self, verdict: &VerdictKind) {
        match verdict {
            VerdictKind::Allowed(claim)
            | VerdictKind::Forbidden(claim)
            | VerdictKind::Always(claim) => self.claim(claim),
            VerdictKind::Exactly { observed, .. } => {
                observed.iter().for_each(|name| self.observed(name));
            }
        }
    }

    fn claim(&mut self, claim: &Claim) {
        match claim {
            Claim::Truth(_) => {}
            Claim::Compare { left, right, .. } => {
                left.iter().chain(right).for_each(|atom| self.atom(atom));
            }
            Claim::And(all) | Claim::Or(all) => all.iter().for_each(|inner| self.claim(inner)),
            Claim::Not(inner) => self.claim(inner),
        }
    }

    fn atom(&mut self, atom: &Atom) {
        match atom {
            Atom::Constant(_) => {}
            Atom::Observed(name) => self.observed(name),
            Atom::Binary(_, left, right) => {
                self.atom(left);
                self.atom(right);
            }
        }
    }
}
