//! Background traffic: long writes and reads beside those of a test, so that its requests compete with others
//! in the NICs, on the links and in the caches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::thread::End;
use crate::rdma::{Endpoint, Region, RegionKey, Request, RequestKind};

/// The size in words of a machine's region for background traffic. Writes go to its first half, and reads
/// come from its second half. Its content does not matter.
pub const STREAM_WORDS: usize = 2 * LONG;
/// The words of one request: a page, which most links split into several packets.
const LONG: usize = 512;
/// How many requests a stream keeps in flight, if the device has queues that deep.
pub const STREAM_DEPTH: u32 = 16;
/// The most time that a stream's last requests may take.
const DRAIN: Duration = Duration::from_secs(5);

/// A stream of background traffic from one machine to another.
pub struct Stream {
    endpoint: Box<dyn Endpoint>,
    remote: RegionKey,
    /// How many requests it keeps in flight.
    depth: u64,
    posted: u64,
    /// Keeps the region alive as long as requests use it.
    _region: Arc<dyn Region>,
}

impl Stream {
    /// A stream over an endpoint that is connected to a machine with this region for streams.
    pub fn new(
        endpoint: Box<dyn Endpoint>,
        region: Arc<dyn Region>,
        remote: RegionKey,
        depth: u32,
    ) -> Self {
        Self { endpoint, remote, depth: depth.into(), posted: 0, _region: region }
    }

    /// Sends until `stop` is set, then waits for the requests in flight.
    ///
    /// # Errors
    /// Fails if a request fails.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), End> {
        while !stop.load(Ordering::Relaxed) {
            self.endpoint.poll()?;
            while self.under_way() < self.depth {
                let request = self.next();
                self.endpoint.post(&request)?;
                self.posted += 1;
            }
            std::thread::yield_now();
        }
        let began = Instant::now();
        while self.under_way() > 0 {
            self.endpoint.poll()?;
            if began.elapsed() > DRAIN {
                return Err(End::Hang("background traffic does not drain".to_owned()));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// How many places of the queue are taken: those from the first request under way.
    fn under_way(&self) -> u64 {
        self.posted - self.endpoint.done().first()
    }

    /// The next request: writes and reads alternate.
    fn next(&self) -> Request {
        let (kind, half) = if self.posted.is_multiple_of(2) {
            (RequestKind::Write, 0)
        } else {
            (RequestKind::Read, LONG)
        };
        let remote = (self.remote.address + 8 * half as u64, self.remote.key);
        Request::plain(kind, half, LONG as u32, remote)
    }
}
