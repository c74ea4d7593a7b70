//! Flows that start when others have ended (`after`).

use std::fmt::Write;

use midpath_core::files::Files;
use midpath_sim::{RunOptions, RunOutput, run_text};
use proptest::prelude::*;

use crate::common::reads::texts;
use crate::common::{cases, refused, run_plain, same_with_threads_and_as_bytes};

/// What is said of one flow: who, whom, size, transport, and which flows before it must have ended.
#[derive(Debug, Clone)]
struct Drawn {
    from: usize,
    to: usize,
    kb: u64,
    scheme: &'static str,
    delay_us: u64,
    after: Vec<usize>,
}

fn text_of(network: &str, host: impl Fn(usize) -> String, flows: &[Drawn]) -> String {
    let mut text = network.to_owned();
    for (i, flow) in flows.iter().enumerate() {
        let (from, to) = (host(flow.from), host(flow.to));
        let rate = if flow.scheme == "udp" { "rate = \"5 Mbps\"\n" } else { "" };
        let (kb, scheme, delay) = (flow.kb, flow.scheme, flow.delay_us);
        write!(text, "[[flow]]\ngroup = \"g{i}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"{kb} kB\"\n").unwrap();
        write!(text, "scheme = \"{scheme}\"\nstart = \"{delay} us\"\n{rate}").unwrap();
        if !flow.after.is_empty() {
            let names: Vec<String> = flow.after.iter().map(|i| format!("\"g{i}\"")).collect();
            writeln!(text, "after = [{}]", names.join(", ")).unwrap();
        }
    }
    text
}

/// Rows are looked up by group, for flows are not numbered as they are written.
fn row(out: &RunOutput, group: usize) -> usize {
    texts(out, "flows", "group").iter().position(|name| *name == format!("g{group}")).unwrap()
}

/// All end; each starts after the last end by its `start` and the way of the news, no sooner and, with a least
/// propagation delay of at most `way_s` in the network, no later.
fn check(text: &str, flows: &[Drawn], way_s: f64) {
    let out = same_with_threads_and_as_bytes(text, 3);
    same_with_threads_and_as_bytes(text, 2);
    assert_eq!(out.run["invariants"]["conserved"], true);
    let table = out.table("flows").unwrap();
    let (start, took) = (table.f64("start_s"), table.f64("fct_s"));
    for (i, flow) in flows.iter().enumerate() {
        let at = row(&out, i);
        assert!(took[at] > 0.0, "flow {i} has ended");
        let ends = flow.after.iter().map(|other| row(&out, *other)).map(|other| start[other] + took[other]);
        let earliest = ends.fold(0.0, f64::max) + flow.delay_us as f64 / 1e6;
        // A DATA_FIN may come later than the last byte, which is when a flow has ended in the table.
        let exact = flow.after.iter().all(|other| flows[*other].scheme != "mptcp");
        let most = if !exact {
            f64::INFINITY
        } else if flow.after.is_empty() {
            0.0
        } else {
            way_s
        };
        assert!(
            (earliest - 1e-12..=earliest + most + 1e-12).contains(&start[at]),
            "{i}: {} after {earliest}",
            start[at]
        );
        // The receiver of all of them knows at once.
        if exact && !flow.after.is_empty() && flow.after.iter().all(|a| flows[*a].to == flow.from) {
            assert!((start[at] - earliest).abs() < 1e-12, "{i}: {} at {earliest}", start[at]);
        }
    }
}

fn drawn(hosts: usize, i: usize, most: usize, tree: bool) -> impl Strategy<Value = Drawn> {
    let others = if i == 0 { Just(Vec::new()).boxed() } else { prop::collection::vec(0..i, 0..=most.min(i)).boxed() };
    let scheme = prop::sample::select(vec!["newreno", "cubic", "bbr", "udp", "mptcp"]);
    let delay = prop::sample::select(vec![0u64, 0, 1, 700, 20_000]);
    (0..hosts, 1..hosts, 1u64..60, scheme, delay, others).prop_map(
        move |(from, apart, kb, scheme, delay_us, mut after)| {
            after.sort_unstable();
            after.dedup();
            if tree && i > 0 {
                after = vec![(i - 1) / 2];
            }
            Drawn { from, to: (from + apart) % hosts, kb, scheme, delay_us, after }
        },
    )
}

