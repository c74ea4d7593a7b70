//! Demands in topohub's node-link JSON: `graph.demands` has an object for each sender, with what it
//! sends to each receiver.
//!
//! Since August 2024 its keys are the nodes' ids, before they were their names. Which ones they are
//! follows from the nodes of the same file. Amounts have no unit (SNDlib's differ by network).

use crate::list::ListError;
use crate::rates::{Entries, error, short};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

/// Reads the demands. A demand of topohub's runs both ways: so its use of links comes out.
pub(crate) fn parse(text: &str) -> Result<Entries, ListError> {
    let graph: Value =
        serde_json::from_str(text).map_err(|e| error(e.line().max(1) as u64, format!("not JSON: {e}")))?;
    if let Some(list) = graph.get("demands").and_then(Value::as_array) {
        return crate::sndlib::json(list);
    }
    let rows = graph.get("graph").and_then(|g| g.get("demands")).and_then(Value::as_object);
    let rows = rows.ok_or_else(|| error(1, "no `graph.demands` (from, to and amount, as in topohub)"))?;
    let names = Names::new(&graph, rows)?;
    let mut found = Entries { both_ways: true, ..Entries::default() };
    for (from, row) in rows {
        for (to, amount) in receivers(from, row)? {
            let amount =
                amount.as_f64().ok_or_else(|| error(1, format!("demand `{from}` to `{to}` is not a number")))?;
            found.add(names.of(from), names.of(to), amount, 1)?;
        }
    }
    Ok(found)
}

fn receivers<'a>(from: &str, row: &'a Value) -> Result<&'a Map<String, Value>, ListError> {
    row.as_object().ok_or_else(|| error(1, format!("demands of `{}` are not an object", short(from))))
}

/// Names of nodes by the keys of demands.
enum Names {
    /// Keys are names.
    Same,
    /// Keys are ids.
    OfIds(FxHashMap<String, String>),
}

impl Names {
    fn new(graph: &Value, rows: &Map<String, Value>) -> Result<Names, ListError> {
        let mut keys: Vec<&str> = rows.keys().map(String::as_str).collect();
        for (from, row) in rows {
            keys.extend(receivers(from, row)?.keys().map(String::as_str));
        }
        let by_id = nodes(graph);
        let mut by_name: FxHashMap<&str, &str> = FxHashMap::default();
        for (id, name) in &by_id {
            by_name.insert(name, id);
        }
        let missing = |known: &dyn Fn(&str) -> bool| keys.iter().copied().find(|key| !known(key));
        let (no_id, no_name) = (missing(&|k| by_id.contains_key(k)), missing(&|k| by_name.contains_key(k)));
        match (no_id, no_name) {
            // Without nodes there is nothing to compare with; a number is then most likely an id.
            _ if by_id.is_empty() => match keys.iter().find(|key| key.parse::<u64>().is_ok()) {
                Some(key) => Err(error(1, format!("demand of `{key}`: an id or a name? The file has no `nodes`"))),
                None => Ok(Names::Same),
            },
            (None, Some(_)) => Ok(Names::OfIds(by_id)),
            (Some(_), None) => Ok(Names::Same),
            (None, None) => match keys.iter().find(|key| by_id[**key] != **key) {
                Some(key) => Err(error(1, either(key, &by_id[*key]))),
                None => Ok(Names::Same),
            },
            (Some(no_id), Some(no_name)) => {
                let stranger = missing(&|k| by_id.contains_key(k) || by_name.contains_key(k));
                Err(error(1, stranger.map_or_else(|| mixed(no_id, no_name), stray)))
            }
        }
    }

    fn of<'a>(&'a self, key: &'a str) -> &'a str {
        match self {
            Names::Same => key,
            Names::OfIds(names) => &names[key],
        }
    }
}

fn either(key: &str, name: &str) -> String {
    format!(
        "demand of `{0}`, which is the name of one node and the id of `{1}`, and all other keys are ambiguous \
            too; rename the nodes, or write the demands as CSV",
        short(key),
        short(name)
    )
}

fn stray(key: &str) -> String {
    format!("demand of `{}`, which is neither the id nor the name of one of its `nodes`", short(key))
}

fn mixed(no_id: &str, no_name: &str) -> String {
    format!(
        "demands of both `{}`, which is not an id, and `{}`, which is not a name of its `nodes`: keys must be \
            all ids or all names",
        short(no_id),
        short(no_name)
    )
}

