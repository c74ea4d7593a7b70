//! From scenario text to flows.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use midpath_traffic::{
    Context, ExplicitFlow, Flow, FlowList, FlowMemoryBudget, Host, HostTable, LinkRates, MAX_FLOWS, Seed, Specs,
    WorkloadSpec,
};
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;

fn generate(flow: &[ExplicitFlow], workload: &[WorkloadSpec], cx: &Context<'_>) -> Result<FlowList, SpecError> {
    midpath_traffic::generate(&Specs { flow, workload, ..Specs::default() }, cx)
}

/// Hosts h0, h1, … at nodes 10, 11, …, with 1 Gbps each.
fn hosts(n: u32) -> HostTable {
    HostTable::new((0..n).map(|i| Host::new(format!("h{i}"), 10 + i, Rate::from_gbps(1))))
}

/// One link, r0 to r1, of 10 Mbps.
struct OneLink;
impl LinkRates for OneLink {
    fn link_rate(&self, from: &str, to: &str) -> Option<Rate> {
        (from == "r0" && to == "r1").then(|| Rate::from_mbps(10))
    }
}

fn context<'a>(hosts: &'a HostTable, folder: &'a Path, seed: &'a Seed) -> Context<'a> {
    Context {
        hosts,
        links: &OneLink,
        files: folder.into(),
        seed,
        horizon: None,
        room: FlowMemoryBudget::of(10_000_000_000, 200, 200),
        constant_rate: "udp",
        reads: &|_, _| Ok(()),
    }
}

fn workload(value: serde_json::Value) -> WorkloadSpec {
    serde_json::from_value(value).expect("a workload")
}

fn flows(workloads: &[WorkloadSpec], seed: u64) -> FlowList {
    let hosts = hosts(8);
    generate(&[], workloads, &context(&hosts, Path::new(""), &seed.into())).expect("valid")
}

fn web(load: &str) -> WorkloadSpec {
    workload(json!({
        "arrivals": { "kind": "poisson", "load": load, "load_of": "link:r0>r1" },
        "sizes": { "kind": "exponential", "mean": "10 kB" },
        "duration": "500 s",
    }))
}

#[test]
fn an_offered_load_is_what_is_offered() {
    // λ = 0.6 · 10 Mbps / (8 · 10 kB) = 75 per second: 37,500 flows in 500 s, 3·10⁹ bits.
    let flows = flows(&[web("60 %")], 1);
    let n = flows.len() as f64;
    assert!((n - 37_500.0).abs() < 4.0 * 37_500f64.sqrt(), "{n}");
    let bits: f64 = flows.iter().filter_map(|f| f.size).map(|s| s.as_f64() * 8.0).sum();
    assert!((bits / 3e9 - 1.0).abs() < 4.0 * (2.0 / 37_500f64).sqrt(), "{bits}");
    assert!(flows.iter().is_sorted_by_key(|f| f.start) && flows.iter().all(|f| f.start < Time::from_secs(500)));
    assert!(flows.iter().all(|f| f.src != f.dst && f.group() == "workload0"));
}

/// A million flows of a workload have one set of terms between them, and each workload its own.
#[test]
fn the_flows_of_a_workload_share_their_terms() {
    let mut dctcp = web("60 %");
    dctcp.scheme = Some("dctcp".into());
    let flows = flows(&[web("60 %"), dctcp], 1);
    let of = |scheme: Option<&str>| flows.iter().filter(|f| f.scheme.as_deref() == scheme).collect::<Vec<Flow<'_>>>();
    for flows in [of(None), of(Some("dctcp"))] {
        assert!(flows.len() > 30_000);
        assert!(flows.iter().all(|f| std::ptr::eq(f.terms, flows[0].terms)));
    }
}

#[test]
fn the_times_between_poisson_arrivals_are_exponential() {
    let flows = flows(&[web("60 %")], 2);
    let starts: Vec<Time> = flows.iter().map(|f| f.start).collect();
    let mut gaps: Vec<f64> = starts.windows(2).map(|w| (w[1] - w[0]).as_secs_f64()).collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let off = |(i, gap): (usize, &f64)| ((i as f64 + 0.5) / n - (1.0 - (-75.0 * gap).exp())).abs();
    let distance = gaps.iter().enumerate().map(off).fold(0.0, f64::max);
    assert!(distance < 1.95 / n.sqrt(), "{distance}");
}

