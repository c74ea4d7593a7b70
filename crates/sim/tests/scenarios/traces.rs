//! Traces that are read as jobs: GOAL's text, and htsim's connections with triggers.

use std::fmt::Write;
use std::path::PathBuf;

use midpath_sim::RunOutput;
use proptest::prelude::*;

use crate::common::reads::texts;
use crate::common::{cases, refused, same_with_threads_and_as_bytes};

/// A file of a test's own.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> File {
        let path = std::env::temp_dir().join(format!("midpath-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("a folder for temporary files");
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Around a switch: datagrams at the links' rate, or TCP of a fixed window.
fn star(hosts: usize, udp: bool, job: &str) -> String {
    let rate = if udp { "rate = \"10 Gbps\"\n" } else { "" };
    format!(
        "scheme = \"fixed-window\"\nschemes.fixed-window.window = 100000\nqueue.limit = \"1 GB\"\n[topology]\ngenerate = \"star\"\n\
         n = {hosts}\naccess = {{ rate = \"10 Gbps\", delay = \"2 us\" }}\n[[job]]\nhosts = [\"h*\"]\n{rate}{job}"
    )
}

fn traced(name: &str, text: &str, hosts: usize, udp: bool, more: &str) -> RunOutput {
    let file = File::new(name, text);
    same_with_threads_and_as_bytes(&star(hosts, udp, &format!("trace = \"{}\"\n{more}", file.0.display())), 3)
}

/// What flows did, in order: their ends, sizes and times.
fn flows(out: &RunOutput) -> Vec<(String, String, u64, f64, f64)> {
    let table = out.table("flows").unwrap();
    let [src, dst] = ["src", "dst"].map(|name| texts(out, "flows", name));
    let (size, start, took) = (table.f64("size_bytes"), table.f64("start_s"), table.f64("fct_s"));
    let mut all: Vec<_> =
        (0..table.rows()).map(|i| (src[i].clone(), dst[i].clone(), size[i] as u64, start[i], took[i])).collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    all
}

/// The ring of `reduce-scatter` as a schedule: a step requires what comes in the step before, and that the message of the
/// step before that is done.
fn ring(n: u64, share: u64) -> String {
    let mut text = format!("num_ranks {n}\n// a ring\n");
    for rank in 0..n {
        writeln!(text, "rank {rank} {{").unwrap();
        for step in 0..n - 1 {
            writeln!(text, "s{step}: send {share}b to {} tag {step} cpu 0 nic 0", (rank + 1) % n).unwrap();
            writeln!(text, "r{step}: recv {share}b from {} tag {step}", (rank + n - 1) % n).unwrap();
            if step > 0 {
                writeln!(text, "s{step} requires r{}", step - 1).unwrap();
            }
            if step > 1 {
                writeln!(text, "s{step} requires s{} /* sent */", step - 2).unwrap();
            }
        }
        text += "}\n";
    }
    text
}

/// The same as connections with triggers: each waits for one or two others.
fn ring_of_triggers(n: u64, share: u64) -> String {
    let (mut lines, mut triggers) = (String::new(), String::new());
    let id = |rank: u64, step: u64| 1 + rank + n * step;
    for (rank, step) in (0..n).flat_map(|rank| (0..n - 1).map(move |step| (rank, step))) {
        write!(lines, "{rank}->{} id {}", (rank + 1) % n, id(rank, step)).unwrap();
        match step {
            0 => lines += " start 0",
            _ => {
                write!(lines, " trigger {}", id(rank, step)).unwrap();
                let kind = if step > 1 { "barrier count 2" } else { "oneshot" };
                writeln!(triggers, "trigger id {} {kind}", id(rank, step)).unwrap();
            }
        }
        write!(lines, " size {share}").unwrap();
        if step + 2 < n {
            write!(lines, " recv_done_trigger {}", id((rank + 1) % n, step + 1)).unwrap();
        }
        if step + 3 < n {
            write!(lines, " send_done_trigger {}", id(rank, step + 2)).unwrap();
        }
        lines += "\n";
    }
    let count = triggers.lines().count();
    format!("Nodes {n}\nConnections {}\nTriggers {count}\n{lines}{triggers}", n * (n - 1))
}

/// A tree of drawn shape: each rank computes when its parent's message has come, then sends to its children.
fn tree(parents: &[usize], sizes: &[u64], calcs_ns: &[u64]) -> String {
    let n = parents.len() + 1;
    let mut text = format!("num_ranks {n}\n");
    for rank in 0..n {
        writeln!(text, "rank {rank} {{\nc: calc {}", calcs_ns[rank]).unwrap();
        if rank > 0 {
            writeln!(text, "r: recv {}b from {} tag {rank}\nc requires r", sizes[rank - 1], parents[rank - 1]).unwrap();
        }
        for (child, _) in (1..n).zip(parents).filter(|(_, parent)| **parent == rank) {
            writeln!(text, "s{child}: send {}b to {child} tag {child}\ns{child} requires c", sizes[child - 1]).unwrap();
        }
        text += "}\n";
    }
    text
}

proptest! {
    #![proptest_config(cases(8))]

    /// A ring that a trace writes out is the ring of a collective, to the picosecond, in both formats.
    #[test]
    fn a_trace_of_a_ring_is_the_collective(n in 3u64..9, share in 1u64..300_000, udp in any::<bool>()) {
        let more = format!("collective = \"reduce-scatter\"\nsize = \"{} B\"\n", n * share);
        let wanted = flows(&same_with_threads_and_as_bytes(&star(n as usize, udp, &more), 2));
        let name = format!("ring-{n}-{share}");
        prop_assert_eq!(&flows(&traced(&format!("{name}.goal"), &ring(n, share), n as usize, udp, "")), &wanted);
        prop_assert_eq!(&flows(&traced(&format!("{name}.cm"), &ring_of_triggers(n, share), n as usize, udp, "")), &wanted);
    }

    /// A message of a tree starts when its sender has received, and then computed, exactly.
    #[test]
    fn ranks_of_a_trace_compute_when_they_have_received(
        shape in prop::collection::vec((0usize..100, 1u64..200_000, 0u64..500_000), 1..9), first in 0u64..500_000, udp in any::<bool>(), start_us in 0u64..100,
    ) {
        let parents: Vec<usize> = shape.iter().enumerate().map(|(i, (parent, ..))| parent % (i + 1)).collect();
        let sizes: Vec<u64> = shape.iter().map(|(_, size, _)| *size).collect();
        let calcs: Vec<u64> = std::iter::once(first).chain(shape.iter().map(|(.., calc)| *calc)).collect();
        let text = tree(&parents, &sizes, &calcs);
        let name = format!("tree-{first}-{}-{}.goal", sizes[0], sizes.len());
        let out = traced(&name, &text, sizes.len() + 1, udp, &format!("start = \"{start_us} us\"\n"));
        let found = flows(&out);
        prop_assert_eq!(found.len(), sizes.len());
        let rank = |host: &str| host[1..].parse::<usize>().unwrap();
        let come = |to: usize| found.iter().find(|flow| rank(&flow.1) == to).map(|flow| flow.3 + flow.4);
        for (from, to, size, begins, _) in &found {
            let (from, to) = (rank(from), rank(to));
            prop_assert_eq!((from, *size), (parents[to - 1], sizes[to - 1]));
            let wanted = come(from).unwrap_or(start_us as f64 / 1e6) + calcs[from] as f64 / 1e9;
            prop_assert!((begins - wanted).abs() < 1e-11, "{} > {}: {} s, not {} s", from, to, begins, wanted);
        }
        prop_assert_eq!(&out.run["jobs"][0]["collective"], "trace");
        prop_assert_eq!(&out.run["jobs"][0]["completed"], 1);
    }
}

#[test]
fn traces_that_cannot_be_are_refused_with_their_line() {
    let goal = |name: &str, text: &str, more: &str| {
        let file = File::new(name, text);
        refused(&star(4, true, &format!("trace = \"{}\"\n{more}", file.0.display())))
    };
    let two = |first: &str, second: &str| format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n");
    let send = "a: send 8b to 1 tag 3";
    let receive = "b: recv 8b from 0 tag 3";
    for (i, (text, more, line, cure)) in [
        (two(send, receive).replace("}\n", ""), "", "line 4", "rank 0 is not closed; write `}`"),
        (two(send, receive)[..43].to_owned(), "", "line 3", "ends inside of rank 0; it needs all of it"),
        (format!("num_ranks 3\n{}", &two(send, receive)[12..]), "", "line 7", "after 2 of 3 ranks"),
        (two("a: send 8b to 2 tag 3", receive), "", "line 3", "rank 2; `num_ranks` is 2"),
        (two(send, "b: recv 8b from 0 tag 4"), "", "line 3", "has no `recv`; write it, too"),
        (two(send, "b: recv 8b from -1 tag 3"), "", "line 6", "name the rank"),
        (two(send, "b: recv 8b from 0 tag -1"), "", "line 6", "give the tag"),
        (two(&format!("{send}\na requires c"), receive), "", "line 4", "`c` is no label of rank 0"),
        (two(&format!("{send}\n{send}"), receive), "", "line 4", "stands twice"),
        (two("a: put 8b to 1", receive), "", "line 3", "is no operation"),
        // Each rank waits for the other's message before it sends.
        (
            two("a: send 8b to 1 tag 3\nx: recv 8b from 1 tag 4\na requires x", "b: recv 8b from 0 tag 3\ny: send 8b to 0 tag 4\ny requires b"),
            "", "line", "take one of these waits out",
        ),
        (two(send, receive).replace("num_ranks 2", "num_ranks 5") + "rank 2 {\n}\nrank 3 {\n}\nrank 4 {\n}\n", "", "5 ranks on 4 hosts", "name more in `hosts`"),
        (two("c: calc 5", "d: calc 5"), "", "no message", "nothing would be sent"),
        (two(send, receive), "size = \"1 MB\"\n", "job[0].size", "leave it out"),
        (two(send, receive), "ranks = 3\n", "job[0].ranks", "leave it out"),
        (two(send, receive), "collective = \"all-reduce\"\n", "job[0].trace", "leave out `collective`"),
        ("Nodes 3\nConnections 2\n0->1 id 1 start 0 size 9\n".to_owned(), "", "line 3", "after 1 of 2 connections"),
        ("Nodes 3\nConnections 1\n0->3 id 1 start 0 size 9\n".to_owned(), "", "line 3", "host 3; there are 3"),
        ("Nodes 3\nConnections 1\n0->1 id 1 start 0 size 0\n".to_owned(), "", "line 3", "give its size"),
        ("Nodes 3\nConnections 1\n0->1 id 1 size 9\n".to_owned(), "", "line 3", "`trigger`; give one"),
        ("Nodes 3\nConnections 1\n0->1 id 1 trigger 7 size 9\n".to_owned(), "", "line 3", "write `trigger id 7 oneshot`"),
        ("Nodes 3\nConnections 1\nTriggers 1\n0->1 id 1 trigger 7 size 9 send_done_trigger 7\ntrigger id 7 oneshot\n".to_owned(), "", "line 4", "waits for itself"),
        ("Nodes 3\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 9 send_done_trigger 7\n1->2 id 2 trigger 7 size 9\ntrigger id 7 barrier count 2\n".to_owned(), "", "line 6", "needs 2 connections"),
    ].into_iter().enumerate() {
        let message = goal(&format!("wrong-{i}"), &text, more);
        assert!(message.contains(line) && message.contains(cure), "{text}\n{message}");
    }
}
