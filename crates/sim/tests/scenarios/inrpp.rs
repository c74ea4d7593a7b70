//! INRPP through the simulator: the paper's dumbbell with a detour, and what must hold on any
//! network.

use std::fmt::Write;

use crate::common::reads::{drops_at, series, texts};
use crate::common::{cases, port, run_plain};
use midpath_sim::{RunOptions, RunOutput};
use proptest::prelude::*;

fn drops(out: &RunOutput) -> u64 {
    drops_at(out, |_| true)
}

/// Any network of routers with a host each, tree and cross links, and flows between hosts.
#[derive(Debug, Clone)]
struct Net {
    parents: Vec<usize>,
    cross: Vec<(usize, usize)>,
    rates: Vec<usize>,
    delays: Vec<usize>,
    flows: Vec<(usize, usize, u64, u64)>,
    seed: u64,
}

const RATES: [u64; 4] = [5, 10, 20, 40];
const DELAYS: [u64; 3] = [1, 2, 5];

fn net() -> impl Strategy<Value = Net> {
    (
        prop::collection::vec(0usize..100, 2..6),
        prop::collection::vec((0usize..100, 0usize..100), 1..5),
        prop::collection::vec(0..RATES.len(), 16),
        prop::collection::vec(0..DELAYS.len(), 16),
        prop::collection::vec((0usize..100, 0usize..100, 1u64..400_000, 0u64..300), 1..8),
        0u64..1000,
    )
        .prop_map(|(parents, cross, rates, delays, flows, seed)| Net {
            parents,
            cross,
            rates,
            delays,
            flows,
            seed,
        })
}

impl Net {
    fn routers(&self) -> usize {
        self.parents.len() + 1
    }

