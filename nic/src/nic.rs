//! The NIC of this process and its thread. The NIC starts when the first device is opened.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::counts::Counts;
use crate::device;
use crate::engine::mood::Mood;
use crate::engine::node::{Event, Node};
use crate::engine::stale::Stale;
use crate::engine::{Engine, Round};
use crate::ffi::{Bell, HostMemory, become_nic_thread, finish_at_exit, handle_faults, say, wait};
use crate::keys::Keys;
use crate::queues::{Channel, lock};
use crate::random::Random;
use crate::trace::Trace;
use crate::transport::{Exchanged, INDEX_BITS, Transport};

/// How many rules are applied before another thread can lock the engine.
const BATCH: usize = 64;
/// After this many rounds without work, a thread that helps goes to sleep.
const PATIENCE: u32 = 30;

/// How long the NIC's thread stays awake without work, in nanoseconds. Waking it takes both threads longer
/// than most requests.
const LINGER: u64 = 20_000;

thread_local! {
    /// How many times in a row this thread has helped and found nothing to do.
    static IN_VAIN: Cell<u32> = const { Cell::new(0) };
}

/// An asynchronous event: its type, and the object that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncEvent {
    /// The type, as in `ibv_event_type`.
    pub code: i32,
    /// The address of the program's object.
    pub object: usize,
}

/// The receiver of a queue pair's events, and the program's objects that events may name.
pub struct Owner {
    /// The context's channel for asynchronous events.
    pub channel: Arc<Channel<AsyncEvent>>,
    /// The addresses of the queue pair, its completion queues for send and receive, and its shared receive
    /// queue.
    pub objects: [usize; 4],
}

/// The NIC of this process.
pub struct Nic {
    /// The place of the process in the network.
    pub place: u16,
    core: Mutex<Core>,
    start: Instant,
    callers: AtomicUsize,
    /// Whether a call of the program has changed something since the last round.
    called: AtomicBool,
    rung: Mutex<Vec<u32>>,
    asleep: AtomicBool,
    /// When a thread of the program last worked for the NIC, in nanoseconds. It may have left work for later.
    helped: AtomicU64,
    /// Whether the NIC's thread sleeps for longer than such work may wait.
    sleeps_long: AtomicBool,
    bell: Bell,
    /// For each queue pair number, the receiver of its events.
    pub owners: Mutex<HashMap<u32, Owner>>,
    numbers: AtomicUsize,
}

/// The state that one thread at a time works on.
struct Core {
    engine: Engine,
    transport: Transport,
}

/// The settings from the environment. They are read once.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let (config, wrong) = Config::read(|name| std::env::var(name).ok());
        wrong.iter().for_each(|wrong| say(&format!("litmus nic: {wrong}; it is ignored\n")));
        config
    })
}

/// The process that started a NIC, and the NIC, unless it could not be started.
static NIC: Mutex<Option<(u32, Option<&'static Nic>)>> = Mutex::new(None);

/// The NIC. The first call starts it. `None` if it cannot be started.
pub fn nic() -> Option<&'static Nic> {
    let own = std::process::id();
    let mut known = lock(&NIC);
    match *known {
        Some((process, nic)) if process == own => nic,
        // After `fork`, a child has its parent's, whose thread and place in the network it does not have.
        _ => {
            let nic = start();
            *known = Some((own, nic));
            nic
        }
    }
}

