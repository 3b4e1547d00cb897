//! Limits of time and memory, looked at wherever work may be long.
//!
//! [`Limits::within`] does some work, or says which limit was reached first. The work calls [`look`] in its
//! loops, and [`need`] before it takes much memory. Either gives up by unwinding to `within`, so that nothing
//! half done is seen, and no function in between has to pass on that there is no result. Work that keeps what
//! it has so far asks [`Limits::reached`] instead. Outside of `within` nothing is ever given up.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use web_time::Instant;

use crate::mutex::lock;

/// When to give up.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// No later than this.
    pub deadline: Option<Instant>,
    /// As soon as this is set.
    pub stop: Option<Arc<AtomicBool>>,
    /// Before the process takes more than this.
    pub memory: Option<Memory>,
}

/// How much memory the process may take.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// So many bytes.
    pub most: u64,
    /// Measures how many it takes now.
    pub used: fn() -> u64,
    /// Makes it take less, if it keeps memory that is free.
    pub give_back: Option<fn()>,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reached {
    /// The deadline.
    Time,
    /// The memory that the process may take, in bytes.
    Memory(u64),
    /// Somebody said stop.
    Stop,
}

impl fmt::Display for Reached {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => to.write_str("the time limit was reached"),
            Self::Memory(most) => write!(to, "the memory limit of {} was reached", Size(*most)),
            Self::Stop => to.write_str("it was stopped"),
        }
    }
}

/// A number of bytes, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.into_iter().find(|(shift, _)| self.0 >> shift > 0) {
            Some((shift, unit)) => {
                let tenths = (u128::from(self.0) * 10) >> shift;
                match tenths % 10 {
                    0 => write!(to, "{} {unit}", tenths / 10),
                    rest => write!(to, "{}.{rest} {unit}", tenths / 10),
                }
            }
            None => write!(to, "{} bytes", self.0),
        }
    }
}

/// At which calls of [`look`] the clock is read.
const SELDOM: u32 = 32;

/// How often memory is measured; the system is asked for it, which takes longer than to look at a clock.
const OFTEN: Duration = Duration::from_millis(10);

thread_local! {
    /// The limits that hold for what this thread does.
    static CURRENT: RefCell<Option<Limits>> = const { RefCell::new(None) };
    /// How often [`look`] was called.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// When memory was measured last, and how much it was.
    static MEASURED: Cell<Option<(Instant, u64)>> = const { Cell::new(None) };
    /// The bytes that [`need`] was told of since it measured last.
    static ANNOUNCED: Cell<u64> = const { Cell::new(0) };
    /// How much this thread's work is known to have taken so far.
    static TAKEN: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
}

/// The same of all threads.
static WORKS: Mutex<Vec<Arc<AtomicU64>>> = Mutex::new(Vec::new());

