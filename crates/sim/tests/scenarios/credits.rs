//! NDP and EQDS in networks: what receivers pull, what routers trim, and who shares a host. Bounds were fixed before the first run.

use proptest::prelude::*;

use crate::common::fabric::{self, HEADERS, MTU, PERMUTATION, all_arrived, incast};
use crate::common::reads::{column, mean_after, total};
use crate::common::{cases, run_plain, same_with_threads_and_as_bytes};

const RATE: f64 = 100e9;
const LIMIT: &str = "34 kB";
/// Both, with windows of a bandwidth-delay product.
const SCHEMES: [(&str, &str); 2] = [("ndp", "initial_window = 30"), ("eqds", "window = 30")];

/// A fat-tree with the paper's queues of eight packets.
fn fabric((scheme, keys): (&str, &str), more: &str) -> String {
    fabric::trimming(scheme, LIMIT, keys, more)
}

/// What so many bytes of payload take on a host's link.
fn time_of(bytes: f64) -> f64 {
    bytes * 8.0 / RATE * MTU as f64 / (MTU - HEADERS) as f64
}

/// One flow alone takes what its bytes take: NDP's pulls come as fast as packets, EQDS's grant 98.7 % of the link.
#[test]
fn a_flow_alone_takes_the_link() {
    for (scheme, more) in [("ndp", 1.02), ("eqds", 1.05)] {
        let size = 400 * (MTU - HEADERS);
        let keys = if scheme == "ndp" { "initial_window = 40" } else { "window = 40" };
        let out = run_plain(&fabric(
            (scheme, keys),
            &format!("[[flow]]\nfrom = \"h0\"\nto = \"h15\"\nsize = \"{size} B\"\n"),
        ));
        all_arrived(&out, size);
        let fct = out.summary("fct_max_s").expect("it ends");
        let least = time_of(size as f64) + 5.0 * 332e-9 + 6.0 * 500e-9;
        println!("{scheme}: {:.4} of the least", fct / least);
        assert!(fct >= 0.999 * least && fct < more * least, "{scheme}: {fct} {least}");
        assert_eq!(total(&out, "ports", "trims") + total(&out, "flows", "retransmitted_packets"), 0, "{scheme}");
    }
}

/// A permutation: packets take all paths, and the slowest flow ends soon. The same bytes with threads.
#[test]
fn a_permutation_takes_all_paths() {
    for scheme in SCHEMES {
        let out = same_with_threads_and_as_bytes(&fabric(scheme, PERMUTATION), 3);
        all_arrived(&out, 2_000_000);
        let slowest = out.summary("fct_max_s").expect("all end") / time_of(2e6);
        println!("{}: {slowest:.3} of the ideal", scheme.0);
        assert!(slowest < 1.35, "{}: {slowest}", scheme.0);
    }
}

/// Fifteen senders to one: all but the first windows comes as it is pulled; nothing is lost, and each trimmed packet is sent again.
#[test]
fn an_incast_loses_payload_but_no_packet() {
    for scheme in SCHEMES {
        let out = run_plain(&fabric(scheme, &incast(15, "1 MB")));
        all_arrived(&out, 1_000_000);
        let (trims, lost) = (total(&out, "ports", "trims"), total(&out, "flows", "lost_packets"));
        let (again, timeouts) = (total(&out, "flows", "retransmitted_packets"), total(&out, "flows", "timeouts"));
        let slowest = out.summary("fct_max_s").expect("all end") / time_of(15e6);
        println!("{}: {trims} trimmed, {again} again, {timeouts} timeouts, {slowest:.3} of the ideal", scheme.0);
        assert!(trims > 100 && lost == 0 && slowest < 1.1, "{}: {trims} {lost} {slowest}", scheme.0);
        assert!((trims..=trims + timeouts).contains(&again) && timeouts < 10, "{}: {again} {timeouts}", scheme.0);
    }
}

/// After the first windows a packet comes for each pull: next to nothing waits at the last hop.
#[test]
fn pulls_keep_the_last_queue_short() {
    for scheme in SCHEMES {
        let measure = "[measure]\nseries = true\ninterval = \"5 us\"\nports = 100\n";
        let out = run_plain(&fabric(scheme, &(incast(15, "2 MB") + measure)));
        let waits = mean_after(&out, "port:e0.0>h0", "queue_bytes", 400e-6);
        println!("{}: {waits:.0} B", scheme.0);
        assert!(waits < 4.0 * MTU as f64, "{}: {waits}", scheme.0);
    }
}

