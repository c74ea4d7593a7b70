use midpath_core::queue::{
    AqmSpec, CakeParams, CodelDataPlane, CodelParams, DualPi2Params, Isolation, Limit, PieParams, QueueSpec, RedParams,
    SchedulerSpec, SignalSpec, TrimParams,
};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Ratio, Time};
use midpath_topo::graph::check_rate;
use serde::{Deserialize, Serialize};

/// Which packets are chosen, to tell their senders of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// None: what does not fit is refused.
    #[default]
    DropTail,
    /// Those that find more than `threshold` waiting (DCTCP's switch). Those that can't be
    /// signalled pass.
    Step,
    /// Those that have waited for longer than `target` when they leave. Those that can't be
    /// signalled pass.
    DelayStep,
    /// Random early detection (Floyd and Jacobson, 1993). Those that can't be signalled are
    /// dropped.
    Red,
    /// PIE (RFC 8033): with a probability that keeps the delay at `target`. Those that can't be
    /// signalled are dropped. With `drr` or `fq`, each flow has a PIE of its own.
    Pie,
    /// DualPI2 (RFC 9332): two coupled queues, one for ECT(1) and CE that is short and comes first, one
    /// for all else, whose delay is kept at `target`. Those that can't be marked are dropped.
    #[serde(rename = "dualpi2")]
    DualPi2,
    /// Controlled delay. Those that can't be signalled are dropped. With `drr` or `fq`, each flow
    /// has a CoDel of its own; `fq` makes it FQ-CoDel (RFC 8290).
    Codel,
    /// CAKE (Høiland-Jørgensen and others, 2018): a shaper, hosts and flows that share fairly, and CoDel with BLUE for each flow. Those
    /// that can't be marked are dropped.
    Cake,
    /// Packet trimming (Handley et al., 2017): what finds the queue full loses its payload, if its flow allows that, and
    /// else is dropped. Packets without payload have a queue of their own, and come first. Marks what leaves more than `min` behind.
    Trim,
    /// A token bucket: what exceeds `rate` and `burst` is dropped on arrival.
    Policer,
    /// Another way to write `drop-tail` with `scheduler = "drr"`.
    Drr,
}

/// In which order packets leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerKind {
    /// As they came.
    Fifo,
    /// Fair queueing of flows by deficit round robin (Shreedhar and Varghese, 1996).
    Drr,
    /// The same with flows first that begin or send little (RFC 8290, §4).
    Fq,
}

/// Among whom `cake` shares a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CakeIsolation {
    /// Flows alone.
    Flows,
    /// Source hosts, and the flows of each.
    DualSrchost,
    /// Destination hosts, and the flows of each.
    DualDsthost,
    /// Both: a flow has the lesser share.
    TripleIsolate,
}

/// Where packets without payload wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderQueue {
    /// In a queue of their own, which comes first.
    Priority,
    /// Among the others, as they came.
    Fifo,
}

/// Which CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodelVariant {
    /// As RFC 8289 has it.
    Rfc8289,
    /// As programmable switches run it: the next choice is scheduled without a look at what else
    /// waits, with no memory of the last rate, on a clock of 32 bits (P4-CoDel: Kundel et al.,
    /// 2018).
    DataPlane,
}

/// How the senders of chosen packets are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignalKind {
    /// By a CE mark (RFC 3168), which only ECN-capable packets can carry.
    Ce,
    /// By the loss of the packet.
    Drop,
}

impl QueueKind {
    /// As scenarios write it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            QueueKind::DropTail => "drop-tail",
            QueueKind::Step => "step",
            QueueKind::DelayStep => "delay-step",
            QueueKind::Red => "red",
            QueueKind::Pie => "pie",
            QueueKind::DualPi2 => "dualpi2",
            QueueKind::Codel => "codel",
            QueueKind::Cake => "cake",
            QueueKind::Trim => "trim",
            QueueKind::Policer => "policer",
            QueueKind::Drr => "drr",
        }
    }

    /// The keys that mean something to it, besides `kind` and `limit`.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            QueueKind::DropTail => &["scheduler"],
            QueueKind::Step => &["scheduler", "signal", "threshold"],
            QueueKind::DelayStep => &["scheduler", "signal", "target"],
            QueueKind::Red => &["scheduler", "signal", "min", "max", "max_p", "weight", "gentle"],
            QueueKind::Pie => &["scheduler", "signal", "target", "burst", "mark_below", "derandomize"],
            QueueKind::DualPi2 => &["target", "interval", "coupling", "step", "ramp"],
            QueueKind::Codel => &["scheduler", "signal", "variant", "target", "interval"],
            QueueKind::Cake => &["signal", "rate", "overhead", "target", "interval", "isolation"],
            QueueKind::Trim => &["headers", "header_limit", "headers_per_packet", "min", "max"],
            QueueKind::Policer => &["scheduler", "rate", "burst"],
            QueueKind::Drr => &[],
        }
    }
}

