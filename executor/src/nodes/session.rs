//! An agent's work for a coordinator: one program at a time, prepared, connected, run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use compiler::plan::{Place, Plan};
use lang::program::{NodeId, ThreadId};
use lang::source::Source;

use super::protocol::{Program, Seen, Wiring, entry, plan_hash};
use crate::rdma::{Device, Endpoint, RdmaError, RdmaErrorKind, Region};
use crate::rounds::{
    ARRIVAL_WORDS, Barrier, Batch, Connection, End, Layout, Signal, Stop, ThreadResult, ThreadRun,
};

/// How long a batch waits for what must happen, until it counts as hanging.
const LIMIT: Duration = Duration::from_secs(8);

/// Why something did not work.
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

/// Ends for arrivals, by thread and the machine that they lead to.
type Signals = Vec<((u32, u16), Box<dyn Endpoint>)>;

/// A program that is prepared on this machine.
pub(super) struct Prepared {
    program: Program,
    plan: Arc<Plan>,
    /// By index of the node in the program; `None` for those of other machines.
    memories: Vec<Option<(Arc<dyn Region>, Layout)>>,
    arrivals: Arc<dyn Region>,
    requesters: Vec<(u32, Box<dyn Endpoint>)>,
    /// Kept for their other ends.
    responders: Vec<(u32, Box<dyn Endpoint>)>,
    senders: Signals,
    receivers: Signals,
    threads: Vec<ThreadRun>,
    depth: u32,
}

impl Prepared {
    /// Makes the plan, the memory and this machine's ends.
    pub(super) fn new(
        program: Program,
        device: &dyn Device,
        most_bytes: u64,
    ) -> Result<Self, Trouble> {
        program.parameters.check()?;
        let source = Source::new(program.name.as_str(), program.text.as_str());
        let (test, _) = lang::litmus::load(&source);
        let test = test.ok_or_else(|| "the program has errors here".to_owned())?;
        let plan = Plan::new(&test).map_err(|error| error.diagnostic().message)?;
        if plan_hash(&plan) != program.hash {
            return Err("the program means something else here; is it the same litmus?"
                .to_owned()
                .into());
        }
        if program.machines.len() != plan.nodes.len()
            || program.machines.iter().any(|m| *m >= program.count)
        {
            return Err("the nodes are not placed on machines".to_owned().into());
        }
        let own = |node: NodeId| program.machines[node.0 as usize - 1] == program.own;
        let layouts = plan
            .nodes
            .iter()
            .map(|node| (node.node, Layout::new(&plan, node.node, &program.parameters)));
        let layouts: Vec<(NodeId, Layout)> = layouts.filter(|(node, _)| own(*node)).collect();
        let bytes = layouts
            .iter()
            .fold(0u64, |sum, (_, layout)| sum.saturating_add(8 * layout.size() as u64));
        if bytes > most_bytes {
            return Err(format!(
                "it needs {} MiB of memory, and this agent gives {} MiB; use fewer instances or rounds",
                bytes >> 20,
                most_bytes >> 20
            )
            .into());
        }
        let relaxed = program.parameters.relaxed_ordering;
        let mut memories: Vec<Option<(Arc<dyn Region>, Layout)>> = vec![None; plan.nodes.len()];
        for (node, layout) in layouts {
            memories[node.0 as usize - 1] =
                Some((device.register(layout.size(), relaxed)?, layout));
        }
        let arrivals = device.register(plan.code.threads.len().max(1) * ARRIVAL_WORDS, false)?;
        let mut settings = program.parameters.settings.clone();
        settings.inline = program.parameters.inline;
        settings.depth = settings.depth.min(device.info().queue_depth.max(2));
        let mut prepared = Self {
            depth: settings.depth,
            plan: Arc::new(plan),
            memories,
            arrivals,
            requesters: Vec::new(),
            responders: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            threads: Vec::new(),
            program,
        };
        prepared.add_endpoints(device, &settings)?;
        Ok(prepared)
    }

    fn machine_of(&self, node: NodeId) -> u16 {
        self.program.machines[node.0 as usize - 1]
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
            let (from, to) = self.plan.ends(compiler::code::QueuePairId(pair));
            if self.machine_of(from) == own {
                let end = device.endpoint(&self.memory(from)?.0, settings)?;
                self.requesters.push((pair as u32, end));
            }
            if self.machine_of(to) == own {
                let end = device.endpoint(&self.memory(to)?.0, settings)?;
                self.responders.push((pair as u32, end));
            }
        }
        // Arrivals are 64 at most under way, see the barrier.
        let settings = crate::rdma::Settings { depth: 128, inline: false, ..settings.clone() };
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

