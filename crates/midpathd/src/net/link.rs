//! Devices.

use std::io;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage,
};

use super::Net;

/// How packets begin on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// With an Ethernet header.
    Ethernet,
    /// With the IP header (tun, WireGuard, PPP).
    Bare,
    /// Otherwise; also loopback.
    Other,
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
        let kind = match message.header.link_layer_type {
            LinkLayerType::Ether => LinkKind::Ethernet,
            LinkLayerType::None | LinkLayerType::Ppp | LinkLayerType::Rawip => LinkKind::Bare,
            _ => LinkKind::Other,
        };
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
