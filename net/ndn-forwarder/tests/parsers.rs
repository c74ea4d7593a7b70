//! Whatever comes to a forwarder, it does not panic, and its tables are bounded.
//!
//! The same entries as in `fuzz/`, on stable Rust: valid samples, mutated. `CASES=10000000 cargo test
//! -p midpath-ndn-forwarder --test parsers -- --nocapture` does so for longer.

#[path = "parsers/entries.rs"]
mod entries;
#[path = "../../midpathd/tests/parsers/mutations.rs"]
mod mutations;

use base64ct::{Base64, Encoding};
use midpath_ndn::{Component, Data, Header, Interest, Mircc, Name, PitToken};
use midpath_ndn_forwarder::management::{Parameters, Response};
use midpath_ndn_forwarder::name;
use mutations::run;

fn parameters() -> Parameters {
    Parameters {
        name: Some(name::of(&["a", "b"])),
        face: Some(257),
        uri: Some("udp4://192.0.2.1:6363".to_owned()),
        cost: Some(10),
        flags: Some(1),
        expiration: Some(1000),
        strategy: Some(name::of(&["localhost", "nfd", "strategy", "multicast"])),
        ..Parameters::default()
    }
}

#[test]
fn control_parameters() {
    let mut plain = Vec::new();
    parameters().encode(&mut plain);
    let samples = [plain, Response::ok(parameters()).encode(), Response::error(403, "no").encode()];
    run("control", &samples, 20_000, entries::control);
}

/// Packets of python-ndn, and the first of them in base64.
fn certificates() -> Vec<Vec<u8>> {
    let text = include_str!("vectors/signatures.txt");
    let column = |line: &str| line.split(' ').nth(1).expect("a certificate").to_owned();
    let texts: Vec<String> = text.lines().filter(|line| !line.starts_with('#')).map(column).collect();
    let packets = texts.iter().map(|text| Base64::decode_vec(text).expect("base64"));
    packets.chain([texts[0].clone().into_bytes()]).collect()
}

#[test]
fn certificates_of_producers() {
    run("certificate", &certificates(), 10_000, entries::certificate);
}

fn asked(face: u8, names: &[&str], nonce: u32) -> Vec<u8> {
    let name = Name(names.iter().map(Component::generic).collect());
    let interest = Interest { name, nonce: Some(nonce), can_be_prefix: nonce % 2 == 1, ..Interest::default() };
    let (mut wire, mut out) = (Vec::new(), vec![face]);
    interest.put(&mut wire);
    let header = Header { pit_token: PitToken::of(&nonce.to_be_bytes()), ..Header::default() };
    header.wrap(&wire, &mut out);
    out
}

fn answered(face: u8, names: &[&str]) -> Vec<u8> {
    let name = Name(names.iter().map(Component::generic).collect());
    let mut out = vec![face];
    Data::unsigned(name, vec![7; 40]).fresh_for(100).put(&mut out);
    out
}

/// Conversations of an application with two neighbours and with management.
fn conversations() -> Vec<Vec<u8>> {
    let said = |face: u8, packet: Vec<u8>| [vec![face], packet].concat();
    let commands = ["register", "unregister"].map(|verb| said(4, entries::command("rib", verb, &parameters())));
    let [register, unregister] = commands;
    vec![
        [asked(0, &["a", "b"], 1), asked(2, &["a", "b"], 2), answered(9, &["a", "b"]), asked(0, &["a"], 3)].concat(),
        [asked(0, &["a", "c"], 1), asked(0, &["a", "c"], 5), asked(1, &["a", "c"], 7), asked(2, &["b"], 9)].concat(),
        [register, asked(2, &["a", "b", "c"], 4), unregister, asked(0, &["localhost", "nfd", "faces", "list"], 11)]
            .concat(),
        [
            said(0, entries::command("faces", "create", &parameters())),
            said(0, entries::command("strategy-choice", "set", &parameters())),
        ]
        .concat(),
        (0..20).flat_map(|i| asked(0, &["a", &i.to_string()], i)).collect(),
    ]
}

/// An answer or a question with MIRCC's fields, or a hello.
fn rated(face: u8, packet: Option<&[u8]>, nack: Option<u64>, mircc: Mircc) -> Vec<u8> {
    let (header, mut out) = (Header { nack, mircc, ..Header::default() }, vec![face]);
    match packet {
        Some(packet) => header.wrap(packet, &mut out),
        None => header.idle(&mut out),
    }
    out
}

/// Conversations with neighbours that speak MIRCC.
fn rated_conversations() -> Vec<Vec<u8>> {
    let hello = |face| rated(face, None, None, Mircc { hello: Some(1), ..Mircc::default() });
    let stamps = Mircc { rates: Some((u64::MAX, 5)), path_id: Some(9), ..Mircc::default() };
    let asks =
        Mircc { class: Some(1), data_size: Some(u64::MAX), round_trip: Some(1), path_id: Some(9), ..Mircc::default() };
    let data = |face, names: &[&str]| rated(face, Some(&answered(0, names)[1..]), None, stamps);
    let interest = |i: u32| {
        let (name, mut wire) = (Name([b"a".to_vec(), vec![i as u8]].map(Component::generic).to_vec()), Vec::new());
        Interest { name, nonce: Some(i), ..Interest::default() }.put(&mut wire);
        wire
    };
    vec![
        [asked(0, &["a", "b"], 1), data(1, &["a", "b"]), asked(0, &["a", "c"], 2), data(65, &["a", "c"])].concat(),
        (0..30).flat_map(|i| rated(2, Some(&interest(i)), None, asks)).chain(hello(253)).collect(),
        (0..9)
            .flat_map(|i| [rated(2, Some(&interest(i)), None, asks), rated(5, Some(&interest(i)), Some(50), stamps)])
            .flatten()
            .collect(),
        [hello(1), hello(254), asked(0, &["a", "b"], 1), hello(251), asked(0, &["a", "d"], 1)].concat(),
    ]
}

#[test]
fn conversations_with_neighbours_that_speak_mircc() {
    run("forwarder, MIRCC", &rated_conversations(), 5_000, entries::rated_frames);
}

#[test]
fn conversations_with_a_forwarder() {
    run("forwarder", &conversations(), 5_000, entries::frames);
}
