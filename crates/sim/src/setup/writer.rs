//! Flows whose application writes now and then: a sender that may run out of data.

use midpath_core::packet::{FlowId, Packet};
use midpath_core::roles::{Application, Endpoint, EndpointCtx, FlowReport, FlowSpec, Supply, Wishes};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use midpath_traffic::{ClientSpec, Connections, Writes};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::flows::Schemes;
use super::pooled::Pooled;
use super::{AllFlows, Groups};
use crate::scenario::Scenario;

/// Whether what carries these flows goes by what an application writes.
pub(super) fn check(
    scenario: &Scenario,
    flows: &AllFlows,
    groups: &Groups,
    schemes: &Schemes,
) -> Result<(), SpecError> {
    let reuses = |client: &ClientSpec| {
        client.page.is_some() || client.video.is_some() || client.connections == Connections::Reuse
    };
    for (i, client) in scenario.client.iter().enumerate().filter(|(_, client)| reuses(client)) {
        let Some(first) = flows.clients().get(i).map(|flows| flows.first) else { continue };
        let (info, Some(transport)) = (flows.get(first), schemes.transport(client.scheme.as_deref())?) else {
            continue;
        };
        let (group, budget) = groups.of(&info.flow);
        if !transport.carries_messages(&info.spec(FlowId(first as u32), group, budget)) || client.rate.is_some() {
            let name = client.scheme.as_deref().unwrap_or(&scenario.scheme);
            let of_tcp = "give it a `scheme` of TCP, without `rate`";
            let (key, cure) = match (&client.page, &client.video) {
                (Some(_), _) => ("page", of_tcp),
                (None, Some(_)) => ("video", of_tcp),
                (None, None) => ("connections", "use `new`, or give it another `scheme`"),
            };
            let message = format!("`{name}` has no connections to reuse; {cure}");
            let key = format!("client[{i}].{key}");
            return Err(SpecError::new(key, message));
        }
    }
    // No two entries share the terms of their writes, which stand in the order of entries.
    let entries = scenario.flow.iter().enumerate().filter(|(_, flow)| flow.write.is_some()).map(|(i, _)| i);
    let terms = flows.terms().iter().enumerate().filter(|(_, terms)| terms.writes.is_some()).map(|(n, _)| n);
    for (entry, terms) in entries.zip(terms) {
        let found = flows.iter().enumerate().find(|(_, info)| info.flow.terms_number as usize == terms);
        let Some((i, info)) = found else { continue };
        let Some(transport) = schemes.transport(info.flow.scheme.as_deref())? else { return Ok(()) };
        let (group, budget) = groups.of(&info.flow);
        if !transport.takes_writes(&info.spec(FlowId(i as u32), group, budget)) {
            let name = info.flow.scheme.as_deref().unwrap_or(&scenario.scheme);
            let message = format!(
                "flows of `{name}` have all their data at the start; leave it out, or give the flow another `scheme`"
            );
            return Err(SpecError::new(format!("flow[{entry}].write"), message));
        }
    }
    Ok(())
}

/// What is late, of flows that say so.
pub(super) fn late_after(flows: &AllFlows) -> FxHashMap<FlowId, Time> {
    if flows.terms().iter().all(|terms| terms.late_after.is_none()) {
        return FxHashMap::default(); // no look at all flows where none says so
    }
    let all = flows.iter().enumerate();
    all.filter_map(|(i, info)| Some((FlowId(i as u32), info.flow.late_after?))).collect()
}

/// What an application writes.
pub(super) enum Source {
    /// At times from the start on.
    Timed(Writes),
    /// Messages of a connection: the first at its start, then one whenever the end is called for it.
    Messages { flows: Arc<AllFlows>, pooled: Arc<Pooled>, connection: u32, next: usize },
}

impl Source {
    /// The next write of which the time is known.
    fn next(&mut self) -> Option<(Time, Bytes)> {
        match self {
            Source::Timed(writes) => writes.next(),
            Source::Messages { .. } => None,
        }
    }

    fn message(&mut self) -> Option<Bytes> {
        let Source::Messages { flows, pooled, connection, next } = self else { return None };
        let message = pooled.message(*connection, *next)?;
        *next += 1;
        flows.get(message as usize).flow.size
    }
}

