//! Common parts of all pricing policies.

use midpath_core::units::Time;

use super::header::FcpHeader;
use super::price::Load;

/// When a packet came, and how the link stood.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// The time.
    pub now: Time,
    /// Capacity and queue.
    pub load: Load,
    /// What a price that is worked out now is multiplied by: 1 unless it is to be wrong (§6.1.2).
    pub factor: f64,
}

/// What a packet is told and charged, $/byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Charge {
    /// The link's price as it goes into the header, where packets are told it as they come: what the sender will
    /// pay from the next round on.
    pub quote: f64,
    /// What the sender had been told, and now pays for this link.
    pub quoted: f64,
}

/// How the prices of a link come about: uniform (§4.1), or one of the network's policies (§4.2,
/// §4.3).
pub trait Pricing: Send {
    /// Called with each packet that carries a price, in order of arrival. May change the service
    /// that it gets.
    fn charge(&mut self, header: &mut FcpHeader, size: u32, arrival: &Arrival) -> Charge;
    /// Called with each such packet that leaves, where packets are told prices then: the link's price as it goes
    /// into the header. It came at `came`.
    fn tell(&mut self, header: &FcpHeader, came: Time) -> f64;
    /// Called with each other packet.
    fn pass(&mut self, size: u32, now: Time);
    /// Called when the node restarts.
    fn reset(&mut self);
    /// Prices to plot, by name.
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>);
}

impl<P: Pricing + ?Sized> Pricing for Box<P> {
    fn charge(&mut self, header: &mut FcpHeader, size: u32, arrival: &Arrival) -> Charge {
        (**self).charge(header, size, arrival)
    }
    fn tell(&mut self, header: &FcpHeader, came: Time) -> f64 {
        (**self).tell(header, came)
    }
    fn pass(&mut self, size: u32, now: Time) {
        (**self).pass(size, now);
    }
    fn reset(&mut self) {
        (**self).reset();
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        (**self).gauges(out);
    }
}
