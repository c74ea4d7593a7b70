//! Who is next to whom, in compressed rows, with the few graph questions that we ask.

use std::collections::VecDeque;

/// One end of a link, seen from the node that owns the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Index of the link.
    pub link: u32,
    /// Index of the node at the other end.
    pub peer: u32,
}

/// Ports of every node in one array, in order of link index.
#[derive(Debug, Clone, Default)]
pub struct Adjacency {
    offsets: Vec<u32>,
    ports: Vec<Port>,
}

/// Not reached.
const FAR: u32 = u32::MAX;

impl Adjacency {
    /// From the ends of each link, which must be below `nodes`. A link from a node to itself takes
    /// two ports.
    pub fn new(nodes: usize, links: impl Iterator<Item = (usize, usize)> + Clone) -> Adjacency {
        let mut offsets = vec![0u32; nodes + 1];
        for (a, b) in links.clone() {
            offsets[a + 1] += 1;
            offsets[b + 1] += 1;
        }
        for n in 0..nodes {
            offsets[n + 1] += offsets[n];
        }
        let mut next = offsets.clone();
        let mut ports = vec![Port { link: 0, peer: 0 }; offsets[nodes] as usize];
        for (i, (a, b)) in links.enumerate() {
            for (from, to) in [(a, b), (b, a)] {
                ports[next[from] as usize] = Port { link: i as u32, peer: to as u32 };
                next[from] += 1;
            }
        }
        Adjacency { offsets, ports }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ports of node `n`.
    pub fn ports(&self, n: usize) -> &[Port] {
        &self.ports[self.offsets[n] as usize..self.offsets[n + 1] as usize]
    }

    /// The number of ports of node `n`.
    pub fn degree(&self, n: usize) -> usize {
        (self.offsets[n + 1] - self.offsets[n]) as usize
    }

    /// The peers of node `n`, sorted, each once, without `n` itself.
    pub fn neighbours(&self, n: usize) -> Vec<u32> {
        let mut peers: Vec<u32> = self.ports(n).iter().map(|p| p.peer).filter(|&p| p as usize != n).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// Connected parts, the largest first (of equal ones, that with the smallest index); each
    /// sorted.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.len()];
        let mut parts = Vec::new();
        for start in 0..self.len() {
            if !seen[start] {
                let mut part = self.collect_component(start, &mut seen);
                part.sort_unstable();
                parts.push(part);
            }
        }
        parts.sort_by_key(|p: &Vec<usize>| std::cmp::Reverse(p.len()));
        parts
    }

    fn collect_component(&self, start: usize, seen: &mut [bool]) -> Vec<usize> {
        let mut part = vec![start];
        seen[start] = true;
        let mut done = 0;
        while done < part.len() {
            for port in self.ports(part[done]) {
                let peer = port.peer as usize;
                if !std::mem::replace(&mut seen[peer], true) {
                    part.push(peer);
                }
            }
            done += 1;
        }
        part
    }

    /// The longest shortest path in hops; `None` if not connected or empty.
    ///
    /// A node of degree 1 is one hop further from everything than its neighbour, so searches start
    /// only at the others.
    pub fn diameter(&self) -> Option<u32> {
        let inner: Vec<usize> = (0..self.len()).filter(|&n| self.degree(n) != 1).collect();
        if inner.is_empty() {
            return (self.len() == 2).then_some(1);
        }
        let has_leaf = |n: usize| self.ports(n).iter().any(|p| self.degree(p.peer as usize) == 1);
        let mut longest = 0;
        let mut hops = vec![FAR; self.len()];
        for &start in &inner {
            self.hops_from(start, &mut hops);
            let far = hops.iter().max().copied().filter(|&h| h != FAR)?;
            longest = longest.max(far + u32::from(has_leaf(start)));
        }
        Some(longest)
    }

    /// Fills `hops` with the distance of every node from `start`.
    fn hops_from(&self, start: usize, hops: &mut [u32]) {
        hops.fill(FAR);
        hops[start] = 0;
        let mut queue = VecDeque::from([start]);
        while let Some(n) = queue.pop_front() {
            for port in self.ports(n) {
                let peer = port.peer as usize;
                if hops[peer] == FAR {
                    hops[peer] = hops[n] + 1;
                    queue.push_back(peer);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, links: &[(usize, usize)]) -> Adjacency {
        Adjacency::new(nodes, links.iter().copied())
    }

    #[test]
    fn diameters_of_known_graphs() {
        assert_eq!(graph(1, &[]).diameter(), Some(0));
        assert_eq!(graph(2, &[(0, 1)]).diameter(), Some(1));
        assert_eq!(graph(3, &[(0, 1), (1, 2)]).diameter(), Some(2));
        assert_eq!(graph(4, &[(0, 1), (1, 2), (2, 3)]).diameter(), Some(3));
        assert_eq!(graph(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]).diameter(), Some(2));
        assert_eq!(graph(3, &[(0, 1)]).diameter(), None);
        assert_eq!(graph(4, &[(0, 1), (2, 3)]).diameter(), None);
        assert_eq!(graph(0, &[]).diameter(), None);
    }

    #[test]
    fn components_largest_first() {
        let g = graph(6, &[(4, 5), (1, 2), (2, 3)]);
        assert_eq!(g.components(), [vec![1, 2, 3], vec![4, 5], vec![0]]);
    }

    #[test]
    fn parallel_links_are_ports_of_their_own_but_one_neighbour() {
        let g = graph(2, &[(0, 1), (1, 0)]);
        assert_eq!((g.degree(0), g.neighbours(0)), (2, vec![1]));
    }
}
