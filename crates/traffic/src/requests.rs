//! From a client to flows: what each request and each reply waits for, and what waits for it.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use rand::seq::IndexedRandom;
use rustc_hash::FxHashMap;

use crate::after::{Number, Step, WaitFor};
use crate::client::{ClientLoop, ClientSpec, Connections};
use crate::durations::Durations;
use crate::flows::{Counts, FlowList, NewFlow};
use crate::hosts::Host;
use crate::sizes::SizeSampler;
use crate::stream::{Purpose, Seed, Stream, stream};

/// The servers of a level.
pub(crate) struct Level<'a> {
    pub hosts: Vec<&'a Host>,
    pub fan_out: usize,
    pub laws: [SizeSampler; 2],
    pub service: Durations,
    /// Those of the hosts, in order, where each has few workers.
    pub servers: Vec<u32>,
}

/// Places in a level's `laws`.
const REQUEST: usize = 0;
const REPLY: usize = 1;

/// A client on its way to flows.
pub(crate) struct Expansion<'a> {
    spec: &'a ClientSpec,
    levels: Vec<Level<'a>>,
    terms: u32,
    /// When each copy of a request to a server is sent after the first one, but for backoffs: whether it is a retry.
    copies: Vec<(Time, bool)>,
    think: Durations,
    backoff: Durations,
    streams: Streams,
    /// The size of the last reply.
    reply_size: Bytes,
    /// The steps that first replies end, if requests may have several.
    pub calls: Vec<u32>,
    /// The messages of connections that are reused, and which goes from which to which server. They are known by where they
    /// come from: a loop's own requests come from none.
    connections: Vec<Vec<u32>>,
    known: FxHashMap<(Option<u32>, u32), u32>,
}

/// A stream for each purpose.
pub(crate) struct Streams {
    sizes: [Stream; 2],
    think: Stream,
    service: Stream,
    servers: Stream,
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
    /// The number of its connection, if that is reused; that of its reply is the next.
    connection: Option<u32>,
}

impl Streams {
    pub fn new(seed: &Seed, index: usize) -> Streams {
        let of = |purpose| stream(seed, purpose, index);
        Streams {
            sizes: [of(Purpose::RequestSizes), of(Purpose::ReplySizes)],
            think: of(Purpose::ThinkTimes),
            service: of(Purpose::ServiceTimes),
            servers: of(Purpose::Servers),
            copies: of(Purpose::Copies),
            backoff: of(Purpose::Backoffs),
        }
    }
}

impl<'a> Expansion<'a> {
    /// Of a client whose flows have these terms.
    pub fn new(
        spec: &'a ClientSpec,
        levels: Vec<Level<'a>>,
        copies: Vec<(Time, bool)>,
        terms: u32,
        streams: Streams,
    ) -> Result<Expansion<'a>, SpecError> {
        Ok(Expansion {
            spec,
            levels,
            terms,
            copies,
            think: Durations::new(spec.think_time.as_ref(), "think_time")?,
            backoff: Durations::new(spec.backoff.as_ref(), "backoff")?,
            streams,
            reply_size: Bytes::ZERO,
            calls: Vec::new(),
            connections: Vec::new(),
            known: FxHashMap::default(),
        })
    }

    /// The requests of a loop.
    pub fn client(&mut self, own: ClientLoop, out: &mut FlowList) {
        self.known.clear();
        let (mut wait, mut start) = (own.wait, own.start);
        for request in 1..=own.requests {
            let joined = (request < own.requests).then(|| out.step(Step::new(own.node, self.levels[0].fan_out)));
            self.request(own.node, (wait, start), joined, out);
            (wait, start) = (joined, self.think.sample(&mut self.streams.think));
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
        let servers = &mut self.streams.servers;
        let drawn = match others {
            1 => rand::seq::index::sample(servers.undecided(), others, fan_out),
            _ => rand::seq::index::sample(servers, others, fan_out),
        };
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
                    let call = *call.get_or_insert_with(|| out.call_step(client, (wait, start), joined));
                    if !hedge && let Some(timeout) = self.spec.timeout {
                        out.give_up(call, after.saturating_add(backoff).saturating_add(timeout));
                    }
                    if copy > 0 {
                        out.guard_next(call);
                    }
                }
                let come = self.ask(0, (client, server), size, (wait, begins), out);
                if let Some(twin) = twin.take().filter(|_| self.spec.tied && hedge) {
                    out.say(come).twin = Some(Number::of(twin));
                    out.say(twin).twin = Some(Number::of(come));
                } else {
                    twin = Some(come);
                }
                let (reply, connection) = (call.or(joined), self.connection(None, server, out.len() - 1));
                asked.push(Asked { from: client, server, come, reply, copy: copy > 0, connection });
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
            let connection = self.connection(asking.connection, server, out.len() - 1);
            Asked { from: host, server, come, reply: Some(joined), copy: false, connection }
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
            out.work_for(come, *server);
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
        if let Some(connection) = asked.connection {
            self.connections[connection as usize + 1].push(out.len() as u32 - 1);
        }
    }

    /// The connection from the end of another one, or from the client, to a server, if it is reused: `message` is its next.
    /// There is one for each way of requests, so each has one message at a time.
    fn connection(&mut self, from: Option<u32>, server: usize, message: usize) -> Option<u32> {
        if self.spec.connections == Connections::New {
            return None;
        }
        let next = self.connections.len() as u32;
        let number = *self.known.entry((from, server as u32)).or_insert(next);
        if number == next {
            self.connections.extend([Vec::new(), Vec::new()]);
        }
        self.connections[number as usize].push(message as u32);
        Some(number)
    }

    /// Adds the connections, in the order of their first messages.
    pub fn connect(&mut self, terms: u32, out: &mut FlowList) {
        let mut connections = std::mem::take(&mut self.connections);
        connections.sort_unstable_by_key(|messages| messages.first().copied());
        connections.into_iter().for_each(|messages| out.connect(messages, terms));
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
