//! A stack's bytes arrive as they were sent, are released with their packets whatever happens to these, and results are
//! the same on any number of threads and over links of bytes.

mod toy;

use std::path::Path;
use std::sync::atomic::Ordering;

use midpath_core::packet::Ecn;
use midpath_sim::{RunOptions, RunOutput};
use midpath_stack::{RunError, run};
use toy::{Fault, Toy};

/// A dumbbell with `queue` and more below it. The run ends when all has ended.
fn scenario(queue: &str, more: &str) -> String {
    format!(
        r#"
scheme = "toy"

[topology]
generate = "dumbbell"
pairs = 2
bottleneck = {{ rate = "2 Mbps", delay = "10 ms" }}
access = {{ rate = "10 Mbps", delay = "5 ms" }}

[queue]
{queue}

[[flow]]
from = "s0"
to = "d0"
size = "600 kB"

[[flow]]
from = "s1"
to = "d1"
size = "400 kB"
start = "500 ms"
{more}"#
    )
}

fn with(toy: &Toy, text: &str, options: &RunOptions) -> Result<RunOutput, RunError> {
    run(text, Path::new("."), options, &toy.catalogue())
}

fn good(text: &str, options: &RunOptions) -> RunOutput {
    let toy = Toy::new(Fault::None);
    let out = with(&toy, text, options).expect("a good scenario");
    assert_eq!(toy.counts.bad.load(Ordering::Relaxed), 0, "bytes arrive as they were sent");
    out
}

/// What can happen to packets: each of these loses some.
const HAZARDS: [(&str, &str, &str); 6] = [
    ("a short queue", "limit = \"5 kB\"", ""),
    ("an AQM", "kind = \"codel\"\nscheduler = \"fq\"\nlimit = \"30 kB\"", ""),
    ("loss", "limit = \"100 kB\"", "[[vary]]\nlink = [\"r0\", \"r1\"]\nloss = { p = \"5 %\", r = \"70 %\" }\n"),
    (
        "an outage",
        "limit = \"100 kB\"",
        "[[fault]]\nkind = \"link-down\"\nat = \"800 ms\"\nuntil = \"1600 ms\"\nlink = [\"r0\", \"r1\"]\n",
    ),
    ("a restart", "limit = \"100 kB\"", "[[fault]]\nkind = \"restart\"\nat = \"900 ms\"\nnode = \"r0\"\n"),
    (
        "jitter",
        "limit = \"100 kB\"",
        "[[vary]]\nlink = [\"r0\", \"r1\"]\njitter = { law = \"uniform\", max = \"30 ms\", reorder = true }\n",
    ),
];

#[test]
fn bytes_are_released_with_their_packets_whatever_happens_to_them() {
    for (what, queue, more) in HAZARDS {
        // The run's own check: there are no more payloads than packets, and none of these is left.
        let out = good(&scenario(queue, more), &RunOptions::default());
        assert_eq!(out.summary("completed"), Some(2.0), "{what}: {}", out.run["summary"]);
        let left = &out.run["invariants"];
        assert_eq!((&left["stored"], &left["in_flight"]), (&0.into(), &0.into()), "{what}");
        assert_eq!(out.table("flows").expect("flows").u64("delivered_bytes"), [600_000, 400_000], "{what}");
    }
}

#[test]
fn results_are_the_same_on_any_number_of_threads_and_over_bytes() {
    for (what, queue, more) in HAZARDS {
        let text = scenario(queue, more);
        let once = good(&text, &RunOptions::default()).repeatable();
        for (threads, parts, wire) in [(1, 0, true), (2, 3, false), (2, 4, true)] {
            let again = good(&text, &RunOptions { threads, parts, wire, ..RunOptions::default() });
            assert!(again.repeatable() == once, "{what}: {threads} threads, {parts} parts, wire {wire}");
        }
    }
}

#[test]
fn marks_go_both_ways() {
    let toy = Toy { ecn: Ecn::Ect0, ..Toy::new(Fault::None) };
    let text = scenario("kind = \"step\"\nlimit = \"100 kB\"\nthreshold = \"3 kB\"", "");
    with(&toy, &text, &RunOptions::default()).expect("a good scenario");
    assert!(toy.counts.ce.load(Ordering::Relaxed) > 100);
}

