//! TCP Prague: a window that falls by the share of marked packets, like DCTCP's, for the Internet's L4S queues:
//! ECT(1), paced, and with an RTT fairness like that over a queue of 25 ms (RFC 9331;
//! draft-briscoe-iccrg-prague-congestion-control).

use std::sync::Arc;

use midpath_core::packet::Ecn;
use midpath_core::pfc::NO_LIMIT;
use midpath_core::queue::{AqmSpec, DualPi2Params};
use midpath_core::roles::{FlowSpec, Network, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

use super::equations;
use super::marked::{MarkedShare, added};
use crate::marking::{half, marking};
use crate::params::{require, share};
use crate::transport::TcpTable;
use crate::transport::cc::{
    Ack, Codepoints, Congestion, CongestionController, ControllerConfig, ControllerTraits, NetworkAssisted, Opening,
    Window,
};
use crate::transport::ecn::EcnMode;
use crate::transport::growth::Growth;
use crate::transport::params::{HyStartRule, TcpParams};

/// The parameters of `prague`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PragueParams {
    /// What all TCPs share. ECN is accurate (RFC 9768), and packets are paced, whatever is said.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// Weight of the newest round in the estimate of the marked share. 1/16 is Linux's
    /// `PRAGUE_SHIFT_G`.
    #[serde(deserialize_with = "share")]
    pub g: f64,
    /// The estimate before the first mark. 1 is Linux's `PRAGUE_MAX_ALPHA`: the first mark halves the
    /// window.
    #[serde(deserialize_with = "share")]
    pub initial_alpha: f64,
    /// Lower bound of the RTT used. 25 ms is Linux's
    /// `prague_rtt_target`.
    pub rtt_virt: Time,
}

impl Default for PragueParams {
    fn default() -> PragueParams {
        PragueParams { tcp: TcpParams::default(), g: 1.0 / 16.0, initial_alpha: 1.0, rtt_virt: Time::from_ms(25) }
    }
}

impl TcpTable for PragueParams {
    type Config = PragueConfig;
    fn split(self) -> Result<(TcpParams, PragueConfig), SpecError> {
        MarkedShare::check(self.g, self.initial_alpha)?;
        let accurate = self.tcp.ecn.is_none_or(|ecn| ecn == EcnMode::Accurate);
        require(accurate, "ecn", "\"accurate\": RFC 9331, §4.2 asks for it")?;
        let PragueParams { tcp, g, initial_alpha, rtt_virt } = self;
        Ok((tcp, PragueConfig(Arc::new(Constants { g, initial_alpha, rtt_virt }))))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        marking(|spec| match dualpi2(spec) {
            // A lossless class of [pfc] holds what PI2 would drop, and has no timers.
            own if spec.queue.limit == NO_LIMIT => AqmSpec::DelayStep { threshold: own.step },
            own => AqmSpec::DualPi2(own),
        })
    }
}

/// RFC 9332's queue for L4S, with its defaults. In a queue of less than twice these delays, half of it: marks come
/// before drops.
fn dualpi2(spec: &PortSpec) -> DualPi2Params {
    let rate = spec.link.rate;
    let most = rate.time_for(Bytes(half(spec.queue.limit, rate, spec.link.mtu))).max(Time::from_us(1));
    let own = DualPi2Params::default();
    DualPi2Params { target: own.target.min(most), step: own.step.min(most), ..own }
}

/// Builds [`Prague`].
#[derive(Debug, Clone)]
pub struct PragueConfig(Arc<Constants>);

/// What all flows share.
#[derive(Debug)]
struct Constants {
    g: f64,
    initial_alpha: f64,
    rtt_virt: Time,
}

impl ControllerConfig for PragueConfig {
    type Controller = Prague;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> Prague {
        Prague {
            growth: Growth::new(tcp, mss, HyStartRule::Off),
            share: MarkedShare::new(self.0.initial_alpha),
            constants: self.0.clone(),
            updated: Time::ZERO,
            rests_until: Time::ZERO,
            unmarked: 0,
            overhead: 0,
            saw_ce: false,
        }
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits {
            ecn: EcnMode::Accurate,
            // RFC 9331, §4.1; Linux has it on repeats, too.
            codepoints: Codepoints { new: Ecn::Ect1, again: Ecn::Ect1 },
            // RFC 9331, §4.3: "pacing".
            paced: true,
            ..ControllerTraits::default()
        }
    }
}

