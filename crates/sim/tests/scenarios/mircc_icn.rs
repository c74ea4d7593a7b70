//! MIRCC's network by names: FIBs with longer paths, what steers, and links that go down.

use crate::common::icn::{
    ETA, asked, bytes, data, flow, hardly_any_dropped, mean, near, no_data_dropped, scenario, slingshot, topology,
};
use crate::common::run_plain;
use midpath_sim::{RunOptions, run_text};

/// Bytes of headers on Data by what steers: 20 IP, 20 names, and MIRCC's.
const STEERINGS: [(&str, f64); 3] = [("shortcut", 72.0), ("bloom-filter", 104.0), ("random-value", 80.0)];

/// A ring of five routers of 10 Mbps; the producer is at r1, so that ways from r0 are of 1 and of 4
/// links.
fn ring() -> String {
    topology(&[
        ("r0", "r1", 10.0, 3.0),
        ("r1", "r2", 10.0, 3.0),
        ("r2", "r3", 10.0, 3.0),
        ("r3", "r4", 10.0, 3.0),
        ("r4", "r0", 10.0, 3.0),
        ("c", "r0", 100.0, 1.0),
        ("p", "r1", 100.0, 1.0),
    ])
}

/// With a stretch of 2 the way of six links counts beside that of three: 5 + 5 primary, 5 + 5
/// secondary.
#[test]
fn paths_may_be_longer_than_the_shortest_by_the_stretch() {
    for (stretch, paths, mbps) in [(1.0, 1.0, 10.0), (1.9, 1.0, 10.0), (2.0, 2.0, 20.0)] {
        let text = scenario("mircc", 30, &format!("stretch = {stretch}"), &(ring() + &flow("p", "c", "")));
        let out = run_plain(&text);
        near("paths", mean(&out, "flow:0", "paths", 10.0, 30.0), paths, 0.0);
        near("Data", data(&out, 0, 72.0, 10.0, 30.0), mbps * ETA, 0.05);
        near("primary", asked(&out, 0, "primary", 10.0, 30.0), 10.0 * ETA, 0.05);
        no_data_dropped(&out);
    }
}

/// A grid of 4 × 4 routers has many circles: draws that go round are found, and every object is
/// fetched without a drop.
#[test]
fn a_network_full_of_circles_loses_hardly_anything() {
    let name = |x: usize, y: usize| format!("r{x}{y}");
    let (mut links, mut flows) = (Vec::new(), String::new());
    for x in 0..4 {
        for y in 0..4 {
            links.extend((x < 3).then(|| (name(x, y), name(x + 1, y), 10.0, 2.0)));
            links.extend((y < 3).then(|| (name(x, y), name(x, y + 1), 10.0, 2.0)));
        }
    }
    for (i, (from, to)) in [("00", "33"), ("30", "03"), ("11", "12"), ("21", "22")].into_iter().enumerate() {
        links.push((format!("p{i}"), format!("r{from}"), 100.0, 1.0));
        links.push((format!("c{i}"), format!("r{to}"), 100.0, 1.0));
        flows += &flow(&format!("p{i}"), &format!("c{i}"), "size = \"4 MB\"");
    }
    let borrowed: Vec<_> = links.iter().map(|(a, b, rate, delay)| (a.as_str(), b.as_str(), *rate, *delay)).collect();
    for (steering, _) in STEERINGS {
        let params = format!("stretch = 3.0\nsteering = \"{steering}\"");
        let out = run_plain(&scenario("mircc", 60, &params, &(topology(&borrowed) + &flows)));
        assert_eq!(out.summary("completed"), Some(4.0), "{steering}");
        hardly_any_dropped(&out);
    }
}

/// The short way is down from 5 to 8 s. Forwarders go round it at once; those that wait leave it to
/// the consumer to find that its path is gone.
#[test]
fn forwarders_go_round_a_link_that_is_down() {
    let fault = "[[fault]]\nat = \"5 s\"\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nuntil = \"8 s\"\n";
    let run = |outage: &str| {
        let params = format!("stretch = 2.0\noutage = \"{outage}\"");
        let out = run_plain(&scenario("mircc", 20, &params, &(ring() + &flow("p", "c", "") + fault)));
        assert_eq!(out.run["invariants"]["conserved"], true);
        near("after", data(&out, 0, 72.0, 15.0, 20.0), 20.0 * ETA, 0.05);
        data(&out, 0, 72.0, 5.5, 8.0)
    };
    let (wait, around) = (run("wait"), run("around"));
    // 10 Mbps are left; primary and secondary Interests that were on the short way go into it as
    // well, and are refused there.
    near("around", around, 10.0 * ETA, 0.1);
    // But for a packet in 2.5 s (the bound was none): both are what is left of the network.
    assert!(around + 0.005 >= wait, "{around} is less than {wait}");
}

