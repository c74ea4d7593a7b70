//! `[[client]]`: a closed loop of requests and replies.

use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::after::{NewAfter, Server};
use crate::durations::{Duration, Durations};
use crate::flow::{ArrivalPattern, Budget};
use crate::flows::FlowList;
use crate::generate::Context;
use crate::hosts::Host;
use crate::matrix::in_order;
use crate::pages::PageLoads;
use crate::requests::{Expansion, Level, Streams};
use crate::sizes::SizeSpec;
use crate::stream::{Purpose, stream};
use crate::video::{VideoFlows, VideoSpec};

/// Hosts that ask others, and ask again when they have the reply: a closed loop. A request is a flow, its reply a flow
/// from the server after it; with TCP each is a connection of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// Clients: hosts as in `[[workload]]`.
    #[schemars(extend("examples" = [["h0", "client*"]]))]
    pub from: Vec<String>,
    /// Servers; each request goes to one at random, never the client itself.
    #[schemars(extend("examples" = [["server*"]]))]
    pub to: Vec<String>,
    /// Pages to load in place of requests: an HTTP Archive (HAR 1.2), relative to the scenario. Its pages are loaded in turn;
    /// its origins are on the hosts of `to`, in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["shop.har"]))]
    pub page: Option<String>,
    /// A video to watch in place of requests, over a connection that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [{ "ladder": ["1 Mbps", "3 Mbps"], "segment": "4 s", "segments": 60, "buffer": "30 s" }]))]
    pub video: Option<VideoSpec>,
    /// Requests (or loads of a page, views of a video) of each client, or as many as it has time for until `stop`.
    #[schemars(extend("examples" = [1000]))]
    pub requests: u64,
    /// Size of a request. Required without `page` or `video`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_sizes: Option<SizeSpec>,
    /// Size of a reply. Required without `page` or `video`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_sizes: Option<SizeSpec>,
    /// Requests of a client at a time; these loops share `requests`. Default 1.
    #[serde(default = "one")]
    #[schemars(extend("examples" = [8]))]
    pub concurrency: u64,
    /// From a reply to the loop's next request; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<Duration>,
    /// From a request's arrival to its reply, or to the server's own requests; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Duration>,
    /// Servers asked at once; the last reply completes the request. Default 1.
    #[serde(default = "one")]
    #[schemars(extend("examples" = [4]))]
    pub fan_out: u64,
    /// Requests that a server works for at a time; others queue. Default: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [1]))]
    pub workers: Option<u64>,
    /// Of a server with `workers`; default `fifo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// Further levels: whom each server of the level before asks, when it has worked. Its reply follows the last of theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [[{ "to": ["db*"], "fan_out": 4 }]]))]
    pub then: Vec<LevelSpec>,
    /// Time after which a server that has not replied is asked again, or another one: at most `retries` times, then the
    /// request has failed. Until then a late reply counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Time>,
    /// How often each server is asked again.
    #[serde(default)]
    #[schemars(extend("examples" = [2]))]
    pub retries: u64,
    /// From a timeout to the retry; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Duration>,
    /// Time after which another server is asked, too; the first reply counts ("The tail at scale", Dean and Barroso 2013).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedge_after: Option<Time>,
    /// The server that begins to work cancels the other request of `hedge_after`, unless work on that has begun.
    #[serde(default)]
    pub tied: bool,
    /// What carries messages of TCP: `new` (default) opens a connection for each, of a page for each request; `reuse` keeps
    /// one from each loop to each of its servers, and one back, which keep their congestion windows as idle times allow, and
    /// of a page up to six to an origin, with a request at a time (HTTP/1.1); `multiplex` keeps one to each origin of a page
    /// for all requests, whose responses follow each other whole, the most urgent first (HTTP/2).
    #[serde(default)]
    pub connections: Connections,
    /// Longer requests count as missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// Group in results; default "client" and its number, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["search"]))]
    pub group: Option<String>,
    /// Scheme, over the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["dctcp"]))]
    pub scheme: Option<String>,
    /// Each flow's, as in `[[flow]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// First requests; default at once.
    #[serde(default)]
    pub start: Time,
    /// Random delay of each loop, uniform up to this.
    #[serde(default)]
    pub jitter: Time,
    /// As in `[[flow]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["load"]]))]
    pub after: Vec<String>,
    /// Waits for so many bytes of each of these flows, in place of their ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1 MB"]))]
    pub after_bytes: Option<Bytes>,
}

fn one() -> u64 {
    1
}

