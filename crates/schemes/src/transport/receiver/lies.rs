//! A receiver that does not comply, for the senders to withstand: S. Savage et al., "TCP congestion control with a
//! misbehaving receiver", CCR 29(5), 1999.

use midpath_core::packet::Packet;
use midpath_core::roles::EndpointCtx;
use serde::{Deserialize, Serialize};

use super::Receiver;

/// Into how many ACKs what one would acknowledge is divided (§2.1): ours; as many as there are bytes would do.
const PARTS: u64 = 16;
/// How many full segments ahead of the newest an ACK is (§2.3). Ours: less than any window in use has in flight.
const AHEAD: u64 = 2;

/// What is wrong with the ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Lies {
    /// Each is divided into 16 that acknowledge a part: who counts ACKs opens its window faster.
    DividesAcks,
    /// They acknowledge all below the newest segment, lost or not, and then two segments that have not come: who
    /// believes them hears of no loss. What was lost is never repeated, and the flow never ends.
    OptimisticAcks,
}

impl Receiver {
    /// Changes an ACK that is about to go, and sends what comes before and after it.
    pub(super) fn lie(&self, lies: Lies, p: &mut Packet, ctx: &mut EndpointCtx<'_>) {
        match lies {
            Lies::DividesAcks => {
                for part in 1..PARTS {
                    let mut first = self.ack(ctx.now);
                    first.ack = self.ends.peer.wire(self.last_ack + (self.next - self.last_ack) * part / PARTS);
                    if first.ack != self.ends.peer.wire(self.last_ack) {
                        ctx.send(first);
                    }
                }
            }
            Lies::OptimisticAcks => {
                let newest = self.held.last().map_or(self.next, |range| range.1);
                let mut known = self.ack(ctx.now);
                known.ack = self.ends.peer.wire(newest);
                ctx.send(known);
                *p = self.ack(ctx.now);
                p.ack = self.ends.peer.wire(newest + AHEAD * u64::from(self.settings.mss(self.ends.mtu)));
            }
        }
    }
}
