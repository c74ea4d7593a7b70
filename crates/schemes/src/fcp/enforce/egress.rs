//! Detects underpayment: re-feedback's check where packets leave the network (§5).
//!
//! `balance − charged` is what remains of a packet's balance after all links have charged their price of one round
//! trip ago. For an honest sender it is zero on average, but not for each packet: the round-trip time in the header
//! is a measurement, prices move within it, and a slow sender pays an old price. Balance and charge then sample the
//! same price at different times, so deficits and surpluses of packets cancel. The paper leaves the statistics to
//! [8]; here it is a cumulative sum (Page, "Continuous inspection schemes", 1954) over blocks of packets:
//!
//! - A *block* is what a sender sends in two round trips: errors of one change of price fall into
//!   one block.
//! - Its *miss* is (charged − paid) / max(charged, paid) in money, from −1 to 1, for an honest
//!   sender as often above as below 0.
//! - The sum grows by miss − [`TOLERANCE`] and never falls below 0; at [`LIMIT`] the sender is
//!   caught.
//! - A block counts for its money in proportion to the usual block, at most fully: nobody earns
//!   credit with packets that cost nothing.
//! - And it counts the less the more the price moved in it, as the lowest charge to the highest:
//!   where the price stands still, an honest sender pays it whatever the round trip was, and who
//!   pays less has no excuse. On overloaded links where prices move by decades in every round trip,
//!   detection takes longer.

use std::collections::BTreeMap;

use midpath_core::packet::{NodeId, Packet};
use midpath_core::roles::Drop;
use midpath_core::units::Time;

use super::Penalty;
use crate::fcp::header::FcpHeader;

/// Senders remembered at one port; the one not seen for longest goes for a new one. Ours: 100 kB a
/// port. Senders cannot make up others, for their edges drop what is not from them.
pub const SENDERS: usize = 1024;

/// What a sender may miss for good. Ours: far above single precision (10^-7) and what measured
/// honest flows miss over time; who stays below wins at most a ninth more than its share.
pub const TOLERANCE: f64 = 0.1;

/// The sum at which a sender is caught: six blocks' worth of paying nothing. Ours: a sudden change
/// of price makes one or two blocks; in all runs of honest flows that enforcement is tested with,
/// the largest sum was 3.3.
pub const LIMIT: f64 = 6.0;

/// A block is at least this long: below, a scheduler's jitter is a good part of a round trip. Ours.
const SHORTEST: f64 = 0.010;
/// And at most, whatever round-trip time the sender claims. Ours.
const LONGEST: f64 = 1.0;
/// The fewest packets in a block. Ours.
const FEWEST: u32 = 4;

/// One packet in so many of a refused sender goes through: its echo carries the news to the
/// sender's edge. Ours.
const NEWS: u32 = 16;

/// What has come of one sender.
#[derive(Debug, Clone, Copy, Default)]
struct Sender {
    seen: Time,
    /// When the present block began.
    since: Time,
    packets: u32,
    /// Σ balance·size and Σ charged·size, $.
    paid: f64,
    charged: f64,
    /// The charge of about the last eight packets, and its lowest and highest in the block, $/byte.
    level: f64,
    low: f64,
    high: f64,
    /// Σ rtt, s.
    rtt: f64,
    /// A usual block's money, $.
    usual: f64,
    /// The cumulative sum.
    sum: f64,
    refused: u32,
    penalty: Penalty,
}

/// The check at one port.
#[derive(Debug, Clone, Default)]
pub struct Egress {
    minimum: f64,
    senders: BTreeMap<NodeId, Sender>,
}

impl Egress {
    /// `minimum` is the price that counts as nothing (§5).
    pub fn new(minimum: f64) -> Egress {
        Egress { minimum, senders: BTreeMap::new() }
    }

