//! Implements the traits of [`crate::rdma`] with [`ffi`](super::ffi): when to ask the NIC for what, and what
//! to refuse.

use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::rdma::{
    Address, Arrival, AtomicCapability, Device, DeviceInfo, Done, Endpoint, RdmaError,
    RdmaErrorKind, Region, RegionKey, Registration, Request, RequestKind, Settings,
};

use compiler::plan::Placements;

use super::errors::{call_failed, errno_text, receive_failed, request_failed};
use crate::rdma::lines::WORD_BYTES;

use super::ffi::{
    CallError, Context, Domain, Failure, INLINE_BYTES, Memory, NO_HUGE_PAGES, Peer, PostError,
    QueuePair, Step, Timing,
};

/// An opened device, with its port.
pub struct VerbsDevice {
    info: DeviceInfo,
    domain: Arc<Domain>,
    own: Own,
}

/// What peers must know about our port, and how to send from it.
#[derive(Clone, Copy)]
struct Own {
    port: u8,
    lid: u16,
    gid: [u8; 16],
    /// If set, peers are reached by global address, from the GID with this index.
    gid_index: Option<u8>,
    mtu: u32,
    atomics: bool,
    responder_reads: u8,
    initiator_reads: u8,
}

impl VerbsDevice {
    /// Prepares a device whose port and GID have been chosen.
    pub fn new(context: Arc<Context>, info: DeviceInfo) -> Result<Self, RdmaError> {
        let failed = |error, object: &str| call_failed(error, &info.name, object);
        let port = context.port(info.port).map_err(|error| failed(error, "the port"))?;
        let gid_index = info.gid.as_ref().and_then(|(index, _)| u8::try_from(*index).ok());
        let byte = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        let own = Own {
            port: info.port,
            lid: port.lid,
            gid: context.gid(info.port, gid_index.map_or(0, u32::from)).unwrap_or_default(),
            gid_index,
            mtu: port.mtu,
            atomics: info.atomics != AtomicCapability::None,
            responder_reads: byte(info.responder_reads),
            initiator_reads: byte(info.initiator_reads),
        };
        let domain = Domain::new(&context).map_err(|error| failed(error, "the device"))?;
        Ok(Self { info, domain, own })
    }
}

