//! The NIC of this process: started when a device is opened first, and its thread.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::counts::Counts;
use crate::engine::node::{Event, Node};
use crate::engine::{Engine, Round};
use crate::ffi::{Bell, HostMemory, become_nic_thread, wait};
use crate::keys::Keys;
use crate::queues::{Channel, lock};
use crate::random::Random;
use crate::transport::{INDEX_BITS, Transport, place_of};

/// Rules that are applied before others get at the engine.
const BATCH: usize = 64;
/// Shorter waits than this, in nanoseconds, are spent yielding.
const SHORT: u64 = 60_000;
/// After so many rounds without work, the thread sleeps.
const PATIENCE: u32 = 100;

/// An asynchronous event: `ibv_event_type`, and the object that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncEvent {
    /// The type.
    pub code: i32,
    /// The address of the program's object.
    pub object: usize,
}

/// Who hears of a queue pair's events, and the program's objects that events may name.
#[derive(Clone)]
pub struct Owner {
    /// The context's channel.
    pub channel: Arc<Channel<AsyncEvent>>,
    /// The queue pair, its completion queues for send and receive, its shared receive queue.
    pub objects: [usize; 4],
}

/// The NIC of this process.
pub struct Nic {
    /// Its place in the network.
    pub place: u16,
    engine: Mutex<Engine>,
    callers: AtomicUsize,
    rung: Mutex<Vec<u32>>,
    asleep: AtomicBool,
    bell: Bell,
    /// Whom to tell events of which queue pair.
    pub owners: Mutex<HashMap<u32, Owner>>,
    numbers: AtomicUsize,
}

/// What the environment says, read once.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| Config::read(|name| std::env::var(name).ok()))
}

/// The NIC, which is started with the first call; `None` if it cannot be.
pub fn nic() -> Option<&'static Nic> {
    static NIC: OnceLock<Option<&'static Nic>> = OnceLock::new();
    *NIC.get_or_init(start)
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
        locks: HashMap::new(),
        knobs: config.knobs,
        random: Random::new(seed),
        counts: Counts::default(),
        now: 0,
    };
    let nic: &'static Nic = Box::leak(Box::new(Nic {
        place,
        engine: Mutex::new(Engine::new(node)),
        callers: AtomicUsize::new(0),
        rung: Mutex::new(Vec::new()),
        asleep: AtomicBool::new(false),
        bell: Bell::new(false).ok()?,
        owners: Mutex::new(HashMap::new()),
        numbers: AtomicUsize::new(0),
    }));
    let run = move || {
        become_nic_thread();
        Thread { nic, transport, start: Instant::now(), reported: (Counts::default(), 0) }.run();
    };
    std::thread::Builder::new().name("litmus-nic".to_owned()).spawn(run).ok()?;
    Some(nic)
}

impl Nic {
    /// Does something with the engine, for a program's call.
    pub fn with<T>(&self, act: impl FnOnce(&mut Engine) -> T) -> T {
        self.callers.fetch_add(1, Ordering::SeqCst);
        let result = act(&mut lock(&self.engine));
        self.callers.fetch_sub(1, Ordering::SeqCst);
        self.wake();
        result
    }

    /// Tells the NIC that something was posted.
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

    /// A number for a new queue pair; `None` if all are taken.
    pub fn number(&self, engine: &Engine) -> Option<u32> {
        let most = 1 << INDEX_BITS;
        (0..most).find_map(|_| {
            let index = self.numbers.fetch_add(1, Ordering::Relaxed) % most;
            let number = u32::from(self.place) << INDEX_BITS | index as u32;
            engine.look(number).is_none().then_some(number)
        })
    }
}

/// The thread of the NIC.
struct Thread {
    nic: &'static Nic,
    transport: Transport,
    start: Instant,
    /// The counts that were written last, and when.
    reported: (Counts, u64),
}

