//! The bytes of RTP and its reports.

use midpath_core::packet::Ecn;
use midpath_core::units::Time;
use proptest::prelude::*;

use super::feedback::{Arrival, NTP, Report, Rtp, ntp};

#[test]
fn an_rtp_header_is_as_rfc_3550_has_it() {
    let rtp = Rtp::new(true, 0x1234, Time::from_secs(2), 9);
    let bytes = rtp.packet(20);
    // Version 2; marker and payload type 96; the sequence number; 180,000 ticks of 90 kHz; the source.
    assert_eq!(bytes[..12], [0x80, 0xe0, 0x12, 0x34, 0x00, 0x02, 0xbf, 0x20, 0, 0, 0, 9]);
    assert_eq!((bytes.len(), Rtp::get(&bytes)), (20, Some(rtp)));
    let padding = Rtp { padding: true, ..rtp };
    assert_eq!((padding.packet(20)[1], Rtp::get(&padding.packet(20))), (0xe1, Some(padding)));
}

#[test]
fn a_report_is_as_rfc_8888_has_it() {
    let at = ntp(Time::from_secs(3));
    assert_eq!(at, 3 * NTP);
    // 125 ms ago with CE, not received, now with ECT(1).
    let arrivals = [Some(Arrival { at: at - NTP / 8, ecn: Ecn::Ce }), None, Some(Arrival { at, ecn: Ecn::Ect1 })];
    let report = Report { ssrc: 7, begin: 65_535, blocks: arrivals.to_vec(), at };
    let bytes = report.bytes();
    // FMT 11, PT 205, six words after the first; the sources; begin_seq, num_reports; 128/1024 s; padding; the time.
    let by_hand =
        [0x8b, 205, 0, 6, 0, 0, 0, 7, 0, 0, 0, 7, 0xff, 0xff, 0, 3, 0xe0, 0x80, 0, 0, 0xa0, 0, 0, 0, 0, 3, 0, 0];
    assert_eq!(bytes, by_hand);
    assert_eq!(Report::get(&bytes), Some(report));
    assert_eq!(Rtp::get(&bytes), None);
}

/// Eight seconds ago is "more than that".
#[test]
fn what_came_long_ago_is_no_nearer_than_that() {
    let old = Some(Arrival { at: 0, ecn: Ecn::NotEct });
    let read = Report::get(&Report { ssrc: 1, begin: 0, blocks: vec![old], at: 60 * NTP }.bytes()).expect("a report");
    assert_eq!(read.blocks[0].map(|arrival| 60 * NTP - arrival.at), Some(0x1ffe * 64));
}

proptest! {
    #[test]
    fn a_report_comes_out_as_it_went_in(
        ssrc in any::<u32>(), begin in any::<u16>(), at in any::<u32>(),
        blocks in prop::collection::vec(prop::option::of((0u32..0x1ffe, 0u8..4)), 0..70),
    ) {
        let arrival = |(ago, ecn): (u32, u8)| Arrival { at: at.wrapping_sub(64 * ago), ecn: Ecn::from_bits(ecn) };
        let report = Report { ssrc, begin, at, blocks: blocks.into_iter().map(|block| block.map(arrival)).collect() };
        prop_assert_eq!(Report::get(&report.bytes()), Some(report));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), like in any::<bool>()) {
        if like && bytes.len() >= 4 {
            let words = (bytes.len() / 4 - 1) as u8;
            bytes[..4].copy_from_slice(&[0x8b, 205, 0, words]);
        }
        let _ = Rtp::get(&bytes);
        if let Some(report) = Report::get(&bytes) {
            prop_assert!(20 + 2 * report.blocks.len() <= bytes.len());
        }
    }
}
