//! Opening and closing: RFC 9293, §3.5 and §3.6.

use midpath_core::packet::{Ecn, Flags, IP_HEADER, Kind, Options, Packet, TCP_HEADER};
use midpath_core::roles::{Ended, Endpoint, EndpointCtx, Half};
use midpath_core::units::Time;

use super::time_wait::{Last, TimeWait};
use super::{Sender, State};
use crate::transport::cc::{NetworkAssisted, Opening, Window};
use crate::transport::ecn::{self, Agreed};

/// How long a sender waits for the peer's FIN when all of its own is acknowledged: Linux's
/// `tcp_fin_timeout`.
const FIN_WAIT_2: Time = Time::from_secs(60);

impl<C: NetworkAssisted> Sender<C> {
    /// Sends the SYN, which asks for ECN.
    pub(super) fn connect(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.extras.stop_at {
            return self.finish(ctx);
        }
        let ask = ecn::ask(self.settings.ecn, self.board.reports.repair.retries);
        if self.board.reports.repair.retries == 0 {
            self.ends.begin(ctx);
        }
        let syn = self.ends.syn(Flags::SYN.with(ask), self.settings.receive_window(), ctx);
        self.dispatch(syn, ctx);
        self.rto_at = ctx.now.saturating_add(self.rtt.rto(&self.settings.tcp));
    }

    /// The SYN-ACK: the connection is open, and data ride on the third segment.
    pub(super) fn on_syn_ack(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if !packet.flags.has(Flags::SYN.with(Flags::ACK)) || packet.ack != self.ends.own.wire(0) {
            return;
        }
        self.state = State::Open;
        self.ends.agree(packet, ctx.now);
        self.board.widen(self.ends.send_window(packet), 0);
        self.heed_mss(packet);
        self.agree_on_ecn(packet);
        self.first_round_trip(packet, ctx.now);
        self.opened(ctx);
        self.feedback(packet, ctx);
        let view = self.view();
        let waits = self.control.waits(&view, ctx);
        self.leaves_first_at(ctx.now.saturating_add(waits));
        if self.board.reports.repair.retries > 0 {
            self.rtt.after_lost_syn();
            // RFC 5681, §3.1: after a lost SYN or SYN-ACK the initial window is one segment. RFC
            // 6928, §2 lets that pass when only one was lost, as Linux does.
            if self.board.reports.repair.retries > 1 {
                self.window.set(self.window.mss);
            }
        }
        self.forget_retries();
        self.rto_at = Time::MAX;
        if self.ecn.agreed == Agreed::Accurate {
            self.tell_arrival(packet.ecn, ctx);
        }
        self.send(ctx);
        if self.nxt() == 0 && self.ecn.agreed != Agreed::Accurate {
            self.acknowledge(ctx); // the peer's window is closed: the third segment goes without data
        }
    }

    /// Tells the controller.
    pub(in crate::transport) fn opened(&mut self, ctx: &mut EndpointCtx<'_>) {
        let overhead = self.settings.overhead().into();
        let (now, srtt, sack) = (ctx.now, self.rtt.srtt(), self.sack_on());
        self.control.on_open(&mut self.window, &mut Opening { now, srtt, overhead, sack, rng: ctx.rng });
    }

    /// RFC 9293, §3.7.1: segments are no larger than the peer, or a router on the way that needs
    /// room, has asked for.
    fn heed_mss(&mut self, packet: &Packet) {
        if !packet.options.has(Options::MSS) {
            return;
        }
        self.heed_mtu(u32::from(packet.mss) + IP_HEADER + TCP_HEADER);
    }

    /// No packet is to be larger.
    pub(in crate::transport) fn heed_mtu(&mut self, mtu: u32) {
        let most = mtu.saturating_sub(self.settings.overhead()).max(1);
        if u64::from(most) < self.window.mss {
            self.window = Window::new(self.settings.initial_window, most);
        }
    }

