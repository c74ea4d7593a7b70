//! Clients that watch videos (`video = { … }`): BOLA's stationary states, drawn videos, and what is refused.

use std::fmt::Write;

use midpath_sim::{Column, RunOutput};
use proptest::prelude::*;

use crate::common::critical::{Piece, check_critical, paths};
use crate::common::reads::texts;
use crate::common::{cases, refused, same_with_threads_and_as_bytes};

/// Committed before the first run.
const TOLERANCE: f64 = 0.01;
/// Of sums of times in picoseconds, in seconds.
const ROUNDING: f64 = 1e-9;
/// γp of the paper's evaluation, and ours.
const GAMMA: f64 = 5.0;
const DELAY_MS: f64 = 5.0;

#[derive(Debug, Clone)]
struct Video {
    /// In kbps.
    ladder: Vec<u64>,
    segment_ms: u64,
    segments: usize,
    buffer_ms: u64,
    bola: bool,
}

impl Video {
    fn toml(&self) -> String {
        let ladder: Vec<String> = self.ladder.iter().map(|kbps| format!("\"{kbps} kbps\"")).collect();
        format!(
            "video = {{ ladder = [{}], segment = \"{} ms\", segments = {}, buffer = \"{} ms\", rule = \"{}\" }}\n",
            ladder.join(", "),
            self.segment_ms,
            self.segments,
            self.buffer_ms,
            if self.bola { "bola" } else { "rate" }
        )
    }
    fn segment_s(&self) -> f64 {
        self.segment_ms as f64 / 1e3
    }
    fn utility(&self, kbps: u64) -> f64 {
        (kbps as f64 / self.ladder[0] as f64).ln()
    }
    fn v(&self) -> f64 {
        (self.buffer_ms as f64 / self.segment_ms as f64 - 1.0) / (self.utility(*self.ladder.last().unwrap()) + GAMMA)
    }
    /// Segments in the buffer above which BOLA waits.
    fn most(&self) -> f64 {
        self.v() * (self.utility(*self.ladder.last().unwrap()) + GAMMA)
    }
    /// Segments in the buffer at which BOLA changes between two bitrates: their scores are equal.
    fn threshold(&self, a: u64, b: u64) -> f64 {
        let (ra, rb) = (a as f64, b as f64);
        self.v() * (GAMMA + (rb * self.utility(a) - ra * self.utility(b)) / (rb - ra))
    }
}

fn star(kbps: u64, hosts: usize, scheme: &str, more: &str) -> String {
    format!(
        "scheme = \"{scheme}\"\nschemes.fixed-window.window = 100000\nqueue.limit = \"100 MB\"\n[topology]\n\
         generate = \"star\"\nn = {hosts}\naccess = {{ rate = \"{kbps} kbps\", delay = \"{DELAY_MS} ms\" }}\n{more}"
    )
}

fn client(video: &Video, more: &str) -> String {
    format!("[[client]]\nfrom = [\"h0\"]\nto = [\"h1\"]\nrequests = 1\nconnections = \"reuse\"\n{}{more}", video.toml())
}

/// From a request to its segment, over open connections.
fn segment_time_s(kbps: u64, link_kbps: u64, segment_ms: u64) -> f64 {
    let wire = |bytes: f64| 8.0 * (bytes + 52.0 * (bytes / 1448.0).ceil()) / (link_kbps as f64 * 1e3);
    let bytes = kbps as f64 * segment_ms as f64 / 8.0;
    4.0 * DELAY_MS / 1e3 + 2.0 * wire(500.0) + wire(bytes) + wire(1448.0)
}

/// BOLA between two bitrates: as many segments of each that as much is loaded as is played.
#[test]
fn bola_loads_what_the_link_carries() {
    for (link, ladder) in [(1000, vec![200, 400, 700, 1200, 2000]), (2600, vec![500, 1000, 3000])] {
        let video = Video { ladder, segment_ms: 2000, segments: 600, buffer_ms: 24_000, bola: true };
        let out = same_with_threads_and_as_bytes(&star(link, 2, "fixed-window", &client(&video, "")), 2);
        let at = video.ladder.iter().position(|kbps| *kbps > link).unwrap();
        let (a, b) = (video.ladder[at - 1], video.ladder[at]);
        let [low, high] = [a, b].map(|kbps| segment_time_s(kbps, link, video.segment_ms));
        let share = (video.segment_s() - low) / (high - low);
        let wanted = 1e3 * (a as f64 + share * (b as f64 - a as f64));
        let segments = out.table("segments").unwrap();
        let found = &segments.f64("bitrate_bps")[100..];
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert!((mean / wanted - 1.0).abs() < TOLERANCE, "{link} kbps: {mean}, {wanted}");
        assert!(found.iter().all(|rate| [a, b].contains(&((rate / 1e3) as u64))), "{link} kbps");
        // It stays within a segment of where both are worth the same.
        let level = segments.f64("buffer_s")[100..].iter().sum::<f64>() / found.len() as f64 / video.segment_s();
        assert!((level - video.threshold(a, b)).abs() < 1.0, "{link} kbps: {level} {}", video.threshold(a, b));
        assert_eq!(
            (out.run["videos"][0]["stalls"].as_u64(), out.run["videos"][0]["completed"].as_u64()),
            (Some(0), Some(1))
        );
    }
}

