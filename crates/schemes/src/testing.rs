//! Shared test harness of the schemes.

use std::sync::{Arc, Mutex};

use midpath_core::packet::{NodeId, Packet};
use midpath_core::roles::{Accept, Endpoint, EndpointCtx, FlowReport, Routes};

use crate::transport::segment::{opens, reset};

/// Lets a test look at an endpoint that a node owns.
pub struct Watched<E>(pub Arc<Mutex<E>>);

impl<E: Endpoint> Endpoint for Watched<E> {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_start(ctx);
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_packet(packet, ctx);
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_timer(ctx);
    }
    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_application(ctx);
    }
    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.0.lock().unwrap().on_abort(ctx);
    }
    fn report(&self) -> FlowReport {
        self.0.lock().unwrap().report()
    }
}

/// Accepts as TCP does, with an end that the test has made already.
pub fn accept_as<E: Endpoint + 'static>(first: &Packet, end: &Arc<Mutex<E>>) -> Accept {
    if opens(first) {
        return Accept::Take(Box::new(Watched(end.clone())));
    }
    reset(first).map_or(Accept::Ignore, Accept::Refuse)
}

/// All packets leave through the first port.
pub struct FirstPort;

impl Routes for FirstPort {
    fn next_ports(&self, _node: NodeId, _dst: NodeId) -> &[u16] {
        &[0]
    }
}