/// Whom servers ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelSpec {
    /// Servers; each request goes to one at random, never the asking host itself.
    #[schemars(extend("examples" = [["db*"]]))]
    pub to: Vec<String>,
    /// Asked at once by each server of the level before. Default 1.
    #[serde(default = "one")]
    #[schemars(extend("examples" = [4]))]
    pub fan_out: u64,
    /// Default those of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_sizes: Option<SizeSpec>,
    /// Default those of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_sizes: Option<SizeSpec>,
    /// As the client's; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Duration>,
    /// As the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [1]))]
    pub workers: Option<u64>,
    /// As the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
}

/// What carries messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// A connection each.
    #[default]
    New,
    /// Persistent ones.
    Reuse,
    /// A persistent one for all requests to an origin.
    Multiplex,
}

/// How a server works for several requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// In order of arrival.
    Fifo,
    /// For all at once, at equal shares (processor sharing).
    Ps,
}

/// Where the flows of a client are: request after request. Each has the requests to its first servers, of one server all
/// copies, then the further levels', and replies the other way round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientFlows {
    /// Its group.
    pub group: Arc<str>,
    /// Its first flow.
    pub first: usize,
    /// How many requests.
    pub requests: usize,
    /// Flows of a request.
    pub each: usize,
    /// How many servers each asks.
    pub fan_out: usize,
    /// How often it asks each, or another one in its place, at most.
    pub copies: usize,
    /// The steps that first replies end, if requests may have several: a request's follow each other.
    pub calls: Vec<u32>,
    /// The time after which a request counts as missed.
    pub deadline: Option<Time>,
    /// In place of requests, pages.
    pub page: Option<PageLoads>,
    /// In place of requests, views of a video.
    pub video: Option<VideoFlows>,
}

/// A loop of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientLoop {
    /// Its host: number among the clients, and node.
    pub place: usize,
    pub node: u32,
    pub requests: u64,
    /// The step after which its first request begins, if any, and how much later.
    pub wait: Option<u32>,
    pub start: Time,
}

impl ClientLoop {
    /// The same, with a step in any case.
    pub fn begin(&self, out: &mut FlowList) -> (u32, Time) {
        match self.wait {
            Some(wait) => (wait, self.start),
            None => (out.step_at(self.node, self.start), Time::ZERO),
        }
    }
}

impl ClientFlows {
    /// All of its flows.
    pub fn flows_in_all(&self) -> std::ops::Range<usize> {
        let requests = || self.first..self.first + self.each * self.requests;
        let own = self.page.as_ref().map(|page| &page.flows).or(self.video.as_ref().map(|video| &video.flows));
        own.map_or_else(requests, Clone::clone)
    }

    /// The flows of request `i` to its first servers, and those back.
    pub fn flows(&self, i: usize) -> [std::ops::Range<usize>; 2] {
        let (first, own) = (self.first + self.each * i, self.fan_out * self.copies);
        [first..first + own, first + self.each - own..first + self.each]
    }

    /// Of request `i` to its server number `k`, and back: the flows, copy by copy.
    pub fn copies(&self, i: usize, k: usize) -> [std::ops::Range<usize>; 2] {
        self.flows(i).map(|all| all.start + k * self.copies..all.start + (k + 1) * self.copies)
    }
}

impl ClientSpec {
    /// Appends the flows of entry `index`; keys of errors are relative to the entry.
    pub(crate) fn push(
        &self,
        index: usize,
        cx: &Context<'_>,
        budget: &mut Budget,
        out: &mut FlowList,
    ) -> Result<(), SpecError> {
        if let Some(video) = &self.video {
            return self.push_video(video, index, cx, budget, out);
        }
        if let Some(file) = &self.page {
            return self.push_pages(file, index, cx, budget, out);
        }
        let clients = in_order(&self.from, "from", cx.hosts)?;
        let mut levels = self.levels(cx)?;
        self.check(&clients, &levels)?;
        let copies = self.copies();
        let calls = levels.iter().scan(copies.len(), |product, level| {
            *product = product.saturating_mul(level.fan_out);
            Some(*product)
        });
        let each = calls.fold(0usize, usize::saturating_add).saturating_mul(2);
        let flows = (clients.len() as u64).saturating_mul(self.requests).saturating_mul(each as u64);
        budget.take(flows, ArrivalPattern::Spaced, "requests")?;
        let (group, terms, after) = self.terms(index, cx, out)?;
        let (first, requests) = (out.len(), clients.len() * self.requests as usize);
        for (level, (workers, scheduling)) in levels.iter_mut().zip(self.workers()) {
            let server = workers.map(|workers| Server { workers, shares: scheduling == Some(Scheduling::Ps) });
            level.servers = level.hosts.iter().filter_map(|_| Some(out.server(server?))).collect();
        }
        let fan_out = levels[0].fan_out;
        let mut expansion = Expansion::new(self, levels, copies.clone(), terms, Streams::new(cx.seed, index))?;
        self.loops(&clients, after, (index, cx), out, |own, out| expansion.client(own, out));
        if self.connections == Connections::Reuse {
            expansion.connect(self.connection_terms(&group, cx, out)?, out);
        }
        let (copies, calls) = (copies.len(), expansion.calls);
        out.add_client(ClientFlows {
            group,
            first,
            requests,
            each,
            fan_out,
            copies,
            calls,
            deadline: self.deadline,
            page: None,
            video: None,
        });
        Ok(())
    }

