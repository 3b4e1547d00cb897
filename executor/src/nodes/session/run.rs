//! Runs a batch on this machine: its threads and streams run side by side.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use compiler::plan::FinalPlace;

use super::super::protocol::Seen;
use super::{Prepared, Trouble};
use crate::rounds::{Batch, End, Stop, ThreadResult};

/// How long a batch waits for something that must happen before it counts as hanging. Soft-RoCE in an
/// emulated machine on a busy host was silent for more than 8 s in one of 408 tests.
const LIMIT: Duration = Duration::from_secs(20);

impl Prepared {
    /// Runs a batch.
    pub(in crate::nodes) fn run(
        &mut self,
        number: u64,
        seed: u64,
        flag: &AtomicBool,
    ) -> Result<Seen, Trouble> {
        let batch = Batch::new(seed, number, &self.program.parameters);
        self.reset(&batch);
        let parameters = &self.program.parameters;
        let round_trip = AtomicU64::new(0);
        let stop = Stop {
            flag,
            limit: LIMIT,
            // Three instances of a round may be given up after their full patience each, and slow instances
            // take 10 ms.
            barrier_limit: LIMIT
                + 4 * parameters.patience()
                + Duration::from_millis(10) * parameters.instances,
            crowded: self.program.crowded,
            began: Instant::now(),
            round_trip: &round_trip,
        };
        let over = AtomicBool::new(false);
        let mut cores = self.program.cores.iter();
        let pin = self.program.parameters.pin;
        let mut failed_streams: Vec<End> = Vec::new();
        let results: Vec<Result<ThreadResult, End>> = std::thread::scope(|scope| {
            let (batch, stop, over) = (&batch, &stop, &over);
            let mut handles = Vec::new();
            let mut streams = Vec::new();
            for stream in &mut self.streams {
                let builder = std::thread::Builder::new().name("litmus-stress".to_owned());
                let work = move || stream.run(over).map(|()| ThreadResult::default());
                streams.push(builder.spawn_scoped(scope, work));
            }
            for thread in &mut self.threads {
                // A thread with nothing to do sleeps.
                let core = if thread.is_busy() { cores.next() } else { None };
                let builder =
                    std::thread::Builder::new().name(format!("litmus-{}", thread.id.number()));
                let work = move || {
                    if let Some(core) = core.filter(|_| pin) {
                        pin_to(*core);
                    }
                    let result = thread.run(batch, stop);
                    if result.is_err() {
                        stop.flag.store(true, Ordering::Relaxed);
                    }
                    result
                };
                handles.push(builder.spawn_scoped(scope, work));
            }
            let results = handles.into_iter().map(join).collect();
            over.store(true, Ordering::Relaxed);
            // The peer of a stream may have ended with the test. In that case, the test has reported it
            // already.
            failed_streams = streams.into_iter().map(join).filter_map(Result::err).collect();
            results
        });
        let mut ran = Vec::new();
        let mut worst: Option<End> = None;
        for result in results {
            match result {
                Ok(result) => ran.push(result),
                // The other threads stop only because one failed.
                Err(end) if worst.is_none() || worst == Some(End::Stopped) => worst = Some(end),
                Err(_) => {}
            }
        }
        match worst.or(failed_streams.pop()) {
            None => Ok(self.collect(&batch, ran)),
            Some(End::Stopped) => Err(Trouble(None, "stopped".to_owned())),
            Some(End::Failed(error)) => Err(error.into()),
            Some(End::Hang(message)) => Err(message.into()),
        }
    }

    fn reset(&self, batch: &Batch) {
        for (memory, node) in self.memories.iter().zip(&self.plan.nodes) {
            let Some((region, layout)) = memory else { continue };
            let words = region.words();
            for slot in &batch.slots {
                for (index, word) in node.words.iter().enumerate() {
                    words[layout.word(*slot, index)].store(word.initial, Ordering::Relaxed);
                }
            }
        }
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    fn collect(&self, batch: &Batch, results: Vec<ThreadResult>) -> Seen {
        let mut seen = Seen::default();
        for (index, place) in self.plan.observed.iter().enumerate() {
            if let FinalPlace::Word(node, word) = place
                && let Ok((region, layout)) = self.memory(*node)
            {
                let value =
                    |slot: &u32| region.words()[layout.word(*slot, *word)].load(Ordering::Acquire);
                seen.values.push((index as u32, batch.slots.iter().map(value).collect()));
            }
        }
        for (thread, result) in self.threads.iter().zip(results) {
            let own = |place: &FinalPlace| matches!(place, FinalPlace::Register(id, _) if *id == thread.id);
            let places = self.plan.observed.iter().enumerate().filter(|(_, place)| own(place));
            let columns: Vec<usize> = places.map(|(index, _)| index).collect();
            for (column, index) in columns.iter().enumerate() {
                let values = result.registers.iter().skip(column).step_by(columns.len());
                seen.values.push((*index as u32, values.copied().collect()));
            }
            seen.ends.push((thread.id.0 as u32, result.ends));
        }
        seen
    }
}

fn join(
    handle: std::io::Result<std::thread::ScopedJoinHandle<'_, Result<ThreadResult, End>>>,
) -> Result<ThreadResult, End> {
    match handle {
        Ok(handle) => {
            handle.join().unwrap_or_else(|_| Err(End::Hang("a thread panicked".to_owned())))
        }
        Err(error) => Err(End::Hang(format!("no thread can be started: {error}"))),
    }
}

/// Pins the calling thread to a core. If that is not possible, the thread stays unpinned.
fn pin_to(core: u32) {
    core_affinity::set_for_current(core_affinity::CoreId { id: core as usize });
}
