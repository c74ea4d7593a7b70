//! The active end: the stream's source, and who carries what.
//!
//! Here is what it is told; `sender/outgoing.rs` has the stream's numbers, `sender/subflow.rs` one
//! subflow, `sender/manage.rs` opening and closing of subflows, `sender/schedule.rs` scheduling and reinjection.

mod manage;
mod outgoing;
mod schedule;
mod subflow;

use std::sync::Arc;

use midpath_core::packet::{Flags, Packet};
use midpath_core::ranges::RangeSet;
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec};
use midpath_core::units::Time;

use super::address::Pair;
use super::announce::AddAddr;
use super::coupling::{Path, Paths, Subflows};
use super::forwarder::Addresses;
use super::header::Dss;
use super::hello::refuse;
use super::keys::{Key, Keys};
use super::params::{Coupling, MptcpParams};
pub use outgoing::Outgoing;
use schedule::Blocked;
pub use subflow::{GAUGES as SUBFLOW_GAUGES, Subflow};

/// The active end of a connection.
pub struct Connection {
    flow: FlowSpec,
    params: Arc<MptcpParams>,
    scheme: Arc<Subflows>,
    network: Arc<Addresses>,
    first: Pair,
    /// In the order in which they were opened; the dead stay until routes change.
    subflows: Vec<Subflow>,
    /// What those have done that are gone, and data that they had and that others are to carry.
    gone: Option<Box<FlowReport>>,
    orphaned: RangeSet,
    data: Outgoing,
    /// This end's key, drawn when the flow starts.
    own: Option<Key>,
    /// Both ends' keys, once the peer has shown that it has them: further subflows may join.
    keys: Option<Keys>,
    /// The peer's addresses that are known, a bit for each of its ports.
    addresses: u16,
    /// Round robin: who was last.
    last: usize,
    /// What the receiver's buffer does.
    blocked: Blocked,
    /// Whether routes have ever changed.
    rerouted: bool,
    /// Segments whose data another subflow had before.
    reinjected: u64,
    closing: bool,
    stop_at: Time,
}

impl Connection {
    /// A connection whose first subflow goes where this network says.
    pub(super) fn new(
        flow: &FlowSpec,
        params: Arc<MptcpParams>,
        scheme: Arc<Subflows>,
        network: Arc<Addresses>,
    ) -> Connection {
        let first = network.first_pair(flow.id, flow.src, flow.dst);
        Connection {
            flow: *flow,
            params,
            scheme,
            network,
            first,
            subflows: Vec::with_capacity(1),
            gone: None,
            orphaned: RangeSet::new(),
            data: Outgoing::new(flow.size.map(|s| s.0)),
            own: None,
            keys: None,
            addresses: 1 << first.destination().0,
            last: 0,
            blocked: Blocked::default(),
            rerouted: false,
            reinjected: 0,
            closing: false,
            stop_at: flow.stop.unwrap_or(Time::MAX),
        }
    }

    /// The subflows, the dead among them.
    pub fn subflows(&self) -> &[Subflow] {
        &self.subflows
    }
    /// The stream.
    pub fn data(&self) -> &Outgoing {
        &self.data
    }

    /// Learns what the packet says above its subflow: data ACK, window, an address. Whether the
    /// address is to be echoed.
    fn hear(&mut self, i: usize, packet: &Packet, ctx: &mut EndpointCtx<'_>) -> Option<AddAddr> {
        let s = &mut self.subflows[i];
        let (window, keys) = (s.tcp.told_window(packet), *s.keys()?);
        if packet.flags.has(Flags::SYN) {
            return None;
        }
        let ack = packet.header::<Dss>().map(|dss| dss.ack.wrapping_sub(keys.own.first));
        if let Some(ack) = ack.filter(|ack| self.data.may_be_acknowledged(*ack)) {
            // Nobody knows these numbers who has not the keys.
            if s.confirmed() && !s.joins() {
                self.establish(i, keys, ctx);
            }
            if self.data.on_ack(ack, window) {
                let una = self.data.una();
                self.subflows.iter_mut().for_each(|s| s.forget_below(una));
                if !self.orphaned.is_empty() {
                    self.orphaned.remove_below(una);
                }
            }
        }
        self.hear_of_address(packet)
    }

    /// An ADD_ADDR (RFC 8684, §3.4.1): only the peer itself can vouch for its addresses.
    fn hear_of_address(&mut self, packet: &Packet) -> Option<AddAddr> {
        let address = packet.header::<AddAddr>()?;
        let vouched = self.keys?.vouched(address.proof?, address.id, address.address);
        let port = address.port(self.flow.dst).filter(|_| vouched)?;
        self.addresses |= 1 << port.0;
        Some(address)
    }

    /// Shows the controller of a subflow all paths: it is about to grow.
    fn show_paths(&mut self, i: usize) {
        if self.params.coupling == Coupling::Uncoupled || self.subflows.len() < 2 {
            return;
        }
        if self.subflows[i].tcp.window().in_slow_start() {
            return; // RFC 6356, §3: slow start is not coupled
        }
        let (mut paths, mut me, mut count) = (Paths::default(), None, 0);
        for (j, s) in self.subflows.iter().enumerate().filter(|(_, s)| s.is_open()) {
            let between = s.tcp.control().between_losses() as f64;
            let place = paths.add(Path { cwnd: s.settled_window() as f64, rtt: s.tcp.srtt().as_secs_f64(), between });
            count += u32::from(place.is_some());
            me = if i == j { place } else { me };
        }
        self.subflows[i].tcp.control_mut().see(&paths, me.filter(|_| count > 1));
    }

