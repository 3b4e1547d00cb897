//! The backends `verbs` and `ofi`: run a test on all machines.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

use compiler::code::ThreadCode;
use compiler::library::Libraries;
use compiler::plan::{Placements, Plan};
use lang::mutex::lock;
use lang::program::NodeId;
use serde_json::{Map, Value as Json};

use evidence::record::{Header, NodeInfo};

use super::cluster::{Cluster, Trouble};
use super::collect;
use super::cores::{Place, allot};
use super::protocol::{Ask, Program, Reply, Seen, Wiring, plan_hash};
use crate::backend::{Backend, Control, Job, Refusal};
use crate::rdma::{AtomicCapability, DeviceInfo, RdmaErrorKind};
use crate::rounds::{Parameters, round_sizes};
use evidence::observation::Observations;
use evidence::record::fnv1a;

/// The backend for real RDMA, by libibverbs or libfabric.
pub struct Verbs {
    cluster: Mutex<Cluster>,
    parameters: Parameters,
    nodes: Vec<NodeInfo>,
}

impl Verbs {
    /// The backend for these machines.
    pub fn new(cluster: Cluster, parameters: Parameters) -> Self {
        let nodes = cluster.infos();
        Self { cluster: Mutex::new(cluster), parameters, nodes }
    }

    /// Sets the parameters for later runs.
    pub fn set_parameters(&mut self, parameters: Parameters) {
        self.parameters = parameters;
    }

    /// Locks the cluster: only one test runs at a time, because tests would disturb each other.
    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        lock(&self.cluster)
    }
}

impl Backend for Verbs {
    fn name(&self) -> &'static str {
        let is_ofi = self.nodes.iter().any(|node| node.device.fabric.is_some());
        if is_ofi { Header::OFI } else { Header::HARDWARE }
    }

    fn faults(&self) -> Vec<String> {
        Vec::new()
    }

    fn parameters(&self) -> Map<String, Json> {
        self.parameters.json()
    }

    fn nodes(&self) -> Vec<NodeInfo> {
        self.nodes.clone()
    }

    fn run(&self, job: &Job<'_>, control: Control<'_>) -> Result<Observations, Refusal> {
        let plan =
            Plan::new(job.test).map_err(|error| Refusal::Skip(error.diagnostic().message))?;
        let mut cluster = self.cluster();
        if control.stop.load(Ordering::Relaxed) {
            return Ok(Observations::default());
        }
        let placement = Placement::new(&plan, &mut cluster)?;
        if plan.has_atomics() {
            placement.needs_atomics(&cluster)?;
        }
        placement.needs_extensions(plan.placements(), &cluster)?;
        let notes = placement.notes(&cluster, &self.parameters);
        let seen = Observations { notes, ..Observations::default() };
        let parameters = self.parameters.for_iterations(job.iterations);
        let mut run = Run { plan, placement, cluster: &mut cluster, parameters, seen };
        let result = run.prepare(job).and_then(|()| run.batches(job, control));
        run.release();
        match result {
            Ok(()) => Ok(run.seen),
            // A device may report late that it does not support something, but not after it has done it.
            Err(trouble)
                if trouble.kind == Some(RdmaErrorKind::Unsupported)
                    && run.seen.iterations() == 0 =>
            {
                Err(Refusal::Skip(trouble.to_string()))
            }
            Err(trouble) => Err(Refusal::Broken(trouble.to_string(), Box::new(run.seen))),
        }
    }
}

/// Which machine runs which nodes of the program.
struct Placement {
    /// The indices of the machines that take part.
    machines: Vec<usize>,
    /// For each node of the program, an index into `machines`.
    of_node: Vec<u16>,
}

impl Placement {
    fn new(plan: &Plan, cluster: &mut Cluster) -> Result<Self, Refusal> {
        let mut machines = cluster.alive();
        if machines.is_empty() {
            return Err(Refusal::Error("no machine is left".to_owned()));
        }
        machines.truncate(plan.nodes.len());
        let count = machines.len();
        let of_node = (0..plan.nodes.len()).map(|node| (node % count) as u16).collect();
        Ok(Self { machines, of_node })
    }

    fn needs_atomics(&self, cluster: &Cluster) -> Result<(), Refusal> {
        for machine in &self.machines {
            if let Some(info) = cluster.info(*machine)
                && info.device.atomics == AtomicCapability::None
            {
                let (device, name) = (&info.device.name, &info.name);
                let hint = match &info.device.fabric {
                    Some(_) => ", or promises less with them, or crashes: --atomics asks for them",
                    None => "",
                };
                return Err(Refusal::Skip(format!(
                    "the device {device} of {name} has no atomics{hint}"
                )));
            }
        }
        Ok(())
    }

    fn needs_extensions(&self, needed: Placements, cluster: &Cluster) -> Result<(), Refusal> {
        let needed = [
            (needed.flush, DeviceInfo::FLUSH),
            (needed.persist, DeviceInfo::PERSIST),
            (needed.atomic_write, DeviceInfo::ATOMIC_WRITE),
        ];
        for machine in &self.machines {
            let Some(info) = cluster.info(*machine) else { continue };
            let has = &info.device.memory_placement;
            let lacks =
                |(needed, what): &(bool, &str)| *needed && !has.iter().any(|one| one == what);
            if let Some((_, what)) = needed.into_iter().find(lacks) {
                let (device, name) = (&info.device.name, &info.name);
                return Err(Refusal::Skip(format!("the device {device} of {name} has no {what}")));
            }
        }
        Ok(())
    }

