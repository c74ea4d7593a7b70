//! What is measured against closed forms: waiting, delay, utilisation, goodput and slowdown count
//! what has happened, at every kind of port.

use crate::common::reads::{most, series, series_after};
use crate::common::{port, run_plain};
use midpath_sim::RunOutput;

/// A datagram of 1,500 bytes on the wire.
const PACKET: f64 = 1500.0;

/// Two hosts and a link of 10 Mbps between routers, whose ends are 100 Mbps away.
fn scene(stop: &str, rest: &str) -> String {
    format!(
        r#"
stop = "{stop}"
[topology]
generate = "chain"
n = 2
link = {{ rate = "10 Mbps", delay = "1 ms" }}
access = {{ rate = "100 Mbps", delay = "1 us" }}
[queue]
limit = "100 MB"
{rest}"#
    )
}

fn udp(rate: &str) -> String {
    format!("[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nscheme = \"udp\"\nrate = \"{rate}\"\n")
}

/// A fault that changes nothing: with it the link's ports are asked for their packets, without it
/// they have a timetable.
const ASKED: &str = "[[fault]]\nat = \"100 ms\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"10 Mbps\"\n";

fn at(out: &RunOutput, column: &str) -> f64 {
    let ports = out.table("ports").expect("every run has ports");
    let row = port(out, "r0", "r1");
    match column.ends_with("max_bytes") || matches!(column, "packets" | "bytes") {
        true => ports.u64(column)[row] as f64,
        false => ports.f64(column)[row],
    }
}

fn near(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * want.abs(), "{what}: {got} is not {want}");
}

#[test]
fn an_overloaded_queue_is_measured_up_to_the_stop() {
    for kind in ["", ASKED] {
        let out = run_plain(&scene("1 s", &(udp("100 Mbps") + kind)));
        // It grows by 90 Mbps from 0 to 11.25 MB: the mean is half of that. What starts within the
        // second came in its first tenth, and has waited up to 0.9 s, 0.45 s on average.
        near("mean", at(&out, "queue_mean_bytes"), 11.25e6 / 2.0, 0.01);
        near("max", at(&out, "queue_max_bytes"), 11.25e6, 0.01);
        near("delay", at(&out, "delay_mean_s"), 0.45, 0.01);
        near("longest", at(&out, "delay_max_s"), 0.9, 0.01);
        near("sent", at(&out, "bytes"), 1.25e6, 0.01);
        assert!((0.995..=1.0).contains(&at(&out, "utilisation")), "{}", at(&out, "utilisation"));
    }
}

#[test]
fn ports_with_a_timetable_and_ports_that_are_asked_measure_the_same() {
    let tcp = "[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nscheme = \"cubic\"\n";
    let measure = "[measure]\nseries = true\ninterval = \"7 ms\"\n";
    for (stop, traffic) in [("777 ms", udp("12 Mbps")), ("1 s", udp("9 Mbps")), ("3100 ms", tcp.to_owned())] {
        let text = scene(stop, &(traffic + measure)).replace("100 MB", "50 ms");
        let [timetable, asked] = ["", ASKED].map(|kind| run_plain(&(text.clone() + kind)));
        let all = [
            "packets",
            "bytes",
            "utilisation",
            "queue_mean_bytes",
            "queue_max_bytes",
            "delay_mean_s",
            "delay_p50_s",
            "delay_p99_s",
            "delay_max_s",
        ];
        for column in all {
            assert_eq!(at(&timetable, column), at(&asked, column), "{column} at {stop}");
        }
        for metric in ["queue_bytes", "throughput_bps", "utilisation"] {
            let [a, b] = [&timetable, &asked].map(|out| series(out, "port:r0>r1", metric));
            assert_eq!(a, b, "{metric} at {stop}");
        }
    }
}

#[test]
fn what_waits_for_a_link_to_come_back_counts_although_it_never_leaves() {
    let down = "[[fault]]\nat = \"1 s\"\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\n";
    let out = run_plain(&scene("1500 ms", &(udp("5 Mbps") + down)));
    // 5 Mbps for half a second, with nothing before.
    let most = 0.5 * 5e6 / 8.0;
    near("mean", at(&out, "queue_mean_bytes"), most / 2.0 * 0.5 / 1.5, 0.02);
    near("max", at(&out, "queue_max_bytes"), most, 0.01);
    // Nothing that was sent had to wait.
    assert_eq!(at(&out, "delay_max_s"), 0.0);
    near("utilisation", at(&out, "utilisation"), 0.5, 0.01);
}

/// CoDel drops what has waited: that has waited all the same. The queue seen by samples is the
/// oracle.
#[test]
fn the_mean_queue_is_that_of_samples_at_every_kind_of_port() {
    // FCP's flows make a queue only where there are many.
    let kinds = [
        ("cubic", "kind = \"codel\"\nlimit = \"100 ms\"\n", 3),
        ("cubic", "kind = \"drr\"\nlimit = \"100 ms\"\n", 3),
        ("fcp", "limit = \"100 ms\"\n", 40),
        ("inrpp", "limit = \"20 ms\"\n", 3),
    ];
    for (scheme, queue, flows) in kinds {
        let flows = format!("[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nscheme = \"{scheme}\"\n").repeat(flows);
        let rest = format!("{flows}[measure]\nseries = true\ninterval = \"1 ms\"\npoints = 10000\n");
        let text = format!("scheme = \"{scheme}\"\n{}", scene("5 s", &rest)).replace("limit = \"100 MB\"\n", queue);
        let out = run_plain(&text);
        let samples = series(&out, "port:r0>r1", "queue_bytes");
        let mean = samples.iter().map(|s| s.1).sum::<f64>() / samples.len() as f64;
        assert!(mean > 2.0 * PACKET, "{scheme} {queue}: there is a queue, {mean}");
        near(&format!("{scheme} {queue}"), at(&out, "queue_mean_bytes"), mean, 0.03);
    }
}

