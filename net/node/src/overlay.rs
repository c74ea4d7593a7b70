//! Links to neighbours over UDP or TCP: keys, sessions and rates are `midpath-link`'s; here a neighbour
//! is a port, and a frame is a packet.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use midpath_core::packet::PortId;
use midpath_core::units::{Rate, Time};
use midpath_link::{
    Arrivals, Counters, Due, Endpoint, Event, Frame, KeyError, LinkId, LinkRateController, MtuSearch, Output, PeerId,
    PeerSpec, PublicKey, Reassembly, SecretKey, Unconfirmed, datagram, fragments, frame, mtu, stream,
};
use serde::Deserialize;

use crate::event_loop::Links;
use crate::gate::Gate;
use crate::seldom::Seldom;
use crate::udp::Outbox;

/// IPv4 and UDP, and what IPv6 has more.
const OUTSIDE: u32 = 20 + 8;
const SIX_MORE: u32 = 20;
/// What any host takes (RFC 1122, §3.3.2), and any path of IPv6 carries (RFC 8200, §5).
const LEAST_PATH: (u32, u32) = (576, 1280);

/// Whether a link's packets have an IPv6 header. A connection counts as if they had: its header is not known here.
fn is_six(link: LinkId) -> bool {
    match link {
        LinkId::Udp(SocketAddr::V4(_)) => false,
        LinkId::Udp(SocketAddr::V6(six)) => six.ip().to_ipv4_mapped().is_none(),
        LinkId::Opened(_) | LinkId::Accepted(_) => true,
    }
}

/// Headers outside of a link's datagram.
fn outside(link: LinkId) -> u32 {
    OUTSIDE + if is_six(link) { SIX_MORE } else { 0 }
}

/// The largest UDP payload that every path of a link carries.
fn least(link: Option<LinkId>) -> u16 {
    let path = if link.is_some_and(is_six) { LEAST_PATH.1 } else { LEAST_PATH.0 };
    (path - link.map_or(OUTSIDE, outside)) as u16
}

/// What each packet takes on the network below besides its own bytes.
pub const OVERHEAD: u32 = OUTSIDE + (datagram::OVERHEAD + frame::PACKET) as u32;

/// The largest UDP payload that is tried: Ethernet's. A neighbour that is waited for is not known to be
/// at an IPv6 address, and tried anew when it has come.
fn most(link: Option<LinkId>) -> u16 {
    1500 - link.map_or(OUTSIDE, outside) as u16
}

/// The largest packet that a link may have to be sure of it on every path that Ethernet's packets
/// come through, be it IPv6's.
pub const MTU: u32 = 1500 - OVERHEAD - SIX_MORE;

/// What a link's packets go over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Datagrams: the link's rate is ours to find.
    #[default]
    Udp,
    /// A connection: TCP below finds the rate, and what it cannot carry waits at the port (INRPP's
    /// paper, §V-B).
    Tcp,
}

/// A neighbour as it is configured.
#[derive(Debug, Clone)]
pub struct Neighbour {
    /// Its name, for people.
    pub name: String,
    /// The keys that it may have.
    pub keys: Vec<PublicKey>,
    /// Where it is; `None` waits until it comes.
    pub address: Option<SocketAddr>,
    /// What its packets go over.
    pub kind: Kind,
    /// At most so fast, all headers counted.
    pub rate: Rate,
    /// Its line is this link's alone, and carries that: it is used at once.
    pub dedicated: bool,
}

impl Neighbour {
    fn spec(&self, number: u32) -> PeerSpec {
        let stream = self.kind == Kind::Tcp;
        let link = self.address.map(|at| if stream { LinkId::Opened(number) } else { at.into() });
        PeerSpec { id: PeerId(number), keys: self.keys.clone(), link, stream }
    }

    /// The link of one whose datagrams go over UDP.
    fn udp(&self) -> Option<LinkId> {
        self.address.map(LinkId::Udp)
    }
}

fn specs(neighbours: &[Neighbour]) -> Vec<PeerSpec> {
    (0..).zip(neighbours).map(|(number, neighbour)| neighbour.spec(number)).collect()
}

