//! Balancing by switches: which of several equal-cost ports a packet takes, decided packet by packet or flowlet by
//! flowlet at each node alone.

use rustc_hash::FxHashMap;

use super::Ecmp;
use crate::packet::NodeId;
use crate::rng::{Stream, below, mix};
use crate::units::Time;

/// Entries of a flowlet table. CONGA's leaf switches have 64 K (Alizadeh et al., SIGCOMM 2014, §3.4).
const FLOWLETS: u64 = 1 << 16;

/// What balancing needs beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balancing {
    /// How equal-cost paths are used.
    pub ecmp: Ecmp,
    /// [`Ecmp::LetFlow`]: a flow that has been silent for longer begins a new flowlet.
    pub flowlet_gap: Time,
    /// [`Ecmp::Drill`]: ports drawn for each packet, d.
    pub samples: u32,
    /// [`Ecmp::Drill`]: ports remembered, m.
    pub memory: u32,
}

impl From<Ecmp> for Balancing {
    fn from(ecmp: Ecmp) -> Balancing {
        // CONGA's flowlet timeout (§5), and DRILL(2, 1), which its authors use.
        Balancing { ecmp, flowlet_gap: Time::from_us(500), samples: 2, memory: 1 }
    }
}

/// A node's memory of what it balances; nothing where ports follow from a packet's key.
#[derive(Debug, Clone)]
pub(super) enum Balancer {
    Packet,
    LetFlow(LetFlow),
    Drill(Drill),
}

impl Balancer {
    pub fn new(balancing: Balancing) -> Option<Balancer> {
        Some(match balancing.ecmp {
            Ecmp::Packet => Balancer::Packet,
            Ecmp::LetFlow => Balancer::LetFlow(LetFlow { gap: balancing.flowlet_gap, table: FxHashMap::default() }),
            Ecmp::Drill => Balancer::Drill(Drill {
                samples: balancing.samples as usize,
                memory: balancing.memory as usize,
                remembered: Vec::new(),
                drawn: Vec::new(),
            }),
            Ecmp::Flow | Ecmp::Job | Ecmp::Symmetric | Ecmp::Off => return None,
        })
    }

    /// The port that a packet takes among `choices`, of which there are two at least, in rising order. `load` tells
    /// what waits at a port.
    #[inline]
    pub fn choose(
        &mut self,
        choices: &[u16],
        (key, dst): (u32, NodeId),
        now: Time,
        load: impl FnMut(u16) -> u64,
        rng: &mut Stream,
    ) -> u16 {
        match self {
            Balancer::Packet => draw(choices, rng),
            Balancer::LetFlow(flowlets) => flowlets.choose(choices, (key, dst), now, rng),
            Balancer::Drill(drill) => drill.choose(choices, load, rng),
        }
    }

    /// Forgets what was learned.
    pub fn reset(&mut self) {
        match self {
            Balancer::Packet => {}
            Balancer::LetFlow(flowlets) => flowlets.table.clear(),
            Balancer::Drill(drill) => drill.remembered.clear(),
        }
    }
}

/// A port at random.
#[inline]
pub(super) fn draw(choices: &[u16], rng: &mut Stream) -> u16 {
    choices[below(rng, choices.len() as u64) as usize]
}

/// LetFlow (Vanini et al., NSDI 2017, §3.1): a flowlet takes a port at random, whatever waits there. Its packets keep
/// it, and so their order, if the gap is longer than paths differ in delay.
///
/// A switch ages entries by a bit and a timer, and so ends flowlets after one to two gaps; here a gap is exact. Flows
/// that fall on one entry share it, as there.
#[derive(Debug, Clone)]
pub(super) struct LetFlow {
    gap: Time,
    /// A flowlet's port, and when its last packet came.
    table: FxHashMap<u16, (u16, Time)>,
}

impl LetFlow {
    #[inline(never)]
    fn choose(&mut self, choices: &[u16], (key, dst): (u32, NodeId), now: Time, rng: &mut Stream) -> u16 {
        let entry = (mix((u64::from(key) << 32) | u64::from(dst.0)) % FLOWLETS) as u16;
        let flowlet = self.table.entry(entry).or_insert((u16::MAX, Time::ZERO));
        let over = now.saturating_sub(flowlet.1) > self.gap;
        if over || !choices.contains(&flowlet.0) {
            flowlet.0 = draw(choices, rng);
        }
        flowlet.1 = now;
        flowlet.0
    }
}

