//! Runs sessions group by group in a network namespace, and reports the results.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::plan::{Opener, Plan};
use crate::seen::Seen;
use crate::session_group::{GROUP, SessionGroup, Terms};
use crate::tun::Tun;

/// Says that this process is in a namespace of its own already.
const INSIDE: &str = "MIDPATH_JUDGE_INSIDE";

pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(usual);
    let (runs, seed): (u64, u64) = (number(0, 30), number(1, 1));
    if std::env::var_os(INSIDE).is_none() {
        return enter(&args);
    }
    match prepare() {
        Ok(tun) => run_sessions(tun, runs, seed),
        Err(why) => {
            println!("skipped: {why}");
            ExitCode::from(77)
        }
    }
}

/// Runs this program in a network namespace of its own, as root if it is, else as root there.
fn enter(args: &[String]) -> ExitCode {
    let program = std::env::current_exe().expect("this program has a path");
    let namespaces: &[&str] =
        if rustix::process::geteuid().is_root() { &["--net"] } else { &["--user", "--map-root-user", "--net"] };
    let status = Command::new("unshare").args(namespaces).arg(&program).args(args).env(INSIDE, "1").status();
    match status.map(|s| s.code()) {
        Ok(Some(code @ (0 | 77))) => ExitCode::from(code as u8),
        Ok(Some(1)) if Command::new("unshare").args(namespaces).arg("true").status().is_ok_and(|s| s.success()) => {
            ExitCode::FAILURE
        }
        Ok(_) => {
            println!("skipped: no right to a network namespace");
            ExitCode::from(77)
        }
        Err(error) => {
            println!("skipped: unshare: {error}");
            ExitCode::from(77)
        }
    }
}

fn prepare() -> Result<Tun, String> {
    let tun = Tun::new("interop").map_err(|e| format!("no TUN device: {e}"))?;
    for line in ["link set lo up", "addr add 10.0.0.16/8 dev interop", "link set interop up mtu 1500"] {
        let done = Command::new("ip").args(line.split(' ')).status().map_err(|e| format!("ip: {e}"))?;
        if !done.success() {
            return Err(format!("ip {line} failed"));
        }
    }
    Ok(tun)
}

fn run_sessions(mut tun: Tun, runs: u64, seed: u64) -> ExitCode {
    let (mut failed, mut drawn, begin) = (0, Drawn::default(), Instant::now());
    let mut seen = Seen::default();
    for group in 0..runs.div_ceil(GROUP) {
        let number = seed / GROUP + group;
        let numbers = (group * GROUP..runs.min((group + 1) * GROUP)).map(|n| seed + n).collect::<Vec<_>>();
        numbers.iter().for_each(|n| drawn.count(&Plan::draw(*n)));
        let mut court = SessionGroup::new(&mut tun, number);
        court.seen = std::mem::take(&mut seen);
        let (verdicts, harm) = court.sit(&numbers, &mut seen);
        drawn.harm.iter_mut().zip(harm).for_each(|(all, new)| *all += new);
        for (number, verdict) in verdicts {
            if let Err(why) = verdict {
                failed += 1;
                let plan = Plan::draw(number);
                let terms = Terms::of(seed / GROUP + group);
                println!(
                    "{number}: {why}\n  {:?}, linux sends {}, we send {}, {:?}/{:?}, stalls {} {} {} ms, resets {} {}; {} {:?} {:?} harm {}",
                    plan.opener,
                    plan.linux_sends.len(),
                    plan.we_send.len(),
                    plan.order,
                    plan.our_order,
                    plan.linux_stalls,
                    plan.we_stall,
                    plan.stall_ms,
                    plan.linux_resets,
                    plan.we_reset,
                    terms.scheme,
                    terms.ours,
                    terms.linux,
                    terms.harm
                );
            }
        }
    }
    println!(
        "{} of {runs} conversations right, from {seed} on, in {:.0} s",
        runs - failed,
        begin.elapsed().as_secs_f64()
    );
    drawn.print();
    seen.print();
    if failed == 0 && seen.refused() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the conversations were like, and what the path did to their packets.
#[derive(Default)]
struct Drawn {
    counts: [u64; 7],
    bytes: u64,
    harm: [u64; 4],
}

impl Drawn {
    fn count(&mut self, plan: &Plan) {
        let facts = [
            plan.opener == Opener::Ours,
            plan.opener == Opener::Linux,
            plan.order != plan.our_order,
            plan.linux_stalls,
            plan.we_stall,
            plan.linux_resets,
            plan.we_reset,
        ];
        self.counts.iter_mut().zip(facts).for_each(|(count, fact)| *count += u64::from(fact));
        self.bytes += (plan.linux_sends.len() + plan.we_send.len()) as u64;
    }

    fn print(&self) {
        let kinds = [
            "opened by us",
            "opened by Linux",
            "one side closes first, the other answers after that",
            "Linux's reader stops for up to 1.5 s",
            "ours does",
            "Linux breaks off",
            "we do",
        ];
        println!("\n| conversations | number |\n|---|---|");
        kinds.iter().zip(self.counts).for_each(|(kind, count)| println!("| {kind} | {count} |"));
        println!("| bytes to be sent | {} |", self.bytes);
        let kinds = ["lost", "repeated", "late", "marked"];
        println!("\n| packets that the path has | number |\n|---|---|");
        kinds.iter().zip(self.harm).for_each(|(kind, count)| println!("| {kind} | {count} |"));
    }
}
