//! Parameters of MPTCP, each with the origin of its default.

use midpath_core::spec::SpecError;
use serde::{Deserialize, Serialize};

use super::MAX_SUBFLOWS;
use crate::params::require;
use crate::transport::TcpParams;

/// The parameters of `mptcp`: its own, and those of every TCP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MptcpParams {
    /// What all TCPs share; `receive_window` is the one buffer of all subflows.
    #[serde(flatten)]
    pub tcp: TcpParams,
    /// Window growth of a connection's subflows. LIA is RFC 6356.
    pub coupling: Coupling,
    /// Maximum concurrent subflows of a connection, from 1 to 8. Unset: one for each pair of a source's
    /// and a destination's address (INRPP, §IV-B), up to 8.
    pub subflows: Option<u8>,
    /// Choice of the subflow for the next segment. Lowest RTT is Linux's first
    /// scheduler and Raiciu et al. 2012.
    pub scheduler: Scheduler,
    /// If the receive buffer blocks: reinject the blocking segment on a subflow with space (Raiciu et al. 2012, §4.2).
    pub opportunistic: bool,
    /// With `opportunistic`: halve the window of the slower subflow that blocks, once per round
    /// trip (Raiciu et al. 2012, §4.2).
    pub penalise: bool,
}

impl Default for MptcpParams {
    fn default() -> MptcpParams {
        MptcpParams {
            tcp: TcpParams::default(),
            coupling: Coupling::default(),
            subflows: None,
            scheduler: Scheduler::default(),
            opportunistic: true,
            penalise: true,
        }
    }
}

/// How the windows of a connection's subflows grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// Linked increases (RFC 6356).
    #[default]
    Lia,
    /// Opportunistic linked increases (Khalili et al. 2012).
    Olia,
    /// Each as a TCP of its own: unfair where paths share a bottleneck.
    Uncoupled,
}

/// Which subflow carries the next segment, of those whose window has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The one with the lowest smoothed round-trip time.
    #[default]
    LowestRtt,
    /// One after the other.
    RoundRobin,
}

impl MptcpParams {
    /// Whether a connection can live by these.
    pub fn check(&self) -> Result<(), SpecError> {
        let many = self.subflows.is_none_or(|n| (1..=MAX_SUBFLOWS).contains(&usize::from(n)));
        require(many, "subflows", "from 1 to 8")
    }
}
