//! Requests that take a connection when they are ready: which, and what each connection has been given to send.
//!
//! A connection's sender and its receiver are nodes of different parts perhaps. The receiver looks up no message before
//! its bytes have come, and so after its sender has written it down.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::AllFlows;

/// What is known of a run's pools.
#[derive(Debug)]
pub(super) struct Pooled {
    flows: Arc<AllFlows>,
    /// Place in its pool of the connection of each message.
    assigned: FxHashMap<u32, AtomicU32>,
    sent: FxHashMap<u32, Mutex<Sent>>,
}

/// What a connection has been given to send. A message that has begun is sent whole before others.
#[derive(Debug, Default)]
struct Sent {
    /// Messages of which bytes may have been sent, in order, and where the last ends.
    begun: Vec<u32>,
    end: u64,
    /// Others, the most urgent first; of equals, that which came first.
    waiting: BTreeMap<(u8, u64), u32>,
    /// How many have come, and their bytes.
    messages: u64,
    bytes: u64,
}

/// A request over a pool and what its response has; none of another flow.
fn messages(flows: &AllFlows, request: u32) -> Range<u32> {
    let pool = flows.pool_of(request as usize).map(|pool| flows.pools()[pool as usize]);
    request..request + pool.map_or(0, |pool| pool.messages as u32)
}

impl Pooled {
    pub fn new(flows: &Arc<AllFlows>) -> Pooled {
        let requests = if flows.pools().is_empty() { 0..0 } else { 0..flows.len() as u32 };
        let messages = requests.flat_map(|request| messages(flows, request));
        let assigned = messages.map(|flow| (flow, AtomicU32::new(0)));
        let connections = flows.pools().iter().flat_map(|pool| pool.first..pool.first + 2 * pool.connections);
        let sent = connections.map(|connection| (connection, Mutex::default()));
        Pooled { assigned: assigned.collect(), sent: sent.collect(), flows: flows.clone() }
    }

    /// Has a request, and with it its response, take a connection of its pool.
    pub fn assign(&self, request: u32, connection: u32) {
        for flow in messages(&self.flows, request) {
            self.assigned[&flow].store(connection, Ordering::Release);
        }
    }

    pub fn assigned(&self, flow: u32) -> Option<u32> {
        Some(self.assigned.get(&flow)?.load(Ordering::Acquire))
    }

    /// The connection of a message: its own, or that which it has taken.
    pub fn connection(&self, flow: u32) -> Option<u32> {
        let connection = self.flows.connection(flow as usize)?;
        Some(connection + 2 * self.assigned(flow).unwrap_or_default())
    }

    /// Called when a message begins.
    pub fn begin(&self, flow: u32) -> Option<u32> {
        let connection = self.connection(flow)?;
        if let Some(sent) = self.sent.get(&connection) {
            let (rank, info) = (self.flows.rank(flow as usize), self.flows.get(flow as usize));
            let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
            let place = (rank, sent.messages);
            sent.waiting.insert(place, flow);
            sent.messages += 1;
            sent.bytes += info.flow.size.unwrap_or_default().0;
        }
        Some(connection)
    }

    /// Bytes of all messages of a connection that have begun, if these wait for each other.
    pub fn given(&self, connection: u32) -> Option<u64> {
        Some(self.sent.get(&connection)?.lock().unwrap_or_else(PoisonError::into_inner).bytes)
    }

    /// Called when bytes of a connection below `until` may have been sent.
    pub fn sent_until(&self, connection: u32, until: u64) {
        let Some(sent) = self.sent.get(&connection) else { return };
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        while sent.end < until
            && let Some((_, message)) = sent.waiting.pop_first()
        {
            sent.begun.push(message);
            sent.end += self.flows.get(message as usize).flow.size.unwrap_or_default().0;
        }
    }

    /// Message number `i` of a connection, if any of it may have been sent.
    pub fn message(&self, connection: u32, i: usize) -> Option<u32> {
        match self.sent.get(&connection) {
            Some(sent) => sent.lock().unwrap_or_else(PoisonError::into_inner).begun.get(i).copied(),
            None => self.flows.messages(connection as usize)?.get(i).copied(),
        }
    }

    /// The connection that a message opens as its first, called before that begins.
    pub fn opens(&self, flow: u32) -> Option<u32> {
        let connection = self.connection(flow)?;
        let is_first = match self.sent.get(&connection) {
            Some(sent) => sent.lock().unwrap_or_else(PoisonError::into_inner).messages == 0,
            None => self.message(connection, 0) == Some(flow),
        };
        is_first.then_some(connection)
    }
}
