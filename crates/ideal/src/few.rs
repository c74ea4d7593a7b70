//! Incremental water-filling of the classes whose level changes.
//!
//! If links have spare capacity, an arrival or departure changes few levels. First, the changed classes, the classes
//! limited by links on their paths, and all classes on links with changed capacity are refilled; the others keep
//! their level. Then each link that they cross is checked. A class that kept its level is refilled, too, if it
//! exceeds the link's level, or if the link limited it and no longer does. When there is none, every class is at its
//! limit or has a full link on which no class is higher: the allocation is max-min fair.

use crate::maxmin::{Filling, SAME_LEVEL};
use crate::population::Population;

/// So often classes are added before all that can change are filled at once.
const ROUNDS: usize = 32;
/// With more classes than this it is given up before: filling all at once is one round.
const MOST: usize = 512;
/// Where it was given up it is not tried for 1, then 3 changes: networks in which a change reaches most
/// flows pay for a try in four.
const LONGEST: u32 = 3;

impl Filling {
    /// Fills what changed and those that have to follow; with too many rounds, puts all back and says no.
    pub(crate) fn fill_few(&mut self, p: &Population, changed: &[u32], links: &[u32]) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        self.begin(p, changed, links);
        for _ in 0..ROUNDS {
            self.fill_taken(p);
            if !self.take_following(p) {
                self.refrain = 0;
                return true;
            }
            if self.classes.len() > MOST {
                break;
            }
        }
        self.put_back();
        self.refrain = (2 * self.refrain + 1).min(LONGEST);
        self.left = self.refrain;
        false
    }

    /// Takes what changed, and those that links on its ways held.
    fn begin(&mut self, p: &Population, changed: &[u32], links: &[u32]) {
        self.round += 1;
        self.classes.clear();
        self.links.clear();
        self.levels_before.clear();
        self.full_before.clear();
        for link in links {
            self.touch(*link);
            p.on_link(*link).for_each(|c| self.take(p, c));
        }
        for class in changed {
            p.path(*class).iter().for_each(|l| self.touch(*l));
            if p.flows[*class as usize] > 0 {
                self.take(p, *class);
            }
        }
        for i in 0..self.links.len() {
            if self.full_before[i].is_finite() {
                self.take_held(p, self.links[i], self.full_before[i], f64::INFINITY);
            }
        }
    }

    fn touch(&mut self, link: u32) {
        let known = self.links.len();
        self.visit_link(link);
        if self.links.len() > known {
            self.full_before.push(self.full_at[link as usize]);
        }
    }

    fn take(&mut self, p: &Population, class: u32) {
        if self.class_mark[class as usize] != self.round {
            self.class_mark[class as usize] = self.round;
            self.classes.push(class);
            self.levels_before.push(self.class[class as usize].level);
            p.path(class).iter().for_each(|l| self.touch(*l));
        }
    }

    fn fill_taken(&mut self, p: &Population) {
        for class in &self.classes {
            self.class[*class as usize].rising = true;
        }
        self.heap.clear();
        for i in 0..self.links.len() {
            self.start_link(p, self.links[i], f64::INFINITY);
        }
        self.fill(p);
    }

    /// Takes the classes that a link held which was full at `before`, and is at `now`, and those above that.
    fn take_held(&mut self, p: &Population, link: u32, before: f64, now: f64) {
        for class in p.on_link(link) {
            let level = self.class[class as usize].level;
            let held = level >= before * (1.0 - SAME_LEVEL);
            if level > now * (1.0 + SAME_LEVEL) || held && now > level * (1.0 + SAME_LEVEL) {
                self.take(p, class);
            }
        }
    }

    /// Takes those who stayed and may not; says whether there were any.
    fn take_following(&mut self, p: &Population) -> bool {
        let (classes, links) = (self.classes.len(), self.links.len());
        for i in 0..links {
            let (before, now) = (self.full_before[i], self.full_at[self.links[i] as usize]);
            if now != before {
                self.take_held(p, self.links[i], before, now);
            }
        }
        self.classes.len() > classes
    }

    fn put_back(&mut self) {
        for (class, level) in self.classes.iter().zip(&self.levels_before) {
            self.class[*class as usize].level = *level;
        }
        for (link, full) in self.links.iter().zip(&self.full_before) {
            self.full_at[*link as usize] = *full;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate_max_min;
    use crate::maxmin::MaxMin;
    use crate::population::Allocator;
    use proptest::prelude::*;

    fn with(caps: &[f64], paths: &[Vec<u32>], limits: &[f64]) -> MaxMin {
        let mut population = Population::new(caps);
        for (path, limit) in paths.iter().zip(limits) {
            population.add_class(path, 1.0, *limit);
        }
        MaxMin::new(population)
    }

    /// Levels of the classes that are there, beside what filling all from nothing gives.
    fn assert_fair(got: &MaxMin, paths: &[Vec<u32>], limits: &[f64]) -> Result<(), TestCaseError> {
        let p = got.population();
        let there: Vec<usize> = (0..paths.len()).filter(|c| p.flows[*c] > 0).collect();
        let weights: Vec<f64> = there.iter().map(|c| f64::from(p.flows[*c])).collect();
        let own: Vec<&Vec<u32>> = there.iter().map(|c| &paths[*c]).collect();
        // As one flow of its flows' weight: its limit is theirs together.
        let most: Vec<f64> = there.iter().zip(&weights).map(|(c, w)| limits[*c] * w).collect();
        let wanted = allocate_max_min(&p.caps, &own, &weights, &most).expect("valid");
        for ((class, weight), rate) in there.iter().zip(&weights).zip(wanted) {
            let level = got.level(*class as u32);
            prop_assert!((level * weight - rate).abs() <= 1e-7 * rate, "{class}: {level} instead of {}", rate / weight);
        }
        Ok(())
    }

    fn limit() -> impl Strategy<Value = f64> {
        prop_oneof![3 => Just(f64::INFINITY), 1 => 0.1..3.0f64]
    }

    proptest! {
        #[test]
        fn what_follows_a_change_is_what_filling_all_gives(
            caps in proptest::collection::vec(0.5..20.0f64, 2..12),
            // Equal capacities make equal levels, where what holds a class is not one link.
            alike: bool,
            whole: bool,
            paths in proptest::collection::vec((proptest::collection::vec(0..12u32, 1..5), limit()), 1..25),
            steps in proptest::collection::vec((0..3u8, 0..25usize, 0.0..20.0f64), 1..80),
        ) {
            let links = caps.len() as u32;
            let caps: Vec<f64> = if alike { vec![12.0; caps.len()] } else { caps };
            let (paths, limits): (Vec<Vec<u32>>, Vec<f64>) =
                paths.into_iter().map(|(path, limit)| (path.into_iter().map(|l| l % links).collect(), limit)).unzip();
            let mut got = with(&caps, &paths, &limits);
            if whole {
                got.fill_all_from_now_on();
            }
            for (kind, which, bps) in steps {
                let class = (which % paths.len()) as u32;
                match kind {
                    0 if got.population().flows[class as usize] > 0 => got.leave(class),
                    1 => got.set_capacity(which as u32 % links, if bps < 2.0 { 0.0 } else { bps }),
                    _ => got.join(class),
                }
                // Changes of one moment come together.
                if which % 4 > 0 {
                    got.resolve(&mut Vec::new());
                    assert_fair(&got, &paths, &limits)?;
                }
            }
        }
    }

    /// Class i crosses the links i and i + 1; each link but the first is shared with the class before,
    /// which has less. What the first gains the second loses, the third gains, and so on.
    #[test]
    fn a_change_that_runs_through_a_long_chain_is_given_up_and_filled_as_a_whole() {
        for n in [ROUNDS - 2, 4 * ROUNDS] {
            let paths: Vec<Vec<u32>> = (0..n as u32).map(|i| vec![i, i + 1]).collect();
            let caps: Vec<f64> = (0..=n).map(|i| (2 * i + 1) as f64).collect();
            let mut got = with(&caps, &paths, &vec![f64::INFINITY; n]);
            (0..n as u32).for_each(|c| got.join(c));
            got.resolve(&mut Vec::new());
            got.set_capacity(0, 1.25);
            let mut affected = Vec::new();
            got.resolve(&mut affected);
            for i in 0..n {
                let wanted = (i + 1) as f64 + if i % 2 == 0 { 0.25 } else { -0.25 };
                assert!((got.level(i as u32) - wanted).abs() < 1e-9, "{i}: {}", got.level(i as u32));
            }
            assert_eq!(affected.len(), n);
            assert_eq!(got.gave_up(), n > ROUNDS);
        }
    }

    #[test]
    fn who_is_out_of_a_changes_reach_is_not_filled() {
        // Two links full of their own flows, and one flow across both that a third link holds.
        let paths = [vec![0], vec![1], vec![0, 1, 2]];
        let mut got = with(&[10.0, 10.0, 1.0], &paths, &[f64::INFINITY; 3]);
        (0..3).for_each(|c| got.join(c));
        got.resolve(&mut Vec::new());
        got.join(0);
        let mut affected = Vec::new();
        got.resolve(&mut affected);
        assert_eq!((affected, got.level(0), got.level(1)), (vec![0], 4.5, 9.0));
    }
}
