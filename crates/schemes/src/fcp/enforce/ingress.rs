//! The budget policer and the check of promises, where a host's packets enter the network (§5, §6.1.3).
//!
//! The paper prints the "modified version of invariant (1) that accounts for preloading" as Σ
//! paid·size·preload ≤ budget over each (t−1, t]. Read literally, a packet without a preload would
//! cost nothing. Two sums over a second are meant to stay within the budget W, and both are policed
//! here:
//!
//! - *Spending*, invariant (1): Σ paid·size ≤ W·1 s.
//! - *Announcing*: Σ paid·size·preload/rtt ≤ W, the term by which a link's estimate (equation 4)
//!   runs ahead of what is paid. A host whose flows start at w ≥ 0 and end at x with Σx ≤ W
//!   announces Σ(x − w) ≤ W in any time, so a second is as good as d, which a host's edge could
//!   only guess.
//!
//! The excess is dropped; repeated offenders are blocked, see [`Promise`].
//!
//! With both, what equation (4) makes of the host is Σ paid·size/d + Σ paid·size·preload/rtt ≤ 2·W
//! at most: the 1.5 times that it counts a new budget when all round trips are alike (its preloads
//! stay in the window of two round trips while half of the window is paid for already), up to twice
//! when they are not.

use std::collections::VecDeque;

use midpath_core::packet::{Flags, Kind, NodeId, Packet};
use midpath_core::roles::Drop;
use midpath_core::units::Time;

use super::Penalty;
use super::promise::Promise;
use crate::fcp::header::FcpHeader;
use crate::fcp::recent::Second;

/// What may be spent beyond the budget, as a share of it. Ours: pacing looks at the price once a
/// packet, so what is spent follows the price by a packet; the rest of that is in the start-up
/// packets below.
const SLACK: f64 = 0.1;

/// What may be announced, in multiples of the budget. Ours: announcements that are lost beyond the
/// edge are made again.
const ANNOUNCED: f64 = 2.0;

/// The largest packet without a round-trip time: a SYN with every option and FCP's header. Ours.
const SYN_SIZE: u32 = 128;

/// The state of one host.
#[derive(Debug, Clone)]
pub struct Ingress {
    host: NodeId,
    /// W, $/s.
    budget: f64,
    /// Bytes that a flow may send at any price: those of the start-up (§4.1). They also are what is
    /// lent to a host that may spend less than one packet costs.
    startup: f64,
    spent: Second,
    announced: Second,
    promise: Promise,
    /// What the host was told lately, on average, $/byte: what its SYNs cost.
    price: f64,
    /// Handshakes under way.
    opening: Opening,
    penalty: Penalty,
}

impl Ingress {
    /// The policer of `host`, which may spend `budget` $/s and start flows with `startup` bytes.
    pub fn new(host: NodeId, budget: f64, startup: f64) -> Ingress {
        Ingress {
            host,
            budget,
            startup,
            spent: Second::default(),
            announced: Second::default(),
            promise: Promise::new(budget),
            price: 0.0,
            opening: Opening::default(),
            penalty: Penalty::default(),
        }
    }

    /// Looks at a packet that the host sends; whether it may go on.
    pub fn check(&mut self, packet: &Packet, header: &FcpHeader, now: Time) -> Result<(), Drop> {
        // It is from the host, in the host's currency, and no SYN but at the start.
        if packet.src != self.host || header.exchange != 1.0 || !self.proper(packet, header) {
            return Err(Drop::Policy);
        }
        if self.penalty.is_on(now) {
            return Err(Drop::Policy);
        }
        let size = f64::from(packet.size);
        let (price, rtt) = (f64::from(header.balance), f64::from(header.rtt));
        let (paid, change) = match rtt > 0.0 {
            true => (price * size, price * size * f64::from(header.preload) / rtt),
            false => (self.price * size, 0.0),
        };
        if self.promise.count(paid, change, rtt, now) {
            self.penalty.start(now);
            return Err(Drop::Policy);
        }
        if rtt > 0.0
            && let Some(first) = self.opening.goes_on(packet.key, rtt)
        {
            self.promise.announce(first, 0.0, now);
        }
        self.within(paid, change, paid / size, now)?;
        if packet.flags.has(Flags::SYN) {
            let broken = self.opening.began(packet.key, opening_limit(header), now);
            self.promise.announce(broken, 0.0, now);
        }
        self.spent.add(now, paid);
        self.announced.add(now, change);
        Ok(())
    }

