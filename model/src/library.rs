//! Libraries composed: the model of a program that uses several.
//!
//! MOWGLI [LOCO, Definition 3.6]: an execution is consistent iff each library's part of it is, and hb = (ppo
//! ∪ the union of all so)+ is irreflexive. So the composed model has the base model's definitions over the
//! base's events, each library's over its own, ppo over all events, and hb from all of them.

mod restrict;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use compiler::library::Libraries;
use lang::cat::model::{
    Axiom, AxiomKind, Base, Definition, DefinitionId, DefinitionKind, Expr, Model, Type,
};
use lang::diagnostic::{Code, Diagnostic, nearest};
use lang::library::{self, Collection, Library};
use lang::source::{Source, Span};

use crate::models;
use restrict::{Restriction, shifted};
pub(crate) use restrict::{each, map, map_definition};

/// The shipped libraries, by name: every file in `model/libraries`.
pub const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/libraries.rs"));

/// Larger objects, by name: every file in `model/objects`. Their specifications are sequential objects.
pub const OBJECTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// The texts of both, by name.
pub fn texts() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    SHIPPED.iter().chain(OBJECTS)
}

/// The shipped libraries and objects. Those whose text is wrong are left out, which a test excludes.
pub fn shipped() -> &'static Libraries {
    static SHIPPED: Libraries = Libraries { all: Collection::later(read) };
    &SHIPPED
}

/// Reads them, once in a process.
fn read() -> Vec<Arc<Library>> {
    static READ: OnceLock<Vec<Arc<Library>>> = OnceLock::new();
    let load = |(name, text): &(&str, &str)| {
        let source = Source::new(format!("{name}.lib"), *text);
        load(&source).ok().filter(|library| library.base.is_none()).map(Arc::new)
    };
    READ.get_or_init(|| texts().filter_map(load).collect()).clone()
}

/// Reads a library whose consistency may include shipped models.
///
/// # Errors
/// What is wrong, each with the file that it is about.
pub fn load(source: &Source) -> Result<Library, Vec<(Source, Diagnostic)>> {
    let loader =
        |include: &str, _: &str| models::shipped(include.strip_suffix(".cat").unwrap_or(include));
    let library = library::load(source, &loader)?;
    if let Some((name, span)) = library.implementation.as_ref().and_then(|all| all.over.as_ref())
        && models::shipped(name).is_none()
    {
        let message = format!("expected a model, found `{name}`");
        let error = Diagnostic::error(Code::UnknownModel, *span, message);
        let error = match nearest(name, models::SHIPPED.iter().map(|(known, _)| *known)) {
            Some(near) => error.did_you_mean(near),
            None => error.help("`litmus models` lists them"),
        };
        return Err(vec![(source.clone(), error)]);
    }
    Ok(library)
}

/// What a model lacks to be the base of libraries, if anything.
pub fn lacking(model: &Model) -> Option<String> {
    let lacking = ["ppo", "so", "hb"].iter().find(|name| find(model, name).is_none());
    if let Some(name) = lacking {
        return Some(format!("has no `{name}`"));
    }
    happens_before(model).is_none().then(|| "has no condition on `hb`".to_owned())
}

/// Models that were composed of one base and one set of libraries, by the libraries' numbers. Questions about
/// many programs share them.
#[derive(Debug, Default)]
pub struct Composed(Mutex<HashMap<Vec<usize>, Arc<Model>>>);

