//! Translates queues of scenarios into Linux qdiscs.

use midpath_core::queue::{
    AqmSpec, CakeParams, CodelParams, Isolation, PieParams, QueueSpec, SchedulerSpec, SignalSpec,
};
use midpath_core::units::{Rate, Time};

/// What follows `tc qdisc add … parent …` for the same queue at a port of this rate; none if Linux 6.1 has none that
/// does the same. Where Linux counts packets and the scenario bytes, it is full packets.
pub fn of(queue: &QueueSpec, rate: Rate, mtu: u32) -> Option<String> {
    let bound = queue.limit.bound(rate);
    let in_bytes = bound.packets == u64::MAX;
    let packets = if in_bytes { (bound.bytes / u64::from(mtu)).max(1) } else { bound.packets };
    let signal = match queue.signal {
        SignalSpec::Ce => "ecn",
        SignalSpec::Drop => "noecn",
    };
    let fair = match queue.scheduler {
        SchedulerSpec::Fifo => None,
        SchedulerSpec::Fq { quantum } => Some(quantum),
        SchedulerSpec::Drr { .. } => return None,
    };
    match (queue.aqm, fair) {
        (AqmSpec::DropTail, None) if in_bytes => Some(format!("bfifo limit {}", bound.bytes)),
        (AqmSpec::DropTail, None) => Some(format!("pfifo limit {packets}")),
        (AqmSpec::Codel(CodelParams { target, interval }), fair) => {
            let (name, quantum) = fair.map_or(("codel", String::new()), |q| ("fq_codel", format!("quantum {q} ")));
            let (target, interval) = (time(target), time(interval));
            Some(format!("{name} limit {packets} {quantum}target {target} interval {interval} {signal}"))
        }
        (AqmSpec::Pie(params), fair) => {
            let (name, quantum) = fair.map_or(("pie", String::new()), |q| ("fq_pie", format!("quantum {q} ")));
            // Linux has no say in the rest.
            let usual = params == PieParams { target: params.target, ..PieParams::default() };
            usual.then(|| format!("{name} limit {packets} {quantum}target {} {signal}", time(params.target)))
        }
        (AqmSpec::Cake(params), _) if queue.signal == SignalSpec::Ce => Some(cake(&params, bound.bytes)),
        _ => None,
    }
}

/// Linux marks what is ECN-capable. Without a rate the laboratory adds the link's.
fn cake(params: &CakeParams, limit: u64) -> String {
    let isolation = match params.isolation {
        Isolation::Flows => "flows",
        Isolation::DualSource => "dual-srchost",
        Isolation::DualDestination => "dual-dsthost",
        Isolation::Triple => "triple-isolate",
    };
    let rate = params.rate.map(|rate| format!(" bandwidth {}bit", rate.0)).unwrap_or_default();
    let rtt = time(params.interval);
    format!("cake besteffort {isolation}{rate} overhead {} rtt {rtt} memlimit {limit}", params.overhead)
}

fn time(time: Time) -> String {
    format!("{}us", time.as_ns() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use midpath_schemes::Catalogue;
    use midpath_sim::{RunOptions, prepare};

    use super::*;

    /// The queue of a port of 12 Mbps.
    fn of_port(queue: &str) -> Option<String> {
        let text = format!(
            "topology.links = [{{ a = \"a\", b = \"b\", rate = \"12 Mbps\", delay = \"5 ms\" }}]\n\
             flow = [{{ from = \"a\", to = \"b\" }}]\nstop = \"1 s\"\nqueue = {{ {queue} }}"
        );
        let setup = prepare(&text, Path::new("."), &RunOptions::default(), &Catalogue::standard()).expect(&text);
        of(&setup.queue_before(0, 0), Rate::from_mbps(12), 1500)
    }

    #[test]
    fn what_linux_has_is_asked_for_in_its_words() {
        let says = |queue: &str| of_port(queue).unwrap_or_default();
        // 50 ms of 12 Mbps.
        assert_eq!(says(""), "bfifo limit 75000");
        assert_eq!(says("limit = \"9 packets\""), "pfifo limit 9");
        let codel = says("kind = \"codel\", target = \"1500 us\", limit = \"30 kB\"");
        assert_eq!(codel, "codel limit 20 target 1500us interval 100000us ecn");
        let fair = says("kind = \"codel\", scheduler = \"fq\", signal = \"drop\", limit = \"1000 packets\"");
        assert_eq!(fair, "fq_codel limit 1000 quantum 1500 target 5000us interval 100000us noecn");
        assert_eq!(says("kind = \"pie\", limit = \"90 packets\""), "pie limit 90 target 15000us ecn");
        assert!(says("kind = \"pie\", scheduler = \"fq\"").starts_with("fq_pie limit 50 quantum 1500 target"));
    }

    #[test]
    fn what_linux_has_not_is_ours() {
        let other = [
            "kind = \"step\", threshold = \"9 packets\"",
            "kind = \"dualpi2\"",
            "kind = \"red\"",
            "kind = \"codel\", scheduler = \"drr\"",
            "kind = \"codel\", variant = \"data-plane\"",
            "kind = \"pie\", burst = \"1 ms\"",
            "scheduler = \"fq\"",
        ];
        assert_eq!(other.map(of_port), [const { None }; 7]);
    }
}
