use std::collections::BTreeMap;

use midpath_core::queue::QueueSpec;
use midpath_core::spec::{SpecError, in_plain_terms};
use midpath_topo::spec::TopologySpec;

use crate::scenario::{QueueTable, Scenario, with_short_list};

/// The key of the queue of ports that have no other.
pub(super) const DEFAULT: &str = "queue";

/// Which queue a port gets: the one that its row of `[[deploy]]` or its link names, the hosts',
/// that of the scheme which runs there, or the scenario's.
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
            default: Keyed::new(DEFAULT.to_owned(), &scenario.queue)?,
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
        let table: QueueTable = serde_json::from_value(table.clone())
            .map_err(|e| SpecError::new(key.clone(), with_short_list(&in_plain_terms(&e.to_string()))))?;
        Keyed::new(key, &table)
    }

    /// Whether all queues that the topology's table names are there.
    pub fn check_names(&self, spec: &TopologySpec) -> Result<(), SpecError> {
        let unknown = names(spec).find(|(_, name)| !self.named.contains_key(*name));
        let Some((key, name)) = unknown else { return Ok(()) };
        let known = self.named.keys().cloned().collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "there are none".to_owned() } else { format!("there are {known}") };
        Err(SpecError::new(key, format!("there is no queue `{name}`; of `[queues.NAME]` {known}")))
    }

    /// The queue of a port: by the names that its row or its link says, whether it is a host's, and
    /// the scheme that runs there.
    pub fn of(&self, named: Option<&str>, host: bool, scheme: Option<&str>) -> &Keyed {
        let named = named.and_then(|name| self.named.get(name));
        let hosts = self.host.as_ref().filter(|_| host);
        let own = || scheme.and_then(|scheme| self.own.get(scheme));
        named.or(hosts).or_else(own).unwrap_or(&self.default)
    }
}

/// Where the topology's table names queues: the key, and the queue's name.
fn names(spec: &TopologySpec) -> impl Iterator<Item = (String, &String)> {
    let links = spec.links.iter().flatten().map(|l| &l.queue);
    let links = links.enumerate().map(|(i, queue)| (format!("topology.links[{i}].queue"), queue));
    let rules = spec.rules.iter().enumerate().map(|(i, r)| (format!("topology.rules[{i}].queue"), &r.queue));
    let made = [("link", &spec.link), ("access", &spec.access), ("bottleneck", &spec.bottleneck)];
    let made = made.into_iter().filter_map(|(key, l)| Some((format!("topology.{key}.queue"), &l.as_ref()?.queue)));
    let hosts = spec.hosts.iter().map(|h| ("topology.hosts.queue".to_owned(), &h.queue));
    links.chain(rules).chain(made).chain(hosts).filter_map(|(key, queue)| Some((key, queue.as_ref()?)))
}
