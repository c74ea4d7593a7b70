//! BRITE's topologies (Medina, Lakhina, Matta, Byers: "BRITE: An approach to universal topology
//! generation", MASCOTS 2001).
//!
//! `Nodes: ( n )`, then `id x y in-degree out-degree AS type` for each; `Edges: ( n )`, then `id from
//! to length delay bandwidth AS-from AS-to type` for each, maybe with `D` or `U` behind. As ns-3 reads
//! them: delays in milliseconds, bandwidth in Mbps. Nodes are on a plane, so lengths are not used.

use super::FormatError;
use super::attributes::Builder;
use super::lines::{Record, delay, rate};
use crate::draft::{Draft, DraftLink};

/// Reads a topology.
pub fn parse(text: &str) -> Result<Draft, FormatError> {
    let directed = text.lines().any(|l| l.trim_end().ends_with(" D") || l.trim_end().ends_with("\tD"));
    let mut builder = Builder::new(directed);
    let mut section = "";
    for line in Record::all(text, &[]) {
        match (section, line.words[0]) {
            (_, "Nodes:") => section = "nodes",
            (_, "Edges:") => section = "edges",
            ("nodes", id) => {
                let attributes = [("x", line.word(1, "x")?), ("y", line.word(2, "y")?)];
                builder.node(id, &attributes).map_err(|m| line.error(m))?;
            }
            ("edges", _) => {
                let link = DraftLink {
                    delay: delay(line.parse(4, "delay in milliseconds")?, 1e-3),
                    rate: rate(line.parse(5, "bandwidth in Mbps")?, 1e6),
                    ..DraftLink::default()
                };
                let (from, to) = (line.word(1, "source")?, line.word(2, "destination")?);
                builder.link(from, to, link).map_err(|m| line.error(m))?;
            }
            _ => {}
        }
    }
    Ok(builder.finish())
}
