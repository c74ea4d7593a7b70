use super::updates::Updates;
use super::{Aqm, Standing, Verdict, View};
use crate::packet::{Ecn, Packet};
use crate::queue_spec::DualPi2Params;
use crate::roles::Drop;
use crate::units::Time;

/// The Coupled DualQ's two AQMs (RFC 9332, appendix A.2), with the RFC's names. It goes over
/// [`Classes`](super::super::Classes) of two, the L queue first.
///
/// | queue | packets | native AQM | coupled |
/// |---|---|---|---|
/// | L | ECT(1), CE | a step, or ramp, by delay | with probability k·p' |
/// | C | all others | with probability p'² | |
///
/// p' is the output of a PI controller of the larger of the two queues' delays. As p' reaches 1/k,
/// ECN is given up: both queues drop with probability p'².
#[derive(Debug, Clone)]
pub struct DualPi2 {
    params: DualPi2Params,
    alpha: f64,
    beta: f64,
    /// p', "base probability".
    base: f64,
    prevq: Time,
    /// What `recur` counts for the L and the C queue.
    counts: [f64; 2],
    /// Every `Tupdate`.
    updates: Updates,
    seen: Seen,
}

/// What came, and whether PI2 chose any of it: for who uses it without the senders that it is for.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    data: bool,
    l4s: bool,
    chose: bool,
}

const L: usize = 0;
const C: usize = 1;
/// Figure 2, line 19: `Th_len`, packets.
const TH_LEN: u64 = 1;
/// Figure 2, line 21.
const P_LMAX: f64 = 1.0;

/// Which queue a packet goes into: 0 for L, 1 for C (figure 3, line 6: "ecn(pkt) modulo 2 == 1").
pub fn l4s_class(packet: &Packet) -> usize {
    if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) { L } else { C }
}

impl DualPi2 {
    /// DualPI2 with `params`, in its initial state.
    pub fn new(params: DualPi2Params) -> DualPi2 {
        // Figure 2, lines 12 to 14.
        let t_update = params.target.min(params.rtt_max / 3).max(Time::from_us(1));
        let rtt_max = params.rtt_max.as_secs_f64();
        DualPi2 {
            params,
            alpha: 0.1 * t_update.as_secs_f64() / (rtt_max * rtt_max),
            beta: 0.3 / rtt_max,
            base: 0.0,
            prevq: Time::ZERO,
            counts: [0.0; 2],
            updates: Updates::every(t_update),
            seen: Seen::default(),
        }
    }

    /// Figure 2, line 11.
    fn p_cmax(&self) -> f64 {
        (1.0 / (self.params.coupling * self.params.coupling)).min(1.0)
    }

    /// Figure 8, line 4.
    fn p_cl(&self) -> f64 {
        self.base * self.params.coupling
    }

    /// Figure 8, line 5.
    fn p_c(&self) -> f64 {
        self.base * self.base
    }

    /// Figure 4, `recur`: true with this likelihood, at even distances.
    fn recur(&mut self, queue: usize, likelihood: f64) -> bool {
        // Above 1, which k·p' reaches, the count would grow without end.
        self.counts[queue] += likelihood.min(1.0);
        let chosen = self.counts[queue] > 1.0;
        if chosen {
            self.counts[queue] -= 1.0;
        }
        chosen
    }

    /// Figure 5. The RFC's `minTh` is `step`, its `range` is `ramp`.
    fn laqm(&self, qdelay: Time) -> f64 {
        let (min_th, range) = (self.params.step, self.params.ramp);
        if qdelay >= min_th + range {
            1.0
        } else if qdelay > min_th {
            (qdelay - min_th).as_secs_f64() / range.as_secs_f64()
        } else {
            0.0
        }
    }

    /// Figure 7, lines 4b to 8j.
    fn l_queue(&mut self, view: &View<'_>) -> Verdict {
        if self.p_cl() < P_LMAX {
            let native = if view.lane.packets > TH_LEN { self.laqm(view.sojourn) } else { 0.0 };
            let p_l = native.max(self.p_cl());
            return if self.recur(L, p_l) { Verdict::Signal } else { Verdict::Pass };
        }
        if self.recur(L, self.p_c()) {
            return Verdict::Drop(Drop::Aqm);
        }
        if self.recur(L, self.p_cl()) { Verdict::Signal } else { Verdict::Pass }
    }

