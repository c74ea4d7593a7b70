//! Paths: path identifiers (§4.3.1), the three kinds of steering hint (§4.3.2), and the draw
//! without a hint (§4.3.3).
//!
//! A next hop is identified by its link's number at the node; a node by its number in the network.

use std::collections::VecDeque;

use midpath_core::rng::mix;
use rustc_hash::FxHashMap;

/// A node and one of its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeLink {
    /// The node.
    pub node: u32,
    /// The link's number there.
    pub link: u32,
}

impl NodeLink {
    /// Sixty-four bits of it, well mixed. No secret: who forwards a packet can forge its path
    /// anyway.
    fn hash(self) -> u64 {
        mix(u64::from(self.node) << 32 | u64::from(self.link))
    }
}

/// Names a path, or the part of it from the producer to some node (§4.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PathId(pub u64);

impl PathId {
    /// What the producer puts on Data.
    pub const START: PathId = PathId(0);

    /// The identifier one hop further downstream, at a node that got the Data over `from`: "hashing
    /// node+link identifier at each hop with the partial pathId received".
    #[must_use]
    pub fn extend(self, from: NodeLink) -> PathId {
        PathId(mix(self.0 ^ from.hash()))
    }
}

/// The next hops that the path's Data came over at split points, as a Bloom filter in a header.
/// Steers an Interest the same way (§4.3.2).
///
/// 256 bits with 5 hashes: LIPSIN \[23\] has 248 and 5. With 8 split points on a path, each of 4
/// next hops, one hinted Interest in 1,300 goes astray; with 4, one in 70,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bloom {
    words: [u64; 4],
}

impl Bloom {
    /// Bits of the filter.
    pub const BITS: u32 = 256;
    /// Bits set per entry, if they are all different.
    pub const HASHES: u32 = 5;

    /// A filter as it came in a header. Any bits are allowed: a full filter only says nothing.
    pub fn from_words(words: [u64; 4]) -> Bloom {
        Bloom { words }
    }

    /// The filter as it goes into a header.
    pub fn words(self) -> [u64; 4] {
        self.words
    }

    /// Eight bits of the hash name a bit of the filter.
    fn places(entry: NodeLink) -> impl Iterator<Item = (usize, u64)> {
        let hash = entry.hash();
        (0..Bloom::HASHES).map(move |i| (hash >> (8 * i)) & 0xFF).map(|bit| ((bit / 64) as usize, 1 << (bit % 64)))
    }

    /// Called where Data come in over one of several next hops for their name.
    pub fn insert(&mut self, entry: NodeLink) {
        for (word, bit) in Bloom::places(entry) {
            self.words[word] |= bit;
        }
    }

    /// Whether the entry was put in; true with the false-positive rate otherwise.
    pub fn contains(self, entry: NodeLink) -> bool {
        Bloom::places(entry).all(|(word, bit)| self.words[word] & bit != 0)
    }

    /// Those of `node`'s next hops that the filter names. No hit: the path has changed, and the
    /// Interest goes as if it had no hint.
    pub fn hits(
        self,
        node: u32,
        next_hops: impl Iterator<Item = NextHop> + Clone,
    ) -> impl Iterator<Item = NextHop> + Clone {
        next_hops.filter(move |hop| self.contains(NodeLink { node, link: hop.link }))
    }
}

/// A next hop of a FIB entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    /// The link's number at the node.
    pub link: u32,
    /// What it is drawn in proportion to: the link's bandwidth (§4.3.3).
    pub weight: u64,
}

/// The next hop for an Interest without a hint: drawn in proportion to weights by `u`, uniform in
/// [0, 1) (§4.3.3).
pub fn without_hint(next_hops: impl Iterator<Item = NextHop> + Clone, u: f64) -> Option<u32> {
    draw(next_hops, u)
}

