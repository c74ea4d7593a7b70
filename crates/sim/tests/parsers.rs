//! Whatever bytes come in, the readers answer soon, without a panic, with an error that names a
//! place in the text.
//!
//! The same entries as in `fuzz/`, on stable Rust: valid samples, mutated byte by byte, cut off,
//! and spliced together.

#![expect(clippy::disallowed_methods, reason = "a slow parser is found by the clock")]

#[path = "parsers/entries.rs"]
mod entries;
#[path = "parsers/peers.rs"]
mod peers;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use midpath_core::packet::{Flags, FlowId, Kind, NodeId, Packet, SackBlock};
use midpath_core::wire::{self, WireError};
use proptest::prelude::*;

/// A scenario with every table that there is, and the forms that examples/ do not have.
const EVERYTHING: &str = r#"
title = "everything"
seed = 7
stop = "2 s"
scheme = "dctcp"

[topology]
nodes = [{ name = "a", kind = "host", x = 1.5, y = -2.0 }, { name = "r", class = "edge", x = 2.0, y = -2.0 }, { name = "b", x = 2.0, y = -1.5 }]
links = [
    { a = "a", b = "r", rate = "10 Mbps", rate_back = "5 Mbps", delay = "1 ms", mtu = 1500, weight = 2.5, queue = "deep" },
    { a = "r", b = "b", rate = "10 Mbps", delay = "1 ms", corruption = "0.1 %" },
]
rules = [{ from = "edge", to = "host", rate = "1 Gbps", delay = "distance" }]
edge_degree = 3
component = "all"

[routing]
metric = "delay"
ecmp = "packet"

[queue]
kind = "red"
limit = "100 packets"
min = "10 packets"
max = "30 packets"
max_p = "10 %"
weight = "0.002"
gentle = true
signal = "drop"

[host_queue]
kind = "drr"
quantum = "3 kB"

[queues.deep]
kind = "codel"
target = "5 ms"
interval = "100 ms"

[schemes.dctcp]
g = "6.25 %"
queue = { kind = "step", threshold = "30 kB" }

[schemes.cubic]
beta = 0.7

[[flow]]
from = "a"
to = "b"
size = "10 kB"
start = "1 ms"
stop = "1 s"
group = "video"
count = 2
jitter = "1 us"

[[flow]]
from = "b"
to = "a"
rate = "1 Mbps"
scheme = "udp"
stop = "20 ms"

[[workload]]
group = "pareto"
hosts = ["a", "b*"]
arrivals = { kind = "poisson", rate_per_s = 30.0 }
sizes = { kind = "bounded-pareto", shape = 1.1, min = "1 kB", max = "1 MB" }
matrix = { kind = "gravity", weights = { a = 2.0 } }
start = "10 ms"
duration = "500 ms"
flows = 6

[[workload]]
arrivals = { kind = "ppbp", load = "20 %", load_of = "link:a>r", hurst = 0.8, mean_burst = "10 ms", burst_rate = "1 Mbps" }
matrix = { kind = "pairs", pairs = [["a", "b"]] }

[[workload]]
arrivals = { kind = "once", jitter = "1 ms" }
sizes = { kind = "log-normal", sigma = 1.0, median = "3 kB" }
matrix = { kind = "random", pairs = 2, replacement = true }

[[workload]]
list = { file = "flows.csv", format = "csv" }

[[fault]]
at = "100 ms"
kind = "link-down"
link = ["a", "r"]
until = "200 ms"

[[fault]]
at = "1 s"
kind = "restart"
node = "r"

[measure]
series = true
interval = "1 ms"
points = 10
pcap = [{ from = "a", to = "r", packets = 5 }]
"#;

const GENERATED: [&str; 4] = [
    "[topology]\ngenerate = \"waxman\"\nn = 6\nlink = { rate = \"1 Gbps\" }\nalpha = 0.3\nseed = 4\n[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1 MB\"\n",
    "[topology]\ngenerate = \"fat-tree\"\nk = 4\nlink = { rate = \"10 Gbps\", delay = \"1 us\" }\n[[workload]]\narrivals = { kind = \"poisson\", load = \"30 %\", rounds = true }\nsizes = { kind = \"fixed\", size = \"1 MB\" }\nmatrix = { kind = \"permutation\" }\nflows = 20\n",
    "[topology]\ngenerate = \"parking-lot\"\nn = 3\nlink = { rate = \"10 Mbps\", delay = \"1 ms\" }\n[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nsize = \"1 MB\"\nscheme = \"cubic\"\n",
    "scheme = \"newreno\"\n[topology]\ngenerate = \"ring\"\nn = 5\nlink = { rate = \"10 Mbps\", delay = \"1 ms\" }\nhosts = { per_node = 2, homes = 2 }\n[[workload]]\narrivals = { kind = \"periodic\", interval = \"1 ms\" }\nsizes = { kind = \"exponential\", mean = \"3 kB\" }\n",
];

