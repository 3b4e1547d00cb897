//! The messages between NICs, and their encoding as bytes.
//!
//! A message goes from one queue pair to another, within a session. The session number ensures that a message
//! from before a reset is not mistaken for a current one.

use crate::request::{HEADER, Remote, Status};
use crate::spare;

/// A queue pair, as all hosts name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The number of its host; 0 in a network of one host.
    pub host: u32,
    /// Its number there.
    pub queue_pair: u32,
}

/// A message between two queue pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The queue pair that receives it.
    pub to: Address,
    /// The queue pair that sent it.
    pub from: Address,
    /// The session number of the requester.
    pub session: u32,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// From the requester: are you connected to me, at this device and port of yours?
    Hello {
        /// The number of the responder's port in the network.
        port: u16,
        /// The requester's first sequence number, which the responder must expect.
        sequence: u32,
    },
    /// From the responder: yes.
    Welcome,
    /// From the responder: no, or no longer.
    Absent,
    /// From the requester: the session has ended, and nothing of it is sent again.
    Ended,
    /// From the requester: a request.
    Request {
        /// The number of the request in the session.
        number: u64,
        /// The operation.
        request: Request,
    },
    /// From the responder: the request was performed.
    Done {
        /// The number of the request.
        number: u64,
        /// The bytes that a read or atomic has read.
        bytes: Vec<u8>,
    },
    /// From the responder: the request failed.
    Failed {
        /// The number of the request.
        number: u64,
        /// The reason.
        status: Status,
    },
}

/// The operation of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// RDMA WRITE.
    Write {
        /// The memory to write to.
        remote: Remote,
        /// The bytes to write.
        bytes: Vec<u8>,
        /// Immediate data. If present, the write consumes a receive request.
        immediate: Option<u32>,
        /// Whether the receiver asked to be woken by it.
        solicited: bool,
        /// How often it is tried again if there is no receive request; 7 means forever.
        retries: u8,
    },
    /// SEND.
    Send {
        /// The bytes to send.
        bytes: Vec<u8>,
        /// Immediate data.
        immediate: Option<u32>,
        /// Whether the receiver asked to be woken by it.
        solicited: bool,
        /// How often it is tried again if there is no receive request; 7 means forever.
        retries: u8,
    },
    /// SEND of a datagram. Nobody answers it.
    Datagram {
        /// The key that the receiver must have.
        key: u32,
        /// The number of the receiver's port in the network.
        port: u16,
        /// The number of the sender's port.
        from_port: u16,
        /// The global route header, if there is one.
        header: Option<[u8; HEADER]>,
        /// The bytes to send.
        bytes: Vec<u8>,
        /// Immediate data.
        immediate: Option<u32>,
        /// Whether the receiver asked to be woken by it.
        solicited: bool,
    },
    /// RDMA READ.
    Read {
        /// The memory to read.
        remote: Remote,
        /// The number of bytes.
        length: u32,
    },
    /// ATOMIC CMP_AND_SWP.
    CompareAndSwap {
        /// The word to change.
        remote: Remote,
        /// The value that the word is compared with.
        compare: u64,
        /// The value that replaces it if they are equal.
        swap: u64,
    },
    /// ATOMIC FETCH_AND_ADD.
    FetchAndAdd {
        /// The word to change.
        remote: Remote,
        /// The number to add.
        add: u64,
    },
    /// ATOMIC WRITE.
    AtomicWrite {
        /// The word to write to.
        remote: Remote,
        /// The value to write.
        value: u64,
    },
    /// FLUSH.
    Flush {
        /// The memory whose writes are flushed.
        remote: Remote,
        /// Its length in bytes. `None` for all of its region.
        length: Option<u64>,
        /// The access rights that it takes.
        needs: u32,
    },
}

impl Request {
    /// Whether its receiver answers with more than an acknowledgement, as to reads, atomics and flushes: it
    /// serves only some of these at once.
    pub fn fetches(&self) -> bool {
        use Request::{CompareAndSwap, FetchAndAdd, Flush, Read};
        matches!(self, Read { .. } | Flush { .. } | CompareAndSwap { .. } | FetchAndAdd { .. })
    }
}

/// The longest message that is accepted: a request with the most data, and its header.
const LONGEST: usize = (1 << 30) + 128;

/// The most bytes of a message before its data.
const HEAD: usize = 128;

