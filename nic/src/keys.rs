//! Memory regions by their keys, and the checks of accesses.

use crate::request::{Remote, Sge, access};

/// A registered memory region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The number of its protection domain.
    pub domain: u32,
    /// The first address, as requests name it.
    pub start: u64,
    /// The first address in this process.
    pub host: u64,
    /// The length in bytes.
    pub length: u64,
    /// The access rights, as in `ibv_access_flags`.
    pub access: u32,
}

/// All regions of a process. A key consists of an index into the table and a tag. The tag changes when the
/// index is reused.
#[derive(Debug, Default)]
pub struct Keys {
    places: Vec<(u8, Option<Region>)>,
    free: Vec<usize>,
    /// Whether any region was ever registered for relaxed ordering. Most programs have none.
    has_relaxed: bool,
}

/// The most regions. A key has 24 bits for the index.
const PLACES: usize = 1 << 24;

impl Keys {
    /// Registers a region, and returns its key. `None` if there are too many regions.
    pub fn insert(&mut self, region: Region) -> Option<u32> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() + 1 < PLACES => {
                self.places.push((0, None));
                self.places.len() - 1
            }
            None => return None,
        };
        self.has_relaxed |= region.access & access::RELAXED_ORDERING != 0;
        let entry = self.places.get_mut(place)?;
        entry.0 = entry.0.wrapping_add(1);
        entry.1 = Some(region);
        Some(((place as u32 + 1) << 8) | u32::from(entry.0))
    }

    /// The region of a key.
    pub fn get(&self, key: u32) -> Option<&Region> {
        let (tag, region) = self.places.get((key >> 8).checked_sub(1)? as usize)?;
        region.as_ref().filter(|_| u32::from(*tag) == key & 0xff)
    }

    /// All regions with their keys.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Region)> {
        let key = |index: usize, tag: u8| ((index as u32 + 1) << 8) | u32::from(tag);
        let places = self.places.iter().enumerate();
        places.filter_map(move |(index, (tag, region))| Some((key(index, *tag), region.as_ref()?)))
    }

    /// Changes the region of a key. Returns false if there is none.
    pub fn replace(&mut self, key: u32, region: Region) -> bool {
        let known = self.get(key).is_some();
        self.has_relaxed |= region.access & access::RELAXED_ORDERING != 0;
        if known && let Some(entry) = self.places.get_mut((key >> 8) as usize - 1) {
            entry.1 = Some(region);
        }
        known
    }

    /// Removes a region. Returns false if there is none.
    pub fn remove(&mut self, key: u32) -> bool {
        let known = self.get(key).is_some();
        if known {
            let place = (key >> 8) as usize - 1;
            self.places[place].1 = None;
            self.free.push(place);
        }
        known
    }

    /// Whether any region may be registered for relaxed ordering.
    pub fn has_relaxed(&self) -> bool {
        self.has_relaxed
    }

    /// Whether a region is registered for relaxed ordering.
    pub fn is_relaxed(&self, key: u32) -> bool {
        self.get(key).is_some_and(|region| region.access & access::RELAXED_ORDERING != 0)
    }

    /// Whether a protection domain has regions.
    pub fn uses(&self, domain: u32) -> bool {
        self.places.iter().any(|(_, region)| region.is_some_and(|region| region.domain == domain))
    }

    fn find(&self, domain: u32, key: u32, address: u64, length: u64, needs: u32) -> Option<u64> {
        let region = self.get(key)?;
        let offset = address.checked_sub(region.start)?;
        let inside = offset.checked_add(length).is_some_and(|end| end <= region.length);
        let allowed = region.domain == domain && region.access & needs == needs && inside;
        allowed.then(|| region.host.wrapping_add(offset))
    }

    /// The address in this process of a local piece. `None` if the key is not valid for this access.
    pub fn local(&self, domain: u32, sge: &Sge, writes: bool) -> Option<u64> {
        let needs = if writes { access::LOCAL_WRITE } else { 0 };
        self.find(domain, sge.key, sge.address, u64::from(sge.length), needs)
    }

    /// Whether all pieces can be accessed.
    pub fn all_local(&self, domain: u32, sges: &[Sge], writes: bool) -> bool {
        let fits = |sge: &Sge| sge.length == 0 || self.local(domain, sge, writes).is_some();
        sges.iter().all(fits)
    }

    /// The address in this process of memory that a peer names. `None` if the key is not valid for this
    /// access.
    pub fn remote(&self, domain: u32, remote: Remote, length: u64, needs: u32) -> Option<u64> {
        self.find(domain, remote.key, remote.address, length, needs)
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, Region};
    use crate::request::{Remote, Sge, access};

    const REGION: Region =
        Region { domain: 1, start: 100, host: 4100, length: 50, access: access::REMOTE_READ };

    #[test]
    fn a_key_gives_its_own_region_and_what_that_allows() {
        let mut keys = Keys::default();
        let key = keys.insert(REGION).expect("there is room");
        let sge = |address, length| Sge { address, length, key };
        assert_eq!(keys.local(1, &sge(100, 50), false), Some(4100));
        assert_eq!(keys.local(1, &sge(149, 1), false), Some(4149));
        for wrong in [sge(99, 1), sge(100, 51), sge(150, 1), sge(u64::MAX, u32::MAX)] {
            assert_eq!(keys.local(1, &wrong, false), None, "{wrong:?}");
        }
        assert_eq!(keys.local(1, &sge(100, 8), true), None, "not for writing");
        assert_eq!(keys.local(2, &sge(100, 8), false), None, "another domain");
        let remote = Remote { address: 108, key };
        assert_eq!(keys.remote(1, remote, 8, access::REMOTE_READ), Some(4108));
        assert_eq!(keys.remote(1, remote, 8, access::REMOTE_WRITE), None);
    }

    #[test]
    fn a_key_dies_with_its_region() {
        let mut keys = Keys::default();
        let key = keys.insert(REGION).expect("there is room");
        assert!(keys.uses(1) && keys.remove(key) && !keys.remove(key) && !keys.uses(1));
        let again = keys.insert(REGION).expect("there is room");
        assert!(again != key && keys.get(key).is_none() && keys.get(again).is_some());
        assert!(keys.get(0).is_none() && keys.get(u32::MAX).is_none());
    }
}
