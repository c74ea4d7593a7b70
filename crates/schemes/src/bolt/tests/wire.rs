use midpath_core::packet::{FlowId, Header, NodeId, Packet};
use proptest::prelude::*;

use crate::bolt::header::{BoltFlags, BoltHeader, Notice, SIZE, reflect};
use crate::transport::cc::Seen;

fn written(header: &impl Header) -> Vec<u8> {
    let mut body = vec![0; header.body_len()];
    header.put(&mut body);
    body
}

proptest! {
    #[test]
    fn headers_come_back_and_other_lengths_do_not(marks in 0u8..32, sent: u32, queue: u32, rate in 1f32..=f32::MAX) {
        let header = BoltHeader { marks: BoltFlags(marks), sent };
        let notice = Notice { queue, rate, sent };
        let (a, b) = (written(&header), written(&notice));
        prop_assert_eq!((BoltHeader::get(&a), Notice::get(&b)), (Some(header), Some(notice)));
        prop_assert_eq!((BoltHeader::get(&a[1..]), Notice::get(&b[1..])), (None, None));
        prop_assert_eq!((BoltHeader::get(&b), Notice::get(&a)), (None, None));
    }

    /// Peers are hostile.
    #[test]
    fn bits_that_mean_nothing_and_links_without_a_rate_are_refused(marks in 32u8.., rate in prop_oneof![
        Just(f32::NAN), Just(f32::INFINITY), Just(0.0f32), Just(0.99f32), -1e9f32..0.0,
    ]) {
        prop_assert_eq!(BoltHeader::get(&[marks, 0, 0, 0, 0]), None);
        prop_assert_eq!(Notice::get(&written(&Notice { queue: 1, rate, sent: 1 })), None);
    }
}

#[test]
fn an_ack_returns_what_is_said_of_its_packet() {
    let mut data = Packet::new(FlowId(0), NodeId(0), NodeId(1), 100);
    let mut ack = Packet::new(FlowId(0), NodeId(1), NodeId(0), 40);
    reflect(Seen::of(&data), &mut ack);
    assert!(!ack.has_headers());
    data.set_header(&BoltHeader { marks: BoltFlags::INC, sent: 5 });
    reflect(Seen::of(&data), &mut ack);
    assert_eq!(ack.header(), Some(BoltHeader { marks: BoltFlags::INC.with(BoltFlags::RETURNS), sent: 5 }));
    assert_eq!(ack.size, 40 + SIZE);
}