/// An active end that lives behind an application. What the application has written, and whether that is all, is all
/// that the end is told.
pub(super) struct Writer {
    inner: Box<dyn Endpoint>,
    wishes: Wishes,
    /// Its writes, in times from the start on.
    source: Source,
    start: Time,
    /// The next write.
    next: (Time, Bytes),
    given: u64,
    mtu: u64,
    size: u64,
    stop: Time,
}

impl Writer {
    /// `open` makes the end, which is not told the flow's size.
    pub fn new(flow: &FlowSpec, source: Source, open: impl FnOnce(&FlowSpec) -> Box<dyn Endpoint>) -> Writer {
        Writer {
            inner: open(&FlowSpec { size: None, ..*flow }),
            wishes: Wishes { timer: Time::MAX, finished: false },
            source,
            start: Time::ZERO,
            next: (Time::MAX, Bytes::ZERO),
            given: 0,
            mtu: u64::from(flow.mtu),
            size: flow.size.map_or(u64::MAX, |size| size.0),
            stop: flow.stop.unwrap_or(Time::MAX),
        }
    }

    /// Makes the writes whose time has come; whether there were any.
    fn write(&mut self, now: Time) -> bool {
        let before = self.given;
        while self.next.0 <= now {
            self.given = self.given.saturating_add(self.next.1.0).min(self.size);
            self.plan();
        }
        self.given > before
    }

    fn send_message(&mut self) {
        let pooled = match &self.source {
            Source::Messages { pooled, connection, .. } => pooled.given(*connection),
            _ => None,
        };
        self.given = match pooled {
            Some(given) => given,
            None => self.given.saturating_add(self.source.message().map_or(0, |size| size.0)),
        };
    }

    fn plan(&mut self) {
        let next = self.source.next().filter(|_| self.given < self.size);
        let next = next.map(|(after, size)| (self.start.saturating_add(after), size));
        self.next = next.filter(|(at, _)| *at < self.stop).unwrap_or((Time::MAX, Bytes::ZERO));
    }

    fn call(&mut self, ctx: &mut EndpointCtx<'_>, call: impl FnOnce(&mut dyn Endpoint, &mut EndpointCtx<'_>)) {
        if self.wishes.finished {
            return;
        }
        let supply = Supply { given: self.given, closed: self.given >= self.size };
        let (mut application, inner) = (Application::supplying(supply), self.inner.as_mut());
        ctx.supplied(&mut self.wishes, Some(&mut application), |ctx| call(inner, ctx));
        if let Source::Messages { pooled, connection, .. } = &self.source {
            // At most a packet from there on.
            let until = application.made().max().map(|last| last + self.mtu);
            until.into_iter().for_each(|until| pooled.sent_until(*connection, until));
        }
        if self.wishes.finished {
            return ctx.finish();
        }
        ctx.set_timer(self.wishes.timer.min(self.next.0));
    }
}

impl Endpoint for Writer {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.start = ctx.now;
        self.plan();
        self.write(ctx.now);
        self.send_message();
        self.call(ctx, |inner, ctx| inner.on_start(ctx));
    }
    /// A message of the connection begins.
    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.send_message();
        self.call(ctx, |inner, ctx| inner.on_application(ctx));
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.call(ctx, |inner, ctx| inner.on_packet(packet, ctx));
    }
    /// A write, the end's own timer, or a poke by another flow of the host.
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        let written = self.write(ctx.now);
        if written {
            self.call(ctx, |inner, ctx| inner.on_application(ctx));
        }
        if !written || self.wishes.timer <= ctx.now {
            self.wishes.timer = Time::MAX;
            self.call(ctx, |inner, ctx| inner.on_timer(ctx));
        }
    }
    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.call(ctx, |inner, ctx| inner.on_abort(ctx));
    }
    fn on_probe(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.call(ctx, |inner, ctx| inner.on_probe(ctx));
    }
    fn on_routes(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.call(ctx, |inner, ctx| inner.on_routes(ctx));
    }
    fn report(&self) -> FlowReport {
        self.inner.report()
    }
    fn phase(&self) -> &'static str {
        self.inner.phase()
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.inner.gauges(out);
    }
}
