//! Partitioning of nodes: parts of equal weight with few links between them, cut at long delays.

mod trees;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use midpath_core::units::Time;

use super::network::NetLink;

/// The smallest delay between two parts; [`Time::MAX`] if nothing is cut.
pub(super) fn cut_window(links: &[NetLink], part_of: &[u32]) -> Time {
    crossing(links, part_of).map(NetLink::shortest).min().unwrap_or(Time::MAX)
}

/// The links between two parts.
fn crossing<'a>(links: &'a [NetLink], part_of: &[u32]) -> impl Iterator<Item = &'a NetLink> {
    links.iter().filter(|l| part_of[l.from.0.0 as usize] != part_of[l.to.0.0 as usize])
}

/// With fewer packets than this in a window, over all links at full rate, threads wait for each
/// other more than they work. Measured in evidence/bench/README.md.
const PAYS: f64 = 256.0;

/// Whether a network has enough to do in a window for threads to pay. A guess from rates and
/// delays: it knows nothing of the traffic.
pub(super) fn pays(links: &[NetLink], window: Time) -> bool {
    let rate: f64 = links.iter().map(|link| link.rate.as_f64()).sum();
    rate * window.as_secs_f64() / FULL_PACKET >= PAYS
}

/// The bits of a full packet.
const FULL_PACKET: f64 = 8.0 * 1500.0;

/// Which part each node goes to: `wanted` parts if they balance, else as many fewer as do.
pub(super) fn partition(nodes: usize, links: &[NetLink], wanted: usize) -> Vec<u32> {
    let most = wanted.min(nodes);
    (2..=most).rev().find_map(|parts| cut(nodes, links, parts)).unwrap_or_else(|| vec![0; nodes])
}

/// What a packet costs at its end, where its transport sees it, in hops. From counts of instructions
/// with DCTCP on a fat-tree: 2,800 for a packet and its ACK at both ends, 400 for a hop.
pub(crate) const END: usize = 7;

/// How much each node has to do, if all links are used alike: one for each link, and [`END`] for a
/// node with a single link, where flows end.
fn weights(nodes: usize, links: &[NetLink]) -> Vec<usize> {
    let mut weight = vec![0; nodes];
    links.iter().for_each(|l| weight[l.from.0.0 as usize] += 1);
    weight.iter_mut().filter(|w| **w <= 1).for_each(|w| *w = END);
    weight
}

/// A partition in at most `wanted` parts with about as much to do, cut where delays are long.
///
/// Links are taken from the longest delay down as the places where one may cut; the first delay
/// that leaves pieces small enough to balance is the one. The pieces are then dealt into parts in
/// the order in which parts grow.
fn cut(nodes: usize, links: &[NetLink], wanted: usize) -> Option<Vec<u32>> {
    let weight = weights(nodes, links);
    let total: usize = weight.iter().sum();
    let delays: BTreeSet<Time> = links.iter().map(NetLink::shortest).collect();
    let fair = total.div_ceil(wanted);
    let balanced = delays.iter().rev().map(|d| pieces(nodes, links, *d)).find(|piece| {
        let mut sums = vec![0; nodes];
        (0..nodes).for_each(|n| sums[piece[n]] += weight[n]);
        sums.iter().max().is_some_and(|m| *m * 4 <= fair * 5)
    })?;
    let next = neighbours(nodes, links);
    let apart = balanced.iter().enumerate().all(|(n, piece)| n == *piece);
    let in_trees = if apart { trees::partition(&next, &weight, wanted) } else { None };
    let grown = deal(&balanced, &by_growth(&next, &weight, fair), &weight, fair, wanted);
    // Of two that cross as few links, the first: it balances better.
    in_trees.into_iter().chain([grown]).min_by_key(|parts| crossing(links, parts).count())
}

/// Where each node's links lead.
fn neighbours(nodes: usize, links: &[NetLink]) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); nodes];
    links.iter().for_each(|l| next[l.from.0.0 as usize].push(l.to.0.0 as usize));
    next
}

