//! The options of the backends verbs and ofi.

use clap::{Args, ValueEnum};
use executor::nodes::Verbs;
use executor::rdma::{Interface, Pages};
use executor::rounds::{Parameters, Preset};

use crate::machines::{MachineOptions, OfiOptions};

/// Where and how tests are run on real RDMA.
#[derive(Args)]
#[command(next_help_heading = "Real RDMA (--backend verbs, --backend ofi)")]
pub struct VerbsOptions {
    #[command(flatten)]
    machines: MachineOptions,
    #[command(flatten)]
    ofi: OfiOptions,
    /// Values of the options below, as a set
    #[arg(long, value_name = "NAME", default_value = "default")]
    preset: PresetName,
    /// Instances that are in flight together after each barrier
    #[arg(long, value_name = "N")]
    instances: Option<u32>,
    /// Barriers between two times that everything is waited for
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// The longest random delay between two statements
    #[arg(long, value_name = "NS")]
    delay: Option<u32>,
    /// The longest random delay before a thread's round; by default two measured round trips, and one for
    /// each wait. In half of the rounds, threads also pause between statements, or once
    #[arg(long, value_name = "NS")]
    spread: Option<u32>,
    /// In how many of 100 rounds a thread flushes its words from the caches first
    #[arg(long, value_name = "PERCENT")]
    flush: Option<u32>,
    /// In how many of 100 rounds a thread fills its CPU's store buffer before each of its writes
    #[arg(long, value_name = "PERCENT")]
    backlog: Option<u32>,
    /// Streams of background traffic from each machine to the next
    #[arg(long, value_name = "N")]
    stress: Option<u32>,
    /// Use the words of memory in their order; else the order is random
    #[arg(long)]
    no_shuffle: bool,
    /// Pin threads to cores
    #[arg(long)]
    pin: bool,
    /// Distance between two words in memory; 64 gives each its own cache line
    #[arg(long, value_name = "BYTES")]
    stride: Option<u32>,
    /// Requests that a thread posts by one call, if nothing is between them
    #[arg(long, value_name = "N")]
    post_list: Option<u32>,
    /// Pages of tests' memory
    #[arg(long, value_name = "KIND")]
    pages: Option<PagesName>,
    /// Register memory for on-demand paging, so that it is not locked
    #[arg(long)]
    on_demand: bool,
    /// How long an instance may wait for other threads
    #[arg(long, value_name = "MS")]
    patience: Option<u32>,
    /// Requests under way per queue pair
    #[arg(short = 't', long = "tx-depth", value_name = "N")]
    depth: Option<u32>,
    /// Reads and atomics under way per queue pair [default: as many as the devices can]
    #[arg(long = "outs", value_name = "N")]
    outstanding: Option<u8>,
    /// Time until a packet is sent again: 4.096 µs times 2 to the power of this
    #[arg(short = 'u', long = "qp-timeout", value_name = "N")]
    ack_timeout: Option<u8>,
    /// Service level of all packets
    #[arg(long = "sl", value_name = "N")]
    service_level: Option<u8>,
    /// Traffic class of all packets, where they have global addresses (RoCE)
    #[arg(long = "tclass", value_name = "N")]
    traffic_class: Option<u8>,
    /// Index into the port's table of partitions
    #[arg(long = "pkey-index", value_name = "INDEX")]
    pkey_index: Option<u16>,
    /// Post puts inline: their sources are then read by the CPU, so another machine is tested
    #[arg(long)]
    inline: bool,
    /// Register memory with relaxed ordering: another machine is tested
    #[arg(long)]
    relaxed_ordering: bool,
    /// Search for the values of --instances … --pages that show most weak outcomes, by this many trials or
    /// fewer
    #[arg(
        long,
        value_name = "TRIALS",
        num_args = 0..=1,
        default_missing_value = "40",
        value_parser = clap::value_parser!(u16).range(1..),
        conflicts_with_all = ["record", "resume", "output"]
    )]
    tune: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PresetName {
    Default,
    Calm,
    Storm,
    Fast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PagesName {
    /// Those that the allocator gives
    Usual,
    /// Huge ones, if the kernel makes them by itself
    Transparent,
    /// Huge ones that were reserved (vm.nr_hugepages)
    Huge,
}

impl VerbsOptions {
    /// Whether parameters are to be searched for.
    pub fn is_tuning(&self) -> bool {
        self.tune.is_some()
    }

    /// How many sets of parameters may be tried.
    pub fn trials(&self) -> usize {
        self.tune.map_or(0, usize::from)
    }

    /// Parameters as options, so that `litmus run` takes them again.
    pub fn as_options(parameters: &Parameters) -> String {
        let Parameters { instances, rounds, delay, flush, backlog, stress, .. } = parameters;
        let mut text = format!(
            "--instances {instances} --rounds {rounds} --delay {delay} --flush {flush} --backlog {backlog} \
             --stress {stress}"
        );
        let default = Parameters::default();
        if parameters.stride != default.stride {
            text.push_str(&format!(" --stride {}", 8 * parameters.stride));
        }
        if parameters.post_list != default.post_list {
            text.push_str(&format!(" --post-list {}", parameters.post_list));
        }
        if parameters.pages != default.pages {
            text.push_str(&format!(" --pages {}", parameters.pages.name()));
        }
        text.extend(parameters.spread.map(|spread| format!(" --spread {spread}")));
        let switches = [(!parameters.shuffle, " --no-shuffle"), (parameters.pin, " --pin")];
        text.extend(switches.into_iter().filter(|(is_on, _)| *is_on).map(|(_, option)| option));
        text
    }
    /// How tests are run.
    ///
    /// # Errors
    /// A number that is not in its range.
    pub fn parameters(&self) -> Result<Parameters, String> {
        let preset = match self.preset {
            PresetName::Default => Preset::Default,
            PresetName::Calm => Preset::Calm,
            PresetName::Storm => Preset::Storm,
            PresetName::Fast => Preset::Fast,
        };
        let mut parameters = preset.parameters();
        let stride = self.stride.map(|bytes| bytes.div_ceil(8));
        let settings = &mut parameters.settings;
        let choices = [
            (&mut parameters.instances, self.instances),
            (&mut parameters.rounds, self.rounds),
            (&mut parameters.delay, self.delay),
            (&mut parameters.flush, self.flush),
            (&mut parameters.backlog, self.backlog),
            (&mut parameters.stress, self.stress),
            (&mut parameters.stride, stride),
            (&mut parameters.post_list, self.post_list),
            (&mut parameters.patience, self.patience),
            (&mut settings.depth, self.depth),
        ];
        for (parameter, choice) in choices {
            *parameter = choice.unwrap_or(*parameter);
        }
        parameters.spread = self.spread.or(parameters.spread);
        parameters.pages = match self.pages {
            None => parameters.pages,
            Some(PagesName::Usual) => Pages::Usual,
            Some(PagesName::Transparent) => Pages::Transparent,
            Some(PagesName::Huge) => Pages::Huge,
        };
        parameters.on_demand |= self.on_demand;
        settings.outstanding_reads = self.outstanding.or(settings.outstanding_reads);
        settings.timeout = self.ack_timeout.unwrap_or(settings.timeout);
        settings.service_level = self.service_level.unwrap_or(settings.service_level);
        settings.traffic_class = self.traffic_class.unwrap_or(settings.traffic_class);
        settings.pkey_index = self.pkey_index.unwrap_or(settings.pkey_index);
        parameters.shuffle &= !self.no_shuffle;
        parameters.pin |= self.pin;
        parameters.inline |= self.inline;
        parameters.relaxed_ordering |= self.relaxed_ordering;
        parameters.check()?;
        Ok(parameters)
    }

    /// libfabric, as it is to be used.
    pub fn ofi(&self) -> Interface {
        Interface::Ofi(self.ofi.provider())
    }

    /// Connects to the machines.
    ///
    /// # Errors
    /// What keeps tests from being run.
    pub fn connect(&self, parameters: Parameters, interface: &Interface) -> Result<Verbs, String> {
        let cluster = self.machines.connect(interface)?;
        Ok(Verbs::new(cluster, parameters))
    }
}
