//! Packets are their bytes: on links that encode and decode every packet, all results are the same
//! byte for byte.

use std::sync::Mutex;
use std::thread;

use crate::common::suite::{self, Case};
use midpath_core::units::Time;
use midpath_sim::{RunOptions, RunOutput, run_text};

/// One run, and the same over bytes. `None` if the scenario cannot run under the scheme, or lacks
/// its data.
fn both(case: &Case) -> Option<[RunOutput; 2]> {
    let with = |wire| {
        let options = RunOptions { scheme: case.scheme.map(str::to_owned), wire, ..RunOptions::default() };
        run_text(&case.text, &case.base, &options, &mut |_| true).map(|out| out.expect("not cancelled"))
    };
    let plain = with(false);
    if let Err(error) = &plain {
        println!("{} does not run: {error}", case.name);
    }
    let plain = plain.ok()?;
    Some([plain, with(true).expect("it runs without bytes")])
}

/// Runs all, several at a time, and returns how many ran, and their packet-hops.
fn compare<I: IntoIterator<Item = Case, IntoIter: Send>>(cases: I) -> (usize, u64) {
    let (cases, ran) = (Mutex::new(cases.into_iter()), Mutex::new((0, 0)));
    let next = || cases.lock().expect("no case is made by a thread that panics").next();
    let work = || {
        while let Some(case) = next() {
            if let Some([plain, bytes]) = both(&case) {
                assert!(plain.repeatable() == bytes.repeatable(), "{} differs over bytes", case.name);
                let mut ran = ran.lock().expect("nothing panics here");
                *ran = (ran.0 + 1, ran.1 + plain.run["packet_hops"].as_u64().expect("counted"));
            }
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)))
    });
    let (runs, hops) = ran.into_inner().expect("nothing panics there");
    println!("{runs} runs, {hops} packet-hops");
    (runs, hops)
}

/// The shipped scenarios' beginnings.
fn beginnings() -> impl Iterator<Item = Case> {
    suite::examples().into_iter().map(|case| {
        let name = case.name.split(' ').next().expect("a name");
        let text = suite::shortened(&case.text, suite::in_a_rack(name).unwrap_or("500 ms"));
        Case { text, ..case }
    })
}

#[test]
#[ignore = "nightly"]
fn shipped_scenarios_are_the_same_over_bytes() {
    let (runs, hops) = compare(beginnings());
    assert!(runs >= 60 && hops > 1_000_000, "{runs} runs, {hops} packet-hops");
}

#[test]
#[ignore = "nightly"]
fn the_papers_scenarios_are_the_same_over_bytes() {
    let (runs, hops) = compare(suite::papers(Time::from_ms(250)));
    assert!(runs >= 20 && hops > 1_000_000, "{runs} runs, {hops} packet-hops");
}

#[test]
fn random_scenarios_are_the_same_over_bytes() {
    let cases: usize = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(320);
    let (runs, _) = compare(suite::random(cases));
    assert!(runs * 16 >= cases * 15, "{runs} of {cases}");
}