    fn links(&self) -> Vec<(String, String)> {
        let n = self.routers();
        let tree = self.parents.iter().enumerate().map(|(i, p)| (p % (i + 1), i + 1));
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (a, b) in tree.chain(self.cross.iter().map(|(a, b)| (a % n, b % n))) {
            let pair = (a.min(b), a.max(b));
            if a != b && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        let hosts = (0..n).map(|i| (format!("h{i}"), format!("r{i}")));
        pairs.into_iter().map(|(a, b)| (format!("r{a}"), format!("r{b}"))).chain(hosts).collect()
    }

    /// A cache that leaves half of itself for two round trips, with 50 ms of buffer each way, of
    /// all that any router's links can bring in (§IV-E).
    fn room(&self) -> u64 {
        let links = self.links();
        let like = |i: usize| (RATES[self.rates[i % 16]], DELAYS[self.delays[i % 16]]);
        let inflow = |router: &str| -> u64 {
            let at = links.iter().enumerate().filter(|(_, (a, b))| a == router || b == router);
            at.map(|(i, _)| like(i).0).sum()
        };
        let most = (0..self.routers()).map(|r| inflow(&format!("r{r}"))).max().unwrap_or_default();
        let round_trip_ms: u64 = 2 * (0..links.len()).map(|i| like(i).1).sum::<u64>();
        2 * 2 * most * (round_trip_ms + 100) * 1000 / 8
    }

    /// The scenario with these parameters of INRPP and further lines.
    fn text(&self, params: &str, corruption: &str, more: &str) -> String {
        let mut t = format!("scheme = \"inrpp\"\nseed = {}\nstop = \"400 s\"\n[topology]\nlinks = [\n", self.seed);
        for (i, (a, b)) in self.links().iter().enumerate() {
            let (rate, delay) = (RATES[self.rates[i % 16]], DELAYS[self.delays[i % 16]]);
            let like = format!("rate = \"{rate} Mbps\", delay = \"{delay} ms\", corruption = \"{corruption}\"");
            writeln!(t, "  {{ a = \"{a}\", b = \"{b}\", {like} }},").unwrap();
        }
        t.push_str("]\nnodes = [\n");
        (0..self.routers()).for_each(|i| writeln!(t, "  {{ name = \"h{i}\", kind = \"host\" }},").unwrap());
        writeln!(t, "]\n[routing]\necmp = \"off\"\n[schemes.inrpp]\n{params}").unwrap();
        for (from, to, size, start) in &self.flows {
            let n = self.routers();
            let from = from % n;
            let to = (from + 1 + to % (n - 1)) % n;
            writeln!(t, "[[flow]]\nfrom = \"h{from}\"\nto = \"h{to}\"\nsize = \"{size} B\"\nstart = \"{start} ms\"")
                .unwrap();
        }
        // A last byte long after all the others, so that there is a time to look at the silence in
        // between.
        t.push_str("[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1 B\"\nstart = \"390 s\"\n");
        writeln!(t, "[measure]\nseries = true\ninterval = \"500 ms\"\npoints = 800\n{more}").unwrap();
        t
    }
}

/// Every flow has all its bytes, once; nothing waits anywhere; no port is left in backpressure or
/// in closed loop.
fn all_is_well(out: &RunOutput, text: &str) {
    let flows = out.table("flows").unwrap();
    for row in 0..flows.rows() {
        let (size, got) = (flows.f64("size_bytes")[row], flows.u64("delivered_bytes")[row]);
        assert_eq!(got as f64, size, "flow {row} of\n{text}");
        assert!(flows.f64("fct_s")[row].is_finite(), "flow {row} of\n{text}");
    }
    assert_eq!(out.run["invariants"]["stored"], 0, "{text}");
    let table = out.table("series").unwrap();
    let (entities, metrics) = (texts(out, "series", "entity"), texts(out, "series", "metric"));
    let mut looked = 0;
    for row in 0..table.rows() {
        let quiet = ["state", "cache_bytes", "closed_loop", "nonces"].contains(&metrics[row].as_str());
        let silent = (380.0..389.0).contains(&table.f64("time_s")[row]);
        if quiet && silent && entities[row].starts_with("port") {
            looked += 1;
            assert_eq!(table.f64("value")[row], 0.0, "{} of {} in\n{text}", metrics[row], entities[row]);
        }
    }
    assert!(looked > 0, "nobody looked");
}

/// What a cache must be able to take in above S_high: §IV-E, with what the longest way back and
/// forth lets in from all sides.
const ROOMY: &str = "cache = \"4 MB\"\nhigh = \"60 kB\"";

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn custody_loses_nothing(net in net(), detours in 0u8..3) {
        let text = net.text(&format!("{ROOMY}\ndetours = {detours}"), "0 %", "");
        let out = run_plain(&text);
        all_is_well(&out, &text);
        prop_assert_eq!(drops(&out), 0, "{}", text);
        prop_assert_eq!(out.summary("lost_packets"), Some(0.0), "{}", text);
        // A flow learns from the first packets that a detour has delayed by more than a round trip.
        // Without detours it repeats one at most, which asks where ACKs pause for longer than they
        // were apart.
        let in_vain = if detours == 0 { 1.0 } else { 50.0 } * net.flows.len() as f64;
        prop_assert!(out.summary("retransmitted_packets").is_some_and(|n| n <= in_vain), "{}", text);
    }

    #[test]
    fn small_caches_drop_and_flows_still_end(net in net(), kilobytes in 3u64..60, detours in 0u8..2, notify in 0usize..2) {
        let notify = ["acks", "data"][notify];
        let text = net.text(&format!("cache = \"{kilobytes} kB\"\ndetours = {detours}\nnotify = \"{notify}\""), "0 %", "");
        all_is_well(&run_plain(&text), &text);
    }

    #[test]
    fn faults_leave_nothing_stuck(
        net in net(),
        faults in prop::collection::vec((0usize..3, 0usize..100, 0u64..1500, 1u64..800), 1..4),
        corruption in 0usize..3,
        detours in 0u8..3,
    ) {
        let links = net.links();
        let mut more = String::new();
        for (what, which, at, lasts) in &faults {
            let (a, b) = &links[which % links.len()];
            let what = match what {
                0 => format!("kind = \"restart\"\nnode = \"r{}\"", which % net.routers()),
                _ => format!("kind = \"link-down\"\nlink = [\"{a}\", \"{b}\"]\nuntil = \"{} ms\"", at + lasts),
            };
            writeln!(more, "[[fault]]\nat = \"{at} ms\"\n{what}").unwrap();
        }
        let params = format!("cache = \"400 kB\"\nhigh = \"60 kB\"\ndetours = {detours}");
        let text = net.text(&params, ["0 %", "0.1 %", "2 %"][corruption], &more);
        all_is_well(&run_plain(&text), &text);
    }

