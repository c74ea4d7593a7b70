//! Linux's HyStart, as `tcp_cubic.c` of Linux 6.1 has it, after Ha and Rhee, "Taming the Elephants: New TCP Slow
//! Start" (2008). Two signs end slow start, and each does so at once: a train of ACKs as long as half of the
//! shortest round trip, or a round whose shortest round trip has risen.
//!
//! Not as there: delays are of the first segment that an ACK covers, not of the last; ACKs are looked at while the
//! window limits the sender.

use midpath_core::units::Time;

use crate::transport::cc::{Ack, Window, shortest};
use crate::transport::params::TcpParams;

/// `hystart_low_window`: smaller windows are left alone, in segments.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`: ACKs that are no further apart belong to one train.
const ACK_DELTA: Time = Time::from_ms(2);
/// `HYSTART_MIN_SAMPLES`: the delay counts after as many in a round.
const SAMPLES: u8 = 8;
/// `HYSTART_DELAY_THRESH`: an eighth of the shortest round trip, within these.
const DELAY_DIVISOR: u64 = 8;
const DELAY_MIN: Time = Time::from_ms(4);
const DELAY_MAX: Time = Time::from_ms(16);
/// `hystart_ack_delay`: what four of the largest super-frames take at the pacing rate may pass for a train, up to
/// this. We send none, but the rule is Linux's without TSO, too.
const MOST_CUSHION: Time = Time::from_ms(1);
const SUPER_FRAMES: u64 = 4 * 65_536;

/// The state of Linux's HyStart in one connection.
#[derive(Debug, Clone, Copy)]
pub struct LinuxHyStart {
    found: bool,
    /// Packets are paced: they come half a round trip late.
    paced: bool,
    samples: u8,
    /// The pacing rate in slow start as a multiple of cwnd/SRTT: Linux knows it without pacing, too.
    gain: f64,
    /// `end_seq`: the round is over when more is acknowledged. After a timeout the first ACK says.
    round_end: Option<u64>,
    round_start: Time,
    /// `last_ack`: the train's last one.
    last_close: Time,
    /// The shortest round trip; zero before the first.
    delay_min: Time,
    round_min: Time,
}

impl LinuxHyStart {
    /// Watches from the start.
    pub fn new(tcp: &TcpParams) -> LinuxHyStart {
        LinuxHyStart {
            found: false,
            paced: tcp.pacing,
            samples: 0,
            gain: tcp.pacing_slow_start,
            round_end: Some(0),
            round_start: Time::ZERO,
            last_close: Time::ZERO,
            delay_min: Time::ZERO,
            round_min: Time::MAX,
        }
    }

    /// The window has fallen: slow start is over, unless a timeout begins it again.
    pub fn end(&mut self) {
        self.found = true;
    }

    /// A timeout: `bictcp_reset`, all is forgotten.
    pub fn begin_again(&mut self, now: Time) {
        (self.found, self.samples, self.round_end) = (false, 0, None);
        (self.round_start, self.last_close) = (now, now);
        (self.delay_min, self.round_min) = (Time::ZERO, Time::MAX);
    }

    /// Called with each ACK in slow start: whether that ends now.
    #[inline]
    pub fn is_over(&mut self, window: &Window, ack: &Ack) -> bool {
        let Some(delay) = ack.rtt.filter(|_| !self.found) else { return false };
        self.delay_min = shortest(self.delay_min, delay);
        self.round(ack);
        if window.cwnd < LOW_WINDOW * window.mss {
            return false;
        }
        let train = self.is_long_train(window, ack);
        self.found = self.has_risen(delay) || train;
        self.found
    }

    fn round(&mut self, ack: &Ack) {
        if ack.una > *self.round_end.get_or_insert(ack.nxt) {
            (self.round_end, self.samples, self.round_min) = (Some(ack.nxt), 0, Time::MAX);
            (self.round_start, self.last_close) = (ack.now, ack.now);
        }
    }

