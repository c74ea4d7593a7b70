//! Clients (`[[client]]`) and jobs (`[[job]]`): closed forms, and what is refused.
//!
//! Messages of jobs are UDP at the links' rate: no handshake, no slow start, and no ACKs, which in a ring share the links
//! with data (1.7 % of a link with TCP's delayed ACKs). A message takes its bytes over the rate, a packet at each further
//! hop, and the propagation delay. Those of clients are fixed-window TCP's with a window above any message: each opens a
//! connection, which takes a round trip.

use std::fmt::Write;

use midpath_sim::RunOutput;
use proptest::prelude::*;

use crate::common::critical::{check_critical, paths, spent};
use crate::common::reads::texts;
use crate::common::{cases, refused, run_plain, same_with_threads_and_as_bytes};

/// Committed before the first run.
const TOLERANCE: f64 = 0.01;

const MTU: f64 = 1500.0;
/// TCP's and UDP's, with IPv4's.
const HEADERS: [f64; 2] = [52.0, 28.0];

/// A network without queueing beyond a host's own, and how far apart its hosts are.
#[derive(Debug, Clone, Copy)]
struct Fabric {
    gbps: f64,
    delay_ns: u64,
    /// Links from a host to another.
    links: f64,
    udp: bool,
}

impl Fabric {
    fn wire_s(&self, bytes: f64) -> f64 {
        let headers = HEADERS[usize::from(self.udp)];
        8.0 * (bytes + headers * (bytes / (MTU - headers)).ceil()) / (self.gbps * 1e9)
    }
    fn propagation_s(&self) -> f64 {
        self.links * self.delay_ns as f64 / 1e9
    }
    /// Beside its bytes: with TCP a round trip to open the connection, the way, and a packet at each hop but the first.
    fn overhead_s(&self) -> f64 {
        (if self.udp { 1.0 } else { 3.0 }) * self.propagation_s() + (self.links - 1.0) * 8.0 * MTU / (self.gbps * 1e9)
    }
    fn message_s(&self, bytes: f64) -> f64 {
        self.overhead_s() + self.wire_s(bytes)
    }
}

/// The children of a rank in a binomial tree, the smallest subtree first.
fn children(rank: usize, ranks: usize) -> Vec<usize> {
    let bits = if rank == 0 { 63 } else { rank.trailing_zeros() };
    (0..bits).map(|bit| rank | 1 << bit).take_while(|child| *child < ranks).collect()
}

/// When a rank has sent up what its subtree has reduced: its children's messages share its link in order of their starts.
fn reduced_s(rank: usize, begins: &[f64], fabric: Fabric, size: f64) -> f64 {
    let mut starts: Vec<f64> =
        children(rank, begins.len()).into_iter().map(|child| reduced_s(child, begins, fabric, size)).collect();
    starts.sort_by(f64::total_cmp);
    let come =
        starts.iter().fold(0.0, |free: f64, start| (free + fabric.wire_s(size)).max(start + fabric.message_s(size)));
    come.max(begins[rank])
}

/// When ranks have what a binomial broadcast sends down from `rank`, which has it at `at`: one child after another, of whose
/// end the parent hears the propagation delay later.
fn broadcast_s(rank: usize, at: f64, fabric: Fabric, size: f64, found: &mut [f64]) {
    found[rank] = at;
    let mut sent = at;
    for child in children(rank, found.len()).into_iter().rev() {
        let come = sent + fabric.message_s(size);
        broadcast_s(child, come, fabric, size, found);
        sent = come + fabric.propagation_s();
    }
}

/// When iterations of a tree begin, and how long they take. A rank that has its message computes, and begins the next: with
/// ranks that are no power of two some are ahead of others.
fn tree_s(fabric: Fabric, ranks: usize, size: f64, compute_s: f64, iterations: usize) -> Vec<f64> {
    let mut begins = vec![0.0; ranks];
    (0..iterations)
        .map(|_| {
            let leaves = (0..ranks).filter(|rank| children(*rank, ranks).is_empty());
            let first = leaves.map(|leaf| begins[leaf]).fold(f64::INFINITY, f64::min);
            let mut come = vec![0.0; ranks];
            broadcast_s(0, reduced_s(0, &begins, fabric, size), fabric, size, &mut come);
            begins = come.iter().map(|at| at + compute_s).collect();
            come.into_iter().fold(0.0, f64::max) - first
        })
        .collect()
}

/// The closed form of a collective.
fn closed_form_s(collective: &str, fabric: Fabric, ranks: usize, size: f64) -> f64 {
    let (n, share) = (ranks as f64, size / ranks as f64);
    match collective {
        "all-reduce" => 2.0 * (n - 1.0) * fabric.message_s(share),
        "all-gather" | "reduce-scatter" => (n - 1.0) * fabric.message_s(share),
        "all-to-all" => fabric.overhead_s() + (n - 1.0) * fabric.wire_s(share),
        "all-reduce-halving" => 2.0 * closed_form_s("reduce-scatter-halving", fabric, ranks, size),
        "all-gather-doubling" | "reduce-scatter-halving" => {
            (1..=ranks.ilog2()).map(|k| fabric.message_s(size / f64::from(1 << k))).sum()
        }
        _ => tree_s(fabric, ranks, size, 0.0, 1)[0],
    }
}

fn bus_share(collective: &str, ranks: usize) -> f64 {
    let share = (ranks - 1) as f64 / ranks as f64;
    if collective.starts_with("all-reduce") { 2.0 * share } else { share }
}

const WINDOW: &str = "scheme = \"fixed-window\"\nschemes.fixed-window.window = 100000\nqueue.limit = \"1 GB\"\n";

fn star(fabric: Fabric, hosts: usize, more: &str) -> String {
    let Fabric { gbps, delay_ns, .. } = fabric;
    format!(
        "{WINDOW}[topology]\ngenerate = \"star\"\nn = {hosts}\naccess = {{ rate = \"{gbps} Gbps\", delay = \"{delay_ns} ns\" }}\n{more}"
    )
}

fn job(collective: &str, hosts: &str, size: u64, more: &str) -> String {
    format!("[[job]]\ncollective = \"{collective}\"\nhosts = [{hosts}]\nsize = \"{size} B\"\n{more}")
}

/// Of flows at the links' rate.
fn at_rate(fabric: Fabric) -> String {
    format!("rate = \"{} Gbps\"\n", fabric.gbps)
}

fn check_job(text: &str, collective: &str, fabric: Fabric, ranks: usize, size: u64, compute_s: f64) {
    let out = same_with_threads_and_as_bytes(text, 3);
    same_with_threads_and_as_bytes(text, 2);
    check_iterations(&out, collective, fabric, ranks, size, compute_s);
}

fn check_iterations(out: &RunOutput, collective: &str, fabric: Fabric, ranks: usize, size: u64, compute_s: f64) {
    check_critical(out);
    // In the first iteration no rank is behind.
    let first = paths(out).into_iter().filter(|((_, number), _)| *number == 0);
    first.for_each(|(_, path)| assert!(spent(&path, "blocked") == 0.0, "{path:?}"));
    let wanted = closed_form_s(collective, fabric, ranks, size as f64);
    let table = out.table("iterations").expect("of jobs");
    let (start, took, bus) = (table.f64("start_s"), table.f64("completion_s"), table.f64("bus_bandwidth_bps"));
    let trees = (collective == "all-reduce-tree").then(|| tree_s(fabric, ranks, size as f64, compute_s, table.rows()));
    for k in 0..table.rows() {
        let wanted = trees.as_ref().map_or(wanted, |trees| trees[k]);
        assert!(
            (took[k] / wanted - 1.0).abs() < TOLERANCE,
            "{collective} {ranks} {k}: {} s, closed form {wanted} s",
            took[k]
        );
        let bandwidth = 8.0 * size as f64 * bus_share(collective, ranks) / took[k];
        assert!((bus[k] / bandwidth - 1.0).abs() < 1e-9, "{k}: {} {bandwidth}", bus[k]);
        if k > 0 {
            let pause = start[k] - start[k - 1] - took[k - 1];
            // The first rank that has all begins, which may be before the last one has.
            assert!(pause <= compute_s + 1e-12 && pause > compute_s - wanted, "{k}: {pause} {compute_s}");
        }
    }
    assert_eq!(out.run["jobs"][0]["completed"].as_u64(), Some(table.rows() as u64));
}

