//! MIRCC in networks: the fixed points that the paper names, and what happens when networks change
//! and lose.

use std::fmt::Write;

use crate::common::icn::{self, ETA, asked, flow, mean, near, no_data_dropped, slingshot, topology};
use crate::common::reads::texts;
use crate::common::run_plain;
use midpath_sim::{RunOptions, RunOutput, run_text};

/// Bytes of headers on Data: 20 IP, 20 names, 32 MIRCC.
const HEADERS: f64 = 72.0;

/// Data that a flow gets, in Mbps on the wire.
fn data(out: &RunOutput, flow: usize, from: f64, to: f64) -> f64 {
    icn::data(out, flow, HEADERS, from, to)
}

fn scenario(stop_s: u32, params: &str, rest: &str) -> String {
    icn::scenario("mircc", stop_s, params, rest)
}

/// Figure 2: three links of 1 Mbps, all consumers at one end.
fn chain() -> String {
    let access: Vec<String> = (0..4).map(|i| format!("c{i}")).collect();
    let mut links = vec![("r0", "r1", 1.0, 10.0), ("r1", "r2", 1.0, 10.0), ("r2", "r3", 1.0, 10.0)];
    links.extend(access.iter().map(|c| (c.as_str(), "r0", 100.0, 1.0)));
    links.push(("p", "r3", 100.0, 1.0));
    topology(&links)
}

/// Figure 3: one flow, three more at 83 s. Each gets ηC, then ηC/4; the links are full; nothing is
/// dropped.
#[test]
fn figure_3s_flows_share_the_chain() {
    for params in [
        "paths = \"one\"\nsending = \"best-subflow\"",
        "update = \"rcp\"\npaths = \"one\"\nsending = \"best-subflow\"\noutstanding = \"booked\"",
    ] {
        let flows: String =
            (0..4).map(|i| flow("p", &format!("c{i}"), if i > 0 { "start = \"83 s\"" } else { "" })).collect();
        let out = run_plain(&scenario(160, params, &(chain() + &flows)));
        near("alone", data(&out, 0, 40.0, 83.0), ETA, 0.03);
        for i in 0..4 {
            near(&format!("flow {i}"), data(&out, i, 120.0, 160.0), ETA / 4.0, 0.03);
        }
        no_data_dropped(&out);
    }
}

/// The same with both classes: many flows leave the secondary class nothing (§4.3.4, the first
/// case).
#[test]
fn a_full_link_leaves_the_secondary_class_nothing() {
    let flows: String = (0..4).map(|i| flow("p", &format!("c{i}"), "")).collect();
    let out = run_plain(&scenario(80, "", &(chain() + &flows)));
    for i in 0..4 {
        near(&format!("flow {i}"), data(&out, i, 50.0, 80.0), ETA / 4.0, 0.03);
        let secondary = asked(&out, i, "secondary", 50.0, 80.0);
        assert!(secondary < 0.01 * ETA / 4.0, "flow {i} asks for {secondary}");
    }
    no_data_dropped(&out);
}

/// (11) as it is printed leaves the secondary class η(1 − η) of a full link: both classes together ask for
/// more than the shaper's usual headroom, 0.98; `text = "paper"` has all of the link, as here. They rest at 0.981, below
/// η + η(1 − η): (13) leaves a part to the queue.
#[test]
fn as_printed_headroom_cuts_nothing_off() {
    let links = topology(&[("r0", "r1", 10.0, 5.0), ("c", "r1", 1000.0, 0.1), ("p", "r0", 1000.0, 0.1)]);
    for outstanding in ["due", "booked"] {
        // With `split` both classes of a path stay within R_p. A twentieth of the link is half a packet in T:
        // with `secondary_packets = 0` R_s falls at once, and both classes rest at 0.951.
        let params = format!(
            "residual = \"printed\"\nwithout = [\"split\", \"headroom\"]\noutstanding = \"{outstanding}\"\n\
             secondary_packets = 10.0"
        );
        let out = run_plain(&scenario(20, &params, &(links.clone() + &flow("p", "c", "count = 3"))));
        let full = mean(&out, "port:r0>r1", "throughput_bps", 10.0, 20.0) / 10e6;
        assert!(full > 0.98, "{outstanding}: {full}");
    }
}

