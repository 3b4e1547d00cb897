//! The statements of one column.

use pest::Parser as _;
use pest::iterators::Pair;

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::limits;

use super::super::ast::{Access, Block, Expr, Name, Statement, StatementKind, Target, Value, Via};
use super::super::methods::{self, KEYWORDS};
use super::calls::{call, call_statement, unknown};
use super::expressions::{access, expression};
use super::{Context, LitmusGrammar, Piece, Rule, expected, printed};

/// Reads a column.
pub fn body(context: &mut Context<'_>, piece: &Piece) -> Block {
    if !context.shallow(piece) || !balanced(context, piece) {
        return Block::default();
    }
    let mut whole = Block::default();
    for (start, end) in stretches(&piece.text) {
        limits::look_now();
        let part = piece.part(start, end);
        match LitmusGrammar::parse(Rule::body, &part.text) {
            Ok(mut pairs) => {
                let Some(pair) = pairs.next() else { continue };
                let block = statements(context, &part, pair);
                whole.statements.extend(block.statements);
                whole.end = block.end;
            }
            Err(error) => {
                context.sink.push(expected::diagnostic(&error, &part, 0));
                return Block::default();
            }
        }
    }
    whole
}

/// How long the text is, at least, that the grammar reads at once where it is cut.
const STRETCH: usize = 4096;

/// Cuts a long column between statements, into parts that mean alone what they mean in it; so limits are
/// looked at between them.
fn stretches(text: &str) -> Vec<(usize, usize)> {
    let mut cuts = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '\n' | ';' if depth == 0 && at - start >= STRETCH => {
                // These go on with the statement before.
                let next = text[at + 1..].trim_start();
                if !next.starts_with("else") && !next.starts_with('{') {
                    cuts.push((start, at + 1));
                    start = at + 1;
                }
            }
            _ => {}
        }
    }
    cuts.push((start, text.len()));
    cuts
}

/// True if every brace has its partner; the grammar counts on it.
fn balanced(context: &mut Context<'_>, piece: &Piece) -> bool {
    let mut open = Vec::new();
    let mut lonely = None;
    for (at, character) in piece.text.char_indices() {
        match character {
            '{' => open.push(at),
            '}' if open.pop().is_none() => {
                lonely = Some((at, "expected a statement, found `}` without its `{`"));
                break;
            }
            _ => {}
        }
    }
    let unclosed = "expected `}` to end this block in the same column, found the column's end";
    let Some((at, message)) = lonely.or(open.pop().map(|at| (at, unclosed))) else { return true };
    let span = piece.span(at, at + 1);
    context.sink.push(Diagnostic::error(Code::UnbalancedBraces, span, message));
    false
}

/// The statements directly inside a body or block.
fn statements(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Block {
    let mut block = Block { end: context.place(piece, &pair), ..Block::default() };
    let mut cut_off = false;
    let mut parts = pair.into_inner().peekable();
    while let Some(part) = parts.next() {
        let span = part.as_span();
        match part.as_rule() {
            Rule::statement => {
                // What follows without a separator shows that the statement goes on, wrongly.
                match parts.next_if(|next| runs_on(piece, &part, next)) {
                    Some(next) => {
                        cut_off |= next.as_str().contains('{');
                        explain(context, piece, span.start(), next.as_span().end());
                    }
                    None => block.statements.extend(statement(context, piece, part)),
                }
            }
            Rule::broken => {
                cut_off |= part.as_str().contains('{');
                explain(context, piece, span.start(), span.end());
            }
            Rule::stray_brace if !cut_off => {
                let place = context.place(piece, &part);
                context.error(Code::UnbalancedBraces, place, "expected a statement, found `}`");
            }
            Rule::close_brace => block.end = context.place(piece, &part),
            _ => {}
        }
    }
    block
}

/// True if a statement is followed by something on the same line, and does not end with a block.
fn runs_on(piece: &Piece, part: &Pair<'_, Rule>, next: &Pair<'_, Rule>) -> bool {
    let (end, start) = (part.as_span().end(), next.as_span().start());
    matches!(next.as_rule(), Rule::statement | Rule::broken)
        && !piece.text[end..start].contains(['\n', ';'])
        && !part.as_str().trim_end().ends_with('}')
}

/// Says what is wrong with the text from a statement's start to the end of the broken piece.
fn explain(context: &mut Context<'_>, piece: &Piece, start: usize, end: usize) {
    let text = piece.text[start..end].trim_end();
    let word = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
    let rest = text[word.len()..].trim_start();
    let begins_value = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let known = KEYWORDS.contains(&word)
        || methods::lookup(context.dialect, word).is_some()
        || context.dialect == Dialect::Rdma && context.words.method(word).is_some();
    if begins_value && !known {
        unknown(context, piece, start, word);
        return;
    }
    match LitmusGrammar::parse(Rule::lone, text) {
        Err(error) => context.sink.push(expected::diagnostic(&error, piece, start)),
        Ok(_) => {
            let span = piece.span(start, end);
            context.sink.push(Diagnostic::error(
                Code::Syntax,
                span,
                "expected one statement, found more",
            ));
        }
    }
}

fn statement(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Statement> {
    limits::look();
    context.operators = 0;
    let place = context.place(piece, &pair);
    let mut inner = pair.into_inner().next()?;
    let unsignaled = inner.as_rule() == Rule::unsignaled;
    if unsignaled {
        inner = inner.into_inner().find(|part| part.as_rule() != Rule::kw_unsignaled)?;
    }
    let kind = match inner.as_rule() {
        Rule::conditional => conditional(context, piece, inner)?,
        Rule::while_loop => {
            let (condition, block) = guarded(context, piece, inner);
            StatementKind::While(condition?, block?)
        }
        Rule::endless_loop => StatementKind::Loop(guarded(context, piece, inner).1?),
        Rule::leave => StatementKind::Break,
        Rule::skip => StatementKind::Skip,
        Rule::assumption => StatementKind::Assume(guarded(context, piece, inner).0?),
        Rule::assignment => assignment(context, piece, inner)?,
        Rule::call_statement => call_statement(context, piece, inner)?,
        _ => return None,
    };
    Some(Statement { kind, unsignaled, place })
}

/// The condition and the block of a statement that has them.
fn guarded(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> (Option<Expr>, Option<Block>) {
    let (mut condition, mut block) = (None, None);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::expression => condition = expression(context, piece, part, false),
            Rule::block => block = Some(statements(context, piece, part)),
            _ => {}
        }
    }
    (condition, block)
}

fn conditional(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<StatementKind> {
    let place = context.place(piece, &pair);
    let mut branches = Vec::new();
    let mut otherwise = None;
    let mut condition = None;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::expression => condition = expression(context, piece, part, false),
            Rule::block => {
                let block = statements(context, piece, part);
                branches.push((condition.take()?, block));
            }
            Rule::otherwise => otherwise = guarded(context, piece, part).1,
            _ => {}
        }
    }
    if branches.len() > super::LITMUS_MAX_NESTING {
        let message = format!("this has more than {} branches", super::LITMUS_MAX_NESTING);
        context.error(Code::NestingTooDeep, place, message);
        return None;
    }
    Some(StatementKind::If { branches, otherwise })
}

