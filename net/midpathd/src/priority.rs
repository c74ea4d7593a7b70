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
#[expect(unsafe_code, reason = "neither the standard library nor rustix wraps this system call")]
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
    use super::*;

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
}
