//! Routes that follow the network after a failure.

use crate::common::{CARRIERS, cases, port, run_plain, with_scheme};
use midpath_sim::RunOutput;
use proptest::prelude::*;

/// Two ways from `a` to `b`: the short one of 20 Mbps fails at 2 s, and comes back at 6 s; the long
/// one has 5 Mbps.
fn two_ways(routing: &str, flow: &str) -> String {
    format!(
        r#"
stop = "10 s"
[topology]
links = [
    {{ a = "h0", b = "a", rate = "100 Mbps", delay = "1 ms" }},
    {{ a = "a", b = "b", rate = "20 Mbps", delay = "10 ms" }},
    {{ a = "a", b = "c", rate = "5 Mbps", delay = "10 ms" }},
    {{ a = "c", b = "b", rate = "5 Mbps", delay = "10 ms" }},
    {{ a = "b", b = "h1", rate = "100 Mbps", delay = "1 ms" }},
]
[routing]
{routing}
[queue]
limit = "30 kB"
[[flow]]
from = "h0"
to = "h1"
{flow}
[[fault]]
at = "2 s"
kind = "link-down"
link = ["a", "b"]
until = "6 s"
"#
    )
}

fn bits(out: &RunOutput, node: &str, peer: &str) -> f64 {
    out.table("ports").expect("ports").u64("bytes")[port(out, node, peer)] as f64 * 8.0
}

/// 8 Mbps of datagrams: they are lost for the outage, that is until the routes have followed; then
/// the long way carries 5 Mbps; when the link is back, so much later, the short way again.
#[test]
fn the_outage_lasts_until_routes_have_followed() {
    for (delay, ecmp) in [(0.3, "flow"), (0.3, "symmetric"), (0.0, "off"), (1.0, "packet")] {
        let routing = format!("reconverge = \"{delay} s\"\necmp = \"{ecmp}\"");
        let out = run_plain(&two_ways(&routing, "scheme = \"udp\"\nrate = \"8 Mbps\""));
        let (short, long) = (bits(&out, "a", "b"), bits(&out, "a", "c"));
        let packets = 12_000.0;
        assert!((short - 8e6 * (2.0 + 4.0 - delay)).abs() < 6.0 * packets, "{delay}: {short}");
        // What waits in the queue of 20 packets at the end is sent still.
        let waits = 20.0 * packets;
        assert!((long - 5e6 * 4.0 - waits).abs() < 6.0 * packets, "{delay}: {long}");
        let lost = out.summary("lost_packets").expect("counted") * packets;
        let expected = 8e6 * delay + (3e6 * 4.0 - waits);
        assert!((lost - expected).abs() < 12.0 * packets, "{delay}: {lost} lost, not {expected}");
        let at: Vec<f64> =
            out.run["rerouting"]["at_s"].as_array().expect("said").iter().filter_map(|t| t.as_f64()).collect();
        assert_eq!(at, [2.0 + delay, 6.0 + delay]);
        assert_eq!(
            (out.run["rerouting"]["no_route"].as_u64(), out.run["rerouting"]["out_of_hops"].as_u64()),
            (Some(0), Some(0))
        );
    }
}

#[test]
fn routes_stay_as_they_are_unless_asked() {
    let out = run_plain(&two_ways("", "scheme = \"udp\"\nrate = \"8 Mbps\""));
    assert_eq!((bits(&out, "a", "c"), out.run.get("rerouting")), (0.0, None));
}

#[test]
fn what_has_no_way_is_dropped_and_counted() {
    let text = two_ways("reconverge = \"100 ms\"", "scheme = \"udp\"\nrate = \"8 Mbps\"");
    let alone = text.replace("{ a = \"a\", b = \"c\", rate = \"5 Mbps\", delay = \"10 ms\" },", "");
    let out = run_plain(&alone);
    // From 2.1 s to 6.1 s, 667 packets a second.
    let none = out.run["rerouting"]["no_route"].as_f64().expect("counted");
    assert!((none - 8e6 * 4.0 / 12_000.0).abs() < 6.0, "{none}");
    assert!(out.run["warnings"].to_string().contains("had no route to their destination"), "{}", out.run["warnings"]);
}

