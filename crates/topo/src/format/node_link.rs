//! NetworkX node-link JSON, as `networkx.node_link_data` and topohub write it.
//!
//! `{"directed": false, "nodes": [{"id": 0, "name": …, "pos": [lon, lat]}], "edges": [{"source": 0, "target": 1, …}]}`;
//! older NetworkX says `links` for `edges`. Nodes without an id are known by their position in the
//! list, as in D3.

use serde_json::Value;

use midpath_core::units::Rate;

use super::FormatError;
use super::attributes::{Attribute, Builder};
use crate::draft::Draft;

/// Reads a graph.
pub fn parse(text: &str, capacity_unit: Option<Rate>) -> Result<Draft, FormatError> {
    let graph: Value = serde_json::from_str(text).map_err(|e| FormatError::at(e.line(), format!("not JSON: {e}")))?;
    let nodes = list(&graph, &["nodes"])?;
    let edges = list(&graph, &["edges", "links"])?;
    let mut builder =
        Builder::new(graph.get("directed").and_then(Value::as_bool).unwrap_or(false)).with_unit(capacity_unit);
    for (i, node) in nodes.iter().enumerate() {
        let id = node.get("id").and_then(text_of).unwrap_or_else(|| i.to_string());
        let fields = fields(node);
        builder.node(&id, &borrow(&fields)).map_err(|m| entry("nodes", i, m))?;
    }
    for (i, edge) in edges.iter().enumerate() {
        let end = |key: &str| {
            let id = edge.get(key).and_then(text_of);
            id.ok_or_else(|| entry("edges", i, format!("no `{key}`")))
        };
        let fields = fields(edge);
        builder.edge(&end("source")?, &end("target")?, &borrow(&fields)).map_err(|m| entry("edges", i, m))?;
    }
    Ok(builder.finish())
}

fn entry(list: &str, i: usize, message: String) -> FormatError {
    FormatError::whole(format!("{list}[{i}]: {message}"))
}

fn list<'a>(graph: &'a Value, keys: &[&str]) -> Result<&'a [Value], FormatError> {
    let found = keys.iter().find_map(|k| graph.get(k)?.as_array());
    let names = keys.join("` or `");
    found.map(Vec::as_slice).ok_or_else(|| FormatError::whole(format!("no list `{names}`; is this node-link JSON?")))
}

/// Numbers, strings and booleans as text; the two numbers of `pos` as `x` and `y`.
fn fields(object: &Value) -> Vec<(String, String)> {
    let Some(object) = object.as_object() else { return Vec::new() };
    let mut fields: Vec<(String, String)> = object.iter().filter_map(|(k, v)| Some((k.clone(), text_of(v)?))).collect();
    if let Some([x, y]) = object.get("pos").and_then(Value::as_array).map(Vec::as_slice) {
        fields.extend([("x", x), ("y", y)].into_iter().filter_map(|(k, v)| Some((k.to_owned(), text_of(v)?))));
    }
    fields
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

fn borrow(fields: &[(String, String)]) -> Vec<Attribute<'_>> {
    fields.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect()
}
