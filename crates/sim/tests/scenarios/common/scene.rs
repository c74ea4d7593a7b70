//! Random scenarios: every generator and random trees with cross links, uneven rates and delays,
//! all queues, schemes and faults. What is drawn is plain data, so that a failing case shrinks to a
//! small text.

use std::fmt::Write;

use proptest::prelude::*;

/// Rates, among them one (37 Mbps) whose serialisation times are no whole number of picoseconds.
const RATES: [&str; 5] = ["2 Mbps", "10 Mbps", "37 Mbps", "100 Mbps", "1 Gbps"];
/// Delays four decades apart: nodes of very different lookahead in one network.
const DELAYS: [&str; 5] = ["1 us", "7 us", "300 us", "2 ms", "30 ms"];
const CORRUPTION: [&str; 3] = ["0 %", "0.1 %", "2 %"];
/// Each holds at least two full packets at the slowest rate.
const LIMITS: [&str; 7] = ["3 kB", "15 kB", "60 kB", "2 packets", "12 packets", "12 ms", "60 ms"];
const SCHEMES: [&str; 3] = ["newreno", "cubic", "dctcp"];
const UDP_RATES: [&str; 3] = ["500 kbps", "2 Mbps", "20 Mbps"];

/// The network's shape.
#[derive(Debug, Clone)]
pub enum Shape {
    Dumbbell(usize),
    Chain(usize, usize),
    ParkingLot(usize),
    Star(usize),
    Ring(usize),
    FatTree,
    Waxman(usize),
    /// A tree by parents, closed to a ring if asked; each router has a host; each link its own rate
    /// and delay.
    Mesh(Vec<usize>, bool, Vec<(usize, usize)>),
}

#[derive(Debug, Clone)]
pub struct FlowPick {
    from: prop::sample::Index,
    to: prop::sample::Index,
    pub size: u64,
    start_ms: u64,
    count: u64,
    /// 0–2 a TCP, 3 the default, 4 and 5 datagrams.
    scheme: usize,
    udp_rate: usize,
}

#[derive(Debug, Clone)]
pub struct FaultPick {
    what: usize,
    link: prop::sample::Index,
    at_ms: u64,
    for_ms: u64,
    rate: usize,
    delay: usize,
}

/// A scenario in the making.
#[derive(Debug, Clone)]
pub struct Scene {
    pub shape: Shape,
    link: (usize, usize),
    access: (usize, usize),
    corruption: usize,
    queue: usize,
    limit: usize,
    pub ecmp: usize,
    metric: usize,
    scheme: usize,
    pub flows: Vec<FlowPick>,
    pub faults: Vec<FaultPick>,
    pub stop_ms: Option<u64>,
    seed: u64,
}

fn shape() -> impl Strategy<Value = Shape> {
    let hop = (0..RATES.len(), 0..DELAYS.len());
    prop_oneof![
        (1usize..5).prop_map(Shape::Dumbbell),
        (1usize..5, 1usize..3).prop_map(|(n, p)| Shape::Chain(n, p)),
        (1usize..4).prop_map(Shape::ParkingLot),
        (2usize..16).prop_map(Shape::Star),
        (3usize..7).prop_map(Shape::Ring),
        Just(Shape::FatTree),
        (2usize..8).prop_map(Shape::Waxman),
        (prop::collection::vec(0usize..100, 1..7), any::<bool>(), prop::collection::vec(hop, 16))
            .prop_map(|(parents, closed, hops)| Shape::Mesh(parents, closed, hops)),
    ]
}

fn flow() -> impl Strategy<Value = FlowPick> {
    let size = prop_oneof![1u64..2_000, 1_448u64..1_450, 2_000u64..120_000];
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), size, 0u64..40, 1u64..3, 0usize..6, 0usize..3)
        .prop_map(|(from, to, size, start_ms, count, scheme, udp_rate)| FlowPick {
            from,
            to,
            size,
            start_ms,
            count,
            scheme,
            udp_rate,
        })
}

fn fault() -> impl Strategy<Value = FaultPick> {
    (0usize..5, any::<prop::sample::Index>(), 0u64..120, 1u64..200, 0..RATES.len(), 0..DELAYS.len())
        .prop_map(|(what, link, at_ms, for_ms, rate, delay)| FaultPick { what, link, at_ms, for_ms, rate, delay })
}

/// Any scenario.
pub fn scene() -> impl Strategy<Value = Scene> {
    let hop = || (0..RATES.len(), 0..DELAYS.len());
    let rules = (0usize..8, 0..LIMITS.len(), 0usize..4, 0usize..3, 0usize..3, 0..CORRUPTION.len());
    let faults = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(fault(), 1..4)];
    let stop = prop_oneof![1 => Just(None), 1 => (1u64..150).prop_map(Some)];
    (shape(), hop(), hop(), rules, prop::collection::vec(flow(), 1..7), faults, stop, 0u64..1000).prop_map(
        |(shape, link, access, (queue, limit, ecmp, metric, scheme, corruption), flows, faults, stop_ms, seed)| Scene {
            shape,
            link,
            access,
            corruption,
            queue,
            limit,
            ecmp,
            metric,
            scheme,
            flows,
            faults,
            stop_ms,
            seed,
        },
    )
}

