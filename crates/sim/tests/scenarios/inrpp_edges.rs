//! INRPP at its edges: joins, outages, flows that go, TCP beside, little memory. Samples of what
//! `evidence/properties/inrpp/edges.py` draws at random; each addition of ours against itself off.

use std::fmt::Write;

use crate::common::reads::{drops_at, series, texts};
use crate::common::run_plain;
use midpath_sim::RunOutput;

fn drops(out: &RunOutput) -> u64 {
    drops_at(out, |_| true)
}

/// Routers with these links (rates in Mbps), a host of 1 Gbps on the first and one on the last of
/// them for each of `flows` (what each says, after its ends).
fn net(links: &[(&str, &str, f64)], ends: (&str, &str), more: &str, flows: &[String]) -> String {
    let (mut all, mut hosts, mut text) = (String::new(), String::new(), String::new());
    for (a, b, rate) in links {
        writeln!(all, "{{ a = \"{a}\", b = \"{b}\", rate = \"{rate} Mbps\", delay = \"5 ms\" }},").unwrap();
    }
    for (i, says) in flows.iter().enumerate() {
        for (host, router) in [("s", ends.0), ("d", ends.1)] {
            writeln!(all, "{{ a = \"{host}{i}\", b = \"{router}\", rate = \"1 Gbps\", delay = \"1 ms\" }},").unwrap();
            write!(hosts, "{{ name = \"{host}{i}\", kind = \"host\" }}, ").unwrap();
        }
        writeln!(text, "[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\n{says}").unwrap();
    }
    format!(
        "scheme = \"inrpp\"\n[topology]\nlinks = [\n{all}]\nnodes = [{hosts}]\n[routing]\necmp = \"off\"\n{more}\n{text}"
    )
}

fn with(text: &str, stop: &str, params: &str) -> RunOutput {
    run_plain(&format!("stop = \"{stop}\"\n{text}\n[schemes.inrpp]\n{params}\n"))
}

fn repeated(says: &str, count: usize) -> Vec<String> {
    vec![says.to_owned(); count]
}

/// Forty flows join two that a port presses.
fn crowd() -> String {
    let flows = [repeated("", 2), repeated("start = \"1 s\"\nsize = \"300 kB\"", 40)].concat();
    let more = "[measure]\nseries = true\ninterval = \"10 ms\"\npoints = 1000\nports = 200";
    net(&[("r0", "r1", 20.0)], ("r0", "r1"), more, &flows)
}

#[test]
fn what_is_promised_has_room() {
    let ours = with(&crowd(), "8 s", "cache = \"2 s\"\nwithout = [\"standing\"]");
    let of = |metric: &str| series(&ours, "port:r0>r1", metric);
    let (promised, room) = (of("promised_bytes"), of("room_bytes"));
    assert!(promised.iter().any(|p| p.1 > 0.0), "nothing was promised: this shows nothing");
    for (p, r) in promised.iter().zip(&room) {
        assert!(p.1 <= r.1, "at {}: {} promised, room for {}", p.0, p.1, r.1);
    }
    assert_eq!(drops(&ours), 0);
    let without = with(&crowd(), "8 s", "cache = \"2 s\"\nwithout = [\"standing\", \"promises\"]");
    assert!(drops(&without) > 1000, "{}", drops(&without));
}

/// The first hop presses and has much room; the second has little, and doesn't press.
#[test]
fn a_hop_further_on_is_heard_beside_a_slow_down() {
    let mut flows = repeated("", 1);
    flows.extend(repeated("start = \"1 s\"\nsize = \"300 kB\"", 4));
    let text = net(&[("r0", "r1", 10.0), ("r1", "r2", 10.0)], ("r0", "r2"), "", &flows);
    assert_eq!(drops(&with(&text, "6 s", "")), 0);
    assert!(drops(&with(&text, "6 s", "without = [\"promises\"]")) > 10);
}

/// A link with a detour fails for two seconds.
fn outage() -> String {
    let more = "[[fault]]\nkind = \"link-down\"\nlink = [\"r0\", \"r2\"]\nat = \"2 s\"\nuntil = \"4 s\"\n\
                [measure]\nseries = true\ninterval = \"100 ms\"\nflows = 2";
    net(&[("r0", "r2", 10.0), ("r0", "r1", 10.0), ("r1", "r2", 10.0)], ("r0", "r2"), more, &repeated("", 2))
}

