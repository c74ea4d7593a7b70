//! A port whose link is a tunnel: the scheme's own port, which a connection asks for packets in
//! place of a transmitter.

use midpath_core::packet::{FlowId, Pkt};
use midpath_core::queue::Discipline;
use midpath_core::roles::{Backlog, Inbound, Port, PortCtx};

use super::pipe::SharedPipe;

/// The scheme's port in front of a tunnel.
pub struct TunnelPort {
    inner: Box<dyn Port>,
    pipe: SharedPipe,
    /// The connection's sending end at this node.
    flow: FlowId,
}

impl TunnelPort {
    /// Puts a tunnel behind a port, in place of its wire. `None` if the port keeps no packets
    /// itself.
    pub fn before(inner: Discipline, pipe: SharedPipe, flow: FlowId) -> Option<Discipline> {
        match inner {
            Discipline::DropTail(_) => None,
            inner => Some(Discipline::of(TunnelPort { inner: inner.into_port(), pipe, flow })),
        }
    }
}

impl Port for TunnelPort {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        self.inner.outbound(pkt, ctx);
    }
    /// Never gives one to the wire: what the pipe has room for goes into the pipe.
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        while self.pipe.get().has_room() {
            let Some(pkt) = self.inner.poll_transmit(ctx) else { break };
            self.pipe.get().enter(ctx.pool[&pkt], ctx.pool.payload(&pkt).cloned());
            ctx.carried(pkt, self.flow);
        }
        None
    }
    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.inner.inbound(pkt, ctx)
    }
    fn handed_over(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.inner.handed_over(pkt, ctx)
    }
    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        self.inner.on_timer(ctx);
    }
    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        self.inner.on_link(ctx);
    }
    fn watches_inbound(&self) -> bool {
        self.inner.watches_inbound()
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.inner.reset(ctx);
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.inner.gauges(out);
        let pipe = self.pipe.get();
        out.push(("tunnel_unsent_bytes", pipe.unsent() as f64));
        out.push(("tunnel_cwnd_bytes", pipe.report().flow.cwnd as f64));
    }
    fn warnings(&self, out: &mut Vec<String>) {
        self.inner.warnings(out);
    }
}
