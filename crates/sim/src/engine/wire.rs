//! Links as the engine sees them: one direction each, with loss, corruption and jitter.

use midpath_core::node::LinkTransmitter;
use midpath_core::packet::{Ecn, FlowId, Packet};
use midpath_core::rng::{Stream, unit};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::chance::{Chain, Jitter};
use super::frames::Frames;

/// One direction of a link, at its sending end. What each packet reads comes first, and in one line
/// of the cache.
#[repr(C, align(32))]
pub(crate) struct Wire {
    pub delay: Time,
    pub target: Target,
    /// Nothing happens to a packet but that it arrives later, and nobody wants to look at it.
    pub plain: bool,
    /// Its port may mark a packet that has been sent, until the next one begins.
    pub marks_sent: bool,
    /// The transmitter, where the port is asked for its packets.
    pub line: LinkTransmitter,
    /// Where more happens to a packet than that it arrives later.
    pub hazards: Option<Box<Hazards>>,
}

// One line of the cache: a large network has hundreds of thousands.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Wire>() == 64);

/// What can happen to packets on the way.
pub(crate) struct Hazards {
    pub loss: Option<Loss>,
    /// Share of ECN-capable packets whose field is cleared, with the stream that decides.
    pub bleaching: Option<(f64, Stream)>,
    pub thinning: Option<Thinning>,
    pub changes: Option<Changes>,
    /// Where packets are gathered into frames, or repeated.
    pub frames: Option<Frames>,
}

impl Hazards {
    /// Whether the next packet is lost on the way; its ECN field may be cleared.
    pub fn lose(&mut self, packet: &mut Packet) -> bool {
        let lost = self.loss.as_mut().is_some_and(|loss| loss.takes(packet.ecn));
        lost | self.meddle(packet)
    }

    /// What middleboxes do to the next packet: whether one takes it. Its ECN field may be cleared.
    pub fn meddle(&mut self, packet: &mut Packet) -> bool {
        let thinned = self.thinning.as_mut().is_some_and(|thinning| thinning.takes(packet));
        if let Some((share, stream)) = self.bleaching.as_mut().filter(|_| packet.ecn != Ecn::NotEct)
            && unit(stream) < *share
        {
            packet.ecn = Ecn::NotEct;
        }
        thinned
    }
}

/// A middlebox that takes ACKs (RFC 3449, §5.2.1), which it knows by their size.
pub(crate) struct Thinning {
    /// One of so many passes.
    pub one_of: u32,
    /// Small packets of each flow.
    pub seen: FxHashMap<FlowId, u32>,
}

impl Thinning {
    /// Bytes of an ACK at most. Ours: TCP's with three SACK blocks and timestamps have 80, QUIC's seldom more.
    const LARGEST: u32 = 120;
    /// Small packets of a flow that pass: those of a handshake. Ours.
    const HANDSHAKE: u32 = 10;

    fn takes(&mut self, packet: &Packet) -> bool {
        if packet.size > Thinning::LARGEST {
            return false;
        }
        let seen = self.seen.entry(packet.flow).or_default();
        *seen += 1;
        *seen > Thinning::HANDSHAKE && !seen.is_multiple_of(self.one_of)
    }
}

/// What packets can be lost to on the way.
pub(crate) struct Loss {
    /// Probability that a packet is corrupted, with the stream that decides.
    pub corruption: Option<(f64, Stream)>,
    /// Loss in bursts.
    pub bursts: Option<Chain>,
    /// The same as corruption for ECN-capable packets alone.
    pub ect: Option<(f64, Stream)>,
}

impl Loss {
    /// Whether the next packet, of this ECN field, is lost. Each cause sees each packet that it may take.
    pub fn takes(&mut self, ecn: Ecn) -> bool {
        let draw = |(p, stream): &mut (f64, Stream)| unit(stream) < *p;
        let corrupted = self.corruption.as_mut().is_some_and(draw);
        let burst = self.bursts.as_mut().is_some_and(Chain::loses);
        let capable = self.ect.as_mut().filter(|_| ecn != Ecn::NotEct).is_some_and(draw);
        corrupted | burst | capable
    }
}

/// Where a wire ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// A ring in the same part.
    Here { ring: u32, node: u32 },
    /// A ring in another part.
    There { part: u32, ring: u32 },
}

/// What happens to one direction of a link during the run: what is known beforehand, and jitter.
#[derive(Default)]
pub(crate) struct Changes {
    /// When it goes down, in order.
    pub downs: Vec<Time>,
    /// Delays from a time on, in order.
    pub delays: Vec<(Time, Time)>,
    /// What is added to the delay of each packet, with the stream that it is drawn from.
    pub jitter: Option<(Jitter, Stream)>,
    /// When the last packet will have arrived: a shorter delay does not overtake, unless jitter
    /// may.
    pub last_arrival: Time,
    /// Packets lost because the link went down while they were being sent.
    pub lost: u64,
    /// Whether the packet that began last was.
    pub lost_last: bool,
}

impl Changes {
    /// Whether the link goes down while a packet is on its way through the transmitter.
    pub fn cuts(&self, start: Time, end: Time) -> bool {
        let next = self.downs.partition_point(|t| *t < start);
        self.downs.get(next).is_some_and(|t| *t < end)
    }

    /// Whether packets may overtake each other.
    pub fn reorders(&self) -> bool {
        self.jitter.as_ref().is_some_and(|(jitter, _)| jitter.reorder)
    }

    /// When a packet arrives whose last bit leaves at `end`, over a link of the delay `initial` at
    /// the beginning.
    pub fn arrival(&mut self, end: Time, initial: Time) -> Time {
        let changed = self.delays.partition_point(|d| d.0 <= end);
        let delay = if changed == 0 { initial } else { self.delays[changed - 1].1 };
        let (added, reorder) = match &mut self.jitter {
            None => (Time::ZERO, false),
            Some((jitter, stream)) => (jitter.draw(stream), jitter.reorder),
        };
        let at = end + delay + added;
        self.last_arrival = if reorder { at } else { self.last_arrival.max(at) };
        self.last_arrival
    }
}

impl Wire {
    /// Whether the next packet is lost on the way; the link may clear its ECN field.
    #[inline]
    pub fn loses(&mut self, packet: &mut Packet) -> bool {
        self.hazards.as_mut().is_some_and(|hazards| hazards.lose(packet))
    }

    /// What happens to the link during the run, if anything does.
    #[inline]
    pub fn changes(&mut self) -> Option<&mut Changes> {
        self.hazards.as_mut()?.changes.as_mut()
    }

    /// Whether its packets are gathered into frames.
    #[inline]
    pub fn gathers(&self) -> bool {
        self.hazards.as_ref().is_some_and(|hazards| hazards.frames.is_some())
    }

    /// Packets that it has, and that have not been put onto it.
    pub fn held(&self) -> u64 {
        self.hazards.as_ref().and_then(|hazards| hazards.frames.as_ref()).map_or(0, Frames::held)
    }

    /// Packets that were lost because it went down on them.
    pub fn cut(&self) -> u64 {
        self.hazards.as_ref().and_then(|hazards| hazards.changes.as_ref()).map_or(0, |changes| changes.lost)
    }
}
