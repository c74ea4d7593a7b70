//! The three event loops of a node: they deliver arrivals and timers, and differ in how they find the next arrival.
//! When each runs, and how equality is tested: `crates/sim/src/engine/README.md`.

use midpath_core::node::{Node, Woken};
use midpath_core::packet::{Pool, PortId};
use midpath_core::roles::Transmitter;
use midpath_core::units::Time;

use super::Event;
use super::arrival_heap::{ArrivalHeap, Arrivals};
use super::arrival_list::ArrivalList;
use super::driver::{NodeDriver, Tracing};
use super::next_arrivals::{FEW, MANY};
use super::rings::Entry;
use super::tally::FlowFate;
use super::wire::Wire;

/// Up to this many links those that bring something stand in a list; above, in a heap. Whose links are indexed has one.
const FEW_LINKS: u32 = FEW as u32;

/// How a node finds its next arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    Merge,
    List,
    Heap,
}

impl Loop {
    /// That of a node with so many links.
    #[inline(always)]
    fn of(links: u32) -> Loop {
        #[cfg(test)]
        if let Some(forced) = tests::FORCED.get() {
            return forced;
        }
        match links {
            1 | 2 => Loop::Merge,
            0..=FEW_LINKS => Loop::List,
            _ => Loop::Heap,
        }
    }
}

