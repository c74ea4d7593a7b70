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

/// Flows with completion times and slowdowns of those that completed.
struct Completed {
    fct: Vec<f64>,
    slowdown: Vec<f64>,
}

impl Completed {
    fn of(rows: impl Iterator<Item = (FlowRow, Option<Time>)>) -> Completed {
        let (mut fct, mut slowdown) = (Vec::new(), Vec::new());
        for (row, unloaded) in rows {
            fct.extend(row.fct.map(Time::as_secs_f64));
            slowdown.extend(row.slowdown(unloaded));
        }
        fct.sort_unstable_by(f64::total_cmp);
        slowdown.sort_unstable_by(f64::total_cmp);
        Completed { fct, slowdown }
    }
}

/// Upper ends of the size classes in bytes. Ours: a decade each from 10 kB, with 100 kB (where most
/// of web-search's flows end) split.
const SIZE_CLASSES: [u64; 7] = [3_000, 10_000, 30_000, 100_000, 1_000_000, 10_000_000, u64::MAX];

fn by_size(setup: &Setup, rows: &FlowRows<'_>) -> Value {
    let mut from = 0;
    let classes = SIZE_CLASSES.iter().filter_map(|&to| {
        let low = std::mem::replace(&mut from, to);
        let within = |f: &FlowInfo<'_>| f.flow.size.is_some_and(|s| s.0 > low && s.0 <= to);
        let flows = (0..setup.flows.len()).filter(|i| within(&setup.flows.get(*i)) && !rows.is_unasked(*i)).count();
        (flows > 0).then(|| {
            let all = rows.iter().zip(setup.flows.iter());
            let done = Completed::of(all.filter(|(_, f)| within(f)).map(|(r, f)| (r, f.unloaded())));
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
    let asked = |i: &usize| !rows.is_unasked(*i);
    let begun = rows.iter().enumerate().filter(|(i, _)| asked(i));
    let fairness = jain(&begun.map(|(_, r)| r.goodput).collect::<Vec<f64>>());
    let by_size = by_size(setup, rows);
    let done = Completed::of(rows.iter().zip(setup.flows.iter()).map(|(r, f)| (r, f.unloaded())));
    let delivered: u64 = rows.iter().map(|r| r.report.delivered).sum();
    let sent: u64 = rows.iter().map(|r| r.report.sent).sum();
    let lost: u64 = rows.iter().map(|r| r.fate.lost()).sum();
    let mut delay = DelayHistogram::default();
    ports.iter().for_each(|p| delay.merge(&p.counters.delay));
    let (utilisation_max, utilisation_mean) = utilisations(ports);
    json!({
        "flows": (0..setup.flows.len()).filter(asked).count(),
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
        "goodput_total_bps": number(delivered as f64 * 8.0 / span.as_secs_f64()),
        "utilisation_max": number(utilisation_max),
        "utilisation_mean": number(utilisation_mean),
        "loss_ratio": number(lost as f64 / packets as f64),
        "lost_packets": lost,
        "sent_packets": sent,
        "retransmitted_packets": rows.iter().map(|r| r.report.retransmitted).sum::<u64>(),
        "timeouts": rows.iter().map(|r| r.report.timeouts).sum::<u64>(),
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
