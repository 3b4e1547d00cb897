//! Implements the traits of [`crate::rdma`] with [`ffi`](super::ffi): when to ask the provider for what, and
//! what to refuse.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use crate::rdma::lines::WORD_BYTES;
use crate::rdma::{
    Address, Arrival, AtomicCapability, Device, DeviceInfo, Done, Endpoint, RdmaError,
    RdmaErrorKind, Region, RegionKey, Registration, Request, Settings,
};

use super::ffi::{
    CallError, Domain, FI_FENCE, FI_PROGRESS_AUTO, Failure, Info, Level, Library, Memory,
    PostError, Progress, Queue,
};

/// How long a provider may refuse a request because it cannot take one now: it may still connect.
const BUSY: Duration = Duration::from_secs(20);

/// An opened provider.
pub struct OfiDevice {
    library: &'static Library,
    info: DeviceInfo,
    domain: Arc<Domain>,
    progress: Arc<Progress>,
    means: Means,
}

/// What endpoints of a provider can do.
#[derive(Clone, Copy)]
struct Means {
    level: Level,
    fence: bool,
    atomics: bool,
    /// The most bytes that are copied when a request is posted.
    inject: usize,
}

impl OfiDevice {
    /// Opens what a provider offers.
    pub fn new(
        library: &'static Library,
        info: Info,
        description: DeviceInfo,
    ) -> Result<Self, RdmaError> {
        let attributes = info.attributes();
        let is_delivery =
            description.fabric.as_ref().is_some_and(|fabric| fabric.completion == "delivery");
        let means = Means {
            level: if is_delivery { Level::Delivery } else { Level::Transmit },
            fence: attributes.caps & FI_FENCE != 0,
            atomics: description.atomics != AtomicCapability::None,
            inject: attributes.inject_size,
        };
        let name = label(&description);
        let domain = Domain::new(library, info)
            .map_err(|error| call_failed(library, error, &name, "the domain"))?;
        let progress = Progress::new(attributes.data_progress != FI_PROGRESS_AUTO);
        let progress = progress.map_err(|error| {
            RdmaError::new(RdmaErrorKind::Failed, format!("no thread can be started: {error}"))
        })?;
        let progress = Arc::new(progress);
        Ok(Self { library, info: description, domain, progress, means })
    }
}

impl Device for OfiDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn register(&self, words: usize, how: Registration) -> Result<Arc<dyn Region>, RdmaError> {
        let name = label(&self.info);
        if words == 0 {
            return Err(refusal("expected a region of at least one word, found none"));
        }
        if how.on_demand || how.relaxed_ordering {
            return Err(refusal(format!("{name} registers memory in one way only")));
        }
        let memory = Memory::new(&self.domain, words, how.pages).map_err(|error| {
            call_failed(self.library, error, &name, &format!("a region of {words} words"))
        })?;
        Ok(Arc::new(OfiRegion { memory: Arc::new(memory) }))
    }

    fn endpoint(
        &self,
        region: &Arc<dyn Region>,
        settings: &Settings,
    ) -> Result<Box<dyn Endpoint>, RdmaError> {
        let region: &dyn Any = region.as_ref();
        let region = region.downcast_ref::<OfiRegion>();
        let region = region.filter(|region| region.memory.is_of(&self.domain));
        let region = region.ok_or_else(|| refusal("the region is not one of this device"))?;
        let name = label(&self.info);
        let (depth, most) = (settings.depth, self.info.queue_depth);
        if !(1..=most).contains(&depth) {
            return Err(refusal(format!(
                "{name} has endpoints of 1 to {most} requests, asked for {depth}"
            )));
        }
        if settings.receives > 0 {
            return Err(refusal("messages are not run over libfabric"));
        }
        let failed = |error| call_failed(self.library, error, &name, "a new endpoint");
        let queue = Queue::new(&region.memory, depth as usize, &self.progress).map_err(failed)?;
        let address = queue.address().map_err(failed)?;
        Ok(Box::new(OfiEndpoint {
            library: self.library,
            name,
            means: Means { atomics: self.means.atomics && queue.has_atomics(), ..self.means },
            queue,
            address,
            is_connected: false,
            posted: 0,
            fresh: 0,
            done: Done::default(),
            taken: Vec::new(),
            under_way: VecDeque::new(),
            failure: None,
        }))
    }
}

/// Registered memory.
struct OfiRegion {
    memory: Arc<Memory>,
}

impl Region for OfiRegion {
    fn words(&self) -> &[AtomicU64] {
        self.memory.words()
    }

    fn key(&self) -> RegionKey {
        let (address, key) = self.memory.remote();
        RegionKey { address, key, words: self.words().len() as u64 }
    }

    fn flush(&self, word: usize) {
        self.memory.flush(word);
    }
}

/// An endpoint and its peer.
struct OfiEndpoint {
    library: &'static Library,
    name: String,
    means: Means,
    queue: Queue,
    address: Vec<u8>,
    is_connected: bool,
    posted: u64,
    /// How many requests have completed since the last call of `poll`.
    fresh: usize,
    done: Done,
    taken: Vec<u64>,
    /// The requests from the first that has not completed, for messages.
    under_way: VecDeque<Request>,
    /// The error after which nothing is posted.
    failure: Option<RdmaError>,
}