#[test]
fn capacities_that_a_load_refers_to() {
    let count = |load_of: Option<&str>, matrix: serde_json::Value| {
        let mut arrivals = json!({ "kind": "poisson", "load": "10 %" });
        load_of.into_iter().for_each(|of| arrivals["load_of"] = of.into());
        let sizes = json!({ "kind": "fixed", "size": "1 MB" });
        let spec = json!({ "arrivals": arrivals, "sizes": sizes, "matrix": matrix, "duration": "10 s" });
        flows(&[workload(spec)], 1).len() as f64
    };
    // 8 hosts of 1 Gbps: 0.1 · 8 Gbps / 8 Mbit = 100 per second. Incast from 7: 87.5; to one
    // receiver: 12.5.
    let incast = json!({ "kind": "incast", "to": "h0" });
    for (of, matrix, wanted) in [
        (None, json!({ "kind": "all-to-all" }), 1000.0),
        (Some("hosts"), json!({ "kind": "permutation" }), 1000.0),
        (Some("hosts"), incast.clone(), 875.0),
        (Some("receivers"), incast, 125.0),
        (Some("160 Mbps"), json!({ "kind": "all-to-all" }), 20.0),
    ] {
        let got = count(of, matrix.clone());
        assert!((got - wanted).abs() < 4.0 * f64::sqrt(wanted), "{of:?} {matrix}: {got} instead of {wanted}");
    }
}

#[test]
fn rounds_start_every_pair_at_once() {
    let query = json!({
        "arrivals": { "kind": "poisson", "rate_per_s": 10.0, "rounds": true },
        "sizes": { "kind": "fixed", "size": "20 kB" },
        "matrix": { "kind": "incast", "to": "h7", "senders": 5 },
        "flows": 50,
    });
    let flows = flows(&[workload(query)], 3);
    let flows: Vec<Flow<'_>> = flows.iter().collect();
    assert_eq!(flows.len(), 50);
    assert!(flows.chunks(5).all(|c| c.iter().all(|f| f.start == c[0].start && f.dst == 17)));
}

#[test]
fn once_and_periodic() {
    let spec = |arrivals: serde_json::Value| {
        let sizes = json!({ "kind": "fixed", "size": "20 MB" });
        workload(json!({ "arrivals": arrivals, "sizes": sizes, "matrix": { "kind": "permutation" }, "until": "1 s" }))
    };
    assert_eq!(flows(&[spec(json!({ "kind": "once" }))], 1).len(), 8);
    let periodic = flows(&[spec(json!({ "kind": "periodic", "interval": "300 ms", "jitter": "10 ms" }))], 1);
    assert_eq!(periodic.len(), 32);
    let phase = |f: Flow<'_>| f.start.0 % Time::from_ms(300).0;
    assert!(periodic.iter().all(|f| phase(f) <= Time::from_ms(10).0));
}

#[test]
fn ppbp_bursts_have_the_load_and_the_tail_asked_for() {
    let spec = workload(json!({
        "arrivals": { "kind": "ppbp", "load": "50 %", "load_of": "10 Mbps", "hurst": 0.75, "mean_burst": "200 ms",
                      "burst_rate": "100 kbps" },
        "duration": "800 s",
    }));
    // A burst brings 20 kbit on average: 250 per second.
    let flows = flows(&[spec], 5);
    assert!((flows.len() as f64 - 200_000.0).abs() < 4.0 * 200_000f64.sqrt());
    assert!(flows.iter().all(|f| f.rate == Some(Rate(100_000))));
    // Durations are Pareto of shape 3 − 2H = 1.5, least 200/3 ms: 1/e of them last longer than
    // e^(1/1.5) times that.
    let seconds = |f: &Flow<'_>| f.size.map_or(0.0, |s| s.as_f64() * 8.0 / 1e5);
    let longer = flows.iter().filter(|f| seconds(f) > 0.2 / 3.0 * (1.0f64 / 1.5).exp()).count() as f64;
    assert!((longer / flows.len() as f64 - (-1.0f64).exp()).abs() < 0.005);
}

