use std::collections::BTreeMap;

use midpath_core::queue::QueueSpec;
use midpath_core::spec::SpecError;
use midpath_topo::Topology;

use crate::scenario::{QueueTable, Scenario};

/// Which queue a port gets: the one that its row of `[[deploy]]` or its link names, the hosts', that of the scheme which runs there, or
/// the scenario's.
pub(super) struct Queues {
    default: Keyed,
    host: Option<Keyed>,
    named: BTreeMap<String, Keyed>,
    /// By scheme.
    own: BTreeMap<String, Keyed>,
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
        let named = scenario.queues.iter();
        let named = named.map(|(name, table)| Ok((name.clone(), Keyed::new(format!("queues.{name}"), table)?)));
        let own = scenario.schemes.iter().filter_map(|(name, table)| Some((name, table.get("queue")?)));
        Ok(Queues {
            default: Keyed::new("queue".to_owned(), &scenario.queue)?,
            host: scenario.host_queue.as_ref().map(|t| Keyed::new("host_queue".to_owned(), t)).transpose()?,
            named: named.collect::<Result<_, SpecError>>()?,
            own: own
                .map(|(name, table)| Ok((name.clone(), Queues::of_scheme(name, table)?)))
                .collect::<Result<_, SpecError>>()?,
        })
    }

    /// The queue that a scheme brings along in `[schemes.NAME.queue]`.
    fn of_scheme(name: &str, table: &serde_json::Value) -> Result<Keyed, SpecError> {
        let key = format!("schemes.{name}.queue");
        let table: QueueTable =
            serde_json::from_value(table.clone()).map_err(|e| SpecError::new(key.clone(), e.to_string()))?;
        Keyed::new(key, &table)
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

    /// The queue of a port: by the names that its row or its link says, whether it is a host's, and the scheme that runs there.
    pub fn of(&self, named: Option<&str>, host: bool, scheme: Option<&str>) -> &Keyed {
        let named = named.and_then(|name| self.named.get(name));
        let hosts = self.host.as_ref().filter(|_| host);
        let own = || scheme.and_then(|scheme| self.own.get(scheme));
        named.or(hosts).or_else(own).unwrap_or(&self.default)
    }
}
