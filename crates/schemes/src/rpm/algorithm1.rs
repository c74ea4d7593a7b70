//! Algorithm 1, "Pseudocode of the RPM Algorithm", line by line.
//!
//! | lines | what happens | here |
//! |---|---|---|
//! | 1, 2 | CoDel selects a packet | the queue's AQM |
//! | 3, 6 | pos ← h(5-tuple), the same both ways | [`position`] |
//! | 4 | R_C\[pos\] ← R_C\[pos\] + 1 | [`congested`] |
//! | 7–10 | an ACK takes one of R_C\[pos\] along, as ECE | [`acknowledged`] |
//!
//! The preconditions (the flow's ACKs return here, its ends do not use AccECN) are checked in `registers.rs` and
//! `signal.rs`.

use midpath_core::packet::{Flags, NodeId};
use midpath_core::rng::mix;

/// Lines 3 and 6: which of `size` registers is that of what `sender` sends in the conversation of
/// `key`, and what tells the flow from others that have the same. Both ends of a conversation have
/// the same key, so on the way back only the sender is another.
#[inline]
pub fn position(key: u32, sender: NodeId, size: usize) -> (u64, usize) {
    let id = u64::from(key) << 32 | u64::from(sender.0);
    // The hash's upper half, scaled to the table.
    let place = ((mix(id) >> 32) * size as u64) >> 32;
    (id, place as usize)
}

/// Lines 2 to 5: a packet of the register's flow has been chosen. Whether the register had room; the
/// paper's has no end.
#[inline]
pub fn congested(register: &mut u16, max: u16) -> bool {
    let room = *register < max;
    // 4: R_C[pos] ← R_C[pos] + 1
    *register += u16::from(room);
    room
}

/// Lines 6 to 10: an ACK with these flags comes back to the register's flow. Its new flags, if it
/// takes a signal along.
#[inline]
pub fn acknowledged(register: &mut u16, ack: Flags) -> Option<Flags> {
    // 7: if R_C[pos] ≥ 1 then
    if *register == 0 {
        return None;
    }
    // 9: R_C[pos] ← R_C[pos] − 1
    *register -= 1;
    // 8: TCP.ECE ← 1
    Some(ack.with(Flags::ECE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chosen_packet_is_told_by_one_ack() {
        let (mut r, ack) = (0, Flags::ACK);
        assert_eq!(acknowledged(&mut r, ack), None);
        assert!(congested(&mut r, 2) && congested(&mut r, 2));
        assert!(!congested(&mut r, 2), "as many as it counts");
        assert_eq!(acknowledged(&mut r, ack), Some(ack.with(Flags::ECE)));
        assert_eq!(acknowledged(&mut r, ack), Some(ack.with(Flags::ECE)));
        assert_eq!((acknowledged(&mut r, ack), r), (None, 0));
    }

    #[test]
    fn a_flow_has_one_place_and_its_way_back_another() {
        let (a, b) = (NodeId(1), NodeId(2));
        assert_eq!(position(77, a, 1024), position(77, a, 1024));
        assert_ne!(position(77, a, 1024), position(77, b, 1024));
        assert!((0..10_000).all(|key| position(key, a, 7).1 < 7));
        assert!((0..7).all(|place| (0..100).any(|key| position(key, a, 7).1 == place)), "all places are used");
    }
}
