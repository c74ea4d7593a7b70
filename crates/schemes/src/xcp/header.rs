//! XCP's header: four numbers of four bytes.

use midpath_core::packet::{Header, Packet, shim_size};

use crate::explicit::{self, is_amount};
use crate::transport::cc::Seen;

/// Bytes on the wire: the four numbers in a shim. The draft's header has 20: four for format and
/// length, which the shim has its own way.
pub const SIZE: u32 = shim_size(BODY as u32);

/// Four numbers of four bytes.
const BODY: usize = 16;

/// The congestion header in the form of the draft and of the authors' later simulator: throughput
/// in place of H_cwnd (it is H_cwnd / H_rtt), and feedback as a change of throughput. Times H_rtt
/// it is the H_feedback of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct XcpHeader {
    /// H_rtt in seconds, 0 before the sender knows it and on acknowledgements: ports give it no
    /// feedback then.
    pub rtt: f32,
    /// The sender's window over its round trip, in bytes per second on the wire.
    pub throughput: f32,
    /// The change of throughput: asked for by the sender, lowered by the ports on the way. Bytes
    /// per second.
    pub delta: f32,
    /// The change that the other direction's packet brought.
    pub echo: f32,
}

impl Header for XcpHeader {
    const TAG: u8 = 2;

    fn body_len(&self) -> usize {
        BODY
    }

    fn put(&self, out: &mut [u8]) {
        explicit::put([self.rtt, self.throughput, self.delta, self.echo], out);
    }

    fn get(body: &[u8]) -> Option<XcpHeader> {
        let [rtt, throughput, delta, echo] = explicit::get(body)?;
        let sane = is_amount(rtt) && is_amount(throughput) && delta.is_finite() && echo.is_finite();
        sane.then_some(XcpHeader { rtt, throughput, delta, echo })
    }
}

/// What a receiver makes of it on the acknowledgement: the change goes back, and nothing is asked
/// for that way.
pub fn reflect(seen: Seen<'_>, ack: &mut Packet) {
    if let Some(h) = seen.header::<XcpHeader>() {
        ack.set_header(&XcpHeader { rtt: 0.0, throughput: 0.0, delta: 0.0, echo: h.delta });
    }
}
