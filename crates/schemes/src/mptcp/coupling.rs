//! How the windows of one connection's subflows grow: LIA (RFC 6356), OLIA (Khalili et al. 2012),
//! or each for itself.
//!
//! Slow start, and the halving at a loss, are NewReno's in all of them; only the increase in
//! congestion avoidance is coupled. A controller sees all paths of its connection before each call.

use midpath_core::roles::FlowSpec;

use crate::transport::cc::{
    Ack, AssistedConfig, AssistedTraits, Congestion, CongestionController, NetworkAssisted, Window,
};
use crate::transport::growth::Growth;
use crate::transport::params::HyStartRule;
use crate::transport::{Tcp, TcpParams};

use super::MAX_SUBFLOWS;
use super::params::Coupling;

/// The TCP of the subflows.
pub type Subflows = Tcp<CoupledConfig>;

/// A subflow as the others see it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Path {
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Smoothed round-trip time in seconds.
    pub rtt: f64,
    /// l_r of OLIA: bytes acknowledged between the last two losses or since the last one, whichever
    /// is more.
    pub between: f64,
}

/// The established subflows of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Paths {
    all: [Path; MAX_SUBFLOWS],
    len: usize,
}

impl Paths {
    /// Adds a path; returns its place. A path without a window or a round trip isn't one yet.
    pub fn add(&mut self, path: Path) -> Option<usize> {
        let counts = self.len < MAX_SUBFLOWS && path.cwnd > 0.0 && path.rtt > 0.0;
        if !counts {
            return None;
        }
        self.all[self.len] = path;
        self.len += 1;
        Some(self.len - 1)
    }

    fn iter(&self) -> impl Iterator<Item = &Path> {
        self.all[..self.len].iter()
    }

    fn most(&self, of: impl Fn(&Path) -> f64) -> f64 {
        self.iter().map(of).fold(0.0, f64::max)
    }

    /// (Σ w_p / rtt_p)²
    fn rate_squared(&self) -> f64 {
        self.iter().map(|p| p.cwnd / p.rtt).sum::<f64>().powi(2)
    }

    /// alpha of RFC 6356, equation 2: cwnd_total · max(cwnd_i/rtt_i²) / (Σ cwnd_i/rtt_i)².
    pub fn lia_alpha(&self) -> f64 {
        let total: f64 = self.iter().map(|p| p.cwnd).sum();
        total * self.most(|p| p.cwnd / (p.rtt * p.rtt)) / self.rate_squared()
    }

    /// What LIA adds to the window of path `me` per byte acknowledged and byte of segment, in
    /// 1/bytes: RFC 6356, equation 1.
    pub fn lia(&self, me: usize) -> f64 {
        let total: f64 = self.iter().map(|p| p.cwnd).sum();
        // "The min ensures that no subflow is more aggressive than a TCP flow."
        let alpha = self.lia_alpha();
        debug_assert!(alpha.is_finite() && alpha > 0.0, "{self:?}");
        (alpha / total).min(1.0 / self.all[me].cwnd)
    }

    /// alpha_r of OLIA for path `me`: windows move from the largest to the best ones that are
    /// small.
    pub fn olia_alpha(&self, me: usize) -> f64 {
        // Best: those whose loss rate and round trip would give a TCP the most, √l_p / rtt_p.
        let quality = |p: &Path| p.between / (p.rtt * p.rtt);
        let (best, largest) = (self.most(quality), self.most(|p| p.cwnd));
        let (is_best, is_largest) = (|p: &Path| quality(p) >= best, |p: &Path| p.cwnd >= largest);
        let collected = self.iter().filter(|p| is_best(p) && !is_largest(p)).count();
        if collected == 0 {
            return 0.0;
        }
        let (path, paths) = (&self.all[me], self.len as f64);
        match (is_best(path), is_largest(path)) {
            (true, false) => 1.0 / (paths * collected as f64),
            (_, true) => -1.0 / (paths * self.iter().filter(|p| is_largest(p)).count() as f64),
            (false, false) => 0.0,
        }
    }

