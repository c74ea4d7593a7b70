//! An end that carries data both ways: a [`Sender`] and a [`Receiver`] in one connection.
//!
//! Each does its half and knows nothing of the other. What the sender sends is completed by what the
//! receiver has to say (acknowledgement, window, SACK, marks, the peer's clock); what the receiver
//! sends gets the sender's number. What arrives is shown to both: to the receiver as it is, to the
//! sender as the bare acknowledgement that it takes. Only drivers that carry bytes make such ends;
//! the simulator's flows have a half each.
//!
//! A header that asks the network for its own direction has no room for the answer to the other one, unless the scheme
//! says so. ACKs then go apart from data, so that ports see two flows with one handshake: the SYN asks, the SYN-ACK asks,
//! and each is answered by an ACK. No data go before a sender has its answer.

use std::sync::Arc;

use midpath_core::packet::{Flags, Kind, Packet};
use midpath_core::roles::{Accept, Endpoint, EndpointCtx, FlowReport, FlowSpec, Transport};
use midpath_core::units::{Bytes, Rate, Time};

use super::cc::{AssistedConfig, NetworkAssisted};
use super::receiver::{Receiver, largest};
use super::scheme::Tcp;
use super::segment::{opens, reset};
use super::sender::{Opened, Sender};

/// TCP whose flows carry data both ways.
pub struct FullDuplex<K>(Tcp<K>);

impl<K: AssistedConfig> FullDuplex<K> {
    /// The same scheme, with windows of at most `window` bytes.
    pub(super) fn of(tcp: &Tcp<K>, window: u64) -> FullDuplex<K> {
        let mut settings = *tcp.settings;
        settings.tcp.receive_window = Bytes(window.min(settings.tcp.receive_window.0));
        if settings.answers_apart() {
            settings.reflect = settings.reflect_apart.or(settings.reflect);
        }
        FullDuplex(Tcp { settings: Arc::new(settings), control: tcp.control.clone(), needs: tcp.needs.clone(), ..*tcp })
    }

    fn active(&self, flow: &FlowSpec) -> Duplex<K::Controller> {
        let mut sender = self.0.sender(flow);
        let held = sender.hold();
        let receiver = Receiver::of_active(*sender.ends(), self.0.settings.clone());
        Duplex { sender, receiver, active: true, held, open: false, answers: false, until: Time::MAX }
    }

    fn passive(&self, syn: &Packet) -> Duplex<K::Controller> {
        let spec = FlowSpec { mtu: largest(syn), ..FlowSpec::new(syn.flow, syn.dst, syn.src) };
        let (mut sender, receiver) = (self.0.sender(&spec), self.0.receiver(syn).into_half());
        let held = sender.hold();
        Duplex { sender, receiver, active: false, held, open: false, answers: false, until: Time::MAX }
    }
}

impl<K: AssistedConfig> Transport for FullDuplex<K> {
    fn headers(&self) -> u32 {
        self.0.headers()
    }
    fn ceiling(&self, rtt: Time) -> Option<Rate> {
        self.0.ceiling(rtt)
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(self.active(flow))
    }
    fn accept(&self, first: &Packet, _expected: Option<&FlowSpec>) -> Accept {
        if opens(first) {
            return Accept::Take(Box::new(self.passive(first)));
        }
        self.refuse(first).map_or(Accept::Ignore, Accept::Refuse)
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        reset(packet)
    }
    fn needs(&self) -> Option<&str> {
        self.0.needs()
    }
}

/// One end of a connection that carries data both ways.
struct Duplex<C> {
    sender: Sender<C>,
    receiver: Receiver,
    active: bool,
    /// The sender waits for the network's first word.
    held: bool,
    /// Both halves have the connection's numbers.
    open: bool,
    /// The peer has closed its side first: its FIN came before ours was sent.
    answers: bool,
    /// When TIME-WAIT is over.
    until: Time,
}

