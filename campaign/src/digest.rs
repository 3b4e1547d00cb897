//! What identifies texts and lines: FNV-1a of 64 bits, the same on every platform and in every version. It
//! shows changes, and resists no attack.

/// FNV-1a of texts.
pub fn fnv1a(texts: &[&str]) -> u64 {
    let mut digest = Digest::default();
    texts.iter().for_each(|text| digest.add(text));
    digest.0
}

/// What identifies a text, as 16 hexadecimal digits.
pub fn hash_text(text: &str) -> String {
    let mut digest = Digest::default();
    digest.add(text);
    digest.text()
}

/// What tells whether lines are those that were written: [`fnv1a`] of all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Takes up a text.
    pub fn add(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Takes up a line, without its end.
    pub fn line(&mut self, line: &[u8]) {
        self.bytes(line.strip_suffix(b"\r").unwrap_or(line));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        // A byte that no UTF-8 text has ends each one, so that ("a", "b") and ("ab", "") differ.
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// As files hold it: 16 hexadecimal digits.
    pub fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}