#[test]
fn the_ideal_says_that_it_does_not_follow() {
    let out = with_scheme(&two_ways("reconverge = \"100 ms\"", "size = \"1 MB\""), "ideal", 1);
    assert!(out.run["warnings"].to_string().contains("it ignores"), "{}", out.run["warnings"]);
}

/// A link in the middle of a mesh fails for good in the middle of all flows.
#[test]
fn flows_of_every_scheme_survive_and_threads_agree() {
    for &scheme in CARRIERS.iter() {
        // TIMELY's slowest rate takes a thousand round trips to fill a link (its paper's ratios), here 24 s. Swift's
        // target is made of the shortest round trip, that of the route before.
        let stop = if ["timely", "swift"].contains(&scheme) { "60 s" } else { "8 s" };
        for ecmp in ["flow", "symmetric"] {
            let text = format!(
                r#"
stop = "{stop}"
[topology]
generate = "ring"
n = 5
link = {{ rate = "10 Mbps", delay = "12 ms" }}
[routing]
ecmp = "{ecmp}"
reconverge = "150 ms"
[queue]
limit = "60 kB"
[[workload]]
matrix = {{ kind = "random" }}
sizes = {{ kind = "fixed", size = "150 kB" }}
arrivals = {{ kind = "poisson", rate_per_s = 20.0 }}
flows = 16
[[fault]]
at = "400 ms"
kind = "link-down"
link = ["r0", "r1"]
"#
            );
            let one = with_scheme(&text, scheme, 1);
            // Datagrams are not repeated.
            if !["udp", "gcc", "scream", "fixed-window"].contains(&scheme) {
                assert_eq!(one.summary("completed"), Some(16.0), "{scheme} with ecmp = {ecmp}");
            }
            assert_eq!(one.run["rerouting"]["out_of_hops"], 0, "{scheme}");
            for threads in [2, 3] {
                assert_eq!(one.repeatable(), with_scheme(&text, scheme, threads).repeatable(), "{scheme} on {threads}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]
    /// Whatever fails: no packet goes in circles, before, during and after; and threads agree.
    #[test]
    fn no_packet_goes_in_circles(
        n in 4usize..9, seed in 0u64..1000, faults in prop::collection::vec((any::<prop::sample::Index>(), 0u64..800, 1u64..500), 1..5),
        ecmp in 0usize..4, metric in 0usize..3, delay_ms in 0u64..200,
    ) {
        let ecmp = ["flow", "symmetric", "packet", "off"][ecmp];
        let metric = ["hops", "weight", "delay"][metric];
        let faults: String = faults
            .into_iter()
            .map(|(link, at, lasts)| {
                let a = link.index(n);
                format!("[[fault]]\nat = \"{at} ms\"\nkind = \"link-down\"\nlink = [\"r{a}\", \"r{}\"]\nuntil = \"{} ms\"\n", (a + 1) % n, at + lasts)
            })
            .collect();
        let text = format!(
            "seed = {seed}\nstop = \"1500 ms\"\n[topology]\ngenerate = \"ring\"\nn = {n}\nlink = {{ rate = \"20 Mbps\", delay = \"8 ms\" }}\n\
             [routing]\necmp = \"{ecmp}\"\nmetric = \"{metric}\"\nreconverge = \"{delay_ms} ms\"\n\
             [[workload]]\nmatrix = {{ kind = \"random\" }}\nsizes = {{ kind = \"fixed\", size = \"50 kB\" }}\n\
             arrivals = {{ kind = \"poisson\", rate_per_s = 40.0 }}\nflows = 30\n{faults}"
        );
        let one = with_scheme(&text, "cubic", 1);
        prop_assert_eq!(one.run["rerouting"]["out_of_hops"].as_u64(), Some(0));
        for threads in [2, 3] {
            prop_assert_eq!(one.repeatable(), with_scheme(&text, "cubic", threads).repeatable());
        }
    }
}