impl Thread {
    fn run(mut self) {
        let mut idle = 0;
        loop {
            let (round, events) = self.round();
            events.into_iter().for_each(|(pair, event)| self.tell(pair, event));
            while self.nic.callers.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
            idle = if round == Round::Busy { 0 } else { idle + 1 };
            let now = self.now();
            let time = match round {
                Round::Busy => continue,
                Round::Until(time) => time.saturating_sub(now),
                Round::Idle => u64::MAX,
            };
            if idle < PATIENCE || time < SHORT {
                std::thread::yield_now();
            } else {
                self.report(now);
                self.sleep(time);
            }
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Hears what there is, applies rules, says what follows.
    fn round(&mut self) -> (Round, Vec<(u32, Event)>) {
        let mut heard = Vec::new();
        let mut gone = Vec::new();
        if !self.transport.is_alone() || self.nic.numbers.load(Ordering::Relaxed) > 0 {
            (heard, gone) = self.transport.exchange();
        }
        let some = !heard.is_empty();
        let mut engine = lock(&self.nic.engine);
        engine.node.now = self.now();
        for queue_pair in std::mem::take(&mut *lock(&self.nic.rung)) {
            engine.wake(queue_pair);
        }
        heard.into_iter().for_each(|message| engine.receive(message));
        for place in gone {
            engine.lose(|peer| place_of(peer) == place);
        }
        let now = self.now();
        let mut round = engine.round(now, BATCH);
        while !engine.node.outbox.is_empty() {
            round = Round::Busy;
            for message in std::mem::take(&mut engine.node.outbox) {
                if place_of(message.to) == self.transport.place {
                    engine.receive(message);
                } else {
                    self.transport.send(&message);
                }
            }
        }
        let events = std::mem::take(&mut engine.node.events);
        drop(engine);
        self.transport.flush();
        (if some { Round::Busy } else { round }, events)
    }

    /// Sleeps until something comes, at most that long.
    fn sleep(&self, nanoseconds: u64) {
        self.nic.asleep.store(true, Ordering::SeqCst);
        if lock(&self.nic.rung).is_empty() && self.nic.callers.load(Ordering::SeqCst) == 0 {
            let mut fds = self.transport.fds();
            fds.push((self.nic.bell.as_fd(), false));
            let longest = Duration::from_secs(1).as_nanos() as u64;
            if wait(&fds, Some(nanoseconds.min(longest))).last() == Some(&true) {
                let _ = self.nic.bell.hear();
            }
        }
        self.nic.asleep.store(false, Ordering::SeqCst);
    }

    fn tell(&self, queue_pair: u32, event: Event) {
        let Some(owner) = lock(&self.nic.owners).get(&queue_pair).cloned() else { return };
        let (code, object) = match event {
            Event::SendCompletionsOverran => (0, 1),
            Event::ReceiveCompletionsOverran => (0, 2),
            Event::InvalidRequest => (2, 0),
            Event::AccessError => (3, 0),
            Event::Established => (4, 0),
            Event::Drained => (5, 0),
            Event::LimitReached => (15, 3),
            Event::LastReached => (16, 0),
        };
        owner.channel.tell(AsyncEvent { code, object: owner.objects[object] });
    }

    /// Writes what was done into the folder for counts, if it has changed. Each process has a file.
    fn report(&mut self, now: u64) {
        let Some(folder) = &config().counts else { return };
        let counts = lock(&self.nic.engine).node.counts;
        if counts == self.reported.0 || now < self.reported.1 + 20_000_000 {
            return;
        }
        self.reported = (counts, now);
        write_counts(folder, &counts);
    }
}

fn write_counts(folder: &str, counts: &Counts) {
    let path = std::path::Path::new(folder).join(format!("{}.json", std::process::id()));
    if let Ok(text) = serde_json::to_string(counts) {
        let _ = std::fs::write(path, text);
    }
}

/// Writes what was done, when the process ends.
pub fn report_at_end() {
    if let (Some(nic), Some(folder)) = (nic(), &config().counts) {
        let counts = lock(&nic.engine).node.counts;
        write_counts(folder, &counts);
    }
}
