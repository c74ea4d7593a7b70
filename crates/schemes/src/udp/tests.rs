use midpath_core::packet::FlowId;
use serde_json::json;

use super::*;
use crate::Catalogue;

#[test]
fn parameters_are_checked() {
    let error = |p| Catalogue::standard().build("udp", &p).map(|_| ()).unwrap_err().key;
    assert_eq!(error(json!({"rate": "0 bps"})), "rate");
    assert_eq!(error(json!({"packet": "20 B"})), "packet");
    assert_eq!(error(json!({"size": 3})), "size");
}

#[test]
fn packets_fit_the_path_and_the_flow_names_the_rate() {
    let flow = FlowSpec {
        size: Some(Bytes(10_000)),
        rate: Some(Rate::from_mbps(8)),
        mtu: 1000,
        ..FlowSpec::new(FlowId(0), NodeId(0), NodeId(1))
    };
    let sender = Sender::new(&flow, &UdpParams::default());
    assert_eq!((sender.mss, sender.end), (972, 10_000));
    // 1000 B at 8 Mbps.
    assert_eq!(sender.clock.time(sender.mss + OVERHEAD), Time::from_ms(1));
}
