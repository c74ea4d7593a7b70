//! The custody cache of a port (§III-D): per-flow lanes that drain at the same rate, and the gates
//! of closed-loop flows.
//!
//! A lane is one direction of one flow. Eligible lanes are in a [`Round`], so "each flow
//! drains at the same rate" in bytes. A lane that the downstream hop has slowed down is gated: it is in the round
//! only while it has credits, and each ACK adds one (§II-B: "forwards exactly one data packet from the cache for the
//! corresponding closed-loop flow").

use std::collections::VecDeque;

use midpath_core::packet::{FlowId, NodeId, Packet, Pkt, Pool};
use midpath_core::queue::Round;
use midpath_core::units::Time;
use rustc_hash::{FxHashMap, FxHashSet};

use super::header::{Nonce, is_inrpp, via};

/// One direction of a flow.
pub type Key = (FlowId, NodeId);

/// Credits that a lane keeps at most: far more than the packets of any loop, and a bound on what a
/// flood of ACKs can release.
const MAX_CREDITS: u32 = 1 << 16;

/// Lanes that are gated at most, so that a flood of flows cannot fill the memory. Flows beyond stay
/// in open loop.
const MAX_GATED: usize = 1 << 16;

/// The longest that a flow's loop is given up for lost: the largest RTO of RFC 6298, (2.5).
const MAX_PATIENCE: Time = Time::from_secs(60);

/// Packets that a gated lane may send to begin its loop, or to begin it anew when no ACK has been
/// heard for long. Ours: RFC 6928's initial window, as such a flow has to find its rate.
pub const START: u16 = 10;

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Pkt>,
    bytes: u64,
    /// Whether it stands in the round.
    standing: bool,
    /// Its partition.
    class: usize,
    gate: Option<Gate>,
}

/// Who gates a lane, and what it may send.
#[derive(Debug, Clone, Copy)]
struct Gate {
    nonce: Nonce,
    credits: u32,
    /// When the last ACK of the flow asked to slow down.
    last_request: Time,
    /// How long not to hear of it is no reason to think that its ACKs are lost.
    patience: Time,
}

impl Lane {
    fn may_send(&self) -> bool {
        !self.queue.is_empty() && self.gate.is_none_or(|g| g.credits > 0)
    }
}

/// The partitions (§V-A).
const INRPP: usize = 0;
const OTHER: usize = 1;

fn class_of(packet: &Packet) -> usize {
    if is_inrpp(packet) { INRPP } else { OTHER }
}

/// How long a flow that isn't INRPP's counts after its last packet, at least. Ours: the least RTO
/// of RFC 6298, within which a TCP that has something to send sends.
const PRESENT: Time = Time::from_secs(1);

/// Flows remembered at most.
const MAX_CROWD: usize = 1 << 16;

/// How many flows of a partition have sent lately: those of this interval, or of the last if
/// they were more.
#[derive(Debug, Default)]
struct Crowd {
    seen: FxHashSet<Key>,
    before: u64,
    since: Time,
}

impl Crowd {
    fn see(&mut self, key: Key, now: Time) {
        if now.saturating_sub(self.since) >= PRESENT {
            self.before = if now.saturating_sub(self.since) < PRESENT * 2 { self.seen.len() as u64 } else { 0 };
            self.seen.clear();
            self.since = now;
        }
        if self.seen.len() < MAX_CROWD {
            self.seen.insert(key);
        }
    }

    /// Whether one has sent within the last interval, or in this.
    fn present(&self, now: Time) -> bool {
        now.saturating_sub(self.since) < PRESENT * 2 && self.size() > 0
    }

    fn size(&self) -> u64 {
        self.before.max(self.seen.len() as u64)
    }
}

/// What is stored, by partition (§V-A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Bytes of INRPP flows: S.
    pub custody: u64,
    /// Bytes of all other traffic.
    pub other: u64,
    /// Packets of both.
    pub packets: u64,
}

