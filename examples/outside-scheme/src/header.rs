//! What a packet carries: the longest queueing delay on its way so far, in nanoseconds.

use midpath_core::packet::{EXT_LEN, Header};
use midpath_core::units::Time;

/// The header; on an ACK, the echo of the data packet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading(pub Time);

impl Header for Reading {
    const TAG: u16 = 1024;

    fn encode(&self, out: &mut [u8; EXT_LEN]) {
        out[..8].copy_from_slice(&self.0.as_ns().to_be_bytes());
    }

    fn decode(bytes: &[u8; EXT_LEN]) -> Option<Reading> {
        let ns = u64::from_be_bytes(bytes[..8].try_into().ok()?);
        // More than an hour is no queueing delay but a hostile packet.
        (ns < 3_600_000_000_000).then(|| Reading(Time::from_ns(ns)))
    }
}
