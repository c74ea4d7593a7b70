//! Hosts that take time to take in what arrives, and Swift, whose windows tell them from the fabric.

use proptest::prelude::*;

use crate::common::fabric::{self, every_byte_arrives_once};
use crate::common::rack;
use crate::common::reads::mean_after as mean;
use crate::common::{cases, refused, run_plain};

const QUEUE: &str = "limit = \"4 MB\"";

/// Half of the link's packets of 1500 bytes: 41,667 a second.
const HALF: &str = "[[host]]\nnodes = [\"d0\"]\nper_packet = \"24 us\"\n";

/// What the host takes: a packet every 24 us.
#[test]
fn a_host_is_the_bottleneck_of_every_scheme() {
    for scheme in ["newreno", "cubic", "dctcp", "bbr", "timely", "falcon", "swift"] {
        let out = run_plain(&(rack::dumbbell(scheme, 1, "400 ms", QUEUE, "") + HALF));
        let rate = mean(&out, "flow:0", "goodput_bps", 0.1);
        println!("{scheme}: {:.1} Mbps", rate / 1e6);
        assert!((0.8 * 480e6..500e6).contains(&rate), "{scheme}: {rate}");
    }
}

/// The host's delay is near its target of 200 us; the fabric's window does not fall for it.
#[test]
fn swift_tells_a_slow_host_from_a_busy_fabric() {
    let text = rack::dumbbell("swift", 1, "500 ms", QUEUE, "") + HALF;
    let out = run_plain(&text.replace("[schemes.swift]", "[schemes.swift]\nendpoint_target = \"200 us\""));
    let of = |name| mean(&out, "flow:0", name, 0.2);
    let (fcwnd, ecwnd, delay) = (of("fcwnd_packets"), of("ecwnd_packets"), of("endpoint_delay_s"));
    let goodput = of("goodput_bps");
    println!("fcwnd {fcwnd:.1}, ecwnd {ecwnd:.1}, {:.0} us at the host, {:.0} Mbps", delay * 1e6, goodput / 1e6);
    assert!(fcwnd > 2.0 * ecwnd, "{fcwnd} {ecwnd}");
    assert!((150e-6..240e-6).contains(&delay), "{delay}");
    assert!(goodput > 0.93 * 480e6, "{goodput}");
    assert_eq!(out.summary("lost_packets"), Some(0.0));
}

/// §4.4: "IOPS-intensive flows could unfairly degrade co-located throughput-intensive flows". Two flows share a link; the
/// host of one of them is kept busy by small packets from elsewhere, a microsecond each, five sixths of which it could take
/// of that flow alone.
fn beside_small_packets(keys: &str) -> [f64; 4] {
    let text = format!(
        "scheme = \"swift\"\nstop = \"400 ms\"\n[topology]\nlinks = [\n\
        {{ a = \"s0\", b = \"r0\", rate = \"10 Gbps\", delay = \"10 us\" }},\n\
        {{ a = \"s1\", b = \"r0\", rate = \"10 Gbps\", delay = \"10 us\" }},\n\
        {{ a = \"r0\", b = \"r1\", rate = \"1 Gbps\", delay = \"30 us\" }},\n\
        {{ a = \"s2\", b = \"r1\", rate = \"10 Gbps\", delay = \"10 us\", mtu = 200 }},\n\
        {{ a = \"r1\", b = \"d0\", rate = \"10 Gbps\", delay = \"10 us\" }},\n\
        {{ a = \"r1\", b = \"d1\", rate = \"10 Gbps\", delay = \"10 us\" }},\n]\n\
        [queue]\nlimit = \"4 MB\"\n[[host]]\nnodes = [\"d0\"]\nper_packet = \"1 us\"\n\
        [schemes.swift]\nmin_rto = \"10 ms\"\ntarget = \"150 us\"\n{keys}\n\
        [[flow]]\nfrom = \"s0\"\nto = \"d0\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n\
        [[flow]]\nfrom = \"s2\"\nto = \"d0\"\ncount = 5\n\
        [measure]\nseries = true\ninterval = \"1 ms\"\n"
    );
    let out = run_plain(&text);
    let goodput = |flow: &str| mean(&out, flow, "goodput_bps", 0.2);
    if keys.is_empty() {
        return [goodput("flow:0"), goodput("flow:1"), 0.0, 0.0];
    }
    let windows = ["flow:0", "flow:1"].map(|flow| mean(&out, flow, "fcwnd_packets", 0.2));
    let delay = mean(&out, "flow:2", "endpoint_delay_s", 0.2);
    [goodput("flow:0"), goodput("flow:1"), delay, windows[0] / windows[1]]
}

#[test]
fn a_host_busy_with_small_packets_takes_a_flow_nothing_of_the_link() {
    let [slow, fast, delay, windows] = beside_small_packets("endpoint_target = \"100 us\"");
    let at_host = 1e6 * delay;
    println!("two windows: {:.0} and {:.0} Mbps, {at_host:.0} us at the host, {windows:.2}", slow / 1e6, fast / 1e6);
    // Before the first run 0.7 was the bound, which forgot that equal windows share by round trips: 0.68 was measured, and
    // 160 us over the 261 that the host makes of them are 0.61.
    assert!(slow > 0.6 * fast && slow + fast > 0.9e9, "{slow} {fast}");
    assert!((0.8..1.25).contains(&windows), "{windows}");
    assert!((70e-6..150e-6).contains(&delay), "{delay}");
    let [slow, fast, ..] = beside_small_packets("");
    println!("one window: {:.0} and {:.0} Mbps", slow / 1e6, fast / 1e6);
    assert!(slow < 0.4 * fast, "{slow} {fast}");
}