/// The queue of a port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueTable {
    /// AQM; default `drop-tail`.
    pub kind: QueueKind,
    /// Scheduler; default `fifo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerKind>,
    /// `step`, `delay-step`, `red`, `pie`, `codel`: signal to senders; default `ce`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalKind>,
    /// Queue limit, without the packet in transmission; default 50 ms of the port's rate, for
    /// `cake` 4 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// `step`: marking threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Limit>,
    /// `red`: average below which none is; default a quarter of the limit. `trim`: what may be left behind without a mark;
    /// default a fifth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Limit>,
    /// `red`: average above which all packets are selected (with `gentle`: twice this); default three times
    /// `min`. `trim`: above it all are marked; default four fifths of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Limit>,
    /// `red`: probability at `max`; default 10 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_p: Option<Ratio>,
    /// `red`: averaging weight; default 0.002.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Ratio>,
    /// `red`: raise the probability to 1 between `max` and twice `max`; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,
    /// `codel`, `cake`, `delay-step`, `pie`, `dualpi2`: target delay; default 5 ms, 15 ms for `pie` and
    /// for the classic queue of `dualpi2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Time>,
    /// `codel`, `cake`, `dualpi2`: about the longest usual RTT (`RTT_max`); default 100 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// `policer`: rate. `cake`: its shaper's; default the link's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// `cake`: bytes that the shaper adds to each packet; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["18 B"]))]
    pub overhead: Option<Bytes>,
    /// `cake`: among whom the link is shared; default `triple-isolate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<CakeIsolation>,
    /// `trim`: where packets without payload wait; default `priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<HeaderQueue>,
    /// `trim`: room for packets without payload; default twice the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_limit: Option<Limit>,
    /// `trim`: packets without payload sent for each one with payload while both wait; default 100,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [10]))]
    pub headers_per_packet: Option<u32>,
    /// `pie`: allowed burst (`MAX_BURST`), a time. `policer`: bucket; a packet is 1500 B. Default 150 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Limit>,
    /// `pie`: above this probability ECN packets are dropped, too (`mark_ecnth`); default 10 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_below: Option<Ratio>,
    /// `pie`: evenly spaced marks (RFC 8033, §5.4); default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derandomize: Option<bool>,
    /// `dualpi2`: coupling factor (`k`); default 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [2.0]))]
    pub coupling: Option<f64>,
    /// `dualpi2`: L4S marking threshold (`minTh`); default 1 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Time>,
    /// `dualpi2`: width of the ramp above `step` (`range`); default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Time>,
    /// `codel`: variant; default `rfc8289`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<CodelVariant>,
    /// `drr`, `fq`: bytes per flow and round; default 1500 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
}

/// 50 ms of the port's rate: the buffer of the INRPP paper's evaluation (§IV-A).
const DEFAULT_LIMIT: Limit = Limit::Time(Time::from_ms(50));

/// Memory of CAKE's queues (`cake_reconfigure`).
const CAKE_LIMIT: Limit = Limit::Bytes(4 << 20);

/// A fraction of a limit, in its own measure.
fn scale(limit: Limit, times: u64, over: u64) -> Limit {
    let scaled = |n: u64| u64::try_from(u128::from(n) * u128::from(times) / u128::from(over)).unwrap_or(u64::MAX);
    match limit {
        Limit::Bytes(n) => Limit::Bytes(scaled(n)),
        Limit::Packets(n) => Limit::Packets(scaled(n).max(1)),
        Limit::Time(t) => Limit::Time(Time(scaled(t.0))),
    }
}

