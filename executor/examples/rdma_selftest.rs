//! Checks on a device what the backend `verbs` builds on. It needs a device, so it is a program and no test.
//!
//!     rdma_selftest [DEVICE]          endpoints that are connected to themselves
//!     rdma_selftest --listen          waits for another, on TCP port 18516
//!     rdma_selftest --connect HOST    works on that one's memory

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use executor::rdma::{
    Address, Arrival, AtomicCapability, Device, Endpoint, RdmaError, RdmaErrorKind, Region,
    RegionKey, Registration, Request, RequestKind, Selection, Settings, verbs,
};

/// Words of the region, more than a cache line's worth and no whole number of lines.
const WORDS: usize = 37;

fn main() -> ExitCode {
    verbs::prepare_environment();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--listen"] => Pair::meet(None).and_then(Pair::serve),
        ["--connect", host] => Pair::meet(Some(host)).and_then(Pair::work),
        [] => check(None),
        [device] => check(Some(device.to_owned())),
        _ => Err(wrong("expected [DEVICE], --listen, or --connect HOST")),
    };
    match result {
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

fn check(device: Option<String>) -> Result<(), RdmaError> {
    choices()?;
    let device = verbs::open(&Selection { device, ..Selection::default() })?;
    println!("{:?}", device.info());
    let region = device.register(WORDS, Registration::default())?;
    let bench = Bench { device, region };
    bench.moves(&Settings::default())?;
    bench.moves(&Settings { outstanding_reads: Some(1), depth: 1, ..Settings::default() })?;
    bench.atomics()?;
    bench.inline()?;
    bench.messages()?;
    bench.bad_messages()?;
    bench.refusals()?;
    bench.bad_keys()?;
    bench.order_of_drops()?;
    bench.speed()
}

/// What is asked for and not there is refused.
fn choices() -> Result<(), RdmaError> {
    let ask = |device: Option<&str>, port, gid_index| {
        let selection = Selection {
            device: device.map(str::to_owned),
            port,
            gid_index,
            ..Selection::default()
        };
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
        Request::plain(kind, local, 1, remote)
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
        refused(&mut *endpoint, &read, "only a write or a send")?;
        let mut plain = self.endpoint(&Settings::default())?;
        refused(&mut *plain, &write, "not made for inline")?;
        println!("inline: good");
        Ok(())
    }

    /// The two ends of a connection, of which the second receives.
    fn pair(&self, settings: &Settings) -> Result<[Box<dyn Endpoint>; 2], RdmaError> {
        let mut one = self.device.endpoint(&self.region, settings)?;
        let mut other = self.device.endpoint(&self.region, settings)?;
        one.connect(&other.address())?;
        other.connect(&one.address())?;
        Ok([one, other])
    }

    fn messages(&self) -> Result<(), RdmaError> {
        let settings = Settings { receives: 2, ..Settings::default() };
        let [mut sender, mut receiver] = self.pair(&settings)?;
        self.set(0, 77);
        (4..8).for_each(|word| self.set(word, word as u64));
        let send = self.request(RequestKind::Send, 0, 0);
        let write = Request { immediate: Some(u32::MAX), ..self.request(RequestKind::Write, 0, 5) };
        let with = |immediate| Request { immediate, ..send };
        let empty = Request { words: 0, signaled: true, ..with(Some(9)) };
        for (number, (request, word)) in
            (0..).zip([(with(Some(3)), 4), (with(None), 6), (write, 5), (empty, 7)])
        {
            receiver.post_receive(if word == 5 { 8 } else { word })?;
            complete(&mut *sender, &request)?;
            let arrived = arrival(&mut *receiver)?;
            let expected =
                Arrival { number, immediate: request.immediate, empty: request.words == 0 };
            expect("arrival", arrived, expected)?;
            expect("data", self.get(word), if request.words == 0 { word as u64 } else { 77 })?;
        }
        let full = (0..3).map(|_| receiver.post_receive(4)).find_map(Result::err);
        println!("refused as expected: {}", full.ok_or_else(|| wrong("3 receives of 2"))?);
        println!("messages: good");
        Ok(())
    }

    fn bad_messages(&self) -> Result<(), RdmaError> {
        let settings = Settings { receives: 2, rnr_retries: 0, ..Settings::default() };
        let send = self.request(RequestKind::Send, 0, 0);
        let [mut sender, _receiver] = self.pair(&settings)?;
        let missing = complete(&mut *sender, &send).err();
        println!("failed as expected: {}", missing.ok_or_else(|| wrong("sent to nobody"))?);
        let [mut sender, mut receiver] = self.pair(&settings)?;
        let outside = receiver.post_receive(WORDS).err();
        println!("refused as expected: {}", outside.ok_or_else(|| wrong("a buffer outside"))?);
        receiver.post_receive(4)?;
        let long = complete(&mut *sender, &Request { words: 2, ..send }).err();
        println!("failed as expected: {}", long.ok_or_else(|| wrong("2 words in 1"))?);
        let long = arrival(&mut *receiver).err().ok_or_else(|| wrong("2 words in 1"))?;
        println!("failed as expected: {long}");
        expect("what is said of it", long.message.contains("longer than the buffer"), true)?;
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
        let none = self
            .device
            .register(0, Registration::default())
            .err()
            .ok_or_else(|| wrong("a region of none"))?;
        println!("refused as expected: {none}");
        let huge = self.device.register(usize::MAX / 64, Registration::default()).err();
        println!("refused as expected: {}", huge.ok_or_else(|| wrong("a huge region"))?);
        Ok(())
    }

    fn bad_keys(&self) -> Result<(), RdmaError> {
        let write = self.request(RequestKind::Write, 0, 1);
        let (address, key) = write.remote;
        let past = self.region.key().address + 8 * WORDS as u64;
        for remote in [(address, key ^ 0xff00), (past, key), (0, key)] {
            // Not one that is connected to itself: its far end fails too, and may flush the requests before
            // the answer is there.
            let mut endpoint = self.device.endpoint(&self.region, &Settings::default())?;
            let mut other = self.device.endpoint(&self.region, &Settings::default())?;
            endpoint.connect(&other.address())?;
            other.connect(&endpoint.address())?;
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
        let region = device
            .register(8, Registration { relaxed_ordering: true, ..Registration::default() })?;
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

/// Two processes, with a line to talk on.
struct Pair {
    line: BufReader<TcpStream>,
    region: Arc<dyn Region>,
    endpoint: Box<dyn Endpoint>,
    theirs: RegionKey,
}

impl Pair {
    /// Connects with the other one.
    fn meet(host: Option<&str>) -> Result<Self, RdmaError> {
        let stream = match host {
            None => TcpListener::bind(("0.0.0.0", 18516)).and_then(|listener| listener.accept()),
            Some(host) => patiently(host).map(|stream| (stream, ([0, 0, 0, 0], 0).into())),
        };
        let mut line = BufReader::new(stream.map_err(io)?.0);
        let device = verbs::open(&Selection::default())?;
        let region = device.register(WORDS, Registration::default())?;
        // Gives up within a few seconds, for the end of this test; emulated machines may need half a second.
        let settings = Settings { timeout: 17, retries: 3, ..Settings::default() };
        let mut endpoint = device.endpoint(&region, &settings)?;
        let own = serde_json::to_string(&(endpoint.address(), region.key())).map_err(json)?;
        writeln!(line.get_mut(), "{own}").map_err(io)?;
        let mut theirs = String::new();
        line.read_line(&mut theirs).map_err(io)?;
        let (address, theirs): (Address, RegionKey) =
            serde_json::from_str(&theirs).map_err(json)?;
        endpoint.connect(&address)?;
        println!("connected to {address:?}");
        let mut pair = Self { line, region, endpoint, theirs };
        pair.barrier()?;
        Ok(pair)
    }

    /// Both get here before one goes on.
    fn barrier(&mut self) -> Result<(), RdmaError> {
        writeln!(self.line.get_mut()).map_err(io)?;
        self.line.read_line(&mut String::new()).map(drop).map_err(io)
    }

    /// Is worked on, looks at what came of it, and goes away.
    fn serve(mut self) -> Result<(), RdmaError> {
        self.barrier()?;
        let found: Vec<u64> = self.region.words().iter().map(|word| word.load(Relaxed)).collect();
        println!("the other one left {found:?}");
        expect("write", found[1], 7)?;
        expect("fetch-and-add, compare-and-swap", found[2], 99)?;
        let Self { line, endpoint, .. } = self;
        drop(endpoint);
        let mut line = line;
        writeln!(line.get_mut()).map_err(io)
    }

    /// Works on the other one's words.
    fn work(mut self) -> Result<(), RdmaError> {
        let theirs = self.theirs;
        let to = |kind, local, word: u64| {
            let remote = (theirs.address + 8 * word, theirs.key);
            Request::plain(kind, local, 1, remote)
        };
        let words = Arc::clone(&self.region);
        let word = |index: usize| words.words()[index].load(Relaxed);
        let endpoint = &mut *self.endpoint;
        words.words()[0].store(7, Relaxed);
        complete(endpoint, &to(RequestKind::Write, 0, 1))?;
        complete(endpoint, &to(RequestKind::Read, 3, 1))?;
        expect("read", word(3), 7)?;
        complete(endpoint, &to(RequestKind::FetchAndAdd { addend: 42 }, 4, 2))?;
        expect("fetch-and-add", word(4), 0)?;
        let swap = RequestKind::CompareAndSwap { expected: 42, desired: 99 };
        complete(endpoint, &to(swap, 4, 2))?;
        expect("compare-and-swap", word(4), 42)?;
        let count = 5000;
        let start = Instant::now();
        for _ in 0..count {
            complete(endpoint, &to(RequestKind::Write, 0, 1))?;
        }
        println!(
            "{:.0} writes per second, one by one",
            f64::from(count) / start.elapsed().as_secs_f64()
        );
        self.barrier()?;
        self.line.read_line(&mut String::new()).map_err(io)?;
        let error = complete(&mut *self.endpoint, &to(RequestKind::Write, 0, 1)).err();
        println!("failed as expected: {}", error.ok_or_else(|| wrong("wrote to nobody"))?);
        Ok(())
    }
}

/// The other one may start later.
fn patiently(host: &str) -> std::io::Result<TcpStream> {
    let start = Instant::now();
    loop {
        match TcpStream::connect((host, 18516)) {
            Err(_) if start.elapsed() < Duration::from_secs(30) => {
                std::thread::sleep(Duration::from_millis(100));
            }
            result => return result,
        }
    }
}

fn io(error: std::io::Error) -> RdmaError {
    wrong(format!("the line broke: {error}"))
}

fn json(error: serde_json::Error) -> RdmaError {
    wrong(format!("the other one said something strange: {error}"))
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

/// Waits for the completion of a receive.
fn arrival(endpoint: &mut dyn Endpoint) -> Result<Arrival, RdmaError> {
    let (start, mut arrived) = (Instant::now(), Vec::new());
    while arrived.is_empty() {
        endpoint.poll_receives(&mut arrived)?;
        if start.elapsed() > Duration::from_secs(20) {
            return Err(wrong("no receive completed in 20 s"));
        }
        std::thread::yield_now();
    }
    Ok(arrived[0])
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
