//! What stands around a packet from hop to hop: NDNLPv2, and MIRCC's fields in its header.

use crate::packet::Network;
use crate::tlv::{Element, Error, MAX_PACKET, Reader, put, put_nested, put_number};

const LP_PACKET: u32 = 0x64;
const FRAGMENT: u32 = 0x50;
const SEQUENCE: u32 = 0x51;
const FRAG_INDEX: u32 = 0x52;
const FRAG_COUNT: u32 = 0x53;
const PIT_TOKEN: u32 = 0x62;
const NACK: u32 = 0x0320;
const NACK_REASON: u32 = 0x0321;
const CONGESTION_MARK: u32 = 0x0340;

/// MIRCC's fields. NDNLPv2: who does not know a header field ignores it if its type is from 800 to
/// 959 and a multiple of 4.
const CLASS: u32 = 0x03A0;
const DATA_SIZE: u32 = 0x03A4;
const ROUND_TRIP: u32 = 0x03A8;
const RATES: u32 = 0x03AC;
const PATH_ID: u32 = 0x03B0;
const FILTER: u32 = 0x03B4;
const RANDOM_VALUE: u32 = 0x03B8;
const SPARE_COST: u32 = 0x03BC;

/// Bytes of a PIT token (NDNLPv2).
pub const MAX_TOKEN: usize = 32;

/// Why an Interest was refused.
pub mod reason {
    /// No reason given.
    pub const NONE: u64 = 0;
    /// The shaper, or the PIT, has no room.
    pub const CONGESTION: u64 = 50;
    /// It has been here: a loop.
    pub const DUPLICATE: u64 = 100;
    /// Nothing leads there.
    pub const NO_ROUTE: u64 = 150;
}

/// What MIRCC says, on Interests (i), on Data and Nacks (d), or both. Each field is a
/// NonNegativeInteger unless it says its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mircc {
    /// i: 1 for the secondary class (§4.2); the primary one unless said.
    pub class: Option<u64>,
    /// i: size of the Data asked for, bytes.
    pub data_size: Option<u64>,
    /// i: the consumer's round trip, µs; above zero.
    pub round_trip: Option<u64>,
    /// d: least R_p and R_s of the links so far, bit/s; 16 bytes.
    pub rates: Option<(u64, u64)>,
    /// d: the pathId so far; i: that of the Data to follow (§4.3.1, §4.3.2, the simulation
    /// shortcut); 8 bytes.
    pub path_id: Option<u64>,
    /// d: Bloom filter of the next hops at split points so far; i: that to steer by (§4.3.2); 32
    /// bytes.
    pub filter: Option<[u8; 32]>,
    /// i: the random value to steer by; d: the Interest's, reflected (§4.3.2); 8 bytes.
    pub random_value: Option<u64>,
    /// i: what the path may cost above the shortest one from here.
    pub spare_cost: Option<u64>,
}

impl Mircc {
    /// Reads one field; whether it is one.
    fn field(&mut self, element: Element<'_>) -> Result<bool, Error> {
        let bad = Error::Value(element.kind);
        let twice = match element.kind {
            CLASS => set(&mut self.class, Some(element.number()?).filter(|class| *class <= 1).ok_or(bad)?),
            DATA_SIZE => set(&mut self.data_size, element.number()?),
            ROUND_TRIP => set(&mut self.round_trip, Some(element.number()?).filter(|rtt| *rtt > 0).ok_or(bad)?),
            RATES => {
                let bytes = element.array::<16>()?;
                let (primary, secondary) = bytes.split_at(8);
                set(&mut self.rates, (eight(primary), eight(secondary)))
            }
            PATH_ID => set(&mut self.path_id, u64::from_be_bytes(element.array()?)),
            FILTER => set(&mut self.filter, element.array()?),
            RANDOM_VALUE => set(&mut self.random_value, u64::from_be_bytes(element.array()?)),
            SPARE_COST => set(&mut self.spare_cost, element.number()?),
            _ => return Ok(false),
        };
        if twice { Err(Error::Element(element.kind)) } else { Ok(true) }
    }

    fn put(&self, out: &mut Vec<u8>) {
        let mut number = |kind, field: Option<u64>| field.iter().for_each(|n| put_number(kind, *n, out));
        number(CLASS, self.class);
        number(DATA_SIZE, self.data_size);
        number(ROUND_TRIP, self.round_trip);
        if let Some((primary, secondary)) = self.rates {
            put(RATES, &[primary.to_be_bytes(), secondary.to_be_bytes()].concat(), out);
        }
        self.path_id.iter().for_each(|id| put(PATH_ID, &id.to_be_bytes(), out));
        self.filter.iter().for_each(|filter| put(FILTER, filter, out));
        self.random_value.iter().for_each(|value| put(RANDOM_VALUE, &value.to_be_bytes(), out));
        self.spare_cost.iter().for_each(|cost| put_number(SPARE_COST, *cost, out));
    }
}

