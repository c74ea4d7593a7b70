//! Sums over the last d seconds, in constant amortised time and without subtraction.
//!
//! Equations (3) and (4) are sums over packets in (t − d, t]. A running sum from which old terms
//! are subtracted would lose everything else when a term of 10^12 leaves again (preloads at the
//! minimum price are of that size, and a hostile sender can choose them). Two stacks do without:
//! the newer packets with one sum over all, the older ones with the sum from each to the newest of
//! them. Each packet is added twice and removed once.

use std::collections::VecDeque;

use midpath_core::fifo::Fifo;
use midpath_core::table::more;
use midpath_core::units::Time;

use crate::explicit::real;

/// What the packets of a window add together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Terms {
    /// Σ p·size: what the packets pay, $.
    pub paid: f64,
    /// Σ p·size·preload/rtt: by how much the budget that comes in will grow, $/s.
    pub preloaded: f64,
    /// Σ rtt, s.
    pub rtt: f64,
    /// Packets with a round-trip time.
    pub packets: f64,
    /// Bytes of packets that pay.
    pub bytes: f64,
    /// Σ size/balance: by how many bytes a rise of the price by one would lower what comes,
    /// byte²/$.
    pub yielding: f64,
    /// What flows begin with that have said how much they may spend, bytes per second.
    pub opening: f64,
    /// That, $/s.
    pub opening_budget: f64,
    /// Bytes of packets that pay nothing: those of other schemes, and acknowledgements.
    pub unpaid: f64,
}

/// A packet that pays.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Payment {
    /// As in [`Terms`].
    pub paid: f64,
    /// As in [`Terms`].
    pub preloaded: f64,
    /// Its round-trip time, s; 0 where it has told none.
    pub rtt: f64,
    /// As in [`Terms`].
    pub yielding: f64,
    /// Its size.
    pub bytes: u32,
}

/// What a packet says of the flow that it begins.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Opening {
    /// As in [`Terms`].
    pub opening: f64,
    /// As in [`Terms`].
    pub budget: f64,
}

/// Sums of real numbers, which depend on the order in which they are added.
#[derive(Debug, Clone, Copy, Default)]
struct Real {
    paid: f64,
    preloaded: f64,
    rtt: f64,
    yielding: f64,
}

impl Real {
    #[inline]
    fn add(&mut self, other: &Real) {
        #[cfg(test)]
        tests::ADDED.with(|added| added.set(added.get() + 1));
        self.paid += other.paid;
        self.preloaded += other.preloaded;
        self.rtt += other.rtt;
        self.yielding += other.yielding;
    }
}

/// A packet that pays, as it is remembered.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Time,
    real: Real,
    bytes: u32,
    /// It has told a round-trip time.
    timed: bool,
    /// It begins a flow, and has its [`Opening`] among [`Openings`].
    opens: bool,
}

/// What those packets of a window say that begin a flow, as [`Window`] keeps what packets pay. Few do:
/// others would carry zeros along.
#[derive(Debug, Clone, Default)]
struct Openings {
    old: Vec<Opening>,
    first: usize,
    new: Vec<Opening>,
    new_sum: Opening,
}

impl Opening {
    fn add(&mut self, other: &Opening) {
        self.opening += other.opening;
        self.budget += other.budget;
    }
}

impl Openings {
    fn sums(&self) -> Opening {
        let mut sums = self.new_sum;
        self.old.get(self.first).into_iter().for_each(|old| sums.add(old));
        sums
    }

    fn refill_old(&mut self) {
        self.old.clear();
        std::mem::swap(&mut self.old, &mut self.new);
        let mut sum = Opening::default();
        for entry in self.old.iter_mut().rev() {
            sum.add(entry);
            *entry = sum;
        }
        (self.first, self.new_sum) = (0, Opening::default());
    }
}

/// Most packets remembered. Ours: 2^20 are 50 MB and 1.2 s of full packets at 10 Gbps; what is
/// older is forgotten early.
const MOST: usize = 1 << 20;

/// The packets of the last d seconds.
///
/// Numbers of packets and bytes are whole, so that sums of them are exact in any order: these are
/// kept by subtraction. Packets that pay nothing are in a queue of their own.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// The packets that pay, oldest first; so many of them are older ones, each with the sum from itself to the newest
    /// of those. One ring for both: together they are as many as the window holds.
    paid: VecDeque<Entry>,
    old_paid: usize,
    new_sum: Real,
    /// Of those that begin a flow, made with the first.
    openings: Option<Box<Openings>>,
    /// Packets that pay nothing, oldest first; so many of them are older ones, the last of which came then.
    /// Where nothing is summed they are forgotten all at once.
    unpaid: Fifo<(Time, u32)>,
    old_unpaid: usize,
    old_until: Time,
    /// What is from then or before may be forgotten: [`Window::forget`] leaves some of it.
    from: Time,
    /// Round-trip times, bytes that pay, and bytes that don't.
    timed: u64,
    bytes: u64,
    /// Of older and of newer ones.
    old_unpaid_bytes: u64,
    unpaid_bytes: u64,
}

