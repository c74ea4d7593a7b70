//! htsim's `.topo`: a fat-tree of two or three tiers, by rule.
//!
//! As `FatTreeTopology::load` of Broadcom/csg-htsim reads it (commit 841d9e7). First `Nodes n`, `Tiers 2` or `3`, and
//! `Podsize n`; then for each `Tier i` (0: ToR, 1: aggregation, 2: core) one `Key number` a line. Case does not matter.
//! A tier's speed, latency and bundle are those of the links below it.
//!
//! Hosts are called by their number, as in the connection matrices (`.cm`) of the same network; switches `tor0`,
//! `agg0`,
//! `core0`. A link here has a delay and a switch has none, so half of a switch's latency is in each of its links:
//! what a path adds up to stays the same.

use midpath_core::units::{Rate, Time};
use rustc_hash::FxHashMap;

use super::FormatError;
use super::lines::Record;
use crate::draft::{Draft, DraftLink};
use crate::graph::NodeKind::{Host, Router};
use crate::suggest;

/// Keys before the first tier, in lower case.
pub(super) const HEADER: [&str; 3] = ["nodes", "tiers", "podsize"];

/// Keys of a tier, in lower case.
const KEYS: [&str; 9] = [
    "downlink_speed_gbps",
    "downlink_latency_ns",
    "switch_latency_ns",
    "radix_down",
    "radix_up",
    "bundle",
    "oversubscribed",
    "queue_up",
    "queue_down",
];

/// Most hosts, switches and links together. Ours: a fat-tree of 65,536 hosts has room, and a file of ten lines makes
/// no more.
const MAX_PARTS: usize = 300_000;

/// Largest number. Ours: sums and products of a few fit 64 bits.
const MAX_NUMBER: u64 = 1_000_000_000;

/// Reads a topology.
pub fn parse(text: &str) -> Result<Draft, FormatError> {
    let file = File::read(text)?;
    let shape = Shape::new(&file)?;
    let mut draft = shape.draft();
    if file.tiers.iter().any(|tier| tier.contains_key("queue_up") || tier.contains_key("queue_down")) {
        draft.unused.push("queue sizes (`Queue_up`, `Queue_down`) are ignored: write them in `[queue]`".into());
    }
    Ok(draft)
}

/// Numbers by key.
type Numbers = FxHashMap<&'static str, u64>;

/// Numbers as the file states them.
#[derive(Default)]
struct File {
    header: Numbers,
    tiers: [Numbers; 3],
}

impl File {
    fn read(text: &str) -> Result<File, FormatError> {
        let mut file = File::default();
        let mut tier = None;
        for line in Record::all(text, &[]) {
            let key = line.words[0].to_ascii_lowercase();
            let number: u64 = line.parse(1, "whole number")?;
            if number > MAX_NUMBER {
                return Err(line.error(format!("{number} is more than {MAX_NUMBER}")));
            }
            if key == "tier" {
                let known = usize::try_from(number).ok().filter(|t| *t < file.tiers.len());
                tier = Some(known.ok_or_else(|| line.error(format!("tier {number}; there are 0, 1 and 2")))?);
                continue;
            }
            let (keys, values) = match tier {
                None => (&HEADER[..], &mut file.header),
                Some(tier) => (&KEYS[..], &mut file.tiers[tier]),
            };
            let known = keys.iter().find(|k| **k == key);
            let known =
                known.ok_or_else(|| line.error(suggest::unknown("key", line.words[0], keys.iter().copied())))?;
            if values.insert(known, number).is_some() {
                return Err(line.error(format!("duplicate `{}`", line.words[0])));
            }
        }
        Ok(file)
    }

    /// A number of the header, above zero.
    fn head(&self, key: &str) -> Result<usize, FormatError> {
        let number = self.header.get(key).filter(|n| **n > 0);
        number.map(|n| *n as usize).ok_or_else(|| FormatError::whole(format!("no `{key}` above zero")))
    }

