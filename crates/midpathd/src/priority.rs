//! Real-time priority of a thread.

use std::io;

use midpath_node::priority::Priority;

/// The lowest real-time priority that is above a thread which asked for none in particular (`chrt -f 1`).
/// Ours.
pub const PRIORITY: i32 = 10;

/// This thread runs whenever it has something to do, before all of normal priority. Needs root,
/// CAP_SYS_NICE, or a limit (RLIMIT_RTPRIO) of [`PRIORITY`] at least.
pub fn real_time() -> io::Result<()> {
    set(libc::SCHED_FIFO, PRIORITY)
}

/// This thread takes turns with all others again.
fn normal() -> io::Result<()> {
    set(libc::SCHED_OTHER, 0)
}

/// Whether this thread has real-time priority, be it that somebody else has given it (`chrt`).
pub fn is_real_time() -> bool {
    // proc_pid_stat(5): the 41st field is the policy; the second one may hold anything, in parentheses.
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let policy = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(41 - 3)?.parse().ok());
    policy.is_some_and(|policy: i32| policy == libc::SCHED_FIFO || policy == libc::SCHED_RR)
}

/// The same for a loop that is told which.
pub fn change(to: Priority) -> io::Result<()> {
    match to {
        Priority::RealTime => real_time(),
        Priority::Normal => normal(),
    }
}

/// Threads that this one begins are of normal priority.
#[expect(unsafe_code, reason = "a system call for which neither the standard library nor rustix has a safe one")]
fn set(policy: i32, priority: i32) -> io::Result<()> {
    // The kernel's `sched_param`. By number: musl's own function only says that it has none.
    let wanted: libc::c_int = priority;
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // SAFETY: 0 is the calling thread, and the kernel only reads `wanted`, which outlives the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const wanted) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Write, stderr};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use midpath_core::units::Time;
    use midpath_node::priority::{Guard, used};
    use rustix::thread::{CpuSet, sched_setaffinity};

    use super::*;

    fn pin() {
        let mut first = CpuSet::new();
        first.set(0);
        sched_setaffinity(None, &first).expect("this machine has a first core");
    }

    #[test]
    fn it_is_known_which_priority_a_thread_has() {
        let known = std::thread::spawn(|| {
            normal().expect("everybody may have that");
            let before = is_real_time();
            (before, real_time().is_ok(), is_real_time())
        });
        let (before, allowed, after) = known.join().expect("it ends");
        assert_eq!((before, after), (false, allowed));
    }

    /// A loop that never rests takes turns with a thread of normal priority on its core: without a budget
    /// it has all of it that the kernel lets real-time threads have, 95 % unless told otherwise.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "it is real time that is shared")]
    fn an_overloaded_loop_leaves_a_machine_that_can_be_used() {
        const RUNS: Duration = Duration::from_secs(2);
        let over = AtomicBool::new(false);
        let lost = thread::scope(|scope| {
            scope.spawn(|| {
                pin();
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let overloaded = scope.spawn(|| {
                pin();
                let (began, before) = (Instant::now(), used());
                let now = || Time::from_ns(began.elapsed().as_nanos() as u64);
                let mut guard = Guard::new(Box::new(change), now());
                let mut looked = now();
                while began.elapsed() < RUNS {
                    if now().saturating_sub(looked) >= Time::from_ms(50) {
                        looked = now();
                        guard.look(looked);
                    }
                }
                let took = used().saturating_sub(before).as_secs_f64() / RUNS.as_secs_f64();
                let allowed = guard.is_real_time().is_some();
                normal().expect("everybody may have that");
                over.store(true, Ordering::Relaxed);
                allowed.then_some((guard.losses, took))
            });
            overloaded.join().expect("it ends")
        });
        match lost {
            // Not by `println!`: the harness would keep it to itself.
            None => drop(writeln!(stderr(), "skipped: real-time priority is not allowed here")),
            // Real-time for 0.15 s twice, half of the rest at most.
            Some((losses, took)) => assert!(losses > 0 && took < 0.75, "{losses} losses, {took} of the core"),
        }
    }
}
