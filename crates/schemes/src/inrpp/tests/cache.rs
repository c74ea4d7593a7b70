use std::collections::BTreeMap;

use midpath_core::packet::{FlowId, NodeId, Packet, PacketId, Pool};
use midpath_core::units::Time;
use proptest::prelude::*;

use crate::inrpp::cache::{Cache, Key};
use crate::inrpp::header::{InrppHeader, Nonce};

fn key(flow: u32) -> Key {
    (FlowId(flow), NodeId(0))
}

struct Bench {
    cache: Cache,
    pool: Pool,
}

impl Bench {
    fn new() -> Bench {
        Bench { cache: Cache::new(1500), pool: Pool::new() }
    }
    fn push(&mut self, flow: u32, size: u32, inrpp: bool) -> PacketId {
        let mut p = Packet::new(FlowId(flow), NodeId(0), NodeId(1), size);
        p.payload = 1;
        self.push_packet(p, inrpp)
    }
    fn push_packet(&mut self, mut p: Packet, inrpp: bool) -> PacketId {
        let flow = p.flow.0;
        if inrpp {
            let header = p.header::<InrppHeader>().unwrap_or_default();
            let size = p.size;
            p.set_header(&header);
            p.size = size;
        }
        self.cache.see(key(flow), inrpp, Time::ZERO);
        let pkt = self.pool.insert(p);
        let id = pkt.id();
        self.cache.push(key(flow), pkt, &self.pool);
        id
    }
    fn pop(&mut self) -> Option<u32> {
        self.cache.pop(&self.pool).map(|pkt| self.pool[&pkt].flow.0)
    }
    /// `n` packets of each of these flows, in turn.
    fn fill(&mut self, n: usize, flows: &[u32]) {
        for _ in 0..n {
            for flow in flows {
                self.push(*flow, 1500, *flow < 10);
            }
        }
    }
    /// Flows of the next packets, as far as there are any.
    fn flows(&mut self, n: usize) -> Vec<u32> {
        (0..n).map_while(|_| self.pop()).collect()
    }
}

#[test]
fn each_flow_drains_at_the_same_rate_in_bytes() {
    let mut b = Bench::new();
    for _ in 0..1000 {
        b.push(1, 1500, true);
        b.push(2, 500, true);
        b.push(3, 1000, true);
    }
    let mut bytes = BTreeMap::new();
    for _ in 0..600 {
        let packet = &b.pool[&b.cache.pop(&b.pool).unwrap()];
        *bytes.entry(packet.flow.0).or_insert(0u32) += packet.size;
    }
    let (least, most) = (bytes.values().min().unwrap(), bytes.values().max().unwrap());
    assert!(most - least <= 2 * 1500, "{bytes:?}");
}

#[test]
fn a_gated_flow_sends_one_packet_for_one_credit() {
    let mut b = Bench::new();
    b.fill(5, &[1]);
    b.cache.gate(key(1), Nonce(9), Time::ZERO);
    assert!(b.cache.is_closed_loop(key(1)) && !b.cache.ready() && b.pop().is_none());
    b.cache.grant(key(1), 1, 1);
    assert_eq!(b.flows(9), [1]);
    b.cache.grant(key(1), 2, 1);
    assert_eq!(b.flows(9), [1, 1]);
    b.cache.open(Nonce(8));
    assert!(b.pop().is_none(), "another's cancellation");
    b.cache.open(Nonce(9));
    assert_eq!(b.flows(9), [1, 1]);
    assert!(!b.cache.closed());
}

#[test]
fn credits_wait_for_packets() {
    let mut b = Bench::new();
    b.cache.gate(key(1), Nonce(9), Time::ZERO);
    b.cache.grant(key(1), 2, 1);
    b.fill(3, &[1]);
    assert_eq!(b.flows(9), [1, 1]);
}

#[test]
fn growth_is_for_lanes_that_have_spent_their_credits() {
    let mut b = Bench::new();
    b.fill(30, &[1]);
    b.cache.gate(key(1), Nonce(9), Time::ZERO);
    (0..5).for_each(|_| b.cache.grant(key(1), 1, 2));
    assert_eq!(b.flows(40).len(), 2 + 4, "two for the first ACK, then one for one");
    b.cache.grant(key(1), 1, 2);
    b.cache.grant(key(1), 1, 0);
    assert_eq!(b.flows(40).len(), 2);
}

#[test]
fn others_are_not_held_up_by_a_gate() {
    let mut b = Bench::new();
    b.fill(3, &[1, 2]);
    b.cache.gate(key(1), Nonce(9), Time::ZERO);
    assert_eq!(b.flows(9), [2, 2, 2]);
    assert_eq!(b.cache.stored().custody, 4500);
}

#[test]
fn a_flow_without_acks_begins_its_loop_anew() {
    let mut b = Bench::new();
    b.fill(30, &[1]);
    b.cache.gate(key(1), Nonce(9), Time::ZERO);
    b.cache.gate(key(2), Nonce(9), Time::ZERO);
    b.cache.revive(Time::from_secs(1), Time::from_ms(999));
    assert!(b.pop().is_none());
    b.cache.revive(Time::from_secs(1), Time::from_secs(2));
    assert_eq!(b.flows(40).len(), 10);
    assert_eq!(
        (b.cache.is_closed_loop(key(1)), b.cache.is_closed_loop(key(2))),
        (true, false),
        "the empty lane is forgotten"
    );
    b.cache.revive(Time::from_secs(1), Time::from_ms(3999));
    assert!(b.pop().is_none(), "looked after at 2 s, it is given twice the time");
    b.cache.revive(Time::from_secs(1), Time::from_secs(4));
    assert_eq!(b.flows(40).len(), 10);
    // An ACK after nine seconds: others may be as far apart.
    b.cache.gate(key(1), Nonce(9), Time::from_secs(13));
    b.cache.revive(Time::from_secs(1), Time::from_secs(30));
    assert!(b.pop().is_none());
    b.cache.revive(Time::from_secs(1), Time::from_secs(31));
    assert_eq!(b.flows(40).len(), 10);
}