#[test]
fn captures_have_the_bytes_of_what_was_sent_and_of_what_was_dropped() {
    let more = "[[measure.pcap]]\nfrom = \"r0\"\nto = \"r1\"\ndrops = true\npackets = 400\n";
    let out = good(&scenario("limit = \"5 kB\"", more), &RunOptions::default());
    let file = &out.files.first().expect("a capture").1;
    let (mut at, mut sent, mut dropped) = (0, 0, 0);
    while at < file.len() {
        let word = |i: usize| u32::from_le_bytes(file[i..i + 4].try_into().expect("four bytes")) as usize;
        let length = word(at + 4);
        if word(at) == 6 {
            let (captured, original) = (word(at + 20), word(at + 24));
            assert_eq!((captured, original), (1037, 1037), "headers, number, end and body");
            let packet = &file[at + 28..at + 28 + captured];
            let (read, payload) = midpath_core::wire::read(packet).expect("its checksum is over its bytes");
            let payload = &packet[payload];
            assert_eq!(usize::from(read.payload), payload.len());
            let number = u64::from_be_bytes(payload[..8].try_into().expect("a number"));
            let key = payload[9] ^ number as u8;
            assert!(payload[9..].iter().zip(0u64..).all(|(byte, i)| *byte == (number + i) as u8 ^ key));
            let comment = file[at + 28 + captured.next_multiple_of(4)..at + length - 4].to_vec();
            if String::from_utf8_lossy(&comment).contains("dropped") { dropped += 1 } else { sent += 1 }
        }
        at += length;
    }
    assert!(sent > 300 && dropped > 10, "{sent} and {dropped}");
}

#[test]
fn applications_pause_stop_and_keep_a_rate() {
    let flow = |more: &str| {
        scenario("limit = \"100 kB\"", "").split("[[flow]]").next().unwrap_or_default().to_owned()
            + "[[flow]]\nfrom = \"s0\"\nto = \"d0\"\n"
            + more
    };
    let delivered = |out: &RunOutput| out.table("flows").expect("flows").u64("delivered_bytes")[0];
    let paced = good(&flow("size = \"200 kB\"\nrate = \"400 kbps\"\n"), &RunOptions::default());
    let took = paced.table("flows").expect("flows").f64("fct_s")[0];
    assert!((3.9..4.3).contains(&took), "200 kB at 400 kbps: {took}");
    let stopped = good(&flow("stop = \"2 s\"\n"), &RunOptions::default());
    assert!((300_000..500_000).contains(&delivered(&stopped)), "2 s at 2 Mbps: {}", delivered(&stopped));
    let writes = "size = \"50 kB\"\nwrite = { kind = \"fixed\", size = \"10 kB\" }\ninterval = { kind = \"fixed\", time = \"1 s\" }\n";
    let paused = good(&flow(writes), &RunOptions::default());
    let took = paused.table("flows").expect("flows").f64("fct_s")[0];
    assert!((4.0..4.3).contains(&took), "five writes, the last after 4 s: {took}");
}

#[test]
fn a_stack_that_misbehaves_ends_the_run_with_one_line_that_names_it() {
    let text = scenario("limit = \"100 kB\"", "");
    for (fault, says) in [
        (Fault::Panics, "panicked: message 30 is one too many"),
        (Fault::SendsWithoutEnd, "sends without end"),
        (Fault::WakesInThePast, "asks to be woken again and again, and time does not pass"),
        (Fault::SendsTooMuch, "sends a packet of 1501 bytes, above the interface's MTU of 1500"),
    ] {
        for threads in [1, 2] {
            let options = RunOptions { threads, parts: threads, ..RunOptions::default() };
            match with(&Toy::new(fault), &text, &options) {
                Err(RunError::Stack(line)) => {
                    assert!(line.starts_with("the stack `toy` of flow ") && line.contains(says), "{fault:?}: {line}");
                    assert!(!line.contains('\n'), "{line}");
                }
                other => panic!("{fault:?}: {:?}", other.map(|out| out.run)),
            }
        }
    }
}
