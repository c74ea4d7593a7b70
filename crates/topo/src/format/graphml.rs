//! GraphML: `<key>` declares attributes, `<node>` and `<edge>` carry them as `<data>`.
//!
//! As the Internet Topology Zoo (Knight et al., IEEE JSAC 29(9), 2011), NetworkX and yEd write it.
//! XML is read by roxmltree, which refuses document type definitions and so knows no entity
//! expansion.

use rustc_hash::FxHashMap;

use roxmltree::{Document, Node, ParsingOptions};

use super::FormatError;
use super::attributes::{Attribute, Builder};
use crate::draft::Draft;

/// Reads the first graph of the file.
pub fn parse(text: &str) -> Result<Draft, FormatError> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: 20_000_000, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|e| FormatError::at(e.pos().row as usize, format!("not XML: {e}")))?;
    let graph = document.descendants().find(|n| n.has_tag_name_any("graph"));
    let graph = graph.ok_or_else(|| FormatError::whole("no <graph> element; is this GraphML?"))?;
    let keys: FxHashMap<&str, &str> = document
        .descendants()
        .filter(|n| n.has_tag_name_any("key"))
        .filter_map(|k| Some((k.attribute("id")?, k.attribute("attr.name")?)))
        .collect();
    let mut builder = Builder::new(graph.attribute("edgedefault") == Some("directed"));
    for node in graph.children().filter(|n| n.has_tag_name_any("node")) {
        let id = required(&document, node, "id")?;
        builder.node(id, &data(node, &keys)).map_err(|m| at(&document, node, m))?;
    }
    for edge in graph.children().filter(|n| n.has_tag_name_any("edge")) {
        let (source, target) = (required(&document, edge, "source")?, required(&document, edge, "target")?);
        builder.edge(source, target, &data(edge, &keys)).map_err(|m| at(&document, edge, m))?;
    }
    Ok(builder.finish())
}

/// Tag names in any namespace: writers differ.
trait AnyNamespace {
    fn has_tag_name_any(&self, name: &str) -> bool;
}

impl AnyNamespace for Node<'_, '_> {
    fn has_tag_name_any(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

fn at(document: &Document<'_>, node: Node<'_, '_>, message: String) -> FormatError {
    FormatError::at(document.text_pos_at(node.range().start).row as usize, message)
}

fn required<'a>(document: &Document<'_>, node: Node<'a, '_>, name: &str) -> Result<&'a str, FormatError> {
    let tag = node.tag_name().name();
    node.attribute(name).ok_or_else(|| at(document, node, format!("a <{tag}> without `{name}`")))
}

fn data<'a>(node: Node<'a, '_>, keys: &FxHashMap<&'a str, &'a str>) -> Vec<Attribute<'a>> {
    let data = node.children().filter(|n| n.has_tag_name_any("data"));
    data.filter_map(|d| Some((*keys.get(d.attribute("key")?)?, d.text()?))).collect()
}
