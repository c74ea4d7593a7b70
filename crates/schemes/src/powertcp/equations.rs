//! Algorithm 1 of PowerTCP. Windows and queues in bytes, rates in bytes per second, times in seconds.

use crate::hpcc::header::Reading;

/// What the algorithm is told of the flow and its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// γ.
    pub gamma: f64,
    /// β.
    pub beta: f64,
    /// The window is between these: a packet, and what fills the slowest link and β beyond.
    pub least: f64,
    pub most: f64,
}

/// A flow's cwnd and Γ_smooth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub window: f64,
    power: f64,
}

/// The current is taken as so much of the link at least: the authors' artefact, not algorithm 1. Else the
/// first reading, which is as old as the handshake, has power near nothing, and the window its most at once;
/// four flows that begin together then swing for seconds.
const LEAST_CURRENT: f64 = 0.5;

impl State {
    /// A window to begin with; power 1 is that of a full link without a queue.
    pub fn new(window: f64) -> State {
        State { window, power: 1.0 }
    }

    /// Γ_smooth.
    pub fn power(&self) -> f64 {
        self.power
    }

    /// NORMPOWER: Γ, smoothed over τ, from two readings of each port on the path.
    pub fn measure(&mut self, before: &[Reading], now: &[Reading], base_rtt: f64) {
        let (mut most, mut elapsed) = (0.0, 0.0);
        for (a, b) in before.iter().zip(now) {
            let dt = f64::from(b.time.wrapping_sub(a.time)) / 1e9;
            if dt > 0.0 {
                let rate = f64::from(b.rate) / 8.0;
                // q̇ and µ, which are λ together.
                let gradient = (f64::from(b.queue) - f64::from(a.queue)) / dt;
                let sending = f64::from(b.sent.wrapping_sub(a.sent)) / dt;
                let current = (gradient + sending).max(LEAST_CURRENT * rate);
                let voltage = f64::from(b.queue) + rate * base_rtt;
                // Γ' over e = b²τ.
                let power = current * voltage / (rate * rate * base_rtt);
                if power > most {
                    (most, elapsed) = (power, dt);
                }
            }
        }
        let weight = elapsed.min(base_rtt) / base_rtt;
        self.power += weight * (most - self.power);
        debug_assert!(self.power.is_finite() && self.power >= 0.0, "a power of {}", self.power);
    }

    /// UPDATEWINDOW. `old` is cwnd_old, the window when the packet was sent that is acknowledged.
    pub fn adapt(&mut self, path: &Path, old: f64) {
        let follows = old / self.power + path.beta;
        let window = path.gamma * follows + (1.0 - path.gamma) * self.window;
        self.window = window.min(path.most).max(path.least);
    }
}
