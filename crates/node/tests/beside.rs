//! Real beside simulated, quickly: one seed at 20 Mbps. `checks/beside` has all of it.

#[path = "../examples/beside/case.rs"]
mod case;

use std::path::Path;
use std::time::Duration;

use case::{Place, case};
use midpath_core::packet::FlowId;
use midpath_node::{Link, Network, realtime};
use midpath_schemes::Catalogue;
use midpath_sim::RunOptions;

/// Within 5 %, as everywhere up to 50 Mbps, unless the machine was too busy to say.
#[test]
fn flows_on_sockets_take_as_long_as_simulated() {
    for place in Place::ALL {
        for scheme in ["rcp", "fcp"] {
            let case = case(scheme, place, 20, 1);
            let (there, here) = (case::simulated(&case), case::real(&case));
            let (ratio, name) = (here.mean() / there.mean(), place.name());
            if here.invalid() {
                println!("skipped: machine too busy: {scheme}, {name}: datagrams left {:?} µs late", here.late);
                continue;
            }
            assert!((ratio - 1.0).abs() < 0.05, "{scheme}, {name}: {ratio}, {here:?}, {there:?}");
        }
    }
}

/// A link that is faster than the machine loses nothing outside of its ports' queues.
#[test]
fn a_link_that_the_machine_cannot_serve_loses_nothing_in_the_kernel() {
    let text = r#"
scheme = "newreno"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Gbps", delay = "1 ms" }
access = { rate = "10 Gbps", delay = "1 ms" }
[queue]
limit = "100 ms"
[[flow]]
from = "s0"
to = "d0"
size = "8 MB"
[[flow]]
from = "s1"
to = "d1"
size = "8 MB"
"#;
    let setup = midpath_sim::prepare(text, Path::new("."), &RunOptions::default(), &Catalogue::standard());
    let built = setup.expect("a scenario").network().expect("its ports can be built");
    let link = |l: &midpath_sim::engine::NetLink| Link { from: l.from, to: l.to, rate: l.rate, delay: l.delay };
    let network = Network { links: built.links.iter().map(link).collect(), nodes: built.nodes };
    let out = realtime::run(network, 2, Duration::from_secs(60)).expect("the loopback interface");
    for flow in [0, 1].map(FlowId) {
        let report = out.flow(flow);
        assert!(report.completed.is_some(), "{report:?}");
        assert_eq!((report.retransmitted, report.timeouts), (0, 0), "{report:?}");
    }
}
