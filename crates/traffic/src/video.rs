//! `video` of a `[[client]]`: segments of several bitrates into a buffer that is played.

use std::ops::Range;
use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::after::{ConnectionPool, Step, WaitFor};
use crate::client::{ClientFlows, ClientSpec, Connections};
use crate::durations::Durations;
use crate::flow::{ArrivalPattern, Budget};
use crate::flows::{Counts, FlowList, NewFlow};
use crate::generate::Context;
use crate::matrix::in_order;
use crate::stream::{Purpose, stream};

/// A video that is watched while it is loaded, segment by segment (DASH, HLS).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VideoSpec {
    /// Bitrates, from the lowest on.
    #[schemars(extend("examples" = [["500 kbps", "1 Mbps", "3 Mbps"]]))]
    pub ladder: Vec<Rate>,
    /// Playing time of a segment.
    #[schemars(extend("examples" = ["4 s"]))]
    pub segment: Time,
    /// Number of segments.
    #[schemars(extend("examples" = [60]))]
    pub segments: u64,
    /// Most playing time in the buffer: a segment is asked for when it has room.
    #[schemars(extend("examples" = ["30 s"]))]
    pub buffer: Time,
    /// Which bitrate is asked for.
    #[serde(default)]
    pub rule: BitrateRule,
    /// Of `bola`: γp, how much longer stalls weigh than quality; default 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [5.0]))]
    pub gamma: Option<f64>,
}

/// Which bitrate is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BitrateRule {
    /// BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016): by the buffer's level (default).
    #[default]
    Bola,
    /// The highest below the harmonic mean of the last five segments' throughput (Yin et al., SIGCOMM 2015, their RB).
    Rate,
}

/// Segments whose throughput the rule `rate` averages: Yin et al. 2015, 7.1.2, "RB", with p = 1.
pub const AVERAGED: usize = 5;

/// γp of BOLA's evaluation, and of Sabre, its authors' simulator.
const GAMMA: f64 = 5.0;

impl VideoSpec {
    /// Checks it; keys of errors are relative to it.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let wrong = |key: &str, message: &str| Err(SpecError::new(key, message));
        if self.ladder.is_empty() || self.ladder[0] == Rate::ZERO {
            return wrong("ladder", "at least one bitrate, each above zero");
        }
        if let Some(i) = self.ladder.windows(2).position(|pair| pair[0] >= pair[1]) {
            return wrong(
                &format!("ladder[{}]", i + 1),
                "is not above the bitrate before it; write them in ascending order",
            );
        }
        if self.segment.is_zero() {
            return wrong("segment", "must be above zero");
        }
        if self.segments == 0 {
            return wrong("segments", "at least 1");
        }
        if self.buffer.0 < 2 * self.segment.0 {
            return wrong(
                "buffer",
                "has no room for a segment beside the one that is played; give it two `segment`s or more",
            );
        }
        if self.gamma.is_some() && self.rule != BitrateRule::Bola {
            return wrong("gamma", "applies to `bola`; leave it out");
        }
        if self.gamma.is_some_and(|gamma| !(0.001..=1000.0).contains(&gamma)) {
            return wrong("gamma", "a number from 0.001 to 1000");
        }
        let largest = self.size(self.ladder.len() - 1);
        if largest.0 > 1 << 40 || self.size(0).0 == 0 {
            return wrong("ladder", "a segment has 1 B to 1 TB; change it, or `segment`");
        }
        Ok(())
    }

    /// Bytes of a segment.
    pub fn size(&self, rung: usize) -> Bytes {
        Bytes((self.ladder[rung].0 as f64 * self.segment.as_secs_f64() / 8.0).round() as u64)
    }

    /// υ_m: the logarithm of a segment's size over the smallest's.
    fn utility(&self, rung: usize) -> f64 {
        (self.ladder[rung].0 as f64 / self.ladder[0].0 as f64).ln()
    }

    fn highest(&self) -> usize {
        self.ladder.len() - 1
    }

    /// γp.
    fn gamma(&self) -> f64 {
        self.gamma.unwrap_or(GAMMA)
    }

    /// V = (Q_max − 1) / (υ_M + γp): the largest with which the buffer never has more than Q_max segments. Sabre's `Vp` is
    /// this times a segment's playing time (`Bola`, UMass-LIDS/sabre, commit 38a9c3b), its levels likewise.
    fn v(&self) -> f64 {
        (self.buffer.as_secs_f64() / self.segment.as_secs_f64() - 1.0) / (self.utility(self.highest()) + self.gamma())
    }

    /// Which bitrate is asked for with so much in the buffer, or how long that waits. `throughputs` are those of the last
    /// segments, in bits per second.
    pub fn choose(&self, level: Time, throughputs: &[f64]) -> Result<usize, Time> {
        match self.rule {
            BitrateRule::Bola => {
                // The largest (V υ_m + V γp − Q) / S_m, unless all are negative.
                let (v, q) = (self.v(), level.as_secs_f64() / self.segment.as_secs_f64());
                let most = v * (self.utility(self.highest()) + self.gamma());
                if q > most {
                    return Err(Time::from_secs_f64((q - most) * self.segment.as_secs_f64()).max(Time(1)));
                }
                let score = |rung: usize| (v * (self.utility(rung) + self.gamma()) - q) / self.ladder[rung].0 as f64;
                let all = 0..self.ladder.len();
                Ok(all.max_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap_or(0))
            }
            BitrateRule::Rate => {
                let above = level.saturating_add(self.segment).saturating_sub(self.buffer);
                if !above.is_zero() {
                    return Err(above);
                }
                let last = &throughputs[throughputs.len().saturating_sub(AVERAGED)..];
                let mean = last.len() as f64 / last.iter().map(|rate| 1.0 / rate).sum::<f64>();
                let below = |rate: &Rate| rate.0 as f64 <= mean;
                Ok(self.ladder.iter().rposition(below).unwrap_or(0))
            }
        }
    }
}

