//! A router between a source and a sink: CPU per packet, and throughput.

#![expect(clippy::disallowed_methods, reason = "it is real time that is measured")]

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use midpath_core::node::Limits;
use midpath_core::packet::NodeId;
use midpath_core::units::Rate;
use midpath_node::bytes::Windows;
use midpath_node::event_loop::{EventLoop, Links};
use midpath_node::gateway::Gateway;
use midpath_node::gateway::exit::Allowed;
use midpath_node::host::{Host, Settings};
use midpath_node::lateness::Lateness;
use midpath_node::overlay;
use midpath_node::priority::used;
use midpath_node::udp::{Calls, Udp};
use midpath_schemes::Catalogue;
use midpath_sim::RunOptions;
use midpathd::priority;
use serde_json::{Value, json};

use crate::source::{Chain, DATAGRAM, HEADERS, RouterLinks};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Of the router's link.
    pub rate: Rate,
    pub shaped: bool,
    /// Sessions with keys, reports, probes: `midpath_link`. Without it packets are bare.
    pub crypto: bool,
    /// GSO, GRO, and several datagrams a system call.
    pub offload: bool,
    pub real_time: bool,
}

/// What came of it.
pub struct Hop {
    case: Case,
    /// Whether it has real-time priority in the end, and how often it lost that; `None`: not allowed, or
    /// not asked for.
    real_time: Option<(bool, u64)>,
    /// It was given that from outside.
    inherited: bool,
    cpu: Duration,
    time: Duration,
    /// Packets that arrived at the sink.
    arrived: u64,
    forwarded: u64,
    calls: Calls,
    late: Lateness,
    /// What the kernel does.
    segments: usize,
}

/// How long it runs before it is measured; with sessions, until the link's rate has been found.
const WARM_UP: Duration = Duration::from_millis(200);
const SESSION_UP: Duration = Duration::from_millis(2500);

impl Hop {
    pub const HEAD: &str = "| | crypto | GSO/GRO | priority | CPU of a packet-hop, us | Mbps | kept, % | datagrams a call, sent | taken | woken late, us: p50 | p99 |\n|---|---|---|---|---|---|---|---|---|---|---|";

    /// CPU of a packet-hop, in µs; `None` if there was none.
    fn cpu_us(&self) -> Option<f64> {
        (self.forwarded > 0).then(|| self.cpu.as_secs_f64() * 1e6 / self.forwarded as f64)
    }

    fn mbps(&self) -> f64 {
        self.arrived as f64 * f64::from(DATAGRAM) * 8.0 / self.time.as_secs_f64() / 1e6
    }

    /// What the shaper keeps of its rate.
    fn kept(&self) -> Option<f64> {
        self.case.shaped.then(|| 100.0 * self.mbps() * 1e6 / self.case.rate.0 as f64)
    }

    fn priority(&self) -> &'static str {
        match self.real_time {
            Some((_, 0)) => "real-time",
            Some(_) => "real-time, but overloaded",
            None if self.inherited => "real-time, inherited",
            None if self.case.real_time => "normal (real-time is not allowed)",
            None => "normal",
        }
    }

    fn per_call(&self) -> [f64; 2] {
        let of = |datagrams: u64, calls: u64| datagrams as f64 / calls.max(1) as f64;
        [of(self.calls.sent, self.calls.sends), of(self.calls.taken, self.calls.takes)]
    }

    pub fn row(&self) -> String {
        let yes = |is| if is { "yes" } else { "no" };
        let offload = match (self.case.offload, self.segments) {
            (true, 1) => "not in this kernel",
            (is, _) => yes(is),
        };
        let [sent, taken] = self.per_call();
        format!(
            "| {} | {} | {offload} | {} | {} | {:.1} | {} | {sent:.1} | {taken:.1} | {} | {} |",
            if self.case.shaped { "shaped" } else { "saturated" },
            yes(self.case.crypto),
            self.priority(),
            self.cpu_us().map_or("none".into(), |us| format!("{us:.2}")),
            self.mbps(),
            self.kept().map_or(String::new(), |kept| format!("{kept:.2}")),
            self.late.quantile_us(0.5).unwrap_or_default(),
            self.late.quantile_us(0.99).unwrap_or_default(),
        )
    }

    pub fn json(&self) -> Value {
        let [sent, taken] = self.per_call();
        json!({
            "load": if self.case.shaped { "shaped" } else { "saturated" },
            "rate_bps": self.case.shaped.then_some(self.case.rate.0),
            "crypto": self.case.crypto, "offload": self.case.offload, "gso_segments": self.segments,
            "priority": self.priority(), "cpu_us": self.cpu_us(), "cpu_s": self.cpu.as_secs_f64(),
            "seconds": self.time.as_secs_f64(), "forwarded": self.forwarded, "arrived": self.arrived,
            "mbps": self.mbps(), "kept_percent": self.kept(), "datagrams_a_call": {"sent": sent, "taken": taken},
            "late_us_at_most": {"p50": self.late.quantile_us(0.5).unwrap_or_default(), "p99": self.late.quantile_us(0.99).unwrap_or_default()},
        })
    }
}

