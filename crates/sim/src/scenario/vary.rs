use midpath_core::limit::Limit;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Ratio, Time};
use midpath_topo::graph::{MAX_DELAY, check_delay, check_rate};
use serde::{Deserialize, Serialize};

use crate::engine::{Bursts, Jitter, Law};

/// A link that varies during the run: by a schedule, by a trace, or by chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VarySpec {
    /// The link by its ends, with parallel ones.
    #[schemars(extend("examples" = [["r0", "r1"]]))]
    pub link: [String; 2],
    /// Only from the first end to the second; default false.
    #[serde(default)]
    pub one_way: bool,
    /// Scheduled rates and delays, in order of time. The packet in transmission is unaffected; no
    /// overtaking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [[
        { "at": "1 s", "rate": "2 Mbps" }, { "at": "3 s", "rate": "10 Mbps", "delay": "40 ms" }
    ]]))]
    pub steps: Vec<StepSpec>,
    /// Schedule as CSV, relative to the scenario: columns `at` and `rate`, `delay` or both. Plain
    /// numbers are seconds or bits per second; "5 ms" works. Empty cells change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["rates.csv"]))]
    pub file: Option<String>,
    /// Period; needs `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Time>,
    /// mahimahi trace replacing the rate, relative to the scenario: a line per delivery opportunity
    /// of 1500 bytes, in milliseconds, repeated; needs `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["links/cellular.trace"]))]
    pub trace: Option<String>,
    /// Random delay per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSpec>,
    /// Bursty loss (Gilbert–Elliott).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<BurstSpec>,
    /// What happens to ECN-capable packets: ECT(0), ECT(1) or CE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnSpec>,
    /// ACK thinning (RFC 3449, §5.2.1): of each flow's packets of at most 120 bytes one in so many passes. The first ten, which
    /// may be a handshake's, pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [4]))]
    pub ack_thinning: Option<u32>,
    /// Token bucket before the transmitter: what exceeds it waits in the port's queue. (A queue of the kind `policer` drops
    /// it.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<ShaperSpec>,
    /// Aggregation: packets are sent in frames, and arrive when their frame ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<AggregationSpec>,
    /// Automatic repeat request: what `corruption` and `loss` take is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<ArqSpec>,
}

/// Frames: with `max` as Wi-Fi's (A-MPDU), with `slot` as 5G's transport blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AggregationSpec {
    /// A frame takes what waits when it begins, up to this. A time is as much as the link sends in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["64 kB"]))]
    pub max: Option<Limit>,
    /// Time before the first bit of each frame of `max`: access to the medium, preamble, acknowledgement; default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["150 us"]))]
    pub access: Option<Time>,
    /// Frames begin at multiples of this and take all of it. Packets may go on in the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["500 us"]))]
    pub slot: Option<Time>,
}

/// What the link layer does about losses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArqSpec {
    /// A packet is sent so many times at most, then it is lost.
    #[schemars(extend("examples" = [4]))]
    pub attempts: u32,
    /// From the end of a lost attempt until it may be repeated, before new packets.
    pub delay: Time,
    /// Packets may overtake those that are repeated. Else they wait for them.
    pub reorder: bool,
    /// Frames of `aggregation` are lost and repeated as a whole (HARQ), not packet by packet (block acknowledgements).
    pub whole: bool,
}

impl Default for ArqSpec {
    /// 802.11's short retry limit (`dot11ShortRetryLimit`, 7); feedback comes at once.
    fn default() -> ArqSpec {
        ArqSpec { attempts: 7, delay: Time::ZERO, reorder: false, whole: false }
    }
}

/// The longest access and the longest wait for a repeat. Ours: far beyond any link's.
const MAX_WAIT: Time = Time::from_secs(1);

impl AggregationSpec {
    /// Keys of errors are relative to its table.
    fn check(&self) -> Result<(), SpecError> {
        match (self.max, self.slot) {
            (None, None) => return Err(SpecError::new("", "says nothing of its frames: write `max` or `slot`")),
            (Some(_), Some(_)) => return Err(SpecError::new("slot", "and `max` exclude each other: leave one out")),
            (_, Some(Time::ZERO)) => return Err(SpecError::new("slot", "must be above zero")),
            (_, Some(_)) if self.access.is_some() => {
                return Err(SpecError::new("access", "does not apply to slots, which follow each other: leave it out"));
            }
            _ => {}
        }
        at_most("slot", self.slot)?;
        at_most("access", self.access)
    }
}

fn at_most(key: &str, time: Option<Time>) -> Result<(), SpecError> {
    match time.filter(|time| *time > MAX_WAIT) {
        Some(time) => Err(SpecError::new(key, format!("{time} is too long; at most {MAX_WAIT} is accepted"))),
        None => Ok(()),
    }
}

