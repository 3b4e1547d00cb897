//! An agent's work for a coordinator: prepares, connects and runs one program at a time.

mod run;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use compiler::code::QueuePairId;
use compiler::library::{Depth, Libraries};
use compiler::plan::Plan;
use lang::diagnostic::Diagnostic;
use lang::program::{NodeId, ThreadId};
use lang::source::Source;

use super::protocol::{Program, Wiring, entry, plan_hash};
use crate::rdma::{Device, Endpoint, RdmaError, RdmaErrorKind, Region, Registration};
use crate::rounds::{
    ARRIVAL_DEPTH, ARRIVAL_WORDS, Barrier, Connection, Fold, Layout, Receiver, STREAM_DEPTH,
    STREAM_WORDS, SharedConnection, Signal, Stream, ThreadRun, receives_at_once,
};

/// The error of a failed step: its kind, if the device reported it, and the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble(pub Option<RdmaErrorKind>, pub String);

impl From<RdmaError> for Trouble {
    fn from(error: RdmaError) -> Self {
        Self(Some(error.kind), error.message)
    }
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self(None, message)
    }
}

/// Ends for arrivals, by thread and target machine; or ends for background traffic, by stream and source
/// machine.
type Ends = Vec<((u32, u16), Box<dyn Endpoint>)>;

/// The approximate memory that the device and its driver use for a request in flight: entries in two send
/// queues and completion queues.
const BYTES_PER_REQUEST: u64 = 512;

/// How much of a machine a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most registered memory, in bytes.
    pub bytes: u64,
    /// The most queue pairs, and the most completion queues.
    pub queue_pairs: usize,
}

/// The shipped libraries, and those that come with a program.
fn libraries(program: &Program) -> Result<Libraries, String> {
    let mut libraries = model::library::shipped().clone();
    for (name, text) in &program.libraries {
        let library = model::library::load(&Source::new(name.as_str(), text.as_str()));
        let library = library.map_err(|_| format!("the library {name} has errors here"))?;
        libraries.all.push(Arc::new(library));
    }
    Ok(libraries)
}

/// The plan of a program, which must be the coordinator's.
fn plan_of(program: &Program) -> Result<Plan, String> {
    let source = Source::new(program.name.as_str(), program.text.as_str());
    let libraries = libraries(program)?;
    let (test, _) = lang::litmus::load_with(&source, libraries.words());
    let test = test.ok_or("the program has errors here")?;
    // Calls are replaced by their implementations. The hash confirms that these are the coordinator's.
    let first = |errors: &[Diagnostic]| errors.first().map(|error| error.message.clone());
    let test = compiler::library::inline(&test, &libraries, Depth::Full)
        .map_err(|errors| first(&errors).unwrap_or_default())?;
    let plan = Plan::new(&test).map_err(|error| error.diagnostic().message)?;
    if plan_hash(&plan) != program.hash {
        return Err("the program means something else here; is it the same litmus?".to_owned());
    }
    if program.machines.len() != plan.nodes.len()
        || program.machines.iter().any(|machine| *machine >= program.count)
        || program.own >= program.count
    {
        return Err("the nodes are not placed on machines".to_owned());
    }
    Ok(plan)
}

/// A program that is prepared on this machine.
pub(super) struct Prepared {
    program: Program,
    plan: Arc<Plan>,
    /// By node index: the memory of the node, or `None` if the node is on another machine.
    memories: Vec<Option<(Arc<dyn Region>, Layout)>>,
    arrivals: Arc<dyn Region>,
    requesters: Vec<(u32, Box<dyn Endpoint>)>,
    /// Kept alive for the requesting ends that connect to them.
    responders: Vec<(u32, Box<dyn Endpoint>)>,
    senders: Ends,
    receivers: Ends,
    /// The region that background traffic writes and reads.
    ground: Arc<dyn Region>,
    sources: Ends,
    sinks: Ends,
    threads: Vec<ThreadRun>,
    streams: Vec<Stream>,
    depths: Depths,
}

/// How many requests queue pairs may have in flight: no device is asked for more than it has.
#[derive(Clone, Copy, Default)]
struct Depths {
    /// Those of the test.
    test: u32,
    /// Those of the barrier.
    arrivals: u32,
    /// Those of background traffic.
    streams: u32,
    /// The most receives of a queue pair.
    receives: u32,
}

