//! CAKE at a node's port: its shaper, its shares among hosts and among flows, what it sheds. Tolerances fixed before the first
//! run: a packet and a quantum for each flow.

use std::sync::{Arc, Mutex};

use crate::common::queue::{Arrival, arrivals, run};
use crate::common::{Bench, RATE, ample, cases, packet};
use midpath_core::node::{LinkTransmitter, Opportunities};
use midpath_core::packet::{Ecn, NodeId, Pkt, PortId};
use midpath_core::queue::{AqmSpec, CakeParams, Discipline, Done, Isolation, Limit, QueueSpec, Signal};
use midpath_core::roles::{Backlog, Drop, PortCtx};
use midpath_core::units::{Bytes, Rate, Time};
use proptest::prelude::*;

const OUT: PortId = PortId(1);
const FULL: u32 = 1500;

fn cake(params: CakeParams, limit: u64) -> QueueSpec {
    QueueSpec { aqm: AqmSpec::Cake(params), ..QueueSpec::fifo(Limit::Bytes(limit)) }
}

/// Five flows, each of 60 packets that are there at once, from and to these hosts: how many of the first 80 that leave are of
/// the last flow. COBALT marks them.
fn of_the_lone_flow(isolation: Isolation, hosts: [[u32; 2]; 5]) -> usize {
    let params = CakeParams { isolation, ..CakeParams::default() };
    let mut bench = Bench::of_queue(RATE, cake(params, 10_000_000).build(RATE));
    for i in 0..60 {
        for (flow, [from, to]) in (0..).zip(hosts) {
            let mut packet = packet(flow, i, FULL, Ecn::Ect0);
            (packet.src, packet.dst) = (NodeId(from), NodeId(to));
            bench.arrive(Time::ZERO, PortId(0), packet);
        }
    }
    bench.run_out();
    bench.log.sent.iter().take(80).filter(|s| s.packet.flow.0 == 4).count()
}

#[test]
fn hosts_share_before_their_flows_do() {
    // A host with four flows beside one with one: at the sources, then at the destinations.
    let sources = [[1, 3], [1, 4], [1, 5], [1, 6], [2, 7]];
    let destinations = sources.map(|[a, b]| [b, a]);
    let (half, fifth) = (34..=46, 10..=22);
    for (isolation, at_sources, at_destinations) in [
        (Isolation::Flows, &fifth, &fifth),
        (Isolation::DualSource, &half, &fifth),
        (Isolation::DualDestination, &fifth, &half),
        (Isolation::Triple, &half, &half),
    ] {
        let found = [sources, destinations].map(|hosts| of_the_lone_flow(isolation, hosts));
        assert!(
            at_sources.contains(&found[0]) && at_destinations.contains(&found[1]),
            "{isolation:?}: {found:?} of 80"
        );
    }
}

#[test]
fn the_shaper_counts_overhead() {
    let burst: Vec<_> = (0..20).map(|_| Arrival { at: Time::ZERO, size: FULL, flow: 0, ecn: Ecn::Ect0 }).collect();
    for (rate, overhead) in [(None, 0), (None, 100), (Some(Rate::from_mbps(5)), 0), (Some(Rate::from_mbps(5)), 100)] {
        let params = CakeParams { rate, overhead, ..CakeParams::default() };
        let bench = run(RATE, cake(params, 1_000_000).build(RATE), &burst);
        let each = rate.unwrap_or(RATE).time_for(Bytes(u64::from(FULL + overhead)));
        let starts: Vec<_> = bench.log.sent.iter().map(|s| s.start).collect();
        assert_eq!(starts.len(), 20);
        assert!(starts.windows(2).all(|two| two[1] - two[0] == each), "{rate:?}, {overhead}: {starts:?}");
    }
}

/// A flow that sends less than its share waits for the packet that is being sent, and loses nothing, while another floods.
#[test]
fn a_sparse_flow_comes_first_and_loses_nothing() {
    let at = |us, size, flow| Arrival { at: Time::from_us(us), size, flow, ecn: Ecn::NotEct };
    let mut both: Vec<_> = (0..200).map(|i| at(500 * i, FULL, 0)).collect();
    both.extend((0..20).map(|i| at(5_100 * (i + 1), 300, 1)));
    both.sort_by_key(|a| a.at);
    let bench = run(RATE, cake(CakeParams::default(), 15_000).build(RATE), &both);
    let light: Vec<_> = bench.log.sent.iter().filter(|s| s.packet.flow.0 == 1).collect();
    assert_eq!(light.len(), 20, "none of its packets is lost");
    assert!(light.iter().all(|s| s.start - both[s.packet.seq as usize].at <= RATE.time_for(Bytes(FULL.into()))));
    assert!(bench.log.lost.iter().any(|l| l.why == Drop::Queue), "the other one's queue overflows");
}

