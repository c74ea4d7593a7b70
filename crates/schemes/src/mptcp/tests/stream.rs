//! The shared buffer, and the sender's numbers, against a map of bytes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::mptcp::header::Place;
use crate::mptcp::receiver::{Stream, Taken};
use crate::mptcp::sender::Outgoing;

const BUFFER: u64 = 100;

proptest! {
    #[test]
    fn the_buffer_is_a_set_of_bytes(places in prop::collection::vec((0u64..400, 0u64..60, prop::option::weighted(0.1, 0u64..450)), 1..80)) {
        let (mut stream, mut got, mut end) = (Stream::default(), BTreeSet::new(), None);
        for (from, len, at_end) in places {
            let place = Place { from, to: from + len, end: at_end };
            let next = (0..).find(|b| !got.contains(b)).unwrap_or(0);
            let highest = got.last().map_or(0, |b| b + 1).max(place.to).max(next);
            let in_window = place.to <= next + BUFFER && at_end.is_none_or(|e| e <= next + BUFFER);
            let agrees = (end.is_none() || at_end.is_none() || end == at_end) && end.or(at_end).is_none_or(|e| highest <= e);
            let taken = stream.take(&place, BUFFER);
            prop_assert_eq!(taken.is_some(), in_window && agrees, "{:?} at {}, end {:?}", place, next, end);
            if taken.is_some() {
                got.extend(place.from..place.to);
                end = end.or(at_end);
            }
            let after = (0..).find(|b| !got.contains(b)).unwrap_or(0);
            prop_assert_eq!(stream.delivered(), after);
            prop_assert_eq!(stream.held(), got.range(after..).count() as u64);
            prop_assert!(stream.held() <= BUFFER);
            prop_assert_eq!(stream.complete(), end == Some(after));
            prop_assert_eq!(stream.ack(), after + u64::from(end == Some(after)));
        }
    }

    #[test]
    fn the_senders_numbers_keep_their_order(
        size in prop::option::of(0u64..5000),
        steps in prop::collection::vec((any::<bool>(), prop_oneof![0u64..6000, any::<u64>()], prop_oneof![0u64..3000, any::<u64>()]), 1..60),
    ) {
        let mut data = Outgoing::new(size);
        data.on_window(1000);
        for (ack, at, window) in steps {
            if ack {
                data.on_ack(at, window);
            } else {
                let bytes = data.segment(500);
                prop_assert!(bytes <= 500);
                let from = data.take(bytes);
                prop_assert_eq!(from + bytes, data.next());
            }
            prop_assert!(data.una() <= data.next() + u64::from(data.next() == data.end()), "{:?}", data);
            prop_assert!(data.next() <= data.end(), "{:?}", data);
        }
    }
}

#[test]
fn a_filled_gap_is_urgent() {
    let mut stream = Stream::default();
    let mut take = |from, to, end| stream.take(&Place { from, to, end }, BUFFER);
    let taken = |urgent, delivered| Some(Taken { urgent, delivered });
    assert_eq!(take(0, 10, None), taken(false, 10));
    assert_eq!(take(20, 30, None), taken(false, 0));
    assert_eq!(take(10, 20, None), taken(true, 20), "it delivered more than itself");
    assert_eq!(take(0, 30, None), taken(false, 0), "a repeat");
    assert_eq!(take(30, 40, Some(40)), taken(true, 10), "the last");
    assert_eq!(take(30, 40, Some(41)), None, "another end");
    assert_eq!(take(40, 50, None), None, "beyond the end");
}

#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut data = Outgoing::new(Some(1000));
    data.on_window(600);
    assert_eq!((data.segment(500), data.take(500)), (500, 0));
    assert_eq!(data.segment(500), 0, "less than a segment's room, and data are out that will open it");
    assert!(!data.on_ack(501, 600), "beyond what was sent");
    assert!(data.on_ack(500, 600) && !data.on_ack(499, 600), "forward, not back");
    assert_eq!((data.segment(500), data.take(500)), (500, 500));
    assert!(data.on_ack(1001, 0) && data.all_acknowledged(), "the DATA_FIN has a number");
}
