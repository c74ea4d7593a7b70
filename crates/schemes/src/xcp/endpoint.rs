//! The sender's window. Handshake, ACKs and loss recovery are TCP's.

use midpath_core::packet::Packet;
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::Time;

use super::equations;
use super::header::{self, XcpHeader};
use crate::transport::TcpParams;
use crate::transport::cc::{
    Ack, AssistedConfig, AssistedTraits, Congestion, CongestionController, NetworkAssisted, Pause, View, Window,
};

/// Builds senders.
#[derive(Debug, Clone, Copy)]
pub struct XcpConfig;

impl AssistedConfig for XcpConfig {
    type Controller = Xcp;
    fn build(&self, tcp: &TcpParams, mss: u32, flow: &FlowSpec) -> Xcp {
        let window = f64::from(tcp.initial_window) * f64::from(mss);
        let demand = flow.rate.map_or(f64::INFINITY, |r| r.as_f64() / 8.0);
        Xcp { demand, window, rest: 0.0, repairing: false }
    }
    fn traits(&self) -> AssistedTraits {
        AssistedTraits {
            header: header::SIZE,
            reflect: Some(header::reflect),
            own_network: true,
            ..AssistedTraits::default()
        }
    }
}

/// The sender's side: the window that packets tell.
#[derive(Debug, Clone, Copy)]
pub struct Xcp {
    /// The most that the flow could use, in bytes per second.
    demand: f64,
    /// The window in bytes of payload; during fast recovery the threshold that recovery goes to.
    window: f64,
    /// What of that is no whole byte.
    rest: f64,
    /// Fast recovery is under way.
    repairing: bool,
}

impl Xcp {
    /// The change of throughput that a packet asks for (§3.2: the sender's demand is spread over
    /// the packets of a round trip). Nothing, if the answer would come after the last byte is out:
    /// as the authors' first simulator.
    fn request(&self, throughput: f64, rtt: f64, size: f64, at_hand: u64) -> f32 {
        if at_hand as f64 <= self.window {
            return 0.0;
        }
        let change = (self.demand - throughput) * size / (throughput * rtt);
        change.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
    }
}

impl CongestionController for Xcp {
    /// Only while a timeout's losses are repaired, slow start as TCP's (§3.3: losses are answered
    /// as TCP does).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.after_rto && window.in_slow_start() {
            window.grow(ack.acked.min(window.mss) as f64);
            self.window = window.cwnd as f64;
        }
    }
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        // RFC 5681, equation 4: what was in flight, halved.
        let threshold = (congestion.flight / 2).max(2 * window.mss);
        (self.window, self.rest, self.repairing) = (threshold as f64, 0.0, true);
        threshold
    }
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        (self.window, self.rest, self.repairing) = (window.mss as f64, 0.0, false);
        congestion.flight / 2
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd / 2
    }
    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        (self.window, self.repairing) = (window.cwnd as f64, false);
    }
    fn on_restart(&mut self, window: &mut Window, pause: &Pause) {
        if pause.idle > pause.rto {
            window.restart(pause.initial);
            self.window = window.cwnd as f64;
        }
    }
}

impl NetworkAssisted for Xcp {
    /// Data say the window over the round trip and ask for more; everything else says nothing.
    fn on_send(&mut self, packet: &mut Packet, view: &View, _ctx: &mut EndpointCtx<'_>) {
        if packet.payload == 0 || view.srtt.is_zero() {
            return;
        }
        let (rtt, size) = (view.srtt.as_secs_f64(), f64::from(packet.size + header::SIZE));
        // On the wire, as ports count.
        let throughput = self.window * (view.mss + view.overhead) as f64 / view.mss as f64 / rtt;
        let delta = self.request(throughput, rtt, size, view.at_hand);
        packet.set_header(&XcpHeader { rtt: rtt as f32, throughput: throughput as f32, delta, echo: 0.0 });
    }

    /// The window follows the feedback (§3.3).
    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, view: &View, _ctx: &mut EndpointCtx<'_>) {
        let Some(h) = packet.header::<XcpHeader>() else { return };
        // An echo of the sender's own wish says that no port on the way has spoken.
        if h.echo == 0.0 || h.echo >= f32::MAX {
            return;
        }
        let payload = view.mss as f64 / (view.mss + view.overhead) as f64;
        let change = f64::from(h.echo) * view.srtt.as_secs_f64() * payload;
        // While losses are repaired, TCP's recovery moves cwnd to its threshold: the network's word
        // moves that.
        let from = if self.repairing { window.ssthresh } else { window.cwnd };
        let to = equations::cwnd(from as f64 + self.rest, change, view.mss as f64);
        let whole = to.floor();
        if self.repairing {
            window.ssthresh = whole as u64;
        } else {
            window.set(whole as u64);
        }
        (self.window, self.rest) = (to, to - whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONGESTION: Congestion = Congestion { now: Time::ZERO, flight: 30_000, ecn_reduced: false };

    fn sender() -> Xcp {
        Xcp { demand: f64::INFINITY, window: 10_000.0, rest: 0.25, repairing: false }
    }

    fn ack(acked: u64, after_rto: bool) -> Ack {
        let srtt = Time::from_ms(100);
        Ack { acked, delivered: acked, una: acked, nxt: acked, srtt, after_rto, ..Ack::default() }
    }

    /// §3.3: the network's word moves the window; TCP's slow start only repairs a timeout.
    #[test]
    fn acks_grow_the_window_after_a_timeout_alone() {
        let grown = |acked, after_rto, ssthresh| {
            let mut window = Window::new(2, 1000);
            window.ssthresh = ssthresh;
            let mut xcp = sender();
            xcp.on_ack(&mut window, &ack(acked, after_rto));
            (window.cwnd, xcp.window)
        };
        assert_eq!(grown(700, true, 5000), (2700, 2700.0));
        assert_eq!(grown(3000, true, 5000), (3000, 3000.0), "a segment at most");
        assert_eq!(grown(700, false, 5000), (2000, 10_000.0));
        assert_eq!(grown(700, true, 2000), (2000, 10_000.0));
    }

    #[test]
    fn losses_timeouts_and_marks_are_answered_as_tcp_does() {
        let window = Window::new(20, 1000);
        let mut xcp = sender();
        assert_eq!(xcp.on_loss(&window, &CONGESTION), 15_000);
        assert_eq!((xcp.window, xcp.rest, xcp.repairing), (15_000.0, 0.0, true));
        let mut mended = Window::new(12, 1000);
        xcp.on_recovered(&mut mended, Time::ZERO);
        assert_eq!((xcp.window, xcp.repairing), (12_000.0, false));

        assert_eq!(xcp.on_loss(&window, &Congestion { flight: 1000, ..CONGESTION }), 2000, "two segments at least");
        assert_eq!(xcp.on_rto(&window, &CONGESTION), 15_000);
        assert_eq!((xcp.window, xcp.rest, xcp.repairing), (1000.0, 0.0, false));
        assert_eq!(xcp.on_ecn(&window, &CONGESTION), 10_000);
    }
}
