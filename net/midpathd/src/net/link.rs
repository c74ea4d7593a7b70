//! Devices.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoGeneve, InfoGre, InfoGre6, InfoIpTunnel, InfoKind, InfoVeth, InfoVxlan, LinkAttribute, LinkFlags,
    LinkInfo, LinkLayerType, LinkMessage,
};

use super::Net;

/// How packets begin on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// With an Ethernet header.
    Ethernet,
    /// With the IP header (tun, WireGuard, PPP, GRE, IP in IP).
    Bare,
    /// Packets that go through another device first cannot be sent through this one; why.
    Unfit(&'static str),
}

impl LinkKind {
    fn of(layer: LinkLayerType, info: &[LinkInfo]) -> LinkKind {
        if let Some(why) = info.iter().find_map(unfit) {
            return LinkKind::Unfit(why);
        }
        match layer {
            LinkLayerType::Ether => LinkKind::Ethernet,
            LinkLayerType::None
            | LinkLayerType::Ppp
            | LinkLayerType::Rawip
            | LinkLayerType::Tunnel
            | LinkLayerType::Tunnel6
            | LinkLayerType::Sit
            | LinkLayerType::Ipgre
            | LinkLayerType::Ip6gre => LinkKind::Bare,
            _ => LinkKind::Unfit("is neither Ethernet nor a tunnel of IP packets"),
        }
    }
}

/// Why not, by the kind of the device.
fn unfit(info: &LinkInfo) -> Option<&'static str> {
    // A packet's route (`skb_dst`) does not survive the internal pair (`skb_scrub_packet`).
    const BY_ROUTE: &str = "is a tunnel without a fixed remote address: a packet's destination is in its route, \
        which RPM's queue loses; use the underlying device";
    match info {
        LinkInfo::Kind(InfoKind::Vrf) => Some("is a VRF, through which packets do not arrive; use its ports"),
        LinkInfo::Kind(InfoKind::Ifb) => Some("is an IFB, which accepts only packets from tc's mirred"),
        LinkInfo::Data(data) if goes_by_route(data) => Some(BY_ROUTE),
        _ => None,
    }
}

fn goes_by_route(data: &InfoData) -> bool {
    match data {
        InfoData::Vxlan(all) => all.contains(&InfoVxlan::CollectMetadata(true)),
        InfoData::Geneve(all) => all.contains(&InfoGeneve::CollectMetadata),
        InfoData::GreTap(all) | InfoData::GreTun(all) | InfoData::ErSpan(all) => all.iter().any(|one| match one {
            InfoGre::CollectMetadata => true,
            InfoGre::Remote(remote) => is_many((*remote).into()),
            _ => false,
        }),
        InfoData::GreTap6(all) | InfoData::GreTun6(all) | InfoData::Ip6ErSpan(all) => all.iter().any(|one| match one {
            InfoGre6::CollectMetadata => true,
            InfoGre6::Remote(remote) => is_many((*remote).into()),
            _ => false,
        }),
        InfoData::IpTunnel(all) => all.iter().any(|one| match one {
            InfoIpTunnel::CollectMetadata => true,
            InfoIpTunnel::Remote(remote) => is_many(*remote),
            _ => false,
        }),
        _ => false,
    }
}

/// Not one machine's. Frames of GRE to a group also have the outer header before they are sent.
fn is_many(remote: IpAddr) -> bool {
    remote.is_unspecified() || remote.is_multicast()
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What somebody wrote on it (`ip link set … alias`).
    pub alias: String,
    /// How packets begin.
    pub kind: LinkKind,
    /// The largest IP packet.
    pub mtu: u32,
}

impl Link {
    fn from(message: LinkMessage) -> Link {
        let info = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::LinkInfo(info) => Some(info.as_slice()),
            _ => None,
        });
        let kind = LinkKind::of(message.header.link_layer_type, info.unwrap_or_default());
        let mut link = Link { index: message.header.index, name: String::new(), alias: String::new(), kind, mtu: 0 };
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::IfAlias(alias) => link.alias = alias,
                LinkAttribute::Mtu(mtu) => link.mtu = mtu,
                _ => {}
            }
        }
        link
    }
}