impl ArqSpec {
    fn check(&self, aggregates: bool) -> Result<(), SpecError> {
        if !(1..=1000).contains(&self.attempts) {
            return Err(SpecError::new("attempts", "must be at least 1, the first, and at most 1000"));
        }
        if self.whole && !aggregates {
            return Err(SpecError::new("whole", "is about frames: write `aggregation` in the same table"));
        }
        at_most("delay", Some(self.delay))
    }
}

/// A path that does not carry ECN as it should.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnSpec {
    /// Share of these packets whose field is cleared (bleaching); default 0.
    #[serde(default)]
    pub bleach: Ratio,
    /// Share of these packets that is lost; default 0.
    #[serde(default)]
    pub loss: Ratio,
}

/// A token bucket that is full at the start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperSpec {
    /// Rate of the bucket, below that of the link.
    pub rate: Rate,
    /// Bytes that may be sent at the link's rate at once.
    pub burst: Bytes,
}

/// One step of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    /// Start; with `repeat`, in each period.
    pub at: Time,
    /// The new rate; default as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The new propagation delay; default as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
}

/// Added delay. Packets keep their order unless `reorder` says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterSpec {
    /// Distribution.
    pub law: JitterLaw,
    /// Mean, required except for `uniform`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Time>,
    /// Maximum, required for `uniform`; others are truncated to it; default the longest delay of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Time>,
    /// `normal`: standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<Time>,
    /// `pareto`: shape, above 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [2.5]))]
    pub shape: Option<f64>,
    /// Allow overtaking, as over parallel channels.
    #[serde(default)]
    pub reorder: bool,
}

/// The law of added delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JitterLaw {
    /// Uniform from zero to `max`.
    Uniform,
    /// With `mean`.
    Exponential,
    /// With `mean` and `sd`, truncated at zero.
    Normal,
    /// With `mean` and `shape`; minimum mean · (shape − 1) / shape.
    Pareto,
}

/// Loss in bursts: two states, good and bad, that change from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstSpec {
    /// Probability per packet of good to bad.
    pub p: Ratio,
    /// Probability per packet of bad to good: mean burst of 1/r packets.
    pub r: Ratio,
    /// Loss in the bad state; default 100 %.
    #[serde(default = "all")]
    pub bad: Ratio,
    /// Loss in the good state; default 0 %.
    #[serde(default)]
    pub good: Ratio,
}

fn all() -> Ratio {
    Ratio::ONE
}

impl VarySpec {
    /// Whether its keys agree. Keys of errors are relative to its table.
    pub fn check(&self) -> Result<(), SpecError> {
        let scheduled = !self.steps.is_empty() || self.file.is_some();
        if !self.steps.is_empty() && self.file.is_some() {
            return Err(SpecError::new(
                "file",
                "does not apply beside `steps`: a schedule is written here or in a file",
            ));
        }
        let varies = self.trace.is_some() || self.jitter.is_some() || self.loss.is_some() || self.ecn.is_some();
        let frames = self.aggregation.is_some() || self.arq.is_some();
        if !scheduled && !varies && self.ack_thinning.is_none() && self.shaper.is_none() && !frames {
            let message = "nothing varies: write `steps`, `file`, `trace`, `jitter`, `loss`, `ecn`, `ack_thinning`, `shaper`, \
                `aggregation` or `arq`";
            return Err(SpecError::new("", message));
        }
        if let Some(EcnSpec { bleach, loss }) = self.ecn
            && (loss == Ratio::ONE || (bleach == Ratio::default() && loss == Ratio::default()))
        {
            let message = "`bleach` up to 100 %, `loss` below that, and one of them above 0; leave it out for neither";
            return Err(SpecError::new("ecn", message));
        }
        if self.ack_thinning.is_some_and(|one_of| one_of < 2) {
            return Err(SpecError::new("ack_thinning", "must be at least 2: one ACK in so many passes"));
        }
        self.aggregation.map_or(Ok(()), |frames| frames.check().map_err(|e| e.under("aggregation")))?;
        self.arq.map_or(Ok(()), |arq| arq.check(self.aggregation.is_some()).map_err(|e| e.under("arq")))?;
        if self.shaper.is_some() && (scheduled || self.trace.is_some()) {
            return Err(SpecError::new("shaper", "has a rate of its own: leave it out, or the rates that change"));
        }
        if self.repeat.is_some() && !scheduled {
            return Err(SpecError::new("repeat", "has no effect without a schedule: write `steps` or `file`"));
        }
        check_steps(&self.steps, self.repeat)?;
        self.loss.map_or(Ok(()), |loss| loss.check().map_err(|e| e.under("loss")))
    }
}

/// Whether a schedule is in order, and its rates and delays are a link's. Keys of errors are
/// relative to the schedule's table.
pub fn check_steps(steps: &[StepSpec], repeat: Option<Time>) -> Result<(), SpecError> {
    let mut last = None;
    for (i, step) in steps.iter().enumerate() {
        check_step(step, last, repeat).map_err(|e| e.under(&format!("steps[{i}]")))?;
        last = Some(step.at);
    }
    match repeat {
        Some(Time::ZERO) => Err(SpecError::new("repeat", "must be above zero")),
        _ => Ok(()),
    }
}

