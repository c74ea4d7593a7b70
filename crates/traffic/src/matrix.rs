//! Who sends to whom.

use crate::hosts::{Host, HostTable};
use crate::rates::{MAX_ENTRIES, parse_matrix_bytes};
use crate::repetita;
use crate::stream::Stream;
use midpath_core::files::Files;
use midpath_core::spec::SpecError;
use midpath_core::units::Rate;
use rand::RngExt;
use rand::seq::SliceRandom;
use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Most pairs of a random matrix. Ours: they take 400 MB.
const MOST_PAIRS: u64 = 50_000_000;

/// The pairs of hosts that flows run between. Each arrival takes one of them at random, all equally
/// likely (but by weight for gravity); `once`, `periodic` and Poisson with `rounds` start a flow on
/// every pair.
// The variants without fields have braces, because serde lets unknown fields pass in unit variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MatrixSpec {
    /// Every host to every other.
    AllToAll {},
    /// A random permutation: every host sends to one other and receives from one.
    Permutation {},
    /// Many to one.
    Incast {
        /// The host that receives.
        #[schemars(extend("examples" = ["h0"]))]
        to: String,
        /// Number of senders, drawn once; default all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = [8]))]
        senders: Option<u64>,
    },
    /// Random ordered pairs.
    Random {
        /// Number of pairs, drawn once. Default: each arrival draws its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = [16]))]
        pairs: Option<u64>,
        /// Draw with replacement.
        #[serde(default)]
        replacement: bool,
    },
    /// The given pairs.
    Pairs {
        /// Sender and receiver.
        #[schemars(extend("examples" = [[["h0", "h1"], ["h2", "h3"]]]))]
        pairs: Vec<[String; 2]>,
    },
    /// Simple gravity model: pairs in proportion to the product of weights (Zhang, Roughan,
    /// Duffield, Greenberg, SIGMETRICS 2003, §3).
    Gravity {
        /// Weight of hosts, or of routers, shared by their hosts. Zero excludes.
        #[serde(default)]
        #[schemars(extend("examples" = [{ "h0": 4.0, "h1": 1.0 }]))]
        weights: BTreeMap<String, f64>,
        /// Default weights; default the access rate in Gbps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["population"]))]
        by: Option<GravityBy>,
    },
    /// Rates from a file; hosts of a place share them. Arrivals take pairs in proportion. `load`
    /// refers to the matrix's total unless `load_of` is given.
    File {
        /// File, relative to the scenario: CSV with columns from, to, rate, or a square with receivers in the first
        /// line and senders in the first column, in bits per second without units; node-link JSON with
        /// `graph.demands` by id or name, as topohub's (needs `load_of` or `unit`); SNDlib's native text, XML or
        /// JSON; Repetita's demands with the `.graph` beside. Names are hosts' or routers'.
        #[schemars(extend("examples" = ["measured.csv"]))]
        file: String,
        /// Unit of amounts without a unit, such as "1 Mbps".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["1 Mbps"]))]
        unit: Option<Rate>,
        /// Whether demands also apply in reverse; default "both-ways" for topohub's demands, else "one-way".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direction: Option<Direction>,
    },
}

/// What a demand between two places means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the first to the second.
    OneWay,
    /// As much back.
    BothWays,
}

/// Weights of hosts that come from the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GravityBy {
    /// The router's `population`, in equal parts to its hosts.
    Population,
    /// The rates of the router's links to other routers, added up, in equal parts to its hosts.
    /// Links taken out by `without` count.
    Capacity,
}

impl Default for MatrixSpec {
    fn default() -> MatrixSpec {
        MatrixSpec::AllToAll {}
    }
}

/// Sender and receiver as indices into the members.
type Pair = (u32, u32);

/// A matrix over given hosts, drawn.
#[derive(Debug)]
pub(crate) struct Matrix<'a> {
    members: Vec<&'a Host>,
    pairs: Pairs,
    /// What was taken for granted.
    note: Option<String>,
}

#[derive(Debug)]
enum Pairs {
    /// These.
    Listed(Vec<Pair>),
    /// All ordered pairs of two members.
    Uniform,
    /// All ordered pairs, by weight.
    Weighted(Gravity),
    /// These, by rate.
    Rated(Rated),
}

