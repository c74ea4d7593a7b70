//! A receiver that does not comply, for the senders to withstand: S. Savage et al., "TCP congestion control with a
//! misbehaving receiver", CCR 29(5), 1999.

use midpath_core::packet::Packet;
use midpath_core::roles::EndpointCtx;

use super::Receiver;
use crate::transport::params::MisbehavingReceiver;

/// Into how many ACKs what one would acknowledge is divided (§2.1): ours; as many as there are bytes would do.
const PARTS: u64 = 16;
/// How many full segments ahead of the newest an ACK is (§2.3). Ours: less than any window in use has in flight.
const AHEAD: u64 = 2;

impl Receiver {
    /// Changes an ACK that is about to go, and sends what comes before and after it.
    pub(super) fn misbehave(&self, how: MisbehavingReceiver, p: &mut Packet, ctx: &mut EndpointCtx<'_>) {
        match how {
            MisbehavingReceiver::DividesAcks => {
                for part in 1..PARTS {
                    let mut first = self.ack(ctx);
                    first.ack = self.ends.peer.wire(self.last_ack() + (self.next - self.last_ack()) * part / PARTS);
                    if first.ack != self.ends.peer.wire(self.last_ack()) {
                        ctx.send(first);
                    }
                }
            }
            MisbehavingReceiver::OptimisticAcks => {
                let newest = self.extras.held.last().map_or(self.next, |range| range.1);
                let mut known = self.ack(ctx);
                known.ack = self.ends.peer.wire(newest);
                ctx.send(known);
                *p = self.ack(ctx);
                p.ack = self.ends.peer.wire(newest + AHEAD * u64::from(self.settings.mss(self.ends.mtu)));
            }
        }
    }
}
