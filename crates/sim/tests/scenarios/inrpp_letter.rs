//! The paper's text against a small reference of it, packet by packet: what a sender does that joins
//! where a port presses, whatever its receiver's window.
//!
//! "New flows enter the system in open-loop mode" (§II-B): the sender "forwards packets according to
//! processor sharing" of its link. "When an INRPP sender receives a slow-down request, it adapts the
//! sending rate of the specific flow to the rate of acknowledgement packets" (§III-C): one packet for
//! each ACK. It asks on ACKs of data, for the first packets of a connection acknowledge none.

use crate::common::run_plain;
use midpath_core::packet::Flags;
use midpath_core::wire;

/// A long flow has filled the cache above S_high when another joins it at 1 s.
fn text(window: &str, params: &str) -> String {
    let mut links = "{ a = \"r0\", b = \"r1\", rate = \"10 Mbps\", delay = \"5 ms\" },\n".to_owned();
    for (host, router, rate) in [("s0", "r0", 100), ("s1", "r0", 20), ("d0", "r1", 100), ("d1", "r1", 100)] {
        links += &format!("{{ a = \"{host}\", b = \"{router}\", rate = \"{rate} Mbps\", delay = \"2 ms\" }},\n");
    }
    let flow = |i: u32| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nstart = \"{i} s\"\n");
    format!(
        "scheme = \"inrpp\"\nstop = \"2.5 s\"\n[topology]\nlinks = [\n{links}]\n\
         nodes = [{{ name = \"s0\", kind = \"host\" }}, {{ name = \"s1\", kind = \"host\" }}, {{ name = \"d0\", kind = \"host\" }}, {{ name = \"d1\", kind = \"host\" }}]\n\
         [routing]\necmp = \"off\"\n[schemes.inrpp]\ntext = \"paper\"\ncache = \"4 MB\"\nhigh = \"200 kB\"\nreceive_window = \"{window}\"\n{params}\n\
         [measure]\npcap = [{{ from = \"s1\", to = \"r0\" }}, {{ from = \"r0\", to = \"s1\" }}]\n{}{}",
        flow(0),
        flow(1)
    )
}

/// A packet of a capture: when it began to leave, in nanoseconds, its size, and its payload.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: u64,
    size: u64,
    payload: u64,
    ack: u32,
    syn: bool,
}

/// Reads the blocks of a pcapng file that hold packets.
fn packets(file: &[u8]) -> Vec<Seen> {
    let word = |b: &[u8], at: usize| u32::from_le_bytes(b[at..at + 4].try_into().unwrap());
    let (mut rest, mut found) = (file, Vec::new());
    while rest.len() >= 12 {
        let (kind, length) = (word(rest, 0), word(rest, 4) as usize);
        if kind == 6 {
            let at = (u64::from(word(rest, 12)) << 32) | u64::from(word(rest, 16));
            let (length, size) = (word(rest, 20) as usize, u64::from(word(rest, 24)));
            let p = wire::decode(&rest[28..28 + length]).expect("a packet");
            let (payload, syn) = (p.payload.into(), p.flags.has(Flags::SYN));
            found.push(Seen { at, size, payload, ack: p.ack, syn });
        }
        rest = &rest[length..];
    }
    found
}

/// When `size` bytes have left at `mbps`, and come to the other end of a link of 2 ms.
const fn arrival(p: &Seen, mbps: u64) -> u64 {
    p.at + p.size * 8000 / mbps + 2_000_000
}

/// When the text has a sender send, given what comes back: full packets of `size` bytes with
/// `payload` at a pace of 20 Mbps until the first ACK of data, then one for each ACK; never more than
/// the receiver's window.
fn reference(back: &[Seen], size: u64, payload: u64, window: u64) -> Vec<u64> {
    let answer = back.iter().find(|p| p.syn).expect("a SYN-ACK");
    let first = answer.ack;
    let pace = size * 8000 / 20;
    let (mut sent, mut open_at, mut acked) = (Vec::new(), arrival(answer, 20), 0);
    let acks = back
        .iter()
        .filter(|p| !p.syn && p.ack != first)
        .map(|p| (arrival(p, 20), u64::from(p.ack.wrapping_sub(first))));
    let fits = |sent: &Vec<u64>, acked: u64| (sent.len() as u64 + 1) * payload <= acked + window;
    let mut closed = false;
    for (at, number) in acks {
        while !closed && open_at < at && fits(&sent, acked) {
            sent.push(open_at);
            open_at += pace;
        }
        (closed, acked) = (true, number);
        assert!(fits(&sent, acked), "what is acknowledged has left the window");
        // The link sends one packet at a time.
        sent.push(at.max(sent.last().map_or(0, |last| last + pace)));
    }
    sent
}

/// How far the sender is from the text: for each packet, in nanoseconds; as many as both have but for
/// one.
fn differences(window: &str, bytes: u64, params: &str) -> Vec<u64> {
    let out = run_plain(&text(window, params));
    let file = |name: &str| packets(&out.files.iter().find(|f| f.0 == name).expect("a capture").1);
    let (sent, back) = (file("s1-r0.pcapng"), file("r0-s1.pcapng"));
    let data: Vec<Seen> = sent.into_iter().filter(|p| p.payload > 0).collect();
    let expected = reference(&back, data[0].size, data[0].payload, bytes);
    assert!(expected.len() > 200, "{window}: {}", expected.len());
    let all = (data.len() as u64).abs_diff(expected.len() as u64);
    // What the last ACK releases may leave after the end.
    let missing = (all > 1).then_some(u64::MAX);
    data.iter().zip(&expected).map(|(p, at)| p.at.abs_diff(*at)).chain(missing).collect()
}

#[test]
fn a_joiner_does_what_the_text_says_whatever_the_window() {
    for (window, bytes) in [("1 GB", 1_000_000_000), ("65535 B", 65_535), ("30 kB", 30_000)] {
        let all = differences(window, bytes, "");
        let first = all.iter().position(|d| *d >= 2_000);
        assert_eq!(first, None, "{window}: packet {first:?} of {}", all.len());
    }
}

/// All additions but steering and promises.
const LOOPS: &str = r#"without = ["margin", "standing", "count_buffer", "count_cuts", "sparse", "around_outages",
    "shuffle", "repair"]"#;

/// With steering a loop begins with the handshake: else the test above would show nothing.
#[test]
fn steering_begins_otherwise() {
    let all = differences("1 GB", 1_000_000_000, LOOPS);
    assert!(all.iter().filter(|d| **d >= 2_000).count() > 100);
}
