//! Egress: offering packets to ports, and waking ports.

use super::slot::{PortCall, Slot};
use super::timers::{Lazy, Wake};
use super::{Driver, Node, Step};
use crate::packet::{Pkt, Pool, PortId};
use crate::roles::{CutThrough, Drop, HopCtx, Port, PortCtx, Transmitter, Verdict, sent_back};
use crate::units::Time;

impl Node {
    /// Offers a packet of this size to a port. For each hop: a call costs 24 instructions.
    #[inline(always)]
    pub(super) fn outbound<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pkt: Pkt,
        size: u32,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        let slot = &mut self.slots[usize::from(port.0)];
        if D::TIMETABLES
            && let Some((start, end)) = slot.book_unasked(size, now, self.until)
        {
            return self.booked(now, port, pkt, (start, end), pool, driver);
        }
        if slot.is_held() && slot.fits(size) {
            return self.outbound_held(now, now, port, pkt, pool, driver);
        }
        self.outbound_asked(now, port, pkt, pool, driver);
    }

    /// Hands over a packet that has its times in a timetable.
    #[inline(always)]
    fn booked<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pkt: Pkt,
        (start, end): (Time, Time),
        pool: &mut Pool,
        driver: &mut D,
    ) {
        if D::TRACES && start > now {
            let backlog = self.slots[usize::from(port.0)].backlog(now);
            driver.step(pkt.id(), &pool[&pkt], Step::Queued(port, backlog));
        }
        driver.book(port, pkt, start, end, pool);
    }

    /// The same with a packet that is not admitted at once.
    #[inline(never)]
    fn outbound_asked<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let (slot, packet) = (&mut self.slots[usize::from(port.0)], &mut pool[&pkt]);
        let size = packet.size;
        if !slot.fits(size) {
            return self.discard(Some(port), pkt, Drop::TooBig, pool, driver);
        }
        slot.release_started(now);
        let times = match slot.ask(packet, now, &self.links[usize::from(port.0)], &mut self.streams.ports) {
            Verdict::Pass => Ok(slot.book(size, now, self.until)),
            Verdict::Signal => self
                .signal(now, port, &pkt, pool, driver)
                .map(|()| self.slots[usize::from(port.0)].book(size, now, self.until)),
            Verdict::Drop(why) => Err(why),
        };
        match times {
            Ok(times) => self.booked(now, port, pkt, times, pool, driver),
            Err(why) => self.discard(Some(port), pkt, why, pool, driver),
        }
    }

    /// Has a timetable signal a packet that it has chosen.
    #[inline(never)]
    fn signal<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pkt: &Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) -> Result<(), Drop> {
        let slot = &self.slots[usize::from(port.0)];
        let (transmitter, marks) = (slot.transmitter(now), slot.marks());
        let signalled =
            self.with_called(port, now, transmitter, pool, Slot::called_rule, |rule, ctx| rule.signal(pkt, ctx));
        Node::trace_notes(pool, driver);
        if self.slots[usize::from(port.0)].marks() > marks {
            driver.marked(port, pkt.id(), &pool[pkt]);
        }
        signalled.unwrap_or(Ok(()))
    }

    /// The same with a packet that came to another port of this node before, and has waited since.
    pub(super) fn outbound_sibling<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pkt: Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        let slot = &self.slots[usize::from(port.0)];
        let (came, size) = (pool[&pkt].queued, pool[&pkt].size);
        if slot.fits(size) && (!D::TIMETABLES || slot.is_held()) {
            return self.outbound_held(now, came, port, pkt, pool, driver);
        }
        self.outbound(now, port, pkt, size, pool, driver);
    }

    /// A port's transmitter as the port may see it. A timetable is brought up to `now`.
    #[inline]
    pub(super) fn transmitter<D: Driver>(&mut self, port: PortId, now: Time, driver: &mut D) -> Transmitter {
        let slot = &mut self.slots[usize::from(port.0)];
        if slot.is_held() {
            return driver.transmitter(port, now);
        }
        slot.release_started(now);
        slot.transmitter(now)
    }

    /// Calls a port with its context, and counts what waits there after that. `None` if it is plain
    /// drop-tail.
    #[inline]
    pub(super) fn with_port<R>(
        &mut self,
        port: PortId,
        now: Time,
        transmitter: Transmitter,
        pool: &mut Pool,
        call: impl FnOnce(&mut (dyn Port + 'static), &mut PortCtx<'_>) -> R,
    ) -> Option<R> {
        self.with_called(port, now, transmitter, pool, Slot::called, call)
    }

    /// The same with what is `called` of it.
    #[inline(always)]
    fn with_called<P: Port + ?Sized, R>(
        &mut self,
        port: PortId,
        now: Time,
        transmitter: Transmitter,
        pool: &mut Pool,
        called: impl FnOnce(&mut Slot) -> Option<PortCall<'_, P>>,
        call: impl FnOnce(&mut P, &mut PortCtx<'_>) -> R,
    ) -> Option<R> {
        let mut called = called(&mut self.slots[usize::from(port.0)])?;
        let mut sent = called.sent;
        let mut ctx = PortCtx {
            now,
            node: self.id,
            me: port,
            links: &self.links,
            pool,
            rng: &mut self.streams.ports,
            transmitter,
            reverse: &self.reverse,
            booked: called.booked,
            lossless: false,
            state: called.state.map(|i| self.states[i].as_mut()),
            actions: &mut self.actions,
            timer: called.timer,
            marks: called.marks,
            trims: called.trims,
            sent: &mut sent,
        };
        let answer = call(called.port, &mut ctx);
        called.note_level(now.min(self.until));
        Some(answer)
    }

    /// Calls a port with cut-through, without a context; false of any other. A call costs 30 instructions.
    #[inline(always)]
    pub(super) fn with_cut_through(
        &mut self,
        port: PortId,
        now: Time,
        pool: &mut Pool,
        call: impl FnOnce(&mut dyn CutThrough, &mut HopCtx<'_>) -> bool,
    ) -> bool {
        let (index, me) = (usize::from(port.0), port);
        let Some((port, timer, shared)) = self.slots[index].cut_through() else { return false };
        let link = &self.links[index];
        let (reverse, state) = (sent_back(&self.reverse, me, link), shared.map(|i| self.states[i].as_mut()));
        call(port, &mut HopCtx { now, me, link, reverse, pool, state, timer })
    }

    #[inline(always)]
    pub(super) fn arm_port(&mut self, port: PortId, now: Time) {
        if let Some(at) = self.slots[usize::from(port.0)].arm(now) {
            self.timers.push(at, Wake::Port(port));
        }
    }

    /// A port's background timer.
    pub(super) fn background(&mut self, port: PortId) -> &mut Lazy {
        let timers = &mut self.extras.get_or_insert_default().background;
        if timers.is_empty() {
            timers.resize(self.slots.len(), Lazy::default());
        }
        &mut timers[usize::from(port.0)]
    }

    /// Sees to it that a port is woken in the background when it asked to be.
    pub(super) fn arm_background(&mut self, port: PortId, now: Time) {
        if let Some(at) = self.background(port).arm(now) {
            self.timers.push_background(at, Wake::PortBackground(port));
        }
    }

    /// An entry of a port's timers has come up; `fires` if the port is to be told.
    pub(super) fn port_timer<D: Driver>(
        &mut self,
        port: PortId,
        fires: bool,
        now: Time,
        pool: &mut Pool,
        driver: &mut D,
    ) {
        if fires {
            let transmitter = driver.transmitter(port, now);
            self.with_port(port, now, transmitter, pool, |p, ctx| p.on_timer(ctx));
            self.poll(port, now, pool, driver);
        }
        self.arm_port(port, now);
        self.drain(now, pool, driver);
    }
}
