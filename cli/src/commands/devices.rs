//! `litmus devices`.

use clap::Args;
use executor::rdma::{AtomicCapability, DeviceInfo, Gid, LinkLayer, PciAtomics, PortInfo, verbs};
use lang::diagnostic::nearest;
use serde_json::{Value as Json, json};

use crate::exit::Exit;
use crate::options::{Format, FormatOption};
use crate::table::{self, pad};
use crate::terminal::{Look, Terminal, Tint};

/// How many GIDs of a port are shown unless `-v` asks for all.
const GIDS: usize = 8;
/// Where values begin.
const INDENT: usize = 14;

/// List the RDMA devices of this machine, and what of them bears on ordering and atomicity
#[derive(Args)]
pub struct Arguments {
    /// Only the device of this name
    #[arg(short, long, value_name = "NAME")]
    device: Option<String>,
    #[command(flatten)]
    format: FormatOption,
}

/// Lists.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let format = arguments.format.format;
    let devices = match verbs::list() {
        Ok(devices) => devices,
        Err(error) => return refuse("no-device", &error.message, Exit::Unknown, format, terminal),
    };
    let chosen = match &arguments.device {
        None => devices,
        Some(name) => match only(name, devices) {
            Ok(device) => vec![device],
            Err(message) => {
                return refuse("unknown-device", &message, Exit::Usage, format, terminal);
            }
        },
    };
    match format {
        Format::Json => terminal.out(&format!("{}\n", json(&chosen))),
        Format::Table => terminal.out(&text(&chosen, terminal.look)),
    }
    Exit::Fine
}

fn only(name: &str, devices: Vec<DeviceInfo>) -> Result<DeviceInfo, String> {
    let names: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    devices.into_iter().find(|device| device.name == name).ok_or_else(|| {
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        format!("no RDMA device is named `{name}`; there is {}{hint}", names.join(", "))
    })
}

fn refuse(code: &str, message: &str, exit: Exit, format: Format, terminal: &mut Terminal) -> Exit {
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
            "puts and gets": info.lacks_puts_and_gets(),
            "remote RMWs": info.lacks_remote_rmws(),
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
    for port in &info.ports {
        line(&format!("port {}", port.number), &port_line(port));
        for gid in shown(port, info, look) {
            line("", &gid);
        }
    }
    let (good, lacks) = good_for(info);
    if !good.is_empty() {
        line("good for", &look.paint(Tint::Good, &good.join(", ")));
    }
    for lack in lacks {
        line("not good for", &look.paint(Tint::Open, &lack));
    }
    if let Some(trouble) = &info.trouble {
        line("trouble", &look.paint(Tint::Bad, trouble));
    }
    text
}

fn identity(info: &DeviceInfo) -> String {
    let or = |text: &str, instead: &str| if text.is_empty() { instead } else { text }.to_owned();
    format!(
        "driver {}, firmware {}, vendor {:#06x}, part {}, hardware {:#x}, GUID {}, {}",
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

/// What tests can be run with it; and what not, with the reason.
fn good_for(info: &DeviceInfo) -> (Vec<&'static str>, Vec<String>) {
    let uses =
        [("puts and gets", info.lacks_puts_and_gets()), ("remote RMWs", info.lacks_remote_rmws())];
    let mut good = Vec::new();
    let mut lacks = Vec::new();
    for (what, lack) in uses {
        match lack {
            None => good.push(what),
            Some(why) => lacks.push(format!("{what}: {why}")),
        }
    }
    (good, lacks)
}
