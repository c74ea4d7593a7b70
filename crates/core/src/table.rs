//! Tables of flows.

/// By how many places a table of flows grows that is full: by an eighth. Twice as many would leave a quarter of it empty
/// on the average.
pub fn more(places: usize) -> usize {
    (places / 8).max(4)
}
