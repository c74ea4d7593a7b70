//! Lossless classes in networks: nothing is lost for want of room, pauses by hand, deadlocks, classes, and
//! what is refused.

use std::path::Path;

use midpath_sim::{RunOptions, RunOutput, run_text};
use midpath_topo::spec::TopologySpec;
use proptest::prelude::*;

use crate::common::reads::texts;
use crate::common::{cases, run_plain, same_with_threads_and_as_bytes};

fn sum(out: &RunOutput, table: &str, column: &str) -> u64 {
    out.table(table).expect(table).u64(column).iter().sum()
}

fn warnings(out: &RunOutput) -> Vec<String> {
    let all = out.run["warnings"].as_array().expect("a list");
    all.iter().map(|w| w["message"].as_str().expect("a text").to_owned()).collect()
}

/// What must hold of every run with enough headroom: no port has refused a packet, no AQM has dropped
/// one, and no account has held more than it has room for.
fn check_lossless(out: &RunOutput, text: &str) {
    for column in ["drops_queue", "drops_aqm"] {
        assert_eq!(sum(out, "ports", column), 0, "{column}: {text}");
    }
    let pauses = out.table("pauses").expect("pauses");
    for row in 0..pauses.rows() {
        let of = |column: &str| pauses.u64(column)[row];
        assert_eq!(of("refused_packets"), 0, "row {row}: {text}");
        assert!(of("held_max_bytes") <= of("xoff_bytes") + of("headroom_bytes"), "row {row}: {text}");
    }
}

const TOPOLOGIES: [&str; 6] = [
    "generate = \"star\"\nn = 9\naccess = ACCESS",
    "generate = \"dumbbell\"\npairs = 5\nbottleneck = LINK\naccess = ACCESS",
    "generate = \"parking-lot\"\nn = 3\nlink = LINK\naccess = ACCESS",
    "generate = \"ring\"\nn = 5\nlink = LINK\naccess = ACCESS",
    "generate = \"fat-tree\"\nk = 4\nlink = LINK\naccess = ACCESS",
    "generate = \"chain\"\nn = 3\npairs = 3\nlink = LINK\naccess = ACCESS",
];
const RATES: [&str; 4] = ["37 Mbps", "1 Gbps", "10 Gbps", "40 Gbps"];
const DELAYS: [&str; 4] = ["100 ns", "2 us", "30 us", "200 us"];
const SCHEMES: [&str; 5] = ["newreno", "cubic", "dctcp", "hpcc", "powertcp"];
/// Queues whose AQM chooses often, and of some what no CE can tell.
const QUEUES: [&str; 7] = [
    "",
    "kind = \"red\"\nmin = \"2 packets\"\nmax = \"9 packets\"\nmax_p = \"50 %\"\nweight = \"50 %\"",
    "kind = \"codel\"\ntarget = \"5 us\"\ninterval = \"20 us\"",
    "kind = \"codel\"\nscheduler = \"fq\"\ntarget = \"5 us\"\ninterval = \"20 us\"",
    "kind = \"codel\"\nvariant = \"data-plane\"\ntarget = \"5 us\"\ninterval = \"20 us\"",
    "kind = \"pie\"\ntarget = \"20 us\"\nburst = \"0 s\"",
    "kind = \"dualpi2\"\ntarget = \"20 us\"",
];
/// Of a flow; nothing is the run's.
const CARRIERS: [&str; 5] = ["udp", "", "timely", "dcqcn", "swift"];

