//! Weighted max-min fairness, kept up to date as flows come and go.
//!
//! Water-filling: the levels of all classes rise together; when a link is full, the classes on it
//! stay where they are ("freeze"); when all are frozen, the allocation is max-min fair (Bertsekas &
//! Gallager, *Data Networks*, §6.5.2).
//!
//! After a change only the affected classes are filled ([`few`](crate::few)). If these are many, all that can
//! change: the filling goes exactly as before up to the lowest level θ at which one of the changed links was full,
//! or now would be. So only classes at θ or above that are joined to a changed link, through links they share with
//! other such classes, are filled again.

use crate::IdealError;
use crate::population::{Allocator, Population};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Weighted max-min fair rates in bits per second.
///
/// `caps` are the links' capacities; flow i crosses the links `paths[i]`, has weight `weights[i]`
/// and sends at `limits[i]` bits per second at most (infinity: no limit). Every flow runs at its
/// limit, or crosses a full link on which no flow has a larger rate per weight.
pub fn allocate_max_min<P: AsRef<[u32]>>(
    caps: &[f64],
    paths: &[P],
    weights: &[f64],
    limits: &[f64],
) -> Result<Vec<f64>, IdealError> {
    let population = Population::of_flows(caps, paths, weights, limits)?;
    let mut max_min = MaxMin::new(population);
    max_min.changed_classes = (0..paths.len() as u32).collect();
    max_min.resolve(&mut Vec::new());
    let level: Vec<f64> = max_min.filling.class.iter().map(|c| c.level).collect();
    Ok(max_min.population.rates(&level, limits))
}

/// Levels below θ by less than this share count as at θ: they differ by rounding. Taking in
/// too many classes costs time, never correctness.
pub(crate) const SAME_LEVEL: f64 = 1e-9;

/// A max-min allocation that follows its population.
#[derive(Debug)]
pub(crate) struct MaxMin {
    population: Population,
    /// What changed since the last `resolve`.
    changed_classes: Vec<u32>,
    changed_links: Vec<u32>,
    filling: Filling,
}

/// What water-filling looks at most, side by side.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ClassState {
    pub(crate) level: f64,
    /// Weight of all the class's flows together.
    pub(crate) weight: f64,
    /// While filling: is it still rising?
    pub(crate) rising: bool,
}

/// Levels, and the working space of water-filling.
#[derive(Debug, Default)]
pub(crate) struct Filling {
    pub(crate) class: Vec<ClassState>,
    /// Level at which each link is full; infinite where it is not.
    pub(crate) full_at: Vec<f64>,
    /// Marks of one `resolve`: `round` where set.
    pub(crate) round: u32,
    pub(crate) class_mark: Vec<u32>,
    pub(crate) link_mark: Vec<u32>,
    /// Classes to fill again and the links that they cross.
    pub(crate) classes: Vec<u32>,
    pub(crate) links: Vec<u32>,
    /// While filling: capacity that frozen classes leave on each link, and the rising classes'
    /// weight and number.
    pub(crate) room: Vec<f64>,
    pub(crate) weight: Vec<f64>,
    pub(crate) risers: Vec<u32>,
    pub(crate) heap: BinaryHeap<(Reverse<u64>, u32)>,
    pub(crate) limited: Vec<u32>,
    /// While a few are filled: the level that each of `classes` had, and at which each of `links` was full.
    pub(crate) levels_before: Vec<f64>,
    pub(crate) full_before: Vec<f64>,
    /// For how many changes a few are not tried, and how many of these are left.
    pub(crate) refrain: u32,
    pub(crate) left: u32,
}

impl MaxMin {
    pub(crate) fn new(population: Population) -> MaxMin {
        let mut filling = Filling::new(population.classes(), population.caps.len());
        for class in population.present() {
            filling.class[*class as usize].weight = population.total_weight(*class);
        }
        MaxMin { population, changed_classes: Vec::new(), changed_links: Vec::new(), filling }
    }

    #[cfg(test)]
    pub(crate) fn fill_all_from_now_on(&mut self) {
        self.filling.left = u32::MAX;
    }