/// What is played, and when nothing can be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Playback {
    /// Playing time in the buffer when the last segment came.
    level: Time,
    /// When that was.
    playing: Option<Time>,
    /// How often nothing could be played.
    pub stalls: u64,
    /// How long, in all.
    pub stalled: Time,
}

impl Playback {
    /// Playing time in the buffer then.
    pub fn level_at(&self, now: Time) -> Time {
        self.playing.map_or(self.level, |since| self.level.saturating_sub(now.saturating_sub(since)))
    }

    /// A segment has come.
    pub fn add(&mut self, segment: Time, now: Time) {
        if let Some(since) = self.playing.replace(now) {
            let missing = now.saturating_sub(since).saturating_sub(self.level);
            self.stalled = self.stalled.saturating_add(missing);
            self.stalls += u64::from(!missing.is_zero());
            self.level = self.level.saturating_sub(now.saturating_sub(since));
        }
        self.level = self.level.saturating_add(segment);
    }
}

/// Bytes of a request. Ours.
const REQUEST: u64 = 500;
/// Flows of a segment of one bitrate: its request and the segment.
const MESSAGES: usize = 2;

/// Where the flows of views are: of each segment and bitrate a request and a response, of which those that are not asked
/// for never start.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoFlows {
    /// What is watched.
    pub video: Arc<VideoSpec>,
    /// The first flow of each view, loop after loop.
    pub views: Vec<usize>,
    /// All flows, connections included.
    pub flows: Range<usize>,
}

impl VideoFlows {
    /// Flows of a view.
    pub fn each(&self) -> usize {
        MESSAGES * self.video.segments as usize * self.video.ladder.len()
    }

    /// The request and the response of a segment of a view at a bitrate.
    pub fn messages(&self, view: usize, segment: usize, rung: usize) -> [usize; MESSAGES] {
        let first = self.views[view] + MESSAGES * (segment * self.video.ladder.len() + rung);
        [first, first + 1]
    }
}