const COLLECTIVES: [&str; 5] = ["all-reduce", "all-reduce-tree", "all-gather", "reduce-scatter", "all-to-all"];
const OF_POWERS_OF_TWO: [&str; 3] = ["all-reduce-halving", "all-gather-doubling", "reduce-scatter-halving"];

/// Ring, tree and all at once around a switch, 2 to 64 ranks; a message takes some hundred packets, and is 500 to 2,000
/// times as long as the link.
fn around_a_switch() -> impl Strategy<Value = (&'static str, Fabric, usize, u64, u64)> {
    let ranks = prop_oneof![2usize..9, 9usize..25, Just(32), Just(64)];
    let parts = (prop::sample::select(COLLECTIVES.to_vec()), prop::sample::select(vec![1.0, 10.0, 100.0, 400.0]));
    (parts, ranks, 100u64..200, 500u64..2000, 0u64..1000).prop_map(|((collective, gbps), n, packets, ratio, rest)| {
        let share = packets * 1472 + rest;
        let size = if collective == "all-reduce-tree" { share } else { share * n as u64 + rest % n as u64 };
        let message_ns = 8.0 * share as f64 / gbps;
        let delay_ns = (message_ns / ratio as f64).max(1.0) as u64;
        (collective, Fabric { gbps, delay_ns, links: 2.0, udp: true }, n, size, rest)
    })
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    #[ignore = "nightly"]
    fn collectives_take_their_closed_form_around_a_switch((collective, fabric, ranks, size, us) in around_a_switch()) {
        let compute = if us == 0 { String::new() } else { format!("compute_time = {{ kind = \"fixed\", time = \"{us} us\" }}\n") };
        let text = star(fabric, ranks, &job(collective, "\"h*\"", size, &format!("iterations = 2\n{compute}{}", at_rate(fabric))));
        check_job(&text, collective, fabric, ranks, size, us as f64 / 1e6);
    }

    /// Trees of any number of ranks, of which those that are no power of two have ranks that are ahead of others.
    #[test]
    fn trees_take_their_closed_form(ranks in 2usize..65, packets in 100u64..200, us in 0u64..200) {
        let fabric = Fabric { gbps: 10.0, delay_ns: 100, links: 2.0, udp: true };
        let more = format!("iterations = 3\ncompute_time = \"{} us\"\n{}", us + 1, at_rate(fabric));
        let out = run_plain(&star(fabric, ranks, &job("all-reduce-tree", "\"h*\"", packets * 1472, &more)));
        check_iterations(&out, "all-reduce-tree", fabric, ranks, packets * 1472, (us + 1) as f64 / 1e6);
    }

    /// Rings whose links are up to twice as long as their messages.
    #[test]
    fn rings_over_long_links_take_their_closed_form(
        n in 2usize..7, packets in 100u64..400, gbps in prop::sample::select(vec![1.0, 10.0]), percent in 1u64..200,
        collective in prop::sample::select(vec!["all-reduce", "all-gather", "reduce-scatter"]),
    ) {
        let share = packets * 1472;
        let delay_ns = (8.0 * share as f64 / gbps * percent as f64 / 100.0) as u64;
        let mut network = format!("{WINDOW}[topology]\nlinks = [\n");
        let (rate, fabric) = (format!("{gbps} Gbps"), Fabric { gbps, delay_ns, links: 2.0, udp: true });
        for i in 0..n {
            writeln!(network, "{{ a = \"c{i}\", b = \"r\", rate = \"{rate}\", delay = \"{delay_ns} ns\" }},").unwrap();
        }
        let text = network + "]\n" + &job(collective, "\"c*\"", share * n as u64, &format!("iterations = 3\n{}", at_rate(fabric)));
        check_job(&text, collective, fabric, n, share * n as u64, 0.0);
    }
}

/// On a fat-tree of 16 hosts whose links between switches carry all that their hosts send, packed, spread or at random:
/// up to six links between two hosts, of which a message of 2,000 packets sees the access links.
fn on_a_fat_tree(fabric: Fabric, more: &str) -> String {
    let Fabric { gbps, delay_ns, .. } = fabric;
    format!(
        "{WINDOW}[topology]\ngenerate = \"fat-tree\"\nk = 4\naccess = {{ rate = \"{gbps} Gbps\", delay = \"{delay_ns} ns\" }}\n\
         link = {{ rate = \"{} Gbps\", delay = \"{delay_ns} ns\" }}\n{more}",
        16.0 * gbps
    )
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    #[ignore = "nightly"]
    fn halving_and_doubling_take_their_closed_form_around_a_switch(
        collective in prop::sample::select(OF_POWERS_OF_TWO.to_vec()), log in 1u32..6, us in 0u64..1000,
        (_, fabric, _, size, _) in around_a_switch(),
    ) {
        let (ranks, compute) = (1 << log, format!("compute_time = \"{} us\"\n", us + 1));
        let size = size.max(ranks as u64 * 300_000);
        let more = format!("iterations = 2\n{compute}{}", at_rate(fabric));
        let text = star(fabric, ranks, &job(collective, "\"h*\"", size, &more));
        check_job(&text, collective, fabric, ranks, size, (us + 1) as f64 / 1e6);
    }

    /// Each collective on a fabric without contention.
    #[test]
    #[ignore = "nightly"]
    fn collectives_take_their_closed_form_on_a_fat_tree(
        collective in prop::sample::select([&COLLECTIVES[..], &OF_POWERS_OF_TWO].concat()),
        placement in prop::sample::select(vec!["packed", "spread", "random"]), gbps in prop::sample::select(vec![10.0, 400.0]),
        ranks in prop::sample::select(vec![4usize, 8, 16]), seed in 1u64..100,
    ) {
        let fabric = Fabric { gbps, delay_ns: 10, links: 4.0, udp: true };
        let share = 2000 * 1472;
        // The least message is a share.
        let size = if collective == "all-reduce-tree" { share } else { share * ranks as u64 };
        let more = format!("placement = \"{placement}\"\nranks = {ranks}\n{}", at_rate(fabric));
        let text = format!("seed = {seed}\n{}", on_a_fat_tree(fabric, &job(collective, "\"h*\"", size, &more)));
        check_job(&text, collective, fabric, ranks, size, 0.0);
    }

    /// GPipe's: with stages that compute longer than a message takes, each pass is (M + N - 1) computations and N - 1
    /// messages; an iteration of the table begins with the first message and ends with the last.
    #[test]
    fn pipelines_take_their_closed_form(
        stages in 2usize..9, batches in 1usize..9, packets in 100u64..300, times in 1.1f64..4.0,
        gbps in prop::sample::select(vec![10.0, 100.0]),
    ) {
        let fabric = Fabric { gbps, delay_ns: 10, links: 2.0, udp: true };
        let message = fabric.message_s((packets * 1472) as f64);
        let compute = (message * times * 1e9).ceil() / 1e9;
        let more = format!(
            "iterations = 3\nmicro_batches = {batches}\ncompute_time = \"{} ns\"\n{}", (compute * 1e9).round(), at_rate(fabric)
        );
        let text = star(fabric, stages, &job("pipeline", "\"h*\"", packets * 1472, &more));
        let out = same_with_threads_and_as_bytes(&text, 3);
        check_critical(&out);
        let table = out.table("iterations").expect("of jobs");
        let (n, m) = (stages as f64, batches as f64);
        let pass = (n - 1.0) * (compute + message) + m * compute;
        let wanted = 2.0 * pass - 2.0 * compute;
        // With stages as fast as each other all but the first and the last pass through all of them is computation.
        for path in paths(&out).values() {
            let (sent, rest) = (spent(path, "network"), 2.0 * (n - 1.0) * message);
            prop_assert!((sent / rest - 1.0).abs() < TOLERANCE, "{} s on the network, closed form {} s", sent, rest);
            prop_assert!(spent(path, "blocked") == 0.0);
        }
        for k in 0..3 {
            let (start, took) = (table.f64("start_s")[k], table.f64("completion_s")[k]);
            prop_assert!((took / wanted - 1.0).abs() < TOLERANCE, "{}: {} s, closed form {} s", k, took, wanted);
            // The first stage's last computation, and its first of this iteration.
            let begin = k as f64 * 2.0 * pass + compute;
            prop_assert!((start / begin - 1.0).abs() < TOLERANCE, "{}: {} s, closed form {} s", k, start, begin);
        }
    }

    /// All-to-all-v: the rank that receives most is the bottleneck, its link full from the beginning on.
    #[test]
    #[ignore = "nightly"]
    fn a_skewed_all_to_all_is_as_slow_as_its_largest_receiver(
        ranks in 3usize..12, skew in 0.3f64..2.0, packets in 3000u64..6000, gbps in prop::sample::select(vec![1.0, 100.0]),
    ) {
        let fabric = Fabric { gbps, delay_ns: 100, links: 2.0, udp: true };
        let size = packets * ranks as u64 * 1472;
        // One iteration: ranks that have theirs begin the next, while the largest still receives.
        let text = star(fabric, ranks, &job("all-to-all", "\"h*\"", size, &format!("skew = {skew}\n{}", at_rate(fabric))));
        let out = same_with_threads_and_as_bytes(&text, 3);
        let took = out.table("iterations").expect("of jobs").f64("completion_s")[0];
        let harmonic: f64 = (1..=ranks).map(|k| (k as f64).powf(-skew)).sum();
        let wanted = fabric.overhead_s() + (ranks - 1) as f64 * fabric.wire_s(size as f64 / harmonic);
        prop_assert!((took / wanted - 1.0).abs() < TOLERANCE, "{} s, closed form {} s", took, wanted);
    }
}

