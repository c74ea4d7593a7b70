//! How late frames left, as results say it.

use midpath_node::lateness::Lateness;
use serde_json::{Value, json};

/// Quantiles and the latest, in µs, and the histogram: pairs of µs, from which on, and how many.
pub fn late_us(late: &Lateness) -> Value {
    let q = |q| late.quantile_us(q);
    let histogram: Vec<_> = late.filled().collect();
    json!({ "p50": q(0.5), "p99": q(0.99), "p999": q(0.999), "max": late.most_us(), "histogram": histogram })
}
