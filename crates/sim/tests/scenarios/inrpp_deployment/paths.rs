//! Where packets go: none circulates because of detours, and a port notices when its ACKs come back
//! another way.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use midpath_core::packet::{NodeId, Packet, PacketId, Pkt, PortId};
use midpath_core::queue::Discipline;
use midpath_core::roles::{ForwardCtx, Forwarder, Names, Network, NodeSpec, PortSpec, Route, Scheme, Transport};
use midpath_core::spec::SpecError;
use midpath_schemes::Catalogue;
use midpath_schemes::internals::inrpp::header::via;
use midpath_sim::{RunOptions, run_with};
use proptest::prelude::*;

use super::overlay::deployed_at;
use crate::common::reads::{most, texts};
use crate::common::{cases, run_plain};

/// What tells one packet from all others: its place in memory, for two may say the same, and, for
/// places are used again, flow, source, numbers, what is reported by SACK, and when it was sent.
type Name = (PacketId, u32, u32, u32, u32, u32, u32, u16);

fn name(id: PacketId, p: &Packet) -> Name {
    let sack = p.sack_blocks().first().map_or(0, |b| b.to);
    (id, p.flow.0, p.src.0, p.seq, p.ack, sack, p.ts_val, p.flags.0)
}

/// Where a packet was: the node, its destination, and whether it was on a detour when it was
/// forwarded.
type Visits = BTreeMap<Name, Vec<(NodeId, NodeId, bool)>>;

/// INRPP with a note of every packet that a router forwards.
struct Traced {
    inner: Arc<dyn Scheme>,
    visits: Arc<Mutex<Visits>>,
}

struct Notebook {
    inner: Box<dyn Forwarder>,
    visits: Arc<Mutex<Visits>>,
}

impl Forwarder for Notebook {
    fn route(&mut self, pkt: Pkt, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        let route = self.inner.route(pkt, from, ctx);
        let (Route::Port(_, pkt) | Route::Pass(pkt)) = &route else { return route };
        let packet = &ctx.pool[pkt];
        // The tag is off when the packet is back on its way.
        let visit = (ctx.node, packet.dst, via(packet).is_some());
        self.visits.lock().expect("one thread").entry(name(pkt.id(), packet)).or_default().push(visit);
        route
    }
}

impl Scheme for Traced {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        let inner = self.inner.bind(names)?.expect("INRPP binds");
        Ok(Some(Arc::new(Traced { inner, visits: self.visits.clone() })))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        self.inner.transport()
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        let inner = self.inner.network()?;
        Some(Arc::new(TracedNetwork { inner, visits: self.visits.clone() }))
    }
}

struct TracedNetwork {
    inner: Arc<dyn Network>,
    visits: Arc<Mutex<Visits>>,
}

impl Network for TracedNetwork {
    fn state(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Any + Send>> {
        self.inner.state(node)
    }
    fn port(&self, spec: &PortSpec, node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        self.inner.port(spec, node)
    }
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        let inner = self.inner.forwarder(node)?;
        Some(Box::new(Notebook { inner, visits: self.visits.clone() }))
    }
}

/// Routers with a host each, dense enough that detours of one and two hops are common, and small
/// caches that fill.
#[derive(Debug, Clone)]
pub struct Mesh {
    parents: Vec<usize>,
    cross: Vec<(usize, usize)>,
    rates: Vec<u64>,
    flows: Vec<(usize, usize, u64)>,
}

pub fn mesh() -> impl Strategy<Value = Mesh> {
    (
        prop::collection::vec(0usize..100, 3..7),
        prop::collection::vec((0usize..100, 0usize..100), 3..12),
        prop::collection::vec(prop::sample::select(vec![5u64, 10, 20]), 24),
        prop::collection::vec((0usize..100, 0usize..100, 50_000u64..400_000), 3..8),
    )
        .prop_map(|(parents, cross, rates, flows)| Mesh { parents, cross, rates, flows })
}

impl Mesh {
    pub fn routers(&self) -> usize {
        self.parents.len() + 1
    }

    pub fn links(&self) -> Vec<(usize, usize)> {
        let n = self.routers();
        let tree = self.parents.iter().enumerate().map(|(i, p)| (p % (i + 1), i + 1));
        let mut links: Vec<(usize, usize)> = Vec::new();
        for (a, b) in tree.chain(self.cross.iter().map(|(a, b)| (a % n, b % n))) {
            let link = (a.min(b), a.max(b));
            if a != b && !links.contains(&link) {
                links.push(link);
            }
        }
        links
    }

