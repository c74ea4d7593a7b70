use std::collections::BTreeMap;

use midpath_core::queue::QueueSpec;
use midpath_core::spec::SpecError;
use midpath_topo::Topology;

use crate::scenario::{QueueTable, Scenario};

/// Which queue a port gets: the one its link names, the hosts', or the scenario's.
pub(super) struct Queues {
    default: QueueSpec,
    host: QueueSpec,
    named: BTreeMap<String, QueueSpec>,
}

impl Queues {
    pub fn new(scenario: &Scenario) -> Result<Queues, SpecError> {
        let default = match Self::of_scheme(scenario)? {
            Some(own) => own,
            None => scenario.queue.build().map_err(|e| e.under("queue"))?,
        };
        let host = match &scenario.host_queue {
            Some(table) => table.build().map_err(|e| e.under("host_queue"))?,
            None => default,
        };
        let named = scenario
            .queues
            .iter()
            .map(|(name, table)| Ok((name.clone(), table.build().map_err(|e| e.under(&format!("queues.{name}")))?)))
            .collect::<Result<_, SpecError>>()?;
        Ok(Queues { default, host, named })
    }

    /// The queue that the run's scheme brings along in `[schemes.NAME.queue]`.
    fn of_scheme(scenario: &Scenario) -> Result<Option<QueueSpec>, SpecError> {
        let key = format!("schemes.{}.queue", scenario.scheme);
        let Some(value) = scenario.schemes.get(&scenario.scheme).and_then(|s| s.get("queue")) else { return Ok(None) };
        let table: QueueTable =
            serde_json::from_value(value.clone()).map_err(|e| SpecError::new(key.clone(), e.to_string()))?;
        table.build().map(Some).map_err(|e| e.under(&key))
    }

    pub fn check_links(&self, topology: &Topology) -> Result<(), SpecError> {
        let unknown = topology.links().iter().filter_map(|l| l.queue.as_ref()).find(|q| !self.named.contains_key(*q));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let known = self.named.keys().cloned().collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "there are none".to_owned() } else { format!("there are {known}") };
                Err(SpecError::new("topology", format!("a link names the queue `{name}`; of `[queues.…]` {known}")))
            }
        }
    }

    pub fn of(&self, named: Option<&str>, host: bool) -> QueueSpec {
        match named.and_then(|name| self.named.get(name)) {
            Some(queue) => *queue,
            None if host => self.host,
            None => self.default,
        }
    }
}