fn eight(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap_or_default())
}

/// Sets a field; whether it was there already.
fn set<T>(field: &mut Option<T>, value: T) -> bool {
    field.replace(value).is_some()
}

/// A packet as it goes over a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LpPacket {
    /// The downstream node's own word for the Interest, which comes back with its answer.
    pub pit_token: Option<Vec<u8>>,
    /// Of a Nack, with the Interest that it refuses: the reason.
    pub nack: Option<u64>,
    /// Above zero: a queue on the way was too long.
    pub congestion_mark: Option<u64>,
    /// MIRCC's fields.
    pub mircc: Mircc,
    /// The packet.
    pub packet: Network,
}

impl LpPacket {
    /// A packet with nothing around it.
    pub fn bare(packet: Network) -> LpPacket {
        LpPacket { pit_token: None, nack: None, congestion_mark: None, mircc: Mircc::default(), packet }
    }

    /// Reads what came over a link: an LpPacket, or a bare Interest or Data.
    pub fn decode(bytes: &[u8]) -> Result<LpPacket, Error> {
        if bytes.len() > MAX_PACKET {
            return Err(Error::Bounds);
        }
        let element = Reader::only(bytes)?;
        match element.kind {
            LP_PACKET => LpPacket::get(element.value),
            _ => Network::get(bytes).map(LpPacket::bare),
        }
    }

    fn get(value: &[u8]) -> Result<LpPacket, Error> {
        let (mut token, mut nack, mut mark, mut mircc) = (None, None, None, Mircc::default());
        let mut reader = Reader::new(value);
        while let Some(element) = reader.element()? {
            let twice = match element.kind {
                FRAGMENT => {
                    // It is the last.
                    let after = reader.element()?.map(|e| Error::Element(e.kind));
                    let packet = Network::get(element.value)?;
                    let refused = nack.is_none() || matches!(packet, Network::Interest(_));
                    return match after {
                        Some(error) => Err(error),
                        None if !refused => Err(Error::Element(NACK)),
                        None => Ok(LpPacket { pit_token: token, nack, congestion_mark: mark, mircc, packet }),
                    };
                }
                PIT_TOKEN if (1..=MAX_TOKEN).contains(&element.value.len()) => set(&mut token, element.value.to_vec()),
                PIT_TOKEN => return Err(Error::Value(PIT_TOKEN)),
                NACK => set(&mut nack, nack_reason(element.value)?),
                CONGESTION_MARK => set(&mut mark, element.number()?),
                FRAG_COUNT if element.number()? != 1 => return Err(Error::Fragment),
                FRAG_INDEX if element.number()? != 0 => return Err(Error::Fragment),
                FRAG_COUNT | FRAG_INDEX | SEQUENCE => false,
                kind if !mircc.field(element)? && !ignorable(kind) => return Err(Error::Element(kind)),
                _ => false,
            };
            if twice {
                return Err(Error::Element(element.kind));
            }
        }
        Err(Error::Missing(FRAGMENT))
    }

    /// The bytes of the Interest or Data in what [`LpPacket::decode`] reads: what a forwarder sends
    /// on, for a Data's are signed.
    pub fn network_part(bytes: &[u8]) -> Result<&[u8], Error> {
        let element = Reader::only(bytes)?;
        if element.kind != LP_PACKET {
            return Ok(bytes);
        }
        let mut reader = Reader::new(element.value);
        while let Some(element) = reader.element()? {
            if element.kind == FRAGMENT {
                return Ok(element.value);
            }
        }
        Err(Error::Missing(FRAGMENT))
    }

    /// Its bytes, header fields in rising order of their types. A bare packet if it has none.
    pub fn encode(&self) -> Vec<u8> {
        let mut packet = Vec::new();
        self.packet.put(&mut packet);
        self.encode_around(&packet)
    }

