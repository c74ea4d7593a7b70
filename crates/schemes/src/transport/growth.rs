//! How TCP's windows grow.

use midpath_core::units::Time;

use super::cc::{Ack, Window};
use super::hystart::HyStart;
use super::hystart::linux::LinuxHyStart;
use super::params::{GrowthRule, HyStartRule, TcpParams};

/// Slow start and Reno's congestion avoidance: what NewReno and DCTCP do, and how CUBIC and Prague start. `S`: what a
/// controller has beside them from the first loss on.
#[derive(Debug, Clone)]
pub struct Growth<S = ()> {
    /// What an ACK adds at most in slow start, in bytes; [`PER_ACK`]: growth is by ACKs. With [`UNSEEN`].
    limit: u32,
    /// Bytes towards the next segment. No window that limits its sender has more than 32 bits say.
    counted: u32,
    more: Option<Box<More<S>>>,
}

/// What many flows never have.
#[derive(Debug, Clone)]
struct More<S> {
    exit: Option<SlowStartExit>,
    own: S,
}

const PER_ACK: u32 = 0;
/// HyStart of RFC 9406 watches slow start, and has not seen an ACK of it: its state is made then.
const UNSEEN: u32 = 1 << 31;

/// What ends slow start before a loss does.
#[derive(Debug, Clone)]
enum SlowStartExit {
    Rfc9406(HyStart),
    Linux(Box<LinuxHyStart>),
}

impl<S: Default> Growth<S> {
    /// Growth by the parameters' rule; with the HyStart that they name, or else the controller.
    pub fn new(tcp: &TcpParams, mss: u32, hystart: HyStartRule) -> Growth<S> {
        let limit = match tcp.growth {
            GrowthRule::PerAck => PER_ACK,
            // No ACK is of more than 31 bits say.
            GrowthRule::Abc => tcp.abc_limit.saturating_mul(mss).min(UNSEEN - 1),
        };
        let rule = tcp.hystart.unwrap_or(hystart);
        let unseen = if matches!(rule, HyStartRule::Rfc9406) { UNSEEN } else { 0 };
        let mut growth = Growth { limit: limit | unseen, counted: 0, more: None };
        if matches!(rule, HyStartRule::Linux) {
            growth.more_mut().exit = Some(SlowStartExit::Linux(Box::new(LinuxHyStart::new(tcp))));
        }
        growth
    }

    fn more_mut(&mut self) -> &mut More<S> {
        self.more.get_or_insert_with(|| Box::new(More { exit: None, own: S::default() }))
    }

    fn exit_mut(&mut self) -> Option<&mut SlowStartExit> {
        self.more.as_mut()?.exit.as_mut()
    }

    /// The controller's own, if it may have been written to.
    #[inline]
    pub fn own(&self) -> Option<&S> {
        Some(&self.more.as_ref()?.own)
    }

    /// The same for a change that leaves its default as it is.
    #[inline]
    pub fn known_own(&mut self) -> Option<&mut S> {
        Some(&mut self.more.as_mut()?.own)
    }

    /// The same to write to.
    #[inline]
    pub fn own_mut(&mut self) -> &mut S {
        &mut self.more_mut().own
    }

    /// Whether slow start ends by Linux's rules.
    pub fn is_linux(&self) -> bool {
        matches!(self.more.as_ref().and_then(|more| more.exit.as_ref()), Some(SlowStartExit::Linux(_)))
    }

    /// Grows by slow start; returns the bytes that are left for congestion avoidance when the
    /// threshold was reached.
    #[inline(never)]
    pub fn slow_start(&mut self, window: &mut Window, ack: &Ack) -> u64 {
        let limit = match self.limit & !UNSEEN {
            // RFC 5681, equation 2: cwnd += min(N, SMSS).
            PER_ACK => window.mss,
            // RFC 3465, §2.3: L = 1 in slow start after a timeout.
            _ if ack.after_rto => window.mss,
            // What a late ACK would have counted is in the one that has overtaken it. Linux has no limit at all.
            _ if ack.reordered => u64::MAX,
            limit => limit.into(),
        };
        // Up to the threshold and no further, as Linux; RFC 5681 leaves it open.
        let wanted = self.watch(ack.acked.min(limit), window, ack);
        let room = window.ssthresh.saturating_sub(window.cwnd);
        let grow = wanted.min(room);
        window.set(window.cwnd + grow);
        if grow == room && !self.is_per_ack() { ack.acked - grow } else { 0 }
    }

    /// What HyStart leaves of the growth that an ACK would give. It lowers the threshold when slow start is to end.
    #[inline]
    fn watch(&mut self, growth: u64, window: &mut Window, ack: &Ack) -> u64 {
        if self.limit >= UNSEEN {
            self.limit &= !UNSEEN;
            self.more_mut().exit = Some(SlowStartExit::Rfc9406(HyStart::default()));
        }
        match self.exit_mut() {
            None => growth,
            Some(SlowStartExit::Rfc9406(hystart)) => {
                let growth = hystart.limit_growth(growth, window, ack);
                if hystart.is_over() {
                    self.end_first_slow_start();
                }
                growth
            }
            Some(SlowStartExit::Linux(hystart)) => {
                if hystart.is_over(window, ack) {
                    window.ssthresh = window.cwnd;
                }
                growth
            }
        }
    }

    /// RFC 9406, §4.3: HyStart++ is for the first slow start only.
    fn end_first_slow_start(&mut self) {
        let Some(more) = &mut self.more else { return };
        more.exit = None;
        if size_of::<S>() == 0 {
            self.more = None;
        }
    }

    /// Grows by one segment per window of `acked` bytes.
    #[inline]
    pub fn avoid(&mut self, window: &mut Window, acked: u64) {
        if self.is_per_ack() {
            // RFC 5681, equation 3: cwnd += SMSS*SMSS/cwnd per ACK.
            return window.grow((window.mss * window.mss) as f64 / window.cwnd as f64);
        }
        // RFC 3465, §2.1: one SMSS whenever a whole window has been acknowledged.
        let counted = u64::from(self.counted) + acked;
        let whole = counted >= window.cwnd;
        let rest = if whole { counted - window.cwnd } else { counted };
        debug_assert!(u32::try_from(rest).is_ok(), "{rest} bytes of a window");
        self.counted = rest as u32;
        if whole {
            window.grow(window.mss as f64);
        }
    }

    /// Slow start below the threshold, congestion avoidance above.
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        debug_assert!(window.cwnd >= window.mss, "a window of less than a segment: {window:?}");
        if !window.in_slow_start() {
            return self.avoid(window, ack.acked);
        }
        // A copy: what it needs of an ACK is written into memory only here.
        let left = self.slow_start(window, &{ *ack });
        if left > 0 {
            self.avoid(window, left);
        }
    }

    #[inline]
    fn is_per_ack(&self) -> bool {
        self.limit & !UNSEEN == PER_ACK
    }

    /// The window has fallen: what was counted towards the next segment is forgotten, the first
    /// slow start is over.
    pub fn restart(&mut self) {
        self.counted = 0;
        self.limit &= !UNSEEN;
        match self.exit_mut() {
            None => {}
            Some(SlowStartExit::Rfc9406(_)) => self.end_first_slow_start(),
            Some(SlowStartExit::Linux(hystart)) => hystart.end(),
        }
    }

    /// A timeout begins slow start again. RFC 9406 is for the first one only, Linux looks at each.
    pub fn restart_slowly(&mut self, now: Time) {
        self.restart();
        if let Some(SlowStartExit::Linux(hystart)) = self.exit_mut() {
            hystart.begin_again(now);
        }
    }
}
