//! Conversations of programs, seen where their packets leave a host and where they reach one.
//!
//! Nobody tells what programs send: a packet is known again by its bytes, as far as routers leave them. Its delay is the
//! time from the device of the host that sends it to that of the host that gets it.

use midpath_core::units::Time;
use midpath_sim::engine::Delays;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::frame::{Carries, Conversation, Frame};

/// Conversations that are told apart; ours, as many flows as a laboratory has.
const MOST: usize = 2000;
/// Packets on the way whose times are known; ours, a second of 100,000 packets.
const MOST_PACKETS: usize = 100_000;

/// One direction of a conversation.
#[derive(Debug)]
pub struct Seen {
    /// Whose.
    pub of: Conversation,
    /// Its first packet left the host.
    began: Time,
    /// Its last packet with payload arrived.
    last: Time,
    /// TCP says that nothing more comes.
    ended: Option<Time>,
    /// Packets that left the host, and those of them with payload.
    sent: u64,
    with_payload: u64,
    /// Segments of which all bytes had been sent before.
    again: u64,
    /// Payload that has arrived; of TCP without repeats.
    delivered: u64,
    /// Of TCP: sequence numbers behind the last byte sent, and behind the last that has arrived.
    ends: [Option<u32>; 2],
    delays: Delays,
    on_the_way: FxHashMap<u64, Time>,
}

impl Seen {
    fn new(of: Conversation, began: Time) -> Seen {
        Seen {
            of,
            began,
            last: began,
            ended: None,
            sent: 0,
            with_payload: 0,
            again: 0,
            delivered: 0,
            ends: [None; 2],
            delays: Delays::default(),
            on_the_way: FxHashMap::default(),
        }
    }

    fn leave(&mut self, carries: Carries) {
        self.sent += 1;
        self.with_payload += u64::from(carries.payload > 0);
        let Some(end) = carries.end else { return };
        if self.ends[0].is_none_or(|before| ahead(before, end) > 0) {
            self.ends[0] = Some(end);
        } else {
            self.again += u64::from(carries.payload > 0);
        }
    }

    fn reach(&mut self, carries: Carries, at: Time) {
        if carries.payload > 0 {
            self.last = self.last.max(at);
        }
        self.delivered += match carries.end {
            // Datagrams; of TCP a segment without payload.
            None => carries.payload,
            // Bytes that are missing before it may still come; at the end of a connection none are.
            Some(end) => match self.ends[1].map(|before| ahead(before, end)) {
                Some(0) => 0,
                new => {
                    self.ends[1] = Some(end);
                    new.unwrap_or(carries.payload)
                }
            },
        };
        if carries.ends {
            self.ended.get_or_insert(at);
        }
    }

    /// A row of `conversations`.
    fn to_json(&self, lost: u64, marked: u64) -> Value {
        let d = &self.delays;
        let any = d.histogram.count() > 0;
        let q = |q| d.quantile(q);
        json!({
            "protocol": self.of.protocol, "src": self.of.from.ip(), "src_port": self.of.from.port(),
            "dst": self.of.to.ip(), "dst_port": self.of.to.port(), "began_s": self.began.as_secs_f64(), "last_s": self.last.as_secs_f64(),
            "ended_s": self.ended.map(Time::as_secs_f64), "sent": self.sent, "with_payload": self.with_payload,
            "again": self.again, "received": d.histogram.count(), "delivered_bytes": self.delivered, "lost": lost,
            "marked": marked, "delay_min_s": any.then(|| d.min.as_secs_f64()), "delay_mean_s": d.histogram.mean(),
            "delay_p50_s": q(0.5), "delay_p95_s": q(0.95), "delay_p99_s": q(0.99), "delay_p999_s": q(0.999),
            "delay_max_s": any.then(|| d.histogram.max().as_secs_f64()), "jitter_s": d.jitter(),
        })
    }
}

/// How far a sequence number lies behind another; 0 where it does not.
fn ahead(before: u32, end: u32) -> u64 {
    let distance = end.wrapping_sub(before);
    if distance <= i32::MAX as u32 { u64::from(distance) } else { 0 }
}

/// All that are seen.
#[derive(Debug, Default)]
pub struct Conversations {
    all: Vec<Seen>,
    numbers: FxHashMap<Conversation, usize>,
    packets: usize,
    /// Payload of the first of them that had arrived at a time: when, which, how many bytes.
    pub progress: Vec<(Time, usize, u64)>,
    /// Packets of conversations beyond those that are told apart.
    pub others: u64,
}

impl Conversations {
    /// A packet leaves a host.
    pub fn leave(&mut self, frame: &Frame, at: Time) {
        let Some(of) = frame.conversation() else { return };
        let next = self.all.len();
        if next == MOST && !self.numbers.contains_key(&of) {
            self.others += 1;
            return;
        }
        let number = *self.numbers.entry(of).or_insert(next);
        if number == next {
            self.all.push(Seen::new(of, at));
        }
        let seen = &mut self.all[number];
        seen.leave(frame.carries());
        // Of two equal ones on the way only the first is timed.
        if self.packets < MOST_PACKETS && !seen.on_the_way.contains_key(&frame.identity()) {
            seen.on_the_way.insert(frame.identity(), at);
            self.packets += 1;
        }
    }

    /// A packet reaches a host.
    pub fn reach(&mut self, frame: &Frame, at: Time) {
        let number = frame.conversation().and_then(|of| self.numbers.get(&of));
        let Some(seen) = number.map(|number| &mut self.all[*number]) else { return };
        seen.reach(frame.carries(), at);
        if let Some(since) = seen.on_the_way.remove(&frame.identity()) {
            self.packets -= 1;
            seen.delays.add(at.saturating_sub(since), Time::MAX);
        }
    }