    /// Its group, the number of its flows' terms, and what its loops wait for.
    pub(crate) fn terms(
        &self,
        index: usize,
        cx: &Context<'_>,
        out: &mut FlowList,
    ) -> Result<(Arc<str>, u32, Option<u32>), SpecError> {
        let group: Arc<str> = self.group.clone().unwrap_or_else(|| format!("client{index}")).into();
        let terms = out.number(&group, cx.terms_of(self.scheme.as_deref(), self.rate)?);
        let after = NewAfter::of(&self.after, format!("client[{index}].after"));
        let after = NewAfter::bytes(after, self.after_bytes)?;
        let number = out.group(&group);
        let after = after.map(|after| out.add_after(after.by(number)));
        Ok((group, terms, after))
    }

    /// The number of the terms of its connections, which are a group of their own.
    pub(crate) fn connection_terms(&self, group: &str, cx: &Context<'_>, out: &mut FlowList) -> Result<u32, SpecError> {
        Ok(out.number(&format!("{group}-connections"), cx.terms_of(self.scheme.as_deref(), self.rate)?))
    }

    /// Tells of its loops, of one host after another.
    pub(crate) fn loops(
        &self,
        clients: &[&Host],
        after: Option<u32>,
        (index, cx): (usize, &Context<'_>),
        out: &mut FlowList,
        mut tell: impl FnMut(ClientLoop, &mut FlowList),
    ) {
        let mut jitter = stream(cx.seed, Purpose::ClientJitter, index);
        for (place, client) in clients.iter().enumerate() {
            let wait = after.map(|after| out.step_after(client.node, after));
            for number in 0..self.concurrency {
                let requests = self.requests / self.concurrency + u64::from(number < self.requests % self.concurrency);
                let later = if self.jitter.is_zero() { 0 } else { jitter.random_range(0..=self.jitter.0) };
                let start = self.start.saturating_add(Time(later));
                tell(ClientLoop { place, node: client.node, requests, wait, start }, out);
            }
        }
    }

    fn levels<'a, 's>(&'s self, cx: &Context<'a>) -> Result<Vec<Level<'a>>, SpecError> {
        let level = |to: &[String], fan_out: u64, sizes: [(&SizeSpec, &str); 2], service: Option<&Duration>| {
            let sampler = |(sizes, key): (&SizeSpec, &str)| sizes.sampler(cx.files).map_err(|e| e.under(key));
            Ok(Level {
                hosts: in_order(to, "to", cx.hosts)?,
                fan_out: usize::try_from(fan_out).unwrap_or(usize::MAX),
                laws: [sampler(sizes[0])?, sampler(sizes[1])?],
                service: Durations::new(service, "service_time")?,
                servers: Vec::new(),
            })
        };
        let size = |sizes: &'s Option<SizeSpec>, key: &'static str| {
            let message = "is missing; give it, such as { kind = \"fixed\", size = \"1 kB\" }, a `page` or a `video`";
            sizes.as_ref().map(|sizes| (sizes, key)).ok_or_else(|| SpecError::new(key, message))
        };
        let sizes = [size(&self.request_sizes, "request_sizes")?, size(&self.reply_sizes, "reply_sizes")?];
        let mut levels = vec![level(&self.to, self.fan_out, sizes, self.service_time.as_ref())?];
        for (i, then) in self.then.iter().enumerate() {
            let [request, reply] = sizes;
            let own = |own: Option<_>, (client, key)| (own.unwrap_or(client), key);
            let sizes = [own(then.request_sizes.as_ref(), request), own(then.reply_sizes.as_ref(), reply)];
            let next = level(&then.to, then.fan_out, sizes, then.service_time.as_ref());
            levels.push(next.map_err(|e| e.under(&format!("then[{i}]")))?);
        }
        Ok(levels)
    }

    /// Of each level.
    fn workers(&self) -> impl Iterator<Item = (Option<u64>, Option<Scheduling>)> {
        let further = self.then.iter().map(|level| (level.workers, level.scheduling));
        std::iter::once((self.workers, self.scheduling)).chain(further)
    }

    /// When requests to a server are sent again, but for backoffs.
    fn copies(&self) -> Vec<(Time, bool)> {
        let timeout = self.timeout.unwrap_or_default();
        let attempts = (0..=self.retries).map(|retry| Time(timeout.0.saturating_mul(retry)));
        let hedged = |at: Time| self.hedge_after.map(|after| (at.saturating_add(after), false));
        attempts.enumerate().flat_map(|(retry, at)| std::iter::once((at, retry > 0)).chain(hedged(at))).collect()
    }

