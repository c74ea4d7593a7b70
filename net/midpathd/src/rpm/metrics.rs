//! The Prometheus endpoint.

use crate::error::Error;
use crate::metrics::{self, Text};
use crate::net::Net;
use crate::rpm::reader::{self, Reader, give_up_rights};
use crate::rpm::status::{Active, Status, mode_name, status_of};
use midpath_ebpf::{SOJOURN_BUCKETS, sojourn_bounds_ns};

/// Name, help, value.
type Metric<T> = (&'static str, &'static str, fn(&Active) -> T);

/// Counters.
const COUNTERS: [Metric<u64>; 22] = [
    ("packets", "Packets through the queue.", |a| a.stats.packets),
    ("bytes", "Bytes through the queue.", |a| a.stats.bytes),
    ("queue_drops", "Packets dropped because the queue was full.", |a| a.queue.drops.into()),
    ("signals", "Packets selected by the AQM.", |a| a.stats.signals),
    ("counted", "Signals counted in a register.", |a| a.stats.counted),
    ("saturated", "Signals not counted because the register was full.", |a| a.stats.saturated),
    ("marked_ce", "CE marks set in data packets.", |a| a.stats.marked_ce),
    ("marked_ece", "ACKs sent with ECE for a signal.", |a| a.stats.marked_ece),
    ("dropped", "Packets dropped by the AQM because they are not ECT.", |a| a.stats.dropped),
    ("spared", "Signals without effect: SYN, RST, CE already set, or not IP.", |a| a.stats.spared),
    ("collisions", "Signals sent forward as CE: the register belongs to another flow.", |a| a.stats.collisions),
    ("no_acks", "Signals sent forward as CE: no ACK came back.", |a| a.stats.no_acks),
    ("accecn", "Signals sent forward as CE: the flow uses AccECN.", |a| a.stats.accecn),
    ("strange", "Signals sent forward as CE: the packet is outside its flow's window.", |a| a.stats.strange),
    ("aged", "Signals expired without an ACK.", |a| a.stats.aged),
    ("flows", "Flows that claimed a register.", |a| a.stats.claimed),
    ("flows_fallen", "Flows that fell back to forward marking.", |a| a.stats.fallen),
    ("returned", "TCP packets of the return direction.", |a| a.stats.returned),
    ("returned_strange", "ACKs outside their flow's window; they carry no signal.", |a| a.stats.return_strange),
    ("too_long", "Packets longer than the MTU at the time RPM was turned on; they pass unshaped.", |a| {
        a.stats.too_long
    }),
    ("foreign", "Packets sent into the internal veth pair by other programs.", |a| a.stats.foreign),
    ("failures", "Packets without a timestamp, and marks refused by the kernel.", |a| {
        a.stats.unstamped + a.stats.failed
    }),
];

/// Gauges.
const GAUGES: [Metric<f64>; 9] = [
    ("rate_bits_per_second", "The shaper's rate.", |a| a.rate_bps as f64),
    ("backlog_bytes", "Bytes in the queue.", |a| a.queue.backlog_bytes.into()),
    ("registers", "Registers in total.", |a| a.registers.total as f64),
    ("registers_bytes", "Kernel memory of the registers.", |a| a.registers.bytes as f64),
    ("registers_owned", "Registers owned by a flow.", |a| a.registers.owned as f64),
    ("registers_signals", "Signals waiting for an ACK.", |a| a.registers.signals as f64),
    ("signal_wait_seconds", "Mean wait of signals for an ACK, since RPM was turned on.", |a| {
        a.signal_wait_ns.unwrap_or(0) as f64 / 1e9
    }),
    ("registers_fallen", "Flows that fell back to forward marking.", |a| a.registers.fallen as f64),
    ("registers_accecn", "Flows that use AccECN.", |a| a.registers.accecn as f64),
];

