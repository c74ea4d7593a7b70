//! The parameters of `generate`: which belong to which generator, their defaults and bounds.

use midpath_core::spec::SpecError;

use super::build::MAX_ROUTERS;
use super::{Generator, TopologySpec};
use crate::draft::Draft;
use crate::generate::{self, Dumbbell, LinkParams, Waxman};

/// Most hosts and routers of one generated network.
const MAX_HOSTS: usize = 100_000;
/// Most routers of a Waxman network, whose work grows with the square.
const MAX_WAXMAN: usize = 4_096;
/// Most ports of a fat-tree's switches: 524,288 hosts.
const MAX_K: usize = 128;

impl Generator {
    /// The name that a scenario uses.
    pub const fn name(self) -> &'static str {
        match self {
            Generator::Dumbbell => "dumbbell",
            Generator::Chain => "chain",
            Generator::ParkingLot => "parking-lot",
            Generator::Star => "star",
            Generator::Ring => "ring",
            Generator::FatTree => "fat-tree",
            Generator::Waxman => "waxman",
        }
    }

    /// The keys that it takes.
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Generator::Dumbbell => &["bottleneck", "access", "pairs", "n", "link", "access_delays"],
            Generator::Chain => &["n", "link", "access", "pairs"],
            Generator::ParkingLot => &["n", "link", "access"],
            Generator::Star => &["n", "access"],
            Generator::Ring => &["n", "link", "access"],
            Generator::FatTree => &["k", "link", "access"],
            Generator::Waxman => &["n", "link", "access", "alpha", "beta", "size_km", "connected", "seed"],
        }
    }
}

/// Refuses parameters that the generator does not take, or that have no generator.
pub fn check_keys(spec: &TopologySpec) -> Result<(), SpecError> {
    let given = [
        ("pairs", spec.pairs.is_some()),
        ("n", spec.n.is_some()),
        ("k", spec.k.is_some()),
        ("link", spec.link.is_some()),
        ("access", spec.access.is_some()),
        ("bottleneck", spec.bottleneck.is_some()),
        ("access_delays", spec.access_delays.is_some()),
        ("alpha", spec.alpha.is_some()),
        ("beta", spec.beta.is_some()),
        ("size_km", spec.size_km.is_some()),
        ("connected", spec.connected.is_some()),
        ("seed", spec.seed.is_some()),
    ];
    let taken = spec.generate.map_or(&[][..], Generator::keys);
    match (given.into_iter().find(|(key, given)| *given && !taken.contains(key)), spec.generate) {
        (None, _) => Ok(()),
        (Some((key, _)), None) => {
            Err(SpecError::new(key, format!("`{key}` is a parameter of `generate`, which is not given")))
        }
        (Some((key, _)), Some(generator)) => {
            let takes = taken.join("`, `");
            Err(SpecError::new(
                key,
                format!("generate = \"{}\" takes no `{key}`; it takes `{takes}`", generator.name()),
            ))
        }
    }
}

/// Generates the network; `seed` is the scenario's.
pub fn draft(spec: &TopologySpec, seed: u64) -> Result<Draft, SpecError> {
    let Some(generator) = spec.generate else { return Ok(Draft::default()) };
    let p = Params { spec, generator };
    Ok(match generator {
        Generator::Dumbbell => p.dumbbell()?,
        Generator::Chain => generate::chain(p.n(1, MAX_ROUTERS)?, p.pairs()?, p.link()?, p.access()?),
        Generator::ParkingLot => generate::parking_lot(p.n(1, MAX_ROUTERS - 1)?, p.link()?, p.access()?),
        Generator::Star => generate::star(p.n(1, crate::graph::MAX_DEGREE)?, p.needed("access", &spec.access)?),
        Generator::Ring => generate::ring(p.n(3, MAX_ROUTERS)?, p.link()?),
        Generator::FatTree => generate::fat_tree(p.k()?, p.link()?, p.access()?),
        Generator::Waxman => p.waxman(spec.seed.unwrap_or(seed))?,
    })
}

