//! A signal of one's own: the sender is told on the way back, by ECE on the next ACK that comes in
//! through the port.
//!
//! It is a sketch of RPM that knows nothing of routes, of flows that share a register, or of who
//! understands ECE.

use midpath_core::packet::{Flags, NodeId, Pkt};
use midpath_core::queue::{Done, Signal};
use midpath_core::roles::PortCtx;

/// Registers of a port. Ours.
const REGISTERS: usize = 4096;

/// How many signals each flow has yet to get. Flows are hashed, so that no flood of them fills the
/// memory.
pub struct ReverseEce {
    owed: Vec<u16>,
}

impl Default for ReverseEce {
    fn default() -> ReverseEce {
        ReverseEce { owed: vec![0; REGISTERS] }
    }
}

impl ReverseEce {
    /// The register of the data that `sender` sends in a conversation.
    fn owed(&mut self, key: u32, sender: NodeId) -> &mut u16 {
        &mut self.owed[(key ^ sender.0) as usize % REGISTERS]
    }
}

impl Signal for ReverseEce {
    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Done {
        let packet = &ctx.pool[pkt];
        if !packet.ecn.capable() {
            return Done::Unable;
        }
        let owed = self.owed(packet.key, packet.src);
        *owed = owed.saturating_add(1);
        Done::Told
    }

    fn watches_inbound(&self) -> bool {
        true
    }

    fn inbound(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        let packet = &mut ctx.pool[pkt];
        let owed = self.owed(packet.key, packet.dst);
        // A SYN's ECE negotiates.
        if *owed > 0 && packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::SYN) {
            *owed -= 1;
            packet.flags = packet.flags.with(Flags::ECE);
        }
    }

    fn reset(&mut self, _ctx: &mut PortCtx<'_>) {
        self.owed.fill(0);
    }
}