impl Prepared {
    /// Makes the plan, registers memory, and creates this machine's ends.
    pub(super) fn new(
        program: Program,
        device: &dyn Device,
        limits: Limits,
    ) -> Result<Self, Trouble> {
        program.parameters.check()?;
        let plan = plan_of(&program)?;
        let own = |node: NodeId| program.machines[node.0 as usize - 1] == program.own;
        let layouts = plan
            .nodes
            .iter()
            .map(|node| (node.node, Layout::new(&plan, node.node, &program.parameters)));
        let layouts: Vec<(NodeId, Layout)> = layouts.filter(|(node, _)| own(*node)).collect();
        let bytes = layouts
            .iter()
            .fold(0u64, |sum, (_, layout)| sum.saturating_add(8 * layout.size() as u64));
        if bytes > limits.bytes {
            return Err(format!(
                "it needs {} MiB of memory, and this agent gives {} MiB; use fewer instances or rounds",
                bytes >> 20,
                limits.bytes >> 20
            )
            .into());
        }
        let placements = plan.placements();
        let how = Registration { placements, ..program.parameters.registration() };
        let mut memories: Vec<Option<(Arc<dyn Region>, Layout)>> = vec![None; plan.nodes.len()];
        for (node, layout) in layouts {
            memories[node.0 as usize - 1] = Some((device.register(layout.size(), how)?, layout));
        }
        let arrivals = device
            .register(plan.code.threads.len().max(1) * ARRIVAL_WORDS, Registration::default())?;
        let ground = device.register(STREAM_WORDS, program.parameters.registration())?;
        let mut settings = program.parameters.settings.clone();
        settings.inline = program.parameters.inline || plan.has_inline();
        settings.placements = placements;
        settings.depth = settings.depth.min(device.info().queue_depth.max(2));
        let mut prepared = Self {
            depths: Depths {
                test: settings.depth,
                receives: device.info().queue_depth,
                ..Depths::default()
            },
            plan: Arc::new(plan),
            memories,
            arrivals,
            requesters: Vec::new(),
            responders: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            ground,
            sources: Vec::new(),
            sinks: Vec::new(),
            threads: Vec::new(),
            streams: Vec::new(),
            program,
        };
        prepared.check_queues(bytes, settings.depth, limits)?;
        prepared.add_endpoints(device, &settings)?;
        prepared.add_streams(device, &settings)?;
        Ok(prepared)
    }

    /// Refuses a program whose queues need more than the machine gives. `bytes` is what its memory needs.
    fn check_queues(&self, bytes: u64, depth: u32, limits: Limits) -> Result<(), String> {
        let wanted = self.queue_pairs();
        if wanted > limits.queue_pairs {
            return Err(format!(
                "it needs {wanted} queue pairs, and this agent gives {}",
                limits.queue_pairs
            ));
        }
        let receives: u64 = (0..self.plan.code.queue_pairs.len())
            .map(|pair| u64::from(self.receives_at_once(QueuePairId(pair))))
            .sum();
        let requests = receives + wanted as u64 * u64::from(depth);
        let queues = requests * BYTES_PER_REQUEST;
        if bytes.saturating_add(queues) > limits.bytes {
            return Err(format!(
                "its queues need {} MiB of memory, and this agent gives {} MiB in all; use a smaller --tx-depth",
                queues >> 20,
                limits.bytes >> 20
            ));
        }
        Ok(())
    }

    /// The number of queue pairs that the program needs on this machine.
    fn queue_pairs(&self) -> usize {
        let own = |node: NodeId| usize::from(self.machine_of(node) == self.program.own);
        let ends = |pair| {
            let (from, to) = self.plan.ends(QueuePairId(pair));
            own(from) + own(to)
        };
        let pairs: usize = (0..self.plan.code.queue_pairs.len()).map(ends).sum();
        let others = usize::from(self.program.count) - 1;
        // A thread signals every other machine, and every machine receives the signals of every thread
        // elsewhere.
        let signals = self.plan.code.threads.iter().map(|thread| match own(thread.node) {
            0 => 1,
            _ => others,
        });
        pairs + signals.sum::<usize>() + 2 * self.program.parameters.stress as usize
    }

    fn machine_of(&self, node: NodeId) -> u16 {
        self.program.machines[node.0 as usize - 1]
    }

    /// How many receives of a queue pair may be posted and not complete.
    fn receives_at_once(&self, pair: QueuePairId) -> u32 {
        receives_at_once(&self.plan, pair, &self.program.parameters, self.depths.receives)
    }