    /// Figure 7, lines 11 to 17. What is not ECN-capable is dropped by the signal.
    fn c_queue(&mut self) -> Verdict {
        match self.recur(C, self.p_c()) {
            false => Verdict::Pass,
            true if self.p_c() >= self.p_cmax() => Verdict::Drop(Drop::Aqm),
            true => Verdict::Signal,
        }
    }

    /// Figure 8.
    fn update(&mut self, curq: Time) {
        let seconds = |t: Time| t.as_secs_f64();
        self.base += self.alpha * (seconds(curq) - seconds(self.params.target))
            + self.beta * (seconds(curq) - seconds(self.prevq));
        self.base = self.base.clamp(0.0, 1.0);
        self.prevq = curq;
    }
}

impl Aqm for DualPi2 {
    fn watches_leaving(&self) -> bool {
        true
    }

    fn has_timer(&self) -> bool {
        true
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.seen.data |= packet.payload > 0;
        self.seen.l4s |= l4s_class(packet) == L;
        self.updates.arrival(view.now);
        Verdict::Pass
    }

    #[inline]
    fn dequeue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        if l4s_class(packet) == L {
            return self.l_queue(view);
        }
        let verdict = self.c_queue();
        self.seen.chose |= verdict != Verdict::Pass;
        verdict
    }

    fn timer(&mut self) -> Option<Time> {
        self.updates.wish()
    }

    fn on_timer(&mut self, port: &Standing<'_>) {
        self.update(port.longest_wait());
        let rests = self.base == 0.0 && self.prevq.is_zero() && port.backlog.packets == 0;
        self.updates.next(port.now, !rests);
    }

    fn reset(&mut self) {
        *self = DualPi2 { seen: self.seen, ..DualPi2::new(self.params) };
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("base_probability", self.base));
    }

    fn warnings(&self, out: &mut Vec<String>) {
        // Where nothing was chosen no queue was long, as at edge ports: there L4S had not helped either.
        if self.seen.data && self.seen.chose && !self.seen.l4s {
            out.push(
                "DualPI2's L queue stayed empty: no packet was ECT(1), so its ports acted as PI2 with one \
                    queue; flows of `prague` send ECT(1)"
                    .to_owned(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> DualPi2 {
        DualPi2::new(DualPi2Params::default())
    }

    #[test]
    fn gains_are_figure_2s() {
        let dual = new();
        assert_eq!(dual.updates.period, Time::from_ms(15));
        assert!((dual.alpha - 0.15).abs() < 1e-12 && (dual.beta - 3.0).abs() < 1e-12);
        assert!((dual.p_cmax() - 0.25).abs() < 1e-12);
        let short = DualPi2::new(DualPi2Params { rtt_max: Time::from_ms(30), ..DualPi2Params::default() });
        assert_eq!(short.updates.period, Time::from_ms(10));
    }

    /// Worked by hand: p' + .15 (q − .015) + 3 (q − q before).
    #[test]
    fn an_update_is_figure_8s_sum() {
        let mut dual = new();
        let ms = Time::from_ms;
        let expected = [(20, 0.060_75), (20, 0.061_5), (30, 0.093_75), (0, 0.001_5), (0, 0.0)];
        for (q, base) in expected {
            dual.update(ms(q));
            assert!((dual.base - base).abs() < 1e-12, "{q} ms: {}", dual.base);
        }
        dual.update(Time::from_secs(9));
        assert_eq!(dual.base, 1.0);
    }

    #[test]
    fn the_ramp_rises_from_nothing_to_all_and_a_step_has_no_width() {
        let us = Time::from_us;
        let step = new();
        assert_eq!([0, 999, 1000, 5000].map(|d| step.laqm(us(d))), [0.0, 0.0, 1.0, 1.0]);
        let params = DualPi2Params { step: us(800), ramp: us(400), ..DualPi2Params::default() };
        let ramp = DualPi2::new(params);
        for (delay, want) in [(800, 0.0), (900, 0.25), (1100, 0.75), (1200, 1.0)] {
            assert!((ramp.laqm(us(delay)) - want).abs() < 1e-9);
        }
    }

    #[test]
    fn recur_spaces_what_it_chooses() {
        let mut dual = new();
        let chosen: Vec<usize> = (1..=12).filter(|_| dual.recur(C, 0.3)).collect();
        // .3 a packet: more than 1 at the 4th, 7th and 11th.
        assert_eq!(chosen, [4, 7, 11]);
    }
}
