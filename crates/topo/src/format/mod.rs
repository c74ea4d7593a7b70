//! Topology files: one reader for each format, all with the same contract.
//!
//! A reader turns bytes into a [`Draft`] or says which line is wrong and what would have been
//! accepted; it never panics, and what it allocates is bounded by the size of its input, at most
//! [`MAX_FILE_BYTES`].

mod attributes;
pub mod gml;
pub mod graphml;
pub mod hpcc;
pub mod node_link;
pub mod rocketfuel_cch;
pub mod rocketfuel_weights;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::draft::Draft;

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
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 7] = [
        Format::RocketfuelCch,
        Format::RocketfuelWeights,
        Format::RocketfuelLatencies,
        Format::GraphMl,
        Format::Gml,
        Format::NodeLink,
        Format::Hpcc,
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
}

/// Reads a topology, with the default [`Options`].
pub fn parse_bytes(format: Format, bytes: &[u8]) -> Result<Draft, FormatError> {
    parse(format, bytes, Options::default())
}

/// Reads a topology.
pub fn parse(format: Format, bytes: &[u8], options: Options) -> Result<Draft, FormatError> {
    let text = text(bytes)?;
    let mut draft = match format {
        Format::RocketfuelCch => rocketfuel_cch::parse(text, options.radius),
        Format::RocketfuelWeights => rocketfuel_weights::parse_weights(text),
        Format::RocketfuelLatencies => rocketfuel_weights::parse_latencies(text),
        Format::GraphMl => graphml::parse(text),
        Format::Gml => gml::parse(text),
        Format::NodeLink => node_link::parse(text),
        Format::Hpcc => hpcc::parse(text),
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
        let message = format!("{} bytes; files of up to {} MiB are read", bytes.len(), MAX_FILE_BYTES >> 20);
        return Err(FormatError::whole(message));
    }
    let text = str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        FormatError::at(line, "not UTF-8 text")
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The format of a file, by its name and, where that is not enough, its beginning.
pub fn guess(path: &Path, bytes: &[u8]) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let by_name = match name.rsplit('.').next() {
        Some("cch") => Some(Format::RocketfuelCch),
        Some("graphml") => Some(Format::GraphMl),
        Some("gml") => Some(Format::Gml),
        Some("json") => Some(Format::NodeLink),
        Some("intra") if name.starts_with("latenc") => Some(Format::RocketfuelLatencies),
        Some("intra") => Some(Format::RocketfuelWeights),
        _ => None,
    };
    by_name.or_else(|| guess_by_content(&bytes[..bytes.len().min(4096)]))
}

fn guess_by_content(head: &[u8]) -> Option<Format> {
    let head = String::from_utf8_lossy(head);
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let words: Vec<&str> = head.lines().next().unwrap_or("").split_whitespace().collect();
    let integer = |w: &str| w.parse::<i64>().is_ok();
    match words[..] {
        _ if head.contains("<graphml") => Some(Format::GraphMl),
        _ if head.starts_with('{') => Some(Format::NodeLink),
        [uid, at, ..] if integer(uid) && at.starts_with('@') => Some(Format::RocketfuelCch),
        [n, s, l] if [n, s, l].into_iter().all(integer) => Some(Format::Hpcc),
        [_, _, w] if w.parse::<f64>().is_ok() => Some(Format::RocketfuelWeights),
        _ if head.split_whitespace().any(|w| w == "graph" || w == "graph[") && head.contains('[') => Some(Format::Gml),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
