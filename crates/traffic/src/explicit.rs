//! `[[flow]]`: flows written out one by one.

use crate::after::{NewAfter, WaitFor};
use crate::durations::Duration;
use crate::flow::{ArrivalPattern, Budget, Terms, weight};
use crate::flows::{FlowList, NewFlow};
use crate::generate::Context;
use crate::stream::{Purpose, stream};
use crate::writes::{WriteLaws, WriteSize};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One flow, or several alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplicitFlow {
    /// Sender: host name, router name if it has one host, or node index as text.
    #[schemars(extend("examples" = ["h0"]))]
    pub from: String,
    /// Receiver, likewise.
    #[schemars(extend("examples" = ["h3"]))]
    pub to: String,
    /// Payload. Without it the flow runs until `stop`, or the run's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Start time, or with `after` the time after that; default at once.
    #[serde(default)]
    pub start: Time,
    /// Groups whose flows must all have ended before this one starts. A flow ends when its receiver has all of
    /// it and TCP's FIN (MPTCP's may come a round trip later); another host hears of it the least propagation delay
    /// from there later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["ask", "load"]]))]
    pub after: Vec<String>,
    /// Waits for so many bytes of each of these flows, in place of their ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1 MB"]))]
    pub after_bytes: Option<Bytes>,
    /// End time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Scheme, over the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["dctcp"]))]
    pub scheme: Option<String>,
    /// Group in results; default "flows".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["video"]))]
    pub group: Option<String>,
    /// Budget name (`schemes.fcp.groups`). Default: its group if named there, else the host's
    /// remainder. Results are grouped by `group`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gold"]))]
    pub budget: Option<String>,
    /// Number of such flows; default 1.
    #[serde(default = "one")]
    #[schemars(extend("examples" = [10]))]
    pub count: u64,
    /// Constant rate (UDP); with a `scheme` that reads it (`midpath schemes`), or with `write`, the flow's maximum
    /// rate. Others refuse it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Bytes of each write of the application; default: all at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["160 B"]))]
    pub write: Option<WriteSize>,
    /// Time between writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["20 ms"]))]
    pub interval: Option<Duration>,
    /// With `off`: period of writes, from one on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [{"kind": "exponential", "mean": "1 s"}]))]
    pub on: Option<Duration>,
    /// Time between on periods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1.5 s"]))]
    pub off: Option<Duration>,
    /// One-way delay above which a datagram is late (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_after: Option<Time>,
    /// Weight, if the scheme or the ideal has weights; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [2.0]))]
    pub weight: Option<f64>,
    /// Random start delay, uniform up to this.
    #[serde(default)]
    pub jitter: Time,
    /// Object name: flows with the same name move the same object, which all their senders have
    /// (named-data schemes; others move it per flow).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["film"]))]
    pub object: Option<String>,
    /// Further hosts with the object (named-data schemes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["h7"]]))]
    pub replicas: Vec<String>,
    /// Explicit path by node names; the two hosts may be omitted. ACKs reverse it. Default, and
    /// once `routing.reconverge` finds it broken: routing. Not for schemes with their own routing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["r0", "r3", "r2"]]))]
    pub path: Vec<String>,
}

fn one() -> u64 {
    1
}

impl ExplicitFlow {
    /// Appends the flows of entry `index`; keys of errors are relative to the entry.
    pub(crate) fn push(
        &self,
        index: usize,
        cx: &Context<'_>,
        budget: &mut Budget,
        out: &mut FlowList,
    ) -> Result<(), SpecError> {
        let (src, dst, terms) = self.check(index, cx)?;
        budget.take(self.count, ArrivalPattern::Simultaneous, "count")?;
        let mut rng = stream(cx.seed, Purpose::FlowJitter, index);
        let terms = out.number(self.group.as_deref().unwrap_or("flows"), terms);
        let after = NewAfter::of(&self.after, format!("flow[{index}].after"));
        let after = NewAfter::bytes(after, self.after_bytes)?;
        let wait = after.map(|after| WaitFor::Groups(out.add_after(after)));
        let flow = NewFlow { src, dst, size: self.size, start: self.start, stop: self.stop, wait, terms };
        for _ in 0..self.count {
            let later = if self.jitter.is_zero() { 0 } else { rng.random_range(0..=self.jitter.0) };
            out.push(NewFlow { start: flow.start.saturating_add(Time(later)), ..flow });
        }
        Ok(())
    }

