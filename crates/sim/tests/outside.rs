//! Schemes from outside whose ports and forwarders make and use up packets of their own: the books must balance.

mod common;

use std::path::Path;
use std::sync::Arc;

use midpath_core::packet::{Kind, Packet, Pkt};
use midpath_core::queue::{Codel, CodelParams, Discipline, Fifo, Limit, Loss, Queue};
use midpath_core::roles::{Backlog, Inbound, Network, NodeSpec, Parts, Port, PortCtx, PortSpec};
use midpath_core::spec::SpecError;
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, run_with};

/// Ports that tell their neighbour of every packet that comes in.
struct Chatty;

impl Network for Chatty {
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = Limit::Packets(100).bound(spec.link.rate);
        Ok(Discipline::of(Talker(Queue::new(Codel::new(CodelParams::default()), Fifo::new(bound), Loss))))
    }
}

struct Talker(Queue<Codel, Fifo, Loss>);

impl Port for Talker {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        self.0.outbound(pkt, ctx);
    }
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.0.poll_transmit(ctx)
    }
    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        if ctx.pool[&pkt].kind == Kind::Control {
            return Inbound::Consume(pkt);
        }
        let mut note = Packet::new(ctx.pool[&pkt].flow, ctx.node, ctx.link().peer, 20);
        note.kind = Kind::Control;
        ctx.emit(ctx.me, note);
        Inbound::Forward(pkt)
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.0.reset(ctx);
    }
}

#[test]
fn control_packets_that_ports_use_up_are_accounted_for() {
    let text = r#"
scheme = "chatty"
[topology]
generate = "chain"
n = 2
link = { rate = "10 Mbps", delay = "1 ms" }
[[flow]]
from = "s0"
to = "d0"
size = "100 kB"
"#;
    let catalogue = Catalogue::standard().with("chatty", |params| {
        let transport = Catalogue::standard().build("newreno", params)?.transport();
        Ok(Arc::new(Parts { name: "chatty".to_owned(), transport, network: Some(Arc::new(Chatty)) }))
    });
    let out = run_with(text, Path::new("."), &RunOptions::default(), &catalogue, &mut |_| true);
    let out = out.expect("a good scenario").expect("not cancelled");
    assert_eq!(out.summary("completed"), Some(1.0));
    assert_eq!(out.run["invariants"]["conserved"], true, "{}", out.run["invariants"]);
}