/// The cache.
#[derive(Debug)]
pub struct Cache {
    quantum: u64,
    lanes: FxHashMap<Key, Lane>,
    /// The lanes that may send, by partition: INRPP's and the others'.
    rounds: [Round<Key>; 2],
    /// What each partition has got of the link, in bytes per flow.
    served: [u64; 2],
    /// Flows that have sent lately: others than INRPP's, and where there are any, INRPP's.
    crowds: [Crowd; 2],
    /// Lanes with a gate, in the order in which they got it.
    gated: Vec<Key>,
    stored: Stored,
}

impl Cache {
    /// An empty cache in which a flow may send `quantum` bytes per round.
    pub fn new(quantum: u32) -> Cache {
        Cache {
            quantum: u64::from(quantum.max(1)),
            lanes: FxHashMap::default(),
            rounds: [Round::default(), Round::default()],
            served: [0; 2],
            crowds: Default::default(),
            gated: Vec::new(),
            stored: Stored::default(),
        }
    }

    /// The bytes that a flow may send per round: a full packet.
    pub fn quantum(&self) -> u64 {
        self.quantum
    }

    /// What is stored.
    #[inline]
    pub fn stored(&self) -> Stored {
        self.stored
    }

    /// Whether anything may be sent.
    #[inline]
    pub fn ready(&self) -> bool {
        !(self.rounds[INRPP].is_empty() && self.rounds[OTHER].is_empty())
    }

    /// Whether any lane is in closed loop.
    #[inline]
    pub fn closed(&self) -> bool {
        !self.gated.is_empty()
    }

    /// Lanes in closed loop.
    pub fn gated(&self) -> usize {
        self.gated.len()
    }

    fn stand(&mut self, key: Key) {
        if let Some(lane) = self.lanes.get_mut(&key)
            && !lane.standing
            && lane.may_send()
        {
            lane.standing = true;
            let class = lane.class;
            if self.rounds[class].is_empty() {
                // Who had nothing to send has no claim to what the other has got meanwhile.
                self.served[class] = self.served[class].max(self.served[1 - class]);
            }
            self.rounds[class].join(key, self.quantum);
        }
    }

    /// Takes a packet in. Whether there is room is the port's business.
    pub fn push(&mut self, key: Key, pkt: Pkt, pool: &Pool) {
        let packet = &pool[&pkt];
        let lane = self.lanes.entry(key).or_default();
        if lane.queue.is_empty() {
            lane.class = class_of(packet);
        }
        lane.queue.push_back(pkt);
        lane.bytes += u64::from(packet.size);
        self.account(packet, true);
        self.stand(key);
    }

    /// Takes a packet in that comes before all that its flow has here. A flow in closed loop may send
    /// it: its ACK has come.
    pub fn push_first(&mut self, key: Key, pkt: Pkt, pool: &Pool) {
        let packet = &pool[&pkt];
        let lane = self.lanes.entry(key).or_default();
        if lane.queue.is_empty() {
            lane.class = class_of(packet);
        }
        lane.queue.push_front(pkt);
        lane.bytes += u64::from(packet.size);
        self.account(packet, true);
        self.grant(key, 1, 1);
        self.stand(key);
    }

    fn account(&mut self, packet: &Packet, comes: bool) {
        let (size, s) = (u64::from(packet.size), &mut self.stored);
        let bytes = if class_of(packet) == INRPP { &mut s.custody } else { &mut s.other };
        if comes {
            (*bytes, s.packets) = (*bytes + size, s.packets + 1);
        } else {
            (*bytes, s.packets) = (*bytes - size, s.packets - 1);
        }
        debug_assert_eq!(s.packets == 0, s.custody + s.other == 0, "{s:?}");
    }

    /// Counts a flow of either partition, whether or not its packet is stored.
    pub fn see(&mut self, key: Key, inrpp: bool, now: Time) {
        self.crowds[if inrpp { INRPP } else { OTHER }].see(key, now);
    }

