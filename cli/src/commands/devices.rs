//! `litmus devices`.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use evidence::record::NodeInfo;
use executor::rdma::{
    AtomicCapability, DeviceInfo, FabricInfo, Gid, Interface, LinkLayer, PciAtomics, PortInfo,
    RdmaError, ofi, unknown, verbs,
};
use lang::diagnostic::Code;
use serde_json::{Value as Json, json};

use crate::exit::Exit;
use crate::machines::{MachineOptions, OfiOptions};
use crate::options::{Format, FormatOption};
use crate::table::{self, pad};
use crate::terminal::{Look, Terminal, Tint};

/// How many GIDs of a port are shown unless `-v` asks for all.
const GIDS: usize = 8;
/// What tests do that not every device can.
const USES: [&str; 2] = ["puts and gets", "remote RMWs"];
/// Where values begin.
const INDENT: usize = 15;

/// List the RDMA devices, and what bears on ordering in them
///
/// With --nodes, the device of each machine that tests would run on, as its agent sees it.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    machines: MachineOptions,
    /// What devices are reached by
    #[arg(long, value_name = "BACKEND", default_value = "verbs")]
    backend: BackendName,
    #[command(flatten)]
    ofi: OfiOptions,
    #[command(flatten)]
    format: FormatOption,
}

/// What devices are reached by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendName {
    /// libibverbs.
    Verbs,
    /// libfabric: its providers, with the orders that they promise, and those that their models need.
    Ofi,
}

impl Arguments {
    fn interface(&self) -> Interface {
        match self.backend {
            BackendName::Verbs => Interface::Verbs,
            BackendName::Ofi => Interface::Ofi(self.ofi.provider()),
        }
    }

    /// The devices of this machine.
    fn list(&self) -> Result<Vec<DeviceInfo>, RdmaError> {
        match self.interface() {
            Interface::Verbs => verbs::list(),
            Interface::Ofi(provider) => ofi::list_as(&provider),
        }
    }
}

/// Lists.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let format = arguments.format.format;
    if arguments.machines.is_remote() {
        return remote(arguments, format, terminal);
    }
    let devices = match arguments.list() {
        Ok(devices) => devices,
        Err(error) => {
            return refuse(Code::NoDevice, &error.message, Exit::Unknown, format, terminal);
        }
    };
    let chosen = match arguments.machines.device() {
        None => devices,
        Some(name) => match only(name, devices) {
            Ok(devices) => devices,
            Err(message) => {
                return refuse(Code::UnknownDevice, &message, Exit::Usage, format, terminal);
            }
        },
    };
    match format {
        Format::Json => terminal.out(&format!("{}\n", json(&chosen))),
        Format::Table => terminal.out(&text(&chosen, terminal.look)),
    }
    Exit::Fine
}

/// The devices of all machines. What is wrong with one is said, and the others are shown.
fn remote(arguments: &Arguments, format: Format, terminal: &mut Terminal) -> Exit {
    let (mut nodes, mut errors) = (Vec::new(), Vec::new());
    for (name, cluster) in arguments.machines.connect_to_each(&arguments.interface()) {
        match cluster {
            Ok(cluster) => nodes.extend(cluster.infos()),
            Err(message) => errors.push((name, message)),
        }
    }
    let exit = if errors.is_empty() { Exit::Fine } else { Exit::Unknown };
    match format {
        Format::Json => {
            let errors = errors.iter().map(|(node, message)| {
                json!({ "severity": "error", "code": Code::NoDevice, "node": node, "message": message })
            });
            let mut list = json(&nodes.iter().map(|node| node.device.clone()).collect::<Vec<_>>());
            list["errors"] = errors.collect();
            for (device, node) in list["devices"].as_array_mut().into_iter().flatten().zip(&nodes) {
                device["node"] = json!(node.name);
                device["host"] = json!(node.host);
            }
            terminal.out(&format!("{list}\n"));
        }
        Format::Table => {
            for node in &nodes {
                let name = terminal.look.paint(Tint::Strong, &node.name);
                let device = text(std::slice::from_ref(&node.device), terminal.look);
                terminal.out(&format!("{name}: {}\n{device}\n", host(node)));
            }
            for (_, message) in errors {
                terminal.err(&format!("error: {message}\n"));
            }
        }
    }
    exit
}

/// A machine in a line.
fn host(node: &NodeInfo) -> String {
    let host = &node.host;
    let parts = [&host.os, &host.arch, &host.cpu];
    let parts: Vec<&str> = parts.into_iter().filter_map(|part| part.as_deref()).collect();
    parts.join(", ")
}

