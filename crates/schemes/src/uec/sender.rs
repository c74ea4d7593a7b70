//! The sender (HTSIM 8a33f33, `UecSrc`).

use midpath_core::packet::{Ecn, FlowKey, NodeId, Packet, Trim};
use midpath_core::rng::below;
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec, Half};
use midpath_core::units::{Rate, Time};

use super::credits::{Credit, Rules};
use super::entropy::{Entropy, Feedback};
use super::header::{Message, PacketFlags, SIZE, UecHeader};
use super::nic::{Nic, Turn};
use super::nscc::{Answer, Constants, Nscc};
use super::outstanding::Outstanding;
use super::params::{Profile, UecParams};

/// The active end.
pub struct Sender {
    to: NodeId,
    params: UecParams,
    rules: Rules,
    mtu: u32,
    rate: Rate,
    /// Where payload ends, and how far it is sent.
    end: u64,
    progress: u64,
    stop_at: Time,
    outstanding: Outstanding,
    in_flight: i64,
    /// `_recvd_bytes`: what the receiver says that it has.
    received: u32,
    window: Option<(Nscc, Constants)>,
    credit: Option<Credit>,
    /// Chosen when the flow starts.
    entropy: Option<Entropy>,
    /// When an answer was last asked for without data.
    last_rts: Option<Time>,
    /// When something was heard, or asked for because nothing was; how often since the last pull.
    heard: Time,
    asked: u8,
    /// Whether it waits for its turn at the host's line.
    in_line: bool,
    report: FlowReport,
}

impl Sender {
    pub fn new(flow: &FlowSpec, profile: &Profile) -> Sender {
        Sender {
            to: flow.dst,
            params: profile.params,
            rules: profile.rules,
            mtu: flow.mtu.clamp(SIZE + 1, SIZE + u32::from(u16::MAX)).min(u16::MAX.into()),
            rate: Rate::ZERO,
            end: flow.size.map_or(u64::MAX, |size| size.0),
            progress: 0,
            stop_at: flow.stop.unwrap_or(Time::MAX),
            outstanding: Outstanding::default(),
            in_flight: 0,
            received: 0,
            window: None,
            credit: None,
            entropy: None,
            last_rts: None,
            heard: Time::ZERO,
            asked: 0,
            in_line: false,
            report: FlowReport::default(),
        }
    }

    fn key(&self, ctx: &EndpointCtx<'_>) -> FlowKey {
        (ctx.flow, self.to)
    }

    /// Bytes of the next packet, zero if there is none (`getNextPacketSize`).
    fn next_size(&self) -> u32 {
        match self.outstanding.queued().and_then(|psn| self.outstanding.record(psn)) {
            Some(record) => record.bytes.max(SIZE),
            None if self.progress < self.end => (self.end - self.progress).min((self.mtu - SIZE).into()) as u32 + SIZE,
            None => 0,
        }
    }

    /// What is left to be sent for the first time, headers included (`_backlog`).
    fn backlog(&self) -> i64 {
        let left = self.end - self.progress;
        left.saturating_add(left.div_ceil((self.mtu - SIZE).into()) * u64::from(SIZE)).min(i64::MAX as u64 / 2) as i64
    }

    /// `isSendPermitted`.
    fn may_send(&self) -> bool {
        let size = self.next_size();
        let window = self.window.as_ref().is_none_or(|(nscc, _)| nscc.cwnd >= self.in_flight + i64::from(size));
        size > 0 && window && self.credit.as_ref().is_none_or(Credit::is_there)
    }

    /// Sends what the window, the credit and the host's line allow.
    fn go_on(&mut self, ctx: &mut EndpointCtx<'_>) {
        if ctx.now >= self.stop_at && self.progress < self.end {
            self.end = self.progress;
            self.send_end(ctx);
        }
        if self.end == self.progress && self.outstanding.is_empty() {
            return self.finish(ctx);
        }
        let flow = self.key(ctx);
        let mut wake = if self.progress < self.end { self.stop_at } else { Time::MAX };
        if self.may_send() {
            match ctx.shared.get::<Nic>().ask(flow, &mut self.in_line, ctx.now) {
                Turn::Now => {
                    let sent = self.send_next(ctx);
                    Nic::leave(flow, &mut self.in_line, ctx);
                    if sent
                        && self.may_send()
                        && let Turn::At(at) = ctx.shared.get::<Nic>().ask(flow, &mut self.in_line, ctx.now)
                    {
                        wake = wake.min(at);
                    }
                }
                Turn::At(at) => wake = wake.min(at),
                Turn::Later => {}
            }
        } else {
            Nic::leave(flow, &mut self.in_line, ctx);
        }
        if let Some((sent, _)) = self.outstanding.oldest() {
            wake = wake.min(sent.saturating_add(self.params.timeout()));
        } else if self.waits_for_credit() {
            wake = wake.min(self.asks_at());
        }
        ctx.set_timer(wake);
    }

