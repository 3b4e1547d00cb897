//! Builds a [`DeviceInfo`] from what libibverbs and the kernel report about a device.

use std::fs;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use crate::rdma::{AtomicCapability, DeviceInfo, Gid, GidKind, LinkLayer, PciAtomics, PortInfo};

use super::ffi::{CallError, Context, DeviceAttributes, PortAttributes};

/// The folder in which the kernel describes devices.
pub const SYSFS: &str = "/sys/class/infiniband";

/// `IBV_QPF_GRH_REQUIRED`, which the bindings lack.
const GRH_REQUIRED: u8 = 1;

/// Queries an opened device, its ports, and the kernel. The port and GID are chosen later.
///
/// The types of GIDs come from the kernel's files, because the bindings differ in how they report them.
pub fn describe(name: &str, context: &Context) -> Result<DeviceInfo, CallError> {
    let attributes = context.attributes()?;
    let folder = Path::new(SYSFS).join(name);
    let mut ports = Vec::new();
    for number in 1..=attributes.ports {
        let attributes = context.port(number)?;
        let folder = folder.join("ports").join(number.to_string());
        let layer = link_layer(attributes.link_layer);
        // The software NIC has no files, and its GIDs are of this kind.
        let kind = |index| match folder.exists() {
            true => gid_kind(layer, &read(folder.join(format!("gid_attrs/types/{index}")))),
            false => gid_kind(layer, "RoCE v2"),
        };
        let gids = (0..attributes.gids).filter_map(|index| {
            let raw = context.gid(number, index).filter(|raw| *raw != [0; 16])?;
            Some(Gid { index, address: address(raw), kind: kind(index)? })
        });
        let gids = gids.collect();
        ports.push(port_info(number, attributes, &read(folder.join("rate")), gids));
    }
    let driver = driver(&folder, attributes.transport);
    let relaxed_ordering = relaxed_ordering(&folder);
    let mut info = device_info(name, attributes, driver, relaxed_ordering, ports);
    ask_kernel(&folder, &mut info);
    Ok(info)
}

/// Adds what the kernel's files report about the device and its place in the host.
fn ask_kernel(folder: &Path, info: &mut DeviceInfo) {
    let said = |path: PathBuf| Some(read(path)).filter(|text| !text.is_empty());
    info.board = said(folder.join("board_id"));
    let pci = folder.join("device");
    if !pci.exists() {
        return;
    }
    info.numa_node = said(pci.join("numa_node")).and_then(|node| node.parse().ok());
    let width = said(pci.join("current_link_width")).filter(|width| width != "0");
    info.pcie_link = said(pci.join("current_link_speed"))
        .zip(width)
        .map(|(speed, width)| format!("{speed} x{width}"));
    info.iommu = match pci.join("iommu_group").exists() {
        true => said(pci.join("iommu_group/type")),
        false => Some("none".to_owned()),
    };
}

/// The names of the bits in `enum ibv_odp_transport_cap_bits`. `None` if the device or its provider does not
/// report them.
fn on_demand_paging((is_known, bits): (bool, u32)) -> Option<Vec<String>> {
    let names =
        ["send", "receive", "write", "read", "atomic", "shared receive", "flush", "atomic write"];
    let has = |(bit, _): &(usize, &str)| bits & (1 << bit) != 0;
    is_known.then(|| {
        names.into_iter().enumerate().filter(has).map(|(_, name)| name.to_owned()).collect()
    })
}

/// What a device has of the memory placement extensions, by its flags in `ib_uverbs_device_cap_flags`.
fn memory_placement(capabilities: u64) -> Vec<String> {
    let names =
        [(38, DeviceInfo::FLUSH), (39, DeviceInfo::PERSIST), (40, DeviceInfo::ATOMIC_WRITE)];
    let has = |(bit, _): &(u32, &str)| capabilities & (1 << bit) != 0;
    names.into_iter().filter(has).map(|(_, name)| name.to_owned()).collect()
}

fn device_info(
    name: &str,
    attributes: DeviceAttributes,
    driver: String,
    relaxed_ordering: Option<bool>,
    ports: Vec<PortInfo>,
) -> DeviceInfo {
    let [fetch_add, swap, compare_swap] = attributes.pci_atomics.map(u32::from);
    let any = fetch_add | swap | compare_swap != 0;
    DeviceInfo {
        fabric: None,
        name: name.to_owned(),
        driver,
        firmware: attributes.firmware,
        vendor_id: attributes.vendor_id,
        part_id: attributes.part_id,
        hardware_version: attributes.hardware_version,
        node_guid: format!("{:016x}", attributes.node_guid),
        transport: transport(attributes.transport).to_owned(),
        atomics: match attributes.atomics {
            1 => AtomicCapability::Device,
            2 => AtomicCapability::Global,
            _ => AtomicCapability::None,
        },
        pci_atomics: any.then_some(PciAtomics { fetch_add, swap, compare_swap }),
        responder_reads: attributes.responder_reads,
        initiator_reads: attributes.initiator_reads,
        queue_depth: attributes.queue_depth,
        queue_pairs: attributes.queue_pairs,
        relaxed_ordering,
        data_in_order: None,
        on_demand_paging: on_demand_paging(attributes.on_demand_paging),
        memory_placement: memory_placement(attributes.capabilities),
        board: None,
        pcie_link: None,
        iommu: None,
        numa_node: None,
        ports,
        port: 0,
        gid: None,
        trouble: None,
    }
}

