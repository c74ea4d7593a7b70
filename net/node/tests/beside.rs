//! Real beside simulated, quickly: one seed at 20 Mbps. `evidence/lab/beside` has all of it.

#[path = "../examples/beside/busy.rs"]
mod busy;
#[path = "../examples/beside/case.rs"]
mod case;
mod network;

use std::net::UdpSocket;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use case::{Place, case};
use midpath_core::packet::FlowId;
use midpath_core::units::Time;
use midpath_node::udp::Udp;
use midpath_testing::drivers::hostile::{self, FaultModel};
use midpath_testing::drivers::realtime;
use network::network;

/// A machine that does other things pauses now and then: what is so each time is ours.
const TRIES: usize = 3;
/// Runs in all; those that the machine was too busy for are no tries.
const RUNS: usize = 9;

/// Within 5 %, as everywhere up to 50 Mbps, unless the machine was too busy to say: then it is ignored.
fn flows_on_sockets_take_as_long_as_simulated() {
    let mut too_busy = Vec::new();
    for place in Place::ALL {
        for scheme in ["rcp", "fcp"] {
            let case = case(scheme, place, 20, 1);
            let (there, name) = (case::simulated(&case), place.name());
            let (mut off, mut late) = (Vec::new(), Vec::new());
            for _ in 0..RUNS {
                let here = case::real(&case);
                let ratio = here.mean() / there.mean();
                if here.invalid() {
                    late.push(here.late);
                } else if (ratio - 1.0).abs() < 0.05 {
                    off.clear();
                    break;
                } else {
                    off.push((ratio, here));
                }
                if off.len() == TRIES {
                    break;
                }
            }
            assert!(off.is_empty(), "{scheme}, {name}: {off:?}, {there:?}");
            if late.len() == RUNS {
                too_busy.push(format!("{scheme}, {name}: datagrams left {late:?} us late"));
            }
        }
    }
    if !too_busy.is_empty() {
        midpath_testing::ignore(format!("this machine was too busy: {}", too_busy.join("; ")));
    }
}

/// Threads are woken late. What a router's timers send is not less for that: nodes in virtual time whose driver is up
/// to a millisecond late, as far as lateness is made up, take as long as in the simulator. Packets that go around the
/// diagonal are 240 us apart.
fn late_wake_ups_take_nothing_off_what_goes_around() {
    let late = FaultModel { late: Time::from_ms(1), ..FaultModel::NONE };
    for seed in [1, 2] {
        let case = case("inrpp", Place::Square, 50, seed);
        let there = case::simulated(&case);
        let out = hostile::run(network(&case.text), late, Time::from_secs(30));
        let took =
            [0, 1].map(|i| out.flow(FlowId(i as u32)).completed.expect("complete").as_secs_f64() - case.starts[i]);
        let ratio = (took[0] + took[1]) / 2.0 / there.mean();
        assert!((0.9..1.1).contains(&ratio), "seed {seed}: {took:?}, in the simulator {:?}", there.took);
    }
}

/// A link that is faster than the machine loses nothing outside of its ports' queues, and what waits goes in rows.
fn a_link_that_the_machine_cannot_serve_loses_nothing_in_the_kernel() {
    let text = r#"
scheme = "newreno"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Gbps", delay = "1 ms" }
access = { rate = "10 Gbps", delay = "1 ms" }
[queue]
limit = "100 ms"
[[flow]]
from = "s0"
to = "d0"
size = "8 MB"
[[flow]]
from = "s1"
to = "d1"
size = "8 MB"
"#;
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let out = realtime::run(network(text), 2, Duration::from_secs(60)).expect("the loopback interface");
        let reports = [0, 1].map(|flow| out.flow(FlowId(flow)));
        assert!(reports.iter().all(|report| report.completed.is_some()), "{reports:?}");
        let offload = UdpSocket::bind("127.0.0.1:0").and_then(Udp::new).expect("a socket").offload();
        assert!(offload.sends == 1 || 2 * out.calls.sends < out.calls.sent, "{:?}", out.calls);
        assert!(offload.takes == 1 || 2 * out.calls.takes < out.calls.taken, "{:?}", out.calls);
        seen = reports.iter().map(|report| (report.retransmitted, report.timeouts)).collect();
        if seen == [(0, 0); 2] {
            return;
        }
    }
    panic!("repeats and timeouts each time, in the end {seen:?}");
}

midpath_testing::tests!(
    flows_on_sockets_take_as_long_as_simulated,
    late_wake_ups_take_nothing_off_what_goes_around,
    a_link_that_the_machine_cannot_serve_loses_nothing_in_the_kernel,
);

/// The same program in real-time priority, as `evidence/lab/beside` runs it, where we may. Without it one wake-up of a
/// thousand was 4 ms late, a tick, on a machine that did nothing else.
fn in_real_time() {
    const ASKED: &str = "MIDPATH_REAL_TIME";
    let real_time = |program: &std::ffi::OsStr| {
        let mut command = Command::new("chrt");
        command.args(["-f", "10"]).arg(program).stderr(Stdio::null());
        command
    };
    let asked = std::env::var_os(ASKED).is_some();
    if asked || !real_time("true".as_ref()).status().is_ok_and(|status| status.success()) {
        return;
    }
    let program = std::env::current_exe().expect("this program's path");
    let mut command = real_time(program.as_ref());
    let failed = command.args(std::env::args_os().skip(1)).env(ASKED, "1").stderr(Stdio::inherit()).exec();
    eprintln!("chrt: {failed}; without real-time priority");
}

fn main() -> std::process::ExitCode {
    in_real_time();
    midpath_testing::run(&[TESTS])
}
