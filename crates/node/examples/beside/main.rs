//! The same flows on sockets and in the simulator: how long they take, side by side.
//!
//! `beside FILE [RATES [SEEDS [SCHEMES]]]` (by default `20,50,200 10 newreno,cubic,rcp,fcp,inrpp`)
//! adds a line to FILE for each run that it does not have yet, and prints the table of all that it
//! has. `checks/beside/README.md` has the whole command.

mod case;
mod table;

use std::collections::BTreeMap;
use std::fs::{OpenOptions, read_to_string};
use std::io::Write;

use case::{Place, Run, case};
use table::{Pair, Row};

/// Which run a line is of: scheme, place, rate, seed.
type Key = (String, Place, u64, u64);

fn line(key: &Key, pair: &Pair) -> String {
    let (scheme, place, mbps, seed) = key;
    let run = |r: &Run| format!("{:.6} {:.6} {}", r.took[0], r.took[1], r.repeats);
    let late = pair.real.late.map(|l| l.to_string()).join(" ");
    format!("{scheme} {} {mbps} {seed} {} {late} {}", place.name(), run(&pair.real), run(&pair.simulated))
}

fn parse(line: &str) -> Option<(Key, Pair)> {
    let mut words = line.split(' ');
    let scheme = words.next()?.to_owned();
    let name = words.next()?;
    let place = *Place::ALL.iter().find(|p| p.name() == name)?;
    let numbers: Vec<f64> = words.map(|w| w.parse().ok()).collect::<Option<_>>()?;
    let [mbps, seed, r0, r1, r_again, p50, p99, most, s0, s1, s_again] = numbers[..] else { return None };
    let late = [p50, p99, most].map(|l| l as u64);
    let real = Run { took: [r0, r1], repeats: r_again as u64, late };
    let simulated = Run { took: [s0, s1], repeats: s_again as u64, late: [0; 3] };
    Some(((scheme, place, mbps as u64, seed as u64), Pair { real, simulated }))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, usual: &str| arguments.get(i).cloned().unwrap_or_else(|| usual.to_owned());
    let file = arguments.first().expect("a file for the runs");
    let rates: Vec<u64> = argument(1, "20,50,200").split(',').map(|r| r.parse().expect("a rate in Mbps")).collect();
    let seeds: u64 = argument(2, "10").parse().expect("a number of seeds");
    let schemes: Vec<String> = argument(3, "newreno,cubic,rcp,fcp,inrpp").split(',').map(str::to_owned).collect();

    let kept = read_to_string(file).unwrap_or_default();
    let mut runs: BTreeMap<Key, Pair> = kept.lines().filter_map(parse).collect();
    let mut out = OpenOptions::new().create(true).append(true).open(file).expect("a file that can be written");
    // Seed by seed, so that every row has some if the time runs out.
    for seed in 1..=seeds {
        for (scheme, place) in schemes.iter().flat_map(|s| Place::ALL.map(|p| (s, p))) {
            for mbps in &rates {
                let key = (scheme.clone(), place, *mbps, seed);
                if runs.contains_key(&key) {
                    continue;
                }
                let case = case(scheme, place, *mbps, seed);
                let pair = Pair { simulated: case::simulated(&case), real: case::real(&case) };
                writeln!(out, "{}", line(&key, &pair)).expect("a line can be written");
                runs.insert(key, pair);
            }
        }
    }
    println!("{}", table::HEAD);
    for (scheme, place) in schemes.iter().flat_map(|s| Place::ALL.map(|p| (s, p))) {
        for mbps in &rates {
            let of = |k: &Key| (&k.0, k.1, k.2) == (scheme, place, *mbps);
            let pairs: Vec<Pair> = runs.iter().filter(|(k, _)| of(k)).map(|(_, p)| *p).collect();
            if !pairs.is_empty() {
                println!("{}", Row { scheme: scheme.clone(), place, mbps: *mbps, pairs }.text());
            }
        }
    }
}
