//! Which format a file has: by what is in it; its name decides only between two that look alike.

use std::path::Path;

use super::{Format, htsim};

/// How much of a file is looked at. Ours: comments may come first.
const HEAD: usize = 64 << 10;

/// What a file seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// A format that is read.
    Format {
        /// Which one.
        format: Format,
        /// What was guessed.
        guess: Option<&'static str>,
    },
    /// A format that is not read as a topology: what it is, and what to do.
    NotRead(&'static str),
    /// Nothing that is known.
    Unknown,
}

/// Two formats of Rocketfuel's look alike.
const WEIGHTS_GUESSED: &str = "lines are `from to number`, and the file's name has neither `weights` nor `latencies` \
                               in it: numbers are read as weights; write format = \"rocketfuel-latencies\" if \
                               they are milliseconds";

/// Looks at a file's beginning, and at its name where that decides.
pub fn recognise(path: &Path, bytes: &[u8]) -> Recognised {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    match by_content(head) {
        Some(Recognised::Format { format: Format::RocketfuelWeights, .. }) => rocketfuel(&name),
        Some(found) => found,
        None => by_name(&name).map_or(Recognised::Unknown, sure),
    }
}

fn sure(format: Format) -> Recognised {
    Recognised::Format { format, guess: None }
}

fn rocketfuel(name: &str) -> Recognised {
    match (name.contains("latenc"), name.contains("weight")) {
        (true, false) => sure(Format::RocketfuelLatencies),
        (false, true) => sure(Format::RocketfuelWeights),
        _ => Recognised::Format { format: Format::RocketfuelWeights, guess: Some(WEIGHTS_GUESSED) },
    }
}

/// Of a file whose beginning says nothing: the reader's error then says what is wrong with it.
fn by_name(name: &str) -> Option<Format> {
    match name.rsplit('.').next()? {
        "cch" => Some(Format::RocketfuelCch),
        "graphml" => Some(Format::GraphMl),
        "gml" => Some(Format::Gml),
        "json" => Some(Format::NodeLink),
        "intra" if name.contains("latenc") => Some(Format::RocketfuelLatencies),
        "intra" => Some(Format::RocketfuelWeights),
        "brite" => Some(Format::Brite),
        "graph" => Some(Format::Repetita),
        "topo" => Some(Format::Htsim),
        _ => None,
    }
}

fn by_content(head: &str) -> Option<Recognised> {
    match head.as_bytes().first()? {
        b'<' => return xml(head),
        b'{' => return json(head),
        _ if head.starts_with("PK\u{3}\u{4}") => {
            return Some(Recognised::NotRead(
                "a spreadsheet or another zip archive: not supported; save it as \
                text first",
            ));
        }
        _ => {}
    }
    let mut lines = head.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let first = lines.next()?;
    let second = lines.next().unwrap_or("");
    let words: Vec<&str> = first.split_whitespace().collect();
    let integer = |w: &str| w.parse::<i64>().is_ok();
    match words[..] {
        _ if first.starts_with("?SNDlib native") => Some(sure(Format::SndlibNative)),
        _ if first.starts_with("Topology:") && first.contains("Nodes") => Some(sure(Format::Brite)),
        ["NODES", ..] if second.starts_with("label") => Some(sure(Format::Repetita)),
        ["DEMANDS", ..] if second.starts_with("label") => {
            Some(Recognised::NotRead("Repetita demands, not a topology: name them in a workload's `matrix`"))
        }
        [key, n] if integer(n) && htsim::HEADER.contains(&&*key.to_ascii_lowercase()) => htsim_file(head),
        [word, ..] if is_as_relation(word) && words.len() == 1 => Some(sure(Format::AsRelationships)),
        [uid, at, ..] if integer(uid) && at.starts_with('@') => Some(sure(Format::RocketfuelCch)),
        [_, _, _] | [_, _, _, _] | [_, _, _, _, _, _] if words.iter().all(|w| integer(w)) => Some(sure(Format::Hpcc)),
        [_, _, w] if w.parse::<f64>().is_ok() => Some(sure(Format::RocketfuelWeights)),
        ["strict", "graph" | "digraph", ..] | ["digraph", ..] => Some(DOT),
        ["graph", ..] if first.contains('{') => Some(DOT),
        _ if is_containerlab(head) => Some(sure(Format::Containerlab)),
        _ if head.split_whitespace().any(|w| w == "graph" || w == "graph[") && head.contains('[') => {
            Some(sure(Format::Gml))
        }
        _ => None,
    }
}

const DOT: Recognised = Recognised::NotRead("Graphviz DOT: not supported; NetworkX converts it to GraphML");

/// Both of htsim's files begin with `Nodes n`.
fn htsim_file(head: &str) -> Option<Recognised> {
    let has =
        |key: &str| head.lines().any(|l| l.split_whitespace().next().is_some_and(|w| w.eq_ignore_ascii_case(key)));
    if has("connections") {
        return Some(Recognised::NotRead("htsim .cm: flows, not a topology: name it in a workload's `list`"));
    }
    has("tiers").then(|| sure(Format::Htsim))
}

/// `1|2|-1`, `1|2|0`, `1|2|0|bgp`.
fn is_as_relation(line: &str) -> bool {
    let fields: Vec<&str> = line.split('|').collect();
    fields.len() >= 3
        && fields[..2].iter().all(|f| f.parse::<u32>().is_ok())
        && matches!(fields[2], "-1" | "0" | "1" | "2")
}

fn is_containerlab(head: &str) -> bool {
    let top = |key: &str| head.lines().any(|l| l.trim_end().starts_with(key));
    top("topology:") && head.contains("nodes:")
}

fn json(head: &str) -> Option<Recognised> {
    let has = |key: &str| head.contains(key);
    if has("\"networkStructure\"") || has("\"preInstalledModule\"") {
        return Some(Recognised::NotRead(
            "SNDlib XML converted to JSON: not supported; SNDlib has the same network as native text and as XML",
        ));
    }
    if has("\"pre_installed_capacity\"") {
        return Some(sure(Format::SndlibJson));
    }
    Some(sure(Format::NodeLink))
}

/// By the name of the root element.
fn xml(head: &str) -> Option<Recognised> {
    let is_mark = |rest: &str| !rest.starts_with(['?', '!']);
    let root = head.split('<').skip(1).find(|rest| is_mark(rest) && rest.starts_with(|c: char| c.is_alphabetic()))?;
    let tag = root.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next()?;
    match tag.rsplit(':').next()? {
        "graphml" => Some(sure(Format::GraphMl)),
        "network" => Some(sure(Format::SndlibXml)),
        "domain" => Some(sure(Format::Totem)),
        "TrafficMatrixFile" => Some(Recognised::NotRead(
            "a TOTEM traffic matrix, not a topology, and not supported; convert it to a CSV with the columns \
                from, to, rate",
        )),
        "gexf" => Some(Recognised::NotRead("Gephi GEXF: not supported; NetworkX converts it to GraphML")),
        _ if head.contains("<graphml") => Some(sure(Format::GraphMl)),
        _ => None,
    }
}
