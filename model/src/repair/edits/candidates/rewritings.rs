//! The changes that rewrite what is there.

use lang::litmus::ast::{
    Access, Block, Expr, ExprKind, Index, Statement, StatementKind, Target, Value, Via,
};
use lang::program::{Location, array_of};

use super::super::super::Kind;
use super::super::requests::Sent;
use super::super::{Edit, Named, OnlyWith, Site, Towards, What, order, requests};
use super::Lister;

impl Lister<'_> {
    /// What a thread has sent on another queue pair that it uses to the same node.
    pub(super) fn moves(&mut self) {
        for sent in self.done.sent.clone() {
            for on in &self.others(&sent) {
                let (site, what, named) = (sent.site.clone(), What::Move(*on), sent.named.clone());
                let at = sent.span;
                let (after, head, only_with) = (Some(named), String::new(), OnlyWith::Any);
                self.edits.push(Edit { site, what, after, head, at, only_with, switch: None });
            }
        }
    }

    /// The queue pairs that an operation may be moved to. Those that threads share are none of them: all that
    /// these threads poll would depend on it.
    pub(super) fn others(&self, sent: &Sent) -> Vec<Towards> {
        if sent.is_kept || !self.repair.kinds.contains(&Kind::QueuePair) {
            return Vec::new();
        }
        let of_node = self.queue_pairs.iter().filter(|on| on.node == sent.on.node);
        of_node.filter(|on| **on != sent.on && !on.is_shared()).copied().collect()
    }

    /// Changes of one statement, and the exchange of it and the next.
    pub(super) fn rewritings(&mut self, site: &Site, one: &Statement, next: Option<&Statement>) {
        let is_kept = |one: &Statement| self.repair.is_kept(one);
        if is_kept(one) {
            return;
        }
        if let StatementKind::Assign { target: Target::Access(target), via, value } = &one.kind
            && !matches!(via, Via::Library(_))
            && !target.home.is_own()
            && matches!(value, Value::Expr(Expr { kind: ExprKind::Number(_), .. }))
            && self.may(Kind::Rcas, "RCAS")
            && self.loops == 0
            // It expects the initial value.
            && self.is_written_once(&target.name.text)
            && let Some(before) = self.initial(target)
        {
            self.push(site, Some(one), What::Rcas { before });
        }
        if self.repair.kinds.contains(&Kind::Inline)
            && let StatementKind::Assign { target: Target::Access(target), via, value } = &one.kind
            && !matches!(via, Via::Library(_))
            && !target.home.is_own()
            && matches!(value, Value::Expr(Expr { kind: ExprKind::Access(source), .. })
                if self.is_location(&source.name.text))
        {
            self.push(site, Some(one), What::Inline);
        }
        if one.unsignaled && self.may(Kind::Signal, "Poll") {
            self.push(site, Some(one), What::Signal);
        }
        let text = |one: &Statement| self.repair.source.text.get(one.place.span.range());
        let is_plain = |one: &Statement| {
            matches!(one.kind, StatementKind::Assign { .. } | StatementKind::Call(_))
        };
        if let Some(next) = next
            && self.repair.kinds.contains(&Kind::Exchange)
            && is_plain(one)
            && is_plain(next)
            && !is_kept(next)
            && text(one) != text(next)
            && !order::depends(one, next)
        {
            self.push(site, Some(one), What::Exchange);
        }
    }

    /// A Poll or a Wait that stands later in the block may come before a statement, over several.
    pub(super) fn lifts(&mut self, site: &Site, block: &Block) {
        if !self.repair.kinds.contains(&Kind::Exchange) {
            return;
        }
        let text = |one: &Statement| self.repair.source.text.get(one.place.span.range());
        let Some((before, later)) = block.statements.get(site.index..).and_then(<[_]>::split_first)
        else {
            return;
        };
        let is_simple = |one: &Statement| {
            matches!(one.kind, StatementKind::Assign { .. } | StatementKind::Call(_))
        };
        if !is_simple(before) {
            return;
        }
        let mut lifted = Vec::new();
        let mut over = vec![before];
        for (one, index) in later.iter().zip(site.index + 1..) {
            let has_request = match (requests::polled(one), requests::waited(one)) {
                (Some(on), _) => self.done.sent.iter().any(|sent| sent.on == on),
                (_, Some(id)) => self.done.sent.iter().any(|sent| sent.id.as_deref() == Some(id)),
                _ => false,
            };
            if over.len() > 1
                && has_request
                && !self.repair.is_kept(one)
                && over.last().is_some_and(|last| text(last) != text(one))
                && text(before) != text(one)
                && !over.iter().any(|other| order::depends(other, one))
            {
                lifted.push((index, one));
            }
            if !is_simple(one) {
                break;
            }
            over.push(one);
        }
        let before = Named::new(before, self.repair.source);
        for (index, one) in lifted {
            let what = What::Lift { to: site.index, before: before.clone() };
            self.at = one.place.span;
            self.push(&Site { index, ..site.clone() }, Some(one), what);
        }
    }

    fn is_location(&self, name: &str) -> bool {
        self.test.program.locations.iter().any(|location| location.name == name)
    }

    /// What an access to one word finds there at first, whichever word it is.
    fn initial(&self, access: &Access) -> Option<u64> {
        let name = &access.name.text;
        let is_meant = |location: &&Location| match access.index.as_deref() {
            None => location.name == *name,
            Some(Index::Value(_)) => array_of(&location.name).is_some_and(|(of, _)| of == name),
            Some(Index::Part(..)) => false,
        };
        let mut words = self.test.program.locations.iter().filter(is_meant);
        let first = words.next()?.initial;
        words.all(|word| word.initial == first).then_some(first)
    }

    /// Whether one statement writes a location, and no other.
    fn is_written_once(&self, name: &str) -> bool {
        let threads = self.repair.file.threads.iter();
        order::writes(threads.map(|thread| &thread.body), name) == 1
    }
}
