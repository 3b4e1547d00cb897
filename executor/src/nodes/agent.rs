//! The agent waits on a machine for coordinators, and works for one at a time.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lang::mutex::lock;

use super::cores::Place;
use super::handshake;
use super::link::keep_alive;
use super::protocol::{Ask, Reply, Selection, receive, send};
use super::records::{Incoming, Outgoing};
use super::secret::Secret;
use super::session::{Limits, Prepared, Trouble};
use crate::rdma::{Device, RdmaError};
use evidence::record::Host;

/// The most connections that may be in the handshake at once.
const MOST_GUESTS: usize = 64;
/// How often a working agent reports that it is alive.
const HEARTBEAT: Duration = Duration::from_millis(300);
/// How long an agent that serves only once waits for its coordinator.
const LONELY: Duration = Duration::from_secs(60);

/// A function that opens a device.
pub type OpenDevice = dyn Fn(&Selection) -> Result<Arc<dyn Device>, RdmaError> + Send + Sync;

/// The options of an agent.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// The address to listen on, `HOST:PORT`. Port 0 means any free port.
    pub listen: String,
    /// The secret that coordinators must know.
    pub secret: Secret,
    /// How much of the machine a program may use.
    pub limits: Limits,
    /// Whether the agent ends after its first coordinator, or if none comes within a minute.
    pub once: bool,
}

/// What an agent does, for its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// It listens at this address.
    Listening(SocketAddr),
    /// It refused a connection, for this reason.
    Refused(SocketAddr, String),
    /// It closed this many connections without an answer since the last such event.
    Flooded(usize),
    /// A coordinator connected.
    Begun(SocketAddr),
    /// It prepares a program.
    Prepared(String),
    /// A request of the coordinator failed.
    Failed(String),
    /// The coordinator disconnected.
    Ended(SocketAddr),
}

