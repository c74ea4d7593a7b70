//! Coverage: what crossed the path, counted from the packets' bytes.

use midpath_core::packet::{Ecn, Flags, Options, Packet};
use midpath_core::wire;

/// What is counted of packets to Linux and of packets to us.
const KINDS: [&str; 11] = [
    "packets",
    "with data",
    "with data that acknowledge something new, too",
    "with timestamps",
    "with SACK blocks",
    "that scale windows (SYNs)",
    "marked (CE)",
    "that tell of marks (ECE, or a count)",
    "with a closed window",
    "with FIN",
    "with RST",
];

/// Counts of both directions.
#[derive(Debug, Default)]
pub struct Seen {
    counts: [[u64; 2]; KINDS.len()],
    /// The highest acknowledgement of each direction and flow, roughly: the last one.
    acknowledged: std::collections::BTreeMap<(u32, bool), u32>,
    refused: u64,
}

impl Seen {
    /// A packet has arrived.
    pub fn note(&mut self, bytes: &[u8], to_linux: bool) {
        match wire::read(bytes) {
            Ok((packet, _)) => self.count(&packet, to_linux),
            Err(_) => self.refused += 1,
        }
    }

    fn count(&mut self, p: &Packet, to_linux: bool) {
        let (syn, rst) = (p.flags.has(Flags::SYN), p.flags.has(Flags::RST));
        let before = self.acknowledged.insert((p.flow.0, to_linux), p.ack);
        let marks = p.flags.has(Flags::ECE) && !syn;
        let facts = [
            true,
            p.payload > 0,
            p.payload > 0 && before.is_some_and(|before| before != p.ack),
            p.options.has(Options::TIMESTAMPS),
            p.sack_len > 0,
            syn && p.options.has(Options::WINDOW_SCALE),
            p.ecn == Ecn::Ce,
            marks,
            p.window == 0 && !rst,
            p.flags.has(Flags::FIN),
            rst,
        ];
        for (count, fact) in self.counts.iter_mut().zip(facts) {
            count[usize::from(to_linux)] += u64::from(fact);
        }
    }

    /// Packets of either that we could not read. Nothing on the path changes a packet.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// A table.
    pub fn print(&self) {
        println!("\n| packets that have arrived | from Linux | from us |\n|---|---|---|");
        for (kind, [from_linux, from_us]) in KINDS.iter().zip(self.counts) {
            println!("| {kind} | {from_linux} | {from_us} |");
        }
        println!("\n{} packets of either could not be read.", self.refused);
    }
}
