//! Faces: creation, traffic, and closing.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use midpath_core::units::Time;
use midpath_ndn::link::Fragmenter;
use midpath_ndn::link::frame::MAX_FRAME;
use midpath_ndn::{Frame, Header};
use midpath_ndn_forwarder::management::{Reach, uri};
use midpath_ndn_forwarder::{FaceId, FaceSpec, Persistency, Scope};
use midpath_node::poller::{Ready, Wants};

use super::{DATAGRAMS, EventLoop, LISTENER, Link, Listener, REASONS};
use crate::ndn::stream::{Reason, Socket, Stream};
use crate::ndn::udp::BATCH;

/// Connections taken at once.
const ACCEPTED: usize = 64;
/// A UDP face that somebody else made ends when it was silent for so long. NFD's default.
const IDLE: Time = Time::from_secs(600);
/// Idle faces that are looked at to make room for a stranger. Ours: a sample; a flood of strangers
/// costs no more.
const LOOKED_AT: usize = 16;
/// Of all faces, those that strangers may have by UDP, in parts of 2: applications find room
/// whatever datagrams come.
const STRANGERS: usize = 2;
/// Reasons that are logged in a minute. Ours.
pub(super) const LOGGED: u32 = 20;

impl EventLoop {
    /// Takes connections.
    pub(super) fn accept(&mut self, place: usize, now: Time) {
        for _ in 0..ACCEPTED {
            let taken = match &self.listeners[place] {
                Listener::Unix(listener) => listener.accept().map(|(socket, _)| {
                    let _ = socket.set_nonblocking(true);
                    let local =
                        listener.local_addr().ok().and_then(|at| at.as_pathname().map(|p| p.display().to_string()));
                    let local = format!("unix://{}", local.unwrap_or_default());
                    (Socket::Unix(socket), Scope::Local, None, local)
                }),
                Listener::Tcp(listener) => listener.accept().map(|(socket, from)| {
                    let _ = socket.set_nonblocking(true);
                    let _ = socket.set_nodelay(true);
                    let local = socket.local_addr().map_or_else(|_| String::new(), |at| uri(Reach::Tcp, at));
                    let remote = uri(Reach::Tcp, from);
                    (Socket::Tcp(socket), scope(from), Some(remote), local)
                }),
            };
            let (socket, scope, remote, local) = match taken {
                Ok(taken) => taken,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                // It has gone before it was taken.
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => continue,
                Err(e) => return self.stop_listening(place, &e),
            };
            // NFD names the other end of a unix socket by the number of the file here.
            let remote = remote.unwrap_or_else(|| format!("fd://{}", raw(&socket)));
            let spec = FaceSpec { scope, persistency: Persistency::OnDemand, remote, local, mtu: MAX_FRAME };
            self.add_stream(socket, spec, now);
        }
    }

    /// A connection could not be taken, as when all files are in use: the socket would say at once again
    /// that it has one. It is left alone until the next tick.
    fn stop_listening(&mut self, place: usize, why: &std::io::Error) {
        self.counted.refused += 1;
        self.say(format!("cannot accept a connection: {why}"));
        match &self.listeners[place] {
            Listener::Unix(socket) => drop(self.poller.remove(socket)),
            Listener::Tcp(socket) => drop(self.poller.remove(socket)),
        }
        self.unregistered.push(place);
    }

    /// Listens again where that was stopped.
    pub(super) fn listen_again(&mut self) {
        for place in std::mem::take(&mut self.unregistered) {
            let token = LISTENER | place as u64;
            let again = match &self.listeners[place] {
                Listener::Unix(socket) => self.poller.add(socket, token, Wants::Read),
                Listener::Tcp(socket) => self.poller.add(socket, token, Wants::Read),
            };
            if again.is_err() {
                self.unregistered.push(place);
            }
        }
    }

    /// A face on a stream.
    pub(super) fn add_stream(&mut self, socket: Socket, spec: FaceSpec, now: Time) -> Option<FaceId> {
        let Some(face) = self.forwarder.add_face(spec) else {
            self.counted.refused += 1;
            return None;
        };
        if self.poller.add(&socket, face.0, Wants::Read).is_err() {
            self.forwarder.remove_face(face);
            self.counted.refused += 1;
            return None;
        }
        self.links.insert(face, Link::Stream(Box::new(Stream::new(socket, now))));
        Some(face)
    }

