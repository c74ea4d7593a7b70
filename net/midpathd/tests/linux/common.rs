//! What these tests share.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// A port that nobody has, of those that Linux gives to no client: one of its own would be a client's by the time a
/// node listens there.
pub fn free_port() -> u16 {
    static DRAWN: AtomicU32 = AtomicU32::new(0);
    loop {
        let drawn = DRAWN.fetch_add(1, Ordering::Relaxed);
        let port = (10_000 + (std::process::id().wrapping_mul(97) + drawn) % 20_000) as u16;
        let at = ("127.0.0.1", port);
        if TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok() {
            return port;
        }
    }
}
