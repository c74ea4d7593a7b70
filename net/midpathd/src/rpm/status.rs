//! Current status of RPM.

#![expect(clippy::disallowed_methods, reason = "it shows the kernel's counters over time")]

use std::io::Write;
use std::time::{Duration, Instant};

use midpath_ebpf::{Aqm, Config, Mode, Params, RegisterFlags, Registers, Running, Stats, TICK_NS, sojourn_bounds_ns};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{Error, Tried};
use crate::net::{Link, Net, QdiscStats};
use crate::quantity::{show_bytes, show_rate, show_time};
use crate::rpm::find::{Pair, asked, pairs};
use crate::rpm::settings::ETHERNET_BYTES;

/// One device.
#[derive(Debug)]
pub struct Status {
    /// Its name.
    pub device: String,
    /// What runs there; `None` if only parts of it are there.
    pub active: Option<Active>,
}

/// What runs on a device.
#[derive(Debug)]
pub struct Active {
    /// The algorithm's parameters.
    pub params: Params,
    /// The shaper's rate.
    pub rate_bps: u64,
    /// What may wait.
    pub buffer_bytes: u64,
    /// What was counted.
    pub stats: Stats,
    /// The shaper's.
    pub queue: QdiscStats,
    /// The registers.
    pub registers: RegisterCounts,
    /// How long signals have waited for an ACK on average.
    pub signal_wait_ns: Option<u64>,
    /// What is no longer as it was when RPM was turned on, a sentence each.
    pub changed: Vec<String>,
}

/// The registers, counted.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct RegisterCounts {
    /// How many there are.
    pub total: u64,
    /// Kernel memory that they take.
    pub bytes: u64,
    /// Registers whose flow is alive.
    pub owned: u64,
    /// Registers with signals that wait.
    pub waiting: u64,
    /// The signals that wait.
    pub signals: u64,
    /// Flows that fell back to forward marking.
    pub fallen: u64,
    /// Flows that do AccECN.
    pub accecn: u64,
}

impl RegisterCounts {
    fn of(running: &Running, params: &Params) -> Result<RegisterCounts, Error> {
        let sizes = running.sizes()?;
        let mut counts =
            RegisterCounts { total: sizes.registers / sizes.register, bytes: sizes.registers, ..Default::default() };
        let registers = running.registers()?;
        // Now, and not before: programs write the time of what they see meanwhile.
        let now = (clock_ns() / TICK_NS) as u32;
        for register in registers {
            counts.waiting += u64::from(register.count > 0);
            counts.signals += u64::from(register.count);
            // Plain registers have no owner.
            if register.tag == 0 || now.wrapping_sub(register.seen) > params.age_ticks {
                continue;
            }
            counts.owned += 1;
            counts.fallen += u64::from(register.flags & RegisterFlags::FALLEN != 0);
            counts.accecn += u64::from(register.flags & RegisterFlags::ACCECN != 0);
        }
        if params.aggregate {
            let together = u64::from(running.port()?.together);
            counts.waiting += u64::from(together > 0);
            counts.signals += together;
        }
        Ok(counts)
    }
}

/// The clock that the programs read.
fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// All devices, or one.
pub fn status_of(net: &mut Net, device: Option<&str>) -> Result<Vec<Status>, Error> {
    let links = net.links().tried(|| "cannot list devices".into())?;
    let mut found = Vec::new();
    for pair in asked(pairs(net)?, &links, device)? {
        let link = links.iter().find(|link| link.index == pair.device_index);
        found.push(Status { device: pair.device.clone(), active: active(net, &pair, link)? });
    }
    Ok(found)
}

/// What has become of a device since RPM was turned on, as far as RPM does not follow by itself.
fn changed(link: Option<&Link>, config: &Config) -> Vec<String> {
    let Some(link) = link else { return Vec::new() };
    let (name, mtu) = (config.device_name(), config.params.mtu_bytes().saturating_sub(ETHERNET_BYTES));
    let renamed = (link.name != name).then(|| format!("the device is now named {}", link.name));
    let longer = (u64::from(link.mtu) != mtu).then(|| {
        let what = if u64::from(link.mtu) > mtu { "; longer packets pass unshaped" } else { "" };
        format!("the MTU was {mtu} at `up` and is now {}{what}; run up again", link.mtu)
    });
    renamed.into_iter().chain(longer).collect()
}

fn active(net: &mut Net, pair: &Pair, link: Option<&Link>) -> Result<Option<Active>, Error> {
    let Some(running) = pair.running(net)? else { return Ok(None) };
    let config = running.config()?;
    let params = Params::from(config.params);
    let queue = net.shaper_stats(pair.queue.index).tried(|| "cannot list qdiscs".into())?;
    let (stats, registers) = (running.stats()?, RegisterCounts::of(&running, &params)?);
    Ok(Some(Active {
        params,
        rate_bps: config.rate_bps,
        buffer_bytes: config.buffer_bytes,
        signal_wait_ns: stats.signal_wait_ns(registers.signals, clock_ns()),
        stats,
        queue: queue.unwrap_or_default(),
        registers,
        changed: changed(link, &config),
    }))
}

/// The names that the command line has for them.
pub fn aqm_name(aqm: Aqm) -> &'static str {
    match aqm {
        Aqm::Step => "step",
        Aqm::Codel => "codel",
        Aqm::CodelDataplane => "codel-dataplane",
    }
}

/// The names that the command line has for them.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Off => "off",
        Mode::Fwd => "fwd",
        Mode::Rpm => "rpm",
        Mode::Both => "both",
    }
}