/// Writes what is known of the last moments, when the program ends.
pub fn finish() {
    const TRIES: u32 = 100;
    let Ok(known) = NIC.try_lock() else { return };
    let Some((process, Some(nic))) = *known else { return };
    // After `fork`, a child has what its parent counted.
    if process != std::process::id() {
        return;
    }
    for _ in 0..TRIES {
        // The NIC's thread leaves it soon. The thread that ends the program may be in the middle of a call.
        if let Ok(mut core) = nic.core.try_lock() {
            core.engine.node.trace.flush();
            if let Some(folder) = &config().counts
                && core.engine.node.counts != Counts::default()
            {
                write_counts(folder, &core.engine.node.counts);
            }
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn start() -> Option<&'static Nic> {
    let config = config();
    let transport = Transport::new(config).ok()?;
    let place = transport.place;
    let seed = config.seed.unwrap_or_else(|| {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        time.map_or(0, |time| time.as_nanos() as u64) ^ u64::from(std::process::id())
    });
    let node = Node {
        keys: Keys::default(),
        memory: Box::new(HostMemory),
        outbox: Vec::new(),
        events: Vec::new(),
        overran: Vec::new(),
        locks: Vec::new(),
        knobs: config.knobs,
        random: Random::new(seed),
        mood: Mood::default(),
        stale: Stale::default(),
        counts: Counts::default(),
        trace: Trace::new(config.trace.as_deref()),
        gid: |host, port| device::gid(crate::nic::config(), host, port),
        now: 0,
    };
    let nic: &'static Nic = Box::leak(Box::new(Nic {
        place,
        core: Mutex::new(Core { engine: Engine::new(node), transport }),
        start: Instant::now(),
        callers: AtomicUsize::new(0),
        called: AtomicBool::new(false),
        rung: Mutex::new(Vec::new()),
        asleep: AtomicBool::new(false),
        helped: AtomicU64::new(0),
        sleeps_long: AtomicBool::new(false),
        bell: Bell::new(false).ok()?,
        owners: Mutex::new(HashMap::new()),
        numbers: AtomicUsize::new(0),
    }));
    let run = move || {
        become_nic_thread();
        run(nic);
    };
    std::thread::Builder::new().name("litmus-nic".to_owned()).spawn(run).ok()?;
    // A child of `fork` has that of its parent.
    static FINISHES: Once = Once::new();
    FINISHES.call_once(finish_at_exit);
    handle_faults();
    Some(nic)
}

impl Nic {
    /// Calls `act` with the engine, for a call of the program.
    pub fn with<T>(&self, act: impl FnOnce(&mut Engine) -> T) -> T {
        self.callers.fetch_add(1, Ordering::SeqCst);
        let mut core = lock(&self.core);
        let result = act(&mut core.engine);
        self.called.store(true, Ordering::SeqCst);
        drop(core);
        self.callers.fetch_sub(1, Ordering::SeqCst);
        self.wake();
        result
    }

    /// Tells the NIC that requests were posted to a queue pair.
    pub fn ring(&self, queue_pair: u32) {
        lock(&self.rung).push(queue_pair);
        self.wake();
    }

    /// Wakes the NIC if it sleeps.
    pub fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) {
            self.bell.ring();
        }
    }

    /// A number for a new queue pair. `None` if all numbers are taken.
    pub fn number(&self, engine: &Engine) -> Option<u32> {
        let most = 1 << INDEX_BITS;
        (0..most).find_map(|_| {
            let index = self.numbers.fetch_add(1, Ordering::Relaxed) % most;
            let number = u32::from(self.place) << INDEX_BITS | index as u32;
            engine.look(number).is_none().then_some(number)
        })
    }
}

impl Nic {
    /// The time since the start, in nanoseconds.
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Lets the calling thread work for the NIC, whose own thread may not have a core. A thread that finds no
    /// work many times in a row sleeps for a moment, because others may need the core. After a sleep, unlike
    /// after a yield, it gets the core back soon.
    pub fn help(&self) {
        const MOMENT: u64 = 100_000;
        let Ok(mut core) = self.core.try_lock() else {
            // Another thread works for the NIC. It may need this core.
            return std::thread::yield_now();
        };
        let round = self.round(&mut core);
        if round != Round::Idle {
            self.helped.store(self.now(), Ordering::SeqCst);
            if self.sleeps_long.swap(false, Ordering::SeqCst) {
                self.bell.ring();
            }
        }
        let times = IN_VAIN.get();
        let sleeps = round != Round::Busy && times >= PATIENCE;
        IN_VAIN.set(if round == Round::Busy { 0 } else { times + 1 });
        let fds = if sleeps { core.transport.fds() } else { Vec::new() };
        drop(core);
        if sleeps {
            let time = match round {
                Round::Until(time) => time.saturating_sub(self.now()).min(MOMENT),
                _ => MOMENT,
            };
            wait(&fds, Some(time));
        }
    }

    /// Receives messages, applies rules, and sends messages.
    fn round(&self, core: &mut Core) -> Round {
        let Core { engine, transport } = core;
        self.called.store(false, Ordering::SeqCst);
        let Exchanged { messages: heard, gone, met } = transport.exchange();
        let some = met || !heard.is_empty();
        engine.node.now = self.now();
        for queue_pair in std::mem::take(&mut *lock(&self.rung)) {
            engine.wake(queue_pair);
        }
        heard.into_iter().for_each(|message| engine.receive(message));
        for gone in gone {
            engine.lose(|peer| gone.has(peer));
        }
        let mut round = engine.round(self.now(), BATCH);
        while !engine.node.outbox.is_empty() {
            round = Round::Busy;
            for message in std::mem::take(&mut engine.node.outbox) {
                if transport.is_here(message.to) {
                    engine.receive(message);
                } else {
                    transport.send(message);
                }
            }
        }
        transport.flush();
        engine.node.trace.flush();
        // Makes all writes visible before this thread reads them. It may be a thread of the program.
        fence(Ordering::SeqCst);
        self.tell(engine);
        if some { Round::Busy } else { round }
    }