const FLOW_LISTS: [&str; 5] = [
    "src,dst,size,start,scheme,group,stop,rate\nh0,h1,10 MB,1.5,cubic,a,9 s,\n# a remark\nh1,h0,,20 ms,udp,,,1 Mbps\n",
    "start,size,dst,src\r\n1e-3,1500,1,0\r\n\"2 ms\",\"3 kB\",h2,h1\r\n",
    "2\n0 1 3 100 200000 2.0\n5 7 3 101 1 0.0000015\n",
    "# size percent\n0 0\n1000 50\n1000 80\n20000 100\n",
    "Nodes 8\nConnections 2\n0->7 id 1 start 0 size 1000\n# a remark\n1->7 start 25748975.5 size 0 prio 2\n",
];

const MATRICES: [&str; 4] = [
    "to,from,rate\nBern,Geneva,20 Mbps\n# a remark\n\nGeneva,Bern,1e6\nBern,Basel,\n",
    ",Bern,Geneva\r\nBern,,1 Mbps\r\nGeneva,3000000,0\r\n",
    "{\"graph\": {\"demands\": {\"A\": {\"B\": 3, \"C\": 0},\n \"B\": {\"A\": 1.5}}}, \"nodes\": []}",
    "{\"demands\": [{\"source\": \"A\", \"target\": \"B\", \"demand_value\": 34.5}]}",
];

const UNITS: &str = "10 Mbps|5 ms|1.25 MB|64 KiB|2.5 %|0.025|1e6 B|100 packets|3.125 Gb/s|18446744073709551615 ps|µs|1_000 kB|.5 s|213 h|+1 B";

fn files(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|e| e.expect("a readable folder").path()).filter(|p| p.is_file()).collect();
    paths.sort();
    paths.into_iter().map(|p| (p.clone(), std::fs::read(&p).expect("a readable file"))).collect()
}

fn examples() -> Vec<Vec<u8>> {
    files("examples").into_iter().filter(|f| f.0.extension().is_some_and(|e| e == "toml")).map(|f| f.1).collect()
}

fn scenarios() -> Vec<Vec<u8>> {
    let inline = GENERATED.iter().chain([&EVERYTHING]).map(|t| t.as_bytes().to_vec());
    inline.chain(examples()).collect()
}

fn topologies() -> Vec<Vec<u8>> {
    files("crates/topo/tests/fixtures").into_iter().map(|f| f.1).collect()
}

fn packets() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for kind in [Kind::Segment, Kind::Datagram, Kind::Interest, Kind::Data, Kind::Nack, Kind::Control] {
        for flags in [Flags::SYN, Flags::ACK] {
            let mut p = Packet::new(FlowId(70_000), NodeId(3), NodeId(900), 1500);
            (p.kind, p.flags, p.seq, p.ack) = (kind, flags, 4_000, 2_000);
            if kind == Kind::Segment {
                p.sack_len = 2;
                *p.sack_mut() = [SackBlock { from: 1448, to: 2896 }; 3];
            }
            p.payload = if kind == Kind::Control { 0 } else { 1000 };
            p.push_raw(64, &[7; 30]);
            p.measure();
            let mut bytes = Vec::new();
            wire::encode(&p, &mut bytes);
            all.push(bytes);
        }
    }
    all
}

/// Packets that pay, of several senders, as [`entries::prices`] reads them.
fn paid() -> Vec<Vec<u8>> {
    let one = |n: u8| {
        let mut chunk = vec![0x80 | (n % 12), n, 5, 220, n % 3, 1, n % 5, 1];
        for word in [0.05f32, 0.0, f32::from(n) - 1.0, 1e-6, 0.0, 1.0] {
            chunk.extend(word.to_be_bytes());
        }
        chunk.extend([0, 0, 0, n, 0, 0, n % 4, n / 128]);
        chunk.resize(80, 0);
        chunk
    };
    vec![(0..100).flat_map(one).collect(), (0..3).flat_map(one).collect()]
}

