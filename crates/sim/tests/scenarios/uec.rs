//! UET in networks: windows, credits, entropies, trimming; whatever the fabric, each byte arrives once.

use proptest::prelude::*;

use crate::common::fabric::{self, HEADERS, MTU, PERMUTATION, all_arrived, incast};
use crate::common::reads::{column, most, series, total};
use crate::common::{cases, port, run_plain, same_with_threads_and_as_bytes};
use midpath_sim::RunOptions;

/// A fat-tree with queues of a bandwidth-delay product.
fn fabric(keys: &str, flows: &str) -> String {
    fabric::trimming("uec", "100 kB", keys, flows)
}

/// One flow alone: its packets leave back to back, and its last one crosses the path.
#[test]
fn a_flow_alone_takes_what_its_bytes_take() {
    let size = 400 * (MTU - HEADERS);
    let out = run_plain(&fabric("", &format!("[[flow]]\nfrom = \"h0\"\nto = \"h15\"\nsize = \"{size} B\"\n")));
    all_arrived(&out, size);
    let fct = out.summary("fct_max_s").expect("it ends");
    // 400 packets at 100 Gbps, and five more links of 332 ns and six delays of 500 ns.
    let least = 400.0 * 332e-9 + 5.0 * 332e-9 + 6.0 * 500e-9;
    assert!((fct / least - 1.0).abs() < 1e-3, "{fct} and not {least}");
    assert_eq!(total(&out, "ports", "trims") + total(&out, "flows", "retransmitted_packets"), 0);
}

/// A permutation under each entropy: all but `ecmp` use all paths, and end sooner, on average over five draws. The same bytes with
/// threads.
#[test]
fn a_permutation_ends_sooner_where_packets_take_their_own_paths() {
    let tail = |entropy: &str| {
        let text = fabric(&format!("entropy = \"{entropy}\""), PERMUTATION);
        let tails = (1..=5).map(|seed| {
            let out = same_with_threads_and_as_bytes(&format!("seed = {seed}\n{text}"), 3);
            all_arrived(&out, 2_000_000);
            out.summary("fct_max_s").expect("all end")
        });
        tails.sum::<f64>() / 5.0
    };
    let ideal = 2e6 * 8.0 / 100e9 * MTU as f64 / (MTU - HEADERS) as f64;
    let fixed = tail("ecmp");
    for entropy in ["oblivious", "bitmap", "reps", "mixed"] {
        let spread = tail(entropy);
        println!("{entropy}: {:.2} of the ideal, ecmp {:.2}", spread / ideal, fixed / ideal);
        assert!(spread < 1.35 * ideal && spread < 0.75 * fixed, "{entropy}: {spread} {fixed} {ideal}");
    }
}

/// Fifteen senders to one: packets are trimmed, none is lost, and each trimmed packet is sent again.
#[test]
fn an_incast_loses_payload_but_no_packet() {
    for cc in ["nscc", "rccc", "both"] {
        let out = run_plain(&fabric(&format!("cc = \"{cc}\""), &incast(15, "1 MB")));
        all_arrived(&out, 1_000_000);
        let (trims, lost) = (total(&out, "ports", "trims"), total(&out, "flows", "lost_packets"));
        let again = total(&out, "flows", "retransmitted_packets");
        let fct = out.summary("fct_max_s").expect("all end");
        let ideal = 15.0 * 1e6 * 8.0 / 100e9 * MTU as f64 / (MTU - HEADERS) as f64;
        println!("{cc}: {trims} trimmed, {again} sent again, {:.3} of the ideal", fct / ideal);
        assert!(trims > 100 && lost == 0 && fct < 1.1 * ideal, "{cc}: {trims} {lost} {fct} {ideal}");
        // A sender whose window has shrunk below what it sent last may wait for an ACK that nobody asked for.
        let timeouts = total(&out, "flows", "timeouts");
        assert!((trims..=trims + timeouts).contains(&again) && timeouts < 10, "{cc}: {again} {trims} {timeouts}");
    }
}

