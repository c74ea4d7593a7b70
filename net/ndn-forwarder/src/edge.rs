//! Interests of local applications: queued until their path has capacity, and retransmitted on loss.
//!
//! Plain consumers have no congestion control. python-ndn's sends one Interest at a time and waits for seconds on
//! loss, ndnd's keeps a hundred Interests pending whatever the links are. So their forwarder paces for them, and
//! repairs losses within the Interests' lifetimes. A *flow* is what one face asks below one prefix; each of its next
//! hops is a `Path` with a window of its own. The cheapest one with capacity is used, so a flow with enough
//! Interests uses all.
//!
//! This is a state machine without packets: the forwarder reports arrivals and ends, and sends the output of
//! [`Edge::sends`].

pub mod asks;
mod path;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use self::path::Path;
use crate::faces::FaceId;
use crate::pit::EntryId;

/// Flows at once. Ours: each costs about a kilobyte. Interests of further ones are not paced.
const MOST_FLOWS: usize = 4096;
/// How long a flow without Interests is remembered. Ours.
const REMEMBERED: Time = Time::from_secs(10);
/// How often an Interest is sent at most. Ours: then the application's turn has come.
const MOST_SENT: u32 = 5;

/// A flow.
#[derive(Debug, Default)]
struct Flow {
    paths: Vec<(FaceId, Path)>,
    waiting: VecDeque<EntryId>,
    held: usize,
    used: Time,
}

impl Flow {
    fn path(&mut self, face: FaceId) -> &mut Path {
        let place = self.paths.iter().position(|(known, _)| *known == face).unwrap_or_else(|| {
            self.paths.push((face, Path::default()));
            self.paths.len() - 1
        });
        &mut self.paths[place].1
    }

    /// The next hop to take: the cheapest that is up and has room, but not where the last try was
    /// lost unless there is no other. Where none is up, any may be.
    fn choose(&mut self, now: Time, hops: &[FaceId], not: Option<FaceId>) -> Option<FaceId> {
        let none_is_up = !hops.iter().any(|hop| self.path(*hop).is_up(now));
        let mut usable = hops.iter().copied().filter(|hop| {
            let path = self.path(*hop);
            (none_is_up || path.is_up(now)) && path.has_room()
        });
        let first = usable.next()?;
        Some(if Some(first) == not { usable.next().unwrap_or(first) } else { first })
    }
}

/// Where an Interest is.
#[derive(Debug)]
struct Held {
    flow: u64,
    hops: Vec<FaceId>,
    /// Where it was sent last, with which number, and when; `None` while it waits.
    under_way: Option<(FaceId, u64, Time)>,
    sent: u32,
    lost_at: Option<FaceId>,
}

/// What waits and what is under way.
#[derive(Debug, Default)]
pub struct Edge {
    flows: FxHashMap<u64, Flow>,
    held: FxHashMap<EntryId, Held>,
    timers: BinaryHeap<Reverse<(Time, EntryId, u32)>>,
    sends: Vec<(EntryId, FaceId)>,
    /// Interests that were sent again.
    pub again: u64,
}

impl Edge {
    /// How many Interests are held, waiting or under way.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Called with a new Interest of an application, the flow that it is of, and the next hops that
    /// it may take, the cheapest first. Whether it is held here; if not, it is sent as others are.
    pub fn offer(&mut self, now: Time, id: EntryId, flow: u64, hops: Vec<FaceId>) -> bool {
        if self.flows.len() >= MOST_FLOWS && !self.flows.contains_key(&flow) {
            self.flows.retain(|_, flow| flow.held > 0 || now.saturating_sub(flow.used) < REMEMBERED);
            if self.flows.len() >= MOST_FLOWS {
                return false;
            }
        }
        let state = self.flows.entry(flow).or_default();
        (state.held, state.used) = (state.held + 1, now);
        state.waiting.push_back(id);
        self.held.insert(id, Held { flow, hops, under_way: None, sent: 0, lost_at: None });
        self.release(now, flow);
        true
    }

    /// Whether an Interest is held here.
    pub fn holds(&self, id: EntryId) -> bool {
        self.held.contains_key(&id)
    }

    /// Whether an Interest is held, and has been sent as often as may be: it is the application's turn.
    pub fn is_spent(&self, id: EntryId) -> bool {
        self.held.get(&id).is_some_and(|held| held.sent >= MOST_SENT)
    }

    /// Interests to send, and where to.
    pub fn sends(&mut self) -> Vec<(EntryId, FaceId)> {
        std::mem::take(&mut self.sends)
    }