    /// Hands a packet to the TCP of its subflow.
    fn hand_to_subflow(&mut self, i: usize, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let answered = self.subflows[i].tcp.is_answered_by(packet);
        if self.subflows[i].is_opening() && !answered && packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::RST) {
            // RFC 9293, §3.10.7.3: it is of an earlier subflow between these addresses, which the peer still has.
            return refuse(packet, ctx);
        }
        if answered {
            if !self.greet(i, packet) {
                return refuse(packet, ctx);
            }
            self.data.on_window(self.subflows[i].tcp.told_window(packet));
            match self.subflows[i].joins() {
                true => self.subflows[i].confirm_at = ctx.now.saturating_add(self.params.tcp.initial_rto),
                false => self.first_segment(i, ctx.now),
            }
        }
        let echo = self.hear(i, packet, ctx);
        self.show_paths(i);
        let end = self.data.end();
        self.subflows[i].call(ctx, end, |tcp, ctx| tcp.on_packet(packet, ctx));
        if let Some(address) = echo.filter(|_| self.subflows[i].is_open()) {
            self.subflows[i].echo(address, ctx, end);
        }
    }

    /// Takes over what the application has handed over, where there is one.
    fn take_supply(&mut self, ctx: &EndpointCtx<'_>) {
        if let Some(supply) = ctx.supply() {
            self.data.supply(supply);
        }
    }

    /// What follows from whatever has happened.
    fn go_on(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.look_after_losses();
        if self.data.all_acknowledged() {
            self.close(ctx);
        } else {
            self.open_more(ctx);
            self.schedule(ctx);
        }
        let alive = || self.subflows.iter().filter(|s| s.is_alive());
        match alive().map(Subflow::timer).min() {
            None => ctx.finish(),
            Some(first) => ctx.set_timer(first.min(self.stop_at)),
        }
    }
}

impl Endpoint for Connection {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop_at {
            return ctx.finish();
        }
        self.take_supply(ctx);
        self.open(self.first, ctx);
        self.go_on(ctx);
    }

    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.take_supply(ctx);
        self.go_on(ctx);
    }

    /// Ours: subflows of which nothing is heard are given up, and their addresses are tried again, for other routes may
    /// lead there now.
    fn on_routes(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.take_supply(ctx);
        self.rerouted = true;
        self.give_up_silent(ctx);
        self.go_on(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.take_supply(ctx);
        let pair = Pair::of(packet).map(Pair::reversed);
        match self.subflows.iter().position(|s| Some(s.pair) == pair && s.is_alive()) {
            None => refuse(packet, ctx),
            Some(i) => self.hand_to_subflow(i, packet, ctx),
        }
        self.go_on(ctx);
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.take_supply(ctx);
        if ctx.now >= self.stop_at {
            self.stop();
        }
        let (end, now) = (self.data.end(), ctx.now);
        for s in self.subflows.iter_mut().filter(|s| s.is_alive() && s.timer() <= now) {
            s.on_timer(ctx, end, &self.params.tcp);
        }
        // One that was heard of as routes changed may have none since.
        if self.rerouted && self.subflows.iter().all(|s| !s.is_alive() || s.is_silent()) {
            self.give_up_silent(ctx);
        }
        self.go_on(ctx);
    }

    fn report(&self) -> FlowReport {
        let mut all = self.gone.as_deref().copied().unwrap_or_default();
        for (i, s) in self.subflows.iter().enumerate() {
            let own = s.tcp.report();
            let cwnd = all.cwnd + if s.is_alive() { own.cwnd } else { 0 };
            let srtt = if i == 0 { own.srtt } else { all.srtt };
            all = FlowReport { cwnd, srtt, ..add(all, own) };
        }
        all.retransmitted += self.reinjected;
        all
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("subflows", self.subflows.iter().filter(|s| s.is_open()).count() as f64));
        out.push(("reinjected", self.reinjected as f64));
        out.push(("blocked_by", self.blocked.by().map_or(0.0, |i| i as f64 + 1.0)));
        let own = self.subflows.iter().zip(subflow::GAUGES);
        own.for_each(|(s, names)| s.gauges(names, out));
    }
}

/// Both reports' counters and round trips.
fn add(a: FlowReport, b: FlowReport) -> FlowReport {
    let least = if a.rtt_count == 0 {
        b.rtt_min
    } else if b.rtt_count == 0 {
        a.rtt_min
    } else {
        a.rtt_min.min(b.rtt_min)
    };
    FlowReport {
        sent: a.sent + b.sent,
        retransmitted: a.retransmitted + b.retransmitted,
        timeouts: a.timeouts + b.timeouts,
        rtt_min: least,
        rtt_max: a.rtt_max.max(b.rtt_max),
        rtt_sum: a.rtt_sum + b.rtt_sum,
        rtt_count: a.rtt_count + b.rtt_count,
        ..a
    }
}
