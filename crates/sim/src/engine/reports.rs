//! What flows' ends have reported, both ends as one, by flow.

use midpath_core::packet::FlowId;
use midpath_core::roles::FlowReport;

/// Flows of a page.
const PAGE: usize = 256;

/// Reports in pages that are made when the first flow of a page ends. Flows are numbered in the
/// order in which they start, so those that end at about the same time stand together. There is no
/// spare room to grow into, and no second copy while it grows.
#[derive(Default)]
pub struct Reports {
    pages: Vec<Option<Box<[FlowReport]>>>,
}

/// The page that a flow is on, and its place there.
const fn page_of(flow: FlowId) -> (usize, usize) {
    (flow.0 as usize / PAGE, flow.0 as usize % PAGE)
}

impl Reports {
    /// Adds an end's report to that of its flow.
    pub fn add(&mut self, flow: FlowId, report: FlowReport) {
        let (page, place) = page_of(flow);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| vec![FlowReport::default(); PAGE].into());
        page[place] = page[place].merge(report);
    }

    /// Adds all that `other` has, and leaves it nothing.
    pub fn take(&mut self, other: &mut Reports) {
        if self.pages.is_empty() {
            self.pages = std::mem::take(&mut other.pages);
        }
        other.drain().for_each(|(flow, report)| self.add(flow, report));
    }

    /// What a flow's ends have reported so far.
    #[inline]
    pub fn of(&self, flow: FlowId) -> FlowReport {
        let (page, place) = page_of(flow);
        let page = self.pages.get(page).and_then(Option::as_ref);
        page.map_or_else(FlowReport::default, |page| page[place])
    }

    /// Hands out the flows' reports and frees them page by page. Flows that have reported nothing
    /// are left out.
    fn drain(&mut self) -> impl Iterator<Item = (FlowId, FlowReport)> {
        let pages = std::mem::take(&mut self.pages).into_iter().enumerate();
        let all = pages.filter_map(|(i, page)| Some((i, page?))).flat_map(|(i, page)| {
            let flows = (i * PAGE) as u32..;
            flows.map(FlowId).zip(Vec::from(page))
        });
        all.filter(|(_, report)| *report != FlowReport::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::units::Time;

    #[test]
    fn parts_reports_are_one() {
        let (mut first, mut second, mut all) = (Reports::default(), Reports::default(), Reports::default());
        let sent = |sent| FlowReport { sent, ..FlowReport::default() };
        [(1, 10), (700, 20)].iter().for_each(|(flow, n)| first.add(FlowId(*flow), sent(*n)));
        [(1, 5), (300, 7)].iter().for_each(|(flow, n)| second.add(FlowId(*flow), sent(*n)));
        all.take(&mut first);
        all.take(&mut second);
        assert_eq!([1, 300, 700].map(|flow| all.of(FlowId(flow)).sent), [15, 7, 20]);
        assert_eq!((first.drain().count(), second.drain().count()), (0, 0));
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
        let all: Vec<_> = reports.drain().collect();
        assert_eq!(all, [(FlowId(3), both), (FlowId(5_000), both)]);
        assert_eq!((both.sent, both.delivered, both.rtt_sum), (10, 1000, 30));
        assert_eq!(reports.drain().count(), 0, "they are gone");
    }
}
