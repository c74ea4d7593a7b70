//! Equal-cost paths that are the same there and back.
//!
//! With a hash per node, data and their ACKs choose among equal-cost paths independently. IEEE
//! 802.1aq (Shortest Path Bridging) has another way: a few *trees*, in each of which ties between
//! equal-cost paths are broken by adding up numbers of their links. A sum is the same in both
//! directions, so both take the same path; and each part of a best path is a best path, so nodes
//! agree hop by hop. A conversation is in the tree that its key says.

use std::sync::OnceLock;

use midpath_core::rng::mix;

use crate::graph::Topology;
use crate::routing::Routes;

/// Trees, as many as the standard has equal-cost tree algorithms.
pub const TREES: usize = 16;

/// For each destination that somebody has asked for, the port of each node in each tree. Hosts with
/// one link are their router's.
#[derive(Debug)]
pub struct SymmetricTrees {
    columns: Vec<OnceLock<Column>>,
    /// Behind each port of each node that routes are kept of.
    ports: Vec<Box<[Behind]>>,
}

#[derive(Debug, Clone, Copy)]
struct Behind {
    node: u32,
    link: u32,
}

/// `ports[spot * TREES + tree]` leads to the destination ([`Routes::spot`]).
type Column = Box<[u16]>;

/// The sum of a best path in each tree. Its links' numbers have 48 bits: 65,536 of them fit.
type Sums = [u64; TREES];

impl SymmetricTrees {
    /// Trees over these routes; they are worked out as destinations are asked for.
    pub fn new(topology: &Topology, routes: &Routes) -> SymmetricTrees {
        let behind =
            |&n: &u32| topology.ports(n as usize).iter().map(|p| Behind { node: p.peer, link: p.link }).collect();
        SymmetricTrees {
            columns: routes.spots().iter().map(|_| OnceLock::new()).collect(),
            ports: routes.spots().iter().map(behind).collect(),
        }
    }

    /// The port of `node` towards `dst` for the conversation `key`, as a slice of one; empty if
    /// there is none.
    pub fn next_port<'a>(&'a self, routes: &'a Routes, (node, dst): (usize, usize), key: u32) -> &'a [u16] {
        let choices = routes.next_ports(node, dst);
        if choices.len() < 2 {
            return choices;
        }
        let to = routes.spot(dst);
        let column = self.columns[to].get_or_init(|| self.column(routes, to));
        let at = routes.spot(node) * TREES + tree(key);
        &column[at..=at]
    }

    /// Works out the ports of all nodes that have a way to the node at `to`.
    fn column(&self, routes: &Routes, to: usize) -> Column {
        let dst = routes.spots()[to] as usize;
        let mut ports = vec![0_u16; self.ports.len() * TREES].into_boxed_slice();
        let mut sums: Vec<Option<Sums>> = vec![None; self.ports.len()];
        sums[to] = Some([0; TREES]);
        let mut open: Vec<usize> = (0..self.ports.len()).collect();
        // Depth first along shortest paths, which have no loops: a node stays open until all that
        // it may send to are known.
        while let Some(&at) = open.last() {
            let choices = if sums[at].is_none() { routes.next_ports(routes.spots()[at] as usize, dst) } else { &[] };
            let before = open.len();
            open.extend(choices.iter().map(|&p| self.onward(routes, at, p)).filter(|&next| sums[next].is_none()));
            if open.len() > before {
                continue;
            }
            open.pop();
            if !choices.is_empty() {
                sums[at] = Some(self.best(routes, at, choices, &sums, &mut ports[at * TREES..][..TREES]));
            }
        }
        ports
    }

    /// The least sum in each tree, and the port that it is had through.
    fn best(&self, routes: &Routes, at: usize, choices: &[u16], sums: &[Option<Sums>], ports: &mut [u16]) -> Sums {
        let mut least = [u64::MAX; TREES];
        for &port in choices {
            let Some(onward) = &sums[self.onward(routes, at, port)] else { continue };
            let link = self.ports[at][usize::from(port)].link;
            for tree in 0..TREES {
                let sum = onward[tree].saturating_add(number(link, tree));
                if sum < least[tree] {
                    (least[tree], ports[tree]) = (sum, port);
                }
            }
        }
        least
    }

    fn onward(&self, routes: &Routes, at: usize, port: u16) -> usize {
        routes.spot(self.ports[at][usize::from(port)].node as usize)
    }
}

/// The tree of a conversation.
fn tree(key: u32) -> usize {
    (mix(u64::from(key)) % TREES as u64) as usize
}

/// A link's number in a tree: the same from both sides.
fn number(link: u32, tree: usize) -> u64 {
    mix((u64::from(link) << 8) | tree as u64) >> 16
}

#[cfg(test)]
#[path = "symmetric_tests.rs"]
mod tests;
