//! What ACKs say of the receiver's host (§3.1).

use midpath_core::packet::{Header, Packet, change_among, shim_size};
use midpath_core::roles::Received;
use midpath_core::units::Time;

use crate::transport::cc::Seen;

/// Bytes on the wire that data and ACKs carry.
pub const SIZE: u32 = shim_size(BODY as u32);

/// "4 bytes are enough" (§3.1).
const BODY: usize = 4;

/// The header of data, with nothing to say, and of ACKs. Ours: data have it so that the receiver has a place to note in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SwiftHeader {
    /// remote-queuing, in nanoseconds: t3 − t2, and what the ACK waits for. `None` on data.
    pub remote: Option<u32>,
}

impl Header for SwiftHeader {
    const TAG: u8 = 15;

    fn body_len(&self) -> usize {
        BODY
    }
    fn put(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.remote.unwrap_or(u32::MAX).to_be_bytes());
    }
    fn get(body: &[u8]) -> Option<SwiftHeader> {
        let remote = u32::from_be_bytes(body.try_into().ok()?);
        Some(SwiftHeader { remote: (remote < u32::MAX).then_some(remote) })
    }
}

/// How a receiver notes what a packet has waited for its host.
pub fn stamp(headers: &mut [u8], received: &Received) {
    let remote = Some(nanoseconds(received.waited));
    change_among::<SwiftHeader>(headers, |_| SwiftHeader { remote });
}

/// What it puts on the ACK: nothing waits where hosts take packets at once.
pub fn reflect(seen: Seen<'_>, ack: &mut Packet) {
    if let Some(SwiftHeader { remote }) = seen.header() {
        ack.set_header(&SwiftHeader { remote: remote.or(Some(0)) });
    }
}

fn nanoseconds(time: Time) -> u32 {
    u32::try_from(time.as_ns()).unwrap_or(u32::MAX).min(u32::MAX - 1)
}
