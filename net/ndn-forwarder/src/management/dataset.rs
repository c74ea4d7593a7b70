//! Data that management signs by a digest: answers, and datasets in segments.

use midpath_ndn::name::NAME;
use midpath_ndn::tlv::{put, put_nested, put_number};

use crate::name;

const DATA: u32 = 0x06;
const META_INFO: u32 = 0x14;
const FRESHNESS: u32 = 0x19;
const FINAL_BLOCK: u32 = 0x1A;
const CONTENT: u32 = 0x15;
const SIGNATURE_INFO: u32 = 0x16;
const SIGNATURE_VALUE: u32 = 0x17;
const SIGNATURE_TYPE: u32 = 0x1B;

/// How long an answer is fresh, ms. NFD's.
const FRESH: u64 = 1000;
/// Bytes of a dataset in one segment. Ours: with name and signature they stay below 8,800 B.
const SEGMENT: usize = 6000;

/// Data in a name; `last` is the component of the last segment, where there are several.
pub fn data(name: &[u8], last: Option<&[u8]>, content: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    put(NAME, name, &mut value);
    put_nested(META_INFO, &mut value, |out| {
        put_number(FRESHNESS, FRESH, out);
        last.iter().for_each(|last| put(FINAL_BLOCK, last, out));
    });
    put(CONTENT, content, &mut value);
    put_nested(SIGNATURE_INFO, &mut value, |out| put_number(SIGNATURE_TYPE, 0, out));
    let digest = crate::digest(&[&value]);
    put(SIGNATURE_VALUE, &digest, &mut value);
    let mut wire = Vec::new();
    put(DATA, &value, &mut wire);
    wire
}

/// A segment of a dataset; `None` behind its end. An empty dataset has one.
pub fn segment(prefix: &[u8], content: &[u8], number: u64) -> Option<Vec<u8>> {
    let count = content.len().div_ceil(SEGMENT).max(1) as u64;
    if number >= count {
        return None;
    }
    let start = number as usize * SEGMENT;
    let part = &content[start..content.len().min(start + SEGMENT)];
    let (mut full, mut last) = (prefix.to_vec(), Vec::new());
    name::push_number(&mut full, name::SEGMENT, number);
    name::push_number(&mut last, name::SEGMENT, count - 1);
    Some(data(&full, Some(&last), part))
}
