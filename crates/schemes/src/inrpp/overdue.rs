//! Policing of senders that ignore feedback (§V-C names them: "Non-cooperative nodes can ignore
//! feedback to obtain unfair advantage over cooperative ones"). Ours, with `enforcement`.
//!
//! A port in backpressure watches flows above their share of its cache. Each slow-down says how many packets its ACK
//! releases. Excess packets are dropped from two round trips after the flow exceeded its share.

use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::cache::Key;

/// Flows watched at most; those beyond are not.
const MAX_WATCHED: usize = 1 << 14;

#[derive(Debug, Clone, Copy)]
struct Flow {
    /// When it had too much.
    since: Time,
    last: Time,
    /// Packets that ACKs have released and that have not come; none before an ACK of it was heard.
    released: Option<u32>,
    refused: bool,
}

/// The flows of a port that have more than their part.
#[derive(Debug)]
pub struct Overdue {
    flows: FxHashMap<Key, Flow>,
    patience: Time,
    memory: Time,
    /// When those that have gone were last looked for.
    pruned: Time,
}

impl Overdue {
    /// With the longest round trip, and how long a flow that was refused is remembered.
    pub fn new(trip: Time, memory: Time) -> Overdue {
        Overdue { flows: FxHashMap::default(), patience: Time(trip.0.saturating_mul(2)), memory, pruned: Time::ZERO }
    }

    /// A packet of a flow comes that has more than its part. Whether it is refused.
    pub fn refuses(&mut self, key: Key, now: Time) -> bool {
        let memory = self.memory;
        if self.flows.len() >= MAX_WATCHED && now.saturating_sub(self.pruned) >= memory {
            self.pruned = now;
            self.flows.retain(|_, flow| now.saturating_sub(flow.last) < memory);
        }
        if self.flows.len() >= MAX_WATCHED && !self.flows.contains_key(&key) {
            return false;
        }
        let new = Flow { since: now, last: now, released: None, refused: false };
        let flow = self.flows.entry(key).or_insert(new);
        if now.saturating_sub(flow.last) >= memory {
            *flow = new;
        }
        flow.last = now;
        // What comes until then was sent before its sender could have heard, and is not what was released.
        if now.saturating_sub(flow.since) < self.patience {
            return false;
        }
        flow.refused |= flow.released == Some(0);
        match &mut flow.released {
            None => false,
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
        }
    }

    /// An ACK asks a flow to slow down, and releases so many packets.
    pub fn release(&mut self, key: Key, packets: u32) {
        if let Some(flow) = self.flows.get_mut(&key) {
            flow.released = Some(flow.released.unwrap_or(0).saturating_add(packets));
        }
    }

    /// Nobody is asked to slow down any more: those that did are not watched next time.
    pub fn relent(&mut self) {
        self.flows.retain(|_, flow| flow.refused);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.flows.clear();
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, NodeId};

    use super::*;

    const AT: fn(u64) -> Time = Time::from_ms;

    fn key(flow: u32) -> Key {
        (FlowId(flow), NodeId(0))
    }

    fn overdue() -> Overdue {
        Overdue::new(AT(50), AT(1000))
    }

    #[test]
    fn what_acks_release_is_taken_and_no_more_after_two_round_trips() {
        let mut all = overdue();
        assert!((0..10).all(|ms| !all.refuses(key(1), AT(ms))), "it may not have heard yet");
        assert!(!all.refuses(key(1), AT(200)), "no ACK of it was heard here: nobody knows what it was told");
        all.release(key(1), 2);
        let taken: Vec<bool> = (300..304).map(|ms| all.refuses(key(1), AT(ms))).collect();
        assert_eq!(taken, [false, false, true, true]);
        all.release(key(1), 1);
        assert_eq!([all.refuses(key(1), AT(310)), all.refuses(key(1), AT(311))], [false, true]);
        assert!(!all.refuses(key(2), AT(311)), "another's is its own business");
    }

    #[test]
    fn who_was_refused_has_no_second_grace_for_as_long_as_it_goes_on() {
        let (mut all, mut honest) = (overdue(), overdue());
        for all in [&mut all, &mut honest] {
            all.refuses(key(1), AT(0));
            all.release(key(1), 0);
        }
        assert!(all.refuses(key(1), AT(200)));
        [&mut all, &mut honest].into_iter().for_each(Overdue::relent);
        assert!(all.refuses(key(1), AT(900)));
        assert!(!honest.refuses(key(1), AT(900)));
        assert!(!all.refuses(key(1), AT(1900)), "a second later it is as any other");
    }

    #[test]
    fn a_flood_of_flows_fills_no_memory() {
        let mut all = overdue();
        (0..100_000).for_each(|flow| assert!(!all.refuses(key(flow), Time::ZERO)));
        assert_eq!(all.flows.len(), MAX_WATCHED);
        assert!(!all.refuses(key(200_000), AT(2000)));
        assert_eq!(all.flows.len(), 1);
    }
}