    /// What the SYN-ACK grants.
    fn agree_on_ecn(&mut self, packet: &Packet) {
        let agreed = ecn::on_syn_ack(self.settings.ecn, packet.flags);
        self.ecn.agreed = agreed;
        // RFC 9768, §3.2.2.3: our SYNs are not ECN-capable. Where they arrive otherwise, somebody
        // on the way mangles the field.
        let intact = [ecn::arrived_as(Ecn::NotEct), ecn::RESERVED].contains(&u64::from(ecn::number(packet.flags)));
        self.ecn.capable = agreed == Agreed::Classic || (agreed == Agreed::Accurate && intact);
        // §3.2.2.2: counted once, however often the SYN-ACK comes.
        if agreed == Agreed::Accurate && packet.ecn == Ecn::Ce {
            self.extras.marked = true;
        }
    }

    /// RFC 9768, §3.2.2.1: a pure ACK says how the SYN-ACK arrived.
    fn tell_arrival(&mut self, field: Ecn, ctx: &mut EndpointCtx<'_>) {
        let mut p = self.numbered(0, self.nxt(), ctx);
        p.flags = Flags::ACK.with(ecn::flags(ecn::arrived_as(field)));
        self.dispatch(p, ctx);
    }

    fn first_round_trip(&mut self, packet: &Packet, now: Time) {
        // It would have been repeated a timeout after it was sent.
        let sent_at = self.rto_at.saturating_sub(self.rtt.rto(&self.settings.tcp));
        if self.board.reports.repair.retries == 0 || self.ends.echoes(packet, sent_at) {
            self.measured(now.saturating_sub(sent_at));
        } else if let Some(rtt) = self.ends.since_echoed(packet, now)
            && (self.reads_timestamps() || self.extras.overtaken().is_some())
        {
            // It answers an earlier SYN, which was not lost (RFC 3522).
            self.measured(rtt);
        }
    }

    /// Takes a round-trip sample.
    #[inline]
    pub(super) fn measured(&mut self, rtt: Time) {
        self.rtt.sample(rtt);
        self.tally.rtt(rtt);
        self.probes.measured = true;
    }

    /// A packet with the number of the byte at `from`, and what is expected of the peer.
    #[inline]
    pub(super) fn numbered(&self, payload: u64, from: u64, ctx: &EndpointCtx<'_>) -> Packet {
        let mut p = self.ends.packet(payload as u32, self.settings.receive_window(), ctx);
        (p.seq, p.ack) = (self.ends.own.wire(from), self.ends.peer.wire(self.peer_next()));
        p
    }

    /// A pure ACK of what the peer has sent.
    pub(super) fn acknowledge(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mut p = self.numbered(0, self.nxt(), ctx);
        p.flags = Flags::ACK.with(self.ace());
        self.dispatch(p, ctx);
    }

    /// All data and the FIN are acknowledged: waits for the peer's FIN, or answers it.
    pub(super) fn on_all_acknowledged(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if self.state == State::Open {
            self.state = State::FinWait2;
            ctx.completed(Half::Sending);
            self.control.on_close(ctx);
            self.board.shrink();
            if let Some(rates) = self.pace.rates() {
                rates.samples.shrink_to(0);
            }
            self.stop_probes();
            if let Some(repair) = self.board.reports.repair() {
                repair.undo = None;
            }
            self.forget_stop();
            self.pacing = false;
            self.rto_at = ctx.now.saturating_add(FIN_WAIT_2);
        }
        if packet.flags.has(Flags::FIN) && packet.seq == self.ends.peer.wire(0) {
            // TIME-WAIT, restarted by each repeat (RFC 9293, §3.10.7.4). Not two segment lifetimes
            // of four minutes: a flow's ports are its own, so no other connection comes after it.
            // Just long enough to answer one repeat of the peer's FIN.
            self.state = State::TimeWait;
            self.ends.remember(packet, ctx.now);
            self.rto_at = ctx.now.saturating_add(self.linger());
            self.acknowledge(ctx);
            self.leave_little(ctx);
        }
    }

    /// How long TIME-WAIT is.
    fn linger(&self) -> Time {
        Time(self.rtt.rto(&self.settings.tcp).0.saturating_mul(2)).min(FIN_WAIT_2)
    }

