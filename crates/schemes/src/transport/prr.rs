//! Proportional rate reduction: RFC 9937 (which replaces RFC 6937).

/// How much fast recovery may send, in proportion to what the network delivers.
#[derive(Debug, Clone, Copy)]
pub struct Prr {
    /// prr_delivered: bytes delivered since recovery began.
    delivered: u64,
    /// prr_out: bytes sent since recovery began.
    out: u64,
    /// RecoverFS: bytes in flight when recovery began.
    flight: u64,
}

/// What an ACK in recovery has brought.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// DeliveredData.
    pub delivered: u64,
    /// RFC 6675's pipe.
    pub pipe: u64,
    /// The window that recovery ends with.
    pub ssthresh: u64,
    /// A full segment.
    pub mss: u64,
    /// SafeACK: it moved SND.UNA and showed no further loss.
    pub safe: bool,
}

impl Prr {
    /// Before the first recovery.
    pub const NONE: Prr = Prr { delivered: 0, out: 0, flight: 0 };

    /// Recovery begins with `flight` bytes outstanding.
    pub fn begin(flight: u64) -> Prr {
        Prr { delivered: 0, out: 0, flight: flight.max(1) }
    }

    /// SndCnt: how many bytes may be sent on this ACK (RFC 9937, §6).
    pub fn allow(&mut self, p: &Progress) -> u64 {
        self.delivered += p.delivered;
        if p.pipe > p.ssthresh {
            // Proportional rate reduction: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out.
            let due = (u128::from(self.delivered) * u128::from(p.ssthresh)).div_ceil(u128::from(self.flight));
            return u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.out);
        }
        // PRR-CRB (conservative), or PRR-SSRB (slow start) when the ACK is safe.
        let conservative = self.delivered.saturating_sub(self.out).max(p.delivered);
        let limit = conservative + if p.safe { p.mss } else { 0 };
        (p.ssthresh - p.pipe).min(limit)
    }

    /// Counts what was sent.
    pub fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937, §4, first example: 20 segments in flight, one lost, halved: 9 or 10 new ones leave
    /// on 19 ACKs, evenly.
    #[test]
    fn one_loss_sends_one_segment_for_every_two_acks() {
        let mut prr = Prr::begin(20);
        let (mut pipe, mut sent) = (19u64, Vec::new());
        for ack in 0..18 {
            pipe -= 1;
            let allowed = prr.allow(&Progress { delivered: 1, pipe, ssthresh: 10, mss: 1, safe: false });
            let allowed = if ack == 0 { allowed.max(1) } else { allowed };
            prr.sent(allowed);
            pipe += allowed;
            sent.push(allowed);
        }
        assert!(sent.windows(2).all(|w| w[0] + w[1] <= 2), "{sent:?}");
        assert_eq!(pipe, 10);
    }

    /// In bytes: half of what is delivered may leave, less what has.
    #[test]
    fn what_is_delivered_is_sent_in_proportion() {
        let mut prr = Prr::begin(20_000);
        let progress = |delivered| Progress { delivered, pipe: 15_000, ssthresh: 10_000, mss: 1000, safe: true };
        assert_eq!(prr.allow(&progress(4_000)), 2_000);
        prr.sent(1_500);
        assert_eq!(prr.allow(&progress(1_001)), 1_001, "2,500.5 rounded up, less 1,500");
        prr.sent(2_000);
        assert_eq!(prr.allow(&progress(1)), 0, "more has left than is due");
    }

    #[test]
    fn after_heavy_loss_it_grows_to_ssthresh_only_on_safe_acks() {
        let progress = |safe| Progress { delivered: 1, pipe: 4, ssthresh: 10, mss: 1, safe };
        assert_eq!(Prr::begin(20).allow(&progress(false)), 1);
        assert_eq!(Prr::begin(20).allow(&progress(true)), 2);
    }
}
