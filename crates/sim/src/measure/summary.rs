use midpath_core::roles::FlowReport;
use midpath_core::stats::DelayHistogram;
use midpath_core::units::Time;
use serde_json::{Value, json};

use super::{FlowRow, FlowRows, PortRow, afct_bound};
use crate::setup::{FlowInfo, Setup};

/// A finite number, or null.
pub(super) fn number(v: f64) -> Value {
    if v.is_finite() { json!(v) } else { Value::Null }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The `q`-quantile by linear interpolation between order statistics (Hyndman and Fan's type 7,
/// NumPy's default). `sorted` must be.
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let at = q * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// Jain's fairness index: (Σx)² / (n Σx²).
pub(super) fn jain(values: &[f64]) -> f64 {
    let (sum, squares) = (values.iter().sum::<f64>(), values.iter().map(|x| x * x).sum::<f64>());
    if squares > 0.0 { sum * sum / (values.len() as f64 * squares) } else { f64::NAN }
}

/// Completion times and slowdowns of flows that completed, in order.
#[derive(Default)]
struct Completed {
    fct: Vec<f64>,
    slowdown: Vec<f64>,
}

impl Completed {
    fn add(&mut self, row: &FlowRow, unloaded: Option<Time>) {
        self.fct.extend(row.fct.map(Time::as_secs_f64));
        self.slowdown.extend(row.slowdown(unloaded));
    }

    fn sort(&mut self) {
        self.fct.sort_unstable_by(f64::total_cmp);
        self.slowdown.sort_unstable_by(f64::total_cmp);
    }

    /// All of them; each takes memory for its flows.
    fn all(classes: Vec<Completed>) -> Completed {
        let (fct, slowdown): (Vec<_>, Vec<_>) = classes.into_iter().map(|class| (class.fct, class.slowdown)).unzip();
        let mut all = Completed { fct: joined(fct), slowdown: joined(slowdown) };
        all.sort();
        all
    }
}

fn joined(parts: Vec<Vec<f64>>) -> Vec<f64> {
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|part| all.extend(part));
    all
}

/// Upper ends of the size classes in bytes. Ours: a decade each from 10 kB, with 100 kB (where most
/// of web-search's flows end) split.
const SIZE_CLASSES: [u64; 7] = [3_000, 10_000, 30_000, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// Flows by size class, and behind the classes those without a size.
#[derive(Default)]
struct BySize {
    flows: [usize; SIZE_CLASSES.len() + 1],
    done: [Completed; SIZE_CLASSES.len() + 1],
}

impl BySize {
    fn add(&mut self, info: &FlowInfo<'_>, row: &FlowRow, asked: bool) {
        let size = info.flow.size.map(|size| SIZE_CLASSES.partition_point(|to| *to < size.0));
        let class = size.unwrap_or(SIZE_CLASSES.len());
        self.flows[class] += usize::from(asked);
        self.done[class].add(row, info.unloaded());
    }

    /// What results say of each class that has flows.
    fn json(&mut self) -> Value {
        let mut from = 0;
        let classes =
            SIZE_CLASSES.iter().zip(self.flows.iter().zip(&mut self.done)).filter_map(|(&to, (flows, done))| {
                let low = std::mem::replace(&mut from, to);
                done.sort();
                (*flows > 0).then(|| {
                    json!({
                        "from_bytes": low,
                        "to_bytes": (to < u64::MAX).then_some(to),
                        "flows": flows,
                        "afct_s": number(mean(&done.fct)),
                        "p50_s": number(quantile(&done.fct, 0.5)),
                        "p99_s": number(quantile(&done.fct, 0.99)),
                        "slowdown_mean": number(mean(&done.slowdown)),
                        "slowdown_p50": number(quantile(&done.slowdown, 0.5)),
                        "slowdown_p99": number(quantile(&done.slowdown, 0.99)),
                    })
                })
            });
        classes.collect()
    }
}

/// Utilisation of the ports that sent anything: largest and mean.
fn utilisations(ports: &[PortRow]) -> (f64, f64) {
    let used: Vec<f64> = ports.iter().filter(|p| p.counters.packets > 0).map(|p| p.utilisation).collect();
    (used.iter().copied().fold(f64::NAN, f64::max), mean(&used))
}

/// The most that waited at one of the network's ports: the memory that a port must have had. Hosts'
/// own links don't count.
fn queue_max(setup: &Setup, ports: &[PortRow]) -> Option<u64> {
    let used = |p: &&PortRow| p.counters.delay.mean().is_some() && !setup.topology.is_host(p.place.0 as usize);
    ports.iter().filter(used).map(|p| p.counters.max_bytes).max()
}

/// The figures of a run. `span` is its length, `packets` are all that were sent, ACKs included.
pub fn summarise(setup: &Setup, rows: &FlowRows<'_>, ports: &[PortRow], span: Time, packets: u64) -> Value {
    // One after another: each takes memory for all flows.
    let bound = afct_bound(setup, rows);
    let (mut sizes, mut goodput, mut lost) = (BySize::default(), Vec::with_capacity(setup.flows.len()), 0);
    let mut sums = FlowReport::default();
    for (i, info, row) in rows.with_flows() {
        let asked = !rows.is_unasked(i);
        sizes.add(&info, &row, asked);
        goodput.extend(asked.then_some(row.goodput));
        lost += row.fate.lost();
        let FlowReport { delivered, sent, retransmitted, timeouts, .. } = row.report;
        sums.delivered += delivered;
        sums.sent += sent;
        sums.retransmitted += retransmitted;
        sums.timeouts += timeouts;
    }
    let (flows, fairness) = (goodput.len(), jain(&goodput));
    drop(goodput);
    let by_size = sizes.json();
    let done = Completed::all(sizes.done.into());
    let mut delay = DelayHistogram::default();
    ports.iter().for_each(|p| delay.merge(&p.counters.delay));
    let (utilisation_max, utilisation_mean) = utilisations(ports);
    json!({
        "flows": flows,
        "completed": done.fct.len(),
        "afct_s": number(mean(&done.fct)),
        "afct_bound_s": bound,
        "fct_p50_s": number(quantile(&done.fct, 0.5)),
        "fct_p95_s": number(quantile(&done.fct, 0.95)),
        "fct_p99_s": number(quantile(&done.fct, 0.99)),
        "fct_max_s": number(done.fct.last().copied().unwrap_or(f64::NAN)),
        "slowdown_mean": number(mean(&done.slowdown)),
        "slowdown_p50": number(quantile(&done.slowdown, 0.5)),
        "slowdown_p99": number(quantile(&done.slowdown, 0.99)),
        "jain_goodput": number(fairness),
        "goodput_total_bps": number(sums.delivered as f64 * 8.0 / span.as_secs_f64()),
        "utilisation_max": number(utilisation_max),
        "utilisation_mean": number(utilisation_mean),
        "loss_ratio": number(lost as f64 / packets as f64),
        "lost_packets": lost,
        "sent_packets": sums.sent,
        "retransmitted_packets": sums.retransmitted,
        "timeouts": sums.timeouts,
        "marks": ports.iter().map(|p| p.counters.marks).sum::<u64>(),
        "queue_max_bytes": queue_max(setup, ports),
        "queue_delay_mean_s": number(delay.mean().unwrap_or(f64::NAN)),
        "queue_delay_p99_s": number(delay.quantile(0.99).unwrap_or(f64::NAN)),
        "queue_delay_max_s": delay.max().as_secs_f64(),
        "by_size": by_size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_and_jain_is_one_for_equals() {
        let v = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&v, 0.5), 2.5);
        assert_eq!(quantile(&v, 1.0), 4.0);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[1.0, 0.0]), 0.5);
    }
}
