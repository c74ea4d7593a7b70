//! Equipment of each port: queue limit, AQM, signal, and memory besides the queue.

use std::collections::BTreeMap;

use midpath_core::queue::{AqmSpec, Limit, QueueSpec, SchedulerSpec, SignalSpec};
use midpath_core::units::{Bytes, Rate, Time};
use midpath_schemes::Catalogue;
use serde_json::{Value, json};

use super::flows::table_of;
use super::queues::Keyed;
use super::{IDEAL, Setup};

/// Ports with the same equipment.
struct Alike {
    spec: QueueSpec,
    store: Option<Limit>,
    /// What came in is bounded by port in place of what waits.
    lossless: bool,
    /// Its scheme adds no AQM.
    only_drops: bool,
    ports: u64,
    queue_bytes: Option<[u64; 2]>,
    store_bytes: Option<[u64; 2]>,
    sums: Sums,
}

/// Of all ports together: what a network of them takes.
#[derive(Clone, Copy)]
struct Sums {
    rate_bps: u64,
    queue_bytes: u64,
    store_bytes: u64,
}

impl Sums {
    const fn plus(self, other: Sums) -> Sums {
        Sums {
            rate_bps: self.rate_bps.saturating_add(other.rate_bps),
            queue_bytes: self.queue_bytes.saturating_add(other.queue_bytes),
            store_bytes: self.store_bytes.saturating_add(other.store_bytes),
        }
    }
}

impl Alike {
    const fn new(spec: QueueSpec, store: Option<Limit>, only_drops: bool) -> Alike {
        let sums = Sums { rate_bps: 0, queue_bytes: 0, store_bytes: 0 };
        Alike { spec, store, lossless: false, only_drops, ports: 0, queue_bytes: None, store_bytes: None, sums }
    }

    fn join(&mut self, other: &Alike) {
        self.ports += other.ports;
        self.sums = self.sums.plus(other.sums);
        self.lossless |= other.lossless;
        other.queue_bytes.into_iter().flatten().for_each(|bytes| widen(&mut self.queue_bytes, bytes));
        other.store_bytes.into_iter().flatten().for_each(|bytes| widen(&mut self.store_bytes, bytes));
    }
}

/// `equipment` of `run.json`: a row for each sort of port. The ideal has none.
pub(super) fn equipment(setup: &Setup, catalogue: &Catalogue) -> Value {
    if setup.scenario.scheme == IDEAL {
        return json!([]);
    }
    let mut found: BTreeMap<(bool, &str, String, Option<String>), Alike> = BTreeMap::new();
    for ((host, scheme, _), alike) in sorts(setup, catalogue) {
        let queue = &alike.spec;
        let own = own_aqm(setup, queue, scheme, catalogue).filter(|_| !alike.only_drops);
        let parts = json!({
            "limit": if alike.lossless { "PFC".to_owned() } else { queue.limit.to_string() }, "aqm": own.map_or_else(|| aqm(queue), |own| own.0.to_owned()),
            "scheduler": scheduler(queue), "signal": own.map_or_else(|| signal(queue), |own| own.1),
        });
        let key = (host, scheme, parts.to_string(), alike.store.map(|s| s.to_string()));
        found.entry(key).or_insert_with(|| Alike::new(alike.spec, alike.store, alike.only_drops)).join(&alike);
    }
    let row = |((host, scheme, parts, store), alike): ((bool, &str, String, Option<String>), Alike)| {
        let mut row = json!({
            "at": if host { "hosts" } else { "routers" }, "scheme": scheme, "ports": alike.ports,
            "queue_bytes": alike.queue_bytes, "store": store, "store_bytes": alike.store_bytes,
            "sums": {
                "rate_bps": alike.sums.rate_bps, "queue_bytes": alike.sums.queue_bytes, "store_bytes": alike.sums.store_bytes,
            },
        });
        if let (Some(row), Ok(Value::Object(parts))) = (row.as_object_mut(), serde_json::from_str(&parts)) {
            row.extend(parts);
        }
        row
    };
    found.into_iter().map(row).collect()
}

/// Ports by the scheme and the queue that the scenario gives them: there may be very many ports, and
/// there are few of these. Two queues that say the same are apart here.
fn sorts<'a>(setup: &'a Setup, catalogue: &Catalogue) -> BTreeMap<(bool, &'a str, *const Keyed), Alike> {
    let mut found = BTreeMap::new();
    for n in 0..setup.topology.nodes().len() {
        for (p, at) in setup.topology.ports(n).iter().enumerate() {
            let link = &setup.topology.links()[at.link as usize];
            let scheme = setup.network_at(n, p).unwrap_or("none");
            let keyed = setup.queue_of(n, p);
            let sort = (setup.topology.is_host(n), scheme, std::ptr::from_ref(keyed));
            let new = || Alike::new(keyed.queue, store_of(setup, scheme, catalogue), setup.only_drops(n, p));
            let alike: &mut Alike = found.entry(sort).or_insert_with(new);
            alike.ports += 1;
            let rate = link.rate_from(n);
            let lossless = setup.lossless_bytes(n, p);
            alike.lossless |= lossless.is_some();
            let queue = lossless.unwrap_or_else(|| bytes(alike.spec.limit, rate, link.mtu));
            let store = alike.store.map(|limit| bytes(limit, rate, link.mtu));
            widen(&mut alike.queue_bytes, queue);
            store.into_iter().for_each(|bytes| widen(&mut alike.store_bytes, bytes));
            let sums = Sums { rate_bps: rate.0, queue_bytes: queue, store_bytes: store.unwrap_or(0) };
            alike.sums = alike.sums.plus(sums);
        }
    }
    found
}

