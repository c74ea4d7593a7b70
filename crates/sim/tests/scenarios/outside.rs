//! Schemes from outside whose ports and forwarders make and use up packets of their own: the books
//! must balance.

use std::path::Path;
use std::sync::Arc;

use midpath_core::packet::{FlowId, Kind, Packet, Pkt};
use midpath_core::queue::{Codel, CodelParams, Discipline, Fifo, Limit, Loss, Queue};
use midpath_core::roles::{Backlog, Inbound, Network, NodeSpec, Parts, Port, PortCtx, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, run_with};

/// Runs a scenario whose scheme `name` is NewReno over this network.
fn run_newreno_over(name: &'static str, network: Arc<dyn Network>, text: &str, threads: usize) -> RunOutput {
    let catalogue = Catalogue::standard().with(name, move |params| {
        let transport = Catalogue::standard().build("newreno", params)?.transport();
        Ok(Arc::new(Parts { name: name.to_owned(), transport, network: Some(network.clone()) }))
    });
    let options = RunOptions { threads, ..RunOptions::default() };
    let out = run_with(text, Path::new("."), &options, &catalogue, &mut |_| true);
    out.expect("a good scenario").expect("not cancelled")
}

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
    let out = run_newreno_over("chatty", Arc::new(Chatty), text, 1);
    assert_eq!(out.summary("completed"), Some(1.0));
    assert_eq!(out.run["invariants"]["conserved"], true, "{}", out.run["invariants"]);
}

/// Ports that say hello to their neighbours each half a millisecond from their first packet on, as
/// long as the node lives.
struct Hellos;

impl Network for Hellos {
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = Limit::Packets(100).bound(spec.link.rate);
        let queue = Queue::new(Codel::new(CodelParams::default()), Fifo::new(bound), Loss);
        Ok(Discipline::of(Greeter { queue, next: None, heard: 0 }))
    }
}

struct Greeter {
    queue: Queue<Codel, Fifo, Loss>,
    next: Option<Time>,
    heard: u64,
}

impl Greeter {
    const EVERY: Time = Time::from_us(500);
}

impl Port for Greeter {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        if self.next.is_none() {
            self.next = Some(ctx.now + Greeter::EVERY);
            ctx.wake_in_background(ctx.now + Greeter::EVERY);
        }
        self.queue.outbound(pkt, ctx);
    }
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.queue.poll_transmit(ctx)
    }
    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        if ctx.pool[&pkt].kind != Kind::Control {
            return Inbound::Forward(pkt);
        }
        self.heard += 1;
        Inbound::Consume(pkt)
    }
    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        let mut hello = Packet::new(FlowId(0), ctx.node, ctx.link().peer, 20);
        hello.kind = Kind::Control;
        ctx.emit(ctx.me, hello);
        self.next = Some(ctx.now + Greeter::EVERY);
        ctx.wake_in_background(ctx.now + Greeter::EVERY);
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.queue.reset(ctx);
        self.next = None;
        ctx.wake_in_background(Time::MAX);
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("hellos", self.heard as f64));
    }
}

/// Although a hello is always on the wire and the next one is always planned, the run is over when
/// the transfer is. What it shows does not depend on the number of threads.
#[test]
fn hellos_in_the_background_keep_no_run_from_ending() {
    let text = r#"
scheme = "hellos"
[topology]
generate = "chain"
n = 4
link = { rate = "10 Mbps", delay = "3 ms" }
[measure]
interval = "20 ms"
ports = 8
[[flow]]
from = "s0"
to = "d0"
size = "200 kB"
"#;
    let run = |threads| run_newreno_over("hellos", Arc::new(Hellos), text, threads);
    let alone = run(1);
    assert_eq!(alone.summary("completed"), Some(1.0));
    assert_eq!(alone.run["invariants"]["conserved"], true, "{}", alone.run["invariants"]);
    for threads in [2, 3] {
        assert_eq!(run(threads).repeatable(), alone.repeatable(), "{threads} threads");
    }
}
