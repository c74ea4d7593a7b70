//! Counters of a part.

use midpath_core::units::Time;

/// What happened to one flow's packets in the network: of each, 2^32 - 1 at most are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowFate {
    /// Packets dropped, by queues, policies or faults.
    pub dropped: u32,
    /// Packets corrupted on a wire.
    pub corrupted: u32,
    /// Of both, datagrams that say when they were sent: reports on them do not.
    pub datagrams: u32,
    /// Packets marked CE.
    pub marked: u32,
}

impl FlowFate {
    /// This many more.
    pub fn add(&mut self, more: FlowFate) {
        let FlowFate { dropped, corrupted, datagrams, marked } = more;
        for (sum, more) in [
            (&mut self.dropped, dropped),
            (&mut self.corrupted, corrupted),
            (&mut self.datagrams, datagrams),
            (&mut self.marked, marked),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// Packets that did not arrive.
    pub fn lost(&self) -> u64 {
        u64::from(self.dropped) + u64::from(self.corrupted)
    }
}

/// What a part has counted.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Packets put onto a wire: one packet crossing one link is one.
    pub hops: u64,
    /// Packets handed to an endpoint.
    pub delivered: u64,
    /// Packets that ended in the network.
    pub dropped: u64,
    /// Of these, packets without a route.
    pub no_route: u64,
    /// Of these, packets that ran out of hops: they went in circles, or very far.
    pub out_of_hops: u64,
    /// Packets corrupted on a wire.
    pub corrupted: u64,
    /// Packets that ports and forwarders have used up.
    pub consumed: u64,
    /// Packets that left for another part.
    pub exported: u64,
    /// Packets that came from another part.
    pub imported: u64,
    /// Node wake-ups and arrivals.
    pub events: u64,
    /// When the last packet arrived anywhere.
    pub last_arrival: Time,
}

impl Tally {
    /// Adds another part's counts.
    pub(crate) fn add(&mut self, o: &Tally) {
        self.hops += o.hops;
        self.delivered += o.delivered;
        self.dropped += o.dropped;
        self.no_route += o.no_route;
        self.out_of_hops += o.out_of_hops;
        self.corrupted += o.corrupted;
        self.consumed += o.consumed;
        self.exported += o.exported;
        self.imported += o.imported;
        self.events += o.events;
        self.last_arrival = self.last_arrival.max(o.last_arrival);
    }
}
