//! Egress: offering packets to ports, and waking ports.

use super::slot::Left;
use super::timers::{Lazy, Wake};
use super::{Driver, Node, Step};
use crate::packet::{Pkt, Pool, PortId};
use crate::roles::{Drop, PortCtx, Shortcuts, Transmitter};
use crate::units::Time;

impl Node {
    /// Offers a packet to a port. For each hop: a call costs 24 instructions.
    #[inline(always)]
    pub(super) fn outbound<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let (slot, size) = (&mut self.slots[usize::from(port.0)], pool[&pkt].size);
        if D::TIMETABLES
            && let Some((start, end)) = slot.book_unasked(size, now, self.until)
        {
            return self.booked(now, port, pkt, (start, end), pool, driver);
        }
        if slot.is_held() && slot.fits(size) {
            return self.outbound_held(now, now, port, pkt, pool, driver);
        }
        if D::TIMETABLES && slot.decides() {
            return self.outbound_decided(now, port, pkt, pool, driver);
        }
        self.outbound_by_rule(now, port, pkt, pool, driver);
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

    /// The same with a packet for a timetable that is asked without a context.
    #[inline(never)]
    fn outbound_decided<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let (slot, packet) = (&mut self.slots[usize::from(port.0)], &mut pool[&pkt]);
        let size = packet.size;
        if !slot.fits(size) {
            return self.discard(Some(port), pkt, Drop::TooBig, pool, driver);
        }
        slot.release_started(now);
        let link = &self.links[usize::from(port.0)];
        if let Err(why) = slot.decide(packet, now, link, &mut self.streams.ports) {
            return self.discard(Some(port), pkt, why, pool, driver);
        }
        let times = slot.book(size, now, self.until);
        self.booked(now, port, pkt, times, pool, driver);
    }

    /// The same with a packet that is not admitted at once.
    #[inline(never)]
    fn outbound_by_rule<D: Driver>(&mut self, now: Time, port: PortId, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let (slot, size) = (&mut self.slots[usize::from(port.0)], pool[&pkt].size);
        if !slot.fits(size) {
            return self.discard(Some(port), pkt, Drop::TooBig, pool, driver);
        }
        if !D::TIMETABLES || slot.is_held() {
            return self.outbound_held(now, now, port, pkt, pool, driver);
        }
        slot.release_started(now);
        match self.admit(now, port, &pkt, pool, driver) {
            Ok(()) => {
                let times = self.slots[usize::from(port.0)].book(size, now, self.until);
                self.booked(now, port, pkt, times, pool, driver);
            }
            Err(why) => self.discard(Some(port), pkt, why, pool, driver),
        }
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
        let (came, fits) = (pool[&pkt].queued, slot.fits(pool[&pkt].size));
        if fits && (!D::TIMETABLES || slot.is_held()) {
            return self.outbound_held(now, came, port, pkt, pool, driver);
        }
        self.outbound(now, port, pkt, pool, driver);
    }

    /// Asks a timetable whether it takes a packet that its bound does not admit.
    fn admit<D: Driver>(
        &mut self,
        now: Time,
        port: PortId,
        pkt: &Pkt,
        pool: &mut Pool,
        driver: &mut D,
    ) -> Result<(), Drop> {
        let (transmitter, mut left) = (self.slots[usize::from(port.0)].transmitter(now), Left::default());
        let decision =
            self.call_port::<false, _>(port, now, transmitter, pool, Some(&mut left), |p, ctx| p.admit(pkt, ctx));
        Node::tell_notes(pool, driver);
        let Some(admitted) = decision else {
            // Drop-tail has said all in its bound.
            let admits = self.slots[usize::from(port.0)].admits(pool[pkt].size);
            return if admits { Ok(()) } else { Err(Drop::Queue) };
        };
        if left.marks > 0 {
            self.slots[usize::from(port.0)].extra().marks += left.marks;
            driver.marked(port, pkt.id(), &pool[pkt]);
        }
        admitted
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
        call: impl FnOnce(&mut dyn Shortcuts, &mut PortCtx<'_>) -> R,
    ) -> Option<R> {
        self.call_port::<true, _>(port, now, transmitter, pool, None, call)
    }

    /// The same; what waits is counted if it `NOTES` that, for it may stay as it is. A timetable that
    /// decides on a packet may leave its marks in `left`.
    #[inline(always)]
    pub(super) fn call_port<const NOTES: bool, R>(
        &mut self,
        port: PortId,
        now: Time,
        transmitter: Transmitter,
        pool: &mut Pool,
        left: Option<&mut Left>,
        call: impl FnOnce(&mut dyn Shortcuts, &mut PortCtx<'_>) -> R,
    ) -> Option<R> {
        let slot = &mut self.slots[usize::from(port.0)];
        let mut called = match left {
            Some(left) => slot.deciding(left)?,
            None => slot.called()?,
        };
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
        };
        let answer = call(called.port, &mut ctx);
        if NOTES {
            called.note_level(now.min(self.until));
        }
        Some(answer)
    }

    #[inline]
    pub(super) fn arm_port(&mut self, port: PortId, now: Time) {
        if let Some(at) = self.slots[usize::from(port.0)].arm(now) {
            self.timers.push(at, Wake::Port(port));
        }
    }

    /// A port's background timer.
    pub(super) fn background(&mut self, port: PortId) -> &mut Lazy {
        let timers = &mut self.rare.get_or_insert_default().background;
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
