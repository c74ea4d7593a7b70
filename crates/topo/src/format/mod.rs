//! Topology files: one reader for each format, all with the same contract.
//!
//! A reader turns bytes into a [`Draft`] or says which line is wrong and what would have been
//! accepted; it never panics, and what it allocates is bounded by the size of its input, at most
//! [`MAX_FILE_BYTES`]; of a file that is a rule (htsim's), by a number of parts.

pub mod as_relationships;
mod attributes;
pub mod brite;
pub mod containerlab;
pub mod gml;
pub mod graphml;
pub mod hpcc;
pub mod htsim;
mod lines;
pub mod node_link;
mod recognise;
pub mod repetita;
pub mod rocketfuel_cch;
pub mod rocketfuel_weights;
pub mod sndlib;
pub mod totem;

use std::path::Path;

use midpath_core::units::Rate;
use serde::{Deserialize, Serialize};

pub use recognise::{Recognised, recognise};

use crate::draft::{Draft, DraftLink};

/// Largest file that is read. Our choice: 80 times the largest Rocketfuel map.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Rocketfuel's router-level ISP maps (`3257.pop.cch`).
    RocketfuelCch,
    /// Rocketfuel's inferred link weights (`weights.intra`).
    RocketfuelWeights,
    /// Rocketfuel's link latencies (`latencies.intra`).
    RocketfuelLatencies,
    /// GraphML, as the Internet Topology Zoo and NetworkX write it.
    #[serde(rename = "graphml")]
    GraphMl,
    /// GML, as the Internet Topology Zoo and NetworkX write it.
    Gml,
    /// NetworkX node-link JSON, also topohub's.
    NodeLink,
    /// The topology text format of the HPCC simulator.
    Hpcc,
    /// htsim's `.topo`: a fat-tree by rule.
    Htsim,
    /// SNDlib's native text.
    SndlibNative,
    /// SNDlib's XML.
    SndlibXml,
    /// SNDlib's native text turned into JSON, key by key.
    SndlibJson,
    /// Repetita's `.graph`.
    Repetita,
    /// containerlab's YAML (`*.clab.yml`).
    Containerlab,
    /// CAIDA's AS relationships (`as-rel`, `as-rel2`).
    #[serde(rename = "as-rel")]
    AsRelationships,
    /// BRITE's output.
    Brite,
    /// TOTEM's XML.
    Totem,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 16] = [
        Format::RocketfuelCch,
        Format::RocketfuelWeights,
        Format::RocketfuelLatencies,
        Format::GraphMl,
        Format::Gml,
        Format::NodeLink,
        Format::Hpcc,
        Format::Htsim,
        Format::SndlibNative,
        Format::SndlibXml,
        Format::SndlibJson,
        Format::Repetita,
        Format::Containerlab,
        Format::AsRelationships,
        Format::Brite,
        Format::Totem,
    ];

    /// The name that a scenario uses.
    pub const fn name(self) -> &'static str {
        match self {
            Format::RocketfuelCch => "rocketfuel-cch",
            Format::RocketfuelWeights => "rocketfuel-weights",
            Format::RocketfuelLatencies => "rocketfuel-latencies",
            Format::GraphMl => "graphml",
            Format::Gml => "gml",
            Format::NodeLink => "node-link",
            Format::Hpcc => "hpcc",
            Format::Htsim => "htsim",
            Format::SndlibNative => "sndlib-native",
            Format::SndlibXml => "sndlib-xml",
            Format::SndlibJson => "sndlib-json",
            Format::Repetita => "repetita",
            Format::Containerlab => "containerlab",
            Format::AsRelationships => "as-rel",
            Format::Brite => "brite",
            Format::Totem => "totem",
        }
    }
}

/// Why a file is not a topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", line.map(|l| format!("line {l}: ")).unwrap_or_default())]
pub struct FormatError {
    /// The line, from 1, where there is one to blame.
    pub line: Option<usize>,
    /// What is wrong, and what would have been accepted.
    pub message: String,
}

impl FormatError {
    /// An error of the file as a whole.
    pub fn whole(message: impl Into<String>) -> FormatError {
        FormatError { line: None, message: message.into() }
    }

    /// An error on a line, counted from 1.
    pub fn at(line: usize, message: impl Into<String>) -> FormatError {
        FormatError { line: Some(line), message: message.into() }
    }
}

/// What a reader may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Rocketfuel maps: keep routers marked `r0` to this radius. 0 keeps the ISP's own.
    pub radius: u32,
    /// What 1 is of a capacity that the file states without a unit.
    pub capacity_unit: Option<Rate>,
}

/// Reads a topology, with the default [`Options`].
pub fn parse_bytes(format: Format, bytes: &[u8]) -> Result<Draft, FormatError> {
    parse(format, bytes, Options::default())
}

/// Reads a topology.
pub fn parse(format: Format, bytes: &[u8], options: Options) -> Result<Draft, FormatError> {
    let text = text(bytes)?;
    let unit = options.capacity_unit;
    let mut draft = match format {
        Format::RocketfuelCch => rocketfuel_cch::parse(text, options.radius),
        Format::RocketfuelWeights => rocketfuel_weights::parse_weights(text),
        Format::RocketfuelLatencies => rocketfuel_weights::parse_latencies(text),
        Format::GraphMl => graphml::parse(text, unit),
        Format::Gml => gml::parse(text, unit),
        Format::NodeLink => node_link::parse(text, unit),
        Format::Hpcc => hpcc::parse(text),
        Format::Htsim => htsim::parse(text),
        Format::SndlibNative => sndlib::parse_native(text, unit),
        Format::SndlibXml => sndlib::parse_xml(text, unit),
        Format::SndlibJson => sndlib::parse_json(text, unit),
        Format::Repetita => repetita::parse(text),
        Format::Containerlab => containerlab::parse(text),
        Format::AsRelationships => as_relationships::parse(text),
        Format::Brite => brite::parse(text),
        Format::Totem => totem::parse(text),
    }?;
    if draft.nodes.is_empty() {
        return Err(FormatError::whole(format!("no nodes; is this {}?", format.name())));
    }
    draft.make_names_unique();
    Ok(draft)
}

/// The bytes as text, without a byte-order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, FormatError> {
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!("{} bytes; files may have up to {} MiB", bytes.len(), MAX_FILE_BYTES >> 20);
        return Err(FormatError::whole(message));
    }
    let text = str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        FormatError::at(line, "not UTF-8 text")
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// A remark on capacities that are left out.
fn no_unit(links: usize) -> String {
    format!(
        "{links} links have a capacity without a unit, which is ignored: set it, such as capacity_unit = \"1 Mbps\""
    )
}

/// The format of a file, where it is one that is read.
pub fn guess(path: &Path, bytes: &[u8]) -> Option<Format> {
    match recognise(path, bytes) {
        Recognised::Format { format, .. } => Some(format),
        Recognised::NotRead(_) | Recognised::Unknown => None,
    }
}

#[cfg(test)]
mod tests;
