//! The coordinator's view of all machines.

use std::io::ErrorKind;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use super::cores::Place;
use super::ends::mismatch;
use super::launch::{Launch, Launched};
use super::link::{Event, LISTEN, Link, SILENCE, Silence};
use super::protocol::{Ask, Reply, Selection};
use super::secret::Secret;
use crate::rdma::RdmaErrorKind;
use evidence::record::NodeInfo;

/// How long after its loss a machine is first tried again. Each failed try doubles the time.
const RETRY: Duration = Duration::from_secs(1);
/// The longest time between two tries.
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// How long agents that were just started may take until they listen.
const LAUNCH: Duration = Duration::from_secs(20);

/// A machine to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What records call it.
    pub name: String,
    /// Its address: `HOST` or `HOST:PORT`.
    pub address: String,
    /// The device to use there.
    pub selection: Selection,
}

/// How to reach the machines.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// The machines.
    pub nodes: Vec<Node>,
    /// How agents are started.
    pub launch: Launch,
    /// The secret that the agents share with the coordinator.
    pub secret: Secret,
}

/// All machines.
pub struct Cluster {
    options: ClusterOptions,
    machines: Vec<Machine>,
    events: Receiver<Event>,
    sender: Sender<Event>,
    /// The agents that were started, kept until the end.
    launched: Option<Launched>,
}

struct Machine {
    name: String,
    address: String,
    link: Option<Link>,
    info: Option<NodeInfo>,
    place: Place,
    /// When the machine was lost or last tried, and how long to wait before the next try.
    lost: Option<(Instant, Duration)>,
    epoch: u32,
}

/// A problem with a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The name of the machine.
    pub node: String,
    /// The kind of problem, if the device reported it.
    pub kind: Option<RdmaErrorKind>,
    /// The full message.
    pub message: String,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {}", self.node, self.message)
    }
}

impl Cluster {
    /// Starts agents if requested, connects to all machines, and asks for their descriptions.
    ///
    /// # Errors
    /// Reports the first machine that cannot be used, and why.
    pub fn new(options: ClusterOptions) -> Result<Self, Trouble> {
        let (sender, events) = mpsc::channel();
        let mut cluster = Self { machines: Vec::new(), events, sender, launched: None, options };
        cluster.launch()?;
        for index in 0..cluster.machines.len() {
            cluster.connect(index)?;
        }
        cluster.ends_fit()?;
        Ok(cluster)
    }

    /// Checks that all machines can connect to the first one.
    fn ends_fit(&self) -> Result<(), Trouble> {
        let infos = self.infos();
        let Some(first) = infos.first() else { return Ok(()) };
        let wrong = infos.iter().find_map(|info| Some((info, mismatch(first, info)?)));
        wrong.map_or(Ok(()), |(info, message)| {
            Err(Trouble { node: info.name.clone(), kind: None, message })
        })
    }

    fn launch(&mut self) -> Result<(), Trouble> {
        let options = &self.options;
        let addresses: Vec<String> =
            options.nodes.iter().map(|node| node.address.clone()).collect();
        let launched = options.launch.start(&addresses, &options.secret);
        let launched = launched.map_err(|error| Trouble {
            node: "launch".to_owned(),
            kind: None,
            message: error.0,
        })?;
        let machine = |(node, address): (&Node, &String)| Machine {
            name: node.name.clone(),
            address: address.clone(),
            link: None,
            info: None,
            place: Place::default(),
            lost: None,
            epoch: 0,
        };
        self.machines = options.nodes.iter().zip(&launched.addresses).map(machine).collect();
        self.launched = Some(launched);
        Ok(())
    }

    fn connect(&mut self, index: usize) -> Result<(), Trouble> {
        let began = Instant::now();
        let patient = self.options.launch != Launch::None;
        let link = loop {
            let machine = &mut self.machines[index];
            machine.epoch += 1;
            let (address, epoch) = (machine.address.clone(), machine.epoch);
            match Link::new(index, &address, epoch, &self.options.secret, self.sender.clone()) {
                Ok(link) => break link,
                Err(_) if patient && began.elapsed() < LAUNCH => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(message) => {
                    return Err(Trouble { node: machine.name.clone(), kind: None, message });
                }
            }
        };
        self.machines[index].link = Some(link);
        let ask = Ask::Describe(self.options.nodes[index].selection.clone());
        let answer = self.ask(vec![(index, ask)]);
        match answer {
            Ok(mut answers) => match answers.pop() {
                Some(Reply::Described(device, host, place)) => {
                    let machine = &mut self.machines[index];
                    machine.place = place;
                    machine.info =
                        Some(NodeInfo { name: machine.name.clone(), host, device: *device });
                    Ok(())
                }
                _ => Err(self.lose(index, "it answers something else than was asked")),
            },
            Err(trouble) => {
                self.machines[index].link = None;
                Err(trouble)
            }
        }
    }

    /// The machines that answered when the run began.
    pub fn infos(&self) -> Vec<NodeInfo> {
        self.machines.iter().filter_map(|machine| machine.info.clone()).collect()
    }

