//! Delay in user space, for kernels without netem: frames leave a constant time after they came.

use std::collections::VecDeque;
use std::io::{self, Read};

use serde_json::{Value, json};

use crate::packets::{BATCH, Frame, Packets, now_ns, wait};

/// Frames that may be on the way on one path; at 200 Mbps and 100 ms there are 1,700 full ones.
const MOST: usize = 100_000;
/// Buckets of lateness, 10 µs each.
const BUCKETS: usize = 2000;

/// Where frames go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    from: String,
    to: String,
    /// Only frames to this station.
    mac: Option<[u8; 6]>,
    delay_ns: u64,
}

impl Path {
    /// Reads `in=w0,out=b1,mac=02:00:00:00:00:01,delay=10ms`.
    pub fn parse(text: &str) -> Result<Path, String> {
        let wrong =
            |what: &str| format!("{text:?}: {what}; write it like in=w0,out=b1,mac=02:00:00:00:00:01,delay=10ms");
        let (mut from, mut to, mut mac, mut delay_ns) = (None, None, None, None);
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("in", device)) => from = Some(device.to_owned()),
                Some(("out", device)) => to = Some(device.to_owned()),
                Some(("mac", station)) => {
                    mac = Some(station_of(station).ok_or_else(|| wrong("that is no MAC address"))?)
                }
                Some(("delay", time)) => delay_ns = Some(time_of(time).ok_or_else(|| wrong("that is no delay"))?),
                _ => return Err(wrong(&format!("{part:?} is not understood"))),
            }
        }
        Ok(Path {
            from: from.ok_or_else(|| wrong("in is missing"))?,
            to: to.ok_or_else(|| wrong("out is missing"))?,
            mac,
            delay_ns: delay_ns.ok_or_else(|| wrong("delay is missing"))?,
        })
    }
}

fn station_of(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
    bytes?.try_into().ok()
}

/// In whole or broken milliseconds or microseconds; up to ten seconds.
fn time_of(text: &str) -> Option<u64> {
    let (number, factor) = match (text.strip_suffix("ms"), text.strip_suffix("us")) {
        (Some(number), _) => (number, 1e6),
        (_, Some(number)) => (number, 1e3),
        _ => return None,
    };
    let ns = number.parse::<f64>().ok()? * factor;
    (0.0..=1e10).contains(&ns).then_some(ns as u64)
}

/// What a wire has done.
#[derive(Debug)]
pub struct Report {
    frames: u64,
    lost: u64,
    late: Vec<u64>,
}

impl Report {
    /// How late frames were: below this for a share `q` of them, in µs.
    fn quantile_us(&self, q: f64) -> Option<u64> {
        let wanted = (self.frames as f64 * q).ceil() as u64;
        let mut sum = 0;
        self.late
            .iter()
            .position(|n| {
                sum += n;
                sum >= wanted.max(1)
            })
            .map(|bucket| 10 * (bucket as u64 + 1))
    }

    /// One object.
    pub fn to_json(&self) -> Value {
        let q = |q| self.quantile_us(q);
        json!({"frames": self.frames, "lost": self.lost, "late_us": {"p50": q(0.5), "p99": q(0.99), "p999": q(0.999)}})
    }
}

/// A path at work.
struct Line {
    path: Path,
    to: usize,
    on_the_way: VecDeque<Frame>,
}