    /// A face to a neighbour by a UDP socket.
    pub(super) fn add_udp(
        &mut self,
        place: usize,
        remote: SocketAddr,
        persistency: Persistency,
        mtu: usize,
        now: Time,
    ) -> Option<FaceId> {
        let spec = FaceSpec {
            scope: Scope::NonLocal,
            persistency,
            remote: uri(Reach::Udp, remote),
            local: uri(Reach::Udp, self.udp.get(&place)?.local()),
            mtu,
        };
        let face = self.forwarder.add_face(spec)?;
        let link = Link::Udp { socket: place, remote, fragmenter: Fragmenter::default(), mtu, seen: now };
        self.links.insert(face, link);
        self.udp.get_mut(&place)?.add(remote, face);
        Some(face)
    }

    /// A stranger's face, if there is room, or can be made.
    fn add_stranger(&mut self, place: usize, remote: SocketAddr, now: Time) -> Option<FaceId> {
        if !self.strangers {
            return None;
        }
        let [(_, faces, limit), ..] = self.forwarder.tables();
        if self.idle.len() >= limit / STRANGERS || faces >= limit {
            self.drop_idlest(now);
        }
        if self.idle.len() >= limit / STRANGERS {
            return None;
        }
        let face = self.add_udp(place, remote, Persistency::OnDemand, self.mtu, now)?;
        self.idle.push_back(face);
        Some(face)
    }

    /// Ends the one of some strangers' faces that was silent longest.
    fn drop_idlest(&mut self, now: Time) {
        let seen = |link: &Link| if let Link::Udp { seen, .. } = link { *seen } else { Time::MAX };
        let sample: Vec<FaceId> = self.idle.iter().take(LOOKED_AT).copied().collect();
        self.idle.rotate_left(sample.len());
        let oldest = sample.into_iter().min_by_key(|face| self.links.get(face).map_or(Time::ZERO, seen));
        if let Some(face) = oldest {
            self.close(face, None, now);
        }
    }

    /// Takes datagrams.
    pub(super) fn receive(&mut self, place: usize, now: Time) {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..BATCH {
            let Some(udp) = self.udp.get(&place) else { break };
            let Some((from, length)) = udp.receive(&mut buffer) else { break };
            let face = udp.face(from).or_else(|| self.add_stranger(place, from, now));
            let Some(face) = face else {
                self.counted.refused += 1;
                continue;
            };
            if let Some(Link::Udp { seen, .. }) = self.links.get_mut(&face) {
                *seen = now;
            }
            // What is wrong with it is counted there.
            let _ = self.forwarder.receive(now, face, &buffer[..length]);
        }
        self.buffer = buffer;
    }

    /// Called when a socket of datagrams takes some again.
    pub(super) fn flush(&mut self, place: usize) {
        let Some(udp) = self.udp.get_mut(&place) else { return };
        self.counted.unsent += udp.flush();
        if udp.waits && !udp.is_waiting() {
            udp.waits = self.poller.change(udp.socket(), DATAGRAMS | place as u64, Wants::Read).is_err();
        }
    }

    /// Called when a stream can be read or written.
    pub(super) fn on_stream(&mut self, face: FaceId, ready: Ready, now: Time) {
        let Some(Link::Stream(stream)) = self.links.get_mut(&face) else { return };
        if ready.readable {
            let forwarder = &mut self.forwarder;
            let read = stream.read(&mut self.buffer, |packet| forwarder.receive(now, face, packet));
            if let Err(reason) = read {
                return self.close(face, reason, now);
            }
        }
        if ready.writable {
            self.write(face, now);
        }
    }

    /// Hands what the forwarder sends to the faces.
    pub(super) fn distribute(&mut self, now: Time) {
        for (face, frame) in self.forwarder.sends() {
            match self.links.get_mut(&face) {
                Some(Link::Stream(stream)) => {
                    // A face may have as much as is left for all.
                    let room = self.output.saturating_sub(self.waiting - stream.waiting()) / 2;
                    let (before, dropped) = (stream.waiting(), stream.dropped);
                    stream.push(frame, room, now);
                    self.waiting += stream.waiting() - before;
                    self.counted.dropped += stream.dropped - dropped;
                    if self.dirty.last() != Some(&face) {
                        self.dirty.push(face);
                    }
                }
                Some(Link::Udp { socket, remote, fragmenter, mtu, .. }) => {
                    let Some(udp) = self.udp.get_mut(socket) else { continue };
                    let sent = match frame.len() <= *mtu {
                        true => udp.send(*remote, frame),
                        false => in_pieces(fragmenter, frame, *mtu, |piece| udp.send(*remote, piece)),
                    };
                    self.counted.unsent += u64::from(!sent);
                    if udp.is_waiting() && !udp.waits {
                        udp.waits = self.poller.change(udp.socket(), DATAGRAMS | *socket as u64, Wants::Both).is_ok();
                    }
                }
                None => {}
            }
        }
        self.forwarder.sent();
        for face in std::mem::take(&mut self.dirty) {
            self.write(face, now);
        }
    }