    /// The receiving ends of a thread, which are responders of other threads' queue pairs.
    fn receivers_of(&mut self, thread: ThreadId) -> Vec<Receiver> {
        let own = self.plan.received_by(thread);
        let is_own = |(pair, _): &mut (u32, _)| own.contains(&QueuePairId(*pair as usize));
        let found: Vec<_> = self.responders.extract_if(.., is_own).collect();
        let receiver = |(pair, end)| {
            let pair = QueuePairId(pair as usize);
            Receiver::new(end, &self.plan, pair, self.receives_at_once(pair))
        };
        found.into_iter().map(receiver).collect()
    }

    fn memory(&self, node: NodeId) -> Result<&(Arc<dyn Region>, Layout), String> {
        let memory = self.memories.get(node.0 as usize - 1).and_then(Option::as_ref);
        memory.ok_or_else(|| format!("node {} is not on this machine", node.0))
    }

    fn add_endpoints(
        &mut self,
        device: &dyn Device,
        settings: &crate::rdma::Settings,
    ) -> Result<(), Trouble> {
        let own = self.program.own;
        for pair in 0..self.plan.code.queue_pairs.len() {
            let (from, to) = self.plan.ends(QueuePairId(pair));
            if self.machine_of(from) == own {
                let end = device.endpoint(&self.memory(from)?.0, settings)?;
                self.requesters.push((pair as u32, end));
            }
            if self.machine_of(to) == own {
                let receives = self.receives_at_once(QueuePairId(pair));
                let settings = crate::rdma::Settings { receives, ..settings.clone() };
                let end = device.endpoint(&self.memory(to)?.0, &settings)?;
                self.responders.push((pair as u32, end));
            }
        }
        self.depths.arrivals = ARRIVAL_DEPTH.min(device.info().queue_depth.max(1));
        let depth = self.depths.arrivals;
        let settings = settings.of_own_traffic(depth);
        for (index, thread) in self.plan.code.threads.iter().enumerate() {
            let home = self.program.machines[thread.node.0 as usize - 1];
            for machine in (0..self.program.count).filter(|machine| *machine != home) {
                let key = (index as u32, machine);
                if home == own {
                    self.senders.push((key, device.endpoint(&self.arrivals, &settings)?));
                }
                if machine == own {
                    self.receivers.push((key, device.endpoint(&self.arrivals, &settings)?));
                }
            }
        }
        Ok(())
    }

    /// Creates the ends of background traffic: from every machine to the next.
    fn add_streams(
        &mut self,
        device: &dyn Device,
        settings: &crate::rdma::Settings,
    ) -> Result<(), Trouble> {
        self.depths.streams = STREAM_DEPTH.min(device.info().queue_depth.max(1));
        let depth = self.depths.streams;
        let settings = settings.of_own_traffic(depth);
        let (own, count) = (self.program.own, self.program.count);
        let previous = (own + count - 1) % count;
        for stream in 0..self.program.parameters.stress {
            self.sources.push(((stream, own), device.endpoint(&self.ground, &settings)?));
            self.sinks.push(((stream, previous), device.endpoint(&self.ground, &settings)?));
        }
        Ok(())
    }

    /// How to reach this machine's ends.
    pub(super) fn wiring(&self) -> Wiring {
        let memories = self.memories.iter().enumerate();
        let ends = |list: &[(u32, Box<dyn Endpoint>)]| {
            list.iter().map(|(pair, end)| (*pair, end.address())).collect()
        };
        let keyed = |list: &Ends| list.iter().map(|(key, end)| (*key, end.address())).collect();
        Wiring {
            memories: memories
                .filter_map(|(at, memory)| Some((at as u32 + 1, memory.as_ref()?.0.key())))
                .collect(),
            requesters: ends(&self.requesters),
            responders: ends(&self.responders),
            arrivals: vec![(self.program.own, self.arrivals.key())],
            senders: keyed(&self.senders),
            receivers: keyed(&self.receivers),
            grounds: vec![(self.program.own, self.ground.key())],
            sources: keyed(&self.sources),
            sinks: keyed(&self.sinks),
        }
    }