impl Composed {
    /// The model of programs over the libraries of these numbers. Always with the same base and libraries.
    ///
    /// # Errors
    /// See [`compose`].
    pub fn model(
        &self,
        base: &Model,
        libraries: &Libraries,
        used: &[usize],
    ) -> Result<Arc<Model>, Vec<Diagnostic>> {
        let known = self.0.lock().ok().and_then(|models| models.get(used).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let model = Arc::new(compose(base, libraries, used)?);
        if let Ok(mut models) = self.0.lock() {
            models.insert(used.to_vec(), model.clone());
        }
        Ok(model)
    }
}

/// The model of programs over the libraries of these numbers.
///
/// # Errors
/// A diagnostic if the model cannot be their base.
pub fn compose(
    base: &Model,
    libraries: &Libraries,
    used: &[usize],
) -> Result<Model, Vec<Diagnostic>> {
    let wrong =
        |message: String| vec![Diagnostic::error(Code::ModelNotUsable, Span::default(), message)];
    if let Some(lacking) = lacking(base) {
        return Err(wrong(format!("the model `{}` {lacking}", base.name)));
    }
    let (Some(ppo), Some(so), Some(hb_axiom)) =
        (find(base, "ppo"), find(base, "so"), happens_before(base))
    else {
        return Err(wrong("the model has no `ppo`, `so` and `hb`".to_owned()));
    };
    let hb = find(base, "hb").unwrap_or(so);
    // ppo of all events, and what it is made of.
    let mut definitions: Vec<Arc<Definition>> = base.definitions[..=ppo].to_vec();
    let mut parts = vec![defined(ppo)];
    let mut axioms = Vec::new();
    let mut words = BTreeMap::clone(&base.words);
    // The base's part; hb goes, since it is what is composed.
    let offset = definitions.len();
    let restriction = Restriction { library: 0 };
    definitions.extend(base.definitions.iter().enumerate().map(|(index, definition)| {
        if index == hb {
            let kind = DefinitionKind::Let {
                name: "hb of the base".to_owned(),
                ty: Type::Relation,
                body: Expr::Empty,
            };
            return Arc::new(Definition { kind, span: definition.span });
        }
        Arc::new(shifted(&restriction.definition(definition), offset))
    }));
    parts.push(defined(offset + so));
    for (index, axiom) in base.axioms.iter().enumerate() {
        if index != hb_axiom {
            let body = shifted_expr(&restriction.expr(&axiom.body), offset);
            axioms.push(Axiom { body, ..axiom.clone() });
        }
    }
    for number in used {
        let library = &libraries.all[*number];
        let Some(model) = &library.consistency else { continue };
        let offset = definitions.len();
        let bit = u8::try_from(number + 1).map_err(|_| wrong("too many libraries".to_owned()))?;
        let restriction = Restriction { library: bit };
        for definition in &model.definitions {
            let restricted = restriction.definition(definition);
            definitions.push(Arc::new(renamed(shifted(&restricted, offset), &library.name)));
        }
        let said = model.words.iter();
        words.extend(said.map(|(name, words)| (qualified(&library.name, name), words.clone())));
        parts.extend(find(model, "so").map(|so| defined(offset + so)));
        for axiom in &model.axioms {
            let body = shifted_expr(&restriction.expr(&axiom.body), offset);
            let name = qualified(&library.name, &axiom.name);
            axioms.push(Axiom { body, name, ..axiom.clone() });
        }
    }
    let union = parts.into_iter().reduce(|a, b| Expr::Union(Box::new(a), Box::new(b)));
    let body = Expr::Plus(Box::new(union.unwrap_or(Expr::Empty)));
    let kind = DefinitionKind::Let { name: "hb".to_owned(), ty: Type::Relation, body };
    definitions.push(Arc::new(Definition { kind, span: base.definitions[hb].span }));
    let body = defined(definitions.len() - 1);
    axioms.push(Axiom { body, kind: AxiomKind::Irreflexive, ..base.axioms[hb_axiom].clone() });
    Ok(Model {
        name: base.name.clone(),
        title: base.title.clone(),
        calls: base.calls.clone(),
        machine: None,
        hardware: base.hardware.clone(),
        definitions: reachable(definitions, &mut axioms),
        axioms,
        words: Arc::new(words),
    })
}

/// The definitions that axioms use, and all orders; the axioms then use the new numbers.
fn reachable(definitions: Vec<Arc<Definition>>, axioms: &mut [Axiom]) -> Vec<Arc<Definition>> {
    let mut is_used = vec![false; definitions.len()];
    let mut waiting: Vec<usize> = Vec::new();
    axioms.iter().for_each(|axiom| restrict::uses(&axiom.body, &mut |used| waiting.push(used)));
    while let Some(next) = waiting.pop() {
        if !std::mem::replace(&mut is_used[next], true) {
            restrict::definition_uses(&definitions[next], &mut |used| waiting.push(used));
        }
    }
    let mut numbers = Vec::new();
    let mut kept = 0;
    for used in &is_used {
        numbers.push(kept);
        kept += usize::from(*used);
    }
    for axiom in axioms {
        axiom.body = restrict::renumbered(&axiom.body, &numbers);
    }
    let kept = definitions.into_iter().zip(is_used).filter(|(_, used)| *used);
    let renumbered =
        |definition: Arc<Definition>| restrict::renumbered_definition(&definition, &numbers);
    kept.map(|(definition, _)| Arc::new(renumbered(definition))).collect()
}

/// Whether a model's text uses one of these sets or relations.
pub fn mentions(model: &Model, bases: &[Base]) -> bool {
    let found = Cell::new(false);
    let look = |expr: &Expr| {
        each(expr, &mut |part| {
            if let Expr::Base(base) = part
                && bases.contains(base)
            {
                found.set(true);
            }
        });
    };
    model.definitions.iter().for_each(|definition| restrict::each_expr(definition, &look));
    model.axioms.iter().for_each(|axiom| look(&axiom.body));
    found.get()
}

fn find(model: &Model, name: &str) -> Option<usize> {
    model.definitions.iter().position(|definition| definition.name() == Some(name))
}

/// The condition on hb.
fn happens_before(model: &Model) -> Option<usize> {
    let hb = defined(find(model, "hb")?);
    model.axioms.iter().position(|axiom| axiom.body == hb && axiom.kind != AxiomKind::Empty)
}

fn defined(definition: usize) -> Expr {
    Expr::Defined(DefinitionId { definition, body: 0 })
}

fn shifted_expr(expr: &Expr, offset: usize) -> Expr {
    restrict::shifted_expr(expr, offset)
}

/// A name that says which library it is of.
fn qualified(library: &str, name: &str) -> String {
    format!("{library}.{name}")
}

/// A library's definition under a name that says whose it is.
fn renamed(mut definition: Definition, library: &str) -> Definition {
    match &mut definition.kind {
        DefinitionKind::Let { name, .. } | DefinitionKind::Choice { name, .. } => {
            *name = qualified(library, name);
        }
        DefinitionKind::Table(table) => table.name = qualified(library, &table.name),
        DefinitionKind::Rec(bodies) => {
            bodies.iter_mut().for_each(|body| body.name = qualified(library, &body.name));
        }
    }
    definition
}
