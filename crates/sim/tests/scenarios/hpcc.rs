//! HPCC in networks: its equilibrium, its way there, and what telemetry on ACKs (as FNCC) is worth
//! against telemetry on data.

use crate::common::reads::{mean_after as mean, series, series_after};
use crate::common::{port, run_plain, same_with_threads_and_as_bytes};
/// Pairs of hosts over one link of 100 Mbps; 1 ms before it and `behind` ms behind it, each way.
fn dumbbell(pairs: usize, behind: f64, params: &str, flows: &str) -> String {
    let mut links = String::from("{ a = \"r0\", b = \"r1\", rate = \"100 Mbps\", delay = \"10 us\" },\n");
    for i in 0..pairs {
        links += &format!("{{ a = \"s{i}\", b = \"r0\", rate = \"1 Gbps\", delay = \"1 ms\" }},\n");
        links += &format!("{{ a = \"r1\", b = \"d{i}\", rate = \"1 Gbps\", delay = \"{behind} ms\" }},\n");
    }
    format!(
        r#"
scheme = "hpcc"
stop = "4 s"
[schemes.hpcc]
{params}
[topology]
links = [{links}]
[queue]
limit = "100 ms"
{flows}
[measure]
series = true
interval = "1 ms"
points = 4000
"#
    )
}

