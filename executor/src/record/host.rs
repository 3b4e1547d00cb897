//! The machine that a record was made on.

use serde::{Deserialize, Serialize};

/// What is worth knowing of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The CPU's model.
    #[serde(default)]
    pub cpu: Option<String>,
    /// How many hardware threads there are.
    #[serde(default)]
    pub cpus: Option<usize>,
    /// The operating system and its release.
    #[serde(default)]
    pub os: Option<String>,
    /// The architecture.
    #[serde(default)]
    pub arch: Option<String>,
}

impl Host {
    /// This machine, as far as it tells.
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let cpu = read("/proc/cpuinfo").and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            line.split_once(':').map(|(_, name)| name.trim().to_owned())
        });
        let release = read("/proc/sys/kernel/osrelease");
        let os = match release {
            Some(release) => format!("{} {}", std::env::consts::OS, release.trim()),
            None => std::env::consts::OS.to_owned(),
        };
        Self {
            cpu,
            cpus: std::thread::available_parallelism().ok().map(usize::from),
            os: Some(os),
            arch: Some(std::env::consts::ARCH.to_owned()),
        }
    }
}
