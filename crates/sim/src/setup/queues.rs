use std::collections::BTreeMap;

use midpath_core::queue::QueueSpec;
use midpath_core::spec::SpecError;
use midpath_topo::Topology;

use crate::scenario::{QueueTable, Scenario};

/// Which queue a port gets: the one its link names, the hosts', or the scenario's.
pub(super) struct Queues {
    default: Keyed,
    host: Keyed,
    named: BTreeMap<String, Keyed>,
}

/// A queue, and the key of the table that asks for it.
#[derive(Debug, Clone)]
pub(super) struct Keyed {
    pub key: String,
    pub queue: QueueSpec,
}

impl Keyed {
    fn new(key: String, table: &QueueTable) -> Result<Keyed, SpecError> {
        let queue = table.build().map_err(|e| e.under(&key))?;
        Ok(Keyed { key, queue })
    }
}

impl Queues {
    pub fn new(scenario: &Scenario) -> Result<Queues, SpecError> {
        let default = match Self::of_scheme(scenario)? {
            Some(own) => own,
            None => Keyed::new("queue".to_owned(), &scenario.queue)?,
        };
        let host = match &scenario.host_queue {
            Some(table) => Keyed::new("host_queue".to_owned(), table)?,
            None => default.clone(),
        };
        let named = scenario
            .queues
            .iter()
            .map(|(name, table)| Ok((name.clone(), Keyed::new(format!("queues.{name}"), table)?)))
            .collect::<Result<_, SpecError>>()?;
        Ok(Queues { default, host, named })
    }

    /// The queue that the run's scheme brings along in `[schemes.NAME.queue]`.
    fn of_scheme(scenario: &Scenario) -> Result<Option<Keyed>, SpecError> {
        let key = format!("schemes.{}.queue", scenario.scheme);
        let Some(value) = scenario.schemes.get(&scenario.scheme).and_then(|s| s.get("queue")) else { return Ok(None) };
        let table: QueueTable =
            serde_json::from_value(value.clone()).map_err(|e| SpecError::new(key.clone(), e.to_string()))?;
        Keyed::new(key, &table).map(Some)
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

    pub fn of(&self, named: Option<&str>, host: bool) -> &Keyed {
        match named.and_then(|name| self.named.get(name)) {
            Some(queue) => queue,
            None if host => &self.host,
            None => &self.default,
        }
    }
}
