//! Links that bleach ECN, lose ECN-capable packets or thin ACKs, and links behind a token bucket. Bounds were fixed before the first run.

use midpath_sim::RunOutput;
use proptest::prelude::*;

use crate::common::reads::texts;
use crate::common::{cases, port, refused, run_plain, same_with_threads_and_as_bytes};

fn counters(out: &RunOutput, name: &str) -> u64 {
    out.table("flows").unwrap().u64(name).iter().sum()
}

/// Flows of one scheme over a step-marking queue: around a switch, or along three routers. The first link of each is bleached
/// or loses as `vary` says.
fn network(line: bool, scheme: &str, flows: u64, kb: u64, seed: u64, vary: &str, more: &str) -> String {
    let link = |a: &str, b: &str, mbps: u64| {
        let delay = if line { "3 ms" } else { "100 us" };
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{mbps} Mbps\", delay = \"{delay}\" }},\n")
    };
    let (links, from, to) = if line {
        (link("s", "r0", 100) + &link("r0", "r1", 20) + &link("r1", "r2", 40) + &link("r2", "d", 100), "s", "d")
    } else {
        (link("h0", "r0", 400) + &link("h1", "r0", 400) + &link("r0", "h2", 100), "h0", "h2")
    };
    let links = format!("links = [\n{links}]\n");
    let first = if line { "[\"s\", \"r0\"]" } else { "[\"h0\", \"r0\"]" };
    let vary = if vary.is_empty() { String::new() } else { format!("[[vary]]\nlink = {first}\n{vary}\n") };
    format!(
        "scheme = \"{scheme}\"\nseed = {seed}\n{more}\n[queue]\nkind = \"step\"\nthreshold = \"20 packets\"\nlimit = \"100 packets\"\n\
         [host_queue]\nlimit = \"10 MB\"\n[topology]\n{links}{vary}\
         [[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"{kb} kB\"\ncount = {flows}\njitter = \"20 ms\"\n"
    )
}

proptest! {
    #![proptest_config(cases(8))]

    /// What is bleached before a marking queue is to it as what never was capable: it is dropped, in the same places.
    #[test]
    fn bleached_flows_are_as_flows_without_ecn(
        line in any::<bool>(), scheme in prop::sample::select(vec!["newreno", "cubic"]), flows in 1u64..5, kb in 500u64..3000, seed in 1u64..1000,
    ) {
        let of = |vary: &str, ecn: bool| {
            let more = format!("schemes.{scheme}.ecn = {ecn}");
            same_with_threads_and_as_bytes(&network(line, scheme, flows, kb, seed, vary, &more), 3)
        };
        let (bleached, without, with) = (of("ecn = { bleach = \"100 %\" }", true), of("", false), of("", true));
        let took = |out: &RunOutput| out.table("flows").unwrap().f64("fct_s").to_vec();
        prop_assert_eq!(took(&bleached), took(&without));
        prop_assert_eq!(counters(&bleached, "marked_packets"), 0);
        if flows > 1 {
            prop_assert!(counters(&with, "marked_packets") > 0, "else this tests nothing");
        }
    }

    /// Of n capable packets np are lost, within five standard errors, and none of others.
    #[test]
    fn of_ect_packets_a_share_is_lost(line in any::<bool>(), percent in 1u64..20, kb in 4000u64..8000, seed in 1u64..1000) {
        let of = |ecn: bool, share: &str| {
            let more = format!("schemes.dctcp.ecn = {ecn}\nstop = \"60 s\"");
            let more = if ecn { "stop = \"60 s\"".to_owned() } else { more.replace("dctcp", "newreno") };
            let scheme = if ecn { "dctcp" } else { "newreno" };
            run_plain(&network(line, scheme, 1, kb, seed, share, &more))
        };
        let vary = format!("one_way = true\necn = {{ loss = \"{percent} %\" }}");
        let out = of(true, &vary);
        let ports = out.table("ports").unwrap();
        let first = if line { port(&out, "s", "r0") } else { port(&out, "h0", "r0") };
        let (sent, lost) = (ports.u64("packets")[first] as f64, ports.u64("corrupted")[first] as f64);
        let p = percent as f64 / 100.0;
        // All but SYN, FIN and ACKs are capable; of what is sent again RFC 3168, §6.1.5, and RFC 8257 differ.
        let again = counters(&out, "retransmitted_packets") as f64;
        let errors = 5.0 * (p * (1.0 - p) * sent).sqrt();
        prop_assert!(lost > p * (sent - again - 4.0) - errors && lost < p * sent + errors, "{} of {}", lost, sent);
        let none = of(false, &vary);
        prop_assert_eq!(none.table("ports").unwrap().u64("corrupted")[first], 0);
    }
}

