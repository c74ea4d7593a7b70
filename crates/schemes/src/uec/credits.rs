//! Credits: a receiving host grants its link's rate to those who send to it, in turn. RCCC's (HTSIM 8a33f33, `UecPullPacer`,
//! `UecSrc::handlePull`), and those of its ancestors EQDS (csg-htsim 841d9e7, `EqdsPullPacer`, `EqdsSrc`) and NDP
//! (`NdpPullPacer`).
//!
//! Credit is counted from the flow's beginning, so that a lost pull costs nothing: in quanta, NDP's in packets.

use std::collections::VecDeque;

use midpath_core::packet::FlowKey;
use midpath_core::roles::{EndpointCtx, LinkInfo};
use midpath_core::units::{Bytes, Time};

/// Share of the link's rate that is granted (`main_uec`, `main_eqds`, `main_ndp`).
const RATE: f64 = 0.99;
/// Quanta that pass before the next grant where nothing was granted.
const NOTHING: u32 = 4;

/// Whose rules credit goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rules {
    /// UET's.
    #[default]
    Rccc,
    /// EQDS's, with windows of so many packets.
    Eqds(u16),
    /// NDP's: a packet for each that arrives, with or without its payload.
    Ndp,
}

impl Rules {
    /// Bytes of a unit of credit (`UEC_PULL_QUANTUM`, `PULL_QUANTUM`).
    pub const fn quantum(self) -> i64 {
        match self {
            Rules::Rccc | Rules::Ndp => 256,
            Rules::Eqds(_) => 512,
        }
    }

    /// Units of a grant (`_credit_per_pull`): four packets of 4096 bytes, one, and one of any size.
    const fn per_pull(self) -> u32 {
        match self {
            Rules::Rccc => 64,
            Rules::Eqds(_) => 8,
            Rules::Ndp => 1,
        }
    }

    /// From a grant of so many units to the next: `_time_per_quanta`, `_pktTime`, `_packet_drain_time`.
    pub fn spacing(self, link: &LinkInfo, units: u32) -> Time {
        let rate = link.rate.0.max(1) as f64;
        match self {
            Rules::Rccc => {
                let quantum = (8.0 * self.quantum() as f64 * 1e12 / rate / RATE) as u64;
                Time(quantum * u64::from(if units == 0 { NOTHING } else { units }))
            }
            // `pktByteTimes` of the packet that a grant is for, 4160 bytes and what Ethernet puts around it. Ours: of that,
            // whatever the link's largest packet. The share shortens the time: a grant, which has no headers, is less.
            Rules::Eqds(_) => Time((RATE * f64::from(8 * (4096 + 64 + 38)) * 1e12 / rate) as u64),
            Rules::Ndp => Time((link.rate.time_for(Bytes(link.mtu.into())).0 as f64 / RATE) as u64),
        }
    }

    /// What may be granted beyond what is asked for: a window of the host's rate in the reference network's round trip
    /// (`_configured_maxwnd`), or the sender's.
    fn ahead(self, link: &LinkInfo) -> i64 {
        match self {
            Rules::Eqds(packets) => i64::from(packets) * i64::from(link.mtu),
            Rules::Rccc | Rules::Ndp => (1.5 * 12e-6 * link.rate.0 as f64 / 8.0) as i64,
        }
    }
}

/// What a sender has.
#[derive(Debug, Clone, Copy)]
pub struct Credit {
    rules: Rules,
    bytes: i64,
    /// EQDS keeps what nobody has granted apart (`_credit_spec`).
    unasked: i64,
    /// `_configured_maxwnd`, `_maxwnd`.
    most: i64,
    /// Quanta granted so far (`_pull`).
    pull: u32,
    speculating: bool,
    /// `_pull_target`.
    target: u32,
}

impl Credit {
    /// A sender begins with a window of credit that nobody has granted.
    pub fn new(rules: Rules, most: i64) -> Credit {
        let (bytes, unasked) = if let Rules::Eqds(_) = rules { (0, most) } else { (most, 0) };
        Credit { rules, bytes, unasked, most, pull: 0, speculating: true, target: 0 }
    }

    /// `can_send_RCCC`, `credit`.
    pub fn is_there(&self) -> bool {
        self.bytes() > 0
    }

    /// Whether an answer is to be asked for.
    pub fn is_spent(&self) -> bool {
        match self.rules {
            Rules::Eqds(_) => self.bytes < 0,
            Rules::Rccc | Rules::Ndp => self.bytes <= 0,
        }
    }

    /// Bytes.
    pub fn bytes(&self) -> i64 {
        self.bytes + self.unasked
    }