    /// How this machine's ends are reached.
    pub(super) fn wiring(&self) -> Wiring {
        let memories = self.memories.iter().enumerate();
        let ends = |list: &[(u32, Box<dyn Endpoint>)]| {
            list.iter().map(|(pair, end)| (*pair, end.address())).collect()
        };
        let signals =
            |list: &Signals| list.iter().map(|(key, end)| (*key, end.address())).collect();
        Wiring {
            memories: memories
                .filter_map(|(at, memory)| Some((at as u32 + 1, memory.as_ref()?.0.key())))
                .collect(),
            requesters: ends(&self.requesters),
            responders: ends(&self.responders),
            arrivals: vec![(self.program.own, self.arrivals.key())],
            senders: signals(&self.senders),
            receivers: signals(&self.receivers),
        }
    }

    /// Connects this machine's ends to all others, and makes its threads.
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
        let mut requesters = std::mem::take(&mut self.requesters).into_iter();
        let mut senders = std::mem::take(&mut self.senders).into_iter().peekable();
        let plan = Arc::clone(&self.plan);
        for (index, thread) in plan.code.threads.iter().enumerate() {
            if self.machine_of(thread.node) != self.program.own {
                continue;
            }
            let mut connections = Vec::new();
            for pair in thread.queue_pairs.clone() {
                let to = plan.code.queue_pairs[pair].node;
                let (_, end) = requesters.next().ok_or_else(|| "connected twice".to_owned())?;
                let memory = entry(&wiring.memories, &to.0)?;
                let layout = Layout::new(&plan, to, &self.program.parameters);
                connections.push(Connection::new(end, memory, layout, self.depth));
            }
            let mut signals = Vec::new();
            while let Some(((_, machine), end)) =
                senders.next_if(|((thread, _), _)| *thread == index as u32)
            {
                signals.push(Signal::new(end, entry(&wiring.arrivals, &machine)?));
            }
            let (region, layout) = self.memory(thread.node)?;
            let threads = plan.code.threads.len();
            self.threads.push(ThreadRun {
                id: ThreadId(index),
                plan: Arc::clone(&plan),
                parameters: self.program.parameters.clone(),
                region: Arc::clone(region),
                layout: *layout,
                connections,
                barrier: Barrier::new(index, threads, Arc::clone(&self.arrivals), signals),
            });
        }
        Ok(())
    }

    /// Runs a batch. `tick` is called now and then with the number of instances that have ended.
    pub(super) fn run(
        &mut self,
        number: u64,
        seed: u64,
        flag: &AtomicBool,
        mut tick: impl FnMut(u64),
    ) -> Result<Seen, Trouble> {
        let batch = Batch::new(seed, number, &self.program.parameters);
        self.reset(&batch);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let stop = Stop { flag, limit: LIMIT, crowded: self.threads.len() >= cores };
        let done = AtomicU64::new(0);
        let pin = self.program.parameters.pin;
        let results: Vec<Result<ThreadResult, End>> = std::thread::scope(|scope| {
            let (batch, done, stop) = (&batch, &done, &stop);
            let mut handles = Vec::new();
            for (index, thread) in self.threads.iter_mut().enumerate() {
                let builder =
                    std::thread::Builder::new().name(format!("litmus-{}", thread.id.number()));
                let work = move || {
                    if pin {
                        pin_to(index);
                    }
                    let result = thread.run(batch, stop, done);
                    if result.is_err() {
                        stop.flag.store(true, Ordering::Relaxed);
                    }
                    result
                };
                handles.push(builder.spawn_scoped(scope, work));
            }
            while handles.iter().flatten().any(|handle| !handle.is_finished()) {
                std::thread::sleep(Duration::from_millis(1));
                tick(done.load(Ordering::Relaxed));
            }
            handles.into_iter().map(join).collect()
        });
        let mut ran = Vec::new();
        let mut worst: Option<End> = None;
        for result in results {
            match result {
                Ok(result) => ran.push(result),
                // Others only stop because one failed.
                Err(end) if worst.is_none() || worst == Some(End::Stopped) => worst = Some(end),
                Err(_) => {}
            }
        }
        match worst {
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
            if let Place::Word(node, word) = place
                && let Ok((region, layout)) = self.memory(*node)
            {
                let value =
                    |slot: &u32| region.words()[layout.word(*slot, *word)].load(Ordering::Acquire);
                seen.values.push((index as u32, batch.slots.iter().map(value).collect()));
            }
        }
        for (thread, result) in self.threads.iter().zip(results) {
            let own = |place: &Place| matches!(place, Place::Register(id, _) if *id == thread.id);
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

/// Pins the calling thread to a core; where that cannot be done, it stays free.
fn pin_to(index: usize) {
    if let Some(cores) = core_affinity::get_core_ids()
        && !cores.is_empty()
    {
        core_affinity::set_for_current(cores[index % cores.len()]);
    }
}
