//! What comes to an NDN face, one function per reader. The fuzz targets in `fuzz/` call the same
//! functions.
//!
//! Each takes any bytes, must not panic, and checks what holds of every answer. It says whether the
//! bytes were taken for something.

use std::time::Duration;

use midpath_ndn::link::fragment::{MAX_WAITING, PATIENCE};
use midpath_ndn::link::{Fragmenter, Reassembler, first_frame};
use midpath_ndn::tlv::Reader;
use midpath_ndn::{Data, Frame, Header, Interest, InterestView, LpPacket, Name, NameView, View};

/// The value of a name's element.
pub fn name(bytes: &[u8]) -> bool {
    let Ok(view) = NameView::of(bytes) else {
        assert!(Name::get(bytes).is_err());
        return false;
    };
    let name = view.to_name();
    let mut out = Vec::new();
    name.put(&mut out);
    assert!(out.ends_with(bytes), "there is one encoding");
    assert_eq!(view.prefixes().count(), name.0.len() + 1);
    assert_eq!(view.prefixes().last(), Some(view));
    assert!(view.prefixes().all(|prefix| prefix.is_prefix_of(view) && prefix <= view));
    assert!(view.parent().is_prefix_of(view));
    assert!(view.to_string().starts_with('/'));
    true
}

/// A bare packet: what goes on is what came.
pub fn packet(bytes: &[u8]) -> bool {
    match View::of(bytes) {
        Err(_) => false,
        Ok(View::Interest(interest)) => {
            forwarded(&interest);
            assert!(interest.hints().all(|hint| NameView::of(hint.bytes()).is_ok()));
            assert!(interest.signed().iter().all(|part| part.len() <= bytes.len()));
            let _ = (interest.parameters_are_right(), Interest::of(&interest));
            true
        }
        Ok(View::Data(data)) => {
            assert!(data.answers(data.name, false) && data.answers(NameView::default(), true));
            let mut out = Vec::new();
            Data::of(&data).put(&mut out);
            let Ok(View::Data(again)) = View::of(&out) else { panic!("what is written is read") };
            assert_eq!((again.name, again.meta, again.content), (data.name, data.meta, data.content));
            assert_eq!((again.signature_info, again.signature), (data.signature_info, data.signature));
            assert!(data.signed.len() < bytes.len());
            true
        }
    }
}

fn forwarded(interest: &InterestView<'_>) {
    let mut out = Vec::new();
    interest.forward(7, &mut out);
    if out.len() > interest.wire.len() && out.len() > midpath_ndn::tlv::MAX_PACKET {
        return; // A nonce was one too many.
    }
    let Ok(View::Interest(again)) = View::of(&out) else { panic!("what goes on is an Interest") };
    assert_eq!(again.nonce, interest.nonce.or(Some(7)));
    assert_eq!(again.hop_limit, interest.hop_limit.map(|hops| hops.saturating_sub(1)));
    assert_eq!(Interest { nonce: None, hop_limit: None, ..Interest::of(&again) }, {
        Interest { nonce: None, hop_limit: None, ..Interest::of(interest) }
    });
    assert!(again.hints().eq(interest.hints()));
    assert_eq!(again.parameters_are_right(), interest.parameters_are_right());
    assert_eq!(again.signed(), interest.signed());
    if let (Some(_), None) = (interest.nonce, interest.hop_limit) {
        assert_eq!(out, interest.wire);
    }
}

/// A frame with its header.
pub fn link(bytes: &[u8]) -> bool {
    let Ok(frame) = Frame::of(bytes) else {
        assert!(LpPacket::decode(bytes).is_err());
        return false;
    };
    let mut out = Vec::new();
    match frame.packet {
        Some(packet) if frame.header != Header::default() => frame.header.wrap(packet, &mut out),
        Some(packet) => out.extend_from_slice(packet),
        None => frame.header.idle(&mut out),
    }
    if frame.header != Header::default() || frame.packet.is_none() {
        assert_eq!(Frame::of(&out).as_ref(), Ok(&frame), "what is written is read");
    }
    let plain = frame.header.without_local_fields();
    assert_eq!((plain.incoming_face, plain.next_hop_face), (None, None));
    if let Ok(packet) = LpPacket::decode(bytes) {
        assert_eq!(LpPacket::decode(&packet.encode()).as_ref(), Ok(&packet));
    }
    true
}

/// A stream of frames, pieces among them, with time in between.
pub fn stream(bytes: &[u8]) -> bool {
    let (mut rest, mut taken) = (bytes, false);
    let (mut reassembler, mut now) = (Reassembler::default(), Duration::ZERO);
    while let Ok(Some(length)) = first_frame(rest) {
        let Some((frame, after)) = rest.split_at_checked(length) else { break };
        assert!(Reader::only(frame).is_ok() && length > 0);
        rest = after;
        let Ok(frame) = Frame::of(frame) else { continue };
        if frame.header.piece.is_some() && frame.packet.is_some() {
            let joined = reassembler.on_piece(now, &frame);
            assert!(reassembler.held() <= MAX_WAITING);
            taken |= matches!(joined, Ok(Some(_)));
        }
        now += PATIENCE / 9;
    }
    reassembler.expire(now + PATIENCE);
    assert_eq!(reassembler.held(), 0);
    split(bytes);
    taken
}

/// The bytes as a packet to split: they come together again.
fn split(bytes: &[u8]) {
    let mtu = bytes.iter().fold(60, |sum, byte| (sum * 31 + usize::from(*byte)) % 1500);
    let frames = Fragmenter::default().split(&Header::default(), bytes, mtu);
    assert!(frames.iter().all(|frame| frame.len() <= mtu));
    let mut reassembler = Reassembler::default();
    let pieces = frames.iter().map(|frame| Frame::of(frame).ok().filter(|frame| frame.header.piece.is_some()));
    let joined =
        pieces.flatten().filter_map(|piece| reassembler.on_piece(Duration::ZERO, &piece).ok().flatten()).last();
    if frames.len() > 1 && bytes.len() <= midpath_ndn::tlv::MAX_PACKET {
        assert_eq!(joined.map(|(_, packet)| packet).as_deref(), Some(bytes));
    }
}