#[test]
fn what_is_lost_arrives_too() {
    for (scheme, keys) in SCHEMES {
        fabric::what_is_lost_arrives_too(scheme, LIMIT, keys);
    }
}

/// A flow joins another one's receiver: both have half; when it has left, the first one has all again.
#[test]
fn flows_join_and_leave() {
    for scheme in SCHEMES {
        let flows = "[[flow]]\nfrom = \"h4\"\nto = \"h0\"\nsize = \"6 MB\"\n\
            [[flow]]\nfrom = \"h8\"\nto = \"h0\"\nsize = \"1500 kB\"\nstart = \"100 us\"\n";
        let out = run_plain(&fabric(scheme, flows));
        let fcts = out.table("flows").expect("flows").f64("fct_s").to_vec();
        let (both, half) = (fcts[0] / time_of(7.5e6), fcts[1] / time_of(3e6));
        println!("{}: {both:.3} of all, {half:.3} of half", scheme.0);
        assert!((0.99..1.08).contains(&both) && (half - 1.0).abs() < 0.2, "{}: {fcts:?}", scheme.0);
    }
}

/// A link is down for a while, a router restarts, packets are lost at random: all of it arrives.
#[test]
fn faults_are_survived() {
    let faults = [
        "[[fault]]\nkind = \"restart\"\nnode = \"a0.0\"\nat = \"100 us\"\n",
        "[[fault]]\nkind = \"restart\"\nnode = \"e0.0\"\nat = \"100 us\"\n",
        "[[fault]]\nkind = \"link-down\"\nlink = [\"e0.0\", \"h0\"]\nat = \"100 us\"\nuntil = \"1 ms\"\n",
        "[[vary]]\nlink = [\"e0.0\", \"h0\"]\nloss = { p = \"100 %\", r = \"100 %\", good = \"2 %\", bad = \"2 %\" }\n",
    ];
    for scheme in SCHEMES {
        for fault in faults {
            let out = run_plain(&(fabric(scheme, &(fault.to_owned() + &incast(15, "500 kB"))) + "\n"));
            all_arrived(&out, 500_000);
            let last = out.summary("fct_max_s").expect("all end");
            println!("{}: {:.3} ms", scheme.0, 1e3 * last);
            assert!(last < 20e-3, "{}: {last} s after {fault}", scheme.0);
        }
    }
}

/// A thousand flows to one host: first windows lose even their headers, and all ends within a third more than it must take.
#[test]
fn a_thousand_flows_to_one_host() {
    for scheme in SCHEMES {
        let flows: String = (0..1000).map(|i| fabric::flow(&format!("h{}", 1 + i % 15), "h0", "50 kB")).collect();
        let out = run_plain(&fabric(scheme, &flows));
        all_arrived(&out, 50_000);
        let slowest = out.summary("fct_max_s").expect("all end") / time_of(50e6);
        println!("{}: {slowest:.3} of the ideal, {} lost", scheme.0, total(&out, "flows", "lost_packets"));
        assert!(slowest < 1.33, "{}: {slowest}", scheme.0);
    }
}

/// NDP's return to sender (§3.2): of a thousand first windows no header is lost, where without it hundreds are, for ports have
/// room for sixteen.
#[test]
fn headers_without_room_return_to_their_senders() {
    let run = |back: bool| {
        let keys = format!("initial_window = 30\nreturn_to_sender = {back}");
        let flows: String = (0..1000).map(|i| fabric::flow(&format!("h{}", 1 + i % 15), "h0", "50 kB")).collect();
        let text =
            fabric(("ndp", &keys), &flows).replace("kind = \"trim\"\n", "kind = \"trim\"\nheader_limit = \"1 kB\"\n");
        let out = same_with_threads_and_as_bytes(&text, 2);
        all_arrived(&out, 50_000);
        let slowest = out.summary("fct_max_s").expect("all end") / time_of(50e6);
        let [lost, timeouts] = ["lost_packets", "timeouts"].map(|column| total(&out, "flows", column));
        println!("{back}: {slowest:.3} of the ideal, {lost} lost, {timeouts} timeouts");
        (lost, timeouts, slowest)
    };
    let (without, with) = (run(false), run(true));
    assert!(without.0 > 100 && without.1 > 100, "{without:?}");
    assert!(with.0 == 0 && with.1 * 10 < without.1 && with.2 < 1.15, "{with:?}");
}

