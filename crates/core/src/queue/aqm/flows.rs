use std::hash::{BuildHasher, BuildHasherDefault};

use rustc_hash::FxHasher;

use super::{Aqm, Standing, Unsignalled, Verdict, View};
use crate::limit::Backlog;
use crate::packet::Packet;
use crate::queue::scheduler::key_of;
use crate::units::Time;

/// How many states there are: the default number of queues of RFC 8290, §5.2.
const STATES: u64 = 1024;

/// An AQM with a state per flow, for schedulers with a queue per flow (FQ-CoDel, RFC 8290, is CoDel
/// like this over [`Fq`](crate::queue::Fq)). What waits is what waits in the flow's own queue.
///
/// Flows are hashed into 1024 states; two flows may share one, though not a queue.
#[derive(Debug, Clone)]
pub struct PerFlow<A> {
    fresh: A,
    /// Those that have been used, each with when its timer is due.
    states: Vec<(A, Time)>,
    /// Where each is among them, plus one; 0 if it has not been used. Empty before the first.
    places: Box<[u16]>,
    /// When the first of these is.
    due: Time,
    wish: Option<Time>,
}

impl<A: Aqm + Clone> PerFlow<A> {
    /// A state like `fresh` for each flow.
    pub fn new(fresh: A) -> PerFlow<A> {
        PerFlow { fresh, states: Vec::new(), places: Box::default(), due: Time::MAX, wish: None }
    }

    #[inline]
    fn entry(&mut self, packet: &Packet) -> &mut (A, Time) {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(key_of(packet));
        let number = (hash % STATES) as usize;
        let place = match self.places.get(number) {
            Some(place) if *place > 0 => usize::from(*place) - 1,
            _ => self.begin(number),
        };
        &mut self.states[place]
    }

    /// The first use of a state.
    #[cold]
    fn begin(&mut self, number: usize) -> usize {
        if self.places.is_empty() {
            self.places = vec![0; STATES as usize].into();
        }
        self.states.push((self.fresh.clone(), Time::MAX));
        self.places[number] = self.states.len() as u16;
        self.states.len() - 1
    }

    fn of(&mut self, packet: &Packet) -> &mut A {
        &mut self.entry(packet).0
    }
}

/// Calls with what the packet's own queue shows.
#[inline]
fn of_lane(view: &mut View<'_>, call: impl FnOnce(&mut View<'_>) -> Verdict) -> Verdict {
    let all = std::mem::replace(&mut view.backlog, view.lane);
    let verdict = call(view);
    view.backlog = all;
    verdict
}

impl<A: Aqm + Clone> Aqm for PerFlow<A> {
    fn watches_arriving(&self) -> bool {
        self.fresh.watches_arriving()
    }
    fn watches_leaving(&self) -> bool {
        self.fresh.watches_leaving()
    }
    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let (state, due) = self.entry(packet);
        let verdict = of_lane(view, |view| state.enqueue(packet, view));
        if let Some(at) = state.timer() {
            *due = at;
            if at < self.due {
                (self.due, self.wish) = (at, Some(at));
            }
        }
        verdict
    }
    #[inline]
    fn dequeue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let state = self.of(packet);
        of_lane(view, |view| state.dequeue(packet, view))
    }
    fn signalled(&mut self, packet: &Packet) {
        self.of(packet).signalled(packet);
    }
    fn unable(&mut self, packet: &Packet) -> Unsignalled {
        self.of(packet).unable(packet)
    }
    fn refused(&mut self, packet: &Packet) {
        self.of(packet).refused(packet);
    }
    fn shed(&mut self, packet: &Packet, left: Backlog) {
        self.of(packet).shed(packet, left);
    }
    fn has_timer(&self) -> bool {
        self.fresh.has_timer()
    }
    fn timer(&mut self) -> Option<Time> {
        self.wish.take()
    }
    // A state's timer changes nothing but this state: their order does not show.
    fn on_timer(&mut self, port: &Standing<'_>) {
        for (state, due) in self.states.iter_mut().filter(|s| s.1 <= port.now) {
            state.on_timer(port);
            *due = state.timer().unwrap_or(Time::MAX);
        }
        self.due = self.states.iter().map(|s| s.1).min().unwrap_or(Time::MAX);
        self.wish = (self.due < Time::MAX).then_some(self.due);
    }
    fn reset(&mut self) {
        self.states.clear();
        self.places = Box::default();
        (self.due, self.wish) = (Time::MAX, None);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::super::pie::T_UPDATE;
    use super::PerFlow;
    use crate::limit::Backlog;
    use crate::packet::{Packet, Pool};
    use crate::queue::scheduler::Fifo;
    use crate::queue::testing::packet;
    use crate::queue::{Aqm, Pie, Standing, Unsignalled, Verdict, View};
    use crate::queue_spec::PieParams;
    use crate::rng::{Purpose, stream};
    use crate::units::{Rate, Time};

    /// Writes down what it learns, by how much its own state has learned before.
    #[derive(Clone, Default)]
    struct Learns(usize, Arc<Mutex<Vec<(usize, &'static str)>>>);

    impl Learns {
        fn learn(&mut self, what: &'static str) {
            self.0 += 1;
            self.1.lock().expect("one thread").push((self.0, what));
        }
    }

    impl Aqm for Learns {
        fn signalled(&mut self, _packet: &Packet) {
            self.learn("signalled");
        }
        fn unable(&mut self, _packet: &Packet) -> Unsignalled {
            self.learn("unable");
            Unsignalled::Pass
        }
        fn shed(&mut self, _packet: &Packet, _left: Backlog) {
            self.learn("shed");
        }
    }

    #[test]
    fn what_becomes_of_a_signal_is_learned_by_the_flows_own_state() {
        let packet = |flow| packet(flow, 1500);
        let fresh = Learns::default();
        let mut flows = PerFlow::new(fresh.clone());
        flows.signalled(&packet(1));
        assert_eq!(flows.unable(&packet(1)), Unsignalled::Pass);
        flows.signalled(&packet(2));
        flows.shed(&packet(2), Backlog::default());
        flows.reset();
        flows.signalled(&packet(1));
        let seen = fresh.1.lock().expect("one thread").clone();
        assert_eq!(seen, [(1, "signalled"), (2, "unable"), (1, "signalled"), (2, "shed"), (1, "signalled")]);
    }

    /// Once no flow's controller has anything to update, none asks for a timer.
    #[test]
    fn controllers_that_have_come_to_rest_ask_for_nothing() {
        let (fifo, pool, backlog) = (Fifo::unbounded(), Pool::new(), Backlog::default());
        let (rate, mut rng) = (Rate::from_mbps(10), stream(1, Purpose::Ports, 0));
        let mut flows = PerFlow::new(Pie::new(PieParams::default()));
        for flow in 0..2 {
            let (now, sojourn, idle_since) = (T_UPDATE * u64::from(flow), Time::ZERO, None);
            let view = &mut View { now, backlog, lane: backlog, rate, mtu: 1500, idle_since, sojourn, rng: &mut rng };
            assert_eq!(flows.enqueue(&mut packet(flow, 100), view), Verdict::Pass);
        }
        let mut now = flows.timer().expect("an update");
        let mut updates = 0;
        while let Some(next) = {
            flows.on_timer(&Standing { now, backlog, rate, mtu: 1500, scheduler: &fifo, pool: &pool });
            flows.timer()
        } {
            assert_eq!(next, now + T_UPDATE, "after {updates} updates");
            (now, updates) = (next, updates + 1);
        }
        assert!((10..20).contains(&updates), "{updates}: until the burst's allowance is used up");
    }
}
