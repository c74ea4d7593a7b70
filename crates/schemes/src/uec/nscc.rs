//! NSCC: the sender's window, from queue delay and marks (HTSIM 8a33f33, `uec.cpp`; the functions of `UecSrc` are named).
//!
//! Times are picoseconds and sizes bytes, headers included; what HTSIM rounds is rounded alike, so that windows are equal
//! (`tests/vectors/uec`). One thing differs: its sum of increases has 32 bits and wraps above 400 Gbps.

use midpath_core::units::{Rate, Time};

/// What all flows of a fabric share (`initNsccParams`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constants {
    /// The longest round trip without queues.
    pub network_rtt: u64,
    /// `_target_Qdelay`: of queueing.
    target: u64,
    /// `_qa_gate`: quick adapt acts where less than this power of a half of the largest window has arrived.
    qa_gate: u32,
    /// Of the proportional increase: for each byte and each picosecond below the target.
    alpha: f64,
    /// Of the fair increase: for each byte.
    fi: f64,
    /// Of the fast increase: for each byte.
    fi_scale: f64,
    /// What a round trip adds whatever is heard.
    eta: f64,
    mtu: i64,
    bytes_per_s: u64,
}

/// `initNsccParams`: `_alpha`, `_fi`, `_fi_scale` and `_eta` of the reference network, in segments but for `_fi_scale`.
const ALPHA: f64 = 4.0;
const FI: f64 = 5.0;
const FI_SCALE: f64 = 0.25;
const ETA: f64 = 0.15;

/// `_reference_network_linkspeed` and `_reference_network_rtt`: 100 Gbps, 12 us.
const REFERENCE_BDP: f64 = 150_000.0;
const REFERENCE_RTT: f64 = 12e6;
/// `_gamma`; the largest fall at once.
const GAMMA: f64 = 0.8;
const MOST_FALL: f64 = 0.5;
/// `_delay_alpha`.
const DELAY_ALPHA: f64 = 0.0125;
/// `fast_increase`: a delay below this is none, 1 us.
const NO_DELAY: u64 = 1_000_000;
/// `_qa_threshold`: target delays.
const QA_THRESHOLD: u64 = 4;

fn bdp(rtt: u64, bytes_per_s: u64) -> i64 {
    (rtt as f64 / 1e12 * bytes_per_s as f64) as i64
}

impl Constants {
    /// Of hosts with links of `rate` and packets of `mtu` bytes, `mss` of them payload.
    pub fn new(network_rtt: Time, target: Time, qa_gate: u32, rate: Rate, mtu: u32, mss: u32) -> Constants {
        let bytes_per_s = rate.0 / 8;
        let a = bdp(network_rtt.0, bytes_per_s) as f64 / REFERENCE_BDP;
        let b = target.0 as f64 / REFERENCE_RTT;
        let mss = f64::from(mss);
        Constants {
            network_rtt: network_rtt.0,
            target: target.0,
            qa_gate,
            alpha: ALPHA * mss * a * b / target.0 as f64,
            fi: FI * mss * a,
            fi_scale: FI_SCALE * a,
            eta: ETA * mss * a,
            mtu: mtu.into(),
            bytes_per_s,
        }
    }
}

/// What an ACK or a NACK says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    pub now: u64,
    /// Bytes that it newly says are received; a NACK's packet.
    pub bytes: i64,
    /// Bytes in flight.
    pub in_flight: i64,
}

/// The window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nscc {
    pub cwnd: i64,
    maxwnd: i64,
    base_rtt: u64,
    avg_delay: u64,
    achieved: i64,
    received: i64,
    /// `_inc_bytes`: sum of increases times the window.
    increases: u64,
    fi_count: i64,
    increasing: bool,
    trigger_qa: bool,
    qa_end: u64,
    to_ignore: i64,
    ignored: i64,
    last_adjust: u64,
    last_decrease: u64,
}

impl Nscc {
    /// `initNscc`: the first window is the largest.
    pub fn new(constants: &Constants) -> Nscc {
        let base_rtt = constants.network_rtt;
        let maxwnd = (1.5 * bdp(base_rtt, constants.bytes_per_s) as f64) as i64;
        Nscc {
            cwnd: maxwnd.max(constants.mtu),
            maxwnd,
            base_rtt,
            avg_delay: 0,
            achieved: 0,
            received: 0,
            increases: 0,
            fi_count: 0,
            increasing: false,
            trigger_qa: false,
            qa_end: 0,
            to_ignore: 0,
            ignored: 0,
            last_adjust: 0,
            last_decrease: 0,
        }
    }

    /// `processAck`, first: so many bytes more are received.
    pub fn count(&mut self, newly: i64) {
        self.achieved += newly;
        self.received += newly;
        self.ignored += newly;
    }

    /// `processAck`, then: the queue delay that a round trip shows; without one the average. A packet without data (`rts`)
    /// does not show the shortest.
    pub fn delay(&mut self, rtt: Option<u64>, rts: bool, marked: bool, constants: &Constants) -> u64 {
        let Some(rtt) = rtt.filter(|rtt| !rts || *rtt >= self.base_rtt) else { return self.avg_delay };
        self.update_base_rtt(rtt, constants);
        self.update_delay(rtt - self.base_rtt, marked, constants);
        rtt - self.base_rtt
    }