/// Pairs with their rates.
#[derive(Debug)]
struct Rated {
    pairs: Vec<Pair>,
    /// Rates of pairs before each one, and of all: n + 1 sums.
    before: Vec<f64>,
    /// Whether rates are bits per second.
    has_unit: bool,
}

impl MatrixSpec {
    /// Draws the matrix over `members`. Keys of errors are relative to the table.
    pub(crate) fn draw<'a>(
        &self,
        members: Vec<&'a Host>,
        hosts: &'a HostTable,
        files: Files<'_>,
        rng: &mut Stream,
    ) -> Result<Matrix<'a>, SpecError> {
        if members.len() < 2 && !matches!(self, MatrixSpec::Pairs { .. } | MatrixSpec::File { .. }) {
            return Err(SpecError::new("", format!("needs at least 2 hosts, there are {}", members.len())));
        }
        let n = members.len() as u32;
        let pairs = match self {
            MatrixSpec::AllToAll {} | MatrixSpec::Random { pairs: None, .. } => Pairs::Uniform,
            MatrixSpec::Permutation {} => Pairs::Listed(derangement(n, rng)),
            MatrixSpec::Incast { to, senders } => return incast(to, *senders, members, hosts, rng),
            MatrixSpec::Random { pairs: Some(pairs), replacement } => random(*pairs, *replacement, n, rng)?,
            MatrixSpec::Pairs { pairs } => return listed(pairs, hosts),
            MatrixSpec::Gravity { weights, by } => Pairs::Weighted(Gravity::new(weights, *by, &members, hosts)?),
            MatrixSpec::File { file, unit, direction } => return rated(file, (*unit, *direction), files, hosts),
        };
        Ok(Matrix { members, pairs, note: None })
    }
}

/// A permutation without a fixed point. One in e of all permutations is; drawing until one comes up
/// keeps them all equally likely, which Sattolo's one-cycle shuffle would not.
fn derangement(n: u32, rng: &mut Stream) -> Vec<Pair> {
    let mut to: Vec<u32> = (0..n).collect();
    loop {
        to.shuffle(rng);
        if (0..).zip(&to).all(|(i, &j)| i != j) {
            return (0..n).zip(to).collect();
        }
    }
}

fn incast<'a>(
    to: &str,
    senders: Option<u64>,
    mut members: Vec<&'a Host>,
    hosts: &'a HostTable,
    rng: &mut Stream,
) -> Result<Matrix<'a>, SpecError> {
    let receiver = hosts.find(to).map_err(|m| SpecError::new("to", m))?;
    members.retain(|h| h.node != receiver.node);
    let all = members.len();
    let wanted = senders.unwrap_or(all as u64);
    if wanted == 0 || wanted > all as u64 {
        return Err(SpecError::new("senders", format!("{wanted} is not from 1 to {all}, the other hosts")));
    }
    // The drawn senders keep the table's order, so that `once` starts them in it.
    let mut chosen = rand::seq::index::sample(rng, all, wanted as usize).into_vec();
    chosen.sort_unstable();
    let pairs = chosen.into_iter().map(|i| (i as u32, all as u32)).collect();
    members.push(receiver);
    Ok(Matrix { members, pairs: Pairs::Listed(pairs), note: None })
}

fn random(wanted: u64, replacement: bool, n: u32, rng: &mut Stream) -> Result<Pairs, SpecError> {
    let all = u64::from(n) * u64::from(n - 1);
    let most = if replacement { MOST_PAIRS } else { all.min(MOST_PAIRS) };
    if wanted == 0 || wanted > most {
        return Err(SpecError::new("pairs", format!("{wanted} is not from 1 to {most} (ordered pairs of {n} hosts)")));
    }
    let pair = |k: u64| unrank(k, n);
    Ok(Pairs::Listed(if replacement {
        (0..wanted).map(|_| pair(rng.random_range(0..all))).collect()
    } else {
        rand::seq::index::sample(rng, all as usize, wanted as usize).iter().map(|k| pair(k as u64)).collect()
    }))
}

/// The `k`th of the n·(n − 1) ordered pairs.
fn unrank(k: u64, n: u32) -> Pair {
    let (from, to) = ((k / u64::from(n - 1)) as u32, (k % u64::from(n - 1)) as u32);
    (from, if to >= from { to + 1 } else { to })
}

