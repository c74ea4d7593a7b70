//! The memory budget of receive windows and written data.

/// What every flow may have, whatever others have: two full packets, which are acknowledged at once
/// (RFC 9293, §3.8.6.3).
const LEAST: u64 = 2 * 1460;

/// Flows at most for which that is kept free. Ours, as many as there are conversations at most.
const MOST_FLOWS: u64 = 20_000;

/// What a flow is promised before anything of it has been read: TCP's window without scaling
/// (RFC 9293), and no more than this share of what is left, so that ten thousand flows which never
/// read leave others a twelfth of it.
const FIRST: u64 = 1 << 16;
const FIRST_SHARE: u64 = 4096;

/// Of what the budget has left one flow gets at most this share at a time, so that there is always
/// something for the next one. Ours.
const SHARE: u64 = 4;

/// Bytes of all flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Taken {
    all: u64,
    /// Of these, what flows have above what every flow may have.
    above: u64,
}

impl Taken {
    /// One flow has so many, and had that many before.
    fn change(&mut self, before: u64, now: u64) {
        self.all = self.all + now - before;
        self.above = self.above + now.saturating_sub(LEAST) - before.saturating_sub(LEAST);
    }
}

/// The bounds on what flows are promised room for and on what applications write, each of which is
/// within the budget. A part of it is shared, the rest is kept for flows that have little or are to
/// come: so none waits for others to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    budget: u64,
    /// Bytes promised to one flow at most.
    most: u64,
    shared: u64,
    flows: u64,
    promised: Taken,
    written: Taken,
}

impl Default for Windows {
    /// 64 MiB for all, 4 MiB for one: 200 ms at 160 Mbps. Ours; both are settings.
    fn default() -> Windows {
        Windows::new(64 << 20, 4 << 20)
    }
}

impl Windows {
    /// Nothing promised yet.
    pub fn new(budget: u64, most: u64) -> Windows {
        let flows = (budget / 2 / LEAST).clamp(1, MOST_FLOWS);
        let shared = budget.saturating_sub(flows * LEAST);
        Windows { budget, most, shared, flows, promised: Taken::default(), written: Taken::default() }
    }

    /// As the simulator has them: never the limit.
    pub fn ample() -> Windows {
        Windows::new(1 << 60, 1 << 30)
    }

    /// Flows at once of which none has to wait for others.
    pub fn flows(&self) -> usize {
        self.flows as usize
    }

    /// The bound for one flow.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The bound for all.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Bytes that peers may send, or have sent and nobody has read.
    pub fn promised(&self) -> u64 {
        self.promised.all
    }

    /// Bytes that applications here have written and that are not acknowledged.
    pub fn written(&self) -> u64 {
        self.written.all
    }

    /// How much more a flow that has `has` may take, of `wish`.
    fn grant(&self, taken: Taken, share: u64, has: u64, wish: u64) -> u64 {
        let own = LEAST.saturating_sub(has).min(wish);
        let more = (wish - own).min(self.shared.saturating_sub(taken.above) / share);
        (own + more).min(self.budget.saturating_sub(taken.all))
    }

    /// What a new flow is promised.
    pub(super) fn promise_first(&mut self) -> u64 {
        let promised = self.grant(self.promised, FIRST_SHARE, 0, FIRST.min(self.most));
        self.promised.change(0, promised);
        promised
    }

    /// What a flow that has `has`, and of which `read` has been read, is promised more: twice what has
    /// been read, as slow start grows, and at least `least`.
    pub(super) fn promise(&mut self, has: u64, read: u64, least: u64) -> u64 {
        let wish = (2 * read).clamp(least.min(self.most), self.most).saturating_sub(has);
        let promised = self.grant(self.promised, SHARE, has, wish);
        self.promised.change(has, has + promised);
        promised
    }

    /// Of what a flow was promised this is left: some has come and is read, or will never come.
    pub(super) fn kept(&mut self, before: u64, now: u64) {
        self.promised.change(before, now);
    }

    /// How much of `wish` more an application may write whose flow keeps `kept`.
    pub(super) fn may_write(&self, kept: u64, wish: u64) -> u64 {
        self.grant(self.written, SHARE, kept, wish)
    }

    /// An application's flow keeps so much now, and kept that much before.
    pub(super) fn wrote(&mut self, before: u64, now: u64) {
        self.written.change(before, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand flows that have read little: each has a window, one that reads gets a large one,
    /// and all that comes back is promised anew.
    #[test]
    fn ten_thousand_that_are_silent_leave_room_for_one_that_reads() {
        let mut windows = Windows::default();
        let first: Vec<u64> = (0..10_000).map(|_| windows.promise_first()).collect();
        assert!(first.iter().all(|promised| *promised >= LEAST) && first[0] > 10_000, "{}", first[0]);
        let all: u64 = first.iter().sum();
        assert!(windows.promised() == all && all < windows.budget());
        let (mut has, mut read) = (first[9999], 0);
        for _ in 0..12 {
            read += has;
            windows.kept(has, 0);
            has = windows.promise(0, read, first[9999]);
        }
        assert!(has > 700_000, "{has}");
        windows.kept(has, 0);
        first[..9999].iter().for_each(|promised| windows.kept(*promised, 0));
        assert_eq!((windows.promised(), windows.promised.above), (0, 0));
    }

    /// However many there are, and however greedy.
    #[test]
    fn the_budget_is_kept() {
        let mut windows = Windows::new(1 << 20, 1 << 18);
        let greedy: Vec<u64> = (0..5).map(|_| windows.promise(0, 1 << 20, 0)).collect();
        assert!(greedy[0] > 100_000);
        for flow in 0..1000 {
            let promised = windows.promise_first();
            assert!(windows.promised() <= 1 << 20);
            assert!(promised >= LEAST || flow >= windows.flows() - greedy.len(), "{promised} for {flow}");
        }
    }
}
