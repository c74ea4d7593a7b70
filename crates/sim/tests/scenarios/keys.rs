//! A key of TCP's that a scheme takes does something to it, and one that it does not read is refused.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use midpath_schemes::{Catalogue, Description};
use midpath_sim::{RunOptions, RunOutput, run_with};

use crate::common::SHIPPED;

/// TCP's keys, each with values that are not what any of these schemes has unless said.
const KEYS: [(&str, &[&str]); 23] = [
    ("sack", &["false"]),
    ("timestamps", &["false"]),
    ("delayed_ack", &["4"]),
    ("delack_timeout", &["\"3 ms\""]),
    ("min_rto", &["\"250 ms\""]),
    ("max_rto", &["\"1500 ms\""]),
    ("initial_rto", &["\"300 ms\""]),
    ("initial_window", &["3"]),
    ("recovery", &["\"rfc6675\""]),
    ("loss_detection", &["\"rfc6675\"", "\"rack-tlp\""]),
    ("growth", &["\"per-ack\""]),
    ("abc_limit", &["1"]),
    ("hystart", &["true", "false", "\"linux\""]),
    ("ecn", &["true", "false", "\"accurate\""]),
    ("pacing", &["true", "false"]),
    ("pacing_slow_start", &["1.3"]),
    ("pacing_avoidance", &["0.9"]),
    ("receive_window", &["\"20 kB\""]),
    ("limited_transmit", &["false"]),
    ("dup_thresh", &["6"]),
    ("max_retries", &["1"]),
    ("syn_retries", &["0"]),
    ("receiver", &["\"optimistic-acks\"", "\"divides-acks\""]),
];

/// Keys of which a scheme takes one value: accurate ECN (RFC 9331, §4.2), an ACK per packet for its price.
const ONE_VALUE: [(&str, &str); 2] = [("prague", "ecn"), ("fcp", "delayed_ack")];

/// Their ports are drop-tail queues of their own and mark nothing.
const OWN_PORTS: [&str; 7] = ["xcp", "hpcc", "powertcp", "bolt", "rcp", "fcp", "bfc"];

/// Ten small scenarios, in each of which something else goes wrong. In the last one a port marks; where a
/// scheme has ports of its own, that one port is not its.
fn scenarios(scheme: &str) -> Vec<String> {
    let net = |rate: &str, delay: &str, more: &str, queue: &str| {
        format!(
            "scheme = \"{scheme}\"\nstop = \"30 s\"\n[topology]\ngenerate = \"dumbbell\"\npairs = 2\n\
             bottleneck = {{ rate = \"{rate}\", delay = \"{delay}\"{more} }}\n\
             access = {{ rate = \"100 Mbps\", delay = \"1 ms\" }}\n[queue]\n{queue}\n"
        )
    };
    let flows = "[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nsize = \"300 kB\"\n\
                 [[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"150 kB\"\nstart = \"100 ms\"\n";
    let down = |at: &str, until: &str| {
        format!("[[fault]]\nat = \"{at}\"\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nuntil = \"{until}\"\n")
    };
    // What waits for the link is lost with its router: SYNs, too.
    let restart = "[[fault]]\nat = \"1900 ms\"\nkind = \"restart\"\nnode = \"r0\"\n";
    let long = flows.replace("300 kB", "6 MB");
    let plain = "limit = \"20 ms\"";
    // Where a queue may mark, late enough for round trips to be seen growing before.
    let deep = match OWN_PORTS.contains(&scheme) {
        false => "kind = \"step\"\nthreshold = \"150 ms\"\nlimit = \"200 ms\"",
        true => "limit = \"200 ms\"",
    };
    let lossy = |share: &str| format!(", corruption = \"{share}\"");
    let marking = "kind = \"step\"\nthreshold = \"3 packets\"\nlimit = \"30 packets\"\n";
    let marked = match OWN_PORTS.contains(&scheme) {
        false => net("5 Mbps", "20 ms", "", marking),
        true => format!(
            "{}[queues.marking]\n{marking}[[deploy]]\nscheme = \"{scheme}\"\n\
             [[deploy]]\nscheme = \"none\"\nports = [\"r0>r1\"]\nqueue = \"marking\"\n",
            net("5 Mbps", "20 ms", "", plain)
        ),
    };
    vec![
        net("10 Mbps", "10 ms", "", plain) + flows,
        net("10 Mbps", "10 ms", "", "limit = \"6 packets\"") + flows,
        net("10 Mbps", "20 ms", &lossy("3 %"), plain) + flows,
        net("4 Mbps", "40 ms", &lossy("8 %"), "limit = \"8 packets\"") + flows,
        net("10 Mbps", "10 ms", "", plain) + flows + &down("150 ms", "2150 ms"),
        net("10 Mbps", "10 ms", "", plain) + flows + &down("0 s", "2 s") + restart,
        net("10 Mbps", "10 ms", "", plain) + flows + &down("200 ms", "25 s"),
        net("2 Mbps", "60 ms", &lossy("20 %"), plain) + flows,
        net("50 Mbps", "50 ms", "", deep) + &long,
        marked + flows,
    ]
}

