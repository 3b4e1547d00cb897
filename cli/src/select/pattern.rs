//! What `-k` takes: globs over names, joined by `and`, `or` and `not`.
//!
//! A model is not known of everything that is selected among: so a pattern may match, not match, or leave it
//! open.

use std::str::FromStr;

use crate::models::names;

/// A pattern of `-k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One glob.
    Glob(Glob),
    /// Not what this selects.
    Not(Box<Pattern>),
    /// What all select.
    All(Vec<Pattern>),
    /// What one selects.
    Any(Vec<Pattern>),
}

/// What a glob is looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// All of them.
    Any,
    Name,
    Group,
    Model,
    Tag,
}

const FIELDS: [(&str, Field); 4] = [
    ("name:", Field::Name),
    ("group:", Field::Group),
    ("model:", Field::Model),
    ("tag:", Field::Tag),
];

/// One glob, and what it is looked for in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    field: Field,
    /// In lower case.
    pieces: Vec<Piece>,
    has_slash: bool,
    is_plain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    /// `?`
    One,
    /// `*`
    Many,
    /// `[a-c]`, `[!a-c]`: which, and whether it is the others.
    Class(Vec<(char, char)>, bool),
}

/// What patterns select among.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// The path of its file without the ending, with `/` between folders.
    pub path: &'a str,
    /// The words of its line `tags`.
    pub tags: &'a [String],
    /// The model under which it is asked about; `None` if that is not known.
    pub model: Option<&'a str>,
}

impl Subject<'_> {
    /// The folder that it is in.
    fn group(&self) -> &str {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folder.rsplit('/').next().unwrap_or_default()
    }
}

impl Pattern {
    /// Whether it selects the subject; `None` if that depends on the model, which is not known.
    pub fn selects(&self, subject: Subject<'_>) -> Option<bool> {
        match self {
            Self::Glob(glob) => glob.matches(subject),
            Self::Not(pattern) => pattern.selects(subject).map(|is_selected| !is_selected),
            Self::All(patterns) => decided(patterns, subject, false),
            Self::Any(patterns) => decided(patterns, subject, true),
        }
    }
}

/// `by` if one pattern says so, open if one leaves it open, and the opposite otherwise.
fn decided(patterns: &[Pattern], subject: Subject<'_>, by: bool) -> Option<bool> {
    let mut is_open = false;
    for pattern in patterns {
        match pattern.selects(subject) {
            Some(is_selected) if is_selected == by => return Some(by),
            Some(_) => {}
            None => is_open = true,
        }
    }
    if is_open { None } else { Some(!by) }
}

impl Glob {
    fn matches(&self, subject: Subject<'_>) -> Option<bool> {
        let is = |field| self.field == Field::Any || self.field == field;
        let in_name = is(Field::Name) && self.is_in(subject.name, !self.is_plain);
        let in_group = is(Field::Group) && self.is_in(subject.group(), !self.is_plain);
        let in_path = self.field == Field::Any && self.has_slash && self.ends(subject.path);
        let in_tags = is(Field::Tag) && subject.tags.iter().any(|tag| self.is_in(tag, true));
        if in_name || in_group || in_path || in_tags {
            return Some(true);
        }
        if !is(Field::Model) {
            return Some(false);
        }
        // `rdma-tso` means this model, and not rdma-tso-rmw too.
        match subject.model {
            Some(model) => Some(self.is_in(model, true)),
            None if names().any(|model| self.is_in(model, true)) => None,
            None => Some(false),
        }
    }

    /// Whether it matches a text, the whole of it or some part.
    fn is_in(&self, text: &str, is_whole: bool) -> bool {
        let text: Vec<char> = text.to_lowercase().chars().collect();
        let starts = if is_whole { 0..=0 } else { 0..=text.len() };
        starts.into_iter().any(|start| fits(&self.pieces, &text[start..], is_whole))
    }

    /// Whether it matches the end of a path, from some folder on.
    fn ends(&self, path: &str) -> bool {
        let after = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        std::iter::once(path).chain(after).any(|end| self.is_in(end, !self.is_plain))
    }
}

/// Whether the text, or a beginning of it, is as the pieces say.
fn fits(pieces: &[Piece], text: &[char], is_whole: bool) -> bool {
    // The places up to which the pieces so far may reach.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for piece in pieces {
        let mut next = vec![false; text.len() + 1];
        for at in (0..=text.len()).filter(|at| ends[*at]) {
            match piece {
                Piece::Many => next[at..].fill(true),
                _ if at < text.len() && piece.is(text[at]) => next[at + 1] = true,
                _ => {}
            }
        }
        ends = next;
    }
    if is_whole { ends[text.len()] } else { ends.contains(&true) }
}

impl Piece {
    fn is(&self, letter: char) -> bool {
        match self {
            Self::Letter(own) => *own == letter,
            Self::One | Self::Many => true,
            Self::Class(ranges, is_not) => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *is_not
            }
        }
    }
}