fn all(hosts: usize, flows: usize, most: usize, tree: bool) -> impl Strategy<Value = Vec<Drawn>> {
    (0..flows).map(|i| drawn(hosts, i, most, tree).boxed()).collect::<Vec<_>>()
}

const FABRIC: &str = "[topology]\ngenerate = \"fat-tree\"\nk = 4\nlink = { rate = \"100 Mbps\", delay = \"5 us\" }\n";

proptest! {
    #![proptest_config(cases(6))]

    /// Chains and trees across the hosts of a fabric, where all links are alike and much is at one time.
    #[test]
    fn trees_on_a_fabric_are_the_same_on_any_number_of_threads(flows in all(16, 20, 1, true)) {
        check(&text_of(FABRIC, |h| format!("h{h}"), &flows), &flows, 30e-6);
    }

    /// Webs on a wide network of unlike links.
    #[test]
    fn webs_on_a_wide_network_are_the_same_on_any_number_of_threads(
        flows in all(6, 14, 3, false), delays in prop::collection::vec(1u32..40, 12),
    ) {
        let mut network = String::from("[topology]\nlinks = [\n");
        for (i, d) in delays.iter().enumerate() {
            let (a, b) = if i < 6 { (format!("r{i}"), format!("r{}", (i + 1) % 6)) } else { (format!("c{}", i - 6), format!("r{}", i - 6)) };
            writeln!(network, "{{ a = \"{a}\", b = \"{b}\", rate = \"{} Mbps\", delay = \"{d} ms\" }},", 5 + d).unwrap();
        }
        network += "]\n";
        check(&text_of(&network, |h| format!("c{h}"), &flows), &flows, delays.iter().map(|d| f64::from(*d) / 1e3).sum());
    }
}

/// Bytes of a flow, at its receiver's or another host: the packet that makes them full has come, and the news, over the
/// least way. Datagrams at the link's rate around a switch; TCP of a fixed window, which opens a connection first, over a line
/// of unlike delays. Committed before the first run: a nanosecond.
fn bytes_come_when_their_packet_does(
    udp: bool,
    rate_mbps: u64,
    delays_us: [u64; 3],
    size: u64,
    bytes: u64,
    elsewhere: bool,
) {
    let (payload, headers) = if udp { (1472, 28) } else { (1448, 52) };
    let mut text = String::from(
        "scheme = \"fixed-window\"\nschemes.fixed-window.window = 100000\nqueue.limit = \"1 GB\"\n[topology]\nlinks = [\n",
    );
    for (name, delay) in ["a", "b", "c"].iter().zip(delays_us) {
        writeln!(text, "{{ a = \"{name}\", b = \"r\", rate = \"{rate_mbps} Mbps\", delay = \"{delay} us\" }},")
            .unwrap();
    }
    let rate = if udp { format!("rate = \"{rate_mbps} Mbps\"\n") } else { String::new() };
    let from = if elsewhere { "c" } else { "b" };
    writeln!(text, "]\n[[flow]]\ngroup = \"load\"\nfrom = \"a\"\nto = \"b\"\nsize = \"{size} B\"\n{rate}\n\
        [[flow]]\ngroup = \"next\"\nfrom = \"{from}\"\nto = \"a\"\nsize = \"1 B\"\nafter = [\"load\"]\nafter_bytes = \"{bytes} B\"").unwrap();
    let out = same_with_threads_and_as_bytes(&text, 3);
    let at = texts(&out, "flows", "group").iter().position(|group| group == "next").unwrap();
    let start = out.table("flows").unwrap().f64("start_s")[at];
    let way = |a: usize, b: usize| (delays_us[a] + delays_us[b]) as f64 / 1e6;
    let time = |bytes: u64| 8.0 * bytes as f64 / (rate_mbps as f64 * 1e6);
    let packets = bytes.div_ceil(payload);
    let last = (size - (packets - 1) * payload).min(payload) + headers;
    // Stored and forwarded once; a short last packet overtakes none.
    let sent = time((packets - 1) * 1500 + last);
    let come =
        if packets == 1 { sent + time(last) } else { (sent + time(last)).max(time(packets * 1500) + time(last)) };
    // SYN and SYN-ACK, 60 B with their options.
    let opening = if udp { 0.0 } else { 2.0 * (way(0, 1) + time(2 * 60)) };
    let news = if elsewhere { way(1, 2) } else { 0.0 };
    let wanted = opening + come + way(0, 1) + news;
    // A transmission takes whole picoseconds.
    let rounding = 1e-9 + 2e-12 * packets as f64;
    assert!((start - wanted).abs() < rounding, "{start} s, closed form {wanted} s");
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn bytes_of_datagrams_start_flows(mbps in 10u64..10_000, delay in 1u64..500, size in 1u64..500_000, part in 0.0f64..1.0, elsewhere in any::<bool>()) {
        let bytes = ((size as f64 * part) as u64).clamp(1, size);
        bytes_come_when_their_packet_does(true, mbps, [delay; 3], size, bytes, elsewhere);
    }

    #[test]
    fn bytes_of_streams_start_flows(
        mbps in 1u64..200, delays in prop::array::uniform3(1u64..30_000), size in 1u64..3_000_000, part in 0.0f64..1.0, elsewhere in any::<bool>(),
    ) {
        let bytes = ((size as f64 * part) as u64).clamp(1, size);
        bytes_come_when_their_packet_does(false, mbps, delays, size, bytes, elsewhere);
    }
}

