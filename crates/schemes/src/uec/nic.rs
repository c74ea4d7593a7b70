//! A host's line: its flows take turns at the link's rate, so that nothing of theirs waits in the host's queue (HTSIM 8a33f33,
//! `UecNIC`, of one port).

use std::collections::VecDeque;

use midpath_core::packet::FlowKey;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::{Bytes, Rate, Time};

/// Shared by a host's flows.
#[derive(Debug, Default)]
pub struct Nic {
    /// When what was sent last will have left.
    free_at: Time,
    /// Flows that have something to send, the next one first (`_active_srcs`).
    line: VecDeque<FlowKey>,
}

/// What a flow that wants to send is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Now.
    Now,
    /// It is next, then.
    At(Time),
    /// It will be called.
    Later,
}

impl Nic {
    /// `requestSending`: whether a flow may send now. From now on it is in line, and says so the next time.
    pub fn ask(&mut self, flow: FlowKey, in_line: &mut bool, now: Time) -> Turn {
        if !std::mem::replace(in_line, true) {
            self.line.push_back(flow);
        }
        match self.line.front() == Some(&flow) {
            true if self.free_at <= now => Turn::Now,
            true => Turn::At(self.free_at),
            false => Turn::Later,
        }
    }

    /// A packet of so many bytes begins.
    pub fn sends(&mut self, bytes: u32, rate: Rate, now: Time) {
        self.free_at = self.free_at.max(now).saturating_add(rate.time_for(Bytes(bytes.into())));
    }

    /// A flow has sent, or has nothing to send (`cantSend`): who is first now is called.
    pub fn leave(flow: FlowKey, in_line: &mut bool, ctx: &mut EndpointCtx<'_>) {
        if !std::mem::take(in_line) {
            return;
        }
        let line = &mut ctx.shared.get::<Nic>().line;
        if line.front() != Some(&flow) {
            return line.retain(|other| *other != flow);
        }
        line.pop_front();
        if let Some(next) = line.front().copied() {
            ctx.poke(next);
        }
    }

    /// Flows in line (`activeSources`).
    pub fn waiting(&self) -> usize {
        self.line.len()
    }
}
