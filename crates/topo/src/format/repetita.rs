//! Repetita's `.graph` (Gay, Schaus, Vissicchio: "REPETITA: Repeatable experiments for performance
//! evaluation of traffic-engineering algorithms", 2017).
//!
//! `NODES n`, a line of headings, `label x y` for each node; then `EDGES n`, headings, and `label
//! src dest weight bw delay` for each direction of a link: numbers of nodes from 0, kbit/s and
//! microseconds.

use super::FormatError;
use super::attributes::Builder;
use super::lines::{Record, delay, rate};
use crate::draft::Draft;

/// Reads a topology.
pub fn parse(text: &str) -> Result<Draft, FormatError> {
    let mut builder = Builder::new(true);
    let mut edges = false;
    let mut nodes = 0;
    for line in Record::all(text, &[]) {
        match line.words[0] {
            "NODES" => edges = false,
            "EDGES" => edges = true,
            "label" if line.words.get(1).is_some_and(|w| matches!(*w, "x" | "src")) => {}
            label if !edges => {
                let (x, y) = (line.word(1, "x")?, line.word(2, "y")?);
                let name = [("name", label), ("x", x), ("y", y)];
                builder.node(&nodes.to_string(), &name).map_err(|m| line.error(m))?;
                nodes += 1;
            }
            _ => {
                let (from, to) = (line.word(1, "source")?, line.word(2, "destination")?);
                let link = super::DraftLink {
                    weight: Some(line.parse::<f64>(3, "weight")?).filter(|w| w.is_finite()),
                    rate: rate(line.parse(4, "bandwidth in kbit/s")?, 1e3),
                    delay: delay(line.parse(5, "delay in microseconds")?, 1e-6),
                    ..super::DraftLink::default()
                };
                builder.link(from, to, link).map_err(|m| line.error(m))?;
            }
        }
    }
    let draft = builder.finish();
    if draft.links.is_empty() {
        return Err(FormatError::whole("no EDGES; is this Repetita's .graph?"));
    }
    Ok(draft)
}