/// A star whose links differ: rates in Mbps and delays in microseconds by host.
fn uneven(links: &[(u64, u64)], more: &str) -> String {
    let mut text = format!("{WINDOW}[topology]\nlinks = [\n");
    for (i, (mbps, us)) in links.iter().enumerate() {
        writeln!(text, "{{ a = \"c{i}\", b = \"r\", rate = \"{mbps} Mbps\", delay = \"{us} us\" }},").unwrap();
    }
    text + "]\n" + more
}

/// Two unlike families: links that differ up to a hundredfold with times that all ranks compute, and equal links with drawn
/// times, of which the longest are many iterations of the others.
fn ranks_out_of_step() -> impl Strategy<Value = (Vec<(u64, u64)>, u64, bool)> {
    let uneven = (prop::collection::vec((10u64..1000, 1u64..2000), 2..7), 1u64..500, Just(false));
    let drawn = (2usize..7, 50u64..5000).prop_map(|(n, us)| (vec![(1000, 10); n], us, true));
    prop_oneof![uneven, drawn]
}

proptest! {
    #![proptest_config(cases(24))]

    /// A rank begins an iteration when it has begun all of the one before and has received all of that: then it computes, for
    /// a time that is known in the one family.
    #[test]
    fn no_rank_is_an_iteration_ahead_of_itself(
        (links, us, drawn) in ranks_out_of_step(), kb in 1u64..50, seed in 1u64..1000,
        collective in prop::sample::select([&COLLECTIVES[..], &OF_POWERS_OF_TWO].concat()), udp in any::<bool>(),
    ) {
        let links = if OF_POWERS_OF_TWO.contains(&collective) { links[..1 << links.len().ilog2()].to_vec() } else { links };
        let time = format!("{{ kind = \"{}\", {} = \"{us} us\" }}", if drawn { "exponential" } else { "fixed" }, if drawn { "mean" } else { "time" });
        let rate = if udp { "rate = \"10 Mbps\"\n" } else { "" };
        let more = job(collective, "\"c*\"", kb * 1000, &format!("iterations = 5\ncompute_time = {time}\n{rate}"));
        let out = same_with_threads_and_as_bytes(&format!("seed = {seed}\n{}", uneven(&links, &more)), 2);
        let flows = out.table("flows").expect("flows");
        let (start, took) = (flows.f64("start_s"), flows.f64("fct_s"));
        let [src, dst] = ["src", "dst"].map(|column| texts(&out, "flows", column));
        let each = flows.rows() / 5;
        let of = |k: usize| k * each..(k + 1) * each;
        for (k, rank) in (1..5).flat_map(|k| (0..links.len()).map(move |rank| (k, format!("c{rank}")))) {
            let begins = of(k).filter(|i| src[*i] == rank).map(|i| start[i]).fold(f64::MAX, f64::min);
            let sent = of(k - 1).filter(|i| src[*i] == rank).map(|i| start[i]);
            let received = of(k - 1).filter(|i| dst[*i] == rank).map(|i| start[i] + took[i]);
            let over = sent.chain(received).fold(0.0, f64::max);
            prop_assert!(begins >= over - 1e-12, "{} {}: {} s, before {} s", rank, k, begins, over);
            // Ranks of a tree wait for others before they send.
            if !drawn && collective != "all-reduce-tree" {
                prop_assert!((begins - over - us as f64 / 1e6).abs() < 1e-11, "{} {}: {} s after {} s", rank, k, begins, over);
            }
        }
    }
}

/// Racks of a fat-tree: packed ranks share them, spread ones do not while there are racks left.
#[test]
fn ranks_are_placed_as_said() {
    let fabric = Fabric { gbps: 10.0, delay_ns: 1000, links: 6.0, udp: true };
    let racks = |placement: &str, seed: u64| {
        let more = format!("placement = \"{placement}\"\nranks = 4\n{}", at_rate(fabric));
        let text = format!("seed = {seed}\n{}", on_a_fat_tree(fabric, &job("all-gather", "\"h*\"", 4000, &more)));
        let out = run_plain(&text);
        // Two hosts a rack, numbered in order.
        texts(&out, "flows", "src")[..4].iter().map(|name| name[1..].parse::<usize>().unwrap() / 2).collect::<Vec<_>>()
    };
    assert_eq!(racks("packed", 1), [0, 0, 1, 1]);
    assert_eq!(racks("spread", 1), [0, 1, 2, 3]);
    let drawn: std::collections::BTreeSet<_> = (1..9).map(|seed| racks("random", seed)).collect();
    assert!(drawn.len() > 4, "{drawn:?}");
}

/// Two jobs on one fabric, apart and on the same hosts: what they share makes them slower, and only that.
#[test]
fn jobs_on_a_fabric_share_links() {
    let fabric = Fabric { gbps: 10.0, delay_ns: 100, links: 4.0, udp: true };
    let took = |first: &str, second: &str| {
        let one = |hosts: &str| job("all-gather", hosts, 4 * 300 * 1472, &at_rate(fabric));
        let out = same_with_threads_and_as_bytes(&on_a_fat_tree(fabric, &(one(first) + &one(second))), 3);
        out.table("iterations").expect("of jobs").f64("completion_s").to_vec()
    };
    let alone = closed_form_s("all-gather", fabric, 4, 4.0 * 300.0 * 1472.0);
    let apart = took("\"h0\", \"h1\", \"h2\", \"h3\"", "\"h4\", \"h5\", \"h6\", \"h7\"");
    assert!(apart.iter().all(|t| (t / alone - 1.0).abs() < TOLERANCE), "{apart:?} {alone}");
    let shared = took("\"h0\", \"h4\", \"h8\", \"h12\"", "\"h0\", \"h4\", \"h8\", \"h12\"");
    assert!(shared.iter().all(|t| *t > 1.9 * alone && *t < 2.1 * alone), "{shared:?} {alone}");
}

/// astra-sim's example (issue 296 there): 8 NPUs, 100 MB, 50 GB/s: 2 · 7/8 · 100 MB / 50 GB/s = 3.50 ms of payload. TCP's
/// headers at 1,500 B make it 3.63 ms and its ACKs, of 52 B for two packets on links that carry data, 3.69 ms.
#[test]
fn eight_hosts_reduce_100_megabytes() {
    for (udp, wanted) in [(true, 3.5e-3 * 1500.0 / 1472.0), (false, 3.5e-3 * 1500.0 / 1448.0 * (1.0 + 26.0 / 1500.0))] {
        let fabric = Fabric { gbps: 400.0, delay_ns: 100, links: 2.0, udp };
        let more = if udp { at_rate(fabric) } else { String::new() };
        let out = run_plain(&star(fabric, 8, &job("all-reduce", "\"h*\"", 100_000_000, &more)));
        let took = out.table("iterations").expect("of jobs").f64("completion_s")[0];
        println!("{took} s, closed form {wanted} s");
        assert!((took / wanted - 1.0).abs() < TOLERANCE, "{took} s, closed form {wanted} s");
    }
}