/// Figure 6: 12 + 3 Mbps over η; then less than 2 : 1 on the full l_a (the equations' fixed point
/// is 1.72 : 1); then as before.
#[test]
fn figure_6s_slingshot() {
    let out = run_plain(&scenario(90, "", &slingshot("e3")));
    for (from, to) in [(10.0, 20.0), (80.0, 90.0)] {
        near("primary", asked(&out, 0, "primary", from, to), 12.0 * ETA, 0.05);
        near("secondary", asked(&out, 0, "secondary", from, to), 3.0 * ETA, 0.05);
        near("flow 0", data(&out, 0, from, to), 15.0 * ETA, 0.05);
    }
    let (one, two) = (data(&out, 0, 40.0, 60.0), data(&out, 1, 40.0, 60.0));
    near("l_a", one + two, 15.0 * ETA, 0.05);
    near("ratio", one / two, 1.721, 0.05);
    no_data_dropped(&out);
}

/// "If Producer 2 is moved … so that the 12Mbps l_b is the shared second hop, the Consumers both
/// bottleneck on l_a, which is shared evenly".
#[test]
fn the_slingshot_with_a_wider_second_hop_is_shared_evenly() {
    let out = run_plain(&scenario(60, "", &slingshot("e2")));
    let (one, two) = (data(&out, 0, 40.0, 60.0), data(&out, 1, 40.0, 60.0));
    near("l_a", one + two, 15.0 * ETA, 0.05);
    near("ratio", one / two, 1.0, 0.05);
    no_data_dropped(&out);
}

/// §4.3.4, the second case on figure 4's scenario 2: 5 + 5 primary and 2.5 + 2.5 secondary, l_g of
/// 15 Mbps full.
#[test]
fn one_flow_over_two_paths_fills_the_cut() {
    let links = [
        ("c", "e1", 1000.0, 0.5),
        ("e1", "a", 20.0, 3.0),
        ("a", "b1", 10.0, 3.0),
        ("a", "b2", 10.0, 3.0),
        ("b1", "g", 100.0, 3.0),
        ("b2", "g", 100.0, 3.0),
        ("g", "e2", 15.0, 3.0),
        ("p", "e2", 1000.0, 0.5),
    ];
    let out = run_plain(&scenario(40, "", &(topology(&links) + &flow("p", "c", ""))));
    near("primary", asked(&out, 0, "primary", 20.0, 40.0), 10.0 * ETA, 0.05);
    near("secondary", asked(&out, 0, "secondary", 20.0, 40.0), 5.0 * ETA, 0.05);
    near("all", data(&out, 0, 20.0, 40.0), 15.0 * ETA, 0.05);
    near("paths", mean(&out, "flow:0", "paths", 20.0, 40.0), 2.0, 0.0);
    no_data_dropped(&out);
}

/// The alternatives of §4.1 on the same network: 10 and 15 (not 20: the cut).
#[test]
fn the_strategies_that_the_paper_argues_against() {
    let links = [
        ("c", "a", 100.0, 3.0),
        ("a", "b1", 10.0, 3.0),
        ("a", "b2", 10.0, 3.0),
        ("b1", "g", 100.0, 3.0),
        ("b2", "g", 100.0, 3.0),
        ("p", "g", 100.0, 3.0),
    ];
    for (sending, mbps) in [("best-subflow", 10.0), ("total-per-subflow", 20.0)] {
        let text = topology(&links) + &flow("p", "c", "");
        let out = run_plain(&scenario(30, &format!("sending = \"{sending}\""), &text));
        near(sending, data(&out, 0, 15.0, 30.0), mbps * ETA, 0.05);
    }
}