/// An agent that listens for coordinators.
pub struct Agent {
    listener: TcpListener,
    options: AgentOptions,
    open: Arc<OpenDevice>,
    log: Arc<dyn Fn(AgentEvent) + Send + Sync>,
    busy: Arc<AtomicBool>,
    guests: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Agent {
    /// Starts to listen.
    ///
    /// # Errors
    /// Fails if the address is not valid, or if the agent cannot listen on it.
    pub fn new(
        options: AgentOptions,
        open: Arc<OpenDevice>,
        log: Arc<dyn Fn(AgentEvent) + Send + Sync>,
    ) -> io::Result<Self> {
        let addresses: Vec<SocketAddr> = options.listen.to_socket_addrs()?.collect();
        let listener = TcpListener::bind(addresses.as_slice())?;
        log(AgentEvent::Listening(listener.local_addr()?));
        let (busy, guests, over) = Default::default();
        Ok(Self { listener, options, open, log, busy, guests, over })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves coordinators. Returns only if the agent serves once.
    pub fn serve(&self) {
        let began = Instant::now();
        // An agent that serves once must notice if nobody connects.
        let poll = self.options.once && self.listener.set_nonblocking(true).is_ok();
        let mut flood = Flood::default();
        while !self.over.load(Ordering::Acquire) {
            let (stream, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) => {
                    let idle = error.kind() == io::ErrorKind::WouldBlock;
                    let alone = idle && !self.busy.load(Ordering::Acquire);
                    if poll && alone && began.elapsed() > LONELY {
                        return;
                    }
                    // For example, there are no free file descriptors. Some will be free soon.
                    std::thread::sleep(Duration::from_millis(if idle { 10 } else { 50 }));
                    continue;
                }
            };
            if poll && stream.set_nonblocking(false).is_err() {
                continue;
            }
            if self.guests.load(Ordering::Acquire) >= MOST_GUESTS {
                drop(stream);
                flood.count(&*self.log);
                continue;
            }
            self.receive(stream, peer);
        }
    }

    fn receive(&self, mut stream: TcpStream, peer: SocketAddr) {
        self.guests.fetch_add(1, Ordering::AcqRel);
        let (secret, log) = (self.options.secret.clone(), Arc::clone(&self.log));
        let (busy, guests) = (Arc::clone(&self.busy), Arc::clone(&self.guests));
        let (over, once) = (Arc::clone(&self.over), self.options.once);
        let (open, limits) = (Arc::clone(&self.open), self.options.limits);
        let guest = move || {
            let welcome = handshake::accept(&mut stream, &secret, &handshake::AGENT);
            guests.fetch_sub(1, Ordering::AcqRel);
            let (incoming, mut outgoing) = match welcome {
                Ok(halves) => halves,
                Err(reason) => {
                    log(AgentEvent::Refused(peer, reason));
                    return;
                }
            };
            if busy.swap(true, Ordering::AcqRel) {
                let reason = "this agent works for another coordinator";
                drop(send(&mut outgoing, &Reply::Failed(None, reason.to_owned())));
                log(AgentEvent::Refused(peer, reason.to_owned()));
                return;
            }
            let _work = Work { busy, over, once };
            log(AgentEvent::Begun(peer));
            let worked =
                keep_alive(&stream).and_then(|()| work(incoming, outgoing, &*open, limits, &*log));
            if let Err(error) = worked {
                log(AgentEvent::Failed(error.to_string()));
            }
            // The listener thread has the socket too, and may still read.
            drop(stream.shutdown(Shutdown::Both));
            log(AgentEvent::Ended(peer));
        };
        let thread = std::thread::Builder::new().name("litmus-session".to_owned());
        if thread.spawn(guest).is_err() {
            self.guests.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// The agent is busy while this value exists. A panic ends it too.
struct Work {
    busy: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    once: bool,
}

impl Drop for Work {
    fn drop(&mut self) {
        self.busy.store(false, Ordering::Release);
        self.over.store(self.once, Ordering::Release);
    }
}

/// Counts connections that are closed without an answer, and logs the number once a second.
#[derive(Default)]
struct Flood {
    count: usize,
    told: Option<Instant>,
}

impl Flood {
    fn count(&mut self, log: &dyn Fn(AgentEvent)) {
        self.count += 1;
        if self.told.is_none_or(|told| told.elapsed() > Duration::from_secs(1)) {
            log(AgentEvent::Flooded(std::mem::take(&mut self.count)));
            self.told = Some(Instant::now());
        }
    }
}

/// Works for a coordinator until it disconnects.
fn work(
    mut incoming: Incoming,
    outgoing: Outgoing,
    open: &OpenDevice,
    limits: Limits,
    log: &(dyn Fn(AgentEvent) + Send + Sync),
) -> io::Result<()> {
    let outgoing = Mutex::new(outgoing);
    let stop = Arc::new(AtomicBool::new(false));
    // A coordinator asks one question at a time. A peer that sends many at once is not a coordinator.
    let (sender, asks) = mpsc::sync_channel(2);
    let told = Arc::clone(&stop);
    // This thread keeps reading while a batch runs, so that a stop or the end of the connection is noticed at
    // once.
    let listen = move || {
        loop {
            let is_over = match receive::<Ask>(&mut incoming) {
                Ok(Ask::Stop) => {
                    told.store(true, Ordering::Release);
                    false
                }
                Ok(ask) => sender.try_send(Ok(ask)).is_err(),
                // Only a message that makes no sense is worth a line in the log.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    drop(sender.try_send(Err(error)));
                    true
                }
                Err(_) => true,
            };
            if is_over {
                told.store(true, Ordering::Release);
                return;
            }
        }
    };
    std::thread::Builder::new().name("litmus-listener".to_owned()).spawn(listen)?;
    let say = |answer: &Reply| send(&mut *lock(&outgoing), answer);
    let mut worker = Worker { device: None, prepared: None, open, limits };
    loop {
        let ask = match asks.recv_timeout(Duration::from_secs(1)) {
            Ok(ask) => ask?,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        if let Ask::Prepare(program) = &ask {
            stop.store(false, Ordering::Release);
            log(AgentEvent::Prepared(program.name.clone()));
        }
        let answer =
            alive(&say, || worker.answer(ask, &stop)).unwrap_or_else(|Trouble(kind, message)| {
                log(AgentEvent::Failed(message.clone()));
                Reply::Failed(kind, message)
            });
        say(&answer)?;
    }
}

/// Says now and then that the agent is there, as long as some work takes: a batch, a slow device that is
/// opened, or a thousand queue pairs that are made and connected take longer than a coordinator waits in
/// silence.
fn alive<R>(say: &(dyn Fn(&Reply) -> io::Result<()> + Sync), work: impl FnOnce() -> R) -> R {
    let (over, is_over) = mpsc::channel::<()>();
    let tell = move || {
        while is_over.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
            // If the coordinator is gone, the listener thread stops the batch.
            if say(&Reply::Alive).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("litmus-alive".to_owned());
        // Without this thread, the work is done in silence.
        drop(builder.spawn_scoped(scope, tell));
        let result = work();
        drop(over);
        result
    })
}

struct Worker<'a> {
    device: Option<(Selection, Arc<dyn Device>)>,
    prepared: Option<Prepared>,
    open: &'a OpenDevice,
    limits: Limits,
}

impl Worker<'_> {
    fn answer(&mut self, ask: Ask, stop: &AtomicBool) -> Result<Reply, Trouble> {
        let missing = || Trouble(None, "asked in the wrong order".to_owned());
        match ask {
            Ask::Describe(selection) => {
                self.prepared = None;
                let device = (self.open)(&selection)?;
                let info = Box::new(device.info().clone());
                let place = Place::here(info.numa_node);
                self.device = Some((selection, device));
                Ok(Reply::Described(info, Host::here(), place))
            }
            Ask::Prepare(program) => {
                self.prepared = None;
                let (_, device) = self.device.as_ref().ok_or_else(missing)?;
                let prepared = Prepared::new(*program, &**device, self.limits)?;
                let wiring = prepared.wiring();
                self.prepared = Some(prepared);
                Ok(Reply::Prepared(Box::new(wiring)))
            }
            Ask::Connect(wiring) => {
                self.prepared.as_mut().ok_or_else(missing)?.connect(&wiring)?;
                Ok(Reply::Done)
            }
            Ask::Run { batch, seed } => {
                let prepared = self.prepared.as_mut().ok_or_else(missing)?;
                prepared.run(batch, seed, stop).map(Reply::Seen)
            }
            Ask::Stop => Ok(Reply::Done),
            Ask::Release => {
                self.prepared = None;
                Ok(Reply::Done)
            }
        }
    }
}