/// The slow link is named, and what it costs is the ring at its rate.
#[test]
fn a_straggler_is_named_with_its_link() {
    let mut text = format!("{WINDOW}[topology]\nlinks = [\n");
    for i in 0..6 {
        let rate = if i == 3 { 2.5 } else { 10.0 };
        writeln!(text, "{{ a = \"c{i}\", b = \"r\", rate = \"{rate} Gbps\", delay = \"1 us\" }},").unwrap();
    }
    let size = 6 * 200 * 1448;
    let out = run_plain(&(text + "]\n" + &job("all-gather", "\"c*\"", size, "")));
    let table = out.table("iterations").unwrap();
    let link = (texts(&out, "iterations", "link_from")[0].clone(), texts(&out, "iterations", "link_to")[0].clone());
    assert!(link.0 == "c3" || link.1 == "c3", "{link:?}");
    let straggler = table.f64("straggler")[0] as usize;
    let flows = out.table("flows").unwrap();
    let took = flows.f64("fct_s");
    assert_eq!(took[straggler], took.iter().copied().fold(0.0, f64::max));
    assert_eq!(table.f64("straggler_s")[0], took[straggler]);
    assert_eq!(out.run["jobs"][0]["slowest"]["link"], format!("{}>{}", link.0, link.1));
    let fabric = Fabric { gbps: 2.5, delay_ns: 1000, links: 2.0, udp: true };
    let ring = closed_form_s("all-gather", fabric, 6, size as f64);
    assert!(table.f64("completion_s")[0] > 0.95 * ring, "{:?} {ring}", table.f64("completion_s"));
}

fn client(more: &str) -> String {
    format!("[[client]]\nfrom = [\"h0\"]\nto = [\"h*\"]\n{more}")
}

fn sizes(request: u64, reply: u64) -> String {
    let fixed = |size| format!("{{ kind = \"fixed\", size = \"{size} B\" }}");
    format!("request_sizes = {}\nreply_sizes = {}\n", fixed(request), fixed(reply))
}

proptest! {
    #![proptest_config(cases(8))]

    /// A cycle of one client is two connections, the bytes, and what it thinks and its server serves.
    #[test]
    fn a_cycle_of_one_client_takes_its_closed_form(
        request in 1u64..120_000, reply in 1u64..2_000_000, gbps in prop::sample::select(vec![0.1, 1.0, 10.0]),
        delay_us in 5u64..20_000, think_us in 0u64..50_000, service_us in 0u64..5_000, fan_out in 1usize..5,
    ) {
        let fabric = Fabric { gbps, delay_ns: 1000 * delay_us, links: 2.0, udp: false };
        let time = |key: &str, us| if us == 0 { String::new() } else { format!("{key} = {{ kind = \"fixed\", time = \"{us} us\" }}\n") };
        let more = format!(
            "requests = 6\nfan_out = {fan_out}\n{}{}{}", sizes(request, reply), time("think_time", think_us), time("service_time", service_us)
        );
        let out = same_with_threads_and_as_bytes(&star(fabric, 6, &client(&more)), 3);
        let table = out.table("requests").expect("of clients");
        let (start, took) = (table.f64("start_s"), table.f64("completion_s"));
        // The client's link carries all requests, and all replies.
        let more = (fan_out - 1) as f64;
        let ways = fabric.message_s(request as f64) + fabric.message_s(reply as f64);
        let wanted = ways + more * (fabric.wire_s(request as f64) + fabric.wire_s(reply as f64)) + service_us as f64 / 1e6;
        for i in 0..6 {
            if fan_out == 1 {
                prop_assert!((took[i] / wanted - 1.0).abs() < TOLERANCE, "{}: {} s, closed form {wanted} s", i, took[i]);
            } else {
                // Replies to the first requests come while the last are under way.
                prop_assert!(took[i] < wanted * (1.0 + TOLERANCE) && took[i] > ways, "{}: {} s of {wanted} s", i, took[i]);
            }
            if i > 0 {
                prop_assert!((start[i] - start[i - 1] - took[i - 1] - think_us as f64 / 1e6).abs() < 1e-11);
            }
        }
    }

    /// Little's law, exactly: in the time from a loop's first request to its last reply it has a request under way, or
    /// thinks. Several clients and servers under schemes that queue and lose.
    #[test]
    fn concurrency_is_throughput_times_response_and_think_time(
        concurrency in 1u64..7, clients in 1usize..4, fan_out in 1usize..3, think_us in 1u64..3_000, kb in 1u64..80,
        scheme in prop::sample::select(vec!["newreno", "cubic", "dctcp", "bbr"]), seed in 1u64..1000,
    ) {
        let from: Vec<String> = (0..clients).map(|i| format!("\"h{i}\"")).collect();
        let text = format!(
            "scheme = \"{scheme}\"\nseed = {seed}\nqueue.limit = \"30 kB\"\n[topology]\ngenerate = \"star\"\nn = 6\n\
             access = {{ rate = \"100 Mbps\", delay = \"20 us\" }}\n[[client]]\nfrom = [{}]\nto = [\"h*\"]\nrequests = 40\n\
             concurrency = {concurrency}\nfan_out = {fan_out}\nthink_time = {{ kind = \"fixed\", time = \"{think_us} us\" }}\n\
             request_sizes = {{ kind = \"fixed\", size = \"1 kB\" }}\nreply_sizes = {{ kind = \"exponential\", mean = \"{kb} kB\" }}\n",
            from.join(", ")
        );
        let out = same_with_threads_and_as_bytes(&text, 3);
        let table = out.table("requests").expect("of clients");
        let (start, took) = (table.f64("start_s"), table.f64("completion_s"));
        prop_assert_eq!(table.rows(), 40 * clients);
        let think = think_us as f64 / 1e6;
        let mut row = 0;
        for _ in 0..clients {
            for number in 0..concurrency {
                let each = 40 / concurrency + u64::from(number < 40 % concurrency);
                let rows = row..row + each as usize;
                row = rows.end;
                let busy: f64 = rows.clone().map(|i| took[i] + think).sum();
                let span = start[rows.end - 1] + took[rows.end - 1] + think - start[rows.start];
                prop_assert!((busy - span).abs() < 1e-10, "{} {}", busy, span);
            }
        }
        // One server of fan_out per request, all different, and none the client itself.
        let (src, dst) = (texts(&out, "flows", "src"), texts(&out, "flows", "dst"));
        for first in (0..src.len()).step_by(2 * fan_out) {
            let mut asked: Vec<_> = dst[first..first + fan_out].to_vec();
            prop_assert!(!asked.contains(&src[first]));
            prop_assert_eq!(&asked[..], &src[first + fan_out..first + 2 * fan_out]);
            asked.sort_unstable();
            asked.dedup();
            prop_assert_eq!(asked.len(), fan_out);
        }
    }
}

/// The machine-repair model: N clients think for an exponential time Z, and ask one server whose link they share, for an
/// exponential size. Processor sharing has the queue's distribution, p(n) ~ N! / (N − n)! (S / Z)^n, and the throughput
/// (1 − p(0)) / S. Committed before the first run: 4 %, with 12,000 requests.
#[test]
#[ignore = "nightly"]
fn clients_of_one_link_are_the_machine_repair_model() {
    for (n, think_ms, kb) in [(4u64, 20.0, 500.0), (8, 40.0, 500.0), (3, 5.0, 1000.0)] {
        let fabric = Fabric { gbps: 1.0, delay_ns: 1000, links: 2.0, udp: false };
        let more = format!(
            "requests = 12000\nconcurrency = {n}\nrequest_sizes = {{ kind = \"fixed\", size = \"100 B\" }}\n\
             reply_sizes = {{ kind = \"exponential\", mean = \"{kb} kB\" }}\n\
             think_time = {{ kind = \"exponential\", mean = \"{think_ms} ms\" }}\n"
        );
        let text = star(fabric, 2, &client(&more)).replace("window = 100000", "window = 20");
        let out = run_plain(&text);
        let service = fabric.wire_s(kb * 1e3);
        let z = think_ms / 1e3 + fabric.message_s(100.0) + fabric.overhead_s();
        let (mut sum, mut term) = (1.0, 1.0);
        for k in 0..n {
            term *= (n - k) as f64 * service / z;
            sum += term;
        }
        let wanted = (1.0 - 1.0 / sum) / service;
        let found = out.run["clients"][0]["per_s"].as_f64().unwrap();
        println!("{n} clients: {found} a second, closed form {wanted}");
        assert!((found / wanted - 1.0).abs() < 0.04, "{n} clients: {found} a second, closed form {wanted}");
    }
}