fn listed<'a>(pairs: &[[String; 2]], hosts: &'a HostTable) -> Result<Matrix<'a>, SpecError> {
    let mut members: Vec<&Host> = Vec::new();
    let mut index: FxHashMap<u32, u32> = FxHashMap::default();
    let mut out = Vec::with_capacity(pairs.len());
    for (i, [from, to]) in pairs.iter().enumerate() {
        let mut member = |name: &str, j: u8| {
            let host = hosts.find(name).map_err(|m| SpecError::new(format!("pairs[{i}][{j}]"), m))?;
            Ok(*index.entry(host.node).or_insert_with(|| {
                members.push(host);
                members.len() as u32 - 1
            }))
        };
        let pair = (member(from, 0)?, member(to, 1)?);
        if pair.0 == pair.1 {
            return Err(SpecError::new(format!("pairs[{i}]"), format!("`{from}` would send to itself")));
        }
        out.push(pair);
    }
    if out.is_empty() {
        return Err(SpecError::new("pairs", "has no pair; write [[\"h0\", \"h1\"], …]"));
    }
    Ok(Matrix { members, pairs: Pairs::Listed(out), note: None })
}

/// The matrix of a file. What goes between two places is shared evenly by all pairs of their hosts.
fn rated<'a>(
    file: &str,
    (unit, direction): (Option<Rate>, Option<Direction>),
    files: Files<'_>,
    hosts: &'a HostTable,
) -> Result<Matrix<'a>, SpecError> {
    let at_file = |e: &dyn std::fmt::Display| SpecError::new("file", format!("{file}: {e}"));
    let bytes = crate::file::read(files, file).map_err(|e| at_file(&e))?;
    let mut found = parse_matrix_bytes(&bytes).map_err(|e| at_file(&e))?;
    if str::from_utf8(&bytes).is_ok_and(repetita::is_demands) {
        let graph = repetita::graph_of(Path::new(file)).ok_or_else(|| {
            at_file(
                &"Repetita demands in a file with another \
            ending",
            )
        })?;
        let text = crate::file::read_text(files, &graph).map_err(|e| {
            at_file(&format!("nodes are numbers, and {} cannot be read: {e}", files.path(&graph).display()))
        })?;
        repetita::name(&mut found, &text).map_err(|e| at_file(&e))?;
    }
    if let Some(unit) = unit {
        if found.has_unit {
            return Err(SpecError::new("unit", format!("amounts in {file} already have a unit; leave this out")));
        }
        found.entries.iter_mut().for_each(|e| e.amount *= unit.as_f64());
        found.has_unit = true;
    }
    let members: Vec<&Host> = hosts.hosts().iter().collect();
    let index: FxHashMap<u32, u32> = (0..).zip(&members).map(|(i, h)| (h.node, i)).collect();
    let (mut pairs, mut rates) = (Vec::new(), Vec::new());
    let both_ways = direction.map_or(found.both_ways, |d| d == Direction::BothWays);
    for entry in &found.entries {
        let all = |name: &str| hosts.named(name).map_err(|m| at_file(&format!("line {}: {m}", entry.line)));
        let (from, to) = (all(&entry.from)?, all(&entry.to)?);
        let own = from.iter().flat_map(|a| to.iter().map(move |b| (a.node, b.node))).filter(|(a, b)| a != b);
        let own: Vec<Pair> = own.map(|(a, b)| (index[&a], index[&b])).collect();
        let back: Vec<Pair> = own.iter().filter(|_| both_ways).map(|&(a, b)| (b, a)).collect();
        if own.is_empty() {
            let message = format!("line {}: `{}` and `{}` are the same host", entry.line, entry.from, entry.to);
            return Err(at_file(&message));
        }
        if pairs.len() + own.len() + back.len() > MAX_ENTRIES {
            return Err(at_file(&format!("more than {MAX_ENTRIES} pairs of hosts")));
        }
        let share = entry.amount / own.len() as f64;
        pairs.extend(own.into_iter().chain(back));
        rates.resize(pairs.len(), share);
    }
    let rated = Rated { pairs, before: running_sum(&rates), has_unit: found.has_unit };
    let mut notes = Vec::new();
    if found.to_itself > 0 {
        notes
            .push(format!("{file}: {} demands from a node to itself are ignored: they cross no link", found.to_itself));
    }
    if found.both_ways && direction.is_none() {
        notes.push(format!(
            "{file}: each demand applies in both directions, as in topohub; direction = \"one-way\" applies it \
                once, and direction = \"both-ways\" silences this note"
        ));
    }
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(Matrix { members, pairs: Pairs::Rated(rated), note })
}