const LINE: &str = "[topology]\nlinks = [{ a = \"a\", b = \"r\", rate = \"10 Mbps\", delay = \"2 ms\" }, { a = \"r\", b = \"b\", \
    rate = \"10 Mbps\", delay = \"3 ms\" }, { a = \"r\", b = \"c\", rate = \"10 Mbps\", delay = \"7 ms\" }]\n";

fn pair(from: &str, more: &str) -> String {
    let request = "[[flow]]\ngroup = \"ask\"\nfrom = \"a\"\nto = \"b\"\nsize = \"2 kB\"\n";
    let answer = format!("[[flow]]\ngroup = \"answer\"\nfrom = \"{from}\"\nto = \"a\"\nsize = \"9 kB\"\n{more}");
    format!("{LINE}{request}{answer}")
}

#[test]
fn the_receiver_knows_at_once_and_others_hear_at_the_speed_of_the_links() {
    for (from, news) in [("b", 0.0), ("c", 0.010)] {
        let out = run_plain(&pair(from, "after = [\"ask\"]\nstart = \"1 ms\"\n"));
        let flows = out.table("flows").unwrap();
        let (start, took) = (flows.f64("start_s"), flows.f64("fct_s"));
        let at = (0..2).find(|i| start[*i] > 0.0).unwrap();
        assert!((start[at] - took[1 - at] - 0.001 - news).abs() < 1e-12, "{from}: {start:?} {took:?}");
        assert_eq!(out.summary("completed"), Some(2.0));
    }
}

#[test]
fn a_flow_whose_predecessor_does_not_end_never_starts() {
    let out = run_plain(&format!("stop = \"3 ms\"\n{}", pair("b", "after = [\"ask\"]\n")));
    let flows = out.table("flows").unwrap();
    assert_eq!(flows.f64("start_s").iter().filter(|s| s.is_nan()).count(), 1);
    assert!(out.run["warnings"].to_string().contains("did not start before the end"), "{}", out.run["warnings"]);
}

