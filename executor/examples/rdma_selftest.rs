//! Connects an endpoint of the first RDMA device to itself, and checks what the backend `verbs` builds on. It needs a
//! device, so it is a program and no test: `cargo run -p executor --example rdma_selftest [DEVICE]`.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use executor::rdma::verbs::{self, Selection};
use executor::rdma::{
    AtomicCapability, Device, Endpoint, RdmaError, RdmaErrorKind, Region, Request, RequestKind,
    Settings,
};

/// Words of the region, more than a cache line's worth and no whole number of lines.
const WORDS: usize = 37;

fn main() -> ExitCode {
    verbs::prepare_environment();
    match check() {
        Ok(()) => {
            println!("SELFTEST OK");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("SELFTEST FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A device, and memory to play with.
struct Bench {
    device: Arc<dyn Device>,
    region: Arc<dyn Region>,
}

fn check() -> Result<(), RdmaError> {
    let device = std::env::args().nth(1);
    choices()?;
    let device = verbs::open(&Selection { device, ..Selection::default() })?;
    println!("{:?}", device.info());
    let region = device.register(WORDS, false)?;
    let bench = Bench { device, region };
    bench.moves(&Settings::default())?;
    bench.moves(&Settings { outstanding_reads: Some(1), depth: 1, ..Settings::default() })?;
    bench.atomics()?;
    bench.inline()?;
    bench.refusals()?;
    bench.bad_keys()?;
    bench.order_of_drops()?;
    bench.speed()
}

/// What is asked for and not there is refused.
fn choices() -> Result<(), RdmaError> {
    let ask = |device: Option<&str>, port, gid_index| {
        let selection = Selection { device: device.map(str::to_owned), port, gid_index };
        verbs::open(&selection).err().ok_or_else(|| wrong(format!("opened by {selection:?}")))
    };
    for error in
        [ask(Some("mlx5_77"), None, None)?, ask(None, Some(9), None)?, ask(None, None, Some(200))?]
    {
        println!("refused as expected: {error}");
        expect("kind", error.kind, RdmaErrorKind::NoDevice)?;
    }
    Ok(())
}

impl Bench {
    fn endpoint(&self, settings: &Settings) -> Result<Box<dyn Endpoint>, RdmaError> {
        let mut endpoint = self.device.endpoint(&self.region, settings)?;
        let own = endpoint.address();
        endpoint.connect(&own)?;
        Ok(endpoint)
    }

    /// On a word of the region itself, as the remote end.
    fn request(&self, kind: RequestKind, local: usize, remote: usize) -> Request {
        let key = self.region.key();
        let remote = (key.address + 8 * remote as u64, key.key);
        Request { kind, local, words: 1, remote, fence: false, inline: false }
    }

    fn set(&self, word: usize, value: u64) {
        self.region.words()[word].store(value, Relaxed);
    }

    fn get(&self, word: usize) -> u64 {
        self.region.flush(word);
        self.region.words()[word].load(Relaxed)
    }

    fn moves(&self, settings: &Settings) -> Result<(), RdmaError> {
        let mut endpoint = self.endpoint(settings)?;
        self.set(0, 0x1122_3344_5566_7788);
        complete(&mut *endpoint, &self.request(RequestKind::Write, 0, WORDS - 1))?;
        expect("write", self.get(WORDS - 1), 0x1122_3344_5566_7788)?;
        complete(&mut *endpoint, &self.request(RequestKind::Read, 1, WORDS - 1))?;
        expect("read", self.get(1), 0x1122_3344_5566_7788)?;
        (8..24).for_each(|word| self.set(word, word as u64));
        let read = Request { words: 8, ..self.request(RequestKind::Read, 24, 8) };
        let write = Request { words: 8, fence: true, ..self.request(RequestKind::Write, 24, 16) };
        if settings.depth >= 2 {
            endpoint.post(&read)?;
            endpoint.post(&write)?;
            wait(&mut *endpoint, 2)?;
        } else {
            complete(&mut *endpoint, &read)?;
            complete(&mut *endpoint, &write)?;
        }
        for word in 0..8 {
            expect("read, fence, write", self.get(16 + word), 8 + word as u64)?;
        }
        expect("nothing else was written", self.get(32), 0)?;
        println!("write, read, fence: good at depth {}", settings.depth);
        Ok(())
    }

    fn atomics(&self) -> Result<(), RdmaError> {
        let mut endpoint = self.endpoint(&Settings::default())?;
        let add = self.request(RequestKind::FetchAndAdd { addend: 2 }, 2, 3);
        if self.device.info().atomics == AtomicCapability::None {
            let error = endpoint.post(&add).err().ok_or_else(|| wrong("an atomic was posted"))?;
            println!("no atomics: {error}");
            return Ok(());
        }
        self.set(3, 40);
        complete(&mut *endpoint, &add)?;
        expect("fetch-and-add, old value", self.get(2), 40)?;
        expect("fetch-and-add", self.get(3), 42)?;
        for (expected, desired, old, new) in [(42, 99, 42, 99), (42, 7, 99, 99)] {
            let kind = RequestKind::CompareAndSwap { expected, desired };
            complete(&mut *endpoint, &self.request(kind, 2, 3))?;
            expect("compare-and-swap, old value", self.get(2), old)?;
            expect("compare-and-swap", self.get(3), new)?;
        }
        println!("atomics: good");
        Ok(())
    }

    fn inline(&self) -> Result<(), RdmaError> {
        let settings = Settings { inline: true, ..Settings::default() };
        let mut endpoint = self.endpoint(&settings)?;
        (0..8).for_each(|word| self.set(word, 100 + word as u64));
        let write = Request { inline: true, ..self.request(RequestKind::Write, 0, 8) };
        endpoint.post(&Request { words: 8, ..write })?;
        // The data is with the NIC already, so this must not be seen.
        (0..8).for_each(|word| self.set(word, 0));
        wait(&mut *endpoint, 1)?;
        for word in 0..8 {
            expect("inline write", self.get(8 + word), 100 + word as u64)?;
        }
        refused(&mut *endpoint, &Request { words: 9, ..write }, "at most 64 bytes inline")?;
        let read = Request { inline: true, ..self.request(RequestKind::Read, 0, 8) };
        refused(&mut *endpoint, &read, "only a write")?;
        let mut plain = self.endpoint(&Settings::default())?;
        refused(&mut *plain, &write, "not made for inline")?;
        println!("inline: good");
        Ok(())
    }

    fn refusals(&self) -> Result<(), RdmaError> {
        let mut endpoint = self.endpoint(&Settings { depth: 2, ..Settings::default() })?;
        let write = self.request(RequestKind::Write, 0, 1);
        let outside = "expected words of the local region";
        refused(&mut *endpoint, &Request { local: WORDS, ..write }, outside)?;
        refused(&mut *endpoint, &Request { local: usize::MAX, ..write }, outside)?;
        refused(&mut *endpoint, &Request { words: 38, ..write }, outside)?;
        refused(&mut *endpoint, &Request { words: u32::MAX, ..write }, outside)?;
        refused(&mut *endpoint, &Request { words: 0, ..write }, outside)?;
        endpoint.post(&write)?;
        endpoint.post(&write)?;
        refused(&mut *endpoint, &write, "2 requests under way already")?;
        wait(&mut *endpoint, 2)?;
        let mut unconnected = self.device.endpoint(&self.region, &Settings::default())?;
        refused(&mut *unconnected, &write, "not connected")?;
        let own = endpoint.address();
        let again = endpoint.connect(&own).err().ok_or_else(|| wrong("connected twice"))?;
        println!("refused as expected: {again}");
        for depth in [0, u32::MAX] {
            let settings = Settings { depth, ..Settings::default() };
            let made = self.device.endpoint(&self.region, &settings).err();
            println!("refused as expected: {}", made.ok_or_else(|| wrong("a depth was taken"))?);
        }
        let none = self.device.register(0, false).err().ok_or_else(|| wrong("a region of none"))?;
        println!("refused as expected: {none}");
        let huge = self.device.register(usize::MAX / 64, false).err();
        println!("refused as expected: {}", huge.ok_or_else(|| wrong("a huge region"))?);
        Ok(())
    }

    fn bad_keys(&self) -> Result<(), RdmaError> {
        let write = self.request(RequestKind::Write, 0, 1);
        let (address, key) = write.remote;
        let past = self.region.key().address + 8 * WORDS as u64;
        for remote in [(address, key ^ 0xff00), (past, key), (0, key)] {
            let mut endpoint = self.endpoint(&Settings::default())?;
            endpoint.post(&write)?;
            endpoint.post(&Request { remote, ..write })?;
            endpoint.post(&write)?;
            let error = wait(&mut *endpoint, 3).err();
            let error = error.ok_or_else(|| wrong("wrote where nothing is registered"))?;
            println!("failed as expected: {error}");
            expect("kind", error.kind, RdmaErrorKind::Failed)?;
            refused(&mut *endpoint, &write, "remote access error")?;
        }
        Ok(())
    }

    /// Endpoints outlive what the caller holds of region and device.
    fn order_of_drops(&self) -> Result<(), RdmaError> {
        let name = Some(self.device.info().name.clone());
        let device = verbs::open(&Selection { device: name, ..Selection::default() })?;
        let foreign = device.endpoint(&self.region, &Settings::default()).err();
        println!("refused as expected: {}", foreign.ok_or_else(|| wrong("a foreign region"))?);
        let region = device.register(8, true)?;
        let mut endpoint = device.endpoint(&region, &Settings::default())?;
        let own = endpoint.address();
        endpoint.connect(&own)?;
        let key = region.key();
        let write = self.request(RequestKind::Write, 0, 0);
        drop((device, region));
        complete(&mut *endpoint, &Request { remote: (key.address + 8, key.key), ..write })?;
        println!("an endpoint outlives its device: good");
        Ok(())
    }

    fn speed(&self) -> Result<(), RdmaError> {
        let mut endpoint = self.endpoint(&Settings::default())?;
        let write = self.request(RequestKind::Write, 0, 1);
        let (count, start) = (20_000, Instant::now());
        let (mut posted, mut done) = (0, 0);
        while done < count {
            while posted < count && posted - done < 64 {
                endpoint.post(&write)?;
                posted += 1;
            }
            done += endpoint.poll()?;
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{:.0} writes per second, 64 under way", f64::from(count as u32) / seconds);
        Ok(())
    }
}

/// Posts a request and waits for it.
fn complete(endpoint: &mut dyn Endpoint, request: &Request) -> Result<(), RdmaError> {
    endpoint.post(request)?;
    wait(endpoint, 1)
}

fn wait(endpoint: &mut dyn Endpoint, mut count: usize) -> Result<(), RdmaError> {
    let start = Instant::now();
    while count > 0 {
        count -= endpoint.poll()?;
        if start.elapsed() > Duration::from_secs(20) {
            return Err(wrong(format!("{count} requests did not complete in 20 s")));
        }
        std::thread::yield_now();
    }
    Ok(())
}

fn refused(endpoint: &mut dyn Endpoint, request: &Request, why: &str) -> Result<(), RdmaError> {
    match endpoint.post(request) {
        Err(error) if error.message.contains(why) => {
            println!("refused as expected: {error}");
            Ok(())
        }
        Err(error) => Err(wrong(format!("expected \"{why}\", found \"{error}\""))),
        Ok(()) => Err(wrong(format!("expected \"{why}\", but {request:?} was posted"))),
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, want: T) -> Result<(), RdmaError> {
    if found == want {
        return Ok(());
    }
    Err(wrong(format!("{what}: expected {want:?}, found {found:?}")))
}

fn wrong(message: impl Into<String>) -> RdmaError {
    RdmaError::new(RdmaErrorKind::Failed, message)
}
