use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::account::{Account, Full, Pool, Thresholds};
use crate::packet::{PacketId, PortId};
use crate::units::Time;

/// How long the transmitter of a port was not allowed to send a class.
#[derive(Debug, Clone, Copy, Default)]
pub struct PauseRecord {
    since: Option<Time>,
    total: Time,
    longest: Time,
}

impl PauseRecord {
    fn set(&mut self, stopped: bool, now: Time) {
        match (self.since, stopped) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                let time = now.saturating_sub(since);
                (self.since, self.total, self.longest) = (None, self.total + time, self.longest.max(time));
            }
            _ => {}
        }
    }

    /// All of it and the longest time, in a run that ends at `end`.
    pub fn until(mut self, end: Time) -> (Time, Time) {
        self.set(false, end);
        (self.total, self.longest)
    }

    /// Since when, if it is not allowed now.
    pub fn since(&self) -> Option<Time> {
        self.since
    }
}

/// Where a packet that is held came in, where it is to leave, and what of it is counted.
#[derive(Debug, Clone, Copy)]
struct Charge {
    from: PortId,
    to: PortId,
    class: u8,
    size: u32,
}

/// Bytes of a class that came in through one port and wait at another.
pub type Waiting = BTreeMap<(PortId, usize, PortId), u64>;

/// What a node holds in its lossless classes, by the port that it came in through.
#[derive(Debug, Default)]
pub struct Buffer {
    classes: usize,
    /// By port, then by class.
    accounts: Box<[Account]>,
    /// What they share, where XOFF is dynamic.
    pool: Option<Pool>,
    stopped: Box<[PauseRecord]>,
    charges: FxHashMap<PacketId, Charge>,
    /// The packet that came in last, and is being routed.
    arrived: Option<(PacketId, PortId, Time)>,
}

impl Buffer {
    /// With these thresholds, by port and class. A port without any is not counted.
    pub fn new(classes: usize, ports: usize, thresholds: impl Iterator<Item = Thresholds>) -> Buffer {
        let mut accounts: Vec<_> = thresholds.map(|at| Account { at, ..Account::default() }).collect();
        accounts.resize(classes * ports, Account::default());
        let stopped = vec![PauseRecord::default(); accounts.len()].into();
        Buffer { classes, accounts: accounts.into(), stopped, ..Buffer::default() }
    }

    /// The same, with what its accounts share.
    pub fn sharing(self, pool: Option<Pool>) -> Buffer {
        Buffer { pool, ..self }
    }

    /// What its accounts share.
    pub fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref()
    }

    fn place(&self, port: PortId, class: usize) -> usize {
        usize::from(port.0) * self.classes + class
    }

    /// What it holds of a class that came in through a port.
    pub fn account(&self, port: PortId, class: usize) -> &Account {
        &self.accounts[self.place(port, class)]
    }

    /// For how long a class was stopped at a port.
    pub fn pause_record(&self, port: PortId, class: usize) -> &PauseRecord {
        &self.stopped[self.place(port, class)]
    }

    /// Called when a packet has come in through a port, before it is routed.
    pub fn came_in(&mut self, id: PacketId, port: PortId, now: Time) {
        let counted = (0..self.classes).any(|class| self.account(port, class).at != Thresholds::default());
        self.arrived = counted.then_some((id, port, now));
    }

    /// Called with a packet of a lossless class that was routed to the port `to`. Says which neighbour
    /// is to be told to pause, by its port. What did not come in through a port just now is not
    /// counted.
    pub fn take(
        &mut self,
        id: PacketId,
        to: PortId,
        class: usize,
        size: u32,
        now: Time,
    ) -> Result<Option<PortId>, Full> {
        let Some((_, from, _)) = self.arrived.take().filter(|a| (a.0, a.2) == (id, now)) else { return Ok(None) };
        let place = self.place(from, class);
        let pause = self.accounts[place].take(size, self.pool.as_mut())?;
        self.charges.insert(id, Charge { from, to, class: class as u8, size });
        Ok(pause.then_some(from))
    }

    /// Called with a packet that leaves the node, or ends here. Says which neighbour may go on.
    pub fn leave(&mut self, id: PacketId) -> Option<PortId> {
        let Charge { from, class, size, .. } = self.charges.remove(&id)?;
        let place = self.place(from, class.into());
        let resume = self.accounts[place].leave(size, self.pool.as_mut());
        debug_assert!(!self.charges.is_empty() || self.accounts.iter().all(|account| account.held == 0));
        resume.then_some(from)
    }

    /// What the neighbour at a port is to pause, class by class.
    pub fn paused(&self, port: PortId) -> impl Iterator<Item = bool> + '_ {
        (0..self.classes).map(move |class| self.account(port, class).paused)
    }

    /// Called when the link of a port came back, or the node restarted: the neighbour knows of no
    /// pause. Says whether it is to be told of one.
    pub fn forget(&mut self, port: PortId) -> bool {
        let mut again = false;
        for class in 0..self.classes {
            let account = &mut self.accounts[usize::from(port.0) * self.classes + class];
            account.paused = account.is_over(self.pool.as_ref());
            again |= account.paused;
        }
        again
    }

    /// Called when the neighbour at a port has said whether a class is to pause there.
    pub fn stop(&mut self, port: PortId, class: usize, stopped: bool, now: Time) {
        self.stopped[usize::from(port.0) * self.classes + class].set(stopped, now);
    }

    /// What waits: from where, of which class, to where.
    pub fn waiting(&self) -> Waiting {
        let mut all = Waiting::new();
        for Charge { from, to, class, size } in self.charges.values() {
            *all.entry((*from, usize::from(*class), *to)).or_default() += u64::from(*size);
        }
        all
    }
}

/// A buffer that the ports of a node share with each other, and with who reads the counts.
#[derive(Debug, Clone, Default)]
pub struct SharedBuffer(Arc<Mutex<Buffer>>);

impl SharedBuffer {
    /// To be shared.
    pub fn new(buffer: Buffer) -> SharedBuffer {
        SharedBuffer(Arc::new(Mutex::new(buffer)))
    }

    /// The buffer, for one look.
    pub fn get(&self) -> MutexGuard<'_, Buffer> {
        // Whoever panicked left counts that still add up, and the run ends with that panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
