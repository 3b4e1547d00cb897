//! The secret that the machines of a site share, and the key that is made from it.

use std::io::Read;
use std::path::Path;

use snow::params::HashChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};

/// The shortest secret, in bytes.
const SHORTEST: usize = 16;
/// Keys that other programs make from the same text are other keys.
const PURPOSE: &[u8] = b"the link between litmus and its agents\n";

/// The secret that the agents and coordinators of a site share.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret")
    }
}

impl Secret {
    /// A new random secret.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn random() -> Result<Self, String> {
        Ok(Self(hex(&random::<32>()?).into_bytes()))
    }

    /// A secret from text. Blanks around it are ignored.
    ///
    /// # Errors
    /// Fails if it is too short.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < SHORTEST {
            let found = text.len();
            return Err(format!(
                "expected a secret of at least {SHORTEST} characters, found {found}"
            ));
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// Reads a secret from a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if the secret is too short.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        // The file may be a device without an end, so the read is limited.
        std::fs::File::open(path)
            .and_then(|file| file.take(1 << 16).read_to_string(&mut text))
            .map_err(|error| format!("the secret in {} cannot be read: {error}", path.display()))?;
        Self::from_text(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The secret as text, to pass to a process that is started.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The key of the link: a hash of the secret, which may have any length.
    ///
    /// # Errors
    /// Fails if the library of Noise was built without this hash.
    pub(super) fn key(&self) -> Result<[u8; 32], String> {
        let hash = DefaultResolver.resolve_hash(&HashChoice::Blake2s);
        let mut hash = hash.ok_or("there is no hash BLAKE2s")?;
        let mut key = [0; 32];
        hash.input(PURPOSE);
        hash.input(&self.0);
        hash.result(&mut key);
        Ok(key)
    }
}

/// Random bytes.
///
/// # Errors
/// Fails if the system has no random numbers.
pub(super) fn random<const COUNT: usize>() -> Result<[u8; COUNT], String> {
    let mut bytes = [0; COUNT];
    let filled = DefaultResolver.resolve_rng().map(|mut rng| rng.try_fill_bytes(&mut bytes));
    match filled {
        Some(Ok(())) => Ok(bytes),
        _ => Err("the system gives no random numbers".to_owned()),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}
