//! The sender (§III-C), as additions to TCP's: open loop at the processor-sharing share of the
//! host's port, closed loop at the rate of the ACKs. The receiver is TCP's.
//!
//! "Modified, rate-based version of TCP": handshake, SACK and the retransmission timer are TCP's;
//! there is no fast recovery ([`Params::tcp`](super::Params::tcp)), and a timeout retransmits missing data, not data
//! in custody ([`AssistedTraits::stores`]).

mod closed_loop;
mod control;
mod host;
mod open_loop;
mod trip;

use std::sync::Arc;

use midpath_core::packet::{Flags, Packet};
use midpath_core::roles::FlowSpec;
use midpath_core::units::{Rate, Time};

use super::header::{Direction, InrppHeader, Nonces};
use super::note::{self, Form, Plain};
use super::params::{Additions, Notify, Params};
use crate::transport::TcpParams;
use crate::transport::cc::{AssistedConfig, AssistedTraits, Seen};
use crate::transport::lazy_box::LazyBox;
use control::Control;
use host::HostFlows;
use trip::DeliveredPerRtt;

/// The configuration of senders and receivers.
#[derive(Debug, Clone)]
pub struct Ends {
    /// What each sender looks up.
    pub common: Arc<Common>,
    /// Who carries notifications.
    pub notify: Notify,
    /// Numbers of the groups whose senders ignore what they are told.
    pub non_cooperative: Vec<u32>,
}

/// What all senders have in common.
#[derive(Debug)]
pub struct Common {
    /// How long a sender stays in closed loop without being asked to.
    expiry: Time,
    /// What of ours is on.
    additions: Additions,
    /// How long without any ACK is silence: the least RTO.
    silence: Time,
}

impl Ends {
    /// As these parameters have it.
    pub fn new(p: &Params) -> Ends {
        let common = Common { expiry: p.expiry, additions: p.additions.settled(), silence: p.tcp().min_rto };
        Ends { common: Arc::new(common), notify: p.notify, non_cooperative: Vec::new() }
    }
}

impl AssistedConfig for Ends {
    type Controller = Control;
    fn build(&self, tcp: &TcpParams, mss: u32, flow: &FlowSpec) -> Control {
        debug_assert_eq!(tcp.min_rto, self.common.silence, "of other parameters");
        Control {
            common: self.common.clone(),
            to: flow.dst,
            heeds: !self.non_cooperative.contains(&flow.group),
            halvings: 0,
            echoed: self.notify == Notify::Data,
            mss,
            slowed: LazyBox::default(),
            last_request: Time::ZERO,
            last_ack: Time::ZERO,
            round_trip: Time::ZERO,
            echo: Nonces::default(),
            passed: Nonces::default(),
            rate: Rate::ZERO,
            version: 0,
            ramp: None,
            room: None,
            trip: DeliveredPerRtt::default(),
            growth: 1.0,
            sending: true,
        }
    }
    fn traits(&self) -> AssistedTraits {
        AssistedTraits {
            header: self.notify.header(),
            reflect: Some(reflect),
            reflect_apart: Some(reflect_apart),
            acknowledged: Some(|ack, ctx| ctx.shared.get::<HostFlows>().acknowledged(ack, ctx.now)),
            rate_based: true,
            stores: true,
            overtaken: self.common.additions.repair,
            own_network: true,
            ..AssistedTraits::default()
        }
    }
}

/// What the ACK of a packet carries. The second answer to a SYN, which tells the window, acknowledges
/// nothing: no port has anything to say on it, and it brings no packet into a loop. On symmetric paths it is the
/// mark of the protocol alone (the IP protocol field of §V-A), so that ports know whose ACK it is; on asymmetric
/// ones the receiver echoes what ports have put on the data (§II-A, note).
fn reflect(seen: Seen<'_>, ack: &mut Packet) {
    if seen.syn && !ack.flags.has(Flags::SYN) {
        ack.set_header(&InrppHeader { direction: Direction::Ack, idle: true, ..InrppHeader::default() });
    } else if note::form(seen.headers) == Some(Form::Plain) {
        ack.set_header(&Plain::new(Direction::Ack, &Nonces::default()));
    } else if let Some(data) = seen.header::<InrppHeader>() {
        ack.set_header(&InrppHeader {
            direction: Direction::Ack,
            far_slow: data.far_slow,
            far_cancel: data.far_cancel,
            ..InrppHeader::default()
        });
    }
}

/// The same where a SYN is answered by an ACK that follows the SYN-ACK: ports know it by what it tells.
fn reflect_apart(seen: Seen<'_>, ack: &mut Packet) {
    if seen.syn {
        ack.set_header(&InrppHeader { direction: Direction::Ack, begin: Some(u32::MAX), ..InrppHeader::default() });
    } else {
        reflect(seen, ack);
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, NodeId};

    use super::*;
    use crate::inrpp::header::Nonce;
    use crate::transport::cc::{Congestion, CongestionController, Window};

    #[test]
    fn a_cancelled_nonce_is_no_longer_echoed() {
        let ends = Ends::new(&Params::default());
        let mut control = ends.build(&TcpParams::default(), 1424, &FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)));
        let mut nonces = Nonces::default();
        [7, 9].into_iter().for_each(|n| nonces.add(Nonce(n)));
        control.store(&nonces);
        control.cancel(Nonce(7));
        assert_eq!(control.echo.iter().collect::<Vec<_>>(), [Nonce(9)]);
        assert_eq!(control.passed.iter().count(), 2, "the flow goes through both all the same");
    }

    /// A sender that a port has slowed down.
    fn slowed(params: &Params) -> (Control, Window) {
        let tcp = params.tcp();
        let mut control = Ends::new(params).build(&tcp, 1424, &FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)));
        control.slowed.push(Nonce(7));
        (control, Window::new(10, 1424))
    }

    #[test]
    fn a_timeout_opens_the_loop_where_no_ack_has_come_for_so_long() {
        for (heard, opens) in [(Time::ZERO, true), (Time::from_ms(600), false)] {
            let (mut control, window) = slowed(&Params::default());
            control.last_ack = heard;
            let congestion = Congestion { now: Time::from_secs(1), flight: 14_240, ecn_reduced: false };
            control.on_rto(&window, &congestion);
            assert_eq!(control.closed(), !opens);
        }
    }

    #[test]
    fn flows_of_groups_that_are_named_do_not_heed() {
        let ends = Ends { non_cooperative: vec![2], ..Ends::new(&Params::default()) };
        let flow = |group| FlowSpec { group, ..FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)) };
        let heeds = [1, 2].map(|group| ends.build(&TcpParams::default(), 1424, &flow(group)).heeds);
        assert_eq!(heeds, [true, false]);
    }
}
