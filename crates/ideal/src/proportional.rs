//! Weighted proportional fairness (Kelly, Maulloo & Tan 1998): the rates that maximise Σ w log x.
//!
//! Few links are full at the optimum. So the interior-point method ([`crate::interior`]) runs on a
//! working set of links; links that its solution overloads join the set until there are none. The
//! prices of the last solution start the next.

use crate::IdealError;
use crate::interior::{Class, Interior};
use crate::population::{Allocator, Population};

/// Proportionally fair rates, and the prices that prove them.
#[derive(Debug, Clone, PartialEq)]
pub struct Proportional {
    /// Rate of each flow in bits per second.
    pub rates: Vec<f64>,
    /// Price of each link: a flow without limit has rate weight / Σ prices of its links. The unit
    /// is weight per bit/s.
    pub prices: Vec<f64>,
    /// How far from an optimum this is at most, as the largest of, all relative: overload of a
    /// link; price × free capacity, over the weight on the link; distance of a rate from weight /
    /// price; and the same two for flows' limits.
    pub residual: f64,
}

/// Weighted proportionally fair rates; arguments as for [`crate::allocate_max_min`].
///
/// A flow of limit 0, or across a link of capacity 0, has rate 0 and no say in prices.
pub fn allocate_proportional<P: AsRef<[u32]>>(
    caps: &[f64],
    paths: &[P],
    weights: &[f64],
    limits: &[f64],
) -> Result<Proportional, IdealError> {
    let mut shares = Shares::new(Population::of_flows(caps, paths, weights, limits)?);
    shares.resolve(&mut Vec::new());
    let rates = shares.population.rates(&shares.level, limits);
    Ok(Proportional { rates, prices: shares.price, residual: shares.worst_residual })
}

/// Relative overload of a link outside the working set that is rounding.
const OVERLOAD: f64 = 1e-12;
/// Links that stay in the working set: fuller than this, or with a price above `PRICED` of the safe
/// one. Our choice: generous, because a link too many costs less than another solution.
const NEARLY_FULL: f64 = 0.98;
const PRICED: f64 = 1e-7;

/// A proportionally fair allocation that follows its population.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    population: Population,
    level: Vec<f64>,
    /// Price of each link and of each class's limit, for one unit of weight.
    price: Vec<f64>,
    own: Vec<f64>,
    /// Is the link in the working set, and where?
    working: Vec<bool>,
    place: Vec<u32>,
    load: Vec<f64>,
    weight: Vec<f64>,
    /// Classes whose level is to be found.
    live: Vec<u32>,
    interior: Interior,
    worst_residual: f64,
}

/// Units in which the largest capacity and the sum of weights are 1.
#[derive(Clone, Copy)]
struct Units {
    cap: f64,
    weight: f64,
}

impl Shares {
    pub(crate) fn new(population: Population) -> Shares {
        let (classes, links) = (population.classes(), population.caps.len());
        Shares {
            population,
            level: vec![0.0; classes],
            price: vec![0.0; links],
            own: vec![0.0; classes],
            working: vec![false; links],
            place: vec![0; links],
            load: vec![0.0; links],
            weight: vec![0.0; links],
            ..Shares::default()
        }
    }

    /// The largest residual so far.
    pub(crate) fn worst_residual(&self) -> f64 {
        self.worst_residual
    }

    /// Separates the classes that can have a rate from those that can't, and weighs the links.
    fn prepare(&mut self) {
        let p = &self.population;
        self.weight.fill(0.0);
        self.live.clear();
        for &class in p.present() {
            let open = p.path(class).iter().all(|l| p.caps[*l as usize] > 0.0);
            if open && p.limit[class as usize] > 0.0 {
                self.live.push(class);
                p.path(class).iter().for_each(|l| self.weight[*l as usize] += p.total_weight(class));
            } else {
                self.level[class as usize] = 0.0;
            }
        }
        for (l, working) in self.working.iter_mut().enumerate() {
            *working &= self.weight[l] > 0.0 && p.caps[l] > 0.0;
        }
    }

    /// Every class without a limit needs a link with a price: the one with the least capacity for
    /// its weight.
    fn cover(&mut self) {
        for &class in &self.live {
            let path = self.population.path(class);
            let covered = path.iter().any(|l| self.working[*l as usize]);
            if !covered && self.population.limit[class as usize].is_infinite() {
                let share = |l: &&u32| self.population.caps[**l as usize] / self.weight[**l as usize];
                let tightest = path.iter().min_by(|a, b| share(a).total_cmp(&share(b)));
                tightest.into_iter().for_each(|l| self.working[*l as usize] = true);
            }
        }
    }

    /// Solves on the working set.
    fn solve(&mut self) {
        let links: Vec<u32> = (0..self.working.len() as u32).filter(|l| self.working[*l as usize]).collect();
        links.iter().zip(0..).for_each(|(l, i)| self.place[*l as usize] = i);
        self.price.iter_mut().zip(&self.working).filter(|(_, w)| !**w).for_each(|(p, _)| *p = 0.0);
        let on_links: Vec<u32> = self
            .live
            .iter()
            .copied()
            .filter(|c| self.population.path(*c).iter().any(|l| self.working[*l as usize]))
            .collect();
        self.live.iter().for_each(|c| self.level[*c as usize] = self.population.limit[*c as usize]);
        if links.is_empty() {
            return;
        }
        let units = Units {
            cap: links.iter().map(|l| self.population.caps[*l as usize]).fold(0.0, f64::max),
            weight: on_links.iter().map(|c| self.population.total_weight(*c)).sum(),
        };
        self.load_interior(&links, &on_links, units);
        // Whether it met its test shows in the residual, which is taken from the result alone.
        let _met = self.interior.solve();
        self.unload_interior(&links, &on_links, units);
    }

