//! What MIRCC adds to packets by name: a header on Interests, another on Data and Nacks.

use midpath_core::packet::{Header, ICN_HEADER, IP_HEADER, shim_size};
use midpath_core::units::Time;

use super::path::PathId;
use super::rates::{Class, Stamps};

const INTEREST: usize = 16;
const ANSWER: usize = 24;

/// Bytes of headers on Data, and of an Interest.
pub const DATA_HEADERS: u32 = IP_HEADER + ICN_HEADER + shim_size(ANSWER as u32);
/// The size of an Interest without a payload.
pub const INTEREST_SIZE: u32 = IP_HEADER + ICN_HEADER + shim_size(INTEREST as u32);

/// What an Interest says to shapers and forwarders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterestHeader {
    /// Its class (§4.2).
    pub class: Class,
    /// Size of the Data that it asks for, which the application knows (§3.1.2).
    pub expected: u16,
    /// The consumer's RTT in microseconds, 0 before it knows one: for d(t).
    pub rtt: u32,
    /// Which way (§4.3.2, the simulation shortcut): the pathId of Data that came that way.
    pub hint: Option<PathId>,
}

impl InterestHeader {
    /// The RTT, if it tells one.
    pub fn rtt(&self) -> Option<Time> {
        (self.rtt > 0).then(|| Time::from_us(u64::from(self.rtt)))
    }
}

/// A time as the header has it: above zero.
pub fn microseconds(rtt: Time) -> u32 {
    u32::try_from(rtt.0 / Time::from_us(1).0).unwrap_or(u32::MAX).max(1)
}

const SECONDARY: u8 = 1;
const HINTED: u8 = 2;

impl Header for InterestHeader {
    const TAG: u8 = 6;

    fn body_len(&self) -> usize {
        INTEREST
    }

    fn put(&self, out: &mut [u8]) {
        let class = if self.class == Class::Secondary { SECONDARY } else { 0 };
        out[0] = class | if self.hint.is_some() { HINTED } else { 0 };
        out[1] = 0;
        out[2..4].copy_from_slice(&self.expected.to_be_bytes());
        out[4..8].copy_from_slice(&self.rtt.to_be_bytes());
        out[8..].copy_from_slice(&self.hint.unwrap_or_default().0.to_be_bytes());
    }

    fn get(body: &[u8]) -> Option<InterestHeader> {
        let body = <&[u8; INTEREST]>::try_from(body).ok()?;
        let [flags, 0, e0, e1, r0, r1, r2, r3, ref hint @ ..] = *body else { return None };
        let hint = PathId(u64::from_be_bytes(*hint));
        let hinted = flags & HINTED != 0;
        let known = flags & !(SECONDARY | HINTED) == 0 && (hinted || hint == PathId::START);
        known.then_some(InterestHeader {
            class: if flags & SECONDARY != 0 { Class::Secondary } else { Class::Primary },
            expected: u16::from_be_bytes([e0, e1]),
            rtt: u32::from_be_bytes([r0, r1, r2, r3]),
            hint: hinted.then_some(hint),
        })
    }
}

/// What Data and Nacks carry: the least rates of the links that they came over, in whole bits per second, so that no peer can send NaN,
/// and the pathId (§4.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped {
    /// Least R_p(t).
    pub primary: u64,
    /// Least R_s(t).
    pub secondary: u64,
    /// The path from the producer to here.
    pub path: PathId,
}

impl Stamped {
    /// The rates.
    pub fn stamps(&self) -> Stamps {
        Stamps { primary: self.primary as f64, secondary: self.secondary as f64 }
    }

    /// After a link with these rates (§3.1, §4.2): the smaller of each.
    #[must_use]
    pub fn least(self, link: Stamps) -> Stamped {
        let (primary, secondary) = (whole(link.primary), whole(link.secondary));
        Stamped { primary: self.primary.min(primary), secondary: self.secondary.min(secondary), ..self }
    }
}

/// Rounded to whole bits per second; a link's rates are numbers between its floor and its cap.
fn whole(rate: f64) -> u64 {
    (rate + 0.5) as u64
}

impl Header for Stamped {
    const TAG: u8 = 7;

    fn body_len(&self) -> usize {
        ANSWER
    }

    fn put(&self, out: &mut [u8]) {
        for (place, number) in out.chunks_exact_mut(8).zip([self.primary, self.secondary, self.path.0]) {
            place.copy_from_slice(&number.to_be_bytes());
        }
    }

    fn get(body: &[u8]) -> Option<Stamped> {
        let body: &[u8; ANSWER] = body.try_into().ok()?;
        let mut numbers = body.chunks_exact(8).map(|b| u64::from_be_bytes(b.try_into().unwrap_or_default()));
        Some(Stamped { primary: numbers.next()?, secondary: numbers.next()?, path: PathId(numbers.next()?) })
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::body_of;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is read is written the same; whatever is written is read.
        #[test]
        fn headers_have_one_encoding(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(header) = InterestHeader::get(&bytes) {
                prop_assert_eq!(body_of(&header), bytes.clone());
            }
            if let Some(header) = Stamped::get(&bytes) {
                prop_assert_eq!(body_of(&header), bytes);
            }
        }

        #[test]
        fn interests_come_back(secondary: bool, expected: u16, rtt: u32, hint: Option<u64>) {
            let class = if secondary { Class::Secondary } else { Class::Primary };
            let header = InterestHeader { class, expected, rtt, hint: hint.map(PathId) };
            prop_assert_eq!(InterestHeader::get(&body_of(&header)), Some(header));
        }
    }

    #[test]
    fn each_link_lowers_what_it_must() {
        let data = Stamped { primary: 10, secondary: 5, path: PathId(3) };
        let after = data.least(Stamps { primary: 7.4, secondary: 9.0 });
        assert_eq!(after, Stamped { primary: 7, secondary: 5, path: PathId(3) });
    }
}
