//! Queues at a node's port against oracles: naive models written from the definitions, not from the
//! code.

use crate::common::queue::*;
use crate::common::{Bench, RATE, cases};
use midpath_core::packet::{Ecn, PortId};
use midpath_core::queue::{AqmSpec, Limit, QueueSpec, SignalSpec};
use midpath_core::roles::Drop;
use midpath_core::units::{Bytes, Time};
use proptest::prelude::*;

const OUT: PortId = PortId(1);

proptest! {
    #![proptest_config(cases(400))]

    /// A held FIFO takes the same decisions as a timetable, at the same times, with the same draws.
    #[test]
    fn held_fifos_decide_as_timetables_do(spec in fifo_specs(), arrivals in arrivals(60, 3)) {
        let (table, held) = (run(RATE, spec.build(RATE), &arrivals), run(RATE, spec.build(RATE).held(), &arrivals));
        prop_assert_eq!(lost(&table), lost(&held));
        prop_assert_eq!(sent(&table), sent(&held));
        let marked = |b: &Bench| b.log.marked.iter().map(|m| u64::from(m.seq)).collect::<Vec<_>>();
        prop_assert_eq!(marked(&table), marked(&held));
        let (a, b) = (table.node.counters(OUT), held.node.counters(OUT));
        prop_assert_eq!((a.packets, a.bytes, a.marks, a.waited), (b.packets, b.bytes, b.marks, b.waited));
        prop_assert_eq!((a.drops_queue, a.drops_aqm), (b.drops_queue, b.drops_aqm));
    }

    /// Every byte of a drop-tail queue is accounted for: against a list of all packets with their
    /// times.
    #[test]
    fn drop_tail_counts_every_byte(spec in fifo_specs(), arrivals in arrivals(60, 3)) {
        let bound = spec.limit.bound(RATE);
        let bench = run(RATE, QueueSpec::fifo(spec.limit).build(RATE), &arrivals);
        let (mut taken, mut refused): (Vec<(u64, Time, Time)>, Vec<u64>) = (Vec::new(), Vec::new());
        let (mut most, mut free) = (0, Time::ZERO);
        for (i, a) in arrivals.iter().enumerate() {
            let waiting = taken.iter().filter(|t| t.1 > a.at);
            let bytes: u64 = waiting.clone().map(|t| u64::from(arrivals[t.0 as usize].size)).sum();
            if bytes + u64::from(a.size) > bound.bytes || waiting.count() as u64 >= bound.packets {
                refused.push(i as u64);
                continue;
            }
            let start = free.max(a.at);
            free = start + RATE.time_for(Bytes(a.size.into()));
            taken.push((i as u64, start, free));
            if start > a.at {
                most = most.max(bytes + u64::from(a.size));
            }
        }
        prop_assert_eq!(bench.log.sent.iter().map(|s| (u64::from(s.packet.seq), s.start, s.end)).collect::<Vec<_>>(), taken);
        prop_assert_eq!(bench.log.lost.iter().map(|l| u64::from(l.packet.seq)).collect::<Vec<_>>(), refused);
        prop_assert!(bench.log.lost.iter().all(|l| l.why == Drop::Queue && l.port == Some(OUT)));
        prop_assert_eq!(bench.node.counters(OUT).max_bytes, most);
        prop_assert_eq!(bench.node.counters(OUT).drops_queue, bench.log.lost.len() as u64);
    }

    /// Marks are for packets that can carry them (RFC 3168, §5); the others are dropped by RED and
    /// CoDel, and let through by a step. A packet that came with CE keeps it.
    #[test]
    fn only_ecn_capable_packets_are_marked(spec in fifo_specs(), arrivals in arrivals(60, 3)) {
        let codel = QueueSpec { aqm: AqmSpec::Codel(quick()), ..spec };
        for spec in [spec, codel] {
            let bench = run(RATE, spec.build(RATE), &arrivals);
            let ecn = spec.aqm != AqmSpec::DropTail && spec.signal == SignalSpec::Ce;
            for s in &bench.log.sent {
                let before = arrivals[s.packet.seq as usize].ecn;
                let changed = s.packet.ecn != before;
                prop_assert!(!changed || (ecn && before.capable() && s.packet.ecn == Ecn::Ce));
            }
            for m in &bench.log.marked {
                prop_assert!(arrivals[m.seq as usize].ecn.capable());
            }
            prop_assert_eq!(bench.node.counters(OUT).marks, bench.log.marked.len() as u64);
            // With ECN on, what is chosen and capable is marked, never dropped.
            if ecn {
                prop_assert!(bench.log.lost.iter().all(|l| l.why == Drop::Queue || !arrivals[l.packet.seq as usize].ecn.capable()));
            }
        }
    }
}