    /// `update_base_rtt`.
    pub fn update_base_rtt(&mut self, rtt: u64, constants: &Constants) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            let bdp = (rtt as f64 / 1e6 * (constants.bytes_per_s * 8) as f64 / 8e6) as i64;
            self.maxwnd = (1.5 * bdp as f64) as i64;
        }
    }

    /// `update_delay`: a delay above target without a mark is not the path's, and counts as a quarter of the round trip.
    fn update_delay(&mut self, delay: u64, marked: bool, constants: &Constants) {
        let sample = if !marked && delay > constants.target {
            DELAY_ALPHA * self.base_rtt as f64 * 0.25
        } else {
            DELAY_ALPHA * delay as f64
        };
        self.avg_delay = (sample + (1.0 - DELAY_ALPHA) * self.avg_delay as f64) as u64;
    }

    /// `updateCwndOnAck_NSCC`: four cases, by mark and delay.
    pub fn on_ack(&mut self, marked: bool, delay: u64, answer: &Answer, constants: &Constants) {
        if self.quick_adapt(false, marked, delay, answer, constants) {
            return;
        }
        match (marked, delay >= constants.target) {
            (false, true) => self.increase(constants.fi * answer.bytes as f64),
            (false, false) => self.proportional_increase(delay, answer.bytes, constants),
            (true, true) => self.multiplicative_decrease(answer.now, constants),
            // Another path will do.
            (true, false) => {}
        }
        self.bound(constants);
        if self.received > 8 * constants.mtu || answer.now - self.last_adjust > constants.network_rtt {
            self.fulfill_adjustment(answer.now, constants);
        }
        self.bound(constants);
    }

    /// `updateCwndOnNack_NSCC`. The round trip of a trimmed packet is taken for a whole one of queueing. With credits a
    /// packet that was trimmed at the last hop is the receiver's to see to.
    pub fn on_nack(&mut self, last_hop: bool, answer: &Answer, constants: &Constants) {
        self.ignored += answer.bytes;
        self.update_delay(constants.network_rtt, true, constants);
        self.trigger_qa = true;
        if !self.quick_adapt(true, true, 0, answer, constants) && !last_hop {
            self.cwnd -= answer.bytes;
            self.bound(constants);
        }
    }

    /// `mark_packet_for_retransmission`: a packet has timed out.
    pub fn on_timeout(&mut self, bytes: i64, constants: &Constants) {
        self.cwnd = (self.cwnd - bytes).max(constants.mtu);
    }

    /// `set_cwnd_bounds`. Ours: a packet at least, where the path holds less.
    fn bound(&mut self, constants: &Constants) {
        self.cwnd = self.cwnd.min(self.maxwnd).max(constants.mtu);
    }

    /// `quick_adapt`: once a round trip, after a loss or far too long a delay, the window is what has arrived in one. True:
    /// what is heard says nothing new.
    fn quick_adapt(&mut self, lost: bool, marked: bool, delay: u64, answer: &Answer, constants: &Constants) -> bool {
        let mut done = false;
        if self.ignored < self.to_ignore && marked {
            done = true;
        } else if answer.now > self.qa_end {
            let late = self.trigger_qa || lost || delay > QA_THRESHOLD * constants.target;
            if self.qa_end != 0 && late && self.achieved < self.maxwnd >> constants.qa_gate {
                self.cwnd = self.achieved.max(constants.mtu);
                (self.to_ignore, self.ignored) = (answer.in_flight, 0);
                self.trigger_qa = false;
                done = true;
            }
            self.achieved = 0;
            self.qa_end = answer.now + self.base_rtt + constants.target;
        }
        if done {
            (self.increases, self.received) = (0, 0);
        }
        done
    }

    /// `fair_increase`, `proportional_increase`: by this over the window, when it is next adjusted.
    fn increase(&mut self, by: f64) {
        self.increases = (self.increases as f64 + by) as u64;
    }

    /// `proportional_increase`.
    fn proportional_increase(&mut self, delay: u64, newly: i64, constants: &Constants) {
        self.fast_increase(delay, newly, constants);
        if !self.increasing {
            self.increase(constants.alpha * newly as f64 * (constants.target - delay) as f64);
        }
    }

    /// `fast_increase`: a window without delay is followed by another one that grows at once.
    fn fast_increase(&mut self, delay: u64, newly: i64, constants: &Constants) {
        if delay < NO_DELAY {
            self.fi_count += newly;
            if self.fi_count > self.cwnd || self.increasing {
                self.cwnd = (self.cwnd as f64 + newly as f64 * constants.fi_scale) as i64;
                self.increasing = true;
                return;
            }
        } else {
            self.fi_count = 0;
        }
        self.increasing = false;
    }

    /// `multiplicative_decrease`: once a round trip.
    fn multiplicative_decrease(&mut self, now: u64, constants: &Constants) {
        (self.increasing, self.fi_count) = (false, 0);
        let avg = self.avg_delay;
        if avg > constants.target && now - self.last_decrease > self.base_rtt {
            let by = (1.0 - GAMMA * (avg - constants.target) as f64 / avg as f64).max(MOST_FALL);
            self.cwnd = ((self.cwnd as f64 * by) as i64).max(constants.mtu);
            self.last_decrease = now;
        }
    }

    /// `fulfill_adjustment`.
    fn fulfill_adjustment(&mut self, now: u64, constants: &Constants) {
        self.cwnd += self.increases as i64 / self.cwnd;
        if now - self.last_adjust >= constants.network_rtt {
            self.cwnd = (self.cwnd as f64 + constants.eta) as i64;
            self.last_adjust = now;
        }
        (self.increases, self.received) = (0, 0);
    }

    /// The average queue delay, for gauges.
    pub fn average_delay(&self) -> Time {
        Time(self.avg_delay)
    }

    /// The round trip without queues, as far as it is known.
    pub fn base_rtt(&self) -> Time {
        Time(self.base_rtt)
    }
}
