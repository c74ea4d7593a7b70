//! A receiver of a multicast flow: it counts and echoes packets.

use midpath_core::packet::{IP_HEADER, Kind, Packet, UDP_HEADER};
use midpath_core::roles::{Delivery, Endpoint, EndpointCtx, FlowReport, FlowSpec, Half};

use crate::fcp::header::FcpHeader;

/// Whether a packet is one that the sender of a multicast flow sends.
pub fn opens(packet: &Packet) -> bool {
    tree_header(packet).is_some()
}

fn tree_header(packet: &Packet) -> Option<FcpHeader> {
    packet.header::<FcpHeader>().filter(|h| packet.kind == Kind::Datagram && h.tree != 0 && !h.echo)
}

/// One of a flow's passive ends. The one where the flow is expected, at its destination, is
/// measured.
#[derive(Debug)]
pub struct Receiver {
    size: Option<u64>,
    measured: bool,
    delivery: Delivery,
}

impl Receiver {
    /// A receiver of the flow that is expected here, or of a stranger's.
    pub fn new(expected: Option<&FlowSpec>) -> Receiver {
        let size = expected.and_then(|flow| flow.size).map(|s| s.0);
        Receiver { size, measured: expected.is_some(), delivery: Delivery::default() }
    }
}

impl Endpoint for Receiver {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = tree_header(packet) else { return };
        self.delivery.on_bytes(packet.payload.into(), ctx.now);
        let whole = self.size.is_some_and(|size| self.delivery.bytes() >= size);
        if whole && self.delivery.on_complete(ctx.now) && self.measured {
            ctx.completed(Half::Receiving);
        }
        // §4.2: "receivers echo back the price information".
        let mut echo = Packet::new(ctx.flow, ctx.node, packet.src, IP_HEADER + UDP_HEADER);
        echo.kind = Kind::Datagram;
        echo.set_header(&FcpHeader { echo: true, ..header });
        ctx.send(echo);
    }

    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}

    fn measured(&self) -> bool {
        self.measured
    }

    fn report(&self) -> FlowReport {
        match self.measured {
            true => self.delivery.report(FlowReport::default()),
            false => FlowReport::default(),
        }
    }
}