/// The devices of a name: several providers of libfabric may have a domain of one name.
fn only(name: &str, devices: Vec<DeviceInfo>) -> Result<Vec<DeviceInfo>, String> {
    let what = match devices.iter().any(|device| device.fabric.is_some()) {
        true => "domain of libfabric",
        false => "RDMA device",
    };
    let names: BTreeSet<String> = devices.iter().map(|device| device.name.clone()).collect();
    let named: Vec<DeviceInfo> = devices.into_iter().filter(|device| device.name == name).collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let names: Vec<String> = names.into_iter().collect();
    Err(unknown(what, name, &names))
}

fn refuse(code: Code, message: &str, exit: Exit, format: Format, terminal: &mut Terminal) -> Exit {
    match format {
        Format::Json => {
            let error = json!({ "severity": "error", "code": code, "message": message });
            let mut list = json(&[]);
            list["errors"] = json!([error]);
            terminal.out(&format!("{list}\n"));
        }
        Format::Table => terminal.err(&format!("error: {message}\n")),
    }
    exit
}

/// Devices as JSON: `DeviceInfo` as it is in records, and what each is good for.
pub fn json(devices: &[DeviceInfo]) -> Json {
    let device = |info: &DeviceInfo| {
        let mut object = json!(info);
        object["lacks"] = json!({
            "puts_and_gets": info.lacks_puts_and_gets(),
            "remote_rmws": info.lacks_remote_rmws(),
        });
        object
    };
    let devices: Vec<Json> = devices.iter().map(device).collect();
    json!({ "schema": "litmus-devices/1", "devices": devices, "errors": [] })
}

/// Devices for people.
pub fn text(devices: &[DeviceInfo], look: Look) -> String {
    devices.iter().map(|device| one(device, look)).collect::<Vec<_>>().join("\n")
}

fn one(info: &DeviceInfo, look: Look) -> String {
    let mut text = format!("{}\n", look.paint(Tint::Strong, &info.name));
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("  {} {value}\n", pad(name, INDENT)));
    };
    if let (Some(trouble), true) = (&info.trouble, info.ports.is_empty()) {
        line("trouble", &look.paint(Tint::Bad, trouble));
        return text;
    }
    if let Some(fabric) = &info.fabric {
        fabric_lines(fabric, &mut line);
        line("atomics", &atomics(info));
        good_for(info, look, &mut line);
        return text;
    }
    line("device", &identity(info));
    line("atomics", &atomics(info));
    line(
        "reads under way",
        &format!(
            "{} as initiator, {} as responder, for each queue pair (reads and atomics together)",
            info.initiator_reads, info.responder_reads
        ),
    );
    line("relaxed order", relaxed_ordering(info));
    line("data in order", data_in_order(info));
    let placement = match info.memory_placement.as_slice() {
        [] => "neither flushes nor atomic writes".to_owned(),
        has => has.join(", "),
    };
    line("placement", &placement);
    for port in &info.ports {
        line(&format!("port {}", port.number), &port_line(port));
        for gid in shown(port, info, look) {
            line("", &gid);
        }
    }
    good_for(info, look, &mut line);
    text
}

/// A provider of libfabric: what it promises beside what its model needs.
fn fabric_lines(fabric: &FabricInfo, line: &mut impl FnMut(&str, &str)) {
    let FabricInfo { provider, provider_version, library, model, own_model, .. } = fabric;
    let list = |names: &[String]| match names {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    };
    line(
        "provider",
        &format!("{provider} {provider_version} of libfabric {library}, on {}", fabric.fabric),
    );
    line("can", &list(&fabric.caps));
    line("promises", &list(&fabric.received));
    let [raw, war, waw] = fabric.data_order.map(|bytes| match bytes {
        0 => "none".to_owned(),
        bytes if bytes > 1 << 60 => "any".to_owned(),
        bytes => bytes.to_string(),
    });
    line("bytes in order", &format!("RAW {raw}, WAR {war}, WAW {waw}"));
    line("needed", &format!("{} by {own_model}", list(&fabric.needed)));
    line("judged by", model);
    line("progress", &fabric.data_progress);
    line("puts complete", &format!("at {}", fabric.completion));
}

fn good_for(info: &DeviceInfo, look: Look, line: &mut impl FnMut(&str, &str)) {
    let [moves, rmws] = USES;
    match (info.lacks_puts_and_gets(), info.lacks_remote_rmws()) {
        (None, None) => line("good for", &look.paint(Tint::Good, &format!("{moves}, {rmws}"))),
        (None, Some(lack)) => {
            line("good for", &look.paint(Tint::Good, moves));
            line("not good for", &look.paint(Tint::Open, &format!("{rmws}: {lack}")));
        }
        (Some(lack), _) => {
            line("not good for", &look.paint(Tint::Open, &format!("{moves}, {rmws}: {lack}")));
        }
    }
}

