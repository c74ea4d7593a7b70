//! Interests of applications whose next hops speak MIRCC: they are sent as MIRCC's consumer requests the segments of
//! an object.
//!
//! A *flow* is what one face asks below one prefix, as at the [`Edge`](super::Edge). Each has the
//! simulator's consumer ([`Asking`]), which paces by the rates that Data bring, shares them over the
//! paths, and asks again for what is lost. Its segments are the application's Interests in the order
//! in which they came.

use std::collections::BTreeSet;

use midpath_core::rng::Stream;
use midpath_core::units::Time;
use midpath_schemes::rated::{Ask, Asking, MirccParams, Segments, Stamped, Stamps};
use rustc_hash::FxHashMap;

use super::{MOST_FLOWS, REMEMBERED};
use crate::faces::FaceId;
use crate::pit::EntryId;

/// A flow.
#[derive(Debug)]
struct Flow {
    asking: Asking,
    /// Entries by segment.
    ids: FxHashMap<u32, EntryId>,
    /// Bytes of its last Data on the link.
    size: u16,
    used: Time,
    wake_at: Time,
}

/// What a flow does now, for who looks at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doing {
    /// The face that asks.
    pub face: FaceId,
    /// Paths that it knows.
    pub paths: usize,
    /// What it asks for by class, in bits of Data per second.
    pub rates: [f64; 2],
    /// Its mean round trip.
    pub round_trip: Option<Time>,
    /// Interests that wait or are under way.
    pub held: usize,
}

/// How often idle flows are looked for at most. Ours.
const LOOKS: Time = Time::from_ms(100);
/// Flows of one face of another machine. Ours: a stranger who asks below ever other prefixes has so
/// many Interests under way.
pub const MOST_OF_STRANGER: usize = 64;

/// What became of an Interest that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// It is held here.
    Held,
    /// There are too many flows.
    Full,
}

/// The flows.
#[derive(Debug, Default)]
pub struct Asks {
    flows: FxHashMap<(FaceId, u64), Flow>,
    /// When idle ones may be looked for again: that goes through all of them.
    forget_at: Time,
    /// How many each face has.
    faces: FxHashMap<FaceId, usize>,
    held: FxHashMap<EntryId, ((FaceId, u64), u32)>,
    wakes: BTreeSet<(Time, FaceId, u64)>,
    sends: Vec<(EntryId, Ask, u16)>,
    /// Interests that were sent again.
    pub again: u64,
}

/// What a flow needs to ask.
pub struct With<'a> {
    /// MIRCC's parameters.
    pub params: &'a MirccParams,
    /// Random numbers.
    pub rng: &'a mut Stream,
}

impl Asks {
    /// Called with a new Interest of an application, and the flow that it is of; `size` is that of its
    /// Data on the link unless the flow knows better. `most`: flows that its face may have.
    pub fn offer(
        &mut self,
        now: Time,
        id: EntryId,
        flow: (FaceId, u64),
        size: u16,
        most: usize,
        with: With<'_>,
    ) -> Offered {
        if !self.flows.contains_key(&flow) {
            let full = |asks: &Asks| asks.flows.len() >= MOST_FLOWS || asks.of_face(flow.0) >= most;
            if full(self) && now >= self.forget_at {
                self.forget(now);
            }
            if full(self) {
                return Offered::Full;
            }
            *self.faces.entry(flow.0).or_default() += 1;
        }
        let state = self.flows.entry(flow).or_insert_with(|| {
            let mut asking = Asking::new(with.params, Segments::of(0), None);
            asking.start(with.params, with.rng, size);
            Flow { asking, ids: FxHashMap::default(), size, used: now, wake_at: Time::MAX }
        });
        let segment = state.asking.segments().more();
        state.ids.insert(segment, id);
        self.held.insert(id, (flow, segment));
        self.run(now, flow, with);
        Offered::Held
    }

    fn of_face(&self, face: FaceId) -> usize {
        self.faces.get(&face).copied().unwrap_or_default()
    }

