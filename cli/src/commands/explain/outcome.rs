//! Outcomes as they are written on the command line.

use lang::Test;
use lang::diagnostic::nearest;
use lang::outcome::Value;

/// Reads `a=1, b=0` (also with `;`, `and`, `&&`, `/\` or `∧` for the comma) or `(a, b) = (1, 0)`.
///
/// # Errors
/// What is expected and what was found.
pub fn parse(text: &str, test: &Test) -> Result<Vec<(usize, Value)>, String> {
    let mut wanted: Vec<(usize, Value)> = Vec::new();
    for (name, value) in pairs(text)? {
        let index = index_of(&name, test)?;
        let value = parse_value(&value)?;
        match wanted.iter().find(|(known, _)| *known == index) {
            Some((_, other)) if *other != value => {
                return Err(format!("expected one value of `{name}`, found {other} and {value}"));
            }
            Some(_) => {}
            None => wanted.push((index, value)),
        }
    }
    Ok(wanted)
}

fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let text = [" and ", "&&", "/\\", "∧", ";"]
        .iter()
        .fold(text.to_owned(), |text, separator| text.replace(separator, ","));
    let mut pairs = Vec::new();
    for part in split_outside_parentheses(&text)? {
        let Some((left, right)) = part.split_once('=') else {
            return Err(format!("expected NAME=VALUE, found `{}`", part.trim()));
        };
        let right = right.strip_prefix('=').unwrap_or(right);
        let (names, values) = (members(left), members(right));
        if names.len() != values.len() {
            let (names, values) = (names.len(), values.len());
            return Err(format!("expected as many values as names, found {values} and {names}"));
        }
        pairs.extend(names.into_iter().zip(values));
    }
    Ok(pairs)
}

/// The parts between commas that are in no parentheses.
fn split_outside_parentheses(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1).ok_or("expected no more `)` than `(`, found one")?;
            }
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    if parts.is_empty() {
        return Err("expected NAME=VALUE, found nothing".to_owned());
    }
    Ok(parts)
}

/// The members of a tuple, or a thing alone.
fn members(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    inner.unwrap_or(text).split(',').map(|member| member.trim().to_owned()).collect()
}

fn index_of(name: &str, test: &Test) -> Result<usize, String> {
    let names = || test.observables.iter().map(|observable| observable.name.as_str());
    names().position(|known| known == name).ok_or_else(|| {
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("this test shows {}", names().collect::<Vec<_>>().join(", ")),
        };
        format!("expected a name that outcomes of the test show, found `{name}`; {hint}")
    })
}

fn parse_value(text: &str) -> Result<Value, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match (number, text) {
        (Some(number), _) => Ok(Value::Int(number)),
        (None, "true") => Ok(Value::Int(1)),
        (None, "false") => Ok(Value::Int(0)),
        (None, "⊥" | "bot" | "null") => Ok(Value::Bottom),
        (None, "⊤" | "undefined") => Ok(Value::Undefined),
        (None, _) => Err(format!("expected a number, true, false, ⊥ or ⊤, found `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang::source::Source;

    fn parsed(text: &str) -> Result<Vec<(usize, Value)>, String> {
        let source = Source::new("T", "litmus T\n  x = 0 || y = 0\n ---\n a := x || b := y\n");
        let (test, diagnostics) = lang::litmus::load(&source);
        parse(text, &test.unwrap_or_else(|| panic!("{diagnostics:?}")))
    }

    #[test]
    fn spellings() {
        let expected = parsed("a=1,b=0").unwrap();
        assert_eq!(expected.len(), 2);
        let others = [
            "a = 1, b = 0",
            "(a, b) = (1, 0)",
            "a = 1 /\\ b = 0",
            "a=1;b=0",
            "a = 1 and b = 0",
            "a == true, b = 0x0",
            "a=1,a=1,b=0,",
        ];
        for text in others {
            assert_eq!(parsed(text).as_ref(), Ok(&expected), "{text}");
        }
        assert_eq!(parsed("a=⊥").unwrap()[0].1, Value::Bottom);
        assert_eq!(parsed("a=⊤").unwrap()[0].1, Value::Undefined);
    }

    #[test]
    fn errors() {
        let wrong = [
            ("", "found nothing"),
            ("a", "expected NAME=VALUE"),
            ("aa=1", "this test shows a, b, x, y"),
            ("a=-1", "expected a number"),
            ("a=18446744073709551616", "expected a number"),
            ("(a, b) = (1)", "as many values as names"),
            ("a=1)", "no more `)`"),
            ("a=1,a=0", "expected one value of `a`"),
        ];
        for (text, part) in wrong {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
