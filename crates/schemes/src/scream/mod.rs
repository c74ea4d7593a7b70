//! SCReAMv2 (draft-ietf-ccwg-rfc8298bis-screamv2-01): congestion control of real-time media. A window that follows
//! losses, marks and the queue delay; an encoder's rate that follows the window.
//!
//! Implemented and omitted parts: `docs/schemes/scream.md`. Map from sections to files: `README.md`. Files: `params.rs`
//! (parameters), `window.rs` (network congestion control), `media.rs` (media rate control, pacing, the encoder),
//! `in_flight.rs` and `delay.rs` (what feedback says), `feedback.rs` (its bytes), `sender.rs`, `receiver.rs` (the ends).

mod delay;
mod describe;
pub mod feedback;
mod in_flight;
mod media;
mod params;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use midpath_core::packet::{IP_HEADER, Kind, Packet, UDP_HEADER};
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Parts, Transport};
use midpath_core::units::{Rate, Time};

pub(crate) use describe::schemes;
pub use params::ScreamParams;
use receiver::Receiver;
use sender::Sender;

/// Before a data unit, which begins with RTP's header.
const BELOW: u32 = IP_HEADER + UDP_HEADER;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: ScreamParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Parts { name: name.to_owned(), transport: Some(Arc::new(Scream(params))), network: None }))
}

/// Calls under SCReAM.
struct Scream(ScreamParams);

impl Transport for Scream {
    fn headers(&self) -> u32 {
        BELOW + feedback::RTP as u32
    }
    fn ceiling(&self, _rtt: Time) -> Option<Rate> {
        Some(self.0.max_rate)
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
