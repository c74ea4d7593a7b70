//! Lines in user space, for kernels without netem: frames leave a constant time after their arrival, or after their
//! transmission at a rate.

use std::io::{self, Read};
use std::os::fd::AsFd;

use midpath_core::units::{Bytes, Rate, Time};
use midpath_node::lateness::Lateness;
use serde_json::{Value, json};

use crate::emulated_link::{EmulatedLink, Shape};
use crate::frame::Frame;
use crate::lateness::late_us;
use crate::packets::{BATCH, Packets, Room, now_ns, wait};

/// Where frames go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    from: String,
    to: String,
    /// Only frames to this station.
    mac: Option<[u8; 6]>,
    shape: Shape,
}

impl Path {
    /// Reads `in=w0,out=b1,mac=02:00:00:00:00:01,delay=10ms,rate=20Mbps,queue=250kB,at=6s:5Mbps`.
    pub fn parse(text: &str) -> Result<Path, String> {
        let wrong = |what: &str| {
            format!(
                "{text:?}: {what}; write it like in=w0,out=b1,mac=02:00:00:00:00:01,delay=10ms,rate=20Mbps,queue=250kB,at=6s:5Mbps"
            )
        };
        let (mut from, mut to, mut mac, mut delay_ns, mut queue) = (None, None, None, None, None);
        let mut rates = Vec::new();
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("in", device)) => from = Some(device.to_owned()),
                Some(("out", device)) => to = Some(device.to_owned()),
                Some(("mac", station)) => mac = Some(station_of(station).ok_or_else(|| wrong("not a MAC address"))?),
                Some(("delay", time)) => delay_ns = Some(time_of(time).ok_or_else(|| wrong("not a delay"))?),
                Some(("rate", rate)) => rates.insert(0, (0, rate_of(rate).ok_or_else(|| wrong("not a rate"))?)),
                Some(("at", step)) => rates.push(step_of(step).ok_or_else(|| wrong("not a rate at a time"))?),
                Some(("queue", bytes)) => queue = Some(bytes_of(bytes).ok_or_else(|| wrong("not a queue size"))?),
                _ => return Err(wrong(&format!("unknown part {part:?}"))),
            }
        }
        let first = rates.first().is_none_or(|(from, _)| *from == 0);
        if !(first && rates.is_sorted_by(|one, next| one.0 < next.0)) {
            return Err(wrong("an initial rate is required, and times must increase"));
        }
        if rates.is_empty() != queue.is_none() {
            return Err(wrong("a rate and a queue must be given together"));
        }
        Ok(Path {
            from: from.ok_or_else(|| wrong("in is missing"))?,
            to: to.ok_or_else(|| wrong("out is missing"))?,
            mac,
            shape: Shape {
                delay_ns: delay_ns.ok_or_else(|| wrong("delay is missing"))?,
                rates,
                queue: queue.unwrap_or(0),
            },
        })
    }
}

/// `5s` or `6s:5Mbps`: from when on which rate.
fn step_of(text: &str) -> Option<(u64, u64)> {
    let (time, rate) = text.split_once(':')?;
    Some((time_of(time)?, rate_of(rate)?))
}

/// Up to 10 Gbps; 0 is a line that is down.
fn rate_of(text: &str) -> Option<u64> {
    text.parse::<Rate>().ok().map(|rate| rate.0).filter(|bps| *bps <= 10_000_000_000)
}

/// Up to 100 MB.
fn bytes_of(text: &str) -> Option<usize> {
    text.parse::<Bytes>().ok().map(|bytes| bytes.0 as usize).filter(|bytes| *bytes <= 100_000_000)
}

fn station_of(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
    bytes?.try_into().ok()
}

/// In nanoseconds; up to ten minutes.
fn time_of(text: &str) -> Option<u64> {
    text.parse::<Time>().ok().map(Time::as_ns).filter(|ns| *ns <= 600_000_000_000)
}

/// What a wire has done.
#[derive(Debug, Default)]
pub struct Report {
    frames: u64,
    lost: u64,
    /// Among the lost, those that the kernel had no room for while we slept.
    missed: u64,
    late: Lateness,
}

impl Report {
    /// One object.
    pub fn to_json(&self) -> Value {
        json!({"frames": self.frames, "lost": self.lost, "missed": self.missed, "late_us": late_us(&self.late)})
    }
}

/// A path at work.
struct Working {
    path: Path,
    to: usize,
    line: EmulatedLink,
}

