//! From a job to flows: what each message waits for, and what waits for it.

use midpath_core::units::{Bytes, Time};
use rand::seq::SliceRandom;

use crate::after::{Step, WaitFor};
use crate::durations::Durations;
use crate::flows::{Counts, FlowList, NewFlow};
use crate::job::{Collective, JobSpec};
use crate::stream::Stream;

/// When a rank begins an iteration: so long after a step, or after the run's beginning.
#[derive(Clone, Copy)]
struct Begin {
    step: Option<u32>,
    start: Time,
}

/// A job on its way to flows.
pub(crate) struct Expansion<'a> {
    /// What they do, with how much, and how many micro-batches.
    collective: Collective,
    size: Bytes,
    micro_batches: usize,
    skew: Option<f64>,
    ranks: Vec<u32>,
    terms: u32,
    compute: Durations,
    /// For computing times, and for which ranks receive how much.
    streams: [Stream; 2],
    /// When each rank begins the iteration at hand.
    begins: Vec<Begin>,
    out: &'a mut FlowList,
}

impl<'a> Expansion<'a> {
    pub fn new(
        spec: &JobSpec,
        (collective, size, micro_batches): (Collective, Bytes, usize),
        ranks: Vec<u32>,
        terms: u32,
        compute: Durations,
        streams: [Stream; 2],
        out: &'a mut FlowList,
    ) -> Expansion<'a> {
        let begins = ranks.iter().map(|_| Begin { step: None, start: spec.start }).collect();
        Expansion { collective, size, micro_batches, skew: spec.skew, ranks, terms, compute, streams, begins, out }
    }

    fn step(&mut self, rank: usize, ends: usize, then: Option<(u32, Time)>) -> u32 {
        let step = self.out.step(Step::new(self.ranks[rank], ends));
        if let Some((next, later)) = then {
            self.out.then(step, next, later);
        }
        step
    }

    /// Makes all ranks wait for `after`.
    pub fn wait_for(&mut self, after: Option<u32>) {
        for (begin, node) in self.begins.iter_mut().zip(&self.ranks) {
            begin.step = after.map(|after| self.out.step_after(*node, after));
        }
    }

    fn push(&mut self, (from, to): (usize, usize), size: Bytes, begin: Begin, counts: Counts) {
        let (src, dst, terms) = (self.ranks[from], self.ranks[to], self.terms);
        let wait = begin.step.map(WaitFor::Step);
        let flow = NewFlow { src, dst, size: Some(size), start: begin.start, stop: None, wait, terms };
        self.out.push_step(flow, counts);
    }

    pub fn iteration(&mut self, last: bool) {
        // What ends an iteration at a rank: that so many messages have come.
        let n = self.ranks.len();
        let ends: Vec<usize> = match self.collective {
            // What comes, and that the iteration has begun: others may be ahead.
            Collective::AllToAll => self.begins.iter().map(|begin| n - 1 + usize::from(begin.step.is_some())).collect(),
            Collective::AllReduceTree | Collective::Pipeline => vec![1; n],
            others => {
                // What comes in the last step, and that the rank has begun with it.
                let steps = others.steps(n);
                let begun = |begin: &Begin| 1 + usize::from(steps > 1 || begin.step.is_some());
                self.begins.iter().map(begun).collect()
            }
        };
        let next: Option<Vec<u32>> =
            (!last).then(|| ends.into_iter().enumerate().map(|(rank, ends)| self.step(rank, ends, None)).collect());
        let end = |rank: usize| next.as_ref().map(|next| next[rank]);
        match self.collective {
            Collective::AllToAll => self.all_to_all(&end),
            Collective::AllReduceTree => self.tree(&end),
            Collective::Pipeline => self.pipeline(&end),
            ring @ (Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter) => {
                self.ring(ring.steps(n), &end);
            }
            Collective::AllReduceHalving | Collective::AllGatherDoubling | Collective::ReduceScatterHalving => {
                self.halving_doubling(&end);
            }
        }
        if let Some(next) = next {
            // A stage computes for micro-batches.
            let computes = self.collective != Collective::Pipeline;
            let begin = |step| {
                let start = if computes { self.compute_time() } else { Time::ZERO };
                Begin { step: Some(step), start }
            };
            self.begins = next.into_iter().map(begin).collect();
        }
    }

    fn compute_time(&mut self) -> Time {
        self.compute.sample(&mut self.streams[0])
    }

    /// The part of `size` with this number, of as many as there are ranks.
    fn share(&self, number: usize) -> Bytes {
        let (n, size) = (self.ranks.len() as u64, self.size.0);
        Bytes(size / n + u64::from((number as u64) < size % n))
    }

    /// Step s of a rank waits for what comes in step s − 1, and for its own message of step s − 2: two messages at most
    /// are on the way from a rank, as with double buffering. So all that comes has come when the last has, and the rank
    /// has begun with its own last step.
    fn ring(&mut self, steps: usize, end: &dyn Fn(usize) -> Option<u32>) {
        let n = self.ranks.len();
        let begins = self.begins.clone();
        // Of step 1 on: which of a rank.
        let mut waits: Vec<Vec<u32>> = vec![Vec::with_capacity(steps); n];
        for (rank, begin) in begins.iter().enumerate() {
            for step in 1..steps {
                // A rank that has not begun has nothing to add to what comes: step 1 waits for that, too.
                let ends = if step == 1 { 1 + usize::from(begin.step.is_some()) } else { 2 };
                let wait = self.step(rank, ends, None);
                waits[rank].push(wait);
            }
            let over = end(rank);
            if let (Some(begun), Some(second)) = (begin.step, waits[rank].first().copied().or(over)) {
                self.out.then(begun, second, begin.start);
            }
            if let (Some(last), Some(over)) = (waits[rank].last(), over) {
                self.out.then(*last, over, Time::ZERO);
            }
        }
        let of_step = |rank: usize, step: usize| waits[rank].get(step - 1).copied();
        for step in 0..steps {
            for (rank, begin) in begins.iter().enumerate() {
                let next = (rank + 1) % n;
                let come = of_step(next, step + 1);
                let other = if step + 1 < steps { of_step(rank, step + 2) } else { end(next) };
                let begin = match step {
                    0 => *begin,
                    _ => Begin { step: of_step(rank, step), start: Time::ZERO },
                };
                // The chunk that a rank has reduced, or has gathered, last.
                let chunk = (rank + n - step % n) % n;
                self.push((rank, next), self.share(chunk), begin, Counts([come, other]));
            }
        }
    }

    /// With distances N/2, N/4, …, 1 parts are halved, with 1, 2, …, N/2 doubled (Thakur, Rabenseifner and Gropp 2005). A
    /// step waits for the one before, and what comes in that.
    fn halving_doubling(&mut self, end: &dyn Fn(usize) -> Option<u32>) {
        let (n, collective) = (self.ranks.len(), self.collective);
        let (steps, whole) = (collective.steps(n), n.ilog2() as usize);
        let mut at = self.begins.clone();
        for step in 0..steps {
            let halves = step < whole && collective != Collective::AllGatherDoubling;
            let distance = if halves { n >> (step + 1) } else { 1 << (step + whole - steps) };
            let mut next = Vec::with_capacity(n);
            for (rank, begin) in at.iter().enumerate() {
                let wait = if step + 1 == steps {
                    end(rank)
                } else {
                    Some(self.step(rank, 1 + usize::from(begin.step.is_some()), None))
                };
                if let (Some(begun), Some(wait)) = (begin.step, wait) {
                    self.out.then(begun, wait, begin.start);
                }
                next.push(wait);
            }
            for (rank, begin) in at.iter().enumerate() {
                let partner = rank ^ distance;
                // Halving a rank sends the partner's half, doubling its own.
                let first = if halves { partner } else { rank } & !(distance - 1);
                let size = Bytes((first..first + distance).map(|part| self.share(part).0).sum());
                self.push((rank, partner), size, *begin, Counts::one(next[partner]));
            }
            at = next.into_iter().map(|step| Begin { step, start: Time::ZERO }).collect();
        }
    }

    fn all_to_all(&mut self, end: &dyn Fn(usize) -> Option<u32>) {
        let n = self.ranks.len();
        let shares = self.shares();
        for (from, begin) in self.begins.clone().into_iter().enumerate() {
            if let (Some(begun), Some(over)) = (begin.step, end(from)) {
                self.out.then(begun, over, begin.start);
            }
            // From the next rank on, so that not all begin with the same receiver.
            for to in (1..n).map(|apart| (from + apart) % n) {
                self.push((from, to), shares[to], begin, Counts::one(end(to)));
            }
        }
    }

    /// What each rank receives from each other, and its own part: together `size`, or a little more where parts would be
    /// empty.
    fn shares(&mut self) -> Vec<Bytes> {
        let n = self.ranks.len();
        let Some(skew) = self.skew.filter(|skew| *skew > 0.0) else {
            return (0..n).map(|rank| self.share(rank)).collect();
        };
        let mut weights: Vec<f64> = (1..=n).map(|place| (place as f64).powf(-skew)).collect();
        let sum: f64 = weights.iter().sum();
        weights.shuffle(&mut self.streams[1]);
        weights.into_iter().map(|w| Bytes(((self.size.as_f64() * w / sum).round() as u64).max(1))).collect()
    }

    /// A stage computes a micro-batch when it has come, and the one before is computed; then it sends it on. It goes
    /// backward when it has computed all forward.
    fn pipeline(&mut self, end: &dyn Fn(usize) -> Option<u32>) {
        let (stages, batches) = (self.ranks.len(), self.micro_batches);
        // After which step, and how much later, each stage has computed what came before.
        let mut at = self.begins.clone();
        for backward in [false, true] {
            let order: Vec<usize> = if backward { (0..stages).rev().collect() } else { (0..stages).collect() };
            for _ in 0..batches {
                let mut come = None;
                for (place, stage) in order.iter().copied().enumerate() {
                    if let Some(come) = come {
                        if let Some(before) = at[stage].step {
                            self.out.then(before, come, at[stage].start);
                        }
                        at[stage] = Begin { step: Some(come), start: Time::ZERO };
                    }
                    at[stage].start = at[stage].start.saturating_add(self.compute_time());
                    let Some(to) = order.get(place + 1).copied() else { continue };
                    // Nothing follows what the first stage of the last iteration receives.
                    let follows = !backward || to > 0 || end(to).is_some();
                    let begun = usize::from(at[to].step.is_some());
                    come = follows.then(|| self.step(to, 1 + begun, None));
                    self.push((stage, to), self.size, at[stage], Counts::one(come));
                }
            }
        }
        for (stage, at) in at.into_iter().enumerate() {
            if let (Some(step), Some(end)) = (at.step, end(stage)) {
                self.out.then(step, end, at.start);
            }
        }
    }

    /// A binomial tree: the parent of a rank is the rank without its lowest bit. A rank sends up when all children have,
    /// and down to one child after the other, for they share its link.
    fn tree(&mut self, end: &dyn Fn(usize) -> Option<u32>) {
        let (n, size) = (self.ranks.len(), self.size);
        let children = |rank: usize| {
            let bits = if rank == 0 { usize::BITS } else { rank.trailing_zeros() };
            (0..bits.min(usize::BITS - 1)).map(move |bit| rank | 1 << bit).take_while(move |child| *child < n)
        };
        let parent = |rank: usize| rank & (rank - 1);
        let begins = self.begins.clone();
        // Of ranks with children: when all of them have sent up, and when what comes down has come.
        let (mut up, mut down) = (vec![None; n], vec![None; n]);
        for (rank, begin) in begins.iter().enumerate() {
            let own = children(rank).count();
            if own == 0 {
                continue;
            }
            let over = end(rank).map(|end| (end, Time::ZERO));
            let ups = own + usize::from(begin.step.is_some());
            up[rank] = Some(self.step(rank, ups, if rank == 0 { over } else { None }));
            down[rank] = if rank == 0 { up[0] } else { Some(self.step(rank, 1, over)) };
            if let (Some(begun), Some(up)) = (begin.step, up[rank]) {
                self.out.then(begun, up, begin.start);
            }
        }
        for rank in (1..n).rev() {
            let begin = up[rank].map_or(begins[rank], |step| Begin { step: Some(step), start: Time::ZERO });
            self.push((rank, parent(rank)), size, begin, Counts::one(up[parent(rank)]));
        }
        for rank in 0..n {
            let mut step = down[rank];
            let mut left = children(rank).count();
            for child in children(rank).collect::<Vec<_>>().into_iter().rev() {
                left -= 1;
                let next = (left > 0).then(|| self.step(rank, 1, None));
                let come = down[child].or_else(|| end(child));
                self.push((rank, child), size, Begin { step, start: Time::ZERO }, Counts([come, next]));
                step = next;
            }
        }
    }
}
