//! A device without hardware, for tests of the modules above: each request is done at once, by the thread
//! that posts it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use super::{
    Address, AtomicCapability, Device, DeviceInfo, Endpoint, RdmaError, RdmaErrorKind, Region,
    RegionKey, Registration, Request, RequestKind, Settings,
};

/// All regions of the process, by key. Agents in one process can reach each other's regions.
static REGIONS: LazyLock<Mutex<HashMap<u32, Weak<MemoryRegion>>>> = LazyLock::new(Mutex::default);
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
        RegionKey { address: 0, key: self.key, words: self.words.len() as u64 }
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
        let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
        regions.insert(key, Arc::downgrade(&region));
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
        let (region, depth) = (Arc::clone(region), depth as usize);
        Ok(Box::new(MemoryEndpoint { region, number, depth, completed: 0 }))
    }
}

struct MemoryEndpoint {
    region: Arc<dyn Region>,
    number: u32,
    depth: usize,
    /// Requests that were not polled yet.
    completed: usize,
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
        }
    }

    fn connect(&mut self, _peer: &Address) -> Result<(), RdmaError> {
        Ok(())
    }

    fn post(&mut self, request: &Request) -> Result<(), RdmaError> {
        if self.completed >= self.depth {
            return Err(RdmaError::new(RdmaErrorKind::Failed, "the queue is full"));
        }
        let gone = || RdmaError::new(RdmaErrorKind::Failed, "remote access error");
        let regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let remote = regions.get(&request.remote.1).and_then(Weak::upgrade).ok_or_else(gone)?;
        drop(regions);
        for word in 0..request.words as usize {
            let at = (request.remote.0 / 8) as usize + word;
            let remote = remote.words.get(at).ok_or_else(gone)?;
            let local = self.region.words().get(request.local + word).ok_or_else(gone)?;
            let order = Ordering::SeqCst;
            match request.kind {
                RequestKind::Write => remote.store(local.load(order), order),
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
        self.completed += 1;
        Ok(())
    }

    fn post_list(&mut self, requests: &[Request]) -> Result<(), RdmaError> {
        requests.iter().try_for_each(|request| self.post(request))
    }

    fn poll(&mut self) -> Result<usize, RdmaError> {
        Ok(std::mem::take(&mut self.completed))
    }
}
