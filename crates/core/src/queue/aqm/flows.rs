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
