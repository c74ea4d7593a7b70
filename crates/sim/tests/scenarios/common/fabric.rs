//! Leaves and spines with hosts, fat-trees whose queues trim, and flows of which each byte arrives once.

use std::fmt::Write;

use midpath_sim::RunOutput;

use super::reads::{column, total};
use super::{run_plain, same_with_threads_and_as_bytes};

/// IPv4, UDP and the header of UET, which NDP and EQDS have, too; the rest of a packet is payload.
pub const HEADERS: u64 = 64;
/// Of [`trimming`].
pub const MTU: u64 = 4150;
/// Each host sends 2 MB to another one.
pub const PERMUTATION: &str = "[[workload]]\nsizes = { kind = \"fixed\", size = \"2 MB\" }\n\
    matrix = { kind = \"permutation\" }\narrivals = { kind = \"once\" }\n";

/// A flow: between hosts, bytes, start in microseconds. Hosts are counted modulo those that there are.
pub type Drawn = (usize, usize, u32, u32);

/// `links` of a fabric: so many leaves, spines, and hosts of each leaf.
pub fn links((leaves, spines, hosts): (usize, usize, usize), link: &str) -> String {
    let mut text = String::from("links = [\n");
    for leaf in 0..leaves {
        for spine in 0..spines {
            let _ = writeln!(text, "{{ a = \"leaf{leaf}\", b = \"spine{spine}\", {link} }},");
        }
        for host in 0..hosts {
            let _ = writeln!(text, "{{ a = \"host{}\", b = \"leaf{leaf}\", {link} }},", leaf * hosts + host);
        }
    }
    text + "]\n"
}

/// Flows between so many hosts; those of a host to itself are left out.
pub fn flows(drawn: Vec<Drawn>, hosts: usize) -> String {
    let mut text = String::new();
    for (from, to, size, start) in drawn {
        let (from, to) = (from % hosts, to % hosts);
        if from != to {
            let ends = format!("from = \"host{from}\"\nto = \"host{to}\"");
            let _ = write!(text, "[[flow]]\n{ends}\nsize = \"{size} B\"\nstart = \"{start} us\"\n");
        }
    }
    text
}

/// A fat-tree of 16 hosts at 100 Gbps whose queues hold `limit` and trim.
pub fn trimming(scheme: &str, limit: &str, keys: &str, more: &str) -> String {
    format!(
        "scheme = \"{scheme}\"\n[topology]\ngenerate = \"fat-tree\"\nk = 4\n\
        link = {{ rate = \"100 Gbps\", delay = \"500 ns\", mtu = {MTU} }}\n\
        [queue]\nkind = \"trim\"\nlimit = \"{limit}\"\n[schemes.{scheme}]\n{keys}\n{more}\n"
    )
}

/// A flow.
pub fn flow(from: &str, to: &str, size: &str) -> String {
    format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"{size}\"\n")
}

/// So many hosts of a fat-tree send to one.
pub fn incast(senders: usize, size: &str) -> String {
    (1..=senders).map(|i| flow(&format!("h{i}"), "h0", size)).collect()
}

/// All flows have ended, and each has delivered each of its bytes once.
pub fn all_arrived(out: &RunOutput, size: u64) {
    let flows = out.table("flows").expect("flows").rows() as f64;
    assert_eq!(out.summary("completed"), Some(flows), "all flows end");
    assert!(column(out, "flows", "delivered_bytes").iter().all(|delivered| *delivered == size));
}

/// An incast over [`trimming`] without trimming, or where headers find no room either: what is lost times out. Where headers
/// have no queue of their own, nothing is. All of it arrives.
pub fn what_is_lost_arrives_too(scheme: &str, limit: &str, keys: &str) {
    let run = |more: &str, queue: &str| {
        let text = trimming(scheme, limit, &format!("{keys}\n{more}"), &incast(15, "300 kB"));
        let out = run_plain(&text.replace("kind = \"trim\"\n", &format!("kind = \"trim\"\n{queue}\n")));
        all_arrived(&out, 300_000);
        [total(&out, "flows", "lost_packets"), total(&out, "ports", "trims"), total(&out, "flows", "timeouts")]
    };
    let [lost, trims, timeouts] = run("trimming = false", "");
    assert!(lost > 50 && trims == 0 && timeouts > 0, "{scheme}: {lost} {trims} {timeouts}");
    let [lost, trims, timeouts] = run("", "header_limit = \"128 B\"");
    assert!(lost > 50 && trims > lost && timeouts > 0, "{scheme}: {lost} {trims} {timeouts}");
    let [lost, trims, timeouts] = run("", "headers = \"fifo\"");
    assert!(lost == 0 && trims > 100 && timeouts == 0, "{scheme}: {lost} {trims} {timeouts}");
}

/// Runs it: all flows end with the bytes that they were to bring, the same with threads and as bytes.
pub fn every_byte_arrives_once(text: &str) -> RunOutput {
    let out = same_with_threads_and_as_bytes(text, 2);
    let said = |line: &str| Some(line.strip_prefix("size = \"")?.strip_suffix(" B\"")?.parse::<u64>().expect("a size"));
    let mut sizes: Vec<u64> = text.lines().filter_map(said).collect();
    assert_eq!(out.summary("completed"), Some(sizes.len() as f64), "{text}");
    // Flows are in order of their starts.
    let mut delivered = column(&out, "flows", "delivered_bytes");
    sizes.sort_unstable();
    delivered.sort_unstable();
    assert_eq!(delivered, sizes);
    out
}