impl Window {
    /// Takes a packet in that pays.
    #[inline]
    pub fn push(&mut self, now: Time, packet: &Payment) {
        self.take(now, packet, false);
    }

    /// The same of a packet that begins a flow.
    pub fn push_opening(&mut self, now: Time, packet: &Payment, opening: Opening) {
        self.take(now, packet, true);
        let openings = self.openings.get_or_insert_default();
        openings.new.push(opening);
        openings.new_sum.add(&opening);
    }

    #[inline]
    fn take(&mut self, now: Time, packet: &Payment, opens: bool) {
        self.make_room();
        let Payment { paid, preloaded, rtt, yielding, bytes } = *packet;
        let (real, timed) = (Real { paid, preloaded, rtt, yielding }, rtt > 0.0);
        if self.paid.len() == self.paid.capacity() {
            self.paid.reserve_exact(more(self.paid.len()));
        }
        self.paid.push_back(Entry { at: now, real, bytes, timed, opens });
        self.new_sum.add(&real);
        self.timed += u64::from(timed);
        self.bytes += u64::from(bytes);
    }

    /// Takes a packet in that pays nothing.
    #[inline]
    pub fn push_unpaid(&mut self, now: Time, bytes: u32) {
        self.make_room();
        self.unpaid.push((now, bytes));
        self.unpaid_bytes += u64::from(bytes);
    }

    /// Forgets packets from `from` or before, where no sums follow: of packets that pay nothing the older
    /// ones go all at once, with the last of them. For each ACK on each link.
    #[inline(always)]
    pub fn forget(&mut self, from: Time) {
        if self.old_paid > 0 {
            return self.expire(from);
        }
        self.from = from;
        if self.old_unpaid > 0 {
            if from < self.old_until {
                return;
            }
            self.unpaid.skip(self.old_unpaid);
            (self.old_unpaid, self.old_unpaid_bytes) = (0, 0);
        }
        self.expire_newer(from);
    }

    /// Forgets packets from `from` or before. For each hop: a call costs 20 instructions.
    #[inline(always)]
    pub fn expire(&mut self, from: Time) {
        self.expire_old(from);
        if self.old_len() == 0 {
            self.expire_newer(from);
        }
    }

    #[inline(never)]
    fn expire_newer(&mut self, from: Time) {
        if self.newer().is_some_and(|t| t <= from) {
            self.refill_old();
            self.expire_old(from);
        }
    }

    /// The sums over what is left.
    #[inline]
    pub fn sums(&self) -> Terms {
        let mut sums = self.new_sum;
        if let Some(old) = self.oldest_paid() {
            sums.add(&old.real);
        }
        let opening = self.openings.as_ref().map_or(Opening::default(), |openings| openings.sums());
        Terms {
            paid: sums.paid,
            preloaded: sums.preloaded,
            rtt: sums.rtt,
            packets: real(self.timed),
            bytes: real(self.bytes),
            yielding: sums.yielding,
            opening: opening.opening,
            opening_budget: opening.budget,
            unpaid: real(self.old_unpaid_bytes + self.unpaid_bytes),
        }
    }

