//! Real-time priority leaves a machine that can be used.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use midpath_core::units::Time;
use midpath_node::priority::{Guard, Priority, used};
use midpath_testing::ignore;
use midpathd::priority::change;
use rustix::thread::{CpuSet, sched_setaffinity};

fn pin() {
    let mut first = CpuSet::new();
    first.set(0);
    sched_setaffinity(None, &first).expect("this machine has a first core");
}

/// A loop that never rests takes turns with a thread of normal priority on its core: without a budget
/// it has all of it that the kernel lets real-time threads have, 95 % unless told otherwise.
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
            change(Priority::Normal).expect("everybody may have that");
            over.store(true, Ordering::Relaxed);
            allowed.then_some((guard.losses, took))
        });
        overloaded.join().expect("it ends")
    });
    match lost {
        None => ignore("real-time priority is not allowed here"),
        // Real-time for 0.15 s twice, half of the rest at most.
        Some((losses, took)) => assert!(losses > 0 && took < 0.75, "{losses} losses, {took} of the core"),
    }
}

midpath_testing::tests!(an_overloaded_loop_leaves_a_machine_that_can_be_used);