    /// The indices of the machines that can be used now. Lost machines are tried again first.
    pub(super) fn alive(&mut self) -> Vec<usize> {
        for index in 0..self.machines.len() {
            let machine = &self.machines[index];
            let is_due = machine.lost.is_none_or(|(since, pause)| since.elapsed() >= pause);
            // A machine that does not come back is left out.
            if machine.link.is_none() && is_due && self.options.launch == Launch::None {
                let pause = machine.lost.map_or(RETRY, |(_, pause)| pause);
                let is_back = self.connect(index).is_ok();
                let next = (Instant::now(), (2 * pause).min(LONGEST_RETRY));
                self.machines[index].lost = (!is_back).then_some(next);
            }
        }
        (0..self.machines.len()).filter(|index| self.machines[*index].link.is_some()).collect()
    }

    pub(super) fn name(&self, index: usize) -> &str {
        &self.machines[index].name
    }

    pub(super) fn info(&self, index: usize) -> Option<&NodeInfo> {
        self.machines[index].info.as_ref()
    }

    pub(super) fn place(&self, index: usize) -> &Place {
        &self.machines[index].place
    }

    pub(super) fn is_connected(&self, index: usize) -> bool {
        self.machines[index].link.is_some()
    }

    pub(super) fn count(&self) -> usize {
        self.machines.len()
    }

    fn lose(&mut self, index: usize, message: &str) -> Trouble {
        let machine = &mut self.machines[index];
        machine.link = None;
        machine.lost = machine.lost.or(Some((Instant::now(), RETRY)));
        Trouble { node: machine.name.clone(), kind: None, message: message.to_owned() }
    }

    /// Asks several machines at once, and waits for all answers, in the order of the questions. If one
    /// machine fails, tells the others to stop, and waits for them too.
    pub(super) fn ask(&mut self, asks: Vec<(usize, Ask)>) -> Result<Vec<Reply>, Trouble> {
        let order: Vec<usize> = asks.iter().map(|(index, _)| *index).collect();
        let mut answers: Vec<Option<Reply>> = vec![None; order.len()];
        let mut silence: Vec<Silence> = vec![Silence::default(); order.len()];
        let mut trouble = self.send(asks).err();
        let mut is_stopped = false;
        loop {
            let waiting =
                |at: &usize| answers[*at].is_none() && self.machines[order[*at]].link.is_some();
            let open: Vec<usize> = (0..order.len()).filter(waiting).collect();
            if open.is_empty() {
                break;
            }
            if trouble.is_some() && !is_stopped {
                is_stopped = true;
                self.stop(open.iter().map(|at| order[*at]));
            }
            let began = Instant::now();
            let event = self.events.recv_timeout(LISTEN);
            open.iter().for_each(|at| silence[*at].add(began.elapsed()));
            if let Ok((machine, epoch, said)) = event
                && let Some(at) = order.iter().position(|index| *index == machine)
                && self.machines[machine].link.as_ref().map(|link| link.epoch) == Some(epoch)
            {
                silence[at] = Silence::default();
                match said {
                    Ok(Reply::Alive) => {}
                    Ok(Reply::Failed(kind, message)) => {
                        let node = self.machines[machine].name.clone();
                        answers[at] = Some(Reply::Done);
                        trouble.get_or_insert(Trouble { node, kind, message });
                    }
                    Ok(answer) => answers[at] = Some(answer),
                    // If an agent is gone, this explains the errors that others report.
                    Err(error) => trouble = Some(self.lose(machine, &why_gone(&error))),
                }
            }
            for at in open {
                if answers[at].is_none() && silence[at].is_too_long() {
                    let message = format!("the agent has said nothing for {} s", SILENCE.as_secs());
                    trouble = Some(self.lose(order[at], &message));
                }
            }
        }
        match trouble {
            Some(trouble) => Err(trouble),
            None => Ok(answers.into_iter().flatten().collect()),
        }
    }

    /// Sends all questions. The error is that of the first machine that is gone.
    fn send(&mut self, asks: Vec<(usize, Ask)>) -> Result<(), Trouble> {
        let mut sent = Ok(());
        for (index, ask) in asks {
            let result = match &mut self.machines[index].link {
                Some(link) => link.ask(&ask).map_err(|error| error.to_string()),
                None => Err("the agent is gone".to_owned()),
            };
            if let Err(error) = result {
                let lost = self.lose(index, &error);
                sent = sent.and(Err(lost));
            }
        }
        sent
    }

    fn stop(&mut self, machines: impl Iterator<Item = usize>) {
        for index in machines {
            if let Some(link) = &mut self.machines[index].link {
                // If this agent is gone too, an event will report it.
                drop(link.ask(&Ask::Stop));
            }
        }
    }
}

fn why_gone(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "the agent is gone".to_owned(),
        ErrorKind::InvalidData => format!("the agent is given up: {error}"),
        _ => format!("the agent is gone: {error}"),
    }
}