// CoDel
// -----------------------------------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn codel_does_as_rfc_8289_says(arrivals in waves(), signal in signals()) {
        let spec = fifo(Limit::Bytes(u64::MAX), AqmSpec::Codel(quick()), signal);
        let oracle = Rfc8289::new(quick(), signal == SignalSpec::Ce);
        prop_assert_eq!(done_by(&spec, &arrivals), done_by_oracle(oracle, &arrivals));
    }
}

proptest! {
    #![proptest_config(cases(200))]

    /// Under fair queueing each flow's packets fare as in a queue of the flow's own: RFC 8289 once
    /// per flow, asked when one of its packets leaves.
    #[test]
    fn fair_codel_is_rfc_8289_for_each_flow(arrivals in flows_in_waves(), signal in signals()) {
        let spec = QueueSpec { signal, aqm: AqmSpec::Codel(quick()), ..drr(Limit::Bytes(u64::MAX), 1500) };
        let bench = run(RATE, spec.build(RATE), &arrivals);
        let mut own: Vec<Rfc8289> = (0..3).map(|_| Rfc8289::new(quick(), signal == SignalSpec::Ce)).collect();
        let mut next = 0;
        for s in &bench.log.sent {
            // What arrives when a transmission ends comes after the packet that leaves then, unless
            // it is that packet.
            while arrivals.get(next).is_some_and(|a| a.at < s.start || next as u64 <= u64::from(s.packet.seq)) {
                let a = arrivals[next];
                own[a.flow as usize].enqueue(next as u64, &a);
                next += 1;
            }
            let sent = own[s.packet.flow.0 as usize].dequeue(s.start);
            prop_assert_eq!(sent.map(|p| p.0), Some(u64::from(s.packet.seq)));
        }
        for (flow, own) in own.iter().enumerate() {
            let of = |p: &midpath_core::packet::Packet| p.flow.0 == flow as u32;
            let dropped: Vec<u64> = bench.log.lost.iter().filter(|l| of(&l.packet)).map(|l| u64::from(l.packet.seq)).collect();
            let marked: Vec<u64> = bench.log.marked.iter().filter(|m| of(m)).map(|m| u64::from(m.seq)).collect();
            prop_assert_eq!((&dropped, &marked), (&own.dropped, &own.marked));
        }
    }
}