    /// Its hosts and terms.
    fn check(&self, index: usize, cx: &Context<'_>) -> Result<(u32, u32, Terms), SpecError> {
        let src = cx.hosts.find(&self.from).map_err(|m| SpecError::new("from", m))?.node;
        let dst = cx.hosts.find(&self.to).map_err(|m| SpecError::new("to", m))?.node;
        if src == dst {
            return Err(SpecError::new("to", format!("`{}` would send to itself; name another host", self.to)));
        }
        self.check_amounts()?;
        cx.check_read(cx.own_scheme(self.scheme.as_deref(), self.rate.is_some()), self.may_be_unread())?;
        let terms = Terms {
            scheme: self.scheme.as_deref().map(Arc::from),
            budget: self.budget.as_deref().map(Arc::from),
            rate: self.rate,
            weight: weight(self.weight)?,
            object: self.object.as_deref().map(Arc::from),
            replicas: self.replicas(cx, dst)?,
            path: (!self.path.is_empty()).then_some(index as u32),
            writes: WriteLaws::of(self.write.as_ref(), self.times(), cx.files)?,
            late_after: self.late_after,
        };
        Ok((src, dst, terms))
    }

    fn times(&self) -> [Option<&Duration>; 3] {
        [self.interval.as_ref(), self.on.as_ref(), self.off.as_ref()]
    }

    /// What only some schemes' flows read, and whether it is given.
    pub fn may_be_unread(&self) -> [(&'static str, bool); 6] {
        [
            ("rate", self.rate.is_some()),
            ("late_after", self.late_after.is_some()),
            ("weight", self.weight.is_some()),
            ("budget", self.budget.is_some()),
            ("object", self.object.is_some()),
            ("replicas", !self.replicas.is_empty()),
        ]
    }

    /// The nodes of further hosts that have what it moves.
    fn replicas(&self, cx: &Context<'_>, dst: u32) -> Result<Option<Arc<[u32]>>, SpecError> {
        let node = |(i, name): (usize, &String)| {
            let key = format!("replicas[{i}]");
            let node = cx.hosts.find(name).map_err(|m| SpecError::new(key.clone(), m))?.node;
            let message = || format!("`{name}` already has the object that it would fetch");
            if node == dst { Err(SpecError::new(key, message())) } else { Ok(node) }
        };
        let nodes = self.replicas.iter().enumerate().map(node).collect::<Result<Arc<[u32]>, _>>()?;
        Ok(Some(nodes).filter(|nodes| !nodes.is_empty()))
    }

    fn check_amounts(&self) -> Result<(), SpecError> {
        let latest = self.start.saturating_add(self.jitter);
        if self.size == Some(Bytes::ZERO) {
            return Err(SpecError::new("size", "must be at least 1 B; leave `size` out for a flow without end"));
        }
        if self.rate == Some(Rate::ZERO) {
            return Err(SpecError::new("rate", "must be above zero; leave `rate` out for a flow of a scheme"));
        }
        if self.count == 0 {
            return Err(SpecError::new("count", "at least 1"));
        }
        if self.stop.is_some() && !self.after.is_empty() {
            let message = "is a time of the run, and `after` leaves the start open; leave it out and give a `size`";
            return Err(SpecError::new("stop", message));
        }
        if self.stop.is_some_and(|stop| stop <= latest) {
            return Err(SpecError::new("stop", format!("must be later than the last start, {latest}")));
        }
        Ok(())
    }
}