/// Requests and replies are one datagram of 100 B, so that servers are what clients wait for.
fn datagrams(hosts: usize, seed: u64, more: &str) -> (String, Fabric) {
    let fabric = Fabric { gbps: 10.0, delay_ns: 1000, links: 2.0, udp: true };
    let text = format!("[[client]]\nfrom = [\"h0\"]\nto = [\"h*\"]\n{}{}{more}", at_rate(fabric), sizes(100, 100));
    (format!("seed = {seed}\n{}", star(fabric, hosts, &text)), fabric)
}

/// Throughput of N clients that think for Z and are served for S by one of c: the chain of births and deaths.
fn machine_repair_per_s(n: u64, z: f64, service: f64, servers: u64) -> f64 {
    let (mut sum, mut busy, mut term) = (1.0, 0.0, 1.0);
    for k in 1..=n {
        term *= (n - k + 1) as f64 / z * service / k.min(servers) as f64;
        sum += term;
        busy += term * k.min(servers) as f64;
    }
    busy / sum / service
}

/// Batches of the mean, and how many standard errors it may be off: with 29 degrees of freedom Student's t is beyond 5.6
/// once in 200,000 draws.
const BATCHES: usize = 30;
const ERRORS: f64 = 5.6;
/// Of the mean: a longer interval would let through what is wrong.
const LARGEST_ERROR: f64 = 0.006;

/// Whether loops of requests have this throughput while all of them go on: the method of batch means, as the numbers of
/// requests that follow each other depend on each other. Loops have as many requests each and end at different times: what
/// fewer do after the first has ended is left out (0.6 % of the throughput of eight loops with 15,000 each), as is the
/// first batch, in which all begin at once.
fn check_throughput(out: &RunOutput, loops: usize, wanted: f64, name: &str) {
    let table = out.table("requests").expect("of clients");
    let (start, took) = (table.f64("start_s"), table.f64("completion_s"));
    let each = |number: usize| table.rows() / loops + usize::from(number < table.rows() % loops);
    let last = (0..loops).scan(0, |row, number| {
        *row += each(number);
        Some(start[*row - 1] + took[*row - 1])
    });
    let batch = last.fold(f64::INFINITY, f64::min) / (BATCHES + 1) as f64;
    let mut counts = [0.0; BATCHES];
    for end in start.iter().zip(took).map(|(start, took)| start + took) {
        let number = (end / batch) as usize;
        if (1..=BATCHES).contains(&number) {
            counts[number - 1] += 1.0 / batch;
        }
    }
    let mean = counts.iter().sum::<f64>() / BATCHES as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
    let error = (variance / BATCHES as f64).sqrt();
    println!("{name}: {mean} a second, closed form {wanted}, {:.2} standard errors", (mean - wanted) / error);
    assert!(error < LARGEST_ERROR * wanted, "{name}: {mean} a second, with an error of {error}");
    assert!((mean - wanted).abs() < ERRORS * error, "{name}: {mean} a second, closed form {wanted}, error {error}");
}

/// From a request's start to its arrival, or a reply's: one packet of 100 B, stored and forwarded once.
fn datagram_s(fabric: Fabric) -> f64 {
    fabric.propagation_s() + fabric.links * fabric.wire_s(100.0)
}

proptest! {
    // Long: each has 120,000 requests.
    #![proptest_config(cases(1))]

    /// M/M/1 and M/M/c with N clients: in order of arrival service times are exponential.
    #[test]
    #[ignore = "nightly"]
    fn clients_of_a_server_are_m_m_c(n in 2u64..9, workers in 1u64..3, load in 0.5f64..2.0, seed in 1u64..1000) {
        let (service_us, requests) = (100.0, 120_000);
        let think_us = (n as f64 / workers as f64 * service_us / load).round();
        let (text, fabric) = datagrams(2, seed, &format!(
            "requests = {requests}\nconcurrency = {n}\nworkers = {workers}\n\
             service_time = {{ kind = \"exponential\", mean = \"{service_us} us\" }}\n\
             think_time = {{ kind = \"exponential\", mean = \"{think_us} us\" }}\n"
        ));
        let z = think_us / 1e6 + 2.0 * datagram_s(fabric);
        let wanted = machine_repair_per_s(n, z, service_us / 1e6, workers);
        check_throughput(&run_plain(&text), n as usize, wanted, &format!("{n} of {workers}"));
    }

    /// M/G/1-PS: of service times the mean alone counts.
    #[test]
    #[ignore = "nightly"]
    fn clients_of_a_server_that_shares_are_m_g_1_ps(
        n in 2u64..9, load in 0.5f64..2.0, seed in 1u64..1000,
        law in prop::sample::select(vec!["kind = \"log-normal\", sigma = 1.0,", "kind = \"exponential\",", "kind = \"pareto\", shape = 3.0,"]),
    ) {
        let (service_us, requests) = (100.0, 120_000);
        let think_us = (n as f64 * service_us / load).round();
        let (text, fabric) = datagrams(2, seed, &format!(
            "requests = {requests}\nconcurrency = {n}\nworkers = 1\nscheduling = \"ps\"\n\
             service_time = {{ {law} mean = \"{service_us} us\" }}\n\
             think_time = {{ kind = \"exponential\", mean = \"{think_us} us\" }}\n"
        ));
        let z = think_us / 1e6 + 2.0 * datagram_s(fabric);
        let wanted = machine_repair_per_s(n, z, service_us / 1e6, 1);
        check_throughput(&run_plain(&text), n as usize, wanted, &format!("{n}, {law}"));
    }

    /// Two servers who cancel each other's copies work off one queue, as M/M/2 does. A copy comes when the news would have
    /// come that the first server is idle.
    #[test]
    #[ignore = "nightly"]
    fn tied_requests_make_one_queue_of_two(n in 3u64..9, load in 0.7f64..2.0, seed in 1u64..1000) {
        let (service_us, requests) = (10_000.0, 120_000);
        let think_us = (n as f64 / 2.0 * service_us / load).round();
        let (text, fabric) = datagrams(3, seed, &format!(
            "requests = {requests}\nconcurrency = {n}\nworkers = 1\nhedge_after = \"5 us\"\ntied = true\n\
             service_time = {{ kind = \"exponential\", mean = \"{service_us} us\" }}\n\
             think_time = {{ kind = \"exponential\", mean = \"{think_us} us\" }}\n"
        ));
        let z = think_us / 1e6 + 2.0 * datagram_s(fabric);
        let wanted = machine_repair_per_s(n, z, service_us / 1e6, 2);
        check_throughput(&run_plain(&text), n as usize, wanted, &format!("{n}"));
    }

    /// The first of several replies counts: P(T > t) is a product, over copies sent before t, of exponentials.
    #[test]
    #[ignore = "nightly"]
    fn the_first_of_several_replies_counts(
        retries in 0i32..4, timeout_us in 300.0f64..2000.0, hedge in 0.1f64..0.9, hedges in any::<bool>(), seed in 1u64..1000,
    ) {
        let (service_us, requests) = (1000.0, 60_000);
        let (timeout_us, hedge_us) = (timeout_us.round(), (hedge * timeout_us).round());
        let hedged = if hedges { format!("hedge_after = \"{hedge_us} us\"\n") } else { String::new() };
        let (text, fabric) = datagrams(6, seed, &format!(
            "requests = {requests}\nconcurrency = 20\ntimeout = \"{timeout_us} us\"\nretries = {retries}\n{hedged}\
             service_time = {{ kind = \"exponential\", mean = \"{service_us} us\" }}\n"
        ));
        let way_us = 2e6 * fabric.message_s(100.0);
        let starts: Vec<f64> = (0..=retries).flat_map(|k| {
            let at = f64::from(k) * timeout_us;
            std::iter::once(at).chain(hedges.then_some(at + hedge_us))
        }).collect();
        let open = |t: f64| (-starts.iter().map(|s| (t - s - way_us).max(0.0)).sum::<f64>() / service_us).exp();
        let end = f64::from(retries + 1) * timeout_us;
        let client = run_plain(&text).run["clients"][0].clone();
        let within = |name: &str, found: f64, share: f64, n: f64| {
            // Five standard errors of a share, and one in a thousand for what is between events.
            let bound = 5.0 * (share * (1.0 - share) / n).sqrt() + 1e-3;
            assert!((found - share).abs() < bound, "{name}: {found}, closed form {share}");
        };
        within("failed", client["failed"].as_f64().unwrap() / f64::from(requests), open(end), f64::from(requests));
        let attempts: f64 = starts.iter().map(|t| open(*t)).sum();
        let found = client["attempts"].as_f64().unwrap() / f64::from(requests);
        prop_assert!((found / attempts - 1.0).abs() < 0.02, "{found} copies, closed form {attempts}");
    }

}