proptest! {
    #![proptest_config(cases(200))]

    /// No more waits than the limit allows, by bytes or packets, and it is shed only where there is more.
    #[test]
    fn what_waits_is_within_the_limit(arrivals in arrivals(80, 4), bytes in 3_000u64..20_000, packets in 2u64..12) {
        for limit in [Limit::Bytes(bytes), Limit::Packets(packets)] {
            let spec = QueueSpec { aqm: AqmSpec::Cake(CakeParams::default()), ..QueueSpec::fifo(limit) };
            let bench = run(RATE, spec.build(RATE), &arrivals);
            let bound = limit.bound(RATE);
            prop_assert!(bench.node.counters(OUT).max_bytes <= bound.bytes);
            let waits = |now: Time| {
                let came = arrivals.iter().filter(|a| a.at <= now).count();
                let sent = bench.log.sent.iter().filter(|s| s.start <= now).count();
                came - sent - bench.log.lost.iter().filter(|l| l.at <= now).count()
            };
            for a in &arrivals {
                prop_assert!(waits(a.at) as u64 <= bound.packets, "{} wait at {:?}", waits(a.at), a.at);
            }
            // A packet is shed when one arrives that is one too many.
            for lost in bench.log.lost.iter().filter(|l| l.why == Drop::Queue) {
                let (came, size) = (arrivals.iter().filter(|a| a.at == lost.at).count(), u64::from(FULL));
                prop_assert!(came > 0, "shed without an arrival");
                let room = (waits(lost.at) as u64 + 1) * size > bound.bytes || waits(lost.at) as u64 + 1 > bound.packets;
                prop_assert!(room, "shed with room at {:?}", lost.at);
            }
        }
    }
}

/// Without a rate and an overhead of its own it leaves the pace to its link, also where that sends faster than it says.
#[test]
fn an_unshaped_link_sends_when_it_can() {
    let starts = |queue: Discipline| {
        let mut bench = Bench::of_queue(RATE, queue);
        let times = [1000, 1001, 1002, 1003, 10_000].map(Time::from_us).to_vec();
        let all = Arc::new(Opportunities::new(times).expect("in order"));
        bench.log.lines[1] = LinkTransmitter::new(RATE).with_opportunities(all);
        (0..5).for_each(|seq| bench.arrive(Time::ZERO, PortId(0), packet(0, seq, FULL, Ecn::Ect0)));
        bench.run_out();
        bench.log.sent.iter().map(|s| s.start).collect::<Vec<_>>()
    };
    let found = starts(cake(CakeParams::default(), 1_000_000).build(RATE));
    assert_eq!(found, starts(ample().held()));
    assert_eq!(found, [0, 1000, 1001, 1002, 1003].map(Time::from_us));
}

/// Writes down what is left behind each packet that leaves.
struct Watching(Arc<Mutex<Vec<u64>>>);

impl Signal for Watching {
    fn signal(&mut self, _pkt: &Pkt, _ctx: &mut PortCtx<'_>) -> Done {
        Done::Told
    }
    fn watches_leaving(&self) -> bool {
        true
    }
    fn leaving(&mut self, _pkt: &Pkt, left: Backlog, _ctx: &mut PortCtx<'_>) {
        self.0.lock().unwrap().push(left.packets);
    }
    fn warnings(&self, out: &mut Vec<String>) {
        out.push("watched".to_owned());
    }
}

#[test]
fn its_signal_sees_what_leaves_and_says_what_it_warns_of() {
    let left = Arc::default();
    let spec = cake(CakeParams::default(), 1_000_000);
    let mut bench = Bench::of_queue(RATE, spec.build_with(Watching(Arc::clone(&left)), RATE));
    (0..3).for_each(|seq| bench.arrive(Time::ZERO, PortId(0), packet(0, seq, FULL, Ecn::Ect0)));
    bench.run_out();
    assert_eq!(*left.lock().unwrap(), [0, 1, 0], "the first leaves at once");
    let mut warnings = Vec::new();
    bench.node.warnings(OUT, &mut warnings);
    assert_eq!(warnings, ["watched"]);
}