    /// What OLIA adds to the window of path `me` per byte acknowledged and byte of segment, in
    /// 1/bytes: (w_r/rtt_r²) / (Σ w_p/rtt_p)² + alpha_r/w_r.
    pub fn olia(&self, me: usize) -> f64 {
        let path = &self.all[me];
        path.cwnd / (path.rtt * path.rtt) / self.rate_squared() + self.olia_alpha(me) / path.cwnd
    }
}

/// Builds [`Coupled`].
#[derive(Debug, Clone, Copy)]
pub struct CoupledConfig(pub Coupling);

impl AssistedConfig for CoupledConfig {
    type Controller = Coupled;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> Coupled {
        Coupled {
            coupling: self.0,
            growth: Growth::new(tcp, mss, HyStartRule::Off),
            paths: Paths::default(),
            me: None,
            since_loss: 0,
            before_loss: 0,
            owed: 0.0,
        }
    }
    fn traits(&self) -> AssistedTraits {
        AssistedTraits { header: super::header::SIZE, ..AssistedTraits::default() }
    }
}

/// The controller of one subflow.
#[derive(Debug, Clone)]
pub struct Coupled {
    coupling: Coupling,
    growth: Growth,
    paths: Paths,
    me: Option<usize>,
    /// l_1r of OLIA: bytes acknowledged since the last loss.
    since_loss: u64,
    /// l_2r of OLIA: bytes acknowledged between the last two losses.
    before_loss: u64,
    /// Growth and shrinkage that do not make a step yet, in bytes: OLIA's increase may be negative.
    owed: f64,
}

impl Coupled {
    /// Shows it the paths, and which one is its own; none when it is alone.
    pub fn see(&mut self, paths: &Paths, me: Option<usize>) {
        (self.paths, self.me) = (*paths, me);
    }

    /// l_r of OLIA.
    pub fn between_losses(&self) -> u64 {
        self.since_loss.max(self.before_loss)
    }

    fn avoid(&mut self, window: &mut Window, acked: u64) {
        let Some(me) = self.me.filter(|_| self.coupling != Coupling::Uncoupled) else {
            return self.growth.avoid(window, acked);
        };
        self.paths.all[me].cwnd = window.cwnd as f64;
        let per_byte = match self.coupling {
            Coupling::Olia => self.paths.olia(me),
            _ => self.paths.lia(me),
        };
        self.owed += per_byte * acked as f64 * window.mss as f64;
        self.take_steps(window);
    }

    /// Turns what is owed into steps: bytes up, whole segments down, and never below one.
    fn take_steps(&mut self, window: &mut Window) {
        let mss = window.mss as f64;
        if self.owed > 0.0 {
            window.grow(self.owed);
            self.owed = 0.0;
        } else if self.owed <= -mss {
            window.set(window.cwnd.saturating_sub(window.mss).max(window.mss));
            self.owed += mss;
        }
    }

    fn lost(&mut self) {
        self.growth.restart();
        (self.before_loss, self.since_loss) = (self.since_loss, 0);
        self.owed = 0.0;
    }
}

impl CongestionController for Coupled {
    fn on_delivery(&mut self, _window: &mut Window, ack: &Ack) {
        self.since_loss += ack.acked;
    }
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // RFC 6356, §3: "the slow start algorithm is unmodified".
        let left = if window.in_slow_start() { self.growth.slow_start(window, ack) } else { ack.acked };
        if left > 0 {
            self.avoid(window, left);
        }
    }
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.lost();
        // RFC 6356, §3: the decrease is TCP's. RFC 3168, §6.1.2: none for a window that a mark has
        // lowered already.
        if congestion.ecn_reduced { window.ssthresh } else { congestion.flight / 2 }
    }
    fn on_rto(&mut self, _window: &Window, congestion: &Congestion) -> u64 {
        self.lost();
        congestion.flight / 2
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.lost();
        window.cwnd / 2
    }
}

impl NetworkAssisted for Coupled {}
