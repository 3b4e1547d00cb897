//! Connects the software NIC of this host with those of others (`litmus nic --listen`).
//!
//! The NIC itself (the crate `nic`, in the programs) never uses the network. Its processes have sockets in a
//! folder of this host, each named after its place. At place 0 is the bridge: it gets all messages for other
//! hosts, and passes on what comes from these. Two bridges connect by TCP, prove to each other that they know
//! the secret, and encrypt what they say ([`super::handshake`], [`super::records`]).
//!
//! What a message says is none of the bridge's business. It reads who it is from and for ([`frame::Frame`]),
//! and refuses those that claim to be from elsewhere. If a process or a host is gone, it says so to all who
//! may wait for it.

mod frame;
mod link;
mod local;
mod outlet;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lang::mutex::lock;

use super::link::with_port;
use super::secret::{Secret, random};
use link::Link;

/// The port of hosts that name none.
const PORT: u16 = 18517;
/// How long the end waits for what processes have sent before they ended.
const FAREWELL: Duration = Duration::from_secs(2);

/// What connects this host with others.
#[derive(Clone, Debug)]
pub struct BridgeOptions {
    /// The folder with the sockets of this host's processes. Whoever can write there is one of them.
    pub folder: PathBuf,
    /// Where other hosts reach this one: `ADDRESS[:PORT]`. `None`: nowhere.
    pub listen: Option<String>,
    /// The hosts that this one calls: `HOST[:PORT]`.
    pub peers: Vec<String>,
    /// The secret that all hosts share.
    pub secret: Secret,
    /// The numbers of devices and of their ports, the same for all hosts.
    pub ports: (u16, u16),
}

/// What happens on a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BridgeEvent {
    /// It listens.
    Listening(SocketAddr),
    /// Another host was refused.
    Refused(SocketAddr, String),
    /// A host is connected.
    Met(String),
    /// A host that was connected is gone.
    Lost(String),
    /// A host cannot be reached. It is called again.
    Away(String, String),
}

/// What events are reported to.
pub type Log = Arc<dyn Fn(BridgeEvent) + Send + Sync>;

/// The connections of this host. They end with the process.
pub struct Bridge {
    inner: Arc<Inner>,
    address: Option<SocketAddr>,
}

/// What the threads share.
struct Inner {
    /// The number of this host, which its GIDs have.
    host: u32,
    options: BridgeOptions,
    links: Mutex<Vec<Arc<Link>>>,
    /// The processes that were spoken to, by place.
    places: Mutex<BTreeMap<u16, local::Process>>,
    /// For each place, how many connections come from there.
    present: Mutex<BTreeMap<u16, usize>>,
    /// How many connections of processes have not ended.
    open: AtomicUsize,
    /// How many callers are in the handshake.
    guests: AtomicUsize,
    log: Log,
}

/// Starts a thread.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let thread = std::thread::Builder::new().name(format!("litmus-{name}"));
    thread.spawn(run).map(|_| ()).map_err(|error| error.to_string())
}

impl Bridge {
    /// Listens, and calls the other hosts. Those that cannot be reached are called again and again.
    ///
    /// # Errors
    /// Fails if nothing can be listened on, or if a host that was called does not know the secret.
    pub fn new(options: BridgeOptions, log: Log) -> Result<Self, String> {
        let [high, middle, low] = random::<3>()?;
        let path = options.folder.join("0");
        let listener = UnixListener::bind(&path)
            .map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        let listen = options.listen.as_deref().map(|address| {
            let address = with_port(address, PORT);
            let wrong = |error| format!("{address} cannot be listened on: {error}");
            TcpListener::bind(&address).map_err(wrong)
        });
        let listen = listen.transpose()?;
        let address = listen.as_ref().and_then(|listener| listener.local_addr().ok());
        let inner = Arc::new(Inner {
            // 0 is the host of those that have no bridge.
            host: u32::from_be_bytes([0, high, middle, low]).max(1),
            options,
            links: Mutex::default(),
            places: Mutex::default(),
            present: Mutex::default(),
            open: AtomicUsize::new(0),
            guests: AtomicUsize::new(0),
            log,
        });
        let own = Arc::clone(&inner);
        spawn("nic-local", move || local::accept(&own, &listener))?;
        if let (Some(listener), Some(address)) = (listen, address) {
            (inner.log)(BridgeEvent::Listening(address));
            let own = Arc::clone(&inner);
            spawn("nic-listen", move || link::accept(&own, &listener))?;
        }
        for peer in inner.options.peers.clone() {
            link::call(&inner, peer)?;
        }
        Ok(Self { inner, address })
    }

    /// The number of this host, which its GIDs have.
    pub fn host(&self) -> u32 {
        self.inner.host
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Passes on what processes have sent before they ended, and ends all connections. Processes that still
    /// run lose theirs.
    pub fn finish(&self) {
        let until = Instant::now() + FAREWELL;
        // Connections are accepted in turn: when this one is closed, all earlier ones are counted.
        if let Ok(mut last) = UnixStream::connect(self.inner.options.folder.join("0")) {
            drop(last.set_read_timeout(Some(FAREWELL)));
            drop(last.write_all(&local::greeting(0)));
            drop(last.read(&mut [0]));
        }
        while self.inner.open.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        lock(&self.inner.links).iter().for_each(|link| link.close());
    }
}
