//! smoltcp as the ends of simulated flows: `scheme = "smoltcp"`, with `[schemes.smoltcp]` for parameters.
//!
//! Its segments are like any TCP's here, so network schemes see their headers.

mod config;

use std::collections::VecDeque;
use std::time::Duration;

pub use config::{Controller, SmoltcpParams, schemes};
use midpath_core::packet::Ecn;
use midpath_stack::{Burst, EndSpec, Stack, Work};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};

/// Packets in and out.
struct Queues {
    mtu: usize,
    inbound: VecDeque<Vec<u8>>,
    outbound: VecDeque<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Room<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Queues {
    type RxToken<'a> = Received;
    type TxToken<'a> = Room<'a>;
    fn receive(&mut self, _now: Instant) -> Option<(Received, Room<'_>)> {
        Some((Received(self.inbound.pop_front()?), Room(&mut self.outbound)))
    }
    fn transmit(&mut self, _now: Instant) -> Option<Room<'_>> {
        Some(Room(&mut self.outbound))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, self.mtu);
        capabilities
    }
}

/// One end: an interface with one socket.
struct Host {
    queues: Queues,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    at: Duration,
    opened: bool,
}

fn instant(at: Duration) -> Instant {
    Instant::from_micros(at.as_micros() as i64)
}

impl Host {
    fn new(socket: Socket<'static>, end: &EndSpec) -> Host {
        let mut queues = Queues { mtu: end.datagram, inbound: VecDeque::new(), outbound: VecDeque::new() };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = u64::from_be_bytes(end.seed[..8].try_into().expect("eight bytes"));
        let mut interface = Interface::new(config, &mut queues, instant(end.at));
        interface.update_ip_addrs(|all| {
            let _ = all.push(IpCidr::new(config::endpoint(end.local).addr, 8));
        });
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Host { queues, interface, sockets, socket, at: end.at, opened: false }
    }

    fn poll(&mut self, at: Duration) {
        self.at = at;
        self.interface.poll(instant(at), &mut self.queues, &mut self.sockets);
    }
}

impl Stack for Host {
    fn receive(&mut self, at: Duration, datagram: &[u8], _ecn: Ecn) {
        self.queues.inbound.push_back(datagram.to_vec());
        self.poll(at);
    }

    fn timeout(&mut self, at: Duration) {
        self.poll(at);
    }

    fn serve(&mut self, _at: Duration, work: &mut Work) {
        let (socket, app) = (self.sockets.get_mut::<Socket>(self.socket), work.of(0));
        if app.abort {
            socket.abort();
        }
        self.opened |= socket.may_send();
        while let Ok(taken) = socket.recv(|bytes| (bytes.len(), bytes.len()))
            && taken > 0
        {
            app.delivered += taken as u64;
        }
        app.complete |= self.opened && !socket.may_recv();
        let ends = app.write(|zeros| socket.send_slice(zeros).unwrap_or(0)) && self.opened;
        // Who has nothing to say closes after the other.
        if ends && (app.given > 0 || app.complete) {
            socket.close();
        }
        let state = socket.state();
        let closing = matches!(state, State::FinWait2 | State::Closing | State::TimeWait | State::Closed);
        app.acknowledged = ends && closing && socket.send_queue() == 0;
        app.over = self.opened && matches!(state, State::TimeWait | State::Closed);
    }

    fn transmit(&mut self, at: Duration, out: &mut Vec<u8>) -> Option<Burst> {
        if self.queues.outbound.is_empty() {
            self.poll(at);
        }
        out.extend(self.queues.outbound.pop_front()?);
        Some(Burst { ecn: Ecn::NotEct, segment: None })
    }

    fn wake(&mut self) -> Option<Duration> {
        let at = self.interface.poll_at(instant(self.at), &self.sockets)?;
        // It counts microseconds, and may have been polled in the middle of one.
        Some(Duration::from_micros(at.total_micros() as u64).max(self.at + Duration::from_micros(1)))
    }
}
