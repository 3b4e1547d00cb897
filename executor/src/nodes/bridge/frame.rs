//! The messages of NICs, as far as a bridge reads them. The crate `nic` says what they are (`wire.rs`).

use std::io::{self, BufRead, ErrorKind, Read};

/// The bits of a queue pair's number that count within a process. Those above are its place.
const INDEX_BITS: u32 = 14;
/// The bytes of the length, of both addresses, of the session, and of the kind.
const SHORTEST: usize = LENGTH + 8 + 8 + 4 + 1;
const LENGTH: usize = 4;
/// The longest message: a request with the most data.
const LONGEST: usize = (1 << 30) + 1024;
/// "I am not there, or no longer."
const ABSENT: u8 = 2;

/// A message: its bytes, and who it is from and for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub bytes: Vec<u8>,
}

impl Frame {
    /// What says that a process is gone, or all those of a host (place 0). It is for all processes.
    pub(super) fn gone(to: u32, from: u32, place: u16) -> Self {
        let mut bytes = ((SHORTEST - LENGTH) as u32).to_le_bytes().to_vec();
        for word in [to, 0, from, u32::from(place) << INDEX_BITS, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.push(ABSENT);
        Self { bytes }
    }

    fn word(&self, at: usize) -> u32 {
        let word = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        u32::from_le_bytes(*word.unwrap_or(&[0; 4]))
    }

    /// The host that it is for, and the place of the process.
    pub(super) fn to(&self) -> (u32, u16) {
        (self.word(LENGTH), (self.word(LENGTH + 4) >> INDEX_BITS) as u16)
    }

    /// The host that it is from, and the place of the process.
    pub(super) fn from(&self) -> (u32, u16) {
        (self.word(LENGTH + 8), (self.word(LENGTH + 12) >> INDEX_BITS) as u16)
    }

    /// Whether it is for all processes of a host.
    pub(super) fn is_for_all(&self) -> bool {
        self.word(LENGTH + 4) == 0
    }

    /// Reads the next one. False: there is none.
    pub(super) fn read(&mut self, reader: &mut impl BufRead) -> io::Result<bool> {
        self.bytes.clear();
        if reader.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let mut length = [0; LENGTH];
        reader.read_exact(&mut length)?;
        let rest = u32::from_le_bytes(length) as usize;
        if !(SHORTEST - LENGTH..=LONGEST).contains(&rest) {
            return Err(io::Error::new(ErrorKind::InvalidData, "it says what is no message"));
        }
        self.bytes.extend(length);
        // Memory grows with what comes, not with what is promised.
        let count = reader.take(rest as u64).read_to_end(&mut self.bytes)?;
        if count < rest { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(true) }
    }
}

/// Whether these bytes begin with a whole message.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk::<LENGTH>().map(|length| u32::from_le_bytes(*length) as usize);
    length.is_some_and(|length| bytes.len() >= LENGTH + length)
}
