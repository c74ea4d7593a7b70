//! `[[client]]`: a closed loop of requests and replies.

use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use rand::RngExt;
use rand::seq::IndexedRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::after::{After, Call, Server, Step, WaitFor};
use crate::durations::{Duration, Durations};
use crate::flow::{ArrivalPattern, Budget};
use crate::flows::{Counts, FlowList, NewFlow};
use crate::generate::Context;
use crate::hosts::Host;
use crate::matrix::in_order;
use crate::sizes::{SizeSampler, SizeSpec};
use crate::stream::{Purpose, Stream, stream};

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
    /// Requests of each client, or as many as it has time for until `stop`.
    #[schemars(extend("examples" = [1000]))]
    pub requests: u64,
    /// Size of a request.
    pub request_sizes: SizeSpec,
    /// Size of a reply.
    pub reply_sizes: SizeSpec,
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

impl ClientFlows {
    /// All of its flows.
    pub fn flows_in_all(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.each * self.requests
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

/// The servers of a level.
struct Level<'a> {
    hosts: Vec<&'a Host>,
    fan_out: usize,
    laws: [SizeSampler; 2],
    service: Durations,
    /// Those of the hosts, in order, where each has few workers.
    servers: Vec<u32>,
}

/// A client on its way to flows.
struct Expansion<'a> {
    spec: &'a ClientSpec,
    levels: Vec<Level<'a>>,
    terms: u32,
    after: Option<u32>,
    /// When each copy of a request to a server is sent after the first one, but for backoffs: whether it is a retry.
    copies: Vec<(Time, bool)>,
    think: Durations,
    backoff: Durations,
    streams: Streams,
    /// The size of the last reply.
    reply_size: Bytes,
    calls: Vec<u32>,
}

/// A stream for each purpose.
struct Streams {
    sizes: [Stream; 2],
    think: Stream,
    service: Stream,
    servers: Stream,
    jitter: Stream,
    copies: Stream,
    backoff: Stream,
}

