//! Round trips of a few packets: what a link has is used all the same, in virtual time.
use crate::paths::{Family, Lines, World};
use midpath_core::units::{Rate, Time};

/// Those whose packets carry bytes. (Bolt keeps queues of two packets, and such paths have that in flight.)
const SCHEMES: [&str; 5] = ["newreno", "cubic", "rcp", "fcp", "inrpp"];

/// From its third second on, when links' rates have grown, a flow fills 20 Mbps but for headers, with two packets in
/// flight.
#[test]
fn short_paths_carry_bulk() {
    for scheme in SCHEMES {
        let lines = Lines { rate: Rate::from_mbps(20), delays: [Time::from_us(20); 2] };
        let mut world = World::new(scheme, Family::Four, [1500; 2], lines);
        world.run(Time::from_secs(2));
        let goodput = 8.0 * world.goodput(Time::from_secs(1)) / 1e6;
        assert!(goodput > 15.0, "{scheme}: {goodput} Mbps");
    }
}
