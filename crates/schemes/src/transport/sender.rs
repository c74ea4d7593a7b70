//! The active end of a TCP: sends the flow's bytes, then its FIN.
//!
//! The fast path (nothing lost, nothing reported by SACK) touches a dozen words and allocates nothing. Recovery works
//! on the scoreboard: one record for each segment that is outstanding.
//!
//! | file in `sender` | subject |
//! |---|---|
//! | `connect.rs`, `time_wait.rs` | handshake, FIN, giving up; what is left when all is over |
//! | `ack.rs` | what an ACK means |
//! | `scoreboard.rs`, `lost.rs` | what is outstanding; what of it is lost, and sent again |
//! | `recovery.rs`, `undo.rs` | fast recovery, timeouts; recoveries that were in vain |
//! | `rack.rs`, `overtaken.rs` | what is lost by its time of sending; the same where the network stores |
//! | `probe.rs`, `ask.rs` | probes for lost tails; headers alone that ask the network |
//! | `transmit.rs`, `supply.rs` | what is sent next, and when; streams that are handed over piece by piece |
//! | `half.rs`, `rates.rs` | ends where data go both ways; delivery-rate samples |

mod ack;
mod ask;
mod connect;
mod half;
mod lost;
mod overtaken;
mod probe;
mod rack;
mod rates;
mod recovery;
pub(crate) mod scoreboard;
mod supply;
pub(super) mod time_wait;
mod transmit;
mod undo;

use std::sync::Arc;

pub(super) use half::Opened;
use midpath_core::packet::{Flags, Interfaces, Kind, Packet};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec};
use midpath_core::units::Time;

use overtaken::Overtaken;
use probe::{Probe, Probes};
use rack::Rack;
use rates::Rates;
use scoreboard::{Reports, Scoreboard};
use supply::Supply;
use undo::Undo;

use super::cc::{NetworkAssisted, View, Window};
use super::ecn::{self, Agreed, Marks};
use super::lazy_box::{Initial, LazyBox};
use super::prr::Prr;
use super::rtt::RttEstimator;
use super::segment::Ends;
use super::settings::{Settings, UNLIMITED};
use crate::tally::Tally;

/// Where the connection stands (RFC 9293, §3.3.2, the active side).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The SYN is out.
    SynSent,
    /// Data flow; the FIN may be out too (ESTABLISHED, FIN-WAIT-1).
    Open,
    /// Everything of ours is acknowledged, the peer's FIN is missing (FIN-WAIT-2).
    FinWait2,
    /// Both FINs are acknowledged; a repeated FIN of the peer would be answered (TIME-WAIT).
    TimeWait,
}

/// What the sender thinks of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No loss is being repaired.
    Open,
    /// Fast recovery until `recover` is acknowledged.
    Recovery,
    /// Repair after a timeout until `recover` is acknowledged.
    Loss,
}

/// The sender's half of ECN (RFC 3168, §6.1.2; RFC 9768, §3.2).
#[derive(Debug, Default)]
struct EcnState {
    /// What both ends have agreed on.
    agreed: Agreed,
    /// New data are sent as ECN-capable.
    capable: bool,
    /// The next new data packet says CWR.
    tell: bool,
}

/// What few connections have.
#[derive(Debug, Clone)]
struct Extras {
    /// When the flow stops although data remain.
    stop_at: Time,
    /// What has been handed over, when the stream comes piece by piece.
    supply: Option<Box<Supply>>,
    /// Where the network stores and what has been overtaken is repeated: what that is. Loss then is
    /// no phase.
    overtaken: Option<Box<Overtaken>>,
    /// With accurate ECN: what the receiver has counted.
    marks: Marks,
    /// With accurate ECN: whether the receiver has said yet what it has counted, and nothing that counts.
    heard: bool,
    unheeded: bool,
    /// With accurate ECN: whether the SYN-ACK was marked (r.cep is 5 or 6, for ACKs are not
    /// ECN-capable).
    marked: bool,
    /// The window was lowered by ECN-Echo (not by loss) at `answered`.
    by_mark: bool,
    /// SND.NXT when the window of a connection that has ECN was last lowered: marks up to here have been answered.
    answered: u64,
}

impl Initial for Extras {
    const INITIAL: &'static Extras = &Extras {
        stop_at: Time::MAX,
        supply: None,
        overtaken: None,
        marks: Marks::NONE,
        heard: false,
        unheeded: false,
        marked: false,
        by_mark: false,
        answered: 0,
    };
}

