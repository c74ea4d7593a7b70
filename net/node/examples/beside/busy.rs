//! How busy this process keeps the machine's processors.

#![expect(clippy::disallowed_methods, reason = "a measurement beside the run has the clock")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, available_parallelism, sleep, spawn};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Reads the process's CPU time every 20 ms, until it is asked.
pub struct Meter {
    stop: Arc<AtomicBool>,
    /// When, and the CPU time of all threads until then, in seconds.
    thread: JoinHandle<Vec<(f64, f64)>>,
}

impl Meter {
    pub fn start() -> Meter {
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, start) = (stop.clone(), Instant::now());
        let read = move || {
            let cpu = clock_gettime(ClockId::ProcessCPUTime);
            (start.elapsed().as_secs_f64(), cpu.tv_sec as f64 + 1e-9 * cpu.tv_nsec as f64)
        };
        let thread = spawn(move || {
            let mut times = vec![read()];
            while !seen.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(20));
                times.push(read());
            }
            times
        });
        Meter { stop, thread }
    }

    /// The busiest span of at least `seconds`: its share of all processors' time, of 1.
    pub fn busiest(self, seconds: f64) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        let times = self.thread.join().expect("a thread that reads a clock");
        let share = |&(from, before): &(f64, f64)| {
            let &(until, after) = times.iter().find(|(at, _)| *at >= from + seconds)?;
            Some((after - before) / (until - from))
        };
        let processors = available_parallelism().map_or(1, usize::from) as f64;
        times.iter().filter_map(share).fold(0.0, f64::max) / processors
    }
}
