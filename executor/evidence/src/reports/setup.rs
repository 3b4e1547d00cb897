//! Who ran what on what: headers of records for people.

use serde_json::Value as Json;

use super::data::{Coverage, Group, RunReport, Setting, Tested, Verdict};
use super::verdict::{counted, part};
use super::{Shell, Source, setting};
use crate::device::FabricInfo;
use crate::record::{Header, Host, NodeInfo};

/// The records, in their order, without their verdicts; those before `first` are the baseline.
pub fn runs(sources: &[Source], first: usize, shell: &dyn Shell) -> Vec<RunReport> {
    let run = |(index, source)| run(source, index, first, shell);
    sources.iter().enumerate().map(run).collect()
}

fn run(source: &Source, index: usize, first: usize, shell: &dyn Shell) -> RunReport {
    let header = &source.record.header;
    let is_baseline = index < first;
    RunReport {
        key: if is_baseline { "base".to_owned() } else { key(index - first) },
        record: source.name.clone(),
        is_baseline,
        subject: subject(header),
        is_simulated: header.is_simulated(),
        started: header.started.clone(),
        command: shell.again(source),
        verdict: Verdict::default(),
        tested: Tested::default(),
        machines: Vec::new(),
        coverage: Coverage::default(),
        unseen: Vec::new(),
        cannot_tell: Vec::new(),
        summary: summary(header, shell),
        configuration: configuration(header),
    }
}

/// `A` to `Z`, then `A2`, `B2`, …
fn key(index: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(index % 26).unwrap_or_default());
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{}", round + 1),
    }
}

/// A short name for what was tested.
pub fn subject(header: &Header) -> String {
    match header.nodes.as_slice() {
        [] if header.is_simulated() && header.faults.is_empty() => "simulator".to_owned(),
        [] if header.is_simulated() => format!("simulator with {}", header.faults.join(", ")),
        [] => header.mpi().unwrap_or(&header.backend).to_owned(),
        nodes => {
            let mut names: Vec<String> = nodes.iter().map(device).collect();
            names.dedup();
            let hosts: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            format!("{} on {}", names.join(" and "), hosts.join(", "))
        }
    }
}

fn device(node: &NodeInfo) -> String {
    let device = &node.device;
    match device.driver.as_str() {
        "" => device.name.clone(),
        "rxe" => format!("{} (Soft-RoCE)", device.name),
        driver => format!("{} ({driver})", device.name),
    }
}

fn link(node: &NodeInfo) -> String {
    let port = node.device.ports.iter().find(|port| port.number == node.device.port);
    let Some(port) = port else { return "no port".to_owned() };
    let layer = serde_json::to_value(port.link_layer).ok();
    let layer = layer.as_ref().and_then(Json::as_str).unwrap_or("unknown link").to_owned();
    let speed = match port.gigabits {
        0 => String::new(),
        gigabits => format!(", {gigabits} Gbit/s"),
    };
    format!("{layer}, {}, MTU {}{speed}", port.state, port.mtu)
}

/// A provider of libfabric, and the orders that it gives.
fn promises(fabric: &FabricInfo) -> String {
    let FabricInfo { provider, provider_version, library, received, completion, .. } = fabric;
    let orders = if received.is_empty() { "no order".to_owned() } else { received.join(", ") };
    format!(
        "{provider} {provider_version} of libfabric {library}, {orders}, puts complete at {completion}"
    )
}

fn host_line(host: &Host) -> String {
    let parts = [host.cpu.clone(), host.os.clone(), host.arch.clone()];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    if text.is_empty() { "unknown".to_owned() } else { text }
}

/// Where a device sits, and what of the host its behavior may depend on: what is known, then what is not.
fn surroundings(node: &NodeInfo) -> String {
    let (device, host) = (&node.device, &node.host);
    let numa = device.numa_node.map(|node| node.to_string());
    let paging = device.on_demand_paging.as_ref().map(|uses| match uses.as_slice() {
        [] => "none".to_owned(),
        uses => uses.join(", "),
    });
    let all = [
        ("board", device.board.clone()),
        ("PCIe link", device.pcie_link.clone()),
        ("IOMMU", device.iommu.clone()),
        ("NUMA node", numa),
        ("on-demand paging", paging),
        ("rdma-core", host.rdma_core.clone()),
        ("huge pages", host.hugepages.clone()),
        ("MLX5_SCATTER_TO_CQE", host.scatter_to_cqe.clone()),
    ];
    let (known, unknown): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, value)| value.is_some());
    let mut parts: Vec<String> = known
        .into_iter()
        .map(|(name, value)| format!("{name}: {}", value.unwrap_or_default()))
        .collect();
    // What has an entry of its own is not said again.
    let others = host.variables.iter().filter(|(name, _)| *name != "MLX5_SCATTER_TO_CQE");
    parts.extend(others.map(|(name, value)| format!("{name}: {value}")));
    let unknown: Vec<&str> = unknown.into_iter().map(|(name, _)| name).collect();
    if !unknown.is_empty() {
        parts.push(format!("not known: {}", unknown.join(", ")));
    }
    parts.join(" · ")
}