impl LazyBox<Reports> {
    #[inline]
    fn repair(&mut self) -> Option<&mut Repair> {
        Some(&mut self.get_mut()?.repair)
    }
}

impl LazyBox<Extras> {
    #[inline]
    fn supply(&self) -> Option<&Supply> {
        self.get()?.supply.as_deref()
    }
    #[inline]
    fn supply_mut(&mut self) -> Option<&mut Supply> {
        self.get_mut()?.supply.as_deref_mut()
    }
    #[inline]
    fn overtaken(&self) -> Option<&Overtaken> {
        self.get()?.overtaken.as_deref()
    }
    #[inline]
    fn overtaken_mut(&mut self) -> Option<&mut Overtaken> {
        self.get_mut()?.overtaken.as_deref_mut()
    }
}

/// What only repairs need, and those whom something strange has reached.
#[derive(Debug, Clone)]
struct Repair {
    /// RecoveryPoint of RFC 6675, recover of RFC 6582: SND.NXT when recovery or repair began; 0
    /// before the first.
    recover: u64,
    /// DupAcks.
    dupacks: u32,
    /// Timeouts since SND.UNA moved.
    retries: u32,
    /// When the timer last expired on data, and SND.NXT then.
    gave_up: (Time, u64),
    /// Payload sent by limited transmit since SND.UNA moved.
    limited_transmit: u64,
    /// Partial ACKs in this recovery.
    partial: u32,
    prr: Prr,
    /// The probe whose answer is awaited, and how many were sent (RFC 8985, §7).
    probe: Option<Probe>,
    probes: u32,
    /// Once something has arrived out of order, or was repeated: what RACK knows of it.
    rack: Option<Box<Rack>>,
    /// With RACK-TLP: what the window was before it was last reduced, until that is known to be right.
    undo: Option<Box<Undo>>,
    /// When a segment out of turn was last answered.
    challenged: Option<Time>,
    /// Packets sent again, and timeouts.
    retransmitted: u64,
    timeouts: u64,
}

impl Repair {
    /// Nothing has been repaired.
    const NONE: Repair = Repair {
        recover: 0,
        dupacks: 0,
        retries: 0,
        gave_up: (Time::ZERO, 0),
        limited_transmit: 0,
        partial: 0,
        prr: Prr::NONE,
        probe: None,
        probes: 0,
        rack: None,
        undo: None,
        challenged: None,
        retransmitted: 0,
        timeouts: 0,
    };
}

/// When packets leave that are paced, and what those controllers ask for of which the most pace.
#[derive(Debug, Clone)]
struct Pace {
    /// For controllers that ask for samples.
    rates: Option<Box<Rates>>,
    /// When the next packet may leave.
    at: Time,
    /// When the last one left by plan, and its size.
    last: (Time, u32),
    /// Bytes of the present quantum that may still leave.
    quantum: u64,
    /// When the last header alone was sent, and how many have been since the last answer.
    asked: Time,
    asking: u8,
}

impl Initial for Pace {
    const INITIAL: &'static Pace =
        &Pace { rates: None, at: Time::ZERO, last: (Time::ZERO, 0), quantum: 0, asked: Time::ZERO, asking: 0 };
}

impl LazyBox<Pace> {
    #[inline]
    fn rates(&mut self) -> Option<&mut Rates> {
        self.get_mut()?.rates.as_deref_mut()
    }
}

/// The active end, with congestion controller `C`. Laid out by use: what every ACK reads or writes
/// comes first, and what few flows need is in boxes.
#[derive(Debug)]
#[repr(C)]
pub struct Sender<C> {
    ends: Ends,
    state: State,
    phase: Phase,
    /// Whether cwnd (or pacing) was what ended the last burst.
    limited: bool,
    /// With pacing: whether a packet waits for that.
    pacing: bool,
    /// The application had nothing more to send.
    paused: bool,
    ecn: EcnState,
    probes: Probes,
    rtt: RttEstimator,
    tally: Tally,
    /// When the window was last needed (RFC 7661, §4.4.3), as [`coarse`](super::segment::coarse) has it.
    validated_at: u32,
    settings: Arc<Settings>,
    /// The FIN's number, which is the length of the stream; `u64::MAX` while nobody knows.
    end: u64,
    /// The retransmission timer, and every later state's one deadline.
    rto_at: Time,
    /// When a probe for a lost tail is due (RFC 8985, §7).
    probe_at: Time,
    window: Window,
    control: C,
    /// What is outstanding, from SND.UNA on.
    board: Scoreboard,
    extras: LazyBox<Extras>,
    pace: LazyBox<Pace>,
}

