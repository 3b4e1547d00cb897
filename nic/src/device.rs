//! The devices and their ports: names and addresses. All ports are numbered in the network, from 0: first all
//! ports of the first device, then those of the second, and so on.

use crate::config::Config;

/// The limits that `ibv_query_device` reports.
pub mod limit {
    /// The most requests in a queue.
    pub const REQUESTS: u32 = 16_384;
    /// The most pieces of a request.
    pub const PIECES: u32 = 32;
    /// The most bytes of an inline request.
    pub const INLINE: u32 = 1024;
    /// The most entries of a completion queue.
    pub const COMPLETIONS: u32 = 4_194_303;
    /// The most reads and atomics in flight on a queue pair.
    pub const FETCHES: u8 = 16;
    /// The most bytes of a message.
    pub const MESSAGE: u32 = 1 << 30;
    /// The most bytes of a datagram: the MTU.
    pub const DATAGRAM: u32 = 4096;
    /// The most queue pairs of a process.
    pub const QUEUE_PAIRS: u32 = (1 << crate::transport::INDEX_BITS) - 1;
    /// The number of entries in a port's GID table.
    pub const GIDS: u32 = 1;
}

/// The prefix of all GIDs in the network: link-local, as in a network without a subnet manager.
const PREFIX: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];
/// The first bytes of a GUID. It is locally administered, so no vendor uses it.
const VENDOR: [u8; 3] = [0x02, 0x6c, 0x69];
/// The bits of a host's number, which follows in a GUID.
pub const HOSTS: u32 = 0xff_ffff;

/// The vendor, as in the first bytes of a GUID.
pub const VENDOR_ID: u32 = 0x02_6c_69;

/// The name of a device.
pub fn name(device: u16) -> String {
    format!("litmus{device}")
}

/// The GUID of a device of a host, in network byte order.
pub fn guid(host: u32, device: u16) -> [u8; 8] {
    let mut guid = [0; 8];
    guid[..3].copy_from_slice(&VENDOR);
    let [_, host @ ..] = host.to_be_bytes();
    guid[3..6].copy_from_slice(&host);
    guid[7] = device as u8;
    guid
}

/// The number in the network of a device's port; ports of a device count from 1.
pub fn port_number(config: &Config, device: u16, port: u32) -> Option<u16> {
    let port = u16::try_from(port).ok().filter(|port| (1..=config.ports).contains(port))?;
    Some(device * config.ports + port - 1)
}

/// The GID of a port of a host.
pub fn gid(config: &Config, host: u32, number: u16) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..8].copy_from_slice(&PREFIX);
    gid[8..].copy_from_slice(&guid(host, number / config.ports));
    gid[14] = (number % config.ports) as u8 + 1;
    gid
}

/// The local identifier of a port; 0 on Ethernet.
pub fn lid(config: &Config, number: u16) -> u16 {
    if config.ethernet { 0 } else { number + 1 }
}

/// The host and the number of the port with an address. All hosts have as many devices and ports.
pub fn find(config: &Config, to_gid: Option<&[u8; 16]>, to_lid: u16) -> Option<(u32, u16)> {
    let mut numbers = 0..config.devices * config.ports;
    let Some(to) = to_gid else {
        let number = numbers.find(|number| to_lid != 0 && lid(config, *number) == to_lid);
        return number.map(|number| (config.host, number));
    };
    let host = u32::from_be_bytes([0, to[11], to[12], to[13]]);
    numbers.find(|number| gid(config, host, *number) == *to).map(|number| (host, number))
}

#[cfg(test)]
mod tests {
    use super::{HOSTS, find, gid, guid, lid, port_number};
    use crate::config::Config;

    #[test]
    fn every_port_of_every_host_has_its_own_addresses() {
        let config = Config { devices: 3, ports: 2, host: 7, ..Config::read(|_| None).0 };
        for device in 0..3 {
            for port in 1..=2 {
                let number = port_number(&config, device, port).expect("there is this port");
                for host in [0, 7, HOSTS] {
                    let gid = gid(&config, host, number);
                    assert_eq!(find(&config, Some(&gid), 0), Some((host, number)));
                }
                assert_eq!(find(&config, None, lid(&config, number)), Some((7, number)));
            }
            assert_eq!(port_number(&config, device, 0), None);
            assert_eq!(port_number(&config, device, 3), None);
        }
        assert_eq!(find(&config, Some(&[0; 16]), 1), None, "an address that nobody has");
        assert_eq!(find(&config, None, 0), None);
        assert_ne!(guid(0, 0), guid(0, 1));
        assert_ne!(guid(0, 0), guid(1, 0));
    }
}
