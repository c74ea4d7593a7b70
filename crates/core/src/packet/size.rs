//! A packet's length on the wire: `size` is the length of its unique encoding (see
//! [`crate::wire`]).

use super::header::{PREFIX, TCP_OPTION};
use super::{Flags, Kind, Packet};

/// IPv4 without options (RFC 791), TCP without options (RFC 9293), UDP (RFC 768).
pub const IP_HEADER: u32 = 20;
/// TCP without options.
pub const TCP_HEADER: u32 = 20;
/// UDP.
pub const UDP_HEADER: u32 = 8;
/// The timestamp option with its padding (RFC 7323, appendix A).
pub const TIMESTAMPS: u32 = 12;
/// What an ICN packet has in place of a transport's header: kind, segment, name, nonce and the
/// consumer's number.
pub const ICN_HEADER: u32 = 20;
/// The shim's own bytes in front of its headers.
pub(crate) const SHIM: u32 = 4;

/// Bytes that a header with a body of `body` bytes takes on a packet that carries no other: shim,
/// prefix, body, padding.
pub const fn shim_size(body: u32) -> u32 {
    (SHIM + PREFIX as u32 + body).next_multiple_of(4)
}

impl Packet {
    /// Bytes of the shim, zero if there is none, and of headers among TCP's options.
    fn headers_size(&self) -> (u32, u32) {
        if !self.has_headers() {
            return (0, 0);
        }
        let (mut shim, mut options) = (0, 0);
        for (tag, from, to) in self.entries() {
            let len = (to - from + PREFIX) as u32;
            match tag >= TCP_OPTION {
                true => options += len.next_multiple_of(4),
                false => shim += len,
            }
        }
        (if shim > 0 { (SHIM + shim).next_multiple_of(4) } else { 0 }, options)
    }

    /// Bytes of both.
    pub(super) fn carried_size(&self) -> u32 {
        let (shim, options) = self.headers_size();
        shim + options
    }

    /// Bytes of TCP's own options.
    fn options_size(&self) -> u32 {
        if self.flags.has(Flags::SYN) {
            return self.options.syn_size();
        }
        let timestamps = if self.options.has(Options::TIMESTAMPS) { TIMESTAMPS } else { 0 };
        // RFC 2018, §3: 2 + 8n bytes, padded.
        let sack = if self.sack_len > 0 { 4 + 8 * u32::from(self.sack_len) } else { 0 };
        timestamps + sack
    }

    /// The length of its encoding.
    pub fn wire_size(&self) -> u32 {
        let transport = match self.kind {
            Kind::Segment => TCP_HEADER + self.options_size(),
            Kind::Datagram => UDP_HEADER,
            Kind::Interest | Kind::Data | Kind::Nack => ICN_HEADER,
            Kind::Control => 0,
        };
        IP_HEADER + self.carried_size() + transport + u32::from(self.payload)
    }

    /// Sets `size` to what its fields make it.
    pub fn measure(&mut self) {
        self.size = self.wire_size();
    }
}

/// Which of TCP's options a segment has, besides SACK blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options(pub u8);

impl Options {
    /// None.
    pub const NONE: Options = Options(0);
    /// Timestamps (RFC 7323, §3.2).
    pub const TIMESTAMPS: Options = Options(1);
    /// Of a SYN: SACK is permitted (RFC 2018, §2).
    pub const SACK_PERMITTED: Options = Options(2);
    /// Of a SYN: the largest segment that may come (RFC 9293, §3.7.1).
    pub const MSS: Options = Options(4);
    /// Of a SYN: the window's scale (RFC 7323, §2.2).
    pub const WINDOW_SCALE: Options = Options(8);

    /// Whether all of `other` are there.
    #[inline]
    pub const fn has(self, other: Options) -> bool {
        self.0 & other.0 == other.0
    }
    /// These and `other`.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Options) -> Options {
        Options(self.0 | other.0)
    }
    /// Bytes that they take on a SYN, padded to words.
    const fn syn_size(self) -> u32 {
        let mss = if self.has(Options::MSS) { 4 } else { 0 };
        let sack = if self.has(Options::SACK_PERMITTED) { 2 } else { 0 };
        let timestamps = if self.has(Options::TIMESTAMPS) { 10 } else { 0 };
        let scale = if self.has(Options::WINDOW_SCALE) { 3 } else { 0 };
        (mss + sack + timestamps + scale as u32).next_multiple_of(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, NodeId};

    fn segment(flags: Flags, options: Options) -> Packet {
        let mut p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 0);
        (p.flags, p.options) = (flags, options);
        p
    }

    #[test]
    fn segments_are_as_long_as_linux_has_them() {
        let all = Options::TIMESTAMPS.with(Options::SACK_PERMITTED).with(Options::MSS).with(Options::WINDOW_SCALE);
        assert_eq!(segment(Flags::SYN, all).wire_size(), 60);
        assert_eq!(segment(Flags::SYN, Options::MSS).wire_size(), 44);
        let mut data = segment(Flags::ACK, Options::TIMESTAMPS);
        data.payload = 1448;
        assert_eq!(data.wire_size(), 1500);
        let mut ack = segment(Flags::ACK, Options::TIMESTAMPS);
        ack.sack_len = 3;
        assert_eq!(ack.wire_size(), 52 + 28);
        assert_eq!(segment(Flags::RST, Options::NONE).wire_size(), 40);
    }

    #[test]
    fn headers_count_as_they_are_put_on_and_taken_off() {
        let mut p = segment(Flags::ACK, Options::NONE);
        p.measure();
        assert!(p.push_raw(9, &[0; 12]));
        assert_eq!((p.size, shim_size(12)), (60, 20), "a shim of 4, a prefix of 2, two of padding");
        assert!(p.push_raw(10, &[0; 3]) && p.push_raw(TCP_OPTION | 30, &[0; 24]));
        assert_eq!(p.size, 40 + 24 + 28, "4 + 14 + 5 in the shim, 26 among the options, both padded");
        assert_eq!(p.size, p.wire_size());
    }
}
