//! Probes, feedback and detours (§III-A, §III-B).

use midpath_core::packet::{NodeId, Packet, Pkt, PortId};
use midpath_core::roles::{Drop, HopCtx, Inbound, PortCtx};
use midpath_core::units::Time;

use super::InrppPort;
use crate::inrpp::header::{Control, Feedback, Signed, set_via};
use crate::inrpp::overlay::PeerKind;
use crate::inrpp::siblings::{Contender, PortMessage, Siblings};
use crate::inrpp::state::State;

/// Contenders that a port remembers. Ours: above any router's number of ports.
const MAX_CONTENDERS: usize = 1024;

impl InrppPort {
    /// Whether there is anything that detours would help with: packets that may be sent wait in the
    /// cache.
    #[inline]
    pub(super) fn wants_detours(&self) -> bool {
        !self.paths.is_empty() && self.cache.ready() && self.machine.state() != State::Push
    }

    /// When the next thing about detours is to be done.
    #[inline]
    pub(super) fn next_detour(&mut self, ctx: &PortCtx<'_>) -> Time {
        if self.wants_detours() {
            return self.next_wanted(ctx);
        }
        (self.probe_at, self.decide_at) = (Time::MAX, Time::MAX);
        Time::MAX
    }

    #[inline(never)]
    fn next_wanted(&mut self, ctx: &PortCtx<'_>) -> Time {
        if self.probe_at == Time::MAX {
            // It begins now; what was learned before counts while it is fresh.
            let fresh = ctx.now.saturating_sub(self.config.decision);
            for path in self.paths.iter_mut().filter(|p| p.feedback.is_none_or(|(_, at)| at < fresh)) {
                (path.rate, path.feedback) = (0.0, None);
            }
            (self.probe_at, self.decide_at) = (ctx.now, Time::MAX);
            self.paths.iter_mut().for_each(|path| path.waits = false);
        }
        let mut next = self.probe_at.min(self.decide_at);
        for i in 0..self.paths.len() {
            if self.paths[i].open(self.in_push(self.paths[i].through.port, ctx)) {
                next = next.min(self.paths[i].next_at);
            } else {
                self.paths[i].waits = false;
            }
        }
        next
    }

    fn in_push(&self, port: PortId, ctx: &PortCtx<'_>) -> bool {
        ctx.shared::<Siblings>().is_in_push(port)
    }

    /// Does what is due: packets, decisions, probes.
    pub(super) fn run_detours(&mut self, ctx: &mut PortCtx<'_>) {
        if !self.wants_detours() {
            return;
        }
        if ctx.now >= self.decide_at {
            self.decide(ctx);
        }
        for i in 0..self.paths.len() {
            self.detour(i, ctx);
        }
        if ctx.now >= self.probe_at {
            self.probe(ctx);
        }
    }

    /// Equation (3) for each detour, with the feedback of its own first interface beside that of
    /// the detour router.
    fn decide(&mut self, ctx: &PortCtx<'_>) {
        let after = ctx.now.saturating_sub(self.config.decision);
        for path in &mut self.paths {
            let port = path.through.port;
            let local = ctx.shared::<Siblings>().load_of(port);
            let local = local.feedback(ctx.links[usize::from(port.0)].rate, ctx.now, &self.config.gains);
            path.decide(local, after);
        }
        self.decide_at = ctx.now.saturating_add(self.config.decision);
    }

    /// Sends what is due through one detour, tagged with the original next hop (§III-A).
    fn detour(&mut self, i: usize, ctx: &mut PortCtx<'_>) {
        let through = self.paths[i].through;
        loop {
            let open = self.paths[i].open(self.in_push(through.port, ctx));
            if !open || ctx.now < self.paths[i].next_at {
                self.paths[i].waits = open;
                return;
            }
            let Some(pkt) = self.cache.pop_for_detour(ctx.pool, self.down) else {
                // All that waits is on a detour already, or not INRPP's. Looked at again with the
                // next probe.
                self.paths[i].next_at = ctx.now.saturating_add(self.config.gains.interval);
                self.paths[i].waits = false;
                return;
            };
            let packet = &mut ctx.pool[&pkt];
            set_via(packet, Some(self.peer));
            self.paths[i].sent(packet.size, ctx.now);
            self.counts.detoured += 1;
            ctx.sibling(through.port, pkt);
        }
    }

    /// Every T_p: asks along every detour, and tells its first interface that it is wanted.
    fn probe(&mut self, ctx: &mut PortCtx<'_>) {
        for i in 0..self.paths.len() {
            let through = self.paths[i].through;
            let control =
                Control::Probe { origin: self.me.0, port: self.me.1.0, target: self.peer, more: u8::from(through.two) };
            let me = PortMessage::Contends(Contender::Sibling(self.me.1));
            ctx.state::<Siblings>().post(through.port, me);
            self.send_control(control, through.port, ctx);
        }
        self.probe_at = ctx.now.saturating_add(self.config.gains.interval);
    }

    /// Sends a control packet to the neighbour behind `port`; that port signs it.
    fn send_control(&self, control: Control, port: PortId, ctx: &mut PortCtx<'_>) {
        let peer = ctx.links[usize::from(port.0)].peer;
        let mut packet = Packet::control(self.me.0, peer);
        packet.set_header(&Signed { control, number: 0, mac: 0 });
        ctx.emit(port, packet);
    }