impl Device for VerbsDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn register(&self, words: usize, how: Registration) -> Result<Arc<dyn Region>, RdmaError> {
        if words == 0 {
            return Err(refusal("expected a region of at least one word, found none"));
        }
        let name = &self.info.name;
        let pages = self.info.on_demand_paging.as_ref();
        let can = |what: &str| pages.is_some_and(|uses| uses.iter().any(|known| known == what));
        if how.on_demand && !(can("write") && can("read")) {
            return Err(refusal(format!("{name} has no on-demand paging for writes and reads")));
        }
        let memory = Memory::new(&self.domain, words, self.own.atomics, how);
        let failed = |error: CallError| match error.call {
            NO_HUGE_PAGES => refusal(format!(
                "there are not enough huge pages for a region of {words} words: reserve more (vm.nr_hugepages)"
            )),
            _ if how.placements.persist && error.errno != libc::ENOMEM => refusal(format!(
                "{name} registers no such memory for flushes to persistent memory: {}",
                errno_text(error.errno)
            )),
            _ => call_failed(error, name, &format!("a region of {words} words")),
        };
        Ok(Arc::new(VerbsRegion { memory: Arc::new(memory.map_err(failed)?) }))
    }

    fn endpoint(
        &self,
        region: &Arc<dyn Region>,
        settings: &Settings,
    ) -> Result<Box<dyn Endpoint>, RdmaError> {
        let region: &dyn Any = region.as_ref();
        let region = region.downcast_ref::<VerbsRegion>();
        let region = region.filter(|region| region.memory.is_of(&self.domain));
        let region = region.ok_or_else(|| refusal("the region is not one of this device"))?;
        let name = &self.info.name;
        let (depth, most) = (settings.depth, self.info.queue_depth);
        if !(1..=most).contains(&depth) {
            return Err(refusal(format!(
                "{name} has queue pairs of 1 to {most} requests, asked for {depth}"
            )));
        }
        let failed = |error| call_failed(error, name, "a new queue pair");
        let (receives, inline) = (settings.receives, settings.inline);
        if receives > most {
            return Err(refusal(format!(
                "{name} has queue pairs of up to {most} receives, asked for {receives}"
            )));
        }
        let placements = settings.placements;
        let queue = QueuePair::new(&region.memory, depth, receives, inline, placements);
        let mut queue = queue.map_err(|error| match (error.call, error.errno) {
            // A provider that does not know what it is asked for.
            ("ibv_create_qp_ex", libc::EINVAL) => {
                RdmaError { kind: RdmaErrorKind::Unsupported, ..failed(error) }
            }
            _ => failed(error),
        })?;
        if settings.inline && queue.inline_bytes() < WORD_BYTES {
            return Err(refusal(format!("{name} takes no data inline")));
        }
        let (Own { port, atomics, .. }, pkey_index) = (self.own, settings.pkey_index);
        queue
            .advance(&Step::Initialize { port, atomics, placements, pkey_index })
            .map_err(failed)?;
        Ok(Box::new(VerbsEndpoint {
            queue,
            device: name.clone(),
            own: self.own,
            settings: settings.clone(),
            // The start must be random, so that a late packet of an earlier connection does not fit in.
            sequence: RandomState::new().hash_one(depth) as u32 & 0xff_ffff,
            connected: false,
            posted: 0,
            done: Done::default(),
            recent: Vec::new(),
            signaled: 0,
            stands_for: vec![1; settings.depth as usize],
            receives: (0, 0),
            failure: None,
        }))
    }
}

/// Registered memory.
struct VerbsRegion {
    memory: Arc<Memory>,
}

impl Region for VerbsRegion {
    fn words(&self) -> &[AtomicU64] {
        self.memory.words()
    }

    fn key(&self) -> RegionKey {
        let (address, key) = self.memory.remote();
        RegionKey { address, key: key.into(), words: self.words().len() as u64 }
    }

    fn flush(&self, word: usize) {
        self.memory.flush(word);
    }
}

/// One end of a reliable connection.
struct VerbsEndpoint {
    queue: QueuePair,
    device: String,
    own: Own,
    settings: Settings,
    sequence: u32,
    connected: bool,
    posted: u64,
    done: Done,
    /// The latest requests, by their number modulo the depth. Error messages describe them.
    recent: Vec<Request>,
    /// How many requests were posted up to the last signaled one.
    signaled: u64,
    /// For each of the last ids, modulo the depth: for how many requests its completion stands, with the
    /// unsignaled ones before it.
    stands_for: Vec<u64>,
    /// How many receives were posted, and how many of them completed.
    receives: (u64, u64),
    /// The error that broke the connection.
    failure: Option<RdmaError>,
}

impl Endpoint for VerbsEndpoint {
    fn address(&self) -> Address {
        Address {
            queue_pair: self.queue.number(),
            sequence: self.sequence,
            lid: self.own.lid,
            gid: self.own.gid,
            mtu: self.own.mtu,
            responder_reads: self.own.responder_reads,
            name: Vec::new(),
        }
    }

