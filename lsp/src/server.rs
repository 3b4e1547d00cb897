//! The server: one message after the other, problems when there is none, and what other threads send.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lang::limits::Limits;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, ExecuteCommandParams, InlayHintParams, PublishDiagnosticsParams,
    Uri,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::{self, Outcome, Running, Subject};
use crate::documents::{Documents, What, is_model};
use crate::paths::path_of;
use crate::protocol::{self, Client};
use crate::requests::Refused;
use crate::verdicts::{self, Judged, Work};
use crate::{Error, actions, requests};

/// The most characters of a message that an editor shows.
const LONGEST: usize = 4000;

/// What another thread has done.
pub enum Done {
    /// The verdicts of a text.
    Verdicts {
        /// The text.
        uri: Uri,
        /// The number of the work on them. Work that was canceled may still tell what it came to.
        number: u64,
        /// Its verdicts.
        judged: Vec<Judged>,
    },
    /// A command.
    Command {
        /// The request that asked for it.
        id: RequestId,
        /// What came of it.
        outcome: Result<Outcome, String>,
    },
}

/// The verdicts of a text, once they are known.
struct Judging {
    version: i32,
    /// The number of the work.
    number: u64,
    judged: Option<Vec<Judged>>,
    /// Ends the work when this is dropped.
    _work: Work,
    /// Requests that wait for them.
    waiting: Vec<RequestId>,
}

/// A server of one editor.
pub struct Server {
    connection: Connection,
    client: Client,
    litmus: PathBuf,
    documents: Documents,
    /// Messages that have arrived and are not answered yet.
    queue: VecDeque<Message>,
    /// Texts whose problems are to be told.
    changed: BTreeSet<Uri>,
    judging: HashMap<Uri, Judging>,
    /// How many works on verdicts were begun.
    works: u64,
    running: HashMap<RequestId, Running>,
    done: (Sender<Done>, Receiver<Done>),
    is_shut_down: bool,
    requests: i32,
}

impl Server {
    /// A server; `litmus` is the program that runs commands.
    pub fn new(connection: Connection, client: Client, litmus: PathBuf) -> Self {
        Self {
            documents: Documents::new(client.encoding, client.folders.clone()),
            connection,
            client,
            litmus,
            queue: VecDeque::new(),
            changed: BTreeSet::new(),
            judging: HashMap::new(),
            works: 0,
            running: HashMap::new(),
            done: unbounded(),
            is_shut_down: false,
            requests: 0,
        }
    }

    /// Answers until the editor says that it is done.
    ///
    /// # Errors
    /// If the editor goes away without saying so.
    pub fn run(mut self) -> Result<(), Error> {
        if self.client.watches_files {
            self.ask("client/registerCapability", protocol::watching())?;
        }
        loop {
            // All that has arrived is looked at first: some of it may be canceled by what follows it.
            while let Ok(message) = self.connection.receiver.try_recv() {
                self.arrived(message)?;
            }
            while let Ok(done) = self.done.1.try_recv() {
                self.finished(done)?;
            }
            match self.queue.pop_front() {
                Some(Message::Request(request)) => self.request(request)?,
                Some(Message::Notification(told)) if told.method == "exit" => {
                    return if self.is_shut_down {
                        Ok(())
                    } else {
                        Err("exit before shutdown".into())
                    };
                }
                Some(Message::Notification(told)) => self.told(told)?,
                Some(Message::Response(_)) => {}
                None if self.tell_problems()? => {}
                None => {
                    select! {
                        recv(self.connection.receiver) -> message => self.arrived(message?)?,
                        recv(self.done.1) -> done => self.finished(done?)?,
                    }
                }
            }
        }
    }

    fn arrived(&mut self, message: Message) -> Result<(), Error> {
        match message {
            Message::Notification(told) if told.method == "$/cancelRequest" => {
                match serde_json::from_value(told.params["id"].clone()) {
                    Ok(id) => self.cancel(id),
                    Err(_) => Ok(()),
                }
            }
            other => {
                self.queue.push_back(other);
                Ok(())
            }
        }
    }