/// The Prometheus text format.
pub fn render(found: &[Status]) -> String {
    let mut text = Text::new("midpath_rpm");
    let active = || found.iter().filter_map(|status| Some((&*status.device, status.active.as_ref()?)));
    text.head("up", "gauge", "1 if RPM runs on the device.");
    for status in found {
        text.line("up", &[("device", &status.device)], u8::from(status.active.is_some()));
    }
    text.head("mode", "gauge", "1 for the current mode.");
    for (device, a) in active() {
        text.line("mode", &[("device", device), ("mode", mode_name(a.params.mode))], 1);
    }
    for (name, help, value) in GAUGES {
        text.head(name, "gauge", help);
        active().for_each(|(device, a)| text.line(name, &[("device", device)], value(a)));
    }
    for (name, help, value) in COUNTERS {
        let name = format!("{name}_total");
        text.head(&name, "counter", help);
        active().for_each(|(device, a)| text.line(&name, &[("device", device)], value(a)));
    }
    text.head("sojourn_seconds", "histogram", "Sojourn time in the queue.");
    active().for_each(|(device, a)| {
        let sum = a.stats.sojourn_sum_ns as f64 / 1e9;
        text.histogram("sojourn_seconds", &[("device", device)], doublings(a), Some(sum));
    });
    text.done()
}

/// One bucket for each doubling: what is finer stays in `status --json`.
fn doublings(active: &Active) -> impl Iterator<Item = (Option<f64>, u64)> {
    active.stats.sojourn.chunks(8).enumerate().map(|(i, chunk)| {
        let last = 8 * i + chunk.len() - 1;
        let bound = (last + 1 < SOJOURN_BUCKETS).then(|| sojourn_bounds_ns(last).1 as f64 / 1e9);
        (bound, chunk.iter().sum())
    })
}

/// Answers `GET /metrics` until the process is ended, without rights of its own.
pub fn serve(listen: &str) -> Result<(), Error> {
    let listener = metrics::listen(listen)?;
    let mut reader = Reader::start()?;
    give_up_rights()?;
    metrics::serve(&listener, || reader.page())
}

/// Reads for a process that serves.
pub fn read(net: &mut Net) -> Result<(), Error> {
    reader::read(|| Ok(render(&status_of(net, None)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::QdiscStats;
    use crate::rpm::status::RegisterCounts;
    use midpath_ebpf::{Aqm, Mode, Params, Registers, Stats};

    fn active() -> Active {
        let mut stats = Stats { packets: 3, sojourn_sum_ns: 2_500_000, ..Stats::default() };
        stats.sojourn[0] = 1;
        stats.sojourn[9] = 2;
        let params = Params {
            aqm: Aqm::Codel,
            target_ns: 0,
            interval_ns: 0,
            mtu_bytes: 0,
            mode: Mode::Rpm,
            registers: Registers::Guarded,
            aggregate: false,
            age_ticks: 0,
            register_max: 1,
            window_mib: 0,
        };
        let (queue, registers) = (QdiscStats::default(), RegisterCounts::default());
        Active {
            params,
            rate_bps: 5,
            buffer_bytes: 0,
            stats,
            queue,
            registers,
            signal_wait_ns: Some(7_000_000),
            changed: Vec::new(),
        }
    }

    #[test]
    fn a_scrape_reads_as_prometheus_wants_it() {
        let found =
            [Status { device: "eth0".into(), active: Some(active()) }, Status { device: "e\"1".into(), active: None }];
        let text = render(&found);
        assert!(text.contains("midpath_rpm_up{device=\"eth0\"} 1\nmidpath_rpm_up{device=\"e\\\"1\"} 0\n"));
        assert!(text.contains("midpath_rpm_packets_total{device=\"eth0\"} 3\n"));
        // Buckets are cumulative: 2048 ns end the first eight, 4096 ns the next.
        assert!(text.contains("bucket{device=\"eth0\",le=\"0.000002048\"} 1\n"));
        assert!(text.contains("bucket{device=\"eth0\",le=\"0.000004096\"} 3\n"));
        assert!(text.contains("bucket{device=\"eth0\",le=\"+Inf\"} 3\n"));
        for line in text.lines() {
            assert!(line.starts_with("# ") || line.starts_with("midpath_rpm_"), "{line}");
        }
    }
}
