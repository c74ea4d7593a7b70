//! The sender's rate. Handshake, ACKs and loss recovery are TCP's.

use midpath_core::packet::{Flags, Packet};
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::header::{self, RcpHeader};
use crate::transport::TcpParams;
use crate::transport::cc::{
    ASK_INTERVAL, Ack, AssistedConfig, AssistedTraits, Congestion, CongestionController, NetworkAssisted, View, Window,
};

/// Builds senders.
#[derive(Debug, Clone, Copy)]
pub struct RcpConfig {
    /// Whether a header alone asks for a rate while hardly a packet goes.
    pub probes: bool,
}

impl AssistedConfig for RcpConfig {
    type Controller = Rcp;
    fn build(&self, _tcp: &TcpParams, mss: u32, flow: &FlowSpec) -> Rcp {
        Rcp { demand: flow.rate.map_or(f32::MAX, |r| r.0 as f32), offered: UNKNOWN, packet: mss, probes: self.probes }
    }
    fn traits(&self) -> AssistedTraits {
        AssistedTraits {
            header: header::SIZE,
            reflect: Some(header::reflect),
            asks_and_answers: true,
            rate_based: true,
            own_network: true,
            ..AssistedTraits::default()
        }
    }
}

/// No rate.
const UNKNOWN: f32 = -1.0;

/// The sender's side: what the network has offered last.
#[derive(Debug, Clone, Copy)]
pub struct Rcp {
    /// The most that the flow could use, in bits per second.
    demand: f32,
    /// The rate that came back last; [`UNKNOWN`] before.
    offered: f32,
    packet: u32,
    probes: bool,
}

impl Rcp {
    /// There is no window: TCP's recovery must not leave one behind.
    fn open(window: &mut Window) {
        window.set(u64::MAX);
    }
}

impl CongestionController for Rcp {
    const DONE_WITH_DATA: bool = true;

    fn on_ack(&mut self, window: &mut Window, _ack: &Ack) {
        Rcp::open(window);
    }
    // What is lost is sent again at the rate that the network offers; losses say nothing that R
    // does not.
    fn on_loss(&mut self, _window: &Window, _congestion: &Congestion) -> u64 {
        u64::MAX
    }
    fn on_rto(&mut self, _window: &Window, _congestion: &Congestion) -> u64 {
        u64::MAX
    }
    fn on_ecn(&mut self, _window: &Window, _congestion: &Congestion) -> u64 {
        u64::MAX
    }
    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        Rcp::open(window);
    }

    fn pacing_rate(&self, _window: &Window, srtt: Time) -> Option<Rate> {
        if self.offered >= 0.0 {
            return Some(Rate((f64::from(self.offered) as u64).max(1)));
        }
        // Nothing is known: a packet per round trip (per second before that is known) harms
        // nobody. Our choice.
        let seconds = if srtt.is_zero() { 1.0 } else { srtt.as_secs_f64() };
        Some(Rate((f64::from(self.packet) * 8.0 / seconds) as u64))
    }
}

impl NetworkAssisted for Rcp {
    /// The SYN and every packet with payload ask for a rate (IWQoS 2005, §II: "every packet carries
    /// the desired rate"), and so does a header alone.
    fn on_send(&mut self, packet: &mut Packet, view: &View, _ctx: &mut EndpointCtx<'_>) {
        if packet.payload > 0 || packet.flags.has(Flags::SYN) || self.asks_after(view).is_some() {
            let rtt = (view.srtt.as_secs_f64() as f32).min(header::MAX_RTT);
            let echo = packet.header::<RcpHeader>().map_or(0.0, |answer| answer.echo);
            packet.set_header(&RcpHeader { rate: self.demand, echo, rtt });
        }
    }

    /// The SYN-ACK brings the first rate, so that data start at it; each ACK brings the newest.
    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, _view: &View, _ctx: &mut EndpointCtx<'_>) {
        // An echo of the sender's own wish says that no port on the way has spoken.
        if let Some(h) = packet.header::<RcpHeader>()
            && h.echo > 0.0
            && h.echo < f32::MAX
        {
            self.offered = h.echo.min(self.demand);
            debug_assert!(self.offered >= 0.0, "{self:?}");
            Rcp::open(window);
        }
    }

    /// The authors' sender: where less than a packet in two round trips is offered, a header asks
    /// in each. By the shortest round trip, for the last one tells of queues that may be gone;
    /// ours.
    fn asks_after(&self, view: &View) -> Option<Time> {
        if !self.probes || self.offered < 0.0 || view.base_rtt.is_zero() {
            return None;
        }
        let trip = view.base_rtt.max(ASK_INTERVAL);
        let seldom = f64::from(self.offered) * 2.0 * trip.as_secs_f64() < 8.0 * f64::from(self.packet);
        seldom.then_some(trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    fn sender(offered: Option<f32>) -> Rcp {
        Rcp { demand: 1e9, offered: offered.unwrap_or(UNKNOWN), packet: 1000, probes: true }
    }

    fn view(base_rtt: Time) -> View {
        View { srtt: base_rtt, base_rtt, mss: 1000, overhead: 60, unsent: 0, at_hand: 0, flight: 0, pipe: 0, lost: 0 }
    }

    /// The rate is all: nothing that TCP's recovery does leaves a window behind.
    #[test]
    fn no_loss_mark_or_repair_closes_the_window() {
        let mut rcp = sender(None);
        let congestion = Congestion { now: MS(1), flight: 50_000, ecn_reduced: false };
        let small = Window::new(2, 1000);
        assert_eq!(rcp.on_loss(&small, &congestion), u64::MAX);
        assert_eq!(rcp.on_rto(&small, &congestion), u64::MAX);
        assert_eq!(rcp.on_ecn(&small, &congestion), u64::MAX);
        let mut open = small;
        open.set(u64::MAX);
        let mut window = small;
        rcp.on_recovered(&mut window, MS(1));
        assert_eq!(window.cwnd, open.cwnd);
    }

    #[test]
    fn it_sends_at_what_is_offered_and_a_packet_per_round_trip_before() {
        let pace = |offered, srtt| sender(offered).pacing_rate(&Window::new(2, 1000), srtt);
        assert_eq!(pace(Some(5e6), MS(100)), Some(Rate(5_000_000)));
        assert_eq!(pace(Some(0.5), MS(100)), Some(Rate(1)), "never nothing");
        assert_eq!(pace(None, MS(100)), Some(Rate(80_000)));
        assert_eq!(pace(None, Time::ZERO), Some(Rate(8_000)), "a packet per second");
    }

    /// Less than a packet of 8,000 bits in two round trips of 100 ms is less than 40 kbit/s.
    #[test]
    fn a_header_asks_while_hardly_a_packet_goes() {
        assert_eq!(sender(Some(39e3)).asks_after(&view(MS(100))), Some(MS(100)));
        assert_eq!(sender(Some(40e3)).asks_after(&view(MS(100))), None);
        assert_eq!(sender(Some(39e3)).asks_after(&view(MS(1))), Some(ASK_INTERVAL));
        assert_eq!(sender(Some(39e3)).asks_after(&view(Time::ZERO)), None);
        assert_eq!(sender(None).asks_after(&view(MS(100))), None);
        assert_eq!(Rcp { probes: false, ..sender(Some(39e3)) }.asks_after(&view(MS(100))), None);
    }
}
