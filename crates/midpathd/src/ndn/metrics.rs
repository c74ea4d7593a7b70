//! What a forwarder's status says, for Prometheus.

use serde_json::Value;

use crate::metrics::Text;

/// The text that Prometheus reads.
pub fn render(status: &Value) -> String {
    let mut text = Text::new("midpath_ndn");
    for (name, kind, help, at) in [
        ("up_seconds", "gauge", "How long it has run.", "/up_s"),
        ("fib_entries", "gauge", "Prefixes of the FIB.", "/fib_entries"),
        ("resident_bytes", "gauge", "Memory of the process.", "/resident_bytes"),
    ] {
        text.head(name, kind, help);
        status.pointer(at).and_then(Value::as_f64).into_iter().for_each(|value| text.line(name, &[], value));
    }
    for (name, kind, help, at, label) in [
        ("received_total", "counter", "What came in, by kind.", "/received", "kind"),
        ("sent_total", "counter", "What went out, by kind.", "/sent", "kind"),
        ("outcomes_total", "counter", "What became of packets.", "/packets", "outcome"),
        ("store_total", "counter", "What the content store did; packets are those in it.", "/store", "event"),
        ("sockets_total", "counter", "What the sockets did.", "/sockets", "event"),
        ("table_fill", "gauge", "What each table holds.", "/tables/fill", "table"),
        ("table_bound", "gauge", "What each table holds at most.", "/tables/bound", "table"),
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
        ("face_received_bytes_total", "Bytes that came in by a face.", "/received/bytes"),
        ("face_sent_bytes_total", "Bytes that went out by a face.", "/sent/bytes"),
        ("face_dropped_total", "Packets that found no room for a face that reads slowly.", "/dropped"),
        ("face_malformed_total", "Frames that are no packets.", "/malformed"),
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
        ("link_speaks_mircc", "Whether MIRCC runs on a link.", "speaks_mircc"),
        (
            "link_primary_rate_bits_per_second",
            "What MIRCC stamps on Data of a link, primary class.",
            "primary_rate_bps",
        ),
        ("link_secondary_rate_bits_per_second", "The same, secondary class.", "secondary_rate_bps"),
        ("link_interests", "Interests that wait for a link.", "interests"),
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
