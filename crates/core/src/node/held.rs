//! Held ports: the node asks them for each packet; other ports have a timetable
//! (`crates/sim/src/engine/README.md`).

use super::timers::Wake;
use super::{Driver, Node, Step};
use crate::packet::{Pkt, Pool, PortId};
use crate::roles::{HopCtx, Inbound, Transmitter, sent_back};
use crate::units::Time;

impl Node {
    /// Offers a packet that came to this node at `came` to a held port, and asks for one to send. A call
    /// costs 35 instructions a hop.
    #[inline(always)]
    pub(super) fn outbound_held<D: Driver>(
        &mut self,
        now: Time,
        came: Time,
        port: PortId,
        pkt: Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        let mut transmitter = driver.transmitter(port, now);
        let slot = &self.slots[usize::from(port.0)];
        let (armed, cuts_through) = (slot.idle_armed(), slot.has_cut_through());
        if armed && !transmitter.is_busy() {
            // What starts now waits no longer when another arrives now, as on a timetable.
            self.poll(port, now, pool, driver);
            transmitter = driver.transmitter(port, now);
        }
        // Sojourn counts from here, whatever the port does with the packet.
        pool[&pkt].queued = came;
        if cuts_through && !transmitter.is_busy() {
            // Once for all: each look at a slot or a link is checked.
            let (me, index) = (port, usize::from(port.0));
            let (slot, link) = (&mut self.slots[index], &self.links[index]);
            if let Some((port, timer, shared)) = slot.cut_through() {
                let (reverse, state) = (sent_back(&self.reverse, me, link), shared.map(|i| self.states[i].as_mut()));
                if port.cut_through(&pkt, &mut HopCtx { now, me, link, reverse, pool, state, timer }) {
                    // The port may have changed its size.
                    let size = pool[&pkt].size;
                    slot.count(size, came, now, self.until);
                    if let Transmitter::Busy { until: Some(end) } = driver.start_and_look(me, pkt, now, pool) {
                        slot.sends_until(end, size, link.rate);
                    }
                    return self.arm_port(me, now);
                }
            }
        }
        let id = pkt.id();
        let outcome = self.with_port(port, now, transmitter, pool, |p, ctx| {
            let before = *ctx.marks;
            p.outbound(pkt, ctx);
            let marks = *ctx.marks;
            let next = if ctx.transmitter.is_busy() { None } else { p.poll_transmit(ctx) };
            debug_assert!(ctx.sent.packet().is_none(), "who is idle and has something is asked before");
            (marks > before, marks, next)
        });
        let (marked, marks, next) = outcome.expect("a driver without timetables runs nodes with held ports only");
        Node::trace_notes(pool, driver);
        if D::TRACES {
            let queued = |node: &mut Node| Step::Queued(port, node.slots[usize::from(port.0)].backlog(now));
            self.trace_kept(queued, id, next.as_ref(), pool, driver);
        }
        if marked {
            driver.marked(port, id, pool.peek(id));
        }
        self.go_on(port, now, transmitter, next.map(|pkt| (pkt, marks)), pool, driver);
    }

    /// Starts a packet of a held port; says what the transmitter is like then. A call costs 31
    /// instructions a hop.
    #[inline(always)]
    fn begin<D: Driver>(&mut self, port: PortId, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) -> Transmitter {
        let size = pool[&pkt].size;
        let transmitter = driver.start_and_look(port, pkt, now, pool);
        if let Transmitter::Busy { until: Some(end) } = transmitter {
            self.slots[usize::from(port.0)].sends_until(end, size, self.links[usize::from(port.0)].rate);
        }
        transmitter
    }

