//! Nothing happens to a node before what has happened to it already: what the engine's windows and buckets must not
//! break, whatever the delays. Watched from within, by every port of every node.

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use common::cases;
use common::scene::scene;
use midpath_core::packet::{NodeId, Packet};
use midpath_core::queue::Discipline;
use midpath_core::roles::{Admission, AdmitCtx, Drop, Network, NodeSpec, Parts, PortSpec, Verdict};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, run_with};
use proptest::prelude::*;

/// The latest that each node has seen, and what came too late.
#[derive(Clone, Default)]
struct Clocks(Arc<Mutex<Seen>>);

type Seen = (HashMap<NodeId, Time>, Vec<String>);

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
        let rule: Box<dyn Admission> = match inner {
            Discipline::DropTail(rule) => Box::new(rule),
            Discipline::Timetable(rule) => rule,
            held @ Discipline::Held(_) => return Ok(held),
        };
        Ok(Discipline::Timetable(Box::new(Watch { rule, node: spec.node, clocks: self.clocks.clone() })))
    }
}

struct Watch {
    rule: Box<dyn Admission>,
    node: NodeId,
    clocks: Clocks,
}

impl Admission for Watch {
    fn admit(&mut self, packet: &mut Packet, ctx: &mut AdmitCtx<'_>) -> Verdict {
        self.clocks.see(self.node, ctx.now);
        self.rule.admit(packet, ctx)
    }
    fn watches_inbound(&self) -> bool {
        true
    }
    fn inbound(&mut self, packet: &mut Packet, now: Time) -> Result<(), Drop> {
        self.clocks.see(self.node, now);
        self.rule.inbound(packet, now)
    }
    fn reset(&mut self) {
        self.rule.reset();
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
    #![proptest_config(cases(2000))]

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
