//! The parameters that influence which outcomes a run shows.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::rdma::{LONGEST_LIST, Pages, Registration, Settings};

/// How tests are run. The parameters do not change what is allowed. But [`Parameters::inline`] and
/// [`Parameters::relaxed_ordering`] change which machine is tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// How many instances start together in a round.
    pub instances: u32,
    /// The rounds of a batch.
    pub rounds: u32,
    /// The longest random delay between two statements, in ns; 0 for none.
    pub delay: u32,
    /// The longest random delay before a thread's round, in ns; 0 for none. In half of the rounds, a thread
    /// also pauses between statements, for at most half of it, or once, for at most as long. `None`: two
    /// round trips, and one more for each wait of a thread; the round trip is measured.
    pub spread: Option<u32>,
    /// Whether instances use their words in random order.
    pub shuffle: bool,
    /// In how many of 100 rounds a thread first flushes its node's words from the caches.
    pub flush: u32,
    /// In how many of 100 rounds a thread fills its CPU's store buffer before each of its writes.
    pub backlog: u32,
    /// Whether threads are pinned to cores.
    pub pin: bool,
    /// The number of background traffic streams from each machine.
    pub stress: u32,
    /// The distance between two words, in words; 8 is a cache line.
    pub stride: u32,
    /// How many requests a thread may post by one call, if nothing is between them in its program.
    pub post_list: u32,
    /// The pages of memory.
    pub pages: Pages,
    /// Whether memory is registered for on-demand paging, and not locked.
    pub on_demand: bool,
    /// How long an instance may wait for other threads before it is given up, in ms.
    pub patience: u32,
    /// Whether puts are posted inline. Then the CPU reads the source, not the NIC.
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

/// Named sets of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Many instances in flight, with short delays.
    Default,
    /// One instance at a time: shows what a program does without load.
    Calm,
    /// Everything at once: the most load.
    Storm,
    /// The most runs per second: threads start together, and seldom wait for each other. Shows fewer weak
    /// outcomes than the others.
    Fast,
}

impl Preset {
    /// The parameters of the preset.
    pub fn parameters(self) -> Parameters {
        let default = Parameters {
            instances: compiler::plan::PER_ROUND,
            rounds: 32,
            delay: 0,
            spread: None,
            shuffle: true,
            flush: 0,
            backlog: 50,
            pin: false,
            stress: 0,
            stride: 8,
            post_list: 1,
            pages: Pages::Usual,
            on_demand: false,
            patience: 2000,
            inline: false,
            relaxed_ordering: false,
            settings: Settings::default(),
        };
        match self {
            Self::Default => default,
            Self::Calm => {
                let spread = Some(0);
                Parameters {
                    instances: 1,
                    rounds: 256,
                    spread,
                    shuffle: false,
                    backlog: 0,
                    ..default
                }
            }
            Self::Storm => {
                let (flush, backlog) = (50, 50);
                Parameters {
                    instances: 64,
                    delay: 500,
                    flush,
                    backlog,
                    pin: true,
                    stress: 1,
                    ..default
                }
            }
            Self::Fast => {
                let spread = Some(0);
                Parameters {
                    instances: 64,
                    rounds: 128,
                    spread,
                    shuffle: false,
                    backlog: 0,
                    ..default
                }
            }
        }
    }
}

impl Parameters {
    /// Instances per batch.
    pub fn batch(&self) -> u64 {
        u64::from(self.instances) * u64::from(self.rounds)
    }

    /// The same parameters, with only as many rounds as these iterations need. More rounds would run for
    /// nothing.
    pub fn for_iterations(&self, iterations: u64) -> Self {
        let needed = iterations.div_ceil(u64::from(self.instances.max(1))).max(1);
        let rounds = u32::try_from(needed).map_or(self.rounds, |needed| needed.min(self.rounds));
        Self { rounds, ..self.clone() }
    }

    /// How long an instance may wait.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(u64::from(self.patience))
    }

    /// How the memory of tests is registered.
    pub fn registration(&self) -> Registration {
        let Self { relaxed_ordering, on_demand, pages, .. } = *self;
        Registration { relaxed_ordering, on_demand, pages, ..Registration::default() }
    }

    /// Checks that every number is in its range. Agents refuse others.
    ///
    /// # Errors
    /// Names the parameter that is out of range, and the range.
    pub fn check(&self) -> Result<(), String> {
        let ranges = [
            ("instances", self.instances, 1, 4096),
            ("rounds", self.rounds, 1, 4096),
            ("delay", self.delay, 0, 1_000_000),
            ("spread", self.spread.unwrap_or(0), 0, 1_000_000),
            ("flush", self.flush, 0, 100),
            ("backlog", self.backlog, 0, 100),
            ("stress", self.stress, 0, 16),
            ("stride", self.stride, 1, 512),
            ("requests of a list", self.post_list, 1, LONGEST_LIST as u32),
            ("patience", self.patience, 1, 600_000),
            ("depth", self.settings.depth, 2, 16_384),
            // With 0, a read would wait forever.
            ("reads under way", self.settings.outstanding_reads.map_or(1, u32::from), 1, 255),
            ("timeout", self.settings.timeout.into(), 0, 31),
            ("retries", self.settings.retries.into(), 0, 7),
            ("retries of a receiver that is not ready", self.settings.rnr_retries.into(), 0, 7),
            ("service level", self.settings.service_level.into(), 0, 15),
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

    /// The parameters as records store them.
    pub fn json(&self) -> Map<String, Json> {
        let Ok(Json::Object(mut map)) = serde_json::to_value(self) else { return Map::new() };
        // A flat list is easier to read and to compare.
        if let Some(Json::Object(settings)) = map.remove("settings") {
            map.extend(settings);
        }
        map
    }
}
