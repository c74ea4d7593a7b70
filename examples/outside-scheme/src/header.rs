//! What a packet carries: the longest queueing delay on its way so far, in nanoseconds.

use midpath_core::packet::Header;
use midpath_core::units::Time;

/// The header; on an ACK, the echo of the data packet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading(pub Time);

impl Header for Reading {
    const TAG: u8 = 64;

    fn body_len(&self) -> usize {
        8
    }

    fn put(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0.as_ns().to_be_bytes());
    }

    fn get(body: &[u8]) -> Option<Reading> {
        let ns = u64::from_be_bytes(body.try_into().ok()?);
        // More than an hour is no queueing delay but a hostile packet.
        (ns < 3_600_000_000_000).then(|| Reading(Time::from_ns(ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for ns in [0, 1, 5_000_000, 3_599_999_999_999] {
            let (reading, mut body) = (Reading(Time::from_ns(ns)), [0; 8]);
            reading.put(&mut body);
            assert_eq!(Reading::get(&body), Some(reading));
        }
    }

    /// A stranger may have written anything.
    #[test]
    fn bytes_of_another_length_or_an_hour_and_more_are_refused() {
        for length in (0..32).filter(|length| *length != 8) {
            assert_eq!(Reading::get(&vec![0; length]), None);
        }
        for ns in [3_600_000_000_000, u64::MAX] {
            assert_eq!(Reading::get(&ns.to_be_bytes()), None);
        }
    }
}