    /// Whether nothing is on its way that could time out, so that a lost pull would not be missed.
    fn waits_for_credit(&mut self) -> bool {
        self.credit.is_some() && !self.in_line && self.outstanding.oldest().is_none()
    }

    /// When a pull is taken for lost: each time after twice as long, for others may have their turns.
    fn asks_at(&self) -> Time {
        self.heard.saturating_add(Time(self.params.timeout().0.saturating_mul(1 << self.asked)))
    }

    /// `sendPacket`; whether one was sent.
    fn send_next(&mut self, ctx: &mut EndpointCtx<'_>) -> bool {
        let size = self.next_size();
        if self.credit.as_mut().is_some_and(|credit| !credit.spend(size.into())) {
            return false;
        }
        let entropy = self.next_entropy(ctx);
        ctx.shared.get::<Nic>().sends(size, self.rate, ctx.now);
        let header = UecHeader { entropy, ..UecHeader::default() };
        if let Some(psn) = self.outstanding.queued() {
            let Some(record) = self.outstanding.send_again(psn, entropy, ctx.now) else { return false };
            self.in_flight += i64::from(record.bytes);
            self.report.retransmitted += u64::from(record.payload > 0);
            let message = if record.payload > 0 { Message::Data } else { Message::Rts };
            let flags = PacketFlags::ACK_REQUEST.with(PacketFlags::AGAIN, true);
            self.emit(UecHeader { psn, message, flags, ..header }, (record.at, record.payload), ctx);
            return true;
        }
        let (psn, at, payload) = (self.outstanding.next(), self.progress, (size - SIZE) as u16);
        self.progress += u64::from(payload);
        self.in_flight += i64::from(size);
        let full = |(nscc, _): &(Nscc, Constants)| self.in_flight + i64::from(size) >= nscc.cwnd;
        let spent = self.credit.as_ref().is_some_and(Credit::is_spent);
        let request = self.progress == self.end || spent || self.window.as_ref().is_some_and(full);
        self.outstanding.send(at, payload, size, entropy, ctx.now);
        let flags = PacketFlags::default().with(PacketFlags::ACK_REQUEST, request);
        self.emit(UecHeader { psn, flags, ..header }, (at, payload), ctx);
        true
    }

    /// Puts a packet on its way.
    fn emit(&mut self, mut header: UecHeader, (at, payload): (u64, u16), ctx: &mut EndpointCtx<'_>) {
        let (backlog, again) = (self.backlog(), self.outstanding.queued_bytes());
        let cwnd = self.window.as_ref().map(|(nscc, _)| nscc.cwnd);
        let waiting = ctx.shared.get::<Nic>().waiting();
        if let Some(credit) = &mut self.credit {
            // EQDS's `sendRtxPacket` and `sendRTS` ask for what was asked for before.
            let fresh = self.rules == Rules::Rccc || payload > 0 && !header.flags.has(PacketFlags::AGAIN);
            header.base = match fresh {
                true => credit.target(backlog, again, cwnd, waiting, self.mtu.into()),
                false => credit.last_target(),
            };
        }
        let last = at + u64::from(payload) == self.end && (payload > 0 || header.flags.has(PacketFlags::AGAIN));
        header.flags = header.flags.with(PacketFlags::LAST, last);
        header.bitmap = at;
        let mut packet = header.packet(ctx.flow, ctx.node, self.to, payload);
        packet.ecn = if payload > 0 { Ecn::Ect0 } else { Ecn::NotEct };
        packet.trim = if self.params.trimming && payload > 0 { Trim::May } else { Trim::No };
        self.report.sent += u64::from(payload > 0);
        ctx.send_bytes(&packet, at);
    }

