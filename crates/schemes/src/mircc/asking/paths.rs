//! A consumer's paths: their rates, and the choice for the next Interest.

use midpath_core::units::{Rate, Time};

use crate::icn::header::{Class, Stamps, Trail, Way};
use crate::icn::path::PathId;
use crate::mircc::consumer::{PathRates, demands};
use crate::mircc::equations::interest_gap;
use crate::mircc::params::{LONGEST, MirccParams, Sending, Split};

/// Losses in a row after which a path is taken for gone. Ours: a single one may be corruption.
const MAX_LOST: u32 = 3;

/// A path without Data for this long is taken for gone. Ours: four times `probe`'s default.
const LIFETIME: Time = Time::from_secs(4);

/// Data over a path without one that strays after which it is taken to lead nowhere else. Ours.
pub(super) const SURE: u32 = 64;

/// Paths that a consumer uses at most. Ours: a bound on what it keeps, for Data say which paths there are.
const MAX_PATHS: usize = 16;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    pub path: PathId,
    /// What steers there.
    pub way: Way,
    pub class: Class,
    index: usize,
}

#[derive(Debug, Clone)]
struct Path {
    id: PathId,
    trail: Trail,
    rates: PathRates,
    /// What to ask for, by class, in bits of Data per second.
    demand: [f64; 2],
    /// When the next Interest is due at the rates of now, and when the last was, by class; and the
    /// bits that the last one asked for.
    due: [Time; 2],
    last: [Time; 2],
    bits: [f64; 2],
    /// The time between two at these rates.
    gap: [Time; 2],
    last_data: Time,
    lost: u32,
    /// What another path has told that Interests for this one take, and how many Data have come over this one
    /// since.
    leads_on: Option<Box<(Stamps, u32)>>,
}

impl Path {
    /// Its rates, and no more than those of where its Interests go.
    fn stamps(&self) -> Option<Stamps> {
        let known = self.rates.get()?;
        Some(self.leads_on.as_ref().map_or(known, |leads_on| known.least(leads_on.0)))
    }

    /// The time from an Interest that asks for so many bits to the next, at the rate of now.
    fn gap_of(&self, class: usize, bits: f64, probe: Time) -> Time {
        let gap = Time::from_secs_f64(interest_gap(self.demand[class], bits).min(3600.0));
        // A flow hears of better rates by its own Data alone.
        if class == Class::Primary as usize { gap.min(probe) } else { gap }
    }

    /// When the next Interest is due now that the gap is this one.
    ///
    /// What is left of the gap grows or shrinks with it. Flows that count each rate from their last
    /// Interest on are pushed together by rates that fall: those of a gap into a part of the next.
    fn due_at(&self, class: usize, gap: Time, phase: f64, now: Time) -> Time {
        let (due, before) = (self.due[class], self.gap[class]);
        match phase {
            _ if phase.is_nan() => self.last[class].saturating_add(gap),
            _ if due == Time::MAX || before.is_zero() => now.saturating_add(gap.mul_f64(phase)),
            _ if due < now => due,
            _ => now.saturating_add((due - now).mul_f64(gap.as_secs_f64() / before.as_secs_f64())),
        }
    }

    /// What an Interest says to go this way (§4.3.2).
    fn way(&self, evenly: bool) -> Way {
        match self.trail {
            Trail::None => Way::Path(self.id),
            Trail::Filter(filter) => Way::Filter(filter),
            Trail::Value(value) => Way::Value { value, spare: 0, evenly },
        }
    }
}

/// All of them.
#[derive(Debug)]
pub struct Paths {
    list: Vec<Path>,
    sending: Sending,
    split: Split,
    probe: Time,
    /// Whether what the flow may have is shared over the paths as they are.
    shared: bool,
    /// Whether forwarders draw evenly by a value.
    evenly: bool,
    /// A flow with a rate of its own asks for no more, in bits per second; infinity for any other.
    limit: f64,
    /// Where between two Interests a flow begins, from 0 to 1; it keeps its place when rates change.
    /// NaN: each rate counts from the last Interest on.
    phase: f64,
    /// What the first Interest of a path asks for, in bits, where that counts.
    first_bits: f64,
}

const CLASSES: [Class; 2] = [Class::Primary, Class::Secondary];

