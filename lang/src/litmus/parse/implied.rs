//! What figures leave out, and a file says: the dialect of a model, objects that calls name without a
//! declaration, the node of a location that stands above all columns.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ast::{
    Cells, Declaration, DeclarationKind, DeclarationRow, File, Form, HeaderKind, HeaderLine, Home,
    Name, Number,
};
use super::super::methods::Method;
use super::Context;
use super::uses::{By, Use, uses};
use crate::Dialect;
use crate::diagnostic::Diagnostic;

/// A model of coreRMA speaks of programs of its dialect only.
pub fn header(file: &mut File) {
    let has_dialect = file.header.iter().any(|line| matches!(line.kind, HeaderKind::Dialect(_)));
    let of_corerma = file.header.iter().position(|line| match &line.kind {
        HeaderKind::Models(models) => {
            !models.is_empty() && models.iter().all(|name| name.text.starts_with("corerma"))
        }
        _ => false,
    });
    if let (false, Some(at)) = (has_dialect, of_corerma) {
        let place = file.header[at].place;
        let kind = HeaderKind::Dialect(Dialect::CoreRma);
        file.header.insert(at + 1, HeaderLine { kind, place });
    }
}

/// Adds declarations that calls imply, beside some that are known, and what declarations leave open.
pub fn declarations(file: &mut File, mut new: Vec<Declaration>) {
    let found = uses(file);
    new.extend(objects(file, &found));
    let sequential = sequential(file, &found);
    let homes = homes(file, &found);
    for row in &mut file.declarations {
        for declaration in row.cells.all_mut() {
            let name = declaration.name.text.as_str();
            if let (DeclarationKind::Location(value), true) =
                (&declaration.kind, sequential.contains(name))
            {
                declaration.kind = DeclarationKind::Sc(*value);
            }
            let has_home = matches!(
                declaration.kind,
                DeclarationKind::Location(_)
                    | DeclarationKind::Mixed { .. }
                    | DeclarationKind::Sc(_)
            );
            if let (true, None, Some(node)) = (has_home, declaration.home, homes.get(name)) {
                declaration.home = Some(Number { value: *node, place: declaration.name.place });
            }
        }
    }
    if !new.is_empty() {
        let is_wide = match file.form {
            Form::Columns => file.threads.len() > 1,
            Form::Blocks => file
                .declarations
                .iter()
                .any(|row| !matches!(&row.cells, Cells::Columns(one) if one.len() == 1)),
        };
        let cells = if is_wide { Cells::Shared(new) } else { Cells::Columns(vec![new]) };
        file.declarations.push(DeclarationRow { cells, place: file.rule });
    }
}

fn declared<'f>(file: &'f File, name: &str) -> Option<&'f Declaration> {
    file.declarations.iter().flat_map(|row| row.cells.all()).find(|one| one.name.text == name)
}

/// `Acq_WL(l)` says that l is a weak lock: it must be one, and is one if nothing else is said.
pub fn locks(context: &mut Context<'_>, file: &File) -> Vec<Declaration> {
    let mut new: Vec<Declaration> = Vec::new();
    for (name, class) in std::mem::take(&mut context.lock_classes) {
        let known = declared(file, &name.text).or_else(|| new.iter().find(|one| one.name == name));
        match known.map(|known| (&known.kind, known.name.place)) {
            None => {
                let kind = DeclarationKind::Lock(class.to_owned());
                let home = (class == "NLock").then(|| node_of_calls(file, &name)).flatten();
                new.push(Declaration { name, kind, home });
            }
            Some((DeclarationKind::Lock(other), place)) if other != class => {
                let message =
                    format!("expected an object of class {class}, found one of class {other}");
                let error = Diagnostic::error("wrong-object-class", name.place.span, message);
                context.sink.push(error.related(place.span, format!("class {other} here")));
            }
            Some(_) => {}
        }
    }
    new
}

/// The node that some call of a lock names: `Acq(l^2)`.
fn node_of_calls(file: &File, name: &Name) -> Option<Number> {
    uses(file).iter().filter(|one| one.name == name).find_map(|one| match one.home {
        Home::Node(number) => Some(number),
        _ => None,
    })
}