/// What stands at the head of a report.
fn summary(header: &Header, shell: &dyn Shell) -> Vec<Setting> {
    let mut summary = Vec::new();
    if let (Some(part), Some(shard)) = (part(header.shard.as_ref()), &header.shard) {
        let programs = counted(shard.inputs, "program");
        let text = format!("{part}, {} of {programs}", shard.items.len());
        summary.push(setting("only a part", text));
    }
    for node in &header.nodes {
        let firmware = match node.device.firmware.as_str() {
            "" => "unknown".to_owned(),
            firmware => firmware.to_owned(),
        };
        let device = match &node.device.fabric {
            None => format!("{}, firmware {firmware}, {}", device(node), link(node)),
            Some(fabric) => format!("{}, {}", device(node), promises(fabric)),
        };
        summary.push(setting(&format!("device on {}", node.name), device));
        summary.push(setting(&format!("host {}", node.name), host_line(&node.host)));
        summary.push(setting(&format!("surroundings on {}", node.name), surroundings(node)));
    }
    if header.nodes.is_empty() {
        summary.push(setting("device", subject(header)));
        if let Some(host) = &header.host {
            summary.push(setting("host", host_line(host)));
        }
    }
    if header.is_log() {
        summary.push(setting("runs of each test and seed", "not known: a log does not say"));
    } else {
        summary.push(setting("runs of each test", header.iterations.to_string()));
        summary.push(setting("seed", header.seed.to_string()));
    }
    if !header.faults.is_empty() {
        summary.push(setting("deliberate faults", header.faults.join(", ")));
    }
    let changed = shell.parameters(header);
    if !changed.is_empty() {
        summary.push(setting("parameters", changed));
    }
    if let Some(started) = &header.started {
        let ended = header.ended.as_ref().map_or(String::new(), |ended| format!(" to {ended}"));
        summary.push(setting("date", format!("{started}{ended}")));
    }
    summary.push(setting("litmus", header.tool.clone()));
    summary
}

/// Everything that a header knows.
fn configuration(header: &Header) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut run = vec![
        setting("format", header.schema.clone()),
        setting("litmus", header.tool.clone()),
        setting("backend", header.backend.clone()),
    ];
    if !header.is_log() {
        run.push(setting("seed", header.seed.to_string()));
        run.push(setting("runs of each test", header.iterations.to_string()));
        let faults = header.faults.join(", ");
        run.push(setting("faults", if faults.is_empty() { "none".to_owned() } else { faults }));
    }
    run.extend(header.started.iter().map(|at| setting("began", at.clone())));
    run.extend(header.ended.iter().map(|at| setting("ended", at.clone())));
    groups.push(Group { name: "run".to_owned(), settings: run });
    let parameters = flatten("", &Json::Object(header.parameters.clone()));
    groups.push(Group { name: "parameters".to_owned(), settings: parameters });
    let models = header.models.iter().map(|model| setting(&model.name, model.hash.clone()));
    groups
        .push(Group { name: "models of the command line".to_owned(), settings: models.collect() });
    let libraries = header.libraries.iter().map(|one| setting(&one.path, one.hash.clone()));
    groups.push(Group { name: "libraries of files".to_owned(), settings: libraries.collect() });
    if let Some(host) = &header.host {
        let host = serde_json::to_value(host).unwrap_or_default();
        groups.push(Group { name: "coordinator".to_owned(), settings: flatten("", &host) });
    }
    for node in &header.nodes {
        let mut json = serde_json::to_value(node).unwrap_or_default();
        // Devices of verbs have no provider of libfabric: it is not unknown.
        if let Some(device) = json.get_mut("device").and_then(Json::as_object_mut) {
            device.retain(|name, value| name != "fabric" || !value.is_null());
        }
        let settings = flatten("", &json);
        groups.push(Group { name: format!("machine {}", node.name), settings });
    }
    groups.retain(|group| !group.settings.is_empty());
    groups
}

/// The leaves of JSON, each with the way to it.
fn flatten(prefix: &str, json: &Json) -> Vec<Setting> {
    let name = |key: &str| {
        let key = key.replace('_', " ");
        if prefix.is_empty() { key } else { format!("{prefix} · {key}") }
    };
    match json {
        Json::Object(fields) => {
            fields.iter().flat_map(|(key, value)| flatten(&name(key), value)).collect()
        }
        Json::Array(items) => {
            let each = items.iter().enumerate();
            each.flat_map(|(index, value)| flatten(&name(&(index + 1).to_string()), value))
                .collect()
        }
        Json::Null => vec![setting(prefix, "not known")],
        Json::Bool(value) => vec![setting(prefix, if *value { "yes" } else { "no" })],
        Json::Number(value) => vec![setting(prefix, value.to_string())],
        Json::String(value) => vec![setting(prefix, value.clone())],
    }
}
