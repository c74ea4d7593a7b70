//! The one congestion-controller trait, and the window that a controller and the sender share.

use midpath_core::packet::Packet;
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::ecn::EcnMode;
use super::hystart::HyStart;
use super::params::{GrowthRule, TcpParams};

/// A window never grows beyond this: 1 TiB, above every bandwidth-delay product, far below
/// overflow.
const MAX_WINDOW: u64 = 1 << 40;

/// The congestion window of one sender, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Most bytes in flight.
    pub cwnd: u64,
    /// Below this the window grows by slow start.
    pub ssthresh: u64,
    /// Payload of a full segment (SMSS).
    pub mss: u64,
    /// Growth that does not make a whole byte yet.
    rest: f64,
}

impl Window {
    /// A window of `segments` segments and no threshold yet (RFC 5681, §3.1: "arbitrarily high").
    pub fn new(segments: u32, mss: u32) -> Window {
        let mss = u64::from(mss);
        Window { cwnd: u64::from(segments) * mss, ssthresh: MAX_WINDOW, mss, rest: 0.0 }
    }

    /// Whether slow start governs the growth (RFC 5681, §3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by a fraction of a byte or more; fractions add up.
    #[inline]
    pub fn grow(&mut self, bytes: f64) {
        self.rest += bytes.max(0.0);
        let whole = self.rest as u64;
        self.rest -= whole as f64;
        self.cwnd = (self.cwnd.saturating_add(whole)).min(MAX_WINDOW);
    }

    /// Sets the window.
    pub fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.min(MAX_WINDOW);
        self.rest = 0.0;
    }

    /// The window in segments.
    #[inline]
    pub fn segments(&self) -> f64 {
        (self.cwnd as f64 + self.rest) / self.mss as f64
    }
}

/// What one acknowledgement has told the sender.
#[derive(Debug, Clone, Copy)]
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

/// What a controller that talks with the network may know of its sender.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Time,
    /// The shortest round-trip time measured, which has least of queues in it; zero before the
    /// first sample.
    pub base_rtt: Time,
    /// Payload of a full packet.
    pub mss: u64,
    /// Bytes of headers on a packet with payload.
    pub overhead: u64,
    /// Payload never sent so far, without what is just being sent; `u64::MAX` while nobody knows
    /// the end.
    pub unsent: u64,
    /// The same of what the application has handed over so far: nothing while it is silent.
    pub at_hand: u64,
    /// Bytes sent and not yet acknowledged.
    pub flight: u64,
    /// Those of them that are thought to be in the network.
    pub pipe: u64,
    /// Those of them that are thought to be lost and have not been sent again.
    pub lost: u64,
}

impl View {
    /// Payload that is still to be sent, repairs included; `u64::MAX` while nobody knows the end.
    pub const fn to_send(&self) -> u64 {
        self.unsent.saturating_add(self.lost)
    }
}

