//! `[[client]]`: a closed loop of requests and replies.

use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::after::{After, Step, WaitFor};
use crate::durations::{Duration, Durations};
use crate::flow::{ArrivalPattern, Budget};
use crate::flows::{Counts, FlowList, NewFlow};
use crate::generate::Context;
use crate::hosts::Host;
use crate::matrix::in_order;
use crate::sizes::SizeSpec;
use crate::stream::{Purpose, stream};

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
    /// From a request's arrival to its reply; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Duration>,
    /// Servers asked at once; the last reply completes the request. Default 1.
    #[serde(default = "one")]
    #[schemars(extend("examples" = [4]))]
    pub fan_out: u64,
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

/// Where the flows of a client are: request after request, each with its `fan_out` requests and then as many replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFlows {
    /// Its group.
    pub group: Arc<str>,
    /// Its first flow.
    pub first: usize,
    /// How many requests.
    pub requests: usize,
    /// How many servers each asks.
    pub fan_out: usize,
    /// The time after which a request counts as missed.
    pub deadline: Option<Time>,
}

impl ClientFlows {
    /// All of its flows.
    pub fn flows_in_all(&self) -> std::ops::Range<usize> {
        self.first..self.first + 2 * self.fan_out * self.requests
    }

    /// The flows of request `i`: those to the servers, and those back.
    pub fn flows(&self, i: usize) -> [std::ops::Range<usize>; 2] {
        let first = self.first + 2 * self.fan_out * i;
        let replies = first + self.fan_out;
        [first..replies, replies..replies + self.fan_out]
    }
}

/// A client on its way to flows.
struct Expansion<'a> {
    spec: &'a ClientSpec,
    servers: Vec<&'a Host>,
    terms: u32,
    after: Option<u32>,
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
        let (clients, servers) = (in_order(&self.from, "from", cx.hosts)?, in_order(&self.to, "to", cx.hosts)?);
        self.check(&clients, &servers)?;
        let flows = (clients.len() as u64).saturating_mul(self.requests).saturating_mul(2 * self.fan_out);
        budget.take(flows, ArrivalPattern::Spaced, "requests")?;
        let group: Arc<str> = self.group.clone().unwrap_or_else(|| format!("client{index}")).into();
        let terms = out.number(cx.terms_of(group.clone(), self.scheme.as_deref(), self.rate)?);
        let after = After::of(&self.after, format!("client[{index}].after"), None);
        let after = after.map(|after| out.after(after.by(&group)));
        let (first, requests) = (out.len(), clients.len() * self.requests as usize);
        let mut draws = Draws::new(self, index, cx)?;
        let expansion = Expansion { spec: self, servers, terms, after };
        clients.iter().for_each(|client| expansion.client(client, &mut draws, out));
        out.add_client(ClientFlows { group, first, requests, fan_out: self.fan_out as usize, deadline: self.deadline });
        Ok(())
    }

    fn check(&self, clients: &[&Host], servers: &[&Host]) -> Result<(), SpecError> {
        for (key, hosts) in [("from", clients), ("to", servers)] {
            if hosts.is_empty() {
                return Err(SpecError::new(key, "names no host; give at least one"));
            }
        }
        for (key, number) in [("requests", self.requests), ("concurrency", self.concurrency), ("fan_out", self.fan_out)]
        {
            if number == 0 {
                return Err(SpecError::new(key, "at least 1"));
            }
        }
        if self.concurrency > self.requests {
            let message = format!("{} loops share {} requests; reduce it", self.concurrency, self.requests);
            return Err(SpecError::new("concurrency", message));
        }
        if self.deadline == Some(Time::ZERO) {
            return Err(SpecError::new("deadline", "must be above zero; leave it out for none"));
        }
        for client in clients {
            let others = servers.iter().filter(|server| server.node != client.node).count() as u64;
            if others == 0 {
                return Err(SpecError::new(
                    "to",
                    format!("`{}` would ask only itself; name another host", client.name),
                ));
            }
            if others < self.fan_out {
                let message = format!("`{}` has {others} servers to ask; name more in `to`, or reduce it", client.name);
                return Err(SpecError::new("fan_out", message));
            }
        }
        Ok(())
    }
}

