//! Senders that run out of data: applications that write now and then, under every transport that knows of them.
//!
//! Bounds were fixed before the first run. Two families: `wide`, a path of 2 to 50 Mbps and 4 to 120 ms there and back,
//! and `rack`, one of 1 Gbps and 20 to 200 us.

use midpath_sim::RunOutput;
use proptest::prelude::*;

use crate::common::reads::{series, series_after, texts};
use crate::common::{CARRIERS, cases, refused, run_plain, same_with_threads_and_as_bytes};

/// Who fetches, who moves messages that are there, and who is no transfer: their flows have no application that writes, or an
/// encoder behind it.
const OTHERS: [&str; 7] = ["eqds", "gcc", "mircc", "ndn", "ndp", "scream", "uec"];
/// Those that begin again with the initial window after a pause longer than the timeout (RFC 5681, §4.1).
const RESTARTS: [&str; 6] = ["newreno", "cubic", "cubic+rpm", "dctcp", "prague", "mptcp"];
/// Those that are for racks, and start at their host's rate or come to it: their windows are of that.
const OF_RACKS: [&str; 8] = ["timely", "swift", "falcon", "dcqcn", "hpcc", "powertcp", "bolt", "bfc"];
const AT_LINE_RATE: [&str; 9] = ["timely", "swift", "falcon", "dcqcn", "hpcc", "powertcp", "bolt", "bfc", "inrpp"];
/// A window that is given, no control at all, the host's rate until a neighbour pauses it (BFC), and (INRPP, §III-C) the
/// host's rate up to what caches have promised.
const NO_RULE: [&str; 4] = ["fixed-window", "udp", "bfc", "inrpp"];
/// RFC 6928.
const INITIAL_WINDOW: usize = 10;
const MSS: f64 = 1460.0;

fn carriers() -> impl Iterator<Item = &'static str> {
    CARRIERS.iter().copied().filter(|name| !OTHERS.contains(name))
}

/// A path, and what is written to it.
#[derive(Debug, Clone, Copy)]
struct Path {
    mbps: f64,
    /// One way, between the routers.
    delay_us: f64,
}

impl Path {
    fn rtt(&self) -> f64 {
        2.0 * (self.delay_us + 20.0) / 1e6
    }
    /// Bytes per second.
    fn rate(&self) -> f64 {
        self.mbps * 1e6 / 8.0
    }
    fn access(&self) -> f64 {
        (10.0 * self.rate()).min(1.25e9)
    }
    fn text(&self, scheme: &str, stop_s: f64, flow: &str, more: &str) -> String {
        let Path { mbps, delay_us } = *self;
        let access = self.access() * 8e-6;
        format!(
            "scheme = \"{scheme}\"\nstop = \"{stop_s} s\"\n[topology]\nlinks = [\
             {{ a = \"s\", b = \"r0\", rate = \"{access} Mbps\", delay = \"10 us\" }}, \
             {{ a = \"r0\", b = \"r1\", rate = \"{mbps} Mbps\", delay = \"{delay_us} us\" }}, \
             {{ a = \"r1\", b = \"d\", rate = \"{access} Mbps\", delay = \"10 us\" }}]\n{more}\n\
             [measure]\nseries = true\ninterval = \"{} s\"\npoints = 2000\n[[flow]]\nfrom = \"s\"\nto = \"d\"\n{flow}\n",
            stop_s / 1000.0
        )
    }
}

fn wide() -> impl Strategy<Value = Path> {
    (2.0..50.0f64, 2_000.0..60_000.0f64)
        .prop_map(|(mbps, delay_us)| Path { mbps: mbps.round(), delay_us: delay_us.round() })
}

fn rack() -> impl Strategy<Value = Path> {
    (1.0..80.0f64).prop_map(|delay_us| Path { mbps: 1000.0, delay_us: delay_us.round() })
}

fn wait_of(out: &RunOutput, from: f64) -> f64 {
    let values = series_after(out, "port:r0>r1", "queue_bytes", from);
    values.iter().map(|v| v.1).sum::<f64>() / values.len() as f64
}