/// Receivers of all three families share a host's pulls: each flow has its part. Who speaks none takes what it takes.
#[test]
fn a_hosts_credits_are_for_those_who_speak_them() {
    let flow = |from: &str, scheme: &str| {
        format!("[[flow]]\nfrom = \"{from}\"\nto = \"h0\"\nsize = \"3 MB\"\nscheme = \"{scheme}\"\n")
    };
    let uec = "[schemes.uec]\ncc = \"rccc\"\n[schemes.eqds]\nwindow = 30\n";
    let credited = flow("h4", "ndp") + &flow("h8", "eqds") + &flow("h12", "uec");
    let out = run_plain(&fabric(SCHEMES[0], &(uec.to_owned() + &credited)));
    all_arrived(&out, 3_000_000);
    let all = out.summary("fct_max_s").expect("all end") / time_of(9e6);
    println!("three families: {all:.3} of the ideal");
    assert!(all < 1.15, "{all}");
    let out = run_plain(&fabric(SCHEMES[0], &(uec.to_owned() + &credited + &flow("h6", "dctcp"))));
    all_arrived(&out, 3_000_000);
}

/// Leaves and spines, and incasts to drawn hosts among other flows.
fn incasts() -> impl Strategy<Value = String> {
    let shape = (2usize..5, 1usize..4, 1usize..5, prop_oneof![Just(25u32), Just(100), Just(400)]);
    let queue = (9u32..80, 100u32..20_000, 1u32..12);
    let scheme = (any::<bool>(), 1u32..40, 0u32..8, prop::bool::weighted(0.8));
    let flows = prop::collection::vec((0usize..20, 0usize..3, 1u32..200_000, 0u32..30), 1..14);
    (shape, queue, scheme, flows, any::<u16>()).prop_map(|(shape, queue, scheme, flows, seed)| {
        let (leaves, spines, hosts, gbps) = shape;
        let (limit, headers, ratio) = queue;
        let (ndp, window, paths, trimming) = scheme;
        let link = format!("rate = \"{gbps} Gbps\", delay = \"500 ns\", mtu = 4150");
        let links = fabric::links((leaves, spines, hosts), &link);
        let flows = fabric::flows(flows, leaves * hosts);
        let (scheme, key) = if ndp { ("ndp", "initial_window") } else { ("eqds", "window") };
        format!(
            "seed = {seed}\nscheme = \"{scheme}\"\n[topology]\n{links}\
            [queue]\nkind = \"trim\"\nlimit = \"{limit} kB\"\nheader_limit = \"{headers} B\"\nheaders_per_packet = {ratio}\n\
            [schemes.{scheme}]\n{key} = {window}\npaths = {}\ntrimming = {trimming}\n{flows}",
            1 << paths
        )
    })
}

/// Fat-trees with permutations: rates, delays, sizes and windows are drawn.
fn permutations() -> impl Strategy<Value = (String, u64, f64)> {
    (any::<bool>(), 1u32..60, prop_oneof![Just(10u32), Just(100), Just(800)], 50u32..3000, 1u64..1_500_000, any::<u16>())
        .prop_map(|(ndp, window, gbps, delay, size, seed)| {
            let (scheme, key) = if ndp { ("ndp", "initial_window") } else { ("eqds", "window") };
            let text = format!(
                "seed = {seed}\nscheme = \"{scheme}\"\n[topology]\ngenerate = \"fat-tree\"\nk = 4\n\
                link = {{ rate = \"{gbps} Gbps\", delay = \"{delay} ns\", mtu = 4150 }}\n\
                [queue]\nkind = \"trim\"\nlimit = \"34 kB\"\n[schemes.{scheme}]\n{key} = {window}\n\
                [[workload]]\nsizes = {{ kind = \"fixed\", size = \"{size} B\" }}\nmatrix = {{ kind = \"permutation\" }}\n\
                arrivals = {{ kind = \"once\" }}\n"
            );
            let least = 8.0 * (size + HEADERS * size.div_ceil(MTU - HEADERS)) as f64 / (f64::from(gbps) * 1e9);
            (text, size, least)
        })
}