impl Net {
    /// All devices of this network namespace.
    pub fn links(&mut self) -> io::Result<Vec<Link>> {
        let found = self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
        let links = found.into_iter().filter_map(|message| match message {
            RouteNetlinkMessage::NewLink(link) => Some(Link::from(link)),
            _ => None,
        });
        Ok(links.collect())
    }

    /// Makes a veth pair with one transmit queue each.
    pub fn add_pair(&mut self, name: &str, peer: &str, mtu: u32) -> io::Result<()> {
        let end = |name: &str| {
            let mut end = LinkMessage::default();
            end.attributes = vec![
                LinkAttribute::IfName(name.into()),
                LinkAttribute::Mtu(mtu),
                LinkAttribute::NumTxQueues(1),
                LinkAttribute::NumRxQueues(1),
            ];
            end
        };
        let mut pair = end(name);
        let data = InfoData::Veth(InfoVeth::Peer(end(peer)));
        pair.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(data)]));
        self.request(RouteNetlinkMessage::NewLink(pair), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes a device, and its peer if it has one.
    pub fn delete_link(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        self.request(RouteNetlinkMessage::DelLink(link), 0)
    }

    /// Writes on a device what it is for.
    pub fn set_alias(&mut self, index: u32, alias: &str) -> io::Result<()> {
        self.change_link(index, vec![LinkAttribute::IfAlias(alias.into())])
    }

    /// Makes the kernel cut large segments before the device, so that each packet is one.
    pub fn cut_segments(&mut self, index: u32) -> io::Result<()> {
        self.change_link(index, vec![LinkAttribute::GsoMaxSegs(1)])
    }

    /// Sets a device up, without ARP.
    pub fn set_up(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up | LinkFlags::Noarp;
        link.header.change_mask = LinkFlags::Up | LinkFlags::Noarp;
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }

    fn change_link(&mut self, index: u32, attributes: Vec<LinkAttribute>) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = attributes;
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    /// What the kernel says of kinds: tests/python/test_rpm_devices.py has the devices themselves.
    #[test]
    fn a_device_is_fit_unless_packets_get_lost_in_front_of_it() {
        let of = |layer, data: Option<InfoData>| {
            LinkKind::of(layer, &data.map(LinkInfo::Data).into_iter().collect::<Vec<_>>())
        };
        let peer = Ipv4Addr::new(192, 0, 2, 7);
        assert_eq!(of(LinkLayerType::Ether, None), LinkKind::Ethernet);
        assert_eq!(of(LinkLayerType::Ipgre, Some(InfoData::GreTun(vec![InfoGre::Remote(peer)]))), LinkKind::Bare);
        assert_eq!(
            of(LinkLayerType::Sit, Some(InfoData::IpTunnel(vec![InfoIpTunnel::Remote(peer.into())]))),
            LinkKind::Bare
        );
        assert_eq!(
            of(LinkLayerType::Ether, Some(InfoData::Vxlan(vec![InfoVxlan::CollectMetadata(false)]))),
            LinkKind::Ethernet
        );
        let group = Ipv4Addr::new(239, 0, 0, 1);
        for data in [
            InfoData::Vxlan(vec![InfoVxlan::CollectMetadata(true)]),
            InfoData::Geneve(vec![InfoGeneve::CollectMetadata]),
            InfoData::GreTap(vec![InfoGre::CollectMetadata]),
            InfoData::GreTun(vec![InfoGre::Remote(Ipv4Addr::UNSPECIFIED)]),
            InfoData::GreTun(vec![InfoGre::Remote(group)]),
            InfoData::GreTun6(vec![InfoGre6::Remote(Ipv6Addr::UNSPECIFIED)]),
            InfoData::IpTunnel(vec![InfoIpTunnel::Remote(Ipv4Addr::UNSPECIFIED.into())]),
            InfoData::IpTunnel(vec![InfoIpTunnel::CollectMetadata]),
        ] {
            assert!(matches!(of(LinkLayerType::Tunnel, Some(data.clone())), LinkKind::Unfit(_)), "{data:?}");
        }
        for kind in [InfoKind::Vrf, InfoKind::Ifb] {
            assert!(matches!(LinkKind::of(LinkLayerType::Ether, &[LinkInfo::Kind(kind)]), LinkKind::Unfit(_)));
        }
        assert!(matches!(of(LinkLayerType::Loopback, None), LinkKind::Unfit(_)));
    }
}