/// Names of the nodes by id, as the reader of topologies gives them. A node without an id is known
/// by its place in the list.
fn nodes(graph: &Value) -> FxHashMap<String, String> {
    let list = graph.get("nodes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let ids: Vec<String> =
        list.iter().enumerate().map(|(i, n)| n.get("id").and_then(text).unwrap_or_else(|| i.to_string())).collect();
    let name = |key: &str, node: &Value| node.get(key).and_then(text).map(|n| n.trim().to_owned());
    let mut names: Vec<String> = list
        .iter()
        .zip(&ids)
        .map(|(n, id)| name("name", n).or_else(|| name("label", n)).filter(|n| !n.is_empty()).unwrap_or(id.clone()))
        .collect();
    midpath_core::names::make_unique(&mut names);
    ids.into_iter().zip(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(nodes: &[(&str, &str)], demands: &[(&str, &str, f64)]) -> String {
        let nodes: Vec<Value> = nodes.iter().map(|(id, name)| serde_json::json!({"id": id, "name": name})).collect();
        let mut rows: Map<String, Value> = Map::new();
        for (from, to, amount) in demands {
            rows.entry(*from).or_insert_with(|| Map::new().into())[*to] = (*amount).into();
        }
        serde_json::json!({"graph": {"demands": rows}, "nodes": nodes, "edges": []}).to_string()
    }

    fn read(text: &str) -> Vec<(String, String, f64)> {
        parse(text).expect(text).entries.into_iter().map(|e| (e.from, e.to, e.amount)).collect()
    }

    #[test]
    fn numbers_as_ids_are_numbers_in_json_too() {
        let text =
            r#"{"graph": {"demands": {"0": {"1": 3}}}, "nodes": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}]}"#;
        assert_eq!(read(text), [("A".to_owned(), "B".to_owned(), 3.0)]);
        let without = r#"{"graph": {"demands": {"0": {"1": 3}}}, "nodes": [{"name": "A"}, {"name": "A"}]}"#;
        assert_eq!(
            read(without),
            [("A".to_owned(), "A#1".to_owned(), 3.0)],
            "names are made unique as in the topology"
        );
    }

    #[test]
    fn keys_that_may_be_two_things_or_none_are_refused() {
        let swapped = [("0", "1"), ("1", "0")];
        for (nodes, demand, message) in [
            (&swapped[..], ("0", "1", 1.0), "is the name of one node and the id of `1`"),
            (&[("0", "A"), ("1", "B")], ("0", "B", 1.0), "keys must be all ids or all names"),
            (&[("0", "A"), ("1", "B")], ("0", "7", 1.0), "`7`"),
            (&[("0", "A")], ("A", "x", 1.0), "`x`, which is neither the id nor the name"),
            (&[], ("0", "1", 1.0), "The file has no `nodes`"),
        ] {
            let e = parse(&file(nodes, &[demand])).expect_err(message);
            assert!(e.message.contains(message), "{e}");
        }
        assert_eq!(read(&file(&[("1", "1"), ("2", "2")], &[("1", "2", 1.0)])).len(), 1, "ids that are the names");
    }

    proptest! {
        /// Networks drawn with names that are no ids, or numbers that are ids of other nodes: either
        /// form gives the same demands, or is refused because it may be the other.
        #[test]
        fn both_forms_say_the_same(
            n in 2usize..8,
            numbered: bool,
            shift in 0usize..12,
            drawn in proptest::collection::btree_map((0usize..8, 0usize..8), 1u32..1000, 1..12),
        ) {
            let names: Vec<String> =
                (0..n).map(|i| if numbered { (i + shift).to_string() } else { format!("n{i}") }).collect();
            let ids: Vec<String> = (0..n).map(|i| i.to_string()).collect();
            let nodes: Vec<(&str, &str)> = ids.iter().zip(&names).map(|(i, n)| (i.as_str(), n.as_str())).collect();
            let wanted: Vec<(usize, usize, f64)> =
                drawn.into_iter().map(|((a, b), x)| (a % n, b % n, f64::from(x))).filter(|(a, b, _)| a != b).collect();
            let keyed = |keys: &[String]| {
                let rows: Vec<_> = wanted.iter().map(|&(a, b, x)| (keys[a].as_str(), keys[b].as_str(), x)).collect();
                parse(&file(&nodes, &rows))
            };
            let said = |found: &Entries| {
                let mut said: Vec<_> = found.entries.iter().map(|e| (e.from.clone(), e.to.clone())).collect();
                said.sort();
                said
            };
            let mut right: Vec<_> = wanted.iter().map(|&(a, b, _)| (names[a].clone(), names[b].clone())).collect();
            right.sort();
            right.dedup();
            for keys in [&ids, &names] {
                match keyed(keys) {
                    Ok(found) => prop_assert_eq!(said(&found), right.clone()),
                    Err(e) => prop_assert!(numbered && shift > 0 && shift < n, "{}", e),
                }
            }
        }
    }
}
