//! MIRCC's headers: one on Interests, another on Data and Nacks.

use midpath_core::packet::{Header, ICN_HEADER, IP_HEADER, Packet, shim_size};
use midpath_core::units::Time;

use super::params::Steering;
use super::path::{Bloom, PathId};

/// What all of them begin with: flags, class, size and RTT of an Interest; rates and pathId of an
/// answer.
const INTEREST: usize = 8;
const ANSWER: usize = 24;

/// Bytes of headers on Data, and of an Interest, by what steers.
pub const fn data_headers(steering: Steering) -> u32 {
    let trail = match steering {
        Steering::Shortcut => 0,
        Steering::BloomFilter => BLOOM,
        Steering::RandomValue => 8,
    };
    IP_HEADER + ICN_HEADER + shim_size((ANSWER + trail) as u32)
}

/// The largest size of an Interest without a payload.
pub const fn interest_size(steering: Steering) -> u32 {
    let way = match steering {
        Steering::Shortcut => 8,
        Steering::BloomFilter => BLOOM,
        Steering::RandomValue => 16,
    };
    IP_HEADER + ICN_HEADER + shim_size((INTEREST + way) as u32)
}

/// Bytes of a filter.
const BLOOM: usize = Bloom::BITS as usize / 8;

/// The traffic class that an Interest is marked with (§4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Sent at the flow's best-subflow rate.
    Primary,
    /// Sent to use what primary traffic leaves.
    Secondary,
}

/// The two rates that a link stamps, in bits of Data per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stamps {
    /// R_p(t).
    pub primary: f64,
    /// R_s(t).
    pub secondary: f64,
}

impl Stamps {
    /// What Data carry on after a link with these: the smaller of each (§3.1, §4.2).
    #[inline]
    pub fn least(self, other: Stamps) -> Stamps {
        Stamps { primary: self.primary.min(other.primary), secondary: self.secondary.min(other.secondary) }
    }

    /// In whole bits per second, as headers have them.
    #[inline]
    pub fn to_bps(self) -> [u64; 2] {
        [whole(self.primary), whole(self.secondary)]
    }
}

/// Which way an Interest is to go (§4.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Any that costs at most so much more than the shortest one from here (§4.3.3; see
    /// `fib.rs`).
    Any {
        /// So much.
        spare: u64,
        /// Each next hop is as likely as any other: ours. Else in proportion to bandwidth.
        evenly: bool,
    },
    /// That of the Data with this pathId: the paper's simulation shortcut.
    Path(PathId),
    /// That of the Data with this Bloom filter.
    Filter(Bloom),
    /// The one that forwarders make of a random value.
    Value {
        /// The value.
        value: u64,
        /// As above.
        spare: u64,
        /// As above.
        evenly: bool,
    },
}

/// What an Interest says to shapers and forwarders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterestHeader {
    /// Its class (§4.2).
    pub class: Class,
    /// Size of the Data that it asks for, which the application knows (§3.1.2).
    pub expected: u16,
    /// The consumer's RTT in microseconds, 0 before it knows one: for d(t).
    pub rtt: u32,
    /// Which way.
    pub way: Way,
}

impl InterestHeader {
    /// The RTT, if it tells one.
    #[inline]
    pub fn rtt(&self) -> Option<Time> {
        (self.rtt > 0).then(|| Time::from_us(u64::from(self.rtt)))
    }

    /// What an Interest says whose only header steers it along a path: the size of its Data, and the
    /// path.
    #[inline]
    pub fn along_path(packet: &Packet) -> Option<(u16, PathId)> {
        let body: &[u8; INTEREST + 8] = packet.only_body(InterestHeader::TAG)?.try_into().ok()?;
        let [flags, 0, e0, e1, ..] = *body else { return None };
        (flags & !SECONDARY == PATH).then(|| (u16::from_be_bytes([e0, e1]), PathId(number(&body[INTEREST..]))))
    }

    /// Puts another path on such an Interest.
    #[inline]
    pub fn set_path(packet: &mut Packet, path: PathId) {
        if let Some(place) = packet.only_body_mut(InterestHeader::TAG).and_then(|body| body.last_chunk_mut()) {
            *place = path.0.to_be_bytes();
        }
    }

    /// Puts another way on an Interest that carries this header: that of a path is written over.
    #[inline]
    pub fn put_way(&self, packet: &mut Packet, way: Way) {
        if let (Way::Path(_), Way::Path(path)) = (self.way, way)
            && let Some(place) = packet.only_body_mut(InterestHeader::TAG).and_then(|body| body.last_chunk_mut())
        {
            *place = path.0.to_be_bytes();
        } else {
            packet.set_header(&InterestHeader { way, ..*self });
        }
    }
}