/// Many flows to few hosts, or among all, at a memory that just suffices for its headroom.
fn incast() -> impl Strategy<Value = String> {
    let hop = || (0..RATES.len(), 0..DELAYS.len());
    let network = (
        0..TOPOLOGIES.len(),
        hop(),
        hop(),
        prop::sample::select(vec![600u32, 1500, 9000]),
        (prop::sample::select(&SCHEMES[..]), prop::sample::select(&QUEUES[..])),
    );
    let flows = prop::collection::vec((any::<u16>(), any::<u16>(), 0..CARRIERS.len(), 0u64..300, 0u64..4), 1..14);
    (network, flows, 0u64..30, any::<bool>(), prop::sample::select(vec!["", "host_jitter = \"3 us\"\n"])).prop_map(
        |((shape, link, access, mtu, (run, queue)), flows, above, one_sink, jitter)| {
            // These schemes' ports have a rule of their own.
            let queue = if ["hpcc", "powertcp"].contains(&run) { "" } else { queue };
            let hop = |(rate, delay): (usize, usize)| {
                format!("{{ rate = \"{}\", delay = \"{}\", mtu = {mtu} }}", RATES[rate], DELAYS[delay])
            };
            let topology = TOPOLOGIES[shape].replace("LINK", &hop(link)).replace("ACCESS", &hop(access));
            let mut text = format!(
                "scheme = \"{run}\"\nstop = \"8 ms\"\n{jitter}[topology]\n{topology}\n[pfc]\nxoff = \"{} B\"\n[queue]\n{queue}\n",
                u64::from(mtu) + 997 * above
            );
            let hosts = hosts(&topology);
            for (from, to, scheme, size_kb, start_us) in flows {
                let to = if one_sink { 0 } else { usize::from(to) % hosts.len() };
                let from = (to + 1 + usize::from(from) % (hosts.len() - 1)) % hosts.len();
                let scheme = match CARRIERS[scheme] {
                    "" => String::new(),
                    "udp" => format!("scheme = \"udp\"\nrate = \"{}\"\n", RATES[access.0]),
                    other => format!("scheme = \"{other}\"\n"),
                };
                text += &format!(
                    "[[flow]]\nfrom = \"{}\"\nto = \"{}\"\nsize = \"{} B\"\nstart = \"{start_us} us\"\n{scheme}",
                    hosts[from],
                    hosts[to],
                    1000 * size_kb + 77
                );
            }
            text
        },
    )
}

/// The names of a topology's hosts.
fn hosts(table: &str) -> Vec<String> {
    let spec: TopologySpec = toml::from_str(table).expect("a table");
    let topology = midpath_topo::spec::build(&spec, Path::new("."), 1).expect("a topology");
    topology.hosts().map(|n| topology.nodes()[n].name.clone()).collect()
}

proptest! {
    #![proptest_config(cases(150))]

    /// On any topology, with any schemes and AQMs, at the least memory.
    #[test]
    fn nothing_is_lost_for_want_of_room(text in incast()) {
        check_lossless(&run_plain(&text), &text);
    }
}

/// Ten hosts send to one at line rate.
fn star(pfc: &str, more: &str) -> String {
    let flows: String = (1..=10)
        .map(|i| format!("[[flow]]\nfrom = \"h{i}\"\nto = \"h0\"\nsize = \"300 kB\"\nrate = \"10 Gbps\"\n{more}\n"))
        .collect();
    format!(
        "scheme = \"udp\"\nstop = \"5 ms\"\n[topology]\ngenerate = \"star\"\nn = 11\naccess = {{ rate = \"10 Gbps\", delay = \"5 us\" }}\n\
         {pfc}\n{flows}"
    )
}

/// Headroom is what it takes: with less than half of it packets are lost, and the run says so before.
#[test]
fn too_little_headroom_is_warned_of_and_loses() {
    let enough = run_plain(&star("[pfc]\nxoff = \"20 kB\"", ""));
    check_lossless(&enough, "enough");
    assert_eq!(enough.summary("completed"), Some(10.0));
    let held = enough.table("pauses").expect("pauses");
    let needs = held.u64("headroom_bytes")[1];
    let most = held.u64("held_max_bytes").iter().max().expect("ports") - held.u64("xoff_bytes")[1];
    assert!(most > needs / 2 && most <= needs, "{most} of {needs} were needed");
    let short = run_plain(&star(&format!("[pfc]\nxoff = \"20 kB\"\nheadroom = \"{} B\"", needs / 2), ""));
    assert!(sum(&short, "pauses", "refused_packets") > 0, "half of the headroom suffices");
    assert_eq!(sum(&short, "pauses", "refused_packets"), sum(&short, "ports", "drops_queue"));
    let said = warnings(&short);
    assert!(said.iter().any(|w| w.contains("pfc.headroom is") && w.contains("packets can be lost")), "{said:?}");
    assert!(!warnings(&enough).iter().any(|w| w.contains("headroom")), "{:?}", warnings(&enough));
}

