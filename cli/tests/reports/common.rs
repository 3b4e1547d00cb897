//! What the tests of reports share: a folder, the command, and records made by hand.

use crate::scratch::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value as Json, json};

impl Scratch {
    pub fn litmus(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litmus"));
        command.current_dir(&self.0).args(arguments).output().unwrap()
    }
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn program(name: &str, value: u64, title: &str) -> String {
    format!(
        "litmus {name}\n\"{title}\"\nmodel rdma-tso-rmw rdma-wait-rmw\n\n            ||  x = 0, y = 0\n  \
         --------------------------\n  x^2 := {value}  ||  a := y\n  y^2 := 1  ||  b := x\n\n  (a, b) = (1, 0) ✗\n"
    )
}

/// As records hash programs.
pub fn hash(text: &str) -> String {
    let bytes = text.bytes().chain([0xff]);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{hash:016x}")
}

pub fn header(device: &str) -> Json {
    json!({
        "schema": "litmus-record/1", "tool": "0.1.0", "backend": "verbs", "seed": 7, "iterations": 1000,
        "parameters": { "instances": 16, "inline": false }, "started": "2026-01-02T03:04:05Z",
        "nodes": [{
            "name": device, "host": { "cpu": device, "arch": "x86_64" },
            "device": {
                "name": device, "driver": "mlx5", "firmware": device, "vendor_id": 1, "part_id": 2,
                "hardware_version": 0, "node_guid": "0", "transport": "InfiniBand", "atomics": "device",
                "pci_atomics": null, "responder_reads": 1, "initiator_reads": 1, "queue_depth": 1,
                "queue_pairs": 1, "relaxed_ordering": null, "data_in_order": null, "ports": [], "port": 1,
                "gid": null, "trouble": null
            }
        }]
    })
}

pub fn line(name: &str, text: &str, counts: &[(u64, u64, u64)]) -> Json {
    let outcomes = counts.iter().map(|(a, b, count)| {
        json!({ "state": { "a": a, "b": b }, "count": count,
                "places": [{ "batch": 2, "round": 3, "instance": 5, "seed": 9 }] })
    });
    let outcomes: Vec<Json> = outcomes.collect();
    let finished: u64 = counts.iter().map(|(_, _, count)| count).sum();
    let models = ["rdma-tso-rmw", "rdma-wait-rmw"].map(|name| json!({ "name": name, "hash": "x" }));
    json!({
        "kind": "test", "test": name, "file": format!("suite/put-get/{name}.litmus"), "machine": "hardware",
        "models": models, "program_hash": hash(text), "program": text, "status": "complete", "reason": null,
        "iterations": finished, "finished": finished, "outcomes": outcomes
    })
}

pub fn record(header: &Json, lines: &[Json]) -> String {
    let mut text = format!("{header}\n");
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    text + "{\"kind\":\"end\",\"ended\":null}\n"
}

pub const CLEAN: &[(u64, u64, u64)] = &[(0, 0, 990), (1, 1, 10)];
pub const WRONG: &[(u64, u64, u64)] = &[(0, 0, 990), (1, 0, 3), (1, 1, 7)];

pub fn mp(counts: &[(u64, u64, u64)]) -> Json {
    line("MP", &program("MP", 1, "two puts"), counts)
}

pub fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// Validates by xmllint, which ./setup installs.
pub fn is_valid_junit(file: &Path) {
    let schema = docs().join("schemas/junit.xsd");
    let output = Command::new("xmllint")
        .args(["--noout", "--schema"])
        .args([&schema, file])
        .output()
        .expect("xmllint is there; ./setup installs it");
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Checks that a page is well-formed XML, but for its script.
pub fn is_well_formed(page: &Path) {
    let text = std::fs::read_to_string(page).unwrap();
    let (before, rest) = text.split_once("<script>").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    let copy = page.with_extension("xhtml");
    std::fs::write(&copy, format!("{before}{after}")).unwrap();
    let output = Command::new("xmllint").arg("--noout").arg(&copy).output();
    let output = output.expect("xmllint is there; ./setup installs it");
    assert!(output.status.success(), "{}", stderr(&output));
}