    /// Before a packet is sent; whether it may be. EQDS's `spendCredit` gives up what nobody has granted by and by, so
    /// that more can be asked for.
    pub fn spend(&mut self, bytes: i64) -> bool {
        if self.bytes > 0 {
            self.bytes -= bytes;
            return true;
        }
        self.unasked -= bytes;
        self.speculating
    }

    /// `handlePull`.
    pub fn grant(&mut self, pull: u32) {
        if pull > self.pull {
            let most = if self.rules == Rules::Rccc { self.most } else { i64::MAX };
            self.bytes = (self.bytes + i64::from(pull - self.pull) * self.rules.quantum()).min(most);
            self.pull = pull;
        }
    }

    /// What nobody has granted is gone once the receiver has answered.
    pub fn stop_speculating(&mut self) {
        if std::mem::take(&mut self.speculating) && self.rules == Rules::Rccc {
            self.bytes = self.bytes.min(0);
        }
    }

    /// `computePullTarget`: what is asked for, in quanta from the beginning. `waiting` flows share the host's line.
    pub fn target(&mut self, backlog: i64, again: i64, cwnd: Option<i64>, waiting: usize, mtu: i64) -> u32 {
        let (granted, quantum) = (i64::from(self.pull), self.rules.quantum());
        self.target = match self.rules {
            Rules::Eqds(_) => {
                let wanted = backlog.min(self.most) - self.bytes();
                // htsim's type is unsigned: who has more credit that nobody has granted than data left, and may not use it
                // once it has been answered, asks without end, until its flow has.
                u32::try_from((wanted + quantum - 1) / quantum + granted).unwrap_or(u32::MAX)
            }
            Rules::Rccc | Rules::Ndp => {
                let most = cwnd.map_or(self.most, |cwnd| self.most.min(cwnd + mtu));
                let mut wanted = (backlog + again).min(most) - self.bytes;
                if self.speculating && wanted < mtu && backlog > 0 {
                    wanted = mtu;
                }
                wanted /= waiting.max(1) as i64;
                let quanta = (wanted + granted * quantum).max(0);
                ((quanta + quantum - 1) / quantum) as u32
            }
        };
        self.target
    }

    /// What was asked for last: EQDS's repeats ask for no more.
    pub fn last_target(&self) -> u32 {
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
    /// EQDS: what is to be sent again (`_retx_backlog`).
    again: u32,
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
        more && !self.active && self.again == 0
    }

    /// Whether packets that were trimmed wait for credit.
    pub fn is_repeating(&self) -> bool {
        self.again > 0
    }

    /// Whether the pacer knows that it wants credit (`_in_pull`).
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// What has been granted so far.
    pub fn granted(&self) -> u32 {
        self.granted
    }
}

/// Those whose packets were trimmed (EQDS), those that want credit, and those that have had all that they wanted.
const AGAIN: usize = 0;
const ACTIVE: usize = 1;
const IDLE: usize = 2;

/// Shared by a host's receivers: who gets credit next. Those who have had all that they wanted come last, up to a window more.
#[derive(Debug, Default)]
pub struct Pacer {
    lists: [VecDeque<FlowKey>; 3],
    /// Whose turn it was.
    last: Option<FlowKey>,
    /// When the next grant is due.
    next: Time,
}

impl Pacer {
    fn first(&self) -> Option<FlowKey> {
        self.lists.iter().find_map(|list| list.front()).copied()
    }

    /// Whose turn it is, and when a grant is due.
    pub fn due(&self) -> Option<(FlowKey, Time)> {
        Some((self.first()?, self.next))
    }

    /// A flow wants credit.
    pub fn enter(&mut self, rules: Rules, flow: FlowKey, demand: &mut Demand) {
        self.lists[IDLE].retain(|other| *other != flow);
        demand.active = true;
        let list = &mut self.lists[ACTIVE];
        // `PrioPullQueue` of equals: around all flows, from that which had its turn on.
        let rank = |key: &FlowKey| (self.last.is_some_and(|last| *key <= last), *key);
        let at = if rules == Rules::Ndp { list.partition_point(|key| rank(key) < rank(&flow)) } else { list.len() };
        list.insert(at, flow);
    }

    /// `requestRetransmit`: EQDS repeats so many bytes before anything else.
    pub fn enter_again(&mut self, rules: Rules, flow: FlowKey, demand: &mut Demand, bytes: u32) {
        if demand.again == 0 {
            self.lists[AGAIN].push_back(flow);
        }
        demand.again += bytes.div_ceil(rules.quantum() as u32);
    }

