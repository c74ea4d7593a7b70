//! One direction of a link without an engine, for drivers with their own clock.

use midpath_core::node::LinkTransmitter;
use midpath_core::packet::Packet;
use midpath_core::roles::Transmitter;
use midpath_core::units::{Rate, Time};

use super::network::NetLink;
use super::wire::{Changes, Hazards};

/// What becomes of a packet that is put onto a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives then.
    Arrives(Time),
    /// It is lost on the way, as corruption and bursts have it.
    Corrupted,
    /// The link goes down while it is being sent.
    Cut,
}

/// A transmitter and the way behind it: rate or delivery opportunities, delay, loss, jitter, as the
/// engine has them, with the same random streams.
pub struct Passage {
    line: LinkTransmitter,
    delay: Time,
    shortest: Time,
    reorders: bool,
    hazards: Option<Box<Hazards>>,
}

impl Passage {
    /// That of `link`, which is number `index` among the run's directions.
    pub fn new(link: &NetLink, seed: u64, index: u64) -> Passage {
        let hazards = link.hazards(seed, index);
        let reorders = hazards.as_ref().and_then(|h| h.changes.as_ref()).is_some_and(Changes::reorders);
        Passage { line: link.line(), delay: link.delay, shortest: link.shortest(), reorders, hazards }
    }

    /// Whether it can take a packet now.
    pub fn state(&self, now: Time) -> Transmitter {
        self.line.state(now)
    }

    /// No packet arrives sooner than this after its last bit has left.
    pub fn shortest(&self) -> Time {
        self.shortest
    }

    /// Whether packets may overtake each other.
    pub fn reorders(&self) -> bool {
        self.reorders
    }

    /// Takes a packet now: when its last bit leaves, and what becomes of it. Its ECN field may be cleared.
    pub fn start(&mut self, packet: &mut Packet, now: Time) -> (Time, Fate) {
        let end = self.line.start(packet.size, now);
        let Some(hazards) = &mut self.hazards else { return (end, Fate::Arrives(end + self.delay)) };
        let lost = hazards.lose(packet);
        let at = match &mut hazards.changes {
            Some(changes) if changes.cuts(now, end) => return (end, Fate::Cut),
            Some(changes) => changes.arrival(end, self.delay),
            None => end + self.delay,
        };
        (end, if lost { Fate::Corrupted } else { Fate::Arrives(at) })
    }

    /// The next packet is sent at another rate.
    pub fn set_rate(&mut self, rate: Rate) {
        self.line.set_rate(rate);
    }

    /// The link goes up or down.
    pub fn set_up(&mut self, up: bool) {
        self.line.set_up(up);
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{Ecn, FlowId, Interfaces, NodeId, PortId};

    use super::*;
    use crate::engine::{Course, EcnHazards, Jitter, Law, Variation};

    fn link(course: Course) -> NetLink {
        let (from, to) = ((NodeId(0), PortId(0)), (NodeId(1), PortId(0)));
        let rate = Rate::from_mbps(8); // 1000 bytes in a ms, to the picosecond
        NetLink { from, to, rate, delay: Time::from_ms(5), corruption: 0.0, course: course.boxed() }
    }

    fn packet(size: u32) -> Packet {
        Packet::between(FlowId(1), NodeId(0), NodeId(1), Interfaces::ANY, 1, size)
    }

    #[test]
    fn a_packet_takes_its_time_and_the_delay() {
        let mut passage = Passage::new(&link(Course::default()), 1, 0);
        let ms = Time::from_ms;
        assert_eq!(passage.start(&mut packet(1000), ms(2)), (ms(3), Fate::Arrives(ms(8))));
        assert_eq!(passage.state(ms(2)), Transmitter::Busy { until: Some(ms(3)) });
        assert_eq!(passage.state(ms(4)), Transmitter::Idle { since: ms(3) });
        passage.set_rate(Rate::from_mbps(4));
        assert_eq!(passage.start(&mut packet(1000), ms(4)), (ms(6), Fate::Arrives(ms(11))));
        passage.set_up(false);
        assert_eq!(passage.state(ms(9)), Transmitter::Busy { until: None });
    }

    /// As in the engine: a packet that is being sent when the link goes down is lost, a shorter delay
    /// does not overtake unless jitter may.
    #[test]
    fn it_goes_down_and_changes_its_delay() {
        let ms = Time::from_ms;
        let course = Course { downs: vec![ms(10)], delays: vec![(ms(20), ms(1))], variation: Variation::default() };
        let mut passage = Passage::new(&link(course), 1, 0);
        assert_eq!(passage.shortest(), ms(1));
        assert_eq!(passage.start(&mut packet(2000), ms(9)), (ms(11), Fate::Cut));
        assert_eq!(passage.start(&mut packet(1000), ms(18)), (ms(19), Fate::Arrives(ms(24))));
        assert_eq!(passage.start(&mut packet(1000), ms(19)), (ms(20), Fate::Arrives(ms(24))), "it does not overtake");
    }

    #[test]
    fn what_varies_is_drawn_from_the_run_s_seed() {
        let jitter = Jitter { law: Law::Uniform, most: Time::from_ms(50), reorder: true };
        let course =
            Course { variation: Variation { jitter: Some(jitter), ..Variation::default() }, ..Course::default() };
        let fates = |seed| {
            let mut passage = Passage::new(&NetLink { corruption: 0.3, ..link(course.clone()) }, seed, 0);
            assert!(passage.reorders());
            (0..40).map(|i| passage.start(&mut packet(1000), Time::from_ms(10 * i)).1).collect::<Vec<_>>()
        };
        assert_eq!(fates(1), fates(1));
        assert_ne!(fates(1), fates(2));
        let lost = fates(1).iter().filter(|fate| **fate == Fate::Corrupted).count();
        assert!((5..20).contains(&lost), "{lost}");
    }
    /// As in the engine: the ECN field is cleared, and of small packets one in four passes, after ten.
    #[test]
    fn middleboxes_bleach_and_thin() {
        let variation = Variation {
            ecn: Some(EcnHazards { loss: 0.0, bleach: 1.0 }),
            ack_thinning: Some(4),
            ..Variation::default()
        };
        let mut passage = Passage::new(&link(Course { variation, ..Course::default() }), 1, 0);
        let mut passed = |size| {
            let mut one = packet(size);
            one.ecn = Ecn::Ect0;
            let fate = passage.start(&mut one, Time::ZERO).1;
            assert_eq!(one.ecn, Ecn::NotEct);
            fate != Fate::Corrupted
        };
        let small: Vec<bool> = (1..=18).map(|_| passed(120)).collect();
        assert!(small[..10].iter().all(|passes| *passes));
        assert_eq!(small[10..], [false, true, false, false, false, true, false, false]);
        assert!((0..9).all(|_| passed(121)));
    }
}
