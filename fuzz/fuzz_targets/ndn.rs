#![no_main]

use midpath_ndn::LpPacket;

// A packet or an error; a packet is the same again, and its network part can be sent on as it is.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(packet) = LpPacket::decode(bytes) {
        assert_eq!(LpPacket::decode(&packet.encode()).as_ref(), Ok(&packet));
        let part = LpPacket::network_part(bytes).expect("there is one");
        assert_eq!(LpPacket::decode(part).map(|p| p.packet), Ok(packet.packet));
    }
});