/// A time as the header has it: above zero.
#[inline]
pub fn microseconds(rtt: Time) -> u32 {
    u32::try_from(rtt.0 / Time::from_us(1).0).unwrap_or(u32::MAX).max(1)
}

const SECONDARY: u8 = 1;
const PATH: u8 = 2;
const FILTER: u8 = 4;
const VALUE: u8 = 8;
const EVENLY: u8 = 16;
const EVEN_VALUE: u8 = VALUE | EVENLY;

fn words(bloom: &[u8; BLOOM]) -> Bloom {
    let mut words = [0; BLOOM / 8];
    words.iter_mut().zip(bloom.chunks_exact(8)).for_each(|(word, bytes)| *word = number(bytes));
    Bloom::from_words(words)
}

fn put_words(bloom: Bloom, out: &mut [u8]) {
    out.chunks_exact_mut(8).zip(bloom.words()).for_each(|(place, word)| place.copy_from_slice(&word.to_be_bytes()));
}

/// Eight bytes as a number.
#[inline]
fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap_or_default())
}

impl Way {
    /// Without a hint, along the shortest paths, in proportion to bandwidth.
    pub const ANY: Way = Way::Any { spare: 0, evenly: false };

    #[inline]
    fn flag(self) -> u8 {
        match self {
            Way::Any { evenly, .. } => EVENLY * u8::from(evenly),
            Way::Path(_) => PATH,
            Way::Filter(_) => FILTER,
            Way::Value { evenly, .. } => VALUE | (EVENLY * u8::from(evenly)),
        }
    }

    #[inline]
    fn len(self) -> usize {
        match self {
            Way::Any { .. } | Way::Path(_) => 8,
            Way::Filter(_) => BLOOM,
            Way::Value { .. } => 16,
        }
    }

    #[inline]
    fn put(self, out: &mut [u8]) {
        match self {
            Way::Any { spare: number, .. } | Way::Path(PathId(number)) => out.copy_from_slice(&number.to_be_bytes()),
            Way::Filter(bloom) => put_words(bloom, out),
            Way::Value { value, spare, .. } => {
                out[..8].copy_from_slice(&value.to_be_bytes());
                out[8..].copy_from_slice(&spare.to_be_bytes());
            }
        }
    }

    #[inline]
    fn get(flags: u8, body: &[u8]) -> Option<Way> {
        let evenly = flags & EVENLY != 0;
        match (flags & !SECONDARY, body.len()) {
            (0 | EVENLY, 8) => Some(Way::Any { spare: number(body), evenly }),
            (PATH, 8) => Some(Way::Path(PathId(number(body)))),
            (FILTER, BLOOM) => Some(Way::Filter(words(body.try_into().ok()?))),
            (EVEN_VALUE | VALUE, 16) => {
                Some(Way::Value { value: number(&body[..8]), spare: number(&body[8..]), evenly })
            }
            _ => None,
        }
    }
}

impl Header for InterestHeader {
    const TAG: u8 = 6;

    #[inline]
    fn body_len(&self) -> usize {
        INTEREST + self.way.len()
    }

    #[inline]
    fn put(&self, out: &mut [u8]) {
        let class = if self.class == Class::Secondary { SECONDARY } else { 0 };
        out[0] = class | self.way.flag();
        out[1] = 0;
        out[2..4].copy_from_slice(&self.expected.to_be_bytes());
        out[4..8].copy_from_slice(&self.rtt.to_be_bytes());
        self.way.put(&mut out[INTEREST..]);
    }

    #[inline]
    fn get(body: &[u8]) -> Option<InterestHeader> {
        let (head, way) = body.split_first_chunk::<INTEREST>()?;
        let [flags, 0, e0, e1, r0, r1, r2, r3] = *head else { return None };
        Some(InterestHeader {
            class: if flags & SECONDARY != 0 { Class::Secondary } else { Class::Primary },
            expected: u16::from_be_bytes([e0, e1]),
            rtt: u32::from_be_bytes([r0, r1, r2, r3]),
            way: Way::get(flags, way)?,
        })
    }
}

/// What Data tell of their way besides the pathId, for the consumer's next Interests (§4.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trail {
    /// Nothing.
    #[default]
    None,
    /// The next hops at the split points so far.
    Filter(Bloom),
    /// The random value of the Interest, reflected.
    Value(u64),
}

/// What Data and Nacks carry: the least rates of the links that they came over, in whole bits per
/// second, so that no peer can send NaN, and the pathId (§4.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped {
    /// Least R_p(t).
    pub primary: u64,
    /// Least R_s(t).
    pub secondary: u64,
    /// The path from the producer to here.
    pub path: PathId,
    /// What else steers along it.
    pub trail: Trail,
}