#[test]
fn what_cannot_come_true_is_refused_by_its_key() {
    let unknown = refused(&pair("b", "after = [\"asks\"]\n"));
    assert!(unknown.contains("after") && unknown.contains("did you mean `ask`?"), "{unknown}");
    let own = refused(&pair("b", "after = [\"answer\"]\n"));
    assert!(own.contains("would wait for itself: `answer` after `answer`"), "{own}");
    let few = refused(&pair("b", "after = [\"ask\"]\nafter_bytes = \"3 kB\"\n"));
    assert!(few.contains("a flow of `ask` has only 2 kB, and `after_bytes` is 3 kB; reduce that"), "{few}");
    for (more, message) in
        [("after_bytes = \"1 B\"\n", "give that, too"), ("after = [\"ask\"]\nafter_bytes = \"0 B\"\n", "at least 1 B")]
    {
        let alone = refused(&pair("b", more));
        assert!(alone.contains("after_bytes") && alone.contains(message), "{alone}");
    }
    let circle = refused(&pair("b", "after = [\"ask\"]\n").replacen(
        "size = \"2 kB\"",
        "size = \"2 kB\"\nafter = [\"answer\"]",
        1,
    ));
    assert!(circle.contains("`answer` after `ask` after `answer`"), "{circle}");
    let endless =
        refused(&format!("stop = \"1 s\"\n{}", pair("b", "after = [\"ask\"]\n").replacen("size = \"2 kB\"\n", "", 1)));
    assert!(endless.contains("a flow of `ask` has no end to wait for; give it a `size`"), "{endless}");
    let stop = refused(&pair("b", "after = [\"ask\"]\nstop = \"1 s\"\n"));
    assert!(stop.contains("stop") && stop.contains("leave it out"), "{stop}");
    let ideal = refused(&format!("scheme = \"ideal\"\n{}", pair("b", "after = [\"ask\"]\n")));
    assert!(ideal.contains("after") && ideal.contains("give it a `start` in its place"), "{ideal}");
}

/// A ring of requests and answers takes the sum of its flows: nothing waits longer than it must.
#[test]
fn a_chain_takes_the_sum_of_its_flows() {
    let mut text = LINE.to_owned();
    for i in 0..20 {
        let (from, to) = if i % 2 == 0 { ("a", "b") } else { ("b", "a") };
        let after = if i == 0 { String::new() } else { format!("after = [\"g{}\"]\n", i - 1) };
        write!(text, "[[flow]]\ngroup = \"g{i}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"3 kB\"\n{after}").unwrap();
    }
    let out = midpath_sim::run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true);
    let out = out.expect("a good scenario").expect("not cancelled");
    let flows = out.table("flows").unwrap();
    let sum: f64 = flows.f64("fct_s").iter().sum();
    let last = flows.f64("start_s").iter().zip(flows.f64("fct_s")).map(|(s, t)| s + t).fold(0.0, f64::max);
    assert!((sum - last).abs() < 1e-11, "{sum} {last}");
}

/// Runs with a list `flows.csv`, or says why not.
fn with_list(text: &str, list: &str) -> Result<RunOutput, String> {
    let given = std::collections::BTreeMap::from([("flows.csv".to_owned(), list.as_bytes().to_vec())]);
    let run = |threads| {
        let options = RunOptions { threads, ..RunOptions::default() };
        run_text(text, Files::Given(&given), &options, &mut |_| true).map(|out| out.expect("not cancelled"))
    };
    let (one, three) = (run(1).map_err(|e| e.to_string())?, run(3).map_err(|e| e.to_string())?);
    assert_eq!(one.repeatable(), three.repeatable());
    Ok(one)
}

const LIST: &str = "[[workload]]\nlist = { file = \"flows.csv\" }\n";
const HEAD: &str = "src,dst,size,start,group,after\n";

/// What is said of flows in lines of a list is what `[[flow]]`s say.
#[test]
fn rows_of_a_list_wait_as_flows_do() {
    let rows = "a,b,2 kB,0,ask,\na,c,90 kB,0,load,\nb,a,9 kB,0.001,answer,ask\nc,b,5 kB,0,last,answer; load\n";
    let listed = with_list(&format!("{LINE}{LIST}"), &format!("{HEAD}{rows}")).expect("valid");
    let flow = |group: &str, from: &str, to: &str, kb: u64, more: &str| {
        format!("[[flow]]\ngroup = \"{group}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"{kb} kB\"\n{more}")
    };
    let flows = [
        flow("ask", "a", "b", 2, ""),
        flow("load", "a", "c", 90, ""),
        flow("answer", "b", "a", 9, "start = \"1 ms\"\nafter = [\"ask\"]\n"),
        flow("last", "c", "b", 5, "after = [\"answer\", \"load\"]\n"),
    ];
    let written = run_plain(&format!("{LINE}{}", flows.concat()));
    for column in ["start_s", "fct_s"] {
        assert_eq!(listed.table("flows").unwrap().f64(column), written.table("flows").unwrap().f64(column));
    }
    assert_eq!(texts(&listed, "flows", "group"), texts(&written, "flows", "group"));
}

