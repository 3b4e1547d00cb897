//! Describes providers as records store them.

use crate::rdma::{AtomicCapability, Completion, DeviceInfo, FabricInfo};

use super::ffi::{Attributes, FI_ATOMIC, FI_FENCE, FI_PROGRESS_AUTO, Library};
use super::promise::{ORDERS, Promise, RAW, names};

/// The transport of devices that libfabric reaches.
const TRANSPORT: &str = "libfabric";

const CAPS: [(u64, &str); 9] = [
    (1 << 1, "FI_MSG"),
    (1 << 2, "FI_RMA"),
    (FI_ATOMIC, "FI_ATOMIC"),
    (1 << 8, "FI_READ"),
    (1 << 9, "FI_WRITE"),
    (1 << 12, "FI_REMOTE_READ"),
    (1 << 13, "FI_REMOTE_WRITE"),
    (FI_FENCE, "FI_FENCE"),
    (1 << 56, "FI_RMA_EVENT"),
];
const MODES: [(u64, &str); 6] = [
    (1 << 51, "FI_BUFFERED_RECV"),
    (1 << 52, "FI_CONTEXT2"),
    (1 << 55, "FI_LOCAL_MR"),
    (1 << 56, "FI_RX_CQ_DATA"),
    (1 << 58, "FI_MSG_PREFIX"),
    (1 << 59, "FI_CONTEXT"),
];
const MR_MODES: [(u64, &str); 5] = [
    (1 << 2, "FI_MR_LOCAL"),
    (1 << 4, "FI_MR_VIRT_ADDR"),
    (1 << 5, "FI_MR_ALLOCATED"),
    (1 << 6, "FI_MR_PROV_KEY"),
    (1 << 9, "FI_MR_ENDPOINT"),
];

/// What a provider promises here.
pub fn promise(attributes: &Attributes) -> Promise {
    let [_, received] = attributes.msg_order;
    Promise::of(&attributes.provider).given(received, attributes.max_order)
}

/// Describes a provider that was asked for these orders. A put is complete as `completion` says; without it,
/// at the weakest level after which a read of the word still finds it: the end of a test relies on that.
pub fn describe(
    library: &Library,
    attributes: &Attributes,
    asked: [u64; 2],
    completion: Option<Completion>,
) -> DeviceInfo {
    let Attributes { provider, caps, msg_order: [sent, received], .. } = attributes;
    let [raw, war, waw] = attributes.max_order;
    let wanted = Promise::of(provider);
    let promise = promise(attributes);
    let reads_flush = promise.memory && promise.order & RAW != 0;
    let least = if reads_flush { Completion::Transmit } else { Completion::Delivery };
    let completion = completion.unwrap_or(least);
    let (major, minor) = library.version();
    let version = attributes.provider_version;
    let bits = |table: &[(u64, &str)], bits: u64| -> Vec<String> {
        let set = table.iter().filter(|(bit, _)| bits & bit != 0);
        set.map(|(_, name)| (*name).to_owned()).collect()
    };
    let fabric = FabricInfo {
        provider: provider.clone(),
        provider_version: format!("{}.{}", version >> 16, version & 0xffff),
        library: format!("{major}.{minor}"),
        fabric: attributes.fabric.clone(),
        caps: bits(&CAPS, *caps),
        mode: bits(&MODES, attributes.mode),
        mr_mode: bits(&MR_MODES, attributes.mr_mode.unsigned_abs().into()),
        data_progress: match attributes.data_progress {
            FI_PROGRESS_AUTO => "auto".to_owned(),
            _ => "manual".to_owned(),
        },
        model: promise.model.to_owned(),
        own_model: wanted.model.to_owned(),
        needed: names(wanted.order),
        asked: asked.map(names),
        sent: names(*sent),
        received: names(*received),
        completions: bits(&ORDERS, attributes.comp_order),
        data_order: [raw, war, waw].map(|size| size as u64),
        completion: match completion {
            Completion::Transmit => "transmit".to_owned(),
            Completion::Delivery => "delivery".to_owned(),
        },
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    DeviceInfo {
        name: attributes.domain.clone(),
        driver: provider.clone(),
        transport: TRANSPORT.to_owned(),
        // Nothing says that they are atomic with what the CPU does.
        atomics: match caps & FI_ATOMIC {
            0 => AtomicCapability::None,
            _ => AtomicCapability::Device,
        },
        queue_depth: count(attributes.requests),
        queue_pairs: count(attributes.endpoints),
        fabric: Some(fabric),
        ..DeviceInfo::default()
    }
}