    /// A number of a tier, above zero.
    fn tier(&self, tier: usize, key: &str) -> Result<usize, FormatError> {
        let number = self.tiers[tier].get(key).filter(|n| **n > 0);
        number.map(|n| *n as usize).ok_or_else(|| FormatError::whole(format!("no `{key}` above zero for tier {tier}")))
    }
}

/// The links below a tier.
#[derive(Clone, Copy, Default)]
struct Links {
    rate: Rate,
    delay: Time,
    /// How many there are between the same two nodes.
    bundle: usize,
}

/// How many there are of what.
struct Shape {
    hosts: usize,
    /// Hosts at a ToR.
    at_tor: usize,
    pods: usize,
    /// ToRs in a pod.
    tors: usize,
    /// Aggregation switches in a pod.
    aggs: usize,
    /// Core switches at an aggregation switch; none with two tiers.
    cores: usize,
    links: [Links; 3],
}

impl Shape {
    /// What htsim makes of the numbers, or which two of them do not fit.
    fn new(file: &File) -> Result<Shape, FormatError> {
        let [hosts, tiers, pod_size] = [file.head("nodes")?, file.head("tiers")?, file.head("podsize")?];
        let refuse = |message: String| Err(FormatError::whole(message));
        if !(2..=3).contains(&tiers) {
            return refuse(format!("{tiers} tiers; 2 and 3 are supported"));
        }
        if hosts % pod_size != 0 || (tiers == 2 && hosts != pod_size) {
            let pods = if tiers == 2 { "one pod" } else { "whole pods" };
            return refuse(format!("{hosts} nodes are not {pods} of {pod_size}"));
        }
        let mut links = [Links::default(); 3];
        for (tier, made) in links.iter_mut().enumerate().take(tiers) {
            *made = below(file, tier)?;
        }
        let at_tor = file.tier(0, "radix_down")?;
        if pod_size % at_tor != 0 || links[0].bundle != 1 {
            return refuse(format!("a pod of {pod_size} hosts, {at_tor} at a ToR by one link each, has no whole ToRs"));
        }
        let (pods, tors) = (hosts / pod_size, pod_size / at_tor);
        let aggs = above(file, 0, tors, links[1].bundle)?;
        let cores = if tiers == 3 { above(file, 1, pods, links[2].bundle)? } else { 0 };
        let shape = Shape { hosts, at_tor, pods, tors, aggs, cores, links };
        match shape.parts().filter(|parts| *parts <= MAX_PARTS) {
            Some(_) => Ok(shape),
            None => refuse(format!("more than {MAX_PARTS} hosts, switches and links")),
        }
    }

    /// Hosts, switches and links; `None` where they are too many to count.
    fn parts(&self) -> Option<usize> {
        let in_pod = self.tors.checked_add(self.aggs)?;
        let switches = in_pod.checked_mul(self.pods)?.checked_add(self.aggs.checked_mul(self.cores)?)?;
        let aggs = self.aggs.checked_mul(self.pods)?;
        let to_tors = aggs.checked_mul(self.tors)?.checked_mul(self.links[1].bundle)?;
        let to_cores = aggs.checked_mul(self.cores)?.checked_mul(self.links[2].bundle)?;
        self.hosts.checked_mul(2)?.checked_add(switches)?.checked_add(to_tors)?.checked_add(to_cores)
    }

