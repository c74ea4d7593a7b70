//! The first bytes of a proxy session's flow, there and back.
//!
//! | | bytes |
//! |---|---|
//! | there | version (1), 1, length (2), target: `host:port` |
//! | there, for an application | version (1), 3, length (2), the service's name |
//! | there, for datagrams | version (1), 4, 0 (2) |
//! | back | version (1), 2, status (1) |
//!
//! Whoever is greeted in another version answers so ([`Status::OtherVersion`]): the first three bytes back stay
//! as they are.

use midpath_core::node::EndId;
use midpath_core::units::Time;

use crate::host::Host;

/// The version that is spoken here.
pub const VERSION: u8 = 1;
const TARGET: u8 = 1;
const ANSWER: u8 = 2;
const SERVICE: u8 = 3;
const DATAGRAMS: u8 = 4;

/// A target is no longer: a name of 253 bytes (RFC 1035), a colon and a port.
pub const LONGEST: usize = 260;

/// Where a connection is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To `host:port`, as seen from the exit.
    Address(String),
    /// To an application that offers this service there.
    Service(String),
    /// To wherever each datagram says ([`super::datagrams`]).
    Datagrams,
}

impl From<&str> for Target {
    fn from(address: &str) -> Target {
        Target::Address(address.to_owned())
    }
}

/// Whether the target has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// It has.
    Connected = 0,
    /// The exit does not connect to it.
    NotAllowed = 1,
    /// Its name stands for no address.
    NoSuchName = 2,
    /// It could not be connected to, for another reason than those below.
    Unreachable = 3,
    /// The exit has too much to do.
    Busy = 4,
    /// The other node speaks another version of this.
    OtherVersion = 5,
    /// It, or whoever was asked for its address, has not answered in time.
    TimedOut = 6,
    /// It refuses.
    Refused = 7,
    /// There is no way to its network.
    NoNetwork = 8,
    /// There is no way to it within its network.
    NoHost = 9,
}

impl Status {
    /// What a later version may add is no connection either.
    fn of(byte: u8) -> Status {
        use Status::{Busy, Connected, NoHost, NoNetwork, NoSuchName, NotAllowed, OtherVersion, Refused, TimedOut};
        let all = [Connected, NotAllowed, NoSuchName, Busy, OtherVersion, TimedOut, Refused, NoNetwork, NoHost];
        all.into_iter().find(|s| *s as u8 == byte).unwrap_or(Status::Unreachable)
    }
}

/// The first bytes of the flow there.
pub fn request(target: &Target) -> Vec<u8> {
    let (kind, name) = match target {
        Target::Address(address) => (TARGET, address.as_str()),
        Target::Service(service) => (SERVICE, service.as_str()),
        Target::Datagrams => (DATAGRAMS, ""),
    };
    let length = u16::try_from(name.len()).unwrap_or(u16::MAX).to_be_bytes();
    [&[VERSION, kind][..], &length, name.as_bytes()].concat()
}

/// The first bytes back.
pub fn answer(status: Status) -> [u8; 3] {
    [VERSION, ANSWER, status as u8]
}

/// What a flow says that it is for.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// It has not said all yet.
    Unfinished,
    /// That is no greeting.
    Nonsense,
    /// Connect to this.
    Target(Target),
    /// What has become of the connection.
    Answer(Status),
    /// This is said in a version that we don't know.
    OtherVersion(u8),
}

/// Reads the greeting of a flow, and not a byte more.
pub fn read(end: EndId, host: &mut Host, now: Time) -> Read {
    let Some(incoming) = host.incoming(end) else { return Read::Nonsense };
    if incoming.ended().is_some_and(|why| why != midpath_core::roles::Ended::Complete) {
        return Read::Nonsense;
    }
    let over = incoming.ended().is_some();
    let head = incoming.peek(LONGEST + 4);
    match parse(&head) {
        (Read::Unfinished, _) if over => Read::Nonsense,
        (said, length) => {
            host.read(end, length, &mut Vec::new(), now);
            said
        }
    }
}

/// The greeting that these bytes begin with, and its length; no length unless it is whole.
pub fn parse(bytes: &[u8]) -> (Read, usize) {
    match *bytes {
        [] | [VERSION] | [VERSION, TARGET | SERVICE | DATAGRAMS] | [VERSION, TARGET | SERVICE | DATAGRAMS, _] => {
            (Read::Unfinished, 0)
        }
        [VERSION, DATAGRAMS, 0, 0, ..] => (Read::Target(Target::Datagrams), 4),
        [VERSION, kind @ (TARGET | SERVICE), high, low, ref rest @ ..] => {
            let length = usize::from(u16::from_be_bytes([high, low]));
            if length > LONGEST {
                return (Read::Nonsense, 0);
            }
            let Some(target) = rest.get(..length) else { return (Read::Unfinished, 0) };
            let target = match std::str::from_utf8(target) {
                Ok(name) if kind == TARGET => Target::Address(name.to_owned()),
                Ok(name) => Target::Service(name.to_owned()),
                Err(_) => return (Read::Nonsense, 0),
            };
            (Read::Target(target), 4 + length)
        }
        [VERSION, ANSWER] => (Read::Unfinished, 0),
        [VERSION, ANSWER, status, ..] => (Read::Answer(Status::of(status)), 3),
        // What any version says of another one.
        [version, ANSWER, status, ..] if status == Status::OtherVersion as u8 => (Read::OtherVersion(version), 3),
        [VERSION, ..] => (Read::Nonsense, 0),
        [version, ..] => (Read::OtherVersion(version), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_once_it_is_whole() {
        let all = [
            (request(&"host.example:443".into()), Read::Target("host.example:443".into())),
            (request(&Target::Service("echo".into())), Read::Target(Target::Service("echo".into()))),
            (request(&Target::Datagrams), Read::Target(Target::Datagrams)),
            (answer(Status::NoSuchName).to_vec(), Read::Answer(Status::NoSuchName)),
        ];
        for (mut bytes, said) in all {
            for cut in 0..bytes.len() {
                assert_eq!(parse(&bytes[..cut]), (Read::Unfinished, 0));
            }
            let length = bytes.len();
            bytes.extend(b"and what follows");
            assert_eq!(parse(&bytes), (said, length));
        }
        let nonsense = [&[VERSION, 5][..], &[VERSION, 4, 0, 1], &[VERSION, 1, 2, 0], &[VERSION, 1, 0, 1, 0xff]];
        assert_eq!(parse(&[VERSION, 2, 200]), (Read::Answer(Status::Unreachable), 3), "a later version's status");
        assert!(nonsense.iter().all(|bytes| parse(bytes).0 == Read::Nonsense));
        assert!(
            [&[0, 1][..], &[2, 2, 0], &[3, 2, 5], &[4, 2, 5]].iter().all(|b| parse(b).0 == Read::OtherVersion(b[0]))
        );
    }
}
