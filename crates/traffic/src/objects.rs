//! Flows of a workload that move the same.

use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::Bytes;
use rand_distr::{Distribution, Zipf};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stream::Stream;

/// Each sender has so many objects, and a flow moves one of them. Schemes by name share what flows
/// of the same object ask for; others move it for each flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectSpec {
    /// Objects per sender. Sizes are drawn on first request.
    #[schemars(extend("examples" = [100]))]
    pub count: u64,
    /// Zipf exponent of object popularity; default 0, all alike.
    #[serde(default)]
    #[schemars(extend("examples" = [0.8]))]
    pub popularity: f64,
}

/// Draws objects, and remembers their sizes.
pub(crate) struct Objects {
    ranks: Zipf<f64>,
    rng: Stream,
    group: Arc<str>,
    known: FxHashMap<(u32, u64), (Arc<str>, Bytes)>,
}

impl Objects {
    /// Those of a workload; keys of errors are relative to `objects`.
    pub fn new(spec: &ObjectSpec, group: Arc<str>, rng: Stream) -> Result<Objects, SpecError> {
        if spec.count == 0 {
            return Err(SpecError::new("count", "at least 1"));
        }
        if !(0.0..=10.0).contains(&spec.popularity) {
            return Err(SpecError::new("popularity", "from 0 to 10"));
        }
        let ranks =
            Zipf::new(spec.count as f64, spec.popularity).map_err(|e| SpecError::new("count", e.to_string()))?;
        Ok(Objects { ranks, rng, group, known: FxHashMap::default() })
    }

    /// The object of `src` that the next flow moves, and its size: `fresh` if it is new.
    pub fn draw(&mut self, src: u32, fresh: Bytes) -> (Arc<str>, Bytes) {
        let rank = self.ranks.sample(&mut self.rng) as u64;
        let new = || (Arc::from(format!("{}/{src}/{rank}", self.group)), fresh);
        self.known.entry((src, rank)).or_insert_with(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    fn objects(count: u64, popularity: f64) -> Objects {
        let spec = ObjectSpec { count, popularity };
        Objects::new(&spec, Arc::from("g"), stream(&1.into(), Purpose::Objects, 0)).expect("valid")
    }

    #[test]
    fn an_object_keeps_its_size() {
        let mut objects = objects(3, 0.0);
        let mut sizes = FxHashMap::default();
        for i in 1..100u64 {
            let (name, size) = objects.draw((i % 2) as u32, Bytes(i));
            assert_eq!(*sizes.entry(name).or_insert(size), size);
        }
        assert_eq!(sizes.len(), 6, "three of each of two senders");
    }

    #[test]
    fn ranks_follow_zipf() {
        let mut objects = objects(10, 1.0);
        let n = 50_000;
        let first = (0..n).filter(|_| &*objects.draw(7, Bytes(1)).0 == "g/7/1").count();
        // 1 / (1 + 1/2 + … + 1/10) = 0.3414; five standard deviations.
        assert!((first as f64 / f64::from(n) - 0.3414).abs() < 5.0 * (0.3414f64 * 0.66 / f64::from(n)).sqrt());
    }

    #[test]
    fn errors_name_the_key() {
        let new = |count, popularity| {
            let spec = ObjectSpec { count, popularity };
            Objects::new(&spec, Arc::from("g"), stream(&1.into(), Purpose::Objects, 0))
                .map(|_| ())
                .expect_err("refused")
                .key
        };
        assert_eq!(
            (new(0, 1.0), new(1, f64::NAN), new(1, -1.0)),
            ("count".into(), "popularity".into(), "popularity".into())
        );
    }
}
