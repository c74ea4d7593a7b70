//! A port's processing of an arriving packet: `PfifoBoltQueueDisc::DoEnqueue` of the artefact, without options that
//! its scenarios disable (trimming, fewer notices).

use midpath_core::units::{Rate, Time};

use super::header::BoltFlags;

/// Most packets that PRU promises: the artefact's `MaxNumPruTokens`.
const MOST_PROMISED: u16 = 256;

/// The link that the port sends to, its threshold, and what the port does beside SRC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub rate: Rate,
    pub mtu: u32,
    /// CCThreshold in bytes.
    pub threshold: u64,
    /// Supply matching (EnableAbs).
    pub sm: bool,
    /// Proactive ramp-up (EnablePru).
    pub pru: bool,
}

/// What a port keeps: nothing per flow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Switch {
    /// SM: bytes that the link could have sent beyond what came; negative if more came.
    pub supply: f64,
    /// When that was last counted.
    counted: Time,
    /// PRU: packets whose ACKs will bring none after them.
    pub promised: u16,
}

impl Switch {
    /// SM, with each packet: what the link could have sent since the last one, less this one. No more than a
    /// packet is saved up (`MaxInstAvailLoad`, an MTU in eight of nine scenarios, two in the other).
    pub fn count(&mut self, size: u32, now: Time, link: &Link) {
        // Whole bytes come out whole: bits in a second, picoseconds in it.
        let able = link.rate.as_f64() * now.saturating_sub(self.counted).0 as f64 / 8e12;
        self.supply = (self.supply + able - f64::from(size)).min(f64::from(link.mtu));
        self.counted = now;
    }

    /// What becomes of what is said of a packet with data where `waiting` bytes wait, and whether its sender is
    /// to be told at once. `first` ports are those of the packet's own host.
    pub fn decide(&mut self, marks: BoltFlags, waiting: u64, first: bool, link: &Link) -> (BoltFlags, bool) {
        // SRC: by the first congested port alone.
        if waiting >= link.threshold {
            return (marks.without(BoltFlags::INC).with(BoltFlags::DEC), !marks.has(BoltFlags::DEC));
        }
        let mtu = f64::from(link.mtu);
        if link.pru && marks.has(BoltFlags::LAST) {
            // PRU: a flow that has less than a window in all never had the rate for longer than that.
            if !marks.has(BoltFlags::FIRST) {
                self.promised = (self.promised + 1).min(MOST_PROMISED);
            }
        } else if link.pru && marks.has(BoltFlags::INC) && self.promised > 0 {
            self.promised -= 1;
        } else if link.sm && marks.has(BoltFlags::INC) && self.supply >= mtu {
            self.supply -= mtu;
        } else if link.sm || !first {
            // Without SM a host's port would take all that PRU could raise further on.
            return (marks.without(BoltFlags::INC), false);
        }
        (marks, false)
    }
}
