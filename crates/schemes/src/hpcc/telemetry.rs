//! Returned INT records at the sender, for HPCC and PowerTCP.

use midpath_core::packet::{Packet, comes_after};
use midpath_core::units::{Rate, Time};

use super::header::IntHeader;
use crate::transport::cc::{Ack, Congestion, View, Window};

/// Readings older than this say nothing of now: their counters may have gone round. Ours: a counter
/// of bytes goes round in 0.34 s at 100 Gbps.
const STALE: Time = Time::from_ms(250);

/// The newest readings, and the path that they are of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Telemetry {
    /// The base RTT as the scenario has it; else it is measured.
    given: Option<Time>,
    /// T of HPCC, τ of PowerTCP; zero before it is known. It has the time that a packet of data takes to be sent, as in
    /// the artefact of both (`txDelay`): the handshake's counts only until data have measured one.
    base_rtt: Time,
    of_data: bool,
    /// L of HPCC, prevInt of PowerTCP, and when they came.
    last: IntHeader,
    came: Time,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

impl Telemetry {
    pub fn new(given: Option<Time>) -> Telemetry {
        let base_rtt = given.unwrap_or(Time::ZERO);
        Telemetry { given, base_rtt, of_data: false, last: IntHeader::default(), came: Time::ZERO, wire: 1.0 }
    }

    /// The base RTT in seconds.
    pub fn base_rtt(&self) -> f64 {
        self.base_rtt.as_secs_f64()
    }

    /// Payload that fills the path's slowest link for a base RTT.
    pub fn fills(&self) -> f64 {
        let slowest = self.last.readings().iter().map(|r| f64::from(r.rate)).fold(f64::INFINITY, f64::min);
        slowest / 8.0 * self.base_rtt() / self.wire
    }

    /// A round trip that an ACK has measured.
    pub fn measured(&mut self, ack: &Ack) {
        if self.given.is_none()
            && let Some(rtt) = ack.rtt
        {
            self.base_rtt = if self.of_data { self.base_rtt.min(rtt) } else { rtt };
            self.of_data = true;
        }
    }

    /// The readings before and those that a packet brings, if they can be compared.
    pub fn take(&mut self, packet: &Packet, view: &View, now: Time) -> Option<(IntHeader, IntHeader)> {
        let header = packet.header::<IntHeader>().filter(|h| h.returns && !h.readings().is_empty())?;
        if self.base_rtt.is_zero() {
            self.base_rtt = view.srtt;
        }
        self.wire = (view.mss + view.overhead) as f64 / view.mss as f64;
        let recent = now.saturating_sub(self.came) < STALE;
        let mut pairs = self.last.readings().iter().zip(header.readings());
        if recent && pairs.any(|(before, now)| comes_after(before.time, now.time)) {
            return None; // a newer one has overtaken it, and what lies between both is counted
        }
        let before = std::mem::replace(&mut self.last, header);
        let fresh = recent && before.readings().len() == header.readings().len();
        self.came = now;
        (fresh && !self.base_rtt.is_zero()).then_some((before, header))
    }

    /// A window in a base RTT, on the wire.
    pub fn pacing_rate(&self, window: f64) -> Option<Rate> {
        let seconds = self.base_rtt();
        (seconds > 0.0).then(|| Rate(((8.0 * window * self.wire / seconds) as u64).max(1)))
    }
}

/// Their networks lose little or nothing; elsewhere RFC 5681's equation 4 must do: what was in flight,
/// halved.
pub(crate) fn half(window: &Window, congestion: &Congestion) -> u64 {
    (congestion.flight / 2).max(2 * window.mss)
}
