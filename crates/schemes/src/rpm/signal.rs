//! Processing of a selected packet and of returning ACKs, around
//! [`algorithm1`].

use midpath_core::packet::{Ecn, Flags, Head, NodeId, Pkt};
use midpath_core::queue::{Done, Signal};
use midpath_core::roles::{Backlog, PortCtx};
use midpath_core::units::Time;

use super::algorithm1;
use super::params::{Mode, RpmParams};
use super::registers::{Answer, Flow, Registers};

/// What a port's signals came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Signals that wait for an ACK, or did.
    pub counted: u64,
    /// Signals that found as many waiting as a register counts.
    pub saturated: u64,
    /// Signals that went forward, for the flow's register is another's.
    pub collisions: u64,
    /// Signals that went forward, for nothing says that the flow's ACKs come back through this
    /// switch.
    pub no_acks: u64,
    /// Signals that went forward, for the flow does AccECN.
    pub accecn: u64,
    /// Packets on which CE was set: those whose signal went forward, and all in the modes that say
    /// so.
    pub marked: u64,
    /// Chosen packets that cannot be marked: they are dropped. Of flows with ECN those are SYNs, ACKs
    /// and repeats.
    pub unable: u64,
    /// SYNs that ask for ECN, or grant it.
    pub ecn_syns: u64,
    /// ACKs on which ECE was set, or that had it.
    pub told: u64,
}

/// Tells senders by ECE on their ACKs, or by CE where that can't be.
#[derive(Debug, Clone)]
pub struct Rpm {
    mode: Mode,
    registers: bool,
    /// The port's one counter, and when an ACK last could have taken of it, if there is one for all
    /// flows (§III-C).
    aggregate: Option<(u16, Time)>,
    max: u16,
    /// Bytes that the last packet has left behind in the queue.
    behind: u64,
    counts: Counts,
}

/// Whether a chosen packet opens or ends a connection: its flags say other things than congestion.
const fn is_handshake(flags: Flags) -> bool {
    flags.0 & (Flags::SYN.0 | Flags::RST.0) != 0
}

impl Rpm {
    /// One port's.
    pub fn new(params: &RpmParams) -> Rpm {
        Rpm {
            mode: params.mode,
            registers: params.uses_registers(),
            aggregate: params.aggregate.then_some((0, Time::ZERO)),
            max: params.register_max,
            behind: 0,
            counts: Counts::default(),
        }
    }

    /// What its signals have come to.
    #[cfg(any(test, feature = "internals"))]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// How many ACKs of any flow will be told, if there is one counter for all.
    #[cfg(any(test, feature = "internals"))]
    pub fn waiting_for_all(&self) -> u16 {
        self.aggregate.map_or(0, |a| a.0)
    }

    /// Whether the sender will hear of it by an ACK.
    fn count(&mut self, packet: (u32, NodeId), ctx: &mut PortCtx<'_>) -> bool {
        let now = ctx.now;
        let registers = ctx.state::<Registers>();
        let flow = registers.flow(packet.0, packet.1);
        let answer = match &mut self.aggregate {
            None => registers.count(flow, now),
            Some(waits) => match registers.may_count(flow, now) {
                Err(why) => why,
                Ok(()) => count_for_all(waits, self.max, registers, now),
            },
        };
        *match answer {
            Answer::Counted => &mut self.counts.counted,
            Answer::Saturated => &mut self.counts.saturated,
            Answer::Collision => &mut self.counts.collisions,
            Answer::NoAcks => &mut self.counts.no_acks,
            Answer::AccEcn => &mut self.counts.accecn,
        } += 1;
        matches!(answer, Answer::Counted | Answer::Saturated)
    }

    /// The new flags of this ACK of `flow`, if it takes a signal along.
    fn take(&mut self, flow: Flow, ack: Flags, ctx: &mut PortCtx<'_>) -> Option<Flags> {
        let now = ctx.now;
        let registers = ctx.state::<Registers>();
        match &mut self.aggregate {
            None => registers.take(flow, ack, self.behind),
            Some(_) if !registers.is_ect(flow) => None,
            Some((count, seen)) => {
                *seen = now;
                registers.keep_queued(count, self.behind);
                algorithm1::acknowledged(count, ack)
            }
        }
    }
}