    /// Ends what a request asks for, wherever it is. One that is answered is not known any more.
    fn cancel(&mut self, id: RequestId) -> Result<(), Error> {
        let is_it =
            |message: &Message| matches!(message, Message::Request(request) if request.id == id);
        let queued = self.queue.iter().position(is_it);
        let mut found = queued.and_then(|index| self.queue.remove(index)).is_some();
        found |= self.running.remove(&id).is_some();
        for judging in self.judging.values_mut() {
            found |= judging.waiting.contains(&id);
            judging.waiting.retain(|waiting| *waiting != id);
        }
        // Verdicts that nobody waits for are not computed further.
        self.judging.retain(|_, judging| judging.judged.is_some() || !judging.waiting.is_empty());
        if found { self.refuse(id, ErrorCode::RequestCanceled, "canceled") } else { Ok(()) }
    }

    fn send(&self, message: impl Into<Message>) -> Result<(), Error> {
        Ok(self.connection.sender.send(message.into())?)
    }

    fn refuse(&self, id: RequestId, code: ErrorCode, why: &str) -> Result<(), Error> {
        self.send(Response::new_err(id, code as i32, why.to_owned()))
    }

    fn tell(&self, method: &str, params: impl Serialize) -> Result<(), Error> {
        self.send(Notification::new(method.to_owned(), params))
    }

    /// Asks the editor for something whose answer says nothing.
    fn ask(&mut self, method: &str, params: Value) -> Result<(), Error> {
        self.requests += 1;
        let id = RequestId::from(format!("litmus-{}", self.requests));
        self.send(Request::new(id, method.to_owned(), params))
    }

    fn request(&mut self, request: Request) -> Result<(), Error> {
        let Request { id, method, params } = request;
        if self.is_shut_down {
            return self.refuse(id, ErrorCode::InvalidRequest, "the server is shut down");
        }
        match method.as_str() {
            "shutdown" => {
                self.is_shut_down = true;
                self.end_all()?;
                self.send(Response::new_ok(id, Value::Null))
            }
            "textDocument/inlayHint" => match serde_json::from_value(params) {
                Ok(params) => self.hints(id, &params),
                Err(error) => self.refuse(id, ErrorCode::InvalidParams, &error.to_string()),
            },
            "workspace/executeCommand" => match serde_json::from_value(params) {
                Ok(params) => self.command(id, params),
                Err(error) => self.refuse(id, ErrorCode::InvalidParams, &error.to_string()),
            },
            _ => {
                let answer = self.guarded(|| requests::answer(&self.documents, &method, params));
                match answer {
                    Ok(Some(Ok(value))) => self.send(Response::new_ok(id, value)),
                    Ok(Some(Err(refused))) | Err(refused) => {
                        self.refuse(id, refused.code, &refused.why)
                    }
                    Ok(None) => {
                        let why = format!("there is no request `{method}`");
                        self.refuse(id, ErrorCode::MethodNotFound, &why)
                    }
                }
            }
        }
    }

    /// Ends all commands, and all work on verdicts.
    fn end_all(&mut self) -> Result<(), Error> {
        let running = std::mem::take(&mut self.running).into_keys();
        let judging = std::mem::take(&mut self.judging).into_values();
        let waiting = judging.flat_map(|judging| judging.waiting);
        for id in running.chain(waiting).collect::<Vec<_>>() {
            self.refuse(id, ErrorCode::RequestCanceled, "the server is shut down")?;
        }
        Ok(())
    }