impl<C: NetworkAssisted> Duplex<C> {
    /// Calls the sender, and completes what it sends.
    fn send(&mut self, ctx: &mut EndpointCtx<'_>, call: impl FnOnce(&mut Sender<C>, &mut EndpointCtx<'_>)) {
        let (mark, opening) = (ctx.mark(), !self.open);
        call(&mut self.sender, ctx);
        self.complete(mark, opening, ctx);
        self.let_go(ctx);
    }

    fn complete(&mut self, mark: usize, opening: bool, ctx: &mut EndpointCtx<'_>) {
        let (receiver, (next, una), open) = (&self.receiver, self.sender.numbers(), self.open);
        let (apart, mut acknowledged) = (receiver.answers_apart(), false);
        let each = |p: &mut Packet| {
            if p.kind != Kind::Segment {
                return;
            }
            let asks = p.seq == una.wrapping_sub(1); // the network, by a header alone
            let bare = !asks && p.payload == 0 && !p.flags.has(Flags::FIN) && !p.flags.has(Flags::RST);
            let acknowledges = bare || !apart;
            receiver.speak_on(p, opening, acknowledges);
            acknowledged |= acknowledges;
            if open && bare {
                p.seq = next;
            }
        };
        ctx.change_since(mark, each);
        if acknowledged && open {
            self.receiver.has_spoken();
        }
    }

    /// What waits for the network's first word goes when that has come.
    fn let_go(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.held && self.sender.let_go(ctx) {
            self.held = false;
            self.send(ctx, |sender, ctx| sender.on_application(ctx));
        }
    }

    /// The end may go by what its receiver has heard: the sender's share of what the host has goes with it.
    fn leave(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.is_finished() {
            self.sender.close_account(ctx);
        }
    }

    /// Calls the receiver, and gives what it sends the sender's number.
    fn receive(&mut self, ctx: &mut EndpointCtx<'_>, call: impl FnOnce(&mut Receiver, &mut EndpointCtx<'_>)) {
        let mark = ctx.mark();
        call(&mut self.receiver, ctx);
        if self.open {
            let (next, _) = self.sender.numbers();
            ctx.change_since(mark, |p| p.seq = if p.flags.has(Flags::RST) { p.seq } else { next });
        } else if !self.active {
            self.ask_with_answer(mark, ctx);
        }
    }

    /// The SYN-ACK asks the network for the sender, as a SYN does.
    fn ask_with_answer(&mut self, mark: usize, ctx: &mut EndpointCtx<'_>) {
        let mut answer = None;
        ctx.change_since(mark, |p| answer = answer.or(p.flags.has(Flags::SYN).then_some(*p)));
        if let Some(mut asking) = answer {
            self.sender.ask_on(&mut asking, ctx);
            ctx.change_since(mark, |p| *p = if p.flags.has(Flags::SYN) { asking } else { *p });
        }
    }

    /// The SYN-ACK may have come: the receiver goes on where the sender has opened.
    fn on_answer(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let mark = ctx.mark();
        self.sender.on_packet(packet, ctx);
        if self.sender.is_open() {
            self.receiver.join(packet, self.sender.ends(), self.sender.agreed());
            self.open = true;
        }
        self.complete(mark, true, ctx);
        self.let_go(ctx);
    }

    /// A packet for a passive end that is not open: the sender goes on where the receiver has opened.
    fn on_opening(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.receive(ctx, |receiver, ctx| receiver.on_packet(packet, ctx));
        if self.receiver.is_open() {
            let (ends, agreed, rtt) = self.receiver.found();
            self.sender.join(&Opened { ends, agreed, rtt, by: packet, now: ctx.now });
            self.sender.opened(ctx);
            self.sender.heed_network(packet, ctx);
            self.open = true;
            self.send(ctx, |sender, ctx| sender.on_application(ctx));
        }
    }

    /// A packet on the open connection. What it acknowledges is taken in after what it carries, so
    /// that what is sent then acknowledges that.
    fn on_segment(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let (heeded, mark) = (self.receiver.heeds(packet, ctx.now), ctx.mark());
        self.receive(ctx, |receiver, ctx| receiver.on_packet(packet, ctx));
        if packet.flags.has(Flags::RST) {
            return;
        }
        self.answers |= self.receiver.is_done() && !self.sender.has_closed();
        if heeded || packet.flags.has(Flags::SYN) {
            let bare = self.bare(packet);
            self.send(ctx, |sender, ctx| sender.on_packet(&bare, ctx));
        } else if packet.payload == 0 && !packet.flags.has(Flags::FIN) && ctx.mark() == mark {
            self.receive(ctx, |receiver, ctx| receiver.challenge(ctx));
        }
    }

    /// The packet as the sender's half expects it: the peer sends nothing there, so that its numbers
    /// never move. What it carries still says that it is no duplicate (RFC 5681, §2).
    fn bare(&self, packet: &Packet) -> Packet {
        let mut bare = *packet;
        bare.seq = self.sender.ends().peer.wire(0);
        if packet.flags.has(Flags::FIN) {
            bare.flags = Flags(packet.flags.0 & !Flags::FIN.0);
            bare.payload = bare.payload.saturating_add(1);
        }
        bare
    }

    /// RFC 9293, §3.6: who has closed first, or at the same time, stays in TIME-WAIT. Not for two
    /// segment lifetimes, for a flow's ports are its own, but for repeats of the peer's FIN.
    fn settle(&mut self, again: bool, ctx: &mut EndpointCtx<'_>) {
        if self.sender.is_done() && self.receiver.is_done() {
            if self.answers {
                return ctx.finish();
            }
            if again || self.until == Time::MAX {
                self.until = ctx.now.saturating_add(self.sender.time_wait());
            }
        }
        self.arm(ctx);
        if self.until < Time::MAX {
            self.leave_little(ctx);
        }
    }

    /// TIME-WAIT needs a fraction of both halves, and a server that closes first has many such ends.
    fn leave_little(&self, ctx: &mut EndpointCtx<'_>) {
        let nxt = self.sender.end_of_numbers();
        let times = (self.until, self.sender.time_wait());
        ctx.leave(|| Box::new(self.receiver.time_wait(nxt, times, self.report())));
    }

    fn arm(&self, ctx: &mut EndpointCtx<'_>) {
        let sender = if self.active || self.open { self.sender.wants() } else { Time::MAX };
        ctx.set_timer(sender.min(self.receiver.wants()).min(self.until));
    }
}

