//! Links that carry bytes: every packet is written as it is on the wire and read back.

use midpath_core::packet::Packet;
use midpath_core::wire;

/// Sends a packet over a link of bytes. It comes out as its bytes say; only when it came to the port, which no byte says, is kept.
///
/// Panics if a packet cannot be read back, or is not as long as its bytes: such packets are a mistake of ours.
pub(super) fn cross(packet: &mut Packet, bytes: &mut Vec<u8>) {
    bytes.clear();
    wire::encode(packet, bytes);
    let length = bytes.len() + usize::from(packet.payload);
    assert_eq!(length, packet.size as usize, "a packet is not as long as its bytes: {packet:?}");
    match wire::decode(bytes) {
        Ok(mut read) => {
            read.queued = packet.queued;
            *packet = read;
        }
        Err(error) => panic!("a packet's bytes cannot be read back: {error}: {packet:?}"),
    }
}
