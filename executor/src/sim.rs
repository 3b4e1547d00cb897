//! The backend `sim`: the operational machine under a seeded scheduler, with faults on demand.

use std::sync::atomic::Ordering;

use model::machine::{FAULTS, Fault, FaultInfo, FaultSet, Random, Simulator, Variant};
use rayon::prelude::*;
use serde_json::{Map, Value};

use crate::backend::{Backend, Control, Job, Refusal};
use crate::observation::Observations;
use crate::record::fnv1a;

/// How many runs share a generator. Each chunk's seed depends on its number only, so counts do not depend on how
/// many workers there are.
pub const CHUNK: u64 = 1000;

/// The simulator.
#[derive(Clone, Debug, Default)]
pub struct Sim {
    faults: Vec<Fault>,
}

impl Sim {
    /// A simulator with these faults, by name; none for the correct machine.
    ///
    /// # Errors
    /// A name that is none of [`Sim::faults_known`].
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

/// A name that no fault has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFault(pub String);

impl Backend for Sim {
    fn name(&self) -> &'static str {
        "sim"
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
        let run_chunk = |simulator: &mut Simulator, chunk: u64| {
            let iterations = CHUNK.min(job.iterations - chunk * CHUNK);
            let histogram = simulator.run(&mut Random::stream(seed, chunk), iterations);
            (control.progress)(iterations);
            Observations {
                outcomes: histogram.outcomes,
                blocked: histogram.blocked,
                assume_failed: histogram.assume_failed,
                unfinished: histogram.unfinished,
            }
        };
        Ok((0..chunks)
            .into_par_iter()
            .take_any_while(|_| !control.stop.load(Ordering::Relaxed))
            .map_init(|| simulator.clone(), run_chunk)
            .reduce(Observations::default, Observations::merge))
    }
}
