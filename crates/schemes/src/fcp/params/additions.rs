//! What we add to the paper's pricing, each with a switch.

use midpath_core::spec::SpecError;
use serde::{Deserialize, Serialize};

use crate::params::require;

/// Additions to §4.1. `network.plain` turns all of them off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Additions {
    /// Income is at least this share of what packets pay now, however much less is announced. The
    /// paper has no bound: when a flow with a large budget leaves, the price falls to the minimum.
    /// 0 is the paper's.
    pub least_income: f64,
    /// Whether equation (4) divides by the d whose packets it has summed. Else by the d that
    /// follows from the newest round trip.
    pub summed_span: bool,
    /// Whether a packet that was told its price before the link's memory begins pays what it has,
    /// not the minimum.
    pub trust_balance: bool,
    /// The least d, in full packets at the link's rate. 0 is the paper's.
    pub least_packets: u32,
    /// Whether half of the newest packet is left out of the sum, which has half a packet too many
    /// on average.
    pub half_packet: bool,
    /// Whether one full packet that waits counts as no queue.
    pub packet_of_queue: bool,
    /// Whether senders begin again with a few packets after a timeout, for links have forgotten
    /// what they paid, and heed no answers that come from before it.
    pub restart: bool,
    /// Whether a link on which nothing came for longer than d keeps its price for one d, if flows
    /// have waited meanwhile: their packets pay prices from before. Else the price falls by what
    /// few packets of a new window pay, and all are told so.
    pub hold: bool,
    /// How many round trips at its rate a sender has out without an answer; it waits then. 0 is the
    /// paper's: any number.
    pub unanswered_rounds: f64,
}

impl Default for Additions {
    fn default() -> Additions {
        Additions {
            least_income: 0.3,
            summed_span: true,
            trust_balance: true,
            // The paper's shortest window (§6.3, deadlines: 4 ms at 100 Mbps) has 33.
            least_packets: 32,
            half_packet: true,
            packet_of_queue: true,
            restart: true,
            hold: true,
            // So that a path that has just become a few times longer does not slow a flow down.
            unanswered_rounds: 4.0,
        }
    }
}

impl Additions {
    /// The paper's text.
    pub const NONE: Additions = Additions {
        least_income: 0.0,
        summed_span: false,
        trust_balance: false,
        least_packets: 0,
        half_packet: false,
        packet_of_queue: false,
        restart: false,
        hold: false,
        unanswered_rounds: 0.0,
    };

    pub(super) fn check(&self) -> Result<(), SpecError> {
        require((0.0..=1.0).contains(&self.least_income), "least_income", "from 0 to 1")?;
        require(
            self.unanswered_rounds == 0.0 || (1.0..=1e6).contains(&self.unanswered_rounds),
            "unanswered_rounds",
            "0 or from 1 to 1e6",
        )?;
        require(self.least_packets <= 100_000, "least_packets", "at most 100000")
    }
}