/// A link over datagrams: the rate that the network below takes, and the largest that it carries.
struct Datagrams {
    rate_controller: LinkRateController,
    arrivals: Arrivals,
    mtu: MtuSearch,
    /// When it was asked last whether it is there.
    asked_at: Option<Time>,
    /// Packets that went in parts.
    in_parts: u64,
    reassembly: Reassembly,
    unconfirmed: Unconfirmed,
    /// What was too large, and is to be sent again.
    again: Vec<Box<[u8]>>,
    /// The size that was logged last; the largest there may be needs no line.
    logged: u16,
}

enum Below {
    Datagrams(Box<Datagrams>),
    Connection(Gate),
}

impl Below {
    fn gate(&self) -> Option<&Gate> {
        match self {
            Below::Connection(gate) => Some(gate),
            Below::Datagrams(_) => None,
        }
    }

    /// The largest datagram that it carries.
    fn largest(&self) -> u16 {
        match self {
            Below::Datagrams(below) => below.mtu.size(),
            Below::Connection(_) => most(None),
        }
    }
}

/// One port's link.
struct Link {
    name: String,
    configured: Rate,
    below: Below,
    ups: u64,
    restarts: u64,
    /// Packets that no path found so far carries, not even in parts.
    too_large: u64,
    /// Packets for a neighbour that is not there.
    not_up: u64,
    /// Versions that it speaks, where ours is not among them.
    versions: Option<Vec<u8>>,
    /// Lines of the log about it: six a minute. Ours.
    said: Seldom,
}

/// The number of questions whether a neighbour is there. Those of sizes count from 1.
const ANYBODY: u32 = u32::MAX;

impl Datagrams {
    fn new(neighbour: &Neighbour, now: Time) -> Datagrams {
        let rate_controller = LinkRateController::new(neighbour.rate, now).dedicated(neighbour.dedicated);
        let mtu = MtuSearch::new(least(neighbour.udp()), most(neighbour.udp()), now);
        Datagrams {
            rate_controller,
            arrivals: Arrivals::default(),
            mtu,
            asked_at: None,
            in_parts: 0,
            reassembly: Reassembly::default(),
            unconfirmed: Unconfirmed::default(),
            again: Vec::new(),
            logged: most(neighbour.udp()),
        }
    }

    /// A question has been answered: from the first packets on it is known how long that takes.
    fn on_probed(&mut self, now: Time, number: u32, size: u16) {
        let sent_at = match number {
            ANYBODY => self.asked_at.take(),
            _ => self.mtu.on_probed(now, number, size).inspect(|at| self.unconfirmed.on_confirmed(*at, size)),
        };
        sent_at.into_iter().for_each(|at| self.rate_controller.answered(now.saturating_sub(at)));
    }

    /// The next question of the search for the path MTU. A neighbour that does not answer is asked for no size.
    fn probe(&mut self, now: Time) -> Option<mtu::Probe> {
        self.rate_controller.rate()?;
        if self.rate_controller.reported_within().is_some_and(|time| self.unconfirmed.is_suspect(now, time)) {
            self.mtu.suspect(now);
        }
        let before = self.mtu.size();
        let probe = self.mtu.poll(now);
        if self.mtu.size() < before {
            self.rate_controller.on_too_large(now);
            self.again.extend(self.unconfirmed.take());
        }
        probe
    }

    fn next_wake(&self) -> Time {
        let probes = if self.rate_controller.rate().is_some() { self.mtu.next_wake() } else { Time::MAX };
        self.rate_controller.next_wake().min(self.arrivals.next_wake()).min(probes)
    }
}

impl Link {
    fn new(neighbour: &Neighbour, now: Time) -> Link {
        Link {
            name: neighbour.name.clone(),
            configured: neighbour.rate,
            below: match neighbour.kind {
                Kind::Udp => Below::Datagrams(Box::new(Datagrams::new(neighbour, now))),
                Kind::Tcp => Below::Connection(Gate::new(neighbour.address, neighbour.rate)),
            },
            ups: 0,
            restarts: 0,
            too_large: 0,
            not_up: 0,
            versions: None,
            said: Seldom::new(6, Duration::from_secs(60)),
        }
    }