    /// Connects this machine's ends to all others, and creates its threads.
    pub(super) fn connect(&mut self, wiring: &Wiring) -> Result<(), Trouble> {
        for (pair, end) in &mut self.requesters {
            end.connect(&entry(&wiring.responders, pair)?)?;
        }
        for (pair, end) in &mut self.responders {
            end.connect(&entry(&wiring.requesters, pair)?)?;
        }
        for (key, end) in &mut self.senders {
            end.connect(&entry(&wiring.receivers, key)?)?;
        }
        for (key, end) in &mut self.receivers {
            end.connect(&entry(&wiring.senders, key)?)?;
        }
        for (key, end) in &mut self.sources {
            end.connect(&entry(&wiring.sinks, key)?)?;
        }
        for (key, end) in &mut self.sinks {
            end.connect(&entry(&wiring.sources, key)?)?;
        }
        let next = (self.program.own + 1) % self.program.count;
        for (_, end) in std::mem::take(&mut self.sources) {
            let ground = Arc::clone(&self.ground);
            let remote = entry(&wiring.grounds, &next)?;
            self.streams.push(Stream::new(end, ground, remote, self.depths.streams));
        }
        self.add_threads(wiring)
    }

    /// The requesting end of a queue pair.
    fn connection(
        &self,
        wiring: &Wiring,
        (pair, end): (u32, Box<dyn Endpoint>),
    ) -> Result<Connection, Trouble> {
        let to = self.plan.code.queue_pairs[pair as usize].node;
        let memory = entry(&wiring.memories, &to.0)?;
        let layout = Layout::new(&self.plan, to, &self.program.parameters);
        Ok(Connection::new(end, memory, layout, self.depths.test))
    }

    fn add_threads(&mut self, wiring: &Wiring) -> Result<(), Trouble> {
        let requesters = std::mem::take(&mut self.requesters);
        let is_shared =
            |(pair, _): &(u32, _)| self.plan.code.queue_pairs[*pair as usize].is_shared();
        let (of_several, own): (Vec<_>, Vec<_>) = requesters.into_iter().partition(is_shared);
        let mut requesters = own.into_iter();
        let mut shared = BTreeMap::new();
        for (pair, end) in of_several {
            let connection = SharedConnection::new(self.connection(wiring, (pair, end))?);
            shared.insert(pair as usize, Arc::new(Mutex::new(connection)));
        }
        let mut senders = std::mem::take(&mut self.senders).into_iter().peekable();
        let plan = Arc::clone(&self.plan);
        let threads = plan.code.threads.len();
        let all = 0..threads;
        let busy: Vec<usize> = all.clone().filter(|index| plan.is_busy(*index)).collect();
        let is_here =
            |index: &usize| self.machine_of(plan.code.threads[*index].node) == self.program.own;
        let neighbors: Vec<usize> = busy.iter().copied().filter(is_here).collect();
        let is_folded = self.program.crowded && self.program.parameters.spread != Some(0);
        let fold = if is_folded { Fold::new(&plan, &neighbors) } else { None };
        let fold = fold.map(Arc::new);
        let here: Vec<usize> = all.filter(is_here).collect();
        for index in here {
            let thread = &plan.code.threads[index];
            let mut connections = Vec::new();
            for pair in thread.queue_pairs.clone() {
                let end = requesters.next().ok_or_else(|| "connected twice".to_owned())?;
                connections.push(
                    self.connection(wiring, end)?
                        .with_lists(self.program.parameters.post_list)
                        .with_receives(plan.receives(QueuePairId(pair)).len()),
                );
            }
            let receivers = self.receivers_of(ThreadId(index));
            let mut signals = Vec::new();
            while let Some(((_, machine), end)) =
                senders.next_if(|((thread, _), _)| *thread == index as u32)
            {
                let remote = entry(&wiring.arrivals, &machine)?;
                signals.push(Signal::new(end, remote, self.depths.arrivals));
            }
            let (region, layout) = self.memory(thread.node)?;
            let arrivals = Arc::clone(&self.arrivals);
            self.threads.push(ThreadRun {
                id: ThreadId(index),
                plan: Arc::clone(&plan),
                parameters: self.program.parameters.clone(),
                region: Arc::clone(region),
                layout: layout.clone(),
                connections,
                shared: thread.shared.iter().filter_map(|pair| shared.get(pair).cloned()).collect(),
                receivers,
                barrier: Barrier::new(
                    index,
                    threads,
                    busy.clone(),
                    neighbors.clone(),
                    arrivals,
                    signals,
                ),
                fold: fold.clone(),
            });
        }
        Ok(())
    }
}
