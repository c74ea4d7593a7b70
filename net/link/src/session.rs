//! A session between two neighbours after a handshake.

use midpath_core::units::Time;
use snow::StatelessTransportState;

use super::datagram;
use super::key::PublicKey;
use super::replay::Replay;

/// Sealed datagrams of one session at most; Noise forbids the last counter. Ours: WireGuard's, far
/// more than a session lives for.
const MOST: u64 = 1 << 60;

/// One session.
pub(crate) struct Session {
    /// What its datagrams to us say, and those from us.
    pub local: u32,
    pub remote: u32,
    pub born: Time,
    /// Whether we began it.
    pub ours: bool,
    /// The neighbour's key that it was made with.
    pub key: PublicKey,
    /// The neighbour's start, and the number of its hello.
    pub epoch: u64,
    pub number: u32,
    transport: StatelessTransportState,
    counter: u64,
    replay: Replay,
}

impl Session {
    pub fn new(
        (local, remote): (u32, u32),
        born: Time,
        ours: bool,
        key: PublicKey,
        (epoch, number): (u64, u32),
        transport: StatelessTransportState,
    ) -> Session {
        let replay = Replay::default();
        Session { local, remote, born, ours, key, epoch, number, transport, counter: 0, replay }
    }

    /// Seals bytes into a datagram.
    pub fn seal(&mut self, inside: &[u8], out: &mut Vec<u8>) -> Result<(), snow::Error> {
        datagram::data(self.remote, self.counter, out);
        let header = out.len();
        out.resize(header + inside.len() + datagram::OVERHEAD, 0);
        let written = self.transport.write_message(self.counter, inside, &mut out[header..])?;
        out.truncate(header + written);
        self.counter += 1;
        Ok(())
    }

    /// Opens one. `false`: it is no genuine one of this session, or it came before.
    pub fn open(&mut self, counter: u64, sealed: &[u8], inside: &mut Vec<u8>) -> Opened {
        if !self.replay.may_come(counter) {
            return Opened::Again;
        }
        inside.resize(sealed.len(), 0);
        match self.transport.read_message(counter, sealed, inside) {
            Ok(length) => {
                inside.truncate(length);
                self.replay.came(counter);
                Opened::Genuine
            }
            Err(_) => Opened::Forged,
        }
    }

    /// Whether it has been used as much as one may be.
    pub const fn is_worn(&self) -> bool {
        self.counter >= MOST
    }
}

/// What a datagram of a session was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The neighbour's, for the first time.
    Genuine,
    /// It came before, or so late that nobody knows.
    Again,
    /// Somebody else's.
    Forged,
}
