//! A transport whose flows the receiving end opens, as a consumer of named data does: a flow still
//! moves data from `from` to `to`.

use std::path::Path;
use std::sync::Arc;

use crate::common::reads::most;
use midpath_core::packet::{ICN_HEADER, IP_HEADER, Kind, NodeId, Packet};
use midpath_core::roles::{Accept, End, Endpoint, EndpointCtx, FlowReport, FlowSpec, Parts, Transport};
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, run_with};

const HEADERS: u32 = IP_HEADER + ICN_HEADER;

/// Asks for one packet after the other.
struct Pull;

impl Transport for Pull {
    fn headers(&self) -> u32 {
        HEADERS
    }
    fn opener(&self) -> End {
        End::Destination
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Consumer { flow: *flow, report: FlowReport::default() })
    }
    fn accept(&self, first: &Packet, expected: Option<&FlowSpec>) -> Accept {
        match (first.kind, expected) {
            (Kind::Interest, Some(flow)) => Accept::Take(Box::new(Producer { flow: *flow, sent: 0 })),
            _ => Accept::Ignore,
        }
    }
}

struct Consumer {
    flow: FlowSpec,
    report: FlowReport,
}

impl Consumer {
    fn ask(&self, ctx: &mut EndpointCtx<'_>) {
        let mut interest = Packet::new(ctx.flow, ctx.node, self.flow.src, HEADERS);
        (interest.kind, interest.seq) = (Kind::Interest, self.report.delivered as u32);
        ctx.send(interest);
    }
}

impl Endpoint for Consumer {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        assert_eq!(ctx.node, self.flow.dst);
        self.ask(ctx);
    }
    fn on_packet(&mut self, data: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.report.delivered += u64::from(data.payload);
        if self.flow.size.is_some_and(|s| self.report.delivered >= s.0) {
            self.report.completed = Some(ctx.now);
            return ctx.finish();
        }
        self.ask(ctx);
    }
    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn report(&self) -> FlowReport {
        self.report
    }
}

struct Producer {
    flow: FlowSpec,
    sent: u64,
}

impl Endpoint for Producer {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        assert_eq!(ctx.node, self.flow.src);
    }
    fn on_packet(&mut self, interest: &Packet, ctx: &mut EndpointCtx<'_>) {
        let left = self.flow.size.map_or(u64::MAX, |s| s.0.saturating_sub(interest.seq.into()));
        let payload = left.min(u64::from(self.flow.mtu - HEADERS)) as u32;
        let to: NodeId = interest.src;
        let mut data = Packet::new(ctx.flow, ctx.node, to, HEADERS + payload);
        (data.kind, data.seq, data.payload) = (Kind::Data, interest.seq, payload as u16);
        ctx.send(data);
        self.sent += 1;
    }
    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn report(&self) -> FlowReport {
        FlowReport { sent: self.sent, ..FlowReport::default() }
    }
}

fn run(text: &str) -> RunOutput {
    let catalogue = Catalogue::standard().with("pull", |_| {
        Ok(Arc::new(Parts { name: "pull".to_owned(), transport: Some(Arc::new(Pull)), network: None }))
    });
    run_with(text, Path::new("."), &RunOptions::default(), &catalogue, &mut |_| true).expect("valid").expect("ran")
}

/// 10 Mbps and 1 ms: an Interest takes 32 us and a packet of 1500 bytes 1.2 ms, so each of the 100
/// packets takes 3.232 ms.
#[test]
fn data_go_from_the_source_to_the_destination_whoever_asks() {
    let out = run(r#"
scheme = "pull"
[topology]
links = [{ a = "a", b = "b", rate = "10 Mbps", delay = "1 ms" }]
nodes = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
[[flow]]
from = "a"
to = "b"
size = "146000 B"
[measure]
series = true
interval = "10 ms"
"#);
    let flows = out.table("flows").expect("there");
    assert_eq!((flows.u64("delivered_bytes")[0], flows.u64("sent_packets")[0]), (146_000, 100));
    assert!((flows.f64("fct_s")[0] - 0.3232).abs() < 1e-9, "{}", flows.f64("fct_s")[0]);
    // 1460 bytes in 3.232 ms are 3.61 Mbps; three or four packets fall into a sample.
    let goodput = most(&out, "flow:0", "goodput_bps");
    assert!((3.5e6..4.7e6).contains(&goodput), "{goodput}");
    assert_eq!(out.run["invariants"]["conserved"], true);
}