/// Draws ordered pairs with P(s, d) ∝ w_s · w_d, s ≠ d.
#[derive(Debug)]
struct Gravity {
    /// Weights of hosts before each one, and of all: n + 1 sums.
    before: Vec<f64>,
    /// The same of w_s · (W − w_s): how likely each is to send.
    sends_before: Vec<f64>,
}

impl Gravity {
    fn new(
        weights: &BTreeMap<String, f64>,
        by: Option<GravityBy>,
        members: &[&Host],
        hosts: &HostTable,
    ) -> Result<Gravity, SpecError> {
        let mut by_node: FxHashMap<u32, f64> = FxHashMap::default();
        for (name, &weight) in weights {
            let key = || format!("weights.{name}");
            let named = hosts.all(name).map_err(|m| SpecError::new(key(), m))?;
            // Zero is allowed; the bound keeps sums of products finite.
            if !(0.0..=1e12).contains(&weight) {
                return Err(SpecError::new(key(), format!("{weight} is not a weight from 0 to 1e12")));
            }
            by_node.extend(named.iter().map(|h| (h.node, weight / named.len() as f64)));
        }
        let weight = |h: &&Host| match (by_node.get(&h.node), by) {
            (Some(&weight), _) => Ok(weight),
            (None, None) => Ok(h.access.as_f64() / 1e9),
            (None, Some(GravityBy::Capacity)) => Ok(h.trunk.as_f64() / 1e9),
            (None, Some(GravityBy::Population)) => h.population.ok_or_else(|| no_population(h, hosts)),
        };
        let weights = members.iter().map(weight).collect::<Result<Vec<f64>, _>>()?;
        if weights.iter().filter(|w| **w > 0.0).count() < 2 {
            return Err(SpecError::new("weights", "at least two hosts need a weight above zero"));
        }
        let total: f64 = weights.iter().sum();
        let sends: Vec<f64> = weights.iter().map(|w| w * (total - w)).collect();
        Ok(Gravity { before: running_sum(&weights), sends_before: running_sum(&sends) })
    }

    fn draw(&self, rng: &mut Stream) -> Pair {
        let n = self.before.len() - 1;
        let from = find(&self.sends_before, rng.random::<f64>() * self.sends_before[n]);
        // The receiver, with the sender's interval cut out.
        let (low, high) = (self.before[from], self.before[from + 1]);
        let u = rng.random::<f64>() * (self.before[n] - (high - low));
        let to = if u < low {
            find(&self.before, u).min(from - 1)
        } else {
            find(&self.before, u + (high - low)).max(from + 1)
        };
        (from as u32, to.min(n - 1) as u32)
    }
}

fn no_population(host: &Host, hosts: &HostTable) -> SpecError {
    let place = hosts.place_of(host).unwrap_or(&host.name);
    let message = format!("`{place}` has no population in the map; add it there, or give it a weight in `weights`");
    SpecError::new("by", message)
}

