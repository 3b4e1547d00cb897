//! Long texts cut to what a person reads: lines to what is around some places, messages to their ends.

use std::borrow::Cow;
use std::ops::Range;

/// From how many bytes on a line is cut.
const LONG_LINE: usize = 240;
/// How many bytes are kept on each side of a place.
const AROUND: usize = 60;
/// From how many bytes on a message is cut.
const LONG_MESSAGE: usize = 400;
/// What stands for what was cut.
const GAP: &str = "…";

/// A text whose long lines are cut.
pub struct Clipped<'a> {
    /// What is left of it.
    pub text: Cow<'a, str>,
    /// What was cut of the whole text, in order.
    cuts: Vec<Range<usize>>,
}

impl<'a> Clipped<'a> {
    /// Keeps what is around the places, and the beginnings of lines that have none.
    pub fn new(text: &'a str, places: &[usize]) -> Self {
        let mut clipped = Self { text: Cow::Borrowed(text), cuts: Vec::new() };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\n', '\r']).len();
            if content > LONG_LINE {
                clipped.cuts.extend(cuts(text, start..start + content, places));
            }
            start += line.len();
        }
        if !clipped.cuts.is_empty() {
            let mut left = String::new();
            let mut end = 0;
            for cut in &clipped.cuts {
                left.push_str(&text[end..cut.start]);
                left.push_str(GAP);
                end = cut.end;
            }
            left.push_str(&text[end..]);
            clipped.text = Cow::Owned(left);
        }
        clipped
    }

    /// Where a place of the whole text is in what is left.
    pub fn place(&self, place: usize) -> usize {
        let before = self.cuts.iter().take_while(|cut| cut.end <= place);
        before.fold(place, |at, cut| at + GAP.len() - cut.len())
    }
}

/// What to cut of a line.
fn cuts(text: &str, line: Range<usize>, places: &[usize]) -> Vec<Range<usize>> {
    let mut places: Vec<usize> =
        places.iter().copied().filter(|place| (line.start..=line.end).contains(place)).collect();
    places.sort_unstable();
    if places.is_empty() {
        places.push(line.start);
    }
    let mut cuts = Vec::new();
    let mut end = line.start;
    for place in places {
        let kept = boundary(text, place.saturating_sub(AROUND).max(line.start));
        if kept > end + GAP.len() {
            cuts.push(end..kept);
        }
        end = end.max(boundary(text, (place + AROUND).min(line.end)));
    }
    if end + GAP.len() < line.end {
        cuts.push(end..line.end);
    }
    cuts
}

/// The same place, or that of the character that it is in.
fn boundary(text: &str, mut place: usize) -> usize {
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}

/// A message, without its middle if it is long: a name in it can be of any length.
pub fn message(text: String) -> String {
    if text.len() <= LONG_MESSAGE {
        return text;
    }
    let (head, tail) =
        (boundary(&text, LONG_MESSAGE / 2), boundary(&text, text.len() - LONG_MESSAGE / 4));
    format!("{}{GAP}{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_stay() {
        let text = "a\nbb\n";
        assert_eq!(Clipped::new(text, &[2]).text, text);
    }

    #[test]
    fn places_are_kept_and_found() {
        let text = format!(
            "{}\n{}X{}Y{}\nend",
            "ä".repeat(300),
            "é".repeat(999),
            "ü".repeat(999),
            "-".repeat(9)
        );
        let places = [text.find('X'), text.find('Y'), text.find("end"), Some(text.len())]
            .map(Option::unwrap_or_default);
        let clipped = Clipped::new(&text, &places);
        assert!(clipped.text.len() < 600, "{}", clipped.text);
        for (place, letter) in places.into_iter().zip(["X", "Y", "end", ""]) {
            assert!(clipped.text[clipped.place(place)..].starts_with(letter), "{letter}");
        }
        assert!(clipped.text.ends_with("üY---------\nend"));
        assert_eq!(clipped.text.matches(GAP).count(), 3);
        assert_eq!(clipped.place(0), 0);
    }

    #[test]
    fn messages_keep_their_ends() {
        assert_eq!(message("short".to_owned()), "short");
        let long = message(format!("expected é, found `{}`", "é".repeat(90_000)));
        assert!(long.len() < LONG_MESSAGE && long.starts_with("expected") && long.ends_with('`'));
    }
}
