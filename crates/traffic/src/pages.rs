//! Clients that load pages: from resources to flows. A resource is a request, its response's header and its body.

use std::ops::Range;
use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::Time;

use crate::after::{ConnectionPool, Server, Step, WaitFor};
use crate::client::{ClientFlows, ClientSpec, Connections, Scheduling};
use crate::durations::Durations;
use crate::file::read;
use crate::flow::{ArrivalPattern, Budget};
use crate::flows::{Counts, FlowList, NewFlow};
use crate::generate::Context;
use crate::har::{Cause, Har, Page, parse};
use crate::hosts::Host;
use crate::matrix::in_order;
use crate::stream::{Purpose, Stream, stream};

/// Connections that a browser keeps to an origin of HTTP/1.1 (Chromium's and Firefox's limit).
const PER_ORIGIN: usize = 6;

/// A page that is loaded once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Number of the page.
    pub page: usize,
    /// Its first flow.
    pub first: usize,
}

/// Where the flows of loads are: of each resource in order its request, its response's header and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLoads {
    /// What is loaded.
    pub har: Arc<Har>,
    /// Loop after loop.
    pub loads: Vec<Load>,
    /// All flows, connections included.
    pub flows: Range<usize>,
}

impl PageLoads {
    /// Flows of a resource, which follow each other.
    pub const MESSAGES: usize = 3;

    /// The page of a load.
    pub fn page(&self, load: &Load) -> &Page {
        &self.har.pages[load.page]
    }

    /// The flows of a resource of a load.
    pub fn messages(load: &Load, resource: usize) -> [usize; PageLoads::MESSAGES] {
        let first = load.first + PageLoads::MESSAGES * resource;
        [first, first + 1, first + 2]
    }
}

/// A client on its way to flows.
struct Expansion<'a> {
    spec: &'a ClientSpec,
    har: &'a Har,
    terms: u32,
    /// Hosts of its servers, and who works there, if each has few workers.
    hosts: Vec<&'a Host>,
    servers: Vec<u32>,
    think: Durations,
    times: Stream,
    loads: Vec<Load>,
}

impl ClientSpec {
    /// Appends the flows of entry `index`, which loads the pages of `file`; keys of errors are relative to the entry.
    pub(crate) fn push_pages(
        &self,
        file: &str,
        index: usize,
        cx: &Context<'_>,
        budget: &mut Budget,
        out: &mut FlowList,
    ) -> Result<(), SpecError> {
        self.check_requests_alone("page")?;
        let wrong = |message: String| SpecError::new("page", format!("{file}: {message}"));
        let bytes = read(cx.files, file).map_err(|e| wrong(e.to_string()))?;
        let har = Arc::new(parse(&bytes).map_err(wrong)?);
        drop(bytes);
        let (clients, hosts) = (in_order(&self.from, "from", cx.hosts)?, in_order(&self.to, "to", cx.hosts)?);
        self.check_hosts(&clients, &hosts)?;
        let most = har.pages.iter().map(|page| page.resources.len()).max().unwrap_or_default() as u64;
        let loads = (clients.len() as u64).saturating_mul(self.requests);
        // With a connection each way for each request at most.
        let flows = loads.saturating_mul(most).saturating_mul(PageLoads::MESSAGES as u64 + 2);
        budget.take(flows, ArrivalPattern::Spaced, "requests")?;
        let (group, terms, after) = self.terms(index, cx, out)?;
        if har.left_out > 0 {
            out.note(format!(
                "client[{index}].page: {} entries of {file} are not loaded: from a cache, unanswered, or not of HTTP",
                har.left_out
            ));
        }
        let server = self.workers.map(|workers| Server { workers, shares: self.scheduling == Some(Scheduling::Ps) });
        let servers = hosts.iter().filter_map(|_| Some(out.server(server?))).collect();
        let first = out.len();
        let mut expansion = Expansion {
            spec: self,
            har: &har,
            terms,
            hosts,
            servers,
            think: Durations::new(self.think_time.as_ref(), "think_time")?,
            times: stream(cx.seed, Purpose::ThinkTimes, index),
            loads: Vec::new(),
        };
        let connections = self.connection_terms(&group, cx, out)?;
        let first_pool = out.pools().len();
        self.loops(&clients, after, (index, cx), out, |own, out| {
            let begin = own.begin(out);
            expansion.client(own.node, own.requests as usize, begin, out);
        });
        let loads = expansion.loads;
        out.connect_pools(first_pool, connections);
        let page = Some(PageLoads { har, loads, flows: first..out.len() });
        let deadline = self.deadline;
        out.add_client(ClientFlows { group, first, deadline, page, ..ClientFlows::default() });
        Ok(())
    }