/// Falls in proportion to the share of marked packets, once per virtual round trip.
#[derive(Debug, Clone)]
pub struct Prague {
    growth: Growth,
    share: MarkedShare,
    constants: Arc<Constants>,
    updated: Time,
    /// A virtual round trip after the window last fell.
    rests_until: Time,
    /// Bytes without a mark that ACKs with marks have reported: they let the window grow, too. Few windows at most.
    unmarked: u32,
    /// Bytes of headers on a packet.
    overhead: u16,
    saw_ce: bool,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Prague>() == size_of::<Growth>() + 56);

impl Prague {
    #[cfg(test)]
    /// The estimated share of marked packets.
    pub fn alpha(&self) -> f64 {
        self.share.alpha()
    }
}

impl NetworkAssisted for Prague {}

impl CongestionController for Prague {
    const DONE_WITH_DATA: bool = true;

    fn on_open(&mut self, _window: &mut Window, opening: &mut Opening<'_>) {
        self.overhead = opening.overhead as u16; // less than a packet
    }

    fn on_delivery(&mut self, _window: &mut Window, ack: &Ack) {
        self.share.count(ack);
        if ack.ece {
            self.saw_ce = true;
            self.unmarked = added(self.unmarked, ack.delivered.saturating_sub(ack.marked));
        }
        // Linux's prague_should_update_ewma: once per round trip, and per virtual one.
        if self.share.is_over(ack) && ack.now >= self.updated.saturating_add(self.constants.rtt_virt) {
            // "Do not update alpha before we have proof that there's an AQM on the path."
            if self.saw_ce {
                self.share.learn(self.constants.g);
            }
            self.share.begin(ack);
            self.updated = ack.now;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let mut bytes = ack.acked + u64::from(std::mem::take(&mut self.unmarked));
        if window.in_slow_start() {
            bytes = self.growth.slow_start(window, ack);
        }
        let segments = bytes as f64 / window.mss as f64;
        let (rtt, virt) = (ack.srtt.short_secs_f64(), self.constants.rtt_virt.as_secs_f64());
        window.grow(window.mss as f64 * equations::prague_increase(segments, window.segments(), rtt, virt));
    }

    fn on_unlimited_ack(&mut self, _ack: &Ack) {
        self.unmarked = 0;
    }

    fn on_loss(&mut self, _window: &Window, congestion: &Congestion) -> u64 {
        self.growth.restart();
        // RFC 9331, §4.3: "react to packet loss in a way that will coexist safely with Classic".
        congestion.flight / 2
    }

    fn on_ecn(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.growth.restart();
        // Linux's prague_enter_cwr: no more than once per virtual round trip.
        if congestion.now < self.rests_until {
            return window.cwnd;
        }
        self.rests_until = congestion.now.saturating_add(self.constants.rtt_virt);
        equations::dctcp_cwnd(window.cwnd as f64, self.share.alpha()) as u64
    }

    /// Linux's prague_update_pacing_rate: the window per round trip, twice that early in slow start.
    fn pacing_rate(&self, window: &Window, srtt: Time) -> Option<Rate> {
        if srtt.is_zero() {
            return None;
        }
        let gain = if window.cwnd < window.ssthresh / 2 { 2.0 } else { 1.0 };
        // Signed numbers take five instructions less than unsigned ones.
        let [cwnd, mss] = [window.cwnd, window.mss].map(|bytes| bytes as i64 as f64);
        let bytes = cwnd * (1.0 + f64::from(self.overhead) / mss);
        Some(Rate(((gain * 8.0 * bytes / srtt.short_secs_f64()) as u64).max(1)))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("alpha", self.share.alpha()));
    }
}
