//! Links that repeat what they lose (ARQ) and send packets in frames (aggregation), against closed forms and a recount.
//! Bounds were fixed before the first run: five standard errors where chance decides, and what begins and ends in a run.

use midpath_sim::RunOutput;
use proptest::prelude::*;

use crate::common::{CARRIERS, cases, port, refused, run_plain, same_with_threads_and_as_bytes};

/// Datagrams of 1,500 B at a steady rate over one link that varies.
fn datagrams(mbps: f64, loss: f64, stop_s: f64, vary: &str, flow: &str, seed: u64) -> String {
    format!(
        "scheme = \"udp\"\nseed = {seed}\nstop = \"{stop_s} s\"\n[queue]\nlimit = \"1 GB\"\n[host_queue]\nlimit = \"1 GB\"\n[topology]\nlinks = [\
         {{ a = \"s\", b = \"r\", rate = \"100 Gbps\", delay = \"1 us\" }}, \
         {{ a = \"r\", b = \"d\", rate = \"{mbps} Mbps\", delay = \"1 ms\", corruption = \"{} %\" }}]\n\
         [[vary]]\nlink = [\"r\", \"d\"]\n{vary}\n\
         [[flow]]\nfrom = \"s\"\nto = \"d\"\n{flow}\n[schemes.udp]\npacket = \"1500 B\"\n",
        loss * 100.0
    )
}

fn received(out: &RunOutput) -> f64 {
    out.table("datagrams").expect("datagrams").u64("received_packets")[0] as f64
}

/// Mean and variance of the attempts of a packet that arrives, of at most `most`, and of any packet's.
fn attempts(p: f64, most: u32) -> [f64; 3] {
    let share = |n: u32| p.powi(n as i32 - 1) * (1.0 - p);
    let arrives: f64 = (1..=most).map(share).sum();
    let mean = (1..=most).map(|n| f64::from(n) * share(n)).sum::<f64>() / arrives;
    let var = (1..=most).map(|n| (f64::from(n) - mean).powi(2) * share(n)).sum::<f64>() / arrives;
    [mean, var, (1.0 - p.powi(most as i32)) / (1.0 - p)]
}

