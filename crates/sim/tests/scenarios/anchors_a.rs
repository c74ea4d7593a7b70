//! Scenario (a): three flows through one drop-tail queue, chaotic in single runs, so distributions
//! are compared: starts jittered by up to 10 ms, ours against ns-3's forty runs
//! (evidence/peers/ns3/RESULTS.md).
//!
//! Which ns-3: releases 3.43 to 3.48 count SACKed bytes twice in PRR, so rows with SACK are held
//! against 3.48 with the upstream repair ("+fix"), rows without against 3.48. Beyond 5 % a row
//! needs a reason; crates/sim/tests/README.md has them all.

use crate::common::{figure, over_seeds};

/// Ours is a mean over this many seeds; its standard error is about 0.15 s.
const SEEDS: u64 = 24;

struct Row {
    name: &'static str,
    scheme: &'static str,
    params: &'static str,
    core: &'static str,
    access: [u32; 3],
    /// ns-3's AFCT in seconds, and how far ours may be from it.
    afct: (f64, f64),
    /// ns-3's Jain index, and how far ours may be from it.
    jain: (f64, f64),
    /// ns-3's last completion time in seconds, and how far ours may be from it.
    last: (f64, f64),
}

const PLAIN: Row = Row {
    name: "",
    scheme: "newreno",
    params: "growth = \"per-ack\"",
    core: "100 Mbps",
    access: [5, 5, 5],
    afct: (0.0, 0.05),
    jain: (0.0, 0.03),
    last: (0.0, 0.05),
};

fn scenario(row: &Row) -> String {
    let mut text = format!(
        "scheme = \"{}\"\n[queue]\nlimit = \"50 ms\"\n[schemes.{}]\nloss_detection = \"rfc6675\"\n{}\n[topology]\nlinks = [\n",
        row.scheme, row.scheme, row.params
    );
    for (i, ms) in row.access.iter().enumerate() {
        text += &format!("  {{ a = \"s{i}\", b = \"n4\", rate = \"40 Mbps\", delay = \"{ms} ms\" }},\n");
        text += &format!("  {{ a = \"n3\", b = \"d{i}\", rate = \"40 Mbps\", delay = \"5 ms\" }},\n");
    }
    for (a, b, rate) in [("n4", "n0", row.core), ("n0", "n2", "10 Mbps"), ("n2", "n3", row.core)] {
        text += &format!("  {{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"5 ms\" }},\n");
    }
    text += "]\n";
    for i in 0..3 {
        let start = i + 1;
        text += &format!(
            "[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"10 MB\"\nstart = \"{start} s\"\njitter = \"10 ms\"\n"
        );
    }
    text
}

fn check(row: &Row) {
    let runs = over_seeds(&scenario(row), SEEDS);
    let (afct, jain, last) = (figure(&runs, "afct_s"), figure(&runs, "jain_goodput"), figure(&runs, "fct_max_s"));
    println!(
        "{:36} AFCT {:.2} ± {:.2} (ns-3 {:.2})  Jain {:.3} ({:.3})  last {:.2} ({:.2})  lost {:.0}",
        row.name,
        afct.0,
        afct.1,
        row.afct.0,
        jain.0,
        row.jain.0,
        last.0,
        row.last.0,
        figure(&runs, "lost_packets").0
    );
    assert!((afct.0 / row.afct.0 - 1.0).abs() < row.afct.1, "{}: AFCT {afct:?}, ns-3 {}", row.name, row.afct.0);
    assert!((jain.0 - row.jain.0).abs() < row.jain.1, "{}: Jain {jain:?}, ns-3 {}", row.name, row.jain.0);
    assert!((last.0 / row.last.0 - 1.0).abs() < row.last.1, "{}: last {last:?}, ns-3 {}", row.name, row.last.0);
}

#[test]
#[ignore = "nightly"]
fn newreno_is_where_ns3_is() {
    let rows = [
        Row { name: "SACK, delayed ACK", afct: (22.52, 0.05), jain: (0.990, 0.03), last: (25.07, 0.05), ..PLAIN },
        Row {
            name: "SACK, no delayed ACK",
            params: "growth = \"per-ack\"\ndelayed_ack = 1",
            afct: (22.99, 0.05),
            jain: (1.0, 0.01),
            last: (23.15, 0.05),
            ..PLAIN
        },
        // Held against 3.48 as it is: the repaired one was not run on this row.
        Row {
            name: "SACK, core 1 Gbps",
            core: "1 Gbps",
            afct: (21.59, 0.06),
            jain: (0.979, 0.03),
            last: (23.97, 0.07),
            ..PLAIN
        },
        Row {
            name: "SACK, access 50/100/200 ms",
            access: [50, 100, 200],
            afct: (36.00, 0.03),
            jain: (0.692, 0.01),
            last: (53.32, 0.02),
            ..PLAIN
        },
        Row {
            name: "byte counting (TcpLinuxReno)",
            params: "",
            afct: (23.01, 0.05),
            jain: (0.999, 0.01),
            last: (23.61, 0.03),
            ..PLAIN
        },
        // ns-3 has PRR here, not the window inflation of RFC 6582.
        Row {
            name: "no SACK, delayed ACK",
            params: "growth = \"per-ack\"\nsack = false",
            afct: (23.08, 0.05),
            jain: (0.980, 0.03),
            last: (25.44, 0.06),
            ..PLAIN
        },
        Row {
            name: "no SACK, no delayed ACK",
            params: "growth = \"per-ack\"\nsack = false\ndelayed_ack = 1",
            afct: (25.62, 0.07),
            jain: (0.999, 0.01),
            last: (26.17, 0.05),
            ..PLAIN
        },
        // 7 % lower, and why is not isolated. That ns-3 takes ssthresh from the pipe is not it:
        // with that in ours, AFCT was 21.68.
        Row {
            name: "RFC 6675 (TcpClassicRecovery)",
            params: "growth = \"per-ack\"\nrecovery = \"rfc6675\"",
            afct: (23.58, 0.09),
            jain: (0.992, 0.03),
            last: (25.95, 0.07),
            ..PLAIN
        },
    ];
    rows.iter().for_each(check);
}

#[test]
#[ignore = "nightly"]
fn cubic_is_where_ns3_is() {
    let row = Row {
        name: "CUBIC, SACK, delayed ACK",
        scheme: "cubic",
        params: "hystart = false",
        afct: (21.42, 0.05),
        jain: (0.978, 0.04),
        last: (24.12, 0.05),
        ..PLAIN
    };
    check(&row);
    let even = Row {
        name: "CUBIC, no delayed ACK",
        params: "hystart = false\ndelayed_ack = 1",
        afct: (21.17, 0.05),
        last: (23.26, 0.05),
        ..row
    };
    check(&even);
}

#[test]
fn dctcp_is_where_ns3_is() {
    // ns-3 does not grow in the round after a reduction. With that in ours, AFCT was 21.09 s, 4 %
    // from its 22.03.
    check(&Row {
        name: "DCTCP, K = 20 packets",
        scheme: "dctcp",
        params: "[schemes.dctcp.queue]\nkind = \"step\"\nlimit = \"41 packets\"\nthreshold = \"20 packets\"",
        afct: (22.03, 0.08),
        jain: (0.994, 0.03),
        last: (23.45, 0.05),
        ..PLAIN
    });
}
