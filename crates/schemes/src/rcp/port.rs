//! A port's rate R, and its inputs. The equations themselves are in `equations.rs`.
//!
//! A timetable port has no timer. Ended intervals are processed when the next packet arrives, each with its queue
//! and traffic; only packets read R, so the result is the same.

use midpath_core::packet::Packet;
use midpath_core::queue::{Aqm, Bound, Discipline, Limit, Queue, Verdict, View};
use midpath_core::roles::{Drop, Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};

use super::equations::{self, Link};
use super::header::RcpHeader;
use super::params::RcpParams;

/// Bytes of the packet in `min_packets`: that of the authors' simulator.
const PACKET: f64 = 1000.0;

/// Shortest mean round trip, in seconds: one that hostile packets claim costs work, not sense. Our
/// choice: less than a packet's time on any link of today.
const MIN_RTT: f64 = 1e-6;

/// Most intervals that are worked off one by one; a longer silence than that has left no queue. Our
/// choice.
const MAX_STEPS: u32 = 10_000;

/// A drop-tail port that offers each flow the rate R.
///
/// Laid out by use: what each packet touches comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct RcpPort {
    /// When the interval that is running ends.
    end: Time,
    /// Bytes per second of the link, η not counted. Follows the link if that changes.
    capacity: f64,
    /// R in bytes per second.
    rate: f64,
    /// Bytes that have arrived in it, and of those that arrived just before its end and fall into
    /// the next one.
    input: f64,
    spill: f64,
    /// Round trips told in it, weighted by bytes, and the bytes that told one.
    rtt_sum: f64,
    rtt_bytes: f64,
    /// Bytes that waited after the last arrival, and when that was.
    waiting: f64,
    seen: Time,
    bound: Bound,
    /// The length T of the interval.
    length: Time,
    /// d: the moving average of round trips, in seconds; whether a packet has told one.
    rtt: f64,
    known: bool,
    /// A driver asks it for each packet. They are told R as they leave, as in the authors' simulator; and d is T at
    /// least.
    pulled: bool,
    params: RcpParams,
}

impl Network for RcpParams {
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let port = RcpPort::new(self, spec.queue.drop_tail()?, spec.link.rate).pulled(spec.pulled);
        Ok(Discipline::with_shortcuts(Queue::of(port)))
    }
}

impl RcpPort {
    /// A port of `rate` whose queue holds at most `limit`.
    pub fn new(params: &RcpParams, limit: Limit, rate: Rate) -> RcpPort {
        let mut port = RcpPort {
            params: *params,
            bound: limit.bound(rate),
            capacity: rate.bytes_per_second(),
            rate: 0.0,
            rtt: 0.0,
            known: false,
            pulled: false,
            end: Time::ZERO,
            length: Time::ZERO,
            input: 0.0,
            spill: 0.0,
            rtt_sum: 0.0,
            rtt_bytes: 0.0,
            waiting: 0.0,
            seen: Time::ZERO,
        };
        port.restart(Time::ZERO);
        port
    }

    /// The same for a driver that asks it for each packet, if `yes`.
    #[must_use]
    pub fn pulled(self, yes: bool) -> RcpPort {
        RcpPort { pulled: yes, ..self }
    }

    /// R in bits per second.
    pub fn rate(&self) -> f64 {
        8.0 * self.rate
    }

    fn restart(&mut self, now: Time) {
        self.rate = self.params.initial_rate * self.capacity;
        self.rtt = self.params.initial_rtt.as_secs_f64();
        self.known = false;
        (self.input, self.spill, self.rtt_sum, self.rtt_bytes, self.waiting) = (0.0, 0.0, 0.0, 0.0, 0.0);
        self.seen = now;
        self.begin(now);
    }

    /// Begins an interval. T = min(interval, d): IWQoS 2005, §II, and the authors' simulator.
    fn begin(&mut self, now: Time) {
        self.length = self.params.interval.min(Time::from_secs_f64(self.rtt));
        self.end = now.saturating_add(self.length);
    }

