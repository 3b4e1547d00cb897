//! New names, such that every name means afterwards what it meant before.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use lang::diagnostic::{Diagnostic, apply};
use lang::source::{Source, Span};
use lsp_types::{TextEdit, Uri};

use crate::documents::{Document, Documents, Known, What, is_model};
use crate::names::{Names, Occurrence, Space};
use crate::paths::resolved;

/// Letters that have the bar of an access through the NIC.
const BARRED: [char; 7] = ['ā', 'ē', 'ī', 'ō', 'ū', 'ȳ', 'ḡ'];

/// A text with its changes.
struct Touched<'d> {
    document: &'d Document,
    known: Rc<Known>,
    edits: Vec<(Span, String)>,
}

/// The name at an offset, if it is one that may be changed.
///
/// # Errors
/// Why it may not.
pub fn renamed(known: &Known, offset: usize) -> Result<&Occurrence, String> {
    let name = known.names.at(offset).ok_or("expected a name, found none")?;
    match name.space {
        Space::Model => Err("a model has the name of its file".to_owned()),
        Space::Call => Err(format!("`{}` is a statement of the language", name.name)),
        _ if known.names.definition(&name.name, &name.space).is_none() => {
            Err(format!("`{}` is not defined in this file", name.name))
        }
        _ => Ok(name),
    }
}

/// The changes of each text that give what is at an offset a new name, also in other models that include this
/// one: those that are open, and those that are stored near it.
///
/// # Errors
/// Why it cannot have that name.
pub fn rename(
    documents: &Documents,
    document: &Document,
    offset: usize,
    new: &str,
) -> Result<Vec<(Uri, Vec<TextEdit>)>, String> {
    let known = documents.known(document);
    let name = renamed(&known, offset)?;
    if !is_name(&known, new) {
        return Err(format!("expected one name, found `{new}`"));
    }
    if is_taken(&known, name, new) {
        return Err(format!("`{new}` is the name of something else"));
    }
    let is_shared = is_model(&document.uri) && !matches!(name.space, Space::Local(_));
    let stored = match is_shared {
        true => documents.stored_models(document, &name.name),
        false => Vec::new(),
    };
    let others = documents.all().chain(&stored).filter(|_| is_shared);
    let edits = written(&known, name, new);
    let mut touched = vec![Touched { document, known: Rc::clone(&known), edits }];
    for (user, users) in users(documents, others, &known, name) {
        if is_taken(&users, name, new) {
            let file = &users.source.name;
            return Err(format!("`{new}` is the name of something else in {file}"));
        }
        let edits = written(&users, name, new);
        touched.push(Touched { document: user, known: users, edits });
    }
    unharmed(documents, &touched, new)?;
    touched.retain(|one| !one.edits.is_empty());
    let changes = |Touched { document, edits, .. }: Touched<'_>| {
        let edit = |(span, new)| TextEdit::new(document.text.range(span), new);
        (document.uri.clone(), edits.into_iter().map(edit).collect())
    };
    Ok(touched.into_iter().map(changes).collect())
}

/// Whether a text is one name of a language, and nothing else.
fn is_name(known: &Known, text: &str) -> bool {
    match known.what {
        What::Program(_) => lang::litmus::is_name(text),
        What::Model(_) => lang::cat::is_name(text),
        What::Library(_) => {
            let is_keyword = crate::library::is_keyword(text);
            lang::library::is_name(text) && !is_keyword
        }
    }
}

/// Whether a name means something where this one does.
fn is_taken(known: &Known, name: &Occurrence, new: &str) -> bool {
    let is_taken = |one: &Occurrence| one.name == new && one.space == name.space;
    if known.names.all().iter().any(is_taken) {
        return true;
    }
    let is_base = || lang::cat::model::Base::ALL.iter().any(|base| base.name() == new);
    match &known.what {
        What::Program(_) => false,
        What::Library(_) => is_base(),
        What::Model(model) => {
            let mut included = model.included.iter();
            is_base() || included.any(|one| one.names.definition(new, &name.space).is_some())
        }
    }
}

/// The models that include a model and use its name.
fn users<'d>(
    documents: &Documents,
    others: impl Iterator<Item = &'d Document>,
    known: &Known,
    name: &Occurrence,
) -> Vec<(&'d Document, Rc<Known>)> {
    let others = others.filter(|other| is_model(&other.uri));
    let others = others.map(|other| (other, documents.known(other)));
    let path = |known: &Source| resolved(Path::new(&known.name));
    let own = path(&known.source);
    let includes = |user: &Known| match &user.what {
        What::Model(model) => model.included.iter().any(|one| path(&one.source) == own),
        _ => false,
    };
    let is_own = |user: &Known| user.names.definition(&name.name, &name.space).is_some();
    others.filter(|(_, user)| includes(user) && !is_own(user)).collect()
}

/// The changes of one text.
fn written(known: &Known, name: &Occurrence, new: &str) -> Vec<(Span, String)> {
    // `ȳ` is `y` through the NIC, and so is `~y`.
    let written = |one: &Occurrence| {
        let is_barred = known.source.text[one.span.range()].starts_with(BARRED);
        let bar = if is_barred && !one.name.starts_with(BARRED) { "~" } else { "" };
        (one.span, format!("{bar}{new}"))
    };
    known.names.same(name).map(written).collect()
}

/// Sees to it that nothing is wrong that was not, and that every name is that of the same thing.
fn unharmed(documents: &Documents, touched: &[Touched<'_>], new: &str) -> Result<(), String> {
    let text =
        |one: &Touched<'_>| (one.document.uri.clone(), apply(&one.document.text.text, &one.edits));
    let texts: Vec<(Uri, String)> = touched.iter().map(text).collect();
    let errors = |problems: &[Diagnostic]| problems.iter().filter(|it| it.is_error()).count();
    for Touched { document, known: before, .. } in touched {
        let after = documents.with_texts(document, &texts);
        if errors(&after.problems) > errors(&before.problems) {
            let why = after.problems.iter().find(|problem| problem.is_error());
            let why = why.map(|problem| problem.message.clone()).unwrap_or_default();
            return Err(format!("`{new}` cannot be a name here: {why}"));
        }
        if shape(&before.names) != shape(&after.names) {
            return Err(format!("`{new}` would hide another `{new}`"));
        }
    }
    Ok(())
}

/// For each name of a text, the first that is the name of the same, and whether it defines.
fn shape(names: &Names) -> Vec<(usize, bool)> {
    let mut first: BTreeMap<(&str, &Space), usize> = BTreeMap::new();
    let all = names.all().iter().enumerate();
    all.map(|(index, one)| (*first.entry((&one.name, &one.space)).or_insert(index), one.defines))
        .collect()
}
