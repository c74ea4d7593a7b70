//! Enforcement at the network's edge (§5).

use midpath_core::packet::Packet;
use midpath_core::roles::Drop;
use midpath_core::units::Time;

use super::header::FcpHeader;

/// What a router remembers about the host at the other end of an edge port.
pub struct Edge {}

impl Edge {
    /// A packet leaves the network here.
    pub fn leave(&mut self, _packet: &Packet, _header: &FcpHeader, _now: Time) -> Result<(), Drop> {
        Ok(())
    }
    /// A packet enters the network here.
    pub fn enter(&mut self, _packet: &Packet, _header: &FcpHeader, _now: Time) -> Result<(), Drop> {
        Ok(())
    }
    /// Forgets everything.
    pub fn reset(&mut self) {}
}