/// Barriers and rings that calls name, in a file that declares none.
fn objects(file: &File, found: &[Use<'_>]) -> Vec<Declaration> {
    let has = |is: fn(&DeclarationKind) -> bool| {
        file.declarations.iter().flat_map(|row| row.cells.all()).any(|one| is(&one.kind))
    };
    let has_barrier = has(|kind| matches!(kind, DeclarationKind::Barrier(_)));
    let has_ring = has(|kind| matches!(kind, DeclarationKind::Ring { .. }));
    let mut new: Vec<Declaration> = Vec::new();
    for one in found {
        let kind = match one.by {
            By::Call(Method::Bar) if !has_barrier => DeclarationKind::Barrier(None),
            By::Call(Method::Submit | Method::Receive) if !has_ring => {
                DeclarationKind::Ring { threads: None, size: None }
            }
            _ => continue,
        };
        let is_known = declared(file, &one.name.text).is_some()
            || new.iter().any(|known| known.name == *one.name);
        if !is_known {
            new.push(Declaration { name: one.name.clone(), kind, home: None });
        }
    }
    new.sort_by_key(|one| matches!(one.kind, DeclarationKind::Ring { .. }));
    new
}

/// Locations that nothing but calls of the sequentially consistent library accesses.
fn sequential(file: &File, found: &[Use<'_>]) -> BTreeSet<String> {
    if file.dialect() != Dialect::Rdma {
        return BTreeSet::new();
    }
    let mut by_name: BTreeMap<&str, bool> = BTreeMap::new();
    for one in found {
        let is_sc = matches!(one.by, By::Sc | By::Call(Method::CasSc | Method::FaaSc));
        *by_name.entry(&one.name.text).or_insert(true) &= is_sc;
    }
    let only = by_name.into_iter().filter(|(_, only)| *only).map(|(name, _)| name);
    let is_location = |name: &&str| {
        declared(file, name).is_some_and(|one| matches!(one.kind, DeclarationKind::Location(_)))
    };
    only.filter(is_location).map(str::to_owned).collect()
}

/// The nodes of locations above all columns that no declaration places: what all accesses agree on. Of the
/// sequentially consistent library, any node will do.
fn homes(file: &File, found: &[Use<'_>]) -> BTreeMap<String, u64> {
    let mut homes = BTreeMap::new();
    let is_shared = |row: &&DeclarationRow| match &row.cells {
        Cells::Shared(_) => true,
        Cells::Columns(columns) => file.form == Form::Blocks && columns.len() == 1,
    };
    for declaration in file.declarations.iter().filter(is_shared).flat_map(|row| row.cells.all()) {
        let name = &declaration.name;
        let nodes: BTreeSet<u64> = found
            .iter()
            .filter(|one| one.name.text == name.text)
            .filter_map(|one| match (one.home, one.by) {
                (Home::Node(number), _) => Some(number.value),
                (Home::Own, By::Cpu) => {
                    file.threads.get(one.thread).map(|thread| thread.node.into())
                }
                _ => None,
            })
            .collect();
        let is_location = matches!(
            declaration.kind,
            DeclarationKind::Location(_) | DeclarationKind::Mixed { .. }
        );
        let all_sc = found
            .iter()
            .filter(|one| one.name.text == name.text)
            .all(|one| matches!(one.by, By::Sc | By::Call(Method::CasSc | Method::FaaSc)));
        let is_sc = matches!(declaration.kind, DeclarationKind::Sc(_))
            || is_location && all_sc && found.iter().any(|one| one.name.text == name.text);
        let node = match nodes.first() {
            Some(node) if is_location && nodes.len() == 1 => Some(*node),
            _ if is_sc => Some(1),
            _ => None,
        };
        let one_node = file.threads.iter().all(|thread| thread.node == 1);
        if let (None, Some(node), false) = (declaration.home, node, one_node) {
            homes.insert(name.text.clone(), node);
        }
    }
    homes
}