proptest! {
    #![proptest_config(cases(4))]

    /// Everything a client may do at once, on any number of threads.
    #[test]
    fn what_clients_do_is_the_same_on_any_number_of_threads(
        levels in prop::collection::vec(1u64..3, 0..3), retries in 0u64..3, hedges in any::<bool>(), workers in 0u64..3,
        ps in any::<bool>(), scheme in prop::sample::select(vec!["newreno", "cubic", "udp"]), seed in 1u64..1000,
    ) {
        let mut more = String::from("requests = 60\nconcurrency = 4\nfan_out = 2\n");
        if retries > 0 {
            write!(more, "timeout = \"900 us\"\nretries = {retries}\nbackoff = \"100 us\"\n").unwrap();
        }
        if hedges {
            more += "hedge_after = \"400 us\"\n";
        }
        if workers > 0 {
            let ps = ps && !hedges;
            write!(more, "workers = {workers}\nscheduling = \"{}\"\ntied = {hedges}\n", if ps { "ps" } else { "fifo" }).unwrap();
        }
        if scheme == "udp" {
            more += "rate = \"50 Mbps\"\n";
        }
        // What is lost of datagrams nobody sends again.
        let limit = if scheme == "udp" { "1 GB" } else { "60 kB" };
        let then: Vec<String> =
            levels.iter().map(|n| format!("{{ to = [\"h*\"], fan_out = {n}, service_time = \"50 us\", workers = 1 }}")).collect();
        let text = format!(
            "scheme = \"{scheme}\"\nseed = {seed}\nqueue.limit = \"{limit}\"\n[topology]\ngenerate = \"fat-tree\"\nk = 4\n\
             link = {{ rate = \"100 Mbps\", delay = \"20 us\" }}\n[[client]]\nfrom = [\"h0\", \"h5\"]\nto = [\"h*\"]\n\
             request_sizes = {{ kind = \"fixed\", size = \"1 kB\" }}\nreply_sizes = {{ kind = \"exponential\", mean = \"9 kB\" }}\n\
             service_time = {{ kind = \"exponential\", mean = \"200 us\" }}\nthen = [{}]\n{more}", then.join(", ")
        );
        let out = same_with_threads_and_as_bytes(&text, 3);
        same_with_threads_and_as_bytes(&text, 2);
        prop_assert_eq!(out.run["invariants"]["conserved"].as_bool(), Some(true));
        check_critical(&out);
        // Without workers a server's work is its time: that of the first level is drawn, that of others 50 us.
        if workers == 0 && levels.is_empty() {
            paths(&out).values().for_each(|path| assert_eq!(path.iter().filter(|piece| piece.part == "service").count(), 1));
        }
        let client = &out.run["clients"][0];
        let [completed, failed] = ["completed", "failed"].map(|key| client[key].as_u64().unwrap());
        prop_assert_eq!((client["requests"].as_u64(), completed + failed), (Some(120), 120));
        let (attempts, most) = (client["attempts"].as_u64().unwrap(), 240 * (retries + 1) * (1 + u64::from(hedges)));
        prop_assert!((240..=most).contains(&attempts), "{} of {}", attempts, most);
    }

    /// A chain of calls takes its messages and its work, level by level.
    #[test]
    fn a_chain_of_servers_takes_its_closed_form(
        levels in prop::collection::vec((1u64..100_000, 1u64..300_000, 0u64..500), 1..5), gbps in prop::sample::select(vec![1.0, 10.0]),
        delay_us in 1u64..300,
    ) {
        let fabric = Fabric { gbps, delay_ns: 1000 * delay_us, links: 2.0, udp: false };
        let service = |us: u64| if us == 0 { String::new() } else { format!("service_time = \"{us} us\"\n") };
        let mut text = format!("[[client]]\nfrom = [\"h0\"]\nto = [\"h1\"]\nrequests = 4\n{}{}", sizes(levels[0].0, levels[0].1), service(levels[0].2));
        for (i, (request, reply, us)) in levels.iter().enumerate().skip(1) {
            write!(text, "[[client.then]]\nto = [\"h{}\"]\n{}{}", i + 1, sizes(*request, *reply), service(*us)).unwrap();
        }
        let out = same_with_threads_and_as_bytes(&star(fabric, 6, &text), 2);
        check_critical(&out);
        let work = levels.iter().map(|level| level.2 as f64 / 1e6).sum::<f64>();
        for path in paths(&out).values() {
            prop_assert!((spent(path, "service") - work).abs() < 1e-9 && spent(path, "blocked") == 0.0, "{:?}", path);
        }
        let parts = levels.iter().map(|(request, reply, us)| {
            fabric.message_s(*request as f64) + fabric.message_s(*reply as f64) + *us as f64 / 1e6
        });
        let wanted: f64 = parts.sum();
        for took in out.table("requests").expect("of clients").f64("completion_s") {
            prop_assert!((took / wanted - 1.0).abs() < TOLERANCE, "{} s, closed form {} s", took, wanted);
        }
    }
}

/// Messages of persistent connections: with a fixed window the first opens them, and later ones take a way, their bytes and a
/// packet at each further hop. Committed before the first run: a picosecond a hop, for sizes of full packets.
fn reused_take_their_closed_form(
    gbps: f64,
    delay_us: u64,
    packets: [u64; 2],
    service_us: u64,
    think_us: u64,
    levels: usize,
) {
    let fabric = Fabric { gbps, delay_ns: 1000 * delay_us, links: 2.0, udp: false };
    let [request, reply] = packets.map(|n| 1448 * n);
    // Levels of one server each, so that all connections are warm after the first request.
    let then: Vec<String> = (1..levels)
        .map(|level| format!("{{ to = [\"h{}\"], service_time = \"{service_us} us\" }}", level + 1))
        .collect();
    let more = format!(
        "requests = 7\nconnections = \"reuse\"\nthink_time = \"{think_us} us\"\nservice_time = \"{service_us} us\"\n{}{}",
        sizes(request, reply),
        if then.is_empty() { String::new() } else { format!("then = [{}]\n", then.join(", ")) }
    );
    let text = star(fabric, 1 + levels, &client(&more).replace("\"h*\"", "\"h1\""));
    let out = same_with_threads_and_as_bytes(&text, 3);
    let took = out.table("requests").expect("of clients").f64("completion_s").to_vec();
    let warm = |bytes: u64| fabric.propagation_s() + 8.0 * MTU / (gbps * 1e9) + fabric.wire_s(bytes as f64);
    let wanted = levels as f64 * (warm(request) + warm(reply) + service_us as f64 / 1e6);
    let opening = levels as f64 * 4.0 * fabric.propagation_s();
    // A server between two others replies at once when it has the reply that it waited for, behind the ACK of that.
    let acks = (levels - 1) as f64 * 8.0 * HEADERS[0] / (gbps * 1e9);
    assert!(took[0] > wanted + opening, "{took:?} {wanted}");
    for found in &took[1..] {
        let rounding = 1e-10 + 1e-9 * wanted;
        assert!(*found > wanted - rounding && *found < wanted + acks + rounding, "{found} s, closed form {wanted} s");
    }
    let flows = out.table("flows").unwrap();
    let connections = texts(&out, "flows", "group").iter().filter(|group| *group == "client0-connections").count();
    assert_eq!(connections, 2 * levels);
    // What connections carry is what their messages are.
    let (delivered, own) = (flows.u64("delivered_bytes"), texts(&out, "flows", "group"));
    let sum = |connections: bool| -> u64 {
        (0..flows.rows()).filter(|i| (own[*i] == "client0-connections") == connections).map(|i| delivered[i]).sum()
    };
    assert_eq!((sum(true), sum(false)), (7 * levels as u64 * (request + reply), 7 * levels as u64 * (request + reply)));
}

