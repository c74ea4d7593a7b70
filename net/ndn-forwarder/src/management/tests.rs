//! Commands and datasets, as applications send and read them.

use midpath_core::units::Time;
use midpath_ndn::{Frame, View};

use super::{Action, Parameters, Policy, Reach, Response, Who, parse_uri};
use crate::faces::FaceId;
use crate::name::{self, of};
use crate::testing::{a_command, a_data, add, an_interest, hand, show};
use crate::{Forwarder, Scope, Settings};

/// Hands an Interest in and takes the one answer out: its name and its content.
fn ask(forwarder: &mut Forwarder, now: Time, face: FaceId, wire: &[u8]) -> Option<(String, Vec<u8>)> {
    forwarder.receive(now, face, wire).expect("an Interest");
    answer(forwarder, face)
}

fn answer(forwarder: &mut Forwarder, face: FaceId) -> Option<(String, Vec<u8>)> {
    let frames: Vec<_> = forwarder.sends().map(|(to, frame)| (to, frame.to_vec())).collect();
    forwarder.sent();
    let (to, frame) = frames.first()?;
    assert_eq!((frames.len(), *to), (1, face));
    let packet = Frame::of(frame).expect("a frame").packet.expect("a packet").to_vec();
    let Ok(View::Data(data)) = View::of(&packet) else { panic!("{}", show(frame)) };
    assert_eq!(crate::digest(&[data.signed])[..], *data.signature, "it is signed by its digest");
    Some((data.name.to_string(), data.content.unwrap_or_default().to_vec()))
}

fn command(forwarder: &mut Forwarder, face: FaceId, root: &str, verb: [&str; 2], parameters: &Parameters) -> Response {
    let wire = a_command(&of(&[root, "nfd", verb[0], verb[1]]), parameters, false);
    let (_, content) = ask(forwarder, Time::ZERO, face, &wire).expect("an answer");
    Response::decode(&content).expect("a response")
}

fn prefix(text: &str) -> Parameters {
    Parameters { name: Some(of(&[text])), ..Parameters::default() }
}

#[test]
fn an_application_registers_and_is_asked() {
    let mut f = Forwarder::new(Settings::default());
    let [producer, consumer] = [(); 2].map(|()| add(&mut f, Scope::Local));
    let response = command(&mut f, producer, "localhost", ["rib", "register"], &prefix("a"));
    assert_eq!((response.code, response.body.face, response.body.flags), (200, Some(producer.0), Some(1)));
    let wire = an_interest(&of(&["a", "b"]), false, false, 1);
    assert_eq!(hand(&mut f, Time::ZERO, consumer, &wire), [(producer, "I/a/b".to_owned())]);
    assert_eq!(hand(&mut f, Time::ZERO, producer, &a_data(&of(&["a", "b"]), 0, b"")).len(), 1);
    let response = command(&mut f, producer, "localhost", ["rib", "unregister"], &prefix("a"));
    assert_eq!(response.code, 200);
    let wire = an_interest(&of(&["a", "c"]), false, false, 2);
    assert_eq!(hand(&mut f, Time::ZERO, consumer, &wire), [(consumer, "N150/a/c".to_owned())]);
}

#[test]
fn commands_have_to_be_signed_and_whole() {
    let mut f = Forwarder::new(Settings::default());
    let face = add(&mut f, Scope::Local);
    let verb = of(&["localhost", "nfd", "rib", "register"]);
    let (_, content) = ask(&mut f, Time::ZERO, face, &a_command(&verb, &prefix("a"), true)).expect("an answer");
    assert_eq!(Response::decode(&content).expect("a response").code, 403);
    let mut name = verb.clone();
    let mut parameters = Vec::new();
    prefix("a").encode(&mut parameters);
    name::push(&mut name, 8, &parameters);
    let (_, content) = ask(&mut f, Time::ZERO, face, &an_interest(&name, false, false, 1)).expect("an answer");
    assert_eq!(Response::decode(&content).expect("a response").code, 403);
    assert!(f.rib.is_empty());
    // The older form: time, nonce and signature in the name.
    for (breaks, code) in [(0, 200), (1, 403)] {
        let mut signed = name.clone();
        name::push(&mut signed, 8, &[0; 8]);
        name::push(&mut signed, 8, &[breaks; 8]);
        name::push(&mut signed, 8, &[0x16, 3, 0x1B, 1, 0]);
        let mut digest = crate::digest(&[&signed]);
        digest[0] ^= breaks;
        name::push(&mut signed, 8, &[&[0x17, 32][..], &digest].concat());
        let wire = an_interest(&signed, false, false, 2);
        let (_, content) = ask(&mut f, Time::ZERO, face, &wire).expect("an answer");
        assert_eq!(Response::decode(&content).expect("a response").code, code);
    }
}

