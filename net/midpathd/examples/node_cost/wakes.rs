//! Wake-up latency of a sleeping thread.

#![expect(clippy::disallowed_methods, reason = "it is real time that is measured")]

use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use midpathd::priority;
use rustix::event::{Timespec, poll};
use serde_json::{Value, json};

/// How long it sleeps: what a packet of 1,500 B takes at 50 Mbps.
const NAP: Duration = Duration::from_micros(240);

/// How late it was woken.
pub struct Wakes {
    real_time: bool,
    /// It was given that from outside.
    inherited: bool,
    /// In order; empty where that priority is not allowed.
    late: Vec<Duration>,
}

impl Wakes {
    pub const HEAD: &str = "| priority | wake-ups | late, us: p50 | p99 | most |\n|---|---|---|---|---|";

    fn name(&self) -> &'static str {
        match (self.real_time, self.inherited) {
            (true, _) => "real-time",
            (false, true) => "real-time, inherited",
            (false, false) => "normal",
        }
    }

    /// In µs: the median, of a hundred the latest, and the latest of all.
    fn quantiles(&self) -> Option<[f64; 3]> {
        let last = self.late.len().checked_sub(1)?;
        Some([0.5, 0.99, 1.0].map(|q| self.late[(q * last as f64) as usize].as_secs_f64() * 1e6))
    }

    pub fn row(&self) -> String {
        match self.quantiles() {
            Some([p50, p99, most]) => {
                format!("| {} | {} | {p50:.0} | {p99:.0} | {most:.0} |", self.name(), self.late.len())
            }
            None => format!("| {} | not allowed here (root, or a limit for `rtprio`) | | | |", self.name()),
        }
    }

    pub fn json(&self) -> Value {
        let [p50, p99, most] = self.quantiles().map_or([None; 3], |all| all.map(Some));
        json!({"priority": self.name(), "wakes": self.late.len(), "p50_us": p50, "p99_us": p99, "most_us": most})
    }
}

/// Sleeps again and again for so long, in a thread of its own.
pub fn run(real_time: bool, time: Duration) -> Wakes {
    let sleep = move || {
        let mut late = Vec::new();
        if real_time && priority::real_time().is_err() {
            return late;
        }
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let nap = Timespec { tv_sec: 0, tv_nsec: NAP.subsec_nanos().into() };
        let began = Instant::now();
        while began.elapsed() < time {
            let before = Instant::now();
            if poll(&mut [], Some(&nap)).is_ok() {
                late.push(before.elapsed().saturating_sub(NAP));
            }
        }
        late.sort_unstable();
        late
    };
    let inherited = priority::is_real_time();
    Wakes { real_time, inherited, late: thread::spawn(sleep).join().unwrap_or_default() }
}
