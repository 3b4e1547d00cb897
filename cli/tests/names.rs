//! Names of models and libraries stand in their texts and nowhere else.

use std::fmt::Write;
use std::path::Path;

use lang::cat::model::{Base, DefinitionKind, Model, Type};
use lang::cat::words::LOCATION;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in a workspace")
}

const BEGIN: &str = "<!-- relations -->\n";
const END: &str = "<!-- end of relations -->";

/// `UPDATE_EXPECT=1` writes the table.
#[test]
fn the_glossary_has_what_models_say_of_their_relations() {
    let path = root().join("docs/glossary.md");
    let glossary = std::fs::read_to_string(&path).expect("there is a glossary");
    let (before, rest) = glossary.split_once(BEGIN).expect("a place for the table");
    let (_, after) = rest.split_once(END).expect("its end");
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", relations());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &wanted).expect("the glossary can be written");
    } else {
        let help = "run `UPDATE_EXPECT=1 cargo test -p cli --test names`";
        assert!(glossary == wanted, "docs/glossary.md is stale: {help}");
    }
}

/// One row for each relation and what is said of it, with the models that say so.
fn relations() -> String {
    let mut rows: Vec<(String, String, Vec<String>)> = Vec::new();
    for (name, _) in model::models::SHIPPED {
        let source = model::models::shipped(name).expect("it is shipped");
        let loader = |include: &str, _: &str| model::models::shipped(include);
        let model = lang::cat::load(&source, &loader).expect("shipped models are right").model;
        for relation in named(&model) {
            let Some(says) = model.says(&relation) else { continue };
            let says = says.replace(LOCATION, "the location");
            match rows.iter_mut().find(|row| row.0 == relation && row.1 == says) {
                Some(row) => row.2.push(model.name.clone()),
                None => rows.push((relation, says, vec![model.name.clone()])),
            }
        }
    }
    let mut table =
        "| relation | why the second comes after the first | in |\n|---|---|---|\n".to_owned();
    for (relation, says, models) in rows {
        let all = models.len() == model::models::SHIPPED.len();
        let models = if all { "all".to_owned() } else { models.join(", ") };
        writeln!(table, "| {relation} | {says} | {models} |").expect("strings grow");
    }
    table
}

/// The names of relations, those that every execution has first.
fn named(model: &Model) -> Vec<String> {
    let is_relation = |base: &&Base| base.ty() == Type::Relation && **base != Base::Identity;
    let mut names: Vec<String> =
        Base::ALL.iter().filter(is_relation).map(|base| base.name().to_owned()).collect();
    for definition in &model.definitions {
        match &definition.kind {
            DefinitionKind::Let { ty: Type::Set, .. } => {}
            DefinitionKind::Rec(bodies) => {
                names.extend(bodies.iter().map(|body| body.name.clone()))
            }
            _ => names.extend(definition.name().map(str::to_owned)),
        }
    }
    names
}