    /// Writes what waits for a stream.
    fn write(&mut self, face: FaceId, now: Time) {
        let Some(Link::Stream(stream)) = self.links.get_mut(&face) else { return };
        let before = stream.waiting();
        let written = stream.write(now);
        self.waiting -= before - stream.waiting();
        if let Err(reason) = written {
            return self.close(face, reason, now);
        }
        let waits = stream.waiting() > 0;
        let wants = if waits { Wants::Both } else { Wants::Read };
        if waits != stream.waits && self.poller.change(stream.socket(), face.0, wants).is_ok() {
            stream.waits = waits;
        }
    }

    /// Ends a face, and says why unless that was to be expected.
    pub(super) fn close(&mut self, face: FaceId, reason: Reason, now: Time) {
        let Some(link) = self.links.remove(&face) else { return };
        let remote = self.forwarder.faces().get(face).map_or_else(String::new, |face| face.spec.remote.clone());
        match link {
            Link::Stream(stream) => {
                self.waiting -= stream.waiting();
                let _ = self.poller.remove(stream.socket());
            }
            Link::Udp { socket, remote, .. } => {
                if let Some(udp) = self.udp.get_mut(&socket) {
                    udp.remove(remote);
                    if udp.is_connected() {
                        let _ = self.poller.remove(udp.socket());
                        self.udp.remove(&socket);
                    }
                }
                if let Some(place) = self.idle.iter().position(|idle| *idle == face) {
                    self.idle.remove(place);
                }
            }
        }
        self.forwarder.remove_face(face);
        if let Some(reason) = reason {
            self.counted.failed += 1;
            self.say(format!("face {} to {remote} closed: {reason}", face.0));
        }
        self.forget_known(face, now);
    }

    /// Logs what happened to a face, and keeps it for `status`.
    pub(super) fn say(&mut self, what: String) {
        if let Some(more) = self.said.say() {
            tracing::warn!("{what}{more}");
        }
        if self.reasons.len() >= REASONS {
            self.reasons.pop_front();
        }
        self.reasons.push_back(what);
    }

    /// Called now and then: ends faces that are stuck, or silent and nobody's here.
    pub(super) fn check_faces(&mut self, now: Time) {
        let mut over: Vec<(FaceId, Reason)> = Vec::new();
        for (face, link) in &self.links {
            match link {
                Link::Stream(stream) => {
                    if let Err(reason) = stream.check(now) {
                        over.push((*face, reason));
                    }
                }
                Link::Udp { seen, .. } if now.saturating_sub(*seen) >= IDLE => {
                    let on_demand =
                        self.forwarder.faces().get(*face).is_some_and(|f| f.spec.persistency == Persistency::OnDemand);
                    if on_demand {
                        over.push((*face, None));
                    }
                }
                Link::Udp { .. } => {}
            }
        }
        for (face, reason) in over {
            self.close(face, reason, now);
        }
    }
}

/// Sends a frame that is too long for one datagram in pieces; whether all were taken.
fn in_pieces(fragmenter: &mut Fragmenter, frame: &[u8], mtu: usize, mut send: impl FnMut(&[u8]) -> bool) -> bool {
    let Ok(Frame { header, packet: Some(packet) }) = Frame::of(frame) else { return false };
    let pieces = fragmenter.split(&Header { piece: None, ..header }, packet, mtu);
    !pieces.is_empty() && pieces.iter().all(|piece| send(piece))
}

/// Whether an address is this machine's own.
pub(super) fn scope(remote: SocketAddr) -> Scope {
    if remote.ip().to_canonical().is_loopback() { Scope::Local } else { Scope::NonLocal }
}

fn raw(socket: &Socket) -> i32 {
    use std::os::fd::AsRawFd;
    socket.as_fd().as_raw_fd()
}