fn identity(info: &DeviceInfo) -> String {
    let or = |text: &str, instead: &str| if text.is_empty() { instead } else { text }.to_owned();
    format!(
        "driver {}, firmware {}, vendor {:#06x}, part {}, hardware {:#x}, GUID {}, transport {}",
        or(&info.driver, "unknown"),
        or(&info.firmware, "none"),
        info.vendor_id,
        info.part_id,
        info.hardware_version,
        info.node_guid,
        info.transport,
    )
}

fn atomics(info: &DeviceInfo) -> String {
    let with = match info.atomics {
        AtomicCapability::None => "none",
        AtomicCapability::Device => "atomic with other atomics of this device, not with the CPU",
        AtomicCapability::Global => "atomic with all accesses, also those of the CPU",
    };
    match &info.pci_atomics {
        // libfabric has no word for it.
        None if info.fabric.is_some() && info.atomics == AtomicCapability::None => {
            "none, or none without less of the rest: --atomics asks for them".to_owned()
        }
        None if info.fabric.is_some() => with.to_owned(),
        None => format!("{with}; none over PCIe"),
        Some(PciAtomics { fetch_add, swap, compare_swap }) => {
            let operations =
                [("fetch-and-add", fetch_add), ("swap", swap), ("compare-and-swap", compare_swap)];
            let sizes = |(name, mask): (&str, &u32)| {
                let sizes: Vec<String> = [4, 8, 16]
                    .iter()
                    .filter(|size| *mask & **size != 0)
                    .map(ToString::to_string)
                    .collect();
                (!sizes.is_empty()).then(|| format!("{name} of {} bytes", sizes.join(", ")))
            };
            let operations: Vec<String> = operations.into_iter().filter_map(sizes).collect();
            format!("{with}; over PCIe: {}", operations.join("; "))
        }
    }
}

fn relaxed_ordering(info: &DeviceInfo) -> &'static str {
    match info.relaxed_ordering {
        Some(true) => "possible on PCIe, for memory registered so",
        Some(false) => "not possible",
        None => "not known: its PCI configuration cannot be read",
    }
}

fn data_in_order(info: &DeviceInfo) -> &'static str {
    match info.data_in_order {
        Some(true) => "promised within a write",
        Some(false) => "not promised, not even within a write",
        None => "not known: it cannot be asked",
    }
}

fn port_line(port: &PortInfo) -> String {
    let layer = match port.link_layer {
        LinkLayer::Unknown => "unknown link",
        LinkLayer::InfiniBand => "InfiniBand",
        LinkLayer::Ethernet => "Ethernet",
    };
    let mut text = format!("{}, {layer}, MTU {}", port.state, port.mtu);
    if port.gigabits > 0 {
        text.push_str(&format!(", {} Gbit/s", port.gigabits));
    }
    if port.link_layer == LinkLayer::InfiniBand {
        text.push_str(&format!(", LID {}", port.lid));
    }
    text
}