proptest! {
    #![proptest_config(cases(12))]

    /// Family 1, Wi-Fi-like: under load a frame has N packets, and costs its access: N s / (access + N s / C), of which
    /// a share p is sent again.
    #[test]
    fn a_loaded_link_pays_each_access_once_a_frame(
        mbps in 20u32..1000, access_us in 0u64..400, packets in 1u64..40, percent in 0u32..30, most in 1u32..8, reorder in any::<bool>(), seed in 1u64..1000,
    ) {
        let p = f64::from(percent) / 100.0;
        let frame = access_us as f64 * 1e-6 + packets as f64 * 12_000.0 / (f64::from(mbps) * 1e6);
        let stop = 400.0 * frame;
        let vary = format!(
            "one_way = true\naggregation = {{ max = \"{} B\", access = \"{access_us} us\" }}\narq = {{ attempts = {most}, reorder = {reorder} }}",
            packets * 1500
        );
        let flow = format!("rate = \"{} Mbps\"", 2 * mbps);
        let out = same_with_threads_and_as_bytes(&datagrams(f64::from(mbps), p, stop, &vary, &flow, seed), 2);
        let sent = 400.0 * packets as f64;
        // The first frame has one packet, the last is under way; where order is kept, some wait for others.
        let ends = (3.0 + f64::from(most)) * packets as f64 + 2.0;
        let errors = 5.0 * (sent * p * (1.0 - p)).sqrt();
        prop_assert!((received(&out) - sent * (1.0 - p)).abs() <= errors + ends, "{} of {}", received(&out), sent * (1.0 - p));
        let taken = out.table("ports").unwrap().u64("packets")[port(&out, "r", "d")] as f64;
        let [_, _, mean] = attempts(p, most);
        prop_assert!((taken * mean - sent).abs() <= (errors + ends) * mean, "{} and not {}", taken * mean, sent);
    }

    /// Family 2, 5G-like: a datagram waits for its slot, half of one in the mean, takes it, and again for each attempt but
    /// the first: as many as a geometric law says. What no attempt brings is lost.
    #[test]
    fn a_slotted_link_repeats_by_a_geometric_law(
        slot_us in prop::sample::select(vec![125u64, 250, 500, 1000]), feedback in 0u64..8, percent in 1u32..50, most in 1u32..6, whole in any::<bool>(), seed in 1u64..1000,
    ) {
        let (p, slot, n) = (f64::from(percent) / 100.0, slot_us as f64 * 1e-6, 4000.0);
        // Not in step with slots.
        let every = slot * (8.0 + 0.381_966);
        let rate = 12_000.0 / every;
        let vary = format!(
            "one_way = true\naggregation = {{ slot = \"{slot_us} us\" }}\narq = {{ attempts = {most}, delay = \"{} us\", reorder = true, whole = {whole} }}",
            feedback * slot_us
        );
        let flow = format!("rate = \"{rate} bps\"\nsize = \"{} B\"", 4000 * 1472);
        let out = run_plain(&datagrams(10_000.0, p, 5000.0 * every, &vary, &flow, seed));
        let given_up = n * p.powi(most as i32);
        let lost = n - received(&out);
        prop_assert!((lost - given_up).abs() <= 5.0 * given_up.sqrt() + 1.0, "{} and not {}", lost, given_up);
        let [mean, var, _] = attempts(p, most);
        let round = (1 + feedback) as f64 * slot;
        let expected = 1e-3 + 1e-6 + 1.2e-7 + 1.5 * slot + (mean - 1.0) * round;
        let got = out.table("datagrams").unwrap().f64("delay_mean_s")[0];
        let error = 5.0 * (var / (n - given_up)).sqrt() * round + slot / 50.0;
        prop_assert!((got - expected).abs() <= error, "{} and not {} ± {}", got, expected, error);
    }

    /// Where order is kept, a packet waits for those before it: P(delay ≤ x) is the product over j of P(own ≤ x + j τ).
    #[test]
    fn order_makes_packets_wait_for_those_before(
        every_us in 500u64..3000, rounds in 1u64..10, percent in 1u32..30, most in 2u32..6, seed in 1u64..1000,
    ) {
        let (p, n, every) = (f64::from(percent) / 100.0, 20_000.0, every_us as f64 * 1e-6);
        // At 10 Gbps a packet takes 1.2 us.
        let (own, round) = (1.2e-6, every * rounds as f64 * 0.77);
        let vary = format!("one_way = true\narq = {{ attempts = {most}, delay = \"{} ns\" }}", ((round - own) * 1e9).round());
        let flow = format!("rate = \"{} bps\"\nsize = \"{} B\"", 12_000.0 / every, 20_000 * 1472);
        let out = run_plain(&datagrams(10_000.0, p, 20_100.0 * every, &vary, &flow, seed));
        // Of the packet itself if it arrives, and of one before it, which may be given up at its last attempt.
        let arrives = 1.0 - p.powi(most as i32);
        let within = |x: f64, given: f64| {
            let tries = ((x + 1e-9) / round).floor() + 1.0;
            if tries >= f64::from(most) { 1.0 } else { (1.0 - p.powf(tries)) / given }
        };
        let longest = f64::from(most - 1) * round;
        let steps = 4000;
        let (mut mean, mut square) = (0.0, 0.0);
        for step in 0..steps {
            let x = longest * (f64::from(step) + 0.5) / f64::from(steps);
            let before = (1..=(longest / every).ceil() as u32).map(|j| within(x + f64::from(j) * every, 1.0));
            let later = 1.0 - within(x, arrives).min(1.0) * before.product::<f64>();
            mean += later * longest / f64::from(steps);
            square += 2.0 * x * later * longest / f64::from(steps);
        }
        let base = 1e-3 + 1e-6 + 1.2e-7 + own;
        let got = out.table("datagrams").unwrap().f64("delay_mean_s")[0] - base;
        // Waits for the same packet are alike: as many draws as there are times for all attempts of one.
        let draws = n / (1.0 + longest / every);
        let error = 5.0 * ((square - mean * mean) / draws).sqrt() + 1e-5;
        prop_assert!((got - mean).abs() <= error, "{} and not {} ± {}", got, mean, error);
        let most_s = out.table("datagrams").unwrap().f64("delay_max_s")[0] - base;
        prop_assert!(most_s <= longest + 1e-5, "{} and at most {}", most_s, longest);
    }
}

/// Two unlike networks: around an access point with links of its own for each station, or a chain of a cell and a wire.
fn mixed(star: bool, scheme: &str, vary: &str, faults: &str, seed: u64) -> String {
    let link = |a: &str, b: &str, mbps: u64, ms: f64| {
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{mbps} Mbps\", delay = \"{ms} ms\", corruption = \"3 %\" }},\n")
    };
    let (links, first, flows): (String, &str, &[(&str, &str)]) = if star {
        let links = link("ap", "c", 50, 5.0) + &link("s1", "ap", 40, 0.3) + &link("s2", "ap", 20, 0.3);
        (links, "[\"ap\", \"s1\"]", &[("c", "s1"), ("s2", "c"), ("s1", "s2")])
    } else {
        let links = link("u", "g", 30, 1.0) + &link("g", "w", 100, 8.0) + &link("w", "v", 100, 0.5);
        (links, "[\"u\", \"g\"]", &[("u", "v"), ("v", "u")])
    };
    let mut text = format!(
        "scheme = \"{scheme}\"\nseed = {seed}\nstop = \"4 s\"\n{faults}\n[topology]\nlinks = [\n{links}]\n[[vary]]\nlink = {first}\n{vary}\n"
    );
    for (from, to) in flows {
        text +=
            &format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"400 kB\"\ncount = 2\njitter = \"300 ms\"\n");
    }
    text
}

