//! Names of models and libraries stand in their texts and nowhere else.

mod copies;
mod libraries;
mod rust;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use lang::cat::model::{Base, CALLS, DefinitionKind, Model, Type};
use lang::cat::words::LOCATION;
use lang::litmus::methods::SIGNATURES;

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
        let help = "run `UPDATE_EXPECT=1 cargo test -p cli names`";
        assert!(glossary == wanted, "docs/glossary.md is stale: {help}");
    }
}

/// One row for each relation and what is said of it, with the models that say so.
fn relations() -> String {
    let mut rows: Vec<(String, String, Vec<String>)> = Vec::new();
    for (name, _) in model::models::SHIPPED {
        let model = loaded(name);
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

/// A shipped model.
fn loaded(name: &str) -> Model {
    let source = model::models::shipped(name).expect("it is shipped");
    let loader = |include: &str, _: &str| model::models::shipped(include);
    lang::cat::load(&source, &loader).expect("shipped models are right").model
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

/// Names of the shipped libraries: of classes, of methods that are not words of the language too, marks, and
/// what else they are called.
fn of_libraries() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for library in model::library::shipped().all.iter() {
        names.extend(library.classes.iter().chain(&library.mark).cloned());
        names.extend(library.class_spellings.iter().map(|(word, _)| word.clone()));
        for method in &library.methods {
            names.extend([&method.name].into_iter().chain(&method.also).cloned());
            names.extend(method.word().map(str::to_owned));
            // `x :=SV v`
            let mark = method.written.as_ref().and_then(|written| written.split_once(":="));
            let mark = mark.and_then(|(_, rest)| rest.split(|c: char| !c.is_alphanumeric()).next());
            names.extend(mark.filter(|mark| !mark.is_empty()).map(str::to_owned));
        }
    }
    names.retain(|name| ["Write", "Read"].contains(&name.as_str()) || !is_statement(name));
    names
}

/// Whether a word is a statement of the language, however it is written.
fn is_statement(word: &str) -> bool {
    let spelled = SIGNATURES.iter().flat_map(|row| row.spellings.iter());
    spelled.chain(&CALLS).any(|known| known.eq_ignore_ascii_case(word))
}

/// A text with each of these words given a letter in front, except on the lines with a test's name and with
/// a machine, which is not of the text.
fn renamed(text: &str, is_part: impl Fn(char) -> bool, names: &BTreeSet<String>) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        let stays = ["litmus ", "machine "].iter().any(|start| line.starts_with(start));
        while let (false, Some(first)) = (stays, rest.chars().next()) {
            let end = match is_part(first) {
                true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (word, after) = rest.split_at(end);
            if names.contains(word) {
                out.push(if first.is_ascii_uppercase() { 'Z' } else { 'z' });
            }
            out.push_str(word);
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

/// The exit code of a command and what it prints.
fn litmus(arguments: &[&str]) -> (Option<i32>, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_litmus"))
        .args(arguments)
        .current_dir(root())
        .env("SOURCE_DATE_EPOCH", "0")
        .output()
        .expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// That two texts have the same words, rules of tables apart, which are as long as names are.
fn assert_same(one: &str, two: &str, what: &str) {
    let is_word = |word: &&str| word.chars().any(|c| !('\u{2500}'..='\u{257f}').contains(&c));
    let words = |text: &str| -> Vec<String> {
        text.split_whitespace().filter(is_word).map(str::to_owned).collect()
    };
    let (one, two) = (words(one), words(two));
    let at = one.iter().zip(&two).position(|(one, two)| one != two);
    if let Some(at) = at {
        let near = |words: &Vec<String>| words[at.saturating_sub(20)..(at + 1)].join(" ");
        panic!("{what}: the copy differs\n{}\n{}", near(&one), near(&two));
    }
    assert_eq!(one.len(), two.len(), "{what}");
}
