//! A UDP socket that takes and sends many datagrams with one system call: the kernel cuts a long piece
//! into datagrams (GSO), and hands over a row of them as one piece (GRO). A kernel without these takes
//! them one by one, and [`Udp::offload`] says so.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};

use midpath_link::LinkId;
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};

/// The longest piece that the kernel hands over, or takes: of 16 bits, with headers.
const PIECE: usize = 65_536;
const LONGEST_SENT: usize = 65_000;
/// Pieces taken with one system call. Ours: neighbours rarely are more, and each piece has a buffer.
const PIECES: usize = 8;

/// Datagrams to be sent: by each link in the order in which they came.
#[derive(Debug, Default)]
pub struct Outbox {
    lanes: Vec<Lane>,
}

/// Datagrams by one link, one after the other.
#[derive(Debug)]
struct Lane {
    to: LinkId,
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

/// A row of datagrams of one size, but that the last one may be shorter.
struct Row<'a> {
    bytes: &'a [u8],
    size: usize,
    count: usize,
}

impl Lane {
    /// The row that begins with the datagram of this number.
    fn row(&self, first: usize, most: usize) -> Row<'_> {
        let from = if first == 0 { 0 } else { self.ends[first - 1] };
        let size = self.ends[first] - from;
        let (mut count, mut end) = (1, self.ends[first]);
        for next in &self.ends[first + 1..] {
            let length = next - end;
            if count == most || length > size || next - from > LONGEST_SENT || size == 0 || length == 0 {
                break;
            }
            (count, end) = (count + 1, *next);
            if length < size {
                break;
            }
        }
        Row { bytes: &self.bytes[from..end], size, count }
    }
}

impl Outbox {
    /// One more.
    pub fn push(&mut self, to: impl Into<LinkId>, datagram: &[u8]) {
        let to = to.into();
        let lane = match self.lanes.iter().position(|lane| lane.to == to) {
            Some(at) => &mut self.lanes[at],
            None => {
                self.lanes.push(Lane { to, bytes: Vec::new(), ends: Vec::new() });
                self.lanes.last_mut().expect("it was pushed")
            }
        };
        lane.bytes.extend_from_slice(datagram);
        lane.ends.push(lane.bytes.len());
    }

    /// All of them.
    pub fn datagrams(&self) -> impl Iterator<Item = (LinkId, &[u8])> {
        self.lanes.iter().flat_map(|lane| {
            let begins = std::iter::once(0).chain(lane.ends.iter().copied());
            begins.zip(&lane.ends).map(|(from, to)| (lane.to, &lane.bytes[from..*to]))
        })
    }

    /// Hands out the datagrams to these links, and forgets them.
    pub fn take_lanes(&mut self, which: impl Fn(LinkId) -> bool, mut each: impl FnMut(LinkId, &[u8])) {
        for lane in self.lanes.extract_if(.., |lane| which(lane.to)) {
            let begins = std::iter::once(0).chain(lane.ends.iter().copied());
            begins.zip(&lane.ends).for_each(|(from, to)| each(lane.to, &lane.bytes[from..*to]));
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.ends.is_empty())
    }

    /// They have been sent. Links that had none this time are forgotten, the rest keeps its room.
    fn clear(&mut self) {
        self.lanes.retain_mut(|lane| {
            let used = !lane.ends.is_empty();
            lane.bytes.clear();
            lane.ends.clear();
            used
        });
    }
}

/// What has been sent and taken, and with how many system calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    /// Datagrams sent.
    pub sent: u64,
    /// Calls for that.
    pub sends: u64,
    /// Datagrams that the socket did not take.
    pub unsent: u64,
    /// Datagrams taken.
    pub taken: u64,
    /// Calls for that, but those that found nothing.
    pub takes: u64,
}

impl Calls {
    /// What both have counted.
    pub fn add(&mut self, other: Calls) {
        self.sent += other.sent;
        self.sends += other.sends;
        self.unsent += other.unsent;
        self.taken += other.taken;
        self.takes += other.takes;
    }

    /// What has been counted since these.
    #[must_use]
    pub fn since(self, before: Calls) -> Calls {
        Calls {
            sent: self.sent - before.sent,
            sends: self.sends - before.sends,
            unsent: self.unsent - before.unsent,
            taken: self.taken - before.taken,
            takes: self.takes - before.takes,
        }
    }
}