    /// How many of the flows that have sent lately aren't INRPP's; none if none is.
    pub fn share_of_others(&self, now: Time) -> Option<f64> {
        let there = self.stored.other > 0 || self.crowds[OTHER].present(now);
        let [inrpp, others] = self.crowds.each_ref().map(|c| c.size().max(1) as f64);
        let share = others / (inrpp + others);
        debug_assert!(0.0 < share && share < 1.0, "both partitions have a part: {share}");
        there.then_some(share)
    }

    /// The next packet. The partitions share the link in proportion to their flows, and within
    /// each, deficit round robin does.
    ///
    /// In proportion to flows, not lanes: TCP's flows have few packets in their short partition, so
    /// at most times most of them have no lane, and with one round for all they would get far less
    /// than the equal share of §V-A.
    pub fn pop(&mut self, pool: &Pool) -> Option<Pkt> {
        let class = match (self.rounds[INRPP].is_empty(), self.rounds[OTHER].is_empty()) {
            (true, true) => return None,
            (false, true) => INRPP,
            (true, false) => OTHER,
            (false, false) => usize::from(self.served[OTHER] < self.served[INRPP]),
        };
        let flows = self.crowds[class].size();
        let pkt = self.pop_if(class, pool, |_| true)?;
        // A fixed point of 16 bits: a packet's part is a few bytes where there are many flows.
        self.served[class] += (u64::from(pool[&pkt].size) << 16) / flows.max(1);
        Some(pkt)
    }

    /// The next packet that may take a detour: one of INRPP's that isn't on one already (§V-A:
    /// TCP's flows use no detours). It counts against its flow's turn on the main link, so that
    /// flows drain at the same rate whichever way their packets go.
    ///
    /// ACKs stay on the way of their data, for they carry what interfaces there have to say, unless
    /// `all` that comes has to go around.
    pub fn pop_for_detour(&mut self, pool: &Pool, all: bool) -> Option<Pkt> {
        self.pop_if(INRPP, pool, |p| (all || p.payload > 0) && via(p).is_none())
    }

    /// Deficit round robin over a partition's lanes whose head is `eligible`.
    fn pop_if(&mut self, class: usize, pool: &Pool, eligible: impl Fn(&Packet) -> bool) -> Option<Pkt> {
        let (lanes, quantum) = (&self.lanes, self.quantum);
        let first = |key| {
            let head = &pool[lanes.get(&key)?.queue.front()?];
            eligible(head).then_some(head.size)
        };
        let key = self.rounds[class].next(first, |_| quantum)?;
        Some(self.take_first(class, key, pool))
    }

    /// Takes the head of the lane whose turn it is.
    fn take_first(&mut self, class: usize, key: Key, pool: &Pool) -> Pkt {
        let lane = self.lanes.get_mut(&key).expect("lanes in the round exist");
        let pkt = lane.queue.pop_front().expect("lanes in the round have packets");
        let size = u64::from(pool[&pkt].size);
        lane.bytes -= size;
        if let Some(gate) = &mut lane.gate {
            gate.credits -= 1;
        }
        if !lane.may_send() {
            lane.standing = false;
            self.rounds[class].leave(key);
            if lane.queue.is_empty() && lane.gate.is_none() {
                self.lanes.remove(&key);
            }
        }
        self.account(&pool[&pkt], false);
        pkt
    }

    /// A flow enters closed loop, or hears of it again: an ACK has asked to slow down (line 16).
    pub fn gate(&mut self, key: Key, nonce: Nonce, now: Time) {
        let full = self.gated.len() >= MAX_GATED;
        let lane = self.lanes.entry(key).or_default();
        match &mut lane.gate {
            Some(gate) => {
                let gap = now.saturating_sub(gate.last_request);
                (gate.nonce, gate.last_request, gate.patience) = (nonce, now, Time(gap.0.saturating_mul(2)));
            }
            None if full => {}
            None => {
                lane.gate = Some(Gate { nonce, credits: 0, last_request: now, patience: Time::ZERO });
                self.gated.push(key);
                self.leave_round(key);
            }
        }
    }

    fn leave_round(&mut self, key: Key) {
        if let Some(lane) = self.lanes.get_mut(&key)
            && std::mem::take(&mut lane.standing)
        {
            self.rounds[lane.class].leave(key);
        }
    }

