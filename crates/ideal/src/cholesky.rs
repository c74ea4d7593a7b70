//! Cholesky factorisation of dense symmetric positive (semi)definite matrices.
//!
//! Our own, not a linear algebra crate's: 60 lines, one use, and pivots that vanish need the
//! interior-point treatment.

/// A square matrix of which only the lower triangle counts, row by row.
#[derive(Debug, Default)]
pub(crate) struct Lower {
    n: usize,
    a: Vec<f64>,
    /// 1/√diagonal of the matrix before factorisation: scales it to a unit diagonal.
    scale: Vec<f64>,
}

/// Pivots below this share of the (unit) diagonal are rounding: their unknowns are set to zero, as
/// interior-point codes do (Wright, *Primal-Dual Interior-Point Methods*, §11).
const TINY_PIVOT: f64 = 1e-14;

impl Lower {
    /// All zeros, reusing memory.
    pub(crate) fn reset(&mut self, n: usize) {
        self.n = n;
        self.a.clear();
        self.a.resize(n * n, 0.0);
    }

    /// Adds `v` at (i, j), i ≥ j.
    pub(crate) fn add(&mut self, i: usize, j: usize, v: f64) {
        self.a[i * self.n + j] += v;
    }

    /// Factors in place, after scaling to a unit diagonal.
    pub(crate) fn factor(&mut self) {
        let n = self.n;
        self.scale.clear();
        self.scale.extend((0..n).map(|i| self.a[i * n + i].max(f64::MIN_POSITIVE).sqrt().recip()));
        for i in 0..n {
            let (done, rest) = self.a.split_at_mut(i * n);
            let row = &mut rest[..=i];
            row.iter_mut().zip(&self.scale).for_each(|(v, s)| *v *= s * self.scale[i]);
            for j in 0..i {
                let other = &done[j * n..=j * n + j];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            row[i] = if pivot > TINY_PIVOT { pivot.sqrt() } else { 1e64 };
        }
    }

    /// Solves with the factors, in place.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let n = self.n;
        x.iter_mut().zip(&self.scale).for_each(|(v, s)| *v *= s);
        for i in 0..n {
            let row = &self.a[i * n..=i * n + i];
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        for i in (0..n).rev() {
            let row = &self.a[i * n..=i * n + i];
            x[i] /= row[i];
            let v = x[i];
            x[..i].iter_mut().zip(row).for_each(|(x, a)| *x -= a * v);
        }
        x.iter_mut().zip(&self.scale).for_each(|(v, s)| *v *= s);
    }
}

/// Inner product in eight lanes: addition of floats is not reordered by the compiler, so we say the
/// order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut lanes, a8, b8) = ([0.0; 8], a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for k in 0..8 {
            lanes[k] += x[k] * y[k];
        }
    }
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_known_system() {
        // A = B·Bᵀ + I for a B of small whole numbers; x chosen, right-hand side computed.
        let n = 23;
        let b = |i: usize, j: usize| ((i * 7 + j * 3) % 5) as f64 - 2.0;
        let a = |i: usize, j: usize| (0..n).map(|k| b(i, k) * b(j, k)).sum::<f64>() + f64::from(u8::from(i == j));
        let mut m = Lower::default();
        m.reset(n);
        (0..n).for_each(|i| (0..=i).for_each(|j| m.add(i, j, a(i, j))));
        let wanted: Vec<f64> = (0..n).map(|i| i as f64 - 4.5).collect();
        let mut x: Vec<f64> = (0..n).map(|i| (0..n).map(|j| a(i, j) * wanted[j]).sum()).collect();
        m.factor();
        m.solve(&mut x);
        assert!(x.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{x:?}");
    }

    #[test]
    fn a_dependent_row_is_left_out() {
        let mut m = Lower::default();
        m.reset(2);
        [(0, 0), (1, 0), (1, 1)].into_iter().for_each(|(i, j)| m.add(i, j, 4.0));
        m.factor();
        let mut x = [8.0, 8.0];
        m.solve(&mut x);
        assert!((x[0] - 2.0).abs() < 1e-12 && x[1].abs() < 1e-12, "{x:?}");
    }
}