/// A workload begins when groups have ended, at each of its hosts as soon as that hears of it.
#[test]
fn a_workload_begins_after_groups() {
    let load = "[[flow]]\ngroup = \"load\"\nfrom = \"h0\"\nto = \"h9\"\nsize = \"300 kB\"\n";
    let burst = "[[workload]]\ngroup = \"burst\"\nafter = [\"load\"]\nstart = \"2 ms\"\nduration = \"5 ms\"\n\
        arrivals = { kind = \"poisson\", rate_per_s = 4000.0 }\nsizes = { kind = \"fixed\", size = \"3 kB\" }\n";
    let out = same_with_threads_and_as_bytes(&format!("{FABRIC}{load}{burst}"), 3);
    let alone = run_plain(&format!("{FABRIC}{}", burst.replace("after = [\"load\"]\n", "")));
    let (flows, groups) = (out.table("flows").unwrap(), texts(&out, "flows", "group"));
    let rows: Vec<usize> = (0..groups.len()).filter(|i| groups[*i] == "burst").collect();
    let load = (0..groups.len()).find(|i| groups[*i] == "load").unwrap();
    let ended = flows.f64("start_s")[load] + flows.f64("fct_s")[load];
    let drawn = alone.table("flows").unwrap().f64("start_s").to_vec();
    assert!(drawn.len() > 10 && drawn.len() == rows.len());
    for (row, drawn) in rows.into_iter().zip(drawn) {
        let news = flows.f64("start_s")[row] - ended - drawn;
        assert!((-1e-12..=30e-6 + 1e-12).contains(&news), "{news}");
    }
}

#[test]
fn lists_and_workloads_that_cannot_begin_are_refused_by_key_and_line() {
    let told = |rows: &str| with_list(&format!("{LINE}{LIST}"), &format!("{HEAD}{rows}")).expect_err("refused");
    let unknown = told("a,b,1,0,ask,\nb,a,1,0,answer,asks\n");
    assert!(unknown.contains("workload[0].list.file") && unknown.contains("line 3: after:"), "{unknown}");
    assert!(unknown.contains("did you mean `ask`?"), "{unknown}");
    let circle = told("a,b,1,0,x,y\nb,a,1,0,y,x\n");
    assert!(circle.contains("line 2: after:") && circle.contains("`x` after `y` after `x`"), "{circle}");
    let endless = told("a,b,,0,ask,\nb,a,1,0,answer,ask\n");
    assert!(endless.contains("no end to wait for") || endless.contains("stop"), "{endless}");
    let both =
        with_list(&format!("{LINE}{LIST}after = [\"ask\"]\n"), &format!("{HEAD}a,b,1,0,x,y\n")).expect_err("refused");
    assert!(both.contains("leave one out"), "{both}");
    let until = refused(&format!(
        "{LINE}[[workload]]\nafter = [\"x\"]\nuntil = \"1 s\"\narrivals = {{ kind = \"once\" }}\nsizes = {{ kind = \"fixed\", size = \"1 B\" }}\n"
    ));
    assert!(until.contains("workload[0].until") && until.contains("give a `duration` in its place"), "{until}");
}

/// A list in which each row waits for the one before.
#[test]
fn a_long_chain_is_checked_in_time() {
    let mut rows = String::from(HEAD);
    for i in 0..20_000 {
        let after = if i == 0 { String::new() } else { format!("g{}", i - 1) };
        writeln!(rows, "a,b,1,0,g{i},{after}").unwrap();
    }
    let out = with_list(&format!("stop = \"100 ms\"\n{LINE}{LIST}"), &rows).expect("valid");
    assert_eq!(out.table("flows").unwrap().rows(), 20_000);
}