impl<C: NetworkAssisted> Sender<C> {
    pub(super) fn new(flow: &FlowSpec, settings: Arc<Settings>, control: C) -> Sender<C> {
        let tcp = &settings.tcp;
        let mut extras = LazyBox::<Extras>::default();
        if let Some(stop) = flow.stop {
            extras.stop_at = stop;
        }
        if settings.overtaken {
            extras.overtaken = Some(Box::new(Overtaken::new()));
        }
        let mut pace = LazyBox::<Pace>::default();
        if C::SAMPLES {
            pace.rates = Some(Box::default());
        }
        Sender {
            ends: Ends::new(flow.id, flow.src, flow.dst, Interfaces::ANY, flow.mtu, tcp),
            control,
            state: State::SynSent,
            phase: Phase::Open,
            window: Window::new(settings.initial_window, settings.mss(flow.mtu)),
            end: flow.size.map_or(u64::MAX, |s| s.0.min(u64::MAX / 2)),
            board: Scoreboard::default(),
            extras,
            rtt: RttEstimator::NEW,
            validated_at: 0,
            probes: Probes::default(),
            probe_at: Time::MAX,
            ecn: EcnState::default(),
            limited: false,
            rto_at: Time::MAX,
            pace,
            pacing: false,
            paused: false,
            tally: Tally::default(),
            settings,
        }
    }