fn assignment(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<StatementKind> {
    let (mut target, mut via, mut value) = (None, Via::Plain, None);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::target => target = self::target(context, piece, part),
            Rule::assign => via = self::via(context, piece, part),
            Rule::value => {
                let part = part.into_inner().next()?;
                if part.as_rule() == Rule::call
                    && let Some((access, mark)) = printed::access(context, &part)
                {
                    let (read, from) = printed::value(context, piece, part, access, mark)?;
                    (value, via) = (Some(Value::Expr(read)), from.unwrap_or(via));
                    continue;
                }
                value = match part.as_rule() {
                    Rule::call => call(context, piece, part, true).map(Value::Call),
                    Rule::inlined => {
                        let inner = part.into_inner().find(|p| p.as_rule() == Rule::expression)?;
                        expression(context, piece, inner, true).map(Value::Inline)
                    }
                    _ => expression(context, piece, part, true).map(Value::Expr),
                };
            }
            _ => {}
        }
    }
    Some(StatementKind::Assign { target: target?, via, value: value? })
}

fn target(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Target> {
    let place = context.place(piece, &pair);
    let mut inferred = false;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::nobody => return Some(Target::Nobody(place)),
            Rule::tilde => inferred = true,
            _ => {
                let access = access(context, piece, part)?;
                let access = if inferred { access.through_nic() } else { access };
                return Some(Target::Access(Access { place, ..access }));
            }
        }
    }
    None
}

fn via(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Via {
    let place = context.place(piece, &pair);
    let Some(part) = pair.into_inner().next() else { return Via::Plain };
    match (part.as_rule(), context.dialect) {
        (Rule::library_assign, Dialect::Rdma) => {
            let mark = part.into_inner().next().map_or("", |mark| mark.as_str());
            let known = context.words.mark(mark).map(str::to_owned);
            Via::Library(known.unwrap_or_else(|| mark.to_owned()))
        }
        (Rule::id_assign, Dialect::Rdma) => Via::Id(work_id(context, piece, part)),
        (Rule::plain_assign, Dialect::Rdma)
        | (Rule::plain_assign | Rule::equals, Dialect::CoreRma) => Via::Plain,
        (Rule::equals, Dialect::Rdma) => {
            let error = Diagnostic::error(Code::Syntax, place.span, "expected `:=`, found `=`");
            let error = error.help("`=` assigns only under `dialect corerma`");
            context.sink.push(error.replace(place.span, ":="));
            Via::Plain
        }
        _ => {
            let message =
                "expected `=` in the coreRMA dialect, found an assignment of RDMA programs";
            context.error(Code::Syntax, place, message);
            Via::Plain
        }
    }
}

fn work_id(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Name> {
    let part = pair.into_inner().next()?;
    match part.as_rule() {
        Rule::raised_id => {
            let raised = ["ᵃ", "ᵇ", "ᶜ", "ᵈ", "ᵉ", "ᶠ", "ᵍ"];
            let at = raised.iter().position(|sign| *sign == part.as_str())?;
            let text = "abcdefg".get(at..=at)?.to_owned();
            Some(Name { text, place: context.place(piece, &part) })
        }
        _ => {
            let name = part.into_inner().find(|part| part.as_rule() == Rule::name)?;
            Some(context.name(piece, &name))
        }
    }
}
