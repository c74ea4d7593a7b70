//! A scenario's network for a driver of ours. Tests and examples take this file by its path.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::RunOptions;
use midpath_testing::drivers::{Link, Network};

/// The nodes and links of a scenario; its flows begin at their nodes.
pub fn network(text: &str) -> Network {
    let options = RunOptions::default();
    let setup = midpath_sim::prepare(text, Path::new("."), &options, &Catalogue::standard()).expect("a scenario");
    let built = setup.pulled_network().expect("its ports can be built");
    let link = |l: &midpath_sim::engine::NetLink| Link { from: l.from, to: l.to, rate: l.rate, delay: l.delay };
    Network { links: built.links.iter().map(link).collect(), nodes: built.nodes }
}