impl Scene {
    /// What may wait at a port, as the scenario says it.
    pub fn limit(&self) -> &'static str {
        LIMITS[self.limit]
    }

    pub fn lossless_wires(&self) -> bool {
        self.corruption == 0
    }

    /// Rates that a link has during the run: from when, and what; the first entry is its own.
    pub fn rate_changes(&self, a: &str, b: &str) -> Vec<(f64, f64)> {
        let links = self.links();
        let mut list: Vec<_> = self
            .faults
            .iter()
            .filter(|f| f.what == 2 && f.is_on(&links, a, b))
            .map(|f| (f.at_ms as f64 / 1e3, RATES[f.rate].parse::<midpath_core::units::Rate>().unwrap().as_f64()))
            .collect();
        list.sort_by(|x, y| x.0.total_cmp(&y.0));
        list
    }

    /// Whether the scenario makes any path faster or slower than its topology says.
    pub fn changes_links(&self) -> bool {
        self.faults.iter().any(|f| f.what == 2 || f.what == 3)
    }

    pub fn hosts(&self) -> Vec<String> {
        let named = |c: &str, n: usize| (0..n).map(|i| format!("{c}{i}")).collect::<Vec<_>>();
        let both = |n: usize| [named("s", n), named("d", n)].concat();
        match &self.shape {
            Shape::Dumbbell(n) | Shape::Chain(_, n) => both(*n),
            Shape::ParkingLot(n) => both(n + 1),
            Shape::Star(n) | Shape::Ring(n) | Shape::Waxman(n) => named("h", *n),
            Shape::FatTree => named("h", 16),
            Shape::Mesh(parents, ..) => named("h", parents.len() + 1),
        }
    }

    /// Links that faults may befall, by their ends.
    pub fn links(&self) -> Vec<(String, String)> {
        let link = |a: &str, i: usize, b: &str, j: usize| (format!("{a}{i}"), format!("{b}{j}"));
        let line = |n: usize| (1..n).map(|i| link("r", i - 1, "r", i)).collect::<Vec<_>>();
        match &self.shape {
            Shape::Dumbbell(n) => [line(2), (0..*n).map(|i| link("s", i, "r", 0)).collect()].concat(),
            Shape::Chain(n, p) => [line(*n), (0..*p).map(|i| link("s", i, "r", 0)).collect()].concat(),
            Shape::ParkingLot(n) => [line(n + 1), vec![link("s", 0, "r", 0)]].concat(),
            Shape::Star(n) => (0..*n).map(|i| link("h", i, "r", 0)).collect(),
            Shape::Ring(n) => [line(*n), (0..*n).map(|i| link("h", i, "r", i)).collect()].concat(),
            Shape::FatTree => vec![link("h", 0, "e0.", 0), link("h", 15, "e3.", 1), link("a0.", 0, "c", 0)],
            Shape::Waxman(n) => (0..*n).map(|i| link("h", i, "r", i)).collect(),
            Shape::Mesh(..) => self.mesh().into_iter().map(|(a, b, _)| (a, b)).collect(),
        }
    }

    fn routers(&self) -> Vec<String> {
        let mut all: Vec<String> = self.links().into_iter().map(|(_, b)| b).filter(|n| !n.starts_with('h')).collect();
        all.dedup();
        all
    }

    fn mesh(&self) -> Vec<(String, String, (usize, usize))> {
        let Shape::Mesh(parents, closed, hops) = &self.shape else { return Vec::new() };
        let n = parents.len() + 1;
        let mut links: Vec<(String, String)> = (0..n).map(|i| (format!("h{i}"), format!("r{i}"))).collect();
        links.extend(parents.iter().enumerate().map(|(i, p)| (format!("r{}", p % (i + 1)), format!("r{}", i + 1))));
        let ring = ("r0".to_owned(), format!("r{}", n - 1));
        if *closed && !links.contains(&ring) {
            links.push(ring);
        }
        links.into_iter().enumerate().map(|(i, (a, b))| (a, b, hops[i % hops.len()])).collect()
    }

    /// The scenario's text, with time series or without.
    pub fn text(&self, series: bool) -> String {
        let mut t = format!("seed = {}\nscheme = \"{}\"\n", self.seed, SCHEMES[self.scheme]);
        if let Some(ms) = self.stop_ms {
            writeln!(t, "stop = \"{ms} ms\"").unwrap();
        }
        self.put_topology(&mut t);
        let ecmp = ["flow", "packet", "off", "symmetric"][self.ecmp];
        let metric = ["hops", "weight", "delay"][self.metric];
        writeln!(t, "[routing]\necmp = \"{ecmp}\"\nmetric = \"{metric}\"").unwrap();
        self.put_queue(&mut t);
        self.flows.iter().for_each(|f| f.put(&mut t, &self.hosts()));
        self.faults.iter().for_each(|f| f.put(&mut t, &self.links(), &self.routers()));
        if series {
            // An odd interval and few points, so that series fill up and are halved.
            t.push_str("[measure]\nseries = true\ninterval = \"7 ms\"\npoints = 6\n");
        }
        t
    }

    fn put_topology(&self, t: &mut String) {
        let corruption = CORRUPTION[self.corruption];
        let like = |(rate, delay): (usize, usize)| {
            format!("rate = \"{}\", delay = \"{}\", corruption = \"{corruption}\"", RATES[rate], DELAYS[delay])
        };
        let (link, access) = (like(self.link), like(self.access));
        let hosts = format!("hosts = {{ rate = \"{}\", delay = \"{}\" }}", RATES[self.access.0], DELAYS[self.access.1]);
        let lines = match &self.shape {
            Shape::Dumbbell(n) => {
                format!("generate = \"dumbbell\"\npairs = {n}\nbottleneck = {{ {link} }}\naccess = {{ {access} }}")
            }
            Shape::Chain(n, p) => {
                format!("generate = \"chain\"\nn = {n}\npairs = {p}\nlink = {{ {link} }}\naccess = {{ {access} }}")
            }
            Shape::ParkingLot(n) => {
                format!("generate = \"parking-lot\"\nn = {n}\nlink = {{ {link} }}\naccess = {{ {access} }}")
            }
            Shape::Star(n) => format!("generate = \"star\"\nn = {n}\naccess = {{ {access} }}"),
            Shape::Ring(n) => format!("generate = \"ring\"\nn = {n}\nlink = {{ {link} }}\n{hosts}"),
            Shape::FatTree => format!("generate = \"fat-tree\"\nk = 4\nlink = {{ {link} }}\naccess = {{ {access} }}"),
            Shape::Waxman(n) => {
                format!(
                    "generate = \"waxman\"\nn = {n}\nbeta = 0.9\nlink = {{ rate = \"{}\" }}\n{hosts}",
                    RATES[self.link.0]
                )
            }
            Shape::Mesh(..) => {
                let links = self
                    .mesh()
                    .into_iter()
                    .map(|(a, b, hop)| format!("  {{ a = \"{a}\", b = \"{b}\", {} }},\n", like(hop)));
                format!("links = [\n{}]", links.collect::<String>())
            }
        };
        writeln!(t, "[topology]\n{lines}").unwrap();
    }

    fn put_queue(&self, t: &mut String) {
        let kind = ["drop-tail", "step", "red", "codel", "drr", "pie", "fq", "dualpi2"][self.queue];
        let kind_key = if kind == "fq" { "scheduler" } else { "kind" };
        writeln!(t, "[queue]\n{kind_key} = \"{kind}\"\nlimit = \"{}\"", self.limit()).unwrap();
        if self.seed.is_multiple_of(3) && ["codel", "pie"].contains(&kind) {
            t.push_str("scheduler = \"fq\"\n");
        }
        if kind == "step" {
            t.push_str("threshold = \"2 packets\"\n");
        }
    }
}