fn running_sum(values: &[f64]) -> Vec<f64> {
    let sums = values.iter().scan(0.0, |sum, v| {
        *sum += v;
        Some(*sum)
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// The interval of the running sums that holds `u`.
fn find(sums: &[f64], u: f64) -> usize {
    (sums.partition_point(|s| *s <= u) - 1).min(sums.len() - 2)
}

impl<'a> Matrix<'a> {
    /// Draws the pair of one arrival: sender and receiver.
    pub(crate) fn pair(&self, rng: &mut Stream) -> (&'a Host, &'a Host) {
        let n = self.members.len() as u32;
        self.hosts(match &self.pairs {
            Pairs::Listed(pairs) => pairs[rng.random_range(0..pairs.len())],
            Pairs::Uniform => unrank(rng.random_range(0..u64::from(n) * u64::from(n - 1)), n),
            Pairs::Weighted(gravity) => gravity.draw(rng),
            Pairs::Rated(Rated { pairs, before, .. }) => pairs[find(before, rng.random::<f64>() * before[pairs.len()])],
        })
    }

    fn hosts(&self, (from, to): Pair) -> (&'a Host, &'a Host) {
        (self.members[from as usize], self.members[to as usize])
    }

    /// What whoever wrote the specification should know.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// How many pairs a round has; `None` where pairs are weighted and a round has no meaning.
    pub(crate) fn round_len(&self) -> Option<u64> {
        match &self.pairs {
            Pairs::Listed(pairs) => Some(pairs.len() as u64),
            Pairs::Uniform => Some(self.members.len() as u64 * (self.members.len() as u64 - 1)),
            Pairs::Weighted(_) | Pairs::Rated(_) => None,
        }
    }

    /// The `k`th pair of a round.
    pub(crate) fn round_pair(&self, k: u64) -> (&'a Host, &'a Host) {
        self.hosts(match &self.pairs {
            Pairs::Listed(pairs) => pairs[k as usize],
            Pairs::Uniform | Pairs::Weighted(_) | Pairs::Rated(_) => unrank(k, self.members.len() as u32),
        })
    }

    /// Access rates of all hosts that send (or that receive), added up, in bits per second.
    pub(crate) fn access_bps(&self, senders: bool) -> f64 {
        let listed = match &self.pairs {
            Pairs::Listed(pairs) | Pairs::Rated(Rated { pairs, .. }) => Some(pairs),
            Pairs::Uniform | Pairs::Weighted(_) => None,
        };
        let mut takes_part = vec![listed.is_none(); self.members.len()];
        for &(from, to) in listed.into_iter().flatten() {
            takes_part[if senders { from } else { to } as usize] = true;
        }
        let rates = self.members.iter().zip(takes_part).filter(|(_, part)| *part).map(|(h, _)| h.access.as_f64());
        rates.sum()
    }

    /// All its rates added up, in bits per second, if it has rates.
    pub(crate) fn total_bps(&self) -> Option<f64> {
        match &self.pairs {
            Pairs::Rated(rated) if rated.has_unit => rated.before.last().copied(),
            _ => None,
        }
    }
}

/// The hosts that `patterns` name, each once and in the table's order; all of them without
/// patterns.
pub(crate) fn members<'a>(patterns: Option<&[String]>, hosts: &'a HostTable) -> Result<Vec<&'a Host>, SpecError> {
    let Some(patterns) = patterns else { return Ok(hosts.hosts().iter().collect()) };
    let chosen: FxHashSet<u32> = in_order(patterns, "hosts", hosts)?.iter().map(|host| host.node).collect();
    Ok(hosts.hosts().iter().filter(|host| chosen.contains(&host.node)).collect())
}

/// The hosts that the patterns of `key` name, each once and in the patterns' order.
pub(crate) fn in_order<'a>(patterns: &[String], key: &str, hosts: &'a HostTable) -> Result<Vec<&'a Host>, SpecError> {
    let (mut seen, mut chosen) = (FxHashSet::default(), Vec::new());
    for (i, pattern) in patterns.iter().enumerate() {
        let found = hosts.matching(pattern).map_err(|m| SpecError::new(format!("{key}[{i}]"), m))?;
        chosen.extend(found.into_iter().filter(|host| seen.insert(host.node)));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};
    use proptest::prelude::*;

    fn table(n: u32) -> HostTable {
        HostTable::new((0..n).map(|i| Host::new(format!("h{i}"), 100 + i, Rate::from_gbps(1))))
    }

    fn rng(seed: u64) -> Stream {
        stream(&seed.into(), Purpose::Matrix, 0)
    }

    fn round(spec: &MatrixSpec, n: u32, seed: u64) -> Result<Vec<(u32, u32)>, SpecError> {
        let hosts = table(n);
        let matrix = spec.draw(members(None, &hosts)?, &hosts, ".".into(), &mut rng(seed))?;
        let pairs = (0..matrix.round_len().unwrap_or(0)).map(|k| matrix.round_pair(k));
        Ok(pairs.map(|(a, b)| (a.node, b.node)).collect())
    }

    proptest! {
        #[test]
        fn a_permutation_is_a_derangement(n in 2u32..60, seed: u64) {
            let pairs = round(&MatrixSpec::Permutation {}, n, seed).expect("valid");
            let mut from: Vec<u32> = pairs.iter().map(|p| p.0).collect();
            let mut to: Vec<u32> = pairs.iter().map(|p| p.1).collect();
            prop_assert!(pairs.iter().all(|p| p.0 != p.1));
            from.sort_unstable();
            to.sort_unstable();
            prop_assert_eq!(&from, &(100..100 + n).collect::<Vec<_>>());
            prop_assert_eq!(from, to);
        }

        #[test]
        fn pairs_without_replacement_are_distinct(n in 2u32..20, share in 0.0..1.0f64, seed: u64) {
            let wanted = ((f64::from(n * (n - 1)) * share) as u64).max(1);
            let mut pairs = round(&MatrixSpec::Random { pairs: Some(wanted), replacement: false }, n, seed).expect("valid");
            prop_assert!(pairs.iter().all(|p| p.0 != p.1));
            pairs.sort_unstable();
            pairs.dedup();
            prop_assert_eq!(pairs.len() as u64, wanted);
        }
    }

    #[test]
    fn all_to_all_has_every_ordered_pair_once() {
        let mut pairs = round(&MatrixSpec::AllToAll {}, 5, 1).expect("valid");
        assert!(pairs.iter().all(|p| p.0 != p.1));
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 20);
    }

    #[test]
    fn all_nine_derangements_of_four_are_equally_likely() {
        let mut count: FxHashMap<Vec<(u32, u32)>, u32> = FxHashMap::default();
        for seed in 0..9000 {
            *count.entry(round(&MatrixSpec::Permutation {}, 4, seed).expect("valid")).or_default() += 1;
        }
        assert_eq!(count.len(), 9);
        // 1000 each, standard deviation 30.
        assert!(count.values().all(|c| (880..1120).contains(c)), "{count:?}");
    }

    #[test]
    fn incast_ends_at_one_host() {
        let spec = MatrixSpec::Incast { to: "h3".into(), senders: Some(4) };
        let pairs = round(&spec, 8, 7).expect("valid");
        assert!(pairs.len() == 4 && pairs.iter().all(|p| p.1 == 103 && p.0 != 103));
        assert!(pairs.is_sorted());
        let many = MatrixSpec::Incast { to: "h3".into(), senders: Some(8) };
        assert_eq!(round(&many, 8, 7).expect_err("7 others").key, "senders");
    }

    #[test]
    fn gravity_follows_the_products_of_weights() {
        let hosts = table(3);
        let weights = [("h0", 1.0), ("h1", 2.0), ("h2", 5.0)].map(|(n, w)| (n.to_owned(), w));
        let spec = MatrixSpec::Gravity { weights: weights.into_iter().collect(), by: None };
        let all = members(None, &hosts).expect("all");
        let matrix = spec.draw(all, &hosts, ".".into(), &mut rng(1)).expect("valid");
        let (mut count, mut rng) = (FxHashMap::default(), rng(2));
        for _ in 0..170_000 {
            let (a, b) = matrix.pair(&mut rng);
            *count.entry((a.node - 100, b.node - 100)).or_insert(0u32) += 1;
        }
        // Products 2, 5, 10, each in both directions: 34 in all, 5000 draws for each unit.
        for ((a, b), units) in [((0, 1), 2), ((1, 0), 2), ((0, 2), 5), ((2, 0), 5), ((1, 2), 10), ((2, 1), 10)] {
            let got = count.remove(&(a, b)).unwrap_or(0);
            assert!(got.abs_diff(units * 5000) < 900, "{a}>{b}: {got}");
        }
        assert!(count.is_empty());
    }

    /// A matrix from a file of this text, over three hosts of which two are at one place.
    fn from_file<R>(name: &str, text: &str, look: impl FnOnce(Result<Matrix<'_>, SpecError>) -> R) -> R {
        directed(name, text, None, look)
    }

    fn directed<R>(
        name: &str,
        text: &str,
        direction: Option<Direction>,
        look: impl FnOnce(Result<Matrix<'_>, SpecError>) -> R,
    ) -> R {
        let folder = std::env::temp_dir().join(format!("midpath-matrix-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("m.csv"), text).expect("a file");
        let places = [("Bern".to_owned(), vec![100]), ("Basel".to_owned(), vec![101, 102])];
        let hosts = table(3).with_places(places);
        let spec = MatrixSpec::File { file: "m.csv".into(), unit: None, direction };
        let found = look(spec.draw(hosts.hosts().iter().collect(), &hosts, (&folder).into(), &mut rng(1)));
        std::fs::remove_dir_all(&folder).expect("removed");
        found
    }

    #[test]
    fn a_matrix_from_a_file_is_drawn_in_proportion_to_its_rates() {
        let text = "from,to,rate\nBern,Basel,30 Mbps\nh1,Bern,10 Mbps\n";
        from_file("drawn", text, |matrix| {
            let (matrix, mut rng, mut count) = (matrix.expect("valid"), rng(2), FxHashMap::default());
            assert_eq!(matrix.total_bps(), Some(40e6));
            assert_eq!((matrix.access_bps(true), matrix.access_bps(false)), (2e9, 3e9));
            for _ in 0..40_000 {
                let (a, b) = matrix.pair(&mut rng);
                *count.entry((a.node - 100, b.node - 100)).or_insert(0u32) += 1;
            }
            // 30 Mbps in equal parts to both hosts of Basel; standard deviations up to 97.
            for (pair, expected) in [((0, 1), 15_000), ((0, 2), 15_000), ((1, 0), 10_000)] {
                let got = count.remove(&pair).unwrap_or(0);
                assert!(u32::abs_diff(got, expected) < 500, "{pair:?}: {got}");
            }
            assert!(count.is_empty());
        });
    }

    #[test]
    fn a_demand_runs_both_ways_where_its_format_or_the_scenario_says_so() {
        let topohub = r#"{"graph": {"demands": {"0": {"1": 3}}}, "nodes": [{"name": "Bern"}, {"name": "Basel"}]}"#;
        let csv = "from,to,rate\nBern,Basel,3\n";
        for (i, (text, direction, pairs, said)) in [
            (topohub, None, 4, true),
            (topohub, Some(Direction::OneWay), 2, false),
            (topohub, Some(Direction::BothWays), 4, false),
            (csv, None, 2, false),
            (csv, Some(Direction::BothWays), 4, false),
        ]
        .into_iter()
        .enumerate()
        {
            directed(&format!("directed-{i}"), text, direction, |matrix| {
                let matrix = matrix.expect("valid");
                assert_eq!(matrix.note().is_some_and(|n| n.contains("in both directions")), said, "{i}");
                let Pairs::Rated(rated) = &matrix.pairs else { panic!("rated") };
                assert_eq!(rated.pairs.len(), pairs, "{i}");
                assert_eq!(rated.before.last().copied(), Some(1.5 * pairs as f64), "{i}");
            });
        }
    }

    #[test]
    fn a_unit_is_for_amounts_that_have_none() {
        let folder = std::env::temp_dir().join(format!("midpath-units-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let sndlib = "?SNDlib native format\nDEMANDS (\n d ( Bern Basel ) 1 30.0 UNLIMITED\n)\n";
        std::fs::write(folder.join("m.txt"), sndlib).expect("written");
        std::fs::write(folder.join("m.csv"), "from,to,rate\nBern,Basel,3\n").expect("written");
        std::fs::write(folder.join("towns.0001.demands"), "DEMANDS 1\nlabel src dest bw\nd 1 0 40\n").expect("written");
        std::fs::write(folder.join("towns.graph"), "NODES 2\nlabel x y\nBern 0 0\nBasel 1 1\n\nEDGES 0\n")
            .expect("written");
        let hosts = table(3).with_places([("Bern".to_owned(), vec![100]), ("Basel".to_owned(), vec![101, 102])]);
        let total = |file: &str, unit: Option<Rate>| {
            let spec = MatrixSpec::File { file: file.into(), unit, direction: None };
            spec.draw(hosts.hosts().iter().collect(), &hosts, (&folder).into(), &mut rng(1)).map(|m| m.total_bps())
        };
        let mbps = Some(Rate::from_mbps(1));
        assert_eq!(total("m.txt", None), Ok(None));
        assert_eq!(total("m.txt", mbps), Ok(Some(30e6)));
        assert_eq!(total("m.csv", mbps).expect_err("has one").key, "unit");
        assert_eq!(total("towns.0001.demands", None), Ok(Some(40e3)));
        std::fs::remove_file(folder.join("towns.graph")).expect("removed");
        assert!(total("towns.0001.demands", None).expect_err("no graph").message.contains("nodes are numbers"));
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_number_in_a_matrix_is_a_name_and_never_the_index_of_a_node() {
        // Node 102 is h2.
        let message = from_file("number", "from,to,rate\nBern,102,1\n", |m| m.expect_err("no such name").message);
        assert!(message.contains("there is no host `102`"), "{message}");
    }

    #[test]
    fn a_matrix_from_a_file_names_line_and_place() {
        let message = |text: &str| from_file("bad", text, |matrix| matrix.expect_err(text).message);
        assert!(
            message("from,to,rate\nBern,Basle,1\n").contains("line 2: there is no host `Basle`; did you mean `Basel`?")
        );
        assert!(message("from,to,rate\nBern,h0,1\n").contains("the same host"));
    }

    #[test]
    fn gravity_by_population_and_capacity_shares_a_places_weight() {
        let mut hosts: Vec<Host> = table(3).hosts().to_vec();
        for (host, (people, gbps)) in hosts.iter_mut().zip([(2e6, 10), (5e5, 1), (5e5, 1)]) {
            (host.population, host.trunk) = (Some(people), Rate::from_gbps(gbps));
        }
        let hosts = HostTable::new(hosts);
        let spec = |by| MatrixSpec::Gravity { weights: BTreeMap::new(), by: Some(by) };
        for (by, weights) in [(GravityBy::Population, [4.0, 1.0, 1.0]), (GravityBy::Capacity, [10.0, 1.0, 1.0])] {
            let all = members(None, &hosts).expect("all");
            let matrix = spec(by).draw(all, &hosts, ".".into(), &mut rng(1)).expect("valid");
            let (mut rng, mut first) = (rng(3), 0u32);
            for _ in 0..30_000 {
                first += u32::from(matrix.pair(&mut rng).0.node == 100);
            }
            // P(s) ∝ w_s · (W − w_s)
            let total: f64 = weights.iter().sum();
            let sends = weights.map(|w| w * (total - w));
            let expected = 30_000.0 * sends[0] / sends.iter().sum::<f64>();
            assert!((f64::from(first) - expected).abs() < 400.0, "{by:?}: {first} for {expected}");
        }
    }

    #[test]
    fn bad_matrices_name_their_key() {
        let pairs =
            |a: &str, b: &str| MatrixSpec::Pairs { pairs: vec![["h0".into(), "h1".into()], [a.into(), b.into()]] };
        for (spec, key) in [
            (pairs("h0", "x"), "pairs[1][1]"),
            (pairs("h1", "h1"), "pairs[1]"),
            (MatrixSpec::Pairs { pairs: vec![] }, "pairs"),
            (MatrixSpec::Random { pairs: Some(13), replacement: false }, "pairs"),
            (MatrixSpec::Gravity { weights: [("h9".to_owned(), 1.0)].into(), by: None }, "weights.h9"),
            (MatrixSpec::Gravity { weights: [("h1".to_owned(), -1.0)].into(), by: None }, "weights.h1"),
            (MatrixSpec::Gravity { weights: BTreeMap::new(), by: Some(GravityBy::Population) }, "by"),
            (MatrixSpec::Gravity { weights: BTreeMap::new(), by: Some(GravityBy::Capacity) }, "weights"),
            (MatrixSpec::File { file: "nowhere.csv".into(), unit: None, direction: None }, "file"),
        ] {
            assert_eq!(round(&spec, 4, 1).expect_err(key).key, key);
        }
        assert!(round(&MatrixSpec::Permutation {}, 1, 1).is_err());
    }

    #[test]
    fn members_are_chosen_by_name_and_prefix() {
        let hosts = table(12);
        let nodes = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|s| (*s).to_owned()).collect();
            members(Some(&patterns), &hosts).map(|v| v.iter().map(|h| h.node - 100).collect::<Vec<_>>())
        };
        assert_eq!(nodes(&["h1*", "h0", "h1"]), Ok(vec![0, 1, 10, 11]));
        assert_eq!(nodes(&["h1", "hx1"]).expect_err("unknown").key, "hosts[1]");
    }
}