impl Stamped {
    /// Before any link: at a producer (§3.1, *MaxRate*), or where a Nack begins.
    #[inline]
    pub fn start(rate: u64, trail: Trail) -> Stamped {
        Stamped { primary: rate, secondary: rate, path: PathId::START, trail }
    }

    /// The rates.
    #[inline]
    pub fn stamps(&self) -> Stamps {
        Stamps { primary: self.primary as f64, secondary: self.secondary as f64 }
    }

    /// Puts another path and trail on Data that carry this header: a path alone is written over.
    #[inline]
    pub fn put_path(&self, packet: &mut Packet, path: PathId, trail: Trail) {
        if let (Trail::None, Trail::None) = (self.trail, trail)
            && let Some(place) = packet.only_body_mut(Stamped::TAG).and_then(|body| body.last_chunk_mut())
        {
            *place = path.0.to_be_bytes();
        } else {
            packet.set_header(&Stamped { path, trail, ..*self });
        }
    }

    /// The numbers of a packet's only header, if that is one without a trail, to be changed in place.
    #[inline]
    pub fn plain(packet: &mut Packet) -> Option<Plain<'_>> {
        packet.only_body_mut(Stamped::TAG)?.try_into().ok().map(Plain)
    }

    /// After a link with these rates (§3.1, §4.2): the smaller of each.
    #[inline]
    #[must_use]
    pub fn least(self, link: Stamps) -> Stamped {
        self.after(link.to_bps())
    }

    /// The same with a link's rates in [whole](Stamps::to_bps) bits per second.
    #[inline]
    #[must_use]
    pub fn after(self, [primary, secondary]: [u64; 2]) -> Stamped {
        Stamped { primary: self.primary.min(primary), secondary: self.secondary.min(secondary), ..self }
    }
}

/// A header of Data or a Nack that has no trail, as the bytes that it is.
pub struct Plain<'a>(&'a mut [u8; ANSWER]);

impl Plain<'_> {
    /// The path.
    #[inline]
    pub fn path(&self) -> PathId {
        PathId(number(&self.0[16..]))
    }

    /// Another path.
    #[inline]
    pub fn set_path(&mut self, path: PathId) {
        self.0[16..].copy_from_slice(&path.0.to_be_bytes());
    }

    /// [`Stamped::after`] a link; says whether a rate has become less.
    #[inline]
    pub fn lower(&mut self, rates: [u64; 2]) -> bool {
        let mut lowered = false;
        for (place, rate) in self.0.chunks_exact_mut(8).zip(rates) {
            if rate < number(place) {
                place.copy_from_slice(&rate.to_be_bytes());
                lowered = true;
            }
        }
        lowered
    }
}

/// Rounded to whole bits per second; a link's rates are numbers between its floor and its cap.
#[inline]
fn whole(rate: f64) -> u64 {
    (rate + 0.5) as u64
}

impl Header for Stamped {
    const TAG: u8 = 7;

    #[inline]
    fn body_len(&self) -> usize {
        let trail = match self.trail {
            Trail::None => 0,
            Trail::Filter(_) => BLOOM,
            Trail::Value(_) => 8,
        };
        ANSWER + trail
    }

    #[inline]
    fn put(&self, out: &mut [u8]) {
        for (place, number) in out.chunks_exact_mut(8).zip([self.primary, self.secondary, self.path.0]) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        match self.trail {
            Trail::None => {}
            Trail::Filter(bloom) => put_words(bloom, &mut out[ANSWER..]),
            Trail::Value(value) => out[ANSWER..].copy_from_slice(&value.to_be_bytes()),
        }
    }

    #[inline]
    fn get(body: &[u8]) -> Option<Stamped> {
        let (head, trail) = body.split_first_chunk::<ANSWER>()?;
        let trail = match trail.len() {
            0 => Trail::None,
            8 => Trail::Value(number(trail)),
            BLOOM => Trail::Filter(words(trail.try_into().ok()?)),
            _ => return None,
        };
        let (primary, secondary) = (number(&head[..8]), number(&head[8..16]));
        Some(Stamped { primary, secondary, path: PathId(number(&head[16..])), trail })
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, Kind, Name, NodeId, body_of};
    use proptest::prelude::*;

    use super::*;

    /// An Interest or Data, alone or around another header.
    fn with_header(header: &impl Header, kind: Kind, inner: bool) -> Packet {
        let mut packet = Packet::interest(FlowId(1), NodeId(2), Name { prefix: NodeId(3), object: 4 }, 5, 6);
        packet.kind = kind;
        if inner {
            packet.push_raw(70, &[1, 2, 3]);
        }
        packet.set_header(header);
        packet
    }