/// Datagrams that go, and come, in one piece at most; 1 is one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offload {
    /// GSO.
    pub sends: usize,
    /// GRO.
    pub takes: usize,
}

/// The socket.
pub struct Udp {
    socket: UdpSocket,
    /// `None`: one by one.
    state: Option<UdpSocketState>,
    buffers: Vec<[u8; PIECE]>,
    came: Vec<RecvMeta>,
    /// Whether something may be there.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nodes run on Linux"))]
    pub(crate) ready: bool,
    calls: Calls,
}

impl Udp {
    /// A socket that does not block, with what its kernel has.
    pub fn new(socket: UdpSocket) -> io::Result<Udp> {
        let state = UdpSocketState::new((&socket).into()).ok();
        Udp::with(socket, state)
    }

    /// The same, one by one in any case.
    pub fn one_by_one(socket: UdpSocket) -> io::Result<Udp> {
        Udp::with(socket, None)
    }

    fn with(socket: UdpSocket, state: Option<UdpSocketState>) -> io::Result<Udp> {
        socket.set_nonblocking(true)?;
        let pieces = if state.is_some() { PIECES } else { 1 };
        let (came, calls) = (Vec::new(), Calls::default());
        Ok(Udp { socket, state, buffers: vec![[0; PIECE]; pieces], came, ready: false, calls })
    }

    /// What the kernel does for many datagrams at once.
    pub fn offload(&self) -> Offload {
        let of = |state: &UdpSocketState| Offload { sends: state.max_gso_segments(), takes: state.gro_segments() };
        self.state.as_ref().map_or(Offload { sends: 1, takes: 1 }, of)
    }