impl Status {
    /// For machines.
    pub fn to_json(&self) -> Value {
        let Some(active) = &self.active else {
            return json!({"device": self.device, "active": false});
        };
        let p = &active.params;
        let counters: Map<String, Value> =
            active.stats.counters().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let quantile = |q| active.stats.sojourn_quantile_ns(q);
        let histogram: Vec<Value> = (0..)
            .zip(active.stats.sojourn)
            .filter(|(_, packets)| *packets > 0)
            .map(|(bucket, packets)| json!([sojourn_bounds_ns(bucket).0, sojourn_bounds_ns(bucket).1, packets]))
            .collect();
        json!({
            "device": self.device,
            "active": true,
            "rate_bps": active.rate_bps,
            "buffer_bytes": active.buffer_bytes,
            "aqm": aqm_name(p.aqm),
            "target_ns": p.target_ns,
            "interval_ns": p.interval_ns,
            "mode": mode_name(p.mode),
            "registers_kind": if p.registers == Registers::Plain { "plain" } else { "guarded" },
            "aggregate": p.aggregate,
            "ack_timeout_ns": u64::from(p.age_ticks) * TICK_NS,
            "register_max": p.register_max,
            "window_mib": p.window_mib,
            "counters": counters,
            "queue": {
                "drops": active.queue.drops,
                "backlog_bytes": active.queue.backlog_bytes,
                "backlog_packets": active.queue.backlog_packets,
            },
            "sojourn": {"p50_ns": quantile(0.5), "p95_ns": quantile(0.95), "p99_ns": quantile(0.99), "histogram": histogram},
            "registers": active.registers,
            "signal_wait_ns": active.signal_wait_ns,
            "changed": active.changed,
        })
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let Some(active) = &self.active else {
            return format!("{}: half set up or half removed; run up again, or down\n", self.device);
        };
        let (p, s, r) = (&active.params, &active.stats, &active.registers);
        let interval =
            if p.aqm == Aqm::Step { String::new() } else { format!(", interval {}", show_time(p.interval_ns)) };
        let quantile = |q| s.sojourn_quantile_ns(q).map_or_else(|| "–".to_owned(), show_time);
        let mut text = format!(
            "{}: {}, {} target {}{interval}, mode {}{}{}\n",
            self.device,
            show_rate(active.rate_bps),
            aqm_name(p.aqm),
            show_time(p.target_ns),
            mode_name(p.mode),
            if p.aggregate { ", one register for all" } else { "" },
            if p.registers == Registers::Plain { ", plain registers" } else { "" },
        );
        let mut line = |label: &str, what: String| text += &format!("  {label:<10} {what}\n");
        line("sent", format!("{} packets, {}", s.packets, show_bytes(s.bytes)));
        line("waited", format!("p50 {}, p95 {}, p99 {}", quantile(0.5), quantile(0.95), quantile(0.99)));
        line("queue", format!("{} now, {} refused", show_bytes(active.queue.backlog_bytes.into()), active.queue.drops));
        line(
            "signals",
            format!("{}: {} to registers, {} CE, {} dropped", s.signals, s.counted, s.marked_ce, s.dropped),
        );
        line("forward", format!("{} no ACKs here, {} collisions, {} AccECN", s.no_acks, s.collisions, s.accecn));
        let wait = active
            .signal_wait_ns
            .map_or_else(String::new, |ns| format!("; signals waited {} for an ACK", show_time(ns)));
        line("ACKs", format!("{} with ECE set of {} returned packets{wait}", s.marked_ece, s.returned));
        line(
            "registers",
            format!(
                "{} of {} in use ({}), {} signals wait, {} flows fell back, {} signals aged",
                r.owned,
                r.total,
                show_bytes(r.bytes),
                r.signals,
                r.fallen,
                s.aged
            ),
        );
        active.changed.iter().for_each(|what| line("changed", what.clone()));
        if s.too_long > 0 {
            line("too long", format!("{} packets passed unshaped", s.too_long));
        }
        if s.strange + s.return_strange > 0 {
            line(
                "strange",
                format!("{} signals and {} ACKs outside their flows' windows", s.strange, s.return_strange),
            );
        }
        if s.unstamped + s.foreign + s.failed > 0 {
            line("odd", format!("{} unstamped, {} foreign, {} marks refused", s.unstamped, s.foreign, s.failed));
        }
        text
    }
}

/// Prints the status, once or again and again.
pub fn watch(net: &mut Net, device: Option<&str>, json: bool, every: Option<Duration>) -> Result<(), Error> {
    let begin = Instant::now();
    for round in 1u32.. {
        let found = status_of(net, device)?;
        let mut out = std::io::stdout().lock();
        let written = if json {
            let all: Vec<Value> = found.iter().map(Status::to_json).collect();
            let text = json!({"time_s": clock_ns() as f64 / 1e9, "devices": all}).to_string();
            writeln!(out, "{text}")
        } else if found.is_empty() {
            writeln!(out, "RPM is off")
        } else {
            out.write_all(found.iter().map(Status::to_text).collect::<String>().as_bytes())
        };
        if written.and_then(|()| out.flush()).is_err() {
            // Whoever read it has seen enough.
            return Ok(());
        }
        let Some(every) = every else { return Ok(()) };
        // By the start, not by the last line: a minute of seconds has sixty lines.
        std::thread::sleep((every * round).saturating_sub(begin.elapsed()));
    }
    Ok(())
}
