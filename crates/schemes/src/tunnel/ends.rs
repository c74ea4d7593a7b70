//! The two ends of the connection that is a tunnel's one direction: any TCP's, with the pipe as
//! their application.

use midpath_core::packet::{Flags, Packet, PortId, Sequence};
use midpath_core::roles::{Application, Endpoint, EndpointCtx, FlowReport, Supply, Wishes};
use midpath_core::units::Time;

use super::pipe::SharedPipe;

const NOTHING: Wishes = Wishes { timer: Time::MAX, finished: false };

/// The end that sends what a port puts into the pipe.
pub struct Entrance {
    inner: Box<dyn Endpoint>,
    pipe: SharedPipe,
    /// The port that is asked for packets.
    port: PortId,
    wishes: Wishes,
    /// Bytes that the connection has been told of.
    told: u64,
    /// Where its numbers begin, from the SYN on, and up to where it has sent.
    numbers: Option<Sequence>,
    sent: u64,
}

impl Entrance {
    /// `inner` sends what is put into `pipe` by `port`.
    pub fn new(inner: Box<dyn Endpoint>, pipe: SharedPipe, port: PortId) -> Entrance {
        Entrance { inner, pipe, port, wishes: NOTHING, told: 0, numbers: None, sent: 0 }
    }

    fn call(&mut self, ctx: &mut EndpointCtx<'_>, call: impl FnOnce(&mut dyn Endpoint, &mut EndpointCtx<'_>)) {
        self.told = self.pipe.get().taken();
        let (mark, mut application) = (ctx.mark(), Application::supplying(Supply { given: self.told, closed: false }));
        let inner = self.inner.as_mut();
        ctx.supplied(&mut self.wishes, Some(&mut application), |ctx| call(inner, ctx));
        ctx.change_since(mark, |packet| {
            if packet.flags.has(Flags::SYN) {
                self.numbers = Some(Sequence::after_syn(packet.seq));
            } else if let Some(at) = self.numbers.and_then(|n| n.offset(packet.seq, self.sent)) {
                self.sent = self.sent.max(at + u64::from(packet.payload));
            }
        });
        let acknowledged = application.acknowledged().unwrap_or(0);
        let mut pipe = self.pipe.get();
        pipe.note(self.inner.report());
        if pipe.went_on(self.sent, acknowledged) {
            ctx.kick(self.port);
        }
        ctx.set_timer(self.wishes.timer);
    }
}

impl Endpoint for Entrance {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.call(ctx, |inner, ctx| inner.on_start(ctx));
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.call(ctx, |inner, ctx| inner.on_packet(packet, ctx));
    }
    /// The connection's own timer, or the port has put something in.
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.pipe.get().taken() > self.told {
            self.call(ctx, |inner, ctx| inner.on_application(ctx));
        }
        if self.wishes.timer <= ctx.now {
            self.wishes.timer = Time::MAX;
            self.call(ctx, |inner, ctx| inner.on_timer(ctx));
        }
        ctx.set_timer(self.wishes.timer);
    }
    fn report(&self) -> FlowReport {
        self.inner.report()
    }
}

/// The end where what was put in comes out.
pub struct Exit {
    inner: Box<dyn Endpoint>,
    pipe: SharedPipe,
    /// The port that packets come in through.
    port: PortId,
    wishes: Wishes,
}

impl Exit {
    /// `inner` receives what was put into `pipe`.
    pub fn new(inner: Box<dyn Endpoint>, pipe: SharedPipe, port: PortId) -> Exit {
        Exit { inner, pipe, port, wishes: NOTHING }
    }

    fn call(&mut self, ctx: &mut EndpointCtx<'_>, call: impl FnOnce(&mut dyn Endpoint, &mut EndpointCtx<'_>)) {
        let inner = self.inner.as_mut();
        ctx.supplied(&mut self.wishes, None, |ctx| call(inner, ctx));
        let below = self.inner.report().delivered;
        while let Some((packet, payload)) = self.pipe.get().leave(below) {
            ctx.came_in(self.port, packet, payload);
        }
        ctx.set_timer(self.wishes.timer);
    }
}

impl Endpoint for Exit {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.call(ctx, |inner, ctx| inner.on_start(ctx));
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.call(ctx, |inner, ctx| inner.on_packet(packet, ctx));
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.wishes.timer <= ctx.now {
            self.wishes.timer = Time::MAX;
            self.call(ctx, |inner, ctx| inner.on_timer(ctx));
        }
        ctx.set_timer(self.wishes.timer);
    }
    fn report(&self) -> FlowReport {
        self.inner.report()
    }
    fn measured(&self) -> bool {
        false
    }
}