impl<C: NetworkAssisted> Endpoint for Duplex<C> {
    fn is_half_open(&self) -> bool {
        !self.active && self.receiver.is_half_open()
    }

    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.receiver.look_for_room(ctx);
        if self.active {
            self.send(ctx, |sender, ctx| sender.on_start(ctx));
        } else {
            let mtu = ctx.links.iter().map(|link| link.mtu).max().unwrap_or_default();
            self.sender.heed_mtu(mtu);
        }
        self.arm(ctx);
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if packet.kind == Kind::Datagram {
            self.send(ctx, |sender, ctx| sender.on_packet(packet, ctx));
            return self.arm(ctx);
        }
        if packet.kind != Kind::Segment {
            return;
        }
        match (self.open, self.active) {
            (true, _) => self.on_segment(packet, ctx),
            (false, true) => self.on_answer(packet, ctx),
            (false, false) => self.on_opening(packet, ctx),
        }
        if ctx.now >= self.receiver.wants() {
            // The sender has not said it with its data.
            self.receive(ctx, |receiver, ctx| receiver.on_timer(ctx));
        }
        self.settle(packet.flags.has(Flags::FIN), ctx);
        self.leave(ctx);
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.until {
            ctx.finish();
            return self.leave(ctx);
        }
        self.receiver.look_for_room(ctx);
        let receiver = ctx.now >= self.receiver.wants();
        if (self.active || self.open) && !self.sender.is_done() && (!receiver || ctx.now >= self.sender.wants()) {
            self.send(ctx, |sender, ctx| sender.on_timer(ctx));
        }
        if ctx.now >= self.receiver.wants() {
            self.receive(ctx, |receiver, ctx| receiver.on_timer(ctx));
        }
        self.arm(ctx);
        self.leave(ctx);
    }

    /// Data that can be sent now tell of the room, too.
    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.receiver.look_for_room(ctx);
        if self.active || self.open {
            self.send(ctx, |sender, ctx| sender.on_application(ctx));
        }
        self.receive(ctx, |receiver, ctx| receiver.on_application(ctx));
        self.arm(ctx);
    }

    /// RFC 1122, §4.2.3.6: a number that the peer has had, which it answers if it is there.
    fn on_probe(&mut self, ctx: &mut EndpointCtx<'_>) {
        let (_, una) = self.sender.numbers();
        let mark = ctx.mark();
        self.receiver.on_probe(ctx);
        ctx.change_since(mark, |p| p.seq = una.wrapping_sub(1));
    }

    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        if !self.open {
            return if self.active { self.sender.on_abort(ctx) } else { self.receiver.on_abort(ctx) };
        }
        // Where the window is closed the peer expects this number; else it asks once more (RFC 5961).
        let ((next, _), mark) = (self.sender.numbers(), ctx.mark());
        self.sender.on_abort(ctx);
        ctx.change_since(mark, |p| p.seq = next);
    }

    fn report(&self) -> FlowReport {
        self.sender.report().merge(self.receiver.report())
    }

    fn phase(&self) -> &'static str {
        Endpoint::phase(&self.sender)
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.sender.gauges(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::newreno::NewRenoConfig;
    use crate::tcp::tests::harness::{FLOW, HOSTS, MSS, Setup};
    use crate::testing::TwoNodes;
    use crate::transport::TcpParams;

    #[test]
    fn an_end_reports_what_it_has_sent_and_what_has_come() {
        let tcp = Tcp::new("test", TcpParams::default(), NewRenoConfig).expect("valid");
        let duplex = FullDuplex::of(&tcp, 1 << 20);
        let flow = FlowSpec { size: Some(Bytes(20 * MSS)), mtu: 1500, ..FlowSpec::new(FLOW, HOSTS[0], HOSTS[1]) };
        let syn = Packet::new(FLOW, HOSTS[0], HOSTS[1], 60);
        // The passive end has data without end.
        let mut both = TwoNodes::over(Setup::default(), duplex.active(&flow), duplex.passive(&syn));
        both.run_until(Time::from_ms(1000));
        let (active, passive) = (both.sender().report(), both.receiver().report());
        assert_eq!((active.sent, passive.delivered), (20, 20 * MSS));
        assert!(passive.sent > 20 && active.delivered > 20 * MSS, "{} packets, {}", passive.sent, active.delivered);
    }
}