    /// The same with an Interest or Data whose bytes are there.
    pub fn encode_around(&self, packet: &[u8]) -> Vec<u8> {
        let LpPacket { pit_token, nack, congestion_mark, mircc, .. } = self;
        if pit_token.is_none() && nack.is_none() && congestion_mark.is_none() && *mircc == Mircc::default() {
            return packet.to_vec();
        }
        let mut out = Vec::new();
        put_nested(LP_PACKET, &mut out, |out| {
            self.pit_token.iter().for_each(|token| put(PIT_TOKEN, token, out));
            self.nack.iter().for_each(|reason| {
                put_nested(NACK, out, |out| {
                    // NDNLPv2: no reason is none given.
                    if *reason != reason::NONE {
                        put_number(NACK_REASON, *reason, out);
                    }
                });
            });
            self.congestion_mark.iter().for_each(|mark| put_number(CONGESTION_MARK, *mark, out));
            self.mircc.put(out);
            put(FRAGMENT, packet, out);
        });
        out
    }
}

/// NDNLPv2: whether a field may be read over by who does not know it.
fn ignorable(kind: u32) -> bool {
    (800..=959).contains(&kind) && kind.is_multiple_of(4)
}

fn nack_reason(value: &[u8]) -> Result<u64, Error> {
    let mut reader = Reader::new(value);
    let mut reason = None;
    while let Some(element) = reader.element()? {
        if element.kind == NACK_REASON && set(&mut reason, element.number()?) {
            return Err(Error::Element(NACK_REASON));
        }
    }
    Ok(reason.unwrap_or(reason::NONE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::{Component, Name};
    use crate::packet::{Data, Interest};
    use proptest::prelude::*;

    fn interest() -> Network {
        Network::Interest(Interest { name: Name::of_segment(1, 2, 3), nonce: Some(5), ..Interest::default() })
    }

    #[test]
    fn a_bare_packet_stays_bare() {
        let packet = LpPacket::bare(interest());
        assert_eq!(packet.encode()[0], 5);
        assert_eq!(LpPacket::decode(&packet.encode()), Ok(packet));
    }

    /// The example in `docs/wire.md`.
    #[test]
    fn the_documented_interest_is_what_is_written() {
        let hex = "6435620400000007fd03a00101fd03a40205dc50220520071408076d696470617468080231320801373202012c0a04010203040c020fa0";
        let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).expect("a digit") as u8).collect();
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let name = Name::of_segment(12, 7, 300);
        let interest = Interest { name, nonce: Some(0x0102_0304), lifetime: Some(4000), ..Interest::default() };
        let mircc = Mircc { class: Some(1), data_size: Some(1500), ..Mircc::default() };
        let bare = LpPacket::bare(Network::Interest(interest));
        assert_eq!(LpPacket { pit_token: Some(vec![0, 0, 0, 7]), mircc, ..bare }.encode(), bytes);
    }

    #[test]
    fn mirccs_fields_stand_where_strangers_ignore_them() {
        for kind in [CLASS, DATA_SIZE, ROUND_TRIP, RATES, PATH_ID, FILTER, RANDOM_VALUE, SPARE_COST] {
            assert!(ignorable(kind), "{kind:#x}");
        }
        assert!(!ignorable(NACK_REASON) && !ignorable(796) && !ignorable(960));
    }

    /// An LpPacket with these header bytes around an Interest.
    fn with(header: &[u8]) -> Result<LpPacket, Error> {
        let mut out = Vec::new();
        put_nested(LP_PACKET, &mut out, |out| {
            out.extend_from_slice(header);
            let mut packet = Vec::new();
            interest().put(&mut packet);
            put(FRAGMENT, &packet, out);
        });
        LpPacket::decode(&out)
    }

    #[test]
    fn header_fields_are_what_the_link_allows() {
        assert!(with(&[253, 3, 0x90, 1, 7]).is_ok(), "unknown, and may be ignored");
        assert_eq!(with(&[253, 3, 0x91, 0]), Err(Error::Element(0x391)), "unknown, and may not");
        assert_eq!(with(&[0x62, 0]), Err(Error::Value(PIT_TOKEN)));
        assert_eq!(with(&[0x53, 1, 2]), Err(Error::Fragment));
        assert!(with(&[0x53, 1, 1]).is_ok());
        assert_eq!(with(&[253, 3, 0xA0, 1, 2]), Err(Error::Value(CLASS)), "two classes");
        assert_eq!(with(&[253, 3, 0xA8, 1, 0]), Err(Error::Value(ROUND_TRIP)));
        assert_eq!(with(&[253, 3, 0xA0, 1, 1, 253, 3, 0xA0, 1, 1]), Err(Error::Element(CLASS)), "twice");
        assert_eq!(with(&[253, 3, 0x20, 5, 253, 3, 0x21, 1, 50]).map(|p| p.nack), Ok(Some(50)));
        assert_eq!(with(&[253, 3, 0x20, 0]).map(|p| p.nack), Ok(Some(reason::NONE)));
        assert_eq!(LpPacket::decode(&[0x64, 0]), Err(Error::Missing(FRAGMENT)));
        assert_eq!(LpPacket::decode(&vec![0; MAX_PACKET + 1]), Err(Error::Bounds));
    }

    #[test]
    fn only_interests_are_refused() {
        let packet = Network::Data(Data::unsigned(Name::of_segment(1, 2, 3), Vec::new()));
        let nack = LpPacket { nack: Some(reason::CONGESTION), ..LpPacket::bare(packet) };
        assert_eq!(LpPacket::decode(&nack.encode()), Err(Error::Element(NACK)));
    }

    /// An Interest's, a Data's, NDNLPv2's: the types that a packet may have.
    const BEGINNINGS: [u8; 3] = [5, 6, 0x64];

    fn names() -> impl Strategy<Value = Name> {
        let component = (3u16.., prop::collection::vec(any::<u8>(), 0..20));
        let component = component.prop_map(|(kind, value)| Component { kind, value });
        prop::collection::vec(component, 1..10).prop_map(Name)
    }

    fn networks() -> impl Strategy<Value = Network> {
        let rest = (any::<bool>(), any::<bool>(), any::<Option<u32>>(), any::<Option<u64>>(), any::<Option<u8>>());
        let interest =
            (names(), rest).prop_map(|(name, (can_be_prefix, must_be_fresh, nonce, lifetime, hop_limit))| {
                Network::Interest(Interest { name, can_be_prefix, must_be_fresh, nonce, lifetime, hop_limit })
            });
        let bytes = || prop::collection::vec(any::<u8>(), 0..300);
        let data =
            (names(), any::<Option<u64>>(), bytes(), bytes()).prop_map(|(name, freshness, content, signature)| {
                let data = Data { signature, ..Data::unsigned(name, content) };
                Network::Data(freshness.map_or(data.clone(), |ms| data.fresh_for(ms)))
            });
        prop_oneof![interest, data]
    }

    prop_compose! {
        fn fields()(
            class in prop::option::of(0..2u64), data_size: Option<u64>, round_trip in prop::option::of(1u64..), rates: Option<(u64, u64)>,
            path_id: Option<u64>, filter: Option<[u8; 32]>, random_value: Option<u64>, spare_cost: Option<u64>,
        ) -> Mircc {
            Mircc { class, data_size, round_trip, rates, path_id, filter, random_value, spare_cost }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            packet in networks(), mircc in fields(), nack: Option<u64>, congestion_mark: Option<u64>,
            pit_token in prop::option::of(prop::collection::vec(any::<u8>(), 1..=MAX_TOKEN)),
        ) {
            let nack = nack.filter(|_| matches!(packet, Network::Interest(_)));
            let packet = LpPacket { pit_token, nack, congestion_mark, mircc, packet };
            let bytes = packet.encode();
            let part = LpPacket::network_part(&bytes).expect("there");
            prop_assert_eq!(LpPacket::decode(part).map(|p| p.packet), Ok(packet.packet.clone()));
            prop_assert_eq!(packet.encode_around(part), bytes.clone());
            prop_assert_eq!(LpPacket::decode(&bytes), Ok(packet));
        }

        /// Bytes with something wrong, and any bytes at all: an error or a packet, which is then
        /// the same again.
        #[test]
        fn no_bytes_make_it_panic(packet in networks(), mircc in fields(), at: prop::sample::Index, to: u8, cut: prop::sample::Index) {
            let mut bytes = LpPacket { mircc, ..LpPacket::bare(packet) }.encode();
            let at = at.index(bytes.len());
            bytes[at] = to;
            bytes.truncate(cut.index(bytes.len() * 4).max(1));
            if let Ok(packet) = LpPacket::decode(&bytes) {
                prop_assert_eq!(LpPacket::decode(&packet.encode()), Ok(packet));
            }
        }

        /// What begins as no packet does is an error. Behind a beginning that fits, what is read as
        /// a packet is the same again.
        #[test]
        fn random_bytes_are_no_packets(
            bytes in prop::collection::vec(any::<u8>(), 0..64), kind in prop::sample::select(&BEGINNINGS),
        ) {
            if bytes.first().is_none_or(|first| !BEGINNINGS.contains(first)) {
                prop_assert!(LpPacket::decode(&bytes).is_err());
            }
            let whole = [&[kind, bytes.len() as u8], &bytes[..]].concat();
            if let Ok(packet) = LpPacket::decode(&whole) {
                prop_assert_eq!(LpPacket::decode(&packet.encode()), Ok(packet));
            }
        }
    }
}