/// The next hop for an Interest with a random value as hint: the value, hashed with the node, is
/// the draw (§4.3.2). Weighted as without a hint, so that fresh values probe the paths as hintless
/// Interests do.
pub fn by_random_value(value: u64, node: u32, next_hops: impl Iterator<Item = NextHop> + Clone) -> Option<u32> {
    let hash = mix(mix(value) ^ u64::from(node));
    // The upper 53 bits as a float in [0, 1), as `rng::unit` makes one.
    draw(next_hops, (hash >> 11) as f64 / (1u64 << 53) as f64)
}

/// The link drawn by `u` from [0, 1) in proportion to the weights; `None` if all are zero.
fn draw(next_hops: impl Iterator<Item = NextHop> + Clone, u: f64) -> Option<u32> {
    let total: u128 = next_hops.clone().map(|hop| u128::from(hop.weight)).sum();
    // Below `total` but for rounding, which the last weight above zero catches.
    let mut at = (u * total as f64) as u128;
    let mut chosen = None;
    for hop in next_hops.filter(|hop| hop.weight > 0) {
        chosen = Some(hop.link);
        match at.checked_sub(u128::from(hop.weight)) {
            None => break,
            Some(rest) => at = rest,
        }
    }
    chosen
}

/// The paper's simulation shortcut (§4.3.2): a FIB entry remembers which partial identifiers came
/// from where, and steers by them. It never misses a path that it knows; it keeps state per path,
/// which the paper calls "not appropriate for a real network".
#[derive(Debug, Clone)]
pub struct Shortcut {
    /// By the identifier sent downstream.
    known: FxHashMap<PathId, Step>,
    /// The oldest first.
    age: VecDeque<PathId>,
    limit: usize,
    /// Some of those known, by the identifier's last bits: those in use are found here.
    recent: [Option<(PathId, Step)>; RECENT],
}

/// The link that Data came over, and the identifier they came with.
type Step = (u32, PathId);

/// How many of the paths known are looked at first.
const RECENT: usize = 8;

fn slot(id: PathId) -> usize {
    id.0 as usize % RECENT
}

impl Shortcut {
    /// A memory of `limit` paths, above which the oldest is forgotten.
    pub fn new(limit: usize) -> Shortcut {
        Shortcut { known: FxHashMap::default(), age: VecDeque::new(), limit: limit.max(1), recent: [None; RECENT] }
    }

    /// Called when Data came in over `from` with the identifier `upstream`; returns the one to send
    /// on.
    pub fn learn(&mut self, upstream: PathId, from: NodeLink) -> PathId {
        let (downstream, step) = (upstream.extend(from), (from.link, upstream));
        if self.recent[slot(downstream)] == Some((downstream, step)) {
            return downstream;
        }
        self.recent[slot(downstream)] = Some((downstream, step));
        if self.known.insert(downstream, step).is_none() {
            self.age.push_back(downstream);
            if self.age.len() > self.limit
                && let Some(oldest) = self.age.pop_front()
            {
                self.known.remove(&oldest);
                self.recent[slot(oldest)] = None;
            }
        }
        downstream
    }

