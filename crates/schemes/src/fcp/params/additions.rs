//! Our additions to the paper's pricing, each with a switch.

use midpath_core::spec::SpecError;
use serde::{Deserialize, Serialize};

use crate::params::require;

/// Additions to §4.1. `text = "paper"` turns all of them off.
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
    /// Whether senders begin again after a timeout, and after a round trip in which they had to
    /// wait because nothing was answered: links have forgotten what they paid. They heed no answers
    /// from before, and send no faster than before until they have announced it.
    pub restart: bool,
    /// Whether a SYN tells what its flow may spend, so that links count its first packets for no
    /// more.
    pub opening_budget: bool,
    /// Whether a flow whose share is less than a packet in a round trip sends its first packet at
    /// any moment of the time between two, and varies that time by up to a half. Else the first
    /// comes with the SYN-ACK, and all flows' in step.
    pub spread: bool,
    /// Whether a flow that spends less than its target has a packet in two round trips, if the
    /// target pays for that.
    pub keep_pace: bool,
    /// A change of budget below this share is not announced. 0 is the paper's.
    pub noise: f64,
    /// Whether what packets take that pay nothing is taken off the capacity. The paper has none.
    pub leave_unpaid: bool,
    /// The longest time between two packets of a flow with data, s: it waits up to twice as long
    /// as before while it hears that its target pays for less. 1 is the least.
    pub patience: f64,
    /// The most that a host announces in a second, in multiples of its budget; more waits. Edges
    /// refuse what is above twice the budget, and what is lost is announced again. 0 is the paper's:
    /// any amount.
    pub announcements: f64,
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
            opening_budget: true,
            spread: true,
            keep_pace: true,
            // Single precision and the price's noise are far below.
            noise: 1e-3,
            leave_unpaid: true,
            // About TCP's longest timeout, 60 s.
            patience: 64.0,
            // A tenth below what edges refuse: their second is not the host's.
            announcements: 1.8,
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
        opening_budget: false,
        spread: false,
        keep_pace: false,
        noise: 0.0,
        leave_unpaid: false,
        patience: 1.0,
        announcements: 0.0,
        unanswered_rounds: 0.0,
    };

    pub(super) fn check(&self) -> Result<(), SpecError> {
        require((0.0..=1.0).contains(&self.least_income), "least_income", "from 0 to 1")?;
        require(
            self.unanswered_rounds == 0.0 || (1.0..=1e6).contains(&self.unanswered_rounds),
            "unanswered_rounds",
            "0 or from 1 to 1e6",
        )?;
        require((0.0..=0.1).contains(&self.noise), "noise", "from 0 to 0.1")?;
        require(
            self.announcements == 0.0 || (1.0..=1e6).contains(&self.announcements),
            "announcements",
            "0 or from 1 to 1e6 budgets",
        )?;
        require((1.0..=1e4).contains(&self.patience), "patience", "from 1 to 1e4 seconds")?;
        require(self.least_packets <= 100_000, "least_packets", "at most 100000")
    }
}
