//! Composite scheme names: a transport over a network, over queues, or both:
//! `cubic+rpm`, `cubic@fq_codel`, `dctcp+rpm@pie`. A name is a column in every table that compares runs; only this
//! file interprets it.

use midpath_core::spec::SpecError;
use midpath_core::suggest;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::queue::{QueueKind, SchedulerKind};
use super::{DeploySpec, QueueTable, Scenario};

/// Between a transport and the network that it runs over, and before the queues.
const OVER_NETWORK: char = '+';
const OVER_QUEUES: char = '@';

/// Makes of a run's name what it asks for: of `cubic+rpm` the transport `cubic`, and a row of `[[deploy]]` that has
/// `rpm` everywhere; of `cubic@pie` the transport, and another `[queue]`.
pub fn split_scheme(scenario: &mut Scenario) -> Result<(), SpecError> {
    let called = scenario.scheme.clone();
    let (scheme, queue) = halves(&called, OVER_QUEUES);
    let (transport, network) = halves(scheme, OVER_NETWORK);
    if scheme == called && network.is_none() {
        return Ok(());
    }
    if let Some(network) = network {
        scenario.deploy.push(everywhere(scenario, scheme, transport, network)?);
    }
    if let Some(name) = queue {
        scenario.queue = queue_named(scenario, &called, name)?;
        // A scheme's own queue would stand in for it.
        for (_, own) in
            scenario.schemes.iter_mut().filter(|(name, _)| *name == transport || Some(name.as_str()) == network)
        {
            own.as_object_mut().and_then(|table| table.remove("queue"));
        }
    }
    transport.clone_into(&mut scenario.scheme);
    scenario.called = Some(called);
    Ok(())
}

/// The queue that a run's name asks for.
pub(crate) fn queue_of(called: Option<&str>) -> Option<&str> {
    halves(called?, OVER_QUEUES).1
}

/// Whether a name asks for more than a scheme: a flow's cannot.
pub(crate) fn is_of_a_run(name: &str) -> bool {
    name.contains([OVER_NETWORK, OVER_QUEUES])
}

fn halves(name: &str, at: char) -> (&str, Option<&str>) {
    name.split_once(at).map_or((name, None), |(head, tail)| (head, Some(tail)))
}

fn everywhere(scenario: &Scenario, scheme: &str, transport: &str, network: &str) -> Result<DeploySpec, SpecError> {
    if !scenario.deploy.is_empty() {
        let message = format!(
            "both `{scheme}` and [[deploy]] define what the network runs: write `{transport}` and rows for `{network}`"
        );
        return Err(SpecError::new("scheme", message));
    }
    if transport.is_empty() || network.is_empty() || network.contains(OVER_NETWORK) {
        let message = format!("`{scheme}` is not one transport over one network, such as \"cubic+rpm\"");
        return Err(SpecError::new("scheme", message));
    }
    Ok(DeploySpec { scheme: Some(network.to_owned()), ..DeploySpec::default() })
}

/// The table of a queue by name: `[queues.NAME]`, or one of a kind. It has the memory of `[queue]`, unless
/// `[queues.NAME]` says otherwise.
fn queue_named(scenario: &Scenario, called: &str, name: &str) -> Result<QueueTable, SpecError> {
    // What is wrong with it is wrong whatever stands in its place.
    scenario.queue.build().map_err(|e| e.under("queue"))?;
    let mut table = match scenario.queues.get(name) {
        Some(own) => own.clone(),
        None => of_kind(scenario, name).ok_or_else(|| unknown(scenario, called, name))?,
    };
    table.limit = table.limit.or(scenario.queue.limit);
    match table.build() {
        Ok(_) => Ok(table),
        Err(e) => Err(SpecError::new("scheme", format!("`{called}`: {e}; [queues.{name}] can set its keys"))),
    }
}

/// A queue of a kind, a scheduler, or both (`fq_codel`). What `[queue]` or `[queues.KIND]` says of that kind holds.
fn of_kind(scenario: &Scenario, name: &str) -> Option<QueueTable> {
    let (scheduler, kind) = parts(name)?;
    let given = [Some(&scenario.queue), scenario.queues.get(kind.name())];
    let own = given.into_iter().flatten().find(|table| table.kind == kind);
    Some(own.cloned().unwrap_or(QueueTable { kind, ..QueueTable::default() }).scheduled(scheduler))
}

fn parts(name: &str) -> Option<(Option<SchedulerKind>, QueueKind)> {
    if let Some(kind) = read(name) {
        return Some((None, kind));
    }
    match name.split_once('_') {
        None => Some((Some(read(name)?), QueueKind::DropTail)),
        Some((scheduler, kind)) => Some((Some(read(scheduler)?), read(kind)?)),
    }
}

/// A value by the name that scenarios give it.
fn read<T: DeserializeOwned>(name: &str) -> Option<T> {
    let name: StrDeserializer<'_, Error> = name.into_deserializer();
    T::deserialize(name).ok()
}