fn port_info(number: u8, attributes: PortAttributes, rate: &str, gids: Vec<Gid>) -> PortInfo {
    let state = match attributes.state {
        1 => "DOWN",
        2 => "INIT",
        3 => "ARMED",
        4 => PortInfo::ACTIVE,
        5 => "ACTIVE_DEFER",
        _ => "NOP",
    };
    PortInfo {
        number,
        state: state.to_owned(),
        link_layer: link_layer(attributes.link_layer),
        mtu: attributes.mtu,
        lid: attributes.lid,
        needs_gid: attributes.flags & GRH_REQUIRED != 0,
        gigabits: gigabits(rate),
        gids,
    }
}

/// The name of a number in `enum ibv_transport_type`.
fn transport(number: i32) -> &'static str {
    match number {
        0 => DeviceInfo::INFINIBAND,
        1 => DeviceInfo::IWARP,
        2 => "usNIC",
        3 => "usNIC UDP",
        _ => "unspecified",
    }
}

/// The link layer for a number of `IBV_LINK_LAYER_…`.
fn link_layer(number: u8) -> LinkLayer {
    match number {
        1 => LinkLayer::InfiniBand,
        2 => LinkLayer::Ethernet,
        _ => LinkLayer::Unknown,
    }
}

/// The kind of a GID, from the kernel's word. On Ethernet without a word, the kind is unknown, and the GID
/// cannot be used.
fn gid_kind(layer: LinkLayer, word: &str) -> Option<GidKind> {
    match (layer, word) {
        (LinkLayer::Ethernet, "RoCE v2") => Some(GidKind::RoceV2),
        (LinkLayer::Ethernet, "IB/RoCE v1") => Some(GidKind::RoceV1),
        (LinkLayer::Ethernet, _) => None,
        _ => Some(GidKind::InfiniBand),
    }
}

fn address(gid: [u8; 16]) -> String {
    let address = Ipv6Addr::from(gid);
    match address.to_ipv4_mapped() {
        Some(address) => address.to_string(),
        None => address.to_string(),
    }
}

/// The speed in Gbit/s, from the kernel's text: `100 Gb/sec (4X EDR)`.
fn gigabits(rate: &str) -> u32 {
    let whole = rate.split([' ', '.']).next().and_then(|number| number.parse().ok());
    whole.unwrap_or(0)
}

/// The driver of the PCI device. Devices without one are software; rxe is recognized by its network
/// interface.
fn driver(folder: &Path, transport: i32) -> String {
    if let Ok(link) = fs::read_link(folder.join("device/driver")) {
        let name = link.file_name().unwrap_or_default().to_string_lossy();
        return name.strip_suffix("_core").unwrap_or(&name).to_owned();
    }
    match (folder.join("parent").exists(), transport) {
        (true, _) => "rxe".to_owned(),
        (false, 1) => "siw".to_owned(),
        _ => String::new(),
    }
}

/// Whether the device may use PCIe relaxed ordering for its writes, as far as the host can tell.
///
/// libibverbs accepts the flag from anyone and drops it silently, so the PCI function is examined. If its
/// "Enable Relaxed Ordering" bit is off: no. If the bit is on: yes, and the device decides how relaxed memory
/// with the flag is. `None` if the PCI configuration cannot be read (this needs root), and for virtual
/// functions, which have no such bit of their own. A device without PCI: no.
fn relaxed_ordering(folder: &Path) -> Option<bool> {
    let pci = folder.join("device");
    if !folder.exists() || pci.join("physfn").exists() {
        return None;
    }
    if !pci.exists() {
        return Some(false);
    }
    relaxed_ordering_enabled(&fs::read(pci.join("config")).ok()?)
}

