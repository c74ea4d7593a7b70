//! Cost of each program for a packet in the cache:
//! `cargo run --release -p midpath-ebpf --example speed`.
#[cfg(target_os = "linux")]
#[path = "../tests/linux/common/frame.rs"]
#[allow(dead_code)]
mod frame;

#[cfg(target_os = "linux")]
fn main() -> Result<(), midpath_ebpf::Error> {
    use midpath_ebpf::{Aqm, Config, Loaded, Mode, Params, Program, Registers, RunPacket};

    let params = Params {
        aqm: Aqm::Codel,
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        mtu_bytes: 1514,
        mode: Mode::Rpm,
        registers: Registers::Guarded,
        aggregate: false,
        age_ticks: 1000,
        register_max: u16::MAX,
        window_mib: 16,
    };
    let config = Config { params: params.into(), register_mask: 65_535, ticket: 7, ..Config::default() };
    let mut loaded = Loaded::new(&config)?;
    for v6 in [false, true] {
        let tcp = frame::Tcp {
            v6,
            hosts: (1, 2),
            ports: (40_000, 443),
            ecn: 2,
            flags: 0x10,
            payload: 1400,
            seq: 1_000,
            ack: 1_000,
        };
        let (data, ack) = (tcp.frame(), frame::Tcp { payload: 0, ..tcp.reversed() }.frame());
        for program in Program::ALL {
            let frame = if program == Program::Return { &ack } else { &data };
            // A stamp of 1 s after the start of the machine: long ago, so that CoDel has something
            // to decide.
            let packet = RunPacket { data: frame, stamp_ns: 1_000_000_000, ticket: 7, repeat: 1_000_000 };
            let ns = loaded.run(program, &packet)?.duration_ns;
            println!("{} IPv{}: {ns} ns", program.name(), if v6 { 6 } else { 4 });
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("works on Linux only");
}
