//! Whether two machines can connect, as their ports are set up.

use evidence::device::{GidKind, LinkLayer};
use evidence::record::NodeInfo;

/// Why two machines cannot connect, if that can be seen: a device would only report that there is no way to
/// the other end, or nothing at all.
pub fn mismatch(one: &NodeInfo, other: &NodeInfo) -> Option<String> {
    let provider = |node: &NodeInfo| node.device.fabric.as_ref().map(|of| of.provider.clone());
    if provider(one) != provider(other) {
        let name = |node| provider(node).unwrap_or_else(|| "none".to_owned());
        let (found, expected) = (name(other), name(one));
        return Some(format!(
            "its provider of libfabric is {found}, and that of {} is {expected}; choose one: --provider",
            one.name
        ));
    }
    let (own, of) = (End::new(one), &one.name);
    let found = End::new(other);
    let layers = [own.layer, found.layer];
    if own.layer != found.layer && !layers.contains(&LinkLayer::Unknown) {
        return Some(format!(
            "its port is on {}, and that of {of} on {}",
            layer(found.layer),
            layer(own.layer)
        ));
    }
    let how = |kind: Option<GidKind>| match kind {
        Some(kind) => format!("a GID of {kind}"),
        None => "its LID".to_owned(),
    };
    (own.gid != found.gid).then(|| {
        format!(
            "it is reached by {}, and {of} by {}; choose GIDs of one type: --gid-index, or HOST/DEVICE:PORT:GID",
            how(found.gid),
            how(own.gid)
        )
    })
}

/// What both ends of a connection must have in common.
struct End {
    layer: LinkLayer,
    gid: Option<GidKind>,
}

impl End {
    fn new(node: &NodeInfo) -> Self {
        let device = &node.device;
        let port = device.ports.iter().find(|port| port.number == device.port);
        let index = device.gid.as_ref().map(|(index, _)| *index);
        let gid = port.and_then(|port| port.gids.iter().find(|gid| Some(gid.index) == index));
        Self {
            layer: port.map_or_else(LinkLayer::default, |port| port.link_layer),
            gid: gid.map(|gid| gid.kind),
        }
    }
}

fn layer(layer: LinkLayer) -> &'static str {
    match layer {
        LinkLayer::InfiniBand => "InfiniBand",
        LinkLayer::Ethernet => "Ethernet",
        LinkLayer::Unknown => "an unknown link",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evidence::device::{DeviceInfo, Gid, PortInfo};
    use evidence::record::Host;

    fn node(name: &str, link_layer: LinkLayer, kind: Option<GidKind>) -> NodeInfo {
        let gid = |kind| Gid { index: 3, kind, address: "10.0.0.1".to_owned() };
        let gids = kind.into_iter().map(gid).collect();
        let port = PortInfo { number: 1, link_layer, gids, ..PortInfo::default() };
        let gid = kind.map(|_| (3, "as asked for".to_owned()));
        let device = DeviceInfo { port: 1, ports: vec![port], gid, ..DeviceInfo::default() };
        NodeInfo { name: name.to_owned(), host: Host::default(), device }
    }

    #[test]
    fn both_ends_have_one_kind_of_address() {
        use LinkLayer::{Ethernet, InfiniBand};
        let between = |one, other| mismatch(&one, &other).unwrap_or_default();
        let a = || node("a", Ethernet, Some(GidKind::RoceV2));
        assert_eq!(between(a(), node("b", Ethernet, Some(GidKind::RoceV2))), "");
        assert!(
            between(a(), node("b", Ethernet, Some(GidKind::RoceV1))).starts_with(
                "it is reached by a GID of RoCE v1, and a by a GID of RoCE v2; choose"
            )
        );
        assert_eq!(
            between(a(), node("b", InfiniBand, None)),
            "its port is on InfiniBand, and that of a on Ethernet"
        );
        let lid = || node("a", InfiniBand, None);
        assert_eq!(between(lid(), node("b", InfiniBand, None)), "");
        assert!(
            between(lid(), node("b", InfiniBand, Some(GidKind::InfiniBand)))
                .contains("and a by its LID")
        );
    }
}