/// Whether two limits are of one kind and `rule` holds between them.
fn ordered(min: Limit, max: Limit, rule: impl Fn(u64, u64) -> bool) -> Result<(), SpecError> {
    let holds = match (min, max) {
        (Limit::Bytes(a), Limit::Bytes(b)) | (Limit::Packets(a), Limit::Packets(b)) => rule(a, b),
        (Limit::Time(a), Limit::Time(b)) => rule(a.0, b.0),
        _ => return Err(SpecError::new("max", "`min` and `max` must both be bytes, packets or times")),
    };
    if holds { Ok(()) } else { Err(SpecError::new("max", format!("must be above `min`, which is {min}"))) }
}

impl QueueTable {
    /// The queue it asks for. Keys of errors are relative to the table.
    pub fn build(&self) -> Result<QueueSpec, SpecError> {
        self.refuse_foreign_keys()?;
        let default = if self.kind == QueueKind::Cake { CAKE_LIMIT } else { DEFAULT_LIMIT };
        let limit = self.limit.unwrap_or(default);
        if [Limit::Packets(0), Limit::Bytes(0), Limit::Time(Time::ZERO)].contains(&limit) {
            return Err(SpecError::new("limit", "must be above zero: write \"100 packets\", \"100 kB\" or \"50 ms\""));
        }
        let aqm = match self.kind {
            QueueKind::DropTail | QueueKind::Drr => AqmSpec::DropTail,
            QueueKind::Step => AqmSpec::Step { threshold: self.threshold(limit)? },
            QueueKind::DelayStep => AqmSpec::DelayStep { threshold: self.target() },
            QueueKind::Pie => AqmSpec::Pie(self.pie()?),
            QueueKind::DualPi2 => AqmSpec::DualPi2(self.dualpi2()?),
            QueueKind::Red => AqmSpec::Red(self.red(limit)?),
            QueueKind::Codel => self.codel()?,
            QueueKind::Cake => AqmSpec::Cake(self.cake()?),
            QueueKind::Trim => AqmSpec::Trim(self.trim()?),
            QueueKind::Policer => self.policer()?,
        };
        let scheduler = match (self.kind, self.scheduler) {
            (_, Some(SchedulerKind::Fq)) => SchedulerSpec::Fq { quantum: self.quantum()? },
            (QueueKind::Drr, _) | (_, Some(SchedulerKind::Drr)) => SchedulerSpec::Drr { quantum: self.quantum()? },
            (_, Some(SchedulerKind::Fifo) | None) => SchedulerSpec::Fifo,
        };
        let signal = match self.signal {
            Some(SignalKind::Drop) => SignalSpec::Drop,
            // It marks nothing.
            None if self.kind == QueueKind::Policer => SignalSpec::Drop,
            Some(SignalKind::Ce) | None => SignalSpec::Ce,
        };
        Ok(QueueSpec { limit, aqm, scheduler, signal })
    }

    /// The same in another order; a `quantum` is of an order by flows.
    pub(super) fn scheduled(mut self, scheduler: Option<SchedulerKind>) -> QueueTable {
        self.scheduler = scheduler;
        self.quantum = self.quantum.filter(|_| self.is_fair());
        self
    }

    fn is_fair(&self) -> bool {
        self.kind == QueueKind::Drr || matches!(self.scheduler, Some(SchedulerKind::Drr | SchedulerKind::Fq))
    }