    /// A packet was lost on the way.
    pub fn lose(&mut self, of: &Conversation, identity: u64) {
        let Some(number) = self.numbers.get(of) else { return };
        if self.all[*number].on_the_way.remove(&identity).is_some() {
            self.packets -= 1;
        }
    }

    /// Looks at the first `most` of them.
    pub fn sample(&mut self, at: Time, most: usize) {
        let first = self.all.iter().enumerate().take(most);
        self.progress.extend(first.map(|(number, seen)| (at, number, seen.delivered)));
    }

    /// Packets on the way.
    pub fn on_the_way(&self) -> usize {
        self.packets
    }

    /// Those that `counts` accepts, in the order in which they began; `fate` says what was lost and marked.
    pub fn rows<'a>(
        &'a self,
        counts: impl Fn(&Conversation) -> bool + 'a,
        fate: impl Fn(&Conversation) -> (u64, u64) + 'a,
    ) -> impl Iterator<Item = (usize, Value)> + 'a {
        let mine = self.all.iter().enumerate().filter(move |(_, seen)| counts(&seen.of));
        mine.map(move |(number, seen)| {
            let (lost, marked) = fate(&seen.of);
            (number, seen.to_json(lost, marked))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::ETHERNET;
    use crate::frame::tests::{datagram, segment};

    const MS: fn(u64) -> Time = Time::from_ms;

    fn only(seen: &Conversations) -> Value {
        seen.rows(|_| true, |_| (3, 4)).next().expect("one").1
    }

    /// A segment whose first byte has this number.
    fn numbered(seq: u32, payload: usize) -> Frame {
        let mut frame = segment(payload);
        frame.data[ETHERNET + 24..ETHERNET + 28].copy_from_slice(&seq.to_be_bytes());
        frame.data[ETHERNET + 33] = 0x10;
        frame
    }

    #[test]
    fn repeats_of_tcp_count_once_and_its_numbers_may_wrap() {
        let mut seen = Conversations::default();
        let first = u32::MAX - 500;
        for (n, seq) in [first, first.wrapping_add(1000), first.wrapping_add(1000)].into_iter().enumerate() {
            let mut frame = numbered(seq, 1000);
            frame.data[ETHERNET + 5] = n as u8;
            seen.leave(&frame, MS(n as u64));
            // The second is lost: its repeat is timed from its own start.
            if n == 1 {
                seen.lose(&frame.conversation().unwrap(), frame.identity());
            } else {
                seen.reach(&frame, MS(10 + n as u64));
            }
        }
        let row = only(&seen);
        assert_eq!(
            (&row["delivered_bytes"], &row["again"], &row["with_payload"]),
            (&json!(2000), &json!(1), &json!(3))
        );
        assert_eq!((&row["received"], &row["delay_max_s"]), (&json!(2), &json!(0.01)));
        assert_eq!((&row["lost"], &row["marked"], &row["dst"]), (&json!(3), &json!(4), &json!("10.77.0.2")));
        assert_eq!(seen.on_the_way(), 0);
    }

    /// A connection of 1,000 bytes: SYN, data, FIN, and the last ACK behind the FIN's own number.
    #[test]
    fn syn_and_fin_are_no_payload() {
        let mut seen = Conversations::default();
        for (n, (seq, payload, flags)) in
            [(7, 0, 0x02), (8, 1000, 0x10), (1008, 0, 0x11), (1009, 0, 0x10)].into_iter().enumerate()
        {
            let mut frame = numbered(seq, payload);
            frame.data[ETHERNET + 33] = flags;
            seen.leave(&frame, MS(n as u64));
            seen.reach(&frame, MS(10 + n as u64));
        }
        let row = only(&seen);
        assert_eq!(
            (&row["delivered_bytes"], &row["with_payload"], &row["again"]),
            (&json!(1000), &json!(1), &json!(0))
        );
        assert_eq!((&row["sent"], &row["ended_s"]), (&json!(4), &json!(0.012)));
    }

    #[test]
    fn datagrams_are_timed_each() {
        let mut seen = Conversations::default();
        for n in 0..10u8 {
            let mut frame = datagram(200);
            frame.data[ETHERNET + 60] = n;
            seen.leave(&frame, MS(u64::from(n)));
            // A router and a queue that marks.
            frame.data[ETHERNET + 7] -= 1;
            frame.set_ecn(3);
            seen.reach(&frame, MS(2 * u64::from(n) + 5));
        }
        let row = only(&seen);
        assert_eq!(
            (&row["delivered_bytes"], &row["received"], &row["protocol"]),
            (&json!(2000), &json!(10), &json!(17))
        );
        assert_eq!(
            (&row["delay_min_s"], &row["delay_max_s"], &row["jitter_s"]),
            (&json!(0.005), &json!(0.014), &json!(0.001))
        );
        assert_eq!(row["ended_s"], Value::Null);
    }

    #[test]
    fn tables_have_ends() {
        let mut seen = Conversations::default();
        for n in 0..MOST + 50 {
            let mut frame = datagram(20);
            frame.data[ETHERNET + 40..ETHERNET + 42].copy_from_slice(&(n as u16).to_be_bytes());
            seen.leave(&frame, MS(1));
        }
        assert_eq!((seen.rows(|_| true, |_| (0, 0)).count(), seen.others), (MOST, 50));
        for n in 0..2 * MOST_PACKETS as u32 {
            let mut frame = datagram(20);
            frame.data[ETHERNET + 50..ETHERNET + 54].copy_from_slice(&n.to_be_bytes());
            frame.data[ETHERNET + 40] = 0;
            seen.leave(&frame, MS(1));
        }
        assert_eq!(seen.on_the_way(), MOST_PACKETS);
    }
}
