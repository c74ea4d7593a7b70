//! A forwarder's status as Prometheus metrics.

use serde_json::Value;

use crate::metrics::Text;

/// The Prometheus text format.
pub fn render(status: &Value) -> String {
    let mut text = Text::new("midpath_ndn");
    for (name, kind, help, at) in [
        ("up_seconds", "gauge", "Seconds since start.", "/up_s"),
        ("fib_entries", "gauge", "Prefixes in the FIB.", "/fib_entries"),
        ("resident_bytes", "gauge", "Resident memory of the process.", "/resident_bytes"),
    ] {
        text.head(name, kind, help);
        status.pointer(at).and_then(Value::as_f64).into_iter().for_each(|value| text.line(name, &[], value));
    }
    for (name, kind, help, at, label) in [
        ("received_total", "counter", "Packets received, by kind.", "/received", "kind"),
        ("sent_total", "counter", "Packets sent, by kind.", "/sent", "kind"),
        ("outcomes_total", "counter", "Packets by outcome.", "/packets", "outcome"),
        ("store_total", "counter", "Content store: hits, misses, evictions; `packets` is its size.", "/store", "event"),
        ("sockets_total", "counter", "Socket events.", "/sockets", "event"),
        ("table_fill", "gauge", "Entries by table.", "/tables/fill", "table"),
        ("table_bound", "gauge", "Maximum entries by table.", "/tables/bound", "table"),
    ] {
        text.head(name, kind, help);
        for (key, value) in status.pointer(at).and_then(Value::as_object).into_iter().flatten() {
            value.as_f64().into_iter().for_each(|value| text.line(name, &[(label, key)], value));
        }
    }
    faces(status, &mut text);
    links(status, &mut text);
    text.done()
}

/// Faces by number and other end.
fn faces(status: &Value, text: &mut Text) {
    let none = Vec::new();
    let faces = status["faces"].as_array().unwrap_or(&none);
    for (name, help, at) in [
        ("face_received_bytes_total", "Bytes received by a face.", "/received/bytes"),
        ("face_sent_bytes_total", "Bytes sent by a face.", "/sent/bytes"),
        ("face_dropped_total", "Packets dropped because the face's send queue was full.", "/dropped"),
        ("face_malformed_total", "Malformed frames received.", "/malformed"),
    ] {
        text.head(name, "counter", help);
        for face in faces {
            let (number, remote) = (face["face"].to_string(), face["remote"].as_str().unwrap_or_default());
            let value = face.pointer(at).and_then(Value::as_f64).unwrap_or(0.0);
            text.line(name, &[("face", &number), ("remote", remote)], value);
        }
    }
}

/// Links whose rates are known, by their face.
fn links(status: &Value, text: &mut Text) {
    let none = Vec::new();
    let links = status["links"].as_array().unwrap_or(&none);
    for (name, help, at) in [
        ("link_speaks_mircc", "1 if MIRCC runs on the link.", "speaks_mircc"),
        ("link_primary_rate_bits_per_second", "MIRCC's primary rate R_p of the link.", "primary_rate_bps"),
        ("link_secondary_rate_bits_per_second", "MIRCC's secondary rate R_s of the link.", "secondary_rate_bps"),
        ("link_interests", "Interests in the link's shaper.", "interests"),
    ] {
        text.head(name, "gauge", help);
        for link in links {
            let value = link[at].as_f64().unwrap_or_else(|| f64::from(u8::from(link[at] == Value::Bool(true))));
            text.line(name, &[("face", &link["face"].to_string())], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_as_prometheus_wants_it() {
        let status = serde_json::json!({
            "up_s": 2.5, "received": {"data": 7}, "packets": {"pit_full": 3}, "tables": {"fill": {"faces": 1}},
            "links": [{"face": 257, "speaks_mircc": true, "primary_rate_bps": 9.5e6}],
            "faces": [{"face": 256, "remote": "fd://9", "received": {"bytes": 99}, "malformed": 1}],
        });
        let text = render(&status);
        for line in [
            "midpath_ndn_up_seconds 2.5",
            "midpath_ndn_received_total{kind=\"data\"} 7",
            "midpath_ndn_outcomes_total{outcome=\"pit_full\"} 3",
            "midpath_ndn_link_speaks_mircc{face=\"257\"} 1",
            "midpath_ndn_link_primary_rate_bits_per_second{face=\"257\"} 9500000",
            "midpath_ndn_table_fill{table=\"faces\"} 1",
            "midpath_ndn_face_received_bytes_total{face=\"256\",remote=\"fd://9\"} 99",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
}