/// A request to one server.
#[derive(Clone, Copy)]
struct Asked {
    from: u32,
    /// Its server's place in the level.
    server: usize,
    /// The step that comes up when it has come.
    come: u32,
    /// The step that its reply counts for.
    reply: Option<u32>,
    /// Whether it is a copy of the one before, with the same reply.
    copy: bool,
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
        let group: Arc<str> = self.group.clone().unwrap_or_else(|| format!("client{index}")).into();
        let terms = out.number(cx.terms_of(group.clone(), self.scheme.as_deref(), self.rate)?);
        let after = After::of(&self.after, format!("client[{index}].after"), None);
        let after = after.map(|after| out.after(after.by(&group)));
        let (first, requests) = (out.len(), clients.len() * self.requests as usize);
        for (level, (workers, scheduling)) in levels.iter_mut().zip(self.workers()) {
            let server = workers.map(|workers| Server { workers, shares: scheduling == Some(Scheduling::Ps) });
            level.servers = level.hosts.iter().filter_map(|_| Some(out.server(server?))).collect();
        }
        let fan_out = levels[0].fan_out;
        let mut expansion = Expansion {
            spec: self,
            levels,
            terms,
            after,
            copies,
            think: Durations::new(self.think_time.as_ref(), "think_time")?,
            backoff: Durations::new(self.backoff.as_ref(), "backoff")?,
            streams: Streams::new(cx.seed, index),
            reply_size: Bytes::ZERO,
            calls: Vec::new(),
        };
        clients.iter().for_each(|client| expansion.client(client.node, out));
        let Expansion { copies, calls, .. } = expansion;
        let copies = copies.len();
        out.add_client(ClientFlows { group, first, requests, each, fan_out, copies, calls, deadline: self.deadline });
        Ok(())
    }

    fn levels<'a>(&self, cx: &Context<'a>) -> Result<Vec<Level<'a>>, SpecError> {
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
        let sizes = [(&self.request_sizes, "request_sizes"), (&self.reply_sizes, "reply_sizes")];
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
        for (key, hosts) in [("from", clients), ("to", &levels[0].hosts)] {
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
        self.check_copies()?;
        let mut asking: &[&Host] = clients;
        for (i, (level, (workers, scheduling))) in levels.iter().zip(self.workers()).enumerate() {
            let at = |e: SpecError| if i == 0 { e } else { e.under(&format!("then[{}]", i - 1)) };
            self.check_level(asking, level, workers, scheduling).map_err(at)?;
            asking = &level.hosts;
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

impl Streams {
    fn new(seed: u64, index: usize) -> Streams {
        let of = |purpose| stream(seed, purpose, index);
        Streams {
            sizes: [of(Purpose::RequestSizes), of(Purpose::ReplySizes)],
            think: of(Purpose::ThinkTimes),
            service: of(Purpose::ServiceTimes),
            servers: of(Purpose::Servers),
            jitter: of(Purpose::ClientJitter),
            copies: of(Purpose::Copies),
            backoff: of(Purpose::Backoffs),
        }
    }
}

/// Places in a level's `laws`.
const REQUEST: usize = 0;
const REPLY: usize = 1;

impl Expansion<'_> {
    /// The loops of a client, one after another.
    fn client(&mut self, client: u32, out: &mut FlowList) {
        let begin = self.after.map(|after| out.step_after(client, after));
        let spec = self.spec;
        for number in 0..spec.concurrency {
            let requests = spec.requests / spec.concurrency + u64::from(number < spec.requests % spec.concurrency);
            let jitter = if spec.jitter.is_zero() { 0 } else { self.streams.jitter.random_range(0..=spec.jitter.0) };
            let (mut wait, mut start) = (begin, spec.start.saturating_add(Time(jitter)));
            for request in 1..=requests {
                let joined = (request < requests).then(|| out.step(Step::new(client, self.levels[0].fan_out)));
                self.request(client, (wait, start), joined, out);
                (wait, start) = (joined, self.think.sample(&mut self.streams.think));
            }
        }
    }

    /// A request: flows to servers and theirs, and from each a reply; for those to the client `joined` counts.
    fn request(&mut self, client: u32, begin: (Option<u32>, Time), joined: Option<u32>, out: &mut FlowList) {
        let mut levels = vec![self.first_level(client, begin, joined, out)];
        for level in 1..self.levels.len() {
            let asked = levels[level - 1].iter_mut().flat_map(|asking| self.next_level(level, asking, out)).collect();
            levels.push(asked);
        }
        for (level, asked) in levels.into_iter().enumerate().rev() {
            let last = level + 1 == self.levels.len();
            asked.into_iter().for_each(|asked| self.reply(level, asked, last, out));
        }
    }

    /// So many different servers of a level that are not `host`, in the order in which they are drawn.
    fn servers(&mut self, level: usize, host: u32) -> Vec<usize> {
        let (hosts, fan_out) = (&self.levels[level].hosts, self.levels[level].fan_out);
        let own = hosts.iter().position(|server| server.node == host);
        let others = hosts.len() - usize::from(own.is_some());
        let drawn = rand::seq::index::sample(&mut self.streams.servers, others, fan_out);
        drawn.into_iter().map(|i| i + usize::from(own.is_some_and(|own| i >= own))).collect()
    }

    /// Another server than `before` if there is one, and not the client.
    fn another(&mut self, client: u32, before: usize) -> usize {
        let hosts = &self.levels[0].hosts;
        let others: Vec<usize> = (0..hosts.len()).filter(|i| hosts[*i].node != client && *i != before).collect();
        others.choose(&mut self.streams.copies).copied().unwrap_or(before)
    }

    fn first_level(
        &mut self,
        client: u32,
        (wait, start): (Option<u32>, Time),
        joined: Option<u32>,
        out: &mut FlowList,
    ) -> Vec<Asked> {
        let first = out.len();
        let mut asked = Vec::new();
        for server in self.servers(0, client) {
            let (mut server, mut backoff, mut twin) = (server, Time::ZERO, None);
            let size = self.levels[0].laws[REQUEST].sample(&mut self.streams.sizes[REQUEST]);
            let mut call = None;
            for copy in 0..self.copies.len() {
                let (after, retry) = self.copies[copy];
                if retry {
                    backoff = backoff.saturating_add(self.backoff.sample(&mut self.streams.backoff));
                }
                if copy > 0 {
                    server = self.another(client, server);
                }
                let begins = start.saturating_add(after).saturating_add(backoff);
                let hedge = self.spec.hedge_after.is_some() && copy % 2 == 1;
                if self.copies.len() > 1 || self.spec.timeout.is_some() {
                    let call = *call.get_or_insert_with(|| out.step(Step::new(client, 1)));
                    if !hedge {
                        let gives_up = |timeout| after.saturating_add(backoff).saturating_add(timeout);
                        let rare = out.say(call);
                        rare.then = joined.map(|joined| (joined, Time::ZERO));
                        rare.call =
                            Some(Call { after: wait, begins: start, gives_up: self.spec.timeout.map(gives_up) });
                    }
                    if copy > 0 {
                        out.guard_next(call);
                    }
                }
                let come = self.ask(0, (client, server), size, (wait, begins), out);
                if let Some(twin) = twin.take().filter(|_| self.spec.tied && hedge) {
                    out.say(come).twin = Some(twin);
                    out.say(twin).twin = Some(come);
                } else {
                    twin = Some(come);
                }
                let reply = call.or(joined);
                asked.push(Asked { from: client, server, come, reply, copy: copy > 0 });
            }
            self.calls.extend(call);
        }
        debug_assert_eq!(out.len() - first, asked.len());
        asked
    }

    fn next_level(&mut self, level: usize, asking: &mut Asked, out: &mut FlowList) -> Vec<Asked> {
        let host = self.levels[level - 1].hosts[asking.server].node;
        let service = self.levels[level - 1].service.sample(&mut self.streams.service);
        let joined = out.step(Step::new(host, self.levels[level].fan_out));
        let begin = (Some(asking.come), service);
        let asked = self.servers(level, host).into_iter().map(|server| {
            let size = self.levels[level].laws[REQUEST].sample(&mut self.streams.sizes[REQUEST]);
            let come = self.ask(level, (host, server), size, begin, out);
            Asked { from: host, server, come, reply: Some(joined), copy: false }
        });
        let asked = asked.collect();
        asking.come = joined;
        asked
    }

    /// The flow to a server; the step that comes up when it has come.
    fn ask(
        &self,
        level: usize,
        (from, server): (u32, usize),
        size: Bytes,
        (wait, start): (Option<u32>, Time),
        out: &mut FlowList,
    ) -> u32 {
        let Level { hosts, servers, .. } = &self.levels[level];
        let come = out.step(Step::new(hosts[server].node, 1));
        if let Some(server) = servers.get(server) {
            out.say(come).server = Some(*server);
        }
        self.flow((from, hosts[server].node), size, (wait, start), Some(come), out);
        come
    }

    fn reply(&mut self, level: usize, asked: Asked, last: bool, out: &mut FlowList) {
        let Level { hosts, laws, service, .. } = &self.levels[level];
        if !asked.copy {
            self.reply_size = laws[REPLY].sample(&mut self.streams.sizes[REPLY]);
        }
        let service = if last { service.sample(&mut self.streams.service) } else { Time::ZERO };
        let ends = (hosts[asked.server].node, asked.from);
        self.flow(ends, self.reply_size, (Some(asked.come), service), asked.reply, out);
    }

    fn flow(
        &self,
        (src, dst): (u32, u32),
        size: Bytes,
        (wait, start): (Option<u32>, Time),
        counts: Option<u32>,
        out: &mut FlowList,
    ) {
        let (wait, terms) = (wait.map(WaitFor::Step), self.terms);
        out.push_step(NewFlow { src, dst, size: Some(size), start, stop: None, wait, terms }, Counts::one(counts));
    }
}