#[test]
fn a_seed_repeats_and_workloads_do_not_disturb_each_other() {
    let (first, second) = (web("30 %"), web("20 %"));
    let alone = flows(std::slice::from_ref(&first), 7);
    assert_eq!(alone, flows(std::slice::from_ref(&first), 7));
    assert_ne!(alone, flows(std::slice::from_ref(&first), 8));
    let both = flows(&[first, second.clone()], 7);
    let what = |f: Flow<'_>| (f.src, f.dst, f.size, f.start, f.stop, f.terms.clone());
    let of_first: Vec<_> = both.iter().filter(|f| f.group() == "workload0").map(what).collect();
    assert_eq!(alone.iter().map(what).collect::<Vec<_>>(), of_first);
    // Other sizes of the same mean: the same arrivals between the same hosts.
    let mut fixed = second.clone();
    fixed.sizes = Some(serde_json::from_value(json!({ "kind": "fixed", "size": "10 kB" })).expect("sizes"));
    let frame = |flows: FlowList| flows.iter().map(|f| (f.start, f.src, f.dst)).collect::<Vec<_>>();
    assert_eq!(frame(flows(&[second], 7)), frame(flows(&[fixed], 7)));
}

#[test]
fn explicit_flows() {
    let hosts = hosts(4);
    let list: Vec<ExplicitFlow> = serde_json::from_value(json!([
        { "from": "h0", "to": "h3", "size": "10 MB", "start": "1 s", "scheme": "dctcp", "group": "video" },
        { "from": "h1", "to": "12", "start": "1 s", "stop": "9 s", "count": 3, "rate": "1 Mbps", "jitter": "10 ms" },
    ]))
    .expect("flows");
    let flows = generate(&list, &[], &context(&hosts, Path::new(""), &1.into())).expect("valid");
    let flows: Vec<Flow<'_>> = flows.iter().collect();
    assert_eq!(flows.len(), 4);
    assert_eq!((flows[0].src, flows[0].dst, flows[0].size), (10, 13, Some(Bytes(10_000_000))));
    assert_eq!((flows[0].scheme.as_deref(), flows[0].group()), (Some("dctcp"), "video"));
    let late = |f: &Flow<'_>| f.start > Time::from_secs(1) && f.start <= Time::from_ms(1010);
    assert!(flows[1..].iter().all(|f| late(f) && f.dst == 12 && f.rate == Some(Rate::from_mbps(1))));
    assert!(flows[1].start != flows[2].start && flows[1].group() == "flows");
}

#[test]
fn the_horizon_ends_open_workloads() {
    let hosts = hosts(3);
    let mut spec = web("10 %");
    spec.duration = None;
    let seed = 1.into();
    let cx = context(&hosts, Path::new(""), &seed);
    let refused = generate(&[], std::slice::from_ref(&spec), &cx).expect_err("no end");
    assert_eq!(refused.key, "workload[0].flows");
    let cx = Context { horizon: Some(Time::from_secs(5)), ..cx };
    let flows = generate(&[], &[spec], &cx).expect("an end");
    assert!(flows.len() > 20 && flows.iter().all(|f| f.start < Time::from_secs(5)));
}

