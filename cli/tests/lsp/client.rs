//! An editor, as far as tests need one.

use std::collections::HashMap;
use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lang::source::Span;
use lsp_server::{Message, Notification, Request, RequestId};
use serde_json::{Value, json};

pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub capabilities: Value,
    requests: i32,
    answers: HashMap<RequestId, Value>,
    /// The last problems of each text, not looked at yet.
    problems: HashMap<String, Value>,
}

/// A place in a text.
pub fn at(uri: &str, line: usize, character: usize) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } })
}

/// All of a text.
pub fn everywhere(uri: &str) -> Value {
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9999, "character": 0 } });
    json!({ "textDocument": { "uri": uri }, "range": range })
}

/// The offset of a position, whose column counts units of UTF-16.
fn offset(text: &str, position: &Value) -> usize {
    let [line, column] = ["line", "character"]
        .map(|part| usize::try_from(position[part].as_u64().unwrap()).unwrap());
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let mut units = 0;
    for (at, character) in text[start..].char_indices() {
        if units >= column {
            return start + at;
        }
        units += character.len_utf16();
    }
    text.len()
}

/// A text after edits.
pub fn applied(text: &str, edits: &Value) -> String {
    let edit = |edit: &Value| {
        let [start, end] = ["start", "end"].map(|part| offset(text, &edit["range"][part]));
        (Span::new(start, end), edit["newText"].as_str().unwrap().to_owned())
    };
    let edits: Vec<_> = edits.as_array().unwrap().iter().map(edit).collect();
    lang::diagnostic::apply(text, &edits)
}

impl Client {
    /// A client that says that it can do so much.
    pub fn new(capabilities: Value) -> Self {
        Self::with(capabilities, None, 60)
    }

    /// A client with a folder, whose answers may take so many seconds.
    pub fn with(capabilities: Value, root: Option<&str>, seconds: u32) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litmus"));
        command.arg("lsp").env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self {
            child,
            input,
            output,
            capabilities: Value::Null,
            requests: 0,
            answers: HashMap::new(),
            problems: HashMap::new(),
        };
        // However busy the machine is, what is shipped is checked.
        let options = json!({ "seconds": seconds });
        let asked = json!({
            "processId": null, "rootUri": root, "capabilities": capabilities,
            "initializationOptions": options,
        });
        client.capabilities = client.ask("initialize", asked)["capabilities"].clone();
        client.tell("initialized", json!({}));
        client
    }

    fn write(&mut self, message: impl Into<Message>) {
        message.into().write(self.input.as_mut().unwrap()).unwrap();
    }

    fn read(&mut self) {
        match Message::read(&mut self.output).unwrap().expect("the server is there") {
            Message::Response(response) => {
                let value = serde_json::to_value(&response).unwrap();
                self.answers.insert(response.id, value);
            }
            Message::Notification(told) if told.method == "textDocument/publishDiagnostics" => {
                let uri = told.params["uri"].as_str().unwrap().to_owned();
                self.problems.insert(uri, told.params["diagnostics"].clone());
            }
            Message::Notification(_) | Message::Request(_) => {}
        }
    }

    pub fn tell(&mut self, method: &str, params: Value) {
        self.write(Notification::new(method.to_owned(), params));
    }

    /// Asks, and does not wait.
    pub fn send(&mut self, method: &str, params: Value) -> i32 {
        self.requests += 1;
        self.write(Request::new(self.requests.into(), method.to_owned(), params));
        self.requests
    }

    /// The answer, or the error.
    pub fn answer(&mut self, id: i32) -> Value {
        loop {
            match self.answers.remove(&id.into()) {
                Some(answer) => return answer,
                None => self.read(),
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.answer(id);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The code of the error that a request is refused with.
    pub fn code(&mut self, method: &str, params: Value) -> i64 {
        let id = self.send(method, params);
        let answer = self.answer(id);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
    }

    /// What is shown of a place.
    pub fn hover(&mut self, uri: &str, line: usize, column: usize) -> String {
        let hover = self.ask("textDocument/hover", at(uri, line, column));
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// The quick fixes of a text.
    pub fn fixes(&mut self, uri: &str) -> Vec<Value> {
        let mut asked = everywhere(uri);
        asked["context"] = json!({ "diagnostics": [] });
        self.ask("textDocument/codeAction", asked).as_array().unwrap().clone()
    }

    /// Renames what is at a place.
    pub fn rename(
        &mut self,
        uri: &str,
        (line, column): (usize, usize),
        new: &str,
    ) -> Result<Value, String> {
        let mut asked = at(uri, line, column);
        asked["newName"] = json!(new);
        let id = self.send("textDocument/rename", asked);
        let answer = self.answer(id);
        match answer["error"]["message"].as_str() {
            Some(why) => Err(why.to_owned()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// The process, whose number is in the names of what it makes.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Goes away without a word, and waits for the server to do so too.
    pub fn vanish(mut self) {
        drop(self.input.take());
        assert!(!self.child.wait().unwrap().success());
    }

    /// Kills the server.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Why a request is refused.
    pub fn refused(&mut self, method: &str, params: Value) -> String {
        let id = self.send(method, params);
        let answer = self.answer(id);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Opens a text; no file has it.
    pub fn open(&mut self, name: &str, text: &str) -> String {
        self.open_at(&format!("file:///no/such/folder/{name}"), text)
    }

    pub fn open_at(&mut self, uri: &str, text: &str) -> String {
        let document = json!({ "uri": uri, "languageId": "litmus", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        uri.to_owned()
    }

    pub fn change(&mut self, uri: &str, version: i32, text: &str) {
        self.problems.remove(uri);
        let document = json!({ "uri": uri, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        self.tell("textDocument/didChange", params);
    }

    /// The problems of a text, once the server publishes them.
    pub fn problems(&mut self, uri: &str) -> Value {
        loop {
            match self.problems.remove(uri) {
                Some(problems) => return problems,
                None => self.read(),
            }
        }
    }

    pub fn hints(&mut self, uri: &str) -> Value {
        self.ask("textDocument/inlayHint", everywhere(uri))
    }

    /// Says goodbye; the server ends well.
    pub fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}
