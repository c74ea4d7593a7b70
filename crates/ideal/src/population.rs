//! Classes of identical flows, and the classes on each link.
//!
//! Flows of one path, weight and limit always get the same rate, so the allocations work on
//! classes. A class's *level* is its rate for one unit of weight: a flow of weight w runs at w ·
//! level.

use crate::IdealError;

/// Classes and links, and how many flows each class has at the moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Population {
    /// Capacity of each link in bits per second.
    pub(crate) caps: Vec<f64>,
    /// Weight of one flow of each class.
    pub(crate) weight: Vec<f64>,
    /// Level at which the limit of the class's flows is reached.
    pub(crate) limit: Vec<f64>,
    /// Flows of the class at the moment.
    pub(crate) flows: Vec<u32>,
    /// Links of all paths, one behind the other, and where each class's begin.
    links: Vec<u32>,
    first: Vec<u32>,
    hops: Vec<u32>,
    /// Classes that have been forgotten, by the length of their paths: their places are for others.
    forgotten: Vec<Vec<u32>>,
    /// For each of `links`: the class's place in that link's list.
    place: Vec<u32>,
    /// For each link: the classes present on it, as (class, index into `links`).
    on_link: Vec<Vec<(u32, u32)>>,
    /// The classes present, and the place of each in there.
    present: Vec<u32>,
    present_place: Vec<u32>,
}

/// Checks capacities.
pub(crate) fn check_caps(caps: &[f64]) -> Result<(), IdealError> {
    match caps.iter().position(|c| !(c.is_finite() && *c >= 0.0)) {
        Some(bad) => Err(IdealError::Capacity(bad)),
        None => Ok(()),
    }
}

/// Checks what a flow brings to an allocation.
pub(crate) fn check_flow(flow: usize, path: &[u32], weight: f64, limit: f64, links: usize) -> Result<(), IdealError> {
    if let Some(&link) = path.iter().find(|l| **l as usize >= links) {
        return Err(IdealError::Link { flow, link });
    }
    if !(weight.is_finite() && weight > 0.0) {
        return Err(IdealError::Weight(flow));
    }
    if limit.is_nan() || limit < 0.0 {
        return Err(IdealError::Limit(flow));
    }
    if path.is_empty() && limit.is_infinite() { Err(IdealError::Unbounded(flow)) } else { Ok(()) }
}

impl Population {
    pub(crate) fn new(caps: &[f64]) -> Population {
        Population { caps: caps.to_vec(), on_link: vec![Vec::new(); caps.len()], ..Self::default() }
    }

    /// A population with one flow of each given kind, checked.
    pub(crate) fn of_flows<P: AsRef<[u32]>>(
        caps: &[f64],
        paths: &[P],
        weights: &[f64],
        limits: &[f64],
    ) -> Result<Population, IdealError> {
        check_caps(caps)?;
        if paths.len() != weights.len() || paths.len() != limits.len() {
            let (paths, weights, limits) = (paths.len(), weights.len(), limits.len());
            return Err(IdealError::Lengths { paths, weights, limits });
        }
        let mut population = Population::new(caps);
        for (i, path) in paths.iter().enumerate() {
            check_flow(i, path.as_ref(), weights[i], limits[i], caps.len())?;
            let class = population.add_class(path.as_ref(), weights[i], limits[i]);
            population.join(class);
        }
        Ok(population)
    }

    /// Rates at the given levels, where each class is one flow; at its limit, exactly the limit.
    pub(crate) fn rates(&self, level: &[f64], limits: &[f64]) -> Vec<f64> {
        let rate = |c: usize| if level[c] >= self.limit[c] { limits[c] } else { level[c] * self.weight[c] };
        (0..level.len()).map(rate).collect()
    }

