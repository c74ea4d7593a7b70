//! A TUN device: reads what Linux sends, and injects what is written.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::ioctl::{Setter, ioctl, opcode};

/// From <linux/if_tun.h>: IP packets, without four bytes in front of each.
const IFF_TUN: i16 = 1;
const IFF_NO_PI: i16 = 0x1000;

/// `struct ifreq` of <linux/if.h> with flags.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

/// The device, for as long as this is there.
#[derive(Debug)]
pub struct Tun(File);

impl Tun {
    /// Makes one in this network namespace.
    #[allow(unsafe_code)]
    pub fn new(name: &str) -> io::Result<Tun> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
        let mut request = Request { name: [0; 16], flags: IFF_TUN | IFF_NO_PI, rest: [0; 22] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        // SAFETY: TUNSETIFF reads a `struct ifreq`, which this is, and keeps no pointer to it.
        unsafe { ioctl(&file, Setter::<{ opcode::write::<i32>(b'T', 202) }, Request>::new(request))? };
        fcntl_setfl(&file, OFlags::NONBLOCK)?;
        Ok(Tun(file))
    }

    /// The next packet that Linux sends.
    pub fn read(&mut self, room: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0.read(room) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// A packet for Linux. One that it has no room for is lost, as on any link.
    pub fn write(&mut self, packet: &[u8]) {
        let _ = self.0.write(packet);
    }

    /// To be polled.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
