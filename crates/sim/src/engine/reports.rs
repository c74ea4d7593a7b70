//! Reports of flows' ends, merged by flow.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::roles::FlowReport;
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

/// What an end of a flow has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndEvent {
    /// All of the flow has come to this node.
    Received(FlowId, NodeId),
    /// Its active or its passive end is gone.
    Gone { flow: FlowId, active: bool },
}

/// Flows of a page.
const PAGE: usize = 256;

/// Reports in pages that are made when the first flow of a page ends. Flows are numbered in the
/// order in which they start, so those that end at about the same time stand together. There is no
/// spare room to grow into, and no second copy while it grows.
#[derive(Default)]
pub struct Reports {
    pages: Vec<Option<Box<[Kept]>>>,
    /// Those whose numbers have no room in [`Kept`].
    large: FxHashMap<FlowId, FlowReport>,
    /// When flows started that had waited for others: one more than the time, in pages likewise.
    started: Vec<Option<Box<[u64]>>>,
}

/// What a result has of a flow, in 56 bytes: no window or rate, which are of the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Kept {
    delivered: u64,
    /// One more than the time; zero for none.
    completed: u64,
    rtt_min: Time,
    rtt_max: Time,
    rtt_sum: u64,
    rtt_count: u32,
    sent: u32,
    retransmitted: u32,
    timeouts: u32,
}

impl Kept {
    /// Stands for a report among the large ones.
    const LARGE: Kept = Kept {
        delivered: u64::MAX,
        completed: u64::MAX,
        rtt_min: Time::MAX,
        rtt_max: Time::MAX,
        rtt_sum: u64::MAX,
        rtt_count: u32::MAX,
        sent: u32::MAX,
        retransmitted: u32::MAX,
        timeouts: u32::MAX,
    };

    fn of(report: &FlowReport) -> Option<Kept> {
        let small = |number: u64| u32::try_from(number).ok();
        // No `..`: a field that reports gain is kept, or named here.
        let &FlowReport {
            delivered,
            completed,
            rtt_min,
            rtt_max,
            rtt_sum,
            rtt_count,
            sent,
            retransmitted,
            timeouts,
            arrived: _,
            cwnd: _,
            srtt: _,
            rate: _,
        } = report;
        let kept = Kept {
            delivered,
            completed: completed.map_or(Some(0), |at| at.0.checked_add(1))?,
            rtt_min,
            rtt_max,
            rtt_sum: u64::try_from(rtt_sum).ok()?,
            rtt_count: small(rtt_count)?,
            sent: small(sent)?,
            retransmitted: small(retransmitted)?,
            timeouts: small(timeouts)?,
        };
        (kept != Kept::LARGE).then_some(kept)
    }

    fn report(&self) -> FlowReport {
        FlowReport {
            delivered: self.delivered,
            completed: self.completed.checked_sub(1).map(Time),
            rtt_min: self.rtt_min,
            rtt_max: self.rtt_max,
            rtt_sum: u128::from(self.rtt_sum),
            rtt_count: u64::from(self.rtt_count),
            sent: u64::from(self.sent),
            retransmitted: u64::from(self.retransmitted),
            timeouts: u64::from(self.timeouts),
            ..FlowReport::default()
        }
    }
}

/// The page that a flow is on, and its place there.
const fn page_of(flow: FlowId) -> (usize, usize) {
    (flow.0 as usize / PAGE, flow.0 as usize % PAGE)
}

/// The place of a flow in pages, which are made when it is the first of its page.
fn place_of<T: Copy + Default>(pages: &mut Vec<Option<Box<[T]>>>, flow: FlowId) -> &mut T {
    let (page, place) = page_of(flow);
    if page >= pages.len() {
        pages.resize_with(page + 1, || None);
    }
    &mut pages[page].get_or_insert_with(|| vec![T::default(); PAGE].into())[place]
}

/// The reports of all parts: a flow whose ends are in two parts has one place.
#[derive(Default, Clone)]
pub(super) struct AllReports(Arc<Mutex<Reports>>);

impl AllReports {
    /// Adds an end's report to that of its flow. Sums, and what one end alone reports, do not depend on
    /// which part comes first.
    pub fn add(&self, flow: FlowId, report: FlowReport) {
        self.lock().add(flow, report);
    }

    /// Notes when a flow starts that has waited for others.
    pub fn started(&self, flow: FlowId, at: Time) {
        self.lock().start(flow, at);
    }

