//! The controller contract: what decides how fast a connection sends, and nothing of its network.
//!
//! [`CongestionController`] is all that most schemes need: a [`Window`], a rate, what an ACK, a loss
//! and a timeout mean. One that also talks with routers, with its receiver or with other flows of its
//! host implements methods of [`NetworkAssisted`], too; the others have that trait with nothing in it.

mod assisted;
mod sample;
mod window;

use midpath_core::packet::Ecn;
use midpath_core::rng::Stream;
use midpath_core::roles::FlowSpec;
use midpath_core::units::{Rate, Time};

pub use assisted::{
    ASK_INTERVAL, Acknowledged, AssistedConfig, AssistedTraits, NetworkAssisted, Reflect, Seen, Stamp, View,
};
pub use sample::{Lost, Sample};
pub use window::Window;

use super::ecn::EcnMode;
use super::params::TcpParams;

/// What one acknowledgement has told the sender.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes by which it moved SND.UNA.
    pub acked: u64,
    /// Bytes that it reports for the first time, cumulatively or by SACK.
    pub delivered: u64,
    /// SND.UNA after it.
    pub una: u64,
    /// SND.NXT.
    pub nxt: u64,
    /// The round-trip time that it measured.
    pub rtt: Option<Time>,
    /// Smoothed round-trip time.
    pub srtt: Time,
    /// Whether it reports marks on a connection that has ECN.
    pub ece: bool,
    /// Packets that it reports as marked: counted with accurate ECN, else all that it reports for
    /// the first time, if it carries ECN-Echo.
    pub marks: u64,
    /// Bytes of payload in those; with accurate ECN as if all were full.
    pub marked: u64,
    /// Whether the sender is still repairing what a timeout gave up.
    pub after_rto: bool,
    /// Whether packets or ACKs of this connection overtake each other: an ACK then may be of far more than the receiver
    /// has waited for.
    pub reordered: bool,
    /// Whether the application had no more to send, and the window had room.
    pub app_limited: bool,
}

/// The shortest round trip, of those before (zero: there was none) and a new one.
pub(crate) fn shortest(before: Time, rtt: Time) -> Time {
    if before.is_zero() { rtt } else { before.min(rtt) }
}

/// What happened when a controller is asked for a lower threshold.
#[derive(Debug, Clone, Copy)]
pub struct Congestion {
    /// When.
    pub now: Time,
    /// Bytes sent and not cumulatively acknowledged (RFC 5681, §2), without those of limited
    /// transmit.
    pub flight: u64,
    /// Whether ECN has lowered the window already for this window of data.
    pub ecn_reduced: bool,
}

/// A pause of the application that is over.
#[derive(Debug, Clone, Copy)]
pub struct Pause {
    /// When.
    pub now: Time,
    /// How long nothing was sent.
    pub idle: Time,
    /// The retransmission timeout.
    pub rto: Time,
    /// The initial window, in bytes.
    pub initial: u64,
}

/// What a controller is told when its connection is open.
#[derive(Debug)]
pub struct Opening<'a> {
    /// When.
    pub now: Time,
    /// The first round-trip time; zero if nobody has measured it.
    pub srtt: Time,
    /// Bytes of headers on a packet with payload: rates to pace at count them, samples do not.
    pub overhead: u64,
    /// Whether the receiver reports by SACK.
    pub sack: bool,
    /// The endpoint's random numbers, the one source of randomness that there is.
    pub rng: &'a mut Stream,
}

