//! Requests that take a connection when they are ready: which, and what each connection has been given to send.
//!
//! A connection's sender and its receiver are nodes of different parts perhaps. The receiver looks up no message before
//! its bytes have come, and so after its sender has written it down.

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
    /// The messages of each connection, in the order in which they began.
    sent: FxHashMap<u32, Mutex<Vec<u32>>>,
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
            sent.lock().unwrap_or_else(PoisonError::into_inner).push(flow);
        }
        Some(connection)
    }

    /// Message number `i` of a connection, if it is known by now.
    pub fn message(&self, connection: u32, i: usize) -> Option<u32> {
        match self.sent.get(&connection) {
            Some(sent) => sent.lock().unwrap_or_else(PoisonError::into_inner).get(i).copied(),
            None => self.flows.messages(connection as usize)?.get(i).copied(),
        }
    }

    /// The connection that a message opens as its first, called before that begins.
    pub fn opens(&self, flow: u32) -> Option<u32> {
        let connection = self.connection(flow)?;
        let first = self.message(connection, 0);
        let is_first = if self.sent.contains_key(&connection) { first.is_none() } else { first == Some(flow) };
        is_first.then_some(connection)
    }
}
