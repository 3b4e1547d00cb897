//! What the grammar expected, in words.

use pest::error::{Error, ErrorVariant, InputLocation};

use super::{Piece, Rule};
use crate::diagnostic::{Code, Diagnostic};

/// The diagnostic for text that a rule does not match. `start` is where the text given to pest begins in the
/// piece.
pub fn diagnostic(error: &Error<Rule>, piece: &Piece, start: usize) -> Diagnostic {
    let at = start
        + match error.location {
            InputLocation::Pos(at) => at,
            InputLocation::Span((at, _)) => at,
        };
    let rest = piece.text.get(at..).unwrap_or("");
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    let at = at + blanks;
    let token = token(piece.text.get(at..).unwrap_or(""));
    let span = piece.span(at, at + token.len());
    let found = match token {
        "" => "the end".to_owned(),
        "\n" => "the end of the cell".to_owned(),
        token => format!("`{token}`"),
    };
    let expected = expected(error);
    let error =
        Diagnostic::error(Code::Syntax, span, format!("expected {expected}, found {found}"));
    match hint(piece.text.get(..at).unwrap_or(""), piece.text.get(at..).unwrap_or(""), &expected) {
        Some(hint) => error.help(hint),
        None => error,
    }
}

/// What is written instead of what other languages have here. `expected` is in words.
fn hint(before: &str, rest: &str, expected: &str) -> Option<&'static str> {
    let starts = |signs: &[&str]| signs.iter().any(|sign| rest.starts_with(sign));
    // The statement that it is in, as far as it was read.
    let statement = before.rsplit(['\n', '|', ';', '{', '}']).next().unwrap_or("").trim_start();
    let assigns = expected.contains("`:=`");
    if expected.contains("the number of a queue pair") {
        return Some(
            "a thread's own are 0 to 15, as in `x^2/1`; those that threads share s0 to s15, as in `x^2/s0`",
        );
    }
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if expected == "a number" && digits.strip_prefix('s').is_some_and(starts_with_digit) {
        return Some("a queue pair stands behind its node: `x^2/s0`, `Poll(2/s0)`");
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before_inline = before.trim_end().strip_suffix("inline");
    if before_inline.is_some_and(|before| !before.ends_with(is_word)) {
        return Some("only a put is inline: `x^2 := inline y`");
    }
    if rest.starts_with('[') {
        let node = statement.trim_end_matches(|c: char| c.is_ascii_digit());
        return Some(match () {
            () if statement.to_ascii_lowercase().ends_with("poll(") => {
                "several queue pairs stand in braces: `Poll({2, 2/1})`"
            }
            () if node.ends_with('^') => "the index stands before the node: `x[0]^2`",
            () => "only words of arrays have an index: `x[4] = 0` above the rule declares one",
        });
    }
    if assigns && starts(&["+=", "-=", "*=", "++", "--"]) {
        return Some("`:=` is the only assignment: write `a := a + 1`");
    }
    if expected == "a work id" {
        return Some("a work id is a name, such as d");
    }
    if expected.contains("`{`") && (statement.starts_with("if") || statement.starts_with("while")) {
        return Some("what follows the condition stands in braces: `if a = 1 { … }`");
    }
    let is_star = rest.starts_with('*') && ["a value", "a statement"].contains(&expected);
    if is_star || rest.starts_with("->") {
        return Some(
            "there are no pointers: locations have names, and `x^2` is x of node 2 by RDMA",
        );
    }
    None
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn expected(error: &Error<Rule>) -> String {
    let ErrorVariant::ParsingError { positives, .. } = &error.variant else {
        return "something else".to_owned();
    };
    let mut names: Vec<&str> = Vec::new();
    for name in positives.iter().map(|rule| describe(*rule)) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    // Where a value may stand, the rarer forms only distract.
    if names.contains(&"a value") {
        names.retain(|name| !matches!(*name, "a work id" | "`¬`"));
    }
    match names.as_slice() {
        [] => "something else".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The word or sign that a text begins with.
fn token(rest: &str) -> &str {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let Some(first) = rest.chars().next() else { return "" };
    if word(first) {
        return &rest[..rest.find(|c| !word(c)).unwrap_or(rest.len())];
    }
    for sign in [":=", "\\/", "/\\", "!=", "<=", ">=", "<>", "->", "&&", "||"] {
        if rest.starts_with(sign) {
            return &rest[..sign.len()];
        }
    }
    &rest[..first.len_utf8()]
}

/// What a reader calls the text that a rule matches.
fn describe(rule: Rule) -> &'static str {
    match rule {
        Rule::number | Rule::place_number | Rule::signed => "a number",
        Rule::name | Rule::access => "a name",
        Rule::nobody => "`_`",
        Rule::quoted | Rule::quoted_text => "a text in quotes",
        Rule::label => "a name",
        Rule::file_stem => "the test's name",
        Rule::loops => "`loops`",
        Rule::EOI => "the end",
        Rule::equals | Rule::equal => "`=`",
        Rule::list_separator | Rule::comma => "`,`",
        Rule::initial | Rule::constant | Rule::part | Rule::words => "a value",
        Rule::declaration | Rule::locations | Rule::objects | Rule::others => "a declaration",
        // Where a class can stand, so can other declarations, which say more.
        Rule::class_name => "",
        Rule::declared | Rule::other => "a name",
        Rule::size | Rule::ring_size => "a size",
        Rule::home => "`@` and a node",
        Rule::copy | Rule::library | Rule::small_library | Rule::owner | Rule::owner_number => "",
        Rule::arrow => "`->`",
        Rule::number_set | Rule::pair_set => "`{`",
        Rule::statement | Rule::assignment | Rule::call_statement | Rule::call => "a statement",
        Rule::assign | Rule::plain_assign | Rule::id_assign | Rule::library_assign => "`:=`",
        Rule::target | Rule::method => "a statement",
        Rule::work_id | Rule::raised_id => "a work id",
        // Marks of a name may stand nearly everywhere, and are hardly ever what was forgotten.
        Rule::overline | Rule::atomicity | Rule::node | Rule::raised_node | Rule::queue_pair => "",
        Rule::index | Rule::word_number => "",
        Rule::block | Rule::open_brace => "`{`",
        Rule::close_brace | Rule::stray_brace => "`}`",
        Rule::otherwise | Rule::kw_else => "`else`",
        Rule::close_paren => "`)`",
        Rule::value | Rule::expression | Rule::conjunction | Rule::negation => "a value",
        Rule::inlined | Rule::kw_inline | Rule::unsignaled | Rule::kw_unsignaled => "",
        Rule::comparison | Rule::sum | Rule::product | Rule::factor | Rule::group => "a value",
        Rule::pair_number => "the number of a queue pair",
        Rule::argument | Rule::towards | Rule::truth | Rule::bottom | Rule::undefined => "a value",
        Rule::not | Rule::kw_not | Rule::tilde => "`¬`",
        Rule::or | Rule::and | Rule::plus | Rule::minus | Rule::times | Rule::modulo => {
            "an operator"
        }
        Rule::kw_or | Rule::kw_and | Rule::greater_equal => "an operator",
        Rule::compare | Rule::not_equal | Rule::less | Rule::less_equal | Rule::greater => {
            "an operator"
        }
        Rule::verdict | Rule::claim | Rule::claim_and | Rule::claim_not | Rule::marked => {
            "a condition"
        }
        Rule::item | Rule::wildcard | Rule::computed | Rule::term => "a condition",
        Rule::compared | Rule::membership | Rule::caption | Rule::element | Rule::kw_in => "",
        Rule::negative | Rule::barred | Rule::other_value => "",
        Rule::claim_compare | Rule::side | Rule::atom | Rule::claim_truth => "a condition",
        Rule::mark | Rule::allowed | Rule::forbidden => "`✓` or `✗`",
        Rule::asked => "",
        Rule::quantified | Rule::kw_exists | Rule::never | Rule::always => "`exists`",
        Rule::sometimes => "`exists`",
        Rule::exactly | Rule::kw_exactly => "`exactly`",
        Rule::kw_for => "`for`",
        Rule::observed | Rule::observed_tuple => "a name",
        Rule::outcome => "an outcome",
        Rule::colon | Rule::model_prefix => "`:`",
        _ => "something else",
    }
}