impl Endpoint for OfiEndpoint {
    fn address(&self) -> Address {
        Address { name: self.address.clone(), ..Address::default() }
    }

    fn connect(&mut self, peer: &Address) -> Result<(), RdmaError> {
        if self.is_connected {
            return Err(refusal(format!("an endpoint of {} is connected already", self.name)));
        }
        if peer.name.is_empty() {
            return Err(refusal("the other end is not one of libfabric"));
        }
        self.queue
            .connect(&peer.name)
            .map_err(|error| call_failed(self.library, error, &self.name, "the peer's address"))?;
        self.is_connected = true;
        Ok(())
    }

    fn post(&mut self, request: &Request) -> Result<(), RdmaError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.check(request)?;
        let mut since = None;
        loop {
            match self.queue.post(self.posted, request, self.means.level) {
                Ok(()) => break,
                Err(PostError::Again) => {
                    self.reap()?;
                    std::thread::yield_now();
                    if since.get_or_insert_with(Instant::now).elapsed() > BUSY {
                        let seconds = BUSY.as_secs();
                        return Err(RdmaError::new(
                            RdmaErrorKind::Failed,
                            format!("{} takes no {request} for {seconds} s", self.name),
                        ));
                    }
                }
                Err(PostError::Outside) => {
                    return Err(refusal(format!("{request}: expected words of the local region")));
                }
                Err(PostError::Unknown) => {
                    return Err(refusal(format!("{request}: messages are not run over libfabric")));
                }
                Err(PostError::Call(error)) => {
                    return Err(call_failed(self.library, error, &self.name, &request.to_string()));
                }
            }
        }
        self.posted += 1;
        self.under_way.push_back(*request);
        Ok(())
    }

    fn post_list(&mut self, requests: &[Request]) -> Result<(), RdmaError> {
        requests.iter().try_for_each(|request| self.post(request))
    }

    fn post_receive(&mut self, _word: usize) -> Result<(), RdmaError> {
        Err(refusal("messages are not run over libfabric"))
    }

    fn poll_receives(&mut self, _arrived: &mut Vec<Arrival>) -> Result<(), RdmaError> {
        Ok(())
    }

    fn poll(&mut self) -> Result<usize, RdmaError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if let Err(error) = self.reap()
            && self.fresh == 0
        {
            return Err(error);
        }
        // The next call reports a failure.
        Ok(std::mem::take(&mut self.fresh))
    }

    fn done(&self) -> &Done {
        &self.done
    }
}

impl OfiEndpoint {
    fn check(&self, request: &Request) -> Result<(), RdmaError> {
        let refused = |why: &str| Err(refusal(format!("{request}: {} {why}", self.name)));
        if !self.is_connected {
            return refused("has no peer");
        }
        if request.is_atomic() && !self.means.atomics {
            return refused("has no atomics of 8 bytes");
        }
        if request.fence && !self.means.fence {
            return refused("has no FI_FENCE");
        }
        if request.inline && request.words as usize * WORD_BYTES > self.means.inject {
            return refused(&format!("injects at most {} bytes", self.means.inject));
        }
        Ok(())
    }

    /// Lets the provider work, and takes note of what has completed.
    fn reap(&mut self) -> Result<(), RdmaError> {
        let polled = self.queue.poll(&mut self.taken);
        let before = self.done.first();
        for number in self.taken.drain(..) {
            self.fresh += 1;
            self.done.add(number..number + 1);
        }
        let more = (self.done.first() - before) as usize;
        self.under_way.drain(..more.min(self.under_way.len()));
        let error = match polled {
            Ok(None) => return Ok(()),
            Ok(Some(failure)) => self.request_failed(&failure),
            Err(error) => call_failed(self.library, error, &self.name, "an endpoint"),
        };
        self.failure = Some(error.clone());
        Err(error)
    }

    fn request_failed(&self, failure: &Failure) -> RdmaError {
        let place = failure.number.and_then(|number| number.checked_sub(self.done.first()));
        let request = place.and_then(|place| self.under_way.get(place as usize));
        let what = match (failure.number, request) {
            (Some(number), Some(request)) => format!("request {number} ({request})"),
            (Some(number), None) => format!("request {number}"),
            (None, _) => "a request".to_owned(),
        };
        let (own, text) = &failure.provider;
        let error = self.library.error_text(failure.errno);
        RdmaError::new(
            RdmaErrorKind::Failed,
            format!("{what} of {} failed: {error} (provider's error {own}: {text})", self.name),
        )
    }
}

/// A provider and its domain, for messages.
fn label(info: &DeviceInfo) -> String {
    format!("{} on {}", info.driver, info.name)
}

fn call_failed(library: &Library, error: CallError, name: &str, object: &str) -> RdmaError {
    let CallError { call, errno } = error;
    let why = library.error_text(errno);
    RdmaError::new(
        RdmaErrorKind::Failed,
        format!("{call} failed for {object} of {name}: {why} (error {errno})"),
    )
}

/// The error for a request that is not supported.
fn refusal(message: impl Into<String>) -> RdmaError {
    RdmaError::new(RdmaErrorKind::Unsupported, message)
}
