//! Results by view of a video, and by segment. Times are those of their flows.

use midpath_core::units::{Rate, Time};
use midpath_traffic::{ClientFlows, Playback, VideoFlows};
use serde_json::{Value, json};

use super::FlowRows;
use super::columns::{Columns, Values, seconds, table};
use super::critical::{Kind, Span, slowest};
use super::summary::{mean, number};
use crate::output::Table;
use crate::setup::Setup;

/// A segment that was asked for.
#[derive(Debug, Clone, Copy)]
struct Segment {
    flow: usize,
    bitrate: Rate,
    start: Time,
    /// In the buffer then.
    level: Time,
    end: Option<Time>,
}

/// What became of a view.
struct Outcome {
    first_flow: usize,
    segments: Vec<Segment>,
    playback: Playback,
    whole: bool,
}

impl Outcome {
    fn of(rows: &FlowRows<'_>, videos: &VideoFlows, view: usize) -> Outcome {
        let (mut playback, mut segments) = (Playback::default(), Vec::new());
        for number in 0..videos.video.segments as usize {
            let asked = (0..videos.video.ladder.len()).find_map(|rung| {
                let [request, response] = videos.messages(view, number, rung);
                Some((rung, request, response, rows.get(request).start?))
            });
            let Some((rung, flow, response, start)) = asked else { break };
            let end = rows.get(response).report.completed;
            segments.push(Segment {
                flow,
                bitrate: videos.video.ladder[rung],
                start,
                level: playback.level_at(start),
                end,
            });
            end.into_iter().for_each(|end| playback.add(videos.video.segment, end));
        }
        let whole = segments.len() as u64 == videos.video.segments && segments.iter().all(|own| own.end.is_some());
        Outcome { first_flow: videos.views[view], segments, playback, whole }
    }

    fn start(&self) -> Option<Time> {
        Some(self.segments.first()?.start)
    }

    fn startup(&self) -> Option<Time> {
        let first = self.segments.first()?;
        Some(first.end?.saturating_sub(first.start))
    }

    fn switches(&self) -> usize {
        self.segments.windows(2).filter(|pair| pair[0].bitrate != pair[1].bitrate).count()
    }

    fn bitrate(&self) -> f64 {
        let come: Vec<f64> =
            self.segments.iter().filter(|own| own.end.is_some()).map(|own| own.bitrate.0 as f64).collect();
        mean(&come)
    }
}

/// A view of the table.
#[derive(Clone, Copy)]
pub(super) struct ViewRow<'a> {
    setup: &'a Setup,
    client: &'a ClientFlows,
    number: usize,
    outcome: &'a Outcome,
}

/// A segment of the table.
#[derive(Clone, Copy)]
pub(super) struct SegmentRow<'a> {
    view: ViewRow<'a>,
    number: usize,
    own: &'a Segment,
}

impl<'a> ViewRow<'a> {
    fn segments(self) -> impl Iterator<Item = SegmentRow<'a>> {
        let all = self.outcome.segments.iter().enumerate();
        all.map(move |(number, own)| SegmentRow { view: self, number, own })
    }
}

/// Videos of a run.
pub struct Videos<'a> {
    setup: &'a Setup,
    /// Of each client that watches one, with the outcomes of its views.
    clients: Vec<(&'a ClientFlows, Vec<Outcome>)>,
}

