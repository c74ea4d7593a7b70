//! §V-B: INRPP routers among plain ones.

use crate::common::reads::{drops_at, last, series};
use crate::common::run_plain;

/// The row that puts INRPP at the hosts and at these routers; none named: everywhere.
pub fn deployed_at(routers: &str) -> String {
    if routers.is_empty() {
        String::new()
    } else {
        format!("[[deploy]]\nscheme = \"inrpp\"\nnodes = [\"hosts\", {routers}]\n")
    }
}

/// Four INRPP routers and a plain one between each two; the last link is slow.
pub fn line(auth: bool) -> String {
    let mut t = format!(
        "scheme = \"inrpp\"\nstop = \"4 s\"\n[schemes.inrpp]\ncache = \"1.5 MB\"\nhigh = \"1 MB\"\nauth = {auth}\n[topology]\nlinks = [\n"
    );
    for i in 0..6 {
        t += &format!("{{ a = \"r{i}\", b = \"r{}\", rate = \"100 Mbps\", delay = \"1 ms\" }},\n", i + 1);
    }
    t += "{ a = \"h0\", b = \"r0\", rate = \"100 Mbps\", delay = \"2 ms\" },\n{ a = \"h1\", b = \"r6\", rate = \"10 Mbps\", delay = \"2 ms\" },\n]\n";
    t += "nodes = [{ name = \"h0\", kind = \"host\" }, { name = \"h1\", kind = \"host\" }]\n";
    t += &deployed_at("\"r0\", \"r2\", \"r4\", \"r6\"");
    t + "[[flow]]\nfrom = \"h0\"\nto = \"h1\"\n[measure]\nseries = true\nports = 20\ninterval = \"10 ms\"\n"
}

#[test]
fn slow_downs_cross_plain_routers_to_the_next_one_that_speaks() {
    let out = run_plain(&line(true));
    let first = |port: &str, metric: &str, value: f64| {
        let found = series(&out, port, metric).into_iter().find(|(_, v)| *v >= value);
        found.unwrap_or_else(|| panic!("{port} never has {metric} of {value}")).0
    };
    let pressed = ["port:r6>h1", "port:r4>r5", "port:r2>r3", "port:r0>r1"].map(|p| first(p, "state", 2.0));
    let closed = ["port:r4>r5", "port:r2>r3", "port:r0>r1", "flow:0"].map(|p| first(p, "closed_loop", 1.0));
    for hop in 0..4 {
        let after = closed[hop] - pressed[hop];
        assert!((0.0..=0.02).contains(&after), "hop {hop}: pressed at {}, closed at {}", pressed[hop], closed[hop]);
    }
    assert_eq!(drops_at(&out, |_| true), 0);
    for port in ["port:r4>r5", "port:r2>r3", "port:r0>r1"] {
        assert_eq!((last(&out, port, "forged"), last(&out, port, "replayed")), (0.0, 0.0), "{port}");
        let late = series(&out, port, "cache_bytes").into_iter().filter(|(t, _)| *t > 2.0);
        late.for_each(|(t, bytes)| assert!((0.9e6..1.02e6).contains(&bytes), "{port} at {t}: {bytes}"));
    }
}

#[test]
fn macs_change_nothing_but_sizes_where_nobody_attacks() {
    let (on, off) = (run_plain(&line(true)), run_plain(&line(false)));
    let bytes = |out: &midpath_sim::RunOutput| out.table("flows").unwrap().u64("delivered_bytes")[0];
    let (on, off) = (bytes(&on) as f64, bytes(&off) as f64);
    assert!((on / off - 1.0).abs() < 0.001, "{on} and {off}");
}

/// Figure 8's core, with the router of the detour plain or not: three flows of 10 MB.
fn core(routers: &str) -> String {
    let mut t = String::from(
        "scheme = \"inrpp\"\nstop = \"60 s\"\n[routing]\necmp = \"off\"\n[schemes.inrpp]\ncache = \"1.25 MB\"\nhigh = \"1 MB\"\n[topology]\nlinks = [\n",
    );
    for (a, b, rate) in [("r0", "r1", 10), ("r0", "r2", 10), ("r1", "r2", 10), ("r4", "r0", 100), ("r2", "r3", 100)] {
        t += &format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate} Mbps\", delay = \"5 ms\" }},\n");
    }
    let hosts = ["s0", "s1", "s2", "d0", "d1", "d2"];
    for host in hosts {
        let router = if host.starts_with('s') { "r4" } else { "r3" };
        t += &format!("{{ a = \"{host}\", b = \"{router}\", rate = \"40 Mbps\", delay = \"5 ms\" }},\n");
    }
    t += "]\nnodes = [\n";
    hosts.iter().for_each(|h| t += &format!("{{ name = \"{h}\", kind = \"host\" }},\n"));
    t += "]\n";
    for i in 0..3 {
        t += &format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"10 MB\"\nstart = \"{} s\"\n", i + 1);
    }
    t += &deployed_at(routers);
    t + "[measure]\nseries = true\nports = 20\ninterval = \"50 ms\"\n"
}

#[test]
fn nobody_detours_through_a_plain_router() {
    let all = run_plain(&core(""));
    let plain = run_plain(&core(r#""r0", "r2", "r3", "r4""#));
    let (with, without) = (all.summary("afct_s").unwrap(), plain.summary("afct_s").unwrap());
    println!("r1 speaks: {with:.2} s; r1 is plain: {without:.2} s");
    assert!(last(&all, "port:r0>r2", "detoured") > 5000.0);
    assert_eq!(last(&plain, "port:r0>r2", "detoured"), 0.0);
    // 22 s of payload over the one link, 10 s over both (Table V).
    assert!(with < 12.0 && (22.0..24.5).contains(&without));
    assert_eq!((drops_at(&all, |_| true), drops_at(&plain, |_| true)), (0, 0));
    assert_eq!(plain.summary("retransmitted_packets"), Some(0.0));
}

#[test]
fn a_plain_bottleneck_drops_what_no_custody_covers() {
    // r2 is plain, and its link of 100 Mbps to r3 is as slow as 10 here: nobody pushes back for it.
    let text = core(r#""r0", "r1", "r3", "r4""#)
        .replace("\"r2\", b = \"r3\", rate = \"100 Mbps\"", "\"r2\", b = \"r3\", rate = \"5 Mbps\"");
    let out = run_plain(&text);
    let (plain, speaking) = (drops_at(&out, |n| n == "r2"), drops_at(&out, |n| n != "r2"));
    println!("dropped at the plain router {plain}, at the others {speaking}");
    // Nobody pushes back for it: what is lost is repeated, at full rate, after a silence.
    assert!(plain > 1000);
    assert!(out.summary("retransmitted_packets").unwrap() > 1000.0);
}
