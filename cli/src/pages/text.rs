//! Text as pages need it.

pub use model::explain::escape_xml as xml;

/// Text for an attribute of XML. Parsers take the ends of lines there for spaces, unless they are escaped.
pub fn attribute(text: &str) -> String {
    xml(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Text for Markdown, in a table too.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\`*_{}[]<>#|~".contains(character) {
            out.push('\\');
            out.push(character);
        } else if character.is_control() {
            out.push(' ');
        } else {
            out.push(character);
        }
    }
    out
}

/// The shortest row of backticks that a text does not have, from a length on.
fn ticks(text: &str, least: usize) -> String {
    let mut ticks = "`".repeat(least);
    while text.contains(&ticks) {
        ticks.push('`');
    }
    ticks
}

/// Code in a line of Markdown.
pub fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let ticks = ticks(&text, 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    // A bar would end a cell of a table, in code too.
    format!("{ticks}{pad}{}{pad}{ticks}", text.replace('|', "\\|"))
}

/// Lines of code in Markdown, each with its number.
pub fn fence(text: &str) -> String {
    let ticks = ticks(text, 3);
    let text = text.trim_end();
    let width = text.lines().count().to_string().len();
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| format!("{:width$}  {line}\n", index + 1));
    format!("{ticks}\n{}{ticks}", lines.collect::<String>())
}

/// `1 234 567`, with narrow spaces.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Lines of code for HTML, each behind an element that shows its number, which is not a part of the text.
pub fn numbered(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("<s></s>{}\n", xml(line))).collect()
}

/// Code in HTML.
pub fn element(text: &str) -> String {
    format!("<code>{}</code>", xml(text))
}

/// How a page writes plain words, and code.
pub type Kind = (fn(&str) -> String, fn(&str) -> String);

/// Words in which what stands between backticks is code.
pub fn words(text: &str, (plain, code): Kind) -> String {
    if text.matches('`').count() % 2 == 1 {
        return plain(text);
    }
    let part = |(index, part): (usize, &str)| if index % 2 == 0 { plain(part) } else { code(part) };
    text.split('`').enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(xml("<script>&\"'\u{1}"), "&lt;script&gt;&amp;&quot;&#39;\u{fffd}");
        assert_eq!(attribute("a\n<\t\r"), "a&#10;&lt;&#9;\u{fffd}");
        assert_eq!(markdown("a|b <i>\nc"), "a\\|b \\<i\\> c");
        assert_eq!(code("a`b|c"), "``a`b\\|c``");
        assert_eq!(fence("```\nx"), "````\n1  ```\n2  x\n````");
        assert_eq!(numbered("a<\nb\n"), "<s></s>a&lt;\n<s></s>b\n");
        let html: Kind = (xml, element);
        assert_eq!(words("line 7: `a < b`", html), "line 7: <code>a &lt; b</code>");
        assert_eq!(words("<`", html), "&lt;`");
        assert_eq!(words("a*: `x^2 := *`", (markdown, code)), "a\\*: `x^2 := *`");
        assert_eq!(thousands(1_234_567), "1\u{202f}234\u{202f}567");
    }
}