    /// Whether ACKs have come close together for half of the shortest round trip: the pipe is full.
    fn is_long_train(&mut self, window: &Window, ack: &Ack) -> bool {
        if ack.now.saturating_sub(self.last_close) > ACK_DELTA {
            return false;
        }
        self.last_close = ack.now;
        let frames = ack.srtt.mul_f64(SUPER_FRAMES as f64 / (self.gain * window.cwnd as f64));
        let whole = self.delay_min.saturating_add(frames.min(MOST_CUSHION));
        let most = if self.paced { whole } else { whole / 2 };
        ack.now.saturating_sub(self.round_start) > most
    }

    /// Whether the round trips of this round are all longer than the shortest one, by more than noise.
    fn has_risen(&mut self, delay: Time) -> bool {
        self.round_min = self.round_min.min(delay);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let above = (self.delay_min / DELAY_DIVISOR).clamp(DELAY_MIN, DELAY_MAX);
        self.round_min > self.delay_min.saturating_add(above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ms(ms: f64) -> Time {
        Time::from_us((ms * 1000.0) as u64)
    }

    /// An ACK `at` ms that has measured `rtt` ms and belongs to the round that ends at 1000.
    fn ack(at: f64, rtt: f64) -> Ack {
        let (now, rtt) = (ms(at), ms(rtt));
        Ack { now, acked: MSS, delivered: MSS, una: 1, nxt: 1000, rtt: Some(rtt), srtt: rtt, ..Ack::default() }
    }

    fn window(segments: u32) -> Window {
        Window::new(segments, MSS as u32)
    }

    /// The number of the ACK that ends slow start, of those at these times with these round trips.
    fn over(hystart: &mut LinuxHyStart, segments: u32, acks: impl IntoIterator<Item = (f64, f64)>) -> Option<usize> {
        acks.into_iter().position(|(at, rtt)| hystart.is_over(&window(segments), &ack(at, rtt)))
    }

    /// A first round with `shortest`, then one whose ACKs come 3 ms apart, so in no train, with `rtt`.
    fn after_a_round(shortest: f64, rtt: f64, segments: u32) -> Option<usize> {
        let mut hystart = LinuxHyStart::new(&TcpParams::default());
        assert_eq!(over(&mut hystart, segments, [(0.0, shortest)]), None);
        let next = |n: f64| Ack { una: 1001, nxt: 2000, ..ack(500.0 + 3.0 * n, rtt) };
        (0..20).position(|n| hystart.is_over(&window(segments), &next(f64::from(n))))
    }

    /// `hystart_low_window`.
    #[test]
    fn a_window_below_sixteen_segments_is_left_alone() {
        assert_eq!((after_a_round(40.0, 80.0, 15), after_a_round(40.0, 80.0, 16)), (None, Some(8)));
    }

    /// By hand: above the shortest round trip by an eighth of it, at least 4 ms, at most 16 ms; on the ninth sample.
    #[test]
    fn a_round_that_is_longer_ends_slow_start() {
        for (shortest, above) in [(8.0, 4.0), (80.0, 10.0), (400.0, 16.0)] {
            assert_eq!(after_a_round(shortest, shortest + above, 100), None, "{shortest}: not more than that");
            assert_eq!(after_a_round(shortest, shortest + above + 0.001, 100), Some(8), "{shortest}");
        }
    }

    /// One short round trip among a round's is enough to go on.
    #[test]
    fn the_shortest_round_trip_of_a_round_counts() {
        let mut hystart = LinuxHyStart::new(&TcpParams::default());
        let acks = (0..30).map(|n| (3.0 * f64::from(n), if n == 4 { 40.0 } else { 90.0 }));
        assert_eq!(over(&mut hystart, 100, [(0.0, 40.0)].into_iter().chain(acks)), None);
    }

    fn train(tcp: &TcpParams, segments: u32, apart: f64, rtt: f64) -> Option<f64> {
        let mut hystart = LinuxHyStart::new(tcp);
        let acks = (0..5000).map(|n| (f64::from(n) * apart, rtt));
        over(&mut hystart, segments, acks).map(|n| (n as f64 * apart * 1000.0).round() / 1000.0)
    }

    /// By hand: 40 ms and a cushion of 1 ms, of which half; all of it where packets are paced.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let plain = TcpParams::default();
        assert_eq!(train(&plain, 100, 0.5, 40.0), Some(21.0));
        assert_eq!(train(&TcpParams { pacing: true, ..plain }, 100, 0.5, 40.0), Some(41.5));
        assert_eq!(train(&plain, 15, 0.5, 40.0), None);
    }

    /// `hystart_ack_delta_us`: 2 ms are close, more is not, and what comes after a pause is not of the train.
    #[test]
    fn acks_far_apart_are_no_train() {
        let plain = TcpParams::default();
        assert_eq!(train(&plain, 100, 2.0, 40.0), Some(22.0));
        assert_eq!(train(&plain, 100, 2.001, 40.0), None);
        let mut hystart = LinuxHyStart::new(&plain);
        let pause = (0..8).map(f64::from).chain((0..100).map(|n| 10.0 + f64::from(n)));
        assert_eq!(over(&mut hystart, 100, pause.map(|at| (at, 40.0))), None);
    }

    /// By hand: 20 MB in 40 ms, twice as fast is 1 GB/s, at which four super-frames take 0.262 ms.
    #[test]
    fn at_a_high_rate_the_cushion_is_four_super_frames() {
        let plain = TcpParams::default();
        assert_eq!(train(&plain, 20_000, 0.01, 40.0), Some(20.14), "half of 40.262 ms");
        let slower = TcpParams { pacing_slow_start: 1.0, ..plain };
        assert_eq!(train(&slower, 20_000, 0.01, 40.0), Some(20.27), "half of 40.524 ms");
    }

    /// A train ends with its round: the second one begins to count at its first ACK.
    #[test]
    fn a_round_begins_its_own_train() {
        let mut hystart = LinuxHyStart::new(&TcpParams::default());
        assert_eq!(over(&mut hystart, 100, (0..20).map(|n| (f64::from(n), 40.0))), None);
        let next = |at: f64| Ack { una: 1001, nxt: 2000, ..ack(at, 40.0) };
        let found = (20..100).find(|at| hystart.is_over(&window(100), &next(f64::from(*at))));
        assert_eq!(found, Some(41), "20 ms and then more than 20.5");
    }

    /// A loss ends it; a timeout begins it again, with nothing known, and a round that is as long as what is in flight.
    #[test]
    fn a_timeout_begins_it_again() {
        let mut hystart = LinuxHyStart::new(&TcpParams::default());
        let rising = |n: u32| (600.0 + 3.0 * f64::from(n), if n == 0 { 20.0 } else { 90.0 });
        assert_eq!(over(&mut hystart, 100, [(0.0, 40.0)]), None);
        hystart.end();
        let after = |n: u32| Ack { una: 1001, nxt: 2000, ..ack(500.0 + 3.0 * f64::from(n), 90.0) };
        assert!((0..30).all(|n| !hystart.is_over(&window(100), &after(n))), "it has ended");
        hystart.begin_again(ms(500.0));
        assert_eq!(over(&mut hystart, 100, (1..30).map(rising)), None, "90 ms are the shortest since");
        hystart.begin_again(ms(500.0));
        // The shortest is of the round: 20 ms, so the next one has to show the rise.
        assert_eq!(over(&mut hystart, 100, (0..30).map(rising)), None);
        let next = |n: u32| Ack { una: 1001, nxt: 2000, ..ack(800.0 + 3.0 * f64::from(n), 90.0) };
        assert_eq!((0..30).position(|n| hystart.is_over(&window(100), &next(n))), Some(8));
    }

    /// An ACK that measures nothing says nothing.
    #[test]
    fn an_ack_without_a_round_trip_is_not_looked_at() {
        let mut hystart = LinuxHyStart::new(&TcpParams::default());
        let silent = |n: u32| Ack { rtt: None, ..ack(f64::from(n), 40.0) };
        assert!((0..100).all(|n| !hystart.is_over(&window(100), &silent(n))));
    }
}
