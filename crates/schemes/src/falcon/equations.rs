//! §10.3 and §10.4: the windows, the target and PLB. Windows in packets; times in any one unit.

use crate::swift::equations::Scaling;

/// What the algorithms are configured with (§10.5.1 to §10.5.4).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    /// `min_fcwnd`, `max_fcwnd`.
    pub fabric: [f64; 2],
    /// `min_ncwnd`, `max_ncwnd`.
    pub nic: [f64; 2],
    /// `fabric_additive_increment`, `nic_additive_increment`.
    pub increase: f64,
    /// `fabric_multiplicative_decrease_factor`, `nic_multiplicative_decrease_factor`.
    pub beta: f64,
    /// `max_fabric_multiplicative_decrease_factor`, that of the NIC.
    pub most_decrease: f64,
    /// `target_rx_buffer_level`.
    pub level: u8,
    /// `base_delay_target`, `topology_scaling_per_hop`.
    pub base: f64,
    pub per_hop: f64,
    /// `max_flow_scaling`, `min_flow_scaling_window`, `max_flow_scaling_window`.
    pub scaling: Scaling,
    /// `retransmit_limit`.
    pub retransmit_limit: u32,
    /// `plb_target_delay_multiplier`, `plb_congestion_threshold`, `plb_attempt_threshold`.
    pub plb_delay: f64,
    pub plb_share: f64,
    pub plb_rounds: u32,
}

/// What an ACK says (§10.5.5).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signals {
    pub now: f64,
    /// T4 − T1, and without T3 − T2.
    pub rtt: f64,
    pub delay: f64,
    /// `forward_hops`.
    pub hops: u32,
    /// `num_packets_acked`.
    pub acked: f64,
    /// `rx_buffer_level`.
    pub level: u8,
}

/// A connection's state (§10.5.6).
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub fcwnd: f64,
    pub ncwnd: f64,
    /// `fabric_window_time_marker`, `nic_window_time_marker`.
    pub fabric_marker: f64,
    pub nic_marker: f64,
    /// `ncwnd_direction`: the last change was an increase.
    pub rising: bool,
    pub plb: Plb,
}

/// PLB's counters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plb {
    /// `plb_packets_acknowledged`, and those of them that were congested.
    pub acknowledged: f64,
    pub congested: f64,
    /// `plb_reroute_attempted`: congested rounds in a row.
    pub rounds: u32,
}

impl Config {
    /// §10.3.4, FabricDelayTarget. Flow scaling is Swift's, as in Google's code: α is over 1/√min − 1/√max, where the text has
    /// √min − √max, which would be negative.
    pub fn target(&self, fcwnd: f64, hops: u32) -> f64 {
        self.base + self.scaling.delay(fcwnd) + self.per_hop * f64::from(hops)
    }
}

/// §10.3.6: when a window was changed, or an RTT ago if that is later.
fn mark(marker: f64, now: f64, rtt: f64, changed: bool) -> f64 {
    if changed { now } else { marker.max(now - rtt) }
}

impl State {
    /// Windows to begin with.
    pub fn new(fcwnd: f64, ncwnd: f64) -> State {
        let never = f64::NEG_INFINITY;
        State { fcwnd, ncwnd, fabric_marker: never, nic_marker: never, rising: true, plb: Plb::default() }
    }

    /// §10.3.5: packets that may be outstanding.
    pub fn window(&self) -> f64 {
        self.fcwnd.min(self.ncwnd)
    }

    /// §10.3.1, ProcessAckNackCommon, and §10.4. Says whether PLB takes another path.
    pub fn acknowledge(&mut self, config: &Config, signals: &Signals) -> bool {
        let (target, before) = (config.target(self.fcwnd, signals.hops), self.window());
        self.fabric(config, signals, target);
        self.nic(config, signals);
        self.plb.acknowledge(config, signals, target, before)
    }

    /// ComputeAckFabricCongestionWindow.
    fn fabric(&mut self, config: &Config, signals: &Signals, target: f64) {
        let before = self.fcwnd;
        if signals.delay < target {
            let increase = config.increase * signals.acked;
            self.fcwnd += if self.fcwnd >= 1.0 { increase / self.fcwnd } else { increase };
        } else if signals.now - self.fabric_marker >= signals.rtt {
            let decrease = config.beta * (signals.delay - target) / signals.delay;
            self.fcwnd *= 1.0 - decrease.min(config.most_decrease);
        }
        self.bound_fabric(config, before, signals.now, signals.rtt);
    }

    fn bound_fabric(&mut self, config: &Config, before: f64, now: f64, rtt: f64) {
        let [least, most] = config.fabric;
        self.fcwnd = self.fcwnd.clamp(least, most);
        self.fabric_marker = mark(self.fabric_marker, now, rtt, self.fcwnd < before || self.fcwnd == least);
    }

    /// ComputeAckNICCongestionWindow. The factor is Google's code's; the text leaves it out.
    fn nic(&mut self, config: &Config, signals: &Signals) {
        let (before, elapsed) = (self.ncwnd, signals.now - self.nic_marker >= signals.rtt);
        if signals.level < config.level {
            if !self.rising || elapsed {
                self.ncwnd += config.increase;
            }
        } else if elapsed {
            let (level, above) = (f64::from(signals.level), f64::from(signals.level - config.level));
            self.ncwnd *= 1.0 - (config.beta * above / level).min(config.most_decrease);
        }
        let [least, most] = config.nic;
        self.ncwnd = self.ncwnd.clamp(least, most);
        // §10.3.6 has a window at its most as raised. Ours: while the level is low. With an event for each ACK, not for a round
        // trip, it would else put each decrease off.
        let rose = self.ncwnd > before || self.ncwnd == most && signals.level < config.level;
        let fell = self.ncwnd < before || self.ncwnd == least;
        // §10.3.5: "ncwnd is always integer". As in Google's code, a decrease that this takes back was one.
        self.ncwnd = self.ncwnd.round();
        self.rising = if fell { false } else { rose || self.rising };
        self.nic_marker = mark(self.nic_marker, signals.now, signals.rtt, fell || rose);
    }

    /// §10.3.2, ProcessRetransmit: the so manyth in a row.
    pub fn retransmit(&mut self, config: &Config, count: u32, now: f64, rtt: f64) {
        let before = self.fcwnd;
        if now - self.fabric_marker >= rtt {
            if count == 1 {
                self.fcwnd *= 1.0 - config.most_decrease;
            } else if count >= config.retransmit_limit {
                self.fcwnd = config.fabric[0];
            }
        }
        self.bound_fabric(config, before, now, rtt);
    }
}

impl Plb {
    /// §10.4, ComputePlb, where so many packets were the window before this ACK.
    fn acknowledge(&mut self, config: &Config, signals: &Signals, target: f64, window: f64) -> bool {
        self.acknowledged += signals.acked;
        if signals.delay > target * config.plb_delay {
            self.congested += signals.acked;
        }
        if self.acknowledged < window {
            return false;
        }
        let congested = self.congested / self.acknowledged >= config.plb_share;
        self.rounds = if congested { self.rounds + 1 } else { 0 };
        (self.acknowledged, self.congested) = (0.0, 0.0);
        let reroute = self.rounds >= config.plb_rounds;
        self.rounds = if reroute { 0 } else { self.rounds };
        reroute
    }
}
