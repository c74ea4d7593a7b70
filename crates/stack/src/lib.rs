//! Stacks without I/O as the ends of simulated flows: QUIC, TCP and WebRTC implementations run in virtual time, on any
//! topology, beside simulated schemes.
//!
//! A stack implements [`Stack`]: datagrams in, datagrams out, the time of its next timeout, and an application.
//! [`StackConfig`] makes one per end of a flow, and [`build`] makes a scheme of that, which scenarios name like any
//! other. Packets carry the stack's bytes, so captures have them too.
//!
//! Times are counted from the beginning of the run; [`instant`] and [`elapsed`] are for a stack that wants an [`Instant`].

mod app;
mod end;
mod guard;
mod params;
mod run;
mod transport;
mod work;

pub use params::{Application, StackParams};
pub use run::{RunError, must_run, run};
pub use transport::build;
pub use work::{Connection, Work};

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use midpath_core::packet::Ecn;

/// One end of a flow, as a stack sees it when it is made.
#[derive(Debug, Clone, Copy)]
pub struct EndSpec {
    /// Its own address.
    pub local: SocketAddr,
    /// The other end's.
    pub peer: SocketAddr,
    /// When it is made.
    pub at: Duration,
    /// Bytes of a datagram at most: the interface's MTU, less the headers below.
    pub datagram: usize,
    /// The seed of all its random numbers.
    pub seed: [u8; 32],
    /// The parameters that all stacks share.
    pub params: StackParams,
}

/// Builds stacks: the value that holds a stack's parameters.
pub trait StackConfig: Send + Sync + 'static {
    /// Which headers the stack leaves to the network.
    fn framing(&self) -> Framing {
        Framing::Udp
    }
    /// Called when a flow starts: the end that opens it.
    fn open(&self, end: &EndSpec) -> Box<dyn Stack>;
    /// Called at the other end, before the first datagram is handed over.
    fn accept(&self, end: &EndSpec) -> Box<dyn Stack>;
}

#[expect(clippy::disallowed_methods, reason = "an Instant has no other beginning; nothing depends on which it is")]
fn beginning() -> Instant {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    *BEGINNING.get_or_init(Instant::now)
}

/// A time since the beginning of the run, as an `Instant`.
pub fn instant(at: Duration) -> Instant {
    beginning() + at
}

/// And back. A time before the beginning is the beginning.
pub fn elapsed(at: Instant) -> Duration {
    at.saturating_duration_since(beginning())
}

/// What stands below a stack's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// They are the payload of UDP datagrams.
    #[default]
    Udp,
    /// They are IPv4 packets of TCP, whose addresses and ports are the [`EndSpec`]'s. In the simulator they are
    /// segments like those of any TCP, so network schemes see them.
    Tcp,
}

/// What [`Stack::transmit`] has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// The ECN field of its datagrams. [`Framing::Tcp`] has it in the bytes.
    pub ecn: Ecn,
    /// The length of all datagrams but the last, which may be shorter; `None` where it is one.
    pub segment: Option<usize>,
}

/// What a stack says of itself; zero where it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// The congestion window in bytes.
    pub cwnd: u64,
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// The rate that it paces at, or that it estimates, in bits per second.
    pub rate: u64,
    /// Packets that it has taken for lost.
    pub lost: u64,
    /// Timeouts of its loss detection.
    pub timeouts: u64,
}

/// A protocol's state machine at one end of a flow. It does no I/O, and reads no clock.
///
/// Each call of [`receive`](Stack::receive), [`timeout`](Stack::timeout) or from the application is followed by
/// [`serve`](Stack::serve), then by [`transmit`](Stack::transmit) until it has no more, then by [`wake`](Stack::wake).
pub trait Stack: Send {
    /// Called when a datagram has arrived.
    fn receive(&mut self, at: Duration, datagram: &[u8], ecn: Ecn);
    /// Called when the time of [`wake`](Stack::wake) has come.
    fn timeout(&mut self, at: Duration);
    /// Called for what the application has and takes: sends what `work` gives, says what has been delivered.
    fn serve(&mut self, at: Duration, work: &mut Work);
    /// Called for datagrams to send, until `None`. They are written to `out`, which is empty.
    fn transmit(&mut self, at: Duration, out: &mut Vec<u8>) -> Option<Burst>;
    /// When it wants [`timeout`](Stack::timeout) to be called; `None` for never.
    fn wake(&mut self) -> Option<Duration>;
    /// Called when somebody measures.
    fn figures(&self) -> Figures {
        Figures::default()
    }
}
