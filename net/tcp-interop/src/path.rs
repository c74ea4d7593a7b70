//! The path between both, with random impairments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::rng::{Stream, below, unit};
use midpath_core::units::Time;

/// One way, from either side.
const DELAY: Time = Time::from_us(700);

/// When a packet arrives, which one it is, whether it goes to Linux, and its bytes.
type Flying = (Time, u64, bool, Vec<u8>);

/// Packets on their way to Linux (`true`) or to us.
pub struct Path {
    flying: BinaryHeap<Reverse<Flying>>,
    made: u64,
    rng: Stream,
    /// How often a packet is lost, comes twice, is late, and is marked: each as often.
    pub harm: f64,
    /// Packets lost, repeated, late, marked so far.
    pub done: [u64; 4],
}

impl Path {
    pub fn new(rng: Stream, harm: f64) -> Path {
        Path { flying: BinaryHeap::new(), made: 0, rng, harm, done: [0; 4] }
    }

    fn happens(&mut self) -> bool {
        unit(&mut self.rng) < self.harm
    }

    /// A packet leaves.
    pub fn send(&mut self, packet: &[u8], to_linux: bool, now: Time) {
        for copy in 0..2 {
            if copy == 1 && !self.happens() {
                continue;
            }
            self.done[1] += copy;
            if self.happens() {
                self.done[0] += 1;
                continue;
            }
            let late = copy == 1 || self.happens();
            self.done[2] += u64::from(late);
            let by = if late { Time(below(&mut self.rng, Time::from_ms(4).0)) } else { Time::ZERO };
            let mut packet = packet.to_vec();
            if self.happens() {
                self.done[3] += u64::from(mark(&mut packet));
            }
            self.made += 1;
            self.flying.push(Reverse((now + DELAY + by, self.made, to_linux, packet)));
        }
    }

    /// The next packet that has arrived, and whether it is for Linux.
    pub fn arrived(&mut self, now: Time) -> Option<(bool, Vec<u8>)> {
        if self.next_wake() > now {
            return None;
        }
        self.flying.pop().map(|Reverse((_, _, to_linux, packet))| (to_linux, packet))
    }

    /// When the next one arrives.
    pub fn next_wake(&self) -> Time {
        self.flying.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }
}

/// Congestion experienced, where the packet is ECN-capable (RFC 3168, §5), and the checksum for that
/// (RFC 1624, equation 3).
fn mark(packet: &mut [u8]) -> bool {
    if packet[1] & 3 == 0 {
        return false;
    }
    let word = |p: &[u8], at: usize| u16::from_be_bytes([p[at], p[at + 1]]);
    let before = word(packet, 0);
    packet[1] |= 3;
    let sum = u32::from(!word(packet, 10)) + u32::from(!before) + u32::from(word(packet, 0));
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = !(((folded & 0xffff) + (folded >> 16)) as u16);
    packet[10..12].copy_from_slice(&folded.to_be_bytes());
    true
}
