//! SCReAM's equations by hand, and what hostile feedback can do.

mod hostile;
mod media;
mod units;
mod window;

use serde_json::json;

use crate::Catalogue;

#[track_caller]
fn close(found: f64, by_hand: f64) {
    assert!((found - by_hand).abs() <= 1e-9 * by_hand.abs().max(1.0), "{found} and not {by_hand}");
}

#[test]
fn parameters_are_checked() {
    let error = |p| Catalogue::standard().build("scream", &p).map(|_| ()).unwrap_err().key;
    for (key, value) in [
        ("min_rate", json!("0 bps")),
        ("max_rate", json!("100 kbps")),
        ("start_rate", json!("100 kbps")),
        ("frames", json!(0)),
        ("frame_spread", json!(2)),
        ("mss", json!("1500 B")),
        ("ecn", json!("some")),
        ("qdelay_target", json!("500 ms")),
        ("loss_threshold", json!(1)),
        ("max_media_delay", json!("0 ms")),
        ("rate", json!("1 Mbps")),
    ] {
        assert_eq!(error(json!({ key: value })), key);
    }
}