/// DRILL(d, m) (Ghorbani et al., SIGCOMM 2017, §3.2): a packet takes the port with the least load of d that are drawn,
/// and of the m that had the least before. A flow's packets part; how far their order goes depends on how unlike
/// queues are.
///
/// Here a switch has one forwarding engine, and d are drawn without repetition, so that with d ports or fewer all are
/// compared. The paper's decomposition of asymmetric networks (§3.4) is not there.
#[derive(Debug, Clone)]
pub(super) struct Drill {
    samples: usize,
    memory: usize,
    remembered: Vec<u16>,
    /// What is compared, to be used again.
    drawn: Vec<(u64, u16)>,
}

impl Drill {
    #[inline(never)]
    fn choose(&mut self, choices: &[u16], mut load: impl FnMut(u16) -> u64, rng: &mut Stream) -> u16 {
        self.drawn.clear();
        if self.samples >= choices.len() {
            self.drawn.extend(choices.iter().map(|port| (0, *port)));
        } else {
            // Floyd's algorithm: so many different ones.
            for last in choices.len() - self.samples..choices.len() {
                let port = choices[below(rng, last as u64 + 1) as usize];
                let known = self.drawn.iter().any(|(_, drawn)| *drawn == port);
                self.drawn.push((0, if known { choices[last] } else { port }));
            }
            for port in &self.remembered {
                if choices.contains(port) && !self.drawn.iter().any(|(_, drawn)| drawn == port) {
                    self.drawn.push((0, *port));
                }
            }
        }
        self.drawn.iter_mut().for_each(|(least, port)| *least = load(*port));
        // Of equals one at random, so that idle switches do not all fill their first ports.
        let least = self.drawn.iter().map(|(load, _)| *load).min();
        let mut equals = self.drawn.iter().filter(|(load, _)| Some(*load) == least).map(|(_, port)| *port);
        let count = equals.clone().count() as u64;
        let chosen = equals.nth(if count > 1 { below(rng, count) as usize } else { 0 });
        // What was chosen is remembered first: not, of equals, the first port each time.
        self.drawn.sort_by_key(|(load, port)| (*load, Some(*port) != chosen));
        self.remembered.clear();
        self.remembered.extend(self.drawn.iter().take(self.memory).map(|(_, port)| *port));
        chosen.unwrap_or(choices[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};

    const PORTS: [u16; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    const DST: NodeId = NodeId(9);

    fn balancer(ecmp: Ecmp, (samples, memory): (u32, u32)) -> Balancer {
        Balancer::new(Balancing { samples, memory, ..Balancing::from(ecmp) }).expect("it decides by packet")
    }

    /// How many of `packets` take each port, of equal size, where nothing leaves; and the rest of the packets' times.
    fn thrown(ecmp: Ecmp, drill: (u32, u32), packets: u64, apart: Time) -> Vec<u64> {
        let (mut balancer, mut rng) = (balancer(ecmp, drill), stream(7, Purpose::Forwarders, 0));
        let mut loads = vec![0; 9];
        for i in 0..packets {
            let load = |port: u16| loads[usize::from(port)];
            let port = balancer.choose(&PORTS, (3, DST), Time(i * apart.0), load, &mut rng);
            loads[usize::from(port)] += 1;
        }
        loads.split_off(1)
    }

    /// Chi-square of counts that should be equal.
    fn unevenness(counts: &[u64]) -> f64 {
        let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|count| (*count as f64 - mean).powi(2) / mean).sum()
    }

    #[test]
    fn a_flowlet_keeps_its_port_and_the_next_one_draws() {
        let gap = Time::from_us(500);
        let one = thrown(Ecmp::LetFlow, (2, 1), 1000, gap);
        assert_eq!(one.iter().filter(|count| **count > 0).count(), 1, "a gap is over when it is longer: {one:?}");
        let each = thrown(Ecmp::LetFlow, (2, 1), 8000, gap + Time(1));
        // Seven degrees of freedom: above 24.3 once in a thousand.
        assert!(unevenness(&each) < 24.3, "{each:?}");
    }

    /// Unless a scenario says otherwise: CONGA's 500 us (§5), and DRILL(2, 1).
    #[test]
    fn without_parameters_they_are_the_papers() {
        let Balancing { flowlet_gap, samples, memory, .. } = Balancing::from(Ecmp::Drill);
        assert_eq!((flowlet_gap, samples, memory), (Time::from_us(500), 2, 1));
    }

    /// With all queues compared it is the shortest queue: loads differ by one packet at most. With one and no memory it is
    /// a random port.
    #[test]
    fn drill_at_its_ends_is_the_shortest_queue_and_random() {
        let least = thrown(Ecmp::Drill, (8, 0), 8003, Time::ZERO);
        assert!(least.iter().all(|load| (1000..=1001).contains(load)), "{least:?}");
        let random = thrown(Ecmp::Drill, (1, 0), 8000, Time::ZERO);
        assert!(unevenness(&random) < 24.3, "{random:?}");
        let spread = |loads: &[u64]| loads.iter().max().expect("ports") - loads.iter().min().expect("ports");
        assert!(spread(&random) > 20, "{random:?}");
        // Two choices: ln ln n / ln 2 + O(1) above the mean however many packets there are (Azar et al., 1999; Berenbrink et
        // al., 2006), and a remembered one takes it lower (Mitzenmacher, Prabhakar and Shah, 2002).
        for drill in [(2, 0), (2, 1)] {
            let two = thrown(Ecmp::Drill, drill, 80_000, Time::ZERO);
            assert!(two.iter().max().expect("ports") - 10_000 <= 3, "{drill:?} {two:?}");
        }
    }

    /// Of equal queues none is preferred, whatever is remembered: an idle switch uses all of its ports.
    #[test]
    fn drill_prefers_no_port_while_queues_are_empty() {
        for drill in [(2, 0), (2, 1), (1, 2)] {
            let (mut balancer, mut rng) = (balancer(Ecmp::Drill, drill), stream(7, Purpose::Forwarders, 3));
            let mut counts = [0; 8];
            for _ in 0..8000 {
                counts[usize::from(balancer.choose(&PORTS, (3, DST), Time::ZERO, |_| 0, &mut rng)) - 1] += 1;
            }
            // Memory makes runs of a port, and so the variance twice to three times that of independent draws.
            assert!(unevenness(&counts) < 3.0 * 24.3, "{drill:?} {counts:?}");
        }
    }

    /// Against a search of its own: the port has the least load of what may have been compared.
    #[test]
    fn drill_takes_no_port_that_is_longer_than_what_it_remembers() {
        let (mut balancer, mut rng) = (balancer(Ecmp::Drill, (2, 1)), stream(3, Purpose::Forwarders, 1));
        let mut loads: Vec<u64> = (0..9).map(|i| 1000 * i).collect();
        let mut least_seen = u64::MAX;
        for _ in 0..200 {
            let port = balancer.choose(&PORTS, (3, DST), Time::ZERO, |port| loads[usize::from(port)], &mut rng);
            let load = loads[usize::from(port)];
            assert!(load <= least_seen, "queues that stay: never a longer one than before");
            least_seen = load;
        }
        assert_eq!(least_seen, 1000, "in the end the shortest of all");
        loads[1] = 10_000;
        let next = balancer.choose(&PORTS, (3, DST), Time::ZERO, |port| loads[usize::from(port)], &mut rng);
        assert!(next != 1, "what is remembered is looked at again");
    }

    #[test]
    fn what_is_remembered_must_still_lead_there() {
        for ecmp in [Ecmp::LetFlow, Ecmp::Drill] {
            let (mut balancer, mut rng) = (balancer(ecmp, (1, 1)), stream(5, Purpose::Forwarders, 2));
            for choices in [&PORTS[..2], &PORTS[4..6], &PORTS[2..]].into_iter().cycle().take(60) {
                let port = balancer.choose(choices, (3, DST), Time::ZERO, u64::from, &mut rng);
                assert!(choices.contains(&port), "{ecmp:?}: {port} of {choices:?}");
            }
        }
    }
}