impl ClientSpec {
    /// Appends the flows of entry `index`, which watches `video`; keys of errors are relative to the entry.
    pub(crate) fn push_video(
        &self,
        video: &VideoSpec,
        index: usize,
        cx: &Context<'_>,
        budget: &mut Budget,
        out: &mut FlowList,
    ) -> Result<(), SpecError> {
        self.check_requests_alone("video")?;
        video.check().map_err(|e| e.under("video"))?;
        if self.connections != Connections::Reuse {
            let message = "a video's segments come over a connection that is kept; write `connections = \"reuse\"`";
            return Err(SpecError::new("connections", message));
        }
        let others = [
            ("page", self.page.is_some(), "and `video` are two things to load; leave one out"),
            ("workers", self.workers.is_some(), "applies to requests and pages; leave it out"),
            ("scheduling", self.scheduling.is_some(), "applies to requests and pages; leave it out"),
            ("deadline", self.deadline.is_some(), "applies to requests and pages; leave it out"),
        ];
        if let Some((key, _, message)) = others.into_iter().find(|other| other.1) {
            return Err(SpecError::new(key, message));
        }
        let (clients, servers) = (in_order(&self.from, "from", cx.hosts)?, in_order(&self.to, "to", cx.hosts)?);
        self.check_hosts(&clients, &servers)?;
        let each = video.segments.saturating_mul(video.ladder.len() as u64).saturating_mul(MESSAGES as u64);
        let flows = (clients.len() as u64).saturating_mul(self.requests).saturating_mul(each.saturating_add(2));
        budget.take(flows, ArrivalPattern::Spaced, "requests")?;
        let (group, terms, after) = self.terms(index, cx, out)?;
        let connections = self.connection_terms(&group, cx, out)?;
        let think = Durations::new(self.think_time.as_ref(), "think_time")?;
        let mut times = stream(cx.seed, Purpose::ThinkTimes, index);
        let (first, first_pool, video) = (out.len(), out.pools().len(), Arc::new(video.clone()));
        let mut views = Vec::new();
        self.loops(&clients, after, (index, cx), out, |own, out| {
            // Clients are spread over the servers.
            let others: Vec<u32> = servers.iter().map(|host| host.node).filter(|node| *node != own.node).collect();
            let ends = (own.node, others[own.place % others.len()]);
            let (mut begin, mut start) = own.begin(out);
            let pool = out.pool(ConnectionPool {
                ends,
                first: 0,
                connections: 1,
                streams: 1,
                keeps: true,
                messages: MESSAGES,
            });
            out.watch(pool, video.clone());
            for _ in 0..own.requests {
                views.push(out.len());
                begin = push_view(&video, ends, terms, pool, (begin, start), out);
                start = think.sample(&mut times);
            }
        });
        out.connect_pools(first_pool, connections);
        let video = Some(VideoFlows { video, views, flows: first..out.len() });
        out.add_client(ClientFlows { group, first, video, ..ClientFlows::default() });
        Ok(())
    }
}

/// A view: the step with whose end it is over.
fn push_view(
    video: &VideoSpec,
    (client, server): (u32, u32),
    terms: u32,
    pool: u32,
    begin: (u32, Time),
    out: &mut FlowList,
) -> u32 {
    let (mut before, mut later) = begin;
    for _ in 0..video.segments {
        let (ready, done) = (out.step(Step::new(client, 1)), out.step(Step::new(client, 1)));
        out.then(before, ready, later);
        (before, later) = (done, Time::ZERO);
        for rung in 0..video.ladder.len() {
            let come = out.step(Step::new(server, 1));
            let flow = |(src, dst), size, wait| NewFlow {
                src,
                dst,
                size: Some(size),
                start: Time::ZERO,
                stop: None,
                wait: Some(WaitFor::Step(wait)),
                terms,
            };
            out.push_pooled(flow((client, server), Bytes(REQUEST), ready), Some(come), pool, done);
            out.push_step(flow((server, client), video.size(rung), come), Counts::one(Some(done)));
        }
    }
    before
}