/// The CPU time of this thread.
fn cpu() -> Duration {
    Duration::from_nanos(used().as_ns())
}

/// Measures one case for so long.
pub fn run(case: Case, time: Duration) -> Result<Hop, Box<dyn Error>> {
    let chain = Chain::new(case)?;
    let Chain { source, router, links, arrived } = chain;
    let host = host(case)?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let feeding = scope.spawn(|| source.run(&over));
        let hop = scope.spawn(|| {
            let hop = match links {
                RouterLinks::Plain(links) => route(case, host, links, router, &arrived, time),
                RouterLinks::Overlay(links) => route(case, host, *links, router, &arrived, time),
            };
            over.store(true, Ordering::Relaxed);
            hop
        });
        let hop = hop.join().expect("the router's thread ends")?;
        feeding.join().expect("the source's thread ends")?;
        Ok(hop)
    })
}

/// The router's thread.
fn route<L: Links>(
    case: Case,
    host: Host,
    links: L,
    router: Udp,
    arrived: &AtomicU64,
    time: Duration,
) -> io::Result<Hop> {
    let arrived = || arrived.load(Ordering::Relaxed);
    let segments = router.offload().sends;
    let inherited = priority::is_real_time();
    let gateway = Gateway::new(Vec::new(), Allowed::default())?;
    let mut event_loop = EventLoop::new(host, links, gateway, router, None)?;
    if case.real_time && !inherited {
        event_loop = event_loop.with_priority(Box::new(priority::change));
    }
    event_loop.run_for(if case.crypto { SESSION_UP } else { WARM_UP })?;
    let (cpu_before, calls, counted, late) = (cpu(), event_loop.calls(), event_loop.counters(), event_loop.lateness());
    let (came, began) = (arrived(), Instant::now());
    event_loop.run_for(time)?;
    let (came, took) = (arrived() - came, began.elapsed());
    Ok(Hop {
        case,
        real_time: event_loop.real_time(),
        inherited,
        cpu: cpu() - cpu_before,
        time: took,
        arrived: came,
        forwarded: event_loop.counters().sent - counted.sent,
        calls: event_loop.calls().since(calls),
        late: event_loop.lateness().since(&late),
        segments,
    })
}

/// The router: the middle node of three.
fn host(case: Case) -> Result<Host, Box<dyn Error>> {
    let rate = case.rate.0;
    let text = format!(
        "scheme = \"udp\"\nqueue = {{ limit = \"1000 packets\" }}\n[topology]\n\
         nodes = [{{ name = \"a\", kind = \"host\" }}, {{ name = \"r\" }}, {{ name = \"b\", kind = \"host\" }}]\n\
         links = [{{ a = \"a\", b = \"r\", rate = \"{rate} bps\", delay = \"1 us\" }},\n\
         {{ a = \"r\", b = \"b\", rate = \"{rate} bps\", delay = \"1 us\" }}]\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n"
    );
    let setup = midpath_sim::prepare(&text, Path::new("."), &RunOptions::default(), &Catalogue::standard())?;
    let router = NodeId(1);
    let node = setup.pulled_network()?.nodes.into_iter().nth(router.0 as usize).expect("a node of three");
    let settings = Settings {
        transport: setup.transport().expect("UDP is one"),
        mtu: DATAGRAM - HEADERS,
        accepts: false,
        windows: Windows::new(1 << 20, 1 << 16),
        limits: Limits::default(),
        first_flow: 0,
        overhead: if case.crypto { overlay::OVERHEAD } else { HEADERS },
    };
    Ok(Host::new(node, settings))
}
