//! A device without hardware, for tests of the modules above: each request is done at once, by the thread
//! that posts it; but a message waits for its receive, and what is behind it waits too.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use lang::mutex::lock;

use super::{
    Address, Arrival, AtomicCapability, Device, DeviceInfo, Done, Endpoint, RdmaError,
    RdmaErrorKind, Region, RegionKey, Registration, Request, RequestKind, Settings,
};

/// All regions of the process, by key. Agents in one process can reach each other's regions.
static REGIONS: LazyLock<Mutex<HashMap<u32, Weak<MemoryRegion>>>> = LazyLock::new(Mutex::default);
/// The ways of all endpoints, by their numbers.
static WAYS: LazyLock<Mutex<HashMap<u32, Weak<Mutex<Way>>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU32 = AtomicU32::new(1);

/// The device, with its description.
pub struct MemoryDevice(pub DeviceInfo);

impl Default for MemoryDevice {
    fn default() -> Self {
        Self(DeviceInfo {
            name: "memory".to_owned(),
            atomics: AtomicCapability::Global,
            responder_reads: 16,
            initiator_reads: 16,
            queue_depth: 1024,
            port: 1,
            ..DeviceInfo::default()
        })
    }
}

struct MemoryRegion {
    words: Box<[AtomicU64]>,
    key: u32,
}

impl Region for MemoryRegion {
    fn words(&self) -> &[AtomicU64] {
        &self.words
    }
    fn key(&self) -> RegionKey {
        RegionKey { address: 0, key: self.key.into(), words: self.words.len() as u64 }
    }
    fn flush(&self, _word: usize) {}
}

impl Device for MemoryDevice {
    fn info(&self) -> &DeviceInfo {
        &self.0
    }

    fn register(&self, words: usize, _how: Registration) -> Result<Arc<dyn Region>, RdmaError> {
        let words = (0..words).map(|_| AtomicU64::new(0)).collect();
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        let region = Arc::new(MemoryRegion { words, key });
        lock(&REGIONS).insert(key, Arc::downgrade(&region));
        Ok(region)
    }

    fn endpoint(
        &self,
        region: &Arc<dyn Region>,
        settings: &Settings,
    ) -> Result<Box<dyn Endpoint>, RdmaError> {
        let (depth, most) = (settings.depth, self.0.queue_depth);
        if depth > most {
            let message = format!("queue pairs have up to {most} requests, asked for {depth}");
            return Err(RdmaError::new(RdmaErrorKind::Unsupported, message));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let way = Arc::new(Mutex::new(Way::new(region)));
        lock(&WAYS).insert(number, Arc::downgrade(&way));
        Ok(Box::new(MemoryEndpoint {
            number,
            depth: depth as usize,
            receives: settings.receives as usize,
            region: Arc::clone(region),
            out: way,
            into: None,
            done: Done::default(),
        }))
    }
}

fn failed(message: &str) -> RdmaError {
    RdmaError::new(RdmaErrorKind::Failed, message)
}

/// What goes from one end to the other.
struct Way {
    /// The memory of the requesting end.
    region: Arc<dyn Region>,
    /// The requests that are not done: a message without a receive, and those behind it.
    waiting: VecDeque<Request>,
    /// Requests that were not polled yet.
    completed: usize,
    /// How many receives the other end posted.
    posted: u64,
    /// Those that are not taken: their number, and where they are.
    receives: VecDeque<(u64, Arc<dyn Region>, usize)>,
    arrived: Vec<Arrival>,
}

impl Way {
    fn new(region: &Arc<dyn Region>) -> Self {
        Self {
            region: Arc::clone(region),
            waiting: VecDeque::new(),
            completed: 0,
            posted: 0,
            receives: VecDeque::new(),
            arrived: Vec::new(),
        }
    }

    /// Does the requests that can be done.
    fn advance(&mut self) -> Result<(), RdmaError> {
        while let Some(request) = self.waiting.front().copied() {
            if request.is_message() {
                let Some((number, region, buffer)) = self.receives.pop_front() else { break };
                if request.kind == RequestKind::Send {
                    self.send(&request, &*region, buffer)?;
                } else {
                    self.access(&request)?;
                }
                let (immediate, empty) = (request.immediate, request.is_empty());
                self.arrived.push(Arrival { number, immediate, empty });
            } else {
                self.access(&request)?;
            }
            self.waiting.pop_front();
            self.completed += 1;
        }
        Ok(())
    }

