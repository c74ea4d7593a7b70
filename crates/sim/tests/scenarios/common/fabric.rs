//! Leaves and spines with hosts, and drawn flows of which each byte arrives once.

use std::fmt::Write;

use midpath_sim::RunOutput;

use super::reads::column;
use super::same_with_threads_and_as_bytes;

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
