//! GraphML: `<key>` declares attributes, `<node>` and `<edge>` carry them as `<data>`.
//!
//! As the Internet Topology Zoo (Knight et al., IEEE JSAC 29(9), 2011), NetworkX and yEd write it.
//! XML is read by roxmltree, which refuses document type definitions and so knows no entity
//! expansion.

use midpath_core::units::Rate;
use roxmltree::Node;

use super::FormatError;
use super::attributes::{Attribute, Builder};
use super::lines::{at, is, required, xml};
use crate::draft::Draft;

/// Reads the first graph of the file.
pub fn parse(text: &str, capacity_unit: Option<Rate>) -> Result<Draft, FormatError> {
    let document = xml(text)?;
    let graph = document.descendants().find(|n| is(*n, "graph"));
    let graph = graph.ok_or_else(|| FormatError::whole("no <graph> element; is this GraphML?"))?;
    let keys: Vec<Key<'_>> = document.descendants().filter_map(Key::new).collect();
    let mut builder = Builder::new(graph.attribute("edgedefault") == Some("directed")).with_unit(capacity_unit);
    for node in graph.children().filter(|n| is(*n, "node")) {
        let id = required(node, "id")?;
        builder.node(id, &data(node, &keys)).map_err(|m| at(node, m))?;
    }
    for edge in graph.children().filter(|n| is(*n, "edge")) {
        let (source, target) = (required(edge, "source")?, required(edge, "target")?);
        builder.edge(source, target, &data(edge, &keys)).map_err(|m| at(edge, m))?;
    }
    Ok(builder.finish())
}

/// An attribute that the file declares.
struct Key<'a> {
    id: &'a str,
    name: &'a str,
    /// `node`, `edge`, or anything.
    of: Option<&'a str>,
    /// The value where an element states none.
    default: Option<&'a str>,
}

impl<'a> Key<'a> {
    fn new(key: Node<'a, '_>) -> Option<Key<'a>> {
        if !is(key, "key") {
            return None;
        }
        Some(Key {
            id: key.attribute("id")?,
            name: key.attribute("attr.name")?,
            of: key.attribute("for").filter(|of| *of != "all"),
            default: key.children().find(|n| is(*n, "default")).and_then(|n| n.text()),
        })
    }

    fn is_of(&self, node: Node<'_, '_>) -> bool {
        self.of.is_none_or(|of| of == node.tag_name().name())
    }
}

/// What an element states, and the defaults of what it does not.
fn data<'a>(node: Node<'a, '_>, keys: &[Key<'a>]) -> Vec<Attribute<'a>> {
    let stated: Vec<(&str, Option<&str>)> =
        node.children().filter(|n| is(*n, "data")).filter_map(|d| Some((d.attribute("key")?, d.text()))).collect();
    let value = |key: &Key<'a>| match stated.iter().find(|(id, _)| *id == key.id) {
        Some((_, text)) => *text,
        None => key.default.filter(|_| key.is_of(node)),
    };
    keys.iter().filter_map(|key| Some((key.name, value(key)?))).collect()
}