#[test]
fn utilisation_under_faults_is_over_what_the_link_could_have_sent() {
    let step = "[[fault]]\nat = \"1 s\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"2 Mbps\"\n";
    let down = "[[fault]]\nat = \"3 s\"\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nuntil = \"4 s\"\n";
    let rise = "[[fault]]\nat = \"5 s\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"40 Mbps\"\n";
    let measure = "[measure]\nseries = true\ninterval = \"5 ms\"\n";
    let rest = udp("1 Mbps") + step + down + rise + measure;
    // 1 Mbps of 10 + 2 + 2 + 0 + 2 + 40 Mbps in six seconds: what waited in the outage is sent
    // after it.
    let out = run_plain(&scene("6 s", &rest));
    near("light", at(&out, "utilisation"), 6.0 / 56.0, 0.01);
    let out = run_plain(&scene("6 s", &rest.replace("1 Mbps\"\n[[fault", "90 Mbps\"\n[[fault")));
    assert!((0.99..=1.0).contains(&at(&out, "utilisation")), "{}", at(&out, "utilisation"));
    for entity in ["port:r0>r1", "port:s0>r0"] {
        assert!(most(&out, entity, "utilisation") <= 1.0, "{entity}");
    }
    let steps: Vec<f64> = [0.5, 1.5, 3.5, 4.5, 5.5]
        .map(|from| {
            series_after(&out, "port:r0>r1", "throughput_bps", from)[..20].iter().map(|v| v.1).sum::<f64>() / 20.0
        })
        .to_vec();
    for (got, want) in steps.iter().zip([10e6, 2e6, 0.0, 2e6, 40e6]) {
        assert!((got - want).abs() <= 0.001 * want, "{steps:?}");
    }
}

/// A packet takes 12 ms, and a sample every 5 ms sees it go bit by bit.
#[test]
fn no_interval_is_used_by_more_than_all_of_it() {
    for kind in ["", "[[fault]]\nat = \"100 ms\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"1 Mbps\"\n"] {
        let text = scene("997 ms", &(udp("5 Mbps") + "[measure]\nseries = true\ninterval = \"5 ms\"\n" + kind));
        let out = run_plain(&text.replace("10 Mbps", "1 Mbps"));
        let used = series_after(&out, "port:r0>r1", "utilisation", 0.01);
        assert!(used.iter().all(|v| (0.9999..=1.0).contains(&v.1)), "{used:?}");
        assert!((0.999..=1.0).contains(&at(&out, "utilisation")), "{}", at(&out, "utilisation"));
    }
}

/// Slow start loses many packets at once; their repeats close a hole below megabytes that came long
/// before.
#[test]
fn goodput_series_have_bytes_when_they_come() {
    for (scheme, params) in [("cubic", "[schemes.cubic]\nhystart = false\n"), ("mptcp", "")] {
        let text = scene("4 s", &format!("[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nscheme = \"{scheme}\"\n"));
        let text = text.replace("100 MB", "200 ms") + params + "[measure]\nseries = true\ninterval = \"8 ms\"\n";
        let out = run_plain(&text);
        assert!(out.summary("lost_packets") > Some(10.0), "{scheme}: {:?}", out.summary("lost_packets"));
        // In 8 ms come 6 packets and a part of one, which counts when it is whole.
        let whole = 7.0 * 1448.0 * 8.0 / 8e-3;
        for entity in ["flow:0", "group:default"] {
            assert!(most(&out, entity, "goodput_bps") <= whole, "{scheme}, {entity}");
        }
        let sum: f64 = series(&out, "flow:0", "goodput_bps").iter().map(|v| v.1 * 8e-3 / 8.0).sum();
        let delivered = out.table("flows").expect("every run has flows").u64("delivered_bytes")[0] as f64;
        // The interval that ends with the run is not sampled; what is held out of order at the end
        // is not delivered.
        let interval = 8e-3 * 10e6 / 8.0 + PACKET;
        assert!(sum >= delivered - interval && sum <= delivered + 10e6 / 8.0, "{scheme}: {sum} {delivered}");
    }
}

/// The denominator is the path as the scenario has it, without faults: an outage is a part of the
/// slowdown, a rise can take it below 1.
#[test]
fn slowdown_is_over_the_path_without_faults() {
    let flow = "[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nscheme = \"udp\"\nsize = \"1472 kB\"\nrate = \"100 Mbps\"\n";
    let run = |faults: &str| run_plain(&(scene("60 s", flow) + faults));
    let column = |out: &RunOutput, c: &str| out.table("flows").expect("every run has flows").f64(c)[0];
    let down = "[[fault]]\nat = \"200 ms\"\nkind = \"link-down\"\nlink = [\"r1\", \"d0\"]\nuntil = \"201 ms\"\n";
    let slow = "[[fault]]\nat = \"1 us\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"5 Mbps\"\n";
    let fast = slow.replace("5 Mbps", "20 Mbps");
    let ideal = column(&run(""), "ideal_fct_s");
    assert!((column(&run(""), "slowdown") - 1.0).abs() < 1e-6);
    for (faults, want) in [(slow, 2.0), (fast.as_str(), 0.5)] {
        let out = run(faults);
        assert_eq!(column(&out, "ideal_fct_s"), ideal);
        near(faults, column(&out, "slowdown"), want, 0.003);
    }
    // The last link is ten times as fast: it makes up for a millisecond.
    near("outage", column(&run(down), "slowdown"), 1.0, 0.002);
}