/// Forwards frames until standard input ends.
pub fn run(paths: &[Path]) -> io::Result<Report> {
    let mut names: Vec<&str> = paths.iter().flat_map(|path| [path.from.as_str(), path.to.as_str()]).collect();
    names.sort_unstable();
    names.dedup();
    let sockets = names.iter().map(|name| Packets::open(name)).collect::<io::Result<Vec<_>>>()?;
    let place = |name: &str| names.iter().position(|n| *n == name).expect("each device of a path is listed");
    let mut lines: Vec<Line> = paths
        .iter()
        .map(|path| Line { to: place(&path.to), path: path.clone(), on_the_way: VecDeque::new() })
        .collect();
    let mut descriptors: Vec<_> = sockets.iter().map(Packets::raw).collect();
    descriptors.push(0);
    let mut report = Report { frames: 0, lost: 0, late: vec![0; BUCKETS] };
    let mut free = Vec::new();
    println!("ready");
    loop {
        let ready = wait(&descriptors, next_wait(&lines))?;
        if ready[sockets.len()] && io::stdin().read(&mut [0; 64])? == 0 {
            return Ok(report);
        }
        for (at, socket) in sockets.iter().enumerate().filter(|(at, _)| ready[*at]) {
            for frame in socket.receive(&mut free)? {
                accept(&mut lines, names[at], frame, &mut report);
            }
        }
        for line in &mut lines {
            deliver(line, &sockets[line.to], &mut free, &mut report)?;
        }
    }
}

/// Until the next frame is due.
fn next_wait(lines: &[Line]) -> Option<u64> {
    let due =
        lines.iter().filter_map(|line| line.on_the_way.front().map(|frame| frame.at_ns + line.path.delay_ns)).min();
    due.map(|due| due.saturating_sub(now_ns()))
}

fn accept(lines: &mut [Line], device: &str, frame: Frame, report: &mut Report) {
    let fits = |line: &Line| line.path.from == device && line.path.mac.is_none_or(|mac| frame.data[..6] == mac);
    // A path for this station before one for any.
    let found = lines.iter().enumerate().filter(|(_, line)| fits(line)).max_by_key(|(_, line)| line.path.mac.is_some());
    match found.map(|(at, _)| at) {
        Some(at) if lines[at].on_the_way.len() < MOST => lines[at].on_the_way.push_back(frame),
        _ => report.lost += 1,
    }
}

fn deliver(line: &mut Line, socket: &Packets, free: &mut Vec<Frame>, report: &mut Report) -> io::Result<()> {
    loop {
        let now = now_ns();
        let due =
            line.on_the_way.iter().take(BATCH).take_while(|frame| frame.at_ns + line.path.delay_ns <= now).count();
        if due == 0 {
            return Ok(());
        }
        let batch: Vec<Frame> = line.on_the_way.drain(..due).collect();
        let sent = socket.send(&batch)?;
        // A device that takes nothing more is full: as on a wire, what comes then is lost.
        report.lost += (due - sent) as u64;
        report.frames += sent as u64;
        for frame in &batch[..sent] {
            let late_us = (now - frame.at_ns - line.path.delay_ns) / 1000;
            report.late[(late_us as usize / 10).min(BUCKETS - 1)] += 1;
        }
        free.extend(batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_or_refused_with_a_reason() {
        let path = Path::parse("in=w0,out=b1,mac=02:00:00:00:00:0a,delay=2.5ms").unwrap();
        assert_eq!((path.from.as_str(), path.to.as_str()), ("w0", "b1"));
        assert_eq!((path.mac, path.delay_ns), (Some([2, 0, 0, 0, 0, 10]), 2_500_000));
        assert_eq!(Path::parse("in=a,out=b,delay=0us").unwrap().mac, None);
        for (wrong, why) in [
            ("in=a,out=b", "delay is missing"),
            ("out=b,delay=1ms", "in is missing"),
            ("in=a,out=b,delay=1h", "no delay"),
            ("in=a,out=b,delay=1ms,mac=1:2", "no MAC"),
            ("in=a,to=b,delay=1ms", "\"to=b\" is not understood"),
        ] {
            assert!(Path::parse(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }

    #[test]
    fn lateness_is_counted_in_steps_of_ten_microseconds() {
        let mut report = Report { frames: 100, lost: 0, late: vec![0; BUCKETS] };
        report.late[3] = 99;
        report.late[BUCKETS - 1] = 1;
        assert_eq!((report.quantile_us(0.5), report.quantile_us(0.999)), (Some(40), Some(20_000)));
    }
}