    /// Its keys, and whether they are there.
    fn given(&self) -> [(&'static str, bool); 24] {
        [
            ("scheduler", self.scheduler.is_some()),
            ("signal", self.signal.is_some()),
            ("threshold", self.threshold.is_some()),
            ("min", self.min.is_some()),
            ("max", self.max.is_some()),
            ("max_p", self.max_p.is_some()),
            ("weight", self.weight.is_some()),
            ("gentle", self.gentle.is_some()),
            ("target", self.target.is_some()),
            ("interval", self.interval.is_some()),
            ("rate", self.rate.is_some()),
            ("overhead", self.overhead.is_some()),
            ("isolation", self.isolation.is_some()),
            ("headers", self.headers.is_some()),
            ("header_limit", self.header_limit.is_some()),
            ("headers_per_packet", self.headers_per_packet.is_some()),
            ("burst", self.burst.is_some()),
            ("mark_below", self.mark_below.is_some()),
            ("derandomize", self.derandomize.is_some()),
            ("coupling", self.coupling.is_some()),
            ("step", self.step.is_some()),
            ("ramp", self.ramp.is_some()),
            ("variant", self.variant.is_some()),
            ("quantum", self.quantum.is_some()),
        ]
    }

    fn refuse_foreign_keys(&self) -> Result<(), SpecError> {
        let fair: &[_] = if self.is_fair() { &["quantum"] } else { &[] };
        let own = [&["kind", "limit"], self.kind.keys(), fair].concat();
        match self.given().iter().find(|(key, given)| *given && !own.contains(key)) {
            None => Ok(()),
            Some((key, _)) => {
                let (name, keys) = (self.kind.name(), own.join(", "));
                Err(SpecError::new(*key, format!("does not apply to a {name} queue; its keys are {keys}")))
            }
        }
    }

    fn threshold(&self, limit: Limit) -> Result<Limit, SpecError> {
        let threshold = self
            .threshold
            .ok_or_else(|| SpecError::new("threshold", "is required for a step queue, such as \"65 packets\""))?;
        match (threshold, limit) {
            (Limit::Bytes(a), Limit::Bytes(b)) | (Limit::Packets(a), Limit::Packets(b)) if a > b => {}
            (Limit::Time(a), Limit::Time(b)) if a > b => {}
            _ => return Ok(threshold),
        }
        Err(SpecError::new("threshold", format!("{threshold} is never reached; the queue's limit is {limit}")))
    }

    /// `main_uec`: the queue is a bandwidth–delay product, and what is left behind is marked from a fifth to four fifths
    /// of it. `CompositeQueue`: twice its room for headers.
    fn trim(&self) -> Result<TrimParams, SpecError> {
        let limit = self.limit.ok_or_else(|| {
            let message = "is required for a trim queue: a bandwidth-delay product, such as \"100 packets\"";
            SpecError::new("limit", message)
        })?;
        let (min, max) = (self.min.unwrap_or(scale(limit, 1, 5)), self.max.unwrap_or(scale(limit, 4, 5)));
        ordered(min, max, |min, max| min <= max)?;
        let headers_per_packet = match self.headers {
            Some(HeaderQueue::Fifo) if self.headers_per_packet.is_some() => {
                let message = "does not apply where all wait in one queue; leave out `headers = \"fifo\"`";
                return Err(SpecError::new("headers_per_packet", message));
            }
            Some(HeaderQueue::Fifo) => None,
            _ => Some(self.headers_per_packet.unwrap_or(100_000)),
        };
        if headers_per_packet == Some(0) {
            return Err(SpecError::new("headers_per_packet", "must be above zero"));
        }
        let headers = self.header_limit.unwrap_or(scale(limit, 2, 1));
        Ok(TrimParams { headers, headers_per_packet, min, max })
    }

    fn red(&self, limit: Limit) -> Result<RedParams, SpecError> {
        let min = self.min.unwrap_or(scale(limit, 1, 4));
        let max = self.max.unwrap_or(scale(min, 3, 1));
        ordered(min, max, |min, max| min < max)?;
        let share = |key, value: Option<Ratio>, default| match value.map_or(default, Ratio::as_f64) {
            v if v > 0.0 && v <= 1.0 => Ok(v),
            _ => Err(SpecError::new(key, "must be above 0 and at most 1")),
        };
        Ok(RedParams {
            min,
            max,
            max_p: share("max_p", self.max_p, 0.1)?,
            weight: share("weight", self.weight, 0.002)?,
            gentle: self.gentle.unwrap_or(true),
        })
    }

    fn target(&self) -> Time {
        self.target.unwrap_or(CodelParams::default().target)
    }

    fn pie(&self) -> Result<PieParams, SpecError> {
        let default = PieParams::default();
        let target = self.target.unwrap_or(default.target);
        if target.is_zero() {
            return Err(SpecError::new("target", "must be above zero; RFC 8033 has 15 ms"));
        }
        Ok(PieParams {
            target,
            burst: match self.burst {
                None => default.burst,
                Some(Limit::Time(time)) => time,
                Some(_) => return Err(SpecError::new("burst", "of a pie queue is a time; RFC 8033 has 150 ms")),
            },
            mark_below: match self.mark_below.map_or(default.mark_below, Ratio::as_f64) {
                share if (0.0..=1.0).contains(&share) => share,
                _ => return Err(SpecError::new("mark_below", "must be between 0 and 1; RFC 8033 has 10 %")),
            },
            derandomize: self.derandomize.unwrap_or(default.derandomize),
        })
    }

    fn dualpi2(&self) -> Result<DualPi2Params, SpecError> {
        let default = DualPi2Params::default();
        let params = DualPi2Params {
            target: self.target.unwrap_or(default.target),
            rtt_max: self.interval.unwrap_or(default.rtt_max),
            coupling: self.coupling.unwrap_or(default.coupling),
            step: self.step.unwrap_or(default.step),
            ramp: self.ramp.unwrap_or(default.ramp),
        };
        for (key, time, rfc) in [("target", params.target, "15 ms"), ("interval", params.rtt_max, "100 ms")] {
            if time < Time::from_us(1) {
                return Err(SpecError::new(key, format!("must be at least 1 us; RFC 9332 has {rfc}")));
            }
        }
        if !(params.coupling > 0.0 && params.coupling <= 100.0) {
            return Err(SpecError::new("coupling", "must be above 0 and at most 100; RFC 9332 has 2"));
        }
        Ok(params)
    }

    fn codel(&self) -> Result<AqmSpec, SpecError> {
        let interval = self.interval.unwrap_or(CodelParams::default().interval);
        if interval.is_zero() {
            return Err(SpecError::new("interval", "must be above zero"));
        }
        if self.target().is_zero() {
            return Err(SpecError::new("target", "must be above zero; RFC 8289 has 5 ms"));
        }
        let params = CodelParams { target: self.target(), interval };
        match self.variant {
            Some(CodelVariant::DataPlane) if interval > CodelDataPlane::MAX_INTERVAL => {
                let most = CodelDataPlane::MAX_INTERVAL;
                Err(SpecError::new("interval", format!("must be at most {most}, as the switch's clock wraps")))
            }
            Some(CodelVariant::DataPlane) => Ok(AqmSpec::CodelDataPlane(params)),
            Some(CodelVariant::Rfc8289) | None => Ok(AqmSpec::Codel(params)),
        }
    }

    fn cake(&self) -> Result<CakeParams, SpecError> {
        let default = CakeParams::default();
        let (target, interval) = (self.target.unwrap_or(default.target), self.interval.unwrap_or(default.interval));
        for (key, time, usual) in [("target", target, "5 ms"), ("interval", interval, "100 ms")] {
            if time < Time::from_us(1) {
                return Err(SpecError::new(key, format!("must be at least 1 us; Linux has {usual}")));
            }
        }
        check_rate("rate", self.rate)?;
        let overhead = match self.overhead.map_or(0, |overhead| overhead.0) {
            bytes @ 0..=256 => bytes as u32,
            _ => return Err(SpecError::new("overhead", "must be at most 256 B, as in Linux")),
        };
        let isolation = match self.isolation {
            None | Some(CakeIsolation::TripleIsolate) => Isolation::Triple,
            Some(CakeIsolation::Flows) => Isolation::Flows,
            Some(CakeIsolation::DualSrchost) => Isolation::DualSource,
            Some(CakeIsolation::DualDsthost) => Isolation::DualDestination,
        };
        Ok(CakeParams { rate: self.rate, overhead, target, interval, isolation })
    }

    fn policer(&self) -> Result<AqmSpec, SpecError> {
        let rate = self.rate.filter(|rate| *rate > Rate::ZERO);
        let rate = rate.ok_or_else(|| SpecError::new("rate", "of a policer must be above zero; write \"10 Mbps\""))?;
        let burst = match self.burst {
            Some(Limit::Packets(n)) => Limit::Bytes(n.saturating_mul(1500)),
            burst => burst.unwrap_or(Limit::Time(PieParams::default().burst)),
        };
        if burst.bound(rate).bytes < 1500 {
            return Err(SpecError::new("burst", "must have room for a packet: at least 1500 B"));
        }
        Ok(AqmSpec::Policer { rate, burst })
    }

    fn quantum(&self) -> Result<u32, SpecError> {
        match self.quantum.map_or(1500, |b| b.0) {
            0 => Err(SpecError::new("quantum", "must be above zero")),
            n => u32::try_from(n).map_err(|_| SpecError::new("quantum", "must be below 4 GiB")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> Result<QueueSpec, String> {
        toml::from_str::<QueueTable>(text).map_err(|e| e.to_string())?.build().map_err(|e| e.to_string())
    }

    #[test]
    fn defaults_and_scaling() {
        assert_eq!(build(""), Ok(QueueSpec::fifo(DEFAULT_LIMIT)));
        let red = build("kind = \"red\"\nlimit = \"400 packets\"").expect("valid");
        let AqmSpec::Red(params) = red.aqm else { panic!("{red:?}") };
        assert_eq!((params.min, params.max), (Limit::Packets(100), Limit::Packets(300)));
    }

    #[test]
    fn the_parts_combine() {
        let fair = |q: &QueueSpec| q.scheduler == SchedulerSpec::Drr { quantum: 1500 };
        assert!(fair(&build("kind = \"drr\"").expect("valid")));
        assert_eq!(build("kind = \"drr\""), build("scheduler = \"drr\""));
        let codel = build("kind = \"codel\"\nscheduler = \"drr\"\nsignal = \"drop\"").expect("valid");
        assert!(fair(&codel) && codel.signal == SignalSpec::Drop && matches!(codel.aqm, AqmSpec::Codel(_)));
        let new_first = build("kind = \"codel\"\nscheduler = \"fq\"\nquantum = \"300 B\"").expect("valid");
        assert_eq!(new_first.scheduler, SchedulerSpec::Fq { quantum: 300 });
        let pie = build("kind = \"pie\"\nburst = \"30 ms\"\nderandomize = false").expect("valid");
        let want = PieParams { burst: Time::from_ms(30), derandomize: false, ..PieParams::default() };
        assert_eq!(pie.aqm, AqmSpec::Pie(want));
        let l4s = build("kind = \"dualpi2\"\nstep = \"800 us\"\nramp = \"400 us\"").expect("valid");
        let (step, ramp) = (Time::from_us(800), Time::from_us(400));
        assert_eq!(l4s.aqm, AqmSpec::DualPi2(DualPi2Params { step, ramp, ..DualPi2Params::default() }));
        let switch = build("kind = \"codel\"\nvariant = \"data-plane\"\ninterval = \"20 ms\"").expect("valid");
        assert!(matches!(switch.aqm, AqmSpec::CodelDataPlane(p) if p.interval == Time::from_ms(20)));
        let policer = build("kind = \"policer\"\nrate = \"2 Mbps\"\nburst = \"20 packets\"").expect("valid");
        assert_eq!(policer.aqm, AqmSpec::Policer { rate: Rate::from_mbps(2), burst: Limit::Bytes(30_000) });
        let cake =
            build("kind = \"cake\"\nrate = \"2 Mbps\"\noverhead = \"18 B\"\nisolation = \"flows\"").expect("valid");
        let (rate, isolation) = (Some(Rate::from_mbps(2)), Isolation::Flows);
        let want = CakeParams { rate, overhead: 18, isolation, ..CakeParams::default() };
        assert_eq!((cake.aqm, cake.limit), (AqmSpec::Cake(want), CAKE_LIMIT));
        let trim = build("kind = \"trim\"\nlimit = \"100 kB\"").expect("valid");
        let [headers, min, max] = [200_000, 20_000, 80_000].map(Limit::Bytes);
        let want = TrimParams { headers, headers_per_packet: Some(100_000), min, max };
        assert_eq!(trim.aqm, AqmSpec::Trim(want));
        let trim = build("kind = \"trim\"\nlimit = \"9 packets\"\nheaders = \"fifo\"").expect("valid");
        assert!(matches!(trim.aqm, AqmSpec::Trim(TrimParams { headers_per_packet: None, .. })));
        let late = build("kind = \"delay-step\"\ntarget = \"1 ms\"").expect("valid");
        assert_eq!(late.aqm, AqmSpec::DelayStep { threshold: Time::from_ms(1) });
        let step = build("kind = \"step\"\nthreshold = \"9 packets\"\nscheduler = \"fifo\"").expect("valid");
        assert_eq!((step.scheduler, step.signal), (SchedulerSpec::Fifo, SignalSpec::Ce));
    }

    #[test]
    fn a_key_of_another_queue_is_named() {
        let e = build("kind = \"codel\"\nthreshold = \"9 packets\"").unwrap_err();
        assert!(e.contains("threshold: does not apply to a codel queue") && e.contains("target"), "{e}");
        let e = build("kind = \"pie\"\ninterval = \"9 ms\"").unwrap_err();
        assert!(e.contains("interval: does not apply to a pie queue") && e.contains("mark_below"), "{e}");
        assert!(build("kind = \"pie\"\nmark_below = \"200 %\"").unwrap_err().contains("mark_below: must be between"));
        assert!(build("kind = \"pie\"\ntarget = \"0 ms\"").unwrap_err().contains("15 ms"));
        let e = build("kind = \"dualpi2\"\nscheduler = \"drr\"").unwrap_err();
        assert!(e.contains("scheduler: does not apply to a dualpi2 queue"), "{e}");
        assert!(build("kind = \"dualpi2\"\ncoupling = 0.0").unwrap_err().contains("coupling: must be above 0"));
        assert!(build("kind = \"dualpi2\"\ninterval = \"0 ms\"").unwrap_err().contains("RFC 9332 has 100 ms"));
        let e = build("scheduler = \"fifo\"\nquantum = \"9 kB\"").unwrap_err();
        assert!(e.contains("quantum: does not apply to a drop-tail queue"), "{e}");
        let e = build("signal = \"drop\"").unwrap_err();
        assert!(e.contains("its keys are kind, limit, scheduler"), "{e}");
        let e = build("kind = \"codel\"\nvariant = \"data-plane\"\ninterval = \"3 s\"").unwrap_err();
        assert!(e.contains("at most 2 s"), "{e}");
        assert!(build("kind = \"drr\"\nscheduler = \"fifo\"").unwrap_err().contains("does not apply to a drr queue"));
        assert!(build("kind = \"cake\"\nscheduler = \"fq\"").unwrap_err().contains("does not apply to a cake queue"));
        assert!(build("kind = \"cake\"\noverhead = \"9 kB\"").unwrap_err().contains("overhead: must be at most 256 B"));
        assert!(build("kind = \"cake\"\ninterval = \"0 s\"").unwrap_err().contains("Linux has 100 ms"));
        assert!(build("kind = \"trim\"").unwrap_err().contains("limit: is required for a trim queue"));
        let trim = |keys: &str| build(&format!("kind = \"trim\"\nlimit = \"9 kB\"\n{keys}")).unwrap_err();
        assert!(trim("min = \"9 kB\"\nmax = \"8 kB\"").contains("max: must be above `min`"));
        assert!(trim("headers_per_packet = 0").contains("headers_per_packet: must be above zero"));
        assert!(trim("headers = \"fifo\"\nheaders_per_packet = 2").contains("leave out `headers = \"fifo\"`"));
        assert!(trim("scheduler = \"fq\"").contains("scheduler: does not apply to a trim queue"));
        assert!(build("kind = \"step\"").unwrap_err().contains("65 packets"));
        assert!(build("kind = \"policer\"").unwrap_err().contains("rate: of a policer must be above zero"));
        let e = build("kind = \"policer\"\nrate = \"1 Mbps\"\nburst = \"1 ms\"").unwrap_err();
        assert!(e.contains("burst: must have room for a packet"), "{e}");
        assert!(build("kind = \"pie\"\nburst = \"9 kB\"").unwrap_err().contains("burst: of a pie queue is a time"));
        assert!(build("kind = \"red\"\nmin = \"9 kB\"\nmax = \"8 kB\"").unwrap_err().contains("above `min`"));
        assert!(build("limit = \"0 packets\"").unwrap_err().contains("limit: must be above zero"));
    }
}
