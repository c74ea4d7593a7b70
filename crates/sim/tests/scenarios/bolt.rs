//! Bolt in networks: use, queues, notices sooner than ACKs, rates that others leave, losses.

use crate::common::rack::{self, seen};
use crate::common::reads::{mean_after as mean, series};
use crate::common::{port, run_plain, same_with_threads_and_as_bytes};

fn dumbbell(pairs: usize, stop: &str, queue: &str, more: &str) -> String {
    rack::dumbbell("bolt", pairs, stop, queue, more)
}

/// Room for the first windows of sixteen flows: 100 kB each.
const QUEUE: &str = "limit = \"4 MB\"";

/// Two packets wait where a port is congested; hardly more do, unless flows have windows of a packet or two.
#[test]
fn it_fills_the_link_with_a_queue_of_a_few_packets() {
    for n in [1, 4, 16] {
        let out = run_plain(&dumbbell(n, "500 ms", QUEUE, ""));
        let (used, waits) = seen(&out, 0.1);
        println!("{n} flows: {used:.3} of the link, {waits:.0} B wait");
        assert!(used > 0.95, "{n} flows use {used}");
        assert!(waits < 1500.0 * f64::from(n as u32 * 2).max(4.0), "{n} flows: {waits} B");
        assert_eq!(out.summary("lost_packets"), Some(0.0));
    }
}

/// One flow to a far receiver over a bottleneck that is near.
fn far(key: &str) -> String {
    dumbbell(1, "40 ms", "limit = \"20 MB\"", "")
        .replace("delay = \"30 us\"", "delay = \"5 ms\"")
        .replace("interval = \"1 ms\"", "interval = \"500 us\"")
        .replace("[schemes.bolt]", &format!("[schemes.bolt]\n{key}"))
}

/// 10 Gbps send 12.5 MB in the handshake's 10 ms.
#[test]
fn a_first_window_that_is_not_given_is_a_hundred_kilobytes_at_most() {
    let out = run_plain(&far(""));
    let first = series(&out, "flow:0", "cwnd_bytes").into_iter().find(|(time, _)| *time > 0.0105).expect("a window");
    // Notices have begun to take it down.
    assert!((20e3..=100e3).contains(&first.1), "{first:?}");
}

/// The window falls before anything can have come back from the receiver.
#[test]
fn a_queue_is_told_of_before_the_round_trip_is_over() {
    let out = run_plain(&far("first_window = \"12.5 MB\""));
    // SYN and SYN-ACK take 10.04 ms. A SYN-ACK's window is 64 kB at most, so that most of the first window
    // leaves from the first ACK on, at 20.1 ms. What comes back of that comes at 30 ms.
    let windows = |from, until| {
        let all = series(&out, "flow:0", "cwnd_bytes");
        all.into_iter().filter(|(time, _)| (from..until).contains(time)).map(|(_, w)| w).collect::<Vec<_>>()
    };
    let falling = windows(0.0204, 0.0251);
    println!("{falling:.0?}");
    assert!(falling.len() > 5 && falling.windows(2).all(|pair| pair[1] < pair[0]), "{falling:?}");
    assert!(windows(0.0289, 0.0299)[0] < 0.55 * falling[0], "each notice answers a packet: half is left");
}

/// Twenty flows of one host: the first port that is congested is that host's. Its notices come back at once, one for each
/// packet, and halve the first windows.
#[test]
fn a_hosts_own_port_tells_the_flows_of_that_host() {
    let text = dumbbell(1, "10 ms", QUEUE, "size = \"500 kB\"\ncount = 20");
    let text = text.replace("[schemes.bolt]", "[schemes.bolt]\nfirst_window = \"60 kB\"\nmax_window = \"60 kB\"");
    let out = run_plain(&text);
    let most = out.table("ports").expect("ports").u64("queue_max_bytes")[port(&out, "s0", "r0")];
    println!("{most} B wait at the host");
    assert!((100_000..650_000).contains(&most), "1.2 MB are the first windows: {most}");
}

