//! RCP's header: three numbers of four bytes.

use midpath_core::packet::{Header, Packet, shim_size};

use crate::explicit::{self, is_amount};
use crate::transport::cc::Seen;

/// A rate for each direction and the round trip, as in the authors' header between IP and TCP.
const BODY: usize = 12;

/// Bytes on the wire: the three numbers in a shim.
pub const SIZE: u32 = shim_size(BODY as u32);

/// Longest round trip that is believed, in seconds: that of a link to the Moon and back with time
/// to spare.
pub const MAX_RTT: f32 = 10.0;

/// The header of RCP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RcpHeader {
    /// The smallest rate that ports on the way have offered, in bits per second; the sender fills
    /// in the most that it could use. 0 on packets that ask for nothing.
    pub rate: f32,
    /// The rate that the other direction's packet brought, in bits per second. 0 for none.
    pub echo: f32,
    /// The sender's mean round trip in seconds, 0 before it knows one.
    pub rtt: f32,
}

impl Header for RcpHeader {
    const TAG: u8 = 1;

    fn body_len(&self) -> usize {
        BODY
    }

    fn put(&self, out: &mut [u8]) {
        explicit::put([self.rate, self.echo, self.rtt], out);
    }

    fn get(body: &[u8]) -> Option<RcpHeader> {
        let [rate, echo, rtt] = explicit::get(body)?;
        let sane = is_amount(rate) && is_amount(echo) && (0.0..=MAX_RTT).contains(&rtt);
        sane.then_some(RcpHeader { rate, echo, rtt })
    }
}

/// What a receiver makes of it on the acknowledgement: the rate goes back. That way nothing is asked for, but by a
/// packet with data of its own.
pub fn reflect(seen: Seen<'_>, ack: &mut Packet) {
    if let Some(header) = seen.header::<RcpHeader>() {
        let own = ack.header().unwrap_or(RcpHeader { rate: 0.0, echo: 0.0, rtt: 0.0 });
        ack.set_header(&RcpHeader { echo: header.rate, ..own });
    }
}
