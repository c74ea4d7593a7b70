//! Timeouts that explain the tail: the slowest percent of flows waited for `min_rto`, not for the network.
//!
//! The rule. The tail is the slowest percent of the flows that ended, one at least, by slowdown. A flow of it is
//! explained if
//!
//! - `timeouts` × `min_rto`, or one `min_rto` where that is longer than its completion time, is at least half of that
//!   time, and no more: a retransmission timer runs for `min_rto` at least, and only while nothing is acknowledged;
//! - `min_rto` is at least [`DECIDES`] times its round trip: by RFC 6298 (2.3) alone its timer would be shorter.
//!
//! The run warns if at least half of the tail is explained, and so the percentile itself.

use std::collections::BTreeSet;

use midpath_core::units::Time;

use super::warnings::Warning;
use super::{FlowRow, FlowRows, stalls};
use crate::setup::{FlowInfo, Setup};

/// Round trips that RFC 6298's SRTT + 4 RTTVAR stays below. Ours: a first sample makes it 3.
const DECIDES: u64 = 5;

/// What the run warns of, by scheme.
pub fn timeouts(setup: &Setup, rows: &FlowRows<'_>) -> Vec<Warning> {
    let tail = tail(rows);
    let explained = tail.iter().filter(|i| is_explained(setup, &setup.flows.get(**i), &rows.get(**i)));
    let explained: Vec<&str> = explained.map(|i| setup.scheme_of(*i)).collect();
    if 2 * explained.len() < tail.len().max(1) {
        return Vec::new();
    }
    let explained: BTreeSet<&str> = explained.into_iter().collect();
    // Without counts: runs with other seeds say the same.
    let warning = |scheme: &str| {
        let least = setup.min_rto(scheme).unwrap_or_default();
        let message = format!(
            "timeouts explain the tail: of the slowest percent of flows, by slowdown, at least half spent half \
                of their time waiting for timers of `min_rto` ({least}) or longer; a shorter `min_rto` changes it"
        );
        Warning::new(scheme, message, Vec::new())
    };
    explained.into_iter().map(warning).collect()
}

/// The slowest percent of the flows that ended.
fn tail(rows: &FlowRows<'_>) -> Vec<usize> {
    if rows.iter().all(|row| row.report.timeouts == 0) {
        return Vec::new();
    }
    let slowdown = |(i, info, row): (usize, FlowInfo<'_>, FlowRow)| Some((row.slowdown(info.unloaded())?, i));
    let mut ended: Vec<(f64, usize)> = rows.with_flows().filter_map(slowdown).collect();
    let many = ended.len().div_ceil(100);
    if many < ended.len() {
        ended.select_nth_unstable_by(many, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
    ended.into_iter().take(many).map(|(_, i)| i).collect()
}

/// Whether most of a flow's time went into waiting for its retransmission timer, and `min_rto` set that.
pub(super) fn is_explained(setup: &Setup, info: &FlowInfo<'_>, row: &FlowRow) -> bool {
    let (Some(fct), Some(least)) = (row.fct, setup.min_rto(setup.scheme_of_flow(info))) else { return false };
    let all = Time(least.0.saturating_mul(row.report.timeouts));
    // Timers that run side by side (subflows, Interests) count once.
    let waited = if all > fct { least } else { all };
    // A consumer's probes count as timeouts, and wait for less than `min_rto`.
    let most = waited <= fct && waited.0 >= fct.0 / 2 && !waited.is_zero();
    most && least.0 / DECIDES >= stalls::round_trip(info, row).0
}