impl Message {
    /// Appends the message as bytes, after their number, except the data at its end. Returns that data, which
    /// may be long.
    #[must_use]
    pub fn write(mut self, out: &mut Vec<u8>) -> Vec<u8> {
        let start = out.len();
        out.extend([0; 4]);
        // What connects hosts reads these as well (`nodes/bridge` of the crate `executor`).
        for address in [self.to, self.from] {
            out.extend(address.host.to_le_bytes());
            out.extend(address.queue_pair.to_le_bytes());
        }
        out.extend(self.session.to_le_bytes());
        write_body(&self.body, out);
        let data = self.body.data().map(std::mem::take).unwrap_or_default();
        let length = (out.len() - start - 4 + data.len()) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        data
    }

    /// The first message in the bytes. `None` if they are too few.
    ///
    /// # Errors
    /// The bytes are not a message.
    pub fn read(bytes: &[u8]) -> Result<Option<Read>, Garbled> {
        let Some((length, content)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST {
            return Err(Garbled);
        }
        let here = length.min(content.len());
        if here < length.min(HEAD) {
            return Ok(None);
        }
        let missing = length - here;
        let mut reader = Reader { here: &content[..here], behind: missing };
        let (to, from, session) = (reader.address()?, reader.address()?, reader.u32()?);
        let body = read_body(&mut reader)?;
        if reader.here.is_empty() && reader.behind == 0 {
            let message = Self { to, from, session, body };
            Ok(Some(Read { message, length: 4 + here, missing }))
        } else {
            Err(Garbled)
        }
    }
}

/// A message that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Read {
    /// The message.
    pub message: Message,
    /// How many bytes it takes of those that were there.
    pub length: usize,
    /// How many bytes at the end of its data were not there.
    pub missing: usize,
}

impl Body {
    /// The data, which is at the end of the message.
    pub fn data(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Done { bytes, .. }
            | Self::Request { request: Request::Write { bytes, .. }, .. }
            | Self::Request { request: Request::Send { bytes, .. }, .. }
            | Self::Request { request: Request::Datagram { bytes, .. }, .. } => Some(bytes),
            _ => None,
        }
    }
}

/// The error for bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

fn write_body(body: &Body, out: &mut Vec<u8>) {
    match body {
        Body::Hello { port, sequence } => {
            out.push(0);
            out.extend(port.to_le_bytes());
            out.extend(sequence.to_le_bytes());
        }
        Body::Welcome => out.push(1),
        Body::Absent => out.push(2),
        Body::Request { number, request } => {
            out.push(3);
            out.extend(number.to_le_bytes());
            write_request(request, out);
        }
        Body::Done { number, bytes } => {
            out.push(4);
            out.extend(number.to_le_bytes());
            write_length(bytes, out);
        }
        Body::Failed { number, status } => {
            out.push(5);
            out.extend(number.to_le_bytes());
            out.push(*status as u8);
        }
        Body::Ended => out.push(6),
    }
}

fn write_request(request: &Request, out: &mut Vec<u8>) {
    match request {
        Request::Write { remote, bytes, immediate, solicited, retries } => {
            out.push(0);
            write_remote(*remote, out);
            write_delivery(*immediate, *solicited, *retries, out);
            write_length(bytes, out);
        }
        Request::Send { bytes, immediate, solicited, retries } => {
            out.push(1);
            write_delivery(*immediate, *solicited, *retries, out);
            write_length(bytes, out);
        }
        Request::Datagram { key, port, from_port, header, bytes, immediate, solicited } => {
            out.push(5);
            out.extend(key.to_le_bytes());
            out.extend(port.to_le_bytes());
            out.extend(from_port.to_le_bytes());
            out.push(u8::from(header.is_some()));
            out.extend(header.unwrap_or([0; HEADER]));
            write_delivery(*immediate, *solicited, 0, out);
            write_length(bytes, out);
        }
        Request::Read { remote, length } => {
            out.push(2);
            write_remote(*remote, out);
            out.extend(length.to_le_bytes());
        }
        Request::CompareAndSwap { remote, compare, swap } => {
            out.push(3);
            write_remote(*remote, out);
            out.extend(compare.to_le_bytes());
            out.extend(swap.to_le_bytes());
        }
        Request::FetchAndAdd { remote, add } => {
            out.push(4);
            write_remote(*remote, out);
            out.extend(add.to_le_bytes());
        }
        Request::AtomicWrite { remote, value } => {
            out.push(6);
            write_remote(*remote, out);
            out.extend(value.to_le_bytes());
        }
        Request::Flush { remote, length, needs } => {
            out.push(7);
            write_remote(*remote, out);
            out.push(u8::from(length.is_some()));
            out.extend(length.unwrap_or(0).to_le_bytes());
            out.extend(needs.to_le_bytes());
        }
    }
}