    fn load_interior(&mut self, links: &[u32], classes: &[u32], units: Units) {
        let (p, x) = (&self.population, &mut self.interior);
        let per_level = units.cap / units.weight;
        x.caps = links.iter().map(|l| p.caps[*l as usize] / units.cap).collect();
        x.at.price = links.iter().map(|l| self.price[*l as usize] * per_level).collect();
        x.at.own = classes.iter().map(|c| self.own[*c as usize] * per_level).collect();
        let class = |c: &u32| Class {
            links: p.path(*c).iter().filter(|l| self.working[**l as usize]).map(|l| self.place[*l as usize]).collect(),
            weight: p.total_weight(*c) / units.weight,
            limit: p.limit[*c as usize] / per_level,
        };
        x.classes = classes.iter().map(class).collect();
    }

    fn unload_interior(&mut self, links: &[u32], classes: &[u32], units: Units) {
        let per_level = units.cap / units.weight;
        links.iter().zip(&self.interior.at.price).for_each(|(l, p)| self.price[*l as usize] = p / per_level);
        for (i, &class) in classes.iter().enumerate() {
            self.level[class as usize] = self.interior.at.level[i] * per_level;
            self.own[class as usize] = self.interior.at.own[i] / per_level;
        }
    }

    fn weigh_loads(&mut self) {
        self.load.fill(0.0);
        for &class in &self.live {
            let rate = self.population.total_weight(class) * self.level[class as usize];
            self.population.path(class).iter().for_each(|l| self.load[*l as usize] += rate);
        }
    }

    /// Takes in the links that are overloaded; returns whether there were any.
    fn widen(&mut self) -> bool {
        self.weigh_loads();
        let mut wider = false;
        for l in 0..self.load.len() {
            if !self.working[l] && self.load[l] > self.population.caps[l] * (1.0 + OVERLOAD) {
                self.working[l] = true;
                wider = true;
            }
        }
        wider
    }

    /// Takes back what rounding put above a capacity or limit.
    fn make_feasible(&mut self) {
        for &class in &self.live {
            let path = self.population.path(class).iter();
            let room = path.map(|l| self.population.caps[*l as usize] / self.load[*l as usize]).fold(1.0, f64::min);
            let level = &mut self.level[class as usize];
            *level = (*level * room).min(self.population.limit[class as usize]);
        }
        self.weigh_loads();
    }

    /// See [`Proportional::residual`].
    fn residual(&self) -> f64 {
        let p = &self.population;
        let link = |l: usize| {
            let free = p.caps[l] - self.load[l];
            if self.weight[l] == 0.0 { 0.0 } else { (-free / p.caps[l]).max(self.price[l] * free / self.weight[l]) }
        };
        let class = |c: &u32| {
            let (c, level) = (*c as usize, self.level[*c as usize]);
            let path: f64 = p.path(c as u32).iter().map(|l| self.price[*l as usize]).sum();
            if p.limit[c].is_infinite() {
                return (1.0 - level * path).abs();
            }
            // The price of the limit that makes the level optimal must not be negative, and zero
            // away from the limit.
            let own = 1.0 / level - path;
            (-own * level).max(own * (p.limit[c] - level)).max(level / p.limit[c] - 1.0)
        };
        let links = (0..self.load.len()).map(link).fold(0.0, f64::max);
        self.live.iter().map(class).fold(links, f64::max)
    }

    fn shrink(&mut self) {
        for l in 0..self.working.len() {
            let full = self.load[l] > NEARLY_FULL * self.population.caps[l];
            self.working[l] &= full || self.price[l] * self.population.caps[l] > PRICED * self.weight[l];
        }
    }
}

impl Allocator for Shares {
    fn population(&self) -> &Population {
        &self.population
    }
    fn add_class(&mut self, path: &[u32], weight: f64, limit_bps: f64) -> u32 {
        let class = self.population.add_class(path, weight, limit_bps);
        self.level.resize(self.population.classes(), 0.0);
        self.own.resize(self.population.classes(), 0.0);
        (self.level[class as usize], self.own[class as usize]) = (0.0, 0.0);
        class
    }
    fn forget(&mut self, class: u32) {
        self.population.forget(class);
    }
    fn join(&mut self, class: u32) {
        self.population.join(class);
    }
    fn leave(&mut self, class: u32) {
        self.population.leave(class);
    }
    fn set_capacity(&mut self, link: u32, bps: f64) {
        self.population.caps[link as usize] = bps;
    }
    fn resolve(&mut self, affected: &mut Vec<u32>) {
        self.prepare();
        self.cover();
        self.solve();
        while self.widen() {
            self.solve();
        }
        self.make_feasible();
        self.worst_residual = self.worst_residual.max(self.residual());
        self.shrink();
        affected.extend_from_slice(self.population.present());
    }
    fn level(&self, class: u32) -> f64 {
        self.level[class as usize]
    }
}