    /// Shows a packet to the held port that it came in through, and asks for one to send, in one
    /// call: the transmitter is idle.
    pub(super) fn inbound_and_ask<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pkt: Pkt,
        transmitter: Transmitter,
        pool: &mut Pool,
        driver: &mut D,
    ) -> Option<Inbound> {
        let (fate, marks, next) = self.with_port(port, now, transmitter, pool, |p, ctx| {
            let fate = p.inbound(pkt, ctx);
            let marks = *ctx.marks;
            (fate, marks, p.poll_transmit(ctx))
        })?;
        self.go_on(port, now, transmitter, next.map(|pkt| (pkt, marks)), pool, driver);
        Some(fate)
    }

    /// Asks a held port for a packet if its transmitter is idle; sees to it that it is asked again.
    pub(super) fn poll<D: Driver>(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut D) {
        if !self.slots[usize::from(port.0)].is_held() {
            return;
        }
        let transmitter = driver.transmitter(port, now);
        let next = if transmitter.is_busy() { None } else { self.ask(port, now, transmitter, pool, driver) };
        self.go_on(port, now, transmitter, next, pool, driver);
    }

    /// Starts the packet that a held port has given, which had so many marks before that, and sees
    /// to it that the port is asked again.
    #[inline]
    pub(super) fn go_on<D: Driver>(
        &mut self,
        port: PortId,
        now: Time,
        mut transmitter: Transmitter,
        next: Option<(Pkt, u64)>,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        Node::trace_notes(pool, driver);
        if let Some((pkt, marks)) = next {
            self.count(port, now, &pkt, marks, pool, driver);
            transmitter = self.begin(port, now, pkt, pool, driver);
            if !transmitter.is_busy() {
                // It has left at once, by a delivery opportunity or in a frame with room for more.
                match self.slots[usize::from(port.0)].is_gathered() {
                    true => self.ask_for_frame(port, now),
                    false => self.ask_again(port, now, Some(now)),
                }
            }
        }
        if let Transmitter::Busy { until } = transmitter {
            self.ask_again(port, now, until);
        }
        self.arm_port(port, now);
    }

    /// Counts a packet that starts onto the wire now.
    #[inline(always)]
    fn count<D: Driver>(&mut self, port: PortId, now: Time, pkt: &Pkt, marks: u64, pool: &Pool, driver: &mut D) {
        let (slot, packet) = (&mut self.slots[usize::from(port.0)], &pool[pkt]);
        slot.count(packet.size, packet.queued, now, self.until);
        if slot.marks() > marks {
            driver.marked(port, pkt.id(), packet);
        }
    }

    /// Counts a packet that has left through a tunnel.
    pub(super) fn count_carried(&mut self, port: PortId, now: Time, pkt: &Pkt, pool: &Pool) {
        let packet = &pool[pkt];
        self.slots[usize::from(port.0)].count(packet.size, packet.queued, now, self.until);
    }

    /// Asks a held port for its next packet; with it, how many marks there were before.
    #[inline]
    fn ask<D: Driver>(
        &mut self,
        port: PortId,
        now: Time,
        transmitter: Transmitter,
        pool: &mut Pool,
        driver: &mut D,
    ) -> Option<(Pkt, u64)> {
        let (next, marks, sent) = self.with_port(port, now, transmitter, pool, |p, ctx| {
            let marks = *ctx.marks;
            (p.poll_transmit(ctx), marks, ctx.sent.packet())
        })?;
        let late = sent.is_some_and(|id| driver.mark_sent(port, id, pool));
        if late {
            self.slots[usize::from(port.0)].cold().marks += 1;
        }
        next.map(|pkt| (pkt, marks + u64::from(late)))
    }

    /// A port whose transmitter is busy is asked again then, if it has something, or when the
    /// driver comes back.
    #[inline]
    fn ask_again(&mut self, port: PortId, now: Time, until: Option<Time>) {
        let slot = &mut self.slots[usize::from(port.0)];
        let waits = match until {
            Some(_) => !slot.idle_armed(),
            None => !slot.listed(),
        };
        if !waits || slot.backlog(now).packets == 0 {
            return;
        }
        match until {
            Some(at) => {
                slot.cold().idle_armed = true;
                self.timers.push(at, Wake::Idle(port));
            }
            None => {
                slot.cold().listed = true;
                self.extras.get_or_insert_default().ready.push_back(port);
            }
        }
    }

    /// Asks that the driver sends a frame with what this port has at `at`, or with what it has itself.
    #[cold]
    pub fn ask_for_frame(&mut self, port: PortId, at: Time) {
        self.timers.push(at, Wake::Frame(port));
    }

    /// A frame may be sent: it takes what the port has until it is full.
    #[cold]
    #[inline(never)]
    pub(super) fn fill_frame<D: Driver>(&mut self, port: PortId, now: Time, pool: &mut Pool, driver: &mut D) {
        while !driver.transmitter(port, now).is_busy()
            && let Some(pkt) = self.poll_transmit(now, port, pool, driver)
        {
            driver.start(port, pkt, now, pool);
        }
        if let Some(at) = driver.gathered(port, now, pool) {
            self.ask_for_frame(port, at);
        }
        if let Transmitter::Busy { until } = driver.transmitter(port, now) {
            self.ask_again(port, now, until);
        }
        self.arm_port(port, now);
    }

    /// The next port that had something to send while its transmitter was busy. A driver that pulls
    /// asks this after each call, and each such port for packets until it has none.
    pub fn ready(&mut self) -> Option<PortId> {
        let port = self.extras.as_mut()?.ready.pop_front()?;
        self.slots[usize::from(port.0)].cold().listed = false;
        Some(port)
    }

    /// Called when the driver can send on `port`: its next packet, which starts now. A driver that
    /// can't send it after all drops it, and counts that itself.
    pub fn poll_transmit<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pool: &mut Pool,
        driver: &mut D,
    ) -> Option<Pkt> {
        let next = self.ask(port, now, Transmitter::Idle { since: now }, pool, driver);
        if let Some((pkt, marks)) = &next {
            self.count(port, now, pkt, *marks, pool, driver);
        }
        self.arm_port(port, now);
        self.drain(now, pool, driver);
        next.map(|(pkt, _)| pkt)
    }
}
