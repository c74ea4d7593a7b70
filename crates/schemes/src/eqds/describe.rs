//! Description of EQDS: title, costs, gauges.

use super::{EqdsParams, build};
use crate::Catalogue;
use crate::describe::{Description, Gauge, Unit};
use crate::uec::header::SIZE;

/// What the catalogue has of this folder.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<EqdsParams>("eqds", build).described("eqds", eqds())
}

/// EQDS.
fn eqds() -> Description {
    Description {
        title: "EQDS",
        summary: "Receivers' credits in turn, those first whose packets were trimmed; a sender begins with a window that nobody has granted.",
        source: "Olteanu et al., NSDI 2022",
        bibtex: include_str!("sources.bib"),
        hosts: "EQDS",
        costs: vec![
            format!("{SIZE} B of headers on each packet"),
            format!("a pull of {SIZE} B for 4 kB; an ACK for 16 kB, for each mark, and for each packet that asks"),
        ],
        flows: vec![
            Gauge::new("in_flight_bytes", Unit::Bytes, "Bytes in flight, headers included"),
            Gauge::new("credit_bytes", Unit::Bytes, "Credit at the sender"),
        ],
        ..Description::default()
    }
}
