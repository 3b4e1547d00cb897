//! Messages over standard input and output. What is no message is answered too, and the next one is read.

use std::io::{self, BufRead, Read, Write};
use std::thread::{JoinHandle, spawn};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use lsp_server::{Connection, ErrorCode, Message};
use serde_json::{Value, json};

/// The largest message, in bytes.
const LARGEST: u64 = 64 << 20;
/// The longest line of a header, in bytes.
const LONGEST_LINE: u64 = 4096;

/// A connection with who has started this process.
pub struct Transport {
    /// Its two ends.
    pub connection: Connection,
    writer: JoinHandle<io::Result<()>>,
    /// Why no more is read.
    why: Receiver<io::Error>,
}

impl Transport {
    /// That of standard input and output.
    pub fn stdio() -> Self {
        let (sender, outgoing) = bounded::<Message>(0);
        let (incoming, receiver) = bounded::<Message>(0);
        let (tell, why) = unbounded();
        let writer = spawn(move || {
            outgoing.into_iter().try_for_each(|message| message.write(&mut io::stdout().lock()))
        });
        spawn(move || {
            let mut input = io::stdin().lock();
            let answer = |error: Value| write(&mut io::stdout().lock(), &error);
            if let Err(error) = read_all(&mut input, &answer, &incoming) {
                // If nobody asks why, nothing is lost.
                let _ = tell.send(error);
            }
        });
        Self { connection: Connection { sender, receiver }, writer, why }
    }

    /// Waits until all is written; `connection` has to be gone.
    ///
    /// # Errors
    /// What could not be read or written.
    pub fn join(writer: JoinHandle<io::Result<()>>, why: &Receiver<io::Error>) -> io::Result<()> {
        if let Ok(error) = why.try_recv() {
            return Err(error);
        }
        writer.join().unwrap_or(Ok(()))
    }

    /// The connection, and what [`Transport::join`] takes.
    pub fn parts(self) -> (Connection, JoinHandle<io::Result<()>>, Receiver<io::Error>) {
        (self.connection, self.writer, self.why)
    }
}

/// Reads messages until the last one. What is none is answered.
fn read_all(
    input: &mut impl BufRead,
    answer: &impl Fn(Value) -> io::Result<()>,
    messages: &Sender<Message>,
) -> io::Result<()> {
    while let Some(size) = header(input)? {
        if size > LARGEST {
            let skipped = io::copy(&mut input.take(size), &mut io::sink());
            let why = format!("expected a message of at most {LARGEST} bytes, found one of {size}");
            answer(refusal(Value::Null, ErrorCode::InvalidRequest, &why))?;
            skipped?;
            continue;
        }
        let mut text = Vec::new();
        if input.take(size).read_to_end(&mut text)? as u64 != size {
            return Ok(());
        }
        match message(&text) {
            Ok(message) => {
                let is_last =
                    matches!(&message, Message::Notification(told) if told.method == "exit");
                if messages.send(message).is_err() || is_last {
                    return Ok(());
                }
            }
            Err(error) => answer(error)?,
        }
    }
    Ok(())
}

/// How long the next message is; `None` if there is none.
fn header(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut size = None;
    loop {
        let mut line = Vec::new();
        if input.take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let invalid = |why: &str| {
            let message = format!("expected {why}, found {:?}", line.trim_end());
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let line = line.strip_suffix("\r\n").ok_or_else(|| invalid("a line of a header"))?;
        if line.is_empty() {
            return size.ok_or_else(|| invalid("a header with `Content-Length`")).map(Some);
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a line of a header"))?;
        if name.eq_ignore_ascii_case("Content-Length") {
            let number = value.trim().parse().map_err(|_| invalid("a number of bytes"))?;
            size = Some(number);
        }
    }
}

/// A message, or what is answered to a text that is none.
fn message(text: &[u8]) -> Result<Message, Value> {
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| refusal(Value::Null, ErrorCode::ParseError, &error.to_string()))?;
    let id = value.get("id").filter(|id| id.is_i64() || id.is_string()).cloned();
    serde_json::from_value(value).map_err(|_| {
        let why = "expected a request, a notification or a response";
        refusal(id.unwrap_or_default(), ErrorCode::InvalidRequest, why)
    })
}

fn refusal(id: Value, code: ErrorCode, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": why } })
}

fn write(output: &mut impl Write, value: &Value) -> io::Result<()> {
    let text = value.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn framed(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    /// The methods that are read, the codes that are answered, and whether reading ends well.
    fn read(input: &str) -> (Vec<String>, Vec<i64>, bool) {
        let (sender, receiver) = unbounded();
        let codes = RefCell::new(Vec::new());
        let answer = |value: Value| {
            codes.borrow_mut().extend(value["error"]["code"].as_i64());
            Ok(())
        };
        let ended = read_all(&mut input.as_bytes(), &answer, &sender);
        drop(sender);
        let method = |message| match message {
            Message::Request(request) => request.method,
            Message::Notification(told) => told.method,
            Message::Response(_) => String::new(),
        };
        (receiver.iter().map(method).collect(), codes.into_inner(), ended.is_ok())
    }

    #[test]
    fn what_is_no_message_is_answered() {
        let good = framed(r#"{"jsonrpc":"2.0","method":"a"}"#);
        let last = framed(r#"{"jsonrpc":"2.0","method":"exit"}"#);
        let text = [framed("{"), good.clone(), framed("[1]"), last, good.clone()].concat();
        let read_of = |text: &str| read(text);
        let (methods, codes, is_fine) = read_of(&text);
        assert_eq!(methods, ["a", "exit"], "nothing is read behind the last");
        assert_eq!((codes, is_fine), (vec![-32700, -32600], true));
        let (methods, codes, is_fine) =
            read_of(&format!("{good}Content-Length: 99999999999999999\r\n\r\n{good}"));
        assert_eq!((methods.len(), codes, is_fine), (1, vec![-32600], true));
        for header in ["Content-Length: -1\r\n\r\n", "Length\r\n\r\n", "\r\n", "no end"] {
            assert!(!read_of(header).2, "{header:?}");
        }
    }
}