/// Sixteen hosts answer one over RED, which chooses ACKs, too: they can't be marked, and none is lost. One
/// such loss would cost a first window its timeout of a second.
#[test]
fn acks_survive_red_in_a_lossless_class() {
    let flows: String = (1..=16)
        .flat_map(|i| [(i, 0), (0, i)])
        .map(|(from, to)| format!("[[flow]]\nfrom = \"h{from}\"\nto = \"h{to}\"\nsize = \"60 kB\"\n"))
        .collect();
    let text = format!(
        "scheme = \"dctcp\"\nstop = \"3 s\"\n[topology]\ngenerate = \"star\"\nn = 17\naccess = {{ rate = \"10 Gbps\", delay = \"2 us\" \
         }}\n[queue]\nkind = \"red\"\nmin = \"5 kB\"\nmax = \"50 kB\"\nPFC\n{flows}"
    );
    let lossless = run_plain(&text.replace("PFC", "[pfc]\nbuffer = \"10 MB\""));
    check_lossless(&lossless, &text);
    assert_eq!((sum(&lossless, "flows", "timeouts"), sum(&lossless, "ports", "marks") > 0), (0, true));
    let dropped = sum(&run_plain(&text.replace("PFC", "")), "ports", "drops_aqm");
    assert!(dropped > 0, "without PFC, RED drops what it cannot mark");
}

/// Who dropped what was lost in spite of PFC.
#[test]
fn losses_in_lossless_classes_name_who_dropped() {
    let fault = "[[fault]]\nat = \"100 us\"\nkind = \"restart\"\nnode = \"r0\"\n";
    let out = run_plain(&(star("[pfc]\nxoff = \"20 kB\"\nheadroom = \"3 kB\"", "") + fault));
    let said = warnings(&out);
    let of = |who: &str| {
        said.iter().filter(|w| w.contains("of a lossless class were dropped by") && w.contains(who)).count()
    };
    assert_eq!(
        [of("PFC (insufficient headroom)"), of("faults"), of("AQM"), of("rule"), of("full queue")],
        [1, 1, 0, 0, 0],
        "{said:?}"
    );
}

/// Worked by hand: 10 Gbps into 1 Gbps, 1 us of delay, XOFF at ten packets, XON at eight.
///
/// A packet takes 1.2 us in and 12 us out. The first is there at 2.2 us =: T and leaves at once. With
/// the 13th, at T + 14.4 us, eleven are held, and the pause frame begins: 44 bytes are 35.2 ns, and it is
/// there at T + 15.4352 us, when the 15th packet has begun. So 13 are held at most, as 15 came and two
/// began. Seven are held, less than XON, when the eighth begins, at T + 84 us.
#[test]
fn a_pause_by_hand() {
    let text = "scheme = \"udp\"\nstop = \"90 us\"\ntopology.links = [{ a = \"s\", b = \"r\", rate = \"10 Gbps\", delay = \"1 us\" }, \
                { a = \"r\", b = \"d\", rate = \"1 Gbps\", delay = \"1 us\" }]\npfc = { xoff = \"15 kB\" }\n\
                [[flow]]\nfrom = \"s\"\nto = \"d\"\nrate = \"10 Gbps\"\nsize = \"1 MB\"\n";
    let out = run_plain(text);
    let (pauses, peers) = (out.table("pauses").expect("pauses"), texts(&out, "pauses", "peer"));
    let row = peers.iter().position(|peer| peer == "s").expect("s is paused");
    assert_eq!(texts(&out, "pauses", "node")[row], "r");
    assert_eq!((pauses.u64("pauses")[row], pauses.u64("held_max_bytes")[row]), (1, 13 * 1500));
    let paused = pauses.f64("paused_s")[row];
    assert!((paused - 69.6e-6).abs() < 1e-11, "{paused}");
    assert_eq!(pauses.f64("paused_longest_s")[row], paused);
    assert_eq!(out.run["pfc"]["pauses"], 1);
}