    /// Signs a control packet that leaves through this port.
    pub(super) fn sign_control(&mut self, packet: &mut Packet, now: Time) {
        if let Some(signed) = packet.header::<Signed>().filter(|_| !self.host) {
            let signed = self.link_mac.sign_control(&self.config.keys, now, self.me.0, self.peer, signed.control);
            packet.set_header(&signed);
        }
    }

    /// A control packet has come in.
    pub(super) fn on_control(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        let Some(signed) = ctx.pool[&pkt].header::<Signed>() else { return Inbound::Drop(pkt, Drop::Policy) };
        if self.config.keys.on() && !matches!(self.peer_kind, PeerKind::Neighbour) {
            // §V-C: hosts and plain routers have no key, and no detours to ask for.
            self.link_mac.refuse();
            return Inbound::Drop(pkt, Drop::Policy);
        }
        if !self.link_mac.verify_control(&self.config.keys, self.peer, self.me.0, &signed) {
            return Inbound::Drop(pkt, Drop::Policy);
        }
        match signed.control {
            Control::Probe { origin, port, target, more } => self.answer(origin, port, target, more, ctx),
            Control::Feedback { origin, port, target, feedback } => {
                self.pass_feedback(origin, port, target, feedback, ctx)
            }
        }
        Inbound::Consume(pkt)
    }

    /// A neighbour asks what it may send to `target` through this node. The probe goes back with
    /// the feedback, or on to the second router of a 2-hop detour.
    fn answer(&mut self, origin: NodeId, port: u16, target: NodeId, more: u8, ctx: &mut PortCtx<'_>) {
        let behind =
            |n: NodeId, ctx: &PortCtx<'_>| ctx.links.iter().position(|l| l.peer == n).map(|i| PortId(i as u16));
        if let Some(to) = behind(target, ctx) {
            ctx.state::<Siblings>().post(to, PortMessage::Contends(Contender::Router(origin)));
            ctx.kick(to);
            let feedback = self.feedback_of(to, ctx);
            return self.send_control(Control::Feedback { origin, port, target, feedback }, ctx.me, ctx);
        }
        if more == 0 {
            return;
        }
        let Some(on) = self.second.get(&target).copied() else { return };
        ctx.state::<Siblings>().post(on, PortMessage::Contends(Contender::Router(origin)));
        self.send_control(Control::Probe { origin, port, target, more: 0 }, on, ctx);
    }

    fn feedback_of(&self, port: PortId, ctx: &PortCtx<'_>) -> Feedback {
        let load = ctx.shared::<Siblings>().load_of(port);
        load.feedback(ctx.links[usize::from(port.0)].rate, ctx.now, &self.config.gains)
    }

    /// An answer: for a port of this node, or to be handed back to who asked, with this interface's
    /// own word added.
    fn pass_feedback(&mut self, origin: NodeId, port: u16, target: NodeId, feedback: Feedback, ctx: &mut PortCtx<'_>) {
        if origin == self.me.0 {
            if usize::from(port) < ctx.links.len() && ctx.links[usize::from(port)].peer == target {
                ctx.state::<Siblings>().post(PortId(port), PortMessage::Answer(self.me.1, feedback));
            }
        } else if let Some(back) = ctx.links.iter().position(|l| l.peer == origin) {
            let both = feedback.and(self.feedback_of(ctx.me, ctx));
            self.send_control(Control::Feedback { origin, port, target, feedback: both }, PortId(back as u16), ctx);
        }
    }

    /// The feedback of the detour that begins with a sibling.
    fn store_feedback(&mut self, through: PortId, feedback: Feedback, now: Time) {
        let first = self.decide_at == Time::MAX;
        if let Some(path) = self.paths.iter_mut().find(|p| p.through.port == through) {
            path.feedback = Some((feedback, now));
        }
        if first && self.probe_at != Time::MAX {
            self.decide_at = now; // the first decision waits for no interval
        }
    }

    /// Reads what siblings have left.
    #[inline]
    pub(super) fn read_messages(&mut self, ctx: &mut PortCtx<'_>) {
        if !self.contenders.is_empty() || ctx.shared::<Siblings>().has_message(ctx.me) {
            self.read_waiting(&mut ctx.hop());
        }
    }

    #[inline(never)]
    pub(super) fn read_waiting(&mut self, hop: &mut HopCtx<'_>) {
        let (me, now) = (hop.me, hop.now);
        while let Some(message) = hop.state::<Siblings>().take(me) {
            match message {
                PortMessage::Contends(who) if self.contenders.len() < MAX_CONTENDERS => {
                    self.contenders.insert(who, now);
                }
                PortMessage::Contends(_) => {}
                PortMessage::Answer(through, feedback) => self.store_feedback(through, feedback, now),
            }
        }
        // N of equation (2): who has probed within the last interval of decisions.
        let old = now.saturating_sub(self.config.decision);
        if self.contenders.values().any(|at| *at < old) {
            self.contenders.retain(|_, at| *at >= old);
        }
    }
}
