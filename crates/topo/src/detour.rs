//! INRPP's 1-hop detours: ways around a link through one common neighbour of its ends.
//!
//! A 1-hop detour of the link a–b is a router c that is linked to both a and b. **Table I** of the
//! INRPP paper (Psaras et al.) gives for nine Rocketfuel maps the share of links that have at least
//! one, how these links split by their number of detours, and the largest number. How it was
//! counted is not stated; its figures come out when
//!
//! - the nodes are those marked `r0` (the ISP's own routers), connected or not;
//! - a link is an unordered pair of them, however often and from whichever end it is listed (in our
//!   files, every link is listed once from each end);
//! - the split is in per cent of the links that have a detour.
//!
//! That gives Tiscali (3257), AT&T (7018) and VSNL (4755) to the last digit. Level3 (3356) and
//! Sprintlink (1239) list 3 and 11 routers as neighbours of themselves. Left out, as a router can't
//! detour through itself, they give 92.22 % and 56.66 %. Counted as links and as neighbours
//! ([`SelfLinks::Counted`]) they give 92.30 % (max 95) and 57.35 % (max 27) with the split
//! 44.99/20.73/14.92/6.81/12.55: the paper's 92.30 (95) and 57.3 (27), 44.9/20.7/14.9/6.8. So this
//! is what the authors did, and the paper's 57.6 for Sprintlink's "5+" is a slip for 12.6.

use serde::{Deserialize, Serialize};

use crate::adjacency::Adjacency;

/// What a link from a node to itself counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SelfLinks {
    /// Nothing.
    #[default]
    LeftOut,
    /// A link, and the node as a neighbour of itself, as in INRPP's Table I.
    Counted,
}

/// One row of INRPP's Table I.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Availability {
    /// Links, as unordered pairs of nodes.
    pub links: usize,
    /// Links with at least one 1-hop detour.
    pub with_detour: usize,
    /// How many of those have exactly 1, 2, 3, 4, and 5 or more.
    pub by_count: [usize; 5],
    /// The largest number of detours of one link.
    pub max: usize,
    /// `with_detour` in per cent of `links`; `None` without links.
    pub percent: Option<f64>,
    /// `by_count` in per cent of `with_detour`; `None` without detours.
    pub split_percent: Option<[f64; 5]>,
}

impl Availability {
    /// Of all nodes of a graph.
    pub fn of(graph: &Adjacency, self_links: SelfLinks) -> Availability {
        let neighbours: Vec<Vec<u32>> = (0..graph.len()).map(|n| neighbours(graph, n, self_links)).collect();
        let pairs = neighbours
            .iter()
            .enumerate()
            .flat_map(|(a, list)| list.iter().map(move |&b| (a, b as usize)).filter(|(a, b)| a <= b));
        Availability::from_counts(pairs.map(|(a, b)| common(&neighbours[a], &neighbours[b]).count()))
    }

    fn from_counts(counts: impl Iterator<Item = usize>) -> Availability {
        let (mut links, mut by_count, mut max) = (0, [0; 5], 0);
        for count in counts {
            links += 1;
            max = max.max(count);
            if count > 0 {
                by_count[count.min(5) - 1] += 1;
            }
        }
        let with_detour = by_count.iter().sum();
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole as f64;
        Availability {
            links,
            with_detour,
            by_count,
            max,
            percent: (links > 0).then(|| percent(with_detour, links)),
            split_percent: (with_detour > 0).then(|| by_count.map(|n| percent(n, with_detour))),
        }
    }
}

fn neighbours(graph: &Adjacency, n: usize, self_links: SelfLinks) -> Vec<u32> {
    let mut list = graph.neighbours(n);
    if self_links == SelfLinks::Counted && graph.ports(n).iter().any(|p| p.peer as usize == n) {
        let at = list.partition_point(|&m| (m as usize) < n);
        list.insert(at, n as u32);
    }
    list
}

/// What two sorted lists have in common.
fn common<'a>(x: &'a [u32], y: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let (short, long) = if x.len() <= y.len() { (x, y) } else { (y, x) };
    short.iter().copied().filter(|n| long.binary_search(n).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, links: &[(usize, usize)]) -> Adjacency {
        Adjacency::new(nodes, links.iter().copied())
    }

    #[test]
    fn complete_graphs_detour_through_everyone_else() {
        let k5: Vec<_> = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
        let a = Availability::of(&graph(5, &k5), SelfLinks::LeftOut);
        assert_eq!((a.links, a.with_detour, a.max, a.by_count), (10, 10, 3, [0, 0, 10, 0, 0]));
        assert_eq!(a.percent, Some(100.0));
    }

    #[test]
    fn trees_have_none_and_doubled_links_count_once() {
        let a = Availability::of(&graph(3, &[(0, 1), (1, 0), (1, 2)]), SelfLinks::LeftOut);
        assert_eq!((a.links, a.with_detour, a.split_percent), (2, 0, None));
        assert_eq!(Availability::of(&graph(1, &[]), SelfLinks::LeftOut).percent, None);
    }

    #[test]
    fn self_links_make_detours_only_when_counted() {
        let g = graph(2, &[(0, 0), (0, 1)]);
        assert_eq!(Availability::of(&g, SelfLinks::LeftOut).by_count, [0; 5]);
        // 0–0 through 0 and 1; 0–1 through 0.
        assert_eq!(Availability::of(&g, SelfLinks::Counted).by_count, [1, 1, 0, 0, 0]);
    }
}