    /// Sleeps until there is work, but at most this long.
    fn sleep(&self, nanoseconds: u64) {
        const LONGEST: u64 = 100_000_000;
        // A thread that helps may stop at any time, and the program may then poll no more.
        const WHILE_HELPED: u64 = 200_000;
        const RECENT: u64 = 1_000_000;
        self.asleep.store(true, Ordering::SeqCst);
        self.sleeps_long.store(nanoseconds > WHILE_HELPED, Ordering::SeqCst);
        let is_helped = self.now() < self.helped.load(Ordering::SeqCst) + RECENT;
        let longest = if is_helped { WHILE_HELPED } else { LONGEST };
        let is_called =
            self.called.load(Ordering::SeqCst) || self.callers.load(Ordering::SeqCst) > 0;
        if !is_called && lock(&self.rung).is_empty() {
            let mut fds = lock(&self.core).transport.fds();
            fds.push((self.bell.fd(), false));
            if wait(&fds, Some(nanoseconds.min(longest))).last() == Some(&true) {
                self.bell.hear();
            }
        }
        self.asleep.store(false, Ordering::SeqCst);
        self.sleeps_long.store(false, Ordering::SeqCst);
    }

    /// Reports the events of queue pairs to their owners. The caller has the engine locked, so a queue pair
    /// that is destroyed has either reported its events before that, or reports no more.
    pub fn tell(&self, engine: &mut Engine) {
        let events = std::mem::take(&mut engine.node.events);
        if events.is_empty() {
            return;
        }
        let owners = lock(&self.owners);
        for (queue_pair, event) in events {
            let Some(owner) = owners.get(&queue_pair) else { continue };
            let (code, object) = match event {
                Event::SendCompletionsOverran => (0, 1),
                Event::ReceiveCompletionsOverran => (0, 2),
                Event::Fatal => (1, 0),
                Event::InvalidRequest => (2, 0),
                Event::AccessError => (3, 0),
                Event::Established => (4, 0),
                Event::Drained => (5, 0),
                Event::LimitReached => (15, 3),
                Event::LastReached => (16, 0),
            };
            owner.channel.tell(AsyncEvent { code, object: owner.objects[object] });
        }
    }
}

/// The main loop of the NIC's thread.
fn run(nic: &'static Nic) {
    let mut report = Report::default();
    let mut worked = 0;
    loop {
        let round = nic.round(&mut lock(&nic.core));
        while nic.callers.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        let now = nic.now();
        report.write(nic, now, round != Round::Busy);
        let time = match round {
            Round::Busy => {
                worked = now;
                continue;
            }
            Round::Until(time) => time.saturating_sub(now),
            Round::Idle => u64::MAX,
        };
        if now < worked + LINGER {
            std::thread::yield_now();
        } else {
            nic.sleep(time);
        }
    }
}

/// The counts that were written last, and the time of that.
#[derive(Default)]
struct Report {
    counts: Counts,
    time: u64,
}

impl Report {
    /// Writes the counts into the folder for counts, if they have changed. Each process has its own file.
    fn write(&mut self, nic: &Nic, now: u64, quiet: bool) {
        let pause = if quiet { 20_000_000 } else { 500_000_000 };
        if now < self.time + pause {
            return;
        }
        let Some(folder) = &config().counts else { return };
        // The lock also keeps others from writing the same file.
        let core = lock(&nic.core);
        let counts = core.engine.node.counts;
        if counts != self.counts {
            (self.counts, self.time) = (counts, now);
            write_counts(folder, &counts);
        }
    }
}

/// Writes the counts to a file, which is whole at any time: the program may end in the middle of this.
fn write_counts(folder: &str, counts: &Counts) {
    let path = std::path::Path::new(folder).join(format!("{}.json", std::process::id()));
    let new = path.with_extension("new");
    if let Ok(text) = serde_json::to_string(counts)
        && std::fs::write(&new, text).is_ok()
    {
        let _ = std::fs::rename(new, path);
    }
}

/// Leaves a note in the folder for counts: the program asked librdmacm for devices.
pub fn note_connection_manager() {
    if let Some(folder) = &config().counts {
        let _ = std::fs::write(std::path::Path::new(folder).join("librdmacm"), "");
    }
}