    /// TIME-WAIT needs a fraction of a sender, unless the controller has a say in it.
    fn leave_little(&self, ctx: &mut EndpointCtx<'_>) {
        if C::DONE_WITH_DATA && self.extras.overtaken().is_none() {
            let report = self.report();
            ctx.leave(|| match Last::of(self.tally, &report) {
                Some(last) => Box::new(self.left(last)),
                None => Box::new(self.left(report)),
            });
        }
    }

    fn left<R>(&self, report: R) -> TimeWait<R> {
        TimeWait {
            until: self.rto_at,
            linger: self.linger(),
            ends: self.ends,
            window: self.settings.receive_window(),
            fin: self.ends.peer.wire(0),
            nxt: self.ends.own.wire(self.nxt()),
            flags: Flags::ACK.with(self.ace()),
            report,
        }
    }

    /// The flow's time is over: what was sent is still delivered, then comes the FIN.
    pub(super) fn stop(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.forget_stop();
        if self.nxt() < self.end {
            self.end = self.nxt();
            self.send(ctx);
        }
    }

    /// The timer that `rto_at` stands for in this state has expired.
    pub(super) fn on_deadline(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.rto_at = Time::MAX;
        match self.state {
            State::SynSent
                if self
                    .settings
                    .tcp
                    .gives_up_opening(self.board.reports.repair.retries, self.rtt.rto(&self.settings.tcp)) =>
            {
                ctx.ended(Ended::TimedOut);
                self.finish(ctx);
            }
            State::SynSent => {
                self.board.reports.repair.retries += 1;
                self.board.reports.repair.timeouts += 1;
                self.rtt.back_off();
                self.connect(ctx);
            }
            State::Open => self.on_rto(ctx),
            State::FinWait2 | State::TimeWait => self.finish(ctx),
        }
    }

    /// Gives up, and tells the peer (RFC 9293, §3.8.3).
    pub(super) fn give_up(&mut self, ctx: &mut EndpointCtx<'_>) {
        ctx.ended(Ended::TimedOut);
        self.reset_at(self.una(), ctx);
    }

    /// Tells the peer that it is over, with the number of the byte at `at`.
    pub(super) fn reset_at(&mut self, at: u64, ctx: &mut EndpointCtx<'_>) {
        let mut p = self.numbered(0, at, ctx);
        p.flags = Flags::RST.with(self.ace());
        ctx.send(p);
        self.finish(ctx);
    }

    /// A reset counts only at the number that is expected next (RFC 5961, §3.2); other kinds of
    /// packet are not TCP's.
    pub(super) fn on_reset(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let believed = match self.state {
            // RFC 9293, §3.10.7.3: one that acknowledges the SYN refuses the connection.
            State::SynSent => packet.flags.has(Flags::ACK) && packet.ack == self.ends.own.wire(0),
            _ => packet.seq == self.ends.peer.wire(self.peer_next()),
        };
        if packet.kind == Kind::Segment && believed {
            ctx.ended(if self.state == State::SynSent { Ended::Refused } else { Ended::Reset });
            self.finish(ctx);
        }
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::roles::FlowSpec;

    use crate::tcp::newreno::NewRenoConfig;
    use crate::tcp::tests::harness::{FLOW, HOSTS, MSS};
    use crate::transport::{Tcp, TcpParams};

    /// RFC 9293, §3.7.1: the peer's MSS is a bound. A path whose MTU is less does not get more by it.
    #[test]
    fn a_peer_that_takes_more_does_not_make_segments_longer() {
        let tcp = Tcp::new("test", TcpParams::default(), NewRenoConfig).expect("valid");
        let mut sender = tcp.sender(&FlowSpec { mtu: 1500, ..FlowSpec::new(FLOW, HOSTS[0], HOSTS[1]) });
        for (mtu, mss) in [(9000, MSS), (1500, MSS), (1000, MSS - 500), (9000, MSS - 500)] {
            sender.heed_mtu(mtu);
            assert_eq!((sender.window().mss, sender.window().cwnd), (mss, 10 * mss), "{mtu}");
        }
    }
}
