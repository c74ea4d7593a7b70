//! Primal-dual interior-point method for weighted proportional fairness.
//!
//! Maximise Σ W_c log y_c subject to Σ_{c on l} W_c y_c ≤ C_l and y_c ≤ u_c. With link prices p, a
//! price r for each class's own limit, z_c = Σ_{l on c} p_l + r_c, and slacks s and t, an optimum
//! is where
//!
//! load_l + s_l = C_l, y_c + t_c = u_c (linear, kept all along) and y_c z_c = 1, p_l s_l = 0, r_c
//! t_c = 0, all ≥ 0.
//!
//! Newton's method runs on the products. The targets of p·s and r·t go to zero by Mehrotra's
//! predictor and corrector (Wright, *Primal-Dual Interior-Point Methods*, ch. 10); that of y·z
//! stays 1. Every quantity is scaled so that the largest capacity and the sum of weights are 1.

use crate::cholesky::Lower;

/// Errors of products (p·s relative to the weight on the link) and of the linear equations at which
/// we stop.
const DONE: f64 = 1e-13;
/// Newton steps at most; 10 to 25 are usual.
const MAX_STEPS: u32 = 100;
/// Share of the way to zero that a step may take any quantity, at least; it goes to 1 as products
/// go to 0.
const BOUNDARY: f64 = 0.99;

/// A class as the method sees it.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    /// Links, as indices into the problem's; a link that is crossed twice comes twice.
    pub(crate) links: Vec<u32>,
    /// Weight of all its flows.
    pub(crate) weight: f64,
    /// Highest level, infinite for none.
    pub(crate) limit: f64,
}

/// A point, or a direction.
#[derive(Debug, Default)]
pub(crate) struct Point {
    /// Of links: p and s.
    pub(crate) price: Vec<f64>,
    slack: Vec<f64>,
    /// Of classes: r, t, z and y. Without a limit r is 0 and t stays 1.
    pub(crate) own: Vec<f64>,
    own_slack: Vec<f64>,
    sum: Vec<f64>,
    pub(crate) level: Vec<f64>,
}

/// A problem in scaled units, and its solution.
#[derive(Debug, Default)]
pub(crate) struct Interior {
    pub(crate) caps: Vec<f64>,
    pub(crate) classes: Vec<Class>,
    /// Where we are. The prices given are where the search starts.
    pub(crate) at: Point,
    /// Weight on each link.
    scale: Vec<f64>,
    matrix: Lower,
    step: Point,
    affine: Point,
}

impl Interior {
    /// Solves, quickly from the prices given (zeros: none known), else slowly and surely from
    /// scratch. Returns whether the stopping test was met.
    pub(crate) fn solve(&mut self) -> bool {
        if self.iterate(Self::newton) {
            return true;
        }
        self.at.price.fill(0.0);
        self.at.own.fill(0.0);
        self.iterate(Self::careful_newton)
    }

    fn iterate(&mut self, step: fn(&mut Self)) -> bool {
        self.start();
        for _ in 0..MAX_STEPS {
            if self.error() < DONE {
                return true;
            }
            step(self);
        }
        self.error() < DONE
    }

    /// A start that meets the linear equations, with slack. W_l / C_l is a safe price: it alone
    /// keeps the link's load within its capacity.
    fn start(&mut self) {
        let (links, classes) = (self.caps.len(), self.classes.len());
        self.scale = vec![0.0; links];
        for class in &self.classes {
            class.links.iter().for_each(|l| self.scale[*l as usize] += class.weight);
        }
        let at = &mut self.at;
        at.price.resize(links, 0.0);
        at.own.resize(classes, 0.0);
        for l in 0..links {
            // A known price is kept off zero, or it could not move: a thousandth of the safe one.
            let safe = self.scale[l] / self.caps[l];
            at.price[l] = if at.price[l] > 0.0 { at.price[l].max(1e-3 * safe) } else { safe };
        }
        at.sum = vec![0.0; classes];
        at.level = vec![0.0; classes];
        at.own_slack = vec![1.0; classes];
        for (c, class) in self.classes.iter().enumerate() {
            at.own[c] = if class.limit.is_finite() { at.own[c].max(1e-3 / class.limit) } else { 0.0 };
            at.sum[c] = at.own[c] + class.links.iter().map(|l| at.price[*l as usize]).sum::<f64>();
            at.level[c] = (1.0 / at.sum[c]).min(0.9 * class.limit);
        }
        self.start_levels();
    }

