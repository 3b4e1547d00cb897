//! What the NICs of all processes leave for `litmus nic`: what they did, in a folder.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::random_seed;

/// The folder in which each process leaves what its NIC did. It is removed in the end, or, if this command
/// was killed, by the next one.
pub struct Counts {
    /// The folder.
    pub folder: PathBuf,
    /// Locked, as long as this command runs.
    _locked: Option<File>,
}

/// What the names of such folders begin with. The number of the process and a random one follow.
const COUNTS: &str = "litmus-nic-";

/// Removes the folders of commands that were killed: their processes are gone, and so are their locks. (A
/// process that cannot be seen from here may be there all the same, in another container.)
fn sweep(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix(COUNTS)?.split_once('-'));
        let Some((process, random)) = name else { continue };
        let is_one = process.parse::<u32>().is_ok() && u64::from_str_radix(random, 16).is_ok();
        if is_one
            && !Path::new("/proc").join(process).exists()
            && File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok())
        {
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
}

impl Counts {
    /// Makes the folder.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> std::io::Result<Self> {
        let name = format!("{COUNTS}{}-{:x}", std::process::id(), random_seed());
        let folder = std::env::temp_dir().join(name);
        executor::temporary::private_folder(&folder)?;
        let locked = File::open(&folder).ok().filter(|folder| folder.try_lock().is_ok());
        sweep(&std::env::temp_dir());
        Ok(Self { folder, _locked: locked })
    }

    /// Whether a process asked the connection manager for devices.
    pub fn wanted_manager(&self) -> bool {
        self.folder.join("librdmacm").exists()
    }

    /// What all processes have done, up to the seed.
    pub fn summary(&self) -> String {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        // Others are being written.
        let files = files
            .map(|file| file.path())
            .filter(|path| path.extension() == Some(OsStr::new("json")));
        let texts = files.filter_map(|path| std::fs::read(path).ok());
        let all: Vec<Json> = texts.filter_map(|text| serde_json::from_slice(&text).ok()).collect();
        if all.is_empty() {
            return "nobody sent anything · ".to_owned();
        }
        let sum = |name: &str| all.iter().filter_map(|one| one[name].as_u64()).sum::<u64>();
        let part = |name: &str, what: &str| match sum(name) {
            0 => None,
            1 => Some(format!("1 {what}")),
            count if what.ends_with("sh") => Some(format!("{count} {what}es")),
            count => Some(format!("{count} {what}s")),
        };
        let requests = [
            ("writes", "write"),
            ("sends", "send"),
            ("reads", "read"),
            ("atomics", "atomic"),
            ("flushes", "flush"),
        ];
        let weak = [
            ("delays", "delay"),
            ("early_sources", "early source read"),
            ("early_writes", "early write"),
            ("early_reads", "early read"),
            ("relaxed", "relaxed write"),
            ("torn", "torn read or write"),
            ("failures", "failed request"),
            ("faults", "fault"),
        ];
        let join = |list: &[(&str, &str)]| {
            let parts = list.iter().filter_map(|(name, what)| part(name, what));
            parts.collect::<Vec<_>>().join(", ")
        };
        let processes = if all.len() == 1 {
            "1 process".to_owned()
        } else {
            format!("{} processes", all.len())
        };
        let parts = [processes, join(&requests), join(&weak)];
        parts.iter().filter(|part| !part.is_empty()).map(|part| format!("{part} · ")).collect()
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        // What stays behind is in the folder for temporary files.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_killed_command_left_is_removed() {
        let parent = std::env::temp_dir().join(format!("litmus-sweep-{}", std::process::id()));
        // No process has that number.
        let [killed, elsewhere] = ["litmus-nic-4294967295-1f", "litmus-nic-4294967295-2f"];
        let running = format!("litmus-nic-{}-1f", std::process::id());
        let kept = [elsewhere, &running, "litmus-nic-trace-4294967295", "litmus-nic-4294967295-x"];
        for name in kept.iter().chain([&killed]) {
            std::fs::create_dir_all(parent.join(name).join("hosts")).expect("it can be made");
        }
        let locked = File::open(parent.join(elsewhere)).expect("it can be opened");
        locked.lock().expect("nobody else has it");
        sweep(&parent);
        assert!(!parent.join(killed).exists());
        assert!(kept.iter().all(|name| parent.join(name).exists()));
        std::fs::remove_dir_all(&parent).expect("it can be removed");
    }
}
