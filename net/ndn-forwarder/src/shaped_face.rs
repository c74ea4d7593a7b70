//! A face with a known rate whose other end runs MIRCC: its queue and schedule.
//!
//! The other end is detected by a hello, an IDLE packet that plain forwarders ignore. Until one is
//! received, and after silence, the face is an ordinary one.
//!
//! A line sends no faster than its link: a clock tracks when the link has sent the previous packets. So
//! nothing waits in the queues of sockets and devices, and Interests leave when MIRCC's shaper releases
//! them.

use std::collections::VecDeque;
use std::sync::Arc;

use midpath_core::units::{Bytes, Rate, Time, TxClock};
use midpath_ndn::{Header, Mircc};
use midpath_schemes::rated::{Interest, MirccLink, MirccParams};

use crate::pit::EntryId;

/// How often a hello is said. Ours.
const PERIOD: Time = Time::from_secs(1);
/// One that has not heard ours is answered at once, at most so often.
const LEAST: Time = Time::from_ms(100);
/// The other end speaks MIRCC for so long after it said so: three may be lost. So long it takes, too,
/// until a link is left that loses everything.
const HEARD: Time = Time::from_ms(3500);
/// Three Interests without an answer of any in so long say that a link is silent: others are taken, but
/// for one Interest a second. Ours: round trips of two continents, and two losses.
const UNANSWERED: u32 = 3;
const SILENCE: Time = Time::from_ms(500);
const TRIED: Time = Time::from_secs(1);
/// Bytes that wait at most, besides Interests: MIRCC's Data have room booked, so little does. Ours.
const QUEUE: usize = 1 << 20;
/// How late a timer may be without the link's time being lost. Ours: what a busy machine's
/// scheduler takes.
const SLACK: Time = Time::from_ms(4);
/// What stands around a piece of a packet in its datagram: NDNLPv2's header.
const PIECE: usize = 30;

/// What is known of a face's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rated {
    /// What it carries from here.
    pub out: Rate,
    /// What it carries to here.
    pub back: Rate,
    /// The longest datagram.
    pub mtu: usize,
    /// Bytes around each on the link.
    pub overhead: usize,
}

impl Rated {
    /// Bytes on the link of a frame of this length.
    pub fn on_link(&self, frame: usize) -> u32 {
        let pieces = if frame <= self.mtu { 1 } else { frame.div_ceil(self.mtu.saturating_sub(PIECE).max(1)) };
        let around = if pieces > 1 { self.overhead + PIECE } else { self.overhead };
        u32::try_from(frame + pieces * around).unwrap_or(u32::MAX)
    }
}

/// An Interest that waits for its turn.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Its entry.
    pub id: EntryId,
    /// The Interest, and the nonce that it goes with.
    pub wire: Arc<[u8]>,
    /// The nonce.
    pub nonce: u32,
    /// What stands around it.
    pub header: Header,
}

/// What goes next.
#[derive(Debug)]
pub enum Turn {
    /// An Interest that the shaper has let go; [`ShapedFace::left`] says that it went.
    Interest(Box<Interest<Waiting>>),
    /// A frame.
    Frame(Box<[u8]>),
}

/// The line.
#[derive(Debug)]
pub struct ShapedFace {
    /// Its link.
    pub rated: Rated,
    /// MIRCC's part.
    pub link: MirccLink<EntryId, Waiting>,
    queue: VecDeque<Box<[u8]>>,
    queued: usize,
    clock: TxClock,
    free_at: Time,
    heard_until: Time,
    hello_at: Time,
    said_at: Time,
    /// Whether it was heard since the face is there.
    known: bool,
    /// Interests since the last answer, when the first of them went, and when a silent link is tried.
    unanswered: u32,
    since: Time,
    try_at: Time,
    /// Frames that found no room.
    pub dropped: u64,
}