    /// Called when an Interest was answered by this face.
    pub fn on_answer(&mut self, now: Time, id: EntryId, face: FaceId) {
        let Some(held) = self.held.remove(&id) else { return };
        let Some(flow) = self.flows.get_mut(&held.flow) else { return };
        flow.held -= 1;
        match held.under_way {
            // Karn: who was asked twice may have answered either time.
            Some((asked, number, at)) if asked == face && held.sent == 1 => {
                let lost = flow.path(face).on_answer(now, number, now.saturating_sub(at));
                lost.into_iter().for_each(|id| self.wait_again(id, face));
            }
            Some((asked, number, _)) => flow.path(asked).on_end(number),
            None => {}
        }
        self.release(now, held.flow);
    }

    /// Called when an Interest is over without an answer.
    pub fn on_end(&mut self, now: Time, id: EntryId) {
        let Some(held) = self.held.remove(&id) else { return };
        let Some(flow) = self.flows.get_mut(&held.flow) else { return };
        flow.held -= 1;
        if let Some((face, number, _)) = held.under_way {
            flow.path(face).on_end(number);
        }
        self.release(now, held.flow);
    }

    /// Called when a next hop has refused an Interest. Whether another one is asked.
    pub fn on_refused(&mut self, now: Time, id: EntryId, face: FaceId) -> bool {
        let Some(held) = self.held.get_mut(&id) else { return false };
        let flow = held.flow;
        held.hops.retain(|hop| *hop != face);
        let left = !held.hops.is_empty();
        match held.under_way {
            Some((asked, number, _)) if asked == face => {
                if let Some(flow) = self.flows.get_mut(&flow) {
                    flow.path(face).on_end(number);
                }
                if left {
                    self.wait_again(id, face);
                    self.release(now, flow);
                }
            }
            _ => {}
        }
        left
    }

