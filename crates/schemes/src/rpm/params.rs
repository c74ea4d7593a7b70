//! Parameters of RPM, each with the origin of its default.

use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::params::{Text, Texts, require};

/// How the senders of selected packets are notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Not at all: the port has no AQM.
    Off,
    /// By the packet's loss.
    Drop,
    /// By CE on the packet: the paper's CoDel-FWD.
    Fwd,
    /// By ECE on an ACK that comes back: algorithm 1.
    Rpm,
    /// By both.
    Both,
}

/// What a switch keeps of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// Algorithm 1's counters and nothing else: flows of one hash share one, and what no ACK
    /// collects stays.
    Plain,
    /// Each counter has an owner, whose ACKs are known to come back.
    Guarded,
}

/// Which CoDel a port has whose queue has no AQM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// As RFC 8289 has it.
    Rfc8289,
    /// As programmable switches run it (P4-CoDel: Kundel et al., 2018): the paper's (§V-A).
    DataPlane,
}

/// The parameters of `rpm`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RpmParams {
    /// "ours", or "paper": no additions except those set by keys.
    pub text: Text,
    /// How the senders of selected packets are notified.
    pub mode: Mode,
    /// Per-flow state of the switch.
    pub registers: Kept,
    /// Number of registers of the switch, shared by its ports.
    pub size: u32,
    /// Maximum of a register. 16 bits, a word of a Tofino's register file; the paper speaks
    /// of one bit and of a counter.
    pub register_max: u16,
    /// Guarded registers: a register without a returning packet for this time loses its owner. Ours: the minimum RTO
    /// of RFC 6298, so an active flow gets signals at least as often.
    pub age: Time,
    /// One counter for all flows of a port (§III-C).
    pub aggregate: bool,
    /// CoDel of ports without an AQM. Ours: RFC 8289's, with more state.
    pub codel: Variant,
}

impl Default for RpmParams {
    fn default() -> RpmParams {
        RpmParams {
            text: Text::Ours,
            mode: Mode::Rpm,
            registers: Kept::Guarded,
            size: 65_536,
            register_max: u16::MAX,
            age: Time::from_secs(1),
            aggregate: false,
            codel: Variant::Rfc8289,
        }
    }
}

/// Algorithm 1 to the letter, with the CoDel of §V-A. docs/schemes/rpm.md lists what remains ours.
impl Texts for RpmParams {
    fn paper() -> Value {
        json!({ "registers": "plain", "codel": "data-plane" })
    }
}

/// Most registers: 64 times the default, 128 MiB. Ours.
const MAX_SIZE: u32 = 1 << 22;

impl RpmParams {
    /// What is wrong with them, if anything is.
    pub fn check(&self) -> Result<(), SpecError> {
        require((1..=MAX_SIZE).contains(&self.size), "size", "from 1 to 4194304")?;
        require(self.register_max > 0, "register_max", "from 1 to 65535")?;
        require(!self.age.is_zero(), "age", "above zero")
    }

    /// Whether ACKs are told.
    pub const fn uses_registers(&self) -> bool {
        matches!(self.mode, Mode::Rpm | Mode::Both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::read_text;

    #[test]
    fn with_the_papers_text_each_addition_of_ours_is_off_and_a_key_that_is_named_wins() {
        let ours = RpmParams::default();
        assert_eq!(read_text::<RpmParams>(&json!({})), Ok(ours));
        let paper = RpmParams { text: Text::Paper, registers: Kept::Plain, codel: Variant::DataPlane, ..ours };
        assert_eq!(read_text::<RpmParams>(&json!({ "text": "paper" })), Ok(paper));
        let one = json!({ "text": "paper", "registers": "guarded" });
        assert_eq!(read_text::<RpmParams>(&one), Ok(RpmParams { registers: Kept::Guarded, ..paper }));
        let other = json!({ "text": "paper", "codel": "rfc8289" });
        assert_eq!(read_text::<RpmParams>(&other), Ok(RpmParams { codel: Variant::Rfc8289, ..paper }));
    }
}