    /// Takes another rate and another address.
    fn reconfigure(&mut self, neighbour: &Neighbour) {
        let changed = self.configured != neighbour.rate;
        self.configured = neighbour.rate;
        match &mut self.below {
            Below::Datagrams(below) => {
                if changed {
                    below.rate_controller.configure(neighbour.rate);
                }
                below.rate_controller.set_dedicated(neighbour.dedicated);
            }
            Below::Connection(gate) => {
                gate.leads_to = neighbour.address;
                if changed {
                    gate.configure(neighbour.rate);
                }
            }
        }
    }

    /// The neighbour is up: what it counts begins where it said last, or anew.
    fn on_up(&mut self, restarted: bool, by: Option<LinkId>, now: Time) {
        self.ups += 1;
        self.restarts += u64::from(restarted);
        self.versions = None;
        let Below::Datagrams(below) = &mut self.below else { return };
        if restarted || self.ups == 1 {
            below.rate_controller.restart(now);
            below.arrivals = Arrivals::default();
        }
        below.mtu = MtuSearch::new(least(by), most(by), now);
        below.reassembly = Reassembly::default();
        below.unconfirmed.clear();
    }

    /// Says how large packets the path carries, where that is less than Ethernet's and has changed.
    fn log_path_mtu(&mut self, by: Option<LinkId>) {
        let Below::Datagrams(below) = &mut self.below else { return };
        let size = below.mtu.size();
        if !below.mtu.is_found() || std::mem::replace(&mut below.logged, size) == size {
            return;
        }
        let mtu = u32::from(size) + by.map_or(OUTSIDE, outside);
        if let Some(more) = self.said.say() {
            let parts = if size < most(by) { ": larger packets are fragmented" } else { "" };
            tracing::info!("neighbour {}: the path MTU is {mtu} bytes{parts}{more}", self.name);
        }
    }

    /// Says that the neighbour has come or gone.
    fn log(&mut self, up: bool, by: Option<LinkId>) {
        let Some(more) = self.said.say() else { return };
        let (name, at) = (&self.name, by.map(|at| format!(" at {at}")).unwrap_or_default());
        match up {
            true => tracing::info!("neighbour {name}{at} is up{more}"),
            false => tracing::warn!("neighbour {name}{at} is down{more}"),
        }
    }

    /// How many datagrams a packet takes; `None` if it is too large for the link.
    fn count(&self, packet: usize) -> Option<usize> {
        let count = fragments::count(packet, usize::from(self.below.largest()) - datagram::OVERHEAD);
        // What goes over a connection has no numbers by which parts could be put together.
        let most = if self.below.gate().is_some() { 1 } else { frame::FRAGMENTS };
        (count <= most).then_some(count)
    }

    /// The largest packet that goes whole.
    fn whole(&self) -> usize {
        usize::from(self.below.largest()) - datagram::OVERHEAD - frame::PACKET
    }

    /// A packet went in a frame of this size, or the first of its parts did. If every path carries that it needs no
    /// confirmation.
    fn on_sent(&mut self, now: Time, number: u32, frame: usize, packet: &[u8]) {
        let size = (frame + datagram::OVERHEAD) as u16;
        if let Below::Datagrams(below) = &mut self.below
            && size > below.mtu.least()
        {
            below.unconfirmed.on_sent(now, number, size, packet);
        }
    }

    /// A packet goes in parts.
    fn on_fragmented(&mut self, now: Time) {
        if let Below::Datagrams(below) = &mut self.below {
            below.in_parts += 1;
            below.mtu.on_fragmented(now);
        }
    }

    /// The number of a frame of this size that is sent now.
    fn number(&mut self, now: Time, frame: usize, outside: u32) -> u32 {
        let size = frame + datagram::OVERHEAD;
        match &mut self.below {
            Below::Datagrams(below) => below.rate_controller.send(now, size as u64 + u64::from(outside)),
            Below::Connection(gate) => {
                gate.gave(size + stream::LENGTH);
                0
            }
        }
    }

    /// When something is to be done.
    fn next_wake(&self) -> Time {
        match &self.below {
            Below::Datagrams(below) => below.next_wake(),
            Below::Connection(gate) => gate.next_wake(),
        }
    }

