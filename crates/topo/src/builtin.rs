//! Networks that ship with Midpath. Their sources and licences are in `data/README.md`.

use crate::draft::Draft;
use crate::format::{Format, parse_bytes};

/// One network that ships with Midpath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// The name that a scenario uses.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    json: &'static str,
}

/// All of them.
pub const ALL: [Builtin; 3] = [
    Builtin {
        name: "abilene",
        title: "Abilene, the Internet2 backbone of 2004–2007: 11 routers, 14 OC-192 links",
        json: include_str!("../data/abilene.json"),
    },
    Builtin {
        name: "geant",
        title: "GÉANT, the European research backbone of 2012: 37 routers, 58 links",
        json: include_str!("../data/geant.json"),
    },
    Builtin {
        name: "nobel-germany",
        title: "Nobel Germany, a reference network of SNDlib: 17 routers, 26 links",
        json: include_str!("../data/nobel-germany.json"),
    },
];

/// The names that `builtin` accepts.
pub fn builtin_names() -> impl Iterator<Item = &'static str> + Clone {
    ALL.iter().map(|b| b.name)
}

/// The network of that name, as its file has it: routers, links, rates and lengths.
pub fn builtin(name: &str) -> Option<Draft> {
    let found = ALL.iter().find(|b| b.name == name)?;
    // The tests read every one of them, so a failure cannot reach a user.
    parse_bytes(Format::NodeLink, found.json.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geo::great_circle_km;
    use midpath_core::units::Rate;

    #[test]
    fn sizes_are_those_of_the_sources() {
        let sizes: Vec<_> =
            builtin_names().map(|n| builtin(n).expect(n)).map(|d| (d.nodes.len(), d.links.len())).collect();
        assert_eq!(sizes, [(11, 14), (37, 58), (17, 26)]);
        for name in builtin_names() {
            let d = builtin(name).expect("listed");
            assert!(d.notes.is_empty() && d.adjacency().components().len() == 1, "{name}");
            assert!(d.links.iter().all(|l| l.rate.is_some() && l.length_km.is_some()), "{name}");
        }
        assert_eq!(builtin("arpanet"), None);
    }

    #[test]
    fn lengths_fit_the_positions() {
        for name in builtin_names() {
            let d = builtin(name).expect("listed");
            for l in &d.links {
                let at = |n: usize| d.nodes[n].pos.expect("placed");
                let ratio = l.length_km.expect("known") / great_circle_km(at(l.a), at(l.b));
                // topohub's positions are rounded to 0.01°; Abilene's routes are longer than the
                // great circle.
                let longest = if name == "abilene" { 2.06 } else { 1.02 };
                assert!(
                    (0.98..longest).contains(&ratio),
                    "{name}: {} – {}: {ratio}",
                    d.nodes[l.a].name,
                    d.nodes[l.b].name
                );
            }
        }
    }

    #[test]
    fn abilene_has_the_published_metrics() {
        let d = builtin("abilene").expect("listed");
        assert_eq!(d.links.iter().map(|l| l.weight.expect("given") as u32).sum::<u32>(), 12_401);
        assert!(d.links.iter().all(|l| l.rate == Some(Rate(9_953_280_000))));
    }
}
