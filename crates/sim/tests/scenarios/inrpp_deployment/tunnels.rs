//! §V-B: tunnels with TCP between INRPP routers, where plain ones lie between.

use midpath_sim::{RunOptions, RunOutput};
use serde_json::Value;

use crate::common::reads::{drops_at, series};
use crate::common::{refused, run, run_plain};

/// Hosts at INRPP routers r0 and r2, the plain router p between them; p sends to r2 at `slow`.
fn line(slow: &str, row: &str, flows: &str) -> String {
    format!(
        r#"
        scheme = "inrpp"
        stop = "20 s"
        [schemes.inrpp]
        cache = "4 MB"
        high = "1 MB"
        [topology]
        nodes = [{{ name = "h0", kind = "host" }}, {{ name = "h1", kind = "host" }}]
        links = [
            {{ a = "h0", b = "r0", rate = "100 Mbps", delay = "1 ms" }},
            {{ a = "r0", b = "p", rate = "100 Mbps", delay = "2 ms" }},
            {{ a = "p", b = "r2", rate = "{slow}", delay = "2 ms" }},
            {{ a = "r2", b = "h1", rate = "100 Mbps", delay = "1 ms" }},
        ]
        [[deploy]]
        scheme = "inrpp"
        nodes = ["hosts", "r*"]
        {row}
        {flows}
        [measure]
        series = true
        ports = 20
        interval = "20 ms"
        "#
    )
}

const TUNNELS: &str = "tunnels = \"newreno\"";
const ENDLESS: &str = "[[flow]]\nfrom = \"h0\"\nto = \"h1\"\n";

fn tunnels(out: &RunOutput) -> Vec<Value> {
    out.run["tunnels"].as_array().expect("tunnels in the result").clone()
}

fn count(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("{key} in {of}"))
}

/// What a tunnel over 10 Mbps carries: a packet of 1500 bytes has 1424 of payload (INRPP's header is
/// 24 bytes) and takes 1502 of the stream, of which a segment of 1500 bytes has 1448. Beside them go
/// the ACKs of what comes back: at most one of 52 bytes for each packet.
#[test]
fn a_tunnel_carries_what_headers_leave_of_its_underlay() {
    let out = run_plain(&line("10 Mbps", TUNNELS, ENDLESS));
    let most = 10e6 * (1448.0 / 1500.0) * (1424.0 / 1502.0);
    let least = 10e6 * 1424.0 / (1502.0 * 1500.0 / 1448.0 + 52.0);
    let late: Vec<f64> =
        series(&out, "flow:0", "goodput_bps").into_iter().filter(|(t, _)| *t > 5.0).map(|(_, v)| v).collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    println!("{mean:.0} bps, by headers {least:.0} to {most:.0}");
    assert!(mean <= 1.001 * most && mean >= 0.995 * least);
}

/// What plain routers drop the tunnel repeats: INRPP's flows lose nothing, and what went into the
/// tunnels has come out of them.
#[test]
fn the_underlays_losses_are_the_tunnels_own() {
    let flows: String = (0..8)
        .map(|i| format!("[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"500 kB\"\nstart = \"{} ms\"\n", 50 * i))
        .collect();
    let out = run_plain(&line("10 Mbps", TUNNELS, &flows));
    let lost = drops_at(&out, |n| n == "p");
    let repeated: u64 = tunnels(&out).iter().map(|t| count(t, "retransmitted")).sum();
    println!("{lost} dropped at p, {repeated} segments repeated");
    assert!(lost > 0 && repeated >= lost);
    let column = |out: &RunOutput, name: &str| out.table("flows").unwrap().u64(name).to_vec();
    assert_eq!((column(&out, "lost_packets"), column(&out, "delivered_bytes")), (vec![0; 8], vec![500_000; 8]));
    for tunnel in tunnels(&out) {
        assert_eq!(count(&tunnel, "packets_in"), count(&tunnel, "packets_out"), "{tunnel}");
        assert!(count(&tunnel, "packets_in") > 1000 && count(&tunnel, "bytes") > 0);
    }
    let bare = run_plain(&line("10 Mbps", "", &flows));
    assert!(bare.run["tunnels"].is_null());
    let bare: u64 = column(&bare, "lost_packets").iter().sum();
    assert!(bare > 1000, "without tunnels INRPP's flows lose packets at p: {bare}");
}

