//! A port's two controllers, and the feedback that they write into packets. The equations are in
//! `equations.rs`.
//!
//! A timetable port has no timer. Ended control intervals are processed when the next packet arrives; only packets
//! read the results, so they are the same. "L n" are the lines of the pseudocode in the draft, as the authors' later
//! simulator numbers them.

use midpath_core::packet::Packet;
use midpath_core::queue::{Aqm, Bound, Discipline, Limit, Queue, Verdict, View};
use midpath_core::roles::{Drop, Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};

use super::equations::{self, Gains};
use super::header::XcpHeader;
use super::params::XcpParams;
use super::queue::PersistentQueue;

/// Longest round trip that counts, in seconds: `XCP_MAX_INTERVAL` of the authors' later simulator.
const MAX_RTT: f64 = 1.0;

/// A drop-tail port with XCP's efficiency and fairness controllers. Rates are in bytes per second.
#[derive(Debug, Clone)]
pub struct XcpPort {
    params: XcpParams,
    bound: Bound,
    capacity: f64,
    /// The control interval that is running.
    end: Time,
    length: Time,
    /// d: the mean round trip of the last interval, in seconds.
    rtt: f64,
    /// Bytes that have arrived in this interval, and those of them that take feedback.
    input: f64,
    asking: f64,
    /// Σ s/x and Σ rtt·s/x over the packets that take feedback: seconds, and seconds squared.
    sum_inverse: f64,
    sum_rtt: f64,
    /// φ, the change of the aggregate, and h, the traffic that is shuffled.
    aggregate: f64,
    shuffled: f64,
    /// What is left to hand out in this interval, each way.
    residue_pos: f64,
    residue_neg: f64,
    /// ξ_p and ξ_n.
    scale_pos: f64,
    scale_neg: f64,
    queue: PersistentQueue,
    /// Packets get their feedback as they leave, as in the authors' simulators; else as they arrive.
    on_departure: bool,
}

impl Network for XcpParams {
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let port = XcpPort::new(self, spec.queue.drop_tail()?, spec.link.rate).on_departure(spec.pulled);
        Ok(Discipline::with_shortcuts(Queue::of(port)))
    }
}

impl XcpPort {
    /// A port of `rate` whose queue holds at most `limit`.
    pub fn new(params: &XcpParams, limit: Limit, rate: Rate) -> XcpPort {
        XcpPort::begin(*params, limit.bound(rate), rate.bytes_per_second(), Time::ZERO)
    }

    fn begin(params: XcpParams, bound: Bound, capacity: f64, now: Time) -> XcpPort {
        let length = params.initial_interval;
        let end = now.saturating_add(length);
        XcpPort {
            params,
            bound,
            capacity,
            end,
            length,
            rtt: length.as_secs_f64(),
            input: 0.0,
            asking: 0.0,
            sum_inverse: 0.0,
            sum_rtt: 0.0,
            aggregate: 0.0,
            shuffled: 0.0,
            residue_pos: 0.0,
            residue_neg: 0.0,
            scale_pos: 0.0,
            scale_neg: 0.0,
            // Twice the shortest control interval: 2 ms and 1 ms in the authors' simulator.
            queue: PersistentQueue::new(now, end, 2.0 * params.min_interval.as_secs_f64()),
            on_departure: false,
        }
    }

    /// The same that gives packets feedback as they leave, if `yes`.
    #[must_use]
    pub fn on_departure(self, yes: bool) -> XcpPort {
        XcpPort { on_departure: yes, ..self }
    }

    /// φ of the last control interval, in bytes per second.
    pub fn aggregate(&self) -> f64 {
        self.aggregate
    }
    /// Feedback that is left to hand out, up and down, in bytes per second.
    pub fn residues(&self) -> (f64, f64) {
        (self.residue_pos, self.residue_neg)
    }

