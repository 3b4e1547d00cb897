//! Cells above the rule.

use pest::iterators::Pair;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

use super::super::ast::{Declaration, DeclarationKind, Name, Number};
use super::{Context, Piece, Rule};
use crate::litmus::MOST_WORDS;

/// What one cell declares.
pub fn cell(context: &mut Context<'_>, cell: Span) -> Vec<Declaration> {
    let mut piece = Piece::of(context.text, cell);
    piece.text = context.words.with_classes(&piece.text);
    let mut declared = Vec::new();
    let Some(pairs) = context.read(Rule::declarations, &piece) else { return declared };
    for pair in pairs.filter(|pair| pair.as_rule() == Rule::declaration) {
        for group in pair.into_inner() {
            match group.as_rule() {
                Rule::locations => declared.extend(locations(context, &piece, group, None)),
                Rule::objects => declared.extend(objects(context, &piece, group)),
                _ => declared.extend(others(context, &piece, group)),
            }
        }
    }
    context.declared.extend(declared.iter().map(|one| one.name.text.clone()));
    declared
}

/// A name with the marks behind it.
struct Declared {
    name: Name,
    size: Option<Number>,
    home: Option<Number>,
}

fn declared(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Declared {
    let mut out = Declared { name: Name::default(), size: None, home: None };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::name => out.name = context.name(piece, &part),
            Rule::size => out.size = inner_number(context, piece, part),
            Rule::home => out.home = inner_number(context, piece, part),
            _ => {}
        }
    }
    out
}

fn inner_number(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Number> {
    let is_number =
        |pair: &Pair<'_, Rule>| matches!(pair.as_rule(), Rule::number | Rule::place_number);
    let number = pair.into_inner().find(is_number)?;
    Some(match number.as_rule() {
        Rule::number => context.number(piece, &number),
        _ => context.place_number(piece, &number),
    })
}

fn places(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Vec<Number> {
    pair.into_inner()
        .filter(|pair| pair.as_rule() == Rule::place_number)
        .map(|pair| context.place_number(piece, &pair))
        .collect()
}

/// `x = 0`, `x, y = 0, 1`, as plain locations or of a class.
fn locations(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    class: Option<&Name>,
) -> Vec<Declaration> {
    let place = context.place(piece, &pair);
    let mut names = Vec::new();
    let mut values: Vec<Vec<Number>> = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::declared => names.push(declared(context, piece, part)),
            Rule::initial => {
                let words = part.into_inner().filter(|part| part.as_rule() == Rule::signed);
                values.push(words.map(|part| context.signed(piece, part)).collect());
            }
            _ => {}
        }
    }
    // `y, w = 0` gives both names one value.
    if let ([value], 2..) = (values.as_slice(), names.len()) {
        values = vec![Vec::clone(value); names.len()];
    }
    if names.len() != values.len() {
        let message = format!("expected {} initial values, found {}", names.len(), values.len());
        let error = Diagnostic::error(Code::WrongInitialValues, place.span, message);
        let help = "`x, y = 0, 1` gives one value for each name, `x, y = 0` the same to all";
        context.sink.push(error.help(help));
        return Vec::new();
    }
    names
        .into_iter()
        .zip(values)
        .filter_map(|(name, value)| location(context, name, value, class))
        .collect()
}

fn location(
    context: &mut Context<'_>,
    declared: Declared,
    initial: Vec<Number>,
    class: Option<&Name>,
) -> Option<Declaration> {
    let Declared { name, size, home } = declared;
    let place = name.place;
    let kind = match (class, size, initial.as_slice()) {
        (None, Some(size), _) => {
            if !(1..=MOST_WORDS).contains(&size.value) {
                let message =
                    format!("expected a size from 1 to {MOST_WORDS}, found {}", size.value);
                context.error(Code::BadSize, size.place, message);
                return None;
            }
            if initial.len() != 1 && initial.len() as u64 != size.value {
                let message =
                    format!("expected {} initial values, found {}", size.value, initial.len());
                context.error(Code::WrongInitialValues, place, message);
                return None;
            }
            // Their library may be any.
            context.has_other_classes = true;
            DeclarationKind::Mixed { size, initial }
        }
        (None, None, [value]) => DeclarationKind::Location(*value),
        (Some(class), None, [value]) => DeclarationKind::object(class.clone(), Some(*value)),
        _ => {
            let message = format!("expected one initial value for `{}`, found several", name.text);
            let error = Diagnostic::error(Code::WrongInitialValues, place.span, message);
            context
                .sink
                .push(error.help("only a location with a size, `x[4] = 0`, has several words"));
            return None;
        }
    };
    Some(Declaration { name, kind, home })
}

/// The class of objects, as its library calls it.
fn class(context: &mut Context<'_>, piece: &Piece, pair: &Pair<'_, Rule>) -> Name {
    let mut place = context.place(piece, pair);
    let word = pair.as_str().trim_end();
    place.span.end = place.span.start + word.len();
    let known = context.words.class(word);
    context.has_other_classes |= known.is_none();
    Name { text: known.map_or(word, |(_, class)| class).to_owned(), place }
}

/// `SVar x = 0, y = 0`
fn objects(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Vec<Declaration> {
    let mut class = Name::default();
    let mut all = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::class_name => class = self::class(context, piece, &part),
            Rule::locations => all.extend(locations(context, piece, part, Some(&class))),
            _ => {}
        }
    }
    let named = all.iter().map(|one| (one.name.text.clone(), class.text.clone()));
    context.objects.extend(named);
    all
}

/// `Gate g {1, 2}, h {3} size 4`
fn others(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Vec<Declaration> {
    let mut class = Name::default();
    let mut all = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::class_name => class = self::class(context, piece, &part),
            Rule::other => all.push(other(context, piece, part, &class)),
            _ => {}
        }
    }
    all
}

fn other(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    class: &Name,
) -> Declaration {
    let (mut name, mut home) = (Name::default(), None);
    let (mut single, mut threads, mut size, mut initial) = (Vec::new(), None, None, None);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::name => name = context.name(piece, &part),
            Rule::home => home = inner_number(context, piece, part),
            Rule::place_number => single.push(context.place_number(piece, &part)),
            Rule::number_set => threads = Some(places(context, piece, part)),
            Rule::ring_size => size = inner_number(context, piece, part),
            Rule::signed => initial = Some(context.signed(piece, part)),
            _ => {}
        }
    }
    context.objects.insert(name.text.clone(), class.text.clone());
    let (writer, threads) = match single.split_first() {
        Some((writer, rest)) => (Some(*writer), threads.or_else(|| Some(rest.to_vec()))),
        None => (None, threads),
    };
    let kind = DeclarationKind::Object { class: class.clone(), writer, threads, size, initial };
    Declaration { name, kind, home }
}
