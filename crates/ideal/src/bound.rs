//! A lower bound on the sum of completion times, whatever the scheme: shortest remaining size
//! first, link by link.
//!
//! Why it is one:
//!
//! 1. A link on which flows' bytes must cross is a machine that does one thing at a time. Flow `i`
//!    cannot be at it before `start + before`, and ends no sooner than `after` its last bit has
//!    left it.
//! 2. On one machine, shortest remaining size first has the least sum of completion times (Schrage,
//!    1968), also when its speed changes with time: swapping what any two flows get until the one
//!    with less left is done first never adds to the sum.
//! 3. Whatever else the network does, what a schedule does on this link is a schedule of that
//!    machine. So over any set of flows that cross the link, the sum of their completion times is
//!    at least what shortest remaining size first comes to.
//! 4. This holds for every link and every set, so flows may be dealt out: each is counted at one of
//!    its links, and the sums are added.
//! 5. Which link each flow is counted at decides only how tight the bound is. Links that delay most
//!    come first.
//!
//! On one bottleneck it is the optimum.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

/// A flow's way over a link that it must cross.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Which link.
    pub link: u32,
    /// The least time from the flow's start to its first bit at the link, in seconds.
    pub before_s: f64,
    /// The least time from its last bit's leaving the link to its end.
    pub after_s: f64,
}

/// A flow as the bound sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundFlow {
    /// When it starts, in seconds.
    pub start_s: f64,
    /// Bits that must cross each of its links.
    pub bits: f64,
    /// The links that it must cross, whatever its way.
    pub links: Vec<Crossing>,
}

/// A link's speed: bits per second from each of these times on. The first is at zero.
pub type Speed = Vec<(f64, f64)>;

/// A flow at one link.
#[derive(Debug, Clone, Copy)]
struct Job {
    flow: u32,
    release: f64,
    bits: f64,
    /// What lies outside its time at this link, from start to end.
    outside: f64,
}

/// The flows at each link, in few bytes: of ten million flows all are kept until the last has been
/// seen.
#[derive(Default)]
struct Jobs {
    /// Start and bits of each flow.
    flows: Vec<(f64, f64)>,
    /// What lies before and after a link, of which many flows have the same.
    around: Vec<(f64, f64)>,
    known: FxHashMap<(u64, u64), u32>,
    /// By link: the flow, and what lies around the link.
    at: Vec<Vec<(u32, u32)>>,
}

impl Jobs {
    fn add(&mut self, flow: &BoundFlow) {
        let number = self.flows.len() as u32;
        self.flows.push((flow.start_s, flow.bits));
        for crossing in &flow.links {
            let around = (crossing.before_s, crossing.after_s);
            let place = *self.known.entry((around.0.to_bits(), around.1.to_bits())).or_insert_with(|| {
                self.around.push(around);
                self.around.len() as u32 - 1
            });
            self.at[crossing.link as usize].push((number, place));
        }
    }

    /// Those at a link.
    fn at(&self, link: usize) -> Vec<Job> {
        let job = |(flow, place): &(u32, u32)| {
            let ((start, bits), (before, after)) = (self.flows[*flow as usize], self.around[*place as usize]);
            job(*flow, (start, bits), (before, after))
        };
        self.at[link].iter().map(job).collect()
    }
}

/// The least possible sum of the flows' completion times, each from its own start; seconds. A flow
/// without a link counts as zero. Flows are looked at one by one: of a million not all are kept.
pub fn completion_bound(speeds: &[Speed], flows: impl IntoIterator<Item = BoundFlow>) -> f64 {
    let mut alone = Vec::new();
    let mut jobs = Jobs { at: vec![Vec::new(); speeds.len()], ..Jobs::default() };
    for flow in flows {
        alone.push(alone_s(speeds, &flow));
        jobs.add(&flow);
    }
    let mut counted = vec![false; alone.len()];
    let mut total = alone.iter().sum::<f64>();
    // What counting its flows at a link adds only shrinks as flows are counted elsewhere: the
    // largest is found by looking again.
    let worth = |link: usize, jobs: &[Job]| {
        shortest_first(&speeds[link], jobs) - jobs.iter().map(|j| alone[j.flow as usize]).sum::<f64>()
    };
    // What counting all uncounted flows of a link there adds to the bound, which link, and how many
    // flows that was.
    let entry = |link: usize, jobs: &Jobs| {
        let here = jobs.at(link);
        (Ordered(worth(link, &here)), Reverse(link), here.len())
    };
    let mut heap: BinaryHeap<_> =
        (0..speeds.len()).filter(|link| jobs.at[*link].len() > 1).map(|link| entry(link, &jobs)).collect();
    while let Some((Ordered(gain), Reverse(link), of)) = heap.pop() {
        jobs.at[link].retain(|(flow, _)| !counted[*flow as usize]);
        let left = jobs.at[link].len();
        if left == of && gain > 0.0 && gain.is_finite() {
            total += gain;
            jobs.at[link].iter().for_each(|(flow, _)| counted[*flow as usize] = true);
        } else if left != of && left > 1 {
            heap.push(entry(link, &jobs));
        }
    }
    total
}