proptest! {
    #![proptest_config(cases(8))]

    /// A client and its server.
    #[test]
    fn persistent_connections_are_opened_once(
        gbps in prop::sample::select(vec![0.1, 1.0, 10.0]), delay_us in 1u64..20_000, request in 1u64..20, reply in 1u64..600,
        service_us in 1u64..3000, think_us in 1u64..3_000_000,
    ) {
        reused_take_their_closed_form(gbps, delay_us, [request, reply], service_us, think_us, 1);
    }

    /// Chains of servers, each with connections of its own to the next.
    #[test]
    fn chains_of_persistent_connections_are_opened_once(
        gbps in prop::sample::select(vec![1.0, 40.0]), delay_us in 1u64..100, request in 1u64..5, reply in 1u64..50, levels in 2usize..5,
    ) {
        reused_take_their_closed_form(gbps, delay_us, [request, reply], 10, 10, levels);
    }

    /// Little's law on persistent connections of several loops, fan-outs and schemes, and as many requests as with new ones.
    #[test]
    fn loops_share_no_connection(
        concurrency in 1u64..5, fan_out in 1usize..4, levels in 0usize..2, kb in 1u64..60, seed in 1u64..1000,
        scheme in prop::sample::select(vec!["newreno", "cubic", "dctcp", "bbr"]),
    ) {
        let then = if levels == 0 { "" } else { "then = [{ to = [\"h3\", \"h4\", \"h5\"], fan_out = 2 }]\n" };
        let text = |connections: &str| format!(
            "scheme = \"{scheme}\"\nseed = {seed}\nqueue.limit = \"30 kB\"\n[topology]\ngenerate = \"star\"\nn = 6\n\
             access = {{ rate = \"100 Mbps\", delay = \"20 us\" }}\n[[client]]\nfrom = [\"h0\", \"h1\"]\nto = [\"h*\"]\nrequests = 20\n\
             connections = \"{connections}\"\nconcurrency = {concurrency}\nfan_out = {fan_out}\nthink_time = \"1 ms\"\n{then}\
             request_sizes = {{ kind = \"fixed\", size = \"1 kB\" }}\nreply_sizes = {{ kind = \"exponential\", mean = \"{kb} kB\" }}\n"
        );
        let (reused, new) = (same_with_threads_and_as_bytes(&text("reuse"), 3), run_plain(&text("new")));
        let sizes_of = |out: &RunOutput| -> Vec<f64> {
            let (flows, groups) = (out.table("flows").unwrap(), texts(out, "flows", "group"));
            (0..flows.rows()).filter(|i| groups[*i] == "client0").map(|i| flows.f64("size_bytes")[i]).collect()
        };
        prop_assert_eq!(sizes_of(&reused), sizes_of(&new));
        prop_assert_eq!(&reused.run["clients"][0]["completed"], 40);
        let table = reused.table("requests").expect("of clients");
        let (start, took) = (table.f64("start_s"), table.f64("completion_s"));
        let mut row = 0;
        for number in (0..2 * concurrency).map(|loop_| loop_ % concurrency) {
            let rows = row..row + (20 / concurrency + u64::from(number < 20 % concurrency)) as usize;
            row = rows.end;
            for i in rows.skip(1) {
                prop_assert!((start[i] - start[i - 1] - took[i - 1] - 0.001).abs() < 1e-11);
            }
        }
    }
}

/// RFC 7661 and 5681, §4.1: a window that was needed is kept between requests; after an idle time above the RTO a sender
/// starts again with the initial window. 64 packets are three round trips from that, and one with the window that they
/// made.
#[test]
fn a_persistent_connection_keeps_its_window_unless_it_was_idle() {
    let fabric = Fabric { gbps: 1.0, delay_ns: 5_000_000, links: 2.0, udp: false };
    let last = |connections: &str, think: &str| {
        let more = format!(
            "requests = 6\nconnections = \"{connections}\"\nthink_time = \"{think}\"\n{}",
            sizes(1448, 64 * 1448)
        );
        let text =
            star(fabric, 2, &client(&more).replace("\"h*\"", "\"h1\"")).replace("\"fixed-window\"", "\"newreno\"");
        let out = same_with_threads_and_as_bytes(&text, 2);
        *out.table("requests").unwrap().f64("completion_s").last().unwrap()
    };
    let rtt = 0.02;
    let new = last("new", "1 ms");
    let (kept, idle) = (last("reuse", "1 ms"), last("reuse", "10 s"));
    // Two handshakes, and two round trips of slow start.
    assert!((new - kept - 4.0 * rtt).abs() < 0.2 * rtt, "{new} s, {kept} s");
    assert!((new - idle - 2.0 * rtt).abs() < 0.2 * rtt, "{new} s, {idle} s");
}

#[test]
fn connections_that_cannot_be_reused_are_refused_by_their_key() {
    let fabric = Fabric { gbps: 1.0, delay_ns: 5000, links: 2.0, udp: false };
    let of = |more: &str| {
        refused(&star(fabric, 3, &client(&format!("requests = 2\nconnections = \"reuse\"\n{}{more}", sizes(9, 9)))))
    };
    for (more, key, cure) in [
        ("timeout = \"1 s\"\n", "connections", "use `new`"),
        ("rate = \"1 Mbps\"\n", "connections", "use `new`"),
        (
            "[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1 kB\"\nafter = [\"client0\"]\nafter_bytes = \"5 B\"\n",
            "after",
            "leave `after_bytes` out",
        ),
    ] {
        let message = of(more);
        assert!(message.contains(key) && message.contains(cure), "{message}");
    }
}

/// What would have asked again or given a request up, at whatever time, is no event of a run: there are as many without.
#[test]
fn a_reply_ends_what_waits_for_its_absence() {
    let run = |scheme: &str, more: &str| {
        let more = format!("requests = 20\nconcurrency = 3\n{more}{}", sizes(1000, 20_000));
        let fabric = Fabric { gbps: 1.0, delay_ns: 5000, links: 2.0, udp: false };
        let text = star(fabric, 5, &client(&more)).replace("\"fixed-window\"", &format!("\"{scheme}\""));
        let out = same_with_threads_and_as_bytes(&text, 3);
        (out.run["events"].as_u64(), out.run["clients"][0].clone(), out.run["simulated_s"].clone())
    };
    for scheme in ["fixed-window", "rcp"] {
        let waiting = |seconds: u64| {
            let more = format!("retries = 2\nhedge_after = \"{} s\"\ntimeout = \"{seconds} s\"\n", seconds / 2);
            run(scheme, &more)
        };
        let (soon, plain) = (waiting(10), run(scheme, ""));
        assert_eq!(soon, waiting(1000), "{scheme}");
        assert_eq!((soon.0, soon.1), (plain.0, plain.1), "{scheme}");
    }
}

#[test]
fn deadlines_are_counted_and_a_run_begins_what_it_has_time_for() {
    let fabric = Fabric { gbps: 1.0, delay_ns: 100_000, links: 2.0, udp: false };
    let text = |deadline: &str| {
        let more = format!("requests = 1000\ndeadline = \"{deadline}\"\ngroup = \"ask\"\n{}", sizes(100, 100_000));
        format!("stop = \"50 ms\"\n{}", star(fabric, 3, &client(&more)))
    };
    let [never, always] = ["20 ms", "1 us"].map(|deadline| run_plain(&text(deadline)));
    let [loose, strict] = [&never, &always].map(|out| out.run["clients"][0].clone());
    let asked = loose["requests"].as_u64().unwrap();
    assert!(asked > 10 && asked < 1000, "{loose}");
    assert_eq!((loose["missed"].as_u64(), strict["missed"].as_u64()), (Some(0), Some(asked)));
    assert_eq!(never.table("requests").unwrap().rows() as u64, asked);
    assert!(!never.run["warnings"].to_string().contains("did not start"), "{}", never.run["warnings"]);
    assert!(!never.run["warnings"].to_string().contains("offered"), "{}", never.run["warnings"]);
    let took = never.table("requests").unwrap().f64("completion_s").to_vec();
    let mut done: Vec<f64> = took.into_iter().filter(|t| !t.is_nan()).collect();
    done.sort_by(f64::total_cmp);
    assert_eq!(loose["max_s"].as_f64(), done.last().copied());
    assert_eq!(loose["completed"].as_u64(), Some(done.len() as u64));
}

