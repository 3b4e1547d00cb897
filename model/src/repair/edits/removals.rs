//! The statements that a program may do without.

use lang::litmus::ast::{Block, StatementKind};
use lang::litmus::methods::Method;

use super::super::{Kind, Repair};
use super::{Edit, Path, Site, What, blocks_mut};

/// Every statement that may go: those that only wait or keep an order.
pub fn removals(repair: &Repair<'_>) -> Vec<Edit> {
    let mut found = Vec::new();
    for (thread, of) in repair.file.threads.iter().enumerate() {
        removals_in(&of.body, &Site { thread, path: Path::new(), index: 0 }, repair, &mut found);
    }
    found
}

fn removals_in(block: &Block, at: &Site, repair: &Repair<'_>, found: &mut Vec<Edit>) {
    for (index, one) in block.statements.iter().enumerate() {
        let kind = match &one.kind {
            StatementKind::Call(call) => match call.method {
                Method::Poll => Some(Kind::Poll),
                Method::Wait => Some(Kind::Wait),
                Method::Rfence => Some(Kind::Rfence),
                Method::Gfence => Some(Kind::Gfence),
                Method::Mfence => Some(Kind::Mfence),
                _ => None,
            },
            _ => None,
        };
        let kind = kind.filter(|kind| repair.kinds.contains(kind) && !repair.is_kept(one.place));
        if let Some(kind) = kind {
            let site = Site { index, ..at.clone() };
            let span = one.place.span;
            found.push(Edit { site, what: What::Remove(kind), after: Some(span), at: span });
        }
        let mut copy = one.clone();
        for (number, inner) in blocks_mut(&mut copy).into_iter().enumerate() {
            let mut path = at.path.clone();
            path.push((index, number));
            removals_in(inner, &Site { path, ..at.clone() }, repair, found);
        }
    }
}