impl ShapedFace {
    /// A line whose other end was not heard.
    pub fn new(rated: Rated, params: &MirccParams, now: Time) -> ShapedFace {
        let rated = Rated { out: rated.out.max(Rate(1)), back: rated.back.max(Rate(1)), ..rated };
        ShapedFace {
            rated,
            link: MirccLink::new(params, rated.out, rated.back, now),
            queue: VecDeque::new(),
            queued: 0,
            clock: TxClock::new(rated.out),
            free_at: Time::ZERO,
            heard_until: Time::ZERO,
            hello_at: now,
            said_at: Time::ZERO,
            known: false,
            unanswered: 0,
            since: Time::ZERO,
            try_at: Time::ZERO,
            dropped: 0,
        }
    }

    /// Whether the other end speaks MIRCC.
    pub fn speaks(&self, now: Time) -> bool {
        self.heard_until > now
    }

    /// Whether the other end spoke MIRCC, and is heard no more: the link is down.
    pub fn is_down(&self, now: Time) -> bool {
        self.known && !self.speaks(now)
    }

    /// Called with a hello.
    pub fn on_hello(&mut self, now: Time, hello: u64) {
        (self.heard_until, self.known) = (now.saturating_add(HEARD), true);
        if hello == 1 {
            // It has not heard one from here.
            self.hello_at = self.hello_at.min(self.said_at.saturating_add(LEAST)).max(now);
        }
    }

    /// The hello that is to be said now, if one is.
    pub fn hello(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.hello_at > now {
            return None;
        }
        let hears = self.speaks(now);
        (self.said_at, self.hello_at) = (now, now.saturating_add(PERIOD));
        let mircc = Mircc { hello: Some(if hears { 2 } else { 1 }), ..Mircc::default() };
        let mut frame = Vec::new();
        Header { mircc, ..Header::default() }.idle(&mut frame);
        Some(frame)
    }

    /// Works off what MIRCC's clock has left.
    pub fn at(&mut self, now: Time) {
        self.link.at(now, self.rated.out, self.rated.back);
    }

    /// A frame that is no Interest waits for its turn; whether there was room.
    pub fn push(&mut self, frame: Vec<u8>) -> bool {
        let room = self.queued + frame.len() <= QUEUE;
        if room {
            self.queued += frame.len();
            self.queue.push_back(frame.into());
        } else {
            self.dropped += 1;
        }
        room
    }

    /// What goes now, if something does. Ask again after [`ShapedFace::left`].
    pub fn poll(&mut self, now: Time) -> Option<Turn> {
        if self.free_at > now {
            return None;
        }
        self.at(now);
        if let Some(interest) = self.link.poll(now) {
            return Some(Turn::Interest(interest.into()));
        }
        let frame = self.queue.pop_front()?;
        self.queued -= frame.len();
        Some(Turn::Frame(frame))
    }

    /// Called when so many bytes of a frame have gone.
    pub fn left(&mut self, now: Time, frame: usize) {
        // From when the link was free, not from when somebody came to look.
        let from = self.free_at.max(now.saturating_sub(SLACK));
        self.free_at = from.saturating_add(self.clock.time(self.rated.on_link(frame)));
    }