impl Limits {
    /// So long from now.
    pub fn of_time(time: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(time), ..Self::default() }
    }

    /// Which limit is reached, if one is.
    pub fn reached(&self) -> Option<Reached> {
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Some(Reached::Stop);
        }
        if self.deadline.is_none() && self.memory.is_none() {
            return None;
        }
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Reached::Time);
        }
        self.memory
            .filter(|memory| memory.is_exceeded(now, 0))
            .map(|memory| Reached::Memory(memory.most))
    }

    /// Does the work, unless a limit is reached first. Limits that hold already hold in it too.
    ///
    /// # Errors
    /// The limit that was reached.
    pub fn within<R>(&self, work: impl FnOnce() -> R) -> Result<R, Reached> {
        let outer = CURRENT.take();
        let inner = self.and(outer.as_ref());
        if let (Some(memory), Some((_, used))) = (inner.memory, MEASURED.get())
            && used > memory.most
        {
            // It may have been freed since, with the work that was given up for it.
            MEASURED.set(None);
        }
        if let Some(reached) = inner.reached() {
            CURRENT.set(outer);
            return Err(reached);
        }
        CURRENT.set(Some(inner));
        let entry = Entry::begin();
        let result = catch_unwind(AssertUnwindSafe(work));
        drop(entry);
        CURRENT.set(outer);
        result.map_err(|panic| match panic.downcast::<Reached>() {
            Ok(reached) => *reached,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// These limits and those around them.
    fn and(&self, outer: Option<&Self>) -> Self {
        let Some(outer) = outer else { return self.clone() };
        let deadlines = [self.deadline, outer.deadline];
        Self {
            deadline: deadlines.into_iter().flatten().min(),
            stop: self.stop.clone().or_else(|| outer.stop.clone()),
            memory: self.memory.or(outer.memory),
        }
    }
}

/// The limits that hold for what this thread does, for other threads that do a part of it.
pub fn current() -> Limits {
    CURRENT.with_borrow(|limits| limits.clone().unwrap_or_default())
}

/// Gives up if a limit is reached that this is within. It costs little enough for loops of short rounds.
#[inline]
pub fn look() {
    let calls = CALLS.get().wrapping_add(1);
    CALLS.set(calls);
    if calls.is_multiple_of(SELDOM) {
        look_now();
    }
}

/// The same for rounds that are long: each looks.
#[cold]
pub fn look_now() {
    if let Some(reached) = CURRENT.with_borrow(|limits| limits.as_ref()?.reached()) {
        give_up(reached);
    }
}

/// Gives up, as [`look`] does: for a limit that was seen elsewhere, say by another thread that does a part of
/// the work.
pub fn give_up(reached: Reached) -> ! {
    resume_unwind(Box::new(reached))
}

/// The same before this many bytes are taken.
pub fn need(bytes: usize) {
    /// Memory is measured each time that this thread has announced this much, in bytes.
    const MANY: u64 = 1 << 20;
    let bytes = bytes as u64;
    TAKEN.with_borrow(|taken| {
        if let Some(taken) = taken {
            taken.fetch_add(bytes, Ordering::Relaxed);
        }
    });
    let announced = ANNOUNCED.get().saturating_add(bytes);
    ANNOUNCED.set(announced);
    if announced < MANY {
        return;
    }
    ANNOUNCED.set(0);
    let memory = CURRENT.with_borrow(|limits| limits.as_ref()?.memory);
    if let Some(memory) = memory.filter(|memory| memory.is_exceeded(Instant::now(), bytes)) {
        give_up(Reached::Memory(memory.most));
    }
    look_now();
}

impl Memory {
    /// Whether the process takes too much, or would with that many more bytes, and this thread's work is what
    /// is to be given up.
    fn is_exceeded(&self, now: Instant, more: u64) -> bool {
        let is_too_much = |used: u64| used.saturating_add(more) > self.most;
        let known = MEASURED.get().filter(|(at, _)| more == 0 && now.duration_since(*at) < OFTEN);
        let used = known.map_or_else(
            || {
                let mut used = (self.used)();
                if let Some(give_back) = self.give_back.filter(|_| is_too_much(used)) {
                    give_back();
                    used = (self.used)();
                }
                MEASURED.set(Some((now, used)));
                used
            },
            |(_, used)| used,
        );
        // If the largest has not looked yet, and memory goes on growing, all are given up.
        let is_far = used.saturating_add(more) > self.most.saturating_add(self.most / 4);
        is_too_much(used) && (is_largest() || is_far)
    }
}

/// Whether no other thread's work is known to have taken more.
fn is_largest() -> bool {
    let own =
        TAKEN.with_borrow(|taken| taken.as_ref().map_or(0, |taken| taken.load(Ordering::Relaxed)));
    let works = lock(&WORKS);
    works.iter().all(|taken| taken.load(Ordering::Relaxed) <= own)
}

/// The work of a thread while it is among those that are compared.
struct Entry(Option<Arc<AtomicU64>>);

impl Entry {
    /// Work within other work is a part of it.
    fn begin() -> Self {
        let is_inner = TAKEN.with_borrow(Option::is_some);
        if is_inner {
            return Self(None);
        }
        let taken = Arc::new(AtomicU64::new(0));
        TAKEN.set(Some(Arc::clone(&taken)));
        lock(&WORKS).push(Arc::clone(&taken));
        Self(Some(taken))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(own) = &self.0 {
            TAKEN.set(None);
            let mut works = lock(&WORKS);
            works.retain(|taken| !Arc::ptr_eq(taken, own));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(used: fn() -> u64) -> Limits {
        let memory = Memory { most: 1 << 20, used, give_back: None };
        Limits { memory: Some(memory), ..Limits::default() }
    }

    fn past() -> Limits {
        Limits::of_time(Duration::ZERO)
    }

    #[test]
    fn work_without_limits_goes_on() {
        look();
        need(usize::MAX);
        assert_eq!(
            Limits::default().within(|| {
                look();
                5
            }),
            Ok(5)
        );
    }

    #[test]
    fn each_limit_ends_work() {
        let stop = Limits { stop: Some(Arc::new(AtomicBool::new(false))), ..Limits::default() };
        let soon = Limits::of_time(Duration::from_millis(5));
        assert_eq!(past().within(|| 5), Err(Reached::Time), "work does not begin");
        assert_eq!(
            soon.within(|| loop {
                look()
            }),
            Err::<(), _>(Reached::Time)
        );
        let stopped = stop.within(|| {
            stop.stop.iter().for_each(|stop| stop.store(true, Ordering::Relaxed));
            (0..SELDOM).for_each(|_| look());
        });
        assert_eq!(stopped, Err(Reached::Stop));
        assert_eq!(memory(|| 2 << 20).within(|| 5), Err(Reached::Memory(1 << 20)));
        assert_eq!(
            memory(|| 1 << 20).within(|| {
                look();
                5
            }),
            Ok(5)
        );
        let large = memory(|| 0).within(|| need(2 << 20));
        assert_eq!(large, Err(Reached::Memory(1 << 20)));
        assert_eq!(memory(|| 0).within(|| need(1 << 20)), Ok(()));
    }

    /// Short works do not each ask the system, nor does a look at a limit that is passed; and what was freed
    /// counts no more.
    #[test]
    fn memory_is_measured_now_and_then() {
        static USED: AtomicU64 = AtomicU64::new(2 << 20);
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let limits = memory(|| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            USED.load(Ordering::Relaxed)
        });
        assert_eq!(limits.within(|| 5), Err(Reached::Memory(1 << 20)));
        let looks = (0..100).filter(|_| limits.reached().is_some()).count();
        assert_eq!(looks, 100);
        USED.store(0, Ordering::Relaxed);
        let began = Instant::now();
        let works = (0..100).filter(|_| limits.within(|| 5) == Ok(5)).count();
        assert_eq!(works, 100);
        let most = 3 + began.elapsed().as_nanos() / OFTEN.as_nanos();
        assert!(u128::from(ASKED.load(Ordering::Relaxed)) <= most);
    }

    #[test]
    fn outer_limits_hold_inside() {
        let soon = Limits::of_time(Duration::from_millis(5));
        let inside = soon.within(|| {
            Limits::default().within(|| {
                loop {
                    look()
                }
            })
        });
        assert_eq!(inside, Ok(Err::<(), _>(Reached::Time)));
        // What was given up inside has left nothing behind.
        look();
        assert_eq!(
            Limits::default().within(|| {
                look();
                5
            }),
            Ok(5)
        );
    }

    #[test]
    fn panics_are_no_limits() {
        let panic = catch_unwind(|| Limits::default().within(|| panic!("for the test")));
        assert!(panic.is_err());
        look();
    }

    #[test]
    fn what_is_free_is_given_back_first() {
        static KEPT: AtomicU64 = AtomicU64::new(8 << 20);
        let used = || (4 << 20) + KEPT.load(Ordering::Relaxed);
        let give_back: Option<fn()> = Some(|| KEPT.store(0, Ordering::Relaxed));
        let memory = Some(Memory { most: 8 << 20, used, give_back });
        let limits = Limits { memory, ..Limits::default() };
        assert_eq!(limits.within(|| 5), Ok(5));
        assert_eq!(KEPT.load(Ordering::Relaxed), 0);
        // Also before more is taken.
        KEPT.store(2 << 20, Ordering::Relaxed);
        assert_eq!(limits.within(|| need(4 << 20)), Ok(()));
        assert_eq!(KEPT.load(Ordering::Relaxed), 0);
    }

    /// Of two works, the one that has taken less goes on until memory is far beyond.
    #[test]
    fn the_largest_is_given_up_first() {
        let over = memory(|| (1 << 20) + 1);
        let (sender, ready) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _ = Limits::default().within(|| {
                    need(1 << 30);
                    let _ = sender.send(());
                    let _ = wait.recv();
                });
            });
            ready.recv().unwrap();
            assert_eq!(
                over.within(|| {
                    look();
                    5
                }),
                Ok(5),
                "another is larger"
            );
            assert!(memory(|| 2 << 20).within(|| 5).is_err(), "far beyond");
            drop(done);
        });
        assert!(over.within(|| 5).is_err(), "no other is left");
    }

    #[test]
    fn limits_in_words() {
        let texts =
            [(5, "5 bytes"), (1536, "1.5 KiB"), (512 << 20, "512 MiB"), (12 << 30, "12 GiB")];
        for (bytes, text) in texts {
            assert_eq!(Size(bytes).to_string(), text);
        }
        assert_eq!(Reached::Memory(1 << 30).to_string(), "the memory limit of 1 GiB was reached");
    }
}