fn job(flow: u32, (start_s, bits): (f64, f64), (before_s, after_s): (f64, f64)) -> Job {
    Job { flow, release: start_s + before_s, bits, outside: after_s - start_s }
}

/// The least time in seconds that a flow takes when it is alone: at the link that takes it longest.
fn alone_s(speeds: &[Speed], flow: &BoundFlow) -> f64 {
    let times = flow.links.iter().map(|c| {
        let job = job(0, (flow.start_s, flow.bits), (c.before_s, c.after_s));
        first_and_last(&speeds[c.link as usize], &job)
    });
    times.filter(|t| t.is_finite()).fold(0.0, f64::max)
}

/// A number with a total order.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The sum of completion times of `jobs`, each from its flow's start to its end, when a link serves
/// the shortest remaining size first.
fn shortest_first(speed: &Speed, jobs: &[Job]) -> f64 {
    let mut arrivals: Vec<&Job> = jobs.iter().collect();
    arrivals.sort_by(|a, b| a.release.total_cmp(&b.release));
    let mut arrivals = arrivals.into_iter().peekable();
    let mut waiting: BinaryHeap<Reverse<(Ordered, u32)>> = BinaryHeap::new();
    let mut clock = Clock { now: 0.0, step: 0, speed };
    let mut sum = jobs.iter().map(|j| j.outside).sum::<f64>();
    loop {
        let next = arrivals.peek().map_or(f64::INFINITY, |j| j.release);
        match waiting.pop() {
            None if next.is_infinite() => return sum,
            None => clock.wait_until(next),
            Some(Reverse((Ordered(bits), flow))) => match clock.serve(bits, next) {
                0.0 => sum += clock.now,
                // The link is down for good.
                _ if clock.now.is_infinite() => return f64::INFINITY,
                left => waiting.push(Reverse((Ordered(left), flow))),
            },
        }
        while let Some(job) = arrivals.next_if(|j| j.release <= clock.now) {
            waiting.push(Reverse((Ordered(job.bits), job.flow)));
        }
    }
}

/// The same of one job.
fn first_and_last(speed: &Speed, job: &Job) -> f64 {
    let mut clock = Clock { now: 0.0, step: 0, speed };
    clock.wait_until(job.release);
    let left = clock.serve(job.bits, f64::INFINITY);
    if left > 0.0 { f64::INFINITY } else { job.outside + clock.now }
}

/// A link's time.
struct Clock<'a> {
    now: f64,
    step: usize,
    speed: &'a Speed,
}