    /// How many packets are in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.paid.len() + self.unpaid.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn old_len(&self) -> usize {
        self.old_paid + self.old_unpaid
    }

    /// The oldest packet that pays, if it is an older one.
    #[inline]
    fn oldest_paid(&self) -> Option<&Entry> {
        if self.old_paid > 0 { self.paid.front() } else { None }
    }

    /// When the oldest packet came, where all are newer ones.
    #[inline]
    fn newer(&self) -> Option<Time> {
        let (paid, unpaid) = (self.paid.front().map(|e| e.at), self.unpaid.front().map(|e| e.0));
        paid.into_iter().chain(unpaid).min()
    }

    /// Forgets older packets from `from` or before.
    #[inline]
    fn expire_old(&mut self, from: Time) {
        while self.oldest_paid().is_some_and(|e| e.at <= from) {
            self.pop_paid();
        }
        while self.old_unpaid > 0 && self.unpaid.front().is_some_and(|e| e.0 <= from) {
            self.pop_unpaid();
        }
    }

    #[inline]
    fn pop_paid(&mut self) {
        let Some(entry) = self.paid.pop_front() else { return };
        self.timed -= u64::from(entry.timed);
        self.bytes -= u64::from(entry.bytes);
        if entry.opens
            && let Some(openings) = &mut self.openings
        {
            openings.first += 1;
        }
        self.old_paid -= 1;
    }

    #[inline]
    fn pop_unpaid(&mut self) {
        let Some((_, bytes)) = self.unpaid.pop() else { return };
        self.old_unpaid_bytes -= u64::from(bytes);
        self.old_unpaid -= 1;
    }

    #[inline]
    fn make_room(&mut self) {
        if self.len() >= MOST {
            self.pop();
        }
    }

    /// Forgets the oldest packet, if none is left that has been forgotten already.
    #[cold]
    fn pop(&mut self) {
        self.expire_old(self.from);
        if self.len() < MOST {
            return;
        }
        if self.old_len() == 0 {
            self.refill_old();
        }
        let paid = self.oldest_paid().map(|e| e.at);
        let unpaid = self.unpaid.front().filter(|_| self.old_unpaid > 0).map(|e| e.0);
        match (paid, unpaid) {
            (Some(paid), Some(unpaid)) if unpaid < paid => self.pop_unpaid(),
            (Some(_), _) => self.pop_paid(),
            (None, _) => self.pop_unpaid(),
        }
    }

    /// The newer packets become the older ones, of which there are none.
    fn refill_old(&mut self) {
        debug_assert_eq!(self.old_paid, 0);
        let mut sum = Real::default();
        for entry in self.paid.iter_mut().rev() {
            sum.add(&entry.real);
            entry.real = sum;
        }
        self.old_paid = self.paid.len();
        // Of older ones none is left.
        self.old_unpaid = self.unpaid.len();
        self.old_until = self.unpaid.back().map_or(Time::ZERO, |last| last.0);
        self.old_unpaid_bytes = std::mem::take(&mut self.unpaid_bytes);
        self.new_sum = Real::default();
        self.openings.iter_mut().for_each(|openings| openings.refill_old());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    thread_local! {
        /// How often [`Real`]s were added.
        pub static ADDED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    /// §4.3: "O(1) computation for every packet arrival": added up with the newer packets, and with the
    /// older ones, and their sums to each other.
    #[test]
    fn a_packet_is_added_up_twice_however_many_there_are() {
        for inside in [10, 1_000, 100_000] {
            let (mut window, packets) = (Window::default(), 3 * inside);
            ADDED.set(0);
            for now in 0..packets {
                window.push(Time(now), &paid(1.0));
                window.expire(Time(now.saturating_sub(inside)));
                window.sums();
            }
            assert!(ADDED.get() <= 3 * packets, "{} for {packets} packets", ADDED.get());
        }
    }

    fn paid(x: f64) -> Payment {
        Payment { paid: x, ..Payment::default() }
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_packets_inside(steps in prop::collection::vec((0u64..20, 0u64..60, 0u32..1000), 1..200)) {
            let (mut window, mut all, mut now, mut cut) = (Window::default(), Vec::new(), 0, None);
            for (later, d, value) in steps {
                now += later;
                window.push(Time(now), &paid(value.into()));
                all.push((now, value));
                // The window may shrink and grow; what it has lost stays lost.
                cut = cut.max(now.checked_sub(d));
                if let Some(cut) = cut {
                    window.expire(Time(cut));
                }
                let inside: Vec<u32> = all.iter().filter(|(t, _)| cut.is_none_or(|c| *t > c)).map(|e| e.1).collect();
                prop_assert_eq!(window.len(), inside.len());
                prop_assert_eq!(window.sums().paid, inside.iter().map(|v| f64::from(*v)).sum::<f64>());
            }
        }
    }

    proptest! {
        /// Packets are forgotten at once or one by one: what is summed is the same bits.
        #[test]
        fn forgotten_together_or_one_by_one(
            steps in prop::collection::vec((0u64..20, 0u64..60, 1u32..1000, 0u8..8), 1..400),
            one_in in 1u8..8,
        ) {
            let (mut lazy, mut exact, mut now, mut cut) = (Window::default(), Window::default(), 0, 0);
            for (later, d, value, kind) in steps {
                now += later;
                let pays = kind % one_in == 0 && one_in > 1;
                cut = cut.max(now - now.min(d));
                let (from, packet) = (Time(cut), Payment { rtt: 0.1, bytes: value, ..paid(1.0 / f64::from(value)) });
                for (window, together) in [(&mut lazy, true), (&mut exact, false)] {
                    match (pays, together) {
                        (true, _) => window.push(Time(now), &packet),
                        (false, true) => window.forget(from),
                        (false, false) => window.expire(from),
                    }
                    if pays {
                        window.expire(from);
                    } else {
                        window.push_unpaid(Time(now), value);
                    }
                }
                if pays {
                    prop_assert_eq!((lazy.sums(), lazy.len()), (exact.sums(), exact.len()));
                }
            }
        }
    }

    #[test]
    fn room_is_made_by_what_was_forgotten_first() {
        let (mut lazy, mut exact) = (Window::default(), Window::default());
        for now in 0..3 * MOST as u64 / 2 {
            // The first turn to old ones comes after half of them.
            let from = Time(now.saturating_sub(MOST as u64 / 2));
            lazy.forget(from);
            exact.expire(from);
            [&mut lazy, &mut exact].into_iter().for_each(|window| window.push_unpaid(Time(now), 1));
        }
        let end = Time(3 * MOST as u64 / 2);
        [&mut lazy, &mut exact].into_iter().for_each(|window| window.expire(Time(end.0 - MOST as u64 / 2)));
        assert_eq!((lazy.len(), lazy.sums()), (exact.len(), exact.sums()));
        assert_eq!(lazy.len(), MOST / 2 - 1);
    }

    /// One queue of two stacks, with the times of what is in it: what the window adds up, and in which order.
    #[derive(Default)]
    struct Stacks<T> {
        old: Vec<(u64, T)>,
        new: Vec<(u64, T)>,
    }

    impl<T> Stacks<T> {
        fn expire(&mut self, cut: u64) {
            while self.old.first().or(self.new.first()).is_some_and(|e| e.0 <= cut) {
                if self.old.is_empty() {
                    self.old = std::mem::take(&mut self.new);
                }
                self.old.remove(0);
            }
        }

        fn all(&self) -> impl Iterator<Item = &T> {
            self.old.iter().chain(&self.new).map(|e| &e.1)
        }

        fn sum(&self, of: fn(&T) -> f64) -> f64 {
            let of = |sum, e: &(u64, T)| sum + of(&e.1);
            self.new.iter().fold(0.0, of) + self.old.iter().rev().fold(0.0, of)
        }
    }

    proptest! {
        /// Packets that pay nothing among those that pay: numbers and bytes are counted, and sums
        /// are added up in the same order as if all were in one queue of two stacks.
        #[test]
        fn what_pays_nothing_is_counted_apart(steps in prop::collection::vec((0u64..20, 0u64..60, 1u32..1000, any::<bool>()), 1..200)) {
            let (mut window, mut now, mut cut) = (Window::default(), 0, None);
            let mut stacks = Stacks::default();
            for (later, d, value, pays) in steps {
                now += later;
                let share = if pays { 1.0 / f64::from(value) } else { 0.0 };
                if pays {
                    window.push(Time(now), &Payment { rtt: 1.0, bytes: value, ..paid(share) });
                } else {
                    window.push_unpaid(Time(now), value);
                }
                stacks.new.push((now, (share, value, pays)));
                cut = cut.max(now.checked_sub(d));
                let Some(cut) = cut else { continue };
                window.expire(Time(cut));
                stacks.expire(cut);
                let bytes = |paying: bool| stacks.all().filter(|e| e.2 == paying).map(|e| f64::from(e.1)).sum::<f64>();
                let sums = window.sums();
                prop_assert_eq!(sums.paid, stacks.sum(|e| e.0));
                prop_assert_eq!((sums.bytes, sums.unpaid), (bytes(true), bytes(false)));
                prop_assert_eq!(sums.packets, stacks.all().filter(|e| e.2).count() as f64);
                prop_assert_eq!(window.len(), stacks.all().count());
            }
        }
    }

    proptest! {
        /// Packets that begin flows among others: sums of both kinds are added up in one order, as if each
        /// packet had both.
        #[test]
        fn what_flows_begin_with_is_counted_apart(steps in prop::collection::vec((0u64..20, 0u64..60, 1u32..1000, any::<bool>()), 1..200)) {
            let (mut window, mut now, mut cut) = (Window::default(), 0, None);
            let mut stacks = Stacks::default();
            for (later, d, value, opens) in steps {
                now += later;
                let share = 1.0 / f64::from(value);
                let opening = Opening { opening: share, budget: 2.0 * share };
                if opens {
                    window.push_opening(Time(now), &paid(share), opening);
                } else {
                    window.push(Time(now), &paid(share));
                }
                stacks.new.push((now, (share, if opens { share } else { 0.0 })));
                cut = cut.max(now.checked_sub(d));
                let Some(cut) = cut else { continue };
                window.expire(Time(cut));
                stacks.expire(cut);
                let sums = window.sums();
                prop_assert_eq!((sums.paid, sums.opening), (stacks.sum(|e| e.0), stacks.sum(|e| e.1)));
                prop_assert_eq!(sums.opening_budget, 2.0 * sums.opening);
            }
        }
    }

    #[test]
    fn a_huge_term_leaves_nothing_behind() {
        let mut window = Window::default();
        window.push(Time(1), &paid(1e300));
        window.push(Time(2), &paid(0.25));
        assert!(window.sums().paid >= 1e300);
        window.expire(Time(1));
        assert_eq!(window.sums().paid, 0.25);
    }
}
