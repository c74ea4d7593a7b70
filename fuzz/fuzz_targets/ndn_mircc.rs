#![no_main]

#[path = "../../net/ndn-forwarder/tests/parsers/entries.rs"]
#[allow(dead_code)] // each target calls one of them
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    entries::rated_frames(bytes);
});
