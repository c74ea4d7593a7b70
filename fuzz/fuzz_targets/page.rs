#![no_main]

#[path = "../../crates/sim/tests/parsers/entries.rs"]
#[allow(dead_code)] // each target calls one of them
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    entries::page(bytes);
});