    /// Whether a flow is in closed loop.
    pub fn is_closed_loop(&self, key: Key) -> bool {
        self.lanes.get(&key).is_some_and(|l| l.gate.is_some())
    }

    /// One packet for one ACK (lines 17 and 18). Without a packet in the lane the credit waits for
    /// it: the number of packets in the loop below stays what it was. More than one for an ACK only
    /// to a lane that has spent what it had: where the link is what holds it back, credits would
    /// pile up, and leave at once when the link is free (RFC 7661 has the same rule for windows).
    pub fn grant(&mut self, key: Key, acks: u32, release: u32) {
        if let Some(gate) = self.lanes.get_mut(&key).and_then(|l| l.gate.as_mut()) {
            let each = if gate.credits > 0 { release.min(1) } else { release };
            gate.credits = gate.credits.saturating_add(acks.saturating_mul(each)).min(MAX_CREDITS);
            self.stand(key);
        }
    }

    /// An ACK has released nothing. A flow with nothing here may send one packet all the same: its
    /// sender waits with it, and behind a gate it would wait for good.
    pub fn grant_last(&mut self, key: Key) {
        if let Some(lane) = self.lanes.get_mut(&key).filter(|l| l.queue.is_empty())
            && let Some(gate) = lane.gate.as_mut()
        {
            gate.credits = gate.credits.max(1);
        }
    }

    /// The flows that `nonce` has slowed down are in open loop again (§II-A.4).
    pub fn open(&mut self, nonce: Nonce) {
        let (open, still): (Vec<Key>, Vec<Key>) =
            self.gated.iter().partition(|k| self.lanes.get(k).and_then(|l| l.gate).is_none_or(|g| g.nonce == nonce));
        self.gated = still;
        open.into_iter().for_each(|key| self.ungate(key));
    }

    fn ungate(&mut self, key: Key) {
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        lane.gate = None;
        if lane.queue.is_empty() {
            self.lanes.remove(&key);
        } else {
            self.stand(key);
        }
    }

    /// Looks after lanes whose flow has not been heard of for `expiry`, or for twice as long as its
    /// ACKs were last apart, or since it was looked after twice as long ago: those that wait start
    /// their loop anew, for the ACKs that it lived from are lost; those that are empty are
    /// forgotten.
    pub fn revive(&mut self, expiry: Time, now: Time) {
        let quiet = |l: &Lane| l.gate.is_some_and(|g| g.last_request.saturating_add(g.patience.max(expiry)) <= now);
        let keys: Vec<Key> = self.gated.iter().copied().filter(|k| self.lanes.get(k).is_none_or(quiet)).collect();
        for key in keys {
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            if lane.queue.is_empty() {
                lane.gate = None;
                self.lanes.remove(&key);
                self.gated.retain(|k| *k != key);
            } else {
                let longer = |g: Gate| Time(g.patience.max(expiry).0.saturating_mul(2)).min(MAX_PATIENCE);
                lane.gate = lane.gate.map(|g| Gate { last_request: now, patience: longer(g), ..g });
                self.grant(key, 1, START.into());
            }
        }
    }

    /// What a flow has here, and its equal part of `bytes`.
    pub fn part(&self, key: Key, bytes: u64) -> (u64, u64) {
        let lane = self.lanes.get(&key);
        let flows = self.lanes.len() + usize::from(lane.is_none());
        (lane.map_or(0, |l| l.bytes), bytes / flows as u64)
    }

    /// Gives everything up.
    pub fn clear(&mut self, mut drop: impl FnMut(Pkt)) {
        let mut keys: Vec<Key> = self.lanes.keys().copied().collect();
        keys.sort_unstable(); // a hash map's order is nobody's business
        for key in keys {
            self.lanes.remove(&key).into_iter().flat_map(|l| l.queue).for_each(&mut drop);
        }
        self.rounds.iter_mut().for_each(Round::clear);
        (self.served, self.crowds) = ([0; 2], Default::default());
        self.gated.clear();
        self.stored = Stored::default();
    }
}
