//! Nothing happens to a node before what has happened to it already: what the engine's windows and
//! buckets must not break, whatever the delays. Watched from within, by every port of every node.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::cases;
use crate::common::scene::scene;
use midpath_core::packet::{NodeId, Packet, Pkt};
use midpath_core::queue::{Bound, Discipline, Fifo, Loss, NoAqm, Queue, Verdict, View};
use midpath_core::roles::{Backlog, Drop, Inbound, Network, NodeSpec, Parts, Port, PortCtx, PortSpec, Timetable};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, run_with};
use proptest::prelude::*;
use rustc_hash::FxHashMap;

/// The latest that each node has seen, and what came too late.
#[derive(Clone, Default)]
struct Clocks(Arc<Mutex<Seen>>);

type Seen = (FxHashMap<NodeId, Time>, Vec<String>);

impl Clocks {
    fn see(&self, node: NodeId, now: Time) {
        let mut guard = self.0.lock().expect("nobody panicked");
        let (latest, late) = &mut *guard;
        let clock = latest.entry(node).or_default();
        if now < *clock {
            late.push(format!("{node:?} was at {clock:?}, then at {now:?}"));
        }
        *clock = now;
    }
}

/// The ports of a network that look at the time.
struct Watched {
    inner: Option<Arc<dyn Network>>,
    clocks: Clocks,
}

impl Network for Watched {
    fn port(&self, spec: &PortSpec, node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let inner = self.inner.as_ref().map_or_else(|| Ok(spec.queue.build(spec.link.rate)), |n| n.port(spec, node))?;
        let (node, clocks) = (spec.node, self.clocks.clone());
        let inner = match inner {
            Discipline::DropTail(bound) => Queue::new(NoAqm, Fifo::new(bound), Loss).discipline(),
            other => other,
        };
        Ok(match inner {
            Discipline::Timetable { rule: port, .. } => {
                let rule = Box::new(Watch { port, node, clocks });
                Discipline::Timetable { rule, unasked: Bound::NOTHING }
            }
            other => Discipline::of(Watch { port: other.into_port(), node, clocks }),
        })
    }
}

struct Watch<P: ?Sized> {
    port: Box<P>,
    node: NodeId,
    clocks: Clocks,
}

impl<P: Port + ?Sized> Port for Watch<P> {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        self.clocks.see(self.node, ctx.now);
        self.port.outbound(pkt, ctx);
    }
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.clocks.see(self.node, ctx.now);
        self.port.poll_transmit(ctx)
    }
    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        self.clocks.see(self.node, ctx.now);
        self.port.inbound(pkt, ctx)
    }
    fn backlog(&self) -> Backlog {
        self.port.backlog()
    }
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.port.reset(ctx);
    }
}

impl Timetable for Watch<dyn Timetable> {
    fn admit(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.clocks.see(self.node, view.now);
        self.port.admit(packet, view)
    }
    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Result<(), Drop> {
        self.clocks.see(self.node, ctx.now);
        self.port.signal(pkt, ctx)
    }
}

fn watched(clocks: &Clocks) -> Catalogue {
    ["newreno", "cubic", "dctcp"].into_iter().fold(Catalogue::standard(), |catalogue, name| {
        let clocks = clocks.clone();
        catalogue.with(name, move |params| {
            let scheme = Catalogue::standard().build(name, params)?;
            let network = Watched { inner: scheme.network(), clocks: clocks.clone() };
            let (name, transport) = (name.to_owned(), scheme.transport());
            Ok(Arc::new(Parts { name, transport, network: Some(Arc::new(network)) }))
        })
    })
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn time_never_goes_back_at_a_node(scene in scene(), threads in prop_oneof![15 => Just(1usize), 1 => Just(2usize)]) {
        let clocks = Clocks::default();
        let options = RunOptions { threads, ..RunOptions::default() };
        let text = scene.text(false);
        run_with(&text, Path::new("."), &options, &watched(&clocks), &mut |_| true).expect("a good scenario");
        let late = &clocks.0.lock().expect("nobody panicked").1;
        prop_assert!(late.is_empty(), "{late:?}\n{text}");
    }
}
