//! Enforcement at the network's edge (§5): senders must pay the quoted price, stay within their budget, and do what
//! they announce (§6.1.3).
//!
//! It runs at router ports to hosts, with state per host and none per flow. [`Egress`] checks packets that leave the
//! network: their remaining balance. [`Ingress`] checks what the host sends: budget and promises. An egress edge's
//! finding travels "upstream to drop packets near the source" (§5) as a bit in the packets' echoes: the edge where
//! an echo enters writes it, so hosts cannot; the edge where it leaves towards the sender reads it.

mod egress;
mod ingress;
mod promise;

use midpath_core::packet::Packet;
use midpath_core::roles::{Drop, PortSpec};
use midpath_core::units::Time;

use super::equations;
use super::header::FcpHeader;
use super::resolved::Resolved;
pub use egress::Egress;
pub use ingress::Ingress;

/// What a router remembers about the host at the other end of an edge port, and about those who
/// send to it.
pub struct Edge {
    ingress: Ingress,
    egress: Egress,
}

impl Edge {
    /// The edge that `params` ask for at this port, if it is one.
    pub fn new(params: &Resolved, spec: &PortSpec) -> Option<Edge> {
        if !params.given.network.enforcement || spec.host || !spec.edge {
            return None;
        }
        let startup = equations::STARTUP_PACKETS * f64::from(spec.link.mtu);
        Some(Edge {
            ingress: Ingress::new(spec.peer, params.budget(spec.peer), startup),
            egress: Egress::new(params.given.minimum_price),
        })
    }

    /// A packet leaves the network here, after the last link has charged it.
    pub fn leave(&mut self, packet: &Packet, header: &FcpHeader, now: Time) -> Result<(), Drop> {
        self.egress.check(packet, header, now)
    }

    /// A packet enters the network here.
    pub fn enter(&mut self, packet: &Packet, header: &FcpHeader, now: Time) -> Result<(), Drop> {
        self.ingress.check(packet, header, now)
    }

    /// An echo enters the network here: says to the sender's edge what this one thinks of the
    /// sender.
    pub fn echo_enters(&mut self, packet: &mut Packet, header: &FcpHeader, now: Time) -> Result<(), Drop> {
        self.ingress.check_echo(packet)?;
        let refused = self.egress.refuses(packet.dst, now);
        if refused != header.refused {
            packet.set_header(&FcpHeader { refused, ..*header });
        }
        Ok(())
    }

    /// An echo leaves the network here, for the host that sent what it answers.
    pub fn echo_leaves(&mut self, packet: &Packet, header: &FcpHeader, now: Time) {
        self.ingress.on_echo(packet, header, now);
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.ingress.reset();
        self.egress.reset();
    }
}

/// How long somebody who was caught is kept out.
///
/// Ours: two seconds, twice as long each further time, at most 64 s; 64 s without offence make a
/// clean slate. A mistake costs little, and who goes on is out nearly all the time: of every 64 s
/// the few in which it is caught again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Penalty {
    until: Time,
    offences: u32,
}

impl Penalty {
    const MOST: u32 = 6;

    /// Whether it holds now.
    pub fn is_on(&self, now: Time) -> bool {
        now < self.until
    }

    /// It starts, or starts again.
    pub fn start(&mut self, now: Time) {
        let clean = now >= self.until.saturating_add(Time::from_secs(1 << Penalty::MOST));
        self.offences = if clean { 1 } else { (self.offences + 1).min(Penalty::MOST) };
        self.until = now.saturating_add(Time::from_secs(1 << self.offences));
    }

    /// It has been announced again by somebody else.
    pub fn extend(&mut self, now: Time) {
        if !self.is_on(now) {
            self.start(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalties_double_and_are_forgotten() {
        let mut p = Penalty::default();
        assert!(!p.is_on(Time::ZERO));
        let mut now = Time::from_secs(1);
        for seconds in [2, 4, 8, 16, 32, 64, 64] {
            p.start(now);
            assert!(p.is_on(now + Time::from_ms(seconds * 1000 - 1)));
            now += Time::from_secs(seconds);
            assert!(!p.is_on(now));
        }
        p.start(now + Time::from_secs(65));
        assert!(!p.is_on(now + Time::from_secs(67)));
    }
}
