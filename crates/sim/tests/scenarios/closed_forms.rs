//! The engine against closed forms: numbers that queueing theory and arithmetic give without any
//! simulator.

use crate::common::{over_seeds, port, run_plain};

/// One router, Poisson arrivals of single packets on one output: the queue is M/D/1.
fn md1(load: f64) -> String {
    // 1500-byte packets at 12 Mbps take 1 ms; the wide access links (10 Gbps) keep arrivals Poisson
    // to within 1.2 µs.
    format!(
        r#"
stop = "100 s"
[topology]
nodes = [{{ name = "a" }}, {{ name = "b" }}]
links = [
  {{ a = "a", b = "r", rate = "10 Gbps", delay = "1 ms" }},
  {{ a = "r", b = "b", rate = "12 Mbps", delay = "1 ms" }},
]
[queue]
limit = "10000 packets"
[[workload]]
scheme = "udp"
arrivals = {{ kind = "poisson", rate_per_s = {} }}
sizes = {{ kind = "fixed", size = "1472 B" }}
matrix = {{ kind = "pairs", pairs = [["a", "b"]] }}
"#,
        1000.0 * load
    )
}

#[test]
#[ignore = "nightly"]
fn mean_wait_is_that_of_m_d_1() {
    // Pollaczek–Khinchine for constant service D: W = ρ D / (2 (1 − ρ)).
    for load in [0.3, 0.6, 0.8] {
        let runs = over_seeds(&md1(load), 4);
        let waits = runs.iter().map(|r| r.table("ports").unwrap().f64("delay_mean_s")[port(r, "r", "b")]);
        let mean = waits.sum::<f64>() / 4.0;
        let service = 1500.0 * 8.0 / 12e6;
        let rho = 1000.0 * load * service;
        let exact = rho * service / (2.0 * (1.0 - rho));
        assert!((mean / exact - 1.0).abs() < 0.03, "load {load}: {mean} against {exact}");
    }
}

#[test]
fn a_paced_flow_takes_exactly_what_arithmetic_says() {
    // 1,000 datagrams every 1,500·8/5 Mbps = 2.4 ms over three links; the last one leaves after 999
    // gaps and is stored and forwarded three times.
    let out = run_plain(
        r#"
[topology]
generate = "chain"
n = 2
link = { rate = "10 Mbps", delay = "3 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[[flow]]
from = "s0"
to = "d0"
scheme = "udp"
size = "1472 kB"
rate = "5 Mbps"
"#,
    );
    let packet: f64 = 1500.0 * 8.0;
    let exact = 999.0 * packet / 5e6 + packet * (2.0 / 100e6 + 1.0 / 10e6) + 0.005;
    let fct = out.table("flows").unwrap().f64("fct_s")[0];
    assert!((fct - exact).abs() < 2e-9, "{fct} against {exact}");
}

#[test]
fn a_saturated_link_carries_its_rate_and_no_more() {
    let out = run_plain(
        r#"
stop = "10 s"
[topology]
generate = "chain"
n = 2
link = { rate = "10 Mbps", delay = "3 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[[flow]]
from = "s0"
to = "d0"
scheme = "udp"
rate = "20 Mbps"
"#,
    );
    let ports = out.table("ports").unwrap();
    let row = port(&out, "r0", "r1");
    let used = ports.f64("utilisation")[row];
    // All but the 1 ms before the first packet.
    assert!((0.999..=1.0).contains(&used), "{used}");
    // 50 ms of 10 Mbps are 62,500 bytes: 41 packets of 1,500 bytes fit.
    assert_eq!(ports.u64("queue_max_bytes")[row], 41 * 1500);
}
