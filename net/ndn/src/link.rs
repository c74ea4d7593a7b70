//! What stands around a packet from hop to hop: NDNLPv2, and MIRCC's fields in its header.
//!
//! [`Frame`] is what comes, where it stands; [`Header`] reads and writes what is around a packet;
//! [`fragment`] splits packets and puts them together. [`LpPacket`] is a packet with all of it, as a
//! value.

pub mod fragment;
pub mod frame;
pub mod header;
pub mod mircc;

use crate::packet::Network;
use crate::tlv::Error;

pub use fragment::{Fragmenter, Reassembler};
pub use frame::{Frame, Frames, first_frame};
pub use header::{Header, Piece, PitToken};
pub use mircc::Mircc;

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

/// A packet as it goes over a link, as a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LpPacket {
    /// What stands around it.
    pub header: Header,
    /// The packet.
    pub packet: Network,
}

impl LpPacket {
    /// A packet with nothing around it.
    pub fn bare(packet: Network) -> LpPacket {
        LpPacket { header: Header::default(), packet }
    }

    /// Reads what came over a link: an LpPacket with a whole packet, or a bare Interest or Data.
    pub fn decode(bytes: &[u8]) -> Result<LpPacket, Error> {
        let Frame { header, packet } = Frame::of(bytes)?;
        if header.piece.is_some() {
            return Err(Error::Fragment);
        }
        let packet = Network::get(packet.ok_or(Error::Missing(header::FRAGMENT))?)?;
        if header.nack.is_some() && !matches!(packet, Network::Interest(_)) {
            return Err(Error::Element(header::NACK));
        }
        Ok(LpPacket { header, packet })
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let (mut packet, mut out) = (Vec::new(), Vec::new());
        self.packet.put(&mut packet);
        self.header.wrap(&packet, &mut out);
        out
    }
}

/// Sets a field; whether it was there already.
fn set<T>(field: &mut Option<T>, value: T) -> bool {
    field.replace(value).is_some()
}

/// NDNLPv2: whether a field may be read over by who does not know it.
fn ignorable(kind: u32) -> bool {
    (800..=959).contains(&kind) && kind.is_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::{Component, Name};
    use crate::packet::{Data, Interest};
    use crate::tlv::{put, put_nested};
    use header::{FRAGMENT, LP_PACKET, MAX_TOKEN, NACK, NACK_REASON, PIT_TOKEN};
    use mircc::*;
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

    /// The example in the crate's README.
    #[test]
    fn the_documented_interest_is_what_is_written() {
        let hex = "6435620400000007fd03a00101fd03a40205dc50220520071408076d696470617468080231320801373202012c0a04010203040c020fa0";
        let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).expect("a digit") as u8).collect();
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let name = Name::of_segment(12, 7, 300);
        let interest = Interest { name, nonce: Some(0x0102_0304), lifetime: Some(4000), ..Interest::default() };
        let mircc = Mircc { class: Some(1), data_size: Some(1500), ..Mircc::default() };
        let header = Header { pit_token: PitToken::of(&[0, 0, 0, 7]), mircc, ..Header::default() };
        assert_eq!(LpPacket { header, packet: Network::Interest(interest) }.encode(), bytes);
    }

    #[test]
    fn mirccs_fields_stand_where_strangers_ignore_them() {
        for kind in [HELLO, CLASS, DATA_SIZE, ROUND_TRIP, RATES, PATH_ID, FILTER, RANDOM_VALUE, SPARE_COST] {
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
        assert_eq!(with(&[0x53, 1, 2]), Err(Error::Missing(0x51)), "a fragment without a number");
        assert_eq!(with(&[0x51, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0x53, 1, 2]), Err(Error::Fragment));
        assert_eq!(with(&[0x51, 1, 1]), Err(Error::Value(0x51)), "numbers of fragments have eight bytes");
        assert_eq!(with(&[0x52, 1, 1]), Err(Error::Fragment), "the second of one");
        assert!(with(&[0x53, 1, 1]).is_ok());
        assert_eq!(with(&[253, 3, 0xA0, 1, 2]), Err(Error::Value(CLASS)), "two classes");
        assert_eq!(with(&[253, 3, 0x9C, 1, 3]), Err(Error::Value(HELLO)), "says nothing that is known");
        assert_eq!(with(&[253, 3, 0xA8, 1, 0]), Err(Error::Value(ROUND_TRIP)));
        assert_eq!(with(&[253, 3, 0xA0, 1, 1, 253, 3, 0xA0, 1, 1]), Err(Error::Element(CLASS)), "twice");
        assert_eq!(with(&[253, 3, 0x20, 5, 253, 3, 0x21, 1, 50]).map(|p| p.header.nack), Ok(Some(50)));
        assert_eq!(with(&[253, 3, 0x20, 0]).map(|p| p.header.nack), Ok(Some(reason::NONE)));
        assert_eq!(LpPacket::decode(&[0x64, 0]), Err(Error::Missing(FRAGMENT)));
        assert_eq!(LpPacket::decode(&vec![0; frame::MAX_FRAME + 1]), Err(Error::Bounds));
    }

    #[test]
    fn only_interests_are_refused() {
        let packet = Network::Data(Data::unsigned(Name::of_segment(1, 2, 3), Vec::new()));
        let header = Header { nack: Some(reason::CONGESTION), ..Header::default() };
        let nack = LpPacket { header, packet };
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
            hello in prop::option::of(1..=2u64), class in prop::option::of(0..2u64), data_size: Option<u64>, round_trip in prop::option::of(1u64..), rates: Option<(u64, u64)>,
            path_id: Option<u64>, filter: Option<[u8; 32]>, random_value: Option<u64>, spare_cost: Option<u64>,
        ) -> Mircc {
            Mircc { hello, class, data_size, round_trip, rates, path_id, filter, random_value, spare_cost }
        }
    }

    prop_compose! {
        fn headers()(
            mircc in fields(), nack: Option<u64>, congestion_mark: Option<u64>, incoming_face: Option<u64>,
            next_hop_face: Option<u64>, token in prop::collection::vec(any::<u8>(), 0..=MAX_TOKEN),
        ) -> Header {
            let pit_token = PitToken::of(&token);
            Header { piece: None, pit_token, nack, incoming_face, next_hop_face, congestion_mark, mircc }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(packet in networks(), header in headers()) {
            let nack = header.nack.filter(|_| matches!(packet, Network::Interest(_)));
            let packet = LpPacket { header: Header { nack, ..header }, packet };
            let bytes = packet.encode();
            let frame = Frame::of(&bytes).expect("there");
            prop_assert_eq!(Network::get(frame.packet.expect("one")), Ok(packet.packet.clone()));
            let mut again = Vec::new();
            frame.header.wrap(frame.packet.expect("one"), &mut again);
            prop_assert_eq!(&again, &bytes);
            prop_assert_eq!(LpPacket::decode(&bytes), Ok(packet));
        }

        /// Bytes with something wrong, and any bytes at all: an error or a packet, which is then
        /// the same again.
        #[test]
        fn no_bytes_make_it_panic(packet in networks(), mircc in fields(), at: prop::sample::Index, to: u8, cut: prop::sample::Index) {
            let mut bytes = LpPacket { header: Header { mircc, ..Header::default() }, packet }.encode();
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
