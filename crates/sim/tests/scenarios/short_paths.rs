//! Paths on which a packet takes longer to be sent than to arrive.

use crate::common::rack::{self, seen};
use crate::common::run_plain;

/// The handshake's small packets are back in a tenth of the time that data take. By that a window would be of a packet,
/// and a third of the link in use.
#[test]
fn the_round_trip_that_counts_is_that_of_data() {
    for scheme in ["powertcp", "hpcc"] {
        let text = rack::dumbbell(scheme, 1, "2 s", "limit = \"100 kB\"", "")
            .replace("rate = \"1 Gbps\"", "rate = \"10 Mbps\"")
            .replace("rate = \"10 Gbps\"", "rate = \"10 Mbps\"");
        let (used, waits) = seen(&run_plain(&text), 1.0);
        println!("{scheme}: {used:.3} of the link, {waits:.0} B wait");
        assert!(used > 0.8, "{scheme} uses {used}");
    }
}
