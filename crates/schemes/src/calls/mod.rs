//! Calls: an encoder, RTP and RTCP's feedback, and ends that any rate control of calls shares.
//!
//! Files: `encoder.rs` (frames and data units), `feedback.rs` (bytes), `in_flight.rs` (what feedback says), `sender.rs`,
//! `receiver.rs` (the ends). `scream` and `gcc` say how fast.

pub mod encoder;
pub mod feedback;
pub mod in_flight;
pub mod receiver;
pub mod sender;
#[cfg(test)]
mod tests;

use midpath_core::packet::{Ecn, IP_HEADER, Kind, Packet, UDP_HEADER};
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Transport};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};

use in_flight::{Acknowledged, Arrived};
use receiver::Receiver;
use sender::Sender;

use crate::params::require;

/// Before a data unit, which begins with RTP's header.
const BELOW: u32 = IP_HEADER + UDP_HEADER;

/// What is encoded, and how it is sent.
#[derive(Debug, Clone, Copy)]
pub struct Encoder {
    /// The highest rate.
    pub max_rate: Rate,
    /// Frames per second.
    pub frames: u32,
    /// Scale of the distribution of frame sizes.
    pub frame_spread: f64,
    /// The largest data unit, with RTP's header.
    pub mss: Bytes,
    /// The age at which what waits is discarded.
    pub max_media_delay: Time,
    /// The ECN field of data units.
    pub codepoint: Ecn,
}

impl Encoder {
    /// Refuses what cannot be, with the least rate and the first one.
    pub fn check(&self, min_rate: Rate, start_rate: Rate) -> Result<(), SpecError> {
        require(min_rate > Rate::ZERO, "min_rate", "above zero")?;
        require(self.max_rate >= min_rate, "max_rate", "at least `min_rate`")?;
        let between = min_rate..=self.max_rate;
        require(between.contains(&start_rate), "start_rate", "between `min_rate` and `max_rate`")?;
        require((1..=1000).contains(&self.frames), "frames", "from 1 to 1000")?;
        require((0.0..=1.0).contains(&self.frame_spread), "frame_spread", "a share")?;
        require((100..=1472).contains(&self.mss.0), "mss", "from 100 B to 1472 B, what UDP carries over Ethernet")?;
        require(!self.max_media_delay.is_zero(), "max_media_delay", "above zero")
    }
}

/// What a report has brought.
#[derive(Debug)]
pub struct Feedback<'a> {
    pub at: Time,
    pub found: Acknowledged,
    /// Data units that it is the first to have, by number.
    pub arrived: &'a [Arrived],
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Whether the last picture was smaller than the target permits.
    pub limited: bool,
}

/// How fast a call may be.
pub trait CallControl: Send + 'static {
    /// What the encoder is to produce, in bits per second with RTP's headers.
    fn target(&self) -> f64;
    /// The rate at which data units leave, in bits per second.
    fn pace_rate(&self) -> f64;
    /// Whether a data unit may leave beside so many bytes in flight.
    fn fits(&self, _size: u32, _in_flight: u64) -> bool {
        true
    }
    /// Called when a frame has been encoded: the oldest data unit has waited so many seconds.
    fn on_frame(&mut self, waited: f64, period: f64, size: f64, now: Time);
    /// Called when data units may leave: the rate in bits per second at which the next few are to, to see whether the path
    /// carries it. Without media they are padding. Its number is one more than the last one's.
    fn probe(&mut self, _now: Time) -> Option<f64> {
        None
    }
    /// Called when a data unit was sent.
    fn on_sent(&mut self, _in_flight: u64) {}
    /// Called with each report.
    fn on_report(&mut self, feedback: &Feedback<'_>);
    /// The round-trip time that reordering is bounded by, in seconds.
    fn s_rtt(&self) -> f64;
    /// The smoothed round-trip time; zero before the first.
    fn measured_rtt(&self) -> Time;
    /// Its window in bytes; zero of none.
    fn window(&self) -> u64 {
        0
    }
    /// Its gauges.
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>);
}

/// Parameters of a scheme for calls.
pub trait CallConfig: Send + Sync + 'static {
    /// Its control.
    type Control: CallControl;
    /// The encoder.
    fn encoder(&self) -> Encoder;
    /// The control of a call with data units of up to `mss` bytes, at `max` at most.
    fn control(&self, mss: u32, max: Rate) -> Self::Control;
}

/// Calls.
pub struct Calls<C>(pub C);

impl<C: CallConfig> Transport for Calls<C> {
    fn headers(&self) -> u32 {
        BELOW + feedback::RTP as u32
    }
    fn ceiling(&self, _rtt: Time) -> Option<Rate> {
        Some(self.0.encoder().max_rate)
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Sender::new(flow, &self.0, BELOW))
    }
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept {
        match expected {
            Some(flow) if first.kind == Kind::Datagram => {
                Accept::Take(Box::new(Receiver::new(first.src, flow.size.map(|size| size.0))))
            }
            _ => Accept::Ignore,
        }
    }
    fn takes_writes(&self, _flow: &FlowSpec) -> bool {
        true
    }
    fn carries_messages(&self, _flow: &FlowSpec) -> bool {
        false
    }
}
