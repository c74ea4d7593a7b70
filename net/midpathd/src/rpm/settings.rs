//! Options of `up`, validated and encoded for the programs.

use midpath_ebpf::{Config, Params, TICK_NS};

use crate::error::Error;
use crate::net::{Link, LinkKind, Shaper};
use crate::quantity::{show_rate, show_time};

/// How much the shaper may send at once after a pause, as time at its rate. Ours: a timer of the
/// kernel that is 100 µs late then costs no throughput, and a pause hides no more than this of the
/// queue.
const BURST_NS: u64 = 250_000;
/// Ethernet's header: what a full packet has on top of the MTU, as the programs count it.
pub(super) const ETHERNET_BYTES: u64 = 14;
/// With one VLAN tag.
const LINK_BYTES: u64 = ETHERNET_BYTES + 4;
/// The programs find a segment's length by its data and the longest header that there is; more than
/// its own by this at most.
const HEADER_SLACK: u64 = 142 - ETHERNET_BYTES - 20 - 20;
/// 2²⁴ registers take 256 MB.
const MOST_FLOWS: u32 = 1 << 24;

/// The shaper that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bits per second.
    pub rate_bps: u64,
    /// How long a packet may wait at most.
    pub buffer_ns: u64,
}

/// What `up` was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The shaper's.
    pub shape: Shape,
    /// The algorithm's; its `mtu_bytes` is the device's.
    pub params: Params,
    /// Registers, rounded up to a power of two.
    pub flows: u32,
}

impl Settings {
    /// Says what is wrong with them.
    pub fn check(&self) -> Result<(), Error> {
        let Settings { shape, params, flows } = self;
        let usage = |text: String| Err(Error::Usage(text));
        if !(8_000..=1_000_000_000_000).contains(&shape.rate_bps) {
            return usage(format!("--rate {}: must be from 8 kbps to 1 Tbps", show_rate(shape.rate_bps)));
        }
        if !(1_000_000..=10_000_000_000).contains(&shape.buffer_ns) {
            return usage(format!("--buffer {}: must be from 1 ms to 10 s", show_time(shape.buffer_ns)));
        }
        if !(1_000..1 << 31).contains(&params.interval_ns) {
            return usage(format!("--interval {}: must be from 1 µs to 2.1 s", show_time(params.interval_ns)));
        }
        if params.target_ns >= shape.buffer_ns {
            let (target, buffer) = (show_time(params.target_ns), show_time(shape.buffer_ns));
            return usage(format!("--target {target} is never reached with --buffer {buffer}; reduce it"));
        }
        if !(1..=MOST_FLOWS).contains(flows) {
            return usage(format!("--flows {flows}: must be from 1 to {MOST_FLOWS}"));
        }
        // A register's clock of 32 bits goes round in 52 days.
        if !(10..1 << 31).contains(&params.age_ticks) {
            return usage("--ack-timeout: must be from 10 ms to 26 days".to_owned());
        }
        if params.register_max == 0 {
            return usage("--register-max: must be from 1 to 65535".to_owned());
        }
        Ok(())
    }

    /// The number of registers.
    pub fn registers(&self) -> u32 {
        self.flows.next_power_of_two()
    }

    /// The shaper for a device.
    pub fn shaper(&self, link: &Link) -> Shaper {
        let in_time = |ns: u64| (u128::from(self.shape.rate_bps) * u128::from(ns) / 8_000_000_000) as u64;
        let packet = u64::from(link.mtu) + LINK_BYTES;
        let burst = in_time(BURST_NS).max(packet + HEADER_SLACK).next_multiple_of(8);
        // The kernel does not count what may leave at once into the limit.
        let limit = in_time(self.shape.buffer_ns).max(2 * packet);
        Shaper {
            rate_bps: self.shape.rate_bps,
            burst_bytes: u32::try_from(burst).unwrap_or(u32::MAX),
            limit_bytes: u32::try_from(limit).unwrap_or(u32::MAX),
        }
    }

    /// All that the programs are told, but for the devices and what is drawn.
    pub fn config(&self, link: &Link) -> Config {
        let shaper = self.shaper(link);
        let mut device = [0; 16];
        for (to, from) in device[..15].iter_mut().zip(link.name.bytes()) {
            *to = from;
        }
        // A full packet as the shaper counts it.
        let params = Params { mtu_bytes: u64::from(link.mtu) + ETHERNET_BYTES, ..self.params };
        Config {
            params: params.into(),
            rate_bps: shaper.rate_bps,
            buffer_bytes: shaper.limit_bytes.into(),
            burst_bytes: shaper.burst_bytes,
            dev_ifindex: link.index,
            register_mask: self.registers() - 1,
            bare: u32::from(link.kind == LinkKind::Bare),
            version: Config::VERSION,
            device,
            ..Config::default()
        }
    }
}

/// Ticks of a register's clock in a time.
pub fn ticks(ns: u64) -> u32 {
    u32::try_from(ns / TICK_NS).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use midpath_ebpf::{Aqm, Mode, Registers};

    use super::*;

    pub fn settings() -> Settings {
        let params = Params {
            aqm: Aqm::Codel,
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
            mtu_bytes: 0,
            mode: Mode::Rpm,
            registers: Registers::Guarded,
            aggregate: false,
            age_ticks: ticks(1_000_000_000),
            register_max: u16::MAX,
            window_mib: 16,
        };
        Settings { shape: Shape { rate_bps: 100_000_000, buffer_ns: 200_000_000 }, params, flows: 65_536 }
    }

    fn link() -> Link {
        Link { index: 7, name: "eth0".into(), alias: String::new(), kind: LinkKind::Ethernet, mtu: 1500 }
    }

    #[test]
    fn a_setting_that_cannot_be_is_named() {
        let wrong = |change: fn(&mut Settings)| {
            let mut settings = settings();
            change(&mut settings);
            let error = settings.check().unwrap_err();
            assert_eq!(error.code(), 2);
            error.to_string()
        };
        assert!(settings().check().is_ok());
        assert!(wrong(|s| s.shape.rate_bps = 0).contains("--rate 0 bps: must be from 8 kbps"));
        assert!(wrong(|s| s.shape.buffer_ns = 0).contains("--buffer"));
        assert!(wrong(|s| s.params.interval_ns = 1 << 31).contains("--interval 2.15 s"));
        assert!(wrong(|s| s.params.target_ns = 200_000_000).contains("--target 200 ms is never reached"));
        assert!(wrong(|s| s.flows = 0).contains("--flows 0"));
        assert!(wrong(|s| s.params.age_ticks = 1).contains("--ack-timeout"));
        assert!(wrong(|s| s.params.age_ticks = u32::MAX).contains("--ack-timeout"));
        assert!(wrong(|s| s.params.register_max = 0).contains("--register-max"));
    }

    #[test]
    fn the_shaper_has_room_for_a_packet_at_any_rate() {
        let mut slow = settings();
        slow.shape.rate_bps = 8_000;
        let shaper = slow.shaper(&link());
        assert!(shaper.burst_bytes >= 1518 && shaper.limit_bytes >= 2 * 1518);
        let usual = settings().shaper(&link());
        assert_eq!((usual.burst_bytes, usual.limit_bytes), (3128, 2_500_000));
    }

    #[test]
    fn registers_are_a_power_of_two() {
        let mut odd = settings();
        odd.flows = 1000;
        assert_eq!(odd.config(&link()).register_mask, 1023);
        assert_eq!(odd.config(&link()).device_name(), "eth0");
    }
}