    /// Whether the header is one that an honest sender puts on such a packet.
    fn proper(&self, packet: &Packet, header: &FcpHeader) -> bool {
        if header.rtt > 0.0 {
            return true;
        }
        let preload = f64::from(header.preload);
        // §4.1: a SYN announces the packets of the first round trip. A link reckons with the
        // average round trip for it, and believes that it pays and what it says that its flow may
        // spend: so nothing else may look like one.
        let announced = preload * f64::from(packet.size);
        (packet.flags.has(Flags::SYN) || packet.kind == Kind::Datagram)
            && packet.payload == 0
            && packet.size <= SYN_SIZE
            && announced <= 1.01 * self.startup
            && f64::from(header.balance) <= 1.01 * self.budget
            || packet.payload == 0 && packet.size <= SYN_SIZE && preload == 0.0
    }

    /// Both sums of the modified invariant.
    fn within(&mut self, paid: f64, change: f64, price: f64, now: Time) -> Result<(), Drop> {
        let lent = self.startup * price;
        let spends = self.spent.sum(now) + paid > (1.0 + SLACK) * self.budget + lent;
        let announces = change > 0.0 && self.announced.sum(now) + change > ANNOUNCED * self.budget;
        if spends || announces { Err(Drop::Policy) } else { Ok(()) }
    }

    /// Looks at an echo that the host sends.
    pub fn check_echo(&self, packet: &Packet) -> Result<(), Drop> {
        // An echo pays nothing, so it carries nothing.
        if packet.src != self.host || packet.payload > 0 { Err(Drop::Policy) } else { Ok(()) }
    }

    /// Looks at an echo on its way to the host.
    pub fn on_echo(&mut self, packet: &Packet, header: &FcpHeader, now: Time) {
        let quoted = f64::from(header.price);
        // An average over about 16 echoes. Ours.
        self.price += (quoted - self.price) / 16.0;
        // An echo has the round-trip time of the packet that it answers: a SYN has none.
        if header.rtt <= 0.0 && packet.kind == Kind::Segment {
            // §4.1: "upon receiving it, we initialize the budget as price·size·preload/rtt".
            self.opening.answer(packet.key, now, quoted * f64::from(packet.size) * f64::from(header.preload));
        }
        // §5: "this information is then propagated upstream to drop packets near the source".
        if header.refused {
            self.penalty.extend(now);
        }
    }

    /// Forgets what the host has done.
    pub fn reset(&mut self) {
        *self = Ingress::new(self.host, self.budget, self.startup);
    }
}

/// What a SYN says that its flow may spend at first, $/s; anything if it says nothing.
fn opening_limit(header: &FcpHeader) -> f64 {
    let most = header.opens_with();
    if most > 0.0 { most } else { f64::INFINITY }
}

/// Handshakes of a host that are remembered. Ours: what a host opens in a round trip; the oldest
/// goes for a new one.
const MOST_OPENING: usize = 256;

/// How long after its SYN was answered a flow may take to send something, before its host is held
/// to what the SYN announced. Ours: a promise's longest window.
const LATEST: Time = Time::from_secs(2);

/// A handshake as an edge sees it pass.
#[derive(Debug, Clone)]
struct Handshake {
    /// Its conversation.
    key: u32,
    began: Time,
    /// What it has said that the flow may spend at first, $/s.
    most: f64,
    answer: Option<Answer>,
}

/// What an answered SYN lets a sender spend in its first round trip.
#[derive(Debug, Clone)]
struct Answer {
    at: Time,
    /// The round trip from this edge and back, s: the host's own is longer by the way to the edge.
    rtt: f64,
    /// price·size·preload, $.
    first: f64,
}

/// The handshakes of a host whose flows have not sent anything else yet.
#[derive(Debug, Clone, Default)]
struct Opening {
    all: VecDeque<Handshake>,
    answered: usize,
}

impl Opening {
    /// A SYN passes. What flows announced that were opened and never came, $/s.
    fn began(&mut self, key: u32, most: f64, now: Time) -> f64 {
        let mut broken = 0.0;
        let late = |h: &Handshake| h.answer.as_ref().is_some_and(|a| now >= a.at.saturating_add(LATEST));
        while self.all.len() >= MOST_OPENING || self.all.front().is_some_and(late) {
            let Some((answer, most)) = self.all.pop_front().and_then(|h| Some((h.answer?, h.most))) else { continue };
            self.answered -= 1;
            broken += (answer.first / answer.rtt).min(most);
        }
        self.all.push_back(Handshake { key, began: now, most, answer: None });
        broken
    }