/// What is drawn: request after request, a stream for each purpose.
struct Draws {
    laws: [crate::sizes::SizeSampler; 2],
    times: [Durations; 2],
    streams: [crate::stream::Stream; 6],
}

/// Places in [`Draws`].
const REQUEST: usize = 0;
const REPLY: usize = 1;
const THINK: usize = 0;
const SERVICE: usize = 1;

impl Draws {
    fn new(spec: &ClientSpec, index: usize, cx: &Context<'_>) -> Result<Draws, SpecError> {
        let sizes = |sizes: &SizeSpec, key: &str| sizes.sampler(cx.files).map_err(|e| e.under(key));
        let streams = [
            Purpose::RequestSizes,
            Purpose::ReplySizes,
            Purpose::ThinkTimes,
            Purpose::ServiceTimes,
            Purpose::Servers,
            Purpose::ClientJitter,
        ];
        Ok(Draws {
            laws: [sizes(&spec.request_sizes, "request_sizes")?, sizes(&spec.reply_sizes, "reply_sizes")?],
            times: [
                Durations::new(spec.think_time.as_ref(), "think_time")?,
                Durations::new(spec.service_time.as_ref(), "service_time")?,
            ],
            streams: streams.map(|purpose| stream(cx.seed, purpose, index)),
        })
    }

    fn size(&mut self, which: usize) -> Bytes {
        self.laws[which].sample(&mut self.streams[which])
    }

    fn time(&mut self, which: usize) -> Time {
        self.times[which].sample(&mut self.streams[2 + which])
    }

    /// So many different servers, in the order in which they are drawn.
    fn servers(&mut self, of: usize, fan_out: usize) -> Vec<usize> {
        rand::seq::index::sample(&mut self.streams[4], of, fan_out).into_vec()
    }

    fn jitter(&mut self, most: Time) -> Time {
        Time(if most.is_zero() { 0 } else { self.streams[5].random_range(0..=most.0) })
    }
}

impl Expansion<'_> {
    /// The loops of a client, one after another.
    fn client(&self, client: &Host, draws: &mut Draws, out: &mut FlowList) {
        let servers: Vec<u32> = self.servers.iter().map(|host| host.node).filter(|node| *node != client.node).collect();
        let begin =
            self.after.map(|after| out.step(Step { node: client.node, ends: 0, after: Some(after), then: None }));
        let spec = self.spec;
        for number in 0..spec.concurrency {
            let requests = spec.requests / spec.concurrency + u64::from(number < spec.requests % spec.concurrency);
            let (mut wait, mut start) = (begin, spec.start.saturating_add(draws.jitter(spec.jitter)));
            for request in 1..=requests {
                let joined = (request < requests)
                    .then(|| out.step(Step { node: client.node, ends: spec.fan_out as u32, after: None, then: None }));
                self.request((client.node, &servers), (wait, start), joined, draws, out);
                (wait, start) = (joined, draws.time(THINK));
            }
        }
    }

    /// A request: flows to servers, and from each its reply, for which `joined` counts.
    fn request(
        &self,
        (client, servers): (u32, &[u32]),
        (wait, start): (Option<u32>, Time),
        joined: Option<u32>,
        draws: &mut Draws,
        out: &mut FlowList,
    ) {
        let asked = draws.servers(servers.len(), self.spec.fan_out as usize);
        let flow = |src, dst, size, start, wait: Option<u32>| {
            let wait = wait.map(WaitFor::Step);
            NewFlow { src, dst, size: Some(size), start, stop: None, wait, terms: self.terms }
        };
        let mut come = Vec::with_capacity(asked.len());
        for server in asked.iter().map(|i| servers[*i]) {
            let step = out.step(Step { node: server, ends: 1, after: None, then: None });
            out.push_step(flow(client, server, draws.size(REQUEST), start, wait), Counts::one(Some(step)));
            come.push((server, step));
        }
        for (server, step) in come {
            let (size, service) = (draws.size(REPLY), draws.time(SERVICE));
            out.push_step(flow(server, client, size, service, Some(step)), Counts::one(joined));
        }
    }
}
