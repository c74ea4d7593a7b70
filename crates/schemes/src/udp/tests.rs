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
        id: Default::default(),
        src: NodeId(0),
        dst: NodeId(1),
        size: Some(Bytes(10_000)),
        stop: None,
        rate: Some(Rate::from_mbps(8)),
        mtu: 1000,
        group: 0,
        weight: 1.0,
    };
    let sender = Sender::new(&flow, &UdpParams::default());
    assert_eq!((sender.mss, sender.left), (972, 10_000));
    // 1000 B at 8 Mbps.
    assert_eq!(sender.clock.time(sender.mss + OVERHEAD), Time::from_ms(1));
}