    /// Called when an Interest has gone.
    pub fn on_asked(&mut self, now: Time) {
        if self.unanswered == 0 {
            self.since = now;
        }
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// Called with Data and Nacks.
    pub fn on_answered(&mut self) {
        self.unanswered = 0;
    }

    /// Whether an Interest goes another way if it can, because nothing is answered here.
    pub fn is_silent(&mut self, now: Time) -> bool {
        if self.unanswered < UNANSWERED || now.saturating_sub(self.since) < SILENCE {
            return false;
        }
        let tried = now < self.try_at;
        if !tried {
            self.try_at = now.saturating_add(TRIED);
        }
        tried
    }

    /// When there is something to do.
    pub fn next_wake(&self, now: Time) -> Time {
        let interest = self.link.next_release(now).unwrap_or(Time::MAX);
        let due = if self.queue.is_empty() { interest } else { Time::ZERO };
        let due = if due == Time::MAX { due } else { due.max(self.free_at) };
        due.min(self.hello_at)
    }

    /// Takes out all that waits, when the other end is heard no more.
    pub fn drain(&mut self) -> (Vec<Box<[u8]>>, Vec<Waiting>) {
        self.queued = 0;
        (self.queue.drain(..).collect(), self.link.reset().map(|interest| interest.token).collect())
    }

    /// Bytes on the link of Data, at most: what an Interest may ask for.
    pub fn most(&self) -> Bytes {
        Bytes(u64::from(self.rated.on_link(midpath_ndn::link::frame::MAX_FRAME)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_ndn::Frame;

    const MS: fn(u64) -> Time = Time::from_ms;

    fn line() -> ShapedFace {
        let rated = Rated { out: Rate::from_mbps(8), back: Rate::from_mbps(8), mtu: 1420, overhead: 42 };
        ShapedFace::new(rated, &MirccParams::default(), Time::ZERO)
    }

    fn said(line: &mut ShapedFace, now: Time) -> Option<u64> {
        let frame = line.hello(now)?;
        Frame::of(&frame).expect("a frame").header.mircc.hello
    }

    #[test]
    fn two_ends_find_each_other_and_lose_each_other() {
        let [mut one, mut other] = [line(), line()];
        assert_eq!(said(&mut one, MS(0)), Some(1), "nobody is there");
        assert_eq!((said(&mut one, MS(999)), said(&mut one, MS(1000))), (None, Some(1)));
        assert!(!one.speaks(MS(1000)));
        other.on_hello(MS(1001), 1);
        assert!(other.speaks(MS(1001)));
        assert_eq!(said(&mut other, MS(1001)), Some(2), "it answers at once");
        one.on_hello(MS(1002), 2);
        assert_eq!((said(&mut one, MS(1999)), said(&mut one, MS(2000))), (None, Some(2)));
        // A flood of hellos is answered ten times a second.
        let answers = (0..1000).filter(|ms| {
            other.on_hello(MS(3000 + ms), 1);
            said(&mut other, MS(3000 + ms)).is_some()
        });
        assert!((9..=11).contains(&answers.count()));
        assert!(one.speaks(MS(4501)) && !one.speaks(MS(4502)));
        assert!(one.is_down(MS(4502)) && !line().is_down(MS(4502)), "who was never heard is plain");
    }

    #[test]
    fn a_line_sends_what_its_link_carries() {
        let mut line = line();
        // 958 and 42 bytes take a millisecond.
        for _ in 0..100 {
            assert!(line.push(vec![0; 958]));
        }
        let (mut now, mut sent) = (MS(1), 0);
        while sent < 100 {
            while let Some(Turn::Frame(frame)) = line.poll(now) {
                line.left(now, frame.len());
                sent += 1;
            }
            // Each time a third of a millisecond late.
            now = line.free_at + Time::from_us(333);
        }
        // Four that are caught up with at the beginning.
        assert!((MS(96)..MS(102)).contains(&line.free_at), "{:?}", line.free_at);
        assert_eq!((0..1200).filter(|_| line.push(vec![0; 1000])).count(), QUEUE / 1000);
        assert_eq!(line.dropped, 1200 - (QUEUE / 1000) as u64);
    }

    #[test]
    fn a_link_on_which_nothing_is_answered_is_silent_and_tried_once_a_second() {
        let mut line = line();
        (0..9).for_each(|_| line.on_asked(MS(10)));
        assert!(!line.is_silent(MS(509)), "answers may take as long");
        let silent: Vec<u64> = (510..2600).step_by(100).filter(|ms| !line.is_silent(MS(*ms))).collect();
        assert_eq!(silent, [510, 1510, 2510]);
        line.on_answered();
        assert!(!line.is_silent(MS(2700)));
        line.on_asked(MS(2800));
        assert!(!line.is_silent(MS(9000)), "one may be lost");
    }

    #[test]
    fn pieces_cost_what_stands_around_them() {
        let rated = line().rated;
        assert_eq!([rated.on_link(100), rated.on_link(1420)], [142, 1462]);
        assert_eq!(rated.on_link(1421), 1421 + 2 * (42 + 30));
        assert_eq!(rated.on_link(8300), 8300 + 6 * 72);
    }
}