    #[cfg(test)]
    pub(crate) fn gave_up(&self) -> bool {
        self.filling.refrain > 0
    }
}

impl Filling {
    fn new(classes: usize, links: usize) -> Filling {
        Filling {
            class: vec![ClassState::default(); classes],
            full_at: vec![f64::INFINITY; links],
            class_mark: vec![0; classes],
            link_mark: vec![0; links],
            room: vec![0.0; links],
            weight: vec![0.0; links],
            risers: vec![0; links],
            ..Filling::default()
        }
    }

    /// The level at which `link` would now be full if no other link changed: the s with Σ W ·
    /// min(level, s) = C.
    ///
    /// Changed classes may rise up to their limit. Newton's method on a concave, piecewise linear
    /// function: from below, exact after as many steps as pieces are crossed.
    fn new_full_at(&self, p: &Population, link: u32) -> f64 {
        let cap = p.caps[link as usize];
        let mut s = 0.0;
        loop {
            let (mut room, mut weight) = (cap, 0.0);
            for class in p.on_link(link) {
                let total = self.class[class as usize].weight;
                let changed = self.class_mark[class as usize] == self.round;
                let top = if changed { p.limit[class as usize] } else { self.class[class as usize].level };
                if top > s { weight += total } else { room -= total * top }
            }
            if weight == 0.0 {
                return f64::INFINITY;
            }
            let next = room.max(0.0) / weight;
            if next <= s {
                return s;
            }
            s = next;
        }
    }

