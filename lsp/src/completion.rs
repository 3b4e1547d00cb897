//! What may stand where one types.

use std::collections::BTreeMap;

use lang::Dialect;
use lang::cat::model::{Base, CALLS, Type};
use lang::litmus::methods::{KEYWORDS, Method, SIGNATURES};
use lsp_types::{CompletionItem, CompletionItemKind};
use model::library::shipped;
use model::models::SHIPPED;

use crate::documents::{Known, What};
use crate::library;
use crate::models::ModelText;
use crate::names::Space;
use crate::program::ProgramText;

/// The words that begin lines above the declarations.
const HEADER: [&str; 6] =
    ["litmus", "source", "model", "tags", "bound loops = ", "dialect corerma"];
/// The words of the lines below a program.
const VERDICT: [&str; 8] =
    ["✓", "✗", "exists", "forall", "exactly", "observe", "allowed", "forbidden"];
/// The words of models.
const OF_MODELS: [&str; 23] = [
    "include",
    "let",
    "rec",
    "and",
    "acyclic",
    "irreflexive",
    "empty",
    "as",
    "exists",
    "total",
    "on",
    "extends",
    "table",
    "where",
    "end",
    "calls",
    "uncall",
    "machine",
    "hardware",
    "drop",
    "set",
    "replace",
    "domain",
];

/// Words by their text, each once.
#[derive(Default)]
struct Words(BTreeMap<String, CompletionItem>);

impl Words {
    fn add(&mut self, label: &str, kind: CompletionItemKind, detail: Option<String>) {
        let item = || CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            detail,
            ..CompletionItem::default()
        };
        if !label.is_empty() {
            self.0.entry(label.to_owned()).or_insert_with(item);
        }
    }

    fn all(&mut self, labels: &[&str], kind: CompletionItemKind) {
        labels.iter().for_each(|label| self.add(label, kind, None));
    }
}

/// What may stand at an offset.
pub fn completion(known: &Known, offset: usize) -> Vec<CompletionItem> {
    let mut words = Words::default();
    match &known.what {
        What::Program(program) => of_program(known, program, offset, &mut words),
        What::Model(model) => of_model(known, model, &mut words),
        What::Library(_) => {
            words.all(&library::KEYWORDS, CompletionItemKind::KEYWORD);
            of_base(&mut words);
            names(known, &mut words);
        }
    }
    words.0.into_values().collect()
}

fn names(known: &Known, words: &mut Words) {
    for one in known.names.all() {
        if one.space != Space::Model {
            words.add(&one.name, CompletionItemKind::VARIABLE, None);
        }
    }
}

fn of_program(known: &Known, program: &ProgramText, offset: usize, words: &mut Words) {
    let before = known.source.text.get(..offset).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    let is_rule = |line: &str| line.trim().len() >= 3 && line.trim().starts_with("---");
    if line.starts_with("model ") {
        for (name, _) in SHIPPED {
            let title =
                crate::shipped::model(name).and_then(|model| model.loaded.model.title.clone());
            words.add(name, CompletionItemKind::MODULE, title);
        }
        return;
    }
    if !before.lines().any(is_rule) {
        words.all(&HEADER, CompletionItemKind::KEYWORD);
        for library in &shipped().all {
            for class in &library.classes {
                words.add(class, CompletionItemKind::CLASS, library.title.clone());
            }
        }
        return;
    }
    names(known, words);
    let dialect = program.survey.tree.as_ref().map_or(Dialect::Rdma, |tree| tree.dialect());
    for row in SIGNATURES.iter().filter(|row| row.dialect == dialect) {
        if row.method != Method::Library {
            let usage = Some(row.usage.to_owned());
            words.add(row.spellings[0], CompletionItemKind::FUNCTION, usage);
        }
    }
    words.all(KEYWORDS, CompletionItemKind::KEYWORD);
    words.all(&VERDICT, CompletionItemKind::KEYWORD);
    for library in &shipped().all {
        for method in &library.methods {
            if let Some(word) = method.word() {
                words.add(word, CompletionItemKind::METHOD, method.usage());
            }
        }
    }
}

fn of_base(words: &mut Words) {
    for base in Base::ALL {
        let kind = match base.ty() {
            Type::Set => CompletionItemKind::CONSTANT,
            Type::Relation => CompletionItemKind::OPERATOR,
        };
        words.add(base.name(), kind, Some(base.meaning().to_owned()));
    }
}

fn of_model(known: &Known, model: &ModelText, words: &mut Words) {
    of_base(words);
    names(known, words);
    for one in &model.included {
        for name in one.names.all().iter().filter(|name| name.defines) {
            let file = Some(format!("of {}", one.source.name));
            words.add(&name.name, CompletionItemKind::VARIABLE, file);
        }
    }
    words.all(&OF_MODELS, CompletionItemKind::KEYWORD);
    words.all(&CALLS, CompletionItemKind::ENUM_MEMBER);
}
