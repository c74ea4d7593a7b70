//! Links without keys, at a fixed rate: what a node costs apart from them.

use std::net::SocketAddr;

use midpath_core::packet::PortId;
use midpath_core::units::{Rate, Time};
use midpath_link::LinkId;
use midpath_node::event_loop::Links;
use midpath_node::udp::Outbox;

/// Neighbours on one machine.
pub struct PlainLinks {
    peers: Vec<(SocketAddr, Rate)>,
}

impl PlainLinks {
    /// One neighbour for each port.
    pub fn new(peers: Vec<(SocketAddr, Rate)>) -> PlainLinks {
        PlainLinks { peers }
    }
}

impl Links for PlainLinks {
    fn receive<'a>(
        &'a mut self,
        _now: Time,
        from: LinkId,
        datagram: &'a [u8],
        _out: &mut Outbox,
    ) -> Option<(PortId, &'a [u8])> {
        let port = self.peers.iter().position(|peer| from == peer.0.into())?;
        Some((PortId(port as u16), datagram))
    }
    fn send(&mut self, _now: Time, port: PortId, frame: &[u8], out: &mut Outbox) {
        out.push(self.peers[usize::from(port.0)].0, frame);
    }
    fn poll(&mut self, _now: Time, _out: &mut Outbox) -> Vec<PortId> {
        (0..self.peers.len()).map(|port| PortId(port as u16)).collect()
    }
    fn next_wake(&self) -> Time {
        Time::MAX
    }
    fn rate(&self, port: PortId, _now: Time) -> Option<Rate> {
        Some(self.peers[usize::from(port.0)].1)
    }
    fn describe(&self, port: PortId) -> serde_json::Value {
        serde_json::json!({"address": self.peers[usize::from(port.0)].0.to_string()})
    }
    fn describe_all(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}