    #[test]
    #[ignore = "nightly"]
    fn threads_change_nothing(net in net(), detours in 0u8..3) {
        let text = net.text(&format!("{ROOMY}\ndetours = {detours}"), "0.5 %", "");
        let with = |threads| crate::common::run(&text, &RunOptions { threads, ..RunOptions::default() }).repeatable();
        let one = with(1);
        prop_assert_eq!(&one, &with(2));
        prop_assert_eq!(&one, &with(3));
    }
}

proptest! {
    #![proptest_config(cases(20))]

    /// The paper's promise, without a threshold set by hand: flows without end offer far more than
    /// caches hold, which have what §IV-E asks for above S_high.
    #[test]
    fn custody_loses_nothing_however_much_is_offered(net in net().prop_filter("a flow", |n| !n.flows.is_empty()), detours in 0u8..3) {
        let text = net.text(&format!("cache = \"{} B\"\ndetours = {detours}", net.room()), "0 %", "");
        let endless = text.lines().filter(|l| !l.starts_with("size = ")).collect::<Vec<_>>().join("\n");
        let text = endless.replace("stop = \"400 s\"", "stop = \"8 s\"");
        let out = run_plain(&text);
        prop_assert_eq!(drops(&out), 0, "{}", text);
        prop_assert_eq!(out.summary("lost_packets"), Some(0.0), "{}", text);
        prop_assert_eq!(&out.run["warnings"], &serde_json::json!([]), "{}", text);
    }
}

/// Figure 8: a core of three routers with links of 10 Mbps, 40 Mbps to the hosts, and more than
/// that between.
fn dumbbell(params: &str, flows: &str) -> String {
    let mut t = "scheme = \"inrpp\"\nstop = \"60 s\"\n[topology]\nlinks = [\n".to_owned();
    for (a, b, rate) in [("r0", "r1", 10), ("r0", "r2", 10), ("r1", "r2", 10), ("r4", "r0", 100), ("r2", "r3", 100)] {
        writeln!(t, "{{ a = \"{a}\", b = \"{b}\", rate = \"{rate} Mbps\", delay = \"5 ms\" }},").unwrap();
    }
    for i in 0..3 {
        for (host, router) in [("s", "r4"), ("d", "r3")] {
            writeln!(t, "{{ a = \"{host}{i}\", b = \"{router}\", rate = \"40 Mbps\", delay = \"5 ms\" }},").unwrap();
        }
    }
    t.push_str("]\nnodes = [\n");
    for i in 0..3 {
        writeln!(t, "{{ name = \"s{i}\", kind = \"host\" }}, {{ name = \"d{i}\", kind = \"host\" }},").unwrap();
    }
    writeln!(t, "]\n[routing]\necmp = \"off\"\n[schemes.inrpp]\n{params}\n{flows}").unwrap();
    t
}

/// The three flows of §IV-A: 10 MB each, one second apart.
fn three() -> String {
    let flow =
        |i: u64| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"10 MB\"\nstart = \"{} s\"\n", i + 1);
    (0..3).map(flow).collect()
}

const SMALL: &str = "cache = \"1.25 MB\"\nhigh = \"1 MB\"";

/// Bytes on the wire for each of payload: IPv4, TCP, timestamps and INRPP's option in packets of
/// 1500 bytes.
const WIRE: f64 = 1500.0 / (1500.0 - 52.0 - 16.0);

#[test]
fn table_v_comes_close_to_the_pooled_bound() {
    let out = run_plain(&dumbbell(SMALL, &three()));
    // Processor sharing of 20 Mbps: 9.5, 10.5 and 10 s.
    let bound = 10.0 * WIRE;
    let afct = out.summary("afct_s").unwrap();
    assert!(afct > bound && afct < 1.06 * bound, "{afct} against {bound}");
    assert!(out.summary("jain_goodput").unwrap() > 0.99);
    assert_eq!((drops(&out), out.summary("retransmitted_packets")), (0, Some(0.0)));
}