/// Credits are granted at 99 % of the link's rate, so that what comes later waits for little; windows leave a queue.
#[test]
fn credits_keep_the_last_queue_short() {
    let waits = |cc: &str| {
        let measure = "[measure]\nseries = true\ninterval = \"5 us\"\nports = 100\n";
        let text = fabric(&format!("cc = \"{cc}\""), &(incast(15, "2 MB") + measure));
        let out = run_plain(&text);
        let entity = "port:e0.0>h0";
        let all = series(&out, entity, "queue_bytes");
        let late: Vec<f64> = all.iter().filter(|(time, _)| *time > 200e-6).map(|(_, bytes)| *bytes).collect();
        assert!(most(&out, entity, "queue_bytes") <= 100e3 + 200e3 && late.len() > 50);
        late.iter().sum::<f64>() / late.len() as f64
    };
    let (credits, windows) = (waits("rccc"), waits("nscc"));
    println!("{credits} B wait with credits, {windows} B with windows");
    assert!(credits < 0.5 * windows, "{credits} {windows}");
}

#[test]
fn what_is_lost_arrives_too() {
    fabric::what_is_lost_arrives_too("uec", "100 kB", "");
}

/// Flows of one host take turns: two have each half.
#[test]
fn flows_of_a_host_share_its_line() {
    let flows = "[[flow]]\nfrom = \"h0\"\nto = \"h5\"\nsize = \"4 MB\"\n[[flow]]\nfrom = \"h0\"\nto = \"h9\"\nsize = \"4 MB\"\n";
    let out = run_plain(&fabric("", flows));
    all_arrived(&out, 4_000_000);
    let fcts = out.table("flows").expect("flows").f64("fct_s").to_vec();
    assert!((fcts[0] / fcts[1] - 1.0).abs() < 0.01, "{fcts:?}");
    let at = port(&out, "h0", "e0.0");
    assert!(column(&out, "ports", "queue_max_bytes")[at] <= 2 * MTU, "nothing waits in the host");
}

/// A class without loss trims nothing: it is one or the other.
#[test]
fn trimming_and_pfc_exclude_each_other() {
    let text = format!("stop = \"1 ms\"\n{}[pfc]\n", fabric("", &incast(2, "10 kB")));
    let error = midpath_sim::run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true);
    let Err(error) = error else { panic!("it is refused") };
    assert!(error.to_string().contains("nothing is trimmed"), "{error}");
}

/// A permutation of others' flows over a fat-tree, with a path for each flow or each packet: slowest completion in ms,
/// packets sent again and packets lost.
fn sprayed(scheme: &str, queue: &str, ecmp: &str) -> (f64, u64, u64) {
    let out = run_plain(&format!(
        "scheme = \"{scheme}\"\n[topology]\ngenerate = \"fat-tree\"\nk = 4\nlink = {{ rate = \"10 Gbps\", delay = \"1 us\" }}\n\
        [routing]\necmp = \"{ecmp}\"\n[queue]\n{queue}\n[[workload]]\nsizes = {{ kind = \"fixed\", size = \"2 MB\" }}\n\
        matrix = {{ kind = \"permutation\" }}\narrivals = {{ kind = \"once\" }}\n"
    ));
    all_arrived(&out, 2_000_000);
    let lost = total(&out, "flows", "lost_packets");
    (1e3 * out.summary("fct_max_s").expect("all end"), total(&out, "flows", "retransmitted_packets"), lost)
}

/// What the page says of spraying: TCP's senders end sooner and send again what is not lost; those that compare a port's
/// readings from ACK to ACK fall to a fraction; UET takes it as it is.
#[test]
fn what_spraying_does_to_others_is_what_the_page_says() {
    let step = "kind = \"step\"\nlimit = \"1500 kB\"\nthreshold = \"65 packets\"";
    let plain = "limit = \"1500 kB\"";
    for (scheme, queue) in [("dctcp", step), ("swift", plain), ("bbr", plain), ("bolt", plain)] {
        let (flow, packet) = (sprayed(scheme, queue, "flow"), sprayed(scheme, queue, "packet"));
        println!("{scheme}: {flow:.2?} {packet:.2?}");
        assert!(packet.0 < 0.9 * flow.0 && packet.1 > packet.2, "{scheme}: {flow:?} {packet:?}");
    }
    for scheme in ["hpcc", "powertcp"] {
        let (flow, packet) = (sprayed(scheme, plain, "flow"), sprayed(scheme, plain, "packet"));
        println!("{scheme}: {flow:.2?} {packet:.2?}");
        assert!(packet.0 > 2.0 * flow.0, "{scheme}: {flow:?} {packet:?}");
    }
    let trim = "kind = \"trim\"\nlimit = \"25 kB\"";
    let (flow, packet) = (sprayed("uec", trim, "flow"), sprayed("uec", trim, "packet"));
    println!("uec: {flow:.2?} {packet:.2?}");
    assert!((packet.0 / flow.0 - 1.0).abs() < 0.15, "{flow:?} {packet:?}");
}

