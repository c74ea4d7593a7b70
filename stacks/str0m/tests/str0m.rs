//! str0m on simulated networks: the same results again, its media arrive, and its estimate follows the link.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{Column, RunOptions, RunOutput};
use midpath_stack::{must_run, run};
use stack_str0m::schemes;

/// A path of 50 ms each way, with half a second of queue at 5 Mbps.
fn path(more: &str) -> String {
    format!(
        r#"
scheme = "str0m"

[topology]
generate = "dumbbell"
pairs = 2
bottleneck = {{ rate = "5 Mbps", delay = "48 ms" }}
access = {{ rate = "1 Gbps", delay = "1 ms" }}

[queue]
limit = "313 kB"

[[flow]]
from = "s0"
to = "d0"
{more}"#
    )
}

fn plain(text: &str) -> RunOutput {
    must_run(schemes(), text, &RunOptions::default())
}

/// The mean estimate of the 10 s before a time, in Mbps.
fn estimate(out: &RunOutput, until: f64) -> f64 {
    let table = out.table("series").expect("series");
    let Some(Column::Str { dictionary, index }) = table.column("metric") else { panic!("metrics have names") };
    let metrics = index.iter().map(|i| dictionary[*i as usize].as_str());
    let rows = metrics.zip(table.f64("time_s")).zip(table.f64("value"));
    let in_time = rows.filter(|((metric, at), _)| *metric == "rate_bps" && (until - 10.0..until).contains(*at));
    let values: Vec<f64> = in_time.map(|(_, value)| value / 1e6).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn results_and_packets_are_the_same_again_on_two_threads_and_over_bytes() {
    let captured = "\n[[measure.pcap]]\nfrom = \"r0\"\nto = \"r1\"\npackets = 4000\n";
    let beside = "\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nscheme = \"cubic\"\nsize = \"2 MB\"\n";
    let text = path(&format!("size = \"3 MB\"\n{beside}{captured}"));
    let once = plain(&text);
    assert_eq!(once.summary("completed"), Some(2.0), "{}", once.run["summary"]);
    for options in [
        RunOptions::default(),
        RunOptions { threads: 2, parts: 2, ..RunOptions::default() },
        RunOptions { wire: true, ..RunOptions::default() },
    ] {
        let again = must_run(schemes(), &text, &options);
        assert!(again.repeatable() == once.repeatable(), "{options:?}");
        // Times of day in RTP and RTCP are the machine's.
        let lengths = |out: &RunOutput| out.files.iter().map(|(_, bytes)| bytes.len()).collect::<Vec<_>>();
        assert_eq!(lengths(&again), lengths(&once), "{options:?}");
    }
    let other = must_run(schemes(), &text, &RunOptions { seed: Some(2), ..RunOptions::default() });
    assert!(other.repeatable() != once.repeatable(), "another seed's jitter is another");
}

#[test]
fn a_video_arrives_and_ends_through_loss_and_an_outage() {
    let vary = "\n[[vary]]\nlink = [\"r0\", \"r1\"]\n";
    for (what, least, more) in [
        ("a good path", 2_000_000, String::new()),
        ("loss, repaired", 1_990_000, format!("{vary}loss = {{ p = \"1 %\", r = \"60 %\" }}\n")),
        (
            "an outage",
            1_000_000,
            "\n[[fault]]\nkind = \"link-down\"\nat = \"2 s\"\nuntil = \"3 s\"\nlink = [\"r0\", \"r1\"]\n".to_owned(),
        ),
    ] {
        let out = plain(&path(&format!("size = \"2 MB\"\n{more}")));
        assert_eq!(out.summary("completed"), Some(1.0), "{what}: {}", out.run["summary"]);
        let delivered = out.table("flows").expect("flows").u64("delivered_bytes")[0];
        assert!((least..=2_000_000).contains(&delivered), "{what}: {delivered}");
        assert_eq!(out.run["invariants"]["conserved"], true, "{what}");
    }
}

/// Bounds, fixed before the first run: by 30 s between .7 and 1.1 of 5 Mbps, 15 s after a fall to 2 Mbps between .5 and
/// 1.1 of that. With a queue of a fifth of this one str0m's loss controller misses the first: RESULTS.md in
/// `evidence/peers/stacks` has both.
#[test]
fn the_estimate_follows_the_link() {
    let falls = "\n[[vary]]\nlink = [\"r0\", \"r1\"]\nsteps = [{ at = \"30 s\", rate = \"2 Mbps\" }]\n";
    let out = plain(&format!("stop = \"46 s\"\nmeasure = {{ series = true }}\n{}", path(falls)));
    let (before, after) = (estimate(&out, 30.0), estimate(&out, 45.0));
    assert!((3.5..5.5).contains(&before) && (1.0..2.2).contains(&after), "{before} {after}");
}

#[test]
fn what_a_video_cannot_do_is_refused_in_one_line() {
    for (keys, says) in
        [("application = \"fetch\"", "push"), ("connections = 2", "connections"), ("frames = 0", "frames")]
    {
        let text = path(&format!("size = \"1 MB\"\n[schemes.str0m]\n{keys}\n"));
        let catalogue = Catalogue::standard().joined(schemes()).expect("names that nobody has");
        let Err(error) = run(&text, Path::new("."), &RunOptions::default(), &catalogue) else {
            panic!("{keys} is taken")
        };
        assert!(error.to_string().contains(says), "{error}");
    }
}