/// Small all-to-alls and incasts on leaf-spines and fat-trees that are not oversubscribed: rates, packets' sizes, windows and
/// sizes are drawn, most flows smaller than a window. With it the time that the busiest host's link takes at least.
fn bursts() -> impl Strategy<Value = (String, u64, f64)> {
    let shape = prop_oneof![Just(None), (2usize..5, 1usize..5, 0usize..3).prop_map(Some)];
    let numbers = (prop_oneof![Just(1500u64), Just(4160), Just(9000)], prop_oneof![Just(25u32), Just(100), Just(400)]);
    let flows = (any::<bool>(), 2usize..17, 1u64..100_000);
    let scheme = (prop::bool::weighted(0.25), 20u32..60);
    (shape, numbers, flows, scheme, any::<u16>()).prop_map(|(shape, (mtu, gbps), (all, ranks, size), scheme, seed)| {
        let (ndp, window) = scheme;
        let link = format!("rate = \"{gbps} Gbps\", delay = \"500 ns\", mtu = {mtu}");
        let (topology, hosts, prefix) = match shape {
            None => (format!("generate = \"fat-tree\"\nk = 4\nlink = {{ {link} }}\n"), 16, "h"),
            Some((leaves, own, more)) => (fabric::links((leaves, own + more, own), &link), leaves * own, "host"),
        };
        let ranks = ranks.min(hosts);
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let pairs: Vec<_> = pairs.filter(|(from, to)| from != to && (all || *to == 0)).collect();
        let flows: String = pairs
            .iter()
            .map(|(from, to)| fabric::flow(&format!("{prefix}{from}"), &format!("{prefix}{to}"), &format!("{size} B")))
            .collect();
        let (scheme, key) = if ndp { ("ndp", "initial_window") } else { ("eqds", "window") };
        let text = format!(
            "seed = {seed}\nscheme = \"{scheme}\"\n[topology]\n{topology}\
            [queue]\nkind = \"trim\"\nlimit = \"72 kB\"\n[schemes.{scheme}]\n{key} = {window}\n{flows}"
        );
        let bytes = (ranks as u64 - 1) * (size + HEADERS * size.div_ceil(mtu - HEADERS));
        (text, size, 8.0 * bytes as f64 / (f64::from(gbps) * 1e9))
    })
}

proptest! {
    #![proptest_config(cases(16))]

    /// Every byte arrives once; what ports have dropped or trimmed was sent again; the same with threads and as bytes.
    #[test]
    fn every_byte_of_an_incast_arrives_once(text in incasts()) {
        prop_assume!(text.contains("[[flow]]"));
        let out = fabric::every_byte_arrives_once(&text);
        let (sent, again) = (total(&out, "flows", "sent_packets"), total(&out, "flows", "retransmitted_packets"));
        let full: u64 = column(&out, "flows", "delivered_bytes").iter().map(|bytes| bytes.div_ceil(MTU - HEADERS)).sum();
        prop_assert_eq!(sent - again, full, "each packet was sent once for the first time");
        prop_assert!(again >= total(&out, "ports", "trims"));
    }

    /// Every byte arrives once, and no flow ends before its bytes can have crossed a link.
    #[test]
    fn every_byte_of_a_permutation_arrives_once((text, size, least) in permutations()) {
        let out = same_with_threads_and_as_bytes(&text, 2);
        all_arrived(&out, size);
        prop_assert!(out.table("flows").expect("flows").f64("fct_s").iter().all(|fct| *fct >= least));
    }

    /// Nobody waits for a timeout, which is 150 us at least, although what is sent at first is cut: twice what the busiest link
    /// takes, and two thirds of that.
    #[test]
    fn small_bursts_wait_for_no_timeout((text, size, least) in bursts()) {
        prop_assume!(text.contains("[[flow]]"));
        let out = run_plain(&text);
        all_arrived(&out, size);
        let last = out.summary("fct_max_s").expect("all end");
        prop_assert!(last < 2.0 * least + 100e-6, "{last} s, least {least} s");
    }
}