/// A fabric of leaves and spines, its queues, a scheme, and who sends to whom.
fn fabrics() -> impl Strategy<Value = String> {
    let shape = (2usize..5, 1usize..4, 1usize..5, prop_oneof![Just(25u32), Just(100), Just(400)]);
    let queue = (9u32..200, 100u32..20_000, 1u32..12, any::<bool>());
    let scheme = (
        prop_oneof![Just("nscc"), Just("rccc"), Just("both")],
        prop_oneof![Just("ecmp"), Just("oblivious"), Just("bitmap"), Just("reps"), Just("mixed")],
        0u32..8,
        prop::bool::weighted(0.8),
    );
    let flows = prop::collection::vec((0usize..20, 0usize..20, 1u32..200_000, 0u32..30), 1..14);
    (shape, queue, scheme, flows, any::<u16>()).prop_map(|(shape, queue, scheme, flows, seed)| {
        let (leaves, spines, hosts, gbps) = shape;
        let (limit, headers, ratio, priority) = queue;
        let (cc, entropy, paths, trimming) = scheme;
        let link = format!("rate = \"{gbps} Gbps\", delay = \"500 ns\", mtu = 4150");
        let links = fabric::links((leaves, spines, hosts), &link);
        let flows = fabric::flows(flows, leaves * hosts);
        let place = if priority { format!("headers_per_packet = {ratio}") } else { "headers = \"fifo\"".to_owned() };
        format!(
            "seed = {seed}\nscheme = \"uec\"\n[topology]\n{links}\
            [queue]\nkind = \"trim\"\nlimit = \"{limit} kB\"\nheader_limit = \"{headers} B\"\n{place}\n\
            [schemes.uec]\ncc = \"{cc}\"\nentropy = \"{entropy}\"\npaths = {}\ntrimming = {trimming}\n{flows}",
            1 << paths
        )
    })
}

/// Two senders of two packets each, which a router gets at the same times: a packet is marked by what waits when it has been
/// sent (HTSIM's `completeService`). That is the other one behind the first, both second ones behind the other, and one of
/// these behind the third. Nothing is behind the last, and as they begin only the third leaves something behind.
#[test]
fn what_comes_while_a_packet_is_sent_marks_it() {
    let link = |a: &str| format!("{{ a = \"{a}\", b = \"r\", rate = \"100 Gbps\", delay = \"1 us\", mtu = {MTU} }},\n");
    let links: String = ["a", "b", "c"].map(link).concat();
    let flows: String = ["a", "b"].map(|from| fabric::flow(from, "c", &format!("{} B", 2 * (MTU - HEADERS)))).concat();
    let text = format!(
        "scheme = \"uec\"\n[topology]\nlinks = [\n{links}]\n\
        [queue]\nkind = \"trim\"\nlimit = \"100 kB\"\nmin = \"1 kB\"\nmax = \"2 kB\"\n{flows}"
    );
    let out = same_with_threads_and_as_bytes(&text, 2);
    all_arrived(&out, 2 * (MTU - HEADERS));
    assert_eq!((total(&out, "ports", "marks"), total(&out, "flows", "marked_packets")), (3, 3));
}

proptest! {
    #![proptest_config(cases(24))]

    /// Every byte arrives once; what ports have dropped or trimmed was sent again; the same with threads and as bytes.
    #[test]
    fn every_byte_arrives_once_whatever_is_trimmed_or_lost(text in fabrics()) {
        prop_assume!(text.contains("[[flow]]"));
        let out = fabric::every_byte_arrives_once(&text);
        let sent = total(&out, "flows", "sent_packets");
        let again = total(&out, "flows", "retransmitted_packets");
        let trims = total(&out, "ports", "trims");
        let full: u64 = column(&out, "flows", "delivered_bytes").iter().map(|bytes| bytes.div_ceil(MTU - HEADERS)).sum();
        prop_assert_eq!(sent - again, full, "each packet was sent once for the first time");
        // Each packet comes with its payload once at least: what was cut came again.
        prop_assert!(again >= trims, "{} {}", again, trims);
        if !text.contains("trimming = true") {
            prop_assert_eq!(trims, 0);
        }
    }
}