    /// When a timer runs out.
    pub fn next_wake(&self) -> Time {
        self.timers.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    /// Called when [`Edge::next_wake`] has come, or later.
    pub fn on_time(&mut self, now: Time) {
        while let Some(Reverse((at, id, sent))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(held) = self.held.get(&id).filter(|held| held.sent == sent) else { continue };
            let (Some((face, number, _)), flow) = (held.under_way, held.flow) else { continue };
            if let Some(flow) = self.flows.get_mut(&flow) {
                flow.path(face).on_timer(now, number);
            }
            if sent < MOST_SENT {
                self.wait_again(id, face);
            }
            self.release(now, flow);
        }
    }

    /// An Interest was lost: it goes before those that wait.
    fn wait_again(&mut self, id: EntryId, lost_at: FaceId) {
        let Some(held) = self.held.get_mut(&id) else { return };
        (held.under_way, held.lost_at) = (None, Some(lost_at));
        if let Some(flow) = self.flows.get_mut(&held.flow) {
            flow.waiting.push_front(id);
        }
    }

    /// Sends what there is room for.
    fn release(&mut self, now: Time, flow: u64) {
        let Some(state) = self.flows.get_mut(&flow) else { return };
        while let Some(id) = state.waiting.front().copied() {
            let Some(held) = self.held.get_mut(&id).filter(|held| held.under_way.is_none()) else {
                state.waiting.pop_front();
                continue;
            };
            let Some(face) = state.choose(now, &held.hops, held.lost_at) else { break };
            state.waiting.pop_front();
            let path = state.path(face);
            let number = path.on_sent(now, id);
            self.timers.push(Reverse((now.saturating_add(path.timer(held.sent)), id, held.sent + 1)));
            self.again += u64::from(held.sent > 0);
            (held.under_way, held.sent) = (Some((face, number, now)), held.sent + 1);
            self.sends.push((id, face));
        }
        state.used = now;
        // Timers of what has been answered stand until they run out; not too many.
        if self.timers.len() > 2 * self.held.len() + 1024 {
            let held = &self.held;
            self.timers.retain(|Reverse((_, id, sent))| held.get(id).is_some_and(|held| held.sent == *sent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;
    const CHEAP: FaceId = FaceId(300);
    const DEAR: FaceId = FaceId(301);

    /// Two links, each answering one Interest after the other in this many ms. What they lose is
    /// numbered by the order of sending.
    struct Links {
        edge: Edge,
        now: Time,
        each_ms: [u64; 2],
        free_at: [Time; 2],
        coming: Vec<(Time, EntryId, FaceId)>,
        sent: [usize; 2],
        loses: fn(FaceId, usize) -> bool,
    }

    impl Links {
        fn new(each_ms: [u64; 2], loses: fn(FaceId, usize) -> bool) -> Links {
            let (edge, coming) = (Edge::default(), Vec::new());
            Links { edge, now: MS(1), each_ms, free_at: [MS(1); 2], coming, sent: [0; 2], loses }
        }

        fn send(&mut self) {
            for (id, face) in self.edge.sends() {
                let link = usize::from(face == DEAR);
                self.sent[link] += 1;
                if (self.loses)(face, self.sent[link]) {
                    continue;
                }
                self.free_at[link] = self.free_at[link].max(self.now).saturating_add(MS(self.each_ms[link]));
                self.coming.push((self.free_at[link].saturating_add(MS(2)), id, face));
            }
        }

        /// Asks for so many at once; when all are answered.
        fn fetch(&mut self, count: u32) -> Time {
            let begun = self.now;
            for i in 0..count {
                assert!(self.edge.offer(self.now, EntryId::numbered(i), 1, vec![CHEAP, DEAR]));
                self.send();
            }
            while !self.edge.is_empty() {
                self.coming.sort_by_key(|(at, id, _)| (*at, *id));
                let first = self.coming.first().map_or(Time::MAX, |(at, ..)| *at);
                self.now = first.min(self.edge.next_wake());
                assert!(self.now < Time::MAX, "something is forgotten: {:?}", self.edge);
                if first == self.now {
                    let (_, id, face) = self.coming.remove(0);
                    self.edge.on_answer(self.now, id, face);
                } else {
                    self.edge.on_time(self.now);
                }
                self.send();
            }
            self.now.saturating_sub(begun)
        }
    }

    #[test]
    fn both_next_hops_are_used_and_their_queues_stay_short() {
        let mut links = Links::new([4, 8], |_, _| false);
        // Both together answer three in 8 ms.
        let took = links.fetch(600);
        assert!((MS(1600)..MS(1680)).contains(&took), "{took:?}");
        assert_eq!(links.edge.again, 0);
        let [cheap, dear] = links.sent;
        assert!((380..420).contains(&cheap) && cheap + dear == 600, "{cheap} {dear}");
    }

    #[test]
    fn at_most_the_window_is_under_way() {
        let mut edge = Edge::default();
        for i in 0..100 {
            edge.offer(MS(1), EntryId::numbered(i), 1, vec![CHEAP]);
        }
        assert_eq!(edge.sends().len(), 4);
        edge.on_answer(MS(10), EntryId::numbered(0), CHEAP);
        let after = edge.sends();
        assert!((1..=2).contains(&after.len()), "{after:?}");
        // What nobody waits for any more makes room, too.
        (1..100).for_each(|i| edge.on_end(MS(20), EntryId::numbered(i)));
        assert!(edge.is_empty());
    }

    #[test]
    fn what_is_lost_is_sent_again() {
        let mut links = Links::new([4, 400], |_, sent| sent % 20 == 7);
        let took = links.fetch(500);
        assert!(took < MS(3500), "{took:?}");
        assert!((20..60).contains(&links.edge.again), "{}", links.edge.again);
    }

    #[test]
    fn a_next_hop_that_dies_is_left() {
        let mut links = Links::new([4, 8], |face, sent| face == CHEAP && sent > 200);
        let took = links.fetch(600);
        // 400 at 8 ms, less what the other one answered before, and some timers.
        assert!(took < MS(3900), "{took:?}");
        let tried = links.sent[0] - 200;
        assert!(tried < 30, "{tried}");
    }

    #[test]
    fn who_refuses_is_not_asked_again() {
        let mut edge = Edge::default();
        edge.offer(MS(1), EntryId::numbered(0), 1, vec![CHEAP, DEAR]);
        assert_eq!(edge.sends(), [(EntryId::numbered(0), CHEAP)]);
        assert!(edge.on_refused(MS(2), EntryId::numbered(0), CHEAP));
        assert_eq!(edge.sends(), [(EntryId::numbered(0), DEAR)]);
        assert!(!edge.on_refused(MS(3), EntryId::numbered(0), DEAR), "there is nobody else");
    }

    #[test]
    fn flows_are_bounded() {
        let mut edge = Edge::default();
        for flow in 0..MOST_FLOWS as u64 {
            assert!(edge.offer(MS(1), EntryId::numbered(flow as u32), flow, vec![CHEAP]));
        }
        assert!(!edge.offer(MS(2), EntryId::numbered(1 << 20), 1 << 20, vec![CHEAP]));
        edge.on_end(MS(2), EntryId::numbered(0));
        assert!(edge.offer(MS(20_000), EntryId::numbered(1 << 20), 1 << 20, vec![CHEAP]), "the idle one makes room");
        assert_eq!(edge.flows.len(), MOST_FLOWS);
    }
}
