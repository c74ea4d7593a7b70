//! The producer of a flow.

use midpath_core::packet::Packet;
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport};

use super::object::Object;

/// Answers Interests in its object (§3.2: "The producer endpoint in ICN has no responsibilities").
pub struct Producer<C> {
    object: Object,
    complete: C,
    sent: u64,
    /// Another node than the flow's has a copy, and answers as well.
    copy: bool,
}

impl<C: Fn(&Packet, &mut Packet)> Producer<C> {
    /// A producer of an object. `complete` is given each Interest and its Data, and writes into
    /// these what the scheme says there.
    pub fn new(object: Object, complete: C) -> Producer<C> {
        Producer { object, complete, sent: 0, copy: false }
    }
}

impl<C: Fn(&Packet, &mut Packet) + Send> Endpoint for Producer<C> {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.copy = ctx.node != self.object.name.prefix;
    }

    fn on_packet(&mut self, interest: &Packet, ctx: &mut EndpointCtx<'_>) {
        let mut data = *interest;
        if !self.object.make_data(&mut data) {
            return;
        }
        (self.complete)(interest, &mut data);
        ctx.send(data);
        self.sent += 1;
    }

    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn report(&self) -> FlowReport {
        FlowReport::default()
    }

    fn measured(&self) -> bool {
        !self.copy
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("data_sent", self.sent as f64));
    }
}