    /// Refuses beside `key` what only requests have.
    pub(crate) fn check_requests_alone(&self, key: &str) -> Result<(), SpecError> {
        let of_requests = [
            ("request_sizes", self.request_sizes.is_some()),
            ("reply_sizes", self.reply_sizes.is_some()),
            ("service_time", self.service_time.is_some()),
            ("fan_out", self.fan_out != 1),
            ("then", !self.then.is_empty()),
            ("timeout", self.timeout.is_some()),
            ("retries", self.retries > 0),
            ("backoff", self.backoff.is_some()),
            ("hedge_after", self.hedge_after.is_some()),
            ("tied", self.tied),
        ];
        let given = of_requests.into_iter().find(|(_, given)| *given);
        let message = format!("applies to requests, and this client has a `{key}`; leave it out");
        given.map_or(Ok(()), |(key, _)| Err(SpecError::new(key, message)))
    }

    pub(crate) fn check_hosts(&self, clients: &[&Host], servers: &[&Host]) -> Result<(), SpecError> {
        self.check_counts(clients, servers)?;
        if self.workers == Some(0) {
            return Err(SpecError::new("workers", "at least 1"));
        }
        if self.scheduling.is_some() && self.workers.is_none() {
            return Err(SpecError::new("scheduling", "applies to servers with `workers`; give these, or leave it out"));
        }
        let alone = clients.iter().find(|client| servers.iter().all(|server| server.node == client.node));
        match alone {
            Some(client) => {
                let message = format!("`{}` would ask only itself; name another host", client.name);
                Err(SpecError::new("to", message))
            }
            None => Ok(()),
        }
    }
}

impl Expansion<'_> {
    /// A loop: the pages in turn, over connections that it keeps.
    fn client(&mut self, client: u32, loads: usize, begin: (u32, Time), out: &mut FlowList) {
        let places: Vec<usize> = (0..self.hosts.len()).filter(|place| self.hosts[*place].node != client).collect();
        let mut requests = vec![0; self.har.origins.len()];
        for load in 0..loads {
            let page = &self.har.pages[load % self.har.pages.len()];
            page.resources.iter().for_each(|resource| requests[resource.origin as usize] += 1);
        }
        let pools: Vec<u32> = (0..)
            .zip(&requests)
            .map(|(origin, requests)| {
                let server = self.hosts[places[origin % places.len()]].node;
                let (connections, keeps, streams) = match self.spec.connections {
                    Connections::New => (*requests, false, 1),
                    Connections::Reuse => (PER_ORIGIN.min(*requests), true, 1),
                    Connections::Multiplex => (1.min(*requests), true, u32::MAX),
                };
                let ends = (client, server);
                let messages = PageLoads::MESSAGES;
                out.pool(ConnectionPool { ends, first: 0, connections: connections as u32, streams, keeps, messages })
            })
            .collect();
        let (mut begin, mut start) = begin;
        for load in 0..loads {
            let page = load % self.har.pages.len();
            self.loads.push(Load { page, first: out.len() });
            let done = self.load(&self.har.pages[page].resources, (client, &places), &pools, (begin, start), out);
            if load + 1 < loads {
                let joined = out.step(Step::new(client, done.len()));
                done.iter().for_each(|done| out.then(*done, joined, Time::ZERO));
                (begin, start) = (joined, self.think.sample(&mut self.times));
            }
        }
    }

    /// Loads a page: when each resource has come.
    fn load(
        &self,
        resources: &[crate::har::Resource],
        (client, places): (u32, &[usize]),
        pools: &[u32],
        (begin, start): (u32, Time),
        out: &mut FlowList,
    ) -> Vec<u32> {
        let mut reads_header = vec![false; resources.len()];
        for resource in resources {
            if let Cause::Header(other) = resource.cause {
                reads_header[other as usize] = true;
            }
        }
        let (mut headers, mut done) = (Vec::new(), Vec::<u32>::new());
        for (number, resource) in resources.iter().enumerate() {
            let place = places[resource.origin as usize % places.len()];
            let server = self.hosts[place].node;
            let ready = out.step(Step::new(client, 1));
            match resource.cause {
                Cause::Begin => out.then(begin, ready, start),
                Cause::All(other) => out.then(done[other as usize], ready, Time::ZERO),
                Cause::Header(other) => out.then(headers[other as usize], ready, Time::ZERO),
            }
            let come = out.step(Step::new(server, 1));
            if let Some(server) = self.servers.get(place) {
                out.work_for(come, *server);
            }
            let header = if reads_header[number] { out.step(Step::new(client, 1)) } else { u32::MAX };
            headers.push(header);
            let body = out.step(Step::new(client, 1));
            done.push(body);
            let flow = |(src, dst), size, (wait, start)| NewFlow {
                src,
                dst,
                size: Some(size),
                start,
                stop: None,
                wait: Some(WaitFor::Step(wait)),
                terms: self.terms,
            };
            let request = flow((client, server), resource.request, (ready, resource.compute));
            out.rank_next(PageLoads::MESSAGES, resource.rank);
            out.push_pooled(request, Some(come), pools[resource.origin as usize], body);
            let back = (server, client);
            let read = reads_header[number].then_some(header);
            let [first, rest] = resource.response;
            out.push_step(flow(back, first, (come, resource.service)), Counts::one(read));
            out.push_step(flow(back, rest, (come, resource.service)), Counts::one(Some(body)));
        }
        done
    }
}
