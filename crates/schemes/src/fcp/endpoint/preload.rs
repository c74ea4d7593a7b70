//! Announcements of a flow that the network has not yet answered.

use midpath_core::fifo::Fifo;
use midpath_core::units::Time;

use crate::fcp::equations;
use crate::fcp::header::MAX_PRELOAD;

/// The part of the next round trip in which a flow that stops at `stop` still sends.
pub fn next_round(stop: Time, now: Time, rtt: f64) -> f64 {
    (stop.saturating_sub(now).as_secs_f64() / rtt - 1.0).clamp(0.0, 1.0)
}

/// Announcements on the way, and how the present one goes on.
#[derive(Debug, Clone, Default)]
pub struct Announced {
    /// A change below this share is not announced (`Additions::noise`).
    noise: f64,
    /// Packets by number, and by how much each changes the budget, $/s. Bounded by what is in
    /// flight.
    packets: Fifo<(u32, f64)>,
    /// Σ of these, $/s.
    sum: f64,
    /// The target of the present announcement, $/s.
    target: f64,
    /// The preload that each of its packets carries.
    each: f64,
}

impl Announced {
    /// Nothing yet; a change below the share `noise` is not announced.
    pub fn new(noise: f64) -> Announced {
        Announced { noise, ..Announced::default() }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Announced::new(self.noise);
    }

    /// What is left to announce is worked out again with the next packet: the flow spends less than
    /// it did when it was.
    pub fn again(&mut self) {
        self.each = 0.0;
    }

    /// By how much a flow that spends `spending` and should spend `wanted` has yet to announce a
    /// change, $/s; `None` if it is none.
    pub fn rest(&self, wanted: f64, spending: f64) -> Option<f64> {
        let rest = wanted - spending - self.sum;
        (rest.abs() > self.noise * wanted.max(spending)).then_some(rest)
    }

    /// The preload of the next packet of a flow that spends `spending`, should spend `wanted`, and
    /// pays `pays` per round trip for this packet (all $/s).
    ///
    /// §4.1: "it preloads by (x − w)/w" on every packet until that is acknowledged: a round trip's
    /// packets announce x − w together. The amount is kept count of, for packets are whole and the
    /// price moves meanwhile.
    pub fn next(&mut self, wanted: f64, spending: f64, pays: f64) -> f64 {
        let Some(rest) = self.rest(wanted, spending).filter(|_| pays > 0.0) else { return 0.0 };
        let reverses = rest * self.each <= 0.0;
        if reverses || (wanted - self.target).abs() > self.noise * wanted.max(self.target) {
            self.target = wanted;
            self.each = equations::preload(rest, if spending > 0.0 { spending } else { pays });
        }
        // Not beyond the rest; and a packet cannot take back more than it pays.
        let most = rest / pays;
        let preload = if rest > 0.0 { self.each.min(most) } else { self.each.max(most) };
        preload.clamp(-1.0, MAX_PRELOAD)
    }

    /// Packet `nonce` announces a change of `change`, $/s.
    pub fn push(&mut self, nonce: u32, change: f64) {
        if change != 0.0 {
            self.packets.push((nonce, change));
            self.sum += change;
        }
    }

    /// Packet `nonce` was answered: what it announced holds now, $/s. What was announced before and
    /// never answered is lost.
    pub fn answered(&mut self, nonce: u32) -> f64 {
        let mut change = 0.0;
        while let Some((first, amount)) = self.packets.front() {
            // Numbers wrap; half of them are behind.
            if nonce.wrapping_sub(first) > u32::MAX / 2 {
                break;
            }
            self.packets.skip(1);
            self.sum -= amount;
            if first == nonce {
                change = amount;
            }
        }
        if self.packets.is_empty() {
            self.sum = 0.0; // rounding does not add up
            if self.packets.capacity() > 0 {
                self.packets = Fifo::default(); // until another change is announced
            }
        }
        change
    }
}

impl Announced {
    /// Packet `nonce` and all before it were answered: what they announced holds now, $/s.
    pub fn answered_until(&mut self, nonce: u32) -> f64 {
        let before = self.sum;
        self.answered(nonce);
        before - self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trips_packets_announce_the_whole_change() {
        // w = 1, x = 3, ten packets a round trip: each pays 0.1 and preloads 2.
        let mut a = Announced::new(1e-3);
        for nonce in 0..10 {
            let preload = a.next(3.0, 1.0, 0.1);
            assert!((preload - 2.0).abs() < 1e-9, "{nonce}: {preload}");
            a.push(nonce, preload * 0.1);
        }
        assert_eq!(a.next(3.0, 1.0, 0.1), 0.0);
        // The first answer makes room for nothing new: what is on the way counts.
        let w = 1.0 + a.answered(0);
        assert!((w - 1.2).abs() < 1e-9);
        assert_eq!(a.next(3.0, w, 0.1), 0.0);
        assert!((w + (1..10).map(|n| a.answered(n)).sum::<f64>() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_end_takes_all_back() {
        let mut a = Announced::new(1e-3);
        for nonce in 0..10 {
            assert_eq!(a.next(0.0, 1.0, 0.1), -1.0);
            a.push(nonce, -0.1);
        }
        assert_eq!(a.next(0.0, 1.0, 0.1), 0.0);
    }

    #[test]
    fn a_lost_announcement_is_made_again() {
        let mut a = Announced::new(1e-3);
        a.push(7, 0.5);
        a.push(8, 0.5);
        // 7 was lost: 8's answer says so.
        assert_eq!(a.answered(8), 0.5);
        assert!(a.next(2.0, 1.5, 0.5) > 0.0);
        assert_eq!(a.answered(8), 0.0);
    }

    /// w = 20, x = 21: a twentieth more. Then links have forgotten all but 0.01.
    #[test]
    fn what_is_left_is_announced_in_a_round_trip_also_when_w_has_fallen() {
        let mut a = Announced::new(1e-3);
        assert!((a.next(21.0, 20.0, 2.0) - 0.05).abs() < 1e-9);
        a.again();
        assert!((a.next(21.0, 0.01, 0.001) - 2099.0).abs() < 1e-6);
    }

    #[test]
    fn a_change_below_the_noise_is_not_announced() {
        assert_eq!(Announced::new(1e-3).next(1.0005, 1.0, 0.1), 0.0);
        assert!(Announced::new(0.0).next(1.0005, 1.0, 0.1) > 0.0);
    }

    #[test]
    fn a_new_target_turns_the_announcement_around() {
        let mut a = Announced::new(1e-3);
        let p = a.next(2.0, 1.0, 0.1);
        assert!(p > 0.0);
        a.push(1, p * 0.1);
        assert!(a.next(0.5, 1.0, 0.1) < 0.0);
    }
}
