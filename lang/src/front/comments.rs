//! Comments of the form `(* … *)`, which may hold comments; and blanks for what is not to be read.

/// Where the comment with which a text begins is over: behind its `*)`.
pub(crate) fn end_of_comment(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(two) = text.as_bytes().get(at..at + 2) {
        match two {
            b"(*" => (depth, at) = (depth + 1, at + 2),
            b"*)" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Blanks as long as a text, its line ends kept.
pub(crate) fn blank(text: &str) -> impl Iterator<Item = char> {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })
}