fn widen(range: &mut Option<[u64; 2]>, bytes: u64) {
    let [least, most] = range.unwrap_or([bytes; 2]);
    *range = Some([least.min(bytes), most.max(bytes)]);
}

/// A limit in bytes; packets are full ones.
pub(super) fn bytes(limit: Limit, rate: Rate, mtu: u32) -> u64 {
    match limit {
        Limit::Packets(packets) => packets.saturating_mul(u64::from(mtu)),
        Limit::Bytes(_) | Limit::Time(_) => limit.bound(rate).bytes,
    }
}

/// A parameter of a scheme, as a row of `[[deploy]]` or its table has it.
fn parameter(setup: &Setup, scheme: &str, key: &str) -> Option<Value> {
    let rows = setup.scenario.deploy.iter().filter(|row| row.scheme.as_deref().is_none_or(|s| s == scheme));
    let own = rows.filter_map(|row| row.params.as_ref()?.get(key).cloned()).next();
    own.or_else(|| table_of(&setup.scenario, scheme).get(key).cloned())
}

/// What the ports of a scheme store beside their queues, as its parameters say, or their defaults.
fn store_of(setup: &Setup, scheme: &str, catalogue: &Catalogue) -> Option<Limit> {
    serde_json::from_value(value(setup, scheme, catalogue.description(scheme)?.store?, catalogue)?).ok()
}

/// A parameter of a scheme as it is: given, or its default.
fn value(setup: &Setup, scheme: &str, key: &str, catalogue: &Catalogue) -> Option<Value> {
    let default = || catalogue.schema(scheme)?.pointer(&format!("/properties/{key}/default")).cloned();
    parameter(setup, scheme, key).or_else(default)
}

/// The shortest retransmission timeout of a scheme's flows; none where it has no such parameter.
pub(super) fn min_rto(setup: &Setup, scheme: &str, catalogue: &Catalogue) -> Option<Time> {
    serde_json::from_value(value(setup, scheme, "min_rto", catalogue)?).ok()
}

/// The AQM that a scheme's ports have where their queue names none, and how it tells senders. RPM's
/// `mode` can be to drop, or to do nothing.
fn own_aqm(
    setup: &Setup,
    queue: &QueueSpec,
    scheme: &str,
    catalogue: &Catalogue,
) -> Option<(&'static str, &'static str)> {
    let aqm = catalogue.description(scheme)?.aqm.filter(|_| queue.is_drop_tail())?;
    match parameter(setup, scheme, "mode").as_ref().and_then(Value::as_str) {
        Some("off") => None,
        Some("drop") => Some((aqm, "drop")),
        _ => Some((aqm, "CE")),
    }
}

fn aqm(queue: &QueueSpec) -> String {
    match queue.aqm {
        AqmSpec::DropTail => "drop-tail".to_owned(),
        AqmSpec::Step { threshold } => format!("step at {threshold}"),
        AqmSpec::DelayStep { threshold } => format!("step at {threshold} of delay"),
        AqmSpec::Policer { rate, burst } => format!("policer of {rate}, burst {burst}"),
        AqmSpec::Red(_) => "RED".to_owned(),
        AqmSpec::DualPi2(params) => format!("DualPI2 of {}", params.target),
        AqmSpec::Cake(params) => format!("CAKE of {}", params.target),
        AqmSpec::Trim(_) => "trimming".to_owned(),
        AqmSpec::Pie(params) => format!("PIE of {}", params.target),
        AqmSpec::Codel(params) => format!("CoDel of {}", params.target),
        AqmSpec::CodelDataPlane(params) => format!("CoDel of {}, as switches run it", params.target),
    }
}

/// The AQM of a queue that has one.
pub(super) fn asked_aqm(queue: &QueueSpec) -> Option<String> {
    (!matches!(queue.aqm, AqmSpec::DropTail)).then(|| aqm(queue))
}

const fn scheduler(queue: &QueueSpec) -> &'static str {
    match (queue.aqm, queue.scheduler) {
        (AqmSpec::DualPi2(_), _) => "dual",
        (AqmSpec::Cake(_), _) => "cake",
        (AqmSpec::Trim(params), _) if params.headers_per_packet.is_some() => "headers first",
        (_, SchedulerSpec::Fifo) => "fifo",
        (_, SchedulerSpec::Drr { .. }) => "drr",
        (_, SchedulerSpec::Fq { .. }) => "fq",
    }
}

/// How senders of chosen packets are told; of a queue that chooses none, by nothing but losses.
const fn signal(queue: &QueueSpec) -> &'static str {
    match (queue.aqm, queue.signal) {
        (AqmSpec::DropTail, _) | (_, SignalSpec::Drop) => "drop",
        (_, SignalSpec::Ce) => "CE",
    }
}

/// Ports whose queues have room for less than one full packet: the port, and the room in bytes.
pub(super) fn too_small(setup: &Setup) -> Vec<((usize, usize), Bytes)> {
    let mut found = Vec::new();
    for n in 0..setup.topology.nodes().len() {
        for (p, at) in setup.topology.ports(n).iter().enumerate() {
            let link = &setup.topology.links()[at.link as usize];
            let room = bytes(setup.queue_of(n, p).queue.limit, link.rate_from(n), link.mtu);
            if room < u64::from(link.mtu) {
                found.push(((n, p), Bytes(room)));
            }
        }
    }
    found
}