    proptest! {
        /// What is written over is what a new header would be.
        #[test]
        fn ways_and_paths_are_put_as_a_new_header_is(a: u64, b: u64, evenly: bool, filter: [u64; 4], inner: bool) {
            let filter = Bloom::from_words(filter);
            let value = Way::Value { value: a, spare: b, evenly };
            let any = Way::Any { spare: a, evenly };
            let ways = [any, Way::Path(PathId(a)), Way::Path(PathId(b)), Way::Filter(filter), value];
            for (way, other) in ways.iter().flat_map(|way| ways.map(|other| (*way, other))) {
                let header = InterestHeader { class: Class::Secondary, expected: 9, rtt: 10, way };
                let mut packet = with_header(&header, Kind::Interest, inner);
                header.put_way(&mut packet, other);
                let mut wanted = with_header(&header, Kind::Interest, inner);
                wanted.set_header(&InterestHeader { way: other, ..header });
                prop_assert_eq!(packet, wanted);
            }
            for trail in [Trail::None, Trail::Filter(filter), Trail::Value(a)] {
                let header = Stamped { primary: a, secondary: b, path: PathId(a), trail };
                let mut packet = with_header(&header, Kind::Data, inner);
                header.put_path(&mut packet, PathId(b), trail);
                prop_assert_eq!(packet, with_header(&Stamped { path: PathId(b), ..header }, Kind::Data, inner));
            }
        }

        /// What is read and written in place is what a whole header would be.
        #[test]
        fn plain_headers_are_read_and_written_in_place(a: u64, b: u64, path: u64, rates: [u64; 2], inner: bool) {
            let link = [rates[0] >> 1, rates[1] << 1];
            for trail in [Trail::None, Trail::Filter(Bloom::from_words([a; 4])), Trail::Value(b)] {
                let header = Stamped { primary: a, secondary: b, path: PathId(path), trail };
                let mut packet = with_header(&header, Kind::Data, inner);
                let Some(mut plain) = Stamped::plain(&mut packet) else {
                    prop_assert!(inner || trail != Trail::None);
                    continue;
                };
                prop_assert!(!inner && trail == Trail::None);
                prop_assert_eq!(plain.path(), header.path);
                let after = header.after(link);
                prop_assert_eq!(plain.lower(link), after != header);
                plain.set_path(PathId(a));
                prop_assert_eq!(packet, with_header(&Stamped { path: PathId(a), ..after }, Kind::Data, inner));
            }
            let value = Way::Value { value: a, spare: b, evenly: inner };
            for way in [Way::Any { spare: a, evenly: inner }, Way::Path(PathId(path)), Way::Filter(Bloom::default()), value] {
                for class in [Class::Primary, Class::Secondary] {
                    let header = InterestHeader { class, expected: a as u16, rtt: 10, way };
                    let mut packet = with_header(&header, Kind::Interest, inner);
                    let along = !inner && way == Way::Path(PathId(path));
                    let wanted = along.then_some((header.expected, PathId(path)));
                    prop_assert_eq!(InterestHeader::along_path(&packet), wanted);
                    if along {
                        InterestHeader::set_path(&mut packet, PathId(b));
                        let other = InterestHeader { way: Way::Path(PathId(b)), ..header };
                        prop_assert_eq!(packet, with_header(&other, Kind::Interest, inner));
                    }
                }
            }
        }

        /// Whatever is read is written the same; whatever is written is read.
        #[test]
        fn headers_have_one_encoding(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(header) = InterestHeader::get(&bytes) {
                prop_assert_eq!(body_of(&header), bytes.clone());
            }
            if let Some(header) = Stamped::get(&bytes) {
                prop_assert_eq!(body_of(&header), bytes);
            }
        }

        #[test]
        fn headers_come_back(
            secondary: bool, evenly: bool, expected: u16, rtt: u32, a: u64, b: u64, filter: [u64; 4],
        ) {
            let class = if secondary { Class::Secondary } else { Class::Primary };
            let filter = Bloom::from_words(filter);
            let value = Way::Value { value: a, spare: b, evenly };
            for way in [Way::Any { spare: a, evenly }, Way::Path(PathId(a)), Way::Filter(filter), value] {
                let header = InterestHeader { class, expected, rtt, way };
                prop_assert_eq!(InterestHeader::get(&body_of(&header)), Some(header));
            }
            for trail in [Trail::None, Trail::Filter(filter), Trail::Value(a)] {
                let header = Stamped { primary: a, secondary: b, path: PathId(a ^ b), trail };
                prop_assert_eq!(Stamped::get(&body_of(&header)), Some(header));
            }
        }
    }

    #[test]
    fn each_link_lowers_what_it_must() {
        let data = Stamped { primary: 10, secondary: 5, path: PathId(3), trail: Trail::None };
        let after = data.least(Stamps { primary: 7.4, secondary: 9.0 });
        assert_eq!(after, Stamped { primary: 7, ..data });
    }
}