    /// Takes levels back to where every link has at least a hundredth of its capacity free.
    fn start_levels(&mut self) {
        let room: Vec<f64> = self.loads().iter().zip(&self.caps).map(|(load, cap)| 0.99 * cap / load).collect();
        for (c, class) in self.classes.iter().enumerate() {
            let level = &mut self.at.level[c];
            *level *= class.links.iter().map(|l| room[*l as usize]).fold(1.0, f64::min);
            if class.limit.is_finite() {
                // The price of the limit makes y·z = 1, as it shall be.
                let missing = (1.0 / *level - self.at.sum[c]).max(0.0);
                self.at.own[c] += missing;
                self.at.sum[c] += missing;
                self.at.own_slack[c] = class.limit - *level;
            }
        }
        self.at.slack = self.caps.iter().zip(self.loads()).map(|(cap, load)| cap - load).collect();
    }

    fn loads(&self) -> Vec<f64> {
        let mut load = vec![0.0; self.caps.len()];
        for (class, level) in self.classes.iter().zip(&self.at.level) {
            class.links.iter().for_each(|l| load[*l as usize] += class.weight * level);
        }
        load
    }

    /// How far rounding has moved us off load + s = C.
    fn gaps(&self) -> Vec<f64> {
        let loads = self.loads();
        (0..self.caps.len()).map(|l| self.caps[l] - self.at.slack[l] - loads[l]).collect()
    }

    /// The largest error of a product or a link's equation.
    fn error(&self) -> f64 {
        let links = self
            .gaps()
            .into_iter()
            .enumerate()
            .map(|(l, gap)| (self.at.price[l] * self.at.slack[l] / self.scale[l]).max(gap.abs() / self.caps[l]));
        let own = self.limited().map(|c| self.at.own[c] * self.at.own_slack[c]);
        links.chain(own).fold(self.off_level(), f64::max)
    }

