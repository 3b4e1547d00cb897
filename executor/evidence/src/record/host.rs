//! The machine that a record was made on.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::device::DeviceInfo;

/// What is worth knowing of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The version of rdma-core, by the file of its libibverbs; none if that is not loaded.
    #[serde(default)]
    pub rdma_core: Option<String>,
    /// Huge pages: `0 of 2048 kB; transparent ones: madvise`.
    #[serde(default)]
    pub hugepages: Option<String>,
    /// Whether mlx5 may deliver small answers in completions, which the CPU then copies: the value of
    /// `MLX5_SCATTER_TO_CQE`, or that it is not set.
    #[serde(default)]
    pub scatter_to_cqe: Option<String>,
    /// What the environment tells drivers: variables of mlx5, mlx4, rdma-core, and of the NIC in software.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

/// How names of variables begin that change what a device does: those of mlx5, mlx4 and rdma-core, and of the
/// NIC in software.
const PREFIXES: [&str; 5] = ["MLX5_", "MLX4_", "RDMAV_", "IBV_", "LITMUS_NIC_"];

/// Those of some variables that drivers read.
fn of_drivers(all: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let all = all.map(|(name, value)| (text(name), text(value)));
    all.filter(|(name, _)| PREFIXES.iter().any(|prefix| name.starts_with(prefix))).collect()
}

/// From the mapped files of a process. `libibverbs.so.1.14.50.0` is that of rdma-core 50.0.
fn rdma_core(maps: &str) -> Option<String> {
    let file =
        maps.lines().find_map(|line| line.rsplit_once("/libibverbs.so.").map(|(_, rest)| rest))?;
    let numbers: Vec<&str> = file.split_whitespace().next()?.split('.').collect();
    let is_number =
        |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (numbers.len() == 4 && numbers.iter().all(is_number)).then(|| numbers[2..].join("."))
}

/// From the kernel's list of memory, and its word for transparent huge pages.
fn hugepages(memory: &str, transparent: &str) -> Option<String> {
    let field = |name: &str| {
        memory.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
    };
    let chosen = transparent.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let plain = format!("{} of {}", field("HugePages_Total")?, field("Hugepagesize")?);
    Some(match chosen {
        Some((chosen, _)) => format!("{plain}; transparent ones: {chosen}"),
        None => plain,
    })
}

/// A machine and its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeInfo {
    /// As the command line names it.
    pub name: String,
    /// The machine.
    pub host: Host,
    /// The device.
    pub device: DeviceInfo,
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
            rdma_core: read("/proc/self/maps").and_then(|maps| rdma_core(&maps)),
            hugepages: read("/proc/meminfo").and_then(|memory| {
                let transparent = read("/sys/kernel/mm/transparent_hugepage/enabled");
                hugepages(&memory, &transparent.unwrap_or_default())
            }),
            scatter_to_cqe: Some(match std::env::var_os("MLX5_SCATTER_TO_CQE") {
                Some(value) => value.to_string_lossy().into_owned(),
                None => "not set".to_owned(),
            }),
            variables: of_drivers(std::env::vars_os()),
        }
    }
}

/// A time in seconds since 1970 as ISO 8601, UTC: `1970-01-01T00:00:00Z`.
pub fn iso8601(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that a leap day is a year's last; eras have 400 years. Day 0 is
    // 0000-03-01.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{hugepages, iso8601, of_drivers, rdma_core};

    #[test]
    fn variables_of_drivers_are_kept() {
        let all = [("MLX5_SINGLE_THREADED", "1"), ("PATH", "/bin"), ("RDMAV_HUGEPAGES_SAFE", "")];
        let all = all.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let kept = of_drivers(all.into_iter());
        let kept: Vec<(&str, &str)> =
            kept.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(kept, [("MLX5_SINGLE_THREADED", "1"), ("RDMAV_HUGEPAGES_SAFE", "")]);
    }

    #[test]
    fn what_the_kernel_says() {
        let maps = "7f00-7f01 r-xp 0 08:01 12  /usr/lib/libibverbs.so.1.14.50.0\n";
        assert_eq!(rdma_core(maps).as_deref(), Some("50.0"));
        assert_eq!(rdma_core("7f00-7f01 r-xp 0 08:01 12  /lib/libibverbs.so.1 (deleted)\n"), None);
        let memory = "MemTotal: 1 kB\nHugePages_Total:       4\nHugepagesize:       2048 kB\n";
        let expected = "4 of 2048 kB; transparent ones: madvise";
        assert_eq!(hugepages(memory, "always [madvise] never").as_deref(), Some(expected));
        assert_eq!(hugepages("", "always"), None);
    }

    #[test]
    fn times() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso8601(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso8601(1_795_253_696), "2026-11-21T09:34:56Z");
    }
}
