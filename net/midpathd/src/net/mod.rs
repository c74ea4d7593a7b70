//! Devices, qdiscs and filters, by the kernel's netlink interface.

mod filter;
mod link;
mod qdisc;

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

pub use filter::Side;
pub use link::{Link, LinkKind};
pub use qdisc::{QdiscStats, Shaper};

/// A connection to the kernel.
#[derive(Debug)]
pub struct Net {
    socket: Socket,
    sequence: u32,
    #[cfg(debug_assertions)]
    changes: u32,
}

impl Net {
    /// Opens it.
    pub fn new() -> io::Result<Net> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Errors with the kernel's words for them; kernels before 4.12 have none.
        let _ = socket.set_ext_ack(true);
        Ok(Net {
            socket,
            sequence: 0,
            #[cfg(debug_assertions)]
            changes: 0,
        })
    }

    /// Asks for a change.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        #[cfg(debug_assertions)]
        self.fault()?;
        self.send(message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        self.receive(|_| ())
    }

    /// For tests, in debug builds only: lets the change fail, or the process die, that the
    /// environment names by number.
    #[cfg(debug_assertions)]
    fn fault(&mut self) -> io::Result<()> {
        self.changes += 1;
        let asked = |name| std::env::var(name).is_ok_and(|number| number == self.changes.to_string());
        if asked("MIDPATHD_TEST_DIE_AT") {
            std::process::abort();
        }
        if asked("MIDPATHD_TEST_FAIL_AT") { Err(io::Error::other("made to fail")) } else { Ok(()) }
    }

    /// Asks for a list.
    fn dump(&mut self, message: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.send(message, NLM_F_REQUEST | NLM_F_DUMP)?;
        let mut found = Vec::new();
        self.receive(|message| found.push(message))?;
        Ok(found)
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(|_| ())
    }

    /// Hands over what belongs to the last request, until the kernel says that this was all.
    fn receive(&mut self, mut each: impl FnMut(RouteNetlinkMessage)) -> io::Result<()> {
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                // The next message starts at a multiple of four bytes.
                let length = (message.header.length as usize).next_multiple_of(4).clamp(4, rest.len().max(4));
                rest = rest.get(length..).unwrap_or_default();
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(()),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(inner) => each(inner),
                    _ => {}
                }
            }
        }
    }
}
