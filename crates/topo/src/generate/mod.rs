//! Networks by rule: the shapes of the literature, always the same for the same parameters and
//! seed.

mod data_centre;
mod fabrics;
mod lines;
mod waxman;

use midpath_core::units::{Rate, Ratio, Time};
use serde::{Deserialize, Serialize};

pub use data_centre::{fat_tree, oversubscribed_fat_tree, star};
pub use fabrics::{DragonflyPlus, LeafSpine, Rails, dragonfly_plus, leaf_spine, planes, rails, torus};
pub use lines::{Dumbbell, chain, dumbbell, parking_lot, ring};
pub use waxman::{Waxman, waxman};

use crate::draft::{Draft, DraftLink};
use crate::graph::NodeKind;

/// What a kind of link is like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkParams {
    /// Rate, both ways.
    pub rate: Rate,
    /// Propagation delay. Waxman networks may take it from the distance.
    pub delay: Option<Time>,
    /// MTU in bytes; default 1500.
    #[schemars(extend("examples" = [9000]))]
    pub mtu: Option<u32>,
    /// Loss probability on the wire; default 0.
    pub corruption: Option<Ratio>,
    /// Named queue of its ports.
    #[schemars(extend("examples" = ["deep"]))]
    pub queue: Option<String>,
}

impl LinkParams {
    /// A loss-free link.
    pub fn new(rate: Rate, delay: Time) -> LinkParams {
        LinkParams { rate, delay: Some(delay), mtu: None, corruption: None, queue: None }
    }

    /// A link like this between two nodes.
    pub fn between(&self, a: usize, b: usize) -> DraftLink {
        DraftLink {
            a,
            b,
            rate: Some(self.rate),
            delay: self.delay,
            mtu: self.mtu,
            corruption: self.corruption.map_or(0.0, Ratio::as_f64),
            queue: self.queue.clone(),
            ..DraftLink::default()
        }
    }
}

/// Spreads `count` points evenly over the unit interval, away from its ends.
fn spread(i: usize, count: usize) -> f64 {
    (i as f64 + 0.5) / count as f64
}

fn join(draft: &mut Draft, a: usize, b: usize, like: &LinkParams) {
    draft.links.push(like.between(a, b));
}

/// `count` hosts from `h{first}` on at the switch `at.1`; there are `at.0` hosts in all.
fn hosts(draft: &mut Draft, first: usize, count: usize, at: (usize, usize), access: &LinkParams) {
    for i in first..first + count {
        let h = draft.node(format!("h{i}"), NodeKind::Host, "", (spread(i, at.0), 0.1));
        join(draft, h, at.1, access);
    }
}

#[cfg(test)]
mod fabrics_tests;
#[cfg(test)]
mod tests;
