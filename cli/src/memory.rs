//! How much memory the process may take. It holds for all that it does, so it is kept in one place.

use std::fs;
use std::sync::OnceLock;

use clap::{ArgMatches, Args};
use lang::limits::{Limits, Memory, Size};

use crate::allocator;

/// The limit of memory.
#[derive(Args)]
pub struct MemoryOption {
    /// How much memory the process may take, as in 512M or 1.5G; what needs more stays unknown [default: half
    /// of the machine's, on Linux]
    #[allow(dead_code, reason = "it is taken before the command begins")]
    #[arg(long = "memory", id = OPTION, value_name = "SIZE", value_parser = size)]
    most: Option<u64>,
}

/// The option's name in the code; `agent` has another `--memory`, for its tests.
const OPTION: &str = "most_memory";

static LIMIT: OnceLock<Option<Memory>> = OnceLock::new();
static GIVEN: OnceLock<Option<u64>> = OnceLock::new();

/// Takes the limit from the command line.
pub fn take(mut given: &ArgMatches) {
    while let Some((_, of_it)) = given.subcommand() {
        given = of_it;
    }
    let most = given.try_get_one::<u64>(OPTION).ok().flatten().copied();
    GIVEN.get_or_init(|| most);
    let most = most.or_else(|| Some(machine()? / 2));
    // Where the system does not say what a process takes, only the engines' own limits hold.
    let limit = used().and(most).map(|most| Memory {
        most,
        used: || used().unwrap_or(0),
        give_back: allocator::GIVE_BACK,
    });
    LIMIT.get_or_init(|| limit);
}

/// The limit that the user gave, in bytes.
pub fn given() -> Option<u64> {
    GIVEN.get().copied().flatten()
}

/// The limits of all that the process does.
pub fn limits() -> Limits {
    Limits { memory: LIMIT.get().copied().flatten(), ..Limits::default() }
}

/// The bytes of memory that the process has now.
fn used() -> Option<u64> {
    /// What the system counts in, on all that we know of where it is not told without `unsafe`.
    const PAGE: u64 = 4096;
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * PAGE)
}

/// The bytes of memory that there are, for the machine or for the container that this runs in.
fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse().ok());
    Some((kibibytes << 10).min(container.unwrap_or(u64::MAX)))
}

/// A number of bytes, with a unit or without.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || "expected a size, such as 512M, 1.5G or 2GiB".to_owned();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.to_ascii_lowercase();
    let shift = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit) {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(wrong()),
    };
    let bytes = number * f64::from(2_u32.pow(10)).powi(shift / 10);
    if !(LEAST as f64..=u64::MAX as f64).contains(&bytes) {
        return Err(format!("expected {} or more", Size(LEAST)));
    }
    Ok(bytes as u64)
}

/// What the program takes before it does anything, and a little more.
const LEAST: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let rows = [("64M", 64 << 20), ("1.5G", 3 << 29), ("2GiB", 2 << 30), ("1tb", 1 << 40)];
        for (text, bytes) in rows {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        assert_eq!(size("67108864"), Ok(64 << 20));
        for text in ["", "M", "-5M", "5X", "1e9", "1..5G", "99999999999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(size("1M"), Err("expected 32 MiB or more".to_owned()));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_is_measured() {
        let before = used().unwrap();
        let bytes = vec![1_u8; 64 << 20];
        let with = used().unwrap();
        assert!(with >= before + (32 << 20), "{before} and then {with}, with {}", bytes.len());
        assert!(machine().unwrap() > with);
    }
}