/// A connection's SYN, its answer, and data and ACKs in order, as [`peers::mptcp`] reads them.
fn subflows() -> Vec<Vec<u8>> {
    let one = |n: u8| {
        let mut chunk = vec![0; 100];
        let (to, flags) = match n {
            0 => (1, Flags::SYN),
            1 => (0, Flags::SYN.with(Flags::ACK)),
            _ => (n & 1, Flags::ACK),
        };
        // SYN, SYN-ACK and the first data say who is there, the others what of the data has come or
        // where they belong.
        let option = if [0, 1, 3].contains(&n) { 3 } else { to };
        (chunk[0], chunk[1], chunk[6], chunk[8], chunk[9]) = (to, 5, flags.0 as u8, 0, option);
        let at = u16::from(n.saturating_sub(2)) / 2 * 100;
        let (payload, seq, ack) = if n < 2 {
            (0, 0, 0)
        } else if to == 1 {
            (100, at, 0)
        } else {
            (0, 0, at)
        };
        chunk[4..6].copy_from_slice(&u16::to_be_bytes(payload));
        chunk[10..12].copy_from_slice(&seq.to_be_bytes());
        chunk[12..14].copy_from_slice(&ack.to_be_bytes());
        chunk[14..16].copy_from_slice(&1000u16.to_be_bytes());
        // The option: data ACK, data number, subflow's number, length.
        chunk[38..40].copy_from_slice(&ack.to_be_bytes());
        chunk[46..48].copy_from_slice(&seq.to_be_bytes());
        chunk[50..52].copy_from_slice(&(seq + 1).to_be_bytes()); // counted from the SYN
        chunk[52..54].copy_from_slice(&payload.to_be_bytes());
        chunk
    };
    vec![(0..60).flat_map(one).collect(), (0..6).flat_map(one).collect()]
}

/// Texts that mean something somewhere: an edit may put one in.
const WORDS: [&str; 28] = [
    "0",
    "-1",
    "18446744073709551615",
    "99999999999999999999",
    "1e308",
    "1e-308",
    "nan",
    "inf",
    "\"\"",
    "''",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "\n",
    "\r",
    ",",
    "=",
    "#",
    "\"5000 h\"",
    "\"18446744 Tbps\"",
    "\"1 ps\"",
    "\"1 bps\"",
    "\u{feff}",
    "\0",
    "\u{10ffff}",
    "true",
];

/// Values at the ends of what is accepted, and beyond: an edit may put one in the place of a quoted
/// one.
const VALUES: [&str; 20] = [
    "0 s",
    "1 ps",
    "5123 h",
    "18446744073709551615 ps",
    "0 bps",
    "1 bps",
    "18446744 Tbps",
    "0 B",
    "1 B",
    "18446744 TB",
    "0 %",
    "100 %",
    "99.9999999 %",
    "1e11 %",
    "0 packets",
    "18446744073709551615 packets",
    "h0",
    "a",
    "distance",
    "cubic",
];

/// One change to a text. Places are shares of its length.
#[derive(Debug, Clone)]
enum Edit {
    Set(f64, u8),
    Insert(f64, u8),
    Word(f64, usize),
    Value(f64, usize),
    Remove(f64, usize),
    Repeat(f64, usize),
    Cut(f64),
    /// The rest from here on becomes a part of another sample.
    Splice(f64, usize, f64),
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = || 0.0..1.0f64;
    prop_oneof![
        1 => (place(), any::<u8>()).prop_map(|(a, b)| Edit::Set(a, b)),
        1 => (place(), any::<u8>()).prop_map(|(a, b)| Edit::Insert(a, b)),
        1 => (place(), any::<usize>()).prop_map(|(a, w)| Edit::Word(a, w)),
        3 => (place(), any::<usize>()).prop_map(|(a, v)| Edit::Value(a, v)),
        1 => (place(), 1usize..60).prop_map(|(a, n)| Edit::Remove(a, n)),
        1 => (place(), 1usize..200).prop_map(|(a, n)| Edit::Repeat(a, n)),
        1 => place().prop_map(Edit::Cut),
        1 => (place(), any::<usize>(), place()).prop_map(|(a, s, b)| Edit::Splice(a, s, b)),
    ]
}

