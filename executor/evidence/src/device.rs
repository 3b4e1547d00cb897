//! Descriptions of devices: everything that their behavior may depend on. Records store [`DeviceInfo`] as it
//! is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A device, one of its ports, and what of it bears on ordering and atomicity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Whether its writes to memory may be marked as relaxed on PCIe, if memory is registered so; `None` if
    /// that cannot be seen (it takes root, and virtual functions do not tell).
    pub relaxed_ordering: Option<bool>,
    /// Whether it promises that the data of a write arrives in order within a request; `None` if it cannot be
    /// asked. Says nothing about two requests.
    pub data_in_order: Option<bool>,
    /// The board, by its vendor's own name for it.
    #[serde(default)]
    pub board: Option<String>,
    /// What it can do on memory that is not pinned (on-demand paging), for reliable connections: `send`,
    /// `write`, ….
    #[serde(default)]
    pub on_demand_paging: Option<Vec<String>>,
    /// What it has of the memory placement extensions: [`Self::FLUSH`], [`Self::PERSIST`],
    /// [`Self::ATOMIC_WRITE`].
    #[serde(default)]
    pub memory_placement: Vec<String>,
    /// Its link to the host: `16.0 GT/s PCIe x16`.
    #[serde(default)]
    pub pcie_link: Option<String>,
    /// How the IOMMU translates what it accesses: `DMA`, `identity`, …; `none` if there is no IOMMU before
    /// it.
    #[serde(default)]
    pub iommu: Option<String>,
    /// The NUMA node that it is nearest to.
    #[serde(default)]
    pub numa_node: Option<u32>,
    /// The ports.
    pub ports: Vec<PortInfo>,
    /// The port that is used, from 1.
    pub port: u8,
    /// The index of the GID that is used, if any, and why.
    pub gid: Option<(u32, String)>,
    /// How libfabric reaches it; `None` if libibverbs does.
    #[serde(default)]
    pub fabric: Option<FabricInfo>,
    /// Why it cannot be used as it is, if that is known: it cannot be opened, no port is active.
    #[serde(default)]
    pub trouble: Option<String>,
}

impl DeviceInfo {
    /// The transport of InfiniBand and RoCE devices.
    pub const INFINIBAND: &str = "InfiniBand";
    /// Its FLUSH for visibility.
    pub const FLUSH: &str = "flush";
    /// Its FLUSH for persistence.
    pub const PERSIST: &str = "flush for persistence";
    /// Its ATOMIC WRITE.
    pub const ATOMIC_WRITE: &str = "atomic write";
    /// The transport of iWARP devices.
    pub const IWARP: &str = "iWARP";

    /// The reason why no endpoint can be made, if there is one: tests with puts and gets cannot run on the
    /// device.
    pub fn lacks_puts_and_gets(&self) -> Option<String> {
        if self.fabric.is_some() {
            return self.trouble.clone();
        }
        if self.transport != Self::INFINIBAND {
            let transport = &self.transport;
            return Some(format!(
                "its transport is {transport}: only InfiniBand and RoCE devices connect as needed here"
            ));
        }
        if self.responder_reads == 0 || self.initiator_reads == 0 {
            return Some("it has no remote reads".to_owned());
        }
        match self.ports.iter().find(|port| port.number == self.port) {
            None => Some(self.trouble.clone().unwrap_or_else(|| "no port is active".to_owned())),
            Some(port) if port.link_layer != LinkLayer::InfiniBand && self.gid.is_none() => {
                Some(format!("port {} has no GID to be reached by", port.number))
            }
            Some(_) => None,
        }
    }

    /// The reason why tests with remote RMWs cannot run on the device, if there is one.
    pub fn lacks_remote_rmws(&self) -> Option<String> {
        let without = || match self.fabric {
            Some(_) => "its atomics are not asked for".to_owned(),
            None => "it has no atomics".to_owned(),
        };
        self.lacks_puts_and_gets()
            .or_else(|| (self.atomics == AtomicCapability::None).then(without))
    }
}

/// A provider of libfabric: what it promises, and what of that was asked for. Names are those of libfabric's
/// manual pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FabricInfo {
    /// The provider: `tcp;ofi_rxm`, `shm`.
    pub provider: String,
    /// Its version.
    pub provider_version: String,
    /// The version of libfabric.
    pub library: String,
    /// The fabric that the domain is on.
    pub fabric: String,
    /// The capabilities that bear on one-sided operations.
    pub caps: Vec<String>,
    /// What the provider leaves to its users.
    pub mode: Vec<String>,
    /// How memory is registered.
    pub mr_mode: Vec<String>,
    /// Whether it works by itself, or only in calls: `auto`, `manual`.
    pub data_progress: String,
    /// The model that judges what it shows: the provider's own, if it gives here what that needs.
    pub model: String,
    /// The provider's own model.
    pub own_model: String,
    /// The orders between requests that the provider's own model needs.
    pub needed: Vec<String>,
    /// Those that the endpoint was asked for, for requests that it sends and that it receives.
    pub asked: [Vec<String>; 2],
    /// Those that the provider gives to requests that are sent (`tx_attr->msg_order`).
    pub sent: Vec<String>,
    /// Those that it gives to requests that are received (`rx_attr->msg_order`).
    pub received: Vec<String>,
    /// The order of completions (`tx_attr->comp_order`).
    pub completions: Vec<String>,
    /// The most bytes whose order in memory follows `FI_ORDER_RAW`, `FI_ORDER_WAR` and `FI_ORDER_WAW`.
    pub data_order: [u64; 3],
    /// When a put is complete: `transmit`, `delivery`.
    pub completion: String,
}

/// What atomics are atomic with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Whether packets must have global addresses, on InfiniBand too (`IBV_QPF_GRH_REQUIRED`).
    #[serde(default)]
    pub needs_gid: bool,
    /// Speed as the device gives it, in Gbit/s; 0 if unknown.
    pub gigabits: u32,
    /// The GIDs, without empty entries.
    pub gids: Vec<Gid>,
}

impl PortInfo {
    /// The state of a port that is ready for use.
    pub const ACTIVE: &str = "ACTIVE";

    /// Whether the port is ready for use.
    pub fn is_active(&self) -> bool {
        self.state == Self::ACTIVE
    }
}

/// What a port is connected by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LinkLayer {
    /// Not said.
    #[default]
    Unknown,
    /// InfiniBand: addressed by LID.
    #[serde(rename = "infiniband")]
    InfiniBand,
    /// Ethernet: addressed by GID.
    Ethernet,
}

/// An entry of a port's table of GIDs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

impl fmt::Display for GidKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::InfiniBand => "IB",
            Self::RoceV1 => "RoCE v1",
            Self::RoceV2 => "RoCE v2",
        })
    }
}