    fn rate(&self) -> Option<Rate> {
        match &self.below {
            Below::Datagrams(below) => below.rate_controller.rate(),
            Below::Connection(_) => Some(self.configured),
        }
    }

    fn describe(&self) -> serde_json::Value {
        match &self.below {
            Below::Datagrams(below) => serde_json::json!({
                "kind": "udp", "absurd_reports": below.rate_controller.absurd(), "silences": below.rate_controller.silences(),
                "waiting_below_us": below.rate_controller.waiting_below().as_ns() / 1000, "in_parts": below.in_parts,
            }),
            Below::Connection(gate) => serde_json::json!({"kind": "tcp", "has_room": gate.has_room()}),
        }
    }
}

/// A node's links, one for each of its ports.
pub struct Overlay {
    endpoint: Endpoint,
    links: Vec<Link>,
    /// What was inside the last datagram that came.
    inside: Vec<u8>,
    output: Output,
    /// What is being sealed, and what comes of it.
    frame: Vec<u8>,
    sealed: Vec<u8>,
    /// The last packet that came in parts.
    whole: Vec<u8>,
    /// When something is to be done on a link, and on which something has been done since the last turn.
    due: Due,
    touched: BTreeSet<usize>,
}

impl Overlay {
    /// A node of this key, with these neighbours by port.
    pub fn new(secret: SecretKey, neighbours: &[Neighbour], now: Time) -> Result<Overlay, KeyError> {
        let endpoint = Endpoint::new(secret, specs(neighbours), now)?;
        let links = neighbours.iter().map(|n| Link::new(n, now)).collect();
        let [inside, frame, sealed, whole] = [const { Vec::new() }; 4];
        let (due, touched) = (Due::new(neighbours.len(), Time::ZERO), BTreeSet::new());
        Ok(Overlay { endpoint, links, inside, output: Output::default(), frame, sealed, whole, due, touched })
    }

    /// Takes other keys, addresses and rates of the same neighbours. A neighbour without keys is down.
    pub fn set(&mut self, secret: SecretKey, neighbours: &[Neighbour], now: Time, out: &mut Outbox) {
        self.endpoint.set_secret(secret);
        self.endpoint.set_peers(specs(neighbours), now, &mut self.output);
        self.links.iter_mut().zip(neighbours).for_each(|(link, neighbour)| link.reconfigure(neighbour));
        self.touched.extend(0..self.links.len());
        self.carry_out(now, out);
    }

    /// Datagrams that came to nothing, by reason.
    pub fn counters(&self) -> Counters {
        self.endpoint.counters()
    }

    /// Hands on what the endpoint has left.
    fn carry_out(&mut self, now: Time, out: &mut Outbox) {
        self.output.datagrams.drain(..).for_each(|(to, datagram)| out.push(to, &datagram));
        for event in std::mem::take(&mut self.output.events) {
            let (peer, what) = match event {
                Event::Up { peer, restarted } => (peer, Some(restarted)),
                Event::Down(peer) => (peer, None),
                Event::Versions(peer, versions) => {
                    if let Some(link) = self.links.get_mut(peer.0 as usize) {
                        if let Some(more) = link.said.say() {
                            tracing::warn!("neighbour {} speaks unsupported versions: {versions:?}{more}", link.name);
                        }
                        link.versions = Some(versions);
                    }
                    continue;
                }
            };
            let Some(link) = self.links.get_mut(peer.0 as usize) else { continue };
            self.touched.insert(peer.0 as usize);
            let by = self.endpoint.link(peer);
            if let Some(restarted) = what {
                link.on_up(restarted, by, now);
            }
            link.log(what.is_some(), by);
        }
    }

    fn seal(&mut self, now: Time, port: usize, frame: Frame<'_>, size: usize, out: &mut Outbox) {
        self.frame.clear();
        frame.write(size, &mut self.frame);
        if let Ok(link) = self.endpoint.seal(now, PeerId(port as u32), &self.frame, &mut self.sealed) {
            out.push(link, &self.sealed);
        }
    }
}