/// Of a flow's ACKs, from the eleventh on, one in so many passes; data all do.
#[test]
fn thinned_acks_are_one_in_so_many() {
    for one_of in [2, 4, 7] {
        let vary = format!("ack_thinning = {one_of}");
        let out = same_with_threads_and_as_bytes(&network(false, "newreno", 1, 900, 1, &vary, ""), 3);
        assert_eq!(out.summary("completed"), Some(1.0));
        let ports = out.table("ports").unwrap();
        let (acks, data) = (port(&out, "r0", "h0"), port(&out, "h0", "r0"));
        let all = ports.u64("packets")[acks];
        assert!(all > 200, "{all} ACKs");
        let lost = (11..=all).filter(|number| number % one_of != 0).count() as u64;
        assert_eq!((ports.u64("corrupted")[acks], ports.u64("corrupted")[data]), (lost, 0), "one of {one_of}");
    }
}

/// Datagrams of 1,250 B, written so many at once now and then, to a link behind a token bucket.
fn shaped(gbps: u64, kbps: u64, burst: u64, write: u64, interval_us: u64, stop_s: f64) -> String {
    format!(
        "scheme = \"udp\"\nstop = \"{stop_s} s\"\n[queue]\nlimit = \"1 GB\"\n[host_queue]\nlimit = \"1 GB\"\n[topology]\nlinks = [\
         {{ a = \"s\", b = \"r\", rate = \"100 Gbps\", delay = \"1 us\" }}, \
         {{ a = \"r\", b = \"d\", rate = \"{gbps} Gbps\", delay = \"1 us\" }}]\n\
         [[vary]]\nlink = [\"r\", \"d\"]\none_way = true\nshaper = {{ rate = \"{kbps} kbps\", burst = \"{burst} B\" }}\n\
         [[flow]]\nfrom = \"s\"\nto = \"d\"\nwrite = \"{} B\"\ninterval = \"{interval_us} us\"\n[schemes.udp]\npacket = \"1250 B\"\n",
        write * 1222
    )
}

/// Packets that leave a token bucket in `seconds`: each when the line is free and the bucket is not in debt. In bits and
/// picoseconds.
fn recounted(gbps: u64, kbps: u64, burst: u64, write: u64, interval_us: u64, seconds: f64) -> u64 {
    let (rate, most) = (u128::from(kbps) * 1000, i128::from(burst) * 8_000_000_000_000);
    let (line_ps, need) = (10_000_000 / u128::from(gbps), 1250 * 8_000_000_000_000i128);
    let (mut tokens, mut filled, mut free, mut left) = (most, 0u128, 0u128, 0u64);
    let end = (seconds * 1e12) as u128;
    for k in 0.. {
        for i in 0..write {
            let arrival = k * u128::from(interval_us) * 1_000_000 + 1_000_000 + u128::from(i + 1) * 100_000;
            let start = arrival.max(free);
            if start >= end {
                return left;
            }
            tokens = (tokens + ((start - filled) * rate) as i128).min(most) - need;
            filled = start;
            let debt = u128::try_from(-tokens).unwrap_or(0).div_ceil(rate);
            free = start + line_ps.max(debt);
            left += 1;
        }
    }
    left
}