    fn connect(&mut self, peer: &Address) -> Result<(), RdmaError> {
        if self.connected {
            return Err(refusal(format!("{} is connected already", self.name())));
        }
        let to = Peer {
            port: self.own.port,
            queue_pair: peer.queue_pair,
            sequence: peer.sequence & 0xff_ffff,
            lid: peer.lid,
            gid: self.own.gid_index.map(|own| (peer.gid, own)),
            mtu: self.own.mtu.min(peer.mtu),
            responder_reads: self.own.responder_reads,
            service_level: self.settings.service_level,
            traffic_class: self.settings.traffic_class,
        };
        let both = self.own.initiator_reads.min(peer.responder_reads);
        let Settings { timeout, retries, rnr_retries, outstanding_reads, .. } = self.settings;
        let initiator_reads = both.min(outstanding_reads.unwrap_or(u8::MAX));
        let timing = Timing { timeout, retries, rnr_retries, initiator_reads };
        let object = format!(
            "queue pair {} towards {}",
            self.queue.number(),
            peer_text(peer, to.gid.is_some())
        );
        let failed = |error| call_failed(error, &self.device, &object);
        self.queue.advance(&Step::ReceiveReady(to)).map_err(failed)?;
        let sequence = self.sequence;
        self.queue.advance(&Step::SendReady { sequence, timing }).map_err(failed)?;
        self.connected = true;
        Ok(())
    }

    fn post(&mut self, request: &Request) -> Result<(), RdmaError> {
        self.post_list(std::slice::from_ref(request))
    }

    fn post_list(&mut self, requests: &[Request]) -> Result<(), RdmaError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        for (index, request) in requests.iter().enumerate() {
            self.check(request, index as u64)?;
        }
        if let Err((at, why)) = self.queue.post(self.posted, requests) {
            let object = requests.get(at).map(ToString::to_string).unwrap_or_default();
            return Err(match why {
                PostError::Outside => {
                    refusal(format!("{object}: expected words of the local region"))
                }
                PostError::Inline => {
                    let why = requests.get(at).map(|request| self.why_not_inline(request));
                    refusal(format!("{object}: {}", why.unwrap_or_default()))
                }
                PostError::Call(error) => call_failed(error, &self.device, &self.name()),
            });
        }
        requests.iter().for_each(|request| self.note(request));
        Ok(())
    }

    fn post_receive(&mut self, word: usize) -> Result<(), RdmaError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let (posted, completed) = self.receives;
        if posted - completed >= u64::from(self.settings.receives) {
            let most = self.settings.receives;
            return Err(refusal(format!("{} has {most} receives posted already", self.name())));
        }
        self.queue.post_receive(posted, word).map_err(|why| match why {
            PostError::Call(error) => call_failed(error, &self.device, &self.name()),
            _ => refusal(format!("receive into word {word}: expected a word of the local region")),
        })?;
        self.receives.0 += 1;
        Ok(())
    }

    fn poll_receives(&mut self, arrived: &mut Vec<Arrival>) -> Result<(), RdmaError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let before = arrived.len();
        let polled = self.queue.poll(|_, arrival| arrived.extend(arrival));
        self.receives.1 += (arrived.len() - before) as u64;
        match polled.map_err(|error| call_failed(error, &self.device, &self.name()))? {
            Some(failure) => {
                let error = receive_failed(failure, &self.device, self.queue.number());
                self.failure = Some(error.clone());
                Err(error)
            }
            None => Ok(()),
        }
    }

    fn poll(&mut self) -> Result<usize, RdmaError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let (depth, mut good) = (u64::from(self.settings.depth), 0);
        let (stands_for, done, posted) = (&self.stands_for, &mut self.done, self.posted);
        let polled = self.queue.poll(|id, _| {
            // Faulty devices may give an id that no request has.
            if id < posted {
                good += done.add(id + 1 - stands_for[(id % depth) as usize]..id + 1);
            }
        });
        match polled {
            Ok(None) => Ok(good as usize),
            Ok(Some(failure)) => self.fail(failure, good as usize),
            Err(error) => Err(call_failed(error, &self.device, &self.name())),
        }
    }

    fn done(&self) -> &Done {
        &self.done
    }
}

impl VerbsEndpoint {
    /// Takes note of a request that failed, after this many that completed. Those are reported first; the
    /// next call reports the failure.
    #[cold]
    fn fail(&mut self, failure: Failure, good: usize) -> Result<usize, RdmaError> {
        let slot = (failure.id % u64::from(self.settings.depth)) as usize;
        let number = self.queue.number();
        let error = request_failed(failure, self.recent.get(slot), &self.device, number);
        self.failure = Some(error.clone());
        if good == 0 { Err(error) } else { Ok(good) }
    }

