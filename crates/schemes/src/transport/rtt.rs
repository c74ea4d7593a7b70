//! The retransmission timeout: RFC 6298.

use midpath_core::units::Time;

use super::params::TcpParams;

/// Smoothed round-trip time and its variation, from which the timeout follows. The bounds of that are the parameters',
/// which all connections of a scheme share. Packed, for it stands beside others of a byte.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed)]
pub struct RttEstimator {
    srtt: Time,
    /// [`NONE`] before the first measurement, or [`LATE`].
    var: Time,
    /// How often the timeout has doubled since.
    doublings: u8,
}

/// No variation that anybody has measured; and none after a SYN that had to be repeated.
const NONE: Time = Time::MAX;
const LATE: Time = Time(u64::MAX - 1);

/// RFC 6298, (5.7).
const AFTER_LOST_SYN: Time = Time::from_secs(3);

impl RttEstimator {
    /// Nothing measured yet.
    pub const NEW: RttEstimator = RttEstimator { srtt: Time::ZERO, var: NONE, doublings: 0 };

    /// Takes a measurement R'. It also ends a back-off.
    #[inline]
    pub fn sample(&mut self, r: Time) {
        if self.sampled() {
            // (2.3): RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT = 7/8 SRTT + 1/8 R', in that
            // order.
            let (srtt, var) = (self.srtt.0, self.var.0);
            self.var = Time(var - var / 4 + srtt.abs_diff(r.0) / 4);
            self.srtt = Time(srtt - srtt / 8 + r.0 / 8);
        } else {
            // (2.2): SRTT = R, RTTVAR = R/2.
            (self.srtt, self.var) = (r, Time(r.0 / 2));
        }
        self.doublings = 0;
    }

    /// (5.5): doubles the timeout.
    pub fn back_off(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// (5.7): after a SYN that had to be repeated, without a measurement, data start with at least
    /// 3 s.
    pub fn after_lost_syn(&mut self) {
        if !self.sampled() {
            (self.var, self.doublings) = (LATE, 0);
        }
    }

    /// The timeout now.
    #[inline]
    pub fn rto(&self, tcp: &TcpParams) -> Time {
        self.rto_from(tcp.min_rto, tcp)
    }

    /// The same with another minimum.
    #[inline]
    pub fn rto_from(&self, min: Time, tcp: &TcpParams) -> Time {
        let (srtt, var) = (self.srtt, self.var);
        let once = match var {
            // (2.1)
            NONE => tcp.initial_rto,
            LATE => AFTER_LOST_SYN.max(min).min(tcp.max_rto),
            // RTO = SRTT + max(G, 4 RTTVAR); the clock's granularity G is a picosecond, or the margin.
            // (2.4), (2.5): the bounds.
            _ => srtt.saturating_add(Time(var.0.saturating_mul(4)).max(tcp.rto_margin)).max(min).min(tcp.max_rto),
        };
        if self.doublings == 0 { once } else { self.doubled(once, tcp) }
    }

    #[cold]
    fn doubled(&self, once: Time, tcp: &TcpParams) -> Time {
        Time(once.0.saturating_mul(1 << self.doublings.min(63))).min(tcp.max_rto)
    }

    /// Whether anything has been measured.
    #[inline]
    pub fn sampled(&self) -> bool {
        let var = self.var;
        var < LATE
    }

    /// The smoothed round-trip time, zero before the first measurement.
    #[inline]
    pub fn srtt(&self) -> Time {
        self.srtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a TCP with a minimum of 1 ms.
    fn estimator() -> (RttEstimator, TcpParams) {
        let tcp = TcpParams { min_rto: Time::from_ms(1), ..TcpParams::default() };
        (RttEstimator::NEW, tcp)
    }

    #[test]
    fn follows_rfc_6298() {
        let (mut e, tcp) = estimator();
        assert_eq!(e.rto(&tcp), Time::from_secs(1));
        e.sample(Time::from_ms(100));
        assert_eq!((e.srtt(), e.rto(&tcp)), (Time::from_ms(100), Time::from_ms(300)));
        e.sample(Time::from_ms(140));
        // RTTVAR = 37.5 + 10 ms, SRTT = 87.5 + 17.5 ms.
        assert_eq!((e.srtt(), e.rto(&tcp)), (Time::from_ms(105), Time::from_ms(105 + 4 * 47) + Time::from_ms(2)));
    }

    #[test]
    fn backs_off_to_the_maximum_and_recovers_with_a_sample() {
        let (mut e, tcp) = estimator();
        let seconds: Vec<u64> = (0..8)
            .map(|_| {
                e.back_off();
                e.rto(&tcp).0 / Time::from_secs(1).0
            })
            .collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60, 60]);
        e.sample(Time::from_ms(100));
        assert_eq!(e.rto(&tcp), Time::from_ms(300));
    }

    /// Linux: 200 ms above SRTT, whatever SRTT is.
    #[test]
    fn a_margin_is_above_a_steady_round_trip() {
        let ms = Time::from_ms;
        let tcp = TcpParams { min_rto: ms(200), rto_margin: ms(200), ..TcpParams::default() };
        for (round_trip, with, without) in [(ms(240), 440, 240), (ms(40), 240, 200)] {
            let mut steady = RttEstimator::NEW;
            let bare = TcpParams { rto_margin: Time::ZERO, ..tcp };
            (0..200).for_each(|_| steady.sample(round_trip));
            assert_eq!([tcp, bare].map(|tcp| steady.rto(&tcp).as_ns().div_ceil(1_000_000)), [with, without]);
        }
        let mut wide = RttEstimator::NEW;
        wide.sample(ms(200));
        assert_eq!(wide.rto(&tcp), ms(600), "four times RTTVAR are more");
    }

    #[test]
    fn a_steady_path_has_the_minimum() {
        let (mut e, tcp) = estimator();
        (0..200).for_each(|_| e.sample(Time::from_us(10)));
        assert_eq!(e.rto(&tcp), Time::from_ms(1));
        e.sample(Time::MAX);
        assert_eq!(e.rto(&tcp), Time::from_secs(60));
    }
}
