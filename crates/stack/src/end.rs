//! The generic end of a flow: between the node, the stack and its application.

use std::sync::Arc;
use std::time::Duration;

use midpath_core::packet::{Ecn, IP_HEADER, Kind, NodeId, Packet, UDP_HEADER};
use midpath_core::roles::{Delivery, Endpoint, EndpointCtx, FlowReport, FlowSpec, Half};
use midpath_core::units::Time;
use midpath_core::wire;
use rand_core::Rng;

use crate::app::App;
use crate::guard::{MAX_DATAGRAMS, MAX_TIMEOUTS, Named};
use crate::{EndSpec, Figures, Framing, Stack, StackConfig, StackParams, Work};

/// What stands before a UDP datagram's payload.
pub const UDP_HEADERS: u32 = IP_HEADER + UDP_HEADER;

/// What an end knows before it starts.
pub struct Beginning {
    pub scheme: String,
    pub config: Arc<dyn StackConfig>,
    pub params: StackParams,
    pub active: bool,
    pub flow: FlowSpec,
    pub peer: NodeId,
}

/// One end.
pub struct StackEnd {
    beginning: Beginning,
    /// From its start on.
    running: Option<Running>,
}

/// One end that has started.
struct Running {
    named: Named,
    peer: NodeId,
    framing: Framing,
    ecn: bool,
    stack: Box<dyn Stack>,
    app: App,
    work: Work,
    delivery: Delivery,
    /// Bytes of the interface's largest packet.
    mtu: u32,
    /// Packets sent.
    sent: u64,
    /// How many timeouts there were at this time.
    timeouts: (Time, u32),
    out: Vec<u8>,
}

fn since_start(now: Time) -> Duration {
    Duration::from_nanos(now.as_ns())
}

impl StackEnd {
    pub fn new(beginning: Beginning) -> StackEnd {
        StackEnd { beginning, running: None }
    }
}

impl Beginning {
    fn start(&self, ctx: &mut EndpointCtx<'_>) -> Running {
        let named = Named { scheme: self.scheme.clone(), flow: ctx.flow, node: ctx.node };
        let framing = self.config.framing();
        // A path's MTU is for the stack to find.
        let mtu = ctx.links.iter().map(|link| link.mtu).max().unwrap_or(1500);
        let below = if framing == Framing::Udp { UDP_HEADERS } else { 0 };
        let mut seed = [0; 32];
        ctx.rng.fill_bytes(&mut seed);
        let spec = EndSpec {
            local: wire::socket_address(ctx.flow, ctx.node, self.peer).into(),
            peer: wire::socket_address(ctx.flow, self.peer, ctx.node).into(),
            at: since_start(ctx.now),
            datagram: mtu.saturating_sub(below) as usize,
            seed,
            params: self.params,
        };
        let (config, active) = (&self.config, self.active);
        let stack = named.call(ctx.now, || if active { config.open(&spec) } else { config.accept(&spec) });
        Running {
            app: App::new(self.params, active, &self.flow, ctx.now),
            work: Work::new(if active { self.params.connections as usize } else { 0 }),
            named,
            peer: self.peer,
            framing,
            ecn: self.params.ecn,
            stack,
            delivery: Delivery::default(),
            mtu,
            sent: 0,
            timeouts: (Time::ZERO, 0),
            out: Vec::new(),
        }
    }
}

impl Running {
    /// Calls the stack.
    fn call<R>(&mut self, now: Time, call: impl FnOnce(&mut dyn Stack, Duration, &mut Work) -> R) -> R {
        let Running { stack, work, named, .. } = self;
        named.call(now, || call(stack.as_mut(), since_start(now), work))
    }