#[test]
fn a_port_whose_link_is_down_hears_around_it() {
    let brought = |out: &RunOutput| {
        let flow = |i: u32| {
            let all = series(out, &format!("flow:{i}"), "goodput_bps");
            all.iter().filter(|p| (2.5..4.0).contains(&p.0)).map(|p| p.1).sum::<f64>()
        };
        (flow(0) + flow(1)) / 15.0
    };
    let (ours, without) = (with(&outage(), "6 s", ""), with(&outage(), "6 s", "without = [\"around_outages\"]"));
    assert!(brought(&ours) > 8e6, "of 10 Mbps: {}", brought(&ours));
    assert!(brought(&without) < 5e6, "{}", brought(&without));
    let sent = ours.summary("sent_packets").unwrap();
    assert!((drops(&ours) as f64) < 0.01 * sent, "{} of {sent}", drops(&ours));
    let mute = with(&outage(), "6 s", "backpressure = false");
    assert!(drops(&mute) > 10 * drops(&ours).max(10), "{}", drops(&mute));
}

#[test]
fn flows_that_have_gone_leave_the_link() {
    let flows: Vec<String> =
        (0..10).map(|i| if i % 2 == 0 { "stop = \"3 s\"".into() } else { String::new() }).collect();
    let more = "[measure]\nseries = true\ninterval = \"100 ms\"\nflows = 10";
    let text = net(&[("r0", "r1", 20.0)], ("r0", "r1"), more, &flows);
    let left = |params: &str| {
        let out = with(&text, "5 s", params);
        let sources = texts(&out, "flows", "src");
        let gone = (0..10).filter(|i| sources[*i].trim_start_matches('s').parse::<u32>().unwrap() % 2 == 0);
        let late = |i: usize| {
            let all = series(&out, &format!("flow:{i}"), "goodput_bps");
            all.iter().filter(|p| (3.5..4.5).contains(&p.0)).map(|p| p.1).sum::<f64>() / 10.0
        };
        gone.map(late).sum::<f64>() / 20e6
    };
    // Three round trips of 14 ms, and a tenth of 4 s.
    let (ours, full) = (left("cache = \"4 s\""), left("cache = \"4 s\"\nwithout = [\"standing\"]"));
    assert!(ours < 0.1, "{ours}");
    assert!(full > 0.3, "{full}");
}

#[test]
fn one_flow_beside_eight_of_cubic_has_its_share() {
    let mut flows = repeated("scheme = \"cubic\"", 8);
    flows.push(String::new());
    for params in ["", "cache = \"1 s\""] {
        let out = with(&net(&[("r0", "r1", 20.0)], ("r0", "r1"), "", &flows), "20 s", params);
        let (schemes, table) = (texts(&out, "flows", "scheme"), out.table("flows").unwrap());
        let all = table.u64("delivered_bytes");
        let own = schemes.iter().position(|s| s == "inrpp").unwrap();
        let share = 9.0 * all[own] as f64 / all.iter().sum::<u64>() as f64;
        assert!((0.7..1.25).contains(&share), "with `{params}`: {share}");
    }
}

/// Unless said, all that a port holds is what the queue may hold, whoever sends.
#[test]
fn by_default_memory_is_that_of_the_queue() {
    let mut flows = repeated("", 3);
    flows.extend(repeated("start = \"1 s\"\nsize = \"200 kB\"", 20));
    let tcp = [flows.clone(), repeated("scheme = \"cubic\"", 3)].concat();
    for flows in [flows, tcp] {
        let text = net(&[("r0", "r1", 10.0)], ("r0", "r1"), "[queue]\nlimit = \"60 kB\"", &flows);
        let most = |params: &str| {
            let out = with(&text, "4 s", params);
            let ports = out.table("ports").unwrap();
            ports.u64("queue_max_bytes")[crate::common::port(&out, "r0", "r1")]
        };
        let (ours, roomy) = (most(""), most("cache = \"20 s\""));
        assert!((30_000..=60_000).contains(&ours), "{ours}");
        assert!(roomy > 60_000, "{roomy}");
    }
}
