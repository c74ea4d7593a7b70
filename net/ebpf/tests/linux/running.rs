//! Programs that somebody else has loaded, seen by their number.

use std::os::fd::AsRawFd;

use crate::common::loaded;
use midpath_ebpf::{Config, Loaded, Program, Register, Running};

/// Beyond two batches of 4096, and no multiple of one but as registers are: a power of two.
const REGISTERS: u32 = 16_384;

fn number(loaded: &mut Loaded, program: Program) -> u32 {
    let fd = loaded.program(program).expect("it was loaded").as_raw_fd();
    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).expect("our own descriptor");
    let id = about.lines().find_map(|line| line.strip_prefix("prog_id:")).expect("a program's descriptor");
    id.trim().parse().expect("a number")
}

fn every_register_in_use_is_seen_once() {
    for registers in [1, 4096, REGISTERS] {
        let config = Config { register_mask: registers - 1, version: Config::VERSION, ..Config::default() };
        let mut loaded = loaded(&config);
        let places: Vec<u32> =
            [0, 1, 4095, 4096, 8191, 8192, REGISTERS - 1].into_iter().filter(|place| *place < registers).collect();
        for place in &places {
            let mut register = Register::default();
            register.tag = place + 1;
            loaded.set_register(*place, register).expect("a register");
        }
        let running = match Running::of_program(number(&mut loaded, Program::Dequeue)) {
            Ok(running) => running,
            // CAP_BPF loads programs; to find one by its number takes CAP_SYS_ADMIN.
            Err(why) if why.to_string().ends_with("run it as root") => midpath_testing::ignore(why.to_string()),
            Err(why) => panic!("{why}"),
        };
        let found: Vec<u32> = running.registers().expect("registers").iter().map(|r| r.tag - 1).collect();
        assert_eq!(found, places);
        assert_eq!(running.sizes().expect("sizes").registers, 16 * u64::from(registers));
    }
}

midpath_testing::tests!(every_register_in_use_is_seen_once,);