    /// `pull`: the flow whose turn it is has its credit.
    pub fn grant(&mut self, rules: Rules, demand: &mut Demand, link: &LinkInfo, now: Time) {
        let Some(list) = self.lists.iter().position(|list| !list.is_empty()) else { return };
        let Some(flow) = self.lists[list].pop_front() else { return };
        self.last = Some(flow);
        let before = demand.granted;
        demand.granted += rules.per_pull();
        demand.again = demand.again.saturating_sub(rules.per_pull());
        match list {
            AGAIN if demand.again > 0 => self.lists[AGAIN].push_back(flow),
            AGAIN => {}
            ACTIVE => {
                if rules == Rules::Rccc {
                    // No more than was asked for.
                    demand.granted = demand.granted.min(demand.target.max(before));
                }
                demand.active = demand.target > demand.granted;
                match (demand.active, rules) {
                    (true, _) => self.lists[ACTIVE].push_back(flow),
                    (false, Rules::Ndp) => {}
                    (false, _) => self.lists[IDLE].push_back(flow),
                }
            }
            _ => {
                let ahead = i64::from(demand.granted.saturating_sub(demand.target));
                let more = match rules {
                    Rules::Eqds(_) => demand.target <= demand.granted && ahead < rules.ahead(link) / rules.quantum(),
                    _ => ahead * rules.quantum() < rules.ahead(link),
                };
                if more {
                    self.lists[IDLE].push_back(flow);
                }
            }
        }
        self.next = now.saturating_add(rules.spacing(link, demand.granted - before));
        demand.pulls = demand.pulls.wrapping_add(1);
    }

    /// `NdpPullPacer::sendPacket`: a flow's packet has come, and asks for another one. Whether it is granted at once,
    /// for nobody waits and a grant is due.
    pub fn take(&mut self, rules: Rules, flow: FlowKey, demand: &mut Demand, link: &LinkInfo, now: Time) -> bool {
        demand.target += 1;
        if self.first().is_none() && self.next <= now {
            // That is no turn of those that wait.
            let last = self.last;
            self.enter(rules, flow, demand);
            self.grant(rules, demand, link, now);
            self.last = last;
            return true;
        }
        if !demand.active {
            self.enter(rules, flow, demand);
        }
        false
    }

    /// `requestPull`.
    pub fn request(rules: Rules, flow: FlowKey, demand: &mut Demand, ctx: &mut EndpointCtx<'_>) {
        ctx.shared.get::<Pacer>().enter(rules, flow, demand);
        Pacer::wake_first(flow, ctx);
    }

    /// [`Pacer::take`].
    pub fn ask_for_one(rules: Rules, flow: FlowKey, demand: &mut Demand, ctx: &mut EndpointCtx<'_>) -> bool {
        let Some(link) = ctx.links.first() else { return false };
        let waited = demand.active;
        let granted = ctx.shared.get::<Pacer>().take(rules, flow, demand, link, ctx.now);
        if !granted && !waited {
            Pacer::wake_first(flow, ctx);
        }
        granted
    }

    /// `requestRetransmit`.
    pub fn request_again(rules: Rules, flow: FlowKey, demand: &mut Demand, bytes: u32, ctx: &mut EndpointCtx<'_>) {
        ctx.shared.get::<Pacer>().enter_again(rules, flow, demand, bytes);
        Pacer::wake_first(flow, ctx);
    }

    /// Whose turn it is has the timer.
    fn wake_first(flow: FlowKey, ctx: &mut EndpointCtx<'_>) {
        let pacer = ctx.shared.get::<Pacer>();
        match pacer.due() {
            Some((first, due)) if first == flow => ctx.set_timer(due.max(ctx.now)),
            Some((first, _)) => ctx.poke(first),
            None => {}
        }
    }

    /// `doNextEvent`: a flow's turn may have come. What it has been granted then, and the pull's entropy.
    pub fn turn(rules: Rules, flow: FlowKey, demand: &mut Demand, ctx: &mut EndpointCtx<'_>) -> Option<(u32, u16)> {
        let link = *ctx.links.first()?;
        let now = ctx.now;
        let pacer = ctx.shared.get::<Pacer>();
        let (first, due) = pacer.due()?;
        if first != flow {
            return None;
        }
        if due > now {
            ctx.set_timer(due);
            return None;
        }
        pacer.grant(rules, demand, &link, now);
        Pacer::wake_first(flow, ctx);
        Some((demand.granted, demand.pulls % PULL_PATHS))
    }

    /// A flow is over.
    pub fn leave(flow: FlowKey, ctx: &mut EndpointCtx<'_>) {
        let pacer = ctx.shared.get::<Pacer>();
        let first = pacer.first() == Some(flow);
        pacer.remove(flow);
        if let Some(next) = pacer.first().filter(|_| first) {
            ctx.poke(next);
        }
    }

    /// It wants nothing more.
    pub fn remove(&mut self, flow: FlowKey) {
        self.lists.iter_mut().for_each(|list| list.retain(|other| *other != flow));
    }
}
