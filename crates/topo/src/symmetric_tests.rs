use std::collections::BTreeSet;

use super::*;
use crate::generate::{LinkParams, fat_tree};
use crate::routing::tests::networks;
use crate::routing::{Hop, Metric, follow};
use midpath_core::packet::PortId;
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

/// The path of the conversation `key`, as nodes choose it hop by hop.
fn walk(
    t: &Topology,
    routes: &Routes,
    trees: &SymmetricTrees,
    (src, dst): (usize, usize),
    key: u32,
) -> Option<Vec<Hop>> {
    follow(t, (src, dst), |node| {
        let n = node.0 as usize;
        let choices = routes.next_ports(n, dst);
        let port = trees.next_port(routes, (n, dst), key).first()?;
        assert!(choices.contains(port), "one of the shortest");
        Some(PortId(*port))
    })
}

fn links(path: &[Hop]) -> Vec<usize> {
    path.iter().map(|hop| hop.link).collect()
}

proptest! {
    #[test]
    fn paths_are_the_same_there_and_back(t in networks(), by_weight: bool, key: u32) {
        let routes = Routes::compute(&t, if by_weight { Metric::Weight } else { Metric::Hops });
        let trees = SymmetricTrees::new(&t, &routes);
        for src in 0..t.nodes().len() {
            for dst in (0..t.nodes().len()).filter(|&d| d != src) {
                let Some(there) = walk(&t, &routes, &trees, (src, dst), key) else {
                    prop_assert!(routes.next_ports(src, dst).is_empty());
                    continue;
                };
                let mut back = links(&walk(&t, &routes, &trees, (dst, src), key).expect("there is a way back"));
                back.reverse();
                prop_assert_eq!(links(&there), back, "{} to {}", src, dst);
            }
        }
    }
}

/// 16 shortest paths between pods of a fat-tree with k = 8, and 16 trees: what a hash would choose
/// is spread over 10 of them (16 balls in 16 bins leave 16 (15/16)^16 = 5.7 empty), and no tree is
/// another's twin everywhere.
#[test]
fn trees_use_many_of_the_equal_paths() {
    let link = LinkParams::new(Rate::from_gbps(10), Time::from_us(1));
    let t = fat_tree(8, &link, &link).finish(Time::from_us(1)).expect("valid");
    let routes = Routes::compute(&t, Metric::Hops);
    let trees = SymmetricTrees::new(&t, &routes);
    let hosts: Vec<usize> = t.hosts().collect();
    let used = |to: usize| {
        let path = |key| links(&walk(&t, &routes, &trees, (hosts[0], hosts[to]), key).expect("connected"));
        (0..500).map(path).collect::<BTreeSet<_>>().len()
    };
    let counts: Vec<usize> = (16..hosts.len()).step_by(7).map(used).collect();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    println!("{mean} of 16 paths are used, at least {:?}", counts.iter().min());
    assert!((9.0..=12.0).contains(&mean), "{counts:?}");
}