impl Clock<'_> {
    /// Until when the speed stays as it is.
    fn steady(&mut self) -> f64 {
        while self.speed.get(self.step + 1).is_some_and(|s| s.0 <= self.now) {
            self.step += 1;
        }
        self.speed.get(self.step + 1).map_or(f64::INFINITY, |s| s.0)
    }

    fn wait_until(&mut self, at: f64) {
        self.now = self.now.max(at);
    }

    /// Serves until `bits` are done or `until` has come; returns what is left.
    fn serve(&mut self, mut bits: f64, until: f64) -> f64 {
        loop {
            let steady = self.steady();
            let end = steady.min(until);
            let rate = self.speed.get(self.step).map_or(0.0, |s| s.1);
            let done = self.now + bits / rate;
            if done <= end && done.is_finite() {
                self.now = done;
                return 0.0;
            }
            bits = (bits - rate * (end - self.now).max(0.0)).max(f64::MIN_POSITIVE);
            self.now = end;
            if end == until || end.is_infinite() {
                return bits;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flow(start: f64, bits: f64, links: &[u32]) -> BoundFlow {
        let links = links.iter().map(|link| Crossing { link: *link, before_s: 0.0, after_s: 0.0 }).collect();
        BoundFlow { start_s: start, bits, links }
    }

    fn unit(links: usize) -> Vec<Speed> {
        vec![vec![(0.0, 1.0)]; links]
    }

    #[test]
    fn on_one_link_the_shortest_goes_first() {
        // 1, then 2, then 3: 1 + 3 + 6. Processor sharing takes 3 + 5 + 6.
        let flows = [flow(0.0, 3.0, &[0]), flow(0.0, 1.0, &[0]), flow(0.0, 2.0, &[0])];
        assert_eq!(completion_bound(&unit(1), flows), 10.0);
        // A short one that comes later interrupts: 4 units, 1 from t = 1 on. 5 + 1.
        assert_eq!(completion_bound(&unit(1), [flow(0.0, 4.0, &[0]), flow(1.0, 1.0, &[0])]), 6.0);
        // One that has less left does not let itself be interrupted: 2 at 0, 1.5 at 1. 2 + 2.5.
        assert_eq!(completion_bound(&unit(1), [flow(0.0, 2.0, &[0]), flow(1.0, 1.5, &[0])]), 4.5);
    }

    #[test]
    fn delays_speeds_and_outages_count() {
        let crossing = Crossing { link: 0, before_s: 0.5, after_s: 0.25 };
        let one = BoundFlow { start_s: 1.0, bits: 4.0, links: vec![crossing] };
        // From 1.5: 1 bit at 2/s until 2, nothing until 3, then 3 bits at 6/s.
        let speed = vec![(0.0, 2.0), (2.0, 0.0), (3.0, 6.0)];
        assert_eq!(completion_bound(&[speed], [one.clone()]), 0.5 + 0.5 + 1.0 + 0.5 + 0.25);
        // What can never end is not counted.
        assert_eq!(completion_bound(&[vec![(0.0, 2.0), (2.0, 0.0)]], [one]), 0.0);
    }

    #[test]
    fn each_flow_is_counted_at_one_link() {
        // Two bottlenecks that share nothing add up; a long flow over both is counted once.
        let apart = [flow(0.0, 1.0, &[0]), flow(0.0, 1.0, &[0]), flow(0.0, 1.0, &[1]), flow(0.0, 1.0, &[1])];
        assert_eq!(completion_bound(&unit(2), apart), 6.0);
        let lot = [flow(0.0, 1.0, &[0, 1]), flow(0.0, 1.0, &[0]), flow(0.0, 1.0, &[1])];
        assert_eq!(completion_bound(&unit(2), lot), 4.0);
    }

    /// All schedules in whole units of time: what is left of each flow at each of two links, the
    /// second behind the first.
    fn best(start: &[u32], sizes: &[u32], links: &[[bool; 2]]) -> u32 {
        fn from(
            now: u32,
            left: &[[u32; 2]],
            start: &[u32],
            links: &[[bool; 2]],
            known: &mut FxHashMap<(u32, Vec<[u32; 2]>), u32>,
        ) -> u32 {
            if left.iter().all(|l| *l == [0, 0]) {
                return 0;
            }
            if let Some(sum) = known.get(&(now, left.to_vec())) {
                return *sum;
            }
            let here = |i: usize| start[i] <= now;
            let first = || (0..left.len()).filter(|i| here(*i) && left[*i][0] > 0).map(Some).chain([None]);
            let mut least = u32::MAX;
            for a in first() {
                let mut after = left.to_vec();
                if let Some(i) = a {
                    after[i][0] -= 1;
                }
                // What has crossed the first link may cross the second in the same unit.
                let ready = |i: usize| here(i) && after[i][1] > 0 && (!links[i][0] || after[i][1] > after[i][0]);
                let second: Vec<_> = (0..left.len()).filter(|i| ready(*i)).map(Some).chain([None]).collect();
                for b in second {
                    let mut after = after.clone();
                    if let Some(i) = b {
                        after[i][1] -= 1;
                    }
                    let open = (0..left.len()).filter(|i| left[*i] != [0, 0]).count() as u32;
                    // A flow that has not come yet waits for nothing.
                    let early = (0..left.len()).filter(|i| left[*i] != [0, 0] && !here(*i)).count() as u32;
                    if a.is_none() && b.is_none() && early == 0 {
                        continue;
                    }
                    least = least.min(open - early + from(now + 1, &after, start, links, known));
                }
            }
            known.insert((now, left.to_vec()), least);
            least
        }
        let left: Vec<[u32; 2]> = sizes.iter().zip(links).map(|(s, l)| l.map(|on| if on { *s } else { 0 })).collect();
        from(0, &left, start, links, &mut FxHashMap::default())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_schedule_is_below_the_bound_and_on_one_link_the_best_is_the_bound(
            drawn in prop::collection::vec((0u32..3, 1u32..4, 0usize..3), 1..4),
        ) {
            let start: Vec<u32> = drawn.iter().map(|d| d.0).collect();
            let sizes: Vec<u32> = drawn.iter().map(|d| d.1).collect();
            let links: Vec<[bool; 2]> = drawn.iter().map(|d| [[true, false], [false, true], [true, true]][d.2]).collect();
            let flows: Vec<BoundFlow> = (0..drawn.len())
                .map(|i| flow(start[i].into(), sizes[i].into(), if links[i] == [true, true] { &[0, 1] } else if links[i][0] { &[0] } else { &[1] }))
                .collect();
            let (bound, best) = (completion_bound(&unit(2), flows), f64::from(best(&start, &sizes, &links)));
            prop_assert!(bound <= best + 1e-9, "{bound} above {best}");
            if links.iter().all(|l| *l == [true, false]) {
                prop_assert!((bound - best).abs() < 1e-9, "{bound} is not {best}");
            }
        }
    }
}