#[test]
fn what_a_row_must_say() {
    let text = |row: &str| rack::dumbbell("newreno", 1, "1 ms", QUEUE, "") + "[[host]]\n" + row;
    for (row, key, part) in [
        ("nodes = [\"d0\"]\n", "host[0].rate", "is required, or `per_packet`"),
        ("rate = \"0 bps\"\n", "host[0].rate", "above zero"),
        ("rate = \"1 Gbps\"\nbuffer = \"1 kB\"\n", "host[0].buffer", "must have room for a packet of 1500 B"),
        ("rate = \"1 Gbps\"\nnodes = [\"r0\"]\n", "host[0].nodes[0]", "no host is among `r0`"),
        ("rate = \"1 Gbps\"\nnodes = [\"x*\"]\n", "host[0].nodes[0]", "no node, and no class of nodes, is called `x*`"),
    ] {
        let found = refused(&text(row));
        assert!(found.contains(key) && found.contains(part), "{row}: {found}");
    }
}

/// A slow host: packets' time in nanoseconds, rate in Mbps, room in kB.
fn slow() -> impl Strategy<Value = String> {
    (0u32..30_000, prop::option::of(50u32..5000), 10u32..400).prop_map(|(time, rate, room)| {
        let rate = rate.map_or_else(String::new, |rate| format!("rate = \"{rate} Mbps\"\n"));
        format!("{rate}per_packet = \"{time} ns\"\nbuffer = \"{room} kB\"\n")
    })
}

/// One with an endpoint's target, in microseconds, or another scheme.
fn scheme() -> impl Strategy<Value = (&'static str, String)> {
    prop_oneof![
        (20u32..400).prop_map(|target| ("swift", format!("endpoint_target = \"{target} us\""))),
        prop::sample::select(&["swift", "falcon", "dctcp", "newreno"][..]).prop_map(|scheme| (scheme, String::new())),
    ]
}

/// Sizes and starts of flows between hosts that are counted modulo those that there are.
fn drawn() -> impl Strategy<Value = Vec<fabric::Drawn>> {
    prop::collection::vec((0usize..64, 0usize..64, 1u32..300_000, 0u32..2000), 1..12)
}

proptest! {
    #![proptest_config(cases(12))]

    /// Behind leaves and spines every second host is slow: each byte arrives once, the same with threads and as bytes.
    #[test]
    fn every_byte_arrives_at_slow_hosts_of_a_fabric(
        shape in (1usize..4, 1usize..4, 1usize..5), slow in slow(), (scheme, keys) in scheme(), flows in drawn(), seed: u16,
    ) {
        let links = fabric::links(shape, "rate = \"10 Gbps\", delay = \"1 us\"");
        let hosts = shape.0 * shape.2;
        let flows = fabric::flows(flows, hosts);
        let names: Vec<String> = (0..hosts).step_by(2).map(|host| format!("\"host{host}\"")).collect();
        let text = format!(
            "scheme = \"{scheme}\"\nseed = {seed}\n[topology]\n{links}[queue]\nlimit = \"200 kB\"\n\
            [schemes.{scheme}]\nmin_rto = \"10 ms\"\n{keys}\n[[host]]\nnodes = [{}]\n{slow}{flows}", names.join(", ")
        );
        if !flows.is_empty() {
            every_byte_arrives_once(&text);
        }
    }

    /// Over a dumbbell to hosts that are slower than the link: the delay there settles near its target, or at what one
    /// packet takes, and the host is busy.
    #[test]
    fn the_delay_at_slow_hosts_of_a_dumbbell_is_near_its_target(
        pairs in 1usize..4, per_packet in 40u32..120, target in 200u32..800, seed: u16,
    ) {
        let text = rack::dumbbell("swift", pairs, "600 ms", QUEUE, "")
            .replace("[schemes.swift]", &format!("[schemes.swift]\nendpoint_target = \"{target} us\""))
            .replace("stop =", &format!("seed = {seed}\nstop ="));
        let out = run_plain(&format!("{text}[[host]]\nper_packet = \"{per_packet} us\"\nnodes = [\"d*\"]\n"));
        for flow in 0..pairs {
            let of = |name| mean(&out, &format!("flow:{flow}"), name, 0.3);
            let (delay, goodput) = (1e6 * of("endpoint_delay_s"), of("goodput_bps"));
            let most = 8.0 * 1440.0 * 1e6 / f64::from(per_packet);
            println!("{pairs} of {per_packet} us: {delay:.0} of {target} us, {:.2} of {:.0} Mbps", goodput / most, most / 1e6);
            prop_assert!(delay < 1.3 * f64::from(target) + f64::from(per_packet), "{} us of {}", delay, target);
            prop_assert!(goodput > 0.85 * most, "{} of {}", goodput, most);
        }
        prop_assert_eq!(out.summary("lost_packets"), Some(0.0));
    }
}
