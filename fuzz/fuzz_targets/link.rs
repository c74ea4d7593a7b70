#![no_main]

use midpath_core::units::Time;
use midpath_link::datagram::Datagram;
use midpath_link::{Endpoint, Frame, Output, PeerId, PeerSpec, SecretKey};

// What a stranger sends gets no answer that is longer, and is nobody's. What is inside is read, or it
// is not.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = (Datagram::read(bytes), Frame::read(bytes));
    let secret = SecretKey::parse(&"7".repeat(64)).expect("a key");
    let peer = PeerSpec { id: PeerId(0), keys: vec![secret.public()], address: None };
    let mut end = Endpoint::new(secret, vec![peer], Time::ZERO).expect("random numbers");
    let mut out = Output::default();
    let from = "192.0.2.1:7000".parse().expect("an address");
    assert_eq!(end.handle(Time::ZERO, from, bytes, &mut Vec::new(), &mut out), None);
    assert!(out.datagrams.iter().all(|(_, answer)| answer.len() <= bytes.len()) && out.events.is_empty());
});