/// Data fill a link both ways: each way has what Interests leave of ηC. One flow each way, four
/// against one, four against four.
#[test]
fn a_link_is_used_well_both_ways() {
    // An Interest of 64 bytes for each 1500 the other way: y = η (C − 64/1500 y).
    let full = 2.0 * ETA / (1.0 + ETA * 64.0 / 1500.0);
    for (there, back, delay) in [(1, 1, 5.0), (4, 1, 5.0), (4, 4, 5.0), (1, 1, 50.0)] {
        let mut links = vec![("r0", "r1", 2.0, delay)];
        let hosts: Vec<[String; 2]> = (0..there + back).map(|i| [format!("p{i}"), format!("c{i}")]).collect();
        for (i, [p, c]) in hosts.iter().enumerate() {
            let (near_p, near_c) = if i < there { ("r0", "r1") } else { ("r1", "r0") };
            links.extend([(p.as_str(), near_p, 100.0, 1.0), (c.as_str(), near_c, 100.0, 1.0 + i as f64)]);
        }
        let flows: String = hosts.iter().map(|[p, c]| flow(p, c, "")).collect();
        for params in ["paths = \"one\"\nsending = \"best-subflow\"", "", "pacing = \"booked\""] {
            let out = run_plain(&scenario(40, params, &(topology(&links) + &flows)));
            for i in 0..there + back {
                let share = full / if i < there { there } else { back } as f64;
                near(&format!("{there} + {back}, {params:?}, flow {i}"), data(&out, i, 20.0, 40.0), share, 0.03);
            }
            no_data_dropped(&out);
        }
    }
}

/// 100 Mbps one way, 1 Mbps the other, and Data both ways: the Interests of one way and the Data of
/// the other have half of the slow way each, as Wang's optimum has it, whatever paces. By bookings
/// alone, without a bound, the Data had 0.1 % of it.
#[test]
fn very_unequal_ways_starve_nobody() {
    let links = "[topology]\nlinks = [\n\
        { a = \"r0\", b = \"r1\", rate = \"100 Mbps\", rate_back = \"1 Mbps\", delay = \"5 ms\" },\n\
        { a = \"p0\", b = \"r0\", rate = \"1 Gbps\", delay = \"1 ms\" },\n\
        { a = \"c0\", b = \"r1\", rate = \"1 Gbps\", delay = \"1 ms\" },\n\
        { a = \"p1\", b = \"r1\", rate = \"1 Gbps\", delay = \"1 ms\" },\n\
        { a = \"c1\", b = \"r0\", rate = \"1 Gbps\", delay = \"1 ms\" },\n]\n";
    for pacing in ["wang", "booked"] {
        let text = format!("{links}{}{}", flow("p0", "c0", ""), flow("p1", "c1", ""));
        let out = run_plain(&scenario(30, &format!("pacing = \"{pacing}\""), &text));
        // η of half a way is 0.475; the Interests of 1500/64 as much Data have the other half.
        near(&format!("{pacing}, slow way"), data(&out, 1, 10.0, 30.0), 0.5 * ETA, 0.1);
        near(&format!("{pacing}, fast way"), data(&out, 0, 10.0, 30.0), 0.5 * 1500.0 / 64.0, 0.1);
        no_data_dropped(&out);
    }
}

/// RTTs of 3 to 300 ms on one link: flows that come one after another and go again have equal
/// shares, and nothing is dropped.
#[test]
fn rtts_a_hundred_apart_share_a_link() {
    let mut links = vec![("r0", "r1", 10.0, 0.5), ("p", "r1", 100.0, 0.5)];
    links.extend([("c0", "r0", 100.0, 0.5), ("c1", "r0", 100.0, 5.0), ("c2", "r0", 100.0, 50.0)]);
    links.push(("c3", "r0", 100.0, 149.0));
    for bottleneck_far in [false, true] {
        if bottleneck_far {
            // The long way is between the link and the consumers, or between the link and the
            // producer.
            links[0].3 = 149.0;
            links[5].3 = 0.5;
        }
        let flows: String = (0..4).map(|i| flow("p", &format!("c{i}"), &format!("start = \"{} s\"", 5 * i))).collect();
        let leaving = flow("p", "c0", "start = \"40 s\"\nstop = \"60 s\"");
        let out = run_plain(&scenario(90, "", &(topology(&links) + &flows + &leaving)));
        for (from, to) in [(30.0, 40.0), (80.0, 90.0)] {
            for i in 0..4 {
                near(&format!("flow {i}, {from} s"), data(&out, i, from, to), 10.0 * ETA / 4.0, 0.05);
            }
        }
        near("the fifth", data(&out, 4, 50.0, 60.0), 10.0 * ETA / 5.0, 0.05);
        no_data_dropped(&out);
    }
}

