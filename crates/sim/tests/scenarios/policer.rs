//! Policers: a token bucket that drops what exceeds a rate and a burst. Bounds were fixed before the first run.

use proptest::prelude::*;

use crate::common::{cases, port, run_plain, same_with_threads_and_as_bytes};

/// Datagrams of 1,250 B from `s` over a link of 10 Gbps to a router that polices what leaves it.
fn text(policer: &str, flow: &str, stop_s: f64) -> String {
    format!(
        "scheme = \"udp\"\nstop = \"{stop_s} s\"\n[queues.policed]\nkind = \"policer\"\n{policer}\nlimit = \"100 MB\"\n\
         [host_queue]\nlimit = \"100 MB\"\n[topology]\nlinks = [\
         {{ a = \"s\", b = \"r\", rate = \"10 Gbps\", delay = \"1 ms\" }}, \
         {{ a = \"r\", b = \"d\", rate = \"1 Gbps\", delay = \"1 ms\", queue = \"policed\" }}]\n\
         [[flow]]\nfrom = \"s\"\nto = \"d\"\n{flow}\n[schemes.udp]\npacket = \"1250 B\"\n"
    )
}

/// Of 40 datagrams at once the bucket's 16 pass; 80 ms fill it again, 40 ms half of it.
#[test]
fn a_burst_is_as_large_as_the_bucket_exactly() {
    for (interval_ms, passed) in [(80, [16, 32, 48]), (1000, [16, 32, 48]), (40, [16, 24, 32])] {
        for (i, expected) in passed.iter().enumerate() {
            let flow = format!("write = \"{} B\"\ninterval = \"{interval_ms} ms\"", 40 * 1222);
            let stop = 0.02 + 0.001 * f64::from(interval_ms) * i as f64;
            let out = run_plain(&text("rate = \"2 Mbps\"\nburst = \"20 kB\"", &flow, stop));
            let received = out.table("datagrams").unwrap().u64("received_packets")[0];
            assert_eq!(received, *expected, "{} bursts {interval_ms} ms apart", i + 1);
            let dropped = out.table("ports").unwrap().u64("drops_policy")[port(&out, "r", "d")];
            assert_eq!(dropped, 40 * (i as u64 + 1) - expected);
        }
    }
}

/// What passes in `seconds`, datagram by datagram, in whole bits and picoseconds.
fn counted(rate: u64, burst: u64, gap_ps: u64, seconds: f64) -> u64 {
    let (most, need) = (u128::from(burst) * 8_000_000_000_000, 1250 * 8_000_000_000_000u128);
    let (mut tokens, mut passed) = (most, 0);
    for _ in 0..(seconds * 1e12 / gap_ps as f64) as u64 {
        if tokens >= need {
            (tokens, passed) = (tokens - need, passed + 1);
        }
        tokens = (tokens + u128::from(gap_ps) * u128::from(rate)).min(most);
    }
    passed
}

proptest! {
    #![proptest_config(cases(24))]

    /// Whatever is offered above its rate, what passes is the burst and the rate, within 2 %, and to the packet what a
    /// recount of the bucket says.
    #[test]
    fn what_passes_is_the_rate(kbps in 300u64..200_000, over in 1.2..6.0f64, packets in 2u64..200) {
        let gap_ps = (1250.0 * 8e12 / (kbps as f64 * 1e3 * over)) as u64;
        let seconds = (20_000.0 * gap_ps as f64 / 1e12).max(0.05);
        let flow = format!("write = \"1222 B\"\ninterval = \"{gap_ps} ps\"");
        let policer = format!("rate = \"{kbps} kbps\"\nburst = \"{} B\"", packets * 1250);
        let out = run_plain(&text(&policer, &flow, seconds));
        let passed = out.table("ports").unwrap().u64("packets")[port(&out, "r", "d")];
        // What is on its way to the router at the end takes a millisecond and 1 us.
        let expected = counted(kbps * 1000, packets * 1250, gap_ps, seconds - 0.001_001);
        prop_assert!(passed.abs_diff(expected) <= 1, "{} and not {}", passed, expected);
        let of_rate = packets as f64 + kbps as f64 * 1e3 * (seconds - 0.001) / 1e4;
        prop_assert!((passed as f64 / of_rate - 1.0).abs() <= 0.02, "{} of {}", passed, of_rate);
    }
}

#[test]
fn a_policed_run_is_the_same_on_any_number_of_threads() {
    for scheme in ["cubic", "bbr", "mptcp"] {
        let flow = format!("scheme = \"{scheme}\"\nsize = \"2 MB\"\ncount = 2");
        let of = |scheme: &str| {
            text("rate = \"20 Mbps\"\nburst = \"30 ms\"", &flow, 3.0)
                .replace("\"udp\"\nstop", &format!("\"{scheme}\"\nstop"))
        };
        let out = same_with_threads_and_as_bytes(&of(scheme), 3);
        let (row, ports) = (port(&out, "r", "d"), out.table("ports").unwrap());
        let bits = 8.0 * ports.u64("bytes")[row] as f64;
        assert!(bits <= 20e6 * (3.0 + 0.03), "{scheme}: {bits}");
        assert!(ports.u64("drops_policy")[row] > 0, "{scheme}: else this tests nothing");
    }
}
