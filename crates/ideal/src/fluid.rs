//! Input and output of a fluid run.

use crate::series::Series;

/// One flow of a fluid run.
#[derive(Debug, Clone, PartialEq)]
pub struct FluidFlow {
    /// The links that it crosses, as indices into the capacities.
    pub path: Vec<u32>,
    /// What it has to move; infinite for a flow that never ends by itself.
    pub size_bits: f64,
    /// When it arrives.
    pub start_s: f64,
    /// When it gives up, done or not; infinite unless said.
    pub stop_s: f64,
    /// Its share relative to others; 1 unless said.
    pub weight: f64,
    /// Added to its completion time: propagation one way, and storing and forwarding one packet at
    /// each hop.
    pub latency_s: f64,
    /// Rate that it never exceeds; infinite unless said.
    pub cap_bps: f64,
    /// Number under which series are added up.
    pub group: u32,
}

impl Default for FluidFlow {
    fn default() -> FluidFlow {
        FluidFlow {
            path: Vec::new(),
            size_bits: f64::INFINITY,
            start_s: 0.0,
            stop_s: f64::INFINITY,
            weight: 1.0,
            latency_s: 0.0,
            cap_bps: f64::INFINITY,
            group: 0,
        }
    }
}

/// The flows of a run, by number. A flow is asked for when it arrives, and nothing of it is kept when it has gone.
pub trait FluidFlows {
    /// How many there are.
    fn count(&self) -> usize;
    /// How many groups there are; only series ask.
    fn groups(&self) -> usize;
    /// When one arrives.
    fn start_s(&self, flow: usize) -> f64;
    /// One of them.
    fn flow(&self, flow: usize) -> FluidFlow;
}

impl FluidFlows for [FluidFlow] {
    fn count(&self) -> usize {
        self.len()
    }
    fn groups(&self) -> usize {
        self.iter().map(|f| f.group as usize + 1).max().unwrap_or(0)
    }
    fn start_s(&self, flow: usize) -> f64 {
        self[flow].start_s
    }
    fn flow(&self, flow: usize) -> FluidFlow {
        self[flow].clone()
    }
}

/// How flows share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocation {
    /// Weighted max-min fairness; on a single link, processor sharing.
    #[default]
    MaxMin,
    /// Weighted proportional fairness: the rates that maximise Σ w log x.
    Proportional,
}

/// A link that changes, or fails and comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityChange {
    /// When.
    pub at_s: f64,
    /// Which link.
    pub link: u32,
    /// Its capacity from then on; 0 while it is down.
    pub bps: f64,
}

/// How to run.
#[derive(Debug, Clone, PartialEq)]
pub struct FluidOptions {
    /// How flows share.
    pub allocation: Allocation,
    /// When the run ends at the latest; infinite: when nothing more can happen.
    pub stop_s: f64,
    /// Links that change on the way, in any order.
    pub changes: Vec<CapacityChange>,
    /// Interval of the series; `None` for none.
    pub sample_s: Option<f64>,
}

impl Default for FluidOptions {
    fn default() -> FluidOptions {
        FluidOptions { allocation: Allocation::default(), stop_s: f64::INFINITY, changes: Vec::new(), sample_s: None }
    }
}

/// What became of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FlowOutcome {
    /// When its last bit arrives, latency included; `None` if the run or its own `stop_s` came
    /// before its last bit was sent.
    pub finish_s: Option<f64>,
    /// What the network took from it by its end.
    pub delivered_bits: f64,
    /// Delivered bits over the time from its start to its finish, its stop or the end of the run.
    pub mean_rate_bps: f64,
}

/// A fluid run's result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FluidOutput {
    /// In the order of the flows given; none of [`run_each`](crate::run_each), which tells of each when it ends.
    pub flows: Vec<FlowOutcome>,
    /// What each link carried, in bits.
    pub link_bits: Vec<f64>,
    /// When the run ended.
    pub end_s: f64,
    /// Moments at which rates were computed anew.
    pub events: u64,
    /// The series, if asked for.
    pub series: Option<Series>,
    /// The largest KKT residual of all allocations ([`crate::Proportional::residual`]); 0 for
    /// max-min, which is direct.
    pub residual: f64,
}
