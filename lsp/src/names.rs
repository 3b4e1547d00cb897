//! Where names stand in a text of any of the languages, and what belongs together.

use std::collections::BTreeSet;

use lang::source::Span;

/// What a name is the name of. What has one name in one space is one thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// A location, register or object of a program; a set, relation or function of a model.
    Value,
    /// A parameter of the function, or a letter of the table, that begins here.
    Local(usize),
    /// Operations that a program waits for.
    WorkId,
    /// A model.
    Model,
    /// An axiom.
    Axiom,
    /// A kind of statement, which a model defines.
    Call,
}

/// A name in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The name.
    pub name: String,
    /// Its place.
    pub span: Span,
    /// What it is the name of.
    pub space: Space,
    /// Whether it gets its meaning here.
    pub defines: bool,
}

/// The names of a text, by place.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<Occurrence>);

impl Names {
    /// The same, in the order of the text.
    pub fn new(mut all: Vec<Occurrence>) -> Self {
        all.sort_by_key(|one| (one.span, !one.defines));
        all.dedup_by_key(|one| one.span);
        Self(all)
    }

    /// The same where a name needs no definition: then the first is it.
    pub fn introduced(all: Vec<Occurrence>) -> Self {
        let is_free =
            |space: &Space| matches!(space, Space::Value | Space::WorkId | Space::Local(_));
        Self::new(all).with_first(is_free)
    }

    /// The same where that is so of local names only.
    pub fn with_locals(all: Vec<Occurrence>) -> Self {
        Self::new(all).with_first(|space| matches!(space, Space::Local(_)))
    }

    fn with_first(mut self, is_free: impl Fn(&Space) -> bool) -> Self {
        let key = |one: &Occurrence| (one.space.clone(), one.name.clone());
        let mut defined: BTreeSet<(Space, String)> =
            self.0.iter().filter(|one| one.defines).map(key).collect();
        for one in &mut self.0 {
            let key = (one.space.clone(), one.name.clone());
            one.defines |= is_free(&one.space) && defined.insert(key);
        }
        self
    }

    /// All of them.
    pub fn all(&self) -> &[Occurrence] {
        &self.0
    }

    /// The name at an offset, or right before it.
    pub fn at(&self, offset: usize) -> Option<&Occurrence> {
        let touches = |one: &&Occurrence| one.span.start <= offset && offset <= one.span.end;
        let mut found = self.0.iter().filter(touches);
        let first = found.next()?;
        Some(found.next().unwrap_or(first))
    }

    /// All places of what a name is the name of.
    pub fn same(&self, as_this: &Occurrence) -> impl Iterator<Item = &Occurrence> {
        let (name, space) = (as_this.name.clone(), as_this.space.clone());
        self.0.iter().filter(move |one| one.name == name && one.space == space)
    }

    /// Where a name gets its meaning.
    pub fn definition(&self, name: &str, space: &Space) -> Option<&Occurrence> {
        self.0.iter().rfind(|one| one.defines && one.name == name && one.space == *space)
    }
}

/// How words look in a language.
#[derive(Clone, Copy, Debug)]
pub struct Lexis {
    /// What a word begins with.
    pub begins: fn(char) -> bool,
    /// What it goes on with. A `.` or `-` only counts between letters.
    pub continues: fn(char) -> bool,
    /// Signs of comments up to the end of the line.
    pub line_comments: &'static [&'static str],
    /// Signs around other comments.
    pub block_comments: &'static [(&'static str, &'static str)],
}

/// The words of programs.
pub const PROGRAM: Lexis = Lexis {
    begins: |c| c.is_ascii_alphabetic() || c == '_' || "āēīōūȳḡ".contains(c),
    continues: |c| c.is_ascii_alphanumeric() || c == '_' || "āēīōūȳḡ'′₀₁₂₃₄₅₆₇₈₉".contains(c),
    line_comments: &["//"],
    block_comments: &[("(*", "*)"), ("/*", "*/")],
};

/// The words of models.
pub const MODEL: Lexis = Lexis {
    begins: |c| c.is_ascii_alphabetic() || c == '_',
    continues: |c| c.is_ascii_alphanumeric() || "_.-".contains(c),
    line_comments: &["//"],
    block_comments: &[("(*", "*)")],
};

/// The words of libraries.
pub const LIBRARY: Lexis = Lexis {
    begins: |c| c.is_ascii_alphabetic() || c == '_',
    continues: |c| c.is_ascii_alphanumeric() || "_'".contains(c),
    line_comments: &["//"],
    block_comments: &[("(*", "*)")],
};

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A word.
    Word,
    /// A comment up to the end of its line, or of the text.
    Comment,
    /// A comment that ends with a sign.
    Block,
    /// Text in quotes.
    Quote,
}

/// The words of a text that are not in comments or quotes.
pub fn words(text: &str, lexis: Lexis) -> Vec<Span> {
    let all = pieces(text, lexis).into_iter();
    all.filter(|(piece, _)| *piece == Piece::Word).map(|(_, span)| span).collect()
}

