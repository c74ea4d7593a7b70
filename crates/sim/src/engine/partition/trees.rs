//! Networks that fall apart into equal pieces without their innermost nodes: the pods of a fat-tree
//! without its core, the leaves of a leaf-spine without its spines.

use std::collections::VecDeque;

/// Parts may have so much more than their share, as numerator and denominator.
const BALANCE: (usize, usize) = (21, 20);

/// A partition in `wanted` parts of such a network; `None` if it is none, or its pieces do not
/// balance. `next` has each node's neighbours.
pub(super) fn partition(next: &[Vec<usize>], weight: &[usize], wanted: usize) -> Option<Vec<u32>> {
    let depth = depths(next);
    // Ends, and those next to them, are what pieces are made of.
    let innermost = depth.iter().copied().filter(|d| *d != usize::MAX).max().filter(|d| *d >= 2)?;
    let mut part_of = vec![None; next.len()];
    let mut sums = vec![0; wanted];
    let mut pieces = pieces(next, |n| depth[n] < innermost);
    let heavy = |piece: &[usize]| piece.iter().map(|n| weight[*n]).sum::<usize>();
    pieces.sort_by_key(|piece| (std::cmp::Reverse(heavy(piece)), piece[0]));
    for piece in pieces {
        let part = least(&sums);
        sums[part] += heavy(&piece);
        piece.into_iter().for_each(|n| part_of[n] = Some(part));
    }
    // Each to the part with least to do; of parts that are about even, to the one with most links to
    // it. What no end has a way to comes last here, too.
    for n in (0..next.len()).filter(|n| depth[*n] >= innermost) {
        let links = |part: usize| next[n].iter().filter(|m| part_of[**m] == Some(part)).count();
        let part = (0..wanted).min_by_key(|part| (sums[*part] - links(*part).min(sums[*part]), *part))?;
        sums[part] += weight[n];
        part_of[n] = Some(part);
    }
    let fair = sums.iter().sum::<usize>().div_ceil(wanted);
    let balanced = sums.iter().all(|sum| sum * BALANCE.1 <= fair * BALANCE.0);
    balanced.then(|| part_of.into_iter().map(|part| part.unwrap_or(0) as u32).collect())
}

/// The part with the least; of several the first one.
fn least(sums: &[usize]) -> usize {
    (0..sums.len()).min_by_key(|part| sums[*part]).unwrap_or(0)
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

/// What is connected among the nodes that `stay`.
fn pieces(next: &[Vec<usize>], stay: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let (mut seen, mut pieces) = (vec![false; next.len()], Vec::new());
    for first in (0..next.len()).filter(|n| stay(*n)) {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        let mut piece = vec![first];
        let mut at = 0;
        while let Some(&n) = piece.get(at) {
            at += 1;
            for &m in &next[n] {
                if stay(m) && !std::mem::replace(&mut seen[m], true) {
                    piece.push(m);
                }
            }
        }
        pieces.push(piece);
    }
    pieces
}
