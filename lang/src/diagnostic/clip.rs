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

/// The lines of a text from the first place to the last, the long ones cut. Those above are empty, so that
/// lines keep their numbers; to draw what is above and below takes time, of large texts much.
pub struct Clipped<'a> {
    /// What is left of it.
    pub text: Cow<'a, str>,
    /// What stands for the text before.
    above: Range<usize>,
    /// What was cut of the lines, in order; places of the whole text.
    cuts: Vec<Range<usize>>,
}

impl<'a> Clipped<'a> {
    /// Keeps what is around the places, and the beginnings of lines that have none.
    pub fn new(text: &'a str, places: &[usize]) -> Self {
        let kept = lines_of(text, places);
        let mut left = "\n".repeat(text[..kept.start].matches('\n').count());
        let above = left.len()..kept.start;
        let mut cuts_of_lines = Vec::new();
        let mut start = kept.start;
        for line in text[kept.clone()].split_inclusive('\n') {
            let content = line.trim_end_matches(['\n', '\r']).len();
            if content > LONG_LINE {
                cuts_of_lines.extend(cuts(text, start..start + content, places));
            }
            start += line.len();
        }
        if kept == (0..text.len()) && cuts_of_lines.is_empty() {
            return Self { text: Cow::Borrowed(text), above, cuts: cuts_of_lines };
        }
        let mut end = kept.start;
        for cut in &cuts_of_lines {
            left.push_str(&text[end..cut.start]);
            left.push_str(GAP);
            end = cut.end;
        }
        left.push_str(&text[end..kept.end]);
        Self { text: Cow::Owned(left), above, cuts: cuts_of_lines }
    }

    /// Where a place of the whole text is in what is left.
    pub fn place(&self, place: usize) -> usize {
        let before = self.cuts.iter().take_while(|cut| cut.end <= place);
        let at = before.fold(place, |at, cut| at + GAP.len() - cut.len());
        (at + self.above.start).saturating_sub(self.above.end)
    }
}

/// From where to where the lines are that have places.
fn lines_of(text: &str, places: &[usize]) -> Range<usize> {
    let at =
        |place: Option<&usize>| boundary(text, place.map_or(0, |place| *place.min(&text.len())));
    // The end of the text is drawn behind its last line.
    let first = boundary(text, at(places.iter().min()).min(text.len().saturating_sub(1)));
    let last = at(places.iter().max()).max(first);
    let start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline + 1);
    start..end
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
        assert_eq!(Clipped::new(text, &[0, 2]).text, text);
    }

    #[test]
    fn lines_without_places_are_left_out() {
        let text = "a\nbb\ncc\ndd\ne";
        for (places, left) in [
            (&[3, 6][..], "\nbb\ncc\n"),
            (&[4], "\nbb\n"),
            (&[11], "\n\n\n\ne"),
            (&[12], "\n\n\n\ne"),
            (&[], "a\n"),
        ] {
            let clipped = Clipped::new(text, places);
            assert_eq!(clipped.text, left);
            for place in places {
                assert_eq!(
                    clipped.text[clipped.place(*place)..].chars().next(),
                    text[*place..].chars().next()
                );
            }
        }
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
        assert_eq!(clipped.text.matches(GAP).count(), 2);
        assert_eq!(clipped.place(0), 0, "what is left out has no place");
    }

    #[test]
    fn messages_keep_their_ends() {
        assert_eq!(message("short".to_owned()), "short");
        let long = message(format!("expected é, found `{}`", "é".repeat(90_000)));
        assert!(long.len() < LONG_MESSAGE && long.starts_with("expected") && long.ends_with('`'));
    }
}