/// The connected pieces (by smallest member) when links of `delay` and longer are cut.
fn pieces(nodes: usize, links: &[NetLink], delay: Time) -> Vec<usize> {
    let short = links.iter().filter(|l| l.shortest() < delay);
    connected(nodes, short.map(|l| (l.from.0.0 as usize, l.to.0.0 as usize)))
}

/// What is connected by these pairs: of each node the smallest one that is.
fn connected(nodes: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut root: Vec<usize> = (0..nodes).collect();
    fn find(root: &mut [usize], mut n: usize) -> usize {
        while root[n] != n {
            root[n] = root[root[n]];
            n = root[n];
        }
        n
    }
    for (a, b) in pairs {
        let (a, b) = (find(&mut root, a), find(&mut root, b));
        let (low, high) = (a.min(b), a.max(b));
        root[high] = low;
    }
    (0..nodes).map(|n| find(&mut root, n)).collect()
}

/// An order of the nodes in which each part grows by the node that has most links into it and
/// fewest to nodes that are in no part yet.
fn by_growth(next: &[Vec<usize>], weight: &[usize], fair: usize) -> Vec<usize> {
    let nodes = next.len();
    let mut seeds: Vec<usize> = (0..nodes).collect();
    seeds.sort_by_key(|n| (next[*n].len(), *n));
    let mut seeds = seeds.into_iter();
    // Of each node, its links into the part that grows, and those to nodes that are in no part yet.
    let (mut inward, mut open) = (vec![0i64; nodes], next.iter().map(|n| n.len() as i64).collect::<Vec<_>>());
    let (mut taken, mut order, mut filled) = (vec![false; nodes], Vec::with_capacity(nodes), 0);
    // Best first, of several the first one. An entry that has changed since stands again further
    // up.
    let mut candidates: BinaryHeap<(i64, Reverse<usize>)> = BinaryHeap::new();
    loop {
        let best = std::iter::from_fn(|| candidates.pop()).find(|c| !taken[c.1.0]).map(|c| c.1.0);
        let Some(n) = best.or_else(|| seeds.find(|n| !taken[*n])) else { return order };
        taken[n] = true;
        order.push(n);
        filled += weight[n];
        for &m in &next[n] {
            inward[m] += 1;
            open[m] -= 1;
            if !taken[m] {
                candidates.push((inward[m] - open[m], Reverse(m)));
            }
        }
        if filled >= fair {
            filled = 0;
            candidates.clear();
            inward.fill(0);
        }
    }
}