impl Overlay {
    /// What is due on one link.
    fn poll_link(&mut self, port: usize, now: Time, out: &mut Outbox) {
        let below = match &mut self.links[port].below {
            Below::Datagrams(below) => below,
            Below::Connection(gate) => return gate.poll(now),
        };
        below.rate_controller.poll(now);
        let asks = below.rate_controller.asks(now);
        let report = below.arrivals.poll(now);
        let probes: Vec<_> = std::iter::from_fn(|| below.probe(now)).collect();
        let again = std::mem::take(&mut below.again);
        if asks {
            below.asked_at = Some(now);
            self.seal(now, port, Frame::Probe(ANYBODY), 0, out);
        }
        if let Some(report) = report {
            self.seal(now, port, Frame::Report(report), 0, out);
        }
        for probe in probes {
            let inside = usize::from(probe.size).saturating_sub(datagram::OVERHEAD);
            self.seal(now, port, Frame::Probe(probe.number), inside, out);
        }
        self.links[port].log_path_mtu(self.endpoint.link(PeerId(port as u32)));
        again.iter().for_each(|packet| self.send(now, PortId(port as u16), packet, out));
    }

    /// A frame that is no packet, or a packet's part for the link, has come by datagrams.
    fn on_frame(&mut self, port: usize, (from, size): (LinkId, usize), now: Time, out: &mut Outbox) -> Option<()> {
        let Below::Datagrams(below) = &mut self.links[port].below else { return Some(()) };
        let frame = Frame::read(&self.inside)?;
        below.rate_controller.heard(now);
        let size = u16::try_from(size).unwrap_or(u16::MAX);
        match frame {
            Frame::Packet { number, .. } | Frame::Fragment { number, .. } => {
                below.arrivals.came(now, number, (size, u64::from(size) + u64::from(outside(from))));
            }
            Frame::Report(report) => {
                below.unconfirmed.on_report(report.next as u32, report.largest);
                below.rate_controller.on_report(now, report);
            }
            Frame::Probe(number) => {
                self.seal(now, port, Frame::Probed { number, size }, 0, out);
            }
            Frame::Probed { number, size } => below.on_probed(now, number, size),
        }
        Some(())
    }

    /// The link whose packets go over a stream.
    fn gate(&mut self, stream: LinkId) -> Option<(usize, &mut Gate)> {
        let at = stream.opened_to().or_else(|| Some(self.endpoint.peer_at(stream)?.0))? as usize;
        match &mut self.links.get_mut(at)?.below {
            Below::Connection(gate) => Some((at, gate)),
            Below::Datagrams(_) => None,
        }
    }
}