    /// A new class without flows, in the place of one that has been forgotten if there is one as long.
    pub(crate) fn add_class(&mut self, path: &[u32], weight: f64, limit_bps: f64) -> u32 {
        if let Some(class) = self.forgotten.get_mut(path.len()).and_then(Vec::pop) {
            let (c, first) = (class as usize, self.first[class as usize] as usize);
            self.links[first..first + path.len()].copy_from_slice(path);
            (self.weight[c], self.limit[c]) = (weight, limit_bps / weight);
            return class;
        }
        let class = self.weight.len() as u32;
        self.first.push(self.links.len() as u32);
        self.hops.push(path.len() as u32);
        self.links.extend_from_slice(path);
        self.place.resize(self.links.len(), 0);
        self.weight.push(weight);
        self.limit.push(limit_bps / weight);
        self.flows.push(0);
        self.present_place.push(0);
        class
    }

    /// A class without flows is over: its number is for another one.
    pub(crate) fn forget(&mut self, class: u32) {
        debug_assert_eq!(self.flows[class as usize], 0);
        let hops = self.hops[class as usize] as usize;
        if self.forgotten.len() <= hops {
            self.forgotten.resize_with(hops + 1, Vec::new);
        }
        self.forgotten[hops].push(class);
    }

    /// How many classes there are, present or not.
    pub(crate) fn classes(&self) -> usize {
        self.weight.len()
    }

    /// The links of a class's path.
    pub(crate) fn path(&self, class: u32) -> &[u32] {
        &self.links[self.along(class)]
    }

    fn along(&self, class: u32) -> std::ops::Range<usize> {
        let first = self.first[class as usize] as usize;
        first..first + self.hops[class as usize] as usize
    }

    /// Weight of all the class's flows together.
    pub(crate) fn total_weight(&self, class: u32) -> f64 {
        self.weight[class as usize] * f64::from(self.flows[class as usize])
    }

    /// The classes that have flows.
    pub(crate) fn present(&self) -> &[u32] {
        &self.present
    }

    /// The classes with flows on `link`; a class whose path crosses it twice comes twice.
    pub(crate) fn on_link(&self, link: u32) -> impl Iterator<Item = u32> + '_ {
        self.on_link[link as usize].iter().map(|(class, _)| *class)
    }

    /// One more flow.
    pub(crate) fn join(&mut self, class: u32) {
        self.flows[class as usize] += 1;
        if self.flows[class as usize] > 1 {
            return;
        }
        self.present_place[class as usize] = self.present.len() as u32;
        self.present.push(class);
        for i in self.along(class) {
            let list = &mut self.on_link[self.links[i] as usize];
            self.place[i] = list.len() as u32;
            list.push((class, i as u32));
        }
    }

    /// One flow less. The class must have one.
    pub(crate) fn leave(&mut self, class: u32) {
        self.flows[class as usize] -= 1;
        if self.flows[class as usize] > 0 {
            return;
        }
        let at = self.present_place[class as usize];
        self.present.swap_remove(at as usize);
        if let Some(&moved) = self.present.get(at as usize) {
            self.present_place[moved as usize] = at;
        }
        for i in self.along(class) {
            let list = &mut self.on_link[self.links[i] as usize];
            let at = self.place[i];
            list.swap_remove(at as usize);
            if let Some(&(_, moved)) = list.get(at as usize) {
                self.place[moved as usize] = at;
            }
        }
    }
}

/// Keeps the levels of a population fair while flows come and go.
pub(crate) trait Allocator {
    /// Called for the population as it is.
    fn population(&self) -> &Population;
    /// A new class without flows, as [`Population::add_class`] has it.
    fn add_class(&mut self, path: &[u32], weight: f64, limit_bps: f64) -> u32;
    /// Called for a class without flows, after `resolve`.
    fn forget(&mut self, class: u32);
    /// Called when a flow of `class` arrives.
    fn join(&mut self, class: u32);
    /// Called when a flow of `class` ends.
    fn leave(&mut self, class: u32);
    /// Called when a link's capacity changes.
    fn set_capacity(&mut self, link: u32, bps: f64);
    /// Called once after all changes of one moment; appends every class whose level may have
    /// changed.
    fn resolve(&mut self, affected: &mut Vec<u32>);
    /// The level of a class with flows, as of the last `resolve`.
    fn level(&self, class: u32) -> f64;
}