#[test]
fn without_detours_it_is_the_single_link() {
    let out = run_plain(&dumbbell(&format!("{SMALL}\ndetours = 0"), &three()));
    let (afct, bound) = (out.summary("afct_s").unwrap(), 22.0 * WIRE);
    assert!(afct > bound && afct < 1.02 * bound, "{afct} against {bound}");
    assert_eq!(drops(&out), 0);
    let border = run_plain(&dumbbell(&format!("{SMALL}\nno_detours_at = [\"r0\"]"), &three()));
    assert_eq!(border.summary("afct_s"), Some(afct), "at a border there are none either");
}

#[test]
fn without_backpressure_caches_overflow() {
    let out = run_plain(&dumbbell(&format!("{SMALL}\nbackpressure = false"), &three()));
    assert!(drops(&out) > 1000, "{}", drops(&out));
    let text = dumbbell(&format!("{SMALL}\nno_detours_at = [\"r9\"]"), &three());
    let error = midpath_sim::run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true).err();
    assert!(error.is_some_and(|e| e.to_string().contains("r9")));
}

/// What a run of the paper's three flows warns of with these parameters, and its error if it is
/// refused.
fn warned(params: &str) -> Result<Vec<String>, String> {
    let text = dumbbell(params, &three());
    let out = midpath_sim::run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true);
    let run = out.map_err(|e| e.to_string())?.expect("not cancelled").run;
    let said = run["warnings"].as_array().expect("a list").iter();
    Ok(said.map(|w| w["message"].as_str().expect("a text").to_owned()).collect())
}

#[test]
fn caches_that_cannot_work_are_refused_or_warned_of() {
    assert_eq!(warned("cache = \"4 MB\""), Ok(vec![]));
    for (params, key) in [("cache = \"0 B\"", "cache"), ("cache = \"1 MB\"\nhigh = \"2 MB\"", "high")] {
        let error = warned(params).unwrap_err();
        assert!(error.contains(&format!("schemes.inrpp.{key}")), "{error}");
    }
    for (params, what) in [
        ("cache = \"30 kB\"", "smaller than RTT"),
        ("cache = \"1 MB\"\nhigh = \"990 kB\"", "less than RTT"),
        ("cache = \"1 MB\"\nhigh = \"5 s\"", "above `cache`"),
        ("cache = \"1 MB\"\nbackpressure = false", "because the cache was full"),
    ] {
        let said = warned(params).expect("it runs");
        assert!(said.iter().any(|s| s.contains(what)), "{params}: {said:?}");
    }
}

/// A line of four routers whose last link is slow.
const LINE: &str = r#"
scheme = "inrpp"
stop = "2 s"
[topology]
links = [
  { a = "h0", b = "r0", rate = "100 Mbps", delay = "2 ms" },
  { a = "r0", b = "r1", rate = "100 Mbps", delay = "2 ms" },
  { a = "r1", b = "r2", rate = "100 Mbps", delay = "2 ms" },
  { a = "r2", b = "r3", rate = "10 Mbps", delay = "2 ms" },
  { a = "r3", b = "h1", rate = "100 Mbps", delay = "2 ms" },
]
nodes = [{ name = "h0", kind = "host" }, { name = "h1", kind = "host" }]
[schemes.inrpp]
cache = "1.5 MB"
high = "1 MB"
[[flow]]
from = "h0"
to = "h1"
[measure]
series = true
interval = "10 ms"
"#;