    /// Lets the application act, sends what the stack has, and sets the timer.
    fn go_on(&mut self, ctx: &mut EndpointCtx<'_>) {
        let now = ctx.now;
        self.app.plan(now, ctx.supply(), &mut self.work);
        self.call(now, |stack, at, work| stack.serve(at, work));
        self.account(ctx);
        self.send_all(ctx);
        if self.work.iter().count() > 0 && self.work.iter().all(|connection| connection.over) {
            return ctx.finish();
        }
        let wake = self.call(now, |stack, _, _| stack.wake());
        let wake = wake.map_or(Time::MAX, |at| Time::from_ns(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX / 1000)));
        match wake.min(self.app.next()) {
            Time::MAX => ctx.cancel_timer(),
            at => ctx.set_timer(at),
        }
    }

    /// Counts what has been delivered.
    fn account(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.app.sends() {
            return;
        }
        self.delivery.on_bytes(self.work.delivered() - self.delivery.bytes(), ctx.now);
        if self.app.has_all(&self.work) && self.delivery.on_complete(ctx.now) {
            ctx.completed(Half::Receiving);
        }
    }

    fn send_all(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mut out = std::mem::take(&mut self.out);
        let before = self.sent;
        loop {
            out.clear();
            let Some(burst) = self.call(ctx.now, |stack, at, _| stack.transmit(at, &mut out)) else { break };
            let segment = burst.segment.filter(|segment| *segment > 0).unwrap_or(out.len().max(1));
            out.chunks(segment).for_each(|datagram| self.send(datagram, burst.ecn, ctx));
            if out.is_empty() || self.sent - before > MAX_DATAGRAMS as u64 {
                let sent = self.sent - before;
                self.named.fail(ctx.now, &format!("sends without end: {sent} datagrams, and time does not pass"));
            }
        }
        self.out = out;
    }

    fn send(&mut self, datagram: &[u8], ecn: Ecn, ctx: &mut EndpointCtx<'_>) {
        let below = if self.framing == Framing::Udp { UDP_HEADERS as usize } else { 0 };
        if datagram.len() + below > self.mtu as usize {
            let (length, mtu) = (datagram.len() + below, self.mtu);
            self.named.fail(ctx.now, &format!("sends a packet of {length} bytes, above the interface's MTU of {mtu}"));
        }
        self.sent += 1;
        match self.framing {
            Framing::Udp => {
                let mut packet = Packet::new(ctx.flow, ctx.node, self.peer, 0);
                (packet.kind, packet.ecn, packet.payload) = (Kind::Datagram, self.shown(ecn), datagram.len() as u16);
                packet.measure();
                ctx.send_carrying(packet, datagram.into());
            }
            Framing::Tcp => match wire::read(datagram) {
                Ok((packet, payload)) if (packet.flow, packet.src) == (ctx.flow, ctx.node) => {
                    ctx.send_carrying(packet, datagram[payload].into());
                }
                Ok(_) => self.named.fail(ctx.now, "sends from or to an address or port that is not its own"),
                Err(error) => self.named.fail(ctx.now, &format!("sends what is no packet: {error}")),
            },
        }
    }

    /// The ECN field as a UDP socket shows and sets it.
    fn shown(&self, ecn: Ecn) -> Ecn {
        if self.ecn { ecn } else { Ecn::NotEct }
    }

    fn receive(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let payload = ctx.payload();
        let ecn = packet.ecn;
        match (self.framing, payload) {
            (Framing::Udp, Some(bytes)) => {
                let ecn = self.shown(ecn);
                self.call(ctx.now, |stack, at, _| stack.receive(at, &bytes, ecn));
            }
            // A simulated endpoint's datagram says nothing to a stack.
            (Framing::Udp, None) => {}
            (Framing::Tcp, payload) => {
                // Simulated segments carry zeros.
                let zeros = || vec![0; usize::from(packet.payload)].into();
                let mut bytes = Vec::with_capacity(packet.size as usize);
                wire::encode_with(packet, &payload.unwrap_or_else(zeros), &mut bytes);
                self.call(ctx.now, |stack, at, _| stack.receive(at, &bytes, ecn));
            }
        }
    }

    fn report(&self) -> FlowReport {
        let Figures { cwnd, srtt, rate, lost, timeouts } = self.stack.figures();
        // The end that the data come from speaks for the flow.
        let sends = self.app.sends();
        let own = |n: u64| if sends { n } else { 0 };
        self.delivery.report(FlowReport {
            sent: own(self.sent),
            retransmitted: own(lost),
            timeouts: own(timeouts),
            cwnd: own(cwnd),
            rate: own(rate),
            srtt: if sends { Time::from_ns(srtt.as_nanos() as u64) } else { Time::ZERO },
            ..FlowReport::default()
        })
    }
}

impl Endpoint for StackEnd {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        let running = self.running.insert(self.beginning.start(ctx));
        if self.beginning.active {
            running.go_on(ctx);
        }
    }

    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if let Some(running) = &mut self.running {
            running.receive(packet, ctx);
            running.go_on(ctx);
        }
    }

    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        let Some(running) = &mut self.running else { return };
        let (last, times) = running.timeouts;
        running.timeouts = (ctx.now, if last == ctx.now { times + 1 } else { 1 });
        if running.timeouts.1 > MAX_TIMEOUTS {
            running.named.fail(ctx.now, "asks to be woken again and again, and time does not pass");
        }
        running.call(ctx.now, |stack, at, _| {
            if stack.wake().is_some_and(|wake| wake <= at) {
                stack.timeout(at);
            }
        });
        running.go_on(ctx);
    }

    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.running.iter_mut().for_each(|running| running.go_on(ctx));
    }

    fn report(&self) -> FlowReport {
        self.running.as_ref().map_or(FlowReport::default(), Running::report)
    }
}
