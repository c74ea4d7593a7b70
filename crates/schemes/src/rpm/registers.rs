//! The switch's registers: for each flow, the number of ACKs to mark
//! (algorithm 1, R_C).
//!
//! The paper's registers are bare counters. Guarded ones, which are ours, have an owner. They ensure the assumptions
//! of algorithm 1: the flow's ACKs return through this switch, its hash is unique, and its ends interpret ECE by RFC
//! 3168.

use midpath_core::packet::{Flags, NodeId};
use midpath_core::units::Time;

use super::algorithm1;
use super::params::{Kept, RpmParams};

/// One direction of a conversation, and its register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    id: u64,
    place: usize,
}

impl Flow {
    #[cfg(any(test, feature = "internals"))]
    /// The number of its register.
    pub const fn place(self) -> usize {
        self.place
    }
}

/// What the register said of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// An ACK will be told.
    Counted,
    /// As many ACKs as it can count will be told already.
    Saturated,
    /// It is another flow's.
    Collision,
    /// Nothing says that the flow's ACKs come back through here.
    NoAcks,
    /// ECE means something else to the flow (RFC 9768).
    AccEcn,
}

impl Answer {
    /// Of a register that has counted it, or had no room.
    pub const fn of(counted: bool) -> Answer {
        if counted { Answer::Counted } else { Answer::Saturated }
    }
}

/// A register. What is beside `count` is for guarded ones.
#[derive(Debug, Clone, Copy, Default)]
struct Register {
    owner: Option<u64>,
    /// When a packet last came back for the owner; or, if it fell back, when it was last chosen.
    seen: Time,
    count: u16,
    /// The owner does AccECN.
    accecn: bool,
    /// The owner's packets don't come back through here, or not yet.
    fallen: bool,
    /// The owner has sent ECN-capable packets.
    ect: bool,
}

/// The flags that SYNs negotiate AccECN with (RFC 9768, §3.1.1).
const ACE: Flags = Flags(Flags::AE.0 | Flags::CWR.0 | Flags::ECE.0);

/// Whether a SYN asks for AccECN, or a SYN-ACK grants it: AE, CWR, ECE of 010, 011, 100 or 110 (RFC
/// 9768, table 2).
const fn accurate(flags: Flags) -> bool {
    let ace = flags.0 & ACE.0;
    if !flags.has(Flags::ACK) {
        return ace == ACE.0;
    }
    let (ae, cwr, ece) = (ace & Flags::AE.0 != 0, ace & Flags::CWR.0 != 0, ace & Flags::ECE.0 != 0);
    (cwr && !ae) || (ae && !ece)
}

/// Ours: signals that wait are at most one and one for so many bytes that wait in the queue. Two signals
/// are of two packets, which Ethernet has no larger; a power of two, for switches don't divide.
const QUEUED_PER_SIGNAL: u64 = 2048;

/// All registers of a switch.
#[derive(Debug, Clone)]
pub struct Registers {
    table: Vec<Register>,
    guarded: bool,
    max: u16,
    age: Time,
    aged: u64,
}

impl Registers {
    /// Empty ones.
    pub fn new(params: &RpmParams) -> Registers {
        Registers {
            table: vec![Register::default(); params.size as usize],
            guarded: params.registers == Kept::Guarded,
            max: params.register_max,
            age: params.age,
            aged: 0,
        }
    }

    /// What `sender` sends in the conversation of `key`, and where it counts.
    #[inline]
    pub fn flow(&self, key: u32, sender: NodeId) -> Flow {
        let (id, place) = algorithm1::position(key, sender, self.table.len());
        Flow { id, place }
    }

    #[cfg(any(test, feature = "internals"))]
    /// How many of a flow's ACKs will be told. (Under guarded registers that may be another
    /// flow's.)
    pub fn waiting(&self, flow: Flow) -> u16 {
        self.table[flow.place].count
    }

    #[cfg(test)]
    /// Signals that no ACK has collected in time, or whose queue had gone.
    pub const fn aged(&self) -> u64 {
        self.aged
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.table.fill(Register::default());
    }

    /// Called for a chosen packet of the flow.
    pub fn count(&mut self, flow: Flow, now: Time) -> Answer {
        if let Err(why) = self.may_count(flow, now) {
            return why;
        }
        let counted = algorithm1::congested(&mut self.table[flow.place].count, self.max);
        debug_assert!(self.table[flow.place].count <= self.max, "a register has so many bits");
        Answer::of(counted)
    }

