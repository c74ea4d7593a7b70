//! Limits of a port: buffer, cache, the partition of other traffic, and the cache's thresholds.

use midpath_core::queue::Limit;
use midpath_core::units::{Bytes, Rate, Time};

use super::config::Config;
use crate::inrpp::params::STANDING;
use crate::inrpp::state::Thresholds;

/// A limit in bytes on a link; packets count as full ones.
fn bytes(limit: Limit, rate: Rate, mtu: u32) -> Bytes {
    let bound = limit.bound(rate);
    Bytes(bound.bytes.min(bound.packets.saturating_mul(u64::from(mtu))))
}

/// The partition for all that isn't INRPP beside a cache of its own (§V-A), and what a buffer is at
/// most (§IV-A).
const FIFTY: Limit = Limit::Time(Time::from_ms(50));

/// Of the memory of a port without a cache of its own so many parts, of [`PARTS`], are buffer. Ours:
/// what waits there is heard of late, and in the order in which it came.
const BUFFER: u64 = 1;

/// One to three quarters of such memory, by the numbers of flows, are the partition for others than
/// INRPP where there are any; the rest is cache. Ours.
const PARTS: u64 = 16;
const QUARTER: u64 = PARTS / 4;

/// Packets that S_high has room for at least, so that a few flows have their loops. Ours.
const FEW: u64 = 20;

/// What a port of this rate may hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) cache: Thresholds,
    pub(super) buffer: u64,
    pub(super) other: u64,
    /// All that the port may hold, where buffer, cache and partition share a queue's memory.
    pub(super) memory: Option<u64>,
    /// RTT × C, which §II-B leaves free above S_high.
    pub(super) needed: u64,
    /// S_high is by our rule, and the rule has not found the room that it asks for: requests to
    /// slow down come too late.
    pub(super) tight: bool,
    /// S_high was given above the cache's size.
    pub(super) cut: bool,
}

/// What [`Limits`] are worked out from beside the parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    pub(super) queue: Limit,
    pub(super) rtt: Time,
    pub(super) inflow: Rate,
    pub(super) rate: Rate,
    pub(super) mtu: u32,
    /// How many quarters of the memory are for others than INRPP, which send here, too.
    pub(super) others: u64,
}

impl Limits {
    /// Without a cache of the scheme's own, the memory in all is that of the queue which the scenario
    /// asks for; beside one the buffer is.
    pub(super) fn new(config: &Config, given: Given) -> Limits {
        let Given { queue, rtt, inflow, rate, mtu, others } = given;
        let of = |limit| bytes(limit, rate, mtu);
        let whole = of(queue).0.max(u64::from(mtu));
        let memory = config.cache.is_none().then_some(whole);
        let part = |limit: Option<Limit>, parts: u64, beside: Bytes| match (limit, memory) {
            (Some(limit), _) => of(limit),
            (None, Some(whole)) => Bytes(whole * parts / PARTS),
            (None, None) => beside,
        };
        // A buffer without room for a packet would never send one straight through.
        let most = if memory.is_some() && config.buffer.is_none() { of(FIFTY).0 } else { u64::MAX };
        let buffer = Bytes(part(config.buffer, BUFFER, Bytes(whole)).0.min(most).max(u64::from(mtu)));
        let other = part(config.tcp_cache, others.max(1) * QUARTER, of(FIFTY)).0.max(u64::from(mtu));
        let kept = if others > 0 { other } else { 0 };
        let size = config.cache.map_or(Bytes(whole.saturating_sub(kept)), of);
        let standing = if config.additions.standing { STANDING } else { 1.0 };
        let (cache, margin) = match config.high {
            Some(high) => (Thresholds::given(size, of(high), config.low), 0),
            None if config.additions.margin => {
                let wait = rate.time_for(buffer);
                let margin = Thresholds::inflow_margin(rtt, wait, rate, inflow);
                let busy = 2 * rate.bytes_in(rtt).0 + FEW * u64::from(mtu);
                let cache = Thresholds::by_inflow(size, rtt, wait, rate, inflow, config.low);
                (cache.at_most(standing, busy), margin)
            }
            None => (Thresholds::by_link(size, rtt, rate, config.low), 0),
        };
        Limits {
            cache,
            tight: margin > cache.margin(),
            buffer: buffer.0,
            other,
            memory,
            needed: rate.bytes_in(rtt).0,
            cut: config.high.is_some_and(|high| of(high) > size),
        }
    }
}
