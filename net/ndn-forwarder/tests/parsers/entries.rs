//! What applications and neighbours say to a forwarder, one function per entry. The fuzz targets in
//! `fuzz/` call the same functions.
//!
//! Each takes any bytes, must not panic, and checks what holds of every answer. It says whether the
//! bytes were taken for something.

use midpath_core::units::{Rate, Time};
use midpath_ndn::link::first_frame;
use midpath_ndn::name::GENERIC;
use midpath_ndn::name_view::PARAMETERS_DIGEST;
use midpath_ndn::tlv::put;
use midpath_ndn::{Component, Data, Frame, Header, Mircc, Name, View};
use midpath_ndn_forwarder::management::{Parameters, Policy, Response};
use midpath_ndn_forwarder::trust::{Certificate, Trust};
use midpath_ndn_forwarder::{FaceId, FaceSpec, Forwarder, Persistency, Rated, Scope, Settings, digest, name};

/// What a command is about, and an answer.
pub fn control(bytes: &[u8]) -> bool {
    if let Ok(response) = Response::decode(bytes) {
        assert_eq!(Response::decode(&response.encode()), Ok(response));
        return true;
    }
    let Ok(parameters) = Parameters::decode(bytes) else { return false };
    let mut out = Vec::new();
    parameters.encode(&mut out);
    assert_eq!(Parameters::decode(&out), Ok(parameters));
    true
}

/// A producer's certificate. Its key takes nothing for a signature that is none.
pub fn certificate(bytes: &[u8]) -> bool {
    let certificate = match Certificate::read(bytes) {
        Ok(certificate) => certificate,
        Err(why) => {
            assert!(!why.is_empty());
            return false;
        }
    };
    let mut wire = Vec::new();
    Data::unsigned(Name(vec![Component::generic("a")]), vec![7; 40]).put(&mut wire);
    let Ok(View::Data(data)) = View::of(&wire) else { panic!("no Data") };
    assert_eq!(Trust::Certificate(certificate).verify(&data), Some(false));
    true
}

/// A command as applications sign it, with a digest.
pub fn command(module: &str, verb: &str, parameters: &Parameters) -> Vec<u8> {
    let mut name = name::of(&["localhost", "nfd", module, verb]);
    let mut component = Vec::new();
    parameters.encode(&mut component);
    put(GENERIC.into(), &component, &mut name);
    let mut rest = vec![0x24, 0, 0x2C, 3, 0x1B, 1, 0];
    let signature = digest(&[&name, &rest]);
    put(0x2E, &signature, &mut rest);
    put(PARAMETERS_DIGEST, &digest(&[&rest]), &mut name);
    let mut value = Vec::new();
    put(7, &name, &mut value);
    value.extend_from_slice(&[0x0A, 4, 1, 2, 3, 4]);
    value.extend_from_slice(&rest);
    let mut interest = Vec::new();
    put(5, &value, &mut interest);
    interest
}

/// A forwarder with an application and two neighbours, and what applies to small tables.
fn forwarder() -> (Forwarder, Vec<FaceId>) {
    let settings = Settings {
        faces: 8,
        pending: 16,
        pending_bytes: 4096,
        store_bytes: 4096,
        routes: 4,
        dead_nonces: 16,
        policy: Policy::default(),
        ..Settings::default()
    };
    let mut forwarder = Forwarder::new(settings);
    let scopes = [Scope::Local, Scope::NonLocal, Scope::NonLocal];
    let faces = scopes.map(|scope| {
        let remote = format!("test://{scope:?}");
        let spec =
            FaceSpec { scope, persistency: Persistency::Persistent, remote: remote.clone(), local: remote, mtu: 1400 };
        forwarder.add_face(spec).expect("there is room")
    });
    let route = Parameters { name: Some(name::of(&["a"])), face: Some(faces[1].0), ..Parameters::default() };
    let before = forwarder.fib_len();
    forwarder.receive(Time::ZERO, faces[0], &command("rib", "register", &route)).expect("a command");
    assert_eq!(forwarder.fib_len(), before + 1, "the route is there");
    forwarder.sent();
    (forwarder, faces.to_vec())
}

/// Frames, each behind a byte that says which face it comes from and how much later. No table grows
/// beyond its bound, and what is sent are frames.
pub fn frames(bytes: &[u8]) -> bool {
    let (forwarder, faces) = forwarder();
    converse(forwarder, &faces, bytes)
}

/// The same where both neighbours speak MIRCC.
pub fn rated_frames(bytes: &[u8]) -> bool {
    let (mut forwarder, faces) = forwarder();
    let hello = Mircc { hello: Some(2), ..Mircc::default() };
    let mut idle = Vec::new();
    Header { mircc: hello, ..Header::default() }.idle(&mut idle);
    for face in &faces[1..] {
        let rate = Rate::from_mbps(10);
        forwarder.set_link(Time::ZERO, *face, Rated { out: rate, back: rate, mtu: 1400, overhead: 42 });
        forwarder.receive(Time::ZERO, *face, &idle).expect("a hello");
    }
    forwarder.sent();
    converse(forwarder, &faces, bytes)
}

fn converse(mut forwarder: Forwarder, faces: &[FaceId], bytes: &[u8]) -> bool {
    let (mut rest, mut now, mut sent) = (bytes, Time::ZERO, 0);
    while let [first, behind @ ..] = rest {
        let Ok(Some(length)) = first_frame(behind) else { break };
        let Some((frame, after)) = behind.split_at_checked(length) else { break };
        rest = after;
        now = now.saturating_add(Time::from_ms(u64::from(first >> 2) * 20));
        if forwarder.next_wake() <= now {
            forwarder.on_time(now);
        }
        let face = faces[usize::from(first & 3) % faces.len()];
        let taken = forwarder.receive(now, face, frame);
        assert!(taken.is_err() || Frame::of(frame).is_ok());
        for (to, frame) in forwarder.sends() {
            let frame = Frame::of(frame).expect("a frame");
            let Some(packet) = frame.packet else {
                assert!(frame.header.mircc.hello.is_some(), "only a hello has no packet");
                continue;
            };
            let view = View::of(packet).expect("Interest or Data");
            assert!(to == faces[0] || !view.name().to_string().starts_with("/localhost/"), "it stays here");
            sent += 1;
        }
        forwarder.sent();
        let _ = forwarder.actions();
        for (table, holds, most) in forwarder.tables() {
            assert!(holds <= most, "{table}: {holds} of {most}");
        }
    }
    for (_, line) in forwarder.lines() {
        let stamps = line.link.stamps();
        assert!(stamps.primary.max(stamps.secondary) <= 0.951 * line.rated.back.as_f64(), "{stamps:?}");
    }
    forwarder.on_time(now.saturating_add(Time::from_secs(100)));
    assert_eq!(forwarder.tables()[1].1, 0, "all that was pending has ended");
    sent > 0
}