fn at(share: f64, bytes: &[u8]) -> usize {
    (share * bytes.len() as f64) as usize
}

fn apply(bytes: &mut Vec<u8>, edit: &Edit, samples: &[Vec<u8>]) {
    match *edit {
        Edit::Set(a, byte) => {
            let i = at(a, bytes);
            bytes.iter_mut().skip(i).take(1).for_each(|b| *b = byte);
        }
        Edit::Insert(a, byte) => bytes.insert(at(a, bytes), byte),
        Edit::Word(a, word) => {
            let i = at(a, bytes);
            bytes.splice(i..i, WORDS[word % WORDS.len()].bytes());
        }
        Edit::Value(a, value) => {
            let quote = |from: usize| bytes[from..].iter().position(|b| *b == b'"').map(|i| from + i);
            let open = quote(at(a, bytes));
            if let Some((open, close)) = open.and_then(|o| Some((o, quote(o + 1)?))) {
                bytes.splice(open + 1..close, VALUES[value % VALUES.len()].bytes());
            }
        }
        Edit::Remove(a, n) => {
            let i = at(a, bytes);
            bytes.drain(i..(i + n).min(bytes.len()));
        }
        Edit::Repeat(a, n) => {
            let i = at(a, bytes);
            let piece = bytes[i..(i + n).min(bytes.len())].to_vec();
            bytes.splice(i..i, piece);
        }
        Edit::Cut(a) => bytes.truncate(at(a, bytes)),
        Edit::Splice(a, sample, b) => {
            bytes.truncate(at(a, bytes));
            let other = &samples[sample % samples.len()];
            bytes.extend_from_slice(&other[at(b, other)..]);
        }
    }
}

/// A few changes to one of `samples`.
fn mutated(samples: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (any::<prop::sample::Index>(), prop::collection::vec(edit(), 1..6)).prop_map(move |(which, edits)| {
        let mut bytes = which.get(&samples).clone();
        edits.iter().for_each(|e| apply(&mut bytes, e, &samples));
        bytes
    })
}

/// What a text of a few kilobytes may take, on a machine that has other work too. Usual are
/// milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// Calls `entry`, which may say no but must say it soon.
fn soon<T>(bytes: &[u8], entry: impl Fn(&[u8]) -> T) -> T {
    let began = Instant::now();
    let answer = entry(bytes);
    let took = began.elapsed();
    assert!(took < PATIENCE, "{took:?} for {:?}", String::from_utf8_lossy(bytes));
    answer
}

/// 400 texts each; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    // What has been found is kept as a test with a name, below.
    ProptestConfig { cases: usual.cases.max(400), failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn scenarios_are_read_or_refused(bytes in mutated(scenarios())) {
        let _ = soon(&bytes, entries::scenario);
    }

    #[test]
    fn topology_files_are_read_or_refused(bytes in mutated(topologies())) {
        soon(&bytes, entries::topology);
    }

    #[test]
    fn flow_lists_are_read_or_refused(bytes in mutated(FLOW_LISTS.map(|t| t.as_bytes().to_vec()).to_vec())) {
        soon(&bytes, entries::flow_list);
    }

    #[test]
    fn matrices_are_read_or_refused(bytes in mutated(MATRICES.map(|t| t.as_bytes().to_vec()).to_vec())) {
        soon(&bytes, entries::matrix);
    }

    #[test]
    fn traces_of_jobs_are_read_or_refused(bytes in mutated(vec![
        b"num_ranks 2\nrank 0 {\nl1: calc 100 cpu 0\nl2: send 8b to 1 tag 3 cpu 0 nic 0\nl2 requires l1\n}\nrank 1 {\nl1: recv 8b from 0 tag 3\n}\n".to_vec(),
        b"Nodes 3\nConnections 2\nTriggers 1\n0->1 id 1 start 5 size 9 send_done_trigger 7\n1->2 id 2 trigger 7 size 9\ntrigger id 7 barrier count 1\n".to_vec(),
    ])) {
        soon(&bytes, entries::job_trace);
    }

    #[test]
    fn pages_are_read_or_refused(bytes in mutated(vec![include_bytes!("../../../examples/pages/shop.har").to_vec()])) {
        soon(&bytes, entries::page);
    }

    #[test]
    fn schedules_and_traces_are_read_or_refused(bytes in mutated(vec![
        b"at,rate,delay\n0,1e6,\n1.5 s,2 Mbps,20 ms\n".to_vec(),
        b"0\n0\n3\n17\n".to_vec(),
    ])) {
        soon(&bytes, entries::link_files);
    }

    #[test]
    fn packets_are_read_or_refused(bytes in mutated(packets())) {
        soon(&bytes, entries::packet);
    }

    #[test]
    fn prices_stay_prices(bytes in mutated(paid())) {
        soon(&bytes, entries::prices);
    }

    #[test]
    fn headers_are_read_or_refused(bytes in mutated(paid())) {
        soon(&bytes, entries::headers);
    }

    #[test]
    fn an_mptcp_survives_its_peers(bytes in mutated(subflows())) {
        soon(&bytes, |bytes| {
            peers::mptcp(bytes);
        });
    }

    #[test]
    fn units_are_read_or_refused(bytes in mutated(UNITS.split('|').map(|u| u.as_bytes().to_vec()).collect())) {
        soon(&bytes, entries::units);
    }
}