    fn next_entropy(&mut self, ctx: &mut EndpointCtx<'_>) -> u16 {
        let (kind, paths) = (self.params.entropy, self.params.paths);
        let mut draw = |n: u32| below(ctx.rng, n.into()) as u32;
        let rules = self.rules;
        let entropy = self.entropy.get_or_insert_with(|| match rules {
            Rules::Eqds(_) => Entropy::of_eqds(paths, &mut draw),
            Rules::Rccc | Rules::Ndp => Entropy::new(kind, paths, &mut draw),
        });
        entropy.next(&mut draw)
    }

    fn hear(&mut self, entropy: u16, feedback: Feedback, now: Time) {
        if let Some(own) = &mut self.entropy {
            own.hear(entropy, feedback, now);
        }
    }

    /// `processAck`.
    fn on_ack(&mut self, header: &UecHeader, ctx: &mut EndpointCtx<'_>) {
        let (now, marked) = (ctx.now.0, header.flags.has(PacketFlags::CE));
        let newly = header.received.wrapping_sub(self.received).cast_signed().max(0);
        self.received = self.received.wrapping_add(newly.cast_unsigned());
        self.in_flight -= i64::from(newly);
        // `validateSendTs`: which of its sendings is answered is known.
        let again = u8::from(header.flags.has(PacketFlags::AGAIN));
        let record = self.outstanding.on_its_way(header.psn).filter(|record| record.again == again);
        let rtt = record.map(|record| ctx.now.saturating_sub(record.sent));
        if let Some(rtt) = rtt.filter(|_| !header.flags.has(PacketFlags::RTS)) {
            self.report.rtt(rtt);
            self.report.srtt = rtt;
        }
        self.in_flight += self.outstanding.acknowledge_below(header.cumulative);
        let mut bitmap = header.bitmap;
        while bitmap != 0 {
            let psn = header.base.wrapping_add(bitmap.trailing_zeros());
            self.in_flight += self.outstanding.acknowledge(psn);
            bitmap &= bitmap - 1;
        }
        self.hear(header.entropy, if marked { Feedback::Marked } else { Feedback::Good }, ctx.now);
        if let Some((nscc, constants)) = &mut self.window {
            nscc.count(newly.into());
            let delay = nscc.delay(rtt.map(|rtt| rtt.0), header.flags.has(PacketFlags::RTS), marked, constants);
            nscc.on_ack(marked, delay, &Answer { now, bytes: newly.into(), in_flight: self.in_flight }, constants);
        }
        self.stop_speculating();
        self.go_on(ctx);
    }

    /// `processNack`.
    fn on_nack(&mut self, header: &UecHeader, ctx: &mut EndpointCtx<'_>) {
        let Some(record) = self.outstanding.on_its_way(header.psn).copied() else { return };
        // EQDS's path is to blame wherever it was trimmed.
        let last_hop = header.flags.has(PacketFlags::LAST_HOP) && self.rules == Rules::Rccc;
        if let Some((nscc, constants)) = &mut self.window {
            nscc.update_base_rtt(ctx.now.saturating_sub(record.sent).0, constants);
            let answer = Answer { now: ctx.now.0, bytes: record.bytes.into(), in_flight: self.in_flight };
            nscc.on_nack(last_hop && self.credit.is_some(), &answer, constants);
        }
        self.in_flight -= i64::from(record.bytes);
        self.stop_speculating();
        self.outstanding.lose(header.psn);
        self.go_on(ctx);
        let feedback = match (last_hop, header.flags.has(PacketFlags::CE)) {
            (false, _) => Feedback::Trimmed,
            (true, true) => Feedback::Marked,
            (true, false) => Feedback::Good,
        };
        self.hear(header.entropy, feedback, ctx.now);
    }