    /// Looks at a packet that leaves; whether it may.
    pub fn check(&mut self, packet: &Packet, header: &FcpHeader, now: Time) -> Result<(), Drop> {
        // A SYN has been told nothing that it could pay. Its edge lets no others through without a
        // round-trip time.
        if header.rtt <= 0.0 {
            return Ok(());
        }
        let minimum = self.minimum;
        let sender = self.sender(packet.src, now);
        let counted = |x: f32| if f64::from(x) > minimum { f64::from(x) * f64::from(packet.size) } else { 0.0 };
        sender.track_charge(f64::from(header.charged).max(minimum));
        sender.count(counted(header.balance), counted(header.charged), header.rtt.into(), now);
        if sender.penalty.is_on(now) {
            sender.refused = sender.refused.wrapping_add(1);
            return if sender.refused % NEWS == 1 { Ok(()) } else { Err(Drop::Policy) };
        }
        Ok(())
    }

    /// Whether packets of `sender` are being dropped here.
    pub fn refuses(&self, sender: NodeId, now: Time) -> bool {
        self.senders.get(&sender).is_some_and(|s| s.penalty.is_on(now))
    }

    /// How many senders are remembered.
    pub fn len(&self) -> usize {
        self.senders.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }

    /// Forgets everybody.
    pub fn reset(&mut self) {
        self.senders.clear();
    }

    fn sender(&mut self, id: NodeId, now: Time) -> &mut Sender {
        if self.senders.len() >= SENDERS && !self.senders.contains_key(&id) {
            let oldest = self.senders.iter().min_by_key(|(id, s)| (s.seen, **id)).map(|(id, _)| *id);
            oldest.map(|id| self.senders.remove(&id));
        }
        let sender = self.senders.entry(id).or_insert(Sender { since: now, ..Sender::default() });
        sender.seen = now;
        sender
    }
}

impl Sender {
    /// How the price moves. An average over about eight packets (ours), so that a few packets that
    /// claim odd round trips don't look like a moving price.
    fn track_charge(&mut self, charge: f64) {
        if self.packets == 0 {
            (self.level, self.low, self.high) = (charge, charge, charge);
        }
        self.level += (charge - self.level) / 8.0;
        (self.low, self.high) = (self.low.min(self.level), self.high.max(self.level));
    }

    fn count(&mut self, paid: f64, charged: f64, rtt: f64, now: Time) {
        self.packets += 1;
        self.paid += paid;
        self.charged += charged;
        self.rtt += rtt;
        let length = (2.0 * self.rtt / f64::from(self.packets)).clamp(SHORTEST, LONGEST);
        if self.packets >= FEWEST && (now - self.since).as_secs_f64() >= length {
            self.judge(now);
            (self.since, self.packets, self.paid, self.charged, self.rtt) = (now, 0, 0.0, 0.0, 0.0);
        }
    }