/// Four hundred flows begin at once; a share is less than half a packet in a round trip. The link is
/// nearly as full as of one flow. Each of three additions is needed: without `sparse` and `drain`
/// its rate rests too low, without `spread` more Interests come at once than wait at a port.
#[test]
fn a_crowd_that_begins_at_once_fills_the_link() {
    let links = topology(&[("r0", "r1", 40.0, 2.0), ("c", "r1", 1000.0, 0.1), ("p", "r0", 1000.0, 0.1)]);
    let out = run_plain(&scenario(6, "", &(links + &flow("p", "c", "count = 400"))));
    let full = mean(&out, "port:r0>r1", "throughput_bps", 4.0, 6.0) / 40e6;
    assert!(full > 0.92, "{full}");
    no_data_dropped(&out);
}

/// A near producer joins a far one: 0.1 and 148 ms behind the link, a queue of ten packets and one for
/// each path. By a rate alone the near Data come beside those that were asked for of the far one.
#[test]
fn near_data_find_room_beside_far_ones() {
    let links = [
        ("r0", "r1", 20.0, 0.05),
        ("p0", "r0", 1000.0, 73.9),
        ("p1", "r0", 1000.0, 0.01),
        ("c0", "r1", 1000.0, 0.1),
        ("c1", "r1", 1000.0, 0.1),
    ];
    let flows =
        flow("p0", "c0", "size = \"10 MB\"") + &flow("p1", "c1", "size = \"300 kB\"\nstart = \"1 s\"\ncount = 5");
    let run = |params: &str| {
        run_plain(&scenario(20, params, &(topology(&links) + &flows + "[queue]\nlimit = \"12 packets\"\n")))
    };
    let out = run("");
    no_data_dropped(&out);
    assert_eq!(out.summary("completed"), Some(6.0));
    let times = out.table("flows").expect("there").f64("fct_s").to_vec();
    assert!(times[0] < 6.5 && times[1..].iter().all(|t| *t < 1.5), "{times:?}");
    let dropped: u64 = run("outstanding = \"booked\"").table("ports").expect("there").u64("drops_queue").iter().sum();
    assert!(dropped > 50, "else there is nothing to mend: {dropped}");
}

/// 5 % of Interests and 5 % of Data are lost. No timeout is needed but at the object's end.
#[test]
fn loss_is_found_by_later_data() {
    let time = |loss: &str, params: &str| {
        let links = format!(
            "[topology]\nlinks = [\n{{ a = \"r0\", b = \"r1\", rate = \"10 Mbps\", delay = \"20 ms\"{loss} }},\n\
             {{ a = \"c\", b = \"r0\", rate = \"1 Gbps\", delay = \"0.1 ms\" }},\n\
             {{ a = \"p\", b = \"r1\", rate = \"1 Gbps\", delay = \"0.1 ms\" }},\n]\n\
             nodes = [{{ name = \"p\", kind = \"host\" }}, {{ name = \"c\", kind = \"host\" }}]\n"
        );
        let out = run_plain(&scenario(60, params, &(links + &flow("p", "c", "size = \"2 MB\""))));
        out.table("flows").expect("there").f64("fct_s")[0]
    };
    let (clean, lossy) = (time("", ""), time(", corruption = \"5 %\"", ""));
    assert!(lossy < 1.3 * clean / (0.95 * 0.95), "{lossy} s, {clean} s without loss");
}

/// A path of 250 ms beside one of 10 ms. What has no hint and goes the long way is not taken for lost
/// for long: else its Data come over the short path, and the long one is never found.
#[test]
fn a_path_many_times_as_long_is_found() {
    let links = [
        ("c", "a", 1000.0, 0.1),
        ("a", "b1", 5.0, 2.5),
        ("a", "b2", 5.0, 122.5),
        ("b1", "g", 100.0, 2.5),
        ("b2", "g", 100.0, 2.5),
        ("p", "g", 1000.0, 0.1),
    ];
    let out = run_plain(&scenario(20, "", &(topology(&links) + &flow("p", "c", ""))));
    near("paths", mean(&out, "flow:0", "paths", 10.0, 20.0), 2.0, 0.0);
    near("all", data(&out, 0, 10.0, 20.0), 10.0 * ETA, 0.05);
    no_data_dropped(&out);
}