    /// Works off the intervals that have ended by `now`.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.end {
            self.close_intervals(now);
        }
    }

    fn close_intervals(&mut self, now: Time) {
        for _ in 0..MAX_STEPS {
            self.average_rtt();
            let queue = self.queue_at(self.end);
            self.update(self.input / self.length.as_secs_f64(), queue);
            self.input = std::mem::take(&mut self.spill);
            self.begin(self.end);
            if now < self.end {
                return;
            }
            if self.input == 0.0 && queue == 0.0 {
                break;
            }
        }
        self.idle(now);
    }

    /// The link was silent until `now`: equation (1) with y = q = 0, once per interval, is a power.
    fn idle(&mut self, now: Time) {
        let steps = 1 + (now - self.end).0 / self.length.0;
        let (period, alpha) = (self.length.as_secs_f64(), self.params.alpha());
        self.set(equations::rate_after_silence(self.rate, alpha, period, self.rtt, steps));
        self.end += Time(steps * self.length.0);
    }

    /// Equation (1), with y and q in bytes per second and bytes.
    fn update(&mut self, y: f64, q: f64) {
        let p = &self.params;
        let link = Link { target: p.eta * self.capacity, alpha: p.alpha(), beta: p.beta() };
        self.set(equations::rate(self.rate, link, y, q, self.length.as_secs_f64(), self.rtt));
    }

    /// R lies between `min_packets` per round trip and ηC, as in the authors' simulator.
    fn set(&mut self, rate: f64) {
        let top = self.params.eta * self.capacity;
        self.rate = rate.clamp((self.params.min_packets * PACKET / self.rtt).min(top), top);
    }

    /// d follows the interval's mean round trip with the gain T/d: the memory is about one round
    /// trip.
    fn average_rtt(&mut self) {
        if self.rtt_bytes > 0.0 {
            let mean = (self.rtt_sum / self.rtt_bytes).max(MIN_RTT);
            // The first mean is taken as it is: our start is a guess of 200 ms.
            let (d, known) = (self.rtt, std::mem::replace(&mut self.known, true));
            self.rtt = if known { equations::mean_rtt(d, mean, self.length.as_secs_f64()) } else { d + (mean - d) };
            // Ours: where a round trip is a few packets long, each of them that waits is a good part of q/d, and R
            // falls to a sixth of what the link has.
            if self.pulled {
                self.rtt = self.rtt.max(self.params.interval.as_secs_f64());
            }
        }
        (self.rtt_sum, self.rtt_bytes) = (0.0, 0.0);
    }

    /// Bytes that wait at a time after the last arrival: what waited then, less what the link has
    /// sent since.
    fn queue_at(&self, at: Time) -> f64 {
        (self.waiting - (at - self.seen).as_secs_f64() * self.capacity).max(0.0)
    }

    /// The path's rate is the smallest on it.
    #[inline]
    fn tell(&self, packet: &mut Packet, mut header: RcpHeader) {
        let offer = (8.0 * self.rate) as f32;
        if header.rate > offer {
            header.rate = offer;
            packet.set_header(&header);
        }
    }

    /// Counts an arrival, taken or not: y is what wants to pass. A packet that would be on the wire
    /// beyond the end of the interval counts for the next one in that part, as in the authors'
    /// simulator: else y has steps of a packet.
    #[inline]
    fn count(&mut self, size: f64, now: Time) {
        let left = (self.end - now).as_secs_f64() * self.capacity;
        let here = size.min(left);
        self.input += here;
        self.spill += size - here;
    }
}

impl Aqm for RcpPort {
    fn watches_leaving(&self) -> bool {
        self.pulled
    }

    fn dequeue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.catch_up(view.now);
        if let Some(header) = packet.header::<RcpHeader>() {
            self.tell(packet, header);
        }
        Verdict::Pass
    }

    #[inline] // so that what it does not ask of the view is not worked out
    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.catch_up(view.now);
        self.capacity = view.rate.bytes_per_second();
        let size = f64::from(packet.size);
        self.count(size, view.now);
        if let Some(header) = packet.header::<RcpHeader>() {
            if header.rtt > 0.0 {
                self.rtt_sum += f64::from(header.rtt) * size;
                self.rtt_bytes += size;
            }
            if !self.pulled {
                self.tell(packet, header);
            }
        }
        let admitted = self.bound.admits(view.backlog, packet.size);
        self.waiting = view.backlog.bytes as f64 + if admitted && view.busy() { size } else { 0.0 };
        self.seen = view.now;
        if admitted { Verdict::Pass } else { Verdict::Drop(Drop::Queue) }
    }

    fn reset(&mut self) {
        // A restarted router has forgotten everything; its clock it keeps.
        self.restart(self.seen);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("rate_bps", self.rate()));
    }
}