    pub fn text(&self, detours: u8) -> String {
        let mut t = format!(
            "scheme = \"inrpp\"\nstop = \"60 s\"\n[schemes.inrpp]\ndetours = {detours}\ncache = \"4 MB\"\nhigh = \"60 kB\"\nbuffer = \"10 kB\"\n[topology]\nlinks = [\n"
        );
        for (i, (a, b)) in self.links().iter().enumerate() {
            let rate = self.rates[i % self.rates.len()];
            writeln!(t, "{{ a = \"r{a}\", b = \"r{b}\", rate = \"{rate} Mbps\", delay = \"1 ms\" }},").unwrap();
        }
        let n = self.routers();
        (0..n).for_each(|i| {
            writeln!(t, "{{ a = \"h{i}\", b = \"r{i}\", rate = \"100 Mbps\", delay = \"1 ms\" }},").unwrap();
        });
        t += "]\nnodes = [\n";
        // Routers first: their numbers are those of their names.
        (0..n).for_each(|i| writeln!(t, "{{ name = \"r{i}\", kind = \"router\" }},").unwrap());
        (0..n).for_each(|i| writeln!(t, "{{ name = \"h{i}\", kind = \"host\" }},").unwrap());
        t += "]\n";
        for (from, to, size) in &self.flows {
            let from = from % n;
            let to = (from + 1 + to % (n - 1)) % n;
            writeln!(t, "[[flow]]\nfrom = \"h{from}\"\nto = \"h{to}\"\nsize = \"{size} B\"").unwrap();
        }
        t
    }

    /// Links between every two routers.
    fn distances(&self) -> Vec<Vec<usize>> {
        let n = self.routers();
        let mut d = vec![vec![usize::MAX / 2; n]; n];
        (0..n).for_each(|i| d[i][i] = 0);
        for (a, b) in self.links() {
            (d[a][b], d[b][a]) = (1, 1);
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    d[i][j] = d[i][j].min(d[i][k] + d[k][j]);
                }
            }
        }
        d
    }
}

/// Checks one packet's way through the routers; how many detours it took.
///
/// What holds. Each router where a packet is on its way, not on a detour, is one link nearer to the
/// destination than the one before: the detour's end is the original next hop. So these are a
/// shortest path, and no router is on it twice. Between two of them there are at most `detours`
/// others. A router r on a detour between the i-th and the next is linked to at least one of both,
/// and routers of a shortest path that r is linked to lie within two links of each other. With
/// detours of one hop r is linked to both: so it is on at most two detours of a packet, and never
/// one of the path's own. With two hops at most four visits are left, the path's own routers
/// included.
fn check(way: &[(NodeId, NodeId, bool)], detours: usize, d: &[Vec<usize>]) -> usize {
    let n = d.len();
    let to = way[0].1.0 as usize - n;
    let inside: Vec<(usize, bool)> =
        way.iter().filter(|v| (v.0.0 as usize) < n).map(|v| (v.0.0 as usize, v.2)).collect();
    let (mut main, mut around, mut taken) = (Vec::new(), 0, 0);
    for (router, off) in &inside {
        if *off {
            around += 1;
            assert!(around <= detours, "{inside:?}");
        } else {
            taken += usize::from(around > 0);
            around = 0;
            main.push(*router);
        }
    }
    assert_eq!(around, 0, "a detour ends at the original next hop: {inside:?}");
    assert!(main.windows(2).all(|w| d[w[0]][to] == d[w[1]][to] + 1), "{inside:?} to {to}");
    let visits = |r: usize| inside.iter().filter(|v| v.0 == r).count();
    for r in 0..n {
        let most = match (detours, main.contains(&r)) {
            (1, true) => 1,
            (1, false) => 2,
            _ => 4,
        };
        assert!(visits(r) <= most, "r{r} in {inside:?}");
    }
    assert!(inside.len() <= 1 + (1 + detours) * (main.len() - 1));
    taken
}

