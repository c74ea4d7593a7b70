use std::hash::{BuildHasher, BuildHasherDefault};

use rustc_hash::{FxHashMap, FxHasher};

use super::{Aqm, Unsignalled, Verdict, View};
use crate::packet::Packet;
use crate::queue::scheduler::key_of;

/// How many states there are: the default number of queues of RFC 8290, §5.2.
const STATES: u64 = 1024;

/// An AQM with a state per flow, for schedulers with a queue per flow (FQ-CoDel, RFC 8290, is CoDel
/// like this over deficit round robin). What waits is what waits in the flow's own queue.
///
/// Flows are hashed into 1024 states; two flows may share one, though not a queue.
#[derive(Debug, Clone)]
pub struct PerFlow<A> {
    fresh: A,
    /// Those that have been used.
    states: FxHashMap<u64, A>,
}

impl<A: Aqm + Clone> PerFlow<A> {
    /// A state like `fresh` for each flow.
    pub fn new(fresh: A) -> PerFlow<A> {
        PerFlow { fresh, states: FxHashMap::default() }
    }

    fn of(&mut self, packet: &Packet) -> &mut A {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(key_of(packet));
        self.states.entry(hash % STATES).or_insert_with(|| self.fresh.clone())
    }
}

/// What the packet's own queue shows.
fn of_lane<'a>(view: &'a mut View<'_>) -> View<'a> {
    View { backlog: view.lane, rng: view.rng, ..*view }
}

impl<A: Aqm + Clone> Aqm for PerFlow<A> {
    fn watches_leaving(&self) -> bool {
        self.fresh.watches_leaving()
    }
    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.of(packet).enqueue(packet, &mut of_lane(view))
    }
    fn dequeue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.of(packet).dequeue(packet, &mut of_lane(view))
    }
    fn signalled(&mut self, packet: &Packet) {
        self.of(packet).signalled(packet);
    }
    fn unable(&mut self, packet: &Packet) -> Unsignalled {
        self.of(packet).unable(packet)
    }
    fn reset(&mut self) {
        self.states.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::PerFlow;
    use crate::packet::{FlowId, NodeId, Packet};
    use crate::queue::testing::Leaving;
    use crate::queue::{Aqm, Codel, Verdict};
    use crate::queue_spec::CodelParams;
    use crate::units::Time;

    /// CoDel's next choice comes INTERVAL/√count after a signal: only if it learns of the signal.
    #[test]
    fn a_flow_alone_is_chosen_as_without_a_state_per_flow() {
        fn choices(mut aqm: impl Aqm) -> Vec<u64> {
            let (mut leaving, packet) =
                (Leaving::new(Time::from_ms(50), 15_000), Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500));
            let mut chosen = Vec::new();
            for ms in 0..1000 {
                if leaving.ask(&mut aqm, Time::from_ms(ms)) == Verdict::Signal {
                    aqm.signalled(&packet);
                    chosen.push(ms);
                }
            }
            chosen
        }
        let codel = Codel::new(CodelParams::default());
        let alone = choices(codel.clone());
        assert!(alone.len() > 10, "{alone:?}");
        assert_eq!(choices(PerFlow::new(codel)), alone);
    }
}