impl Links for Overlay {
    fn receive<'a>(
        &'a mut self,
        now: Time,
        from: LinkId,
        bytes: &'a [u8],
        out: &mut Outbox,
    ) -> Option<(PortId, &'a [u8])> {
        self.inside.clear();
        let peer = self.endpoint.handle(now, from, bytes, &mut self.inside, &mut self.output);
        self.carry_out(now, out);
        let port = peer.map(|peer| peer.0 as usize).filter(|port| *port < self.links.len())?;
        self.touched.insert(port);
        self.on_frame(port, (from, bytes.len()), now, out)?;
        let packet = match (Frame::read(&self.inside)?, &mut self.links[port].below) {
            (Frame::Packet { packet, .. }, _) => packet,
            (Frame::Fragment { number, index, count, bytes }, Below::Datagrams(below)) => {
                self.whole = below.reassembly.on_part(number, (index, count), bytes)?;
                &self.whole
            }
            _ => return None,
        };
        Some((PortId(port as u16), packet))
    }

    fn send(&mut self, now: Time, port: PortId, packet: &[u8], out: &mut Outbox) {
        let at = usize::from(port.0);
        let peer = PeerId(at as u32);
        let (up, outside) = (self.endpoint.is_up(peer), self.endpoint.link(peer).map_or(OUTSIDE, outside));
        self.touched.insert(at);
        let link = &mut self.links[at];
        if !up {
            link.not_up += 1;
            return;
        }
        let Some(count) = link.count(packet.len()) else {
            link.too_large += 1;
            return;
        };
        if count > 1 {
            link.on_fragmented(now);
            for (index, bytes) in fragments::split(packet, count) {
                let link = &mut self.links[at];
                let number = link.number(now, frame::FRAGMENT + bytes.len(), outside);
                if index == 0 {
                    link.on_sent(now, number, frame::FRAGMENT + bytes.len(), packet);
                }
                self.seal(now, at, Frame::Fragment { number, index, count: count as u8, bytes }, 0, out);
            }
        } else {
            let number = link.number(now, frame::PACKET + packet.len(), outside);
            link.on_sent(now, number, frame::PACKET + packet.len(), packet);
            self.seal(now, at, Frame::Packet { number, packet }, 0, out);
        }
    }

    fn poll(&mut self, now: Time, out: &mut Outbox) -> Vec<PortId> {
        self.endpoint.poll(now, &mut self.output);
        self.carry_out(now, out);
        self.touched.extend(std::iter::from_fn(|| self.due.pop(now)));
        let touched = std::mem::take(&mut self.touched);
        for &port in &touched {
            if self.endpoint.is_up(PeerId(port as u32)) {
                self.poll_link(port, now, out);
                self.due.no_later(port, self.links[port].next_wake());
            }
        }
        touched.into_iter().map(|port| PortId(port as u16)).collect()
    }

    fn next_wake(&self) -> Time {
        self.due.next_wake().min(self.endpoint.next_wake())
    }

    fn rate(&self, port: PortId, _now: Time) -> Option<Rate> {
        let at = usize::from(port.0);
        self.links[at].rate().filter(|_| self.endpoint.is_up(PeerId(at as u32)))
    }

    fn served(&self, port: PortId) -> Option<Rate> {
        self.links[usize::from(port.0)].below.gate().map(Gate::rate)
    }

    fn whole(&self, port: PortId) -> Option<u32> {
        Some(self.links[usize::from(port.0)].whole() as u32)
    }

    fn has_room(&self, port: PortId) -> bool {
        self.links[usize::from(port.0)].below.gate().is_none_or(Gate::has_room)
    }

    fn leads_to(&self, stream: LinkId) -> Option<SocketAddr> {
        self.links.get(stream.opened_to()? as usize)?.below.gate()?.leads_to
    }

    fn is_neighbour_at(&self, stream: LinkId) -> bool {
        self.endpoint.is_neighbour_at(stream)
    }

    fn set_room(&mut self, stream: LinkId, room: bool, now: Time) {
        // Said of every stream in every turn: only what changes is something to do.
        if let Some((at, gate)) = self.gate(stream).filter(|(_, gate)| gate.has_room() != room) {
            gate.set_room(room, now);
            self.touched.insert(at);
        }
    }

    fn on_end(&mut self, stream: LinkId, now: Time) {
        self.set_room(stream, true, now);
        self.endpoint.on_end(stream);
    }

    fn describe(&self, port: PortId) -> serde_json::Value {
        let at = usize::from(port.0);
        let (link, peer) = (&self.links[at], PeerId(at as u32));
        let of_link = serde_json::json!({
            "neighbour": link.name, "up": self.endpoint.is_up(peer),
            "address": self.endpoint.link(peer).map(|by| self.leads_to(by).map_or_else(|| by.to_string(), |at| at.to_string())),
            "configured_bps": link.configured.0,
            "largest_packet": link.whole(),
            "path_mtu": u32::from(link.below.largest()) + self.endpoint.link(peer).map_or(OUTSIDE, outside),
            "ups": link.ups, "restarts": link.restarts, "too_large": link.too_large, "not_up": link.not_up,
            "versions": link.versions,
        });
        match (of_link, link.describe()) {
            (serde_json::Value::Object(mut all), serde_json::Value::Object(below)) => {
                all.extend(below);
                all.into()
            }
            (of_link, _) => of_link,
        }
    }

    fn describe_all(&self) -> serde_json::Value {
        let c = self.counters();
        serde_json::json!({
            "malformed": c.malformed, "strangers": c.strangers, "repeated_hellos": c.repeated_hellos,
            "retries": c.retries, "shed": c.shed, "unknown": c.unknown, "forged": c.forged, "replayed": c.replayed,
            "other_way": c.other_way,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_is_within_ethernets_by_ipv4_and_ipv6() {
        for address in ["192.0.2.1:1", "[2001:db8::1]:1", "[::ffff:192.0.2.1]:1"] {
            let address = LinkId::Udp(address.parse().unwrap());
            let datagram = MTU + (frame::PACKET + datagram::OVERHEAD) as u32;
            assert!(datagram + outside(address) <= 1500 && datagram <= most(Some(address)).into(), "{address}");
        }
    }

    /// A minute of a hub and a leaf that is up, beside neighbours that are not: turns of the hub, and ports that it
    /// looked at.
    fn minute(neighbours: usize) -> (usize, usize) {
        let place = |last: usize| SocketAddr::from(([192, 0, 2, last as u8], 7000));
        let secrets = [1, 2].map(|_| SecretKey::generate().expect("random numbers"));
        let to = |keys: Vec<PublicKey>, address| Neighbour {
            name: "n".to_owned(),
            keys,
            address,
            kind: Kind::Udp,
            rate: Rate::from_mbps(50),
            dedicated: false,
        };
        let mut all = vec![to(vec![secrets[1].public()], Some(place(1)))];
        // Some are nowhere, some are not allowed.
        all.resize_with(neighbours, || to(vec![SecretKey::generate().expect("random numbers").public()], None));
        for struck in all.iter_mut().skip(2).step_by(2) {
            struck.keys.clear();
            struck.address = Some(place(9));
        }
        let leaf = [to(vec![secrets[0].public()], Some(place(0)))];
        let [hub, leaf] = [(secrets[0].clone(), &all[..]), (secrets[1].clone(), &leaf[..])];
        let mut ends = [hub, leaf].map(|(secret, to)| Overlay::new(secret, to, Time::ZERO).expect("random numbers"));
        let (mut now, mut turns, mut ports) = (Time::ZERO, 0, 0);
        while now < Time::from_secs(60) {
            for at in [0, 1] {
                let mut out = Outbox::default();
                let touched = ends[at].poll(now, &mut out);
                assert!(ends[at].next_wake() > now, "what is due is done");
                (turns, ports) = if at == 0 { (turns + 1, ports + touched.len()) } else { (turns, ports) };
                let mut answers = out;
                for side in [1 - at, at, 1 - at] {
                    let mut more = Outbox::default();
                    for (_, datagram) in answers.datagrams().filter(|(to, _)| *to != place(9).into()) {
                        ends[side].receive(now, place(1 - side).into(), datagram, &mut more);
                    }
                    answers = more;
                }
            }
            now = ends[0].next_wake().min(ends[1].next_wake());
        }
        assert!(ends[0].endpoint.is_up(PeerId(0)) && !ends[0].endpoint.is_up(PeerId(1)));
        (turns, ports)
    }

    #[test]
    fn a_stream_that_still_has_room_is_nothing_to_do() {
        let keys = vec![SecretKey::generate().expect("random numbers").public()];
        let neighbour = Neighbour {
            name: "n".to_owned(),
            keys,
            address: Some(SocketAddr::from(([192, 0, 2, 1], 7000))),
            kind: Kind::Tcp,
            rate: Rate::from_mbps(50),
            dedicated: false,
        };
        let secret = SecretKey::generate().expect("random numbers");
        let mut links = Overlay::new(secret, &[neighbour.clone(), neighbour], Time::ZERO).expect("random numbers");
        let mut turn = |rooms: [bool; 2]| {
            (0..).zip(rooms).for_each(|(n, room)| links.set_room(LinkId::Opened(n), room, Time::from_ms(1)));
            links.poll(Time::from_ms(1), &mut Outbox::default())
        };
        assert_eq!(turn([true, true]), [PortId(0), PortId(1)], "each is looked at once");
        assert_eq!(turn([true, true]), []);
        assert_eq!(turn([true, false]), [PortId(1)]);
        assert_eq!(turn([true, false]), []);
        assert_eq!(turn([true, true]), [PortId(1)]);
    }

    #[test]
    fn neighbours_that_have_nothing_to_do_cost_no_turn() {
        let ((turns, ports), (many_turns, many_ports)) = (minute(2), minute(502));
        // Each is looked at once, at the beginning.
        assert!(many_turns <= turns + 3, "{many_turns} turns, {turns} with two neighbours");
        assert!(many_ports <= ports + 503, "{many_ports} ports, {ports} with two neighbours");
    }
}