    fn send(&self, request: &Request, to: &dyn Region, buffer: usize) -> Result<(), RdmaError> {
        match request.words {
            0 => Ok(()),
            1 => {
                let value = self.region.words()[request.local].load(Ordering::SeqCst);
                to.words()[buffer].store(value, Ordering::SeqCst);
                Ok(())
            }
            _ => Err(failed("the message is longer than the buffer of its receive")),
        }
    }

    fn access(&self, request: &Request) -> Result<(), RdmaError> {
        let gone = || failed("remote access error");
        let remote = lock(&REGIONS).get(&(request.remote.1 as u32)).and_then(Weak::upgrade);
        let remote = remote.ok_or_else(gone)?;
        for word in 0..request.words as usize {
            let at = (request.remote.0 / 8) as usize + word;
            let remote = remote.words.get(at).ok_or_else(gone)?;
            let local = self.region.words().get(request.local + word).ok_or_else(gone)?;
            let order = Ordering::SeqCst;
            match request.kind {
                RequestKind::Write | RequestKind::AtomicWrite => {
                    remote.store(local.load(order), order);
                }
                RequestKind::Send | RequestKind::Flush { .. } => {}
                RequestKind::Read => local.store(remote.load(order), order),
                RequestKind::CompareAndSwap { expected, desired } => {
                    let (Ok(old) | Err(old)) =
                        remote.compare_exchange(expected, desired, order, order);
                    local.store(old, order);
                }
                RequestKind::FetchAndAdd { addend } => {
                    local.store(remote.fetch_add(addend, order), order);
                }
            }
        }
        Ok(())
    }
}

struct MemoryEndpoint {
    number: u32,
    depth: usize,
    receives: usize,
    region: Arc<dyn Region>,
    /// The requests of this end, and those of the other end.
    out: Arc<Mutex<Way>>,
    into: Option<Arc<Mutex<Way>>>,
    done: Done,
}

impl Endpoint for MemoryEndpoint {
    fn address(&self) -> Address {
        Address {
            queue_pair: self.number,
            sequence: 0,
            lid: 0,
            gid: [0; 16],
            mtu: 1024,
            responder_reads: 16,
            name: Vec::new(),
        }
    }

    fn connect(&mut self, peer: &Address) -> Result<(), RdmaError> {
        self.into = lock(&WAYS).get(&peer.queue_pair).and_then(Weak::upgrade);
        Ok(())
    }

    fn post(&mut self, request: &Request) -> Result<(), RdmaError> {
        let mut way = lock(&self.out);
        if way.waiting.len() + way.completed >= self.depth {
            return Err(failed("the queue is full"));
        }
        way.waiting.push_back(*request);
        way.advance()
    }

    fn post_list(&mut self, requests: &[Request]) -> Result<(), RdmaError> {
        requests.iter().try_for_each(|request| self.post(request))
    }

    fn post_receive(&mut self, word: usize) -> Result<(), RdmaError> {
        let way = self.into.as_ref().ok_or_else(|| failed("not connected"))?;
        let mut way = lock(way);
        if way.receives.len() + way.arrived.len() >= self.receives {
            return Err(failed("too many receives are posted"));
        }
        let number = way.posted;
        way.posted += 1;
        way.receives.push_back((number, Arc::clone(&self.region), word));
        way.advance()
    }

    fn poll_receives(&mut self, arrived: &mut Vec<Arrival>) -> Result<(), RdmaError> {
        let way = self.into.as_ref().ok_or_else(|| failed("not connected"))?;
        arrived.append(&mut lock(way).arrived);
        Ok(())
    }

    fn poll(&mut self) -> Result<usize, RdmaError> {
        let completed = std::mem::take(&mut lock(&self.out).completed);
        self.done.add(self.done.first()..self.done.first() + completed as u64);
        Ok(completed)
    }

    fn done(&self) -> &Done {
        &self.done
    }
}