    /// The congestion window.
    pub fn window(&self) -> &Window {
        &self.window
    }
    /// The congestion controller.
    pub fn control(&self) -> &C {
        &self.control
    }
    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }
    /// What the sender thinks of the network.
    pub fn phase(&self) -> Phase {
        self.phase
    }
    /// With accurate ECN: how many packets the receiver has reported as marked.
    pub fn marks(&self) -> u64 {
        self.extras.marks.count() - ecn::FIRST
    }
    /// How far the sender has come: SND.NXT.
    pub fn progress(&self) -> u64 {
        self.nxt()
    }
    /// SND.UNA: the first byte not yet acknowledged.
    #[inline]
    fn una(&self) -> u64 {
        self.board.una()
    }
    /// SND.NXT: the first byte not yet sent.
    #[inline]
    fn nxt(&self) -> u64 {
        self.board.nxt()
    }
    /// One past the last byte that the receiver's window admits.
    #[inline]
    fn edge(&self) -> u64 {
        self.board.edge_of_window()
    }
    /// Bytes sent and not yet acknowledged: RFC 5681's FlightSize, the FIN counted as one.
    pub fn flight(&self) -> u64 {
        self.board.flight()
    }

    /// What must be so between events.
    #[inline]
    fn check(&self) {
        debug_assert!(self.board.is_consistent(self.una(), self.nxt()), "{:?}", self.board);
        debug_assert!(self.nxt() <= self.end.saturating_add(1), "sent beyond the FIN");
        debug_assert!(
            self.phase == Phase::Open || self.una() < self.board.reports.repair.recover,
            "nothing is left to repair"
        );
        debug_assert!(
            C::OWN_WINDOW || self.window.ssthresh >= self.window.mss,
            "less than a segment: {:?}",
            self.window
        );
        debug_assert!(!self.pacing || self.settings.tcp.pacing, "who doesn't pace waits for no pace");
    }

    /// What we expect of the peer: 0, or 1 after its FIN.
    #[inline]
    fn peer_next(&self) -> u64 {
        u64::from(self.state == State::TimeWait)
    }

    /// The flow has stopped, or has no need to.
    fn forget_stop(&mut self) {
        if let Some(extras) = self.extras.get_mut() {
            extras.stop_at = Time::MAX;
        }
    }

    /// Something has been heard since the last timeout.
    fn forget_retries(&mut self) {
        if let Some(repair) = self.board.reports.repair() {
            repair.retries = 0;
        }
    }

    #[inline]
    fn dupacks(&self) -> u32 {
        self.board.reports.get().map_or(0, |reports| reports.repair.dupacks)
    }

    /// Duplicate ACKs are counted anew.
    #[inline]
    fn forget_duplicates(&mut self) {
        if let Some(repair) = self.board.reports.repair() {
            repair.dupacks = 0;
        }
    }

    fn sack_on(&self) -> bool {
        self.ends.sack()
    }

    /// Whether an ACK's timestamp tells the round trip of what was repeated in vain (RFC 7323, §4.1). Not where the
    /// network tells the rate: what a failed link has held for seconds would set the pace of that.
    fn reads_timestamps(&self) -> bool {
        self.settings.rack_tlp && !self.settings.is_rate_based()
    }

    /// Whether losses are found by RACK (RFC 8985), which learns how far packets are reordered.
    fn adapts(&self) -> bool {
        self.settings.rack_tlp && self.ends.sack()
    }

    /// Bytes estimated to be in the network.
    #[inline]
    pub fn pipe(&self) -> u64 {
        match self.phase {
            Phase::Open => {
                self.flight() - self.board.sacked() - self.extras.overtaken().map_or(0, |_| self.board.missing())
            }
            // RFC 6582 inflates the window instead of deflating the pipe.
            Phase::Recovery if !self.sack_on() => self.flight(),
            Phase::Recovery | Phase::Loss => self.board.pipe(),
        }
    }

    /// What the controller may know. Always in line: of what the controller does not ask for nothing is worked out.
    #[inline(always)]
    fn view(&self) -> View {
        let (flight, pipe) = (self.flight(), self.pipe());
        View {
            srtt: self.rtt.srtt(),
            base_rtt: self.tally.rtt_min,
            mss: self.window.mss,
            overhead: self.settings.overhead().into(),
            unsent: if self.end == u64::MAX { u64::MAX } else { self.end.saturating_sub(self.nxt()) },
            at_hand: self.end.min(self.handed_over()).saturating_sub(self.nxt()),
            flight,
            pipe,
            lost: flight.saturating_sub(self.board.sacked() + pipe),
        }
    }

    /// Shows the controller what came back, and paces by what it makes of it.
    #[inline]
    fn feedback(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let view = self.view();
        self.control.on_feedback(packet, &mut self.window, &view, ctx);
        if !C::SAMPLES {
            self.pace_again(ctx.now); // else when the sample has been taken
        }
    }

    /// Shows the controller what a node on the way says.
    fn on_notice(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if self.state == State::Open {
            let view = self.view();
            self.control.on_notice(packet, &mut self.window, &view, ctx);
            self.pace_again(ctx.now);
        }
        self.arm(ctx);
    }

    /// The rate may have changed since the last packet left: the next one leaves when the new rate
    /// has room for it. Never before now, for nobody could have known; but a packet whose time had
    /// come when the driver was late keeps it.
    #[inline]
    fn pace_again(&mut self, now: Time) {
        let has_pace = || C::OWN_WINDOW || self.control.pacing_rate(&self.window, self.rtt.srtt()).is_some();
        if self.settings.tcp.pacing && has_pace() {
            let gap = self.spacing(self.pace.last.1);
            let pace = &mut *self.pace;
            let known = if self.pacing { now.min(pace.at) } else { now };
            pace.at = pace.last.0.saturating_add(gap).max(known);
        }
    }

    /// With pacing: the next packet leaves then.
    fn leaves_at(&mut self, at: Time) {
        if self.settings.tcp.pacing {
            self.pace.at = at;
        }
    }

    /// The same for the first one, which none has gone before.
    fn leaves_first_at(&mut self, at: Time) {
        if self.settings.tcp.pacing {
            (self.pace.last, self.pace.at) = ((at, 0), at);
        }
    }

    /// The endpoint goes.
    fn finish(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.control.on_close(ctx);
        ctx.finish();
    }

    /// Puts the controller's header on a packet and sends it.
    #[inline(never)]
    fn dispatch(&mut self, packet: Packet, ctx: &mut EndpointCtx<'_>) {
        let mut packet = packet;
        self.dispatch_bytes(&mut packet, 0, ctx);
    }

    /// The same for a packet whose payload begins at the offset `at`. By reference and in line: so a packet without a
    /// header is written where the pool has room for it, and nowhere before.
    #[inline(always)]
    fn dispatch_bytes(&mut self, packet: &mut Packet, at: u64, ctx: &mut EndpointCtx<'_>) {
        let view = self.view();
        self.control.on_send(packet, &view, ctx);
        ctx.send_bytes(packet, at);
    }

    /// What all segments after the handshake say of ECN: the number of marked packets received,
    /// where that is counted.
    #[inline]
    fn ace(&self) -> Flags {
        match self.ecn.agreed {
            Agreed::Accurate => ecn::flags(ecn::FIRST + u64::from(self.extras.marked)),
            Agreed::None | Agreed::Classic => Flags(0),
        }
    }

    /// Sets the one timer to the first deadline.
    #[inline]
    fn arm(&self, ctx: &mut EndpointCtx<'_>) {
        ctx.set_timer(self.due());
    }

    /// The first deadline.
    #[inline]
    fn due(&self) -> Time {
        let due = self.due_but_pace();
        if self.pacing { due.min(self.pace.at) } else { due }
    }

    /// The same of all but the pace.
    #[inline]
    fn due_but_pace(&self) -> Time {
        let due = self.rto_at.min(self.probe_at).min(self.ask_at()).min(self.reordered_at());
        self.extras.get().map_or(due, |extras| due.min(extras.stop_at).min(self.repeat_at()))
    }
}

