//! The quantities that are moving averages: inflation factors, RTTs.

use midpath_core::units::{Bytes, Time};

use crate::icn::mean::Mean;

/// Weight of a packet in the means of [`InflationFactor`]. Ours; the paper says "EWMA".
const SIZE_WEIGHT: f64 = 1.0 / 16.0;

/// Weight of a packet's RTT in d(t). Ours: 1/16, about the packets of one T at the least T.
const RTT_WEIGHT: f64 = 1.0 / 16.0;

/// The inflation factor of a link, or of a consumer (§3.1.1): how much larger Data are than the Interests that
/// ask for them.
///
/// Where the size of the Data is known beforehand, from the application or a manifest (§3.1.2), it
/// is used as it is and this is not asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InflationFactor {
    interest: Mean,
    data: Mean,
}

impl Default for InflationFactor {
    fn default() -> InflationFactor {
        InflationFactor { interest: Mean::new(SIZE_WEIGHT), data: Mean::new(SIZE_WEIGHT) }
    }
}

impl InflationFactor {
    /// Called when an Interest has left.
    pub fn on_interest(&mut self, size: Bytes) {
        self.interest.add(size.as_f64());
    }

    /// Called when Data have come in its place. Nacks don't count.
    pub fn on_data(&mut self, size: Bytes) {
        self.data.add(size.as_f64());
    }

    /// The ratio of the averages, once both are known.
    pub fn factor(&self) -> Option<f64> {
        self.data
            .get()
            .zip(self.interest.get())
            .filter(|(_, interest)| *interest > 0.0)
            .map(|(data, interest)| data / interest)
    }

    /// The expected size of the Data for an Interest of `size`; `unknown` before anything is known.
    pub fn expected(&self, size: Bytes, unknown: Bytes) -> Bytes {
        self.factor().map_or(unknown, |factor| Bytes((size.as_f64() * factor).round() as u64))
    }
}

/// A link's view of its traffic's RTTs: d(t), and the largest of late.
#[derive(Debug, Clone, Copy)]
pub struct Rtts {
    mean: Mean,
    longest: Time,
    /// The largest since the window began, and in the one before.
    largest: [Time; 2],
    window: Time,
}

impl Rtts {
    /// Shortest RTT that is believed: less than a packet's time on most links. Ours, so that
    /// nothing is divided by zero.
    const SHORTEST: Time = Time::from_us(1);
    /// How long the largest RTT is remembered, at least. Ours: a few of the longest RTTs that
    /// networks have.
    const WINDOW: Time = Time::from_secs(2);

    /// RTTs above `longest` count as `longest`.
    pub fn new(longest: Time, now: Time) -> Rtts {
        Rtts { mean: Mean::new(RTT_WEIGHT), longest, largest: [Time::ZERO; 2], window: now }
    }

    /// Called when a packet has told, or shown, an RTT.
    #[inline]
    pub fn add(&mut self, now: Time, rtt: Time) {
        let rtt = rtt.clamp(Rtts::SHORTEST, self.longest);
        self.mean.add(rtt.short_secs_f64());
        let age = now.saturating_sub(self.window);
        if age >= Rtts::WINDOW {
            let before = if age >= Rtts::WINDOW * 2 { Time::ZERO } else { self.largest[0] };
            (self.largest, self.window) = ([Time::ZERO, before], now);
        }
        self.largest[0] = self.largest[0].max(rtt);
    }

    /// Whether none was told.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.mean.get().is_none()
    }

    /// d(t), if an RTT was told.
    pub fn mean(&self) -> Option<Time> {
        self.mean.get().map(Time::from_secs_f64)
    }

    /// The largest RTT of the last seconds, if one was told.
    pub fn largest(&self) -> Option<Time> {
        self.mean.get().map(|_| self.largest[0].max(self.largest[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflation_is_the_ratio_of_the_means() {
        let mut inflation = InflationFactor::default();
        assert_eq!(inflation.expected(Bytes(40), Bytes(1500)), Bytes(1500));
        inflation.on_interest(Bytes(160));
        inflation.on_interest(Bytes(320));
        assert_eq!(inflation.factor(), None);
        inflation.on_data(Bytes(1700));
        // 1700 over 15/16 of 160 and 1/16 of 320.
        assert_eq!(inflation.factor(), Some(10.0));
        assert_eq!(inflation.expected(Bytes(100), Bytes(1500)), Bytes(1000));
    }

    #[test]
    fn rtts_are_bounded_averaged_and_the_largest_forgotten_in_time() {
        let mut rtts = Rtts::new(Time::from_secs(1), Time::ZERO);
        assert_eq!((rtts.mean(), rtts.largest()), (None, None));
        rtts.add(Time::ZERO, Time::from_secs(100));
        rtts.add(Time::ZERO, Time::ZERO);
        // 15/16 of a second and 1/16 of a microsecond.
        assert_eq!(rtts.mean(), Some(Time::from_secs_f64(0.937_500_062_5)));
        assert_eq!(rtts.largest(), Some(Time::from_secs(1)));
        // In the next window the large one is still known, in the one after it is not.
        for s in [2, 4] {
            assert_eq!(rtts.largest(), Some(Time::from_secs(1)));
            rtts.add(Time::from_secs(s), Time::from_ms(10));
        }
        rtts.add(Time::from_secs(6), Time::from_ms(10));
        assert_eq!(rtts.largest(), Some(Time::from_ms(10)));
    }
}