impl<'a> Videos<'a> {
    /// Joins what is known of their flows.
    pub fn new(setup: &'a Setup, rows: &FlowRows<'_>) -> Videos<'a> {
        let of_client = |client: &'a ClientFlows| {
            let videos = client.video.as_ref()?;
            Some((client, (0..videos.views.len()).map(|view| Outcome::of(rows, videos, view)).collect()))
        };
        Videos { setup, clients: setup.flows.clients().iter().filter_map(of_client).collect() }
    }

    fn rows(&self) -> impl Iterator<Item = ViewRow<'_>> {
        self.clients.iter().flat_map(|(client, outcomes)| {
            let row = |(number, outcome)| ViewRow { setup: self.setup, client, number, outcome };
            outcomes.iter().enumerate().map(row).filter(|row| row.outcome.start().is_some())
        })
    }

    /// Tells of the views that ended, of each client those that took longest.
    pub(super) fn spans(&self, kept: usize, tell: &mut dyn FnMut(&'a str, Kind<'a>, usize, &Span)) {
        for (client, outcomes) in &self.clients {
            let Some(videos) = &client.video else { continue };
            let span = |view: &Outcome| {
                let (start, last) = (view.start()?, view.segments.last().filter(|_| view.whole)?);
                let flows = view.first_flow..view.first_flow + videos.each();
                Some(Span { flows, start, last: (last.flow + 1, last.end?) })
            };
            let ended = outcomes.iter().enumerate().filter_map(|(number, view)| {
                let span = span(view)?;
                Some((number, span.last.1.saturating_sub(span.start)))
            });
            for number in slowest(ended, kept) {
                span(&outcomes[number]).iter().for_each(|span| tell(&client.group, Kind::View, number, span));
            }
        }
    }

    /// Their tables, by name: none where there is no video.
    pub fn tables(&self) -> Vec<(String, Table)> {
        if self.clients.is_empty() {
            return Vec::new();
        }
        vec![
            ("videos".to_owned(), table(view_columns(), self.rows())),
            ("segments".to_owned(), table(segment_columns(), self.rows().flat_map(ViewRow::segments))),
        ]
    }

    /// `videos` of `run.json`.
    pub fn json(&self) -> Vec<Value> {
        let one = |(client, outcomes): &(&ClientFlows, Vec<Outcome>)| {
            let begun: Vec<&Outcome> = outcomes.iter().filter(|view| view.start().is_some()).collect();
            let startup: Vec<f64> = begun.iter().filter_map(|view| view.startup()).map(Time::as_secs_f64).collect();
            let stalled = begun.iter().map(|view| view.playback.stalled).fold(Time::ZERO, Time::saturating_add);
            let bitrates: Vec<f64> = begun.iter().map(|view| view.bitrate()).filter(|rate| rate.is_finite()).collect();
            json!({
                "group": *client.group,
                "views": begun.len(),
                "completed": begun.iter().filter(|view| view.whole).count(),
                "startup_mean_s": number(mean(&startup)),
                "stalls": begun.iter().map(|view| view.playback.stalls).sum::<u64>(),
                "stalled_s": stalled.as_secs_f64(),
                "switches": begun.iter().map(|view| view.switches()).sum::<usize>(),
                "bitrate_mean_bps": number(mean(&bitrates)),
            })
        };
        self.clients.iter().map(one).collect()
    }
}

/// In this order.
pub(super) fn view_columns<'a>() -> Columns<'a, ViewRow<'a>> {
    use Values::{Bool, F64, Text, U32, U64};
    vec![
        ("client", "", Text(|v| &v.client.group)),
        ("view", "", U32(|v| v.number as u32)),
        (
            "src",
            "its `group`; number from 0; who watches",
            Text(|v| &v.setup.topology.nodes()[v.setup.flows.get(v.outcome.first_flow).flow.src as usize].name),
        ),
        ("start_s", "", F64(|v| seconds(v.outcome.start()))),
        (
            "startup_s",
            "when it asks for the first segment, and until that plays",
            F64(|v| seconds(v.outcome.startup())),
        ),
        ("stalls", "", U64(|v| v.outcome.playback.stalls)),
        ("stalled_s", "how often and how long it could not go on", F64(|v| v.outcome.playback.stalled.as_secs_f64())),
        ("switches", "changes of bitrate", U32(|v| v.outcome.switches() as u32)),
        ("bitrate_bps", "mean over segments", F64(|v| v.outcome.bitrate())),
        ("completed", "true or false", Bool(|v| v.outcome.whole)),
    ]
}

/// In this order.
pub(super) fn segment_columns<'a>() -> Columns<'a, SegmentRow<'a>> {
    use Values::{F64, Text, U32};
    vec![
        ("client", "", Text(|s| &s.view.client.group)),
        ("view", "", U32(|s| s.view.number as u32)),
        ("segment", "", U32(|s| s.number as u32)),
        ("flow", "its view; number from 0; its request", U32(|s| s.own.flow as u32)),
        ("start_s", "", F64(|s| s.own.start.as_secs_f64())),
        ("buffer_s", "when it is asked for; playing time in the buffer then", F64(|s| s.own.level.as_secs_f64())),
        ("bitrate_bps", "", F64(|s| s.own.bitrate.0 as f64)),
        (
            "completion_s",
            "its own; until it has come",
            F64(|s| seconds(s.own.end.map(|end| end.saturating_sub(s.own.start)))),
        ),
    ]
}