/// Reads bit 4 of Device Control in the PCI Express capability (PCI Express Base Specification, 7.5.3.4).
fn relaxed_ordering_enabled(config: &[u8]) -> Option<bool> {
    let byte = |at: u8| config.get(usize::from(at)).copied();
    let mut at = byte(0x34)? & 0xfc;
    // There is space for at most 48 capabilities, so a longer list is circular.
    for _ in 0..48 {
        match (at, byte(at)?) {
            (0, _) => return None,
            (_, 0x10) => return Some(byte(at.checked_add(8)?)? & 0x10 != 0),
            _ => at = byte(at.checked_add(1)?)? & 0xfc,
        }
    }
    None
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_kernel() {
        assert_eq!(gigabits("100 Gb/sec (4X EDR)"), 100);
        assert_eq!(gigabits("2.5 Gb/sec (1X SDR)"), 2);
        assert_eq!(gigabits(""), 0);
        assert_eq!(gid_kind(LinkLayer::Ethernet, "RoCE v2"), Some(GidKind::RoceV2));
        assert_eq!(gid_kind(LinkLayer::Ethernet, "IB/RoCE v1"), Some(GidKind::RoceV1));
        assert_eq!(gid_kind(LinkLayer::Ethernet, ""), None);
        assert_eq!(gid_kind(LinkLayer::InfiniBand, "IB/RoCE v1"), Some(GidKind::InfiniBand));
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 9, 0, 1];
        assert_eq!(address(mapped), "10.9.0.1");
        assert_eq!(address([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), "fe80::1");
    }

    #[test]
    fn the_kernel_tells_of_the_place_in_the_host() {
        let folder = std::env::temp_dir().join(format!("litmus-describe-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut info = DeviceInfo::default();
        ask_kernel(&folder, &mut info);
        assert_eq!(info, DeviceInfo::default(), "nothing is made up");
        fs::create_dir_all(folder.join("device/iommu_group")).unwrap();
        let files = [
            ("board_id", "MT_0000000223\n"),
            ("device/numa_node", "1\n"),
            ("device/current_link_speed", "16.0 GT/s PCIe\n"),
            ("device/current_link_width", "16\n"),
            ("device/iommu_group/type", "DMA-FQ\n"),
        ];
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        ask_kernel(&folder, &mut info);
        assert_eq!(info.board.as_deref(), Some("MT_0000000223"));
        assert_eq!(info.numa_node, Some(1));
        assert_eq!(info.pcie_link.as_deref(), Some("16.0 GT/s PCIe x16"));
        assert_eq!(info.iommu.as_deref(), Some("DMA-FQ"));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(on_demand_paging((false, 0)), None);
        assert_eq!(
            on_demand_paging((true, 0b1100)),
            Some(vec!["write".to_owned(), "read".to_owned()])
        );
    }

    #[test]
    fn relaxed_ordering_is_read_from_the_pci_configuration() {
        let mut config = [0_u8; 256];
        config[0x34] = 0x40;
        assert_eq!(relaxed_ordering_enabled(&config), None, "an empty list");
        config[0x40..0x42].copy_from_slice(&[0x05, 0x60]);
        config[0x60..0x62].copy_from_slice(&[0x10, 0x00]);
        assert_eq!(relaxed_ordering_enabled(&config), Some(false));
        config[0x68] = 0x10;
        assert_eq!(relaxed_ordering_enabled(&config), Some(true));
        assert_eq!(relaxed_ordering_enabled(&config[..64]), None, "what others than root can read");
        config[0x60..0x62].copy_from_slice(&[0x09, 0x40]);
        assert_eq!(relaxed_ordering_enabled(&config), None, "a circle");
    }

    #[test]
    fn what_a_device_says_becomes_its_description() {
        let attributes = DeviceAttributes {
            firmware: "16.35.2000".to_owned(),
            node_guid: 0x0c42_a103_0011_2233,
            vendor_id: 0x02c9,
            part_id: 4119,
            atomics: 2,
            pci_atomics: [8, 0, 8],
            responder_reads: 16,
            initiator_reads: 16,
            ..DeviceAttributes::default()
        };
        let port = PortAttributes { state: 4, link_layer: 2, mtu: 4096, lid: 0, flags: 1, gids: 3 };
        let ports = vec![port_info(1, port, "100 Gb/sec (4X EDR)", Vec::new())];
        let info = device_info("mlx5_0", attributes, "mlx5".to_owned(), Some(true), ports);
        assert_eq!(info.node_guid, "0c42a10300112233");
        assert_eq!(info.atomics, AtomicCapability::Global);
        let pci = PciAtomics { fetch_add: 8, swap: 0, compare_swap: 8 };
        assert_eq!(info.pci_atomics, Some(pci));
        assert_eq!(info.transport, "InfiniBand");
        assert!(info.ports[0].is_active() && info.ports[0].needs_gid);
        assert_eq!(info.ports[0].link_layer, LinkLayer::Ethernet);
        let plain = device_info("rxe0", DeviceAttributes::default(), String::new(), None, vec![]);
        assert_eq!((plain.pci_atomics, plain.atomics), (None, AtomicCapability::None));
    }
}