/// §4.3.2: all three lead to the same rates on figure 6, whose numbers `mircc.rs` has from the
/// paper.
#[test]
#[ignore = "nightly"]
fn whatever_steers_figure_6_is_the_same() {
    for (steering, headers) in STEERINGS {
        let text = scenario("mircc", 90, &format!("steering = \"{steering}\""), &slingshot("e3"));
        let out = run_plain(&text);
        for (from, to) in [(10.0, 20.0), (80.0, 90.0)] {
            near(steering, asked(&out, 0, "primary", from, to), 12.0 * ETA, 0.05);
            near(steering, asked(&out, 0, "secondary", from, to), 3.0 * ETA, 0.05);
            near(steering, data(&out, 0, headers, from, to), 15.0 * ETA, 0.05);
        }
        let (one, two) = (data(&out, 0, headers, 40.0, 60.0), data(&out, 1, headers, 40.0, 60.0));
        near(steering, one + two, 15.0 * ETA, 0.05);
        near(steering, one / two, 1.721, 0.05);
        no_data_dropped(&out);
    }
}

/// Sixteen diamonds of four ways in a row: 16 split points, where one wrong next hop in 700 is in
/// the filter. By the closed form 1 − (1 − 3 fp/2)¹⁶ of the steered Interests go astray at the
/// first of them that hits. A path either has such a hit or has none, and which paths carry most is
/// not known: a quarter of it was measured by the text's secondary class, so it is taken for an upper bound. Ours finds
/// more paths, and single draws are on both sides of it: their mean is not.
#[test]
#[ignore = "nightly"]
fn no_more_interests_go_astray_than_the_filters_closed_form_says() {
    let (mut links, mut flows) = (Vec::new(), String::new());
    for i in 0..16 {
        for way in 0..4 {
            links.push((format!("s{i}"), format!("w{i}x{way}"), 40.0, 0.1));
            links.push((format!("w{i}x{way}"), format!("s{}", i + 1), 40.0, 0.1));
        }
    }
    for i in 0..16 {
        links.extend([(format!("c{i}"), "s0".into(), 100.0, 0.1), (format!("p{i}"), "s16".into(), 100.0, 0.1)]);
        flows += &flow(&format!("p{i}"), &format!("c{i}"), "");
    }
    let borrowed: Vec<_> = links.iter().map(|(a, b, rate, delay)| (a.as_str(), b.as_str(), *rate, *delay)).collect();
    let net = topology(&borrowed) + &flows;
    let astray = |steering: &str, headers: f64, packets: u64, seed: u64| {
        let params = format!("steering = \"{steering}\"\nhintless = 0.03\nsecondary_packets = {packets}");
        let out = run_plain(&format!("seed = {seed}\n{}", scenario("mircc", 3, &params, &net)));
        let last = |flow: usize, metric: &str| mean(&out, &format!("flow:{flow}"), metric, 2.5, 3.0);
        let strayed: f64 = (0..16).map(|flow| last(flow, "strayed")).sum();
        let delivered = out.table("flows").expect("there").u64("delivered_bytes").iter().sum::<u64>();
        strayed / (0.97 * delivered as f64 / (1500.0 - headers))
    };
    // (1 − (1 − 1/256)⁸⁰)⁵ = 0.0014.
    let empty = (1.0f64 - 1.0 / 256.0).powi(80);
    let expected = 1.0 - (1.0 - 1.5 * (1.0 - empty).powi(5)).powi(16);
    for (packets, seeds) in [(0, 1), (10, 4)] {
        let measured = (1..=seeds).map(|seed| astray("bloom-filter", 104.0, packets, seed)).sum::<f64>() / seeds as f64;
        println!("astray: {measured:.4}, closed form {expected:.4}");
        assert!(measured > 0.0 && measured <= expected, "{measured} of {expected}");
        assert_eq!(astray("random-value", 80.0, packets, 1), 0.0);
    }
}