/// Deals pieces into parts in the order in which their first nodes come up.
fn deal(piece: &[usize], order: &[usize], weight: &[usize], fair: usize, wanted: usize) -> Vec<u32> {
    let mut sums = vec![0; piece.len()];
    piece.iter().zip(weight).for_each(|(p, w)| sums[*p] += w);
    let mut part_of_piece = vec![u32::MAX; piece.len()];
    let (mut part, mut filled) = (0u32, 0usize);
    for &n in order {
        let p = piece[n];
        if part_of_piece[p] != u32::MAX {
            continue;
        }
        if filled > 0 && filled + sums[p] / 2 > fair && (part as usize) + 1 < wanted {
            part += 1;
            filled = 0;
        }
        part_of_piece[p] = part;
        filled += sums[p];
    }
    piece.iter().map(|p| part_of_piece[*p]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::packet::{NodeId, PortId};
    use midpath_core::units::Rate;

    fn links(edges: &[(u32, u32, u64)]) -> Vec<NetLink> {
        let link = |a: u32, b: u32, ms: u64| NetLink {
            from: (NodeId(a), PortId(0)),
            to: (NodeId(b), PortId(0)),
            rate: Rate::from_mbps(1),
            delay: Time::from_ms(ms),
            corruption: 0.0,
            course: None,
        };
        edges.iter().flat_map(|&(a, b, ms)| [link(a, b, ms), link(b, a, ms)]).collect()
    }

    #[test]
    fn it_cuts_where_delays_are_long() {
        // Two stars of 1 ms links joined by one of 20 ms.
        let l = links(&[(0, 1, 1), (0, 2, 1), (0, 3, 20), (3, 4, 1), (3, 5, 1)]);
        let parts = partition(6, &l, 2);
        assert_eq!(parts, [0, 0, 0, 1, 1, 1]);
        assert_eq!(cut_window(&l, &parts), Time::from_ms(20));
    }

    /// A fat-tree of `k` pods: hosts, edge, aggregation and core switches, by number in this order.
    fn fat_tree(k: u32) -> (usize, Vec<NetLink>) {
        let half = k / 2;
        let (edge, aggregation) = (k * half * half, k * half * half + k * half);
        let core = aggregation + k * half;
        let mut edges = Vec::new();
        for pod in 0..k {
            for i in 0..half {
                let (e, a) = (edge + pod * half + i, aggregation + pod * half + i);
                for j in 0..half {
                    edges.push(((pod * half + i) * half + j, e, 1));
                    edges.push((e, aggregation + pod * half + j, 1));
                    edges.push((a, core + i * half + j, 1));
                }
            }
        }
        ((core + half * half) as usize, links(&edges))
    }

    /// How many links cross between parts, and the weight of each part.
    fn quality(nodes: usize, links: &[NetLink], parts: &[u32]) -> (usize, Vec<usize>) {
        let mut sums = vec![0; parts.iter().max().map_or(0, |p| *p as usize + 1)];
        weights(nodes, links).iter().zip(parts).for_each(|(w, p)| sums[*p as usize] += w);
        (crossing(links, parts).count(), sums)
    }

    /// A half of a fat-tree has half of the pods, and half of the core: of the links only those to
    /// the core lead out of it, and half of these.
    #[test]
    fn a_half_of_a_fat_tree_has_half_of_its_pods() {
        for k in [4, 8, 16] {
            let (nodes, links) = fat_tree(k);
            let (crossing, sums) = quality(nodes, &links, &partition(nodes, &links, 2));
            assert_eq!(crossing, links.len() / 6, "k = {k}");
            assert_eq!(sums[0], sums[1], "k = {k}");
        }
    }

    /// Four pods in three parts would be two, one and one.
    #[test]
    fn what_is_no_forest_is_cut_where_parts_meet() {
        let (nodes, links) = fat_tree(4);
        let (crossing, sums) = quality(nodes, &links, &partition(nodes, &links, 3));
        let fair = sums.iter().sum::<usize>() / 3;
        assert!(sums.len() == 3 && sums.iter().all(|s| s * 4 > fair * 3 && s * 4 < fair * 5), "{sums:?}");
        assert!(crossing * 2 < links.len(), "{crossing} of {} links cross", links.len());
    }

    /// As in `midpath bench`: 10 Gbps, 1 µs.
    #[test]
    fn where_little_is_to_do_at_a_time_one_thread_does_it() {
        let two_pay = |k| {
            let (nodes, mut links) = fat_tree(k);
            links.iter_mut().for_each(|l| (l.rate, l.delay) = (Rate::from_gbps(10), Time::from_us(1)));
            pays(&links, cut_window(&links, &partition(nodes, &links, 2)))
        };
        assert_eq!([two_pay(4), two_pay(8)], [false, true]);
    }

    #[test]
    fn what_does_not_balance_in_four_is_cut_in_fewer() {
        // Two links each: the hub has half of all there is to do.
        let star: Vec<_> = (1..=12).flat_map(|n| [(0, n, 1), (0, n, 1)]).collect();
        let parts = partition(13, &links(&star), 4);
        assert!((2..4).contains(&(parts.iter().max().unwrap() + 1)), "{parts:?}");
        assert_eq!(partition(2, &links(&[(0, 1, 1)]), 1), [0, 0]);
    }
}
