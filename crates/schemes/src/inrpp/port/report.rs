//! Gauges and warnings of a port.

use super::InrppPort;
use crate::inrpp::params::Notify;

/// What happened at a port, for gauges.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// INRPP packets that came to a full cache.
    pub(super) refused: u64,
    /// Packets sent around the link.
    pub(super) detoured: u64,
    /// Times that B was entered.
    pub(super) pressed: u64,
    /// Flows that had not been heard of when B was left.
    pub(super) unheard: u64,
}

impl InrppPort {
    /// The port in numbers, for series.
    pub(super) fn list_gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let stored = self.cache.stored();
        let c = &self.counts;
        out.push(("state", f64::from(self.machine.state() as u8)));
        out.push(("cache_bytes", stored.custody as f64));
        out.push(("cache_high_bytes", self.limits.cache.high as f64));
        out.push(("cache_low_bytes", self.limits.cache.low as f64));
        out.push(("closed_loop", f64::from(u8::from(self.cache.closed() || self.slowed.is_some()))));
        if !self.host {
            out.push(("room_bytes", self.room() as f64));
            out.push(("promised_bytes", self.promises.open() as f64));
        }
        out.push(("detour_rate", self.paths.iter().map(|p| p.rate * 8.0).sum()));
        out.push(("detoured", c.detoured as f64));
        out.push(("backpressures", c.pressed as f64));
        out.push(("cache_refused", c.refused as f64));
        out.push(("nonces", self.store.len() as f64));
        out.push(("forged", self.link_mac.forged as f64));
        out.push(("replayed", self.link_mac.replayed as f64));
        out.push(("unheard", self.watch.unheard() as f64));
        if let Some(border) = &self.border {
            out.push(("carried", border.flows() as f64));
            out.push(("windows_lowered", border.lowered as f64));
        }
    }

    /// What the port's user should know, a sentence each.
    pub(super) fn list_warnings(&self, out: &mut Vec<String>) {
        let (t, c) = (&self.limits.cache, &self.counts);
        let mut warn = |applies: bool, what: &str| out.extend(applies.then(|| what.to_owned()));
        warn(self.limits.cut, "`high` is above `cache` on this link: S_high is the cache's size");
        // A host slows its own flows down at once.
        // With a queue's memory it drops as a queue does, and promises no more than it has.
        let own_cache = self.limits.memory.is_none();
        let short = own_cache && !self.host && self.config.backpressure && t.margin() < self.limits.needed;
        warn(
            short && t.size < self.limits.needed,
            "the cache is smaller than RTT × C: no S_high leaves senders time to slow down (§II-B)",
        );
        warn(
            short && t.size >= self.limits.needed && c.pressed > 0,
            "less than RTT × C is free above S_high until senders slow down (§II-B): raise `cache` or lower `high`",
        );
        warn(own_cache && c.refused > 0, "packets were dropped because the cache was full");
        let unheard = c.unheard + self.watch.unheard() as u64;
        warn(
            self.config.notify == Notify::Acks && c.refused > 0 && unheard > 0,
            "flows were slowed down of which no ACK returned here: on asymmetric paths use `notify = \"data\"`",
        );
    }
}
