//! Parameters of UET, each with the origin of its default.

use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use serde::{Deserialize, Serialize};

use super::credits::Rules;
use super::nscc::Constants;
use crate::params::require;

/// Which end decides how much may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// The sender: NSCC.
    #[default]
    Nscc,
    /// The receiver: RCCC.
    Rccc,
    /// Both must allow it.
    Both,
}

impl Control {
    /// Whether there is a window.
    pub fn has_window(self) -> bool {
        self != Control::Rccc
    }
    /// Whether there are credits.
    pub fn has_credits(self) -> bool {
        self != Control::Nscc
    }
}

/// How entropy values are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EntropyKind {
    /// One for all packets of a flow.
    Ecmp,
    /// All in turn.
    Oblivious,
    /// All in turn, past those that were marked or trimmed.
    Bitmap,
    /// Those again that came back without a mark.
    Reps,
    /// Those again, else as `bitmap`.
    #[default]
    Mixed,
}

/// The parameters of `uec`. Unless a source is named, defaults are HTSIM's (8a33f33, `main_uec.cpp`, `uec.cpp`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UecParams {
    /// Who decides how much may be sent.
    pub cc: Control,
    /// How entropy values are chosen.
    pub entropy: EntropyKind,
    /// Entropy values, a power of two.
    pub paths: u16,
    /// The longest round trip without queues. Unset: that of the run's flows (HTSIM's `calculate_rtt`, but for an ACK's
    /// transmission); where it is not known, its reference network's 12 us. A flow whose own is shorter finds out.
    pub network_rtt: Option<Time>,
    /// Queue delay that NSCC aims at. Unset: three quarters of `network_rtt`; without trimming all of it.
    pub target_delay: Option<Time>,
    /// Quick adapt acts where less than the largest window over two to this power arrived in a round trip.
    pub qa_gate: u8,
    /// Retransmission timeout. Unset: 15 us and six full queues of `network_rtt` at the host's rate; without trimming, of
    /// five times that.
    pub rto: Option<Time>,
    /// Whether queues of `kind = "trim"` may cut packets; else they drop them.
    pub trimming: bool,
}

impl Default for UecParams {
    fn default() -> UecParams {
        UecParams {
            cc: Control::default(),
            entropy: EntropyKind::default(),
            paths: 64,
            network_rtt: None,
            target_delay: None,
            qa_gate: 3,
            rto: None,
            trimming: true,
        }
    }
}

impl UecParams {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), SpecError> {
        let paths = self.paths.is_power_of_two() && self.paths <= 1 << 15;
        require(paths, "paths", "a power of two up to 32768, such as 64")?;
        let times = Time::from_ns(1)..=Time::from_secs(60);
        require(self.network_rtt.is_none_or(|t| times.contains(&t)), "network_rtt", "from 1 ns to 60 s")?;
        require(self.target_delay.is_none_or(|t| times.contains(&t)), "target_delay", "from 1 ns to 60 s")?;
        require(self.rto.is_none_or(|t| times.contains(&t)), "rto", "from 1 ns to 60 s")?;
        require(self.qa_gate < 64, "qa_gate", "from 0 to 63")
    }

    /// The longest round trip without queues.
    pub fn rtt(&self) -> Time {
        self.network_rtt.unwrap_or(Time::from_us(12))
    }

    /// The retransmission timeout (`main_uec`: "2 priority queues; 3 hops for incast").
    pub fn timeout(&self) -> Time {
        let queues = if self.trimming { 6 } else { 30 };
        self.rto.unwrap_or(Time::from_us(15).saturating_add(Time(queues * self.rtt().0)))
    }

    /// What NSCC goes by at a host whose link has this rate.
    pub fn constants(&self, rate: Rate, mtu: u32, mss: u32) -> Constants {
        let rtt = self.rtt();
        let target = if self.trimming { Time((rtt.0 as f64 * 0.75) as u64) } else { rtt };
        Constants::new(rtt, self.target_delay.unwrap_or(target), self.qa_gate.into(), rate, mtu, mss)
    }
}

/// What both ends of a flow go by.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// The parameters.
    pub params: UecParams,
    /// Whose rules credit goes by.
    pub rules: Rules,
}

impl Profile {
    /// The window that credit begins with.
    pub fn window(&self, cwnd: i64, mtu: u32) -> i64 {
        match self.rules {
            Rules::Eqds(packets) => i64::from(packets) * i64::from(mtu),
            Rules::Rccc | Rules::Ndp => cwnd,
        }
    }
}
