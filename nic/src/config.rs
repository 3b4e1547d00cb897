//! The settings in the environment: the number of devices, how weak they are, and the fault.

use std::cell::RefCell;
use std::ops::RangeInclusive;

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

impl Config {
    /// Reads the variables. A value that means nothing is ignored; these are returned, too:
    /// `LITMUS_NIC_FAULT: expected a fault …, found x`.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let read = Reader { get, wrong: RefCell::default() };
        let presets =
            [("calm", Preset::Calm), ("default", Preset::Default), ("storm", Preset::Storm)];
        let preset = read.one_of(variable::PRESET, "calm, default or storm", &presets);
        let mut knobs = Knobs::new(preset.unwrap_or(Preset::Default));
        if let Some(percent) = read.number(variable::PERCENT, "0 to 100", 0..=100) {
            knobs.percent = percent as u32;
        }
        if let Some(most) = read.number(variable::MOST, "nanoseconds", 0..=u64::MAX) {
            knobs.most = most;
        }
        let switch = [("0", false), ("1", true)];
        knobs.tear = read.one_of(variable::TEAR, "0 or 1", &switch).unwrap_or(false);
        let fault = "a fault that `litmus nic --list-faults` lists";
        knobs.fault = read.value(variable::FAULT, fault, Fault::named);
        let host = read.number(variable::HOST, "a number", 0..=u64::MAX);
        let host = host.map_or(0, |host| host as u32 & crate::device::HOSTS);
        let links = [("ethernet", true), ("infiniband", false)];
        let ethernet = read.one_of(variable::LINK, "ethernet or infiniband", &links);
        let config = Self {
            devices: read.number(variable::DEVICES, "1 to 64", 1..=64).unwrap_or(1) as u16,
            ports: read.number(variable::PORTS, "1 to 8", 1..=8).unwrap_or(1) as u16,
            // A LID does not say which host it is of.
            ethernet: host != 0 || ethernet.unwrap_or(false),
            host,
            network: read.text(variable::NETWORK).unwrap_or_default(),
            folder: read.text(variable::FOLDER),
            counts: read.text(variable::COUNTS),
            trace: read.text(variable::TRACE),
            seed: read.number(variable::SEED, "a number", 0..=u64::MAX),
            knobs,
        };
        (config, read.wrong.into_inner())
    }
}

/// Reads variables, and notes the values that mean nothing.
struct Reader<G> {
    get: G,
    wrong: RefCell<Vec<String>>,
}

impl<G: Fn(&str) -> Option<String>> Reader<G> {
    /// The text of a variable that is set, and not to nothing.
    fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).filter(|text| !text.is_empty())
    }

    fn value<T>(
        &self,
        name: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(name)?;
        let value = parse(&text);
        if value.is_none() {
            self.wrong.borrow_mut().push(format!("{name}: expected {expected}, found {text}"));
        }
        value
    }

    fn one_of<T: Copy>(&self, name: &str, expected: &str, all: &[(&str, T)]) -> Option<T> {
        let find =
            |text: &str| all.iter().find(|(known, _)| *known == text).map(|(_, value)| *value);
        self.value(name, expected, find)
    }

    fn number(&self, name: &str, expected: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let parse = |text: &str| text.trim().parse().ok().filter(|number| range.contains(number));
        self.value(name, expected, parse)
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, Preset, variable};

    #[test]
    fn nothing_said_is_one_device_and_what_is_said_counts() {
        let (config, wrong) = Config::read(|_| None);
        assert!(wrong.is_empty());
        assert_eq!((config.devices, config.ports, config.seed), (1, 1, None));
        assert_eq!(config.knobs.preset, Preset::Default);
        let said = |name: &str| match name {
            variable::DEVICES => Some("3".to_owned()),
            variable::PRESET => Some("storm".to_owned()),
            variable::MOST => Some("5".to_owned()),
            variable::SEED => Some("not a number".to_owned()),
            _ => None,
        };
        let (config, wrong) = Config::read(said);
        assert_eq!((config.devices, config.knobs.most, config.seed), (3, 5, None));
        assert_eq!(config.knobs.preset, Preset::Storm);
        assert_eq!(wrong, ["LITMUS_NIC_SEED: expected a number, found not a number"]);
    }

    #[test]
    fn what_means_nothing_is_named() {
        let bogus = Config::read(|_| Some("bogus".to_owned())).1;
        assert_eq!(bogus.len(), 10, "{bogus:?}");
        let fault = "expected a fault that `litmus nic --list-faults` lists, found bogus";
        assert!(bogus.contains(&format!("{}: {fault}", variable::FAULT)));
    }
}