    /// Whether a request can be posted after `before` others of a list.
    fn check(&self, request: &Request, before: u64) -> Result<(), RdmaError> {
        let depth = u64::from(self.settings.depth);
        let refused = |why: String| Err(refusal(format!("{request}: {why}")));
        if !self.connected {
            return refused(format!("{} is not connected", self.name()));
        }
        if self.posted + before - self.done.first() >= depth {
            return refused(format!("{} has {depth} requests under way already", self.name()));
        }
        if request.is_atomic() && !self.own.atomics {
            return refused(format!("{} has no atomics", self.device));
        }
        Ok(())
    }

    /// Takes note of a request that was posted.
    fn note(&mut self, request: &Request) {
        let slot = (self.posted % u64::from(self.settings.depth)) as usize;
        match self.recent.get_mut(slot) {
            Some(recent) => *recent = *request,
            None => self.recent.push(*request),
        }
        self.posted += 1;
        if request.signaled {
            self.stands_for[slot] = self.posted - self.signaled;
            self.signaled = self.posted;
        }
    }

    fn name(&self) -> String {
        format!("queue pair {}", self.queue.number())
    }

    fn why_not_inline(&self, request: &Request) -> String {
        if !matches!(request.kind, RequestKind::Write | RequestKind::Send) {
            "only a write or a send can be inline".to_owned()
        } else if !self.settings.inline {
            format!("{} was not made for inline data", self.name())
        } else {
            let (found, asked) = (self.queue.inline_bytes(), INLINE_BYTES);
            format!("expected at most {found} bytes inline, of {asked} that were asked for")
        }
    }
}

fn peer_text(peer: &Address, global: bool) -> String {
    let Address { queue_pair, lid, gid, .. } = peer;
    if global {
        let gid = std::net::Ipv6Addr::from(*gid);
        let gid = gid.to_ipv4_mapped().map_or_else(|| gid.to_string(), |ipv4| ipv4.to_string());
        format!("{queue_pair} at {gid}")
    } else {
        format!("{queue_pair} at LID {lid}")
    }
}

/// Whether the device promises that the data of a write arrives in order. The function connects a queue pair
/// to itself, because mlx5 answers only for connected ones. `None` if it cannot, or if libibverbs is older
/// than rdma-core 41, which introduced the query.
pub fn data_in_order(context: Arc<Context>, info: &DeviceInfo) -> Option<bool> {
    if info.lacks_puts_and_gets().is_some() {
        return None;
    }
    let own = VerbsDevice::new(context, info.clone()).ok()?;
    let memory = Arc::new(Memory::new(&own.domain, 1, false, Registration::default()).ok()?);
    let placements = Placements::default();
    let mut queue = QueuePair::new(&memory, 1, 0, false, placements).ok()?;
    let Own { port, lid, gid, gid_index, mtu, responder_reads, .. } = own.own;
    let gid = gid_index.map(|index| (gid, index));
    let queue_pair = queue.number();
    let (service_level, traffic_class, pkey_index) = (0, 0, 0);
    let peer = Peer {
        port,
        queue_pair,
        sequence: 0,
        lid,
        gid,
        mtu,
        responder_reads,
        service_level,
        traffic_class,
    };
    let timing = Timing { timeout: 14, retries: 7, rnr_retries: 7, initiator_reads: 1 };
    queue.advance(&Step::Initialize { port, atomics: false, placements, pkey_index }).ok()?;
    queue.advance(&Step::ReceiveReady(peer)).ok()?;
    queue.advance(&Step::SendReady { sequence: 0, timing }).ok()?;
    queue.data_in_order()
}

/// The error for a request that is not supported.
fn refusal(message: impl Into<String>) -> RdmaError {
    RdmaError::new(RdmaErrorKind::Unsupported, message)
}