#[test]
fn neighbours_do_nothing_unless_they_may_register() {
    for (register, code) in [(Who::Local, 403), (Who::Anyone, 200)] {
        let policy = Policy { register, ..Policy::default() };
        let mut f = Forwarder::new(Settings { policy, ..Settings::default() });
        let far = add(&mut f, Scope::NonLocal);
        let here = a_command(&of(&["localhost", "nfd", "rib", "register"]), &prefix("a"), false);
        assert_eq!(ask(&mut f, Time::ZERO, far, &here), None, "what is of this machine does not come from another");
        assert_eq!(command(&mut f, far, "localhop", ["rib", "register"], &prefix("a")).code, code);
        let uri = Some("udp4://192.0.2.1:6363".to_owned());
        let face = Parameters { uri, ..Parameters::default() };
        assert_eq!(command(&mut f, far, "localhop", ["faces", "create"], &face).code, 403);
        let other = add(&mut f, Scope::NonLocal);
        let theirs = Parameters { face: Some(other.0), ..prefix("b") };
        assert_eq!(command(&mut f, far, "localhop", ["rib", "register"], &theirs).code, 403);
    }
    let policy = Policy { register: Who::Nobody, manage: Who::Nobody };
    let mut f = Forwarder::new(Settings { policy, ..Settings::default() });
    let near = add(&mut f, Scope::Local);
    assert_eq!(command(&mut f, near, "localhost", ["rib", "register"], &prefix("a")).code, 403);
}

#[test]
fn what_is_wrong_is_said() {
    let mut f = Forwarder::new(Settings::default());
    let face = add(&mut f, Scope::Local);
    let none = Parameters::default();
    let mut code = |verb, parameters: &Parameters| command(&mut f, face, "localhost", verb, parameters).code;
    assert_eq!(code(["rib", "register"], &none), 400);
    assert_eq!(code(["rib", "register"], &Parameters { face: Some(9999), ..prefix("a") }), 410);
    let own = Parameters { name: Some(of(&["localhost", "nfd"])), ..Parameters::default() };
    assert_eq!(code(["rib", "register"], &own), 403);
    assert_eq!(code(["faces", "create"], &none), 400);
    let ether = Parameters { uri: Some("ether://[01:00:5e:00:17:aa]".to_owned()), ..Parameters::default() };
    assert_eq!(code(["faces", "create"], &ether), 406);
    assert_eq!(code(["faces", "destroy"], &Parameters { face: Some(1), ..Parameters::default() }), 403);
    assert_eq!(code(["faces", "dance"], &none), 501);
    assert_eq!(code(["strategy-choice", "set"], &prefix("a")), 400);
    let unknown = Parameters { strategy: Some(of(&["x"])), ..prefix("a") };
    assert_eq!(code(["strategy-choice", "set"], &unknown), 404);
}

#[test]
fn faces_are_made_by_the_driver() {
    let mut f = Forwarder::new(Settings::default());
    let face = add(&mut f, Scope::Local);
    let uri = Some("udp4://192.0.2.1:6363".to_owned());
    let parameters = Parameters { uri, ..Parameters::default() };
    let wire = a_command(&of(&["localhost", "nfd", "faces", "create"]), &parameters, false);
    assert_eq!(ask(&mut f, Time::ZERO, face, &wire), None);
    let Some(Action::Make { request, reach: Reach::Udp, remote, .. }) = f.actions().pop() else { panic!("no action") };
    assert_eq!(remote, "192.0.2.1:6363".parse().expect("an address"));
    f.face_made(Time::ZERO, request, Err("no"));
    let (_, content) = answer(&mut f, face).expect("an answer");
    assert_eq!(Response::decode(&content).expect("a response").code, 504);
    f.face_made(Time::ZERO, request, Ok(face));
    assert_eq!(answer(&mut f, face), None, "once");
}

#[test]
fn datasets_come_in_segments() {
    let mut f = Forwarder::new(Settings::default());
    let face = add(&mut f, Scope::Local);
    for i in 0..200 {
        assert_eq!(command(&mut f, face, "localhost", ["rib", "register"], &prefix(&format!("prefix-{i}"))).code, 200);
    }
    let list = of(&["localhost", "nfd", "rib", "list"]);
    let (name, mut content) = ask(&mut f, Time::ZERO, face, &an_interest(&list, true, true, 1)).expect("a segment");
    let mut base = name::parse(&name).expect("a name");
    base.truncate(base.len() - 3);
    for number in 1.. {
        let mut segment = base.clone();
        name::push_number(&mut segment, name::SEGMENT, number);
        match ask(&mut f, Time::ZERO, face, &an_interest(&segment, false, false, 100 + number as u32)) {
            Some((_, more)) => content.extend(more),
            None => break,
        }
    }
    assert_eq!(content, f.rib_list(Time::ZERO));
    assert!(content.len() > 6000);
    assert_eq!(ask(&mut f, Time::ZERO, face, &an_interest(&of(&["localhost", "nfd", "x", "y"]), true, true, 9)), None);
}

#[test]
fn uris_say_addresses() {
    let address = |text: &str| text.parse().expect("an address");
    assert_eq!(parse_uri("udp4://192.0.2.1:99"), Some((Reach::Udp, address("192.0.2.1:99"))));
    assert_eq!(parse_uri("udp://192.0.2.1"), Some((Reach::Udp, address("192.0.2.1:6363"))));
    assert_eq!(parse_uri("tcp6://[::1]:7"), Some((Reach::Tcp, address("[::1]:7"))));
    assert_eq!(parse_uri("tcp6://[::1]"), Some((Reach::Tcp, address("[::1]:6363"))));
    for wrong in
        ["udp4://[::1]:7", "tcp6://192.0.2.1:7", "udp4://host:1", "quic://192.0.2.1", "192.0.2.1", "udp4://1.1.1.1:0"]
    {
        assert_eq!(parse_uri(wrong), None, "{wrong}");
    }
}