/// A congestion controller: it decides how the window grows, and where it falls to.
///
/// The sender owns detection and repair of losses, and asks the controller only for its decisions.
/// Thresholds returned are raised to two segments by the sender (RFC 5681, equation 4).
pub trait CongestionController: Send + 'static {
    /// Whether it has no more to do or to show once all is acknowledged: it puts nothing on ACKs,
    /// shares nothing with other flows and has no gauges.
    const DONE_WITH_DATA: bool = false;
    /// Called for each ACK that reports anything new or any marks, before all else, in every state
    /// of the sender.
    fn on_delivery(&mut self, _ack: &Ack) {}
    /// Called when an ACK moved SND.UNA outside fast recovery, without reporting marks, while the
    /// window was what limited the sender.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);
    /// Called instead when something else limited the sender: the application, or the receiver's
    /// window.
    fn on_unlimited_ack(&mut self, _ack: &Ack) {}
    /// Called when duplicate ACKs have shown a loss, once per window of data: the new threshold.
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64;
    /// Called when the retransmission timer expired for the first time on some data: the new
    /// threshold.
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64;
    /// Called where the network stores, when something outstanding turns out to be lost: what is
    /// left in the network.
    fn on_overtaken(&mut self, _window: &mut Window, _pipe: u64) {}
    /// Called when marks were reported, once per window of data: the new threshold, which is the
    /// new window too.
    fn on_ecn(&mut self, window: &Window, congestion: &Congestion) -> u64;
    /// Called when fast recovery or the repair after a timeout is over; the window has been set.
    fn on_recovered(&mut self, _window: &mut Window, _now: Time) {}
    /// Called just before any packet of the active end leaves (SYN, data, repeat, pure ACK): the
    /// place to put a header on it.
    fn on_send(&mut self, _packet: &mut Packet, _view: &View, _ctx: &mut EndpointCtx<'_>) {}
    /// Called with every valid packet that comes back (SYN-ACK included) when its numbers have been
    /// taken in, before the window is adapted: the place to read the network's feedback off it.
    fn on_feedback(&mut self, _packet: &Packet, _window: &mut Window, _view: &View, _ctx: &mut EndpointCtx<'_>) {}
    /// Called when all has been acknowledged, and again when the endpoint goes: what it holds in
    /// common with the host's other flows is to be given back.
    fn on_close(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    /// Called when the endpoint is woken by a poke from another flow of its host.
    fn on_poke(&mut self, _view: &View, _ctx: &mut EndpointCtx<'_>) {}
    /// The rate to pace at, if the controller has an opinion; else the sender paces at a multiple
    /// of cwnd/SRTT.
    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        None
    }
    /// How far apart two packets may be at its pace, where that may be more than the RTO.
    #[inline]
    fn longest_gap(&self) -> Time {
        Time::ZERO
    }
    /// Called when the connection is open: how long its first packet waits, where the sender paces.
    fn waits(&mut self, _view: &View, _ctx: &mut EndpointCtx<'_>) -> Time {
        Time::ZERO
    }
    /// Once nothing has been sent for this long, a header alone asks the network. `None`: never.
    #[inline]
    fn asks_after(&self, _view: &View) -> Option<Time> {
        None
    }
    /// Numbers to plot over time, with their names.
    fn gauges(&self, _out: &mut Vec<(&'static str, f64)>) {}
}

/// How a receiver turns the header of the newest packet with payload (or of the SYN) into that of
/// an acknowledgement.
pub type Reflect = fn(seen: &Packet, ack: &mut Packet);

/// Told of each ACK that a receiver sends: for hosts whose senders share a link with them.
pub type Acknowledged = fn(ack: &Packet, ctx: &mut EndpointCtx<'_>);

/// How a receiver echoes congestion marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Echo {
    /// On every ACK from a mark until the sender says CWR (RFC 3168, §6.1.3).
    #[default]
    UntilCwr,
    /// Exactly the marks, through delayed ACKs (RFC 8257, §3.2).
    Exact,
}

/// A configuration value that builds controllers: what an outside controller implements to become a
/// TCP.
pub trait ControllerConfig: Send + Sync + 'static {
    /// What it builds.
    type Controller: CongestionController;
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
    /// Bytes that the controller's own header takes on every packet.
    pub header: u32,
    /// How receivers reflect that header.
    pub reflect: Option<Reflect>,
    /// Who is told of receivers' ACKs.
    pub acknowledged: Option<Acknowledged>,
    /// Whether the network tells the rate: packets are paced at it, and no window limits the sender
    /// but the receiver's.
    pub rate_based: bool,
    /// Whether the network stores what it cannot send yet. What nothing later has overtaken is then
    /// not lost but waits: a timeout repeats the first segment and the holes below what was
    /// reported by SACK, and the window is what `on_rto` says.
    pub stores: bool,
    /// Where the network stores: whether what has been overtaken is lost and repeated at any time,
    /// not only after a timeout.
    pub overtaken: bool,
    /// The ECN that it has unless the scenario says otherwise.
    pub ecn: EcnMode,
    /// How receivers echo marks where they don't count them ([`EcnMode::Accurate`]).
    pub echo: Echo,
    /// The window that a connection starts with, in segments, if not the common parameter.
    pub initial_window: Option<u32>,
    /// Whether its flows make no sense unless the network scheme of the same name runs somewhere.
    pub own_network: bool,
}

/// Slow start and Reno's congestion avoidance: what NewReno and DCTCP do, and how CUBIC starts.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    rule: GrowthRule,
    limit: u64,
    counted: u64,
    hystart: HyStart,
}

impl Growth {
    /// Growth by the parameters' rule; with HyStart++ if they or the controller say so.
    pub fn new(tcp: &TcpParams, mss: u32, hystart: bool) -> Growth {
        let limit = u64::from(tcp.abc_limit) * u64::from(mss);
        Growth { rule: tcp.growth, limit, counted: 0, hystart: HyStart::new(tcp.hystart.unwrap_or(hystart)) }
    }

    /// Grows by slow start; returns the bytes that are left for congestion avoidance when the
    /// threshold was reached.
    #[inline]
    pub fn slow_start(&mut self, window: &mut Window, ack: &Ack) -> u64 {
        let limit = match self.rule {
            // RFC 5681, equation 2: cwnd += min(N, SMSS).
            GrowthRule::PerAck => window.mss,
            // RFC 3465, §2.3: L = 1 in slow start after a timeout.
            GrowthRule::Abc if ack.after_rto => window.mss,
            GrowthRule::Abc => self.limit,
        };
        // Up to the threshold and no further, as Linux; RFC 5681 leaves it open.
        let wanted = self.hystart.limit_growth(ack.acked.min(limit), window, ack);
        let room = window.ssthresh.saturating_sub(window.cwnd);
        let grow = wanted.min(room);
        window.set(window.cwnd + grow);
        if grow == room && self.rule == GrowthRule::Abc { ack.acked - grow } else { 0 }
    }

    /// Grows by one segment per window of `acked` bytes.
    #[inline]
    pub fn avoid(&mut self, window: &mut Window, acked: u64) {
        if self.rule == GrowthRule::PerAck {
            // RFC 5681, equation 3: cwnd += SMSS*SMSS/cwnd per ACK.
            return window.grow((window.mss * window.mss) as f64 / window.cwnd as f64);
        }
        // RFC 3465, §2.1: one SMSS whenever a whole window has been acknowledged.
        self.counted += acked;
        if self.counted >= window.cwnd {
            self.counted -= window.cwnd;
            window.grow(window.mss as f64);
        }
    }

    /// Slow start below the threshold, congestion avoidance above.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !window.in_slow_start() {
            return self.avoid(window, ack.acked);
        }
        let left = self.slow_start(window, ack);
        if left > 0 {
            self.avoid(window, left);
        }
    }

    /// The window has fallen: what was counted towards the next segment is forgotten, the first
    /// slow start is over.
    pub fn restart(&mut self) {
        self.counted = 0;
        self.hystart.end();
    }
}