    /// Where an Interest with this hint goes, and the hint that it takes along.
    pub fn steer(&self, hint: PathId) -> Option<(u32, PathId)> {
        match self.recent[slot(hint)] {
            Some((id, step)) if id == hint => Some(step),
            _ => self.known.get(&hint).copied(),
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Shortcut::new(self.limit);
    }

    /// Paths that it remembers.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether it remembers none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::rng::{Purpose, below, stream, unit};
    use proptest::prelude::*;

    fn at(node: u32, link: u32) -> NodeLink {
        NodeLink { node, link }
    }

    fn hops(weights: &[u64]) -> impl Iterator<Item = NextHop> + Clone {
        weights.iter().enumerate().map(|(i, weight)| NextHop { link: i as u32, weight: *weight })
    }

    #[test]
    fn identifiers_tell_paths_apart() {
        let path = |hops: &[NodeLink]| hops.iter().fold(PathId::START, |id, hop| id.extend(*hop));
        let all = [
            path(&[at(3, 0), at(1, 0), at(0, 1)]),
            path(&[at(3, 0), at(2, 0), at(0, 1)]),
            path(&[at(3, 0), at(1, 0), at(0, 2)]),
            path(&[at(1, 0), at(3, 0), at(0, 1)]),
            path(&[at(3, 0), at(1, 0)]),
        ];
        for i in 0..all.len() {
            assert!((0..i).all(|j| all[i] != all[j]));
        }
    }

    #[test]
    fn a_hundred_thousand_paths_have_identifiers_of_their_own() {
        // 64 bits: the chance of one collision is 10¹⁰/2⁶⁵ = 3·10⁻¹⁰.
        let mut seen = rustc_hash::FxHashSet::default();
        for node in 0..100 {
            for link in 0..1000 {
                assert!(seen.insert(PathId::START.extend(at(7, 1)).extend(at(node, link))));
            }
        }
    }

    /// The closed form of a filter's rate with `n` entries: (1 − (1 − 1/m)^(kn))^k.
    fn false_positive_rate(n: u32) -> f64 {
        let empty = (1.0 - 1.0 / f64::from(Bloom::BITS)).powi((Bloom::HASHES * n) as i32);
        (1.0 - empty).powi(Bloom::HASHES as i32)
    }

    #[test]
    fn false_positives_are_as_many_as_the_closed_form_says() {
        let mut random = stream(5, Purpose::Forwarders, 0);
        let mut entry = || at(below(&mut random, 1 << 32) as u32, below(&mut random, 64) as u32);
        // Far more entries than split points, so that there is something to count.
        for n in [8u32, 16, 32, 64] {
            let (filters, probes) = (2_000, 100);
            let mut hits = 0;
            for _ in 0..filters {
                let mut filter = Bloom::default();
                (0..n).for_each(|_| filter.insert(entry()));
                hits += (0..probes).filter(|_| filter.contains(entry())).count();
            }
            let measured = hits as f64 / f64::from(filters * probes);
            let expected = false_positive_rate(n);
            // The closed form takes bits for independent; it is low by 3 % at n = 8 and by less
            // above (Bose et al., 2008). Five standard errors and that. Probes of one filter are
            // alike, so the filters count, not the probes.
            let error =
                5.0 * (expected / f64::from(filters * probes)).sqrt() + 5.0 * expected / f64::from(filters).sqrt();
            assert!((measured - expected).abs() < error + 0.03 * expected, "{n}: {measured} is not {expected}");
        }
    }

    #[test]
    fn few_interests_go_astray_on_paths_of_few_split_points() {
        // At each split point three wrong next hops may hit, and one in two of those that hit is
        // taken.
        let astray = |splits: u32| 1.0 - (1.0 - 3.0 * false_positive_rate(splits) / 2.0).powi(splits as i32);
        assert!((1_250.0..1_350.0).contains(&(1.0 / astray(8))), "{}", 1.0 / astray(8));
        assert!((65_000.0..75_000.0).contains(&(1.0 / astray(4))), "{}", 1.0 / astray(4));
    }

    #[test]
    fn a_filter_steers_to_what_it_holds() {
        let mut filter = Bloom::default();
        filter.insert(at(9, 2));
        let links =
            |filter: Bloom, node| filter.hits(node, hops(&[10, 10, 10])).map(|hop| hop.link).collect::<Vec<_>>();
        assert_eq!((links(filter, 9), links(filter, 8)), (vec![2], vec![]));
        assert_eq!(links(Bloom::from_words([u64::MAX; 4]), 8), [0, 1, 2], "one that is full says nothing");
        assert_eq!(Bloom::from_words(filter.words()), filter);
    }

    #[test]
    fn draws_are_in_proportion_to_weights() {
        let next = hops(&[10, 0, 30]);
        assert_eq!(without_hint(next.clone(), 0.0), Some(0));
        assert_eq!(without_hint(next.clone(), 0.249), Some(0));
        assert_eq!(without_hint(next.clone(), 0.25), Some(2));
        assert_eq!(without_hint(next.clone(), 1.0), Some(2));
        assert_eq!(without_hint(hops(&[0, 0]), 0.5), None);
        assert_eq!(without_hint(hops(&[]), 0.5), None);
        assert_eq!(without_hint(hops(&[u64::MAX, u64::MAX]), 0.75), Some(1));
    }

    #[test]
    fn random_values_choose_in_proportion_and_differently_at_each_node() {
        let next = hops(&[10, 30]);
        let n = 20_000;
        let (mut second, mut both) = (0, 0);
        for value in 0..n {
            let choice = |node| by_random_value(value, node, next.clone()) == Some(1);
            assert_eq!(choice(1), choice(1));
            second += u64::from(choice(1));
            both += u64::from(choice(1) && choice(2));
        }
        // Binomial with p = 3/4, and 9/16 if nodes are independent; five standard deviations.
        let near = |count: u64, p: f64| (count as f64 / n as f64 - p).abs() < 5.0 * (p * (1.0 - p) / n as f64).sqrt();
        assert!(near(second, 0.75) && near(both, 0.5625), "{second} {both}");
    }

    #[test]
    fn the_shortcut_leads_back_the_way_that_the_data_came() {
        // Producer at 3, split at 1 and 2, consumer at 0: Data over (3 → 1 → 0) teach both.
        let (mut near, mut far) = (Shortcut::new(10), Shortcut::new(10));
        let partial = far.learn(PathId::START, at(1, 4));
        let whole = near.learn(partial, at(0, 7));
        let (link, hint) = near.steer(whole).expect("learned");
        assert_eq!(link, 7);
        assert_eq!(far.steer(hint), Some((4, PathId::START)));
        assert_eq!(near.steer(PathId(99)), None);
    }

    #[test]
    fn the_shortcut_forgets_the_oldest_path() {
        let mut known = Shortcut::new(3);
        let ids: Vec<PathId> = (0..5).map(|i| known.learn(PathId(100 + i), at(1, 0))).collect();
        known.learn(PathId(104), at(1, 0));
        assert_eq!(known.len(), 3);
        assert!(known.steer(ids[1]).is_none() && known.steer(ids[2]).is_some());
    }

    proptest! {
        /// What was put in is found: steering never loses a path for a false negative.
        #[test]
        fn there_are_no_false_negatives(entries in prop::collection::vec((any::<u32>(), any::<u32>()), 0..80)) {
            let mut filter = Bloom::default();
            entries.iter().for_each(|(node, link)| filter.insert(at(*node, *link)));
            prop_assert!(entries.iter().all(|(node, link)| filter.contains(at(*node, *link))));
        }

        /// A draw is of a next hop with weight, whatever the filter of a hostile peer says.
        #[test]
        fn steering_stays_within_the_next_hops(words in any::<[u64; 4]>(), weights in prop::collection::vec(0..5u64, 0..6), u in 0.0..1.0f64) {
            let next = hops(&weights);
            for chosen in [without_hint(Bloom::from_words(words).hits(1, next.clone()), u), without_hint(next.clone(), u), by_random_value(words[0], 1, next.clone())] {
                prop_assert!(chosen.is_none_or(|i| weights[i as usize] > 0));
            }
        }
    }

    #[test]
    fn unit_draws_hit_each_next_hop_as_often_as_its_weight_says() {
        let mut random = stream(6, Purpose::Forwarders, 0);
        let next = hops(&[1, 2, 3, 4]);
        let mut counts = [0f64; 4];
        let n = 40_000;
        (0..n).for_each(|_| counts[without_hint(next.clone(), unit(&mut random)).expect("weights") as usize] += 1.0);
        // Pearson's χ² with 3 degrees of freedom: 16.3 is passed once in a thousand.
        let expected = |i: usize| f64::from(n) * (i + 1) as f64 / 10.0;
        let chi: f64 = counts.iter().enumerate().map(|(i, c)| (c - expected(i)).powi(2) / expected(i)).sum();
        assert!(chi < 16.3, "{chi}");
    }
}