    fn draft(&self) -> Draft {
        let mut draft = Draft::default();
        let mut row = |count: usize, name: &str, kind, class: &str, y| -> Vec<usize> {
            let x = |i: usize| (i as f64 + 0.5) / count as f64;
            (0..count).map(|i| draft.node(format!("{name}{i}"), kind, class, (x(i), y))).collect()
        };
        let hosts = row(self.hosts, "", Host, "", 0.1);
        let tors = row(self.tors * self.pods, "tor", Router, "edge", 0.4);
        let aggs = row(self.aggs * self.pods, "agg", Router, "aggregation", 0.65);
        let cores = row(self.aggs * self.cores, "core", Router, "core", 0.9);
        let mut join = |a: usize, b: usize, like: Links| {
            let link = DraftLink { a, b, rate: Some(like.rate), delay: Some(like.delay), ..DraftLink::default() };
            draft.links.extend(std::iter::repeat_n(link, like.bundle));
        };
        for (i, &host) in hosts.iter().enumerate() {
            join(host, tors[i / self.at_tor], self.links[0]);
        }
        for (i, &tor) in tors.iter().enumerate() {
            let pod = i / self.tors * self.aggs;
            aggs[pod..pod + self.aggs].iter().for_each(|&agg| join(tor, agg, self.links[1]));
        }
        for (i, &agg) in aggs.iter().enumerate() {
            // The n-th aggregation switch of each pod reaches every core switch n, n + aggs, n + 2 aggs, …
            (0..self.cores).for_each(|l| join(agg, cores[i % self.aggs + self.aggs * l], self.links[2]));
        }
        draft
    }
}

/// How many switches of the next tier a switch of `tier` reaches, each of which reaches `peers` of that tier.
fn above(file: &File, tier: usize, peers: usize, bundle: usize) -> Result<usize, FormatError> {
    let (up, down) = (file.tier(tier, "radix_up")?, file.tier(tier + 1, "radix_down")?);
    if up % bundle != 0 {
        return Err(FormatError::whole(format!(
            "tier {tier}: radix_up {up} is not a multiple of the bundle of \
            {bundle}"
        )));
    }
    if peers.checked_mul(bundle) != Some(down) {
        let message = format!(
            "tier {}: radix_down {down} does not fit; {peers} switches below, each by {bundle} links, take {}",
            tier + 1,
            peers.saturating_mul(bundle)
        );
        return Err(FormatError::whole(message));
    }
    Ok(up / bundle)
}

