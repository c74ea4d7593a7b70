//! NDN with a window at the consumer, over plain queues: the baseline beside MIRCC.

use crate::common::icn::{data, flow, near, no_data_dropped, scenario, topology};
use crate::common::run_plain;

/// Bytes of headers on Data: 20 IP, 20 names.
const HEADERS: f64 = 40.0;
const CODEL: &str = "[queue]\nkind = \"codel\"\nlimit = \"200 packets\"\n";

/// Two consumers over one link of 10 Mbps, 40 ms.
fn bottleneck() -> String {
    topology(&[("r0", "r1", 10.0, 15.0), ("c0", "r0", 100.0, 2.0), ("c1", "r0", 100.0, 2.0), ("p", "r1", 100.0, 3.0)])
}

/// They share the link about evenly and fill it, whether the queue marks or drops.
#[test]
fn windows_fill_the_link_and_share_it() {
    for (window, queue, least) in [("aimd", CODEL, 0.8), ("cubic", CODEL, 0.85), ("aimd", "", 0.9), ("cubic", "", 0.9)]
    {
        let flows = flow("p", "c0", "") + &flow("p", "c1", "start = \"1 s\"");
        let text = scenario("ndn", 60, &format!("window = \"{window}\""), &(queue.to_owned() + &bottleneck() + &flows));
        let out = run_plain(&text);
        let (one, two) = (data(&out, 0, HEADERS, 20.0, 60.0), data(&out, 1, HEADERS, 20.0, 60.0));
        assert!((10.0 * least..=10.0).contains(&(one + two)), "{window}: {one} + {two}");
        assert!((0.4..2.5).contains(&(one / two)), "{window}: {one} beside {two}");
        let drops: u64 = out.table("ports").expect("there").u64("drops_queue").iter().sum();
        assert_eq!(drops > 0, queue.is_empty(), "{window}: {drops} dropped");
    }
}

/// Data with marks: the window follows them, and nothing is lost or asked for twice.
#[test]
fn marks_take_the_place_of_drops() {
    let out =
        run_plain(&scenario("ndn", 30, "", &(CODEL.to_owned() + &bottleneck() + &flow("p", "c0", "size = \"20 MB\""))));
    assert_eq!(out.summary("completed"), Some(1.0));
    assert_eq!(out.table("flows").expect("there").u64("retransmitted_packets"), [0]);
    assert!(out.table("ports").expect("there").u64("marks").iter().sum::<u64>() > 10);
    no_data_dropped(&out);
    // Without marks the same queue drops, and what was dropped is asked for again.
    let text = scenario(
        "ndn",
        60,
        "marks = false",
        &(CODEL.to_owned() + &bottleneck() + &flow("p", "c0", "size = \"20 MB\"")),
    );
    let out = run_plain(&text);
    assert_eq!(out.summary("completed"), Some(1.0));
    assert!(out.table("flows").expect("there").u64("retransmitted_packets")[0] > 0);
}

/// An outage, a restart and a link that loses 1 %: every object is fetched.
#[test]
fn every_object_is_fetched_through_trouble() {
    let links = bottleneck().replace("delay = \"15 ms\"", "delay = \"15 ms\", corruption = \"1 %\"");
    let faults = "[[fault]]\nat = \"2 s\"\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nuntil = \"4 s\"\n\
                  [[fault]]\nat = \"6 s\"\nkind = \"restart\"\nnode = \"r0\"\n";
    for window in ["aimd", "cubic"] {
        let flows = flow("p", "c0", "size = \"3 MB\"") + &flow("p", "c1", "size = \"5 MB\"\nstart = \"1 s\"");
        let text = scenario("ndn", 120, &format!("window = \"{window}\""), &(links.clone() + &flows + faults));
        let out = run_plain(&text);
        assert_eq!(out.summary("completed"), Some(2.0), "{window}");
        assert_eq!(out.table("flows").expect("there").u64("delivered_bytes"), [3_000_000, 5_000_000]);
    }
}

/// Two consumers of one object: with a content store Data cross the shared link once, whoever is
/// ahead.
#[test]
fn consumers_of_one_object_share_its_data() {
    for window in ["aimd", "cubic"] {
        let one = "object = \"film\"\nsize = \"5 MB\"";
        let flows = flow("p", "c0", one) + &flow("p", "c1", one);
        let params = format!("window = \"{window}\"\nstore = \"10 MB\"");
        let out = run_plain(&scenario("ndn", 60, &params, &(CODEL.to_owned() + &bottleneck() + &flows)));
        assert_eq!(out.summary("completed"), Some(2.0));
        let crossed = crate::common::icn::bytes(&out, "r1", "r0") as f64;
        near("bytes on the shared link", crossed, 5e6 * 1500.0 / 1460.0, 0.02);
    }
}

/// Round trips far above the first timeout of 200 ms, and above what forwarders keep an Interest for. By Karn's
/// rule alone all would be asked for twice for ever. Each consumer has a round trip that is sure after two, is
/// late for nothing later, and ends as soon as one that never was late.
#[test]
fn a_first_timeout_below_the_round_trip_is_recovered_from() {
    for scheme in ["ndn", "mircc"] {
        for ms in [210.0, 700.0, 3_000.0, 10_000.0] {
            let links = topology(&[("p", "r0", 10.0, ms / 4.0), ("r0", "c", 10.0, ms / 4.0)]);
            let text = |least, stop: f64| {
                scenario(
                    scheme,
                    200,
                    &format!("min_rto = \"{least}\""),
                    &(links.clone() + &flow("p", "c", "size = \"100 kB\"")),
                )
                .replace("stop = \"200 s\"", &format!("stop = \"{stop} s\""))
            };
            let early = run_plain(&text("200 ms", 3.2 * ms / 1e3));
            let sure = early.table("flows").expect("there").f64("rtt_min_s")[0];
            assert!((ms / 1e3..1.1 * ms / 1e3).contains(&sure), "{scheme}, {ms} ms: {sure}");
            let [whole, patient] = ["200 ms", "60 s"].map(|least| run_plain(&text(least, 200.0)));
            let [end, last] = [&whole, &patient].map(|out| out.table("flows").expect("there").f64("fct_s")[0]);
            assert!(end <= last + 3.0 * ms / 1e3, "{scheme}, {ms} ms: {end} for {last}");
            let [before, all] = [&early, &whole].map(|out| out.table("flows").expect("there").u64("timeouts")[0]);
            assert!(all <= before + 1, "{scheme}, {ms} ms: {before} of {all}");
        }
    }
}

/// A host that has no route for a while is told so by itself, at once: it asks again after a timeout, not without end.
#[test]
fn a_consumer_without_a_route_waits() {
    let outage = "[routing]\nreconverge = \"50 ms\"\n[[fault]]\nat = \"1 s\"\nkind = \"link-down\"\nlink = [\"c0\", \"r0\"]\nuntil = \"1500 ms\"\n";
    let took = |more: &str| {
        let rest = more.to_owned() + &bottleneck() + &flow("p", "c0", "size = \"5 MB\"");
        let out = run_plain(&scenario("ndn", 60, "", &rest));
        assert_eq!(out.summary("completed"), Some(1.0));
        out.table("flows").expect("there").f64("fct_s")[0]
    };
    // The outage, and a timeout of a second before and after it.
    assert!(took(outage) < took("") + 2.5);
}