/// The samples are what they say: valid but for a page's file, which is not here, so that what is mutated reaches beyond
/// the first line.
#[test]
fn the_samples_are_valid() {
    for text in GENERATED.iter().map(|t| t.as_bytes().to_vec()).chain(examples()) {
        let error = entries::scenario(&text).err().filter(|error| !error.key.ends_with(".page"));
        assert_eq!(error, None, "{}", String::from_utf8_lossy(&text));
    }
    // All of it is valid but the list's file, which the fuzzing entry takes away.
    let error = entries::scenario(EVERYTHING.as_bytes()).expect_err("the list is absent");
    assert!(error.key == "workload[3].list.file" && error.line.is_some(), "{error}");
    for fixture in topologies() {
        entries::topology(&fixture);
    }
    for packet in packets() {
        let read = wire::decode(&packet);
        assert!(read.is_ok(), "{read:?}: {packet:?}");
    }
    // What fuzzing puts right is right: most of any bytes then get as far as the options.
    let read = |b: u8| wire::decode(&entries::admissible(&[b; 80], 6));
    assert!((0..=255).filter(|b| !matches!(read(*b), Err(WireError::Options))).all(|b| read(b).is_ok()));
}

/// Cut off anywhere, an example is refused with its place, or is a shorter scenario.
#[test]
fn every_beginning_of_a_scenario_is_answered() {
    for cut in 0..EVERYTHING.len() {
        if let Err(error) = entries::scenario(&EVERYTHING.as_bytes()[..cut]) {
            let nowhere = error.line.is_none() && error.key.is_empty();
            let missing = ["missing field", "no flows"].iter().any(|m| error.message.contains(m));
            assert!(!nowhere || missing || error.key == "stop", "{cut}: {error:?}");
        }
    }
}

/// Found by mutation: delays and rates whose sums left 64 bits.
#[test]
fn values_that_cannot_be_added_up_are_refused() {
    let chain = |rate: &str, delay: &str| {
        let link = format!("rate = \"{rate}\", delay = \"{delay}\"");
        let links = format!("[{{ a = \"x\", b = \"r\", {link} }}, {{ a = \"r\", b = \"y\", {link} }}]");
        let flow = "[[flow]]\nfrom = \"x\"\nto = \"y\"\nsize = \"1 MB\"\n";
        entries::scenario(format!("[topology]\nlinks = {links}\n{flow}").as_bytes())
    };
    assert_eq!(chain("100 Tbps", "1000 s"), Ok(()));
    let refused = |rate, delay, key: &str| chain(rate, delay).expect_err(key).key;
    assert_eq!(refused("10 Mbps", "5123 h", "delay"), "topology.links[0].delay");
    assert_eq!(refused("18446744 Tbps", "1 ms", "rate"), "topology.links[0].rate");
    let queue = "[queue]\nkind = \"red\"\nmin = \"18446744073709551615 packets\"\nmax = \"30 packets\"\n";
    let error = entries::scenario(format!("{queue}{}", GENERATED[2]).as_bytes()).expect_err("min is above max");
    assert_eq!((error.key.as_str(), error.line), ("queue.max", Some(4)));
}

/// What the search starts from is a connection that works.
#[test]
fn an_honest_peer_of_an_mptcp_is_understood() {
    let taken: Vec<u64> = subflows().iter().map(|bytes| peers::mptcp(bytes)).collect();
    assert_eq!(taken, [29 * 100, 2 * 100]);
}
