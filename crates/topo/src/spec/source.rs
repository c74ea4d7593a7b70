//! The draft of a topology from whichever source the table names.

use std::path::{Path, PathBuf};

use midpath_core::files::Files;
use midpath_core::spec::SpecError;
use midpath_core::units::Ratio;
use rustc_hash::FxHashMap;

use super::{DelaySpec, LinkSpec, NodeSpec, TopologySpec, generated};
use crate::draft::{Draft, DraftLink, DraftNode, MAX_POPULATION};
use crate::format::{self, Format, FormatError, Options, Recognised, rocketfuel_weights};
use crate::graph::NodeKind;
use crate::{builtin, suggest};

/// The key of the source, for errors about the network as a whole.
pub fn key(spec: &TopologySpec) -> &'static str {
    match spec {
        TopologySpec { builtin: Some(_), .. } => "builtin",
        TopologySpec { generate: Some(_), .. } => "generate",
        TopologySpec { file: Some(_), .. } => "file",
        _ => "links",
    }
}

/// The network as its source states it.
pub fn draft(spec: &TopologySpec, files: Files<'_>, seed: u64) -> Result<Draft, SpecError> {
    check_one_source(spec)?;
    generated::check_keys(spec)?;
    check_file_keys(spec)?;
    if let Some(name) = &spec.builtin {
        let unknown = || SpecError::new("builtin", suggest::unknown("network", name, builtin::builtin_names()));
        return builtin::builtin(name).ok_or_else(unknown);
    }
    if let Some(file) = &spec.file {
        return read_file(spec, files, file);
    }
    if let Some(links) = &spec.links {
        return inline(spec.nodes.as_deref().unwrap_or(&[]), links);
    }
    generated::draft(spec, seed)
}

fn check_one_source(spec: &TopologySpec) -> Result<(), SpecError> {
    let given = [
        ("builtin", spec.builtin.is_some()),
        ("generate", spec.generate.is_some()),
        ("file", spec.file.is_some()),
        ("links", spec.links.is_some()),
    ];
    let given: Vec<&str> = given.into_iter().filter(|(_, g)| *g).map(|(k, _)| k).collect();
    match given[..] {
        [_] => Ok(()),
        [] => Err(SpecError::new("", "no network: write one of `builtin`, `generate`, `file` and `links`")),
        [first, second, ..] => {
            let message = format!("excludes `{first}`: both define the network");
            Err(SpecError::new(second, message))
        }
    }
}

fn check_file_keys(spec: &TopologySpec) -> Result<(), SpecError> {
    let stray =
        |key: &str, of: &str| Err(SpecError::new(key, format!("`{key}` belongs to `{of}`, which is not given")));
    match spec {
        _ if spec.file.is_none() && spec.format.is_some() => stray("format", "file"),
        _ if spec.file.is_none() && spec.radius.is_some() => stray("radius", "file"),
        _ if spec.file.is_none() && spec.capacity_unit.is_some() => stray("capacity_unit", "file"),
        _ if spec.links.is_none() && spec.nodes.is_some() => stray("nodes", "links"),
        _ => Ok(()),
    }
}

fn read_file(spec: &TopologySpec, files: Files<'_>, file: &str) -> Result<Draft, SpecError> {
    let options = Options { radius: spec.radius.unwrap_or(0), capacity_unit: spec.capacity_unit };
    read_named(files, Path::new(file), spec.format, options).map_err(|e| {
        let place = e.line.map(|l| format!(", line {l}")).unwrap_or_default();
        SpecError::new("file", format!("{file}{place}: {}", e.message))
    })
}

/// Reads a topology file. Of Rocketfuel's weights and latencies, the other one is read too if it is
/// there under the same name with the other word in it.
pub fn read_path(path: &Path, format: Option<Format>, options: Options) -> Result<Draft, FormatError> {
    read_named(Files::from(""), path, format, options)
}

fn read_named(files: Files<'_>, path: &Path, format: Option<Format>, options: Options) -> Result<Draft, FormatError> {
    let bytes = read_bytes(files, path)?;
    let (format, guess) = match (format, format::recognise(path, &bytes)) {
        (Some(format), _) => (format, None),
        (None, Recognised::Format { format, guess }) => (format, guess),
        (None, Recognised::NotRead(what)) => return Err(FormatError::whole(format!("this is {what}"))),
        (None, Recognised::Unknown) => return Err(unknown_format()),
    };
    let mut draft = format::parse(format, &bytes, options)?;
    draft.unused.extend(guess.map(str::to_owned));
    let Some(other) = other_of_rocketfuel(path, format) else { return Ok(draft) };
    if !files.has(&other.0) {
        return Ok(draft);
    }
    let second = format::parse(other.1, &read_bytes(files, &other.0)?, options)
        .map_err(|e| FormatError { message: format!("{}: {}", other.0.display(), e.message), ..e })?;
    let latencies_first = format == Format::RocketfuelLatencies;
    let (weights, latencies) = if latencies_first { (second, draft) } else { (draft, second) };
    Ok(rocketfuel_weights::merge(weights, &latencies))
}