impl FlowPick {
    fn put(&self, t: &mut String, hosts: &[String]) {
        let from = self.from.index(hosts.len());
        let to = (from + 1 + self.to.index(hosts.len() - 1)) % hosts.len();
        writeln!(t, "[[flow]]\nfrom = \"{}\"\nto = \"{}\"", hosts[from], hosts[to]).unwrap();
        writeln!(t, "size = \"{} B\"\nstart = \"{} ms\"\ncount = {}", self.size, self.start_ms, self.count).unwrap();
        match self.scheme {
            3 => {}
            s if s < 3 => writeln!(t, "scheme = \"{}\"", SCHEMES[s]).unwrap(),
            _ => writeln!(t, "scheme = \"udp\"\nrate = \"{}\"", UDP_RATES[self.udp_rate]).unwrap(),
        }
    }
}

impl FaultPick {
    fn is_on(&self, links: &[(String, String)], a: &str, b: &str) -> bool {
        let (x, y) = &links[self.link.index(links.len())];
        (x == a && y == b) || (x == b && y == a)
    }

    /// Links that go down come back, once by `until` and once by a fault of its own.
    fn put(&self, t: &mut String, links: &[(String, String)], routers: &[String]) {
        // A chain or dumbbell of one pair and one router still has its access links.
        let (a, b) = &links[self.link.index(links.len())];
        let link = format!("link = [\"{a}\", \"{b}\"]");
        let (at, end) = (self.at_ms, self.at_ms + self.for_ms);
        let what = match self.what {
            0 => format!("kind = \"link-down\"\n{link}\nuntil = \"{end} ms\""),
            1 => format!("kind = \"link-down\"\n{link}\n[[fault]]\nat = \"{end} ms\"\nkind = \"link-up\"\n{link}"),
            2 => format!("kind = \"rate\"\n{link}\nrate = \"{}\"", RATES[self.rate]),
            3 => format!("kind = \"delay\"\n{link}\ndelay = \"{}\"", DELAYS[self.delay]),
            _ => format!("kind = \"restart\"\nnode = \"{}\"", routers[self.link.index(routers.len())]),
        };
        writeln!(t, "[[fault]]\nat = \"{at} ms\"\n{what}").unwrap();
    }
}
