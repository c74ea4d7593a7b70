//! The sender as one half of an end whose other half receives ([`super::super::duplex`]).

use midpath_core::packet::Packet;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::{Sender, State};
use crate::transport::cc::NetworkAssisted;
use crate::transport::ecn::{self, Agreed, Marks};
use crate::transport::rtt::RttEstimator;
use crate::transport::segment::Ends;

/// How often in a row a FIN, or the answer to it, may be lost. Ours.
const REPEATS: u32 = 5;

/// No TIME-WAIT is longer than Linux's `TCP_TIMEWAIT_LEN`.
const LONGEST: Time = Time::from_secs(60);

/// What a passive open has found out, which the half that receives has made.
pub(in crate::transport) struct Opened<'a> {
    pub ends: &'a Ends,
    pub agreed: Agreed,
    pub rtt: RttEstimator,
    /// The segment that has opened it.
    pub by: &'a Packet,
    pub now: Time,
}

impl<C: NetworkAssisted> Sender<C> {
    /// Its numbers, and the peer's.
    pub(in crate::transport) fn ends(&self) -> &Ends {
        &self.ends
    }

    /// What both ends have agreed on about ECN, and whether the SYN-ACK was marked.
    pub(in crate::transport) fn agreed(&self) -> (Agreed, bool) {
        (self.ecn.agreed, self.extras.marked)
    }

    /// The number of a segment without data, and SND.UNA, on the wire. That is SND.NXT, unless a
    /// window's probe stands beyond the window: then the peer would not take it (Linux'
    /// `tcp_acceptable_seq`).
    pub(in crate::transport) fn numbers(&self) -> (u32, u32) {
        let within = self.nxt().min(self.edge().max(self.una()));
        (self.ends.own.wire(within), self.ends.own.wire(self.una()))
    }

    /// Whether the SYN-ACK has come.
    pub(in crate::transport) fn is_open(&self) -> bool {
        self.state != State::SynSent
    }

    /// Whether the FIN has been sent.
    pub(in crate::transport) fn has_closed(&self) -> bool {
        self.nxt() > self.end
    }

    /// Whether it has been acknowledged, and with it all that there was.
    pub(in crate::transport) fn is_done(&self) -> bool {
        matches!(self.state, State::FinWait2 | State::TimeWait)
    }

    /// When it wants to be woken: not any more for what it has sent, when all of that has arrived.
    pub(in crate::transport) fn wants(&self) -> Time {
        if self.is_done() { Time::MAX } else { self.due() }
    }

    /// How long TIME-WAIT is for this end. What the peer has sent last may still be unacknowledged,
    /// and a reset would tell it that its data are lost: so it has time for [`REPEATS`] of them, each
    /// after twice the time.
    pub(in crate::transport) fn time_wait(&self) -> Time {
        Time(self.rtt.rto(&self.settings.tcp).0.saturating_mul(1 << REPEATS)).min(LONGEST)
    }

    /// Where its numbers end, which is all of it that TIME-WAIT needs.
    pub(in crate::transport) fn end_of_numbers(&self) -> u64 {
        self.nxt()
    }

    /// The other half has opened the connection: data may be sent.
    pub(in crate::transport) fn join(&mut self, opened: &Opened<'_>) {
        self.state = State::Open;
        self.ends = *opened.ends;
        self.board.widen(self.ends.send_window(opened.by), 0);
        if opened.rtt.srtt() > Time::ZERO {
            self.rtt = opened.rtt;
            self.tally.rtt(opened.rtt.srtt());
        }
        self.agree(opened);
        self.leaves_first_at(opened.now);
    }

    /// The end goes: what it has in common with the host's other flows is given back.
    pub(in crate::transport) fn close_account(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.control.on_close(ctx);
    }

    /// Puts the controller's header on a packet of the other half's.
    pub(in crate::transport) fn ask_on(&mut self, packet: &mut Packet, ctx: &mut EndpointCtx<'_>) {
        let view = self.view();
        self.control.on_send(packet, &view, ctx);
    }

    /// Shows the controller the packet that has opened the connection.
    pub(in crate::transport) fn heed_network(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.feedback(packet, ctx);
    }

    /// RFC 9768, §3.2.2.1, table 4: the first ACK says how the SYN-ACK arrived.
    fn agree(&mut self, opened: &Opened<'_>) {
        let said = ecn::number(opened.by.flags);
        let cleared = opened.agreed == Agreed::Accurate && said == 0;
        let agreed = opened.agreed != Agreed::None && !cleared;
        (self.ecn.agreed, self.ecn.capable) = (opened.agreed, agreed);
        if cleared {
            self.extras.unheeded = true;
        }
        if opened.agreed == Agreed::Accurate && u64::from(said) == ecn::FIRST + 1 {
            self.extras.marks = Marks::after_a_marked_syn_ack();
        }
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::Interfaces;
    use midpath_core::roles::FlowSpec;

    use super::*;
    use crate::tcp::newreno::NewRenoConfig;
    use crate::tcp::tests::harness::{FLOW, HOSTS};
    use crate::transport::{Tcp, TcpParams};

    /// RFC 9768, §3.2.2.1, table 4: what the first ACK says of the SYN-ACK, and RFC 3168's ends, which say nothing.
    #[test]
    fn the_half_that_sends_has_the_ecn_that_the_handshake_agreed_on() {
        for (agreed, said, capable, marks) in [
            (Agreed::None, 0b000, false, 0),
            (Agreed::Classic, 0b000, true, 0),
            (Agreed::Accurate, 0b010, true, 0),
            (Agreed::Accurate, 0b110, true, 1),
            (Agreed::Accurate, 0b000, false, 0),
        ] {
            let params = TcpParams::default();
            let tcp = Tcp::new("test", params, NewRenoConfig).expect("valid");
            let mut sender = tcp.sender(&FlowSpec::new(FLOW, HOSTS[1], HOSTS[0]));
            let mut by = Packet::new(FLOW, HOSTS[0], HOSTS[1], 52);
            by.flags = midpath_core::packet::Flags::ACK.with(ecn::flags(said));
            let ends = &Ends::new(FLOW, HOSTS[1], HOSTS[0], Interfaces::ANY, 1500, &params);
            sender.join(&Opened { ends, agreed, rtt: RttEstimator::NEW, by: &by, now: Time::ZERO });
            assert_eq!((sender.agreed().0, sender.ecn.capable, sender.marks()), (agreed, capable, marks), "{said:03b}");
        }
    }
}
