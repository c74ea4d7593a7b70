//! Scheduling of segments on subflows, and reinjection.

use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::{Connection, Subflow};
use crate::mptcp::MAX_SUBFLOWS;
use crate::mptcp::params::Scheduler;

/// What the receiver's buffer does to the sender.
#[derive(Debug, Clone, Copy, Default)]
pub struct Blocked {
    /// Whether a subflow had room for data that the buffer had none for.
    now: bool,
    /// The first byte missing there when it was last looked up, and the subflow that has it
    /// outstanding.
    missing: Option<(u64, usize)>,
    /// Up to here the missing data have been sent again.
    repeated: u64,
}

impl Blocked {
    /// The same where subflows have other numbers.
    pub fn afresh(self) -> Blocked {
        Blocked { missing: None, ..self }
    }

    /// The subflow that blocks.
    pub fn by(&self) -> Option<usize> {
        self.missing.filter(|_| self.now).map(|m| m.1)
    }
}

/// What a subflow is given to carry.
enum Work {
    /// New data.
    New(u64),
    /// What `from` has lost; `None` for subflows that are gone.
    Lost { from: Option<usize>, at: u64, bytes: u64 },
    /// What blocks the receiver's buffer.
    Blocking { owner: usize, bytes: u64 },
}

impl Connection {
    /// Data that ride on the third packet of the handshake, as a TCP's do.
    pub(super) fn first_segment(&mut self, i: usize, now: Time) {
        let mss = self.subflows[i].tcp.window().mss;
        match self.work(i, mss) {
            Some(Work::Blocking { .. }) | None => {}
            Some(work) => self.assign(i, work, now),
        }
    }

    /// Hands out all that windows have room for, and sends it.
    pub(super) fn schedule(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mut rooms = [0; MAX_SUBFLOWS];
        for (room, s) in rooms.iter_mut().zip(&self.subflows) {
            *room = if s.is_ready() { s.tcp.room() } else { 0 };
        }
        let spare = rooms;
        let mut touched = [false; MAX_SUBFLOWS];
        self.blocked.now = false;
        while let Some(i) = self.pick(&rooms) {
            match self.work(i, rooms[i]) {
                Some(work) => {
                    rooms[i] -= self.assign_sized(i, work, ctx.now).min(rooms[i]);
                    touched[i] = true;
                }
                None => rooms[i] = 0,
            }
        }
        let end = self.data.end();
        for (i, s) in self.subflows.iter_mut().enumerate() {
            // What has room and got nothing will get nothing before something else happens.
            let idle = spare[i] > 0 && !touched[i];
            if touched[i] || (idle && s.tcp.phase() != crate::transport::sender::Phase::Open) {
                s.call(ctx, end, |tcp, ctx| tcp.push(idle, ctx));
            }
        }
    }

    /// The next subflow of those that have room.
    fn pick(&self, rooms: &[u64; MAX_SUBFLOWS]) -> Option<usize> {
        let ready = || (0..self.subflows.len()).filter(|i| rooms[*i] > 0);
        match self.params.scheduler {
            Scheduler::LowestRtt => ready().min_by_key(|i| self.subflows[*i].tcp.srtt()),
            Scheduler::RoundRobin => ready().min_by_key(|i| (*i <= self.last, *i)),
        }
    }

    /// What there is for subflow `i`, whose window has `room`.
    fn work(&mut self, i: usize, room: u64) -> Option<Work> {
        let mss = self.subflows[i].tcp.window().mss;
        if let Some(work) = self.lost_elsewhere(i, mss.min(room)) {
            return Some(work);
        }
        let bytes = self.data.segment(mss);
        if bytes > 0 {
            return (bytes <= room).then_some(Work::New(bytes));
        }
        if !self.data.has_more() || room < mss {
            return None;
        }
        self.blocked.now = true;
        self.blocking(i, mss)
    }

    fn lost_elsewhere(&self, i: usize, most: u64) -> Option<Work> {
        let others = self.subflows.iter().enumerate().filter(|(j, s)| *j != i && !s.lost.is_empty());
        let others = others.filter_map(|(j, s)| Some((Some(j), s.lost.first()?)));
        let orphaned = self.orphaned.first().map(|range| (None, range));
        let (from, (at, to)) = others.chain(orphaned).min_by_key(|(_, range)| range.0)?;
        Some(Work::Lost { from, at, bytes: most.min(to - at) })
    }

    /// Raiciu et al. 2012, §4.2: the receiver's buffer has no room because of data that another
    /// subflow has outstanding. Once for each.
    fn blocking(&mut self, i: usize, mss: u64) -> Option<Work> {
        let una = self.data.una();
        if self.blocked.missing.is_none_or(|m| m.0 != una) {
            self.blocked.missing = self.owner_of(una).map(|owner| (una, owner));
        }
        let (_, owner) = self.blocked.missing?;
        if !self.params.opportunistic || owner == i || una < self.blocked.repeated {
            return None;
        }
        let bytes = mss.min(self.data.next() - una);
        Some(Work::Blocking { owner, bytes })
    }

    /// The subflow that had the byte `at` last and has not had it acknowledged.
    fn owner_of(&self, at: u64) -> Option<usize> {
        let has = |s: &Subflow| s.tcp.pieces().any(|p| p.label <= at && at < p.label + (p.to - p.from));
        (0..self.subflows.len()).rev().find(|i| has(&self.subflows[*i]))
    }

    fn assign_sized(&mut self, i: usize, work: Work, now: Time) -> u64 {
        let before = self.subflows[i].given;
        self.assign(i, work, now);
        self.last = i;
        self.subflows[i].given - before
    }

    fn assign(&mut self, i: usize, work: Work, now: Time) {
        match work {
            Work::New(bytes) => {
                let at = self.data.take(bytes);
                self.subflows[i].give(bytes, at);
            }
            Work::Lost { from, at, bytes } => {
                from.map_or(&mut self.orphaned, |from| &mut self.subflows[from].lost).remove_below(at + bytes);
                self.again(i, bytes, at);
            }
            Work::Blocking { owner, bytes } => {
                let una = self.data.una();
                self.blocked.repeated = una + bytes;
                self.again(i, bytes, una);
                self.penalise(owner, i, now);
            }
        }
    }

    fn again(&mut self, i: usize, bytes: u64, at: u64) {
        self.subflows[i].give(bytes, at);
        self.reinjected += 1;
    }

    /// Raiciu et al. 2012, §4.2: halves the window of the slower subflow that blocks a faster one,
    /// once per its round trip.
    fn penalise(&mut self, owner: usize, faster: usize, now: Time) {
        let (slow, fast) = (self.subflows[owner].tcp.srtt(), self.subflows[faster].tcp.srtt());
        let owner = &mut self.subflows[owner];
        if self.params.penalise && slow > fast && now >= owner.spared_until {
            owner.tcp.halve();
            owner.spared_until = now.saturating_add(slow);
        }
    }
}
