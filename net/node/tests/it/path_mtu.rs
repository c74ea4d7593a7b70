//! Nodes whose links go over paths of any MTU, another at each hop, that changes while flows run, in virtual time. Two
//! families: IPv4, from 576 B on, and IPv6, from 1,280 B on. A path drops what is too large and says nothing (RFC 2923).
use crate::paths::{Family, Lines, World};
use midpath_core::rng::{Purpose, below, stream};
use midpath_core::units::{Rate, Time};
use midpath_node::overlay::{MTU, OVERHEAD};

const LINES: Lines = Lines { rate: Rate::from_mbps(8), delays: [Time::from_ms(3), Time::from_ms(9)] };
/// A change may take so long to be found, and what is found lasts as long again.
const FOUND: Time = Time::from_secs(2);
/// Of what packets that fit would bring, at least.
const SHARE: f64 = 0.9;

/// Those whose packets carry bytes.
const SCHEMES: [&str; 6] = ["newreno", "cubic", "rcp", "fcp", "inrpp", "bolt"];

/// What packets bring that fit a path, of a byte on it: bytes of payload, with 52 B of headers inside.
fn efficiency(mtu: usize, family: Family) -> f64 {
    let outside = OVERHEAD as usize - 28 + family.outside();
    let packet = (mtu - outside).min(MTU as usize);
    (packet - 52) as f64 / (packet + outside) as f64
}

/// Paths of any MTU carry what packets that fit would bring, from two seconds after the start and each change on, and
/// the search ends within a byte.
fn any_path_carries_bulk(family: Family) {
    let mut rng = stream(58, Purpose::Fault, family.least());
    for scheme in SCHEMES {
        let mut full = World::new(scheme, family, [1500; 2], LINES);
        full.run(FOUND);
        let full = full.goodput(FOUND);
        assert!(full > 0.7 * LINES.rate.0 as f64 / 8.0, "{scheme}: {full}");
        let mut mtus = [family.draw(&mut rng), family.draw(&mut rng)];
        let mut world = World::new(scheme, family, mtus, LINES);
        for change in 0..4 {
            world.mtus = mtus;
            world.run(FOUND);
            let found = world.goodput(FOUND);
            let least = *mtus.iter().min().unwrap();
            let fit = full * efficiency(least, family) / efficiency(1500, family);
            assert!(
                found >= SHARE * fit,
                "{scheme}, {family:?}, change {change} to {mtus:?}: {found:.0} of {fit:.0} B/s"
            );
            mtus[below(&mut rng, 2) as usize] =
                if change == 1 { family.least() as usize } else { family.draw(&mut rng) };
        }
        world.run(Time::from_secs(12));
        for (at, port, hop) in [(0, 0, 0), (1, 1, 1)] {
            assert_eq!(world.described(at, port, "path_mtu"), world.mtus[hop] as u64, "{scheme}");
            assert_eq!(world.described(at, port, "too_large"), 0, "{scheme}");
        }
    }
}

#[test]
fn any_path_of_ipv4_carries_bulk() {
    any_path_carries_bulk(Family::Four);
}

#[test]
fn any_path_of_ipv6_carries_bulk() {
    any_path_carries_bulk(Family::Six);
}