/// Each host sends and receives. A notice is for the flow whose packet it is about, whichever way that goes.
#[test]
fn flows_both_ways_between_two_hosts_hear_the_ports_on_their_own_way() {
    let out = run_plain(&(dumbbell(1, "200 ms", QUEUE, "") + "[[flow]]\nfrom = \"d0\"\nto = \"s0\"\n"));
    for (flow, way) in [("flow:0", "port:r0>r1"), ("flow:1", "port:r1>r0")] {
        let [used, waits] = ["utilisation", "queue_bytes"].map(|metric| mean(&out, way, metric, 0.1));
        let notices = series(&out, way, "notices").last().expect("a sample").1;
        let windows = series(&out, flow, "cwnd_bytes");
        let falls = windows.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
        println!("{flow}: {used:.3} of the link, {waits:.0} B wait, {notices} notices, {falls} of {}", windows.len());
        assert!(used > 0.95 && waits < 6000.0, "{flow}: {used} {waits}");
        assert!(notices > 10.0 && falls > 10, "{flow}: {notices} {falls}");
    }
}

/// Two flows share; when one ends the other one has its part at once.
#[test]
fn what_a_flow_leaves_is_taken_in_a_few_round_trips() {
    let text = dumbbell(2, "300 ms", QUEUE, "").replacen("to = \"d0\"", "to = \"d0\"\nsize = \"6 MB\"", 1);
    let text = text.replace("interval = \"1 ms\"", "interval = \"200 us\"");
    let out = run_plain(&text);
    let end = out.table("flows").expect("flows").f64("fct_s")[0];
    let after = mean(&out, "flow:1", "goodput_bps", end + 0.002);
    let used = mean(&out, "port:r0>r1", "utilisation", end + 0.001);
    println!("ends at {end}: then {:.0} Mbps, {used:.3} of the link", after / 1e6);
    assert!((0.08..0.12).contains(&end), "half of the link");
    assert!(used > 0.95 && after > 0.9e9 * 0.95);
}

/// PRU promises what a flow's last window leaves, SM gives away what nobody has sent. Without both it is a packet in a
/// round trip. Without SM alone, too: the next port has no promise to raise a window by.
#[test]
fn supply_matching_and_promises_each_fill_sooner_what_a_flow_leaves() {
    let idle = |keys: &str| -> f64 {
        let text = dumbbell(2, "60 ms", QUEUE, "").replacen("to = \"d0\"", "to = \"d0\"\nsize = \"2 MB\"", 1);
        let text = text.replace("interval = \"1 ms\"", "interval = \"200 us\"");
        let out = run_plain(&text.replace("[schemes.bolt]", &format!("[schemes.bolt]\n{keys}")));
        let end = out.table("flows").expect("flows").f64("fct_s")[0];
        let used = series(&out, "port:r0>r1", "utilisation");
        used.into_iter().filter(|(time, _)| (end..end + 0.002).contains(time)).map(|(_, used)| 0.2 * (1.0 - used)).sum()
    };
    let found = ["", "pru = false", "sm = false", "sm = false\npru = false"].map(idle);
    println!("{found:.3?} ms idle of 2");
    assert!(found[0] < 0.03 && found[1] > 2.0 * found[0] && found[2] > 1.5 * found[1], "{found:?}");
    assert!(found[3] >= found[2], "{found:?}");
}

/// But for a packet in windows of five.
#[test]
fn flows_that_join_one_by_one_share_equally_in_the_end() {
    let text = dumbbell(5, "1 s", QUEUE, "jitter = \"50 ms\"");
    let out = run_plain(&text);
    let shares: Vec<f64> = (0..5).map(|i| mean(&out, &format!("flow:{i}"), "goodput_bps", 0.5)).collect();
    let fair = shares.iter().sum::<f64>() / 5.0;
    println!("{shares:.0?}");
    assert!(shares.iter().all(|s| (s / fair - 1.0).abs() < 0.25), "{shares:?}");
}

/// 200 flows, where eight packets fill the path: less than a packet of each waits.
#[test]
fn an_incast_of_more_flows_than_packets_fit_is_paced() {
    let out = run_plain(&dumbbell(200, "2 s", QUEUE, ""));
    let (used, waits) = seen(&out, 1.0);
    let (drops, packets) = rack::lost(&out);
    println!("{used:.3} of the link, {waits:.0} B wait, {drops} of {packets} lost");
    assert!(used > 0.9 && waits < 200.0 * 1500.0, "{used} {waits}");
    // What is lost is of the first windows, 20 MB in all where 4 fit.
    assert!((drops as f64) < 0.1 * packets as f64, "{drops} of {packets}");
}

#[test]
fn every_byte_arrives_over_short_queues_and_where_packets_are_lost() {
    rack::every_byte_arrives("bolt");
}

#[test]
fn a_run_is_the_same_with_more_threads_and_as_bytes() {
    let text = dumbbell(3, "100 ms", QUEUE, "jitter = \"3 ms\"\nsize = \"1 MB\"");
    same_with_threads_and_as_bytes(&text, 3);
}