    fn limited(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.classes.len()).filter(|c| self.classes[*c].limit.is_finite())
    }

    /// Mean of p·s / W and r·t a step further.
    fn mean_product(&self, step: &Point, length: f64) -> f64 {
        let after = |x: &[f64], dx: &[f64], i: usize| x[i] + length * dx[i];
        let links = (0..self.caps.len())
            .map(|l| after(&self.at.price, &step.price, l) * after(&self.at.slack, &step.slack, l) / self.scale[l]);
        let own =
            self.limited().map(|c| after(&self.at.own, &step.own, c) * after(&self.at.own_slack, &step.own_slack, c));
        let (sum, n) = links.chain(own).fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1));
        sum / f64::from(n.max(1))
    }

    /// One predictor and one corrector with the same matrix.
    fn newton(&mut self) {
        self.build();
        let (mut affine, mut step) = (std::mem::take(&mut self.affine), std::mem::take(&mut self.step));
        self.direction(0.0, None, &mut affine);
        let mu = self.mean_product(&affine, 0.0);
        let reach = self.longest(&affine, BOUNDARY);
        let after = self.mean_product(&affine, reach);
        // Mehrotra's heuristic: aim the closer to zero, the further the predictor came.
        let target = mu * (after / mu).clamp(0.0, 1.0).powi(3);
        self.direction(target.max(1e-3 * DONE), Some((&affine, reach * reach)), &mut step);
        let length = self.longest(&step, BOUNDARY.max(1.0 - mu));
        self.at.walk(&step, length);
        (self.affine, self.step) = (affine, step);
    }

    /// A short step along the central path, without prediction: the products' targets are a third
    /// of their mean, or the mean itself while y·z is further from 1 than that. (Path following:
    /// Wright, ch. 5.)
    fn careful_newton(&mut self) {
        self.build();
        let mut step = std::mem::take(&mut self.step);
        step.resize(self.caps.len(), self.classes.len());
        let mu = self.mean_product(&step, 0.0);
        let target = if self.off_level() > mu.max(0.1) { mu } else { mu / 3.0 };
        self.direction(target.max(1e-3 * DONE), None, &mut step);
        let length = self.longest(&step, 0.9);
        self.at.walk(&step, length);
        self.step = step;
    }

    /// The largest distance of y·z from 1.
    fn off_level(&self) -> f64 {
        let levels = self.at.level.iter().zip(&self.at.sum);
        levels.map(|(y, z)| (y * z - 1.0).abs()).fold(0.0, f64::max)
    }

    /// For a class: a = y/z, and t + r·a.
    fn curvature(&self, c: usize) -> (f64, f64) {
        let a = self.at.level[c] / self.at.sum[c];
        (a, self.at.own_slack[c] + self.at.own[c] * a)
    }

    /// Σ W a t/(t + r a) over pairs of links, and s/p on the diagonal. Without a limit r = 0, and
    /// the fraction is a.
    fn build(&mut self) {
        let mut matrix = std::mem::take(&mut self.matrix);
        matrix.reset(self.caps.len());
        for (c, class) in self.classes.iter().enumerate() {
            let (a, d) = self.curvature(c);
            let bend = class.weight * a * self.at.own_slack[c] / d;
            for (k, &i) in class.links.iter().enumerate() {
                matrix.add(i as usize, i as usize, bend);
                for &j in &class.links[..k] {
                    // A link that is crossed twice meets itself on the diagonal, where both halves
                    // of the pair fall.
                    matrix.add(i.max(j) as usize, i.min(j) as usize, if i == j { 2.0 * bend } else { bend });
                }
            }
        }
        (0..self.caps.len()).for_each(|l| matrix.add(l, l, self.at.slack[l] / self.at.price[l]));
        matrix.factor();
        self.matrix = matrix;
    }

    /// Newton's direction towards products p·s and r·t of `target`, with a share of the
    /// second-order terms of `affine` if given: the square of how far it can go (a predictor that
    /// can't is no prediction).
    ///
    /// With e = 1 − yz, g = target − rt, G = target·W − ps (less the second-order terms): dy = e/z
    /// − a (dq + dr), dr = (g + r e/z − r a dq) / (t + r a), dt = −dy, ds = gap − Σ W dy, p ds + s
    /// dp = G.
    fn direction(&self, target: f64, affine: Option<(&Point, f64)>, out: &mut Point) {
        let (at, n, classes) = (&self.at, self.caps.len(), self.classes.len());
        out.resize(n, classes);
        let second = |pick: fn(&Point) -> (&[f64], &[f64]), i: usize| {
            affine.map_or(0.0, |(step, share)| share * pick(step).0[i] * pick(step).1[i])
        };
        let products: Vec<f64> = (0..n)
            .map(|l| target * self.scale[l] - at.price[l] * at.slack[l] - second(|s| (&s.price, &s.slack), l))
            .collect();
        for (l, (product, gap)) in products.iter().zip(self.gaps()).enumerate() {
            out.price[l] = product / at.price[l] - gap;
        }
        // `own` and `level` hold the parts of dr and dy that don't depend on dq.
        for (c, class) in self.classes.iter().enumerate() {
            let (a, d) = self.curvature(c);
            let e = (1.0 - at.level[c] * at.sum[c] - second(|s| (&s.level, &s.sum), c)) / at.sum[c];
            if class.limit.is_finite() {
                let g = target - at.own[c] * at.own_slack[c] - second(|s| (&s.own, &s.own_slack), c);
                out.own[c] = (g + at.own[c] * e) / d;
            }
            out.level[c] = e - a * out.own[c];
            class.links.iter().for_each(|l| out.price[*l as usize] += class.weight * out.level[c]);
        }
        self.matrix.solve(&mut out.price);
        for (c, class) in self.classes.iter().enumerate() {
            let (a, d) = self.curvature(c);
            let dq: f64 = class.links.iter().map(|l| out.price[*l as usize]).sum();
            out.own[c] -= at.own[c] * a / d * dq;
            out.level[c] -= a * at.own_slack[c] / d * dq;
            out.sum[c] = dq + out.own[c];
            out.own_slack[c] = if class.limit.is_finite() { -out.level[c] } else { 0.0 };
        }
        for (l, product) in products.iter().enumerate() {
            out.slack[l] = (product - at.slack[l] * out.price[l]) / at.price[l];
        }
    }

    /// The longest step, 1 at most, that keeps everything positive.
    fn longest(&self, step: &Point, boundary: f64) -> f64 {
        let bound = |x: &[f64], dx: &[f64]| {
            let ratios = x.iter().zip(dx).filter(|(_, dx)| **dx < 0.0).map(|(x, dx)| -boundary * x / dx);
            ratios.fold(1.0, f64::min)
        };
        let at = self.at.parts();
        at.into_iter().zip(step.parts()).map(|(x, dx)| bound(x, dx)).fold(1.0, f64::min)
    }
}

impl Point {
    fn resize(&mut self, links: usize, classes: usize) {
        for (i, part) in self.parts_mut().into_iter().enumerate() {
            part.clear();
            part.resize(if i < 2 { links } else { classes }, 0.0);
        }
    }

    fn parts(&self) -> [&Vec<f64>; 6] {
        [&self.price, &self.slack, &self.own, &self.own_slack, &self.sum, &self.level]
    }

    fn parts_mut(&mut self) -> [&mut Vec<f64>; 6] {
        let Point { price, slack, own, own_slack, sum, level } = self;
        [price, slack, own, own_slack, sum, level]
    }

    fn walk(&mut self, step: &Point, length: f64) {
        for (x, dx) in self.parts_mut().into_iter().zip(step.parts()) {
            x.iter_mut().zip(dx).for_each(|(x, dx)| *x += length * dx);
        }
    }
}
