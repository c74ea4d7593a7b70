//! Sums over the last d seconds, in constant amortised time and without subtraction.
//!
//! Equations (3) and (4) are sums over packets in (t − d, t]. A running sum from which old terms
//! are subtracted would lose everything else when a term of 10^12 leaves again (preloads at the
//! minimum price are of that size, and a hostile sender can choose them). Two stacks do without:
//! the newer packets with one sum over all, the older ones with the sum from each to the newest of
//! them. Each packet is added twice and removed once.

use midpath_core::units::Time;

/// What one packet adds, or what several add together.
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
    /// Bytes of packets that pay nothing: those of other schemes, and acknowledgements.
    pub unpaid: f64,
}

impl Terms {
    fn add(&mut self, other: &Terms) {
        self.paid += other.paid;
        self.preloaded += other.preloaded;
        self.rtt += other.rtt;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.yielding += other.yielding;
        self.unpaid += other.unpaid;
    }
}

/// Most packets remembered. Ours: 2^20 are 50 MB and 1.2 s of full packets at 10 Gbps; what is
/// older is forgotten early.
const MOST: usize = 1 << 20;

/// The packets of the last d seconds.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// The older packets, oldest last; each with the sum from itself to the newest of them.
    old: Vec<(Time, Terms)>,
    /// The newer packets, oldest first.
    new: Vec<(Time, Terms)>,
    new_sum: Terms,
}

impl Window {
    /// Takes a packet in.
    #[inline]
    pub fn push(&mut self, now: Time, terms: Terms) {
        if self.len() >= MOST {
            self.pop();
        }
        self.new.push((now, terms));
        self.new_sum.add(&terms);
    }

    /// Forgets packets from `from` or before.
    #[inline]
    pub fn expire(&mut self, from: Time) {
        while self.oldest().is_some_and(|t| t <= from) {
            self.pop();
        }
    }

    /// The sums over what is left.
    #[inline]
    pub fn sums(&self) -> Terms {
        let mut sums = self.new_sum;
        if let Some((_, old)) = self.old.last() {
            sums.add(old);
        }
        sums
    }

    /// How many packets are in it.
    pub fn len(&self) -> usize {
        self.old.len() + self.new.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn oldest(&self) -> Option<Time> {
        self.old.last().or(self.new.first()).map(|e| e.0)
    }

    fn pop(&mut self) {
        if self.old.is_empty() {
            self.turn();
        }
        self.old.pop();
    }

    /// The newer packets become the older ones.
    fn turn(&mut self) {
        let mut sum = Terms::default();
        for (at, terms) in self.new.drain(..).rev() {
            sum.add(&terms);
            self.old.push((at, sum));
        }
        self.new_sum = Terms::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paid(x: f64) -> Terms {
        Terms { paid: x, packets: 1.0, ..Terms::default() }
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_packets_inside(steps in prop::collection::vec((0u64..20, 0u64..60, 0u32..1000), 1..200)) {
            let (mut window, mut all, mut now, mut cut) = (Window::default(), Vec::new(), 0, None);
            for (later, d, value) in steps {
                now += later;
                window.push(Time(now), paid(value.into()));
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

    #[test]
    fn a_huge_term_leaves_nothing_behind() {
        let mut window = Window::default();
        window.push(Time(1), paid(1e300));
        window.push(Time(2), paid(0.25));
        assert!(window.sums().paid >= 1e300);
        window.expire(Time(1));
        assert_eq!(window.sums().paid, 0.25);
    }
}
