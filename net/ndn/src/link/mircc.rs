//! MIRCC's fields in NDNLPv2's header.

use super::set;
use crate::tlv::{Element, Error, put, put_number};

/// MIRCC's fields. NDNLPv2: who does not know a header field ignores it if its type is from 800 to
/// 959 and a multiple of 4.
pub(super) const HELLO: u32 = 0x039C;
pub(super) const CLASS: u32 = 0x03A0;
pub(super) const DATA_SIZE: u32 = 0x03A4;
pub(super) const ROUND_TRIP: u32 = 0x03A8;
pub(super) const RATES: u32 = 0x03AC;
pub(super) const PATH_ID: u32 = 0x03B0;
pub(super) const FILTER: u32 = 0x03B4;
pub(super) const RANDOM_VALUE: u32 = 0x03B8;
pub(super) const SPARE_COST: u32 = 0x03BC;

/// What MIRCC says, on Interests (i), on Data and Nacks (d), or both. Each field is a
/// NonNegativeInteger unless it says its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mircc {
    /// On IDLE packets: whoever sends it speaks MIRCC on this link; 2 if it has heard the same from the
    /// other end, 1 if it has not.
    pub hello: Option<u64>,
    /// i: 1 for the secondary class (§4.2); the primary one unless said.
    pub class: Option<u64>,
    /// i: size of the Data asked for, bytes.
    pub data_size: Option<u64>,
    /// i: the consumer's round trip, µs; above zero.
    pub round_trip: Option<u64>,
    /// d: least R_p and R_s of the links so far, bit/s; 16 bytes.
    pub rates: Option<(u64, u64)>,
    /// d: the pathId so far; i: that of the Data to follow (§4.3.1, §4.3.2, the simulation
    /// shortcut); 8 bytes.
    pub path_id: Option<u64>,
    /// d: Bloom filter of the next hops at split points so far; i: that to steer by (§4.3.2); 32
    /// bytes.
    pub filter: Option<[u8; 32]>,
    /// i: the random value to steer by; d: the Interest's, reflected (§4.3.2); 8 bytes.
    pub random_value: Option<u64>,
    /// i: what the path may cost above the shortest one from here.
    pub spare_cost: Option<u64>,
}

impl Mircc {
    /// Reads one field; whether it is one.
    pub(super) fn field(&mut self, element: Element<'_>) -> Result<bool, Error> {
        let bad = Error::Value(element.kind);
        let twice = match element.kind {
            HELLO => set(&mut self.hello, Some(element.number()?).filter(|n| (1..=2).contains(n)).ok_or(bad)?),
            CLASS => set(&mut self.class, Some(element.number()?).filter(|class| *class <= 1).ok_or(bad)?),
            DATA_SIZE => set(&mut self.data_size, element.number()?),
            ROUND_TRIP => set(&mut self.round_trip, Some(element.number()?).filter(|rtt| *rtt > 0).ok_or(bad)?),
            RATES => {
                let bytes = element.array::<16>()?;
                let (primary, secondary) = bytes.split_at(8);
                set(&mut self.rates, (eight(primary), eight(secondary)))
            }
            PATH_ID => set(&mut self.path_id, u64::from_be_bytes(element.array()?)),
            FILTER => set(&mut self.filter, element.array()?),
            RANDOM_VALUE => set(&mut self.random_value, u64::from_be_bytes(element.array()?)),
            SPARE_COST => set(&mut self.spare_cost, element.number()?),
            _ => return Ok(false),
        };
        if twice { Err(Error::Element(element.kind)) } else { Ok(true) }
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let mut number = |kind, field: Option<u64>| field.iter().for_each(|n| put_number(kind, *n, out));
        number(HELLO, self.hello);
        number(CLASS, self.class);
        number(DATA_SIZE, self.data_size);
        number(ROUND_TRIP, self.round_trip);
        if let Some((primary, secondary)) = self.rates {
            put(RATES, &[primary.to_be_bytes(), secondary.to_be_bytes()].concat(), out);
        }
        self.path_id.iter().for_each(|id| put(PATH_ID, &id.to_be_bytes(), out));
        self.filter.iter().for_each(|filter| put(FILTER, filter, out));
        self.random_value.iter().for_each(|value| put(RANDOM_VALUE, &value.to_be_bytes(), out));
        self.spare_cost.iter().for_each(|cost| put_number(SPARE_COST, *cost, out));
    }
}

fn eight(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap_or_default())
}
