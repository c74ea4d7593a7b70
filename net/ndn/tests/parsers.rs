//! Whatever bytes come to an NDN face, its readers answer without a panic, and what they say holds.
//!
//! The same entries as in `fuzz/`, on stable Rust: valid samples, mutated. `CASES=10000000 cargo test
//! -p midpath-ndn --test parsers -- --nocapture` does so for longer.

#[path = "parsers/entries.rs"]
mod entries;
#[path = "../../midpathd/tests/parsers/mutations.rs"]
mod mutations;

use midpath_ndn::link::{Fragmenter, reason};
use midpath_ndn::tlv::put;
use midpath_ndn::{Component, Data, Header, Interest, Mircc, Name, Network, PitToken};
use mutations::run;

fn name() -> Name {
    let digest = Component { kind: 2, value: vec![0; 32] };
    Name(vec![Component::generic("a"), Component::generic("bc"), Component::segment(300), digest])
}

fn wire(packet: Network) -> Vec<u8> {
    let mut out = Vec::new();
    packet.put(&mut out);
    out
}

/// Interests and Data, one with a hint, an unknown element, parameters and a signature.
fn packets() -> Vec<Vec<u8>> {
    let interest = Interest {
        name: name(),
        can_be_prefix: true,
        must_be_fresh: true,
        nonce: Some(7),
        lifetime: Some(4000),
        hop_limit: Some(9),
    };
    let data = Data::unsigned(name(), vec![1; 20]).fresh_for(1000);
    let mut value = Vec::new();
    name().put(&mut value);
    put(0x1E, &[7, 3, 8, 1, b'h'], &mut value);
    value.extend_from_slice(&[0x22, 1, 3, 0xF0, 1, 9, 0x24, 2, 1, 2, 0x2C, 3, 0x1B, 1, 0, 0x2E, 2, 5, 6]);
    let mut whole = Vec::new();
    put(5, &value, &mut whole);
    let segment = Data { meta: Some(vec![0x18, 1, 0, 0x19, 1, 7, 0x1A, 3, 0x32, 1, 9]), ..data.clone() };
    [Network::Interest(interest), Network::Data(data), Network::Data(segment)]
        .map(wire)
        .into_iter()
        .chain([whole])
        .collect()
}

/// The same with headers.
fn frames() -> Vec<Vec<u8>> {
    let mircc =
        Mircc { class: Some(1), rates: Some((5, 6)), path_id: Some(7), filter: Some([3; 32]), ..Mircc::default() };
    let plain = Header { pit_token: PitToken::of(&[1, 2, 3, 4]), congestion_mark: Some(1), ..Header::default() };
    let headers = [
        plain,
        Header { nack: Some(reason::NO_ROUTE), mircc, ..plain },
        Header { incoming_face: Some(300), next_hop_face: Some(1), ..Header::default() },
    ];
    let mut all = packets();
    for (packet, header) in packets().iter().zip(headers) {
        let mut out = Vec::new();
        header.wrap(packet, &mut out);
        all.push(out);
    }
    let mut idle = Vec::new();
    plain.idle(&mut idle);
    all.push(idle);
    all
}

/// Pieces, in a row and mixed with others.
fn streams() -> Vec<Vec<u8>> {
    let mut fragmenter = Fragmenter::default();
    let header = Header { pit_token: PitToken::of(&[9]), ..Header::default() };
    let pieces: Vec<_> = packets().iter().map(|packet| fragmenter.split(&header, packet, 60).concat()).collect();
    let mut all = pieces.clone();
    all.push(pieces.concat());
    all.push(frames().concat());
    all
}

#[test]
fn names() {
    let mut value = Vec::new();
    name().put(&mut value);
    run("name", &[value[2..].to_vec(), vec![8, 0], vec![0x36, 1, 4, 8, 2, b'.', b'.']], 50_000, entries::name);
}

#[test]
fn bare_packets() {
    run("packet", &packets(), 50_000, entries::packet);
}

#[test]
fn frames_of_links() {
    run("link", &frames(), 50_000, entries::link);
}

#[test]
fn streams_and_pieces() {
    run("stream", &streams(), 20_000, entries::stream);
}
