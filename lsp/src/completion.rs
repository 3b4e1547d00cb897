//! What may stand where one types.

use std::collections::BTreeMap;

use lang::Dialect;
use lang::cat::model::{Base, CALLS, Type};
use lang::litmus::methods::{KEYWORDS, Method, SIGNATURES};
use lang::source::Span;
use lsp_types::{CompletionItem, CompletionItemKind, CompletionTextEdit, TextEdit};
use model::library::shipped;
use model::models::SHIPPED;

use crate::documents::{Known, What};
use crate::library;
use crate::models::ModelText;
use crate::names::{self, Piece, Space};
use crate::program::ProgramText;
use crate::text::Text;

/// The words that begin lines above the declarations.
const HEADER: [&str; 7] =
    ["litmus", "source", "model", "tags", "bound loops = ", "dialect corerma", "crash"];
/// The words of the lines below a program.
const VERDICT: [&str; 8] =
    ["✓", "✗", "exists", "forall", "exactly", "observe", "allowed", "forbidden"];
/// The most files of a folder that are looked at.
const MOST_FILES: usize = 1000;
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

/// What may stand at an offset, in place of the word that ends there.
pub fn completion(known: &Known, text: &Text, offset: usize) -> Vec<CompletionItem> {
    let mut words = Words::default();
    let before = known.source.text.get(..offset).unwrap_or_default();
    let lexis = match known.what {
        What::Program(_) => names::PROGRAM,
        What::Model(_) => names::MODEL,
        What::Library(_) => names::LIBRARY,
    };
    let mut start = offset - word(before, lexis.continues).len();
    match (names::around(&known.source.text, lexis, offset), &known.what) {
        (Some((Piece::Quote, quote)), _) => {
            start = quote.start + 1;
            in_quotes(known, before, &mut words);
        }
        (Some(_), _) => {}
        (None, What::Program(program)) => match of_line(before, &mut words) {
            Some(from) => start = from,
            None => of_program(known, program, before, &mut words),
        },
        (None, What::Model(model)) => of_model(known, model, &mut words),
        (None, What::Library(_)) => {
            words.all(&library::KEYWORDS, CompletionItemKind::KEYWORD);
            of_base(&mut words);
            names(known, &mut words);
        }
    }
    let range = text.range(Span::new(start, offset));
    let edit = |mut item: CompletionItem| {
        let edit = TextEdit::new(range, item.label.clone());
        item.text_edit = Some(CompletionTextEdit::Edit(edit));
        item
    };
    words.0.into_values().map(edit).collect()
}

/// The word at the end of a text.
fn word(text: &str, continues: impl Fn(char) -> bool) -> &str {
    let start = text.char_indices().rev().take_while(|(_, c)| continues(*c)).last();
    start.map_or("", |(at, _)| &text[at..])
}

/// Names of files: models, where a text may name one.
fn in_quotes(known: &Known, before: &str, words: &mut Words) {
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    let is_include = line.starts_with("include");
    if !is_include && !line.starts_with("model") {
        return;
    }
    let folder = crate::shipped::beside(&known.source.name, "");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let own = known.source.name.rsplit('/').next();
    for name in names.filter(|name| name.ends_with(".cat") && own != Some(name.as_str())) {
        words.add(&name, CompletionItemKind::FILE, None);
    }
    for (name, _) in SHIPPED.iter().filter(|_| is_include) {
        words.add(&format!("{name}.cat"), CompletionItemKind::MODULE, title(name));
    }
}

fn title(model: &str) -> Option<String> {
    crate::shipped::model(model).and_then(|model| model.loaded.model.title.clone())
}

/// What may stand in a line of the header whose first word says so, and where it begins.
fn of_line(before: &str, words: &mut Words) -> Option<usize> {
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    let (first, _) = line.split_once(' ')?;
    let start =
        || before.len() - word(before, |c| c.is_ascii_alphanumeric() || "_-.+".contains(c)).len();
    match first {
        "model" => {
            SHIPPED.iter().for_each(|(name, _)| {
                words.add(name, CompletionItemKind::MODULE, title(name));
            });
            Some(start())
        }
        "dialect" => {
            words.add("corerma", CompletionItemKind::ENUM_MEMBER, None);
            Some(start())
        }
        // Nobody knows what the author wants to say.
        "litmus" | "source" | "tags" | "bound" | "crash" => Some(start()),
        _ => None,
    }
}

fn names(known: &Known, words: &mut Words) {
    for one in known.names.all() {
        if one.space != Space::Model {
            words.add(&one.name, CompletionItemKind::VARIABLE, None);
        }
    }
}

fn of_program(known: &Known, program: &ProgramText, before: &str, words: &mut Words) {
    let is_rule = |line: &str| line.trim().len() >= 3 && line.trim().starts_with("---");
    if !before.lines().any(is_rule) {
        words.all(&HEADER, CompletionItemKind::KEYWORD);
        for library in shipped().all.iter() {
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
    for library in shipped().all.iter() {
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
