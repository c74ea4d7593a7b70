//! The part's description, for tables and reports.

use midpath_schemes::Description;

/// ECE on the way back.
pub fn reverse_ece() -> Description {
    Description {
        title: "reverse ECE",
        summary: "A signal that sets ECE on as many ACKs as packets were chosen.",
        routers: "reverse ECE",
        ecn: Some("ECE on ACKs"),
        ..Description::default()
    }
}