    /// Whether the flow's signals may wait for its ACKs: it owns the register, and its ACKs come
    /// back.
    pub fn may_count(&mut self, flow: Flow, now: Time) -> Result<(), Answer> {
        if !self.guarded {
            return Ok(());
        }
        let owned = self.is_owned(flow, now);
        if !self.is_owners(flow) {
            if owned {
                return Err(Answer::Collision);
            }
            // Also a flow that fell back is remembered.
            self.give(flow, now).fallen = true;
            return Err(Answer::NoAcks);
        }
        let register = &mut self.table[flow.place];
        if register.accecn {
            return Err(Answer::AccEcn);
        }
        if register.fallen || !owned {
            (register.fallen, register.seen) = (true, now);
            self.drop_waiting(flow);
            return Err(Answer::NoAcks);
        }
        Ok(())
    }

    /// Called with each packet that comes back for the flow and is neither SYN nor RST: the flow's
    /// register is its own from now on. Whether ECE means to its sender what RFC 3168 says.
    pub fn came_back(&mut self, flow: Flow, flags: Flags, now: Time) -> bool {
        if !self.guarded {
            return !flags.has(Flags::AE);
        }
        let owned = self.is_owned(flow, now);
        if !self.is_owners(flow) {
            if owned {
                return false;
            }
            self.give(flow, now);
        } else if !owned {
            self.drop_waiting(flow);
        }
        let register = &mut self.table[flow.place];
        (register.seen, register.fallen) = (now, false);
        register.accecn |= flags.has(Flags::AE);
        let accecn = register.accecn;
        if accecn {
            register.count = 0;
        }
        !accecn
    }

    /// Called with an ACK of the flow that [came back](Registers::came_back), and how many bytes the last
    /// packet has left behind in the queue: its new flags, if it takes a signal along.
    pub fn take(&mut self, flow: Flow, ack: Flags, behind: u64) -> Option<Flags> {
        let mut count = self.table[flow.place].count;
        self.keep_queued(&mut count, behind);
        let marked = algorithm1::acknowledged(&mut count, ack);
        self.table[flow.place].count = count;
        marked
    }

    /// Ours, guarded registers: signals are of a queue, and go with it. While a rate falls more packets are
    /// chosen than ACKs come back; what they left would slow the sender long after the queue is gone.
    pub fn keep_queued(&mut self, count: &mut u16, behind: u64) {
        let most = if self.guarded { 1 + behind / QUEUED_PER_SIGNAL } else { u64::MAX };
        let gone = u64::from(*count).saturating_sub(most);
        *count -= gone as u16;
        self.aged += gone;
    }

    /// Called with each SYN that the flow sends, or that comes back for it: what it says of AccECN.
    /// A flow's second SYN is another connection's.
    pub fn syn(&mut self, flow: Flow, flags: Flags, back: bool, now: Time) {
        if !self.guarded {
            return;
        }
        let (answer, accecn) = (flags.has(Flags::ACK), accurate(flags));
        if self.is_owners(flow) {
            let register = &mut self.table[flow.place];
            if !answer {
                register.count = 0;
            }
            (register.accecn, register.ect) = (accecn, false);
            if back {
                (register.seen, register.fallen) = (now, false);
            }
        } else if !self.is_owned(flow, now) && (accecn || (answer && back)) {
            // A bare SYN takes no register: anybody may send as many as he likes.
            self.give(flow, now).accecn = accecn;
        }
    }

    /// Called with each ECN-capable packet of the flow: its sender may be told by ECE.
    pub fn sent_ect(&mut self, flow: Flow) {
        if self.is_owners(flow) {
            self.table[flow.place].ect = true;
        }
    }

    /// Whether the flow is known to send ECN-capable packets.
    pub fn is_ect(&self, flow: Flow) -> bool {
        !self.guarded || self.table[flow.place].ect
    }

    fn is_owners(&self, flow: Flow) -> bool {
        self.table[flow.place].owner == Some(flow.id)
    }

    /// Whether the flow's register has an owner, the flow or another.
    fn is_owned(&self, flow: Flow, now: Time) -> bool {
        let register = &self.table[flow.place];
        register.owner.is_some() && !self.is_over(register.seen, now)
    }

    /// Whether `seen` is longer ago than signals may wait.
    pub fn is_over(&self, seen: Time, now: Time) -> bool {
        self.guarded && now.saturating_sub(seen) > self.age
    }

    fn give(&mut self, flow: Flow, now: Time) -> &mut Register {
        self.drop_waiting(flow);
        let register = &mut self.table[flow.place];
        *register = Register { owner: Some(flow.id), seen: now, ..Register::default() };
        register
    }

    fn drop_waiting(&mut self, flow: Flow) {
        self.aged += u64::from(std::mem::take(&mut self.table[flow.place].count));
    }
}
