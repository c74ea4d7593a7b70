//! The retransmission timeout: RFC 6298.

use midpath_core::units::Time;

use super::params::TcpParams;

/// Smoothed round-trip time, its variation, and the timeout that follows from them. The bounds of that are the
/// parameters', which all connections of a scheme share.
#[derive(Debug, Clone, Copy)]
pub struct RttEstimator {
    srtt: Time,
    /// [`NONE`] before the first measurement.
    var: Time,
    rto: Time,
}

/// No variation that anybody has measured.
const NONE: Time = Time::MAX;

impl RttEstimator {
    /// Nothing measured yet: (2.1), the RTO is the parameters' initial one.
    pub fn new(tcp: &TcpParams) -> RttEstimator {
        RttEstimator { srtt: Time::ZERO, var: NONE, rto: tcp.initial_rto }
    }

    /// Takes a measurement R'. It also ends a back-off, for the RTO is computed anew.
    #[inline]
    pub fn sample(&mut self, r: Time, tcp: &TcpParams) {
        self.sample_from(r, tcp.min_rto, tcp);
    }

    /// The same with another minimum.
    #[inline]
    pub fn sample_from(&mut self, r: Time, min: Time, tcp: &TcpParams) {
        if self.sampled() {
            // (2.3): RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT = 7/8 SRTT + 1/8 R', in that
            // order.
            let off = self.srtt.0.abs_diff(r.0);
            self.var.0 = self.var.0 - self.var.0 / 4 + off / 4;
            self.srtt.0 = self.srtt.0 - self.srtt.0 / 8 + r.0 / 8;
        } else {
            // (2.2): SRTT = R, RTTVAR = R/2.
            (self.srtt, self.var) = (r, Time(r.0 / 2));
        }
        // RTO = SRTT + max(G, 4 RTTVAR); the clock's granularity G is a picosecond, or the margin.
        // (2.4), (2.5): the bounds.
        let above = Time(self.var.0.saturating_mul(4)).max(tcp.rto_margin);
        self.rto = self.srtt.saturating_add(above).clamp(min, tcp.max_rto);
        debug_assert!(self.srtt <= self.rto || self.rto == tcp.max_rto, "{self:?}");
    }

    /// (5.5): doubles the timeout.
    pub fn back_off(&mut self, tcp: &TcpParams) {
        self.rto = Time(self.rto.0.saturating_mul(2)).min(tcp.max_rto);
    }

    /// (5.7): after a SYN that had to be repeated, without a measurement, data start with at least
    /// 3 s.
    pub fn after_lost_syn(&mut self, tcp: &TcpParams) {
        if !self.sampled() {
            self.rto = Time::from_secs(3).clamp(tcp.min_rto, tcp.max_rto);
        }
    }

    /// The timeout now.
    #[inline]
    pub fn rto(&self) -> Time {
        self.rto
    }

    /// Whether anything has been measured.
    #[inline]
    pub fn sampled(&self) -> bool {
        self.var != NONE
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
        (RttEstimator::new(&tcp), tcp)
    }

    #[test]
    fn follows_rfc_6298() {
        let (mut e, tcp) = estimator();
        assert_eq!(e.rto(), Time::from_secs(1));
        e.sample(Time::from_ms(100), &tcp);
        assert_eq!((e.srtt(), e.rto()), (Time::from_ms(100), Time::from_ms(300)));
        e.sample(Time::from_ms(140), &tcp);
        // RTTVAR = 37.5 + 10 ms, SRTT = 87.5 + 17.5 ms.
        assert_eq!((e.srtt(), e.rto()), (Time::from_ms(105), Time::from_ms(105 + 4 * 47) + Time::from_ms(2)));
    }

    #[test]
    fn backs_off_to_the_maximum_and_recovers_with_a_sample() {
        let (mut e, tcp) = estimator();
        let seconds: Vec<u64> = (0..8)
            .map(|_| {
                e.back_off(&tcp);
                e.rto().0 / Time::from_secs(1).0
            })
            .collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60, 60]);
        e.sample(Time::from_ms(100), &tcp);
        assert_eq!(e.rto(), Time::from_ms(300));
    }

    /// Linux: 200 ms above SRTT, whatever SRTT is.
    #[test]
    fn a_margin_is_above_a_steady_round_trip() {
        let ms = Time::from_ms;
        let tcp = TcpParams { min_rto: ms(200), rto_margin: ms(200), ..TcpParams::default() };
        for (round_trip, with, without) in [(ms(240), 440, 240), (ms(40), 240, 200)] {
            let mut margin = RttEstimator::new(&tcp);
            let bare = TcpParams { rto_margin: Time::ZERO, ..tcp };
            let mut none = RttEstimator::new(&bare);
            (0..200).for_each(|_| {
                margin.sample(round_trip, &tcp);
                none.sample(round_trip, &bare);
            });
            assert_eq!([margin, none].map(|e| e.rto().as_ns().div_ceil(1_000_000)), [with, without]);
        }
        let mut wide = RttEstimator::new(&tcp);
        wide.sample(ms(200), &tcp);
        assert_eq!(wide.rto(), ms(600), "four times RTTVAR are more");
    }

    #[test]
    fn a_steady_path_has_the_minimum() {
        let (mut e, tcp) = estimator();
        (0..200).for_each(|_| e.sample(Time::from_us(10), &tcp));
        assert_eq!(e.rto(), Time::from_ms(1));
        e.sample(Time::MAX, &tcp);
        assert_eq!(e.rto(), Time::from_secs(60));
    }
}
