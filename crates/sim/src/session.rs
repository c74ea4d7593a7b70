//! A network in which a program sends messages while it runs.
//!
//! A message is a flow of the scenario's scheme that begins when it is sent. The program hears when it has come, in a callback
//! that may send, receive and schedule more. Time goes on by events, in [`Session::run`] alone.

mod inbox;

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::files::Files;
use midpath_core::packet::{FlowId, HOP_LIMIT};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use rustc_hash::FxHashMap;

use crate::RunOptions;
use crate::engine::{Blind, Crew, EndEvent, Engine, RestCheck};
use crate::run::read;
use crate::scenario::ScenarioError;
use crate::setup::{Messages, NoWay, Setup};
use inbox::Inbox;

/// What a session calls: with itself, at the time that it then has.
pub type Callback = Box<dyn FnOnce(&mut Session)>;

/// A host, by its place among the fabric's, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub usize);

/// Why [`Session::run`] has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All messages have come, and nothing is scheduled. It may go on with new ones.
    Idle,
    /// [`Session::halt`] was called. It may go on.
    Halted,
    /// Time has reached the scenario's `stop`.
    Stopped,
    /// So many messages are under way, and nothing will ever happen to them.
    Stuck(usize),
}

/// Why a session does not do what it is asked. It goes on as if it had not been asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// A number of no host.
    #[error("there is no host {0}; the fabric has {1}, numbered from 0")]
    NoHost(usize, usize),
    /// A message to its own sender.
    #[error("host {0} is sender and receiver; a message goes to another host")]
    Itself(usize),
    /// A message without bytes, or a receive of none.
    #[error("a message has at least one byte")]
    NoBytes,
    /// The network does not lead there.
    #[error("no route leads from `{0}` to `{1}`")]
    NoRoute(String, String),
    /// The path is too long for packets.
    #[error("the path from `{0}` to `{1}` crosses {2} links; packets live for {HOP_LIMIT}")]
    TooFar(String, String, usize),
    /// All numbers of flows are taken.
    #[error("2^32 messages have been sent; there are no numbers for more")]
    TooMany,
    /// A delay beyond the end of time.
    #[error("the delay ends beyond 213 days, the most that picoseconds count")]
    TooLate,
    /// Time has reached the scenario's `stop`.
    #[error("the session is over: its time has reached the scenario's `stop`, {0}")]
    Over(Time),
    /// [`Session::run`] in a callback.
    #[error("a callback is called by `run`, and cannot call it")]
    Nested,
}

/// Messages between the same hosts with the same tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Channel {
    tag: u64,
    src: Host,
    dst: Host,
}

/// A message under way.
struct UnderWay {
    channel: Channel,
    bytes: u64,
    on_done: Callback,
}

/// A network in which messages are sent while it runs, by one program in one thread.
///
/// ```
/// use std::path::Path;
///
/// use midpath_schemes::Catalogue;
/// use midpath_sim::{Ended, Host, RunOptions, Session};
///
/// let star = r#"
///     scheme = "dctcp"
///     [topology]
///     generate = "star"
///     n = 4
///     access = { rate = "100 Gbps", delay = "500 ns" }
/// "#;
/// let mut session = Session::new(star, Path::new("."), &RunOptions::default(), &Catalogue::standard())?;
/// // Host 3 answers when it has all.
/// let answer = |session: &mut Session| {
///     session.send(Host(3), Host(0), 1_000, 8, Box::new(|session| println!("{}", session.now()))).unwrap();
/// };
/// session.recv(Host(0), Host(3), 1_000_000, 7, Box::new(answer))?;
/// session.send(Host(0), Host(3), 1_000_000, 7, Box::new(|_| {}))?;
/// assert_eq!(session.run()?, Ended::Idle);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    setup: Setup,
    engine: Engine,
    messages: Arc<Messages>,
    /// The node of each host.
    hosts: Vec<u32>,
    now: Time,
    stop: Time,
    /// By time, and of one time in the order in which it was asked for.
    scheduled: BTreeMap<(Time, u64), Callback>,
    asked: u64,
    under_way: FxHashMap<FlowId, UnderWay>,
    inboxes: FxHashMap<Channel, Inbox>,
    check: RestCheck,
    running: bool,
    halted: bool,
}