fn flows(n: usize, more: &str) -> String {
    (0..n).map(|i| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\n{more}\n")).collect()
}

const BOTH: [&str; 2] = ["int = \"data\"", "int = \"ack\""];

/// U = η without a queue: 95 % of the link, whoever brings the telemetry.
#[test]
fn it_fills_the_share_of_the_link_that_it_aims_at_without_a_queue() {
    for params in BOTH {
        for n in [1, 4] {
            let out = run_plain(&dumbbell(n, 4.0, params, &flows(n, "")));
            let (used, waits) =
                (mean(&out, "port:r0>r1", "utilisation", 2.0), mean(&out, "port:r0>r1", "queue_bytes", 2.0));
            println!("{params}, {n} flows: {used:.4} of the link, {waits:.0} B wait");
            assert!((0.92..0.98).contains(&used), "{params}, {n} flows use {used}");
            assert!(waits < 6_000.0, "{params}, {n} flows: {waits} B");
            assert_eq!(out.summary("lost_packets"), Some(0.0));
        }
    }
}

#[test]
fn flows_share_equally_in_the_end() {
    for params in BOTH {
        let text = dumbbell(4, 4.0, &format!("{params}\nflows = 10"), &flows(4, "jitter = \"500 ms\""));
        let out = run_plain(&text);
        let shares: Vec<f64> = (0..4).map(|i| mean(&out, &format!("flow:{i}"), "goodput_bps", 3.0)).collect();
        let fair = shares.iter().sum::<f64>() / 4.0;
        println!("{params}: {shares:.0?}");
        assert!(shares.iter().all(|s| (s / fair - 1.0).abs() < 0.15), "{params}: {shares:?}");
    }
}

/// Datagrams take half of the link at 2 s. One long flow, told by four signals: two of them go the
/// way behind the switch, two do not.
fn step(signal: &str) -> [f64; 4] {
    let half = "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nscheme = \"udp\"\nrate = \"50 Mbps\"\nstart = \"2 s\"\n";
    let text = match signal {
        "INT on data" => dumbbell(2, 20.0, BOTH[0], &(flows(1, "") + half)),
        "INT on ACKs" => dumbbell(2, 20.0, BOTH[1], &(flows(1, "") + half)),
        mode => {
            // DCTCP with CoDel, as RPM's paper has it, but at its own round trip.
            let deploy = format!(
                "[[deploy]]\nscheme = \"rpm\"\nnodes = [\"r0\"]\nqueue = \"ours\"\nparams = {{ mode = \"{mode}\" }}\n\
                 [queues.ours]\nkind = \"codel\"\ntarget = \"2 ms\"\ninterval = \"42 ms\"\nlimit = \"100 ms\"\n"
            );
            let text = dumbbell(2, 20.0, "delayed_ack = 1", &(flows(1, "") + half + &deploy));
            text.replace("scheme = \"hpcc\"", "scheme = \"dctcp\"").replace("[schemes.hpcc]", "[schemes.dctcp]")
        }
    };
    let out = run_plain(&text);
    let windows = series(&out, "flow:0", "cwnd_bytes");
    let before = windows.iter().rfind(|w| w.0 <= 2.0).unwrap().1;
    let fell = windows.iter().find(|w| w.0 > 2.0 && w.1 < 0.9 * before).expect("it reacts").0 - 2.0;
    let most = series_after(&out, "port:r0>r1", "queue_bytes", 2.0).iter().map(|q| q.1).fold(0.0, f64::max);
    let waits = mean(&out, "port:r0>r1", "queue_bytes", 2.0);
    [1e3 * fell, most / 12_500.0, waits / 12_500.0, mean(&out, "port:r0>r1", "utilisation", 2.0)]
}

/// Whatever is said, a bit or a reading: on ACKs it is said sooner, by the way behind the switch.
#[test]
fn what_acks_say_is_heard_sooner_than_what_data_say() {
    let [fwd, rpm, data, acks] = ["fwd", "rpm", "INT on data", "INT on ACKs"].map(|signal| {
        let found = step(signal);
        println!("{signal:12} window down by a tenth after {:6.1} ms; queue at most {:5.1} ms, mean {:5.2} ms; {:.3} of the link", found[0], found[1], found[2], found[3]);
        found
    });
    // The loops are 42 ms and 2 ms.
    assert!(acks[0] < data[0] - 30.0, "{acks:?} {data:?}");
    assert!(rpm[0] <= fwd[0], "{rpm:?} {fwd:?}");
    assert!(acks[1] < 0.8 * data[1], "{acks:?} {data:?}");
    // More than a bit: the queue is shorter than with either mark.
    assert!(acks[2] < rpm[2] && acks[2] < fwd[2], "{acks:?} {rpm:?} {fwd:?}");
}

#[test]
fn what_is_lost_is_repaired_and_a_step_of_the_rate_is_followed() {
    for params in BOTH {
        let fault = "[[fault]]\nat = \"2 s\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"20 Mbps\"\n";
        let text = dumbbell(2, 4.0, params, &(flows(2, "") + fault))
            .replace("delay = \"10 us\"", "delay = \"10 us\", corruption = \"0.1 %\"");
        let out = run_plain(&text);
        let (used, waits) =
            (mean(&out, "port:r0>r1", "throughput_bps", 3.0) / 20e6, mean(&out, "port:r0>r1", "queue_bytes", 3.0));
        println!("{params}: after the step {used:.3} of the link, {waits:.0} B wait");
        assert!((0.7..0.99).contains(&used) && waits < 8_000.0, "{params}: {used}, {waits} B");
    }
}

#[test]
fn a_run_is_the_same_with_more_threads_and_as_bytes() {
    for params in BOTH {
        let text = dumbbell(3, 4.0, params, &flows(3, "jitter = \"300 ms\"\nsize = \"3 MB\""));
        same_with_threads_and_as_bytes(&text, 3);
    }
}

#[test]
fn every_byte_arrives_beside_other_traffic_and_over_short_queues() {
    for params in BOTH {
        let text = dumbbell(3, 4.0, params, &flows(3, "size = \"2 MB\""))
            .replace("limit = \"100 ms\"", "limit = \"8 packets\"");
        let out = run_plain(&text);
        assert_eq!(out.summary("completed"), Some(3.0), "{params}");
        let row = port(&out, "r0", "r1");
        println!("{params}: {} refused", out.table("ports").unwrap().u64("drops_queue")[row]);
    }
}