    /// Notes for readers of the record.
    fn notes(&self, cluster: &Cluster, parameters: &Parameters) -> Vec<String> {
        let mut notes = Vec::new();
        for info in self.machines.iter().filter_map(|machine| cluster.info(*machine)) {
            let device = &info.device;
            if parameters.relaxed_ordering && device.relaxed_ordering == Some(false) {
                let (device, name) = (&device.name, &info.name);
                notes.push(format!("the device {device} of {name} has no relaxed ordering"));
            }
        }
        for (own, machine) in self.machines.iter().enumerate() {
            let nodes = self.of_node.iter().enumerate().filter(|(_, m)| **m as usize == own);
            let nodes: Vec<String> =
                nodes.map(|(node, _)| NodeId(node as u32 + 1).0.to_string()).collect();
            if nodes.len() > 1 {
                notes.push(format!("nodes {} share {}", nodes.join(", "), cluster.name(*machine)));
            }
        }
        let wanted = self.of_node.len().min(cluster.count());
        if self.machines.len() < wanted {
            notes.push(format!("{} of {wanted} machines could be used", self.machines.len()));
        }
        notes
    }
}

/// The names and texts of the libraries that are not shipped. In the list, they follow the shipped ones.
fn own_libraries(libraries: &Libraries) -> Vec<(String, String)> {
    let own = libraries.all.iter().skip(model::library::shipped().all.len());
    own.map(|library| (library.source.name.clone(), library.source.text.clone())).collect()
}

struct Run<'a> {
    plan: Plan,
    placement: Placement,
    cluster: &'a mut Cluster,
    parameters: Parameters,
    seen: Observations,
}

impl Run<'_> {
    fn ask(&mut self, ask: impl Fn(u16) -> Ask) -> Result<Vec<Reply>, Trouble> {
        let machines = self.placement.machines.iter().enumerate();
        let asks = machines.map(|(own, machine)| (*machine, ask(own as u16))).collect();
        self.cluster.ask(asks)
    }

    fn prepare(&mut self, job: &Job<'_>) -> Result<(), Trouble> {
        let program = Program {
            name: job.test.name.clone(),
            text: job.program.to_owned(),
            hash: plan_hash(&self.plan),
            machines: self.placement.of_node.clone(),
            own: 0,
            count: self.placement.machines.len() as u16,
            cores: Vec::new(),
            crowded: false,
            parameters: self.parameters.clone(),
            libraries: own_libraries(job.libraries),
        };
        let allotted = self.allot();
        let prepare = |own: u16| {
            let (cores, crowded) = allotted.get(usize::from(own)).cloned().unwrap_or_default();
            Ask::Prepare(Box::new(Program { own, cores, crowded, ..program.clone() }))
        };
        let mut wiring = Wiring::default();
        for answer in self.ask(prepare)? {
            if let Reply::Prepared(part) = answer {
                wiring.add(*part);
            }
        }
        let wiring = Box::new(wiring);
        self.ask(|_| Ask::Connect(wiring.clone())).map(|_| ())
    }

    /// For each machine, the cores of its threads, and whether its host has too few.
    fn allot(&self) -> Vec<(Vec<u32>, bool)> {
        let threads = |own: usize| {
            let is_own = |(index, thread): &(usize, &ThreadCode)| {
                let machine = self.placement.of_node[thread.node.0 as usize - 1];
                usize::from(machine) == own && self.plan.is_busy(*index)
            };
            self.plan.code.threads.iter().enumerate().filter(is_own).count()
        };
        let streams = self.parameters.stress as usize;
        let machines = self.placement.machines.iter().enumerate();
        let agents: Vec<(&Place, usize, usize)> = machines
            .map(|(own, machine)| (self.cluster.place(*machine), threads(own), streams))
            .collect();
        allot(&agents)
    }

    /// Runs the batches. Observations made before an error are kept.
    fn batches(&mut self, job: &Job<'_>, control: Control<'_>) -> Result<(), Trouble> {
        let seed = job.seed ^ fnv1a(&[job.program]);
        // A run that goes on does not repeat the batches that were done.
        for batch in job.done.div_ceil(self.parameters.batch().max(1)).. {
            let done = job.done.saturating_add(self.seen.iterations());
            let left = job.iterations.saturating_sub(done);
            if left == 0 || control.stop.load(Ordering::Relaxed) {
                break;
            }
            let part = |answer| match answer {
                Reply::Seen(part) => Some(part),
                _ => None,
            };
            let answers = self.ask(|_| Ask::Run { batch, seed })?;
            let parts: Vec<Seen> = answers.into_iter().filter_map(part).collect();
            let count = self.parameters.batch().min(left) as usize;
            let rounds = round_sizes(seed, batch, &self.parameters);
            let more = collect::observations(&self.plan, &parts, count, &rounds, (batch, seed));
            let mut more = more.map_err(|message| Trouble {
                node: "coordinator".to_owned(),
                kind: None,
                message,
            })?;
            more.notes.clone_from(&self.seen.notes);
            (control.progress)(count as u64);
            (control.keep)(&more);
            self.seen = std::mem::take(&mut self.seen).merge(more);
        }
        Ok(())
    }

    fn release(&mut self) {
        for machine in self.placement.machines.clone() {
            // A lost machine has nothing to release. If a machine fails here, the next test notices.
            if self.cluster.is_connected(machine) {
                drop(self.cluster.ask(vec![(machine, Ask::Release)]));
            }
        }
    }
}
