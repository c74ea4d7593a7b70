//! Detection of asymmetric paths: with notifications on ACKs (§II-A.3) a port in Backpressure whose flows' ACKs
//! return by another path notifies nobody, and its cache overflows. So in Backpressure a port tracks some flows that
//! it forwards until one of their ACKs arrives.

use midpath_core::units::Time;

use super::cache::Key;

/// Flows watched at a time. Ours: enough to notice, few enough to cost next to nothing.
const MAX_WATCHED: usize = 16;

/// Flows that data were sent of since their last ACK: from when on, and whether that is too long.
/// One for each of the last bits of flows' numbers, so that a packet costs a look at one place.
#[derive(Debug)]
pub struct Watch {
    flows: [Option<(Key, Time, bool)>; MAX_WATCHED],
    unheard: usize,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { flows: [None; MAX_WATCHED], unheard: 0 }
    }
}

impl Watch {
    fn place(&mut self, key: Key) -> &mut Option<(Key, Time, bool)> {
        &mut self.flows[key.0.0 as usize % MAX_WATCHED]
    }

    /// Data of a flow leave. Whoever still sends `patience` after the first, unheard, is counted.
    #[inline]
    pub fn sent(&mut self, key: Key, now: Time, patience: Time) {
        match self.place(key) {
            Some((watched, since, late)) => {
                if *watched == key && !*late && now.saturating_sub(*since) >= patience {
                    *late = true;
                    self.unheard += 1;
                }
            }
            free => *free = Some((key, now, false)),
        }
    }

    /// An ACK of a flow has come in.
    #[inline]
    pub fn ack_came(&mut self, key: Key) {
        if let Some((_, _, late)) = self.place(key).take_if(|f| f.0 == key) {
            self.unheard -= usize::from(late);
        }
    }

    /// How many of the watched flows have been sent data of for too long without an ACK.
    pub fn unheard(&self) -> usize {
        self.unheard
    }

    /// Nobody is pressed any more: nobody needs to hear.
    pub fn clear(&mut self) {
        *self = Watch::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::packet::{FlowId, NodeId};

    const PATIENCE: Time = Time::from_secs(1);

    fn key(flow: u32) -> Key {
        (FlowId(flow), NodeId(0))
    }

    #[test]
    fn a_flow_is_unheard_until_an_ack_comes() {
        let mut watch = Watch::default();
        (0..20).for_each(|i| watch.sent(key(1), Time::from_ms(100 * i), PATIENCE));
        watch.sent(key(2), Time::from_ms(1900), PATIENCE);
        assert_eq!(watch.unheard(), 1);
        watch.ack_came(key(1));
        watch.ack_came(key(3));
        assert_eq!(watch.unheard(), 0);
        watch.sent(key(1), Time::from_ms(2000), PATIENCE);
        watch.sent(key(1), Time::from_ms(2999), PATIENCE);
        assert_eq!(watch.unheard(), 0, "it counts from the first packet after the ACK");
        watch.sent(key(1), Time::from_ms(3000), PATIENCE);
        assert_eq!(watch.unheard(), 1);
        watch.clear();
        assert_eq!(watch.unheard(), 0);
    }

    #[test]
    fn few_are_watched() {
        let mut watch = Watch::default();
        for at in [0, 1500] {
            (0..10_000).for_each(|flow| watch.sent(key(flow), Time::from_ms(at), PATIENCE));
        }
        assert_eq!(watch.unheard(), MAX_WATCHED);
    }
}
