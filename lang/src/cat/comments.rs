//! What a text says of a statement: the comment behind it on its line, or directly above it.

use super::words::Words;
use crate::front::end_of_comment;
use crate::source::Span;

/// The most characters of a comment that are kept.
const LONGEST: usize = 400;
/// The longest line, in bytes, before and behind a name that words are said of; and the most lines above it.
const LONGEST_LINE: usize = 500;
const MOST_LINES: usize = 20;

/// The comment on a statement, as one line of plain text.
pub(super) fn comment_on(text: &str, statement: Span) -> Option<String> {
    let after = text.get(statement.end..).unwrap_or_default();
    let before = text.get(..statement.start).unwrap_or_default();
    let found = behind(after).or_else(|| above(before))?;
    let mut words = found.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(LONGEST) {
        words.truncate(end);
        words.push('…');
    }
    (!words.is_empty()).then_some(words)
}

/// What is said of a name where it is defined: the comment of `///` behind it on its line, or directly above
/// that line.
pub(super) fn words_on(text: &str, name: Span) -> Option<Words> {
    let (before, after) = (text.get(..name.start)?, text.get(name.end..)?);
    // Many names may stand on one line, which is then too long for words.
    let line = match after.bytes().take(LONGEST_LINE).position(|byte| byte == b'\n') {
        Some(end) => &after[..end],
        None if after.len() <= LONGEST_LINE => after,
        None => return None,
    };
    if let Some(words) = line.split_once("//").and_then(|(_, comment)| comment.strip_prefix('/')) {
        return Words::of([words]);
    }
    before.bytes().rev().take(LONGEST_LINE).find(|byte| *byte == b'\n')?;
    let (lines, _) = before.rsplit_once('\n')?;
    let lines = lines.split('\n').rev().map_while(|line| line.trim().strip_prefix("///"));
    let mut lines: Vec<&str> = lines.take(MOST_LINES).collect();
    lines.reverse();
    Words::of(lines)
}

/// The comment that begins on the line on which a statement ends.
fn behind(after: &str) -> Option<String> {
    let line = after.lines().next().unwrap_or_default().trim_start();
    if let Some(comment) = line.strip_prefix("//") {
        return Some(comment.trim_start_matches('/').to_owned());
    }
    if !line.starts_with("(*") {
        return None;
    }
    let comment = after.trim_start();
    comment.get(2..end_of_comment(comment)? - 2).map(str::to_owned)
}

/// The comment that ends on the line before the one on which a statement begins; nothing else stands on its
/// lines.
fn above(before: &str) -> Option<String> {
    let (lines, indentation) = before.rsplit_once('\n')?;
    if !indentation.trim().is_empty() {
        return None;
    }
    if lines.trim_end_matches(['\r', ' ', '\t']).ends_with("*)") {
        return block_above(lines);
    }
    let comments = lines.split('\n').rev().map_while(|line| line.trim().strip_prefix("//"));
    let comments = comments.map(|line| line.trim_start_matches('/'));
    Some(last_paragraph(comments))
}

/// The last lines up to an empty one, from lines in the other direction.
fn last_paragraph<'t>(from_below: impl Iterator<Item = &'t str>) -> String {
    let is_empty = |line: &&str| line.trim().is_empty();
    let lines = from_below.skip_while(is_empty).take_while(|line| !is_empty(line));
    let mut lines: Vec<&str> = lines.collect();
    lines.reverse();
    lines.join("\n")
}

/// The last paragraph of the `(* … *)` at the end of a text, if it begins its line.
fn block_above(text: &str) -> Option<String> {
    let text = text.trim_end();
    let mut depth = 0_usize;
    let mut at = text.len();
    while at >= 2 {
        match text.as_bytes()[at - 2..at] {
            [b'*', b')'] => (depth, at) = (depth + 1, at - 2),
            [b'(', b'*'] => (depth, at) = (depth - 1, at - 2),
            _ => at -= 1,
        }
        if depth == 0 {
            break;
        }
    }
    let inside = text.get(at..)?.strip_prefix("(*")?.strip_suffix("*)")?;
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    line.trim().is_empty().then(|| last_paragraph(inside.lines().rev()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(text: &str) -> Option<String> {
        let start = text.find("empty").expect("an axiom");
        let end = start + text[start..].find(" as x").expect("its name") + 5;
        comment_on(text, Span::new(start, end))
    }

    #[test]
    fn comments_of_a_statement() {
        let cases = [
            ("empty r as x", None),
            ("// one\nempty r as x", Some("one")),
            ("// one\n//  two\n  empty r as x", Some("one two")),
            ("// zero\n//\n// one\nempty r as x", Some("one")),
            ("// other\n\nempty r as x", None),
            ("let r = rf // other\nempty r as x", None),
            ("(* one\n   two\n*)\r\nempty r as x", Some("one two")),
            ("(* zero\n\n one (* 1 *) *)\nempty r as x", Some("one (* 1 *)")),
            ("let r = rf (* other *)\nempty r as x", None),
            ("(* other *) empty r as x", None),
            ("// above\nempty r as x // behind\n// below", Some("behind")),
            ("empty r as x (* be (* h *)\nind *) let s = r", Some("be (* h *) ind")),
            ("empty r as x\n// below", None),
            ("empty r as x (* open", None),
            ("(**)\nempty r as x", None),
            ("*)\nempty r as x", None),
            ("(*)\nempty r as x", None),
        ];
        for (text, expected) in cases {
            assert_eq!(comment(text).as_deref(), expected, "{text:?}");
        }
        let words = |says: &str, without: Option<&str>| {
            let says = (!says.is_empty()).then(|| says.to_owned());
            Some(Words { says, without: without.map(str::to_owned) })
        };
        let cases = [
            ("let x = rf", None),
            ("let x = rf // reads", None),
            ("let x = rf   /// it reads", words("it reads", None)),
            ("/// it\n///  reads\n  let x = rf", words("it reads", None)),
            (
                "/// reads\n/// without: it does\n/// not\nlet x =",
                words("reads", Some("it does not")),
            ),
            ("/// without: no\nlet rec w = x and x = rf", words("", Some("no"))),
            ("/// other\n\nlet x = rf", None),
            ("/// other\n// this\nlet x = rf", None),
            ("let w = rf /// other\nlet x = rf", None),
            ("///\nlet x = rf", None),
        ];
        for (text, expected) in cases {
            let at = text.rfind('x').expect("a name");
            assert_eq!(words_on(text, Span::new(at, at + 1)), expected, "{text:?}");
        }
        assert_eq!(comment("empty r as x /// says").as_deref(), Some("says"));
        assert_eq!(comment("/// says\nempty r as x").as_deref(), Some("says"));
        let long = format!("// {}\nempty r as x", "é".repeat(1000));
        assert_eq!(comment(&long).expect("cut").chars().count(), LONGEST + 1);
    }
}