    /// The last SYN of a conversation is answered: `first` $ may be spent in its first round trip.
    fn answer(&mut self, key: u32, now: Time, first: f64) {
        let Some(shake) = self.all.iter_mut().rev().find(|h| h.key == key && h.answer.is_none()) else { return };
        let rtt = now.saturating_sub(shake.began).as_secs_f64();
        if rtt > 0.0 {
            shake.answer = Some(Answer { at: now, rtt, first });
            self.answered += 1;
        }
    }

    /// A conversation goes on, with a round trip of `rtt` s by the host's word, which cannot be
    /// shorter than from here. What its SYN has announced, $/s, the first time.
    #[inline]
    fn goes_on(&mut self, key: u32, rtt: f64) -> Option<f64> {
        if self.answered == 0 {
            return None;
        }
        let at = self.all.iter().rposition(|h| h.key == key && h.answer.is_some())?;
        let (answer, most) = self.all.remove(at).and_then(|h| Some((h.answer?, h.most)))?;
        self.answered -= 1;
        Some((answer.first / rtt.max(answer.rtt)).min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::packet::FlowId;

    const PRICE: f32 = 1e-4;

    fn ingress() -> Ingress {
        Ingress::new(NodeId(0), 1.0, 15_000.0)
    }

    fn packet(src: u32) -> Packet {
        let mut packet = Packet::new(FlowId(0), NodeId(src), NodeId(1), 1500);
        packet.payload = 1448;
        packet
    }

    fn header(preload: f32) -> FcpHeader {
        FcpHeader { rtt: 0.1, balance: PRICE, preload, exchange: 1.0, ..FcpHeader::default() }
    }

    /// How many of `n` packets in 0.4 s get through, each paying 0.15 $.
    fn through(n: u64, preload: f32) -> usize {
        let mut ingress = ingress();
        (0..n).filter(|i| ingress.check(&packet(0), &header(preload), Time::from_us(i * 400_000 / n)).is_ok()).count()
    }

    #[test]
    fn a_second_is_worth_the_budget() {
        // 1.1 $, and the 10 packets of a start-up: 2.6 $ at 0.15 $ a packet.
        assert_eq!(through(17, 0.0), 17);
        assert_eq!(through(100, 0.0), 17);
    }

    /// What is lent to a host is lent anew each second; who uses it for more than its budget again is kept
    /// out. So over ten seconds nobody spends more than twice the budget, and what is lent once.
    #[test]
    fn ten_seconds_are_worth_twenty_budgets_at_most() {
        let spent = |per_second: u64| {
            let mut ingress = ingress();
            let passed =
                |i: &u64| ingress.check(&packet(0), &header(0.0), Time::from_us(i * 1_000_000 / per_second)).is_ok();
            0.15 * (0..10 * per_second).filter(passed).count() as f64
        };
        // 0.9, 1.95, 3 and 30 $/s are offered.
        let found = [6, 13, 20, 200].map(spent);
        assert!(found[0] > 8.9 && found.iter().all(|paid| *paid <= 20.0 + 1.6), "{found:?} $");
    }

    #[test]
    fn announcements_are_within_the_budget_too() {
        // 0.15·1/0.1 = 1.5 $/s: one, not two.
        assert_eq!(through(2, 1.0), 1);
        assert_eq!(through(2, 0.5), 2);
        assert_eq!(through(2, -1.0), 2);
    }

    #[test]
    fn only_the_hosts_own_packets_in_its_own_currency_enter() {
        let mut ingress = ingress();
        assert!(ingress.check(&packet(7), &header(0.0), Time::ZERO).is_err());
        assert!(ingress.check(&packet(0), &FcpHeader { exchange: 100.0, ..header(0.0) }, Time::ZERO).is_err());
        // Data are no SYN, and an echo carries none.
        assert!(ingress.check(&packet(0), &FcpHeader { rtt: 0.0, ..header(0.0) }, Time::ZERO).is_err());
        assert!(ingress.check_echo(&packet(0)).is_err());
        let mut syn = packet(0);
        (syn.payload, syn.size, syn.flags) = (0, 92, Flags::SYN);
        let start = |preload| FcpHeader { rtt: 0.0, balance: 0.0, preload, ..header(0.0) };
        assert!(ingress.check(&syn, &start(15_000.0 / 92.0), Time::ZERO).is_ok());
        assert!(ingress.check(&syn, &start(1e6), Time::ZERO).is_err());
        // Nor may a flow say that it may spend more than its host.
        let says = |budget| FcpHeader { balance: budget, ..start(10.0) };
        assert!(ingress.check(&syn, &says(1.0), Time::ZERO).is_ok());
        assert!(ingress.check(&syn, &says(1.1), Time::ZERO).is_err());
    }

    #[test]
    fn a_flow_begins_with_what_its_syn_announced_over_its_own_round_trip() {
        let (ms, mut opening) = (Time::from_ms, Opening::default());
        assert_eq!(opening.began(7, f64::INFINITY, ms(0)), 0.0);
        assert_eq!(opening.goes_on(7, 0.5), None, "not answered yet");
        opening.answer(7, ms(100), 2.0);
        opening.answer(8, ms(100), 2.0);
        assert_eq!(opening.goes_on(8, 0.5), None, "its SYN has not passed here");
        assert_eq!(opening.goes_on(7, 0.5), Some(4.0));
        assert_eq!(opening.goes_on(7, 0.5), None, "once");
        opening.began(9, 0.5, ms(900));
        opening.answer(9, ms(1000), 2.0);
        assert_eq!(opening.goes_on(9, 0.5), Some(0.5), "no more than it said");
        opening.began(7, f64::INFINITY, ms(1000));
        opening.answer(7, ms(1100), 2.0);
        assert_eq!(opening.goes_on(7, 0.01), Some(20.0), "shorter than from here and back");
    }

    #[test]
    fn who_opens_flows_and_does_not_come_has_still_announced() {
        let (ms, mut opening) = (Time::from_ms, Opening::default());
        opening.began(1, f64::INFINITY, ms(0));
        opening.answer(1, ms(100), 2.0);
        assert_eq!(opening.began(2, f64::INFINITY, ms(2000)), 0.0);
        assert_eq!(opening.began(3, f64::INFINITY, ms(2100)), 20.0);
        for key in 4..=2 * MOST_OPENING as u32 {
            assert_eq!(opening.began(key, f64::INFINITY, ms(2200)), 0.0);
        }
        assert_eq!((opening.all.len(), opening.answered), (MOST_OPENING, 0));
    }

    #[test]
    fn a_refusal_from_the_other_edge_holds_here() {
        let mut ingress = ingress();
        let echo = FcpHeader { echo: true, refused: true, ..header(0.0) };
        ingress.on_echo(&packet(1), &echo, Time::ZERO);
        assert!(ingress.check(&packet(0), &header(0.0), Time::from_ms(1)).is_err());
        assert!(ingress.check(&packet(0), &header(0.0), Time::from_ms(2000)).is_ok());
    }

    /// A SYN that is sent again, its answer being lost behind this edge, is not the first packet of its flow.
    #[test]
    fn a_syn_that_is_repeated_leaves_the_announcement_to_the_data() {
        let mut ingress = ingress();
        let mut syn = packet(0);
        (syn.payload, syn.size, syn.flags) = (0, 92, Flags::SYN);
        let start = FcpHeader { rtt: 0.0, balance: 0.0, preload: 10.0, ..header(0.0) };
        let mut passes = |packet: &Packet, header: &FcpHeader, ms| {
            ingress.check(packet, header, Time::from_ms(ms)).expect("within its budget");
            ingress.on_echo(&syn, &FcpHeader { echo: true, rtt: 0.0, price: PRICE, ..start }, Time::from_ms(ms + 10));
            ingress.opening.answered
        };
        assert_eq!([passes(&syn, &start, 0), passes(&syn, &start, 1000)], [1, 2]);
        assert_eq!(passes(&packet(0), &header(0.0), 1100), 1);
    }

    /// What opens a flow is no longer than a SYN with every option, whatever it says of itself.
    #[test]
    fn who_tells_no_round_trip_is_as_small_as_a_syn() {
        for (flags, preload) in [(Flags::SYN, 10.0), (Flags::ACK, 0.0)] {
            let told = |size| {
                let (mut packet, header) = (packet(0), FcpHeader { rtt: 0.0, balance: 0.0, preload, ..header(0.0) });
                (packet.payload, packet.size, packet.flags) = (0, size, flags);
                ingress().check(&packet, &header, Time::ZERO).is_ok()
            };
            assert_eq!((told(SYN_SIZE), told(SYN_SIZE + 1)), (true, false), "{flags:?}");
        }
    }
}
