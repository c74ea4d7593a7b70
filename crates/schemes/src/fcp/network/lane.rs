//! A virtual queue: one class of packets, what it brings in and what it is told. All lanes of a link share its one FIFO.

use midpath_core::units::Time;

use crate::fcp::header::FcpHeader;
use crate::fcp::port::Moment;
use crate::fcp::price::{LinkPrice, Load, Meter, Rule, Terms};

/// One class of packets on one link.
pub struct Lane {
    /// What it brings in.
    pub meter: Meter,
    /// What it is told.
    pub link: LinkPrice,
}

impl Lane {
    /// `rtt` is the round-trip time to reckon with while no packet has told one, s.
    pub fn new(rule: Rule, rtt: f64) -> Lane {
        Lane { meter: Meter::new(rtt), link: LinkPrice::new(rule, rtt) }
    }

    /// A packet of this class comes in. Returns what its sender had been told, $/byte.
    #[inline]
    pub fn take(&mut self, header: &FcpHeader, size: u32, now: Time) -> f64 {
        let told = self.link.told(header, now);
        let paid = header.pays(told);
        self.meter.pay(now, paid * f64::from(size), header.preload.into(), header.rtt.into());
        told
    }

    /// Forgets what is older than d. Returns what is left, and the income it makes, $/s.
    #[inline]
    pub fn settle(&mut self, now: Time, rule: &Rule) -> (Terms, f64) {
        let sums = self.meter.settle(now, rule);
        (sums, self.meter.income(&sums, self.meter.d(rule)))
    }

    /// The link without what packets take that pay nothing, all of which this lane has seen.
    #[inline]
    pub fn rest(&self, sums: &Terms, at: &Moment, rule: &Rule) -> Load {
        let capacity = self.meter.capacity(at.now, at.load.capacity, sums, self.meter.d(rule));
        Load { capacity, ..at.load }
    }

    /// Forgets everything but round-trip times.
    pub fn reset(&mut self) {
        self.meter.reset();
        self.link.reset();
    }
}

/// The average round-trip time over two meters' packets, s; that of the first while neither has any.
#[inline]
pub fn average_rtt(first: (&Meter, &Terms), second: (&Meter, &Terms)) -> f64 {
    let packets = first.1.packets + second.1.packets;
    if packets > 0.0 { (first.1.rtt + second.1.rtt) / packets } else { first.0.rtt() }
}