proptest! {
    #![proptest_config(cases(16))]

    /// A load above its rate: the burst, then the rate, within 2 %, and to the packet what a recount says.
    #[test]
    fn a_shaper_sends_a_burst_and_then_its_rate(kbps in 500u64..900_000, gbps in prop::sample::select(vec![1u64, 10, 100]), packets in 2u64..200) {
        let gap_us = (10_000_000 / (kbps * 2)).max(1);
        let write = (kbps * 2 * gap_us).div_ceil(10_000_000).max(1) + 1;
        let seconds = (4_000.0 * 1e4 / (kbps as f64 * 1e3)).max(0.02);
        let text = shaped(gbps, kbps, packets * 1250, write, gap_us, seconds);
        let out = run_plain(&text);
        let ports = out.table("ports").unwrap();
        let row = port(&out, "r", "d");
        let passed = ports.u64("packets")[row];
        let expected = recounted(gbps, kbps, packets * 1250, write, gap_us, seconds);
        prop_assert!(passed.abs_diff(expected) <= 1, "{} and not {}", passed, expected);
        let of_rate = packets as f64 + kbps as f64 * 1e3 * seconds / 1e4;
        prop_assert!((passed as f64 / of_rate - 1.0).abs() <= 0.02, "{} of {}", passed, of_rate);
        prop_assert_eq!(ports.u64("drops_queue")[row] + ports.u64("drops_policy")[row], 0);
    }

    /// Bursts that come far apart pass at the line's rate as far as the bucket goes.
    #[test]
    fn a_bucket_that_is_full_again_passes_a_burst(kbps in 1000u64..50_000, write in 2u64..60, packets in 2u64..60) {
        let interval_us = 10_000_000 * (write + packets) / kbps + 10;
        let seconds = 20.5 * interval_us as f64 / 1e6;
        let out = same_with_threads_and_as_bytes(&shaped(10, kbps, packets * 1250, write, interval_us, seconds), 2);
        let passed = out.table("ports").unwrap().u64("packets")[port(&out, "r", "d")];
        let expected = recounted(10, kbps, packets * 1250, write, interval_us, seconds);
        prop_assert!(passed.abs_diff(expected) <= 1, "{} and not {}", passed, expected);
        let delays = out.table("datagrams").unwrap();
        // What the bucket lacks waits for the rate.
        let wait = (write.saturating_sub(packets + 1)) as f64 * 1e4 / (kbps as f64 * 1e3);
        prop_assert!(delays.f64("delay_max_s")[0] >= wait, "{:?} {}", delays.f64("delay_max_s"), wait);
    }
}

#[test]
fn what_a_link_cannot_do_to_packets_is_refused_by_its_key() {
    let of = |more: &str| {
        let text = shaped(1, 1000, 5000, 1, 100, 1.0);
        refused(&text.replace("shaper = { rate = \"1000 kbps\", burst = \"5000 B\" }", more))
    };
    for (more, key, cure) in [
        ("shaper = { rate = \"2 Gbps\", burst = \"5 kB\" }", "vary[0].shaper.rate", "reduce it"),
        ("shaper = { rate = \"1 Mbps\", burst = \"500 B\" }", "vary[0].shaper.burst", "increase it"),
        (
            "steps = [{ at = \"1 s\", rate = \"1 Mbps\" }]\nshaper = { rate = \"1 Mbps\", burst = \"5 kB\" }",
            "vary[0].shaper",
            "leave it out",
        ),
        ("ecn = {}", "vary[0].ecn", "leave it out"),
        ("ecn = { loss = \"100 %\" }", "vary[0].ecn", "below that"),
        ("ack_thinning = 1", "vary[0].ack_thinning", "at least 2"),
        ("", "vary[0]", "`aggregation` or `arq`"),
    ] {
        let message = of(more);
        assert!(message.contains(key) && message.contains(cure), "{more}: {message}");
    }
}

/// Of a packet that comes corrupted the record says by which port: of the router's two, the second.
#[test]
fn a_corrupted_packet_is_dropped_at_the_port_that_it_came_to() {
    let link = "rate = \"10 Mbps\", delay = \"1 ms\"";
    let text = format!(
        "scheme = \"udp\"\n[trace]\n[topology]\nlinks = [{{ a = \"d\", b = \"r\", {link} }}, \
         {{ a = \"s\", b = \"r\", {link}, corruption = \"50 %\" }}]\n\
         [[flow]]\nfrom = \"s\"\nto = \"d\"\nrate = \"5 Mbps\"\nsize = \"50 kB\"\n"
    );
    let out = same_with_threads_and_as_bytes(&text, 3);
    let column = |name| texts(&out, "trace", name);
    let (events, nodes, peers, why) = (column("event"), column("node"), column("peer"), column("why"));
    let dropped: Vec<usize> = (0..events.len()).filter(|i| events[*i] == "dropped").collect();
    assert!(dropped.len() > 5, "{}", dropped.len());
    assert!(dropped.iter().all(|i| (&*nodes[*i], &*peers[*i], &*why[*i]) == ("r", "s", "corrupted")));
}
