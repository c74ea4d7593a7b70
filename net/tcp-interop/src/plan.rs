//! Parameters of one session, drawn from a seed.

use midpath_core::rng::{Purpose, Stream, below, stream};

/// Who says what first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// At once.
    WriteFirst,
    /// When the other side has closed its direction.
    ReadFirst,
}

/// Who opens the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// We do.
    Ours,
    /// Linux.
    Linux,
}

/// One conversation.
#[derive(Debug, Clone)]
pub struct Plan {
    pub opener: Opener,
    pub linux_sends: Vec<u8>,
    pub we_send: Vec<u8>,
    pub order: Order,
    /// Of ours. Not both sides wait for the other.
    pub our_order: Order,
    pub linux_stalls: bool,
    pub we_stall: bool,
    pub stall_ms: u64,
    /// Half-way this side breaks off.
    pub linux_resets: bool,
    pub we_reset: bool,
}

fn file(rng: &mut Stream, length: u64) -> Vec<u8> {
    let seed = below(rng, u64::MAX);
    (0..length).map(|i| ((i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
}

impl Plan {
    /// The conversation of this number.
    pub fn draw(seed: u64) -> Plan {
        let mut rng = stream(seed, Purpose::Fault, 7);
        let one_in = |rng: &mut Stream, n| below(rng, n) == 0;
        let size = |rng: &mut Stream| match below(rng, 6) {
            0 => 0,
            1 => 1 + below(rng, 3000),
            5 => below(rng, 1_000_000),
            _ => below(rng, 150_000),
        };
        let (there, back) = (size(&mut rng), size(&mut rng));
        let opener = match below(&mut rng, 2) {
            0 => Opener::Ours,
            _ => Opener::Linux,
        };
        let orders = match below(&mut rng, 4) {
            0 => (Order::ReadFirst, Order::WriteFirst),
            1 => (Order::WriteFirst, Order::ReadFirst),
            _ => (Order::WriteFirst, Order::WriteFirst),
        };
        let resets = below(&mut rng, 24);
        Plan {
            opener,
            linux_sends: file(&mut rng, there),
            we_send: file(&mut rng, back),
            order: orders.0,
            our_order: orders.1,
            linux_stalls: one_in(&mut rng, 4),
            we_stall: one_in(&mut rng, 4),
            stall_ms: 20 + below(&mut rng, 1500),
            linux_resets: resets == 0,
            we_reset: resets == 1,
        }
    }
}