    /// Hands over all.
    pub fn take(&self) -> Reports {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Reports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reports {
    fn start(&mut self, flow: FlowId, at: Time) {
        *place_of(&mut self.started, flow) = at.0.saturating_add(1);
    }

    /// Adds an end's report to that of its flow.
    pub fn add(&mut self, flow: FlowId, report: FlowReport) {
        let kept = place_of(&mut self.pages, flow);
        let before = if *kept == Kept::LARGE { self.large.remove(&flow) } else { None };
        let report = before.unwrap_or_else(|| kept.report()).merge(report);
        *kept = Kept::of(&report).unwrap_or(Kept::LARGE);
        if *kept == Kept::LARGE {
            self.large.insert(flow, report);
        }
    }

    /// When a flow started that had waited for others; `None` if it has not.
    pub fn start_of(&self, flow: FlowId) -> Option<Time> {
        let (page, place) = page_of(flow);
        self.started.get(page)?.as_ref()?[place].checked_sub(1).map(Time)
    }

    /// What a flow's ends have reported so far.
    #[inline]
    pub fn of(&self, flow: FlowId) -> FlowReport {
        let (page, place) = page_of(flow);
        match self.pages.get(page).and_then(Option::as_ref) {
            Some(page) if page[place] == Kept::LARGE => self.large[&flow],
            Some(page) => page[place].report(),
            None => FlowReport::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_reports_are_one() {
        let all = AllReports::default();
        let (first, second) = (all.clone(), all.clone());
        let sent = |sent| FlowReport { sent, ..FlowReport::default() };
        [(1, 10), (700, 20)].iter().for_each(|(flow, n)| first.add(FlowId(*flow), sent(*n)));
        [(1, 5), (300, 7)].iter().for_each(|(flow, n)| second.add(FlowId(*flow), sent(*n)));
        let found = all.take();
        assert_eq!([1, 300, 700].map(|flow| found.of(FlowId(flow)).sent), [15, 7, 20]);
        assert_eq!(all.take().of(FlowId(1)), FlowReport::default(), "they are gone");
    }

    #[test]
    fn both_ends_are_one_report_in_the_order_of_flows() {
        let active = FlowReport { sent: 10, rtt_count: 3, rtt_sum: 30, ..FlowReport::default() };
        let passive = FlowReport { delivered: 1000, completed: Some(Time(7)), ..FlowReport::default() };
        let mut reports = Reports::default();
        // Far apart, and the later one first.
        for flow in [5_000, 3] {
            reports.add(FlowId(flow), passive);
            reports.add(FlowId(flow), active);
        }
        let both = passive.merge(active);
        assert_eq!([3, 5_000].map(|flow| reports.of(FlowId(flow))), [both, both]);
        assert_eq!([4, 300, 6_000].map(|flow| reports.of(FlowId(flow))), [FlowReport::default(); 3]);
        assert_eq!((both.sent, both.delivered, both.rtt_sum), (10, 1000, 30));
    }

    /// What has no room in few bytes is kept all the same, and so is what is added to it.
    #[test]
    fn large_numbers_are_kept() {
        let all = FlowReport {
            delivered: u64::MAX,
            completed: Some(Time::MAX),
            sent: 1 << 40,
            rtt_sum: 1 << 80,
            rtt_count: 1 << 50,
            ..FlowReport::default()
        };
        let large = [
            all,
            FlowReport { sent: 1 << 32, ..FlowReport::default() },
            FlowReport { rtt_sum: 1 << 64, rtt_count: 3, rtt_min: Time(2), rtt_max: Time(5), ..FlowReport::default() },
            FlowReport { completed: Some(Time(0)), ..FlowReport::default() },
        ];
        assert_eq!(size_of::<Kept>(), 56);
        let mut reports = Reports::default();
        for (flow, report) in (0..).map(FlowId).zip(large) {
            reports.add(flow, report);
            assert_eq!(reports.of(flow), report);
            let timeouts = FlowReport { timeouts: 2, ..FlowReport::default() };
            reports.add(flow, timeouts);
            assert_eq!(reports.of(flow), report.merge(timeouts));
        }
        assert_eq!([0, 1, 2, 3].map(|flow| reports.of(FlowId(flow)).sent), [1 << 40, 1 << 32, 0, 0]);
        assert_eq!(reports.of(FlowId(2)).rtt_sum, 1 << 64);
    }
}
