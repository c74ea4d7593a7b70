//! A stack of a page: numbered messages, each acknowledged, repeated after a time. And what stacks do wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use midpath_core::packet::Ecn;
use midpath_schemes::Catalogue;
use midpath_stack::{Burst, EndSpec, Figures, Stack, StackConfig, StackParams, Work, build};

const AGAIN: Duration = Duration::from_millis(300);
const WINDOW: u64 = 20;
const BODY: u64 = 1000;

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    Panics,
    SendsWithoutEnd,
    WakesInThePast,
    SendsTooMuch,
}

/// What both ends have counted.
#[derive(Debug, Default)]
pub struct Counts {
    pub bad: AtomicU64,
    pub ce: AtomicU64,
}

#[derive(Clone)]
pub struct Toy {
    pub fault: Fault,
    pub ecn: Ecn,
    pub counts: Arc<Counts>,
}

impl Toy {
    pub fn new(fault: Fault) -> Toy {
        Toy { fault, ecn: Ecn::NotEct, counts: Arc::default() }
    }

    /// A catalogue in which it is `toy`.
    pub fn catalogue(&self) -> Catalogue {
        let toy = self.clone();
        Catalogue::standard().with("toy", move |value| {
            let params: StackParams =
                serde_json::from_value(if value.is_null() { serde_json::json!({}) } else { value.clone() })
                    .map_err(|error| midpath_core::spec::SpecError::new("toy", error.to_string()))?;
            build("toy", params, toy.clone())
        })
    }
}

impl StackConfig for Toy {
    fn open(&self, end: &EndSpec) -> Box<dyn Stack> {
        Box::new(Machine::new(self.clone(), end, true))
    }
    fn accept(&self, end: &EndSpec) -> Box<dyn Stack> {
        Box::new(Machine::new(self.clone(), end, false))
    }
}

struct Machine {
    toy: Toy,
    active: bool,
    at: Duration,
    limit: usize,
    /// Of the sender: when each message was sent last, from the first unacknowledged one on.
    sent: std::collections::BTreeMap<u64, Duration>,
    next: u64,
    total: u64,
    closed: bool,
    again: u64,
    /// Of the receiver.
    got: std::collections::BTreeSet<u64>,
    acks: Vec<u64>,
    last: Option<u64>,
    key: u8,
}

impl Machine {
    fn new(toy: Toy, end: &EndSpec, active: bool) -> Machine {
        Machine {
            toy,
            active,
            at: end.at,
            limit: end.datagram,
            sent: Default::default(),
            next: 0,
            total: 0,
            closed: false,
            again: 0,
            got: Default::default(),
            acks: Vec::new(),
            last: None,
            key: end.local.port() as u8 ^ end.peer.port() as u8,
        }
    }

    fn message(&self, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&number.to_be_bytes());
        out.push(u8::from(self.closed && number + 1 == self.total));
        out.extend((0..BODY).map(|i| (number + i) as u8 ^ self.key));
    }
}

impl Stack for Machine {
    fn receive(&mut self, at: Duration, datagram: &[u8], ecn: Ecn) {
        self.at = at;
        self.toy.counts.ce.fetch_add(u64::from(ecn == Ecn::Ce), Ordering::Relaxed);
        let number = u64::from_be_bytes(datagram[..8].try_into().expect("a number"));
        if self.active {
            self.sent.remove(&number);
            return;
        }
        if datagram[8] == 1 {
            self.last = Some(number);
        }
        let good = datagram[9..].iter().zip(0u64..).all(|(byte, i)| *byte == (number + i) as u8 ^ self.key);
        self.toy.counts.bad.fetch_add(u64::from(!good), Ordering::Relaxed);
        self.got.insert(number);
        self.acks.push(number);
        if self.toy.fault == Fault::Panics && number == 30 {
            panic!("message 30 is\none too many");
        }
    }
    fn timeout(&mut self, at: Duration) {
        self.at = at;
    }
    fn serve(&mut self, _at: Duration, work: &mut Work) {
        let connection = work.of(0);
        (self.total, self.closed) = (connection.given.div_ceil(BODY), connection.closed);
        connection.delivered = self.got.len() as u64 * BODY;
        connection.complete = self.last.is_some_and(|last| self.got.len() as u64 == last + 1);
        connection.acknowledged = self.closed && self.next == self.total && self.sent.is_empty();
        connection.over = self.active && (connection.acknowledged || connection.abort);
    }
    fn transmit(&mut self, at: Duration, out: &mut Vec<u8>) -> Option<Burst> {
        let burst = Burst { ecn: self.toy.ecn, segment: None };
        if let Some(number) = self.acks.pop() {
            out.extend_from_slice(&number.to_be_bytes());
            return Some(burst);
        }
        if !self.active {
            return None;
        }
        let late = self.sent.iter().find(|(_, sent)| **sent + AGAIN <= at).map(|(number, _)| *number);
        let fresh = (self.sent.len() < WINDOW as usize && self.next < self.total).then_some(self.next);
        let number = late.or(fresh)?;
        self.next = self.next.max(number + 1);
        self.again += u64::from(late.is_some());
        if self.toy.fault != Fault::SendsWithoutEnd {
            self.sent.insert(number, at);
        } else {
            self.total = u64::MAX;
        }
        self.message(number, out);
        if self.toy.fault == Fault::SendsTooMuch && number == 30 {
            out.resize(self.limit + 1, 0);
        }
        Some(burst)
    }
    fn wake(&mut self) -> Option<Duration> {
        match self.toy.fault {
            Fault::WakesInThePast if self.next > 30 => Some(Duration::ZERO),
            _ => self.sent.values().min().map(|sent| *sent + AGAIN),
        }
    }
    fn figures(&self) -> Figures {
        Figures { cwnd: WINDOW * BODY, lost: self.again, ..Figures::default() }
    }
}