fn unknown(scenario: &Scenario, called: &str, name: &str) -> SpecError {
    let (kinds, schedulers) = (values::<QueueKind>(), values::<SchedulerKind>());
    let both = schedulers.iter().flat_map(|s| kinds.iter().map(move |kind| format!("{s}_{kind}")));
    let all: Vec<String> = scenario.queues.keys().chain(&kinds).chain(&schedulers).cloned().chain(both).collect();
    let near = suggest::nearest(name, all.iter().map(String::as_str));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let message = format!(
        "`{called}`: there is no queue `{name}`; {near}it is one of `[queues.NAME]`, of {}, a scheduler ({}), or both: \
         `fq_codel`",
        kinds.join(", "),
        schedulers.join(", ")
    );
    SpecError::new("scheme", message)
}

/// The names of a type's values, as the schema has them.
fn values<T: schemars::JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T).to_value();
    let each = schema["oneOf"].as_array().into_iter().flatten();
    each.filter_map(|value| Some(value["const"].as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    fn split(scheme: &str, tables: &str) -> Result<Scenario, SpecError> {
        let text = format!("scheme = \"{scheme}\"\n{tables}\n[topology]\nbuiltin = \"abilene\"\n");
        let mut scenario = parse(&text).expect("a scenario");
        split_scheme(&mut scenario).map(|()| scenario)
    }

    #[test]
    fn every_kind_and_scheduler_is_a_name_alone_and_together() {
        let (kinds, schedulers) = (values::<QueueKind>(), values::<SchedulerKind>());
        assert!(kinds.len() >= 8 && schedulers.len() >= 3, "{kinds:?} {schedulers:?}");
        for kind in &kinds {
            assert_eq!(parts(kind).map(|(s, k)| (s, k.name().to_owned())), Some((None, kind.clone())));
            for scheduler in &schedulers {
                let (found, of) = parts(&format!("{scheduler}_{kind}")).expect("both");
                assert!(found == read(scheduler) && of.name() == kind);
            }
        }
        assert_eq!(parts("fq"), Some((Some(SchedulerKind::Fq), QueueKind::DropTail)));
        assert!(["", "_", "fq_", "_codel", "codel_fq", "fq_codel_fq"].iter().all(|name| parts(name).is_none()));
    }

    #[test]
    fn a_column_has_the_memory_of_the_queue_and_what_is_said_of_its_kind() {
        let limit = "[queue]\nlimit = \"90 packets\"";
        let pie = split("cubic@pie", limit).expect("PIE");
        assert_eq!((pie.scheme.as_str(), pie.called.as_deref()), ("cubic", Some("cubic@pie")));
        assert_eq!(pie.queue, toml::from_str("kind = \"pie\"\nlimit = \"90 packets\"").expect("a table"));
        let own = "[queue]\nkind = \"codel\"\nscheduler = \"drr\"\nquantum = \"300 B\"\ntarget = \"1 ms\"";
        let queue = |name: &str, tables: &str| split(&format!("cubic@{name}"), tables).expect(name).queue;
        assert_eq!(queue("codel", own), toml::from_str("kind = \"codel\"\ntarget = \"1 ms\"").expect("a table"));
        let fair = "kind = \"codel\"\nscheduler = \"fq\"\nquantum = \"300 B\"\ntarget = \"1 ms\"";
        assert_eq!(queue("fq_codel", own), toml::from_str(fair).expect("a table"));
        let named =
            format!("{limit}\n[queues.codel]\nkind = \"codel\"\ntarget = \"2 ms\"\n[queues.mine]\nlimit = \"9 kB\"");
        let of_kind = "kind = \"codel\"\nscheduler = \"fq\"\ntarget = \"2 ms\"\nlimit = \"90 packets\"";
        assert_eq!(queue("fq_codel", &named), toml::from_str(of_kind).expect("a table"));
        assert_eq!(queue("mine", &named), toml::from_str("limit = \"9 kB\"").expect("a table"));
    }

    #[test]
    fn over_a_network_and_over_queues() {
        let both = split("cubic+rpm@pie", "[schemes.rpm.queue]\nkind = \"codel\"").expect("both");
        assert_eq!((both.scheme.as_str(), both.deploy[0].scheme.as_deref()), ("cubic", Some("rpm")));
        assert_eq!(both.schemes["rpm"], serde_json::json!({}), "the column's queue, not the scheme's own");
        let beside = "[[deploy]]\nnodes = [\"routers\"]";
        assert!(split("cubic@pie", beside).is_ok_and(|scenario| scenario.deploy.len() == 1));
    }

    #[test]
    fn a_queue_that_cannot_be_is_refused_in_a_line() {
        let refused = |scheme: &str| split(scheme, "").expect_err(scheme).to_string();
        assert!(
            refused("cubic@fqcodel").contains("did you mean `fq_codel`? it is one of `[queues.NAME]`, of drop-tail, ")
        );
        let step = refused("cubic@step");
        assert!(
            step.contains("`cubic@step`: threshold: is required for a step queue") && step.contains("[queues.step]"),
            "{step}"
        );
        assert!(refused("cubic@fq_dualpi2").contains("scheduler: does not apply to a dualpi2 queue"));
        assert!(refused("cubic@").contains("there is no queue ``"));
        let wrong = split("cubic@pie", "[queue]\ntarget = \"1 ms\"").expect_err("of a drop-tail queue").to_string();
        assert!(wrong.starts_with("queue.target: does not apply to a drop-tail queue"), "{wrong}");
    }
}