fn write_remote(remote: Remote, out: &mut Vec<u8>) {
    out.extend(remote.address.to_le_bytes());
    out.extend(remote.key.to_le_bytes());
}

fn write_delivery(immediate: Option<u32>, solicited: bool, retries: u8, out: &mut Vec<u8>) {
    out.push(u8::from(immediate.is_some()) | u8::from(solicited) << 1);
    out.push(retries);
    out.extend(immediate.unwrap_or(0).to_le_bytes());
}

fn write_length(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend((bytes.len() as u32).to_le_bytes());
}

/// The bytes of a message: those that are here, and the number of those that are not.
struct Reader<'a> {
    here: &'a [u8],
    behind: usize,
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        let (first, rest) = self.here.split_first_chunk::<N>().ok_or(Garbled)?;
        self.here = rest;
        Ok(*first)
    }

    fn u8(&mut self) -> Result<u8, Garbled> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, Garbled> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Garbled> {
        self.array().map(u64::from_le_bytes)
    }

    /// The data, or as much of it as is here.
    fn bytes(&mut self) -> Result<Vec<u8>, Garbled> {
        let length = self.u32()? as usize;
        let (bytes, rest) = self.here.split_at(length.min(self.here.len()));
        self.here = rest;
        self.behind = self.behind.checked_sub(length - bytes.len()).ok_or(Garbled)?;
        let mut data = spare::promised(length);
        data.extend_from_slice(bytes);
        Ok(data)
    }

    fn address(&mut self) -> Result<Address, Garbled> {
        Ok(Address { host: self.u32()?, queue_pair: self.u32()? })
    }

    fn remote(&mut self) -> Result<Remote, Garbled> {
        Ok(Remote { address: self.u64()?, key: self.u32()? })
    }

    fn delivery(&mut self) -> Result<(Option<u32>, bool, u8), Garbled> {
        let flags = self.u8()?;
        if flags > 3 {
            return Err(Garbled);
        }
        let (retries, immediate) = (self.u8()?, self.u32()?);
        Ok(((flags & 1 != 0).then_some(immediate), flags & 2 != 0, retries))
    }
}

fn read_body(reader: &mut Reader<'_>) -> Result<Body, Garbled> {
    Ok(match reader.u8()? {
        0 => Body::Hello { port: u16::from_le_bytes(reader.array()?), sequence: reader.u32()? },
        1 => Body::Welcome,
        2 => Body::Absent,
        3 => Body::Request { number: reader.u64()?, request: read_request(reader)? },
        4 => Body::Done { number: reader.u64()?, bytes: reader.bytes()? },
        5 => {
            let number = reader.u64()?;
            Body::Failed { number, status: Status::from_code(reader.u8()?).ok_or(Garbled)? }
        }
        6 => Body::Ended,
        _ => return Err(Garbled),
    })
}

fn read_request(reader: &mut Reader<'_>) -> Result<Request, Garbled> {
    Ok(match reader.u8()? {
        0 => {
            let remote = reader.remote()?;
            let (immediate, solicited, retries) = reader.delivery()?;
            Request::Write { remote, immediate, solicited, retries, bytes: reader.bytes()? }
        }
        1 => {
            let (immediate, solicited, retries) = reader.delivery()?;
            Request::Send { immediate, solicited, retries, bytes: reader.bytes()? }
        }
        2 => Request::Read { remote: reader.remote()?, length: reader.u32()? },
        3 => {
            let remote = reader.remote()?;
            Request::CompareAndSwap { remote, compare: reader.u64()?, swap: reader.u64()? }
        }
        5 => {
            let (key, port) = (reader.u32()?, u16::from_le_bytes(reader.array()?));
            let from_port = u16::from_le_bytes(reader.array()?);
            let (global, header) = (reader.u8()?, reader.array()?);
            let header = (global != 0).then_some(header);
            let (immediate, solicited, _) = reader.delivery()?;
            let bytes = reader.bytes()?;
            Request::Datagram { key, port, from_port, header, bytes, immediate, solicited }
        }
        4 => Request::FetchAndAdd { remote: reader.remote()?, add: reader.u64()? },
        6 => Request::AtomicWrite { remote: reader.remote()?, value: reader.u64()? },
        7 => {
            let remote = reader.remote()?;
            let (is_range, length) = (reader.u8()? != 0, reader.u64()?);
            Request::Flush { remote, length: is_range.then_some(length), needs: reader.u32()? }
        }
        _ => return Err(Garbled),
    })
}

#[cfg(test)]
mod tests;
