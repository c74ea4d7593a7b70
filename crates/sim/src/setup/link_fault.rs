use midpath_core::units::{Rate, Time};

/// What changes at a link. Rates and delays: those of its two directions, that from its end `a`
/// first; `None` stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LinkFault {
    Down,
    Up,
    /// One outage is over; another may still last.
    Ended,
    Rate([Option<Rate>; 2]),
    Delay([Option<Time>; 2]),
    /// What ports reckon with from now on where a trace has taken the place of the rate.
    Told([Option<Rate>; 2]),
    /// A trace's rate from now on: no event of the run, for transmitters go by the trace itself.
    Opportunity([Option<Rate>; 2]),
}