/// Forwards frames until standard input ends. What is written there begins the schedule of rates.
pub fn run(paths: &[Path]) -> io::Result<Report> {
    let mut names: Vec<&str> = paths.iter().flat_map(|path| [path.from.as_str(), path.to.as_str()]).collect();
    names.sort_unstable();
    names.dedup();
    let sockets = names.iter().map(|name| Packets::open(name)).collect::<io::Result<Vec<_>>>()?;
    let place = |name: &str| names.iter().position(|n| *n == name).expect("each device of a path is listed");
    let working =
        |path: &Path| Working { to: place(&path.to), path: path.clone(), line: EmulatedLink::new(path.shape.clone()) };
    let mut all: Vec<Working> = paths.iter().map(working).collect();
    let stdin = io::stdin();
    let (mut report, mut room) = (Report::default(), Room::new());
    println!("ready");
    loop {
        let ready = wait(sockets.iter().map(AsFd::as_fd).chain([stdin.as_fd()]), next_wait(&all))?;
        if ready[sockets.len()] {
            if io::stdin().read(&mut [0; 64])? == 0 {
                report.missed = sockets.iter().map(Packets::missed).sum();
                report.lost += report.missed + all.iter().map(|working| working.line.lost).sum::<u64>();
                return Ok(report);
            }
            all.iter_mut().for_each(|working| working.line.begin(now_ns()));
        }
        for (at, socket) in sockets.iter().enumerate().filter(|(at, _)| ready[*at]) {
            for frame in socket.receive(&mut room)? {
                accept(&mut all, names[at], frame, &mut report);
            }
        }
        for working in &mut all {
            deliver(&mut working.line, &sockets[working.to], &mut report)?;
        }
    }
}

/// Until the next frame is due. What waits to be sent is sent by then: the frame before it is out no
/// sooner than it has left.
fn next_wait(all: &[Working]) -> Option<u64> {
    let due = all.iter().filter_map(|working| working.line.on_the_way.front().map(|due| due.at_ns)).min();
    due.map(|due| due.saturating_sub(now_ns()))
}

fn accept(all: &mut [Working], device: &str, frame: Frame, report: &mut Report) {
    let fits = |path: &Path| path.from == device && path.mac.is_none_or(|mac| frame.data.starts_with(&mac));
    // A path for this station before one for any.
    let found = all.iter_mut().filter(|working| fits(&working.path)).max_by_key(|working| working.path.mac.is_some());
    match found {
        Some(working) => working.line.accept(frame),
        None => report.lost += 1,
    }
}

fn deliver(line: &mut EmulatedLink, socket: &Packets, report: &mut Report) -> io::Result<()> {
    loop {
        let now = now_ns();
        line.advance(now);
        let due = line.on_the_way.iter().take(BATCH).take_while(|due| due.at_ns <= now).count();
        if due == 0 {
            return Ok(());
        }
        let (times, batch): (Vec<u64>, Vec<Frame>) =
            line.on_the_way.drain(..due).map(|due| (due.at_ns, due.frame)).unzip();
        let sent = socket.send(&batch)?;
        // A device that takes nothing more is full: as on a wire, what comes then is lost.
        report.lost += (due - sent) as u64;
        report.frames += sent as u64;
        for at in &times[..sent] {
            report.late.note(Time::from_ns(now - at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_or_refused_with_a_reason() {
        let path = Path::parse("in=w0,out=b1,mac=02:00:00:00:00:0a,delay=2.5ms").unwrap();
        assert_eq!((path.from.as_str(), path.to.as_str()), ("w0", "b1"));
        assert_eq!((path.mac, path.shape.delay_ns), (Some([2, 0, 0, 0, 0, 10]), 2_500_000));
        let path = Path::parse("in=a,out=b,delay=1ms,rate=20Mbps,queue=250kB,at=8s:0Mbps,at=13s:20Mbps").unwrap();
        let mbps = 1_000_000;
        let rates = vec![(0, 20 * mbps), (8_000_000_000, 0), (13_000_000_000, 20 * mbps)];
        assert_eq!(path.shape, Shape { delay_ns: 1_000_000, rates, queue: 250_000 });
        assert_eq!(Path::parse("in=a,out=b,delay=0us").unwrap().mac, None);
        for (wrong, why) in [
            ("in=a,out=b", "delay is missing"),
            ("out=b,delay=1ms", "in is missing"),
            ("in=a,out=b,delay=1h", "not a delay"),
            ("in=a,out=b,delay=1", "not a delay"),
            ("in=a,out=b,delay=1ms,mac=1:2", "not a MAC"),
            ("in=a,to=b,delay=1ms", "unknown part \"to=b\""),
            ("in=a,out=b,delay=1ms,rate=5Mbps", "a rate and a queue"),
            ("in=a,out=b,delay=1ms,queue=5kB", "a rate and a queue"),
            ("in=a,out=b,delay=1ms,queue=5kB,at=1s:5Mbps", "an initial rate"),
            ("in=a,out=b,delay=1ms,queue=5kB,rate=5Mbps,at=2s:5Mbps,at=1s:6Mbps", "times must increase"),
            ("in=a,out=b,delay=1ms,queue=5kB,rate=5", "not a rate"),
        ] {
            assert!(Path::parse(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}