impl Session {
    /// Builds the network of a scenario, which may have flows of its own: they run as well. `files` are those that it names.
    pub fn new<'a>(
        text: &str,
        files: impl Into<Files<'a>>,
        options: &RunOptions,
        catalogue: &Catalogue,
    ) -> Result<Session, ScenarioError> {
        let mut scenario = read(text, options)?;
        (scenario.flows_optional, scenario.messages) = (true, true);
        let locate = |e: SpecError| ScenarioError::locate(e, text);
        if options.threads > 1 || options.parts > 1 {
            let message = "a session runs in one thread: what a callback sends may begin at once anywhere";
            return Err(ScenarioError::whole(message));
        }
        let setup = Setup::new(scenario, files, catalogue).map_err(locate)?;
        let network = setup.network().map_err(locate)?;
        let mut engine = Engine::new(network, Crew { threads: 1, parts: 1, sparing: None }, |_| Box::new(Blind));
        if options.wire {
            engine.carry_bytes();
        }
        engine.keep_in_step(setup.scenario.stop);
        let messages = setup.messages.clone().ok_or_else(|| ScenarioError::whole("there are no messages"))?;
        Ok(Session {
            hosts: setup.topology.hosts().map(|n| n as u32).collect(),
            stop: setup.scenario.stop.unwrap_or(Time::MAX),
            setup,
            engine,
            messages,
            now: Time::ZERO,
            scheduled: BTreeMap::new(),
            asked: 0,
            under_way: FxHashMap::default(),
            inboxes: FxHashMap::default(),
            check: RestCheck::FIRST,
            running: false,
            halted: false,
        })
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The name of a host.
    pub fn name(&self, host: Host) -> Option<&str> {
        let node = *self.hosts.get(host.0)?;
        Some(&self.setup.topology.nodes()[node as usize].name)
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<Host> {
        let node = self.setup.topology.find(name)? as u32;
        self.hosts.binary_search(&node).ok().map(Host)
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Messages that have been sent and have not come.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Receives that wait for bytes.
    pub fn waiting(&self) -> usize {
        self.inboxes.values().map(Inbox::waiting).sum()
    }

    /// Messages that a receiver still knows: those under way, and those whose connections are being closed.
    pub fn known(&self) -> usize {
        self.messages.known()
    }

    /// Packet-hops so far.
    pub fn packet_hops(&self) -> u64 {
        self.engine.tally().hops
    }

    /// Bytes of memory in use by the engine.
    pub fn memory(&self) -> usize {
        self.engine.memory()
    }

    /// Sends a message now. `on_done` is called when all of it has come to `dst`, which the sender knows at once.
    pub fn send(&mut self, src: Host, dst: Host, bytes: u64, tag: u64, on_done: Callback) -> Result<(), SessionError> {
        let (channel, [from, to]) = self.channel(src, dst, bytes, tag)?;
        let sent = self.messages.add(&self.setup, [from, to], bytes);
        let (flow, node) = sent.map_err(|why| {
            let name = |node: u32| self.setup.topology.nodes()[node as usize].name.clone();
            match why {
                NoWay::Route => SessionError::NoRoute(name(from), name(to)),
                NoWay::Hops(links) => SessionError::TooFar(name(from), name(to), links),
                NoWay::Numbers => SessionError::TooMany,
            }
        })?;
        self.engine.start_flow(node, self.now, flow);
        self.under_way.insert(flow, UnderWay { channel, bytes, on_done });
        Ok(())
    }

    /// Receives so many bytes: `on_done` is called when they have come to `dst` in messages from `src` with this tag, now if
    /// they have. Receives of one channel are served in the order in which they were asked for, whatever the sizes of messages.
    pub fn recv(&mut self, src: Host, dst: Host, bytes: u64, tag: u64, on_done: Callback) -> Result<(), SessionError> {
        let channel = self.channel(src, dst, bytes, tag)?.0;
        self.inboxes.entry(channel).or_default().wait(bytes, on_done);
        self.serve(channel);
        Ok(())
    }

    /// Calls `callback` so much later: before what the network does at that time, and after callbacks of that time that were
    /// asked for before.
    pub fn schedule(&mut self, delay: Time, callback: Callback) -> Result<(), SessionError> {
        self.check_open()?;
        let at = self.now.0.checked_add(delay.0).filter(|at| *at < Time::MAX.0).ok_or(SessionError::TooLate)?;
        self.call_at(Time(at), callback);
        Ok(())
    }

    /// Has [`Session::run`] return after the callback at hand.
    pub fn halt(&mut self) {
        self.halted = self.running;
    }

    /// Lets time go on until all messages have come and nothing is scheduled, or until it is halted or stopped.
    pub fn run(&mut self) -> Result<Ended, SessionError> {
        self.check_open()?;
        if self.running {
            return Err(SessionError::Nested);
        }
        self.running = true;
        let ended = self.go_on();
        self.running = false;
        Ok(ended)
    }

    fn go_on(&mut self) -> Ended {
        let mut events = Vec::new();
        loop {
            if std::mem::take(&mut self.halted) {
                return Ended::Halted;
            }
            let due = self.scheduled.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
            if due <= self.now {
                if let Some((_, callback)) = self.scheduled.pop_first() {
                    callback(self);
                }
                continue;
            }
            if due == Time::MAX && self.under_way.is_empty() {
                return Ended::Idle;
            }
            while self.check.0 <= self.now {
                self.check = self.check.following();
            }
            let limit = due.min(self.stop).min(self.check.0);
            if let Some(at) = self.engine.run_in_step(limit, &mut events) {
                self.now = at;
                events.drain(..).for_each(|event| self.on_event(event));
                continue;
            }
            self.now = limit;
            if limit == self.stop {
                return Ended::Stopped;
            }
            if due == Time::MAX && self.engine.is_resting() {
                return Ended::Stuck(self.under_way.len());
            }
        }
    }

    fn on_event(&mut self, event: EndEvent) {
        match event {
            EndEvent::Gone { flow, active } => self.messages.gone(flow, active),
            EndEvent::Received(flow, node) => {
                if self.messages.destination(flow) != Some(node) {
                    return;
                }
                let Some(UnderWay { channel, bytes, on_done }) = self.under_way.remove(&flow) else { return };
                self.call_at(self.now, on_done);
                self.inboxes.entry(channel).or_default().arrive(bytes);
                self.serve(channel);
            }
        }
    }

    /// Calls receives for which enough has come.
    fn serve(&mut self, channel: Channel) {
        let Some(inbox) = self.inboxes.get_mut(&channel) else { return };
        let ready: Vec<Callback> = std::iter::from_fn(|| inbox.take()).collect();
        if inbox.is_empty() {
            self.inboxes.remove(&channel);
        }
        ready.into_iter().for_each(|callback| self.call_at(self.now, callback));
    }

    fn call_at(&mut self, at: Time, callback: Callback) {
        self.scheduled.insert((at, self.asked), callback);
        self.asked += 1;
    }

    fn check_open(&self) -> Result<(), SessionError> {
        if self.now >= self.stop { Err(SessionError::Over(self.stop)) } else { Ok(()) }
    }

    /// A channel, and the nodes of its ends.
    fn channel(&self, src: Host, dst: Host, bytes: u64, tag: u64) -> Result<(Channel, [u32; 2]), SessionError> {
        self.check_open()?;
        let node = |host: Host| self.hosts.get(host.0).copied().ok_or(SessionError::NoHost(host.0, self.hosts.len()));
        let nodes = [node(src)?, node(dst)?];
        if src == dst {
            return Err(SessionError::Itself(src.0));
        }
        if bytes == 0 {
            return Err(SessionError::NoBytes);
        }
        Ok((Channel { tag, src, dst }, nodes))
    }
}
