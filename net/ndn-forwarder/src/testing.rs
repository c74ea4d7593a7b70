//! Packets and faces for tests.

use midpath_core::units::Time;
use midpath_ndn::name::NAME;
use midpath_ndn::tlv::{put, put_nested, put_number};
use midpath_ndn::{Data, DataView, Frame, Interest, InterestView, Name, View};

use crate::{FaceId, FaceSpec, Forwarder, Persistency, Scope};

/// Data in this name, fresh for so many ms.
pub fn a_data(name: &[u8], freshness: u64, content: &[u8]) -> Vec<u8> {
    let name = Name::get(name).expect("a name");
    let data = Data::unsigned(name, content.to_vec());
    let data = if freshness > 0 { data.fresh_for(freshness) } else { data };
    let mut wire = Vec::new();
    data.put(&mut wire);
    wire
}

/// An Interest in this name.
pub fn an_interest(name: &[u8], can_be_prefix: bool, must_be_fresh: bool, nonce: u32) -> Vec<u8> {
    let name = Name::get(name).expect("a name");
    let interest = Interest { name, can_be_prefix, must_be_fresh, nonce: Some(nonce), ..Interest::default() };
    let mut wire = Vec::new();
    interest.put(&mut wire);
    wire
}

/// A command, signed as python-ndn and ndnd sign theirs. With `breaks` a byte that the signature
/// covers is another one.
pub fn a_command(name: &[u8], parameters: &crate::management::Parameters, breaks: bool) -> Vec<u8> {
    let mut component = Vec::new();
    parameters.encode(&mut component);
    let mut signed_name = name.to_vec();
    crate::name::push(&mut signed_name, 8, &component);
    // ApplicationParameters, InterestSignatureInfo, InterestSignatureValue.
    let mut rest = Vec::new();
    put(0x24, &[], &mut rest);
    put_nested(0x2C, &mut rest, |out| put_number(0x1B, 0, out));
    let mut signature = crate::digest(&[&signed_name, &rest]);
    if breaks {
        signature[0] ^= 1;
    }
    put(0x2E, &signature, &mut rest);
    let mut full = signed_name;
    crate::name::push(&mut full, 2, &crate::digest(&[&rest]));
    let mut wire = Vec::new();
    put_nested(5, &mut wire, |out| {
        put(NAME, &full, out);
        put(0x12, &[], out);
        put(0x0A, &crate::digest(&[&full])[..4], out);
        out.extend_from_slice(&rest);
    });
    wire
}

pub fn data(wire: &[u8]) -> DataView<'_> {
    match View::of(wire) {
        Ok(View::Data(data)) => data,
        other => panic!("{other:?}"),
    }
}

pub fn interest(wire: &[u8]) -> InterestView<'_> {
    match View::of(wire) {
        Ok(View::Interest(interest)) => interest,
        other => panic!("{other:?}"),
    }
}

/// A face.
pub fn add(forwarder: &mut Forwarder, scope: Scope) -> FaceId {
    let (remote, local) = Default::default();
    let spec = FaceSpec { scope, persistency: Persistency::Persistent, remote, local, mtu: 8800 };
    forwarder.add_face(spec).expect("there is room")
}

/// What a packet is, and its name: `I/a`, `D/a`, `N150/a`.
pub fn show(frame: &[u8]) -> String {
    let frame = Frame::of(frame).expect("a frame");
    let view = View::of(frame.packet.expect("a packet")).expect("a packet");
    let kind = match (&view, frame.header.nack) {
        (View::Data(_), _) => "D".to_owned(),
        (View::Interest(_), None) => "I".to_owned(),
        (View::Interest(_), Some(reason)) => format!("N{reason}"),
    };
    format!("{kind}{}", view.name())
}

/// Hands a frame in, and takes out what is sent: to whom, and what.
pub fn hand(forwarder: &mut Forwarder, now: Time, face: FaceId, frame: &[u8]) -> Vec<(FaceId, String)> {
    forwarder.receive(now, face, frame).expect("a packet");
    take(forwarder)
}

/// What is sent.
pub fn take(forwarder: &mut Forwarder) -> Vec<(FaceId, String)> {
    let all = forwarder.sends().map(|(face, frame)| (face, show(frame))).collect();
    forwarder.sent();
    all
}