    fn check(&self, clients: &[&Host], levels: &[Level<'_>]) -> Result<(), SpecError> {
        self.check_counts(clients, &levels[0].hosts)?;
        if self.connections == Connections::Multiplex {
            return Err(SpecError::new("connections", "`multiplex` carries the requests of a `page`; use `reuse`"));
        }
        self.check_copies()?;
        let mut asking: &[&Host] = clients;
        for (i, (level, (workers, scheduling))) in levels.iter().zip(self.workers()).enumerate() {
            let at = |e: SpecError| if i == 0 { e } else { e.under(&format!("then[{}]", i - 1)) };
            self.check_level(asking, level, workers, scheduling).map_err(at)?;
            asking = &level.hosts;
        }
        Ok(())
    }

    /// What pages and requests have in common.
    pub(crate) fn check_counts(&self, clients: &[&Host], servers: &[&Host]) -> Result<(), SpecError> {
        for (key, hosts) in [("from", clients), ("to", servers)] {
            if hosts.is_empty() {
                return Err(SpecError::new(key, "names no host; give at least one"));
            }
        }
        for (key, number) in [("requests", self.requests), ("concurrency", self.concurrency)] {
            if number == 0 {
                return Err(SpecError::new(key, "at least 1"));
            }
        }
        if self.concurrency > self.requests {
            let message = format!("{} loops share {} requests; reduce it", self.concurrency, self.requests);
            return Err(SpecError::new("concurrency", message));
        }
        for (key, time) in [("deadline", self.deadline), ("timeout", self.timeout)] {
            if time == Some(Time::ZERO) {
                return Err(SpecError::new(key, "must be above zero; leave it out for none"));
            }
        }
        Ok(())
    }

    fn check_level(
        &self,
        asking: &[&Host],
        level: &Level<'_>,
        workers: Option<u64>,
        scheduling: Option<Scheduling>,
    ) -> Result<(), SpecError> {
        if level.fan_out == 0 || workers == Some(0) {
            return Err(SpecError::new(if level.fan_out == 0 { "fan_out" } else { "workers" }, "at least 1"));
        }
        if scheduling.is_some() && workers.is_none() {
            return Err(SpecError::new("scheduling", "applies to servers with `workers`; give these, or leave it out"));
        }
        for host in asking {
            let others = level.hosts.iter().filter(|server| server.node != host.node).count();
            if others == 0 {
                return Err(SpecError::new("to", format!("`{}` would ask only itself; name another host", host.name)));
            }
            if others < level.fan_out {
                let message = format!("`{}` has {others} servers to ask; name more in `to`, or reduce it", host.name);
                return Err(SpecError::new("fan_out", message));
            }
            if others == 1 && self.hedge_after.is_some() && level.fan_out == 1 && std::ptr::eq(asking[0], *host) {
                let message = format!("`{}` has no other server to ask; name more in `to`, or leave it out", host.name);
                return Err(SpecError::new("hedge_after", message));
            }
        }
        Ok(())
    }

    fn check_copies(&self) -> Result<(), SpecError> {
        // Ours: each may be asked for, and is a flow that is kept.
        if self.retries > 100 {
            return Err(SpecError::new("retries", "at most 100"));
        }
        let needs_timeout = [("retries", self.retries > 0), ("backoff", self.backoff.is_some())];
        if let Some((key, _)) = needs_timeout.into_iter().find(|(_, given)| *given && self.timeout.is_none()) {
            return Err(SpecError::new(key, "applies to requests with a `timeout`; give one, or leave it out"));
        }
        if self.connections == Connections::Reuse && (self.timeout.is_some() || self.hedge_after.is_some()) {
            let message = "requests that are asked again would share a connection with what they wait for; use `new`";
            return Err(SpecError::new("connections", message));
        }
        if self.backoff.is_some() && self.retries == 0 {
            return Err(SpecError::new("backoff", "applies to `retries`; give these, or leave it out"));
        }
        if self.hedge_after.zip(self.timeout).is_some_and(|(hedge, timeout)| hedge >= timeout) {
            return Err(SpecError::new("hedge_after", "must be shorter than `timeout`"));
        }
        if self.tied && (self.hedge_after.is_none() || self.workers.is_none()) {
            let key = if self.workers.is_none() { "workers" } else { "hedge_after" };
            return Err(SpecError::new("tied", format!("needs `{key}`; give it, or leave this out")));
        }
        if self.tied && self.scheduling == Some(Scheduling::Ps) {
            let message = "a server that shares begins with each request at once; leave this out, or use `fifo`";
            return Err(SpecError::new("tied", message));
        }
        Ok(())
    }
}
