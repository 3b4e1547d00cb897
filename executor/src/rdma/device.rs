//! What is to be known about a device: what its behavior may depend on ([`DeviceInfo`] goes into records as it is).

use serde::{Deserialize, Serialize};

/// A device, one of its ports, and what of it bears on ordering and atomicity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its name: `mlx5_0`, `rxe0`.
    pub name: String,
    /// The kernel driver: `mlx5`, `rxe`; empty if unknown.
    pub driver: String,
    /// Version of the firmware; empty for software devices.
    pub firmware: String,
    /// Vendor id.
    pub vendor_id: u32,
    /// Vendor's part id.
    pub part_id: u32,
    /// Hardware version.
    pub hardware_version: u32,
    /// Node GUID as 16 hexadecimal digits.
    pub node_guid: String,
    /// Transport: `InfiniBand` (RoCE too), `iWARP`, …
    pub transport: String,
    /// What atomics are atomic with.
    pub atomics: AtomicCapability,
    /// Atomic operations that it does over PCIe, with the host's own.
    pub pci_atomics: Option<PciAtomics>,
    /// Reads and atomics that a queue pair can serve at once as responder (`max_qp_rd_atom`).
    pub responder_reads: u32,
    /// Reads and atomics that a queue pair can have under way (`max_qp_init_rd_atom`).
    pub initiator_reads: u32,
    /// Requests per queue pair (`max_qp_wr`).
    pub queue_depth: u32,
    /// Queue pairs.
    pub queue_pairs: u32,
    /// Whether memory can be registered with relaxed ordering.
    pub relaxed_ordering: Option<bool>,
    /// Whether the data of a write arrives in order within a request; `None` if the device does not say.
    pub data_in_order: Option<bool>,
    /// The ports.
    pub ports: Vec<PortInfo>,
    /// The port that is used, from 1.
    pub port: u8,
    /// The index of the GID that is used, if any, and why.
    pub gid: Option<(u32, String)>,
}

/// What atomics are atomic with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomicCapability {
    /// There are none.
    #[default]
    None,
    /// Other atomics of the same device only.
    Device,
    /// Whatever else accesses the memory, the CPU included.
    Global,
}

/// Sizes in bytes of atomic operations over PCIe, as a bit mask: 4, 8, 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PciAtomics {
    /// Fetch-and-add.
    pub fetch_add: u32,
    /// Swap.
    pub swap: u32,
    /// Compare-and-swap.
    pub compare_swap: u32,
}

/// A port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortInfo {
    /// From 1.
    pub number: u8,
    /// `ACTIVE`, `DOWN`, ….
    pub state: String,
    /// The link layer.
    pub link_layer: LinkLayer,
    /// Active MTU in bytes.
    pub mtu: u32,
    /// Local identifier.
    pub lid: u16,
    /// Speed as the device gives it, in Gbit/s; 0 if unknown.
    pub gigabits: u32,
    /// The GIDs, without empty entries.
    pub gids: Vec<Gid>,
}

/// What a port is connected by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkLayer {
    /// Not said.
    #[default]
    Unknown,
    /// InfiniBand: addressed by LID.
    InfiniBand,
    /// Ethernet: addressed by GID.
    Ethernet,
}

/// An entry of a port's table of GIDs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gid {
    /// Its index, as in `-x`.
    pub index: u32,
    /// As an IPv6 address, or as an IPv4 address if it maps one.
    pub address: String,
    /// What it is good for.
    pub kind: GidKind,
}

/// What a GID is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GidKind {
    /// InfiniBand.
    #[serde(rename = "IB")]
    InfiniBand,
    /// RoCE version 1.
    #[serde(rename = "RoCE v1")]
    RoceV1,
    /// RoCE version 2.
    #[serde(rename = "RoCE v2")]
    RoceV2,
}
