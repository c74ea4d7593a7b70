//! A node's status as Prometheus metrics.

use serde_json::Value;

use crate::metrics::Text;

/// Name, help, and the value's JSON pointer in the status.
type Metric = (&'static str, &'static str, &'static str);

/// Counters of each port.
const PORT_COUNTERS: [Metric; 9] = [
    ("port_packets", "Packets sent.", "/packets"),
    ("port_bytes", "Bytes of packets sent, without the overlay's headers.", "/bytes"),
    ("link_ups", "Transitions of the neighbour to up.", "/link/ups"),
    ("link_restarts", "Restarts of the neighbour.", "/link/restarts"),
    ("link_in_parts", "Packets sent as fragments because they exceed the path MTU.", "/link/in_parts"),
    ("link_too_large", "Packets dropped because they exceed what fragments can carry.", "/link/too_large"),
    ("link_not_up", "Packets dropped because the neighbour was down.", "/link/not_up"),
    ("link_silences", "Times that the link fell silent: packets sent, none received.", "/link/silences"),
    ("link_absurd_reports", "Reports of the neighbour that were refused as impossible.", "/link/absurd_reports"),
];

/// Gauges of each port.
const PORT_GAUGES: [Metric; 7] = [
    ("link_up", "1 if the neighbour is up.", "/link/up"),
    ("port_served_bits_per_second", "Current shaping rate, with all headers.", "/served_bps"),
    ("port_configured_bits_per_second", "Configured shaping rate.", "/link/configured_bps"),
    ("port_queue_packets", "Packets in the queue.", "/queue/packets"),
    ("port_queue_bytes", "Bytes in the queue.", "/queue/bytes"),
    ("link_largest_packet_bytes", "Largest packet that is sent unfragmented.", "/link/largest_packet"),
    ("link_path_mtu_bytes", "Path MTU found by probing.", "/link/path_mtu"),
];

/// Counters of the node.
const COUNTERS: [Metric; 16] = [
    ("packets_received", "Valid frames received.", "/packets/received"),
    ("packets_malformed", "Malformed frames received.", "/packets/malformed"),
    ("packets_sent", "Frames sent.", "/packets/sent"),
    ("packets_delivered", "Packets delivered to an endpoint of this node.", "/packets/delivered"),
    ("datagrams_unsent", "Datagrams that the socket refused.", "/packets/unsent"),
    ("udp_sent", "UDP datagrams sent.", "/udp/sent"),
    ("udp_send_calls", "System calls that sent UDP datagrams.", "/udp/send_calls"),
    ("udp_taken", "UDP datagrams received.", "/udp/taken"),
    ("udp_take_calls", "System calls that received UDP datagrams.", "/udp/take_calls"),
    (
        "real_time_losses",
        "Times that real-time priority was given up because its CPU budget was used.",
        "/priority/losses",
    ),
    ("conversations_entered", "Connections accepted from applications.", "/conversations/entered"),
    ("conversations_left", "Connections opened to targets for other nodes.", "/conversations/left"),
    ("conversations_completed", "Conversations closed in order by both sides.", "/conversations/completed"),
    ("conversations_reset", "Conversations reset.", "/conversations/reset"),
    (
        "conversations_refused",
        "Conversations refused: the target could not be reached, or was not allowed.",
        "/conversations/refused",
    ),
    (
        "conversations_other_version",
        "Conversations of nodes with another protocol version.",
        "/conversations/other_version",
    ),
];

/// Gauges of the node.
const GAUGES: [Metric; 5] = [
    ("up_seconds", "Seconds since start.", "/up_s"),
    ("custody_packets", "Packets in custody at ports and forwarders.", "/held_bytes/stored_packets"),
    ("packet_bytes", "Bytes of connections pinned by packets.", "/held_bytes/on_packets"),
    ("resident_bytes", "Resident memory of the process.", "/resident_bytes"),
    ("real_time", "1 with real-time priority; absent if that is not allowed.", "/priority/real_time"),
];

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_bool().map(|is| f64::from(u8::from(is))))
}

fn every<'a>(value: &'a Value, at: &str) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
    let table = value.pointer(at).and_then(Value::as_object);
    table.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), number(value)?)))
}