/// The schemes, none of which refuses a key.
static LENIENT: LazyLock<Catalogue> = LazyLock::new(|| {
    SHIPPED.names().fold(SHIPPED.clone(), |all, name| {
        let own = SHIPPED.description(name).expect("all say what they are");
        all.described(name, Description { unread: &[], ..own.clone() })
    })
});

fn run(schemes: &Catalogue, text: &str, scheme: &str, keys: &str) -> Result<RunOutput, String> {
    let text = format!("{text}\n[schemes.{scheme}]\n{keys}\n");
    run_with(&text, Path::new("."), &RunOptions::default(), schemes, &mut |_| true)
        .map(|out| out.expect("not cancelled"))
        .map_err(|e| e.to_string())
}

/// When flows end, how much of them arrives, and what is dropped: bytes of headers are no effect.
fn outcome(out: &RunOutput) -> Vec<u64> {
    let (flows, ports) = (out.table("flows").expect("flows"), out.table("ports").expect("ports"));
    let mut found: Vec<u64> = flows.f64("fct_s").iter().map(|t| t.to_bits()).collect();
    found.extend(flows.u64("delivered_bytes"));
    found.extend(ports.u64("drops_queue"));
    found
}

/// What a key needs beside itself: gains of pacing need pacing, the timer of delayed ACKs delayed ACKs.
fn beside(scheme: &str, key: &str) -> &'static str {
    match key {
        // Its window is what four round trips of the line take, unless it is said.
        "limited_transmit" | "pacing" if scheme == "bfc" => "window = \"10 kB\"\n",
        "pacing_slow_start" | "pacing_avoidance" if !["hpcc", "powertcp"].contains(&scheme) => "pacing = true\n",
        // FCP takes no other than an ACK per packet.
        "delack_timeout" if scheme != "fcp" => "delayed_ack = 2\n",
        "dup_thresh" => "loss_detection = \"rfc6675\"\n",
        _ => "",
    }
}

/// What runs without a key come to, by what stands beside it and by scenario.
type Bases = BTreeMap<(&'static str, usize), Vec<u64>>;

/// Whether the key changes anything in one of the scenarios.
fn shows(scenarios: &[String], bases: &mut Bases, scheme: &str, key: &str, values: &[&str]) -> bool {
    let with = beside(scheme, key);
    scenarios.iter().enumerate().any(|(i, text)| {
        let plain =
            || run(&LENIENT, text, scheme, with).map(|out| outcome(&out)).unwrap_or_else(|e| panic!("{scheme}: {e}"));
        let base = bases.entry((with, i)).or_insert_with(plain);
        values.iter().any(|value| match run(&LENIENT, text, scheme, &format!("{with}{key} = {value}")) {
            Ok(out) => outcome(&out) != *base,
            // A value that the scheme does not take: another one shows the key.
            Err(error) => {
                assert!(error.contains(key) && !error.contains("has no effect"), "{scheme}.{key} = {value}: {error}");
                false
            }
        })
    })
}

#[test]
#[ignore = "nightly"]
fn every_key_of_tcp_has_an_effect_on_a_scheme_or_is_refused_by_it() {
    let (mut silent, mut wrong) = (Vec::new(), Vec::new());
    let of_tcp = |scheme: &&str| SHIPPED.parameters(scheme).any(|(key, _)| key == "syn_retries");
    for scheme in SHIPPED.names().filter(of_tcp) {
        let refused = SHIPPED.description(scheme).expect("all say what they are").unread;
        let (scenarios, mut bases) = (scenarios(scheme), Bases::new());
        for (key, values) in KEYS {
            if refused.contains(&key) {
                let error =
                    run(&SHIPPED, &scenarios[0], scheme, &format!("{key} = {}", values[0])).map(|_| ()).unwrap_err();
                assert!(error.contains(key) && error.contains("has no effect") && !error.contains('\n'), "{error}");
                assert!(error.contains("newreno"), "says who reads it: {error}");
                if shows(&scenarios, &mut bases, scheme, key, values) {
                    wrong.push(format!("{scheme}.{key}"));
                }
                continue;
            }
            if ONE_VALUE.contains(&(scheme, key)) {
                let error =
                    run(&SHIPPED, &scenarios[0], scheme, &format!("{key} = {}", values[0])).map(|_| ()).unwrap_err();
                assert!(error.contains(key), "{error}");
                continue;
            }
            if !shows(&scenarios, &mut bases, scheme, key, values) {
                silent.push(format!("{scheme}.{key}"));
            }
        }
    }
    assert!(silent.is_empty(), "without effect: {silent:?}");
    assert!(wrong.is_empty(), "refused, and would have an effect: {wrong:?}");
}