/// The links below a tier.
fn below(file: &File, tier: usize) -> Result<Links, FormatError> {
    let half = |tier: usize| file.tiers[tier].get("switch_latency_ns").unwrap_or(&0) * 500;
    let switches = half(tier) + tier.checked_sub(1).map_or(0, half);
    Ok(Links {
        rate: Rate(file.tier(tier, "downlink_speed_gbps")? as u64 * 1_000_000_000),
        delay: Time(file.tier(tier, "downlink_latency_ns")? as u64 * 1000 + switches),
        bundle: file.tiers[tier].get("bundle").map_or(1, |n| (*n).max(1) as usize),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a file is drawn from: pods, ToRs and hosts at a ToR, aggregation switches in a pod, core switches at each,
    /// bundles.
    type Drawn = (usize, usize, usize, usize, usize, (usize, usize));

    fn written((pods, tors, at_tor, aggs, cores, (below, above)): Drawn) -> String {
        let tier = |i: usize, keys: &[(&str, usize)]| {
            let keys: String = keys.iter().map(|(key, n)| format!("{key} {n}\n")).collect();
            format!("\nTier {i}\nDownlink_speed_Gbps {}\nDownlink_Latency_ns 1000\n{keys}", 100 * (i + 1))
        };
        let mut text = format!("Nodes {}\n", pods * tors * at_tor);
        text += &format!("Tiers {}\nPodsize {}\n", if cores > 0 { 3 } else { 2 }, tors * at_tor);
        text += &tier(0, &[("Radix_Down", at_tor), ("Radix_Up", aggs * below), ("Oversubscribed", 1)]);
        let up: &[(&str, usize)] = if cores > 0 { &[("Radix_Up", cores * above)] } else { &[] };
        text +=
            &tier(1, &[&[("Radix_Down", tors * below), ("Bundle", below), ("switch_latency_ns", 301)], up].concat());
        if cores > 0 {
            text += &tier(2, &[("Radix_Down", pods * above), ("Bundle", above)]);
        }
        text
    }

    proptest! {
        /// Each switch has the ports that the file says, and all belongs together.
        #[test]
        fn switches_have_the_ports_that_the_file_says(
            drawn in (1usize..4, 1usize..5, 1usize..5, 1usize..5, 0usize..4, (1usize..3, 1usize..3))
        ) {
            let (pods, tors, at_tor, aggs, cores, (below, above)) = drawn;
            prop_assume!(cores > 0 || pods == 1);
            let d = parse(&written(drawn)).expect("valid");
            let mut ports = vec![0; d.nodes.len()];
            for link in &d.links {
                ports[link.a] += 1;
                ports[link.b] += 1;
            }
            for (node, ports) in d.nodes.iter().zip(ports) {
                let wanted = match node.class.as_deref() {
                    None => 1,
                    Some("edge") => at_tor + aggs * below,
                    Some("aggregation") => tors * below + cores * above,
                    _ => pods * above,
                };
                prop_assert_eq!(ports, wanted, "{}", node.name);
            }
            let hosts = pods * tors * at_tor;
            prop_assert_eq!(d.nodes.len(), hosts + pods * (tors + aggs) + aggs * cores);
            prop_assert_eq!(d.adjacency().components().len(), 1);
            prop_assert_eq!(d.nodes[hosts - 1].name.clone(), (hosts - 1).to_string());
        }
    }

    #[test]
    fn speeds_latencies_and_bundles_are_those_below_a_tier() {
        let d = parse(include_str!("../../tests/fixtures/two-pods.topo")).expect("valid");
        let link = |a: &str, b: &str| -> Vec<(u64, u64)> {
            let is = |n: usize, name: &str| d.nodes[n].name == name;
            let found = d.links.iter().filter(|l| is(l.a, a) && is(l.b, b));
            found.map(|l| (l.rate.expect("said").0 / 1_000_000_000, l.delay.expect("said").0)).collect()
        };
        // 301 ns at a ToR: half of it in each of its links.
        assert_eq!(link("0", "tor0"), [(100, 1_150_500)]);
        assert_eq!(link("tor1", "agg1"), [(200, 2_150_500)]);
        assert_eq!(link("agg3", "core1"), [(400, 3_000_000); 2]);
        assert_eq!(link("agg3", "core0"), []);
        assert!(d.unused.len() == 1 && d.unused[0].contains("`Queue_up`"), "{:?}", d.unused);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let text = written((2, 2, 2, 2, 2, (1, 1)));
        for (from, to, message) in [
            ("Nodes 8", "Nodes 9", "9 nodes are not whole pods of 4"),
            ("Nodes 8\n", "", "no `nodes` above zero"),
            ("Tiers 3", "Tiers 4", "4 tiers; 2 and 3 are supported"),
            ("Tiers 3", "Tiers 2", "8 nodes are not one pod of 4"),
            ("Tiers 3", "Tires 3", "line 2: "),
            ("Podsize 4", "Podsize 4\nPodsize 4", "line 4: duplicate `Podsize`"),
            ("Tier 1", "Tier 3", "tier 3; there are 0, 1 and 2"),
            ("Downlink_speed_Gbps 200\n", "", "no `downlink_speed_gbps` above zero for tier 1"),
            ("Downlink_speed_Gbps 200", "Downlink_speed_Gbps fast", "`fast` is not a valid whole number"),
            ("Radix_Down 2\nBundle 1\nswitch", "Radix_Down 4\nBundle 1\nswitch", "tier 1: radix_down 4 does not fit"),
            ("Radix_Down 2\nBundle 1\n", "Radix_Down 2\nBundle 3\n", "is not a multiple of the bundle of 3"),
            ("Nodes 8", "Nodes 8000000000", "8000000000 is more than"),
        ] {
            assert!(text.contains(from), "{from}");
            let e = parse(&text.replacen(from, to, 1)).expect_err(to);
            assert!(e.to_string().contains(message), "{to}: {e}");
        }
        let large = parse(&written((1000, 100, 100, 100, 100, (1, 1)))).expect_err("too large");
        assert!(large.message.contains("more than 300000"), "{large}");
    }
}