/// On a faster link the buffer is full: the highest bitrate, each segment as soon as it has room.
#[test]
fn bola_waits_with_a_full_buffer() {
    let video = Video { ladder: vec![200, 500, 1100], segment_ms: 3000, segments: 150, buffer_ms: 30_000, bola: true };
    let link = 4000;
    let out = same_with_threads_and_as_bytes(&star(link, 2, "fixed-window", &client(&video, "")), 2);
    let segments = out.table("segments").unwrap();
    for (level, rate) in segments.f64("buffer_s").iter().zip(segments.f64("bitrate_bps")).skip(50) {
        assert!(
            (level / (video.most() * video.segment_s()) - 1.0).abs() < TOLERANCE && *rate == 1.1e6,
            "{level} {rate}"
        );
    }
    let start = &segments.f64("start_s")[50..];
    let apart = (start[99] - start[0]) / 99.0;
    assert!((apart / video.segment_s() - 1.0).abs() < TOLERANCE, "{apart}");
}

/// What holds of every view.
fn check(out: &RunOutput, video: &Video, views: usize) {
    check_critical(out);
    // A request and a response for each segment.
    let on_the_way = |path: &Vec<_>| path.iter().filter(|piece: &&Piece| piece.part == "network").count();
    assert_eq!(paths(out).values().map(on_the_way).collect::<Vec<_>>(), vec![2 * video.segments; views]);
    let (table, all) = (out.table("videos").unwrap(), out.table("segments").unwrap());
    assert_eq!((table.rows(), all.rows()), (views, views * video.segments));
    let number = match all.column("segment") {
        Some(Column::U32(all)) => all.clone(),
        _ => panic!(),
    };
    let flow = match all.column("flow") {
        Some(Column::U32(all)) => all.clone(),
        _ => panic!(),
    };
    let [start, buffer, rate, took] = ["start_s", "buffer_s", "bitrate_bps", "completion_s"].map(|c| all.f64(c));
    let flows = out.table("flows").unwrap();
    let p = video.segment_s();
    for view in 0..views {
        let own = view * video.segments..(view + 1) * video.segments;
        let (mut level, mut at, mut stalls, mut stalled, mut switches) = (0.0, f64::NAN, 0, 0.0, 0);
        let mut last: Vec<f64> = Vec::new();
        for i in own.clone() {
            assert_eq!(number[i] as usize, i - own.start);
            let then: f64 = if at.is_nan() { 0.0 } else { f64::max(level - (start[i] - at), 0.0) };
            assert!(at.is_nan() || start[i] >= at - ROUNDING, "asked before the last had come");
            assert!((then - buffer[i]).abs() < ROUNDING, "{then} {}", buffer[i]);
            let (kbps, q) = ((rate[i] / 1e3).round() as u64, then / p);
            assert!(video.ladder.contains(&kbps));
            if video.bola {
                let score = |kbps: u64| (video.v() * (video.utility(kbps) + GAMMA) - q) / kbps as f64;
                let best = video.ladder.iter().map(|kbps| score(*kbps)).fold(f64::MIN, f64::max);
                assert!(score(kbps) >= best - 1e-9 && best >= -1e-9, "{i}: {kbps} at {q}");
            } else {
                let five = &last[last.len().saturating_sub(5)..];
                let mean = five.len() as f64 / five.iter().map(|rate| 1.0 / rate).sum::<f64>();
                let below = video.ladder.iter().rev().find(|kbps| **kbps as f64 * 1e3 <= mean * (1.0 + 1e-12));
                assert_eq!(kbps, *below.unwrap_or(&video.ladder[0]), "{i}: {mean}");
            }
            let bytes = (rate[i] * p / 8.0).round();
            assert_eq!(flows.f64("size_bytes")[flow[i] as usize + 1], bytes);
            let end = start[i] + took[i];
            if !at.is_nan() {
                let missing = f64::max(end - at - level, 0.0);
                stalls += u64::from(missing > ROUNDING);
                stalled += missing;
                level = f64::max(level - (end - at), 0.0);
            }
            level += p;
            at = end;
            assert!(level <= video.buffer_ms as f64 / 1e3 + ROUNDING, "{level}");
            switches += u32::from(i > own.start && rate[i] != rate[i - 1]);
            last.push(8.0 * bytes / took[i]);
        }
        let found = match table.column("stalls") {
            Some(Column::U64(all)) => all[view],
            _ => panic!(),
        };
        assert_eq!(found, stalls);
        assert!((table.f64("stalled_s")[view] - stalled).abs() < 1e-6);
        assert_eq!(table.f64("startup_s")[view], took[own.start]);
        assert_eq!(
            match table.column("switches") {
                Some(Column::U32(all)) => all[view],
                _ => panic!(),
            },
            switches
        );
        let mean = rate[own.clone()].iter().sum::<f64>() / video.segments as f64;
        assert!((table.f64("bitrate_bps")[view] / mean - 1.0).abs() < ROUNDING);
    }
    // Of each segment one bitrate is loaded.
    let groups = texts(out, "flows", "group");
    let started = (0..groups.len()).filter(|i| groups[*i] == "client0" && !flows.f64("start_s")[*i].is_nan());
    assert_eq!(started.count(), 2 * views * video.segments);
}