/// Packets traced, and detours that they took.
fn trace(mesh: &Mesh, detours: u8) -> (usize, usize) {
    let visits = Arc::new(Mutex::new(Visits::new()));
    let seen = visits.clone();
    let catalogue = Catalogue::standard().with("inrpp", move |params| {
        let inner = Catalogue::standard().build("inrpp", params)?;
        Ok(Arc::new(Traced { inner, visits: seen.clone() }) as Arc<dyn Scheme>)
    });
    let text = mesh.text(detours);
    let out = run_with(&text, Path::new("."), &RunOptions::default(), &catalogue, &mut |_| true)
        .expect("valid")
        .expect("ran");
    assert_eq!(out.run["invariants"]["stored"], 0, "{text}");
    let (d, visits) = (mesh.distances(), visits.lock().expect("one thread"));
    (visits.len(), visits.values().map(|way| check(way, usize::from(detours), &d)).sum())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn no_packet_circulates(mesh in mesh(), detours in 1u8..3) {
        trace(&mesh, detours);
    }
}

#[test]
fn the_trace_sees_detours() {
    // Two routers far apart with two ways of one detour router each, and a chain where only two
    // hops lead around.
    let triangle = Mesh { parents: vec![0], cross: vec![], rates: vec![10; 24], flows: vec![(0, 0, 400_000)] };
    let one = Mesh { parents: vec![0, 0], cross: vec![(1, 2)], ..triangle.clone() };
    let two = Mesh { parents: vec![0, 0, 1], cross: vec![(2, 3)], ..triangle.clone() };
    let taken = [trace(&one, 1), trace(&two, 1), trace(&two, 2)];
    println!("packets and detours: {taken:?}");
    assert!(taken[0].1 > 50 && taken[1].1 == 0 && taken[2].1 > 50);
}

/// Two ways of 10 Mbps between a and d. With d plain, nobody makes ACKs come back the way that
/// their data went.
fn two_ways(routers: &str, ecmp: &str) -> String {
    let mut t = format!(
        "scheme = \"inrpp\"\nstop = \"10 s\"\n[routing]\necmp = \"{ecmp}\"\n[schemes.inrpp]\ncache = \"500 kB\"\nhigh = \"250 kB\"\ndetours = 0\n[topology]\nlinks = [\n"
    );
    for (a, b) in [("a", "b"), ("b", "c"), ("c", "d"), ("a", "e"), ("e", "f"), ("f", "d")] {
        writeln!(t, "{{ a = \"{a}\", b = \"{b}\", rate = \"10 Mbps\", delay = \"1 ms\" }},").unwrap();
    }
    (0..8).for_each(|i| {
        writeln!(t, "{{ a = \"s{i}\", b = \"a\", rate = \"20 Mbps\", delay = \"1 ms\" }}, {{ a = \"t{i}\", b = \"d\", rate = \"20 Mbps\", delay = \"1 ms\" }},").unwrap();
    });
    t += "]\nnodes = [\n";
    (0..8).for_each(|i| {
        writeln!(t, "{{ name = \"s{i}\", kind = \"host\" }}, {{ name = \"t{i}\", kind = \"host\" }},").unwrap()
    });
    t += "]\n";
    t += &deployed_at(routers);
    t += "[measure]\nseries = true\nports = 60\n";
    (0..8).for_each(|i| writeln!(t, "[[flow]]\nfrom = \"s{i}\"\nto = \"t{i}\"").unwrap());
    t
}

#[test]
fn ports_notice_that_acks_come_back_another_way() {
    let unheard = |routers, ecmp| {
        let out = run_plain(&two_ways(routers, ecmp));
        let ways = ["port:a>b", "port:a>e"].map(|p| {
            // A way that nobody takes has no series.
            let taken = texts(&out, "series", "entity").iter().any(|e| e == p);
            if taken { most(&out, p, "unheard") } else { 0.0 }
        });
        ways.iter().sum::<f64>()
    };
    let plain = r#""a", "b", "c", "e", "f""#;
    let (different, same, one) = (unheard(plain, "flow"), unheard("", "flow"), unheard(plain, "off"));
    let routed = unheard(plain, "symmetric");
    println!(
        "flows unheard of: {different} where paths differ, {same} where routers see to it, {routed} where routing does, \
         {one} where there is one"
    );
    assert!((1.0..=8.0).contains(&different) && same == 0.0 && routed == 0.0 && one == 0.0);
}