/// Flows, clients and jobs wait for each other's groups, on any number of threads.
#[test]
fn a_chain_of_all_kinds() {
    let fabric = Fabric { gbps: 1.0, delay_ns: 3_000, links: 2.0, udp: false };
    let flow = "[[flow]]\ngroup = \"load\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"1 MB\"\n";
    let mut more = String::from(flow);
    more +=
        &client(&format!("after = [\"load\"]\nrequests = 5\nconcurrency = 2\ngroup = \"ask\"\n{}", sizes(500, 9000)));
    more += &job(
        "all-reduce",
        "\"h2\", \"h0\", \"h3\"",
        60_000,
        "iterations = 2\nafter = [\"ask\"]\nstart = \"1 ms\"\ngroup = \"train\"\n",
    );
    more += &job("all-reduce-tree", "\"h*\"", 60_000, "after = [\"ask\"]\ngroup = \"tree\"\n");
    more += &job("all-to-all", "\"h*\"", 60_000, "after = [\"tree\", \"train\"]\ngroup = \"shuffle\"\n");
    more += "[[flow]]\ngroup = \"last\"\nfrom = \"h3\"\nto = \"h1\"\nsize = \"1 kB\"\nafter = [\"shuffle\"]\n";
    let text = star(fabric, 5, &more);
    let out = same_with_threads_and_as_bytes(&text, 3);
    same_with_threads_and_as_bytes(&text, 2);
    let (flows, groups) = (out.table("flows").unwrap(), texts(&out, "flows", "group"));
    let (start, took) = (flows.f64("start_s"), flows.f64("fct_s"));
    let of = |name: &str| (0..groups.len()).filter(|i| groups[*i] == name).collect::<Vec<_>>();
    let begin = |name: &str| of(name).into_iter().map(|i| start[i]).fold(f64::INFINITY, f64::min);
    let end = |name: &str| of(name).into_iter().map(|i| start[i] + took[i]).fold(0.0, f64::max);
    let news = fabric.propagation_s() + 1e-12;
    for (before, after, pause) in [
        ("load", "ask", 0.0),
        ("ask", "train", 1e-3),
        ("ask", "tree", 0.0),
        ("train", "shuffle", 0.0),
        ("shuffle", "last", 0.0),
    ] {
        let apart = begin(after) - end(before) - pause;
        assert!((-1e-12..=news).contains(&apart), "{after} after {before}: {apart}");
    }
    assert_eq!(out.summary("completed"), Some(groups.len() as f64));
    // Steps of a ring: a rank sends on what has come.
    assert_eq!(of("train").len(), 2 * 3 * 4);
    assert_eq!((of("tree").len(), of("shuffle").len()), (8, 20));
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let fabric = Fabric { gbps: 1.0, delay_ns: 1000, links: 2.0, udp: false };
    let asks = |more: &str| refused(&star(fabric, 3, &client(&format!("requests = 5\n{}{more}", sizes(1, 1)))));
    let told = asks("fan_out = 3\n");
    assert!(told.contains("fan_out") && told.contains("`h0` has 2 servers to ask; name more in `to`"), "{told}");
    let told = asks("concurrency = 6\n");
    assert!(told.contains("concurrency") && told.contains("6 loops share 5 requests"), "{told}");
    let told = asks("think_time = { kind = \"fixed\", time = \"0 s\" }\n");
    assert!(told.contains("client[0].think_time.time") && told.contains("leave this out"), "{told}");
    for (more, key, cure) in [
        ("retries = 2\n", "retries", "applies to requests with a `timeout`"),
        ("timeout = \"1 s\"\nbackoff = \"1 s\"\n", "backoff", "applies to `retries`"),
        ("timeout = \"1 s\"\nhedge_after = \"1 s\"\n", "hedge_after", "must be shorter than `timeout`"),
        ("tied = true\n", "tied", "needs `workers`"),
        ("tied = true\nworkers = 1\n", "tied", "needs `hedge_after`"),
        ("tied = true\nworkers = 1\nscheduling = \"ps\"\nhedge_after = \"1 s\"\n", "tied", "use `fifo`"),
        ("scheduling = \"ps\"\n", "scheduling", "applies to servers with `workers`"),
        ("workers = 0\n", "workers", "at least 1"),
        ("timeout = \"0 s\"\n", "timeout", "must be above zero"),
        ("then = [{ to = [\"h*\"], fan_out = 3 }]\n", "then[0].fan_out", "has 2 servers to ask"),
        ("then = [{ to = [] }]\n", "then[0].to", "would ask only itself"),
        ("retries = 101\ntimeout = \"1 s\"\n", "retries", "at most 100"),
    ] {
        let told = asks(more);
        assert!(told.contains(&format!("client[0].{key}")) && told.contains(cure), "{told}");
    }
    let told = asks("after = [\"client0\"]\n");
    assert!(told.contains("client[0].after[0]") && told.contains("`client0` after `client0`"), "{told}");
    let told = asks("after = [\"lod\"]\n[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1 B\"\ngroup = \"load\"\n");
    assert!(told.contains("did you mean `load`?"), "{told}");
    let alone = refused(&star(fabric, 3, &client(&format!("requests = 5\n{}", sizes(1, 1))).replace("h*", "h0")));
    assert!(alone.contains("client[0].to") && alone.contains("would ask only itself"), "{alone}");
    let jobs = |hosts: &str, more: &str| refused(&star(fabric, 3, &job("all-reduce", hosts, 2, more)));
    assert!(jobs("\"h1\"", "").contains("1 host; a job needs at least two"));
    assert!(jobs("\"h*\"", "").contains("must be at least 1 B for each of 3 hosts"));
    let told = jobs("\"h*\"", "ranks = 4\n");
    assert!(told.contains("job[0].ranks") && told.contains("4 ranks on 3 hosts; reduce it"), "{told}");
    let told = refused(&star(fabric, 3, &job("all-reduce-halving", "\"h*\"", 30, "")));
    assert!(told.contains("job[0].ranks") && told.contains("needs a power of two, such as 2"), "{told}");
    assert!(jobs("\"h*\"", "skew = 1.0\n").contains("skew: applies to `all-to-all`; leave it out"));
    assert!(jobs("\"h*\"", "micro_batches = 2\n").contains("micro_batches: applies to `pipeline`; leave it out"));
    assert!(jobs("\"h0\", \"h1\"", "iterations = 0\n").contains("iterations: at least 1"));
    let told = refused(&star(fabric, 3, &job("all-reduce", "\"h*\"", 30, "")).replace("fixed-window\"", "ideal\""));
    assert!(told.contains("job[0]") && told.contains("leave this out"), "{told}");
    let told = refused(&star(fabric, 3, &job("all-reduce", "\"h*\"", 30, "scheme = \"ndn\"\n")));
    assert!(told.contains("job[0]") && told.contains("receivers open this scheme's flows"), "{told}");
    let many = refused(&star(fabric, 3, &client(&format!("requests = 100000000\n{}", sizes(1, 1)))));
    assert!(many.contains("client[0].requests") && many.contains("reduce the flows"), "{many}");
}

fn rows(out: &RunOutput) -> usize {
    out.table("flows").map_or(0, midpath_sim::Table::rows)
}

/// What is expanded at set-up in seconds: 64 ranks over 100 iterations, and 100,000 requests.
#[test]
#[ignore = "nightly"]
fn large_ones_are_expanded() {
    let fabric = Fabric { gbps: 100.0, delay_ns: 1000, links: 2.0, udp: false };
    let text =
        format!("stop = \"1 us\"\n{}", star(fabric, 64, &job("all-reduce", "\"h*\"", 6400, "iterations = 100\n")));
    assert_eq!(rows(&run_plain(&text)), 100 * 126 * 64);
    let requests = client(&format!("requests = 100000\nconcurrency = 50\n{}", sizes(1, 1)));
    assert_eq!(rows(&run_plain(&format!("stop = \"1 us\"\n{}", star(fabric, 4, &requests)))), 200_000);
}