proptest! {
    #![proptest_config(cases(16))]

    /// Whatever runs, through outages and other rates and delays: no packet is lost from the books, and results are the
    /// same with threads and as bytes.
    #[test]
    fn every_scheme_runs_over_frames_and_repeats(
        star in any::<bool>(), scheme in prop::sample::select(CARRIERS.clone()), frames in 0usize..4, arq in 0usize..4, change in 0usize..4, seed in 1u64..1000,
    ) {
        let frames = ["", "aggregation = { max = \"20 kB\", access = \"200 us\" }", "aggregation = { slot = \"1 ms\" }",
            "aggregation = { max = \"8 packets\", access = \"90 us\" }"][frames];
        let whole = if frames.is_empty() { "" } else { ", whole = true" };
        let last = format!("arq = {{ attempts = 2, delay = \"8 ms\"{whole} }}");
        let arq = ["arq = {}", "arq = { attempts = 3, delay = \"4 ms\" }", "arq = { attempts = 8, reorder = true }", &last][arq];
        let (vary, faults) = [
            ("", ""),
            ("steps = [{ at = \"1 s\", rate = \"5 Mbps\", delay = \"9 ms\" }, { at = \"2 s\", delay = \"1 ms\" }]", ""),
            ("jitter = { law = \"uniform\", max = \"3 ms\", reorder = true }\nloss = { p = \"1 %\", r = \"30 %\" }", ""),
            ("", "routing = { reconverge = \"50 ms\" }\nfault = [{ at = \"700 ms\", kind = \"link-down\", link = LINK, until = \"900 ms\" }]"),
        ][change];
        let faults = faults.replace("LINK", if star { "[\"ap\", \"s1\"]" } else { "[\"u\", \"g\"]" });
        same_with_threads_and_as_bytes(&mixed(star, scheme, &format!("{frames}\n{arq}\n{vary}"), &faults, seed), 3);
    }
}

/// Packets that wait behind one that the link's failure cuts off arrive after that, not when they came.
#[test]
fn what_is_held_back_behind_a_cut_packet_does_not_arrive_before_the_cut() {
    let arq = "arq = { attempts = 2, delay = \"8 ms\" }";
    let faults = "routing = { reconverge = \"50 ms\" }\n\
                  fault = [{ at = \"700 ms\", kind = \"link-down\", link = [\"u\", \"g\"], until = \"900 ms\" }]";
    same_with_threads_and_as_bytes(&mixed(false, "dctcp", arq, faults, 389), 3);
}

#[test]
fn what_frames_cannot_be_is_refused_by_its_key() {
    let of = |vary: &str| refused(&datagrams(10.0, 0.1, 1.0, vary, "rate = \"1 Mbps\"", 1));
    for (vary, key, cure) in [
        ("aggregation = {}", "vary[0].aggregation", "`max` or `slot`"),
        ("aggregation = { max = \"9 kB\", slot = \"1 ms\" }", "vary[0].aggregation.slot", "leave one out"),
        ("aggregation = { slot = \"1 ms\", access = \"1 ms\" }", "vary[0].aggregation.access", "leave it out"),
        ("aggregation = { slot = \"0 s\" }", "vary[0].aggregation.slot", "above zero"),
        ("aggregation = { max = \"500 B\" }", "vary[0].aggregation.max", "increase it"),
        ("aggregation = { max = \"9 kB\", access = \"20 s\" }", "vary[0].aggregation.access", "at most 1 s"),
        ("arq = { attempts = 0 }", "vary[0].arq.attempts", "at least 1"),
        ("arq = { delay = \"20 s\" }", "vary[0].arq.delay", "at most 1 s"),
        ("arq = { whole = true }", "vary[0].arq.whole", "`aggregation`"),
        ("arq = {}\nshaper = { rate = \"1 Mbps\", burst = \"9 kB\" }", "vary[0].shaper", "leave"),
        ("arq = {}\ntrace = \"../../examples/links/cellular.trace\"", "vary[0].trace", "leave"),
    ] {
        let message = of(vary);
        assert!(message.contains(key) && message.contains(cure), "{vary}: {message}");
    }
    // Nothing is ever lost there.
    let lossless = datagrams(10.0, 0.0, 1.0, "arq = {}", "rate = \"1 Mbps\"", 1);
    assert!(refused(&lossless).contains("vary[0].arq"), "{}", refused(&lossless));
}
