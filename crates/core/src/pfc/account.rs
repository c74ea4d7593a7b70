//! What one ingress port holds of one class, and when its neighbour is to pause.

/// How much of a class a node holds of what came in through a port before it pauses the neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thresholds {
    /// XOFF: above this the neighbour is paused. With a [`Pool`] the account's share of it comes on top.
    pub xoff: u64,
    /// XON is so far below XOFF.
    pub gap: u64,
    /// What there is room for above XOFF.
    pub headroom: u64,
}

/// Memory that all ports and classes of a node share. XOFF of each is `alpha` times what is free of it, above what is
/// the account's own (Choudhury and Hahne, "Dynamic queue length thresholds", 1998; of ingress ports: Zhu et al.,
/// 2015, §4, where alpha is β).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pool {
    size: u64,
    alpha: f64,
    used: u64,
    most: u64,
}

impl Pool {
    /// Of so many bytes.
    pub fn new(size: u64, alpha: f64) -> Pool {
        Pool { size, alpha, used: 0, most: 0 }
    }

    /// All of its bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The most bytes that were ever in use.
    pub fn most(&self) -> u64 {
        self.most
    }

    fn free(&self) -> u64 {
        self.size - self.used
    }

    /// An account's share where so much is free.
    fn share(&self, free: u64) -> u64 {
        (self.alpha * free as f64) as u64
    }
}

impl Thresholds {
    /// XOFF and XON where so much of the pool is in use. A neighbour that uses none of it goes on, so that it always
    /// does in the end.
    pub fn of(&self, pool: Option<&Pool>, used: u64) -> (u64, u64) {
        let share = pool.map_or(0, |pool| pool.share(pool.size.saturating_sub(used)));
        let least = if pool.is_some() { self.xoff.saturating_add(1) } else { 1 };
        let xoff = self.xoff.saturating_add(share);
        (xoff, xoff.saturating_sub(self.gap).max(least))
    }
}

/// What a node holds of one class that came in through one port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Account {
    /// The thresholds.
    pub at: Thresholds,
    /// Bytes held.
    pub held: u64,
    /// The most that ever were.
    pub most: u64,
    /// Those of them that are in the headroom.
    pub above: u64,
    /// The most that ever were.
    pub above_most: u64,
    /// Whether the neighbour is to pause.
    pub paused: bool,
    /// How often it was told to.
    pub pauses: u64,
    /// Packets for which there was no room.
    pub refused: u64,
}

/// There is no room for a packet: the headroom was too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Account {
    /// Bytes that it uses of the pool.
    pub fn shared(&self) -> u64 {
        (self.held - self.above).saturating_sub(self.at.xoff)
    }

    /// Counts a packet that has come. Says whether the neighbour is to be paused for it.
    pub(super) fn take(&mut self, size: u32, mut pool: Option<&mut Pool>) -> Result<bool, Full> {
        let size = u64::from(size);
        let above = match &pool {
            None => (self.held + size).saturating_sub(self.at.xoff),
            Some(pool) if self.fits(size, pool) => self.above,
            Some(_) => self.above + size,
        };
        if above > self.at.headroom {
            self.refused += 1;
            return Err(Full);
        }
        let before = self.shared();
        (self.held, self.above) = (self.held + size, above);
        (self.most, self.above_most) = (self.most.max(self.held), self.above_most.max(above));
        if let Some(pool) = &mut pool {
            pool.used += self.shared() - before;
            pool.most = pool.most.max(pool.used);
        }
        let pause = self.is_over(pool.as_deref()) && !self.paused;
        if pause {
            (self.paused, self.pauses) = (true, self.pauses + 1);
        }
        Ok(pause)
    }

    /// Whether a packet has room in what is the account's own and in its share of the pool, which with `alpha` above 1
    /// can be more than is free.
    fn fits(&self, size: u64, pool: &Pool) -> bool {
        let shared = (self.held - self.above + size).saturating_sub(self.at.xoff);
        shared <= pool.share(pool.free()) && shared - self.shared() <= pool.free()
    }

    /// Counts a packet that has left, from the headroom first. Says whether the neighbour may go on.
    pub(super) fn leave(&mut self, size: u32, mut pool: Option<&mut Pool>) -> bool {
        let (size, before) = (u64::from(size), self.shared());
        (self.held, self.above) = (self.held - size, self.above.saturating_sub(size));
        if let Some(pool) = &mut pool {
            pool.used -= before - self.shared();
        }
        let used = pool.as_deref().map_or(0, |pool| pool.used);
        let resume = self.paused && self.above == 0 && self.held < self.at.of(pool.as_deref(), used).1;
        self.paused &= !resume;
        resume
    }

    /// Whether it holds more than XOFF.
    pub(super) fn is_over(&self, pool: Option<&Pool>) -> bool {
        self.above > 0 || pool.is_some_and(|pool| self.shared() > pool.share(pool.free()))
    }
}