/// The Prometheus text format. A port that is not served has a rate of 0.
pub fn render(name: &str, status: &Value) -> String {
    let mut text = Text::new("midpath_node");
    let node = ("node", name);
    let none = Vec::new();
    let ports = status["ports"].as_array().unwrap_or(&none);
    let neighbour = |port: &Value| port["link"]["neighbour"].as_str().unwrap_or_default().to_owned();
    let of_ports = |text: &mut Text, all: &[Metric], kind: &str, end: &str| {
        for (metric, help, at) in all {
            let metric = format!("{metric}{end}");
            text.head(&metric, kind, help);
            for port in ports {
                let value = port.pointer(at).and_then(number).unwrap_or(0.0);
                text.line(&metric, &[node, ("neighbour", &neighbour(port))], value);
            }
        }
    };
    of_ports(&mut text, &PORT_GAUGES, "gauge", "");
    of_ports(&mut text, &PORT_COUNTERS, "counter", "_total");
    text.head("port_drops_total", "counter", "Packets dropped by a port, by reason.");
    for port in ports {
        for (reason, count) in every(port, "/drops") {
            text.line("port_drops_total", &[node, ("neighbour", &neighbour(port)), ("reason", reason)], count);
        }
    }
    for (all, kind, end) in [(&GAUGES[..], "gauge", ""), (&COUNTERS[..], "counter", "_total")] {
        for (metric, help, at) in all {
            let metric = format!("{metric}{end}");
            text.head(&metric, kind, help);
            status.pointer(at).and_then(number).into_iter().for_each(|value| text.line(&metric, &[node], value));
        }
    }
    for (metric, help, at, kind, label) in [
        ("drops_total", "Packets dropped by the node, by reason.", "/drops", "counter", "reason"),
        ("datagrams_refused_total", "Datagrams refused, by reason.", "/datagrams", "counter", "reason"),
        ("table_fill", "Entries by table.", "/tables/fill", "gauge", "table"),
        ("table_bound", "Maximum entries by table.", "/tables/bound", "gauge", "table"),
    ] {
        text.head(metric, kind, help);
        every(status, at).for_each(|(key, value)| text.line(metric, &[node, (label, key)], value));
    }
    text.head("late_seconds", "histogram", "Delay of wake-ups of the event loop.");
    let counts: Vec<u64> =
        status["late_us"]["counts"].as_array().unwrap_or(&none).iter().filter_map(Value::as_u64).collect();
    let last = counts.len().saturating_sub(1);
    let bound = |i: usize| (i < last).then(|| (1u64 << i) as f64 / 1e6);
    let sum = status["late_us"]["sum"].as_f64().map(|us| us / 1e6);
    text.histogram("late_seconds", &[node], counts.iter().enumerate().map(|(i, count)| (bound(i), *count)), sum);
    text.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_as_prometheus_wants_it() {
        let status = serde_json::json!({
            "up_s": 1.5,
            "ports": [{
                "packets": 7, "bytes": 9000, "served_bps": 1_000_000, "queue": {"packets": 2, "bytes": 3000},
                "drops": {"queue": 3, "aqm": 0}, "link": {"neighbour": "r\"1", "up": true},
            }, {"served_bps": null, "link": {"neighbour": "s", "up": false}}],
            "tables": {"fill": {"conversations": 4}, "bound": {"conversations": 100}},
            "datagrams": {"forged": 5},
            "late_us": {"p50": 64, "counts": [1, 0, 2, 4], "sum": 1_500_000},
            "priority": {"real_time": true, "losses": 2},
            "udp": {"sent": 10, "send_calls": 3},
        });
        let text = render("a", &status);
        for line in [
            "midpath_node_up_seconds{node=\"a\"} 1.5",
            "midpath_node_link_up{node=\"a\",neighbour=\"r\\\"1\"} 1",
            "midpath_node_port_served_bits_per_second{node=\"a\",neighbour=\"s\"} 0",
            "midpath_node_port_drops_total{node=\"a\",neighbour=\"r\\\"1\",reason=\"queue\"} 3",
            "midpath_node_table_bound{node=\"a\",table=\"conversations\"} 100",
            "midpath_node_datagrams_refused_total{node=\"a\",reason=\"forged\"} 5",
            // Buckets are cumulative, and the last one has no bound.
            "midpath_node_late_seconds_bucket{node=\"a\",le=\"0.000004\"} 3",
            "midpath_node_late_seconds_bucket{node=\"a\",le=\"+Inf\"} 7",
            "midpath_node_late_seconds_sum{node=\"a\"} 1.5",
            "midpath_node_late_seconds_count{node=\"a\"} 7",
            "midpath_node_real_time{node=\"a\"} 1",
            "midpath_node_real_time_losses_total{node=\"a\"} 2",
            "midpath_node_udp_send_calls_total{node=\"a\"} 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        assert!(text.lines().all(|line| line.starts_with("# ") || line.starts_with("midpath_node_")), "{text}");
    }
}