/// The piece of a text in which something typed at an offset would be, if it is not a word.
pub fn around(text: &str, lexis: Lexis, offset: usize) -> Option<(Piece, Span)> {
    let holds = |(piece, span): &(Piece, Span)| {
        let is_open = match piece {
            Piece::Word => return false,
            Piece::Comment => true,
            Piece::Block => false,
            Piece::Quote => span.end - span.start < 2 || !text[..span.end].ends_with('"'),
        };
        span.start < offset && (offset < span.end || is_open && offset == span.end)
    };
    pieces(text, lexis).into_iter().find(holds)
}

/// The words, comments and quotes of a text.
fn pieces(text: &str, lexis: Lexis) -> Vec<(Piece, Span)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        lang::limits::look();
        let rest = &text[at..];
        // Lines may be long: the end is only looked for where it counts.
        let line = || rest.find('\n').unwrap_or(rest.len());
        let is_line = lexis.line_comments.iter().any(|sign| rest.starts_with(sign));
        // A name may hold a `#`; a comment follows a blank.
        let sharp = first == '#' && !text[..at].ends_with(|c: char| !c.is_whitespace());
        let block = lexis.block_comments.iter().find(|(open, _)| rest.starts_with(open));
        let (piece, length) = if sharp || is_line {
            (Some(Piece::Comment), line())
        } else if let Some((open, close)) = block {
            match rest[2..].find(close) {
                Some(end) => (Some(Piece::Block), end + open.len() + close.len()),
                None => (Some(Piece::Comment), rest.len()),
            }
        } else if first == '"' {
            let line = line();
            (Some(Piece::Quote), rest[1..line].find('"').map_or(line, |end| end + 2))
        } else if (lexis.begins)(first) {
            let end = rest.find(|c| !(lexis.continues)(c)).unwrap_or(rest.len());
            let word = rest[..end].trim_end_matches(['.', '-']);
            (Some(Piece::Word), word.len().max(first.len_utf8()))
        } else if first.is_ascii_digit() {
            (None, rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len()))
        } else {
            (None, first.len_utf8())
        };
        found.extend(piece.map(|piece| (piece, Span::new(at, at + length))));
        at += length;
    }
    found
}

/// The words of a text with errors that are taken for names, since no tree has them. `is_name` says which
/// words are; its second argument says whether a word is a value's name elsewhere.
pub fn in_wrong_text(
    text: &str,
    lexis: Lexis,
    known: &[Occurrence],
    is_name: impl Fn(&str, bool) -> bool,
) -> Vec<Occurrence> {
    let covered: BTreeSet<usize> = known.iter().map(|one| one.span.start).collect();
    let values = known.iter().filter(|one| one.space == Space::Value);
    let values: BTreeSet<&str> = values.map(|one| one.name.as_str()).collect();
    let words = words(text, lexis).into_iter().filter(|span| !covered.contains(&span.start));
    let words = words.map(|span| (span, &text[span.range()]));
    let found = words.filter(|(_, word)| is_name(word, values.contains(word)));
    let one = |(span, word): (Span, &str)| Occurrence {
        name: word.to_owned(),
        span,
        space: Space::Value,
        defines: false,
    };
    found.map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, lexis: Lexis) -> Vec<&str> {
        words(text, lexis).into_iter().map(|span| &text[span.range()]).collect()
    }

    #[test]
    fn words_are_outside_of_comments_and_quotes() {
        let text = "x^2 := b₁ // no\n(* no *) a' \"no\" # no\ny";
        assert_eq!(texts(text, PROGRAM), ["x", "b₁", "a'", "y"]);
        assert_eq!(
            texts("let po-loc = rf^-1; a.b (* c\n*) d", MODEL),
            ["let", "po-loc", "rf", "a.b", "d"]
        );
        assert_eq!(texts("(* open", MODEL), [""; 0]);
    }

    #[test]
    fn what_is_typed_is_in_a_comment_or_in_quotes() {
        let text = "a // b\n(* c *) \"d\" e (* f";
        let of = |offset| around(text, MODEL, offset).map(|(piece, _)| piece);
        let at = |part: &str| text.find(part).unwrap_or_default();
        assert_eq!(
            (of(1), of(at("b")), of(at("b") + 1)),
            (None, Some(Piece::Comment), Some(Piece::Comment))
        );
        assert_eq!((of(at("c")), of(at("*)") + 2)), (Some(Piece::Block), None));
        assert_eq!((of(at("d") + 1), of(at("d") + 2)), (Some(Piece::Quote), None));
        assert_eq!((of(at("e")), of(text.len())), (None, Some(Piece::Comment)));
    }

    #[test]
    fn the_first_of_its_kind_defines() {
        let one = |name: &str, at, space, defines| Occurrence {
            name: name.to_owned(),
            span: Span::new(at, at + 1),
            space,
            defines,
        };
        let names = Names::introduced(vec![
            one("d", 9, Space::WorkId, false),
            one("d", 5, Space::WorkId, false),
            one("x", 7, Space::Value, true),
            one("x", 3, Space::Value, false),
        ]);
        let places: Vec<(usize, bool)> =
            names.all().iter().map(|one| (one.span.start, one.defines)).collect();
        assert_eq!(places, [(3, false), (5, true), (7, true), (9, false)]);
        let at = names.at(4).expect("behind it");
        assert_eq!(names.same(at).count(), 2);
        assert_eq!(names.definition("x", &Space::Value).map(|one| one.span.start), Some(7));
    }
}
