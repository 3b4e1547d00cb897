//! What the environment says: how many devices, how weak, which fault.

use crate::fault::Fault;

/// How weak the NIC is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// In order, without delay.
    Calm,
    /// Rules in random order, some delayed.
    Default,
    /// Many rules delayed, and for longer.
    Storm,
}

/// How the scheduler chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// The preset that the others came from.
    pub preset: Preset,
    /// How many rules of a hundred are delayed.
    pub percent: u32,
    /// The longest delay, in nanoseconds.
    pub most: u64,
    /// What is broken.
    pub fault: Option<Fault>,
}

impl Knobs {
    /// Those of a preset.
    pub fn new(preset: Preset) -> Self {
        let (percent, most) = match preset {
            Preset::Calm => (0, 0),
            Preset::Default => (30, 8_000),
            Preset::Storm => (60, 40_000),
        };
        Self { preset, percent, most, fault: None }
    }

    /// Whether this is broken.
    pub fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

/// What the environment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many devices there are.
    pub devices: u16,
    /// How many ports each has.
    pub ports: u16,
    /// Whether ports are Ethernet's, addressed by GID only.
    pub ethernet: bool,
    /// Which processes can meet: those of one network.
    pub network: String,
    /// A folder for sockets; else they have names without files.
    pub folder: Option<String>,
    /// Where counts go, a file for each process.
    pub counts: Option<String>,
    /// Where steps go, a file for each process.
    pub trace: Option<String>,
    /// Where the random numbers begin; from the clock if not said.
    pub seed: Option<u64>,
    /// How weak.
    pub knobs: Knobs,
}

/// The variables that are read.
pub mod variable {
    /// Number of devices.
    pub const DEVICES: &str = "LITMUS_NIC_DEVICES";
    /// Number of ports of each.
    pub const PORTS: &str = "LITMUS_NIC_PORTS";
    /// `infiniband` or `ethernet`.
    pub const LINK: &str = "LITMUS_NIC_LINK";
    /// Name of the network.
    pub const NETWORK: &str = "LITMUS_NIC_NETWORK";
    /// Folder for sockets.
    pub const FOLDER: &str = "LITMUS_NIC_FOLDER";
    /// Folder for counts.
    pub const COUNTS: &str = "LITMUS_NIC_COUNTS";
    /// Folder for traces.
    pub const TRACE: &str = "LITMUS_NIC_TRACE";
    /// Seed.
    pub const SEED: &str = "LITMUS_NIC_SEED";
    /// Preset.
    pub const PRESET: &str = "LITMUS_NIC_PRESET";
    /// Rules of a hundred that are delayed.
    pub const PERCENT: &str = "LITMUS_NIC_DELAY_PERCENT";
    /// Longest delay in nanoseconds.
    pub const MOST: &str = "LITMUS_NIC_DELAY";
    /// Fault.
    pub const FAULT: &str = "LITMUS_NIC_FAULT";
}

impl Config {
    /// Reads variables. What cannot be understood counts as not said: a library has nobody to tell.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| get(name).and_then(|text| text.trim().parse::<u64>().ok());
        let small = |name, most: u64| number(name).unwrap_or(1).clamp(1, most) as u16;
        let preset = match get(variable::PRESET).as_deref() {
            Some("calm") => Preset::Calm,
            Some("storm") => Preset::Storm,
            _ => Preset::Default,
        };
        let mut knobs = Knobs::new(preset);
        if let Some(percent) = number(variable::PERCENT) {
            knobs.percent = percent.min(100) as u32;
        }
        if let Some(most) = number(variable::MOST) {
            knobs.most = most;
        }
        knobs.fault = get(variable::FAULT).and_then(|name| Fault::named(&name));
        Self {
            devices: small(variable::DEVICES, 64),
            ports: small(variable::PORTS, 8),
            ethernet: get(variable::LINK).is_some_and(|link| link == "ethernet"),
            network: get(variable::NETWORK).unwrap_or_default(),
            folder: get(variable::FOLDER).filter(|folder| !folder.is_empty()),
            counts: get(variable::COUNTS).filter(|folder| !folder.is_empty()),
            trace: get(variable::TRACE).filter(|folder| !folder.is_empty()),
            seed: number(variable::SEED),
            knobs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, Preset, variable};

    #[test]
    fn nothing_said_is_one_device_and_what_is_said_counts() {
        let config = Config::read(|_| None);
        assert_eq!((config.devices, config.ports, config.seed), (1, 1, None));
        assert_eq!(config.knobs.preset, Preset::Default);
        let said = |name: &str| match name {
            variable::DEVICES => Some("3".to_owned()),
            variable::PRESET => Some("storm".to_owned()),
            variable::MOST => Some("5".to_owned()),
            variable::SEED => Some("not a number".to_owned()),
            _ => None,
        };
        let config = Config::read(said);
        assert_eq!((config.devices, config.knobs.most, config.seed), (3, 5, None));
        assert_eq!(config.knobs.preset, Preset::Storm);
    }
}
