//! Links with their queues, for drivers without nodes: the laboratory's emulator.

use midpath_core::packet::NodeId;
use midpath_core::roles::{LinkInfo, Port};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;

use super::deploy::links;
use super::{Setup, Terms};
use crate::engine::{Event, NetLink};

/// One direction of a link, and the queue before it.
pub struct Direction {
    /// What happens to packets on it.
    pub link: NetLink,
    /// The same as its port sees it.
    pub info: LinkInfo,
    /// The port, which is asked for each packet.
    pub port: Box<dyn Port>,
    /// What happens to the port during the run, in order of time.
    pub events: Vec<(Time, Event)>,
}

impl Setup {
    /// Both directions of every link, in the order of the topology's links, that from `a` first.
    pub fn directions(&self) -> Result<Vec<Direction>, SpecError> {
        self.refuse_pfc()?;
        self.refuse_hosts()?;
        // As in the simulator, whose links these are.
        let run = Terms { rtt: self.rtt, pulled: false };
        let mut events = self.events();
        events.sort_by_key(|event| event.1);
        let direction = |link: NetLink| {
            let (node, port) = link.from;
            let around = links(&self.topology, node);
            let discipline = self.port(node.0 as usize, usize::from(port.0), run, &around, false)?;
            let own = |event: &&(NodeId, Time, Event)| event.0 == node && concerns(event.2, port.0);
            let events = events.iter().filter(own).map(|event| (event.1, event.2)).collect();
            Ok(Direction { info: around[usize::from(port.0)], port: discipline.into_port(), events, link })
        };
        self.links().into_iter().map(direction).collect()
    }
}

/// Whether an event at a node is one for this port.
fn concerns(event: Event, port: u16) -> bool {
    match event {
        Event::Up(at, _) | Event::Rate(at, _) => at.0 == port,
        Event::Restart => true,
        Event::Routes(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunOptions, prepare};
    use midpath_core::units::Rate;
    use midpath_schemes::Catalogue;
    use std::path::Path;

    const SCENARIO: &str = r#"
        topology.links = [
            { a = "a", b = "r", rate = "100 Mbps", delay = "1 ms" },
            { a = "r", b = "b", rate = "10 Mbps", rate_back = "2 Mbps", delay = "20 ms" },
        ]
        flow = [{ from = "a", to = "b", size = "1 MB" }]
        fault = [
            { at = "1 s", kind = "link-down", link = ["r", "b"], until = "2 s" },
            { at = "3 s", kind = "restart", node = "b" },
        ]
    "#;

    #[test]
    fn each_direction_has_its_rate_and_what_happens_at_its_port() {
        let setup = prepare(SCENARIO, Path::new("."), &RunOptions::default(), &Catalogue::standard()).unwrap();
        let all = setup.directions().unwrap();
        let mbps: Vec<Rate> = all.iter().map(|d| d.info.rate).collect();
        assert_eq!(mbps, [100, 100, 10, 2].map(Rate::from_mbps));
        let counts: Vec<usize> = all.iter().map(|d| d.events.len()).collect();
        assert_eq!(counts, [0, 0, 2, 3]);
        assert_eq!(all[3].events[2], (Time::from_secs(3), Event::Restart));
    }
}