    /// Marks what changed, and returns the lowest level that it may have changed.
    fn threshold(&mut self, p: &Population, classes: &[u32], links: &[u32]) -> f64 {
        self.round += 1;
        self.links.clear();
        links.iter().for_each(|l| self.visit_link(*l));
        for &class in classes {
            self.class_mark[class as usize] = self.round;
            p.path(class).iter().for_each(|l| self.visit_link(*l));
        }
        let level = |l: &u32| self.full_at[*l as usize].min(self.new_full_at(p, *l));
        self.links.iter().map(level).fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn visit_link(&mut self, link: u32) {
        if self.link_mark[link as usize] != self.round {
            self.link_mark[link as usize] = self.round;
            self.links.push(link);
        }
    }

    /// Collects the classes to fill again: the changed ones, and those at `threshold` or above that
    /// they reach.
    fn spread(&mut self, p: &Population, changed: &[u32], threshold: f64) {
        let low = threshold * (1.0 - SAME_LEVEL);
        self.classes.clear();
        changed.iter().filter(|c| p.flows[**c as usize] > 0).for_each(|c| self.collect(*c));
        self.heap.clear();
        let mut next = 0;
        while let Some(&link) = self.links.get(next) {
            next += 1;
            self.start_link(p, link, low);
        }
    }

    /// Collects from one link, and takes its room and rising weight: after this no class on it is
    /// collected any more.
    pub(crate) fn start_link(&mut self, p: &Population, link: u32, low: f64) {
        let (mut room, mut weight, mut risers) = (p.caps[link as usize], 0.0, 0);
        for class in p.on_link(link) {
            let state = self.class[class as usize];
            if !state.rising && state.level < low {
                room -= state.weight * state.level;
                continue;
            }
            weight += state.weight;
            risers += 1;
            if !state.rising {
                self.collect(class);
                // In a dense network a few classes reach every link.
                if self.links.len() < self.room.len() {
                    p.path(class).iter().for_each(|l| self.visit_link(*l));
                }
            }
        }
        let l = link as usize;
        (self.room[l], self.weight[l], self.risers[l], self.full_at[l]) = (room, weight, risers, f64::INFINITY);
        self.push_link(link);
    }

    fn collect(&mut self, class: u32) {
        if !self.class[class as usize].rising {
            self.class[class as usize].rising = true;
            self.classes.push(class);
        }
    }

    /// Fills the collected classes on the collected links; all others stay as they are.
    pub(crate) fn fill(&mut self, p: &Population) {
        self.limited.clear();
        self.limited.extend(self.classes.iter().filter(|c| p.limit[**c as usize].is_finite()));
        let limit = |c: u32| p.limit[c as usize];
        self.limited.sort_unstable_by(|a, b| limit(*b).total_cmp(&limit(*a)));
        loop {
            let link = self.next_full_link();
            while self.limited.last().is_some_and(|c| !self.class[*c as usize].rising) {
                self.limited.pop();
            }
            let limited = self.limited.last().map(|c| (p.limit[*c as usize], *c));
            match (link, limited) {
                (Some((s, link)), Some((limit, _))) if s <= limit => self.freeze_link(p, link, s),
                (Some((s, link)), None) => self.freeze_link(p, link, s),
                (_, Some((limit, class))) => {
                    self.freeze(p, class, limit);
                    self.limited.pop();
                    // The link that was found is still in play: put its present bound back.
                    if let Some((_, link)) = link {
                        self.push_link(link);
                    }
                }
                (None, None) => return,
            }
        }
    }

    /// Level at which the link's rising classes fill what is left of it.
    fn bound(&self, link: u32) -> f64 {
        self.room[link as usize].max(0.0) / self.weight[link as usize]
    }

    fn push_link(&mut self, link: u32) {
        if self.risers[link as usize] > 0 {
            // Levels are never negative, so their bits order as they do.
            self.heap.push((Reverse(self.bound(link).to_bits()), link));
        }
    }

    /// Takes the link that is full next. Bounds only rise as classes freeze, so what the heap holds
    /// is never too high.
    fn next_full_link(&mut self) -> Option<(f64, u32)> {
        while let Some((Reverse(bits), link)) = self.heap.pop() {
            if self.risers[link as usize] == 0 {
                continue;
            }
            let (held, bound) = (f64::from_bits(bits), self.bound(link));
            if bound <= held {
                return Some((bound, link));
            }
            self.push_link(link);
        }
        None
    }

    fn freeze_link(&mut self, p: &Population, link: u32, level: f64) {
        self.full_at[link as usize] = level;
        for class in p.on_link(link) {
            if self.class[class as usize].rising {
                self.freeze(p, class, level);
            }
        }
    }

    fn freeze(&mut self, p: &Population, class: u32, level: f64) {
        self.class[class as usize].rising = false;
        self.class[class as usize].level = level;
        let total = self.class[class as usize].weight;
        for &link in p.path(class) {
            self.room[link as usize] -= total * level;
            self.weight[link as usize] -= total;
            self.risers[link as usize] -= 1;
        }
    }
}

impl Allocator for MaxMin {
    fn population(&self) -> &Population {
        &self.population
    }
    fn add_class(&mut self, path: &[u32], weight: f64, limit_bps: f64) -> u32 {
        let class = self.population.add_class(path, weight, limit_bps);
        self.filling.class.resize(self.population.classes(), ClassState::default());
        self.filling.class_mark.resize(self.population.classes(), 0);
        self.filling.class[class as usize] = ClassState::default();
        class
    }
    fn forget(&mut self, class: u32) {
        self.population.forget(class);
    }
    fn join(&mut self, class: u32) {
        self.population.join(class);
        self.filling.class[class as usize].weight = self.population.total_weight(class);
        self.changed_classes.push(class);
    }
    fn leave(&mut self, class: u32) {
        self.population.leave(class);
        self.filling.class[class as usize].weight = self.population.total_weight(class);
        self.changed_classes.push(class);
    }
    fn set_capacity(&mut self, link: u32, bps: f64) {
        self.population.caps[link as usize] = bps;
        self.changed_links.push(link);
    }
    fn resolve(&mut self, affected: &mut Vec<u32>) {
        let (p, classes, links) = (&self.population, &self.changed_classes, &self.changed_links);
        if !self.filling.fill_few(p, classes, links) {
            let threshold = self.filling.threshold(p, classes, links);
            self.filling.spread(p, classes, threshold);
            self.filling.fill(p);
        }
        self.changed_classes.clear();
        self.changed_links.clear();
        affected.extend_from_slice(&self.filling.classes);
    }
    fn level(&self, class: u32) -> f64 {
        self.filling.class[class as usize].level
    }
}
