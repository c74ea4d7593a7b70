//! The options, as bytes.

use midpath_core::packet::{Header, body_of};
use proptest::prelude::*;

use crate::mptcp::announce::AddAddr;
use crate::mptcp::header::{Dss, Mapping, Place, sack_blocks};
use crate::mptcp::hello::{Hello, Refused};

fn mapping() -> impl Strategy<Value = Mapping> {
    (any::<u64>(), any::<u32>(), 1u16..).prop_map(|(data, subflow, len)| Mapping { data, subflow, len })
}

fn hello() -> impl Strategy<Value = Hello> {
    let word = any::<u32>;
    let key = any::<u64>;
    prop_oneof![
        Just(Hello::Capable),
        key().prop_map(Hello::Listener),
        (key(), key(), any::<Option<u16>>()).prop_map(|(own, peer, data)| Hello::Keys { own, peer, data }),
        (any::<u8>(), word(), word()).prop_map(|(address, token, nonce)| Hello::Join { address, token, nonce }),
        (any::<u8>(), any::<[u8; 8]>(), word()).prop_map(|(address, proof, nonce)| Hello::Joined {
            address,
            proof,
            nonce
        }),
        any::<[u8; 20]>().prop_map(Hello::Proof),
    ]
}

/// What each parser makes of the bytes, written again: DSS, handshake, address, reset.
fn read(body: &[u8]) -> [Option<Vec<u8>>; 4] {
    [
        Dss::get(body).map(|o| body_of(&o)),
        Hello::get(body).map(|o| body_of(&o)),
        AddAddr::get(body).map(|o| body_of(&o)),
        Refused::get(body).map(|o| body_of(&o)),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        ack in any::<u64>(), mapping in prop::option::of(mapping()), fin in any::<bool>(), hello in hello(),
        id in any::<u8>(), address in any::<[u8; 4]>(), proof in any::<Option<[u8; 8]>>(),
    ) {
        let dss = Dss { ack, mapping, fin: fin && mapping.is_some() };
        let add = AddAddr { id, address, proof };
        prop_assert_eq!((Dss::get(&body_of(&dss)), Hello::get(&body_of(&hello))), (Some(dss), Some(hello)));
        prop_assert_eq!(AddAddr::get(&body_of(&add)), Some(add));
        for (i, body) in [body_of(&dss), body_of(&hello), body_of(&add)].iter().enumerate() {
            let all = read(body);
            prop_assert!(all.iter().enumerate().all(|(j, o)| o.is_some() == (i == j)), "one option is one thing: {:?}", all);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(body in prop_oneof![Just(10usize), Just(24), 0usize..40].prop_flat_map(|n| prop::collection::vec(any::<u8>(), n)), first in any::<u64>(), near in any::<bool>(), seq in any::<u32>(), payload in any::<u16>(), head in any::<bool>()) {
        let mut body = body;
        if head && body.len() >= 2 {
            let fin = body[1] & 0x10;
            let flags = if body.len() == 10 { 0x03 } else { 0x0f | fin };
            body[..2].copy_from_slice(&[0x20, flags]);
        }
        if near && body.len() == 24 {
            body[10..18].copy_from_slice(&first.wrapping_add(u64::from(seq)).to_be_bytes());
        }
        let Some(dss) = Dss::get(&body) else { return Ok(()) };
        prop_assert_eq!(body_of(&dss), body, "nothing is read that is not there");
        if let Some(place) = dss.place(first, seq, payload) {
            prop_assert_eq!(place.to - place.from, u64::from(payload));
            let m = dss.mapping.expect("a place comes from a mapping");
            let at = m.data.wrapping_sub(first);
            prop_assert!(place.from >= at && place.to <= at + u64::from(m.len));
            prop_assert!(place.end.is_none_or(|e| e >= place.to));
        }
    }

    #[test]
    fn handshakes_of_any_bytes_are_read_or_refused(
        mut body in prop_oneof![prop::sample::select(vec![2usize, 6, 10, 14, 18, 20, 22]), 0usize..40]
            .prop_flat_map(|n| prop::collection::vec(any::<u8>(), n)),
        head in prop::option::of(prop::sample::select(vec![[0x01, 0x01], [0x10, 3], [0x30, 3], [0x31, 3], [0x80, 1]])),
    ) {
        if let Some(head) = head && body.len() >= 2 {
            body[..2].copy_from_slice(&head);
        }
        for again in read(&body).into_iter().flatten() {
            prop_assert_eq!(again.len(), body.len());
            // Reserved bits and those of MP_CAPABLE's flags that mean nothing here may differ.
            prop_assert_eq!((again[0] >> 4, &again[2..]), (body[0] >> 4, &body[2..]));
        }
    }
}

#[test]
fn a_mapping_must_cover_the_payload() {
    let at = |first, data, subflow, len, fin, seq, payload| {
        Dss { ack: 0, mapping: Some(Mapping { data, subflow, len }), fin }.place(first, seq, payload)
    };
    let place = |data, subflow, len, fin, seq, payload| at(0, data, subflow, len, fin, seq, payload);
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
    assert_eq!(place(6000, 0, 1, true, 1100, 0), found(6000, 6000, Some(6000)), "alone");
    // The subflow's numbers wrap with their 32 bits, the data's with 64.
    assert_eq!(place(5000, u32::MAX, 1000, false, 9, 100), found(5010, 5110, None));
    assert_eq!(at(u64::MAX - 9, 90, 1, 100, true, 1, 99), found(100, 199, Some(199)));
    assert_eq!(at(91, 90, 1, 100, false, 1, 100), None, "before the stream");
}

#[test]
fn options_fit_into_40_bytes() {
    assert_eq!((sack_blocks(true), sack_blocks(false)), (1, 3));
    let keys = |data| Hello::Keys { own: 1, peer: 2, data };
    let join = Hello::Join { address: 2, token: 3, nonce: 4 };
    let joined = Hello::Joined { address: 2, proof: [0; 8], nonce: 4 };
    let all = [Hello::Capable, Hello::Listener(1), keys(None), keys(Some(1420)), join, joined, Hello::Proof([0; 20])];
    // RFC 8684, §3.1 and figures 5 to 7. Timestamps take 12 bytes, on SYNs beside the rest 20.
    assert_eq!(all.map(|h| body_of(&h).len() + 2), [4, 12, 20, 22, 12, 16, 24]);
    let add = AddAddr { id: 2, address: [10, 0, 0, 18], proof: Some([0; 8]) };
    assert_eq!([add, add.echo()].map(|o| body_of(&o).len() + 2), [16, 8], "beside timestamps and a data ACK: 40");
}

#[test]
fn options_are_the_rfcs_bytes() {
    let keys = Hello::Keys { own: 0x0102_0304_0506_0708, peer: 0x1112_1314_1516_1718, data: Some(0x058c) };
    let text = [0x01, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x05, 0x8c];
    assert_eq!(body_of(&keys), text, "version 1, HMAC-SHA256, both keys, the length");
    let join = Hello::Join { address: 2, token: 0x0304_0506, nonce: 0x0708_090a };
    assert_eq!(body_of(&join), [0x10, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let add = AddAddr { id: 2, address: [10, 0, 0, 18], proof: Some([9; 8]) };
    assert_eq!(body_of(&add), [0x30, 2, 10, 0, 0, 18, 9, 9, 9, 9, 9, 9, 9, 9]);
    assert_eq!(body_of(&add.echo()), [0x31, 2, 10, 0, 0, 18]);
    for (why, flags) in [("checksums", 0x81), ("an extension", 0x41), ("no SHA-256", 0x00)] {
        assert_eq!(Hello::get(&[1, flags]), None, "{why}");
    }
    assert_eq!(Hello::get(&[1, 0x3f]), Some(Hello::Capable), "other flags are not ours");
    assert_eq!((Hello::get(&[0, 1]), Hello::get(&[2, 1])), (None, None), "other versions");
}
