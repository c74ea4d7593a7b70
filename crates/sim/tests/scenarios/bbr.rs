//! BBR in networks: steps of the rate, company, silence, and the same bytes on any number of threads.

use std::fmt::Write;

use crate::common::reads::{delivered, series};
use crate::common::{port, run_plain, same_with_threads_and_as_bytes};
use midpath_sim::RunOutput;

/// Flows over one link of 20 Mbps and 40 ms, whose buffer has so many of its BDPs; each flow's own
/// keys.
fn dumbbell(bdps: f64, stop: &str, flows: &[&str]) -> String {
    let mut text = format!(
        r#"
scheme = "bbr"
stop = "{stop}"
[topology]
generate = "dumbbell"
pairs = {}
bottleneck = {{ rate = "20 Mbps", delay = "18 ms" }}
access = {{ rate = "1 Gbps", delay = "1 ms" }}
[queue]
limit = "{} B"
"#,
        flows.len(),
        (bdps * 20e6 * 0.04 / 8.0) as u64
    );
    for (i, more) in flows.iter().enumerate() {
        writeln!(text, "[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\n{more}").expect("a string");
    }
    text
}

/// Bits per second delivered, for each flow.
fn rates(out: &RunOutput, flows: usize, seconds: f64) -> Vec<f64> {
    (0..flows).map(|i| delivered(out, i) as f64 * 8.0 / seconds).collect()
}

/// "Increasing Bandwidth 10x" and "Decreasing Bandwidth 10x": within a few seconds each way.
#[test]
fn a_step_of_the_rate_is_followed_up_and_down() {
    let fault = |at: u32, rate: &str| {
        format!("[[fault]]\nat = \"{at} s\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"{rate}\"\n")
    };
    let text = dumbbell(2.0, "40 s", &[""]) + &fault(10, "200 Mbps") + &fault(25, "20 Mbps");
    let text = text + "[measure]\nseries = true\ninterval = \"100 ms\"\npoints = 400\n";
    let out = run_plain(&text);
    let bw = series(&out, "flow:0", "bw_bps");
    let at = |time: f64| bw.iter().rfind(|b| b.0 <= time).expect("measured").1 / 1e6;
    println!("{:.1} {:.1} {:.1} Mbps at 9, 24, 39 s", at(9.0), at(24.0), at(39.0));
    assert!((18.0..20.5).contains(&at(9.0)), "{}", at(9.0));
    assert!(at(24.0) > 150.0, "{}", at(24.0));
    assert!((15.0..21.0).contains(&at(39.0)), "{}", at(39.0));
}

/// In a buffer of 40 BDPs of the new rate the draft's filter forgets too late, or never; `expire_max_bw` comes down
/// within 3 s per 10 BDPs.
#[test]
fn a_fall_of_the_rate_in_a_deep_buffer_is_followed_where_max_bw_expires() {
    let fault = "[[fault]]\nat = \"10 s\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"2 Mbps\"\n";
    let measure = "[measure]\nseries = true\ninterval = \"100 ms\"\npoints = 400\n";
    let down_at = |expires: bool| {
        let of_bbr = format!("[schemes.bbr]\nexpire_max_bw = {expires}\n");
        let out = run_plain(&(dumbbell(4.0, "40 s", &[""]) + fault + measure + &of_bbr));
        series(&out, "flow:0", "bw_bps").iter().rfind(|b| b.1 > 1.25 * 2e6).expect("measured").0
    };
    let (ours, drafts) = (down_at(true), down_at(false));
    println!("down for good at {ours:.1} s, by the draft at {drafts:.1} s");
    assert!(ours < 10.0 + 12.0, "{ours}");
    assert!(drafts > 10.0 + 12.0, "the draft's would be as good: {drafts}");
}

/// Flows of BBR, started apart, come to equal shares.
#[test]
fn flows_share_with_each_other() {
    let out = run_plain(&dumbbell(2.0, "60 s", &["", "start = \"5 s\"", "start = \"10 s\""]));
    let jain = out.summary("jain_goodput").expect("flows");
    println!("{:?}, Jain {jain}", rates(&out, 3, 60.0));
    assert!(jain > 0.85, "{jain}");
    assert!(out.summary("utilisation_max").unwrap() > 0.9);
}

/// Beside CUBIC, `midpath paper run bbr` has all buffers. Neither starves where there is a BDP of
/// buffer or more.
#[test]
fn neither_bbr_nor_cubic_starves() {
    for bdps in [1.0, 4.0] {
        let out = run_plain(&dumbbell(bdps, "60 s", &["", "scheme = \"cubic\""]));
        let shares = rates(&out, 2, 60.0);
        println!("{bdps} BDP: BBR {:.2}, CUBIC {:.2} Mbps", shares[0] / 1e6, shares[1] / 1e6);
        assert!(shares.iter().all(|s| *s > 1.5e6), "{bdps}: {shares:?}");
        assert!(shares.iter().sum::<f64>() > 17e6, "{bdps}: {shares:?}");
    }
}

/// It loses far less than a CUBIC where buffers are shallow, and waits far less where they are deep.
#[test]
fn alone_it_fills_the_link_whatever_the_buffer() {
    for bdps in [0.5, 16.0] {
        let out = run_plain(&dumbbell(bdps, "30 s", &[""]));
        let row = port(&out, "r0", "r1");
        let ports = out.table("ports").unwrap();
        let (used, waits) = (ports.f64("utilisation")[row], ports.f64("delay_mean_s")[row]);
        println!("{bdps} BDP: {used:.3} of the link, {:.1} ms wait", 1e3 * waits);
        assert!(used > 0.9 && waits < 0.02, "{bdps}: {used}, {waits}");
    }
}

#[test]
fn every_byte_arrives_where_packets_are_lost_reordered_and_held_up() {
    let text = dumbbell(0.2, "120 s", &["size = \"5 MB\"", "size = \"1 B\"", "size = \"300 kB\"\nstart = \"1 s\""])
        .replace("delay = \"18 ms\"", "delay = \"18 ms\", corruption = \"2 %\"");
    let down = "[[fault]]\nat = \"2 s\"\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nuntil = \"5 s\"\n\
                [[vary]]\nlink = [\"r0\", \"r1\"]\njitter = { law = \"uniform\", max = \"3 ms\", reorder = true }\n";
    let out = run_plain(&(text + down));
    assert_eq!(out.summary("completed"), Some(3.0), "{}", out.run["summary"]);
}

#[test]
fn a_run_is_the_same_with_more_threads_and_as_bytes() {
    let text = dumbbell(0.5, "8 s", &["", "jitter = \"300 ms\"", "scheme = \"cubic\""]);
    same_with_threads_and_as_bytes(&text, 3);
}