fn unknown_format() -> FormatError {
    let names = Format::ALL.map(|f| format!("\"{}\"", f.name())).join(", ");
    FormatError::whole(format!("unknown file format; if it is one of these, set `format`: {names}"))
}

/// `1221.weights.intra` for `1221.latencies.intra`, and the other way round.
fn other_of_rocketfuel(path: &Path, format: Format) -> Option<(PathBuf, Format)> {
    let name = path.file_name()?.to_str()?;
    let (own, other, format) = match format {
        Format::RocketfuelWeights => ("weights", "latencies", Format::RocketfuelLatencies),
        Format::RocketfuelLatencies => ("latencies", "weights", Format::RocketfuelWeights),
        _ => return None,
    };
    name.contains(own).then(|| (path.with_file_name(name.replacen(own, other, 1)), format))
}

fn read_bytes(files: Files<'_>, name: &Path) -> Result<Vec<u8>, FormatError> {
    let unreadable =
        |e: std::io::Error| FormatError::whole(format!("cannot be read: {e} ({})", files.path(name).display()));
    files.read(name, format::MAX_FILE_BYTES as u64).map_err(unreadable)
}

fn inline(nodes: &[NodeSpec], links: &[LinkSpec]) -> Result<Draft, SpecError> {
    if links.is_empty() {
        return Err(SpecError::new(
            "links",
            "no links; write at least one, such as { a = \"h0\", b = \"h1\", rate = \"1 Gbps\", delay = \"1 ms\" }",
        ));
    }
    let mut draft = Draft::default();
    let mut index: FxHashMap<String, usize> = FxHashMap::default();
    for (i, n) in nodes.iter().enumerate() {
        if index.insert(n.name.clone(), i).is_some() {
            let message = format!("`{}` is already the name of another node; names are unique", n.name);
            return Err(SpecError::new(format!("nodes[{i}].name"), message));
        }
        draft.nodes.push(inline_node(n).map_err(|e| e.under(&format!("nodes[{i}]")))?);
    }
    for (i, link) in links.iter().enumerate() {
        if let Some((key, _)) = [("a", &link.a), ("b", &link.b)].into_iter().find(|(_, name)| name.is_empty()) {
            return Err(SpecError::new(format!("links[{i}].{key}"), "a node needs a name"));
        }
        let (a, b) = (end(&mut draft, &mut index, &link.a), end(&mut draft, &mut index, &link.b));
        draft.links.push(inline_link(link, a, b));
    }
    if let Some(i) = draft.links.iter().position(|l| l.a == l.b) {
        let message = format!("`{}` is linked to itself; a link joins two nodes", links[i].a);
        return Err(SpecError::new(format!("links[{i}].b"), message));
    }
    let adjacency = draft.adjacency();
    for (n, node) in draft.nodes.iter_mut().enumerate() {
        let kind = if adjacency.degree(n) == 1 { NodeKind::Host } else { NodeKind::Router };
        node.kind = node.kind.or(Some(kind));
    }
    Ok(draft)
}

fn inline_node(n: &NodeSpec) -> Result<DraftNode, SpecError> {
    let finite = |key: &str, v: Option<f64>| match v {
        Some(v) if !v.is_finite() => Err(SpecError::new(key, format!("{v} is not a coordinate"))),
        v => Ok(v),
    };
    let (x, y) = (finite("x", n.x)?, finite("y", n.y)?);
    let population = n.population;
    if let Some(people) = population.filter(|p| !(0.0..=MAX_POPULATION).contains(p)) {
        return Err(SpecError::new("population", format!("{people} is not a number from 0 to {MAX_POPULATION:e}")));
    }
    let (name, class, pos) = (n.name.clone(), n.class.clone(), x.zip(y));
    Ok(DraftNode { name, kind: n.kind, class, pos, population, ..DraftNode::default() })
}

fn end(draft: &mut Draft, index: &mut FxHashMap<String, usize>, name: &str) -> usize {
    *index.entry(name.to_owned()).or_insert_with(|| {
        draft.nodes.push(DraftNode { name: name.to_owned(), ..DraftNode::default() });
        draft.nodes.len() - 1
    })
}

fn inline_link(l: &LinkSpec, a: usize, b: usize) -> DraftLink {
    DraftLink {
        a,
        b,
        rate: l.rate,
        rate_back: l.rate_back,
        delay: match l.delay {
            Some(DelaySpec::Constant(t)) => Some(t),
            // "distance" is also what a link without a delay gets, unless `default_delay` says
            // otherwise.
            Some(DelaySpec::Distance) | None => None,
        },
        length_km: None,
        mtu: l.mtu,
        weight: l.weight,
        corruption: l.corruption.map_or(0.0, Ratio::as_f64),
        queue: l.queue.clone(),
    }
}