struct Params<'a> {
    spec: &'a TopologySpec,
    generator: Generator,
}

impl<'a> Params<'a> {
    fn dumbbell(&self) -> Result<Draft, SpecError> {
        let access = self.needed("access", &self.spec.access)?;
        Ok(generate::dumbbell(&Dumbbell {
            pairs: self.pairs()?,
            routers: if self.spec.n.is_some() { self.n(2, MAX_ROUTERS)? } else { 2 },
            access: access.clone(),
            bottleneck: self.needed("bottleneck", &self.spec.bottleneck)?.clone(),
            core: if self.spec.link.is_some() { self.link()?.clone() } else { access.clone() },
            access_delays: self.spec.access_delays.clone().unwrap_or_default(),
        }))
    }

    fn waxman(&self, seed: u64) -> Result<Draft, SpecError> {
        let share = |key: &str, value: Option<f64>, default: f64| match value.unwrap_or(default) {
            v if v > 0.0 && v <= 1.0 => Ok(v),
            v => Err(SpecError::new(key, format!("{v} is out of range; accepted is above 0 and up to 1"))),
        };
        let size_km = self.spec.size_km.unwrap_or(1000.0);
        if !(size_km > 0.0 && size_km <= 1e5) {
            return Err(SpecError::new(
                "size_km",
                format!("{size_km} is out of range; accepted is above 0 and up to 100000"),
            ));
        }
        let link = self.spec.link.as_ref().ok_or_else(|| self.missing("link"))?;
        Ok(generate::waxman(
            &Waxman {
                routers: self.n(2, MAX_WAXMAN)?,
                // NetworkX's defaults.
                alpha: share("alpha", self.spec.alpha, 0.1)?,
                beta: share("beta", self.spec.beta, 0.4)?,
                size_km,
                connected: self.spec.connected.unwrap_or(true),
                link: link.clone(),
            },
            seed,
        ))
    }

    fn missing(&self, key: &str) -> SpecError {
        let example = match key {
            "n" | "k" => "4",
            _ => "{ rate = \"1 Gbps\", delay = \"5 ms\" }",
        };
        SpecError::new(
            key,
            format!("generate = \"{}\" needs `{key}`, such as {key} = {example}", self.generator.name()),
        )
    }

    fn count(&self, key: &str, value: Option<usize>, least: usize, most: usize) -> Result<usize, SpecError> {
        let value = value.ok_or_else(|| self.missing(key))?;
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(SpecError::new(
            key,
            format!("{value} is out of range; generate = \"{}\" accepts {least} to {most}", self.generator.name()),
        ))
    }

    fn n(&self, least: usize, most: usize) -> Result<usize, SpecError> {
        self.count("n", self.spec.n, least, most)
    }

    /// Twice this many hosts, of which each router at an end takes half.
    fn pairs(&self) -> Result<usize, SpecError> {
        self.count("pairs", self.spec.pairs.or(Some(1)), 1, (MAX_HOSTS / 2).min(crate::graph::MAX_DEGREE - 1))
    }

    fn k(&self) -> Result<usize, SpecError> {
        let k = self.count("k", self.spec.k, 2, MAX_K)?;
        if k % 2 == 0 {
            Ok(k)
        } else {
            Err(SpecError::new("k", format!("{k} is odd; a fat-tree's switches have an even number of ports")))
        }
    }

    /// A link of which a delay is wanted too.
    fn needed(&self, key: &str, link: &'a Option<LinkParams>) -> Result<&'a LinkParams, SpecError> {
        let link = link.as_ref().ok_or_else(|| self.missing(key))?;
        match link.delay {
            Some(_) => Ok(link),
            None => Err(SpecError::new(
                format!("{key}.delay"),
                "the link has no delay; write one, such as delay = \"5 ms\"",
            )),
        }
    }

    fn link(&self) -> Result<&'a LinkParams, SpecError> {
        self.needed("link", &self.spec.link)
    }

    fn access(&self) -> Result<&'a LinkParams, SpecError> {
        if self.spec.access.is_some() { self.needed("access", &self.spec.access) } else { self.link() }
    }
}