/// A link of 0.3 Mbps behind one of 1000, and one beside it: for a flow of 2 Mbps the latter is drawn by bandwidth once
/// in twenty minutes.
#[test]
fn a_thin_link_is_found_beside_a_wide_one() {
    let net = topology(&[
        ("r0", "r1", 1000.0, 1.0),
        ("r1", "r3", 0.3, 1.0),
        ("r0", "r2", 0.3, 2.0),
        ("r2", "r3", 100.0, 2.0),
        ("r0", "r4", 1000.0, 3.0),
        ("r4", "r3", 2.0, 3.0),
        ("c", "r0", 200.0, 1.0),
        ("p", "r3", 200.0, 1.0),
    ]);
    let found = |params: &str| {
        let out = run_plain(&scenario(
            "mircc",
            40,
            &format!("secondary_packets = 10\n{params}"),
            &(net.clone() + &flow("p", "c", "")),
        ));
        no_data_dropped(&out);
        let share = |router| bytes(&out, "r3", router) as f64 * 8.0 / 40.0 / 0.3e6;
        (mean(&out, "flow:0", "paths", 10.0, 40.0), share("r1"), share("r2"))
    };
    let (paths, behind, beside) = found("");
    assert!(paths == 3.0 && behind > 0.8 && beside > 0.8, "{paths} {behind} {beside}");
    let (paths, ..) = found("without = [\"explore\"]");
    assert!(paths < 3.0, "{paths}");
}

#[test]
fn what_has_no_effect_is_refused() {
    let error = |params: &str| {
        let text = scenario("mircc", 1, params, &(ring() + &flow("p", "c", "")));
        run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true).unwrap_err().to_string()
    };
    assert!(error("stretch = 0.5").contains("stretch"));
    assert!(error("paths = \"one\"\nstretch = 2").contains("stretch"));
    assert!(error("paths = \"one\"\nsteering = \"bloom-filter\"").contains("steering"));
    assert!(error("steering = \"bloom\"").contains("bloom-filter"));
}

/// A tree: two consumers behind r0, one link to the producer.
fn tree() -> String {
    topology(&[("r0", "r1", 10.0, 10.0), ("c0", "r0", 100.0, 2.0), ("c1", "r0", 100.0, 7.0), ("p", "r1", 100.0, 3.0)])
}

const FILM: &str = "object = \"film\"\nsize = \"5 MB\"";

/// Two consumers of one object at the same time: their Interests are aggregated, and Data cross the
/// shared link once. Of objects of their own they cross it twice.
#[test]
fn data_of_a_shared_object_cross_a_link_once() {
    let wire = 5e6 * 1500.0 / 1428.0;
    for (more, times) in [(FILM, 1.0), ("size = \"5 MB\"", 2.0)] {
        let out = run_plain(&scenario("mircc", 60, "", &(tree() + &flow("p", "c0", more) + &flow("p", "c1", more))));
        assert_eq!(out.summary("completed"), Some(2.0));
        assert_eq!(out.table("flows").expect("there").u64("delivered_bytes"), [5_000_000; 2]);
        near(more, bytes(&out, "r1", "r0") as f64, times * wire, 0.02);
        no_data_dropped(&out);
    }
}

/// The second asks when the first is done: the content store of r0 answers, as far as it reaches.
#[test]
fn a_content_store_answers_who_comes_later() {
    let wire = 5e6 * 1500.0 / 1428.0;
    let later = format!("{FILM}\nstart = \"10 s\"");
    let flows = flow("p", "c0", FILM) + &flow("p", "c1", &later);
    for (store, times) in [("0 B", 2.0), ("10 MB", 1.0)] {
        let out = run_plain(&scenario("mircc", 60, &format!("store = \"{store}\""), &(tree() + &flows)));
        assert_eq!(out.summary("completed"), Some(2.0));
        near(store, bytes(&out, "r1", "r0") as f64, times * wire, 0.02);
        no_data_dropped(&out);
    }
}

/// A consumer that catches up with another, and then asks for what the store has not: that goes on to the slow link,
/// at the store's fast rate without a bound. More than half of the Interests went twice.
#[test]
fn what_a_store_lacks_is_asked_for_at_the_rate_of_where_it_is() {
    for start in ["300 ms", "1 s", "3 s"] {
        let flows = flow("p", "c0", FILM) + &flow("p", "c1", &format!("{FILM}\nstart = \"{start}\""));
        let out = run_plain(&scenario("mircc", 60, "store = \"10 MB\"", &(tree() + &flows)));
        assert_eq!(out.summary("completed"), Some(2.0));
        let [sent, again] = ["sent_packets", "retransmitted_packets"]
            .map(|name| out.table("flows").expect("there").u64(name).iter().sum::<u64>());
        assert!(again * 100 <= 12 * sent, "{start}: {again} of {sent} twice");
    }
}

