//! Receivers that say when so much of a flow has been delivered: the messages of a connection, and the bytes of
//! `after_bytes`.

use std::sync::Arc;

use midpath_core::packet::{FlowId, Packet};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport};

use super::AllFlows;
use super::pooled::Pooled;

/// Delivered bytes of a flow that others wait for, in order.
pub(super) enum Marks {
    /// The ends of a connection's messages: the next one's place, and where it begins.
    Messages { flows: Arc<AllFlows>, pooled: Arc<Pooled>, connection: u32, next: usize, begin: u64 },
    /// So many bytes: the next one's place.
    Bytes { flow: FlowId, all: Arc<[u64]>, next: usize },
}

impl Marks {
    /// The next: how many bytes must have been delivered in all, and what is then said of which flow.
    fn next(&self) -> Option<(u64, FlowId, u64)> {
        match self {
            Marks::Messages { flows, pooled, connection, next, begin } => {
                let message = pooled.message(*connection, *next)?;
                let size = flows.get(message as usize).flow.size?.0;
                Some((begin + size, FlowId(message), size))
            }
            Marks::Bytes { flow, all, next } => all.get(*next).map(|bytes| (*bytes, *flow, *bytes)),
        }
    }

    fn pass(&mut self, until: u64) {
        match self {
            Marks::Messages { next, begin, .. } => (*next, *begin) = (*next + 1, until),
            Marks::Bytes { next, .. } => *next += 1,
        }
    }
}

/// A receiver, and the delivered bytes that others wait for.
pub(super) struct Marked {
    inner: Box<dyn Endpoint>,
    marks: Marks,
}

impl Marked {
    pub fn new(inner: Box<dyn Endpoint>, marks: Marks) -> Marked {
        Marked { inner, marks }
    }

    fn look(&mut self, ctx: &mut EndpointCtx<'_>) {
        let Some((mut until, mut flow, mut bytes)) = self.marks.next() else { return };
        let delivered = self.inner.report().delivered;
        while until <= delivered {
            ctx.delivered(flow, bytes);
            self.marks.pass(until);
            let Some(next) = self.marks.next() else { return };
            (until, flow, bytes) = next;
        }
    }
}

impl Endpoint for Marked {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.inner.on_start(ctx);
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.inner.on_packet(packet, ctx);
        self.look(ctx);
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.inner.on_timer(ctx);
        self.look(ctx);
    }
    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.inner.on_application(ctx);
    }
    fn on_probe(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.inner.on_probe(ctx);
    }
    fn on_routes(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.inner.on_routes(ctx);
    }
    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.inner.on_abort(ctx);
    }
    fn report(&self) -> FlowReport {
        self.inner.report()
    }
    fn measured(&self) -> bool {
        self.inner.measured()
    }
    fn is_half_open(&self) -> bool {
        self.inner.is_half_open()
    }
    fn phase(&self) -> &'static str {
        self.inner.phase()
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.inner.gauges(out);
    }
}