    /// What has been counted.
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// Takes what has come; false if that is nothing. There may be more after [`Udp::is_full`].
    pub fn take(&mut self) -> io::Result<bool> {
        self.came.clear();
        let taken = match &self.state {
            Some(state) => {
                let mut pieces = self.buffers.each_mut_slice();
                let mut came = [RecvMeta::default(); PIECES];
                let taken = state.recv((&self.socket).into(), &mut pieces, &mut came);
                taken.map(|count| self.came.extend_from_slice(&came[..count]))
            }
            None => self.socket.recv_from(&mut self.buffers[0]).map(|(length, from)| {
                let mut one = RecvMeta::default();
                (one.addr, one.len, one.stride) = (from, length, length);
                self.came.push(one);
            }),
        };
        match taken {
            Ok(()) => {
                self.calls.takes += 1;
                self.calls.taken += self.datagrams().count() as u64;
                Ok(true)
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(false),
            // Linux reports here what became of datagrams that were sent (ICMP).
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionRefused) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Whether all buffers were filled, so that more may wait.
    pub fn is_full(&self) -> bool {
        self.came.len() == self.buffers.len()
    }

    /// What was taken last, and from whom.
    pub fn datagrams(&self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        self.came.iter().zip(&self.buffers).flat_map(|(piece, bytes)| {
            // An empty datagram is one, too.
            let (all, stride) = (&bytes[..piece.len], piece.stride.max(1));
            let count = piece.len.div_ceil(stride).max(1);
            (0..count).map(move |i| (piece.addr, &all[i * stride..all.len().min((i + 1) * stride)]))
        })
    }

    /// Sends what there is. What the socket does not take (a full buffer, an unreachable network, a host
    /// that refuses) is lost, and reports will say so.
    pub fn send(&mut self, out: &mut Outbox) {
        for lane in &out.lanes {
            let Some(to) = lane.to.udp() else { continue };
            let mut first = 0;
            while first < lane.ends.len() {
                let row = lane.row(first, self.offload().sends);
                first += row.count;
                self.send_row(to, &row);
            }
        }
        out.clear();
    }

    fn send_row(&mut self, to: SocketAddr, row: &Row<'_>) {
        let before = self.offload().sends;
        self.calls.sends += 1;
        match self.send_piece(to, row.bytes, (row.count > 1).then_some(row.size)) {
            Ok(()) => self.calls.sent += row.count as u64,
            // The device has no GSO after all: these once more, and the next ones, one by one.
            Err(_) if row.count > 1 && self.offload().sends < before => {
                for one in row.bytes.chunks(row.size) {
                    self.send_row(to, &Row { bytes: one, size: one.len(), count: 1 });
                }
            }
            Err(_) => self.calls.unsent += row.count as u64,
        }
    }

    fn send_piece(&self, to: SocketAddr, bytes: &[u8], size: Option<usize>) -> io::Result<()> {
        let Some(state) = &self.state else { return self.socket.send_to(bytes, to).map(drop) };
        let transmit = Transmit { destination: to, ecn: None, contents: bytes, segment_size: size, src_ip: None };
        state.try_send((&self.socket).into(), &transmit)
    }
}

/// Buffers as the system call takes them.
trait Slices {
    fn each_mut_slice(&mut self) -> Vec<IoSliceMut<'_>>;
}

impl Slices for Vec<[u8; PIECE]> {
    fn each_mut_slice(&mut self) -> Vec<IoSliceMut<'_>> {
        self.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect()
    }
}

#[cfg(unix)]
impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").expect("a port")
    }

    /// Datagrams of sizes that can and cannot go together come as they were, in their order.
    fn carries(make: fn(UdpSocket) -> io::Result<Udp>) -> (Calls, Calls) {
        let (mut from, mut to) = (make(bound()).unwrap(), make(bound()).unwrap());
        let address = to.socket.local_addr().unwrap();
        let sizes = [1472, 1472, 1472, 40, 40, 1472, 0, 7, 1472, 1472, 900, 1000];
        let sent: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(i, size)| vec![i as u8; *size]).collect();
        let mut out = Outbox::default();
        sent.iter().for_each(|datagram| out.push(address, datagram));
        assert_eq!(out.datagrams().map(|(_, d)| d.to_vec()).collect::<Vec<_>>(), sent);
        from.send(&mut out);
        assert!(out.is_empty());
        let mut came = Vec::new();
        while came.len() < sent.len() && to.take().unwrap() {
            came.extend(to.datagrams().map(|(_, datagram)| datagram.to_vec()));
        }
        assert_eq!(came, sent);
        assert!(!to.take().unwrap());
        (from.calls(), to.calls())
    }

    #[test]
    fn what_is_sent_together_comes_as_it_was() {
        let (sent, taken) = carries(Udp::new);
        assert_eq!((sent.sent, sent.unsent, taken.taken), (12, 0, 12));
        let (alone, _) = carries(Udp::one_by_one);
        assert_eq!((alone.sends, alone.sent), (12, 12));
        if Udp::new(bound()).unwrap().offload().sends > 1 {
            assert!(sent.sends < 12 && taken.takes < 12, "{sent:?} {taken:?}");
        } else {
            println!("no GSO here: datagrams go one by one");
        }
    }

    #[test]
    fn a_row_is_of_one_size_but_for_its_last() {
        let mut out = Outbox::default();
        let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
        [100, 100, 60, 100, 200, 200, 0, 0].iter().for_each(|size| out.push(to, &vec![1; *size]));
        let rows = |most| {
            let (lane, mut first, mut rows) = (&out.lanes[0], 0, Vec::new());
            while first < lane.ends.len() {
                let row = lane.row(first, most);
                assert!(row.bytes.len() <= row.count * row.size);
                rows.push(row.count);
                first += row.count;
            }
            rows
        };
        assert_eq!(rows(64), [3, 1, 2, 1, 1]);
        assert_eq!(rows(2), [2, 1, 1, 2, 1, 1]);
        assert_eq!(rows(1), [1; 8]);
        let mut long = Outbox::default();
        (0..80).for_each(|_| long.push(to, &[0; 1500]));
        assert_eq!(long.lanes[0].row(0, 64).count, LONGEST_SENT / 1500);
    }

    /// What could not be sent is counted, and nothing waits for it.
    #[test]
    fn what_the_socket_refuses_is_counted() {
        let mut udp = Udp::new(bound()).unwrap();
        let mut out = Outbox::default();
        out.push("[::1]:9".parse::<SocketAddr>().unwrap(), b"no IPv6 from an IPv4 socket");
        udp.send(&mut out);
        assert_eq!((udp.calls().unsent, udp.calls().sent), (1, 0));
    }
}
