//! Translation between domains (§4.3): what a packet holds, in the currency of the domain that it
//! enters.
//!
//! The paper outlines this and leaves "the exact mechanism and demonstration as future work". Our
//! design: a domain gives each link from a neighbour a budget in its own currency, as it gives its
//! hosts budgets. All that comes in over the link is worth that much, so a unit of the neighbour's
//! currency is worth E = w / I, with I what comes in over the link by the packets' balances: the
//! dynamic exchange rate of aggregate control, known to one port alone. It is multiplied into EX on
//! the way, so that it works over any number of borders; the domain's prices go into the header
//! divided by EX (`port.rs`), and pricings read balances multiplied by it ([`FcpHeader::holds`]).
//! Whoever inflates its hosts' budgets makes its own money worth less.
//!
//! When E has risen since the sender was told a price, the sender will soon send more: the change
//! is an announcement like any other, and goes into the preload on the border. When E has fallen,
//! the packet holds less than it was told, and pays that.

use midpath_core::roles::PortSpec;
use midpath_core::units::Time;

use crate::fcp::equations;
use crate::fcp::header::{FcpHeader, MAX_EXCHANGE, MAX_PRELOAD};
use crate::fcp::price::{History, Meter, Rule};
use crate::fcp::resolved::Resolved;

use super::virtual_queue::{Basis, spent};

/// A rise below this factor is not announced. Ours: far above a window's noise.
const NOISE: f64 = 1.1;

/// What a port does to EX when there are domains.
pub struct Exchange {
    /// A host is at the other end: whatever it says, its own currency is worth one.
    host: bool,
    border: Option<Border>,
}

impl Exchange {
    /// Of the port of a run with domains; `None` without.
    pub fn new(params: &Resolved, spec: &PortSpec, basis: Basis) -> Option<Exchange> {
        let domains = params.domains();
        let border = domains.border(spec.node, spec.peer).map(|weight| Border::new(weight, basis));
        domains.any().then_some(Exchange { host: spec.edge && !spec.host, border })
    }

    /// Whether packets that come in are to be shown to it.
    pub fn watches(&self) -> bool {
        self.host || self.border.is_some()
    }

    /// A packet with prices comes in through the port.
    pub fn enter(&mut self, header: &mut FcpHeader, size: u32, now: Time) {
        if self.host {
            header.exchange = 1.0;
        }
        if let Some(border) = &mut self.border {
            border.enter(header, size, now);
        }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        if let Some(border) = &mut self.border {
            border.reset();
        }
    }
}

/// The entrance from one neighbour's link.
pub struct Border {
    rule: Rule,
    /// What all that comes in is worth, $/s of this domain's currency.
    weight: f64,
    /// What comes in, in the neighbour's currency.
    spends: Meter,
    /// E now and before.
    exchange: f64,
    history: History,
}

impl Border {
    /// A border over which nothing has come yet. What nobody has spent is worth as much as can be:
    /// the first flow finds a price of nearly nothing, as on an idle path, and announces what it is
    /// going to spend. Told one unit for one, a flow of a domain with small numbers would announce
    /// too much with its SYN, and could not take it back with packets of a currency that is worth
    /// more by then.
    pub fn new(weight: f64, basis: Basis) -> Border {
        let history = History::new(Time::from_secs_f64(2.0 * basis.rtt));
        Border { rule: basis.rule, weight, spends: basis.meter(), exchange: MAX_EXCHANGE, history }
    }

    /// Translates what the packet holds.
    pub fn enter(&mut self, header: &mut FcpHeader, size: u32, now: Time) {
        self.spends.charge(now, header, size, equations::paid(header.local_balance(), size.into()));
        let spent = spent(&mut self.spends, now, &self.rule);
        if spent > 0.0 {
            self.exchange = (self.weight / spent).clamp(1.0 / MAX_EXCHANGE, MAX_EXCHANGE);
        }
        self.history.push(now, self.exchange);
        self.announce(header, now);
        let exchange = f64::from(header.exchange) * self.exchange;
        header.exchange = exchange.clamp(1.0 / MAX_EXCHANGE, MAX_EXCHANGE) as f32;
    }

    /// What the packet pays is worth more than when its sender was told the price: it will send so
    /// much more.
    fn announce(&mut self, header: &mut FcpHeader, now: Time) {
        if header.rtt <= 0.0 {
            return;
        }
        let then = now.saturating_sub(Time::from_secs_f64(header.rtt.into()));
        let rise = self.exchange / self.history.at(then, now).unwrap_or(self.exchange);
        if rise > NOISE {
            // (1 + preload) · rise = 1 + preload'.
            let preload = (1.0 + f64::from(header.preload)) * rise - 1.0;
            header.preload = preload.clamp(-1.0, MAX_PRELOAD) as f32;
        }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.spends.reset();
        self.exchange = MAX_EXCHANGE;
        self.history = History::new(self.history.span());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcp::params::Additions;

    fn border() -> Border {
        let rule = Rule { alpha: 2.0, window: 2.0, minimum: 1e-18, additions: Additions::NONE };
        Border::new(1.0, Basis::new(rule, 0.1))
    }

    fn announced(border: &mut Border, preload: f32) -> f32 {
        let mut header = FcpHeader { rtt: 0.1, preload, ..FcpHeader::default() };
        border.announce(&mut header, Time::from_ms(150));
        header.preload
    }

    /// (1 + preload)·rise = 1 + preload'.
    #[test]
    fn a_rise_multiplies_what_a_packet_announces() {
        let mut border = border();
        [(0, 1.0), (100, 2.0)].into_iter().for_each(|(ms, rate)| border.history.push(Time::from_ms(ms), rate));
        border.exchange = 2.0;
        for (preload, expected) in
            [(0.0, 1.0), (0.5, 2.0), (-0.5, 0.0), (-1.0, -1.0), (-1.5, -1.0), (MAX_PRELOAD as f32, MAX_PRELOAD as f32)]
        {
            assert_eq!(announced(&mut border, preload), expected);
        }
    }

    #[test]
    fn after_a_restart_nothing_was_told_before() {
        let mut border = border();
        border.history.push(Time::ZERO, 1.0);
        border.reset();
        assert_eq!((border.exchange, announced(&mut border, 0.5)), (MAX_EXCHANGE, 0.5));
    }
}