#[test]
fn lists_come_from_files() {
    let dir = std::env::temp_dir().join(format!("midpath-traffic-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    std::fs::write(dir.join("a.csv"), "src,dst,size,start,scheme,group\nh1,h0,1 MB,2,cubic,x\nh0,h1,5,1 ms,,\n")
        .expect("written");
    std::fs::write(dir.join("b.txt"), "2\n10 11 3 100 5000 0.5\n12 10 3 101 70 0.25\n").expect("written");
    std::fs::write(dir.join("c.txt"), "1\n10 99 3 100 5000 0.5\n").expect("written");
    let hosts = hosts(3);
    let list = |file: &str| workload(json!({ "list": { "file": file }, "start": "1 s", "scheme": "dctcp" }));
    let seed = 1.into();
    let cx = context(&hosts, &dir, &seed);
    let flows = generate(&[], &[list("a.csv"), list("b.txt")], &cx).expect("valid");
    let noted = |n: usize| flows.notes()[n].as_str();
    assert!(
        noted(0).starts_with("workload[0].list: a.csv: line 3 starts at 1.001 s, before line 2 at 3 s"),
        "{}",
        noted(0)
    );
    assert!(noted(1).starts_with("workload[1].list: b.txt: line 3") && flows.notes().len() == 2);
    let flows: Vec<Flow<'_>> = flows.iter().collect();
    let starts: Vec<Time> = flows.iter().map(|f| f.start).collect();
    assert_eq!(starts, [1001, 1250, 1500, 3000].map(Time::from_ms));
    assert_eq!((flows[0].scheme.as_deref(), flows[0].group()), (Some("dctcp"), "workload0"));
    assert_eq!((flows[3].scheme.as_deref(), flows[3].group()), (Some("cubic"), "x"));
    assert_eq!((flows[1].src, flows[1].dst), (12, 10));
    let e = generate(&[], &[list("c.txt")], &cx).expect_err("no node 99");
    assert!(e.key == "workload[0].list.file" && e.message.contains("c.txt: line 2: there is no host `99`"), "{e}");
    let e = generate(&[], &[list("d.txt")], &cx).expect_err("no file");
    assert!(e.message.starts_with("d.txt: "), "{e}");
    std::fs::remove_dir_all(dir).expect("removed");
}

/// The numbers of htsim's hosts count them, whatever their nodes are numbered: here 10, 11, ….
#[test]
fn the_hosts_of_a_connection_matrix_are_counted() {
    let dir = std::env::temp_dir().join(format!("midpath-connections-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let matrix = |nodes: u32, to: u32| format!("Nodes {nodes}\nConnections 1\n0->{to} id 1 start 2000000 size 0\n");
    std::fs::write(dir.join("a.cm"), matrix(12, 2)).expect("written");
    std::fs::write(dir.join("b.txt"), matrix(12, 11)).expect("written");
    let hosts = hosts(3);
    let read =
        |file: &str| generate(&[], &[workload(json!({ "list": { "file": file } }))], &context(&hosts, &dir, &1.into()));
    let flows = read("a.cm").expect("valid");
    let found: Vec<_> = flows.iter().map(|f| (f.src, f.dst, f.size, f.start)).collect();
    assert_eq!(found, [(10, 12, None, Time::from_us(2))]);
    let e = read("b.txt").expect_err("a node 11, and no twelfth host");
    assert!(e.message.contains("line 3: host 11, counted from 0; the network has 3 hosts"), "{e}");
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn errors_name_the_key_and_what_would_do() {
    let poisson = json!({ "kind": "poisson", "rate_per_s": 10.0 });
    let size = json!({ "kind": "fixed", "size": "1 MB" });
    let case = |key: &str, value: serde_json::Value| {
        let mut spec = json!({ "arrivals": poisson, "sizes": size, "flows": 5 });
        spec[key] = value;
        spec
    };
    for (spec, key, message) in [
        (case("sizes", json!({ "kind": "pareto", "mean": "1 MB", "shape": 1.0 })), "sizes.shape", "above 1"),
        (case("sizes", json!({ "kind": "cdf", "name": "websearch" })), "sizes.name", "did you mean `web-search`"),
        (case("sizes", json!({ "kind": "cdf" })), "sizes.name", "exactly one"),
        (case("sizes", serde_json::Value::Null), "sizes", "fixed"),
        (case("matrix", json!({ "kind": "incast", "to": "g0" })), "matrix.to", "there are `h0`"),
        (case("hosts", json!(["h0", "x*"])), "hosts[1]", "x*"),
        (case("arrivals", json!({ "kind": "poisson" })), "arrivals.rate_per_s", "exactly one"),
        (
            case("arrivals", json!({ "kind": "poisson", "load": "10 %", "load_of": "host" })),
            "arrivals.load_of",
            "hosts",
        ),
        (
            case("arrivals", json!({ "kind": "poisson", "load": "10 %", "load_of": "link:r1>r0" })),
            "arrivals.load_of",
            "r1",
        ),
        (case("arrivals", json!({ "kind": "poisson", "load": "0 %" })), "arrivals.load", "above 0"),
        (case("arrivals", serde_json::Value::Null), "arrivals", "exactly one"),
        (case("until", json!("0 s")), "until", "before"),
        (case("flows", json!(60_000_000)), "flows", "each needs 200 B"),
        (case("flows", json!(0)), "flows", "at least 1"),
    ] {
        let hosts = hosts(4);
        let e = generate(&[], &[workload(spec.clone())], &context(&hosts, Path::new(""), &1.into())).expect_err(key);
        assert!(e.key == format!("workload[0].{key}") && e.message.contains(message), "{spec}: {e}");
    }
    for (flow, key) in [
        (json!({ "from": "h0", "to": "h9" }), "to"),
        (json!({ "from": "h0", "to": "h0" }), "to"),
        (json!({ "from": "h0", "to": "h1", "size": "0 B" }), "size"),
        (json!({ "from": "h0", "to": "h1", "count": MAX_FLOWS + 1 }), "count"),
        (json!({ "from": "h0", "to": "h1", "start": "1 s", "stop": "1 s" }), "stop"),
    ] {
        let hosts = hosts(4);
        let flow: ExplicitFlow = serde_json::from_value(flow).expect("a flow");
        let e = generate(&[flow], &[], &context(&hosts, Path::new(""), &1.into())).expect_err(key);
        assert_eq!(e.key, format!("flow[0].{key}"));
    }
    assert!(serde_json::from_value::<WorkloadSpec>(json!({ "arivals": poisson })).is_err());
    let typo = json!({ "arrivals": { "kind": "poisson", "rate": 1.0 } });
    assert!(serde_json::from_value::<WorkloadSpec>(typo).is_err());
}

#[test]
fn unknown_fields_are_refused_in_every_kind() {
    for (key, table) in [
        ("matrix", json!({ "kind": "all-to-all", "x": 1 })),
        ("matrix", json!({ "kind": "permutation", "x": 1 })),
        ("matrix", json!({ "kind": "incast", "to": "h0", "x": 1 })),
        ("sizes", json!({ "kind": "fixed", "size": "1 B", "x": 1 })),
        ("arrivals", json!({ "kind": "once", "x": 1 })),
        ("list", json!({ "file": "a", "x": 1 })),
    ] {
        assert!(serde_json::from_value::<WorkloadSpec>(json!({ key: table })).is_err(), "{table}");
    }
}

#[test]
fn the_schema_describes_every_kind() {
    let schema = serde_json::to_string(&schemars::schema_for!(WorkloadSpec)).expect("JSON");
    for kind in
        ["poisson", "ppbp", "periodic", "once", "permutation", "incast", "gravity", "bounded-pareto", "cdf", "hpcc"]
    {
        assert!(schema.contains(&format!("\"{kind}\"")), "{kind}");
    }
}

#[test]
fn a_round_of_too_many_pairs_is_refused_before_it_is_drawn() {
    let hosts = hosts(8000);
    let mut spec = web("1 %");
    spec.arrivals = serde_json::from_value(json!({ "kind": "once" })).ok();
    let e = generate(&[], &[spec], &context(&hosts, Path::new(""), &1.into())).expect_err("64 million pairs");
    assert_eq!(e.key, "workload[0].matrix");
}

#[test]
fn numbers_without_sense_are_refused_not_looped_over() {
    let hosts = hosts(4);
    for (rate, flows) in [(1e300, None), (1e300, Some(3)), (1e-300, Some(3)), (f64::MAX, Some(5))] {
        let mut spec = web("1 %");
        spec.arrivals = serde_json::from_value(json!({ "kind": "poisson", "rate_per_s": rate })).ok();
        spec.flows = flows;
        spec.duration = flows.is_none().then(|| Time::from_secs(1));
        // Either flows, at most as many as asked for, or an error; never a panic or an endless
        // loop.
        if let Ok(flows) = generate(&[], &[spec], &context(&hosts, Path::new(""), &1.into())) {
            assert!(flows.len() <= 5);
        }
    }
}

const WORKLOAD: &str = r#"{"arrivals":{"kind":"poisson","load":"60 %","load_of":"hosts","rounds":false},
"sizes":{"kind":"log-normal","median":"10 kB","sigma":1.5},"matrix":{"kind":"gravity","weights":{"h0":3,"h1":0.5}},
"hosts":["h*"],"start":"1 s","duration":"2 s","flows":9,"group":"g"}"#;

proptest! {
    #[test]
    fn mutated_workloads_never_panic(edits in proptest::collection::vec((any::<usize>(), 0usize..40), 1..4), seed: u64) {
        const LETTERS: &[u8; 40] = b"0123456789.-eE+%{}[]\",: hkrnulPpstoaMGB>";
        let mut text = WORKLOAD.as_bytes().to_vec();
        for (at, letter) in edits {
            let at = at % text.len();
            text[at] = LETTERS[letter];
        }
        if let Ok(spec) = serde_json::from_slice::<WorkloadSpec>(&text) {
            let hosts = hosts(4);
            // `flows` may have grown to seven digits: that's long, not wrong.
            if spec.flows.is_some_and(|n| n < 100_000) {
                let seed = seed.into();
                let cx = Context { horizon: Some(Time::from_secs(10)), ..context(&hosts, Path::new("/nowhere"), &seed) };
                let _ = generate(&[], &[spec], &cx);
            }
        }
    }
}
