//! What figures leave out, and a file says: the dialect of a model, objects that calls name without a
//! declaration, the node of a location that stands above all columns.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ast::{
    Cells, Declaration, DeclarationKind, DeclarationRow, File, Form, HeaderKind, HeaderLine, Home,
    Name, Number,
};
use super::super::methods;
use super::Context;
use super::uses::{By, Use, uses};
use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::library::{Library, Words};

/// A model of coreRMA is about programs of its dialect only.
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
pub fn declarations(file: &mut File, words: Words<'_>, mut new: Vec<Declaration>) {
    let found = uses(file);
    let known = new.len();
    objects(file, words, &found, &mut new);
    new[known..].sort_by(|one, other| one.kind.class().cmp(&other.kind.class()));
    let as_locations = as_locations(file, words, &found);
    let homes = homes(file, words, &found);
    for row in &mut file.declarations {
        for declaration in row.cells.all_mut() {
            let name = declaration.name.text.as_str();
            if let (DeclarationKind::Location(value), Some(class)) =
                (&declaration.kind, as_locations.get(name))
            {
                declaration.kind = DeclarationKind::implied(class, Some(*value));
            }
            let has_home = declaration.kind.class().is_none_or(|class| words.is_location(class));
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

/// The declaration of a name, if there is one.
pub fn declared<'f>(file: &'f File, name: &str) -> Option<&'f Declaration> {
    file.declarations.iter().flat_map(|row| row.cells.all()).find(|one| one.name.text == name)
}

/// `Acq_WL(l)` says that l is a weak lock: it must be one, and is one if nothing else is said.
pub fn said(context: &mut Context<'_>, file: &File) -> Vec<Declaration> {
    let mut new: Vec<Declaration> = Vec::new();
    for (name, class) in std::mem::take(&mut context.said) {
        let known = declared(file, &name.text)
            .or_else(|| new.iter().find(|one| one.name.text == name.text));
        match known.map(|known| (known.kind.class(), known.name.place)) {
            None => {
                let library = context.words.library(&class);
                let is_placed = library.is_some_and(Library::needs_home);
                let home = is_placed.then(|| node_of_calls(file, &name)).flatten();
                let kind = DeclarationKind::implied(&class, None);
                new.push(Declaration { name, kind, home });
            }
            Some((Some(other), place)) if *other != class => {
                let message =
                    format!("expected an object of class {class}, found one of class {other}");
                let error = Diagnostic::error(Code::WrongObjectClass, name.place.span, message);
                context.sink.push(error.related(place.span, format!("class {other} here")));
            }
            Some(_) => {}
        }
    }
    new
}

/// The node that some call names: `Acq(l^2)`.
fn node_of_calls(file: &File, name: &Name) -> Option<Number> {
    uses(file).iter().filter(|one| one.name.text == name.text).find_map(|one| match one.home {
        Home::Node(number) => Some(number),
        _ => None,
    })
}

/// Objects that calls name, of classes of which a file declares none.
fn objects(file: &File, words: Words<'_>, found: &[Use<'_>], new: &mut Vec<Declaration>) {
    for one in found {
        let By::Call(word) = one.by else { continue };
        if methods::statement(file.dialect(), word).is_some() {
            continue;
        }
        let Some(class) = words.implied(word) else { continue };
        let mut all = file.declarations.iter().flat_map(|row| row.cells.all());
        let has_class = all.any(|one| one.kind.class() == Some(class));
        let is_known = declared(file, &one.name.text).is_some()
            || new.iter().any(|known| known.name.text == one.name.text);
        if !has_class && !is_known {
            let kind = DeclarationKind::implied(class, None);
            new.push(Declaration { name: one.name.clone(), kind, home: None });
        }
    }
}

/// The class that a use of a location is of, if its objects are declared as locations.
fn class_of<'w>(words: Words<'w>, by: By<'_>) -> Option<&'w str> {
    match by {
        By::Cpu => None,
        By::Mark(mark) => words.of_locations(|method| method.is_assigned_by(mark)),
        By::Call(word) if methods::statement(Dialect::Rdma, word).is_some() => None,
        By::Call(word) => words.of_locations(|method| method.word() == Some(word)),
    }
}

/// Locations that nothing but one library accesses, and its class.
fn as_locations<'w>(file: &File, words: Words<'w>, found: &[Use<'_>]) -> BTreeMap<String, &'w str> {
    if file.dialect() != Dialect::Rdma {
        return BTreeMap::new();
    }
    let mut by_name: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for one in found {
        let class = class_of(words, one.by);
        let known = by_name.entry(&one.name.text).or_insert(class);
        *known = known.filter(|known| Some(*known) == class);
    }
    let is_location = |name: &str| {
        declared(file, name).is_some_and(|one| matches!(one.kind, DeclarationKind::Location(_)))
    };
    let only = by_name.into_iter().filter(|(name, _)| is_location(name));
    only.filter_map(|(name, class)| Some((name.to_owned(), class?))).collect()
}

/// The nodes of locations above all columns that no declaration places: what all accesses agree on. Of
/// libraries whose objects are declared so, any node will do.
fn homes(file: &File, words: Words<'_>, found: &[Use<'_>]) -> BTreeMap<String, u64> {
    let mut homes = BTreeMap::new();
    let is_shared = |row: &&DeclarationRow| match &row.cells {
        Cells::Shared(_) => true,
        Cells::Columns(columns) => file.form == Form::Blocks && columns.len() == 1,
    };
    for declaration in file.declarations.iter().filter(is_shared).flat_map(|row| row.cells.all()) {
        let name = &declaration.name;
        let nodes: BTreeSet<u64> = found
            .iter()
            .filter(|one| one.of() == name.text)
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
        let mut of_it = found.iter().filter(|one| one.of() == name.text).peekable();
        let is_any = declaration.kind.class().is_some_and(|class| words.is_location(class))
            || is_location
                && of_it.peek().is_some()
                && of_it.all(|one| class_of(words, one.by).is_some());
        let node = match nodes.first() {
            Some(node) if is_location && nodes.len() == 1 => Some(*node),
            _ if is_any => Some(1),
            _ => None,
        };
        let one_node = file.threads.iter().all(|thread| thread.node == 1);
        if let (None, Some(node), false) = (declaration.home, node, one_node) {
            homes.insert(name.text.clone(), node);
        }
    }
    homes
}
