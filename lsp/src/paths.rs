//! Names of documents and paths of files.

use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use lsp_types::Uri;

/// The path of a document that is a file.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let path = decoded(&rest[rest.find('/')?..])?;
    // `/c:/x` is `c:/x` where paths have drives.
    let drive = path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if cfg!(windows) && drive { &path[1..] } else { &path }))
}

/// The document of a file.
pub fn uri_of(path: &Path) -> Option<Uri> {
    let path = path.to_str()?.replace('\\', "/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~+".contains(&byte);
    let mut uri = format!("file://{slash}");
    for byte in path.bytes() {
        match is_plain(byte) {
            true => uri.push(char::from(byte)),
            false => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::from_str(&uri).ok()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
                u8::try_from(value).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The name of a document in messages: its path, or what the editor calls it.
pub fn name_of(uri: &Uri) -> String {
    path_of(uri).map_or_else(|| uri.as_str().to_owned(), |path| path.to_string_lossy().into_owned())
}

/// A path without `.` and `..`.
pub fn resolved(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                found.pop();
            }
            other => found.push(other),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_named_and_read_again() {
        for path in ["/a/b c/SB+put-wait.litmus", "/ä/100%/#?.cat"] {
            let uri = uri_of(Path::new(path)).expect("a document");
            assert_eq!(path_of(&uri).as_deref(), Some(Path::new(path)), "{}", uri.as_str());
        }
        let other = |text| path_of(&Uri::from_str(text).expect("a document"));
        assert_eq!(other("untitled:Untitled-1"), None);
        assert_eq!(other("file:///a%2Bb"), Some(PathBuf::from("/a+b")));
        assert_eq!(other("file://host/a"), Some(PathBuf::from("/a")));
    }
}