    /// Works off what has ended by `now`, in order of time.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.end {
            self.close_intervals(now);
        }
        self.queue.catch_up(now, self.rtt, self.capacity);
    }

    fn close_intervals(&mut self, now: Time) {
        while now >= self.end {
            self.queue.catch_up(self.end, self.rtt, self.capacity);
            let silent = self.input == 0.0;
            self.control();
            // A silent link goes on in steps of the initial interval, without anything to hand out.
            let steps = if silent { 1 + (now - self.end).0 / self.length.0 } else { 1 };
            self.end = self.end.saturating_add(Time(steps * self.length.0));
        }
    }

    /// The control interval's end: "L 7" to "L 19".
    fn control(&mut self) {
        let y = self.input / self.length.as_secs_f64();
        // L 7, the mean round trip, each flow counted once: Σ rtt·s/x / Σ s/x.
        self.rtt = if self.sum_inverse > 0.0 {
            equations::mean_rtt(self.sum_rtt, self.sum_inverse).max(self.params.min_interval.as_secs_f64())
        } else {
            self.params.initial_interval.as_secs_f64()
        };
        (self.aggregate, self.shuffled) = if self.input > 0.0 { self.decide(y) } else { (0.0, 0.0) };
        // L 11 to 14. ξ_n is over packets that take feedback, not over all traffic as in the
        // simulator: else what ACKs weigh is never taken back.
        (self.residue_pos, self.residue_neg) = equations::residues(self.aggregate, self.shuffled);
        self.scale_pos = equations::xi_p(self.residue_pos, self.sum_inverse);
        self.scale_neg = equations::xi_n(self.residue_neg, self.asking);
        // L 15 to 18.
        (self.input, self.asking, self.sum_inverse, self.sum_rtt) = (0.0, 0.0, 0.0, 0.0);
        self.length = Time::from_secs_f64(self.rtt);
    }

    /// L 9, 10: φ and h.
    fn decide(&self, y: f64) -> (f64, f64) {
        let XcpParams { alpha, beta, gamma, .. } = self.params;
        let gains = Gains { alpha, beta, gamma };
        let phi = equations::aggregate(gains, self.capacity, y, self.queue.bytes(), self.rtt);
        (phi, equations::shuffled(gains, y, phi))
    }

    /// L 1 to 6, what an arriving packet tells. Returns s/x, the packet's share of its flow's time,
    /// in seconds.
    #[inline]
    fn learn(&mut self, header: &XcpHeader, size: f64) -> f64 {
        // L 5, 6.
        let (rtt, inverse) = share_of_time(header, size);
        self.asking += size;
        self.sum_inverse += inverse;
        self.sum_rtt += rtt * inverse;
        inverse
    }

    /// L 20 to 31: what this packet gets, and what is left for others.
    #[inline]
    fn feedback(&mut self, header: &mut XcpHeader, inverse: f64, size: f64) {
        let pos = equations::positive(self.scale_pos, inverse, self.residue_pos);
        let neg = equations::negative(self.scale_neg, size, self.residue_neg);
        let (asked, change) = (f64::from(header.delta), pos - neg);
        let (pos, neg) = if asked >= change {
            header.delta = change as f32;
            (pos, neg)
        } else {
            // Another port gives less: that is booked here, the increase that is not used stays for
            // others.
            let neg = (neg + (change - asked)).min(self.residue_neg);
            ((asked + neg).max(0.0), neg)
        };
        self.residue_pos = (self.residue_pos - pos).max(0.0);
        self.residue_neg = (self.residue_neg - neg).max(0.0);
    }
}

/// The round trip that counts, and s/x, the packet's share of its flow's time, in seconds.
#[inline]
fn share_of_time(header: &XcpHeader, size: f64) -> (f64, f64) {
    let rtt = f64::from(header.rtt).min(MAX_RTT);
    // No window is smaller than a packet, so s/x is at most a round trip: a stranger cannot
    // claim more.
    (rtt, (size / f64::from(header.throughput)).min(rtt))
}

impl Aqm for XcpPort {
    fn watches_leaving(&self) -> bool {
        self.on_departure
    }

    fn dequeue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.catch_up(view.now);
        if let Some(mut header) = packet.header::<XcpHeader>()
            && header.rtt > 0.0
        {
            let size = f64::from(packet.size);
            let (_, inverse) = share_of_time(&header, size);
            self.feedback(&mut header, inverse, size);
            packet.set_header(&header);
        }
        Verdict::Pass
    }

    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.catch_up(view.now);
        self.capacity = view.rate.bytes_per_second();
        let size = f64::from(packet.size);
        self.input += size;
        let admitted = self.bound.admits(view.backlog, packet.size);
        let before = view.backlog.bytes as f64;
        self.queue.arrival(view.now, before, before + if admitted && view.busy() { size } else { 0.0 });
        if let Some(mut header) = packet.header::<XcpHeader>()
            && header.rtt > 0.0
        {
            let inverse = self.learn(&header, size);
            if admitted && !self.on_departure {
                self.feedback(&mut header, inverse, size);
                packet.set_header(&header);
            }
        }
        if admitted { Verdict::Pass } else { Verdict::Drop(Drop::Queue) }
    }

    fn reset(&mut self) {
        // A restarted router has forgotten everything; its clock it keeps.
        let now = self.end.saturating_sub(self.length);
        *self = XcpPort::begin(self.params, self.bound, self.capacity, now).on_departure(self.on_departure);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("aggregate_feedback_bps", 8.0 * self.aggregate));
        out.push(("shuffled_bps", 8.0 * self.shuffled));
        out.push(("persistent_queue_bytes", self.queue.bytes()));
    }
}
