//! Real-time capacity of this machine, measured in two seconds.

use std::io;
use std::process::Command;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::roles::LinkInfo;
use midpath_core::units::{Rate, Time};
use midpath_node::lateness::Lateness;
use midpath_sim::engine::NetLink;
use midpath_sim::setup::Direction;
use serde_json::{Value, json};

use crate::emulated::Emulated;
use crate::frame::{Frame, Offload};
use crate::lateness::late_us;
use crate::packets::{BATCH, Packets, Room, clock_ns, now_ns, wait};
use crate::run::prioritise;

/// Each of the two measurements takes so long.
const TIME_NS: u64 = 1_000_000_000;
/// How long it sleeps between two wake-ups.
const NAP_NS: u64 = 500_000;
/// Bytes of a frame: Ethernet's longest.
const FRAME: usize = 1514;

/// Measures in a network namespace of its own, which is gone with the process.
#[allow(unsafe_code)]
pub fn measure() -> io::Result<Value> {
    // SAFETY: plain numbers; the process has one thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
        return Err(io::Error::last_os_error());
    }
    ip(&["link", "add", "x0", "type", "veth", "peer", "name", "x1"])?;
    for device in ["x0", "x1"] {
        std::fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), "1").ok();
        ip(&["link", "set", device, "up"])?;
    }
    let real_time = prioritise(10);
    let cost_ns = cost()?;
    let late = lateness()?;
    Ok(json!({ "cost_us": cost_ns / 1e3, "late_us": late_us(&late), "real_time": real_time }))
}

fn ip(arguments: &[&str]) -> io::Result<()> {
    let done = Command::new("ip").args(arguments).output()?;
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    if done.status.success() { Ok(()) } else { Err(io::Error::other(format!("ip {}: {said}", arguments.join(" ")))) }
}

/// CPU time of a frame that is received, queued, and sent, in ns.
fn cost() -> io::Result<f64> {
    let (from, to) = ((NodeId(0), PortId(0)), (NodeId(1), PortId(0)));
    let (rate, delay) = (Rate::from_gbps(100), Time::from_us(1));
    let link = NetLink { from, to, rate, delay, corruption: 0.0, course: None };
    let info = LinkInfo { rate, delay, mtu: 1500, peer: NodeId(1) };
    let port = midpath_core::queue_spec::QueueSpec::fifo(midpath_core::limit::Limit::Packets(1000)).build(rate);
    let mut way = Emulated::new(Direction { link, info, port: port.into_port(), events: Vec::new() }, 1, 0);
    let (one, other) = (Packets::open("x0")?, Packets::open("x1")?);
    let mut data = vec![0u8; FRAME];
    data[..6].fill(0xff);
    data[12] = 0x88; // an experimental type that no stack takes
    data[13] = 0xb5;
    let batch = vec![Frame { at_ns: 0, offload: Offload::default(), data }; BATCH];
    let (mut room, mut frames, mut spent, begin) = (Room::new(), 0u64, 0, now_ns());
    while now_ns() < begin + TIME_NS {
        one.send(&batch)?;
        let before = cpu_ns();
        for frame in other.receive(&mut room)? {
            let at = Time::from_ns(frame.at_ns.saturating_sub(begin));
            way.accept(frame, at);
        }
        let out: Vec<Frame> = std::iter::from_fn(|| way.due(Time::from_secs(3600))).map(|(_, frame)| frame).collect();
        for part in out.chunks(BATCH) {
            frames += other.send(part)? as u64;
        }
        spent += cpu_ns() - before;
        while !one.receive(&mut room)?.is_empty() {}
    }
    Ok(spent as f64 / frames.max(1) as f64)
}

/// How late a thread wakes.
fn lateness() -> io::Result<Lateness> {
    let (mut late, begin) = (Lateness::default(), now_ns());
    loop {
        let now = now_ns();
        if now > begin + TIME_NS {
            return Ok(late);
        }
        wait([], Some(NAP_NS))?;
        late.note(Time::from_ns(now_ns().saturating_sub(now + NAP_NS)));
    }
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    clock_ns(rustix::time::ClockId::ThreadCPUTime)
}