// DRR
// -----------------------------------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(cases(200))]

    /// Flows that always have something to send get equal shares of bytes, whatever the sizes of
    /// their packets: at any time two differ by less than a quantum and a packet (Shreedhar and
    /// Varghese, 1996, lemma 2, from the start on).
    #[test]
    fn drr_shares_are_equal_within_a_quantum_and_a_packet(
        sizes in prop::collection::vec(prop::collection::vec(40u32..=1500, 1..4), 2..6), quantum in 100u32..4000,
    ) {
        // The first packet finds the transmitter idle and nobody to share with: it is somebody
        // else's.
        let mut arrivals = vec![Arrival { at: Time::ZERO, size: 1500, flow: sizes.len() as u32, ecn: Ecn::NotEct }];
        for (flow, sizes) in sizes.iter().enumerate() {
            let mut bytes = 0;
            for size in sizes.iter().cycle() {
                if bytes > 60_000 { break }
                bytes += size;
                arrivals.push(Arrival { at: Time::ZERO, size: *size, flow: flow as u32, ecn: Ecn::NotEct });
            }
        }
        let bench = run(RATE, drr(Limit::Bytes(u64::MAX), quantum).build(RATE), &arrivals);
        let mut served = vec![0u64; sizes.len()];
        for s in &bench.log.sent[1..] {
            served[s.packet.flow.0 as usize] += u64::from(s.packet.size);
            let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
            if *most > 60_000 { break }
            prop_assert!(most - least < u64::from(quantum) + 1500, "{served:?}");
        }
    }

    /// The transmitter is idle only when nothing waits, packets of a flow keep their order, and
    /// when there is no room the flow that has most waiting loses its newest packet.
    #[test]
    fn drr_works_on_and_sheds_from_the_longest(arrivals in arrivals(80, 4), limit in 1500u64..9000, quantum in 100u32..3000) {
        let bench = run(RATE, drr(Limit::Bytes(limit), quantum).build(RATE), &arrivals);
        let start_of = |seq: u64| bench.log.sent.iter().find(|s| u64::from(s.packet.seq) == seq).map(|s| s.start);
        // Work-conserving: a gap before a packet means that all earlier arrivals are over.
        for pair in bench.log.sent.windows(2).filter(|p| p[1].start > p[0].end) {
            let at = arrivals[pair[1].packet.seq as usize].at;
            prop_assert_eq!(pair[1].start, at, "it starts on arrival");
            for (i, _) in arrivals.iter().enumerate().filter(|(_, a)| a.at < at) {
                prop_assert!(start_of(i as u64).is_none_or(|s| s < at));
            }
        }
        for flow in 0..4 {
            let order: Vec<u64> = bench.log.sent.iter().filter(|s| s.packet.flow.0 == flow).map(|s| s.packet.seq.into()).collect();
            prop_assert!(order.is_sorted());
        }
        // Replay who was where: between two arrivals only departures, at each arrival first it
        // joins, then the longest sheds.
        let mut waiting: Vec<(u64, u32, u64)> = Vec::new(); // seq, flow, size
        let mut shed = bench.log.lost.iter().peekable();
        for (i, a) in arrivals.iter().enumerate() {
            waiting.retain(|w| start_of(w.0).is_none_or(|s| s > a.at));
            waiting.push((i as u64, a.flow, a.size.into()));
            let total = |w: &[(u64, u32, u64)]| w.iter().map(|x| x.2).sum::<u64>();
            while total(&waiting) > limit {
                let bytes_of = |flow: u32| waiting.iter().filter(|w| w.1 == flow).map(|w| w.2).sum::<u64>();
                let most = (0..4).map(bytes_of).max().unwrap();
                let gone = shed.next().expect("something must go");
                let flow = gone.packet.flow.0;
                prop_assert_eq!((gone.at, bytes_of(flow)), (a.at, most));
                let newest = waiting.iter().rposition(|w| w.1 == flow).unwrap();
                prop_assert_eq!(waiting[newest].0, u64::from(gone.packet.seq));
                waiting.remove(newest);
            }
        }
        prop_assert!(shed.next().is_none(), "nothing else goes");
    }
}

/// A flow that sends less than its share is not delayed by one that floods: it waits for the packet
/// being sent and for one more at most.
#[test]
fn drr_protects_the_light_flow() {
    let mut arrivals: Vec<Arrival> =
        (0..200).map(|i| Arrival { at: Time::from_us(500 * i), size: 1500, flow: 0, ecn: Ecn::NotEct }).collect();
    arrivals.extend((0..20).map(|i| Arrival {
        at: Time::from_us(5_100 * (i + 1)),
        size: 300,
        flow: 1,
        ecn: Ecn::NotEct,
    }));
    arrivals.sort_by_key(|a| a.at);
    let bench = run(RATE, drr(Limit::Bytes(15_000), 1500).build(RATE), &arrivals);
    let light: Vec<_> = bench.log.sent.iter().filter(|s| s.packet.flow.0 == 1).collect();
    assert_eq!(light.len(), 20, "none of its packets is lost");
    assert!(light.iter().all(|s| s.start - arrivals[s.packet.seq as usize].at <= Time::from_us(2400)));
}
