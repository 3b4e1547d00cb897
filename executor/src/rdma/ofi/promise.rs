//! What providers promise, as far as a shipped model says it.

/// Orders between two requests of one endpoint: the later kind, after the earlier kind. Read, write, and
/// those of atomics.
pub const RAR: u64 = 1 << 0;
pub const RAW: u64 = 1 << 1;
pub const WAR: u64 = 1 << 3;
pub const WAW: u64 = 1 << 4;
pub const RMA_RAR: u64 = 1 << 32;
pub const ATOMIC_RAR: u64 = 1 << 36;
pub const ATOMIC_RAW: u64 = 1 << 37;
pub const ATOMIC_WAR: u64 = 1 << 38;
pub const ATOMIC_WAW: u64 = 1 << 39;

/// All bits of orders, with their names.
pub const ORDERS: [(u64, &str); 17] = [
    (RAR, "FI_ORDER_RAR"),
    (RAW, "FI_ORDER_RAW"),
    (1 << 2, "FI_ORDER_RAS"),
    (WAR, "FI_ORDER_WAR"),
    (WAW, "FI_ORDER_WAW"),
    (1 << 5, "FI_ORDER_WAS"),
    (1 << 6, "FI_ORDER_SAR"),
    (1 << 7, "FI_ORDER_SAW"),
    (1 << 8, "FI_ORDER_SAS"),
    (RMA_RAR, "FI_ORDER_RMA_RAR"),
    (1 << 33, "FI_ORDER_RMA_RAW"),
    (1 << 34, "FI_ORDER_RMA_WAR"),
    (1 << 35, "FI_ORDER_RMA_WAW"),
    (ATOMIC_RAR, "FI_ORDER_ATOMIC_RAR"),
    (ATOMIC_RAW, "FI_ORDER_ATOMIC_RAW"),
    (ATOMIC_WAR, "FI_ORDER_ATOMIC_WAR"),
    (ATOMIC_WAW, "FI_ORDER_ATOMIC_WAW"),
];

/// A word, whose order in memory models are about.
const WORD: usize = size_of::<u64>();

/// A model, and what it needs of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The shipped model.
    pub model: &'static str,
    /// The bits of orders that it has.
    pub order: u64,
    /// Whether the data of a word has these orders too, but for reads after reads, which need no more.
    pub memory: bool,
}

impl Promise {
    /// What is promised of every provider.
    const LEAST: Self = Self { model: "ofi", order: ATOMIC_RAR, memory: false };

    /// What is promised of this provider.
    pub fn of(provider: &str) -> Self {
        let core = provider.split(';').next().unwrap_or_default();
        let found = PROMISES.iter().find(|(cores, _)| cores.contains(&core));
        found.map_or(Self::LEAST, |(_, promise)| *promise)
    }

    /// What a shipped model of libfabric needs; `None` for other models.
    pub fn of_model(model: &str) -> Option<Self> {
        PROMISES.iter().map(|(_, promise)| *promise).find(|promise| promise.model == model)
    }

    /// The same if the provider gives what is needed here too: a setting or another version may not.
    /// Sizes of data orders are as in [`Promise::lacks`].
    pub fn given(self, order: u64, sizes: [usize; 3]) -> Self {
        if self.lacks(order, sizes) == 0 { self } else { Self::LEAST }
    }

    /// The orders that it needs, of which a provider with these orders and sizes lacks something. Sizes of
    /// data orders are those of a read after a write, a write after a read, a write after a write.
    pub fn lacks(self, order: u64, sizes: [usize; 3]) -> u64 {
        let small = [RAW, WAR, WAW].into_iter().zip(sizes);
        let small = small.filter(|(_, size)| self.memory && *size < WORD);
        self.order & (!order | small.fold(0, |bits, (bit, _)| bits | bit))
    }
}

const fn promise(model: &'static str, order: u64, memory: bool) -> Promise {
    Promise { model, order, memory }
}

/// What is promised of each provider, by the first part of its name.
const PROMISES: [(&[&str], Promise); 6] = [
    (&["tcp", "net"], promise("ofi-tcp", RAR | RAW | WAW, true)),
    (&["verbs"], promise("ofi-verbs", RAR | RAW | WAW, true)),
    // Both promise all orders, if they are asked for them.
    (&["shm", "sockets"], promise("ofi-shm", RAR | RAW | WAR | WAW, true)),
    (&["efa"], promise("ofi-efa", ATOMIC_RAR | ATOMIC_RAW | ATOMIC_WAR | ATOMIC_WAW, false)),
    (&["cxi"], promise("ofi-cxi", WAW | RMA_RAR | ATOMIC_RAR, false)),
    (&["opx"], promise("ofi-opx", ATOMIC_RAR, false)),
];

/// Whether a provider's second atomic ends the process: `docs/findings.md`.
pub fn has_broken_atomics(provider: &str) -> bool {
    provider.ends_with("ofi_rxd")
}

/// The bits of names.
pub fn bits(names: &[String]) -> u64 {
    let named = |(_, name): &&(u64, &str)| names.iter().any(|one| one == name);
    ORDERS.iter().filter(named).fold(0, |bits, (bit, _)| bits | bit)
}

/// The names of bits.
pub fn names(bits: u64) -> Vec<String> {
    let set = ORDERS.iter().filter(|(bit, _)| bits & bit != 0);
    set.map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_lacks_is_said() {
        let shm = Promise::of_model("ofi-shm").expect("it is shipped");
        let given = bits(&names(RAR | RAW | WAW));
        assert_eq!(names(shm.lacks(given, [8, 8, 8])), ["FI_ORDER_WAR"]);
        assert_eq!(names(shm.lacks(shm.order, [8, 8, 4])), ["FI_ORDER_WAW"]);
        assert_eq!(shm.lacks(shm.order, [8, 8, 8]), 0);
        assert!(Promise::of_model("rdma-tso").is_none());
    }

    #[test]
    fn a_provider_is_judged_by_what_it_gives() {
        let tcp = Promise::of("tcp;ofi_rxm");
        assert_eq!((tcp.model, names(tcp.order).len()), ("ofi-tcp", 3));
        let given = |order, sizes| tcp.given(order, sizes).model;
        assert_eq!(given(RAR | RAW | WAW | ATOMIC_RAR, [8, 0, 8]), "ofi-tcp");
        assert_eq!(given(RAR | WAW, [8, 0, 8]), "ofi");
        assert_eq!(given(RAR | RAW | WAW, [8, 8, 0]), "ofi");
        let shm = |sizes| Promise::of("shm").given(RAR | RAW | WAR | WAW, sizes).model;
        assert_eq!((shm([8, 8, 8]), shm([8, 0, 8])), ("ofi-shm", "ofi"));
        assert_eq!(Promise::of("opx").given(ATOMIC_RAR, [0, 0, 0]).model, "ofi-opx");
        assert_eq!(Promise::of("udp;ofi_rxd").model, "ofi");
    }

    #[test]
    fn every_model_is_shipped() {
        for provider in ["tcp", "net", "verbs;ofi_rxm", "shm", "efa", "cxi", "opx", "sockets"] {
            let name = Promise::of(provider).model;
            assert!(model::models::SHIPPED.iter().any(|(known, _)| *known == name), "{name}");
        }
    }
}
