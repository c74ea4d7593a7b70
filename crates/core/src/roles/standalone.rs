//! The environment of a port, without a node.

use std::any::Any;
use std::collections::VecDeque;

use super::port::{Action, Drop, LinkInfo, PortCtx, SentMark, Transmitter};
use super::{Backlog, Timetable, Verdict, View};
use crate::packet::{NodeId, PacketId, Pkt, Pool, PortId};
use crate::rng::{Purpose, Stream, stream};
use crate::units::{Rate, Time};

/// All that a port may reach, without a node: for tests of ports and of signals, and for drivers that
/// have links and no nodes. The port is number 0 of node 0.
pub struct StandalonePort {
    /// The time.
    pub now: Time,
    /// The packets.
    pub pool: Pool,
    /// The state of the transmitter; idle since the beginning unless set.
    pub transmitter: Transmitter,
    /// What waits on the timetable.
    pub booked: Backlog,
    /// What the port has wished for and nobody has carried out.
    pub actions: VecDeque<Action>,
    /// When the port last asked to be woken.
    pub timer: Time,
    /// CE marks set so far.
    pub marks: u64,
    /// Packets trimmed so far.
    pub trims: u64,
    /// What the ports of the node share.
    pub state: Option<Box<dyn Any + Send>>,
    links: [LinkInfo; 1],
    rng: Stream,
    sent: SentMark,
}

impl StandalonePort {
    /// A port of `link`.
    pub fn new(link: LinkInfo) -> StandalonePort {
        StandalonePort {
            now: Time::ZERO,
            pool: Pool::new(),
            transmitter: Transmitter::Idle { since: Time::ZERO },
            booked: Backlog::default(),
            actions: VecDeque::new(),
            timer: Time::MAX,
            marks: 0,
            trims: 0,
            state: None,
            links: [link],
            rng: stream(1, Purpose::Ports, 0),
            sent: SentMark::Never,
        }
    }

    /// The same where packets can be marked that have been sent.
    #[must_use]
    pub fn with_sent_marks(mut self) -> StandalonePort {
        self.sent = SentMark::No;
        self
    }

    /// The packet that was marked after it had been sent, since this was asked last.
    pub fn take_sent_mark(&mut self) -> Option<PacketId> {
        let id = self.sent.packet()?;
        self.sent = SentMark::No;
        Some(id)
    }

    /// The same with a random stream of its own: that of node `index` in a run of this seed.
    #[must_use]
    pub fn with_stream(mut self, seed: u64, index: u64) -> StandalonePort {
        self.rng = stream(seed, Purpose::Ports, index);
        self
    }

    /// The link's rate has changed; tell the port by [`Port::on_link`](super::Port::on_link).
    pub fn set_rate(&mut self, rate: Rate) {
        self.links[0].rate = rate;
    }

    /// Has a timetable decide on a packet that arrives, as a node does.
    pub fn admit(&mut self, rule: &mut dyn Timetable, pkt: &Pkt) -> Result<(), Drop> {
        let (LinkInfo { rate, mtu, .. }, now, backlog) = (self.links[0], self.now, self.booked);
        let (idle_since, rng) = (self.transmitter.idle_since(), &mut self.rng);
        let mut view = View { now, backlog, lane: backlog, rate, mtu, idle_since, sojourn: Time::ZERO, rng };
        match rule.admit(&mut self.pool[pkt], &mut view) {
            Verdict::Pass => Ok(()),
            Verdict::Signal => rule.signal(pkt, &mut self.ctx()),
            Verdict::Drop(why) => Err(why),
        }
    }

    /// The context of a call to the port.
    pub fn ctx(&mut self) -> PortCtx<'_> {
        PortCtx {
            now: self.now,
            node: NodeId(0),
            me: PortId(0),
            links: &self.links,
            pool: &mut self.pool,
            rng: &mut self.rng,
            transmitter: self.transmitter,
            reverse: &[],
            booked: self.booked,
            lossless: false,
            state: self.state.as_deref_mut(),
            actions: &mut self.actions,
            timer: &mut self.timer,
            marks: &mut self.marks,
            trims: &mut self.trims,
            sent: &mut self.sent,
        }
    }
}
