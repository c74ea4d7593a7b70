//! Description of GCC: title, costs, gauges.

use super::{GccParams, build};
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<GccParams>("gcc", build).described("gcc", gcc())
}

/// Google congestion control.
fn gcc() -> Description {
    Description {
        title: "GCC",
        summary: "Calls: an encoder's rate follows the trend of delays and losses, as in WebRTC.",
        source: "Holmer, Lundin, Carlucci, De Cicco, Mascolo, draft-ietf-rmcat-gcc-02, 2016; libwebrtc",
        bibtex: include_str!("sources.bib"),
        hosts: "GCC",
        reads: &["rate", "late_after"],
        costs: vec![
            "12 B of RTP on each data unit".to_owned(),
            "a report of up to 112 B with each frame, every 16 data units and every 40 ms".to_owned(),
        ],
        flows: vec![
            Gauge::new("delay_based_bps", Unit::Bps, "Delay-based rate").symbol("A_hat"),
            Gauge::new("arriving_bps", Unit::Bps, "Rate that arrives").symbol("R_hat"),
            Gauge::new("trend", Unit::Count, "Trend of delays, as the threshold sees it").symbol("m(i)"),
            Gauge::new("trend_threshold", Unit::Count, "Threshold of the trend: overuse above").symbol("del_var_th"),
            Gauge::new("loss_share", Unit::Ratio, "Share of the last data units that was lost").symbol("p"),
            Gauge::count("waiting_units", "Data units that wait at the sender"),
            Gauge::count("discarded_units", "Data units discarded at the sender, too old"),
            Gauge::new("frame_delay_s", Unit::Seconds, "From a frame's encoding to its last data unit's arrival"),
        ],
        ..Description::default()
    }
}