#[test]
fn the_loop_closes_hop_by_hop_as_caches_fill() {
    let out = run_plain(LINE);
    let first = |port: &str, metric: &str, value: f64| {
        let found = series(&out, port, metric).into_iter().find(|(_, v)| *v >= value);
        found.unwrap_or_else(|| panic!("{port} never has {metric} of {value}")).0
    };
    // Figure 5: A, B, C.
    let pressed = ["port:r2>r3", "port:r1>r2", "port:r0>r1"].map(|p| first(p, "state", 2.0));
    let closed = ["port:r1>r2", "port:r0>r1", "flow:0"].map(|p| first(p, "closed_loop", 1.0));
    for hop in 0..3 {
        let after = closed[hop] - pressed[hop];
        assert!((0.0..=0.02).contains(&after), "hop {hop}: pressed at {}, closed at {}", pressed[hop], closed[hop]);
    }
    assert!(
        closed[0] < pressed[1] && closed[1] < pressed[2],
        "only when its own cache is full: {pressed:?} {closed:?}"
    );
    // Fig. 12: the caches are held at S_high from then on, and the bottleneck stays busy.
    for p in ["port:r2>r3", "port:r1>r2", "port:r0>r1"] {
        let late = series(&out, p, "cache_bytes").into_iter().filter(|(t, _)| *t > 0.6);
        assert!(late.into_iter().all(|(_, s)| (950e3..1_010e3).contains(&s)), "{p}");
    }
    assert_eq!(drops(&out), 0);
    assert!(out.table("ports").unwrap().f64("utilisation")[port(&out, "r2", "r3")] > 0.98);
}

/// Figure 6: r2 and r3 detour to r4 through r1.
const SHARED: &str = r#"
scheme = "inrpp"
stop = "16 s"
[topology]
links = [
  { a = "r2", b = "r4", rate = "10 Mbps", delay = "2 ms" },
  { a = "r3", b = "r4", rate = "10 Mbps", delay = "2 ms" },
  { a = "r1", b = "r4", rate = "10 Mbps", delay = "2 ms" },
  { a = "r2", b = "r1", rate = "10 Mbps", delay = "2 ms" },
  { a = "r3", b = "r1", rate = "10 Mbps", delay = "2 ms" },
  { a = "a", b = "r2", rate = "100 Mbps", delay = "1 ms" },
  { a = "b", b = "r3", rate = "100 Mbps", delay = "1 ms" },
  { a = "c", b = "r4", rate = "1 Gbps", delay = "1 ms" },
]
nodes = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }, { name = "c", kind = "host" }]
[routing]
ecmp = "off"
[schemes.inrpp]
cache = "4 MB"
high = "1 MB"
[[flow]]
from = "a"
to = "c"
[[flow]]
from = "b"
to = "c"
start = "5 s"
[measure]
series = true
interval = "250 ms"
"#;

#[test]
fn two_routers_share_a_detour_equally_and_steadily() {
    let out = run_plain(SHARED);
    let rates = ["port:r2>r4", "port:r3>r4"].map(|p| series(&out, p, "detour_rate"));
    let mean = |from: f64, to: f64, i: usize| {
        let v: Vec<f64> = rates[i].iter().filter(|(t, _)| (from..to).contains(t)).map(|r| r.1).collect();
        v.iter().sum::<f64>() / v.len() as f64
    };
    assert!(mean(2.0, 5.0, 0) > 9.5e6, "alone it has all: {}", mean(2.0, 5.0, 0));
    for (i, rates) in rates.iter().enumerate() {
        assert!((mean(9.0, 16.0, i) / 5e6 - 1.0).abs() < 0.03, "{}", mean(9.0, 16.0, i));
        let late = rates.iter().filter(|(t, _)| *t > 9.0);
        late.for_each(|(t, r)| assert!((r / 5e6 - 1.0).abs() < 0.15, "router {i} at {t}: {r}"));
    }
    assert_eq!(drops(&out), 0);
}

#[test]
fn a_detour_over_two_routers_is_a_choice() {
    let square = |detours: u8| {
        let t = SHARED[..SHARED.find("links").unwrap()].to_owned();
        let t = t.replace("16 s", "40 s");
        let links = [
            ("r0", "r1", 10),
            ("r0", "r3", 10),
            ("r3", "r2", 10),
            ("r2", "r1", 10),
            ("h0", "r0", 100),
            ("h1", "r1", 100),
        ];
        let links: String = links
            .iter()
            .map(|(a, b, rate)| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate} Mbps\", delay = \"1 ms\" }},\n"))
            .collect();
        let nodes = "nodes = [{ name = \"h0\", kind = \"host\" }, { name = \"h1\", kind = \"host\" }]";
        let rest = "[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"10 MB\"";
        run_plain(&format!("{t}links = [\n{links}]\n{nodes}\n[schemes.inrpp]\ndetours = {detours}\n{rest}\n"))
    };
    let fct = |detours| square(detours).summary("afct_s").unwrap();
    let (paper, two) = (fct(1), fct(2));
    assert!((paper / (8.0 * WIRE) - 1.0).abs() < 0.02, "no detour of one hop: {paper}");
    assert!((two / (4.0 * WIRE) - 1.0).abs() < 0.1, "20 Mbps over both ways: {two}");
}