impl<C: NetworkAssisted> Endpoint for Sender<C> {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.take_supply(ctx);
        self.connect(ctx);
        self.arm(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind == Kind::Datagram {
            return self.on_notice(packet, ctx);
        }
        if packet.kind != Kind::Segment || packet.flags.has(Flags::RST) {
            return self.on_reset(packet, ctx);
        }
        self.note_app_limited();
        self.take_supply(ctx);
        match self.state {
            State::SynSent => self.on_syn_ack(packet, ctx),
            State::Open if packet.flags.has(Flags::SYN) => self.acknowledge(ctx),
            State::Open => self.on_ack(packet, ctx),
            State::FinWait2 | State::TimeWait => {}
        }
        if self.una() > self.end {
            self.on_all_acknowledged(packet, ctx);
        }
        self.check();
        self.arm(ctx);
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.note_app_limited();
        self.take_supply(ctx);
        if self.pacing && ctx.now >= self.pace.at && ctx.now < self.due_but_pace() {
            self.send(ctx); // mostly
            self.check();
            return self.arm(ctx);
        }
        if ctx.now >= self.extras.stop_at && self.state == State::SynSent {
            return self.finish(ctx);
        }
        if ctx.now >= self.extras.stop_at {
            self.stop(ctx);
        }
        if ctx.now >= self.ask_at() {
            self.ask_network(ctx);
        }
        let overtaken = ctx.now >= self.repeat_at() && self.find_overtaken(ctx.now);
        let lost = ctx.now >= self.reordered_at() && self.on_reordering_timer(ctx);
        if ctx.now >= self.probe_at {
            self.on_probe_timer(ctx);
        }
        if ctx.now >= self.rto_at {
            self.on_deadline(ctx);
        } else if lost || overtaken || self.pacing && ctx.now >= self.pace.at {
            self.send(ctx);
        } else {
            let view = self.view();
            self.control.on_poke(&view, ctx);
            self.pace_again(ctx.now);
        }
        self.check();
        self.arm(ctx);
    }

    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.note_app_limited();
        self.take_supply(ctx);
        if self.state == State::Open {
            self.send(ctx);
        }
        self.arm(ctx);
    }

    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        // Nothing beyond has arrived: the number is in the peer's window, wherever that begins.
        self.reset_at(self.nxt(), ctx);
    }

    fn report(&self) -> FlowReport {
        let rate = self.control.pacing_rate(&self.window, self.rtt.srtt()).map_or(0, |r| r.0);
        let cwnd = if self.window.mss * u64::from(UNLIMITED) <= self.window.cwnd { 0 } else { self.window.cwnd };
        let Repair { retransmitted, timeouts, .. } = self.board.reports.repair;
        let srtt = self.rtt.srtt();
        self.tally.report(FlowReport { cwnd, rate, srtt, retransmitted, timeouts, ..FlowReport::default() })
    }

    fn phase(&self) -> &'static str {
        match (self.state, self.phase) {
            (State::SynSent, _) => "opening",
            (State::FinWait2 | State::TimeWait, _) => "closing",
            (State::Open, Phase::Open) => self.control.phase(&self.window),
            (State::Open, Phase::Recovery) => "fast recovery",
            (State::Open, Phase::Loss) => "repair after a timeout",
        }
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.control.gauges(out);
    }
}
