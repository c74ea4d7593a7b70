//! quinn-proto as the ends of simulated flows: `scheme = "quinn"`, with `[schemes.quinn]` for parameters.

mod config;
pub mod insecure_simulation_crypto;

use std::time::{Duration, Instant};

pub use config::{Controller, Factory, QuinnParams, schemes, with_controller};
use midpath_core::packet::Ecn;
use midpath_stack::{Burst, Connection as App, EndSpec, Figures, Stack, Work, elapsed, instant};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, StreamEvent, StreamId, VarInt,
};

/// A connection.
struct Live {
    handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
}

impl Live {
    fn new((handle, connection): (ConnectionHandle, Connection)) -> Live {
        Live { handle, connection, stream: None }
    }

    /// Exchanges events with the endpoint, and what there is with the application.
    fn serve(&mut self, now: Instant, opens: bool, endpoint: &mut Endpoint, app: &mut App) {
        let connection = &mut self.connection;
        while let Some(event) = connection.poll_endpoint_events() {
            endpoint.handle_event(self.handle, event).into_iter().for_each(|event| connection.handle_event(event));
        }
        while let Some(event) = connection.poll() {
            app.acknowledged |= matches!(event, Event::Stream(StreamEvent::Finished { .. }));
        }
        app.over = connection.is_drained();
        if connection.is_handshaking() || app.over {
            return;
        }
        while let Some(message) = connection.datagrams().recv() {
            app.delivered += message.len() as u64;
        }
        if app.has_messages() {
            // Old ones make room for new ones where congestion holds them back.
            app.send(|message| connection.datagrams().send(message.into(), true).unwrap_or_default());
            app.acknowledged |= app.closed && connection.stats().frame_tx.datagram >= app.messages.0;
        } else if self.stream.is_none() {
            let mut streams = connection.streams();
            self.stream = if opens { streams.open(Dir::Bi) } else { streams.accept(Dir::Bi) };
        }
        if let Some(id) = self.stream {
            if let Ok(mut chunks) = connection.recv_stream(id).read(true) {
                app.complete |= loop {
                    match chunks.next(usize::MAX) {
                        Ok(Some(chunk)) => app.delivered += chunk.bytes.len() as u64,
                        end => break end.is_ok(),
                    }
                };
                let _ = chunks.finalize();
            }
            let mut stream = connection.send_stream(id);
            if app.write(|zeros| stream.write_chunks(&mut [zeros.into()]).map_or(0, |written| written.bytes)) {
                // Later ones find it finished.
                let _ = stream.finish();
            }
        }
        let done = opens && app.acknowledged && (app.complete || app.has_messages());
        if (done || app.abort) && !connection.is_closed() {
            connection.close(now, VarInt::from_u32(0), Default::default());
        }
    }
}

/// One end: a socket's endpoint, its connections, and answers without a connection.
struct Machine {
    end: EndSpec,
    opens: bool,
    endpoint: Endpoint,
    connections: Vec<Live>,
    replies: Vec<Vec<u8>>,
}

impl Stack for Machine {
    fn receive(&mut self, at: Duration, datagram: &[u8], ecn: Ecn) {
        let (now, ecn, mut buffer) = (instant(at), EcnCodepoint::from_bits(ecn as u8), Vec::new());
        let reply = match self.endpoint.handle(now, self.end.peer, None, ecn, datagram.into(), &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let mut live = self.connections.iter_mut().filter(|live| !live.connection.is_drained());
                if let Some(live) = live.find(|live| live.handle == handle) {
                    live.connection.handle_event(event);
                }
                None
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut buffer, None);
                accepted.map_or_else(
                    |error| error.response,
                    |accepted| {
                        self.connections.push(Live::new(accepted));
                        None
                    },
                )
            }
            Some(DatagramEvent::Response(transmit)) => Some(transmit),
            None => None,
        };
        self.replies.extend(reply.map(|transmit| buffer[..transmit.size].to_vec()));
    }

    fn timeout(&mut self, at: Duration) {
        for Live { connection, .. } in &mut self.connections {
            if connection.poll_timeout().is_some_and(|due| due <= instant(at)) {
                connection.handle_timeout(instant(at));
            }
        }
    }

    fn serve(&mut self, at: Duration, work: &mut Work) {
        for (i, live) in self.connections.iter_mut().enumerate() {
            live.serve(instant(at), self.opens, &mut self.endpoint, work.of(i));
        }
    }

    fn transmit(&mut self, at: Duration, out: &mut Vec<u8>) -> Option<Burst> {
        if let Some(reply) = self.replies.pop() {
            out.extend(reply);
            return Some(Burst { ecn: Ecn::NotEct, segment: None });
        }
        let (now, burst) = (instant(at), self.end.params.burst);
        let sent = self.connections.iter_mut().find_map(|live| live.connection.poll_transmit(now, burst, out))?;
        Some(Burst { ecn: Ecn::from_bits(sent.ecn.map_or(0, |ecn| ecn as u8)), segment: sent.segment_size })
    }

    fn wake(&mut self) -> Option<Duration> {
        self.connections.iter_mut().filter_map(|live| live.connection.poll_timeout()).min().map(elapsed)
    }

    fn figures(&self) -> Figures {
        let mut sum = Figures::default();
        for Live { connection, .. } in &self.connections {
            let path = connection.stats().path;
            let rate = connection.congestion_state().metrics().pacing_rate.unwrap_or(0);
            (sum.cwnd, sum.lost) = (sum.cwnd + path.cwnd, sum.lost + path.lost_packets);
            (sum.srtt, sum.rate) = (sum.srtt.max(path.rtt), sum.rate + rate);
        }
        sum
    }
}