impl FromStr for Glob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found =
            FIELDS.iter().find_map(|(word, field)| Some((*field, text.strip_prefix(word)?)));
        let (field, glob) = found.unwrap_or((Field::Any, text));
        if glob.is_empty() {
            return Err(format!("expected a glob after `{text}`, found nothing"));
        }
        let mut pieces = Vec::new();
        let mut letters = glob.to_lowercase().chars().collect::<Vec<_>>().into_iter().peekable();
        while let Some(letter) = letters.next() {
            pieces.push(match letter {
                '*' => Piece::Many,
                '?' => Piece::One,
                '[' => class(&mut letters).ok_or_else(|| format!("expected `]` in `{text}`"))?,
                letter => Piece::Letter(letter),
            });
        }
        let is_plain = pieces.iter().all(|piece| matches!(piece, Piece::Letter(_)));
        Ok(Self { field, pieces, has_slash: glob.contains('/'), is_plain })
    }
}

/// What follows `[`, up to `]`.
fn class(letters: &mut std::iter::Peekable<std::vec::IntoIter<char>>) -> Option<Piece> {
    let is_not = letters.next_if(|letter| "!^".contains(*letter)).is_some();
    let mut ranges = Vec::new();
    loop {
        match letters.next()? {
            ']' if !ranges.is_empty() => return Some(Piece::Class(ranges, is_not)),
            from if letters.peek() == Some(&'-') => {
                letters.next();
                match letters.next()? {
                    ']' => {
                        ranges.extend([(from, from), ('-', '-')]);
                        return Some(Piece::Class(ranges, is_not));
                    }
                    to => ranges.push((from, to)),
                }
            }
            letter => ranges.push((letter, letter)),
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    /// `or` is looser than `and`, and that looser than `not`.
    fn from_str(text: &str) -> Result<Self, String> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace().peekable();
        let pattern = any(&mut words, 0)?;
        match words.next() {
            None => Ok(pattern),
            Some(word) => Err(format!("expected the end, found `{word}`")),
        }
    }
}

type Words<'a, 'b> = &'a mut std::iter::Peekable<std::str::SplitWhitespace<'b>>;

/// The deepest nesting of parentheses and `not`.
const DEEPEST: usize = 64;

fn any(words: Words<'_, '_>, depth: usize) -> Result<Pattern, String> {
    let mut parts = vec![all(words, depth)?];
    while words.next_if_eq(&"or").is_some() {
        parts.push(all(words, depth)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Pattern::Any(parts) })
}

fn all(words: Words<'_, '_>, depth: usize) -> Result<Pattern, String> {
    let mut parts = vec![one(words, depth)?];
    while words.next_if_eq(&"and").is_some() {
        parts.push(one(words, depth)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Pattern::All(parts) })
}

fn one(words: Words<'_, '_>, depth: usize) -> Result<Pattern, String> {
    if depth > DEEPEST {
        return Err(format!("expected at most {DEEPEST} levels, found more"));
    }
    match words.next() {
        Some("not") => Ok(Pattern::Not(Box::new(one(words, depth + 1)?))),
        Some("(") => {
            let inner = any(words, depth + 1)?;
            match words.next() {
                Some(")") => Ok(inner),
                word => Err(format!("expected `)`, found {}", quoted(word))),
            }
        }
        word @ (None | Some("and" | "or" | ")")) => {
            Err(format!("expected a glob, found {}", quoted(word)))
        }
        Some(word) => Ok(Pattern::Glob(word.parse()?)),
    }
}

fn quoted(word: Option<&str>) -> String {
    word.map_or("the end".to_owned(), |word| format!("`{word}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(pattern: &str, model: Option<&str>) -> Option<bool> {
        let subject = Subject {
            name: "MP+put-put+po",
            path: "suite/put-get/MP+put-put+po",
            tags: &["nightly".to_owned()],
            model,
        };
        pattern.parse::<Pattern>().unwrap().selects(subject)
    }

    #[test]
    fn globs() {
        for yes in [
            "MP*",
            "mp",
            "*put*",
            "put-put",
            "?P+*",
            "[lm]p*",
            "[!a-l]P*",
            "put-get",
            "put-g*",
            "put-get/*",
            "suite/put-get/MP*",
            "*/put-get/*",
            "get/mp",
            "rdma-tso",
            "rdma-*",
            "nightly",
            "tag:night*",
            "name:MP",
            "group:put",
            "model:rdma-tso",
            "*",
            "MP* and not *rfaa*",
            "(SB* or MP*) and put-get",
            "not (SB* or LB*)",
            "not name:SB or x",
        ] {
            assert_eq!(selects(yes, Some("rdma-tso")), Some(true), "{yes}");
        }
        for no in [
            "SB*",
            "P+get",
            "[!m]P*",
            "put-x",
            "et/*",
            "rdma",
            "tso",
            "model:rdma",
            "night",
            "group:suite",
            "name:put-get/*",
            "MP* and SB*",
            "not MP*",
            "rdma-wait",
        ] {
            assert_eq!(selects(no, Some("rdma-tso")), Some(false), "{no}");
        }
    }

    #[test]
    fn without_a_model_it_may_be_open() {
        for (pattern, expected) in [
            ("MP*", Some(true)),
            ("SB*", Some(false)),
            ("sc", None),
            ("not sc", None),
            ("name:sc", Some(false)),
            ("model:sc and name:SB*", Some(false)),
            ("model:sc or name:MP*", Some(true)),
        ] {
            assert_eq!(selects(pattern, None), expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let deep = "not ".repeat(100) + "x";
        for wrong in
            ["", "and", "a b", "a and", "(a", "a)", "not", "[a", "[", "name:", "or a", &deep]
        {
            assert!(wrong.parse::<Pattern>().is_err(), "{wrong}");
        }
    }
}