#[test]
fn tcp_keeps_its_half_beside_inrpp() {
    // Figure 19, shortened: 20 and 20 flows.
    let mut flows = String::new();
    for i in 0..20 {
        let (host, start) = (i % 3, 100 * i);
        writeln!(flows, "[[flow]]\nfrom = \"s{host}\"\nto = \"d{host}\"\nstart = \"{start} ms\"").unwrap();
        writeln!(flows, "[[flow]]\nfrom = \"s{host}\"\nto = \"d{host}\"\nstart = \"{start} ms\"\nscheme = \"newreno\"")
            .unwrap();
    }
    let out = run_plain(&dumbbell("", &flows));
    let (flows, schemes) = (out.table("flows").unwrap(), texts(&out, "flows", "scheme"));
    let sum = |scheme: &str| {
        let rows = (0..flows.rows()).filter(|r| schemes[*r] == scheme);
        rows.map(|r| flows.u64("delivered_bytes")[r] as f64 * 8.0 / 60.0).sum::<f64>()
    };
    let (inrpp, tcp) = (sum("inrpp"), sum("newreno"));
    assert!((4.0e6..5.5e6).contains(&tcp), "half of the bottleneck: {tcp}");
    assert!((13.0e6..15.0e6).contains(&inrpp), "the other half and the detour: {inrpp}");
}

/// Links whose two directions were not both used.
fn one_way(out: &RunOutput) -> usize {
    let (nodes, peers) = (texts(out, "ports", "node"), texts(out, "ports", "peer"));
    let packets = out.table("ports").unwrap().u64("packets").to_vec();
    let used: Vec<_> = (0..nodes.len()).filter(|r| packets[*r] > 0).map(|r| (&nodes[r], &peers[r])).collect();
    used.iter().filter(|(a, b)| !used.contains(&(*b, *a))).count()
}

/// The same in runs of one flow each over a fat-tree with four ways between most pairs.
fn one_way_links(scheme: &str) -> usize {
    let run = |(i, to): (usize, usize)| {
        let text = format!(
            "scheme = \"{scheme}\"\nseed = {i}\nstop = \"5 s\"\n[topology]\ngenerate = \"fat-tree\"\nk = 4\nlink = {{ rate = \"10 Mbps\", delay = \"1 ms\" }}\n\
             [[flow]]\nfrom = \"h{i}\"\nto = \"h{}\"\nsize = \"100 kB\"\n",
            (i + to) % 16
        );
        one_way(&run_plain(&text))
    };
    (4..16).enumerate().map(run).sum()
}

#[test]
fn acks_come_back_the_way_their_data_went() {
    assert_eq!(one_way_links("inrpp"), 0);
    assert!(one_way_links("newreno") > 0, "others' ACKs choose for themselves, else this shows nothing");
}

/// Two ways between r2 and r4, and the first of r2's ports leads over the other router than the
/// first of r4's.
#[test]
fn so_they_do_where_the_first_way_is_taken() {
    let links = [("r1", "r2"), ("r0", "r4"), ("r0", "r2"), ("r1", "r4"), ("h2", "r2"), ("h4", "r4")];
    let links = links.map(|(a, b)| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"10 Mbps\", delay = \"1 ms\" }},\n"));
    let found = ["inrpp", "newreno"].map(|scheme| {
        one_way(&run_plain(&format!(
            "scheme = \"{scheme}\"\nstop = \"5 s\"\n[topology]\nlinks = [\n{}]\n\
             nodes = [{{ name = \"h2\", kind = \"host\" }}, {{ name = \"h4\", kind = \"host\" }}]\n[routing]\necmp = \"off\"\n\
             [[flow]]\nfrom = \"h2\"\nto = \"h4\"\nsize = \"100 kB\"\n",
            links.concat()
        )))
    });
    assert_eq!(found, [0, 4], "four links carry data or ACKs alone, unless ACKs are sent back");
}
