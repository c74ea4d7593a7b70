//! Sequence numbers: 32 bits on the wire, 64-bit offsets internally (RFC 9293, §3.4).

/// Where one direction of a connection begins: offset 0 is its first byte of data, one after the
/// SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sequence {
    first: u32,
}

impl Sequence {
    /// The direction whose SYN has the number `isn`.
    pub const fn after_syn(isn: u32) -> Sequence {
        Sequence { first: isn.wrapping_add(1) }
    }

    /// The direction of which the number `wire` is at `offset`: for those who saw no SYN.
    pub const fn with(wire: u32, offset: u64) -> Sequence {
        Sequence { first: wire.wrapping_sub(offset as u32) }
    }

    /// The SYN's number.
    pub const fn isn(self) -> u32 {
        self.first.wrapping_sub(1)
    }

    /// The number of what is at `offset`.
    #[inline]
    pub const fn wire(self, offset: u64) -> u32 {
        self.first.wrapping_add(offset as u32)
    }

    /// The offset nearest to `near` that has this number; `None` if that is before the first byte.
    /// Right as long as it is less than 2^31 away.
    #[inline]
    pub const fn offset(self, wire: u32, near: u64) -> Option<u64> {
        let away = wire.wrapping_sub(self.wire(near)) as i32;
        near.checked_add_signed(away as i64)
    }
}

/// Whether a timestamp or number `a` comes after `b` (RFC 7323, §5.2; RFC 1982): they wrap, half of
/// them are behind.
#[inline]
pub const fn comes_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_wrap_and_offsets_do_not() {
        let s = Sequence::after_syn(u32::MAX - 1);
        assert_eq!((s.isn(), s.wire(0), s.wire(1), s.wire(2)), (u32::MAX - 1, u32::MAX, 0, 1));
        assert_eq!(s.offset(s.isn(), 0), None, "the SYN is before the first byte");
        assert_eq!(s.offset(5, 3), Some(6));
        assert!(comes_after(0, u32::MAX) && !comes_after(u32::MAX, 0) && !comes_after(7, 7));
    }

    proptest! {
        #[test]
        fn what_is_near_is_found(isn: u32, near in 0u64..1 << 45, away in -(1i64 << 31) + 1..1i64 << 31) {
            let s = Sequence::after_syn(isn);
            let offset = near.checked_add_signed(away);
            let wire = s.wire(near).wrapping_add(away as u32);
            prop_assert_eq!(s.offset(wire, near), offset);
            prop_assert_eq!(Sequence::with(wire, near.saturating_add_signed(away)).offset(wire, near), Some(near.saturating_add_signed(away)));
        }
    }
}
