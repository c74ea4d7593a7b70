//! Packets inside routers with kernel queues: waiting times, drops and marks.
//!
//! The emulator injects a packet into a router and receives it later from another of its devices, on one thread; the
//! time between is the queue's. All Linux qdiscs keep a flow's order, so a packet that is still inside when a later
//! one of its flow has left was dropped.

use std::collections::VecDeque;

use midpath_core::units::Time;
use midpath_sim::setup::Setup;
use rustc_hash::FxHashMap;

use crate::frame::{Conversation, Frame};

/// CE in the IP header.
const CE: u8 = 3;

/// A packet inside.
#[derive(Debug, Clone, Copy)]
struct Entry {
    identity: u64,
    at: Time,
    size: u64,
    marked: bool,
}

/// A conversation's packets in a router, and the direction by which they leave, as soon as one has.
#[derive(Debug, Default)]
struct Inside {
    way: Option<usize>,
    packets: VecDeque<Entry>,
}

/// A packet that waited from one time to another.
type Waited = (Time, Time, u64);

/// What is known of a packet that has left a router by a queue of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// When it had entered.
    pub since: Time,
    /// Packets of its conversation before it that were dropped, by their identities.
    pub lost: Vec<u64>,
    /// Whether it was marked inside.
    pub marked: bool,
}

/// All routers.
#[derive(Debug)]
pub struct Routers {
    /// Of each direction, from which node it comes.
    from: Vec<usize>,
    /// And whether the kernel has a queue before it.
    kernel: Vec<bool>,
    inside: FxHashMap<(usize, Conversation), Inside>,
    /// Of each direction what has waited before it.
    waited: Vec<Vec<Waited>>,
}

impl Routers {
    /// Those of a scenario, with the kernel's queues before these directions.
    pub fn new(setup: &Setup, queues: &[usize]) -> Routers {
        let from: Vec<usize> = setup.topology.links().iter().flat_map(|link| [link.a, link.b]).collect();
        let kernel = (0..from.len()).map(|way| queues.contains(&way)).collect();
        Routers { waited: vec![Vec::new(); from.len()], from, kernel, inside: FxHashMap::default() }
    }

    /// A frame was handed to the node at the end of direction `way`.
    pub fn enter(&mut self, way: usize, frame: &Frame, at: Time) {
        let node = self.from[way ^ 1];
        if !self.from.iter().zip(&self.kernel).any(|(from, kernel)| *from == node && *kernel) {
            return;
        }
        let Some(conversation) = frame.conversation() else { return };
        let entry = Entry { identity: frame.identity(), at, size: frame.size() as u64, marked: frame.ecn() == CE };
        self.inside.entry((node, conversation)).or_default().packets.push_back(entry);
    }

    /// A frame came out of the device of direction `way`. `None` if no queue of the kernel was before it, or it was
    /// never handed in.
    pub fn leave(&mut self, way: usize, frame: &Frame, at: Time) -> Option<Left> {
        let inside = self.inside.get_mut(&(self.from[way], frame.conversation()?))?;
        let identity = frame.identity();
        let lost = inside.packets.iter().position(|entry| entry.identity == identity)?;
        let lost: Vec<u64> = inside.packets.drain(..lost).map(|entry| entry.identity).collect();
        let entry = inside.packets.pop_front()?;
        inside.way = Some(way);
        if !self.kernel[way] {
            return None;
        }
        self.waited[way].push((entry.at, at, entry.size));
        Some(Left { since: entry.at, lost, marked: frame.ecn() == CE && !entry.marked })
    }

    /// The bytes that waited before a direction at these times, and the most that ever did: of packets that have left,
    /// or are still inside.
    pub fn backlog(&self, way: usize, times: impl Iterator<Item = Time>) -> (Vec<u64>, u64) {
        let still = self.inside.values().filter(|inside| inside.way == Some(way) && self.kernel[way]);
        let still = still.flat_map(|inside| inside.packets.iter().map(|entry| (entry.at, Time::MAX, entry.size)));
        // At one time packets leave first.
        let steps = self.waited[way].iter().copied().chain(still);
        let steps = steps.flat_map(|(from, to, size)| [(from, 1, size as i64), (to, 0, -(size as i64))]);
        let mut steps: Vec<(Time, u8, i64)> = steps.collect();
        steps.sort_unstable();
        let (mut steps, mut waiting, mut most) = (steps.into_iter().peekable(), 0, 0);
        let mut until = |time: Time| {
            while let Some((_, _, change)) = steps.next_if(|step| step.0 <= time && step.0 != Time::MAX) {
                waiting += change;
                most = most.max(waiting);
            }
            (waiting as u64, most as u64)
        };
        let looks = times.map(|time| until(time).0).collect();
        (looks, until(Time::MAX).1)
    }

    /// Packets inside.
    pub fn stored(&self) -> u64 {
        self.inside.values().map(|inside| inside.packets.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::segment;

    const MS: fn(u64) -> Time = Time::from_ms;

    /// Direction 0 goes from node 0 to the router 1, direction 2 from there to node 2.
    fn routers() -> Routers {
        let kernel = vec![false, false, true, false];
        Routers { from: vec![0, 1, 1, 2], kernel, inside: FxHashMap::default(), waited: vec![Vec::new(); 4] }
    }

    /// The packet with this number in IP's identification.
    fn packet(number: u8) -> Frame {
        let mut frame = segment(1448);
        frame.data[crate::frame::ETHERNET + 5] = number;
        frame
    }

    #[test]
    fn waits_drops_and_marks_of_a_queue_of_the_kernel_are_seen() {
        let mut routers = routers();
        (0..4).for_each(|number| routers.enter(0, &packet(number), MS(u64::from(number))));
        assert_eq!(routers.leave(2, &packet(0), MS(8)), Some(Left { since: MS(0), lost: vec![], marked: false }));
        routers.enter(0, &packet(4), MS(9));
        // A router changes TTL, checksum and ECN.
        let mut third = packet(2);
        third.data[crate::frame::ETHERNET + 8] -= 1;
        third.set_ecn(3);
        assert_eq!(
            routers.leave(2, &third, MS(10)),
            Some(Left { since: MS(2), lost: vec![packet(1).identity()], marked: true })
        );
        assert_eq!(routers.stored(), 2);
        assert_eq!(routers.leave(2, &packet(9), MS(11)), None, "it was never handed in");
        // Numbers 0 and 2 have left; 3 and 4 are inside; 1 was dropped, and never counts.
        let looks = [0, 2, 3, 8, 9, 10].map(MS).into_iter();
        assert_eq!(routers.backlog(2, looks), (vec![1500, 3000, 4500, 3000, 4500, 3000], 4500));
    }

    #[test]
    fn what_hosts_send_and_get_is_none_of_a_router_s() {
        let mut routers = routers();
        assert_eq!(routers.leave(0, &packet(1), MS(1)), None);
        routers.enter(2, &packet(1), MS(1));
        assert_eq!(routers.stored(), 0);
    }
}