impl Paths {
    pub fn new(params: &MirccParams, limit: Option<Rate>) -> Paths {
        let MirccParams { sending, split, probe, .. } = *params;
        Paths {
            list: Vec::new(),
            sending,
            split,
            probe,
            shared: false,
            evenly: params.explores(),
            limit: limit.map_or(f64::INFINITY, Rate::as_f64),
            phase: f64::NAN,
            first_bits: 0.0,
        }
    }

    /// Called at the start with a random number from 0 to 1: where between two Interests the flow
    /// begins, the first of which asks for Data of `size`.
    pub fn set_phase(&mut self, phase: f64, size: u16) {
        (self.phase, self.first_bits) = (phase, 8.0 * f64::from(size));
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Called with what Data have brought over a path, which may be new.
    #[inline]
    pub fn data(&mut self, id: PathId, trail: Trail, stamps: Stamps, now: Time) {
        if let Trail::Value(_) = trail {
            // §4.3.2: a value that returns another path than it did leads to the former one no
            // more.
            let before = self.list.len();
            self.list.retain(|p| p.id == id || p.trail != trail);
            self.shared &= self.list.len() == before;
        }
        let index = self.list.iter().position(|p| p.id == id).unwrap_or_else(|| self.add(id, now));
        let path = &mut self.list[index];
        let before = path.stamps();
        path.rates.on_data(stamps);
        if let Some(leads_on) = &mut path.leads_on {
            leads_on.1 += 1;
        }
        path.leads_on.take_if(|leads_on| leads_on.1 >= SURE);
        (path.trail, path.last_data, path.lost) = (trail, now, 0);
        // Most Data bring the rates that the ones before them brought.
        if !self.shared || path.stamps() != before {
            self.share(now);
        }
    }

    /// Called with Data of another path for an Interest that was steered onto this one, and the rates that they
    /// bring. A content store that answers tells of the links up to it alone, and what it lacks goes further.
    pub fn strayed(&mut self, id: PathId, stamps: Stamps, now: Time) {
        let Some(path) = self.list.iter_mut().find(|p| p.id == id) else { return };
        let before = path.stamps();
        path.leads_on = Some(Box::new((stamps, 0)));
        if path.stamps() != before {
            self.share(now);
        }
    }

    /// A place for a new path: if there are too many, that of the path whose last Data came first.
    fn add(&mut self, id: PathId, now: Time) -> usize {
        self.shared = false;
        let rates = PathRates::default();
        let (demand, due, last, bits) = ([0.0; 2], [now; 2], [now; 2], [self.first_bits; 2]);
        let gap = [Time::ZERO; 2];
        let path = Path {
            id,
            trail: Trail::None,
            rates,
            demand,
            due,
            last,
            bits,
            gap,
            last_data: now,
            lost: 0,
            leads_on: None,
        };
        if self.list.len() < MAX_PATHS {
            self.list.reserve_exact(1); // most flows have one
            self.list.push(path);
            return self.list.len() - 1;
        }
        let oldest = (0..self.list.len()).min_by_key(|i| self.list[*i].last_data).unwrap_or(0);
        self.list[oldest] = path;
        oldest
    }

    /// Called with the rates that a Nack has brought, and a random number from 0 to 1: where flows
    /// keep their places between Interests, this one takes another place. There were too many at
    /// this one.
    pub fn nack(&mut self, id: PathId, stamps: Stamps, now: Time, random: f64) {
        let Some(index) = self.list.iter().position(|p| p.id == id) else { return };
        self.list[index].rates.on_nack(stamps);
        self.share(now);
        let path = &mut self.list[index];
        if !self.phase.is_nan() {
            for (due, gap) in path.due.iter_mut().zip(path.gap).filter(|(due, _)| (now..Time::MAX).contains(*due)) {
                // Half a gap sooner or later than one that is left out: what is refused is asked for again.
                *due = due.saturating_add(gap.mul_f64(0.5 + random));
            }
        }
    }

    /// Called when an Interest without a hint that was `turn`'s has gone over the path `taken`, which has one less then.
    /// Else routers, which weight next hops by bandwidth, choose for 3 % of the primary class.
    pub fn swapped(&mut self, turn: PathId, taken: PathId) {
        let primary = Class::Primary as usize;
        for path in self.list.iter_mut().filter(|p| p.due[primary] < Time::MAX) {
            let (due, gap) = (&mut path.due[primary], path.gap[primary]);
            if path.id == taken {
                *due = due.saturating_add(gap);
            } else if path.id == turn {
                *due = due.saturating_sub(gap);
            }
        }
    }

    /// Called when an Interest over this path was not answered in time.
    pub fn lost(&mut self, id: PathId, now: Time) {
        if let Some(index) = self.list.iter().position(|p| p.id == id) {
            self.list[index].lost += 1;
            if self.list[index].lost >= MAX_LOST {
                self.list.remove(index);
                self.share(now);
            }
        }
    }

    /// Drops the paths that have been silent for too long.
    pub fn expire(&mut self, now: Time) {
        let before = self.list.len();
        if before > 1 {
            let newest = self.list.iter().map(|p| p.last_data).max().unwrap_or(now);
            // The last one stays: it is not known to be gone before its Interests are lost.
            self.list.retain(|p| p.last_data == newest || now.saturating_sub(p.last_data) < LIFETIME);
        }
        if self.list.len() < before {
            self.share(now);
        }
    }

    /// Splits what the flow may have over its paths (§4.2, §4.3); rates count at once (§3.1).
    fn share(&mut self, now: Time) {
        self.shared = true;
        // Most flows have one path.
        let (one, many): (Stamps, Vec<Stamps>);
        let known = |path: &Path| path.stamps().unwrap_or(Stamps { primary: 0.0, secondary: 0.0 });
        let stamps = if let [path] = &self.list[..] {
            one = known(path);
            std::slice::from_ref(&one)
        } else {
            many = self.list.iter().map(known).collect();
            &many
        };
        for (path, demand) in self.list.iter_mut().zip(demands(self.sending, self.split, stamps)) {
            path.demand = [demand.primary, demand.secondary];
        }
        let total: f64 = self.rates().iter().sum();
        let scale = (self.limit / total).min(1.0);
        let (probe, phase) = (self.probe, self.phase);
        for path in &mut self.list {
            for class in 0..2 {
                path.demand[class] *= scale;
                let gap = path.gap_of(class, path.bits[class], probe);
                path.due[class] = match path.demand[class] > 0.0 {
                    true => path.due_at(class, gap, phase, now),
                    false => Time::MAX,
                };
                path.gap[class] = gap;
            }
        }
    }

    /// The rates of both classes over all paths.
    pub fn rates(&self) -> [f64; 2] {
        [0, 1].map(|class: usize| self.list.iter().map(|p| p.demand[class]).sum())
    }

    /// The time between two primary Interests.
    pub fn mean_gap(&self) -> Time {
        let bits = self.list.iter().map(|p| p.bits[0]).fold(0.0, f64::max);
        Time::from_secs_f64(interest_gap(self.rates()[0], bits).min(LONGEST.as_secs_f64()))
    }

    /// The Interest that is due first: of those due at once the first path's, and its primary one.
    #[inline]
    fn first(&self) -> Option<(Time, usize, usize)> {
        let mut first: Option<(Time, usize, usize)> = None;
        for (i, path) in self.list.iter().enumerate() {
            let (at, class) = if path.due[1] < path.due[0] { (path.due[1], 1) } else { (path.due[0], 0) };
            if first.is_none_or(|(earliest, ..)| at < earliest) {
                first = Some((at, i, class));
            }
        }
        first
    }

    /// Whose Interest is due by now.
    pub fn turn(&self, now: Time) -> Option<Turn> {
        let (_, index, class) = self.first().filter(|(due, ..)| *due <= now)?;
        let path = &self.list[index];
        Some(Turn { path: path.id, way: path.way(self.evenly), class: CLASSES[class], index })
    }

    /// When the next turn is.
    pub fn next_turn(&self) -> Time {
        self.first().map_or(Time::MAX, |f| f.0)
    }

    /// Called when the Interest has been sent that this turn was for; it asks for Data of `size`.
    pub fn taken(&mut self, turn: Turn, now: Time, size: u16) {
        let (path, class) = (&mut self.list[turn.index], turn.class as usize);
        let bits = 8.0 * f64::from(size);
        let gap = path.gap_of(class, bits, self.probe);
        // From the plan, not from the clock, unless the flow had nothing to ask for: no drift, and
        // no burst after a pause.
        let planned = path.due[class];
        let at = if planned.saturating_add(gap) <= now { now } else { planned };
        (path.last[class], path.bits[class], path.due[class]) = (at, bits, at.saturating_add(gap));
        path.gap[class] = gap;
    }
}
