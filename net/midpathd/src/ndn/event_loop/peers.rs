//! Configured neighbours, and faces requested by commands.

use std::io;
use std::net::{SocketAddr, TcpStream};

use midpath_core::units::Time;
use midpath_ndn::link::frame::MAX_FRAME;
use midpath_ndn_forwarder::management::{Action, Reach, uri};
use midpath_ndn_forwarder::rib::{CHILD_INHERIT, ORIGIN_STATIC, Route};
use midpath_ndn_forwarder::{FaceId, FaceSpec, Persistency, Rated};
use midpath_node::gateway;
use midpath_node::poller::Wants;
use rustix::net::sockopt;

use super::faces::scope;
use super::{CONNECTING, DATAGRAMS, EventLoop};
use crate::ndn::config::Peer;
use crate::ndn::stream::Socket;
use crate::ndn::udp::Udp;

/// A connection is given up after this. Ours: commands wait for a second, and are asked again.
const PATIENCE: Time = Time::from_secs(5);
/// A neighbour that could not be reached is tried again after this. Ours.
const AGAIN: Time = Time::from_secs(2);
/// Bytes of headers: what queues and links count.
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;
/// The least and the most that a datagram holds.
const MTUS: (u64, u64) = (256, 65_000);

/// A neighbour of the configuration.
pub struct Known {
    peer: Peer,
    face: Option<FaceId>,
    /// When it is tried next.
    next: Time,
}

/// Whether a socket that can be written is connected.
fn connected(socket: &TcpStream) -> io::Result<()> {
    sockopt::socket_error(socket)?.map_err(io::Error::from)?;
    socket.set_nodelay(true)
}

impl Known {
    /// Not yet reached.
    pub fn new(peer: Peer) -> Known {
        Known { peer, face: None, next: Time::ZERO }
    }
}

/// For whom a connection is made.
#[derive(Clone, Copy)]
enum For {
    /// The neighbour at this place.
    Known(usize),
    /// A command.
    Command(u64, Persistency),
}

/// A connection that is being made.
pub struct Connecting {
    socket: TcpStream,
    to: SocketAddr,
    purpose: For,
    until: Time,
}

impl EventLoop {
    /// Does what management wants done.
    pub(super) fn act(&mut self, action: Action, now: Time) {
        match action {
            Action::Close(face) => self.close(face, None, now),
            Action::Make { request, reach: Reach::Udp, remote, persistency, mtu } => {
                let mtu = mtu.map_or(self.mtu, |mtu| mtu.clamp(MTUS.0, MTUS.1) as usize);
                let made = self.reach_by_udp(remote, persistency, mtu, now);
                self.forwarder.face_made(now, request, made.as_ref().map(|face| *face).map_err(String::as_str));
            }
            Action::Make { request, reach: Reach::Tcp, remote, persistency, .. } => {
                if let Err(why) = self.connect(remote, For::Command(request, persistency), now) {
                    self.forwarder.face_made(now, request, Err(&why));
                }
            }
        }
    }

    /// Reaches the neighbours of the configuration that are not.
    pub(super) fn connect_known(&mut self, now: Time) {
        for place in 0..self.known.len() {
            let known = &self.known[place];
            if known.face.is_some() || known.next > now {
                continue;
            }
            let (reach, remote) = (known.peer.reach, known.peer.remote);
            self.known[place].next = Time::MAX;
            let tried = match reach {
                Reach::Udp => self.reach_by_udp(remote, Persistency::Permanent, self.mtu, now).map(|face| {
                    self.known_is_up(place, face, now);
                }),
                Reach::Tcp => self.connect(remote, For::Known(place), now),
            };
            if let Err(why) = tried {
                self.failed(place, remote, &why, now);
            }
        }
        let late: Vec<u64> = self.connecting.iter().filter(|(_, c)| c.until <= now).map(|(id, _)| *id).collect();
        for id in late {
            self.give_up(id, "nobody answers", now);
        }
    }

    fn failed(&mut self, place: usize, remote: SocketAddr, why: &str, now: Time) {
        self.known[place].next = now.saturating_add(AGAIN);
        self.say(format!("cannot reach the neighbour at {remote}: {why}"));
    }