/// An application writes `share` of the link's rate in writes of `packets` full packets. All of it arrives, the queue
/// holds a write at most, and the window does not grow for ever: it stays within four times what the path and a write
/// hold, where senders that start at their host's rate have that for the path's. Nothing is said of schemes of racks, and
/// of a fixed window, on paths where they do not carry as much without end, either.
fn paced(scheme: &str, path: Path, share: f64, packets: f64) {
    let write = (packets * MSS).round();
    let interval = write / (share * path.rate());
    let stop = (60.0 * path.rtt()).max(100.0 * interval).max(0.2);
    let flow = format!("write = \"{write} B\"\ninterval = \"{} ps\"", (interval * 1e12).round());
    let out = run_plain(&path.text(scheme, stop, &flow, ""));
    let case = format!("{scheme}, {path:?}, {share:.2} in writes of {packets}");
    let delivered = |out: &RunOutput| out.table("flows").unwrap().u64("delivered_bytes")[0] as f64;
    // What was written two round trips and an interval before the end, less the handshake.
    let written = share * path.rate() * (stop - 3.0 * path.rtt() - interval);
    if delivered(&out) < 0.99 * written && (OF_RACKS.contains(&scheme) || scheme == "fixed-window") {
        let endless = delivered(&run_plain(&path.text(scheme, stop, "", "")));
        assert!(endless < 1.2 * written, "{case}: {} of {written}, endless {endless}", delivered(&out));
        return;
    }
    assert!(delivered(&out) >= 0.99 * written, "{case}: {} of {written}", delivered(&out));
    let waits = wait_of(&out, stop / 2.0);
    assert!(waits <= write + 2.0 * 1500.0, "{case}: {waits:.0} B wait");
    // FCP's is so many rounds of its rate, which is the host's at the least price.
    if scheme == "fcp" {
        return;
    }
    let windows = series(&out, "flow:0", "cwnd_bytes");
    let largest = |from: f64, to: f64| {
        windows.iter().filter(|(at, _)| (from * stop..to * stop).contains(at)).map(|v| v.1).fold(0.0, f64::max)
    };
    let rate = if AT_LINE_RATE.contains(&scheme) { path.access() } else { path.rate() };
    let most = 4.0 * (rate * path.rtt() + write) + 40.0 * MSS;
    assert!(largest(0.5, 1.0) <= most, "{case}: a window of {}, at most {most:.0}", largest(0.5, 1.0));
}

/// Packets with payload that leave the host, by time.
fn departures(out: &RunOutput) -> Vec<f64> {
    let trace = out.table("trace").expect("traced");
    let (events, nodes) = (texts(out, "trace", "event"), texts(out, "trace", "node"));
    let sizes = match trace.column("size_bytes") {
        Some(midpath_sim::Column::U32(sizes)) => sizes,
        _ => panic!("sizes"),
    };
    let times = trace.u64("time_ps");
    let all = (0..trace.rows()).filter(|i| events[*i] == "left" && nodes[*i] == "s" && sizes[*i] > 400);
    all.map(|i| times[i] as f64 / 1e12).collect()
}

/// Writes of many packets, pauses of more than three seconds (the timeout is 1 s) between them. What leaves before an
/// ACK can be back is the initial window with those that restart, else what the link carries in three times as long
/// and an initial window. All of it arrives.
fn bursts(scheme: &str, path: Path, packets: f64, pause_ms: f64) {
    let write = (packets * MSS).round();
    let flow = format!(
        "write = \"{write} B\"\ninterval = \"10 s\"\non = \"1 ms\"\noff = {{ kind = \"exponential\", mean = \"{pause_ms} ms\" }}\n\
         size = \"{} B\"",
        6.0 * write
    );
    let text = path.text(scheme, 200.0, &flow, "[trace]\nnodes = [\"s\"]\n");
    let out = run_plain(&text);
    let case = format!("{scheme}, {path:?}, writes of {packets}, pauses of {pause_ms} ms\n{text}");
    let flows = out.table("flows").unwrap();
    let delivered = flows.u64("delivered_bytes")[0] as f64;
    // Datagrams are not repeated.
    if scheme == "udp" {
        let lost = flows.u64("lost_packets")[0];
        assert_eq!(delivered < 6.0 * write, lost > 0, "{case}");
        return;
    }
    assert_eq!(delivered, 6.0 * write, "{case}");
    assert!(scheme == "mptcp" || flows.f64("fct_s")[0] > 0.0, "{case}: it has an end");
    if NO_RULE.contains(&scheme) {
        return;
    }
    // FCP's rate is the host's at the least price, as above: 37 packets in a round trip of 24 us, where 21 are the bound.
    if scheme == "fcp" {
        return;
    }
    let sent = departures(&out);
    let begins = (1..sent.len()).filter(|i| sent[*i] - sent[i - 1] > 3.0);
    for i in begins {
        let burst = sent[i..].iter().take_while(|at| **at < sent[i] + path.rtt()).count();
        let most = if RESTARTS.contains(&scheme) {
            INITIAL_WINDOW
        } else {
            (3.0 * path.rate() * path.rtt() / 1500.0) as usize + INITIAL_WINDOW
        };
        assert!(burst <= most, "{case}: {burst} packets at {}, at most {most}", sent[i]);
    }
}

fn any_carrier() -> impl Strategy<Value = &'static str> {
    prop::sample::select(carriers().collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn what_is_written_below_the_rate_arrives_at_once_over_wide_paths(
        scheme in any_carrier(), path in wide(), share in 0.1..0.7f64, packets in 0.1..12.0f64,
    ) {
        paced(scheme, path, share, packets);
    }

    #[test]
    fn what_is_written_below_the_rate_arrives_at_once_in_a_rack(
        scheme in any_carrier(), path in rack(), share in 0.1..0.7f64, packets in 0.1..12.0f64,
    ) {
        paced(scheme, path, share, packets);
    }

    #[test]
    fn a_pause_leaves_no_burst_on_wide_paths(
        scheme in any_carrier(), path in wide(), packets in 20.0..400.0f64, pause_ms in 3_000.0..9_000.0f64,
    ) {
        bursts(scheme, path, packets, pause_ms);
    }

    #[test]
    fn a_pause_leaves_no_burst_in_a_rack(
        scheme in any_carrier(), path in rack(), packets in 20.0..400.0f64, pause_ms in 3_000.0..9_000.0f64,
    ) {
        bursts(scheme, path, packets, pause_ms);
    }
}