    /// `rtxTimerExpired`. Ours: the path that is blamed is the one that the packet took, and not the first.
    fn time_out(&mut self, ctx: &mut EndpointCtx<'_>) {
        while let Some((sent, psn)) = self.outstanding.oldest()
            && sent.saturating_add(self.params.timeout()) <= ctx.now
        {
            let Some(record) = self.outstanding.record(psn).copied() else { return };
            self.report.timeouts += 1;
            self.hear(record.entropy, Feedback::TimedOut, ctx.now);
            self.in_flight -= i64::from(record.bytes);
            if let Some((nscc, constants)) = &mut self.window {
                nscc.on_timeout(record.bytes.into(), constants);
            }
            let waits = self.outstanding.queued().is_some();
            self.outstanding.lose(psn);
            if waits {
                self.stop_speculating();
            }
            if waits && self.credit.is_some() || !self.may_send() {
                self.send_rts(ctx);
            }
        }
        // Ours: HTSIM's senders wait for ever.
        if self.waits_for_credit() && self.asks_at() <= ctx.now {
            (self.heard, self.asked) = (ctx.now, (self.asked + 1).min(8));
            self.report.timeouts += 1;
            self.send_rts(ctx);
        }
    }

    /// `sendRTS`: asks for an answer, once a round trip, for what was lost may have been whole windows' answers.
    fn send_rts(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.last_rts.is_some_and(|last| ctx.now.saturating_sub(last) < self.params.rtt()) {
            return;
        }
        self.last_rts = Some(ctx.now);
        self.send_without_data(PacketFlags::ACK_REQUEST, ctx);
    }

    /// What was sent last was all: a flow without data, or one that is stopped. Ours: HTSIM has neither.
    fn send_end(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.send_without_data(PacketFlags::ACK_REQUEST.with(PacketFlags::LAST, true), ctx);
    }

    fn send_without_data(&mut self, flags: PacketFlags, ctx: &mut EndpointCtx<'_>) {
        let (psn, entropy) = (self.outstanding.next(), self.next_entropy(ctx));
        self.outstanding.send(self.progress, 0, 0, entropy, ctx.now);
        ctx.shared.get::<Nic>().sends(SIZE, self.rate, ctx.now);
        let header = UecHeader { entropy, psn, message: Message::Rts, flags, ..UecHeader::default() };
        self.emit(header, (self.progress, 0), ctx);
    }

    /// `stopSpeculating`: the receiver has answered, so that what may be sent is what it grants.
    fn stop_speculating(&mut self) {
        if let Some(credit) = &mut self.credit {
            credit.stop_speculating();
        }
    }

    fn finish(&mut self, ctx: &mut EndpointCtx<'_>) {
        Nic::leave(self.key(ctx), &mut self.in_line, ctx);
        ctx.completed(Half::Sending);
        ctx.finish();
    }
}

impl Endpoint for Sender {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.heard = ctx.now;
        self.rate = ctx.links.first().map_or(Rate::ZERO, |link| link.rate);
        let constants = self.params.constants(self.rate, self.mtu, self.mtu - SIZE);
        let nscc = Nscc::new(&constants);
        let profile = Profile { params: self.params, rules: self.rules };
        self.credit =
            self.params.cc.has_credits().then(|| Credit::new(self.rules, profile.window(nscc.cwnd, self.mtu)));
        self.window = self.params.cc.has_window().then_some((nscc, constants));
        if self.end == 0 {
            self.send_end(ctx);
        }
        self.go_on(ctx);
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<UecHeader>() else { return };
        self.heard = ctx.now;
        match header.message {
            Message::Ack => self.on_ack(&header, ctx),
            Message::Nack => self.on_nack(&header, ctx),
            Message::Pull => {
                self.asked = 0;
                self.stop_speculating();
                if let Some(credit) = &mut self.credit {
                    credit.grant(header.base);
                }
                self.go_on(ctx);
            }
            Message::Closed => self.finish(ctx),
            Message::Data | Message::Rts => {}
        }
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.time_out(ctx);
        self.go_on(ctx);
    }
    fn on_abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.finish(ctx);
    }
    fn report(&self) -> FlowReport {
        let cwnd = self.window.as_ref().map_or(0, |(nscc, _)| nscc.cwnd.max(0).cast_unsigned());
        FlowReport { cwnd, ..self.report }
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("in_flight_bytes", self.in_flight as f64));
        if let Some((nscc, _)) = &self.window {
            out.push(("queue_delay_s", nscc.average_delay().as_secs_f64()));
            out.push(("base_rtt_s", nscc.base_rtt().as_secs_f64()));
        }
        out.extend(self.credit.as_ref().map(|credit| ("credit_bytes", credit.bytes() as f64)));
    }
}
