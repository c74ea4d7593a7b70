//! smoltcp as the ends of simulated flows: `scheme = "smoltcp"`, with `[schemes.smoltcp]` for parameters.
//!
//! Its segments are like any TCP's here, so network schemes see their headers.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use midpath_core::packet::Ecn;
use midpath_core::units::Bytes;
use midpath_schemes::params::require;
use midpath_schemes::{Built, Catalogue};
use midpath_stack::{Burst, EndSpec, Framing, Stack, StackConfig, StackParams, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr, IpEndpoint};

/// smoltcp's controllers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// No window but the receiver's: its default.
    None,
    /// Reno.
    Reno,
    /// CUBIC.
    #[default]
    Cubic,
}

/// What `[schemes.smoltcp]` takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SmoltcpParams {
    /// What all stacks share.
    #[serde(flatten)]
    pub stack: StackParams,
    /// The congestion controller.
    pub controller: Controller,
    /// Bytes of each of a socket's two buffers. Ours: 1 MB is 80 Mbps at 100 ms.
    pub buffer: Bytes,
}

impl Default for SmoltcpParams {
    fn default() -> SmoltcpParams {
        SmoltcpParams { stack: StackParams::default(), controller: Controller::default(), buffer: Bytes(1 << 20) }
    }
}

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<SmoltcpParams>("smoltcp", |name, params| -> Built {
        require((1..=1 << 30).contains(&params.buffer.0), "buffer", "from 1 B to 1 GiB")?;
        midpath_stack::build(name, params.stack, Smoltcp(params))
    })
}

struct Smoltcp(SmoltcpParams);

impl StackConfig for Smoltcp {
    fn framing(&self) -> Framing {
        Framing::Tcp
    }
    fn open(&self, end: &EndSpec) -> Box<dyn Stack> {
        let mut host = Host::new(&self.0, end);
        let socket = host.sockets.get_mut::<Socket>(host.socket);
        let opened = socket.connect(host.interface.context(), endpoint(end.peer), endpoint(end.local));
        opened.expect("a fresh socket and good addresses");
        Box::new(host)
    }
    fn accept(&self, end: &EndSpec) -> Box<dyn Stack> {
        let mut host = Host::new(&self.0, end);
        let opened = host.sockets.get_mut::<Socket>(host.socket).listen(endpoint(end.local));
        opened.expect("a fresh socket and a good address");
        Box::new(host)
    }
}

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
    written: u64,
    opened: bool,
}

fn endpoint(at: SocketAddr) -> IpEndpoint {
    let SocketAddr::V4(at) = at else { unreachable!("simulated nodes have IPv4 addresses") };
    at.into()
}

fn instant(at: Duration) -> Instant {
    Instant::from_micros(at.as_micros() as i64)
}

impl Host {
    fn new(params: &SmoltcpParams, end: &EndSpec) -> Host {
        let mut queues = Queues { mtu: end.datagram, inbound: VecDeque::new(), outbound: VecDeque::new() };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = u64::from_be_bytes(end.seed[..8].try_into().expect("eight bytes"));
        let mut interface = Interface::new(config, &mut queues, instant(end.at));
        interface.update_ip_addrs(|all| {
            let _ = all.push(IpCidr::new(endpoint(end.local).addr, 8));
        });
        let buffer = || SocketBuffer::new(vec![0; params.buffer.0 as usize]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(match params.controller {
            Controller::None => CongestionControl::None,
            Controller::Reno => CongestionControl::Reno,
            Controller::Cubic => CongestionControl::Cubic,
        });
        // For requests: an end with more to send does not wait for an ACK.
        socket.set_nagle_enabled(false);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Host { queues, interface, sockets, socket, at: end.at, written: 0, opened: false }
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
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
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
        while self.written < app.given && socket.can_send() {
            let piece = ZEROS.len().min((app.given - self.written) as usize);
            self.written += socket.send_slice(&ZEROS[..piece]).unwrap_or(0) as u64;
        }
        // Who has nothing to say closes after the other.
        if self.opened && app.closed && self.written == app.given && (app.given > 0 || app.complete) {
            socket.close();
        }
        let state = socket.state();
        let closing = matches!(state, State::FinWait2 | State::Closing | State::TimeWait | State::Closed);
        app.acknowledged =
            self.opened && app.closed && self.written == app.given && closing && socket.send_queue() == 0;
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
