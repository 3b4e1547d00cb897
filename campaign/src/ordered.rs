//! Work on many things at once, with results in the order of the things.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The stack of a worker, for deep programs.
const STACK: usize = 64 << 20;
/// How many results may wait for an earlier one, per worker: memory stays small.
const AHEAD: usize = 16;
/// How long the caller sleeps where results come fast. A worker that takes 20 us for each is then ahead by
/// 15, which [`AHEAD`] allows.
const NAP: Duration = Duration::from_micros(300);

/// Calls `work` on every item by `jobs` workers, and `each` with every result, in the order of the items, by
/// the calling thread. It ends early when `stop` is set or when `each` says so: then no other work begins,
/// and results of work that had begun are given to `each` in the first case and dropped in the second.
///
/// `work` must not panic: see [`caught`].
pub fn map_in_order<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(&T) -> R + Sync,
    mut each: impl FnMut(&T, R) -> ControlFlow<()>,
) {
    let next = AtomicUsize::new(0);
    let broken = AtomicBool::new(false);
    let window = Window::default();
    let ahead = jobs * AHEAD;
    let (sender, receiver) = mpsc::channel();
    let worker = |sender: mpsc::Sender<(usize, R)>| {
        loop {
            if stop.load(Ordering::Relaxed) || broken.load(Ordering::Relaxed) {
                return;
            }
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            window.wait_until(|done| index < done + ahead || broken.load(Ordering::Relaxed));
            if sender.send((index, work(item))).is_err() {
                return;
            }
        }
    };
    let started = thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..jobs.min(items.len()) {
            let sender = sender.clone();
            let thread = thread::Builder::new().stack_size(STACK);
            if thread.spawn_scoped(scope, || worker(sender)).is_err() {
                break;
            }
            started += 1;
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut done = 0;
        for (index, result) in unhurried(&receiver, items.len()) {
            waiting.insert(index, result);
            while let Some(result) = waiting.remove(&done) {
                if each(&items[done], result).is_break() {
                    broken.store(true, Ordering::Relaxed);
                    window.advance(done);
                    return started;
                }
                done += 1;
                window.advance(done);
            }
        }
        started
    });
    if started == 0 {
        in_turn(items, stop, work, each);
    }
}

/// What comes from a channel, `count` things at most. It naps before a wait if the last one was shorter than
/// a nap: a worker that wakes the receiver for every result of some ten microseconds spends as long on that.
fn unhurried<T>(receiver: &mpsc::Receiver<T>, count: usize) -> impl Iterator<Item = T> {
    let mut left = count;
    let mut is_fast = false;
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        if let Ok(next) = receiver.try_recv() {
            return Some(next);
        }
        if is_fast {
            thread::sleep(NAP);
        }
        let begun = Instant::now();
        let next = receiver.recv().ok();
        is_fast = begun.elapsed() < NAP;
        next
    })
}

/// The same without threads, for when the system gives none.
fn in_turn<T, R>(
    items: &[T],
    stop: &AtomicBool,
    work: impl Fn(&T) -> R,
    mut each: impl FnMut(&T, R) -> ControlFlow<()>,
) {
    for item in items {
        if stop.load(Ordering::Relaxed) || each(item, work(item)).is_break() {
            return;
        }
    }
}

/// The result of some work, or the message of its panic.
///
/// # Errors
/// The message.
pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_default()
    })
}

/// How far the caller is.
#[derive(Default)]
struct Window {
    done: Mutex<usize>,
    changed: Condvar,
}

impl Window {
    fn wait_until(&self, ready: impl Fn(usize) -> bool) {
        let lock = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(lock, |done| !ready(*done)));
    }

    fn advance(&self, done: usize) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = done;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(items: &[u64], jobs: usize, until: usize) -> Vec<Result<u64, String>> {
        let mut results = Vec::new();
        let work = |item: &u64| {
            thread::sleep(Duration::from_micros(item * 7919 % 100));
            assert!(*item != 13, "unlucky");
            item * 2
        };
        let each = |_: &u64, result| {
            results.push(result);
            if results.len() == until { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        map_in_order(items, jobs, &AtomicBool::new(false), |item| caught(|| work(item)), each);
        results
    }

    #[test]
    fn results_are_in_order_and_panics_are_results() {
        let items: Vec<u64> = (0..200).collect();
        for jobs in [1, 2, 7] {
            let results = run(&items, jobs, usize::MAX);
            assert_eq!(results.len(), items.len());
            for (item, result) in items.iter().zip(results) {
                match item {
                    13 => assert_eq!(result, Err("unlucky".to_owned())),
                    _ => assert_eq!(result, Ok(item * 2)),
                }
            }
        }
    }

    #[test]
    fn a_slow_result_after_fast_ones_is_not_lost() {
        let items: Vec<u64> = (0..2000).collect();
        let mut results = Vec::new();
        let work = |item: &u64| {
            if item % 999 == 998 {
                thread::sleep(NAP * 10);
            }
            *item
        };
        map_in_order(&items, 2, &AtomicBool::new(false), work, |_, result| {
            results.push(result);
            ControlFlow::Continue(())
        });
        assert_eq!(results, items);
    }

    #[test]
    fn it_can_be_ended() {
        let items: Vec<u64> = (0..200).collect();
        assert_eq!(run(&items, 3, 5).len(), 5);
        assert_eq!(run(&[], 3, 5).len(), 0);
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let stop = AtomicBool::new(false);
        let mut count = 0;
        let work = |_: &u64| stop.store(true, Ordering::Relaxed);
        map_in_order(&[0; 100], 1, &stop, work, |_, _| {
            count += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(count, 1);
    }
}