prop_compose! {
    fn videos()(
        first in 50u64..400, steps in prop::collection::vec(1u64..900, 0..6), segment_ms in 200u64..4000, segments in 2usize..40,
        room in 2.0f64..12.0, bola in any::<bool>(),
    ) -> Video {
        let mut ladder = vec![first];
        steps.iter().for_each(|step| ladder.push(ladder[ladder.len() - 1] + step));
        Video { ladder, segment_ms, segments, buffer_ms: (room * segment_ms as f64).ceil() as u64, bola }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// Alone on a link, views one after another.
    #[test]
    fn videos_are_watched_alone(video in videos(), link in 100u64..4000, views in 1usize..3) {
        let client = client(&video, "think_time = \"1 s\"\n").replace("requests = 1", &format!("requests = {views}"));
        check(&same_with_threads_and_as_bytes(&star(link, 2, "cubic", &client), 2), &video, views);
    }

    /// Several of them beside each other and a long transfer, with losses.
    #[test]
    fn videos_are_watched_together(video in videos(), link in 500u64..6000, hosts in 2usize..4) {
        let mut text = client(&video, "jitter = \"3 s\"\n").replace("[\"h1\"]", "[\"h9\"]");
        let from: Vec<String> = (0..hosts).map(|host| format!("\"h{host}\"")).collect();
        text = text.replace("[\"h0\"]", &format!("[{}]", from.join(", ")));
        write!(text, "[[flow]]\nfrom = \"h9\"\nto = \"h0\"\nsize = \"300 kB\"\nstart = \"4 s\"\n").unwrap();
        let text = star(link, 10, "newreno", &text).replace("100 MB", "30 kB");
        check(&same_with_threads_and_as_bytes(&text, 3), &video, hosts);
    }
}

#[test]
fn videos_that_cannot_be_watched_are_refused_by_their_key() {
    let video = Video { ladder: vec![200, 500, 1100], segment_ms: 3000, segments: 15, buffer_ms: 30_000, bola: true };
    let good = client(&video, "");
    for (from, to, key, cure) in [
        ("\"500 kbps\"", "\"100 kbps\"", "client[0].video.ladder[1]", "write them in ascending order"),
        ("\"500 kbps\"", "\"200 kbps\"", "client[0].video.ladder[1]", "write them in ascending order"),
        ("\"200 kbps\"", "\"0 bps\"", "client[0].video.ladder", "above zero"),
        ("segment = \"3000 ms\"", "segment = \"0 s\"", "client[0].video.segment", "above zero"),
        ("segments = 15", "segments = 0", "client[0].video.segments", "at least 1"),
        ("buffer = \"30000 ms\"", "buffer = \"2 s\"", "client[0].video.buffer", "give it two `segment`s or more"),
        ("rule = \"bola\"", "rule = \"rate\", gamma = 3", "client[0].video.gamma", "leave it out"),
        ("rule = \"bola\"", "gamma = 0", "client[0].video.gamma", "from 0.001 to 1000"),
        (
            "connections = \"reuse\"",
            "connections = \"new\"",
            "client[0].connections",
            "write `connections = \"reuse\"`",
        ),
        ("requests = 1\n", "requests = 1\nfan_out = 2\n", "client[0].fan_out", "leave it out"),
        ("requests = 1\n", "requests = 1\nworkers = 2\n", "client[0].workers", "leave it out"),
        ("requests = 1\n", "requests = 1\npage = \"x.har\"\n", "client[0].page", "leave one out"),
        ("requests = 1\n", "requests = 1\nrate = \"1 Mbps\"\n", "client[0].video", "without `rate`"),
        ("\"bola\"", "\"bula\"", "client[0].video", "did you mean `bola`"),
    ] {
        let text = good.replace(from, to);
        assert_ne!(text, good, "{from}");
        let message = refused(&star(1000, 2, "cubic", &text));
        assert!(message.contains(key) && message.contains(cure) && message.starts_with("line "), "{message}");
    }
}