/// Counts a signal that any flow's ACK may take.
fn count_for_all(waits: &mut (u16, Time), max: u16, registers: &Registers, now: Time) -> Answer {
    let (count, seen) = waits;
    if *count > 0 && registers.is_over(*seen, now) {
        *count = 0;
    }
    if *count == 0 {
        *seen = now;
    }
    Answer::of(algorithm1::congested(count, max))
}

impl Signal for Rpm {
    fn watches_leaving(&self) -> bool {
        self.registers
    }

    fn leaving(&mut self, pkt: &Pkt, left: Backlog, ctx: &mut PortCtx<'_>) {
        self.behind = left.bytes;
        let Head { flags, ecn, key, src, .. } = *ctx.pool[pkt];
        let syn = flags.has(Flags::SYN);
        if !(syn || self.aggregate.is_some() && ecn.capable()) || !ctx.pool[pkt].is_tcp() {
            return;
        }
        self.counts.ecn_syns += u64::from(syn && flags.has(Flags::ECE));
        let now = ctx.now;
        let registers = ctx.state::<Registers>();
        let flow = registers.flow(key, src);
        if syn { registers.syn(flow, flags, false, now) } else { registers.sent_ect(flow) }
    }

    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Done {
        let Head { flags, ecn, key, src, .. } = *ctx.pool[pkt];
        let tcp = ctx.pool[pkt].is_tcp();
        match ecn {
            Ecn::NotEct => {
                self.counts.unable += 1;
                return Done::Unable;
            }
            // Another router's signal is on its way, and ours would add nothing to it.
            Ecn::Ce => return Done::Told,
            _ if tcp && is_handshake(flags) => return Done::Told,
            Ecn::Ect0 | Ecn::Ect1 => {}
        }
        let back = self.registers && tcp && !flags.has(Flags::AE) && self.count((key, src), ctx);
        if back {
            ctx.note("congestion counted", f64::NAN, Some(pkt));
        }
        if !back || self.mode == Mode::Both {
            self.counts.marked += 1;
            ctx.mark(pkt);
        }
        Done::Told
    }

    fn watches_inbound(&self) -> bool {
        self.registers
    }

    fn inbound(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        let Head { flags, key, dst, .. } = *ctx.pool[pkt];
        if flags.has(Flags::RST) || !ctx.pool[pkt].is_tcp() {
            return;
        }
        let now = ctx.now;
        let registers = ctx.state::<Registers>();
        let flow = registers.flow(key, dst);
        if flags.has(Flags::SYN) {
            return registers.syn(flow, flags, true, now);
        }
        if !registers.came_back(flow, flags, now) || !flags.has(Flags::ACK) {
            return;
        }
        if let Some(flags) = self.take(flow, flags, ctx) {
            self.counts.told += 1;
            ctx.pool[pkt].flags = flags;
            ctx.note("ECE set", f64::NAN, Some(pkt));
        }
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        if self.registers {
            ctx.state::<Registers>().clear();
        }
        self.aggregate = self.aggregate.map(|_| (0, ctx.now));
        self.behind = 0;
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let Counts { counted, saturated, collisions, marked, told: ece_set, .. } = self.counts;
        out.push(("rpm_marked", marked as f64));
        if self.registers {
            out.push(("rpm_signals", (counted + saturated) as f64));
            out.push(("rpm_collisions", collisions as f64));
            out.push(("rpm_told", ece_set as f64));
        }
    }

    fn warnings(&self, out: &mut Vec<String>) {
        let Counts { unable, ecn_syns, .. } = self.counts;
        // Who sees no SYNs doesn't know.
        if self.registers && unable > 0 && ecn_syns == 0 {
            out.push(
                "nothing was signalled: all selected packets were of flows without ECN, and dropped; set `ecn = \
                    true` among the parameters of the flows' scheme"
                    .to_owned(),
            );
        }
    }
}
