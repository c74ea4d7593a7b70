//! Rocketfuel's router-level ISP maps (`*.cch`).
//!
//! N. Spring, R. Mahajan, D. Wetherall: "Measuring ISP topologies with Rocketfuel", SIGCOMM 2002.
//! One router a line:
//!
//! ```text
//! uid @location [+] [bb] (neighbours) [&externals] -> <uid> <uid> … {-euid} … =dns-name[!] rN
//! -euid =address rN
//! # remark
//! ```
//!
//! `<uid>` are neighbours in the map, listed from both ends; `{-euid}` are addresses outside of it,
//! which are left out with their own lines. `rN` is the distance from the mapped ISP: `r0` are its
//! own routers. A `+` in a location is a space; `@T` and `@?` are unknown locations. The `(count)`
//! includes neighbours that the published files don't list.

use super::FormatError;
use super::attributes::short;
use crate::draft::{Draft, DraftLink, DraftNode};
use crate::graph::MAX_NODES;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// One router's line.
struct Router<'a> {
    line: usize,
    uid: i64,
    location: &'a str,
    neighbours: Vec<i64>,
    radius: u32,
}

/// Reads the routers up to `radius` and the links between them. Node names are uids; labels are
/// locations.
///
/// A link from a router to itself is kept here (INRPP's Table I counts them, see
/// [`crate::detour`]), once.
pub fn parse(text: &str, radius: u32) -> Result<Draft, FormatError> {
    let mut routers = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if let Some(router) = parse_line(i + 1, line)? {
            routers.push(router);
        }
    }
    if routers.len() > MAX_NODES {
        return Err(FormatError::whole(format!("{} routers; at most {MAX_NODES} are accepted", routers.len())));
    }
    assemble(&routers, radius)
}

fn parse_line(number: usize, line: &str) -> Result<Option<Router<'_>>, FormatError> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let err = |message: &str| FormatError::at(number, message);
    let (uid, rest) =
        line.split_once(char::is_whitespace).ok_or_else(|| err("a single word; expected `uid @location …`"))?;
    let uid: i64 =
        uid.parse().map_err(|_| err("the line begins with no uid; expected `uid @location … -> <uid> … =name rN`"))?;
    if uid < 0 {
        return Ok(None);
    }
    let (head, tail) =
        rest.split_once("->").ok_or_else(|| err("no `->` before the neighbours; is the line truncated?"))?;
    let location = head
        .split_whitespace()
        .next()
        .and_then(|w| w.strip_prefix('@'))
        .ok_or_else(|| err("no `@location` after the uid"))?;
    let radius = tail.split_whitespace().next_back().and_then(|w| w.strip_prefix('r')?.parse().ok());
    let radius = radius.ok_or_else(|| err("no radius (`r0`, `r1`, …) at the end; is the line truncated?"))?;
    let listed = tail.split('=').next().unwrap_or("");
    let mut neighbours = Vec::new();
    for word in listed.split_whitespace().filter(|w| w.starts_with('<')) {
        let uid = word.strip_prefix('<').and_then(|w| w.strip_suffix('>')?.parse().ok());
        neighbours.push(uid.ok_or_else(|| err(&format!("`{}` is not a neighbour; expected `<uid>`", short(word))))?);
    }
    Ok(Some(Router { line: number, uid, location, neighbours, radius }))
}

fn assemble(routers: &[Router<'_>], radius: u32) -> Result<Draft, FormatError> {
    let mut draft = Draft::default();
    // `None`: in the file, but further out than wanted.
    let mut index: FxHashMap<i64, Option<usize>> = FxHashMap::with_capacity_and_hasher(routers.len(), FxBuildHasher);
    for r in routers {
        let kept = (r.radius <= radius).then_some(draft.nodes.len());
        if index.insert(r.uid, kept).is_some() {
            return Err(FormatError::at(r.line, format!("a second router with uid {}; uids are unique", r.uid)));
        }
        if kept.is_some() {
            draft.nodes.push(node(r));
        }
    }
    let mut seen = FxHashSet::default();
    for r in routers {
        for uid in &r.neighbours {
            let b = *index.get(uid).ok_or_else(|| {
                FormatError::at(r.line, format!("the neighbour <{uid}> is not in the file; is the file truncated?"))
            })?;
            if let (Some(a), Some(b)) = (index[&r.uid], b)
                && seen.insert((a.min(b), a.max(b)))
            {
                draft.links.push(DraftLink { a, b, ..DraftLink::default() });
            }
        }
    }
    let left = routers.len() - draft.nodes.len();
    if left > 0 {
        draft.notes.push(format!("{left} routers beyond r{radius} removed"));
    }
    Ok(draft)
}

fn node(r: &Router<'_>) -> DraftNode {
    let known = !matches!(r.location, "T" | "?" | "");
    let label = known.then(|| r.location.replace(",+", ", ").replace('+', " "));
    DraftNode { name: r.uid.to_string(), label, ..DraftNode::default() }
}