/// §3.1: Data begin with MaxRate, so no flow is told more.
#[test]
fn no_rate_is_above_the_producers() {
    let net = topology(&[("c", "r0", 10.0, 1.0), ("p", "r0", 10.0, 1.0)]);
    let rest = net + &flow("p", "c", "");
    let out = run_plain(&scenario("mircc", 20, "largest_rate = \"1 Mbps\"", &rest));
    near("both classes", data(&out, 0, 72.0, 5.0, 20.0), 1.0, 0.05);
    let out = run_plain(&scenario("mircc", 20, "largest_rate = \"1 Mbps\"\nwithout = [\"split\"]", &rest));
    near("each class, by the text", data(&out, 0, 72.0, 5.0, 20.0), 2.0, 0.05);
}

/// §3.1.1: the averages of what has come take a manifest's place. Objects end in short Data, so they are not what one
/// would say; rates are the same where most Data are full.
#[test]
fn the_inflation_factor_is_what_has_come() {
    let net = tree();
    let long = flow("p", "c0", "size = \"3 MB\"") + &flow("p", "c1", "size = \"3 MB\"\nstart = \"1 s\"");
    let short: String = (0..40)
        .map(|i| flow("p", &format!("c{}", i % 2), &format!("size = \"2000 B\"\nstart = \"{} ms\"", 20 * i)))
        .collect();
    let times = |inflation: &str, flows: &str| {
        let params = format!("inflation = \"{inflation}\"");
        let out = run_plain(&scenario("mircc", 60, &params, &(net.clone() + flows)));
        no_data_dropped(&out);
        out.table("flows").expect("there").f64("fct_s").to_vec()
    };
    let [told, average] = ["told", "average"].map(|inflation| times(inflation, &long));
    told.iter().zip(&average).for_each(|(told, average)| near("long", *average, *told, 0.02));
    assert_ne!(times("told", &(long.clone() + &short)), times("average", &(long.clone() + &short)));
}

/// An object at two producers: with a stretch both are used, 10 Mbps from each; without, the nearer
/// one.
#[test]
fn an_object_is_fetched_from_all_who_have_it() {
    let net = topology(&[
        ("r0", "a", 10.0, 3.0),
        ("r0", "b", 10.0, 3.0),
        ("b", "b2", 100.0, 1.0),
        ("c", "r0", 100.0, 1.0),
        ("p1", "a", 100.0, 1.0),
        ("p2", "b2", 100.0, 1.0),
    ]);
    let one = net + &flow("p1", "c", "replicas = [\"p2\"]");
    for (stretch, mbps) in [(1.0, 10.0), (1.5, 20.0)] {
        let out = run_plain(&scenario("mircc", 30, &format!("stretch = {stretch}"), &one));
        near("Data", data(&out, 0, 72.0, 10.0, 30.0), mbps * ETA, 0.05);
        no_data_dropped(&out);
    }
    // Flows of one object: who sends has it. Each consumer goes to the nearer producer.
    let two = topology(&[
        ("r0", "r1", 10.0, 3.0),
        ("c1", "r0", 20.0, 1.0),
        ("p1", "r1", 20.0, 1.0),
        ("c2", "r0", 20.0, 1.0),
        ("p2", "r0", 20.0, 1.0),
    ]);
    let flows = flow("p1", "c1", FILM) + &flow("p2", "c2", FILM);
    let out = run_plain(&scenario("mircc", 60, "", &(two + &flows)));
    assert_eq!(out.summary("completed"), Some(2.0));
    assert!(bytes(&out, "r1", "r0") < 10_000, "nothing has to come from p1");
}

#[test]
fn objects_that_contradict_each_other_are_refused() {
    let error = |flows: String| {
        let text = scenario("mircc", 1, "", &(tree() + &flows));
        run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true).unwrap_err().to_string()
    };
    let sizes = error(flow("p", "c0", FILM) + &flow("p", "c1", "object = \"film\"\nsize = \"6 MB\""));
    assert!(sizes.contains("film") && sizes.contains("6 MB"), "{sizes}");
    let own = error(flow("p", "c0", FILM) + &flow("c0", "c1", FILM));
    assert!(own.contains("c0"), "{own}");
    let replica = error(flow("p", "c0", "replicas = [\"nowhere\"]"));
    assert!(replica.contains("nowhere"), "{replica}");
}

/// What a forwarder can measure itself ends where the loop begins: on one link beside the consumer
/// that is the whole round trip, and rates settle.
#[test]
fn round_trips_that_forwarders_measure_will_do_beside_the_consumer() {
    let out = run_plain(&scenario(
        "mircc",
        40,
        "rtt = \"upstream\"",
        &(tree() + &flow("p", "c0", "") + &flow("p", "c1", "")),
    ));
    for i in 0..2 {
        near("flow", data(&out, i, 72.0, 20.0, 40.0), 5.0 * ETA, 0.05);
    }
    no_data_dropped(&out);
}