/// Five routers in a ring, whose hosts send to the next router's next: each link is asked for twice what
/// it has, and each router holds what waits for a neighbour that waits for it.
fn ring(n: usize, stop: &str) -> String {
    let flows: String = (0..n)
        .map(|i| format!("[[flow]]\nfrom = \"h{i}\"\nto = \"h{}\"\nrate = \"10 Gbps\"\nsize = \"3 MB\"\n", (i + 2) % n))
        .collect();
    format!(
        "scheme = \"udp\"\nstop = \"{stop}\"\n[topology]\ngenerate = \"ring\"\nn = {n}\nlink = {{ rate = \"10 Gbps\", delay = \"1 us\" }}\n\
         [pfc]\nxoff = \"15 kB\"\n{flows}"
    )
}

#[test]
fn ports_that_wait_for_each_other_are_named() {
    let out = run_plain(&ring(5, "20 ms"));
    check_lossless(&out, "ring");
    let said = warnings(&out);
    println!("{said:?} {}", out.run["pfc"]);
    let dead: Vec<_> = said.iter().filter(|w| w.starts_with("deadlock: ")).collect();
    assert_eq!(dead.len(), 1, "{said:?}");
    assert_eq!(out.run["pfc"]["deadlock"].as_array().map(Vec::len), Some(5), "{}", out.run["pfc"]);
    assert!(out.summary("completed") < Some(5.0));
    // It is one: ten times as long, not a packet more has arrived.
    let longer = run_plain(&ring(5, "200 ms"));
    assert_eq!(sum(&longer, "flows", "delivered_bytes"), sum(&out, "flows", "delivered_bytes"));
    // Among three, each destination is a neighbour, and no router waits for another.
    let three = run_plain(&ring(3, "20 ms"));
    assert!(!warnings(&three).iter().any(|w| w.starts_with("deadlock")), "{:?}", warnings(&three));
    assert_eq!(three.run["pfc"]["deadlock"].as_array().map(Vec::len), Some(0));
}

/// A pause stops its class alone, and only what is lossless loses nothing.
#[test]
fn a_pause_stops_one_class() {
    let pfc = "[pfc]\nclasses = [\"not-ect\", \"ect\"]\nlossless = [\"ect\"]\nweights = [1, 1]\nxoff = \"20 kB\"\n[queue]\nkind = \"step\"\n\
               threshold = \"60 kB\"\nlimit = \"100 kB\"";
    let marked: String = (1..=5)
        .map(|i| {
            format!("[[flow]]\nfrom = \"h{i}\"\nto = \"h0\"\nsize = \"400 kB\"\nscheme = \"dctcp\"\ngroup = \"ect\"\n")
        })
        .collect();
    let out = run_plain(&(star(pfc, "group = \"udp\"").replace("\"5 ms\"", "\"60 ms\"") + &marked));
    let (groups, lost) = (texts(&out, "flows", "group"), out.table("flows").expect("flows").u64("lost_packets"));
    let of = |name: &str| groups.iter().zip(lost).filter(|(g, _)| *g == name).map(|(_, l)| l).sum::<u64>();
    assert!(of("udp") > 100, "the queues of datagrams are full");
    // SYNs and ACKs are not ECN-capable. What was, was not lost for want of room.
    assert_eq!(sum(&out, "pauses", "refused_packets"), 0);
    assert!(sum(&out, "pauses", "pauses") > 0 && texts(&out, "pauses", "class").iter().all(|class| class == "ect"));
    assert_eq!(out.summary("completed").map(|n| n >= 5.0), Some(true));
}

