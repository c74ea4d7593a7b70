//! The options, as bytes.

use midpath_core::packet::{FlowId, Header, NodeId, Packet, body_of};
use proptest::prelude::*;

use crate::mptcp::header::{Dss, Hello, Mapping, Place, sack_blocks};

fn mapping() -> impl Strategy<Value = Mapping> {
    let data = prop_oneof![any::<u64>(), 0u64..1 << 40].prop_map(|d| d.min(u64::MAX - u64::from(u16::MAX)));
    (data, any::<u32>(), 1u16..).prop_map(|(data, subflow, len)| Mapping { data, subflow, len })
}

proptest! {
    #[test]
    fn what_is_written_is_read(ack in any::<u64>(), mapping in prop::option::of(mapping()), fin in any::<bool>()) {
        let dss = Dss { ack, mapping, fin: fin && mapping.is_some() };
        let body = body_of(&dss);
        prop_assert_eq!(Dss::get(&body), Some(dss));
        prop_assert_eq!(Hello::get(&body), None);
    }

    #[test]
    fn any_bytes_are_read_or_refused(body in prop_oneof![Just(10usize), Just(24), 0usize..40].prop_flat_map(|n| prop::collection::vec(any::<u8>(), n)), seq in any::<u32>(), payload in any::<u16>(), head in any::<bool>()) {
        let mut body = body;
        if head && body.len() >= 2 {
            let fin = body[1] & 0x10;
            let flags = if body.len() == 10 { 0x03 } else { 0x0f | fin };
            body[..2].copy_from_slice(&[0x20, flags]);
        }
        let _ = Hello::get(&body);
        let Some(dss) = Dss::get(&body) else { return Ok(()) };
        prop_assert_eq!(body_of(&dss), body, "nothing is read that is not there");
        let mut packet = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500);
        packet.payload = payload;
        if let Some(place) = dss.place(&packet, seq) {
            prop_assert_eq!(place.to - place.from, u64::from(payload));
            let m = dss.mapping.expect("a place comes from a mapping");
            prop_assert!(place.from >= m.data && place.to <= m.data + u64::from(m.len));
            prop_assert!(place.end.is_none_or(|e| e >= place.to));
        }
    }
}

#[test]
fn a_mapping_must_cover_the_payload() {
    let place = |data, subflow, len, fin, seq, payload| {
        let mut packet = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500);
        packet.payload = payload;
        Dss { ack: 0, mapping: Some(Mapping { data, subflow, len }), fin }.place(&packet, seq)
    };
    let found = |from, to, end| Some(Place { from, to, end });
    assert_eq!(place(5000, 100, 1000, false, 100, 1000), found(5000, 6000, None));
    assert_eq!(place(5000, 100, 1000, false, 300, 800), found(5200, 6000, None), "a later part");
    assert_eq!(place(5000, 100, 1000, false, 300, 801), None, "a byte too many");
    assert_eq!(place(5000, 100, 1000, false, 99, 1000), None, "before it");
    assert_eq!(
        place(5000, 100, 1001, true, 100, 1000),
        found(5000, 6000, Some(6000)),
        "the DATA_FIN is the last number"
    );
    assert_eq!(place(5000, 100, 1000, true, 100, 1000), None, "the DATA_FIN is no data");
    assert_eq!(place(6000, 1100, 1, true, 1100, 0), found(6000, 6000, Some(6000)), "alone");
    // The subflow's number wraps with its 32 bits, the data's does not.
    assert_eq!(place(5000, u32::MAX, 1000, false, 9, 100), found(5010, 5110, None));
}

#[test]
fn options_fit_into_40_bytes() {
    assert_eq!((sack_blocks(true), sack_blocks(false)), (1, 3));
    let sizes = [Hello::Capable(2), Hello::Join].map(|h| (h.size(false), h.size(true)));
    assert_eq!(sizes, [(4, 12), (12, 16)], "RFC 8684, figures 4, 6 and 7");
    assert_eq!(Hello::get(&body_of(&Hello::Capable(0))), None, "an end without an address");
    assert_eq!(Hello::get(&body_of(&Hello::Capable(16))), None, "more than can be named");
}
