//! RCCC: a receiving host grants its link's rate to those who send to it, in turn (HTSIM 8a33f33, `UecPullPacer`,
//! `UecSrc::handlePull`).
//!
//! Credit is counted in quanta from the flow's beginning, so that a lost pull costs nothing.

use std::collections::VecDeque;

use midpath_core::packet::FlowKey;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::{Rate, Time};

use super::header::QUANTUM;

/// `_credit_per_pull`: four packets of 4096 bytes.
const PER_PULL: u32 = 64;
/// Share of the link's rate that is granted (`main_uec`).
const RATE: f64 = 0.99;
/// Quanta that pass before the next grant where nothing was granted.
const NOTHING: u32 = 4;

/// What a sender has.
#[derive(Debug, Clone, Copy)]
pub struct Credit {
    bytes: i64,
    /// `_configured_maxwnd`.
    most: i64,
    /// Quanta granted so far (`_pull`).
    pull: u32,
    speculating: bool,
    /// `_pull_target`.
    target: u32,
}

impl Credit {
    /// A sender begins with a window of credit that nobody has granted.
    pub fn new(most: i64) -> Credit {
        Credit { bytes: most, most, pull: 0, speculating: true, target: 0 }
    }

    /// `can_send_RCCC`.
    pub fn is_there(&self) -> bool {
        self.bytes > 0
    }

    /// Bytes.
    pub fn bytes(&self) -> i64 {
        self.bytes
    }

    pub fn spend(&mut self, bytes: i64) {
        self.bytes -= bytes;
    }

    /// `handlePull`.
    pub fn grant(&mut self, pull: u32) {
        if pull > self.pull {
            self.bytes = (self.bytes + i64::from(pull - self.pull) * QUANTUM).min(self.most);
            self.pull = pull;
        }
    }

    /// What nobody has granted is gone once the receiver has answered.
    pub fn stop_speculating(&mut self) {
        if std::mem::take(&mut self.speculating) {
            self.bytes = self.bytes.min(0);
        }
    }

    /// `computePullTarget`: what is asked for, in quanta from the beginning. `waiting` flows share the host's line.
    pub fn target(&mut self, backlog: i64, again: i64, cwnd: Option<i64>, waiting: usize, mtu: i64) -> u32 {
        let most = cwnd.map_or(self.most, |cwnd| self.most.min(cwnd + mtu));
        let mut wanted = (backlog + again).min(most) - self.bytes;
        if self.speculating && wanted < mtu && backlog > 0 {
            wanted = mtu;
        }
        wanted /= waiting.max(1) as i64;
        let quanta = (wanted + i64::from(self.pull) * QUANTUM).max(0);
        self.target = ((quanta + QUANTUM - 1) / QUANTUM) as u32;
        self.target
    }
}

/// What a receiver's end knows of its sender.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demand {
    /// `_latest_pull`, `_highest_pull_target`.
    granted: u32,
    target: u32,
    active: bool,
    /// Pulls sent: they take their paths in turn (`UecSink::nextEntropy`).
    pulls: u16,
}

/// `TGT_EV_SIZE`.
const PULL_PATHS: u16 = 128;

impl Demand {
    /// A sender asks for this much; whether the pacer is to be told.
    pub fn ask(&mut self, target: u32) -> bool {
        let more = target > self.target;
        self.target = self.target.max(target);
        more && !self.active
    }

    /// Whether the pacer knows that it wants credit (`_in_pull`).
    pub fn is_active(&self) -> bool {
        self.active
    }
}

/// Shared by a host's receivers: who gets credit next. Those that want some come first, then those that have had all
/// that they wanted, up to a window more.
#[derive(Debug, Default)]
pub struct Pacer {
    active: VecDeque<FlowKey>,
    idle: VecDeque<FlowKey>,
    /// When the next grant is due.
    next: Time,
}

impl Pacer {
    fn first(&self) -> Option<FlowKey> {
        self.active.front().or(self.idle.front()).copied()
    }

    /// `requestPull`.
    pub fn request(flow: FlowKey, demand: &mut Demand, ctx: &mut EndpointCtx<'_>) {
        let pacer = ctx.shared.get::<Pacer>();
        pacer.idle.retain(|other| *other != flow);
        pacer.active.push_back(flow);
        demand.active = true;
        Pacer::wake_first(flow, ctx);
    }

    /// Whose turn it is has the timer.
    fn wake_first(flow: FlowKey, ctx: &mut EndpointCtx<'_>) {
        let pacer = ctx.shared.get::<Pacer>();
        let (first, at) = (pacer.first(), pacer.next.max(ctx.now));
        match first {
            Some(first) if first == flow => ctx.set_timer(at),
            Some(first) => ctx.poke(first),
            None => {}
        }
    }

    /// `doNextEvent`, `pull`: a flow's turn may have come. What it has been granted then, and the pull's entropy.
    pub fn turn(flow: FlowKey, demand: &mut Demand, ctx: &mut EndpointCtx<'_>) -> Option<(u32, u16)> {
        let rate = ctx.links.first().map_or(Rate::ZERO, |link| link.rate);
        let now = ctx.now;
        let pacer = ctx.shared.get::<Pacer>();
        if pacer.first() != Some(flow) {
            return None;
        }
        let due = pacer.next;
        if due > now {
            ctx.set_timer(due);
            return None;
        }
        let before = demand.granted;
        if demand.active {
            pacer.active.pop_front();
            // No more than was asked for.
            demand.granted = (before + PER_PULL).min(demand.target.max(before));
            demand.active = demand.target > demand.granted;
            let list = if demand.active { &mut pacer.active } else { &mut pacer.idle };
            list.push_back(flow);
        } else {
            pacer.idle.pop_front();
            demand.granted += PER_PULL;
            // `_configured_maxwnd`: no more than a window ahead, of the host's rate in the reference network's round trip.
            if i64::from(demand.granted.saturating_sub(demand.target)) * QUANTUM < window(rate) {
                pacer.idle.push_back(flow);
            }
        }
        let quanta = if demand.granted == before { NOTHING } else { demand.granted - before };
        pacer.next = now.saturating_add(Time(quantum_time(rate) * u64::from(quanta)));
        Pacer::wake_first(flow, ctx);
        demand.pulls = demand.pulls.wrapping_add(1);
        Some((demand.granted, demand.pulls % PULL_PATHS))
    }

    /// A flow is over.
    pub fn leave(flow: FlowKey, ctx: &mut EndpointCtx<'_>) {
        let pacer = ctx.shared.get::<Pacer>();
        let first = pacer.first() == Some(flow);
        pacer.active.retain(|other| *other != flow);
        pacer.idle.retain(|other| *other != flow);
        if let Some(next) = pacer.first().filter(|_| first) {
            ctx.poke(next);
        }
    }
}

/// `_time_per_quanta`.
fn quantum_time(rate: Rate) -> u64 {
    (8.0 * QUANTUM as f64 * 1e12 / rate.0.max(1) as f64 / RATE) as u64
}

fn window(rate: Rate) -> i64 {
    (1.5 * 12e-6 * rate.0 as f64 / 8.0) as i64
}
