//! Names declared above the rule.

use crate::diagnostic::{Code, Diagnostic};
use crate::library::Library;
use crate::library::notation::WORDS;
use crate::program::{LARGEST_WORD, Location, NodeId, Object, Origin};
use crate::source::Span;

use super::super::ast::{Cells, Declaration, DeclarationKind, Form, Name, Number};
use super::{Checker, Meaning, arrays};

/// How many words a mixed-size location may have.
const MOST_WORDS: u64 = 4;

/// Counts the nodes, and declares what stands above the rule.
pub fn declare(checker: &mut Checker<'_>) {
    let file = checker.file;
    let columns: Vec<NodeId> = match file.form {
        Form::Columns => file.threads.iter().map(|thread| NodeId(thread.node)).collect(),
        Form::Blocks => {
            let cells =
                |cells: &Cells| if let Cells::Columns(cells) = cells { cells.len() } else { 1 };
            let count = file.declarations.iter().map(|row| cells(&row.cells)).max().unwrap_or(1);
            (1..=count).filter_map(|node| u32::try_from(node).ok()).map(NodeId).collect()
        }
    };
    let nodes = columns.iter().map(|node| node.0).chain(file.threads.iter().map(|t| t.node));
    checker.program.nodes = nodes.max().unwrap_or(1);
    for row in &file.declarations {
        match &row.cells {
            Cells::Shared(all) => {
                let only = (checker.program.nodes == 1).then_some(NodeId(1));
                for declaration in all {
                    self::declaration(checker, declaration, only, true);
                }
            }
            Cells::Columns(cells) => {
                // Above blocks, one column stands for all nodes if there are several.
                let shared = file.form == Form::Blocks && cells.len() == 1;
                for (node, cell) in columns.iter().zip(cells) {
                    let node = (!shared || checker.program.nodes == 1).then_some(*node);
                    for declaration in cell {
                        self::declaration(checker, declaration, node, shared);
                    }
                }
            }
        }
    }
}

fn declaration(
    checker: &mut Checker<'_>,
    declaration: &Declaration,
    column: Option<NodeId>,
    shared: bool,
) {
    let name = &declaration.name;
    let home = declaration.home.and_then(|home| checker.node(home));
    if let (Some(home), Some(column)) = (home, column)
        && home != column
        && !shared
    {
        let message = format!("expected node {} of this column, found `@{}`", column.0, home.0);
        let help = "write the declaration in its node's column, or above all columns".to_owned();
        checker.error(Code::WrongHomeNode, name.place, message, help);
    }
    let node = home.or(column);
    if let Some(first) = checker.introduced.get(&name.text) {
        let message = format!("`{}` is declared twice", name.text);
        let error = Diagnostic::error(Code::DeclaredTwice, name.place.span, message);
        let error = error.related(*first, "the first declaration");
        let help = "a name means one thing in the whole file; locations of different nodes need different names";
        checker.sink.push(error.help(help));
        return;
    }
    checker.introduced.insert(name.text.clone(), name.place.span);
    let meaning = match &declaration.kind {
        DeclarationKind::Location(value) => {
            let Some(node) = needs_node(checker, name, node) else { return };
            let location = Location {
                name: name.text.clone(),
                node,
                initial: value.value,
                origin: Origin::Declared,
                span: name.place.span,
            };
            Meaning::Location(checker.add_location(location))
        }
        DeclarationKind::Mixed { size, initial }
            if arrays::is_array(checker, name, &declaration.kind) =>
        {
            let Some(node) = needs_node(checker, name, node) else { return };
            arrays::declare(checker, name, node, *size, initial)
        }
        kind => {
            let Some(object) = object(checker, name, kind, node) else { return };
            checker.program.objects.push(object);
            Meaning::Object(checker.program.objects.len() - 1)
        }
    };
    checker.meanings.insert(name.text.clone(), meaning);
}

fn needs_node(checker: &mut Checker<'_>, name: &Name, node: Option<NodeId>) -> Option<NodeId> {
    if node.is_none() {
        let message = format!("expected a node for `{}`, found a row above all columns", name.text);
        let error = Diagnostic::error(Code::MissingNode, name.place.span, message);
        let placed = format!("{}@1", name.text);
        let error = error.help(format!("write it in its node's column, or as `{placed}`"));
        checker.sink.push(error.replace(name.place.span, placed));
    }
    node
}

fn object(
    checker: &mut Checker<'_>,
    name: &Name,
    kind: &DeclarationKind,
    node: Option<NodeId>,
) -> Option<Object> {
    let mut object = Object {
        name: name.text.clone(),
        class: String::new(),
        class_span: Span::default(),
        node,
        initial: Vec::new(),
        threads: Vec::new(),
        writer: None,
        size: None,
        span: name.place.span,
    };
    match kind {
        DeclarationKind::Location(_) => return None,
        DeclarationKind::Mixed { size, initial } => {
            WORDS.clone_into(&mut object.class);
            object.node = Some(needs_node(checker, name, node)?);
            object.size = Some(size.value);
            if size.value > MOST_WORDS {
                let message =
                    format!("expected a size from 1 to {MOST_WORDS}, found {}", size.value);
                let help = "a location of several words is written at once; arrays whose words are \
                            accessed one by one, as `x[1]`, may be larger";
                checker.error(Code::BadSize, size.place, message, help.to_owned());
                return None;
            }
            for large in initial.iter().filter(|word| word.value >= LARGEST_WORD) {
                let message =
                    format!("expected a word below {LARGEST_WORD}, found {}", large.value);
                let help = "several words are one value, as its digits".to_owned();
                checker.error(Code::WordTooLarge, large.place, message, help);
            }
            let words = usize::try_from(size.value).unwrap_or(0);
            object.initial = match initial.as_slice() {
                [one] => vec![one.value; words.min(64)],
                several => several.iter().map(|number| number.value).collect(),
            };
        }
        DeclarationKind::Object { class, writer, threads, size, initial } => {
            object.class.clone_from(&class.text);
            object.class_span = class.place.span;
            if checker.words.library(&class.text).is_some_and(Library::needs_home) {
                object.node = Some(needs_node(checker, name, node)?);
            }
            let threads = threads.as_deref().unwrap_or_default();
            object.threads = self::threads(checker, threads);
            if let Some(writer) = writer {
                object.writer = checker.thread(*writer);
                one_or_the_other(checker, name, *writer, threads);
            }
            object.size = size.map(|size| size.value);
            if size.is_some_and(|size| size.value == 0) {
                let help =
                    format!("what has a size holds one entry at least: `{} x size 1`", class.text);
                checker.error(
                    Code::BadSize,
                    name.place,
                    "expected a size, found 0".to_owned(),
                    help,
                );
            }
            object.initial = vec![initial.map_or(0, |initial| initial.value)];
        }
    }
    Some(object)
}

fn one_or_the_other(checker: &mut Checker<'_>, name: &Name, writer: Number, readers: &[Number]) {
    if readers.iter().any(|reader| reader.value == writer.value) {
        let message = format!("thread {} both writes and reads `{}`", writer.value, name.text);
        checker.error(Code::NotAParticipant, name.place, message, String::new());
    }
}

fn threads(checker: &mut Checker<'_>, numbers: &[Number]) -> Vec<crate::program::ThreadId> {
    let mut threads: Vec<_> = numbers.iter().filter_map(|number| checker.thread(*number)).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}
