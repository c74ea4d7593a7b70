//! The kernel's state of a connection (`linux/tcp.h`, `struct tcp_info`), and options that socket2 lacks.

use std::io;
use std::os::fd::AsRawFd;

use serde_json::{Value, json};
use socket2::Socket;

/// Longer than any kernel's; what one does not have reads as 0.
const BYTES: usize = 512;
/// `asm-generic/socket.h`. With any limit the kernel paces a socket at its window per round trip, also without
/// the qdisc fq; this one is never reached.
const MAX_PACING_RATE: libc::c_int = 47;
const UNREACHED: u64 = 1 << 40;

/// A part of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TcpInfo {
    /// Smoothed round trip.
    pub rtt_s: f64,
    /// The shortest.
    pub rtt_min_s: f64,
    /// Segments that are sent without an ACK.
    pub cwnd: u32,
    /// Bytes of one.
    pub mss: u32,
    /// Repeats.
    pub retransmitted: u32,
    /// Segments with payload, repeats included.
    pub sent: u32,
    /// Segments that the sender was told of as marked.
    pub echoed: u32,
    /// Retransmission timeouts, from Linux 6.7 on.
    pub timeouts: u16,
    /// Whether both ends have agreed on ECN.
    pub ecn: bool,
    /// How long the receiver's window was the limit.
    pub window_limited_s: f64,
}

impl TcpInfo {
    /// That of a connection.
    #[allow(unsafe_code)]
    pub fn of(socket: &Socket) -> io::Result<TcpInfo> {
        let mut raw = [0u8; BYTES];
        let mut length = BYTES as libc::socklen_t;
        // SAFETY: the pointer and the length are those of an array that lives over the call.
        let done = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                raw.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(TcpInfo::read(&raw)) }
    }

    fn read(raw: &[u8; BYTES]) -> TcpInfo {
        let four = |at: usize| u32::from_ne_bytes(raw[at..at + 4].try_into().unwrap_or_default());
        let eight = |at: usize| u64::from_ne_bytes(raw[at..at + 8].try_into().unwrap_or_default());
        let us = |us: u32| f64::from(us) / 1e6;
        TcpInfo {
            rtt_s: us(four(68)),
            rtt_min_s: us(four(148)),
            cwnd: four(80),
            mss: four(16),
            retransmitted: four(100),
            sent: four(156),
            echoed: four(196),
            timeouts: u16::from_ne_bytes([raw[240], raw[241]]),
            ecn: raw[5] & 8 != 0,
            window_limited_s: eight(176) as f64 / 1e6,
        }
    }

    /// One object.
    pub fn to_json(self) -> Value {
        json!({
            "rtt_s": self.rtt_s, "rtt_min_s": self.rtt_min_s, "sent": self.sent, "retransmitted": self.retransmitted,
            "echoed": self.echoed, "timeouts": self.timeouts, "ecn": self.ecn,
            "window_limited_s": self.window_limited_s,
        })
    }
}

/// Has the kernel pace a connection.
#[allow(unsafe_code)]
pub fn pace(socket: &Socket) -> io::Result<()> {
    let rate = UNREACHED;
    // SAFETY: the pointer and the length are those of a number that lives over the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            MAX_PACING_RATE,
            (&raw const rate).cast(),
            size_of::<u64>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Over the loopback device, as this kernel has it.
    #[test]
    fn a_connection_tells_of_itself() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = Socket::from(stream);
        pace(&socket).unwrap();
        socket.send(&[0; 20]).unwrap();
        let info = TcpInfo::of(&socket).unwrap();
        assert_eq!((info.sent, info.retransmitted, info.timeouts), (1, 0, 0));
        assert!(info.mss > 500 && info.cwnd >= 2 && info.rtt_min_s < 1.0, "{info:?}");
    }
}
