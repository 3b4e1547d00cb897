//! Chooses the device, port and GID, and reports what is missing.

use crate::rdma::{
    DeviceInfo, Gid, GidKind, LinkLayer, PortInfo, RdmaError, RdmaErrorKind, unknown,
};

use super::Selection;

/// The index of the device with this name.
pub fn by_name(name: &str, names: &[String]) -> Result<usize, RdmaError> {
    names
        .iter()
        .position(|known| known == name)
        .ok_or_else(|| missing(unknown("RDMA device", name, names)))
}

/// Chooses the port and GID of a device, and stores them in its description.
pub fn port_and_gid(info: &mut DeviceInfo, selection: &Selection) -> Result<(), RdmaError> {
    let port = port(info, selection.port)?;
    if let (LinkLayer::InfiniBand, None, false) =
        (port.link_layer, selection.gid_index, port.needs_gid)
    {
        info.port = port.number;
        info.gid = None;
        return Ok(());
    }
    let gid = gid(&info.name, port, selection.gid_index)?;
    info.port = port.number;
    info.gid = Some(gid);
    Ok(())
}

/// The requested port, or else the first that is active.
fn port(info: &DeviceInfo, wanted: Option<u8>) -> Result<&PortInfo, RdmaError> {
    let name = &info.name;
    let ports: Vec<String> =
        info.ports.iter().map(|port| format!("{} ({})", port.number, port.state)).collect();
    let ports = ports.join(", ");
    let Some(number) = wanted else {
        let active = info.ports.iter().find(|port| port.is_active());
        return active.ok_or_else(|| {
            missing(format!(
                "{name} has no active port, only {ports}; is the cable in, and the network interface up?"
            ))
        });
    };
    match info.ports.iter().find(|port| port.number == number) {
        None => Err(missing(format!("{name} has no port {number}; it has {ports}"))),
        Some(port) if !port.is_active() => Err(missing(format!(
            "port {number} of {name} is {}, not active; is the cable in, and the network interface up?",
            port.state
        ))),
        Some(port) => Ok(port),
    }
}

/// The requested index, or else the best GID; and the reason for the choice.
fn gid(name: &str, port: &PortInfo, wanted: Option<u32>) -> Result<(u32, String), RdmaError> {
    let number = port.number;
    let Some(index) = wanted else {
        return best_gid(&port.gids).ok_or_else(|| {
            missing(format!(
                "port {number} of {name} has no GID to be reached by; \
                 give its network interface an IPv4 address and bring it up"
            ))
        });
    };
    // libibverbs stores the index in one byte.
    if index <= u32::from(u8::MAX) && port.gids.iter().any(|gid| gid.index == index) {
        return Ok((index, "as asked for".to_owned()));
    }
    let known: Vec<String> = port
        .gids
        .iter()
        .map(|gid| format!("{} ({}, {})", gid.index, gid.kind, gid.address))
        .collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(missing(format!("port {number} of {name} has no GID of index {index}; it has {known}")))
}

/// The GID that is most likely to reach the peer, ranked as perftest does: RoCE v2 before v1, because v2 can
/// be routed; IPv4 before IPv6, because most networks are set up with IPv4; global before link-local; then
/// the lowest index.
fn best_gid(gids: &[Gid]) -> Option<(u32, String)> {
    let usable = gids.iter().filter(|gid| gid.index <= u32::from(u8::MAX));
    let best = usable.max_by_key(|gid| (score(gid), std::cmp::Reverse(gid.index)))?;
    let (_, ipv4, global) = score(best);
    let what = match (ipv4, global) {
        (true, true) => "an IPv4 address",
        (true, false) => "a link-local IPv4 address",
        (false, true) => "a global IPv6 address, as there is no IPv4 address",
        (false, false) => "a link-local IPv6 address, as there is no other",
    };
    Some((best.index, format!("{} with {what}", best.kind)))
}

/// The rank of a GID: is it version 2, IPv4, global?
fn score(gid: &Gid) -> (bool, bool, bool) {
    let ipv4 = !gid.address.contains(':');
    let local = ["169.254.", "fe8", "fe9", "fea", "feb"];
    let global = !local.iter().any(|prefix| gid.address.starts_with(prefix));
    (gid.kind == GidKind::RoceV2, ipv4, global)
}