/// Each of them once at a place that is not drawn, so that none is left out.
#[test]
fn every_transport_keeps_both_rules() {
    for scheme in carriers() {
        paced(scheme, Path { mbps: 20.0, delay_us: 20_000.0 }, 0.5, 3.0);
        paced(scheme, Path { mbps: 1000.0, delay_us: 30.0 }, 0.3, 0.7);
        bursts(scheme, Path { mbps: 20.0, delay_us: 20_000.0 }, 200.0, 4_000.0);
    }
}

/// draft-ietf-ccwg-bbr: the end of a burst is the application's, and its samples lower nothing; none raises the model
/// above the link. Bursts of 20 round trips' worth, so that each shows the link.
#[test]
fn bbr_keeps_its_model_over_pauses() {
    for (mbps, delay_us) in [(10.0, 10_000.0), (40.0, 5_000.0)] {
        let path = Path { mbps, delay_us };
        let packets = (20.0 * path.rate() * path.rtt() / MSS).ceil();
        let flow = format!(
            "write = \"{} B\"\ninterval = {{ kind = \"exponential\", mean = \"2 s\" }}",
            (packets * MSS).round()
        );
        let out = run_plain(&path.text("bbr", 30.0, &flow, ""));
        let models = series_after(&out, "flow:0", "bw_bps", 1.5);
        for (at, bps) in models {
            assert!((0.8..1.1).contains(&(bps / (mbps * 1e6))), "{mbps} Mbps: {bps} at {at}");
        }
    }
}

/// Several applications over two links with other flows: the same bytes on one, two and three threads, and as bytes.
#[test]
#[ignore = "nightly"]
fn results_are_the_same_on_any_number_of_threads() {
    for scheme in carriers() {
        let path = Path { mbps: 20.0, delay_us: 5_000.0 };
        let writes = "write = { kind = \"exponential\", mean = \"4 kB\" }\ninterval = { kind = \"exponential\", mean = \"5 ms\" }\n\
                      on = { kind = \"pareto\", mean = \"40 ms\", shape = 1.5 }\noff = { kind = \"log-normal\", median = \"30 ms\", sigma = 1.0 }\n";
        let more = format!(
            "count = 3\njitter = \"9 ms\"\n{writes}[[flow]]\nfrom = \"d\"\nto = \"s\"\nsize = \"60 kB\"\n{writes}\
                            [[flow]]\nfrom = \"s\"\nto = \"d\"\nsize = \"90 kB\"\n"
        );
        let text = path.text(scheme, 0.6, &more, "");
        let out = same_with_threads_and_as_bytes(&text, 3);
        same_with_threads_and_as_bytes(&text, 2);
        assert!(out.table("flows").unwrap().u64("delivered_bytes").iter().all(|bytes| *bytes > 0), "{scheme}");
    }
}

#[test]
fn what_cannot_be_written_is_refused_by_its_key() {
    let path = Path { mbps: 20.0, delay_us: 5_000.0 };
    let of = |scheme: &str, keys: &str| refused(&path.text(scheme, 1.0, keys, ""));
    let both = "write = \"1 kB\"\ninterval = \"1 ms\"\n";
    for (scheme, keys, key, cure) in [
        ("newreno", "write = \"1 kB\"", "flow[0].write", "needs an `interval`"),
        ("newreno", "interval = \"1 ms\"", "flow[0].interval", "needs a `write`"),
        ("newreno", "on = \"1 ms\"\noff = \"1 ms\"", "flow[0].on", "give `write` and `interval`, too"),
        ("newreno", &format!("{both}on = \"1 s\""), "flow[0].on", "needs `off`"),
        ("newreno", &format!("{both}off = \"1 s\""), "flow[0].off", "needs `on`"),
        ("newreno", "write = \"0 B\"\ninterval = \"1 ms\"", "flow[0].write", "at least 1 B"),
        ("newreno", "write = \"1 kB\"\ninterval = \"0 ms\"", "flow[0].interval", "above zero"),
        (
            "newreno",
            "write = \"1 kB\"\ninterval = { kind = \"pareto\", mean = \"1 s\", shape = 0.5 }",
            "interval.shape",
            "above 1",
        ),
        ("newreno", "write = 1000\ninterval = \"1 ms\"", "flow[0].write", "no unit"),
        ("newreno", "late_after = \"1 ms\"\nscheme = \"newreno\"", "flow[0].late_after", "udp read it"),
        ("mircc", both, "flow[0].write", "give the flow another `scheme`"),
        ("ndn", both, "flow[0].write", "give the flow another `scheme`"),
        ("ideal", both, "flow[0].write", "leave it out and give a `size`"),
    ] {
        let text = of(scheme, keys);
        assert!(text.contains(key) && text.contains(cure), "{scheme}, {keys}: {text}");
    }
}