/// A congestion controller: it decides how the window grows, where it falls to, and how fast packets
/// leave.
///
/// The sender owns detection and repair of losses, and asks the controller only for its decisions.
/// Thresholds returned are raised to two segments by the sender (RFC 5681, equation 4), which leads
/// the window there by fast recovery or slow start. With [`OWN_WINDOW`] there is no threshold: what is
/// returned is the window, at once.
///
/// [`OWN_WINDOW`]: CongestionController::OWN_WINDOW
pub trait CongestionController: Send + 'static {
    /// Whether [`on_sample`] and [`on_lost`] are called. Where not, nothing is kept for them, and no
    /// instruction spent.
    ///
    /// [`on_sample`]: CongestionController::on_sample
    /// [`on_lost`]: CongestionController::on_lost
    const SAMPLES: bool = false;
    /// Whether it alone moves the window, while losses are repaired, too. The window may then be less
    /// than a segment: with pacing, one is in flight at most, and they leave as far apart as the rate
    /// says. Without SACK the sender still inflates the window by duplicate ACKs (RFC 6582).
    const OWN_WINDOW: bool = false;
    /// Whether it has no more to do or to show once all is acknowledged: it puts nothing on ACKs,
    /// shares nothing with other flows and has no gauges.
    const DONE_WITH_DATA: bool = false;
    /// Called when the connection is open, before data leave.
    fn on_open(&mut self, _window: &mut Window, _opening: &mut Opening<'_>) {}
    /// Called for each ACK that reports anything new or any marks, before all else, in every state
    /// of the sender.
    fn on_delivery(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// Called when an ACK moved SND.UNA outside fast recovery, without reporting marks, while the
    /// window was what limited the sender.
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// Called instead when something else limited the sender: the application, or the receiver's
    /// window.
    fn on_unlimited_ack(&mut self, _ack: &Ack) {}
    /// Called when duplicate ACKs have shown a loss, once per window of data: the new threshold.
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64;
    /// Called when the retransmission timer expired for the first time on some data: the new
    /// threshold, by default as after a loss. With [`OWN_WINDOW`](CongestionController::OWN_WINDOW): each time.
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.on_loss(window, congestion)
    }
    /// Called when marks were reported, once per window of data: the new threshold, which is the
    /// new window too. By default RFC 3168, §6.1.2: half of the window.
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd / 2
    }
    /// Called when what was taken for lost by [`on_loss`](CongestionController::on_loss) or
    /// [`on_rto`](CongestionController::on_rto) has turned out to be late: window and threshold are at least what they
    /// were before; what else these have changed is to be taken back (RFC 9438, §4.9).
    fn on_undo(&mut self, _window: &mut Window) {}
    /// Called when fast recovery or the repair after a timeout is over; the window has been set.
    fn on_recovered(&mut self, _window: &mut Window, _now: Time) {}
    /// Called last of all on an ACK that reports data for the first time: what the newest of them
    /// tells of the path.
    fn on_sample(&mut self, _window: &mut Window, _ack: &Ack, _sample: &Sample) {}
    /// Called for each packet that is taken for lost, before what follows from that. What is repeated as a
    /// guess (RFC 6675, NextSeg, rules 3 and 4) is not.
    fn on_lost(&mut self, _window: &mut Window, _lost: &Lost) {}
    /// Called just before data leave while none are in flight, after a pause of the application. By default the window
    /// is at most the restart window after a pause longer than the timeout (RFC 5681, §4.1), and slow start leads back
    /// to three quarters of what it was (RFC 7661, §4.4.3); with [`OWN_WINDOW`](CongestionController::OWN_WINDOW)
    /// nothing happens.
    fn on_restart(&mut self, window: &mut Window, pause: &Pause) {
        if !Self::OWN_WINDOW && pause.idle > pause.rto {
            window.restart(pause.initial);
        }
    }
    /// The rate to pace at, if the controller has an opinion; else the sender paces at a multiple
    /// of cwnd/SRTT.
    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        None
    }
    /// With pacing: bytes on the wire that may leave together. One packet may, always.
    fn send_quantum(&self) -> u64 {
        0
    }
    /// What it is doing while nothing is being repaired, in a word or two; for who traces the run. One
    /// with a window of its own has no threshold to tell by.
    fn phase(&self, window: &Window) -> &'static str {
        match () {
            () if Self::OWN_WINDOW => "",
            () if window.cwnd < window.ssthresh => "slow start",
            () => "congestion avoidance",
        }
    }
    /// Numbers to plot over time, with their names.
    fn gauges(&self, _out: &mut Vec<(&'static str, f64)>) {}
}

/// How a receiver echoes congestion marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Echo {
    /// On every ACK from a mark until the sender says CWR (RFC 3168, §6.1.3).
    #[default]
    UntilCwr,
    /// Exactly the marks, through delayed ACKs (RFC 8257, §3.2).
    Exact,
}

/// What the ECN field of packets with payload says, on a connection that has ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codepoints {
    /// On data never sent before.
    pub new: Ecn,
    /// On repeated data.
    pub again: Ecn,
}

impl Default for Codepoints {
    /// RFC 3168, §6.1.5: ECT on new data only, never on a retransmission.
    fn default() -> Codepoints {
        Codepoints { new: Ecn::Ect0, again: Ecn::NotEct }
    }
}

/// A configuration value that builds controllers: what an outside controller implements to become a
/// TCP.
pub trait ControllerConfig: Send + Sync + 'static {
    /// What it builds.
    type Controller: NetworkAssisted;
    /// Called once per connection.
    fn build(&self, tcp: &TcpParams, mss: u32, flow: &FlowSpec) -> Self::Controller;
    /// What its connections are like; by default as TCP's are.
    fn traits(&self) -> ControllerTraits {
        ControllerTraits::default()
    }
}

/// How the connections of a controller differ from TCP's.
#[derive(Debug, Clone, Copy, Default)]
pub struct ControllerTraits {
    /// The ECN that it has unless the scenario says otherwise.
    pub ecn: EcnMode,
    /// How receivers echo marks where they don't count them ([`EcnMode::Accurate`]).
    pub echo: Echo,
    /// What packets say where both ends have ECN.
    pub codepoints: Codepoints,
    /// The window that a connection starts with, in segments, if not the common parameter.
    pub initial_window: Option<u32>,
    /// Whether packets are paced whatever the common parameter says.
    pub paced: bool,
}
