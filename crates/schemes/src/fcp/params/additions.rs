//! Our additions to the paper's pricing, each with a switch, and their numbers.

use serde::{Deserialize, Serialize};

/// Additions to §4.1. `text = "paper"` turns all of them off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Additions {
    /// Income is at least [`LEAST_INCOME`] of what packets pay now, however much less is announced. The
    /// paper has no bound: when a flow with a large budget leaves, the price falls to the minimum.
    pub least_income: bool,
    /// Whether equation (4) divides by the d whose packets it has summed. Else by the d that
    /// follows from the newest round trip.
    pub summed_span: bool,
    /// Whether a packet that was told its price before the link's memory begins pays what it has,
    /// not the minimum.
    pub trust_balance: bool,
    /// Whether d is at least [`LEAST_PACKETS`] long.
    pub least_packets: bool,
    /// Whether half of the newest packet is left out of the sum, which has half a packet too many
    /// on average.
    pub half_packet: bool,
    /// Whether one full packet that waits counts as no queue.
    pub packet_of_queue: bool,
    /// With uniform pricing: whether an overloaded link whose price is a small part of its paths'
    /// catches up at once. Else equation (2) alone.
    pub catch_up: bool,
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
    /// Whether a change of budget below [`NOISE`] is not announced.
    pub noise: bool,
    /// Whether what packets take that pay nothing is taken off the capacity. The paper has none.
    pub leave_unpaid: bool,
    /// Whether a flow with data waits for its next packet up to [`PATIENCE_S`], up to twice as long as before while it
    /// hears that its target pays for less. Else a second.
    pub patience: bool,
    /// Whether a host announces at most [`ANNOUNCEMENTS`] budgets in a second; more waits. Edges refuse what is above
    /// twice the budget, and what is lost is announced again. Else any amount.
    pub announcements: bool,
    /// Whether a round-trip time counts into d for [`LONGEST_AGE`] times the average at most.
    pub longest_age: bool,
    /// Whether a sender waits that has [`UNANSWERED_ROUNDS`] round trips at its rate out without an answer.
    pub unanswered_rounds: bool,
}

/// A share of what packets pay now.
pub const LEAST_INCOME: f64 = 0.3;

/// Full packets at the link's rate. The paper's shortest window (§6.3, deadlines: 4 ms at 100 Mbps) has 33.
pub const LEAST_PACKETS: u32 = 32;

/// A share of the budget. Single precision and the price's noise are far below.
pub const NOISE: f64 = 1e-3;

/// The longest time between two packets of a flow with data. About TCP's longest timeout, 60 s.
pub const PATIENCE_S: f64 = 64.0;

/// What a host announces in a second, in budgets: a tenth below what edges refuse, for their second is not the host's.
pub const ANNOUNCEMENTS: f64 = 1.8;

/// Averages. d is how soon senders follow a price: what was not answered for seconds pays a price of then, and says nothing
/// about that. A few of those make a d of many round trips, in which (4) counts what is announced again and again.
pub const LONGEST_AGE: f64 = 4.0;

/// Round trips without an answer: a path that has just become a few times longer does not slow a flow down.
pub const UNANSWERED_ROUNDS: f64 = 4.0;

impl Default for Additions {
    fn default() -> Additions {
        Additions {
            least_income: true,
            summed_span: true,
            trust_balance: true,
            least_packets: true,
            half_packet: true,
            packet_of_queue: true,
            catch_up: true,
            restart: true,
            opening_budget: true,
            spread: true,
            keep_pace: true,
            noise: true,
            leave_unpaid: true,
            patience: true,
            announcements: true,
            longest_age: true,
            unanswered_rounds: true,
        }
    }
}

impl Additions {
    /// The paper's text.
    #[cfg(test)]
    pub const NONE: Additions = Additions {
        least_income: false,
        summed_span: false,
        trust_balance: false,
        least_packets: false,
        half_packet: false,
        packet_of_queue: false,
        catch_up: false,
        restart: false,
        opening_budget: false,
        spread: false,
        keep_pace: false,
        noise: false,
        leave_unpaid: false,
        patience: false,
        announcements: false,
        longest_age: false,
        unanswered_rounds: false,
    };

    /// Below which share of a budget a change is not announced.
    pub fn unannounced(&self) -> f64 {
        if self.noise { NOISE } else { 0.0 }
    }
}
