//! Changes to a node from outside: rates, links, routes, and restarts of its network side.

use super::forwarding::Chain;
use super::{Driver, EndId, Node};
use crate::packet::{Pool, PortId};
use crate::roles::{Drop, Forwarder};
use crate::units::{Rate, Time};

impl Node {
    /// Called when a port's rate has changed. Only held ports may change: a timetable has promised
    /// its times already.
    pub fn set_rate<D: Driver>(&mut self, port: PortId, rate: Rate, now: Time, pool: &mut Pool, driver: &mut D) {
        self.own_reverse();
        self.links[usize::from(port.0)].rate = rate;
        self.on_link(port, now, pool, driver);
    }

    /// Called when the rate of a link's other direction has changed; the port sees it when it is
    /// called next.
    pub fn set_reverse_rate(&mut self, port: PortId, rate: Rate) {
        self.own_reverse();
        self.reverse[usize::from(port.0)] = rate;
    }

    /// From now on links may be faster one way than the other.
    fn own_reverse(&mut self) {
        if self.reverse.is_empty() {
            self.reverse = self.links.iter().map(|link| link.rate).collect();
        }
    }

    /// Called when a port's link has gone down or come back. What waits stays; the driver's
    /// transmitter is busy while the link is down.
    pub fn on_link<D: Driver>(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut D) {
        debug_assert!(self.slots[usize::from(port.0)].is_held(), "links that change need held ports");
        let transmitter = driver.transmitter(port, now);
        self.with_port(port, now, transmitter, pool, |p, ctx| p.on_link(ctx));
        self.poll(port, now, pool, driver);
        self.drain(now, pool, driver);
    }

    /// Called when the node goes over to the routes of another state of the network. Ports whose
    /// links are down give up what waits there, as an interface that is down does.
    #[cold]
    pub fn on_routes<D: Driver>(&mut self, state: u32, down: &[PortId], now: Time, pool: &mut Pool, driver: &mut D) {
        if let Some(chain) = self.forwarding.chain_mut() {
            chain.on_routes(state);
        }
        if let Some(paths) = self.forwarding.shortest_mut() {
            paths.on_routes(state);
        }
        down.iter().for_each(|port| self.clear(*port, now, pool, driver));
        let ends: Vec<EndId> = self.endpoints.iter().map(|(end, _)| end).collect();
        for end in ends {
            if let Some(seat) = self.endpoints.find_end(end) {
                self.call(seat, now, pool, driver, |e, ctx| e.on_routes(ctx));
            }
        }
        self.drain(now, pool, driver);
    }

    /// A port loses what waits there, and forgets what it has learned.
    #[cold]
    pub(super) fn clear<D: Driver>(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut D) {
        let transmitter = self.transmitter(port, now, driver);
        self.with_port(port, now, transmitter, pool, |p, ctx| p.reset(ctx));
        self.arm_port(port, now);
    }

    /// Restarts the node's network side: queues are lost, schemes at ports and the forwarder
    /// forget. Endpoints live on.
    pub fn restart<D: Driver>(&mut self, now: Time, pool: &mut Pool, driver: &mut D) {
        for i in 0..self.slots.len() {
            self.clear(PortId(i as u16), now, pool, driver);
        }
        self.clear_receive_queue(pool, driver);
        let kept = self.forwarding.chain_mut().map(Chain::reset).unwrap_or_default();
        kept.into_iter().for_each(|pkt| self.discard(None, pkt, Drop::Fault, pool, driver));
        self.drain(now, pool, driver);
    }
}