#[test]
fn partitions_share_by_flows() {
    // Two INRPP flows that always have packets; eight others of which one has a packet at a time.
    let mut b = Bench::new();
    b.fill(400, &[1, 2]);
    b.fill(1, &[10, 11, 12, 13, 14, 15, 16, 17]);
    let mut others = 0;
    for i in 0..400 {
        let flow = b.pop().unwrap();
        if flow >= 10 {
            others += 1;
            b.push(10 + (i % 8), 1500, false);
        }
    }
    // 8 of 10 flows, give or take how many lanes INRPP's partition is thought to have.
    assert!((250..350).contains(&others), "{others}");
}

#[test]
fn detours_take_inrpp_packets_once() {
    let mut b = Bench::new();
    let mut detoured = Packet::new(FlowId(1), NodeId(0), NodeId(1), 1500);
    detoured.payload = 1;
    detoured.set_header(&InrppHeader { via: Some(NodeId(5)), ..InrppHeader::default() });
    b.push_packet(detoured, true);
    b.push(2, 1500, false);
    b.push_packet(Packet::new(FlowId(4), NodeId(0), NodeId(1), 80), true);
    assert_eq!(b.cache.pop_for_detour(&b.pool, false), None);
    let fresh = b.push(3, 1500, true);
    assert_eq!(b.cache.pop_for_detour(&b.pool, false).map(|pkt| pkt.id()), Some(fresh));
    assert_eq!(b.flows(9).len(), 3);
}

#[test]
fn clearing_gives_all_up() {
    let mut b = Bench::new();
    let mut all: Vec<PacketId> = (0..6).map(|i| b.push(i % 3, 1500, i % 2 == 0)).collect();
    b.cache.gate(key(1), Nonce(1), Time::ZERO);
    let mut dropped = Vec::new();
    b.cache.clear(|pkt| dropped.push(pkt.id()));
    dropped.sort_unstable();
    all.sort_unstable();
    assert_eq!(dropped, all);
    assert!(b.cache.stored() == Default::default() && !b.cache.closed() && b.pop().is_none());
}

#[derive(Debug, Clone)]
enum Step {
    Push(u32, u32, bool),
    Pop,
    Detour,
    Gate(u32, u32),
    Grant(u32),
    Open(u32),
    Revive(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u32..6, 40u32..1500).prop_map(|(f, s)| Step::Push(f, s, f % 3 != 0)),
        3 => Just(Step::Pop),
        1 => Just(Step::Detour),
        1 => (0u32..6, 1u32..4).prop_map(|(f, n)| Step::Gate(f, n)),
        1 => (0u32..6).prop_map(Step::Grant),
        1 => (1u32..4).prop_map(Step::Open),
        1 => (0u64..100).prop_map(Step::Revive),
    ]
}

proptest! {
    /// Whatever happens: nothing is lost or made, each flow's packets leave in their order, what is
    /// counted is what is there, and when all gates are open all packets can leave.
    #[test]
    fn the_cache_keeps_what_it_is_given(steps in prop::collection::vec(step(), 1..200)) {
        let mut b = Bench::new();
        let mut inside: BTreeMap<u32, Vec<(PacketId, u32)>> = BTreeMap::new();
        for (i, s) in steps.iter().enumerate() {
            let now = Time::from_ms(i as u64);
            let out = match s {
                Step::Push(f, size, inrpp) => { inside.entry(*f).or_default().push((b.push(*f, *size, *inrpp), *size)); None }
                Step::Pop => b.cache.pop(&b.pool),
                Step::Detour => b.cache.pop_for_detour(&b.pool, false),
                Step::Gate(f, n) if f % 3 != 0 => { b.cache.gate(key(*f), Nonce(*n), now); None }
                Step::Gate(..) => None,
                Step::Grant(f) => { b.cache.grant(key(*f), 1, 1); None }
                Step::Open(n) => { b.cache.open(Nonce(*n)); None }
                Step::Revive(ms) => { b.cache.revive(Time::from_ms(*ms), now); None }
            };
            if let Some(pkt) = out {
                let lane = inside.get_mut(&b.pool[&pkt].flow.0).unwrap();
                prop_assert_eq!(lane.remove(0).0, pkt.id());
            }
            let sum = |inrpp: bool| inside.iter().filter(|(f, _)| (**f % 3 != 0) == inrpp).flat_map(|(_, l)| l).map(|(_, size)| u64::from(*size)).sum::<u64>();
            let stored = b.cache.stored();
            prop_assert_eq!((stored.custody, stored.other), (sum(true), sum(false)));
            prop_assert_eq!(stored.packets, inside.values().map(|l| l.len() as u64).sum::<u64>());
        }
        (1..4).for_each(|n| b.cache.open(Nonce(n)));
        prop_assert_eq!(b.flows(1000).len(), inside.values().map(Vec::len).sum::<usize>());
        prop_assert!(!b.cache.ready() && !b.cache.closed());
    }
}