/// Joins, an outage of one of two paths and of the only one, a restart, other rates, loss on a
/// link: every object is fetched.
fn troubled(params: &str, queue: &str) -> String {
    let mut text = String::from(
        "[topology]\nlinks = [\n\
         { a = \"r0\", b = \"r1\", rate = \"10 Mbps\", delay = \"5 ms\" },\n\
         { a = \"r1\", b = \"r2\", rate = \"8 Mbps\", delay = \"2 ms\", corruption = \"1 %\" },\n\
         { a = \"r1\", b = \"r3\", rate = \"6 Mbps\", delay = \"9 ms\" },\n\
         { a = \"r2\", b = \"r4\", rate = \"10 Mbps\", delay = \"1 ms\" },\n\
         { a = \"r3\", b = \"r4\", rate = \"10 Mbps\", delay = \"1 ms\" },\n",
    );
    for i in 0..3 {
        writeln!(text, "{{ a = \"c{i}\", b = \"r0\", rate = \"100 Mbps\", delay = \"{i}1 ms\" }},").unwrap();
    }
    text += "{ a = \"p\", b = \"r4\", rate = \"100 Mbps\", delay = \"1 ms\" },\n]\n";
    text += "nodes = [{ name = \"p\", kind = \"host\" }, { name = \"c0\", kind = \"host\" }, \
             { name = \"c1\", kind = \"host\" }, { name = \"c2\", kind = \"host\" }]\n";
    for i in 0..9 {
        let more = format!("size = \"{} kB\"\nstart = \"{} ms\"", 100 + 400 * (i % 3), 700 * i);
        text += &flow("p", &format!("c{}", i % 3), &more);
    }
    let faults = [
        ("2 s", "kind = \"link-down\"\nlink = [\"r1\", \"r3\"]\nuntil = \"4 s\""),
        ("5 s", "kind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nuntil = \"6 s\""),
        ("7 s", "kind = \"restart\"\nnode = \"r1\""),
        ("8 s", "kind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"3 Mbps\""),
    ];
    faults.iter().for_each(|(at, what)| write!(text, "[[fault]]\nat = \"{at}\"\n{what}\n").unwrap());
    format!("scheme = \"mircc\"\nstop = \"120 s\"\n[schemes.mircc]\n{params}\n[queue]\nlimit = \"{queue}\"\n{text}")
}

/// What was asked for before a link fails or slows down still comes: two shapers of 100 Interests,
/// and 62 packets of a round trip.
const ENOUGH: &str = "300 packets";

#[test]
fn every_object_is_fetched_through_outages_restarts_and_loss() {
    let one = "paths = \"one\"\nsending = \"best-subflow\"";
    let rcp = "update = \"rcp\"\nsending = \"best-subflow\"";
    // With awaited Data bounded by the queue any queue is enough.
    for (params, queue) in [("", ENOUGH), (one, ENOUGH), (rcp, ENOUGH), ("outstanding = \"queue\"", "12 packets")] {
        let out = run_plain(&troubled(params, queue));
        assert_eq!(out.summary("completed"), Some(9.0), "{params}");
        let flows = out.table("flows").expect("there");
        let sizes: Vec<u64> = (0..9).map(|i| 1000 * (100 + 400 * (i % 3))).collect();
        assert_eq!(flows.u64("delivered_bytes"), sizes, "{params}");
        assert!(texts(&out, "flows", "scheme").iter().all(|s| s == "mircc"));
        no_data_dropped(&out);
    }
}

#[test]
fn threads_and_bytes_change_nothing() {
    let run = |threads, wire| {
        let options = RunOptions { threads, wire, ..RunOptions::default() };
        let text = troubled("", ENOUGH);
        let out = run_text(&text, std::path::Path::new("."), &options, &mut |_| true).expect("valid").expect("ran");
        out.repeatable()
    };
    let one = run(1, false);
    assert!(one == run(2, false) && one == run(1, true));
}

#[test]
fn what_mircc_cannot_do_is_refused() {
    let error = |params: &str, rest: &str| {
        let text = scenario(1, params, &(chain() + &flow("p", "c0", "") + rest));
        run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true).unwrap_err().to_string()
    };
    assert!(error("pit = 0", "").contains("pit"));
    assert!(error("", "[queue]\nkind = \"codel\"").contains("drop-tail"));
}
