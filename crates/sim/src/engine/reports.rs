//! What flows' ends have reported, both ends as one, by flow.

use midpath_core::packet::FlowId;
use midpath_core::roles::FlowReport;

/// Flows of a page.
const PAGE: usize = 256;

/// Reports in pages that are made when the first flow of a page ends. Flows are numbered in the
/// order in which they start, so those that end at about the same time stand together. There is no
/// spare room to grow into, and no second copy while it grows.
#[derive(Default)]
pub(crate) struct Reports {
    pages: Vec<Option<Box<[FlowReport]>>>,
}

impl Reports {
    /// Adds an end's report to that of its flow.
    pub fn add(&mut self, flow: FlowId, report: FlowReport) {
        let (page, place) = (flow.0 as usize / PAGE, flow.0 as usize % PAGE);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| vec![FlowReport::default(); PAGE].into());
        page[place] = page[place].merge(report);
    }

    /// Hands out the flows' reports and frees them page by page. Flows that have reported nothing
    /// are left out.
    pub fn drain(&mut self) -> impl Iterator<Item = (FlowId, FlowReport)> {
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
    fn both_ends_are_one_report_in_the_order_of_flows() {
        let active = FlowReport { sent: 10, rtt_count: 3, rtt_sum: 30, ..FlowReport::default() };
        let passive = FlowReport { delivered: 1000, completed: Some(Time(7)), ..FlowReport::default() };
        let mut reports = Reports::default();
        // Far apart, and the later one first.
        for flow in [5_000, 3] {
            reports.add(FlowId(flow), passive);
            reports.add(FlowId(flow), active);
        }
        let all: Vec<_> = reports.drain().collect();
        let both = passive.merge(active);
        assert_eq!(all, [(FlowId(3), both), (FlowId(5_000), both)]);
        assert_eq!((both.sent, both.delivered, both.rtt_sum), (10, 1000, 30));
        assert_eq!(reports.drain().count(), 0, "they are gone");
    }
}