    /// A face by UDP: from the socket that is listened at, if there is one of this kind of address.
    fn reach_by_udp(
        &mut self,
        remote: SocketAddr,
        persistency: Persistency,
        mtu: usize,
        now: Time,
    ) -> Result<FaceId, String> {
        let fits = |udp: &Udp| udp.local().is_ipv4() == remote.is_ipv4() && !udp.is_connected();
        let failed = |e: std::io::Error| e.to_string();
        // One that the other end made before is made anew, for it would end when it is silent.
        let known = self.udp.values().find_map(|udp| udp.face(remote));
        if let Some(face) = known {
            self.close(face, None, now);
        }
        let shared = match self.udp.iter().find(|(_, udp)| fits(udp)).map(|(place, _)| *place) {
            Some(place) => place,
            None => self.add_socket(Udp::any(remote).map_err(failed)?).map_err(failed)?,
        };
        let own = self.udp.get(&shared).ok_or("no socket")?.connected(remote);
        let place = match own {
            Ok(udp) => self.add_socket(udp).map_err(failed)?,
            Err(_) => shared,
        };
        self.add_udp(place, remote, persistency, mtu, now).ok_or_else(|| "too many faces".to_owned())
    }

    fn add_socket(&mut self, udp: Udp) -> std::io::Result<usize> {
        let place = self.sockets;
        self.sockets += 1;
        self.poller.add(udp.socket(), DATAGRAMS | place as u64, Wants::Read)?;
        self.udp.insert(place, udp);
        Ok(place)
    }

    /// Begins a connection.
    fn connect(&mut self, to: SocketAddr, purpose: For, now: Time) -> Result<(), String> {
        let socket = gateway::connect(to).map_err(|e| e.to_string())?;
        self.connections += 1;
        let id = self.connections;
        self.poller.add(&socket, CONNECTING | id, Wants::Both).map_err(|e| e.to_string())?;
        self.connecting.insert(id, Connecting { socket, to, purpose, until: now.saturating_add(PATIENCE) });
        Ok(())
    }

    /// Called when a connection was made, or could not be.
    pub(super) fn connected(&mut self, id: u64, now: Time) {
        let Some(made) = self.connecting.get(&id).map(|c| connected(&c.socket)) else { return };
        if let Err(why) = made {
            return self.give_up(id, &why.to_string(), now);
        }
        let Some(Connecting { socket, to, purpose, .. }) = self.connecting.remove(&id) else { return };
        let _ = self.poller.remove(&socket);
        let local = socket.local_addr().map_or_else(|_| String::new(), |at| uri(Reach::Tcp, at));
        let persistency = match purpose {
            For::Known(_) => Persistency::Permanent,
            For::Command(_, persistency) => persistency,
        };
        let spec = FaceSpec { scope: scope(to), persistency, remote: uri(Reach::Tcp, to), local, mtu: MAX_FRAME };
        let face = self.add_stream(Socket::Tcp(socket), spec, now);
        match (purpose, face) {
            (For::Known(place), Some(face)) => self.known_is_up(place, face, now),
            (For::Known(place), None) => self.failed(place, to, "too many faces", now),
            (For::Command(request, _), face) => {
                self.forwarder.face_made(now, request, face.ok_or("too many faces"));
            }
        }
    }

    fn give_up(&mut self, id: u64, why: &str, now: Time) {
        let Some(Connecting { socket, to, purpose, .. }) = self.connecting.remove(&id) else { return };
        let _ = self.poller.remove(&socket);
        match purpose {
            For::Known(place) => self.failed(place, to, why, now),
            For::Command(request, _) => self.forwarder.face_made(now, request, Err(why)),
        }
    }

    /// A neighbour has a face: its routes lead there, and MIRCC may run there.
    fn known_is_up(&mut self, place: usize, face: FaceId, now: Time) {
        self.known[place].face = Some(face);
        let Peer { rates, remote, .. } = self.known[place].peer;
        if let Some([out, back]) = rates {
            let overhead = ETHERNET + UDP + if remote.is_ipv4() { IPV4 } else { IPV6 };
            self.forwarder.set_link(now, face, Rated { out, back, mtu: self.mtu, overhead });
        }
        for (prefix, cost) in self.known[place].peer.routes.clone() {
            let route = Route { face, origin: ORIGIN_STATIC, cost, flags: CHILD_INHERIT, until: None };
            if !self.forwarder.set_route(&prefix, route) {
                self.say(format!("no room for a route to {}", self.known[place].peer.remote));
            }
        }
    }

    /// A face is gone: if it was a neighbour's, that one is tried again.
    pub(super) fn forget_known(&mut self, face: FaceId, now: Time) {
        if let Some(known) = self.known.iter_mut().find(|known| known.face == Some(face)) {
            known.face = None;
            known.next = now.saturating_add(AGAIN);
        }
    }
}
