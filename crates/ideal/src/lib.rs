//! The ideal: flows as fluids that share links perfectly, at once and without queues. No clock, no
//! I/O, no randomness.
//!
//! | part | holds |
//! |---|---|
//! | [`allocate_max_min`] | weighted max-min fair rates, by water-filling |
//! | [`allocate_proportional`] | weighted proportionally fair rates, with link prices and a certificate |
//! | [`run`], [`run_each`] | the fluid model itself: flows arrive and end, and share by one of the two in between |
//! | [`completion_bound`] | a lower bound of the mean completion time under any scheme |
//!
//! No congestion control with the same fairness and routes can do better for all flows at once. This is not a bound
//! for a single flow: a scheme that favours short flows can have a lower mean completion time than processor
//! sharing. [`completion_bound`] is a bound.

mod bound;
mod cholesky;
mod engine;
mod few;
mod fluid;
mod interior;
mod maxmin;
mod population;
mod proportional;
mod series;

pub use bound::{BoundFlow, Crossing, Speed, completion_bound};
pub use engine::{run, run_each};
pub use fluid::{Allocation, CapacityChange, FlowOutcome, FluidFlow, FluidFlows, FluidOptions, FluidOutput};
pub use maxmin::allocate_max_min;
pub use proportional::{Proportional, allocate_proportional};
pub use series::{MAX_SERIES_VALUES, Series};

/// Why a problem cannot be solved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdealError {
    /// A link's capacity is negative or not finite.
    #[error("link {0}: the capacity must be finite and not negative")]
    Capacity(usize),
    /// A path names a link that isn't there.
    #[error("flow {flow}: there is no link {link}")]
    Link {
        /// Index of the flow.
        flow: usize,
        /// The link it names.
        link: u32,
    },
    /// A weight is not a positive number.
    #[error("flow {0}: the weight must be finite and above zero")]
    Weight(usize),
    /// A rate limit is negative or not a number.
    #[error("flow {0}: the rate limit must not be negative")]
    Limit(usize),
    /// A flow crosses no link and has no rate limit: nothing bounds it.
    #[error("flow {0}: neither a link nor a rate limit bounds it")]
    Unbounded(usize),
    /// A size, time or latency is negative or not a number.
    #[error("flow {0}: sizes must be above zero, times and latencies not negative")]
    Times(usize),
    /// The lists of paths, weights and limits differ in length.
    #[error("{paths} paths, {weights} weights and {limits} limits; there must be one of each for a flow")]
    Lengths {
        /// How many paths.
        paths: usize,
        /// How many weights.
        weights: usize,
        /// How many limits.
        limits: usize,
    },
    /// Sampling would take too much memory, or the interval is not above zero.
    #[error("sampling: the interval must be above zero and the series at most {MAX_SERIES_VALUES} values")]
    Sampling,
}
