//! The application at one end: what it has for the stack, and when it has more.

use midpath_core::roles::{FlowSpec, Supply};
use midpath_core::units::{Bytes, Rate, Time, TxClock};

use crate::{Application, StackParams, Work};

/// Writes messages at a rate.
#[derive(Debug)]
struct Meter {
    clock: TxClock,
    message: u64,
    written: u64,
    next: Time,
}

impl Meter {
    fn new(rate: Rate, message: Bytes, now: Time) -> Meter {
        Meter { clock: TxClock::new(rate), message: message.0, written: 0, next: now }
    }

    fn written(&mut self, now: Time) -> u64 {
        while self.next <= now {
            self.written += self.message;
            self.next += self.clock.time(self.message as u32);
        }
        self.written
    }
}

/// One end's application.
#[derive(Debug)]
pub struct App {
    params: StackParams,
    active: bool,
    size: Option<u64>,
    stop: Time,
    meter: Option<Meter>,
}

impl App {
    /// That of one end of `flow`.
    pub fn new(params: StackParams, active: bool, flow: &FlowSpec, now: Time) -> App {
        let rate = flow.rate.filter(|rate| rate.0 > 0);
        App {
            params,
            active,
            size: flow.size.map(|size| size.0),
            stop: flow.stop.filter(|_| active).unwrap_or(Time::MAX),
            meter: rate.map(|rate| Meter::new(rate, params.message, now)),
        }
    }

    /// Whether it is the one that the flow's data come from.
    pub fn sends(&self) -> bool {
        self.active == (self.params.application != Application::Fetch)
    }

    /// Says to each connection what there is for it now.
    pub fn plan(&mut self, now: Time, supply: Option<Supply>, work: &mut Work) {
        let stops = now >= self.stop;
        work.iter_mut().for_each(|connection| connection.abort |= stops);
        if !self.sends() {
            let asked = if self.active { self.params.request.0 } else { 0 };
            work.iter_mut().for_each(|connection| (connection.given, connection.closed) = (asked, true));
            return;
        }
        let size = self.size.unwrap_or(u64::MAX);
        let Supply { given, closed } = match (supply, &mut self.meter) {
            (Some(supply), _) => supply,
            (None, Some(meter)) => {
                let given = meter.written(now).min(size);
                Supply { given, closed: given == size }
            }
            (None, None) => Supply { given: size, closed: self.size.is_some() },
        };
        let (share, answers) = (u64::from(self.params.connections), self.params.application == Application::Fetch);
        for (i, connection) in (0..).zip(work.iter_mut()).filter(|(_, connection)| !answers || connection.complete) {
            // The first ones take one more where shares are not even.
            let part = |all: u64| all / share + u64::from(i < all % share);
            connection.closed = closed;
            if self.params.application == Application::Datagrams {
                let message = self.params.message.0;
                connection.messages = (part(given.div_ceil(message)), message as usize);
            } else {
                connection.given = part(given);
            }
        }
    }

    /// Whether a connection has done all that the application wants of it.
    pub fn is_done(&self, work: &Work) -> bool {
        let done = |c: &crate::Connection| if self.sends() { c.acknowledged } else { c.complete };
        work.iter().count() >= self.params.connections as usize && work.iter().all(done)
    }

    /// Whether all has come that this end waits for.
    pub fn has_all(&self, work: &Work) -> bool {
        match (self.params.application, self.size) {
            (Application::Datagrams, Some(size)) => work.delivered() >= size,
            (Application::Datagrams, None) => false,
            _ => self.is_done(work),
        }
    }

    /// When it does something by itself next.
    pub fn next(&self) -> Time {
        self.meter.as_ref().filter(|_| self.sends()).map_or(Time::MAX, |meter| meter.next).min(self.stop)
    }
}