    /// Does what is done at once, within its limit. A mistake in it is no reason to go away.
    fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, Refused> {
        let limited = AssertUnwindSafe(|| Limits::of_time(self.client.limit).within(work));
        match catch_unwind(limited) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => {
                let seconds = self.client.limit.as_secs();
                let why = format!("this text takes more than the {seconds} seconds of an answer");
                Err(Refused { code: ErrorCode::RequestFailed, why })
            }
            Err(_) => {
                let why = "internal error".to_owned();
                Err(Refused { code: ErrorCode::InternalError, why })
            }
        }
    }

    fn told(&mut self, told: Notification) -> Result<(), Error> {
        let Notification { method, params } = told;
        // What is not understood changes nothing.
        match method.as_str() {
            "textDocument/didOpen" => {
                if let Ok(DidOpenTextDocumentParams { text_document: it }) =
                    serde_json::from_value(params)
                {
                    self.documents.open(it.uri.clone(), it.version, it.text);
                    self.has_changed(&it.uri)?;
                }
            }
            "textDocument/didChange" => {
                if let Ok(DidChangeTextDocumentParams { text_document: it, content_changes }) =
                    serde_json::from_value(params)
                {
                    self.documents.change(&it.uri, it.version, content_changes);
                    self.has_changed(&it.uri)?;
                }
            }
            "textDocument/didClose" => {
                if let Ok(DidCloseTextDocumentParams { text_document: it }) =
                    serde_json::from_value(params)
                {
                    self.documents.close(&it.uri);
                    self.has_changed(&it.uri)?;
                    self.changed.remove(&it.uri);
                    let none = PublishDiagnosticsParams::new(it.uri, Vec::new(), None);
                    self.tell("textDocument/publishDiagnostics", none)?;
                }
            }
            "workspace/didChangeWatchedFiles" => {
                if let Ok(DidChangeWatchedFilesParams { changes }) = serde_json::from_value(params)
                {
                    // Of a text that is open, the editor's counts.
                    let is_closed = |uri: &Uri| self.documents.get(uri).is_none();
                    let changed = changes.into_iter().map(|change| change.uri).filter(is_closed);
                    for uri in changed.collect::<BTreeSet<_>>() {
                        self.documents.has_changed(&uri);
                        self.has_changed(&uri)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What is known of a text is not so any more; of a model, what is known of all.
    fn has_changed(&mut self, uri: &Uri) -> Result<(), Error> {
        self.changed.insert(uri.clone());
        let mut stale = Vec::from_iter(self.judging.remove(uri));
        if is_model(uri) {
            self.changed.extend(self.documents.all().map(|document| document.uri.clone()));
            stale.extend(self.judging.drain().map(|(_, judging)| judging));
            if self.client.refreshes_hints {
                self.ask("workspace/inlayHint/refresh", Value::Null)?;
            }
        }
        for id in stale.into_iter().flat_map(|judging| judging.waiting) {
            self.refuse(id, ErrorCode::ContentModified, "the text has changed")?;
        }
        Ok(())
    }

    /// Tells the problems of one text that has changed; `false` if none has.
    fn tell_problems(&mut self) -> Result<bool, Error> {
        let Some(uri) = self.changed.pop_first() else { return Ok(false) };
        let Some(document) = self.documents.get(&uri) else { return Ok(true) };
        let shown = self.guarded(|| {
            let known = self.documents.known(document);
            let shown = |problem| actions::shown(problem, &document.text, &uri);
            known.problems.iter().map(shown).collect::<Vec<_>>()
        });
        // What cannot be said in time is said: else what was known before would seem to hold.
        let shown = shown.unwrap_or_else(|refused| vec![actions::not_checked(&refused.why)]);
        let params = PublishDiagnosticsParams::new(uri, shown, Some(document.version));
        self.tell("textDocument/publishDiagnostics", params)?;
        Ok(true)
    }

    /// Verdicts: at once if they are known, else as soon as they are.
    fn hints(&mut self, id: RequestId, asked: &InlayHintParams) -> Result<(), Error> {
        let uri = &asked.text_document.uri;
        let Some(document) = self.documents.get(uri) else {
            return self.send(Response::new_ok(id, Value::Null));
        };
        let version = document.version;
        if let Some(judging) = self.judging.get_mut(uri).filter(|it| it.version == version) {
            match &judging.judged {
                None => judging.waiting.push(id),
                Some(judged) => {
                    let hints = verdicts::hints(judged, &document.text);
                    return self.send(Response::new_ok(id, json!(hints)));
                }
            }
            return Ok(());
        }
        let known = self.guarded(|| self.documents.known(document));
        let Ok(known) = known else { return self.send(Response::new_ok(id, json!([]))) };
        let What::Program(program) = &known.what else {
            return self.send(Response::new_ok(id, json!([])));
        };
        let Some(test) = program.test().filter(|test| !test.expectations.is_empty()) else {
            return self.send(Response::new_ok(id, json!([])));
        };
        self.works += 1;
        let number = self.works;
        let about = (uri.clone(), number);
        let sender = self.done.0.clone();
        let work = verdicts::start(about, test.clone(), program.models.clone(), sender);
        let judging = Judging { version, number, judged: None, _work: work, waiting: vec![id] };
        self.judging.insert(uri.clone(), judging);
        Ok(())
    }

    fn command(&mut self, id: RequestId, asked: ExecuteCommandParams) -> Result<(), Error> {
        let offered = commands::ALL.iter().find(|offered| offered.name == asked.command);
        let uri = asked.arguments.first();
        let uri = uri.and_then(|uri| serde_json::from_value::<Uri>(uri.clone()).ok());
        let (Some(offered), Some(uri)) = (offered, uri) else {
            let why = "expected a command that is offered, and a document";
            return self.refuse(id, ErrorCode::InvalidParams, why);
        };
        let subject = match self.documents.get(&uri) {
            Some(document) => {
                self.guarded(|| self.documents.unsaved(document)).map_err(|it| it.why)
            }
            None => Ok(None),
        };
        let stored = || path_of(&uri).filter(|path| path.is_file()).map(Subject::Stored);
        let unknown = || format!("expected a file or an open text, found `{}`", uri.as_str());
        let subject = subject
            .and_then(|edited| edited.map(Subject::Edited).or_else(stored).ok_or_else(unknown));
        let start = |subject: Subject| {
            let sender = self.done.0.clone();
            let started = commands::start(id.clone(), &self.litmus, offered, &subject, sender);
            started.map_err(|error| error.to_string())
        };
        match subject.and_then(start) {
            Ok(running) => {
                self.running.insert(id, running);
                Ok(())
            }
            Err(why) => self.refuse(id, ErrorCode::RequestFailed, &why),
        }
    }

    fn finished(&mut self, done: Done) -> Result<(), Error> {
        match done {
            Done::Command { id, outcome } => {
                if self.running.remove(&id).is_none() {
                    return Ok(());
                }
                match outcome {
                    Ok(outcome) => {
                        if !self.client.shows_results {
                            let message: String = outcome.output.chars().take(LONGEST).collect();
                            let params = json!({ "type": 3, "message": message });
                            self.tell("window/showMessage", params)?;
                        }
                        self.send(Response::new_ok(id, json!(outcome)))
                    }
                    Err(why) => self.refuse(id, ErrorCode::RequestFailed, &why),
                }
            }
            Done::Verdicts { uri, number, judged } => {
                let Some(judging) = self.judging.get_mut(&uri) else { return Ok(()) };
                if judging.number != number {
                    return Ok(());
                }
                let waiting = std::mem::take(&mut judging.waiting);
                let text = self.documents.get(&uri).map(|document| &document.text);
                let hints = text.map(|text| verdicts::hints(&judged, text));
                judging.judged = Some(judged);
                for id in waiting {
                    self.send(Response::new_ok(id, json!(hints)))?;
                }
                Ok(())
            }
        }
    }
}