fn check_step(step: &StepSpec, last: Option<Time>, repeat: Option<Time>) -> Result<(), SpecError> {
    if step.rate.is_none() && step.delay.is_none() {
        return Err(SpecError::new("", "changes nothing: write `rate`, `delay` or both"));
    }
    if let Some(last) = last.filter(|last| step.at <= *last) {
        return Err(SpecError::new("at", format!("{} is not later than the step before, {last}", step.at)));
    }
    if let Some(repeat) = repeat.filter(|repeat| step.at >= *repeat) {
        return Err(SpecError::new("at", format!("{} is not within `repeat`, {repeat}", step.at)));
    }
    if step.rate == Some(Rate::ZERO) {
        return Err(SpecError::new(
            "rate",
            "must be above zero; to stop a link write a [[fault]] of kind \"link-down\"",
        ));
    }
    check_rate("rate", step.rate)?;
    step.delay.map_or(Ok(()), |delay| check_delay("delay", delay))
}

impl JitterSpec {
    /// What the engine draws from. Keys of errors are relative to its table.
    pub fn build(&self) -> Result<Jitter, SpecError> {
        let given = [
            ("mean", self.mean.is_some()),
            ("max", self.max.is_some()),
            ("sd", self.sd.is_some()),
            ("shape", self.shape.is_some()),
        ];
        let (needed, optional): (&[&str], &[&str]) = match self.law {
            JitterLaw::Uniform => (&["max"], &[]),
            JitterLaw::Exponential => (&["mean"], &["max"]),
            JitterLaw::Normal => (&["mean", "sd"], &["max"]),
            JitterLaw::Pareto => (&["mean", "shape"], &["max"]),
        };
        for (key, given) in given {
            if needed.contains(&key) && !given {
                return Err(SpecError::new(key, format!("is required; this law takes {}", needed.join(", "))));
            }
            if given && !needed.contains(&key) && !optional.contains(&key) {
                return Err(SpecError::new(
                    key,
                    format!("does not apply to this law, which takes {}", needed.join(", ")),
                ));
            }
        }
        for (key, time) in [("mean", self.mean), ("max", self.max), ("sd", self.sd)] {
            time.map_or(Ok(()), |time| check_delay(key, time))?;
        }
        let shape = self.shape.unwrap_or(2.0);
        if !(shape > 1.0 && shape <= 1e6) {
            return Err(SpecError::new(
                "shape",
                format!("{shape} is out of range; a shape is above 1 and at most 1e6"),
            ));
        }
        Ok(Jitter { law: self.law(shape)?, most: self.max.unwrap_or(MAX_DELAY), reorder: self.reorder })
    }

    fn law(&self, shape: f64) -> Result<Law, SpecError> {
        let [mean, sd] = [self.mean, self.sd].map(|t| t.unwrap_or_default().as_secs_f64());
        let bad = |e: &dyn std::fmt::Display| SpecError::new("law", format!("cannot be drawn from: {e}"));
        Ok(match self.law {
            JitterLaw::Uniform => Law::Uniform,
            JitterLaw::Exponential => Law::Exponential(rand_distr::Exp::new(1.0 / mean).map_err(|e| bad(&e))?),
            JitterLaw::Normal => Law::Normal(rand_distr::Normal::new(mean, sd).map_err(|e| bad(&e))?),
            JitterLaw::Pareto => {
                let scale = mean * (shape - 1.0) / shape;
                Law::Pareto(rand_distr::Pareto::new(scale, shape).map_err(|e| bad(&e))?)
            }
        })
    }
}

impl BurstSpec {
    fn check(&self) -> Result<(), SpecError> {
        for (key, share) in [("p", self.p), ("r", self.r)] {
            if share == Ratio::default() || share > Ratio::ONE {
                return Err(SpecError::new(
                    key,
                    format!(
                        "{share} is out of range; a probability here is above 0 \
                    % and at most 100 %"
                    ),
                ));
            }
        }
        for (key, share) in [("bad", self.bad), ("good", self.good)] {
            if share > Ratio::ONE {
                return Err(SpecError::new(key, format!("{share} is out of range; accepted is 0 % to 100 %")));
            }
        }
        if self.good == Ratio::ONE && self.bad == Ratio::ONE {
            return Err(SpecError::new("good", "nothing would ever arrive: both states lose all packets"));
        }
        Ok(())
    }

    /// The same for the engine.
    pub fn build(self) -> Bursts {
        Bursts { p: self.p.as_f64(), r: self.r.as_f64(), good: self.good.as_f64(), bad: self.bad.as_f64() }
    }
}
