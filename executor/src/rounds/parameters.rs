//! What a run's chances of showing something depend on.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::rdma::Settings;

/// How tests are run. None of these changes what is allowed, but [`Parameters::inline`] and
/// [`Parameters::relaxed_ordering`] change which machine is tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// Instances that start together.
    pub instances: u32,
    /// Rounds per batch.
    pub rounds: u32,
    /// The longest random delay between two statements, in ns; 0 for none.
    pub delay: u32,
    /// Whether instances use their words in random order.
    pub shuffle: bool,
    /// In how many of 100 rounds a thread flushes its node's words from the caches first.
    pub flush: u32,
    /// Whether threads are pinned to cores.
    pub pin: bool,
    /// Streams of background traffic from each machine.
    pub stress: u32,
    /// Distance between two words, in words; 8 is a cache line.
    pub stride: u32,
    /// How long an instance may wait for others until it is given up, in ms.
    pub patience: u32,
    /// Whether puts are posted inline: the CPU then reads the source, not the NIC.
    pub inline: bool,
    /// Whether memory is registered with relaxed ordering.
    pub relaxed_ordering: bool,
    /// How queue pairs are set up.
    pub settings: Settings,
}

impl Default for Parameters {
    fn default() -> Self {
        Preset::Default.parameters()
    }
}

/// Parameters by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Many instances in flight, short delays.
    Default,
    /// One instance at a time: what a program does that is not under load.
    Calm,
    /// Everything at once.
    Storm,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 3] = [Self::Default, Self::Calm, Self::Storm];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Calm => "calm",
            Self::Storm => "storm",
        }
    }

    /// What it stands for.
    pub fn parameters(self) -> Parameters {
        let default = Parameters {
            instances: 16,
            rounds: 32,
            delay: 0,
            shuffle: true,
            flush: 0,
            pin: false,
            stress: 0,
            stride: 8,
            patience: 2000,
            inline: false,
            relaxed_ordering: false,
            settings: Settings::default(),
        };
        match self {
            Self::Default => default,
            Self::Calm => Parameters { instances: 1, rounds: 256, shuffle: false, ..default },
            Self::Storm => {
                Parameters { instances: 64, delay: 500, flush: 50, pin: true, stress: 1, ..default }
            }
        }
    }
}

impl Parameters {
    /// Instances per batch.
    pub fn batch(&self) -> u64 {
        u64::from(self.instances) * u64::from(self.rounds)
    }

    /// The same, with no more rounds than so many iterations need: they would run for nothing.
    pub fn for_iterations(&self, iterations: u64) -> Self {
        let needed = iterations.div_ceil(u64::from(self.instances.max(1))).max(1);
        let rounds = u32::try_from(needed).map_or(self.rounds, |needed| needed.min(self.rounds));
        Self { rounds, ..self.clone() }
    }

    /// How long an instance may wait.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(u64::from(self.patience))
    }

    /// Whether the numbers are in their ranges; agents refuse others.
    ///
    /// # Errors
    /// Which one is not, and its range.
    pub fn check(&self) -> Result<(), String> {
        let ranges = [
            ("instances", self.instances, 1, 4096),
            ("rounds", self.rounds, 1, 4096),
            ("delay", self.delay, 0, 1_000_000),
            ("flush", self.flush, 0, 100),
            ("stress", self.stress, 0, 16),
            ("stride", self.stride, 1, 512),
            ("patience", self.patience, 1, 600_000),
            ("depth", self.settings.depth, 2, 16_384),
            // Without one, a read would wait forever.
            ("reads under way", self.settings.outstanding_reads.map_or(1, u32::from), 1, 255),
            ("timeout", self.settings.timeout.into(), 0, 31),
            ("retries", self.settings.retries.into(), 0, 7),
            ("retries of a receiver that is not ready", self.settings.rnr_retries.into(), 0, 7),
        ];
        for (name, value, low, high) in ranges {
            if value < low || value > high {
                return Err(format!("expected {name} from {low} to {high}, found {value}"));
            }
        }
        if self.batch() > 1 << 16 {
            return Err(format!(
                "expected at most 65536 instances in a batch, found {} x {}",
                self.instances, self.rounds
            ));
        }
        Ok(())
    }

    /// As records keep them.
    pub fn json(&self) -> Map<String, Json> {
        let Ok(Json::Object(mut map)) = serde_json::to_value(self) else { return Map::new() };
        // One flat list is easier to read and to compare.
        if let Some(Json::Object(settings)) = map.remove("settings") {
            map.extend(settings);
        }
        map
    }
}
