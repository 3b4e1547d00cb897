//! The backend `sim`: the operational machine under a seeded scheduler, with optional faults.

use std::sync::atomic::Ordering;

use lang::limits;
use model::machine::{FAULTS, Fault, FaultInfo, FaultSet, Random, Simulator, Variant};
use rayon::prelude::*;
use serde_json::{Map, Value};

use crate::backend::{Backend, Control, Job, Refusal};
use evidence::observation::Observations;
use evidence::record::{Header, fnv1a};

/// How many runs share a random generator. The seed of a chunk of runs depends only on its number, so counts
/// do not depend on the number of workers.
const CHUNK: u64 = 1000;

/// The simulator.
#[derive(Clone, Debug, Default)]
pub struct Sim {
    faults: Vec<Fault>,
}

impl Sim {
    /// A simulator with these faults, by name; none for the correct machine.
    ///
    /// # Errors
    /// Fails if a name is not in [`Sim::faults_known`].
    pub fn new(faults: &[String]) -> Result<Self, UnknownFault> {
        let find = |name: &String| Fault::from_name(name).ok_or_else(|| UnknownFault(name.clone()));
        let mut faults = faults.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        faults.sort();
        faults.dedup();
        Ok(Self { faults })
    }

    /// All faults.
    pub fn faults_known() -> &'static [FaultInfo] {
        FAULTS
    }
}

/// The error for a name that is not the name of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFault(pub String);

impl Backend for Sim {
    fn name(&self) -> &'static str {
        Header::SIMULATOR
    }

    fn faults(&self) -> Vec<String> {
        self.faults.iter().map(|fault| fault.info().name.to_owned()).collect()
    }

    fn parameters(&self) -> Map<String, Value> {
        let mut parameters = Map::new();
        parameters.insert("chunk".to_owned(), CHUNK.into());
        parameters.insert("step_bound".to_owned(), Simulator::STEP_BOUND.into());
        parameters
    }

    fn run(&self, job: &Job<'_>, control: Control<'_>) -> Result<Observations, Refusal> {
        let Some(variant) = Variant::from_name(job.machine) else {
            return Err(Refusal::Skip(format!("there is no machine `{}`", job.machine)));
        };
        let faults: FaultSet = self.faults.iter().copied().collect();
        let simulator = Simulator::new(job.test, variant, faults)
            .map_err(|error| Refusal::Skip(error.diagnostic().message))?;
        let seed = job.seed ^ fnv1a(&[job.program, job.machine]);
        let chunks = job.iterations.div_ceil(CHUNK);
        // The limits of the calling thread apply to all workers. A chunk that a limit cuts off does not
        // count, like one that never began.
        let limits = limits::current();
        let run_chunk = |simulator: &mut Simulator, chunk: u64| {
            let iterations = CHUNK.min(job.iterations - chunk * CHUNK);
            let run = || simulator.run(&mut Random::stream(seed, chunk), iterations);
            let Ok(histogram) = limits.within(run) else { return Observations::default() };
            (control.progress)(iterations);
            Observations {
                outcomes: histogram.outcomes,
                blocked: histogram.blocked,
                assume_failed: histogram.assume_failed,
                unfinished: histogram.unfinished,
                ..Observations::default()
            }
        };
        Ok((0..chunks)
            .into_par_iter()
            .take_any_while(|_| !control.stop.load(Ordering::Relaxed) && limits.reached().is_none())
            .map_init(|| simulator.clone(), run_chunk)
            .reduce(Observations::default, Observations::merge))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use lang::Test;
    use lang::source::Source;

    use super::*;
    use crate::backend::measure;
    use evidence::record::Status;

    const PROGRAM: &str = "\
litmus MP
            ||  x = 0, y = 0
  --------------------------
  x^2 := 1  ||  a := y
  y^2 := 1  ||  b := x
";

    fn test() -> Test {
        let (test, diagnostics) = lang::litmus::load(&Source::new("MP", PROGRAM));
        test.unwrap_or_else(|| panic!("{diagnostics:?}"))
    }

    fn job(test: &Test, iterations: u64, seed: u64) -> Job<'_> {
        Job {
            test,
            file: "MP",
            program: PROGRAM,
            libraries: model::library::shipped(),
            machine: "rdma-tso",
            iterations,
            done: 0,
            seed,
        }
    }

    fn run(faults: &[&str], job: &Job<'_>, threads: usize) -> Result<Observations, Refusal> {
        let faults: Vec<String> = faults.iter().map(|name| (*name).to_owned()).collect();
        let sim = Sim::new(&faults).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let control = Control { stop: &AtomicBool::new(false), progress: &|_| {}, keep: &|_| {} };
        pool.install(|| sim.run(job, control))
    }

    #[test]
    fn counts_depend_on_the_seed_and_not_on_the_workers() {
        let test = test();
        let one = run(&[], &job(&test, 3500, 1), 1).unwrap();
        assert_eq!(one.iterations(), 3500);
        assert_eq!(one, run(&[], &job(&test, 3500, 1), 8).unwrap());
        assert_ne!(one, run(&[], &job(&test, 3500, 2), 1).unwrap());
    }

    #[test]
    fn more_iterations_begin_with_the_same_ones() {
        let test = test();
        let few = run(&[], &job(&test, CHUNK, 1), 2).unwrap();
        let many = run(&[], &job(&test, 3 * CHUNK, 1), 2).unwrap();
        assert!(few.outcomes.iter().all(|(outcome, count)| many.outcomes[outcome] >= *count));
    }

    #[test]
    fn faults_show() {
        let test = test();
        let correct = run(&[], &job(&test, 5000, 1), 2).unwrap();
        let broken = run(&["puts-reordered"], &job(&test, 5000, 1), 2).unwrap();
        assert!(broken.outcomes.len() > correct.outcomes.len());
        assert_eq!(
            Sim::new(&["no-such-fault".to_owned()]).unwrap_err(),
            UnknownFault("no-such-fault".to_owned())
        );
    }

    #[test]
    fn what_cannot_be_run_is_skipped_with_a_reason() {
        let test = test();
        let on = |machine| run(&[], &Job { machine, ..job(&test, 10, 1) }, 1);
        assert!(matches!(on("abacus"), Err(Refusal::Skip(reason)) if reason.contains("abacus")));
        assert!(matches!(on("tso"), Err(Refusal::Skip(_))));
    }

    #[test]
    fn a_stop_leaves_whole_chunks() {
        let test = test();
        let stop = AtomicBool::new(false);
        let done = AtomicU64::new(0);
        let progress = |runs| {
            done.fetch_add(runs, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        };
        let control = Control { stop: &stop, progress: &progress, keep: &|_| {} };
        let (record, seen) =
            measure(&Sim::default(), &job(&test, 100 * CHUNK, 1), Vec::new(), control);
        assert_eq!(record.status, Status::Interrupted);
        assert_eq!(seen.iterations(), done.into_inner());
        assert!(seen.iterations() > 0 && seen.iterations() % CHUNK == 0);
    }
}