    /// Forgets flows that ask for nothing.
    fn forget(&mut self, now: Time) {
        self.forget_at = now.saturating_add(LOOKS);
        let Asks { wakes, faces, flows, .. } = self;
        flows.retain(|(face, flow), state| {
            let stays = !state.ids.is_empty() || now.saturating_sub(state.used) < REMEMBERED;
            if !stays {
                wakes.remove(&(state.wake_at, *face, *flow));
                faces.entry(*face).and_modify(|count| *count -= 1);
            }
            stays
        });
        faces.retain(|_, count| *count > 0);
    }

    /// Whether an Interest is held here.
    pub fn holds(&self, id: EntryId) -> bool {
        self.held.contains_key(&id)
    }

    /// Interests to send, how, and the size of their Data.
    pub fn sends(&mut self) -> Vec<(EntryId, Ask, u16)> {
        std::mem::take(&mut self.sends)
    }

    /// Called when Data have come that have so many bytes on the link.
    pub fn on_data(&mut self, now: Time, id: EntryId, header: Stamped, size: u16, with: With<'_>) {
        let Some((flow, segment)) = self.held.remove(&id) else { return };
        let Some(state) = self.flows.get_mut(&flow) else { return };
        state.ids.remove(&segment);
        state.size = size;
        // What came unasked over another Interest's answer was still to be sent.
        let _ = state.asking.on_data(with.params, now, segment, header);
        self.run(now, flow, with);
    }

    /// Called when an Interest was refused, with the rates that the Nack tells, if it does.
    pub fn on_nack(&mut self, now: Time, id: EntryId, stamps: Option<Stamps>, with: With<'_>) {
        let Some((flow, segment)) = self.held.get(&id).copied() else { return };
        let Some(state) = self.flows.get_mut(&flow) else { return };
        state.asking.on_nack(now, with.rng, segment, stamps, state.size);
        self.run(now, flow, with);
    }

    /// Called when nobody waits for an Interest any more.
    pub fn on_end(&mut self, id: EntryId) {
        let Some((flow, segment)) = self.held.remove(&id) else { return };
        let Some(state) = self.flows.get_mut(&flow) else { return };
        state.ids.remove(&segment);
        // It is not missing; whether it was answered, nobody asks.
        let _ = state.asking.segments().answered(segment);
    }

    /// When a flow has something to do.
    pub fn next_wake(&self) -> Time {
        self.wakes.first().map_or(Time::MAX, |(at, ..)| *at)
    }

    /// A flow whose time has come.
    pub fn due(&self, now: Time) -> Option<(FaceId, u64)> {
        self.wakes.first().filter(|(at, ..)| *at <= now).map(|(_, face, flow)| (*face, *flow))
    }

    /// Asks for what is due.
    pub fn run(&mut self, now: Time, flow: (FaceId, u64), with: With<'_>) {
        let Some(state) = self.flows.get_mut(&flow) else { return };
        let With { params, rng } = with;
        state.asking.on_time(params, now);
        loop {
            // What nobody waits for any more needs no turn.
            while let Some(gone) = state.asking.segments().wanted().filter(|s| !state.ids.contains_key(s)) {
                state.asking.segments().take(gone);
            }
            let size = state.size;
            let Some(ask) = state.asking.poll(params, now, rng, |_| size) else { break };
            let Some(id) = state.ids.get(&ask.segment) else { continue };
            self.again += u64::from(ask.again);
            self.sends.push((*id, ask, size));
        }
        self.wakes.remove(&(state.wake_at, flow.0, flow.1));
        state.used = now;
        state.wake_at = if state.ids.is_empty() { Time::MAX } else { state.asking.next(params, now) };
        if state.wake_at < Time::MAX {
            self.wakes.insert((state.wake_at, flow.0, flow.1));
        }
    }