/// The lines for the GIDs of a port: all with `-v`, else the first ones and the one that is used.
fn shown(port: &PortInfo, info: &DeviceInfo, look: Look) -> Vec<String> {
    let used = info.gid.as_ref().filter(|_| info.port == port.number);
    let is_used = |gid: &Gid| used.is_some_and(|(index, _)| *index == gid.index);
    let mut lines = Vec::new();
    let mut left = 0;
    for (place, gid) in port.gids.iter().enumerate() {
        if look.verbose == 0 && place >= GIDS && !is_used(gid) {
            left += 1;
            continue;
        }
        let line = format!("GID {:<3} {:<8} {}", gid.index, gid.kind.to_string(), gid.address);
        lines.push(match used {
            Some((_, why)) if is_used(gid) => {
                format!("{} {}", look.paint(Tint::Strong, &line), format_args!("<- used: {why}"))
            }
            _ => line,
        });
    }
    if left > 0 {
        lines.push(format!("… and {}; -v shows all", table::count(left, "more GID")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use executor::rdma::GidKind;

    use super::*;

    const PLAIN: Look =
        Look { color: false, error_color: false, quiet: false, verbose: 0, width: None };

    fn device() -> DeviceInfo {
        let gid = |index| Gid { index, address: format!("10.0.0.{index}"), kind: GidKind::RoceV2 };
        let port = PortInfo {
            number: 1,
            state: PortInfo::ACTIVE.to_owned(),
            link_layer: LinkLayer::Ethernet,
            mtu: 4096,
            gigabits: 100,
            gids: (0..12).map(gid).collect(),
            ..PortInfo::default()
        };
        DeviceInfo {
            name: "mlx5_0".to_owned(),
            driver: "mlx5".to_owned(),
            firmware: "16.35.2000".to_owned(),
            vendor_id: 0x2c9,
            part_id: 4119,
            node_guid: "0c42a10300112233".to_owned(),
            transport: DeviceInfo::INFINIBAND.to_owned(),
            atomics: AtomicCapability::Global,
            pci_atomics: Some(PciAtomics { fetch_add: 12, swap: 0, compare_swap: 8 }),
            responder_reads: 16,
            initiator_reads: 16,
            relaxed_ordering: Some(true),
            data_in_order: Some(true),
            ports: vec![port],
            port: 1,
            gid: Some((10, "RoCE v2 with an IPv4 address".to_owned())),
            ..DeviceInfo::default()
        }
    }

    #[test]
    fn a_device_for_people() {
        let expected = "\
mlx5_0
  device          driver mlx5, firmware 16.35.2000, vendor 0x02c9, part 4119, hardware 0x0, GUID 0c42a10300112233, transport InfiniBand
  atomics         atomic with all accesses, also those of the CPU; over PCIe: fetch-and-add of 4, 8 bytes; compare-and-swap of 8 bytes
  reads under way 16 as initiator, 16 as responder, for each queue pair (reads and atomics together)
  relaxed order   possible on PCIe, for memory registered so
  data in order   promised within a write
  placement       neither flushes nor atomic writes
  port 1          ACTIVE, Ethernet, MTU 4096, 100 Gbit/s
                  GID 0   RoCE v2  10.0.0.0
                  GID 1   RoCE v2  10.0.0.1
                  GID 2   RoCE v2  10.0.0.2
                  GID 3   RoCE v2  10.0.0.3
                  GID 4   RoCE v2  10.0.0.4
                  GID 5   RoCE v2  10.0.0.5
                  GID 6   RoCE v2  10.0.0.6
                  GID 7   RoCE v2  10.0.0.7
                  GID 10  RoCE v2  10.0.0.10 <- used: RoCE v2 with an IPv4 address
                  … and 3 more GIDs; -v shows all
  good for        puts and gets, remote RMWs
";
        assert_eq!(text(&[device()], PLAIN), expected);
        let all = text(&[device()], Look { verbose: 1, ..PLAIN });
        assert!(all.contains("GID 11 ") && !all.contains("-v shows all"), "{all}");
    }

    #[test]
    fn what_a_device_lacks_is_said_once() {
        let last = |info: &DeviceInfo| {
            let text = text(std::slice::from_ref(info), PLAIN);
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.last().cloned().unwrap_or_default()
        };
        let efa = DeviceInfo { atomics: AtomicCapability::None, ..device() };
        assert_eq!(last(&efa), "  not good for    remote RMWs: it has no atomics");
        let iwarp = DeviceInfo { transport: DeviceInfo::IWARP.to_owned(), ..device() };
        assert!(
            last(&iwarp).starts_with("  not good for    puts and gets, remote RMWs: its transport")
        );
        let down = DeviceInfo { port: 0, trouble: Some("it is down".to_owned()), ..device() };
        assert_eq!(last(&down), "  not good for    puts and gets, remote RMWs: it is down");
        let trouble = Some("it is gone".to_owned());
        let gone = DeviceInfo { name: "rxe0".to_owned(), trouble, ..DeviceInfo::default() };
        assert_eq!(text(&[gone], PLAIN), "rxe0\n  trouble         it is gone\n");
    }

    #[test]
    fn the_shape_of_json() {
        let json = json(&[device()]);
        assert_eq!(json["schema"], "litmus-devices/1");
        assert_eq!(json["errors"], json!([]));
        let device = &json["devices"][0];
        assert_eq!(device["atomics"], "global");
        assert_eq!(device["pci_atomics"]["fetch_add"], 12);
        assert_eq!(device["ports"][0]["link_layer"], "ethernet");
        assert_eq!(device["ports"][0]["gids"][0]["kind"], "RoCE v2");
        assert_eq!(device["gid"], json!([10, "RoCE v2 with an IPv4 address"]));
        assert_eq!(device["lacks"], json!({ "puts_and_gets": null, "remote_rmws": null }));
    }

    #[test]
    fn the_nearest_name_is_offered() {
        let error = only("mlx5_1", vec![device()]).expect_err("there is none");
        assert!(error.ends_with("there is mlx5_0; did you mean `mlx5_0`?"), "{error}");
    }
}