/// What the connection cannot carry waits in the port's store, which pushes back: at most what is
/// given to the connection ahead of time waits beyond it.
#[test]
fn backpressure_reaches_the_store_before_the_tunnel() {
    let out = run_plain(&line("10 Mbps", TUNNELS, ENDLESS));
    let at = |metric: &str| series(&out, "port:r0>r2", metric);
    let (unsent, store) = (at("tunnel_unsent_bytes"), at("cache_bytes"));
    let most = unsent.iter().map(|(_, v)| *v).fold(0.0, f64::max);
    let stored = store.iter().map(|(_, v)| *v).fold(0.0, f64::max);
    println!("at most {most} bytes unsent in the tunnel, {stored} in the store");
    assert!(most <= 6000.0 + 1502.0);
    assert!(stored > 10.0 * most);
    let first = |found: Vec<(f64, f64)>, value: f64| found.into_iter().find(|(_, v)| *v >= value).map(|(t, _)| t);
    let (pressed, closed) = (first(at("state"), 2.0), first(series(&out, "flow:0", "closed_loop"), 1.0));
    assert!(pressed.is_some() && closed.is_some() && closed >= pressed, "{pressed:?} {closed:?}");
    assert_eq!(drops_at(&out, |n| n != "p"), 0);
}

/// Two parts of the network look into one pipe: the result is the same.
#[test]
fn tunnels_are_the_same_on_any_number_of_threads() {
    let text = line("10 Mbps", TUNNELS, &ENDLESS.repeat(3)).replace("20 s", "5 s");
    let of = |threads| {
        let options = RunOptions { threads, ..RunOptions::default() };
        let out = run(&text, &options);
        (out.run["threads"].as_u64(), out.repeatable())
    };
    let (one, two) = (of(1), of(2));
    assert_eq!((one.0, two.0), (Some(1), Some(2)));
    assert_eq!(one.1, two.1);
}

/// Fig. 8's triangle with a plain router on each side of the detour: packets go around through two
/// tunnels, and end where they ought to.
#[test]
fn detours_lead_through_tunnels() {
    let text = |row: &str| {
        let links = [("r0", "r1", 10), ("r0", "p0", 10), ("p0", "r2", 10), ("r2", "p1", 10), ("p1", "r1", 10)];
        let mut t =
            String::from("scheme = \"inrpp\"\nstop = \"60 s\"\n[schemes.inrpp]\ncache = \"4 MB\"\nhigh = \"1 MB\"\n");
        t += "[routing]\necmp = \"off\"\n[topology]\nlinks = [\n";
        for (a, b, rate) in links {
            t += &format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate} Mbps\", delay = \"5 ms\" }},\n");
        }
        for (host, router) in [("s", "r0"), ("d", "r1")] {
            t += &format!("{{ a = \"{host}\", b = \"{router}\", rate = \"40 Mbps\", delay = \"5 ms\" }},\n");
        }
        t += "]\nnodes = [{ name = \"s\", kind = \"host\" }, { name = \"d\", kind = \"host\" }]\n";
        t + "[[deploy]]\nscheme = \"inrpp\"\nnodes = [\"hosts\", \"r*\"]\n"
            + row
            + "\n"
            + &"[[flow]]\nfrom = \"s\"\nto = \"d\"\nsize = \"10 MB\"\n".repeat(3)
    };
    let (with, without) = (run_plain(&text(TUNNELS)), run_plain(&text("")));
    let afct = |out: &RunOutput| out.summary("afct_s").unwrap();
    println!("{:.2} s through tunnels, {:.2} s without", afct(&with), afct(&without));
    let carried: u64 = tunnels(&with).iter().map(|t| count(t, "packets_out")).sum();
    assert!(carried > 1000);
    assert!(afct(&with) < 0.75 * afct(&without));
}

#[test]
fn what_cannot_be_a_tunnel_is_refused() {
    let why = |row: &str| refused(&line("10 Mbps", row, ENDLESS));
    let all = [
        ("tunnels = \"newremo\"", "did you mean `newreno`?"),
        ("tunnels = \"udp\"", "`udp` is not an end-to-end TCP"),
        ("tunnels = \"rcp\"", "`rcp` is not an end-to-end TCP"),
        ("tunnels = \"inrpp\"", "`inrpp` is not an end-to-end TCP"),
        ("tunnels = 3", "tunnels"),
        (
            "tunnels = \"cubic\"\n[[deploy]]\nscheme = \"inrpp\"\nnodes = [\"p\"]\ntunnels = \"cubic\"",
            "from its first row",
        ),
        ("[[deploy]]\nscheme = \"rcp\"\nnodes = [\"p\"]\ntunnels = \"cubic\"", "`rcp` has no tunnels"),
    ];
    for (row, expected) in all {
        let said = why(row);
        assert!(said.contains(expected) && said.contains("tunnels") && said.contains("line"), "{row}: {said}");
    }
    let ports = line("10 Mbps", TUNNELS, ENDLESS).replace("nodes = [\"hosts\", \"r*\"]", "ports = [\"r0>p\"]");
    assert!(refused(&ports).contains("tunnels connect whole nodes"));
}