/// The error for a library, device or port that was not found.
pub fn missing(message: String) -> RdmaError {
    RdmaError::new(RdmaErrorKind::NoDevice, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gid(index: u32, kind: GidKind, address: &str) -> Gid {
        Gid { index, kind, address: address.to_owned() }
    }

    fn device(state: &str, link_layer: LinkLayer, gids: Vec<Gid>) -> DeviceInfo {
        let state = state.to_owned();
        let port = PortInfo { number: 1, state, link_layer, gids, ..PortInfo::default() };
        DeviceInfo { name: "mlx5_0".to_owned(), ports: vec![port], ..DeviceInfo::default() }
    }

    #[test]
    fn the_best_gid() {
        use GidKind::{RoceV1, RoceV2};
        let (local, global) = ("fe80::1", "2001:db8::1");
        type Row<'a> = (&'a [Gid], Option<(u32, &'a str)>);
        let table: [Row<'_>; 7] = [
            (&[], None),
            (
                &[
                    gid(0, RoceV1, local),
                    gid(1, RoceV2, local),
                    gid(2, RoceV1, "10.0.0.1"),
                    gid(3, RoceV2, "10.0.0.1"),
                ],
                Some((3, "RoCE v2 with an IPv4 address")),
            ),
            (
                &[gid(1, RoceV2, local), gid(5, RoceV2, global)],
                Some((5, "RoCE v2 with a global IPv6 address, as there is no IPv4 address")),
            ),
            (
                &[gid(0, RoceV2, local), gid(2, RoceV1, "10.0.0.1")],
                Some((0, "RoCE v2 with a link-local IPv6 address, as there is no other")),
            ),
            (
                &[gid(3, RoceV2, "10.0.0.2"), gid(2, RoceV2, "10.0.0.1")],
                Some((2, "RoCE v2 with an IPv4 address")),
            ),
            (
                &[gid(0, RoceV2, "169.254.1.1"), gid(1, RoceV2, global)],
                Some((0, "RoCE v2 with a link-local IPv4 address")),
            ),
            (&[gid(256, RoceV2, "10.0.0.1")], None),
        ];
        for (gids, expected) in table {
            let expected = expected.map(|(index, why)| (index, why.to_owned()));
            assert_eq!(best_gid(gids), expected, "{gids:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let names = ["mlx5_0".to_owned(), "rxe0".to_owned()];
        let error = by_name("mlx5_1", &names).expect_err("there is none");
        assert_eq!(error.kind, RdmaErrorKind::NoDevice);
        assert_eq!(
            error.message,
            "no RDMA device is named `mlx5_1`; there is mlx5_0, rxe0; did you mean `mlx5_0`?"
        );
        let fault = |info: &DeviceInfo, port, gid_index| {
            let selection = Selection { port, gid_index, ..Selection::default() };
            port_and_gid(&mut info.clone(), &selection).expect_err("there is none").message
        };
        let ipv4 = || vec![gid(3, GidKind::RoceV2, "10.0.0.1")];
        let up = device("ACTIVE", LinkLayer::Ethernet, ipv4());
        assert_eq!(fault(&up, Some(2), None), "mlx5_0 has no port 2; it has 1 (ACTIVE)");
        assert_eq!(
            fault(&up, None, Some(7)),
            "port 1 of mlx5_0 has no GID of index 7; it has 3 (RoCE v2, 10.0.0.1)"
        );
        let down = device("DOWN", LinkLayer::Ethernet, ipv4());
        assert!(fault(&down, None, None).starts_with("mlx5_0 has no active port, only 1 (DOWN)"));
        assert!(fault(&down, Some(1), None).starts_with("port 1 of mlx5_0 is DOWN, not active"));
        let bare = device("ACTIVE", LinkLayer::Ethernet, Vec::new());
        assert!(fault(&bare, None, None).starts_with("port 1 of mlx5_0 has no GID to be reached"));
    }

    #[test]
    fn infiniband_goes_by_lid_unless_a_gid_is_asked_for() {
        let gids = vec![gid(0, GidKind::InfiniBand, "fe80::1")];
        let mut info = device("ACTIVE", LinkLayer::InfiniBand, gids);
        assert_eq!(port_and_gid(&mut info, &Selection::default()), Ok(()));
        assert_eq!((info.port, &info.gid), (1, &None));
        let selection = Selection { gid_index: Some(0), ..Selection::default() };
        assert_eq!(port_and_gid(&mut info, &selection), Ok(()));
        assert_eq!(info.gid, Some((0, "as asked for".to_owned())));
        // Some subnets are larger than LIDs reach.
        info.ports[0].needs_gid = true;
        assert_eq!(port_and_gid(&mut info, &Selection::default()), Ok(()));
        assert_eq!(info.gid.map(|(index, _)| index), Some(0));
    }
}