/// The loops that run a node. They return when something happens to it next. Each is a function of
/// its own: in one for all, more registers are spilt.
impl<T: Tracing> NodeDriver<'_, T> {
    /// Gives a node everything that happens to it before `horizon`. Its rings are those from
    /// `first` to before `last`.
    #[inline]
    pub fn run(
        &mut self,
        node: &mut Node,
        pool: &mut Pool,
        first: u32,
        last: u32,
        horizon: Time,
        (list, heap): (&mut ArrivalList, &mut ArrivalHeap),
    ) -> Time {
        let next = match Loop::of(last - first) {
            Loop::Merge => self.run_by_merge(node, pool, first, last, horizon),
            Loop::List => self.run_by_list(node, pool, (first, last), horizon, list),
            Loop::Heap => self.run_by_heap(node, pool, first, last, horizon, heap),
        };
        self.common.tally.last_arrival = self.common.tally.last_arrival.max(self.arrived);
        next
    }

    /// One link or two: while one brings packets before the other, it goes on.
    #[inline(never)]
    fn run_by_merge(&mut self, node: &mut Node, pool: &mut Pool, first: u32, last: u32, horizon: Time) -> Time {
        loop {
            let (mut at, mut ring, mut other) = (self.common.rings.next_arrival(first), first, Time::MAX);
            if first + 1 < last {
                other = self.common.rings.next_arrival(first + 1);
                if other < at {
                    (at, ring, other) = (other, first + 1, at);
                }
            }
            let wake = node.next_wake();
            if at.min(wake) >= horizon {
                return at.min(wake);
            }
            if wake < at {
                self.wake(node, pool, wake);
                continue;
            }
            // Nothing new comes to the other one meanwhile, and a tie is compared again.
            let others = other.min(horizon);
            while let Some((entry, next)) = self.common.rings.pop(ring, pool) {
                self.arrival(node, pool, (first, ring), at, entry);
                if next >= others || node.next_wake() < next {
                    break;
                }
                at = next;
            }
        }
    }

    /// Three to 32 links: a list of those that bring something before `horizon`, filled once.
    #[inline(never)]
    fn run_by_list(
        &mut self,
        node: &mut Node,
        pool: &mut Pool,
        (first, last): (u32, u32),
        horizon: Time,
        list: &mut ArrivalList,
    ) -> Time {
        list.clear();
        let beyond =
            self.common.rings.next_arrivals_mut().take_before(first, last, horizon, |link, at| list.insert(link, at));
        self.run_through(node, pool, first, horizon, list, beyond)
    }

    /// Runs a node until `horizon`, before which these links bring something; the others bring nothing before `beyond`.
    /// Returns when it has something to do next.
    #[inline(always)]
    fn run_through<A: Arrivals>(
        &mut self,
        node: &mut Node,
        pool: &mut Pool,
        first: u32,
        horizon: Time,
        arrivals: &mut A,
        mut beyond: Time,
    ) -> Time {
        // Ties go to the lower port: the order is total.
        while let Some((at, ring)) = arrivals.first() {
            let wake = node.next_wake();
            if wake < at {
                self.wake(node, pool, wake);
                continue;
            }
            let Some((entry, next)) = self.common.rings.pop(ring, pool) else { break };
            if next < horizon {
                arrivals.replace_first(next);
            } else {
                if A::INDEXED {
                    self.common.rings.next_arrivals_mut().index_arrival(ring, next);
                }
                beyond = beyond.min(next);
                arrivals.pop();
            }
            self.arrival(node, pool, (first, ring), at, entry);
        }
        while node.next_wake() < horizon {
            let wake = node.next_wake();
            self.wake(node, pool, wake);
        }
        beyond.min(node.next_wake())
    }

    /// More links: a heap of those that bring something before `horizon`, filled once.
    #[inline(never)]
    fn run_by_heap(
        &mut self,
        node: &mut Node,
        pool: &mut Pool,
        first: u32,
        last: u32,
        horizon: Time,
        heap: &mut ArrivalHeap,
    ) -> Time {
        let many = (last - first) as usize > MANY;
        heap.clear();
        let beyond =
            self.common.rings.next_arrivals_mut().take_before(first, last, horizon, |link, at| heap.push(link, at));
        heap.heapify();
        if many && heap.links().len() > 1 {
            // None of it is in the cache: one wait for all rings, not one for each.
            heap.links().for_each(|ring| self.common.rings.fetch_ring(ring));
            heap.links().for_each(|ring| self.common.rings.fetch_front(ring));
            heap.links().for_each(|ring| self.common.rings.fetch_packet(ring, pool));
        }
        self.run_through(node, pool, first, horizon, heap, beyond)
    }

    /// A packet has come over one of the node's rings, the first of which is `first`.
    #[inline(always)]
    fn arrival(&mut self, node: &mut Node, pool: &mut Pool, (first, ring): (u32, u32), at: Time, entry: Entry) {
        (self.now, self.arrived) = (at, at);
        self.common.tally.events += 1;
        if entry.corrupt() {
            return self.drop_corrupted(pool, (first, ring), entry);
        }
        let (port, pkt) = (PortId((ring - first) as u16), entry.take(pool));
        if T::ON {
            let at = self.at(Some(port));
            if let Some(trace) = self.tracing.trace() {
                trace.packet(at, pkt.id(), &pool[&pkt], "arrived", f64::NAN);
            }
        }
        node.on_packet(at, port, pkt, pool, self);
    }

    #[cold]
    fn drop_corrupted(&mut self, pool: &mut Pool, (first, ring): (u32, u32), entry: Entry) {
        self.common.rings.count_corrupted(ring);
        self.common.tally.corrupted += 1;
        let (at, pkt) = (self.at(Some(PortId((ring - first) as u16))), entry.take(pool));
        if let Some(trace) = self.tracing.trace() {
            trace.packet_why(at, pkt.id(), &pool[&pkt], ("dropped", "corrupted"), f64::NAN);
            trace.forget(pkt.id());
        }
        let packet = pool.take(pkt);
        let fate = self.common.fates.entry(packet.flow).or_default();
        fate.add(FlowFate { corrupted: 1, datagrams: packet.stamped().is_some().into(), ..FlowFate::default() });
    }

    fn wake(&mut self, node: &mut Node, pool: &mut Pool, at: Time) {
        self.now = at;
        self.common.tally.events += 1;
        if let Woken::Driver(token) = node.on_wake(at, pool, self) {
            self.event(node, pool, token, at);
        }
    }

    /// What the scenario has in store for a node.
    #[cold]
    fn event(&mut self, node: &mut Node, pool: &mut Pool, token: u32, at: Time) {
        match self.common.events[token as usize] {
            Event::Up(port, up) => {
                self.trace_link_event(Some(port), if up { "link up" } else { "link down" }, f64::NAN);
                self.wires[usize::from(port.0)].line.set_up(up);
                node.on_link(port, at, pool, self);
                if up && self.wires[usize::from(port.0)].gathers() {
                    node.ask_for_frame(port, at);
                }
            }
            Event::Rate(port, [rate, back]) => {
                self.trace_link_event(Some(port), "link rate", rate.as_f64());
                self.wires[usize::from(port.0)].line.set_rate(rate);
                node.set_reverse_rate(port, back);
                node.set_rate(port, rate, at, pool, self);
            }
            Event::Routes(state) => {
                self.trace_link_event(None, "other routes", f64::NAN);
                let down = |(_, wire): &(usize, &Wire)| wire.line.state(at) == Transmitter::Busy { until: None };
                let down = self.wires.iter().enumerate().filter(down).map(|(p, _)| PortId(p as u16));
                let down: Vec<PortId> = down.collect();
                node.on_routes(state, &down, at, pool, self);
            }
            Event::Restart => {
                self.trace_link_event(None, "restart", f64::NAN);
                node.restart(at, pool, self);
            }
        }
    }

    /// Records what happens to a link or to the node.
    fn trace_link_event(&mut self, port: Option<PortId>, what: &'static str, value: f64) {
        let at = self.at(port);
        if let Some(trace) = self.tracing.trace() {
            trace.place(at, what, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::Path;

    use super::Loop;
    use crate::{RunOptions, run_text};

    thread_local! {
        /// The loop that all nodes of this thread's runs take.
        pub static FORCED: Cell<Option<Loop>> = const { Cell::new(None) };
    }

    /// A hub with 40 equal links, so that packets arrive at the same time on several, and a router
    /// with four; its ports are held, the hub's have a timetable.
    fn scenario() -> String {
        let mut text = String::from(
            "stop = \"2 s\"\n[queues.fair]\nkind = \"codel\"\nscheduler = \"drr\"\n[[deploy]]\nscheme = \"none\"\nnodes = [\"r\"]\nqueue = \"fair\"\n[topology]\nlinks = [\n",
        );
        let link = |a: &str, b: &str, rate: u32| {
            format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate} Mbps\", delay = \"1 ms\" }},\n")
        };
        (0..39).for_each(|n| text += &link("hub", &format!("s{n}"), 100));
        text += &link("hub", "r", 100);
        (0..3).for_each(|n| text += &link("r", &format!("d{n}"), 20));
        text += "]\n";
        for n in 0..39 {
            text += &format!("[[flow]]\nfrom = \"s{n}\"\nto = \"d{}\"\nsize = \"30 kB\"\n", n % 3);
        }
        text
    }

    /// A datagram more is a timer at its source, and an arrival at the router and at the sink.
    #[test]
    fn each_arrival_and_each_timer_is_one_event() {
        let events = |datagrams: u64| {
            let (size, link) = (1472 * datagrams, "rate = \"10 Mbps\", delay = \"1 ms\"");
            let text = format!(
                "[topology]\nlinks = [{{ a = \"a\", b = \"r\", {link} }}, {{ a = \"r\", b = \"b\", {link} }}]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"udp\"\nrate = \"5 Mbps\"\nsize = \"{size} B\"\n"
            );
            let out = run_text(&text, Path::new("."), &RunOptions::default(), &mut |_| true);
            out.expect("a good scenario").expect("not cancelled").run["events"].as_u64().expect("a number")
        };
        assert_eq!(events(30) - events(10), 20 * 3);
    }

    #[test]
    fn all_three_loops_give_a_node_the_same() {
        let text = scenario();
        let run = |forced| {
            FORCED.set(forced);
            let out = run_text(&text, Path::new("."), &RunOptions::default(), &mut |_| true);
            FORCED.set(None);
            out.expect("a good scenario").expect("not cancelled")
        };
        let usual = run(None);
        assert_eq!(usual.summary("completed"), Some(39.0));
        assert!(run(Some(Loop::List)).repeatable() == usual.repeatable());
        assert!(run(Some(Loop::Heap)).repeatable() == usual.repeatable());
    }
}
