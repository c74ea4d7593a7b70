//! Telling the peer of further addresses: ADD_ADDR (RFC 8684, §3.4.1).

use midpath_core::packet::{Header, NodeId, PortId};
use midpath_core::units::Time;
use midpath_core::wire;

use super::address::MAX_ADDRESSES;
use super::header::Dss;
use super::keys::Keys;

/// The subtype in the upper half of an octet; in the lower, the flag of an echo.
const ADD_ADDR: u8 = 3 << 4;
const ECHO: u8 = 1;

/// An IPv4 address without a port, or the echo of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddAddr {
    /// The address's number.
    pub id: u8,
    /// The address.
    pub address: [u8; 4],
    /// The HMAC; an echo has none.
    pub proof: Option<[u8; 8]>,
}

impl AddAddr {
    /// The answer that it has come.
    pub fn echo(self) -> AddAddr {
        AddAddr { proof: None, ..self }
    }

    /// The port of node `node` that has the address.
    pub fn port(&self, node: NodeId) -> Option<PortId> {
        let named = (0..MAX_ADDRESSES as u16).find(|port| wire::address(node, *port as u8 + 1) == self.address);
        named.map(PortId)
    }
}

impl Header for AddAddr {
    const TAG: u8 = Dss::TAG;

    fn body_len(&self) -> usize {
        if self.proof.is_some() { 14 } else { 6 }
    }

    fn put(&self, out: &mut [u8]) {
        out[..2].copy_from_slice(&[if self.proof.is_some() { ADD_ADDR } else { ADD_ADDR | ECHO }, self.id]);
        out[2..6].copy_from_slice(&self.address);
        self.proof.iter().for_each(|proof| out[6..].copy_from_slice(proof));
    }

    fn get(body: &[u8]) -> Option<AddAddr> {
        let ([kind, id, address @ ..], proof) = body.split_first_chunk::<6>()?;
        let proof = match (*kind, proof.len()) {
            (ADD_ADDR, 8) => Some(*proof.first_chunk()?),
            (kind, 0) if kind == ADD_ADDR | ECHO => None,
            _ => return None,
        };
        Some(AddAddr { id: *id, address: *address, proof })
    }
}

/// The number of a host's address: 0 is the first subflow's (§3.2), the others have their
/// interface's.
pub fn number(port: PortId, first: PortId) -> u8 {
    if port == first { 0 } else { port.0 as u8 + 1 }
}

/// An address that the peer has not echoed.
#[derive(Debug, Clone, Copy)]
struct Told {
    option: AddAddr,
    times: u32,
    again_at: Time,
}

/// What the peer has yet to be told, and when again.
#[derive(Debug, Default)]
pub struct Announcements {
    left: Vec<Told>,
    wait: Time,
    most: u32,
}

impl Announcements {
    /// All addresses of `node` but the first subflow's. Each is told after `wait`, twice `wait` and
    /// so on, `most` times.
    pub fn new(keys: &Keys, node: NodeId, addresses: u8, first: PortId, wait: Time, most: u32) -> Announcements {
        let tell = |port: u8| {
            let (id, address) = (number(PortId(port.into()), first), wire::address(node, port + 1));
            let option = AddAddr { id, address, proof: Some(keys.vouch(id, address)) };
            Told { option, times: 0, again_at: Time::ZERO }
        };
        let left = (0..addresses).filter(|port| PortId((*port).into()) != first).map(tell).collect();
        Announcements { left, wait, most }
    }

    /// What a segment that leaves now is to say.
    #[inline]
    pub fn next(&mut self, now: Time) -> Option<AddAddr> {
        if self.left.is_empty() {
            return None;
        }
        let most = self.most;
        self.left.retain(|pending| pending.times < most || pending.again_at > now);
        let pending = self.left.iter_mut().find(|pending| pending.again_at <= now)?;
        pending.again_at = now.saturating_add(Time(self.wait.0 << pending.times.min(6)));
        pending.times += 1;
        Some(pending.option)
    }

    /// The peer has heard of an address.
    pub fn echoed(&mut self, echo: &AddAddr) {
        self.left.retain(|pending| pending.option.echo() != *echo);
    }
}
