//! The settings in the environment: the number of devices, how weak they are, and the fault.

use crate::fault::Fault;

/// How weak the NIC is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Everything in order, without delays.
    Calm,
    /// Rules in random order, some delayed.
    Default,
    /// Many rules delayed, and for longer.
    Storm,
}

/// The parameters of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// The preset that the other values come from.
    pub preset: Preset,
    /// How many of 100 rules are delayed.
    pub percent: u32,
    /// The longest delay, in nanoseconds.
    pub most: u64,
    /// Whether a message of several words is accessed in pieces, in any order.
    pub tear: bool,
    /// The rule that is broken, if any.
    pub fault: Option<Fault>,
}

impl Knobs {
    /// The parameters of a preset.
    pub fn new(preset: Preset) -> Self {
        let (percent, most) = match preset {
            Preset::Calm => (0, 0),
            Preset::Default => (30, 64_000),
            Preset::Storm => (60, 256_000),
        };
        Self { preset, percent, most, tear: false, fault: None }
    }

    /// Whether the NIC has this fault.
    pub fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

/// The settings in the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The number of devices.
    pub devices: u16,
    /// The number of ports of each device.
    pub ports: u16,
    /// Whether the ports are Ethernet ports, which are addressed only by GID.
    pub ethernet: bool,
    /// The name of the network. Only processes of the same network can connect.
    pub network: String,
    /// The folder for sockets. `None`: sockets have abstract names, without files.
    pub folder: Option<String>,
    /// The number of this host, which other hosts know it by. 0: there are no other hosts.
    pub host: u32,
    /// The folder for counts, with one file for each process.
    pub counts: Option<String>,
    /// The folder for traces, with one file for each process.
    pub trace: Option<String>,
    /// The seed of the random numbers. `None`: it comes from the clock.
    pub seed: Option<u64>,
    /// The parameters of the scheduler.
    pub knobs: Knobs,
}

/// The names of the environment variables.
pub mod variable {
    /// The number of devices.
    pub const DEVICES: &str = "LITMUS_NIC_DEVICES";
    /// The number of ports of each device.
    pub const PORTS: &str = "LITMUS_NIC_PORTS";
    /// The link layer: `infiniband` or `ethernet`.
    pub const LINK: &str = "LITMUS_NIC_LINK";
    /// The name of the network.
    pub const NETWORK: &str = "LITMUS_NIC_NETWORK";
    /// The folder for sockets.
    pub const FOLDER: &str = "LITMUS_NIC_FOLDER";
    /// The number of this host.
    pub const HOST: &str = "LITMUS_NIC_HOST";
    /// The folder for counts.
    pub const COUNTS: &str = "LITMUS_NIC_COUNTS";
    /// The folder for traces.
    pub const TRACE: &str = "LITMUS_NIC_TRACE";
    /// The seed of the random numbers.
    pub const SEED: &str = "LITMUS_NIC_SEED";
    /// The name of the preset.
    pub const PRESET: &str = "LITMUS_NIC_PRESET";
    /// How many of 100 rules are delayed.
    pub const PERCENT: &str = "LITMUS_NIC_DELAY_PERCENT";
    /// The longest delay in nanoseconds.
    pub const MOST: &str = "LITMUS_NIC_DELAY";
    /// Whether messages are torn: `1`.
    pub const TEAR: &str = "LITMUS_NIC_TEAR";
    /// The name of the fault.
    pub const FAULT: &str = "LITMUS_NIC_FAULT";
}

/// A variable, what its value is expected to be, and whether it is.
type Expected<'a> = (&'a str, &'a str, &'a dyn Fn(&str) -> bool);

/// Values that mean nothing, and so are ignored: `LITMUS_NIC_FAULT: expected a fault, found x`.
pub fn wrong(get: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let is_number =
        |most: u64| move |text: &str| text.trim().parse::<u64>().is_ok_and(|number| number <= most);
    let is_one = |all: &'static [&'static str]| move |text: &str| all.contains(&text);
    let is_fault = |text: &str| Fault::named(text).is_some();
    let rules: [Expected<'_>; 10] = [
        (variable::PRESET, "calm, default or storm", &is_one(&["calm", "default", "storm"])),
        (variable::FAULT, "a fault that `litmus nic --list-faults` lists", &is_fault),
        (variable::PERCENT, "0 to 100", &is_number(100)),
        (variable::MOST, "nanoseconds", &is_number(u64::MAX)),
        (variable::SEED, "a number", &is_number(u64::MAX)),
        (variable::HOST, "a number", &is_number(u64::MAX)),
        (variable::TEAR, "0 or 1", &is_one(&["0", "1"])),
        (variable::DEVICES, "1 to 64", &is_number(64)),
        (variable::PORTS, "1 to 8", &is_number(8)),
        (variable::LINK, "ethernet or infiniband", &is_one(&["ethernet", "infiniband"])),
    ];
    let check = |(name, expected, is_right): Expected<'_>| {
        let text = get(name).filter(|text| !text.is_empty() && !is_right(text))?;
        Some(format!("{name}: expected {expected}, found {text}"))
    };
    rules.into_iter().filter_map(check).collect()
}

impl Config {
    /// Reads the variables. A value that is not valid is ignored, see [`wrong`].
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name, most| {
            let number = get(name)?.trim().parse::<u64>().ok();
            number.filter(|number| *number <= most)
        };
        let small = |name, most| number(name, most).unwrap_or(1).max(1) as u16;
        let preset = match get(variable::PRESET).as_deref() {
            Some("calm") => Preset::Calm,
            Some("storm") => Preset::Storm,
            _ => Preset::Default,
        };
        let mut knobs = Knobs::new(preset);
        if let Some(percent) = number(variable::PERCENT, 100) {
            knobs.percent = percent as u32;
        }
        if let Some(most) = number(variable::MOST, u64::MAX) {
            knobs.most = most;
        }
        knobs.tear = get(variable::TEAR).is_some_and(|tear| tear == "1");
        let host =
            number(variable::HOST, u64::MAX).map_or(0, |host| host as u32 & crate::device::HOSTS);
        knobs.fault = get(variable::FAULT).and_then(|name| Fault::named(&name));
        Self {
            devices: small(variable::DEVICES, 64),
            ports: small(variable::PORTS, 8),
            // A LID does not say which host it is of.
            ethernet: host != 0 || get(variable::LINK).is_some_and(|link| link == "ethernet"),
            host,
            network: get(variable::NETWORK).unwrap_or_default(),
            folder: get(variable::FOLDER).filter(|folder| !folder.is_empty()),
            counts: get(variable::COUNTS).filter(|folder| !folder.is_empty()),
            trace: get(variable::TRACE).filter(|folder| !folder.is_empty()),
            seed: number(variable::SEED, u64::MAX),
            knobs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, Preset, variable, wrong};

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
        assert_eq!(wrong(said), ["LITMUS_NIC_SEED: expected a number, found not a number"]);
    }

    #[test]
    fn what_means_nothing_is_named() {
        assert!(wrong(|_| None).is_empty());
        let bogus = wrong(|_| Some("bogus".to_owned()));
        assert_eq!(bogus.len(), 10, "{bogus:?}");
        let fault = "expected a fault that `litmus nic --list-faults` lists, found bogus";
        assert!(bogus.contains(&format!("{}: {fault}", variable::FAULT)));
    }
}
