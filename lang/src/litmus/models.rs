//! Models as headers name them: shipped ones by name, others by their files, in quotes.

/// Whether a model of the header is a file, and not a shipped one.
pub fn is_model_file(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".cat").is_some_and(|stem| !stem.is_empty())
}

/// A model as the header names it: a file between quotes.
pub fn model_as_written(name: &str) -> String {
    if is_model_file(name) { quote(name) } else { name.to_owned() }
}

/// A text between quotes.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