#[test]
fn a_run_is_the_same_with_more_threads_and_as_bytes_and_says_when_ports_pause() {
    let text = ring(5, "3 ms") + "[trace]\n";
    let events = texts(&same_with_threads_and_as_bytes(&text, 3), "trace", "event");
    assert!(events.iter().any(|e| e == "paused") && events.iter().any(|e| e == "resumed"));
}

/// Links that fail and routers that restart forget pauses at both ends: flows go on, and no packet is
/// counted twice (`run` checks that).
#[test]
fn pauses_do_not_outlive_a_link_or_a_router() {
    let faults = "[[fault]]\nat = \"300 us\"\nkind = \"link-down\"\nlink = [\"h3\", \"r0\"]\nuntil = \"400 us\"\n\
                  [[fault]]\nat = \"600 us\"\nkind = \"restart\"\nnode = \"r0\"\n";
    let text = star("[pfc]\nxoff = \"20 kB\"", "scheme = \"newreno\"").replace("rate = \"10 Gbps\"\n", "");
    let text = text.replace("\"5 ms\"", "\"20 s\"") + faults;
    let out = run_plain(&text);
    assert_eq!(out.summary("completed"), Some(10.0), "{:?}", warnings(&out));
    assert!(warnings(&out).iter().any(|w| w.contains("`[[fault]]`")), "{:?}", warnings(&out));
}

#[test]
fn what_pfc_cannot_do_is_refused_in_a_line() {
    let refused = |text: &str| match run_text(text, Path::new("."), &RunOptions::default(), &mut |_| true) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("taken: {text}"),
    };
    let base = star("[pfc]\nbuffer = \"1 MB\"", "");
    for (text, part) in [
        (base.replace("1 MB", "100 kB"), "pfc.buffer: 100 kB is too little at r0: 1 lossless class(es) of 11 ports"),
        (base.replace("buffer = \"1 MB\"", "buffer = \"1 MB\"\nxoff = \"90 kB\""), "90 kB each below XOFF"),
        (base.replace("buffer = \"1 MB\"", "lossless = [\"ect\"]"), "no queue has the class `ect`"),
        (base.replace("stop = \"5 ms\"", ""), "pfc: needs a `stop`"),
        (base.replace("delay = \"5 us\"", "delay = \"5 us\", corruption = \"1 %\""), "corrupts packets"),
        (
            base.clone() + "[[vary]]\nlink = [\"h1\", \"r0\"]\nloss = { p = \"1 %\", r = \"30 %\" }\n",
            "is not possible with [pfc]",
        ),
        (base.replace("buffer = \"1 MB\"", "buffers = \"1 MB\""), "did you mean `buffer`"),
        (
            base.replace("buffer = \"1 MB\"", "classes = [\"ect\", \"not-ect\"]\n[queue]\nkind = \"pie\""),
            "queue.kind: several classes of [pfc] support",
        ),
        (
            "scheme = \"fcp\"\n".to_owned()
                + &base
                    .replace("scheme = \"udp\"\n", "")
                    .replace("rate = \"10 Gbps\"\n\n", "\n")
                    .replace("buffer = \"1 MB\"", "classes = [\"ect\", \"not-ect\"]"),
            "and no scheme with its own ports",
        ),
        (
            base.clone() + "[queue]\nkind = \"red\"\nsignal = \"drop\"\n",
            "queue.signal: an AQM drops nothing in a lossless class of [pfc]",
        ),
    ] {
        let error = refused(&text);
        assert!(error.contains(part) && !error.contains('\n') && error.starts_with("line "), "{error}");
    }
}
