//! INRPP with little memory: less than what is on the way, fewer packets than flows, or one packet.
//! Each addition of ours against itself off.

use std::fmt::Write;

use crate::common::reads::{drops_at, series};
use crate::common::run_plain;
use midpath_sim::RunOutput;

/// Flows without end over a core of `rate` Mbps whose ports hold `limit` ms, with a round trip of
/// `trip` ms. They start `apart` ms after each other.
struct Core {
    rate: f64,
    trip: f64,
    limit: u32,
    flows: usize,
    apart: u32,
}

impl Core {
    fn run(&self, params: &str) -> RunOutput {
        let (mut links, mut nodes, mut flows) = (String::new(), String::new(), String::new());
        for i in 0..self.flows {
            for (host, router, delay) in [("s", "r0", self.trip / 2.0 - 1.1), ("d", "r1", 0.1)] {
                writeln!(
                    links,
                    "{{ a = \"{host}{i}\", b = \"{router}\", rate = \"1 Gbps\", delay = \"{delay} ms\" }},"
                )
                .unwrap();
                write!(nodes, "{{ name = \"{host}{i}\", kind = \"host\" }}, ").unwrap();
            }
            let start = self.apart as usize * i;
            writeln!(flows, "[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nstart = \"{start} ms\"").unwrap();
        }
        run_plain(&format!(
            "scheme = \"inrpp\"\nstop = \"20 s\"\n[queue]\nlimit = \"{} ms\"\n[topology]\nlinks = [\n{links}\
             {{ a = \"r0\", b = \"r1\", rate = \"{} Mbps\", delay = \"1 ms\" }}]\nnodes = [{nodes}]\n\
             [measure]\nseries = true\ninterval = \"100 ms\"\npoints = 400\nports = 500\nflows = 0\n\
             [schemes.inrpp]\n{params}\n{flows}",
            self.limit, self.rate
        ))
    }

    /// What of the core is used from the tenth second on.
    fn used(&self, out: &RunOutput) -> f64 {
        let all = series(out, "port:r0>r1", "throughput_bps");
        let late: Vec<f64> = all.iter().filter(|p| p.0 > 10.0).map(|p| p.1).collect();
        late.iter().sum::<f64>() / late.len() as f64 / self.rate / 1e6
    }
}

/// Packets dropped, over packets sent.
fn loss(out: &RunOutput) -> f64 {
    drops_at(out, |_| true) as f64 / out.summary("sent_packets").unwrap()
}

/// A third of what is on the way fits into the port.
#[test]
fn a_port_takes_no_more_out_of_loops_than_it_has_too_much() {
    let core = Core { rate: 4.0, trip: 220.0, limit: 70, flows: 1, apart: 0 };
    let (ours, without) = (core.run(""), core.run("without = [\"count_cuts\"]"));
    assert!(core.used(&ours) > 0.98, "{}", core.used(&ours));
    assert!(core.used(&without) < 0.8, "{}", core.used(&without));
    assert!(loss(&ours) < loss(&without) / 3.0, "{} and {}", loss(&ours), loss(&without));
}

/// One packet fits into the port, and that is the buffer's.
#[test]
fn a_memory_of_one_packet_presses() {
    let core = Core { rate: 0.54, trip: 6.0, limit: 25, flows: 2, apart: 100 };
    let (ours, without) = (core.run(""), core.run("without = [\"count_buffer\"]"));
    assert!(core.used(&ours) > 0.98, "{}", core.used(&ours));
    assert!(loss(&ours) < 0.02 && loss(&without) > 0.2, "{} and {}", loss(&ours), loss(&without));
}

/// There are more flows than packets that fit into the port and the path.
#[test]
fn no_flow_is_shut_out_where_shares_are_below_a_packet() {
    let core = Core { rate: 6.3, trip: 38.0, limit: 46, flows: 77, apart: 5 };
    let small = |out: &RunOutput| {
        let all = out.table("flows").unwrap().u64("delivered_bytes");
        let mean = all.iter().sum::<u64>() / all.len() as u64;
        all.iter().filter(|bytes| **bytes < mean / 5).count()
    };
    let (ours, without) = (core.run(""), core.run("without = [\"sparse\"]"));
    assert!(core.used(&ours) > 0.98, "{}", core.used(&ours));
    assert!(small(&ours) == 0 && small(&without) > 10, "{} and {}", small(&ours), small(&without));
    assert!(loss(&ours) < loss(&without), "{} and {}", loss(&ours), loss(&without));
}