    /// What the flows do that ask for something.
    pub fn doing(&self) -> Vec<Doing> {
        let mut all: Vec<(u64, Doing)> = self
            .flows
            .iter()
            .filter(|(_, state)| !state.ids.is_empty())
            .map(|((face, flow), Flow { asking, ids, .. })| {
                let (paths, rates, round_trip) = (asking.paths(), asking.rates(), asking.smoothed());
                (*flow, Doing { face: *face, paths, rates, round_trip, held: ids.len() })
            })
            .collect();
        all.sort_by_key(|(flow, doing)| (doing.face, *flow));
        all.into_iter().map(|(_, doing)| doing).collect()
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::rng::{Purpose, stream};
    use midpath_schemes::rated::{PathId, Trail};

    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;
    const APP: FaceId = FaceId(300);

    struct Bench {
        asks: Asks,
        params: MirccParams,
        rng: Stream,
    }

    impl Bench {
        fn new() -> Bench {
            let rng = stream(1, Purpose::Forwarders, 0);
            Bench { asks: Asks::default(), params: MirccParams::default(), rng }
        }

        fn offer(&mut self, now: Time, id: u32, flow: u64, most: usize) -> Offered {
            let with = With { params: &self.params, rng: &mut self.rng };
            self.asks.offer(now, EntryId::numbered(id), (APP, flow), 8500, most, with)
        }

        fn data(&mut self, now: Time, id: u32, bps: u64) {
            let header = Stamped { path: PathId(7), ..Stamped::start(bps, Trail::None) };
            let with = With { params: &self.params, rng: &mut self.rng };
            self.asks.on_data(now, EntryId::numbered(id), header, 8500, with);
        }

        fn sent(&mut self) -> Vec<u32> {
            self.asks
                .sends()
                .iter()
                .map(|(id, ..)| (0..999).find(|n| EntryId::numbered(*n) == *id).expect("ours"))
                .collect()
        }
    }

    #[test]
    fn one_asks_first_and_the_others_follow_at_the_rate_that_its_data_bring() {
        let mut bench = Bench::new();
        (0..100).for_each(|id| assert_eq!(bench.offer(MS(1), id, 1, 9), Offered::Held));
        assert_eq!(bench.sent(), [0], "no path is known");
        // Each class's stamp is 6.8 Mbps, and both together get that: 8,500 bytes in 10 ms.
        bench.data(MS(21), 0, 6_800_000);
        let mut count = bench.sent().len();
        while bench.asks.next_wake() < MS(121) {
            let now = bench.asks.next_wake();
            let flow = bench.asks.due(now).expect("one is due");
            bench.asks.run(now, flow, With { params: &bench.params, rng: &mut bench.rng });
            count += bench.sent().len();
        }
        assert!((9..=12).contains(&count), "{count}");
        let doing = bench.asks.doing();
        assert_eq!((doing.len(), doing[0].paths, doing[0].rates), (1, 1, [6.8e6, 0.0]));
    }

    #[test]
    fn what_nobody_waits_for_takes_no_turn() {
        let mut bench = Bench::new();
        (0..10).for_each(|id| assert_eq!(bench.offer(MS(1), id, 1, 9), Offered::Held));
        (1..9).for_each(|id| bench.asks.on_end(EntryId::numbered(id)));
        bench.sent();
        bench.data(MS(21), 0, 1_000_000_000);
        bench.asks.run(MS(22), (APP, 1), With { params: &bench.params, rng: &mut bench.rng });
        assert_eq!(bench.sent(), [9]);
        bench.asks.on_end(EntryId::numbered(9));
        assert!(bench.asks.doing().is_empty());
    }

    #[test]
    fn flows_are_bounded_and_idle_ones_forgotten() {
        let mut bench = Bench::new();
        (0..9).for_each(|flow| assert_eq!(bench.offer(MS(1), flow, u64::from(flow), 9), Offered::Held));
        assert_eq!(bench.offer(MS(2), 99, 99, 9), Offered::Full);
        bench.asks.on_end(EntryId::numbered(0));
        assert_eq!(bench.offer(MS(9000), 99, 99, 9), Offered::Full, "it may come again");
        assert_eq!(bench.offer(MS(20_000), 99, 99, 9), Offered::Held);
        assert_eq!((bench.asks.flows.len(), bench.asks.of_face(APP)), (9, 9));
        assert!(bench.asks.wakes.len() <= 9);
    }
}
