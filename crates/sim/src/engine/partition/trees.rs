//! Networks that split into equal parts when their core is removed: the pods of a fat-tree
//! without its core, the leaves of a leaf-spine without its spines.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::connected;

/// Parts may have so much more than their share, as numerator and denominator.
const BALANCE: (usize, usize) = (21, 20);

/// A partition in `wanted` parts of such a network; `None` if it is none, or its pieces do not
/// balance. `next` has each node's neighbours.
pub(super) fn partition(next: &[Vec<usize>], weight: &[usize], wanted: usize) -> Option<Vec<u32>> {
    let depth = depths(next);
    // Ends, and those next to them, are what pieces are made of.
    let innermost = depth.iter().copied().filter(|d| *d != usize::MAX).max().filter(|d| *d >= 2)?;
    let outer = |n: &usize| depth[*n] < innermost;
    let joined = (0..next.len()).filter(outer).flat_map(|n| next[n].iter().map(move |m| (n, *m)));
    let piece = connected(next.len(), joined.filter(|(_, m)| outer(m)));
    let mut heavy = vec![0; next.len()];
    (0..next.len()).for_each(|n| heavy[piece[n]] += weight[n]);
    let mut pieces: Vec<usize> = (0..next.len()).filter(|n| outer(n) && piece[*n] == *n).collect();
    pieces.sort_by_key(|p| (Reverse(heavy[*p]), *p));
    let (mut part_of_piece, mut sums) = (vec![None; next.len()], vec![0; wanted]);
    for p in pieces {
        let part = (0..wanted).min_by_key(|part| sums[*part])?;
        sums[part] += heavy[p];
        part_of_piece[p] = Some(part);
    }
    let mut part_of: Vec<Option<usize>> = piece.iter().map(|p| part_of_piece[*p]).collect();
    // Each to the part with least to do; of parts that are about even, to the one with most links to
    // it. What no end has a way to comes last here, too.
    for n in (0..next.len()).filter(|n| !outer(n)) {
        let links = |part: usize| next[n].iter().filter(|m| part_of[**m] == Some(part)).count();
        let part = (0..wanted).min_by_key(|part| (sums[*part] - links(*part).min(sums[*part]), *part))?;
        sums[part] += weight[n];
        part_of[n] = Some(part);
    }
    let fair = sums.iter().sum::<usize>().div_ceil(wanted);
    let balanced = sums.iter().all(|sum| sum * BALANCE.1 <= fair * BALANCE.0);
    balanced.then(|| part_of.into_iter().map(|part| part.unwrap_or(0) as u32).collect())
}

/// How many links it is from each node to the nearest that has a single one; `usize::MAX` if there
/// is no way to any.
fn depths(next: &[Vec<usize>]) -> Vec<usize> {
    let mut depth = vec![usize::MAX; next.len()];
    let mut queue: VecDeque<usize> = (0..next.len()).filter(|n| next[*n].len() == 1).collect();
    queue.iter().for_each(|n| depth[*n] = 0);
    while let Some(n) = queue.pop_front() {
        for &m in &next[n] {
            if depth[m] == usize::MAX {
                depth[m] = depth[n] + 1;
                queue.push_back(m);
            }
        }
    }
    depth
}
