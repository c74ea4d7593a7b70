#![no_main]

use midpath_ndn::LpPacket;

// A packet or an error; a packet is the same again.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(packet) = LpPacket::decode(bytes) {
        assert_eq!(LpPacket::decode(&packet.encode()).as_ref(), Ok(&packet));
    }
});