    /// The end of a block.
    fn judge(&mut self, now: Time) {
        let money = self.paid.max(self.charged);
        if money <= 0.0 {
            return;
        }
        let miss = (self.charged - self.paid) / money;
        // What is usual follows over about eight blocks. Ours.
        self.usual = if self.usual > 0.0 { self.usual + (money - self.usual) / 8.0 } else { money };
        let weight = (money / self.usual).min(1.0) * (self.low / self.high);
        self.sum = (self.sum + weight * (miss - TOLERANCE)).max(0.0);
        if self.sum >= LIMIT {
            self.penalty.extend(now);
            // On probation: half a sum is enough the next time.
            self.sum = LIMIT / 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::packet::FlowId;
    use proptest::prelude::*;

    fn packet(src: u32) -> Packet {
        Packet::new(FlowId(0), NodeId(src), NodeId(1), 1500)
    }

    fn header(balance: f32, charged: f32) -> FcpHeader {
        FcpHeader { rtt: 0.04, balance, charged, exchange: 1.0, ..FcpHeader::default() }
    }

    /// Packets until the first drop of a sender that pays `share` of a price of 10^-7, at one
    /// packet a millisecond.
    fn caught_after(share: f32) -> Option<u32> {
        let mut egress = Egress::new(1e-18);
        (1..10_000)
            .find(|n| egress.check(&packet(0), &header(share * 1e-7, 1e-7), Time::from_ms(u64::from(*n))).is_err())
    }

    #[test]
    fn who_pays_too_little_is_caught_the_sooner_the_less_it_pays() {
        // Blocks of 80 ms, 1 − 0.1 each: 6 after 7 of them, and a packet goes through with the
        // news.
        assert_eq!(caught_after(0.0), Some(1 + 7 * 80 + 1));
        // 0.9 − 0.1: 8 blocks. 0.5 − 0.1: 15. 0.2 − 0.1: 60.
        assert_eq!(caught_after(0.1), Some(1 + 8 * 80 + 1));
        assert!(caught_after(0.5).is_some_and(|n| (1200..=1290).contains(&n)), "{:?}", caught_after(0.5));
        assert!(caught_after(0.8).is_some_and(|n| (4800..=4890).contains(&n)), "{:?}", caught_after(0.8));
        assert_eq!(caught_after(0.92), None);
        assert_eq!(caught_after(1.0), None);
    }

    #[test]
    fn free_packets_earn_no_credit() {
        // Every other 0.4 s are of packets that pay 100 times the price of a path that costs nearly
        // nothing.
        let mut egress = Egress::new(1e-18);
        let caught = (1..10_000u64).find(|ms| {
            let header = if (ms / 400).is_multiple_of(2) { header(1e-8, 1e-7) } else { header(1e-14, 1e-16) };
            egress.check(&packet(0), &header, Time::from_ms(*ms)).is_err()
        });
        assert!(caught.is_some_and(|ms| ms < 3000), "{caught:?}");
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest() {
        let mut egress = Egress::new(1e-18);
        for n in 0..3 * SENDERS as u32 {
            let _ = egress.check(&packet(n), &header(1.0, 1.0), Time::from_ms(u64::from(n)));
            // Sender 0 is always there.
            let _ = egress.check(&packet(0), &header(1.0, 1.0), Time::from_ms(u64::from(n)));
        }
        assert_eq!(egress.len(), SENDERS);
        assert!(egress.senders.contains_key(&NodeId(0)) && !egress.senders.contains_key(&NodeId(1)));
    }

    /// A block of so much money, of which `paid` is paid.
    fn block(sender: &mut Sender, money: f64, paid: f64) {
        (sender.paid, sender.charged, sender.low, sender.high) = (money * paid, money, 1.0, 1.0);
        sender.judge(Time::from_secs(1));
    }

    /// The first block says what is usual: one of a tenth of its money counts for about a tenth.
    #[test]
    fn a_block_counts_by_its_money_over_the_usual() {
        let mut sender = Sender::default();
        block(&mut sender, 8.0, 1.0);
        block(&mut sender, 0.8, 0.0);
        // What is usual is 8 − 7.2/8 by then.
        assert!((sender.sum - 0.9 * 0.8 / 7.1).abs() < 1e-12, "{}", sender.sum);
    }

    #[test]
    fn who_was_caught_and_pays_is_on_probation() {
        let (mut sender, mut blocks) = (Sender::default(), 0);
        while sender.sum < LIMIT - 0.9 {
            block(&mut sender, 1.0, 0.0);
        }
        block(&mut sender, 1.0, 0.0);
        assert_eq!(sender.sum, LIMIT / 2.0);
        block(&mut sender, 1.0, 1.0);
        assert_eq!(sender.sum, LIMIT / 2.0 - TOLERANCE);
        // Half a sum is enough the next time: four blocks, not seven.
        while sender.sum != LIMIT / 2.0 {
            block(&mut sender, 1.0, 0.0);
            blocks += 1;
        }
        assert_eq!(blocks, 4);
    }

    proptest! {
        /// A price that jumps over 15 decades every 0.4 s; what was told and what is charged are up
        /// to a round trip of 40 ms apart.
        #[test]
        fn late_looks_at_a_wild_price_are_no_offence(seed in any::<u64>(), ahead in 0u64..40, behind in 0u64..40) {
            let mut egress = Egress::new(1e-18);
            let price = |ms: u64| {
                let draw = midpath_core::rng::mix(seed ^ (ms / 400)) >> 11;
                10f64.powf(-15.0 * draw as f64 / (1u64 << 53) as f64) as f32
            };
            for ms in 100..60_000u64 {
                let header = header(price(ms - ahead), price(ms - behind));
                prop_assert!(egress.check(&packet(0), &header, Time::from_ms(ms)).is_ok(), "{} ms", ms);
            }
        }
    }
}
