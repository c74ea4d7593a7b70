//! The parameters of `generate`: which belong to which generator, their defaults and bounds.

use midpath_core::spec::SpecError;

use super::build::MAX_ROUTERS;
use super::{Cross, Generator, TopologySpec};
use crate::draft::Draft;
use crate::generate::{self, DragonflyPlus, Dumbbell, LeafSpine, LinkParams, Rails, Waxman};
use crate::graph::MAX_DEGREE;

/// Most hosts and routers of one generated network.
const MAX_HOSTS: usize = 100_000;
/// Most routers of a Waxman network, whose work grows with the square.
const MAX_WAXMAN: usize = 4_096;
/// Most ports of a fat-tree's switches: 524,288 hosts.
const MAX_K: usize = 128;
/// Most planes of a fabric. Ours: twice what is built.
const MAX_PLANES: usize = 16;
/// Most links of one generated fabric.
const MAX_FABRIC: usize = crate::graph::MAX_LINKS;

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
            Generator::LeafSpine => "leaf-spine",
            Generator::Rail => "rail",
            Generator::DragonflyPlus => "dragonfly-plus",
            Generator::Torus => "torus",
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
            Generator::FatTree => &["k", "oversubscription", "link", "access", "planes"],
            Generator::LeafSpine => &["leaves", "spines", "per_leaf", "link", "access", "planes"],
            Generator::Rail => &["n", "rails", "per_leaf", "spines", "cross", "link", "access", "nvlink", "planes"],
            Generator::DragonflyPlus => {
                &["groups", "leaves", "spines", "per_leaf", "global_ports", "link", "global", "access", "planes"]
            }
            Generator::Torus => &["dims", "link", "access"],
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
        ("oversubscription", spec.oversubscription.is_some()),
        ("leaves", spec.leaves.is_some()),
        ("spines", spec.spines.is_some()),
        ("per_leaf", spec.per_leaf.is_some()),
        ("planes", spec.planes.is_some()),
        ("rails", spec.rails.is_some()),
        ("nvlink", spec.nvlink.is_some()),
        ("cross", spec.cross.is_some()),
        ("groups", spec.groups.is_some()),
        ("global_ports", spec.global_ports.is_some()),
        ("global", spec.global.is_some()),
        ("dims", spec.dims.is_some()),
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
    let draft = match generator {
        Generator::Dumbbell => p.dumbbell()?,
        Generator::Chain => generate::chain(p.n(1, MAX_ROUTERS)?, p.pairs()?, p.link()?, p.access()?),
        Generator::ParkingLot => generate::parking_lot(p.n(1, MAX_ROUTERS - 1)?, p.link()?, p.access()?),
        Generator::Star => generate::star(p.n(1, crate::graph::MAX_DEGREE)?, p.needed("access", &spec.access)?),
        Generator::Ring => generate::ring(p.n(3, MAX_ROUTERS)?, p.link()?),
        Generator::FatTree => p.fat_tree()?,
        Generator::LeafSpine => p.leaf_spine()?,
        Generator::Rail => p.rails()?,
        Generator::DragonflyPlus => p.dragonfly_plus()?,
        Generator::Torus => p.torus()?,
        Generator::Waxman => p.waxman(spec.seed.unwrap_or(seed))?,
    };
    let planes = p.count("planes", spec.planes.or(Some(1)), 1, MAX_PLANES)?;
    Ok(generate::planes(draft, planes))
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

    fn fat_tree(&self) -> Result<Draft, SpecError> {
        let k = self.k()?;
        let times = self.count("oversubscription", self.spec.oversubscription.or(Some(1)), 1, MAX_DEGREE / k)?;
        self.fits("oversubscription", &[k * k * k / 4, times + 2])?;
        Ok(generate::oversubscribed_fat_tree((k, times), self.link()?, self.access()?))
    }

    fn leaf_spine(&self) -> Result<Draft, SpecError> {
        let (leaves, spines, per_leaf) = self.clos()?;
        self.fits("leaves", &[leaves, spines + per_leaf])?;
        let (link, access) = (self.link()?.clone(), self.access()?.clone());
        Ok(generate::leaf_spine(&LeafSpine { leaves, spines, per_leaf, link, access }))
    }

    fn rails(&self) -> Result<Draft, SpecError> {
        let (servers, spec) = (self.n(1, MAX_HOSTS)?, self.spec);
        let rails = self.count("rails", spec.rails.or(Some(8)), 1, 64)?;
        let per_leaf = self.count("per_leaf", spec.per_leaf.or(Some(servers)), 1, servers.min(MAX_DEGREE / 2))?;
        let blocks = servers.div_ceil(per_leaf);
        // Servers of one block meet at leaves and, with shared NICs, in servers.
        let shared_nics = spec.cross == Some(Cross::Nvlink);
        let needs_spines = blocks > 1 || !shared_nics;
        let given = if needs_spines { spec.spines } else { spec.spines.or(Some(0)) };
        let spines = self.count("spines", given, usize::from(needs_spines), MAX_DEGREE / 2)?;
        self.fits("n", &[rails, 4 * servers + blocks * spines])?;
        let (link, access) = (if spines > 0 { self.link()? } else { self.access()? }.clone(), self.access()?.clone());
        let nvlink = self.needed("nvlink", &spec.nvlink)?.clone();
        Ok(generate::rails(&Rails { servers, rails, per_leaf, spines, link, access, nvlink, shared_nics }))
    }

    fn dragonfly_plus(&self) -> Result<Draft, SpecError> {
        let (leaves, spines, per_leaf) = self.clos()?;
        let groups = self.count("groups", self.spec.groups, 2, MAX_ROUTERS)?;
        let global_ports = self.count("global_ports", self.spec.global_ports, 1, MAX_DEGREE / 2)?;
        self.fits("groups", &[groups, leaves * (spines + per_leaf) + spines * global_ports])?;
        let (link, access) = (self.link()?.clone(), self.access()?.clone());
        let global = if self.spec.global.is_some() { self.needed("global", &self.spec.global)? } else { &link }.clone();
        let fabric = DragonflyPlus { groups, leaves, spines, per_leaf, global_ports, link, global, access };
        if fabric.per_pair().is_none() {
            let (all, others) = (spines * global_ports, groups - 1);
            let message = format!(
                "{spines} spines with {global_ports} links are {all} links of a group, which {others} other groups cannot \
                 share equally; take a multiple of {others}"
            );
            return Err(SpecError::new("global_ports", message));
        }
        Ok(generate::dragonfly_plus(&fabric))
    }

    fn torus(&self) -> Result<Draft, SpecError> {
        let dims = self.spec.dims.as_deref().ok_or_else(|| self.missing("dims"))?;
        if dims.is_empty() || dims.len() > 8 || dims.iter().any(|size| !(2..=MAX_ROUTERS).contains(size)) {
            let message = format!("write one to eight sizes from 2 to {MAX_ROUTERS}, such as dims = [4, 4, 4]");
            return Err(SpecError::new("dims", message));
        }
        self.fits("dims", dims)?;
        Ok(generate::torus(dims, self.link()?))
    }

    /// Leaves, spines, and hosts of a leaf.
    fn clos(&self) -> Result<(usize, usize, usize), SpecError> {
        let spec = self.spec;
        let most = MAX_DEGREE / 2;
        Ok((
            self.count("leaves", spec.leaves, 1, most)?,
            self.count("spines", spec.spines, 1, most)?,
            self.count("per_leaf", spec.per_leaf, 1, most)?,
        ))
    }

    /// Refuses a fabric of more links than a network may have; the product counts them, about.
    fn fits(&self, key: &str, factors: &[usize]) -> Result<(), SpecError> {
        let links = factors.iter().fold(self.spec.planes.unwrap_or(1), |all, factor| all.saturating_mul(*factor));
        if links <= MAX_FABRIC {
            return Ok(());
        }
        Err(SpecError::new(key, format!("about {links} links; at most {MAX_FABRIC} are accepted")))
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
            "n" | "k" | "leaves" | "spines" | "per_leaf" | "groups" | "global_ports" => "4",
            "dims" => "[4, 4, 4]",
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
