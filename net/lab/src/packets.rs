//! A packet socket that moves many frames with one system call.

#![expect(clippy::disallowed_methods, reason = "real packets carry real times")]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::frame::{Frame, OFFLOAD, Offload};

/// Frames per system call.
pub const BATCH: usize = 64;
/// No frame is longer: a super-frame of 64 kB with its headers, and what the kernel says of it.
const LONGEST: usize = OFFLOAD + (1 << 16) + 256;
/// Room in the kernel for what comes while we sleep: 16 MB.
const ROOM: libc::c_int = 16 << 20;

/// Where frames come to, before they get memory of their own.
pub struct Room(Vec<u8>);

impl Room {
    /// For a batch.
    pub fn new() -> Room {
        Room(vec![0; BATCH * LONGEST])
    }
}

/// A packet socket on one device.
#[derive(Debug)]
pub struct Packets {
    fd: OwnedFd,
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[allow(unsafe_code)]
impl Packets {
    /// Opens one for all frames that come in through `device`.
    pub fn open(device: &str) -> io::Result<Packets> {
        // Deaf until it is bound: no frame of another device may get in.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = Packets { fd: socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)? };
        let index = netdevice::name_to_index(&socket.fd, device);
        let index = index.map_err(|error| io::Error::other(format!("{device}: {}", io::Error::from(error))))?;
        // In a user namespace there is as much as everybody gets.
        for (force, ask) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
            socket.set(libc::SOL_SOCKET, force, ROOM).or_else(|_| socket.set(libc::SOL_SOCKET, ask, ROOM))?;
        }
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        // SAFETY: all bytes 0 is a valid address structure.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as libc::c_int;
        // SAFETY: the pointer and the length are those of a structure that lives over the call.
        let bound = unsafe {
            let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            libc::bind(socket.fd.as_raw_fd(), (&raw const address).cast(), length)
        };
        if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(socket) }
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: the pointer and the length are those of a number that lives over the call.
        let done = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                option,
                (&raw const value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Frames that have come, at most [`BATCH`].
    pub fn receive(&self, room: &mut Room) -> io::Result<Vec<Frame>> {
        let mut stamps = [[0u64; 8]; BATCH];
        // SAFETY: all bytes 0 are valid vectors and headers; the pointers put in below outlive the
        // call.
        let mut vectors: [libc::iovec; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        for (i, place) in room.0.chunks_exact_mut(LONGEST).enumerate() {
            vectors[i].iov_base = place.as_mut_ptr().cast();
            vectors[i].iov_len = LONGEST;
            headers[i].msg_hdr.msg_iov = &raw mut vectors[i];
            headers[i].msg_hdr.msg_iovlen = 1;
            headers[i].msg_hdr.msg_control = stamps[i].as_mut_ptr().cast();
            headers[i].msg_hdr.msg_controllen = size_of::<[u64; 8]>() as _;
        }
        // SAFETY: BATCH headers that point to memory of the lengths that they say.
        let got = unsafe {
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let got = match usize::try_from(got) {
            Ok(got) => got,
            Err(_) => would_block(io::Error::last_os_error())?,
        };
        // The kernel stamps by the wall clock, which may be set: it only says how long ago that was.
        let (now, wall) = (now_ns(), wall_ns());
        let come = |(header, place): (&libc::mmsghdr, &[u8])| {
            let age = stamp_of(&header.msg_hdr).map_or(0, |at| wall.saturating_sub(at));
            let bytes = &place[..(header.msg_len as usize).min(LONGEST)];
            let (offload, data) = bytes.split_first_chunk::<OFFLOAD>()?;
            let at_ns = now.saturating_sub(if age > OLDEST { 0 } else { age });
            Some(Frame { at_ns, offload: Offload::read(offload), data: data.to_vec() })
        };
        Ok(headers.iter().zip(room.0.chunks_exact(LONGEST)).take(got).filter_map(come).collect())
    }

    /// Frames that the kernel had no room for since the last call.
    pub fn missed(&self) -> u64 {
        let mut found = [0u32; 2]; // struct tpacket_stats: packets, drops
        let mut length = size_of::<[u32; 2]>() as libc::socklen_t;
        // SAFETY: the pointer and the length are those of an array that lives over the call.
        let done = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut found).cast(),
                &raw mut length,
            )
        };
        if done < 0 { 0 } else { u64::from(found[1]) }
    }

    /// Sends frames, at most [`BATCH`]; says how many the device took.
    pub fn send(&self, frames: &[Frame]) -> io::Result<usize> {
        let count = frames.len().min(BATCH);
        // SAFETY: all bytes 0 are valid vectors and headers; the pointers put in below outlive the
        // call.
        let mut vectors: [[libc::iovec; 2]; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let offloads: Vec<[u8; OFFLOAD]> = frames[..count].iter().map(|frame| frame.offload.write()).collect();
        for (i, frame) in frames[..count].iter().enumerate() {
            // The kernel only reads through these pointers.
            let parts: [&[u8]; 2] = [&offloads[i], &frame.data];
            vectors[i] = parts.map(|p| libc::iovec { iov_base: p.as_ptr().cast_mut().cast(), iov_len: p.len() });
            headers[i].msg_hdr.msg_iov = vectors[i].as_mut_ptr();
            headers[i].msg_hdr.msg_iovlen = 2;
        }
        // SAFETY: `count` headers that point to memory of the lengths that they say.
        let sent =
            unsafe { libc::sendmmsg(self.fd.as_raw_fd(), headers.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT as _) };
        usize::try_from(sent).or_else(|_| would_block(io::Error::last_os_error()))
    }
}

/// The kernel's stamp in a message's control data.
#[allow(unsafe_code)]
fn stamp_of(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the header is one that the kernel has just filled; the macros stay within its control
    // data, and a stamp is a timespec, read without an assumption on where it lies.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            if ((*control).cmsg_level, (*control).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let time: libc::timespec = libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned();
                return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
}

/// Nothing to do now is no error.
fn would_block(error: io::Error) -> io::Result<usize> {
    let full = error.raw_os_error() == Some(libc::ENOBUFS);
    if full || error.kind() == io::ErrorKind::WouldBlock { Ok(0) } else { Err(error) }
}

/// An older stamp is one of before the wall clock was set.
const OLDEST: u64 = 1_000_000_000;

/// The monotonic clock.
pub fn now_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// One of the kernel's clocks.
pub fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The wall clock: the one that the kernel stamps frames with.
fn wall_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |time| time.as_nanos() as u64)
}

/// Waits until a descriptor can be read, or for `ns`; says which can be.
pub fn wait<'a>(descriptors: impl IntoIterator<Item = BorrowedFd<'a>>, ns: Option<u64>) -> io::Result<Vec<bool>> {
    let mut all: Vec<_> = descriptors.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let time = ns.map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ });
    match poll(&mut all, time.as_ref()) {
        Ok(_) => Ok(all.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![false; all.len()]),
        Err(error) => Err(error.into()),
    }
}
