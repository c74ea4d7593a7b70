#![no_main]

#[path = "../../crates/sim/tests/parsers/peers.rs"]
mod peers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    peers::mptcp(bytes);
});
