//! A group of sessions: both sides and the path between them.

use std::collections::BTreeMap;
use std::net::{SocketAddrV4, TcpListener};
use std::path::Path as Folder;
use std::thread::JoinHandle;
use std::time::Instant;

use midpath_core::node::{EndId, Limits};
use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::Ended;
use midpath_core::units::{Rate, Time};
use midpath_node::bytes::Windows;
use midpath_node::host::{Host, Settings};
use midpath_schemes::Catalogue;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kernel::{self, LINUX, Opening, Outcome};
use crate::path::Path;
use crate::plan::{Opener, Order, Plan};
use crate::seen::Seen;
use crate::tun::Tun;

/// Conversations at once: those of a group have Linux's settings in common.
pub const GROUP: u64 = 16;

/// How long a group may take.
const PATIENCE: Time = Time::from_secs(150);

/// Linux is node 1, we are node 2; node 0's address is a network's.
const SCENARIO: &str = r#"
scheme = "SCHEME"
[topology]
nodes = [{ name = "other", kind = "host" }, { name = "linux" }, { name = "ours", kind = "host" }]
links = [
    { a = "other", b = "linux", rate = "1 Gbps", delay = "1 ms" },
    { a = "linux", b = "ours", rate = "1 Gbps", delay = "1 ms" },
]
[schemes.SCHEME]
min_rto = "200 ms"
delack_timeout = "40 ms"
SETTINGS
[[flow]]
from = "other"
to = "ours"
size = "1 kB"
"#;

/// What belongs to one group: Linux's settings, and ours.
pub struct Terms {
    pub scheme: &'static str,
    pub ours: String,
    pub linux: Vec<(&'static str, &'static str)>,
    pub harm: f64,
}

impl Terms {
    pub fn of(group: u64) -> Terms {
        let bit = |n: u64| (group / n).is_multiple_of(2);
        let on = |yes: bool| if yes { "1" } else { "0" };
        let ecn = ["false", "true", "\"accurate\""][(group % 3) as usize];
        // Every fourth time one side alone lacks what the other offers.
        let (sack, stamps) = (group % 8 != 3, group % 8 != 5);
        Terms {
            scheme: ["newreno", "cubic"][(group % 2) as usize],
            ours: format!("ecn = {ecn}\nsack = {sack}\ntimestamps = {stamps}"),
            linux: vec![
                ("tcp_sack", on(bit(1) || bit(4))),
                ("tcp_timestamps", on(bit(2) || bit(8))),
                ("tcp_window_scaling", on(!bit(4) || bit(2))),
                // None, RFC 3168, that if it is asked for, RFC 9768 without its option.
                ("tcp_ecn", ["0", "1", "2", "3"][(group / 2 % 4) as usize]),
                ("tcp_ecn_option", "0"),
                ("tcp_rmem", if bit(8) { "4096 131072 6291456" } else { "4096 8192 16384" }),
            ],
            harm: [0.0, 0.005, 0.02, 0.01][(group % 4) as usize],
        }
    }
}

/// What became of each conversation, by its number.
pub type Verdicts = BTreeMap<u64, Result<(), String>>;

/// Our side of one conversation.
struct Ours {
    plan: Plan,
    end: Option<EndId>,
    flow: Option<FlowId>,
    written: usize,
    got: Vec<u8>,
    stalled: Option<Time>,
    linux: Option<JoinHandle<Outcome>>,
    verdict: Option<Result<(), String>>,
}

pub struct SessionGroup<'a> {
    tun: &'a mut Tun,
    host: Host,
    path: Path,
    epoch: Instant,
    next_flow: u32,
    pub seen: Seen,
}

fn host(terms: &Terms, first_flow: u32) -> Host {
    let text = SCENARIO.replace("SCHEME", terms.scheme).replace("SETTINGS", &terms.ours);
    let options = midpath_sim::RunOptions::default();
    let setup = midpath_sim::prepare(&text, Folder::new("."), &options, &Catalogue::standard()).expect("a scenario");
    let transport = setup.transport().expect("it carries flows");
    let node = setup.pulled_network().expect("it has nodes").nodes.into_iter().nth(2).expect("ours");
    let windows = Windows::new(16 << 20, 1 << 19);
    let settings =
        Settings { transport, mtu: 1500, accepts: true, windows, limits: Limits::default(), first_flow, overhead: 0 };
    let mut host = Host::new(node, settings).both_ways();
    host.set_rate(PortId(0), Some(Rate::from_mbps(400)), Time::ZERO);
    host
}

impl SessionGroup<'_> {
    pub fn new(tun: &mut Tun, group: u64) -> SessionGroup<'_> {
        let terms = Terms::of(group);
        for (name, value) in &terms.linux {
            // What a namespace or a kernel does not have stays as it is.
            let _ = std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value);
        }
        let first_flow = (group * 64 % 8_000) as u32;
        let path = Path::new(stream(group, Purpose::Fault, 9), terms.harm);
        SessionGroup {
            tun,
            host: host(&terms, first_flow),
            path,
            epoch: Instant::now(),
            next_flow: first_flow,
            seen: Seen::default(),
        }
    }

    fn now(&self) -> Time {
        Time(self.epoch.elapsed().as_nanos() as u64 * 1000)
    }

    /// A conversation begins.
    fn begin(&mut self, number: u64) -> Ours {
        let plan = Plan::draw(number);
        let mut ours = Ours {
            plan: plan.clone(),
            end: None,
            flow: None,
            written: 0,
            got: Vec::new(),
            stalled: None,
            linux: None,
            verdict: None,
        };
        if plan.opener == Opener::Linux {
            // Ours are known by Linux's port and this one: the flow's number follows from both.
            let to = 0x1400 + 1000 + (number % 1000) as u16;
            ours.flow = Some(FlowId(u32::from(to - 0x1400) << 15));
            ours.linux = Some(kernel::begin(Opening::Connect(to), plan));
            return ours;
        }
        // As `Host::connect` counts: we are the node with the higher number.
        self.next_flow += 1;
        let flow = 2 * self.next_flow + 1;
        let from = 0x8000 | (flow & 0x7fff) as u16;
        let opening = match TcpListener::bind(SocketAddrV4::new(LINUX, from)) {
            Ok(listener) => Opening::Listen(listener),
            Err(error) => {
                ours.verdict = Some(Err(format!("Linux cannot listen: {error}")));
                return ours;
            }
        };
        ours.linux = Some(kernel::begin(opening, plan));
        let now = self.now();
        ours.end = Some(self.host.connect(NodeId(1), now));
        ours
    }

    /// Has a group of conversations.
    pub fn sit(mut self, numbers: &[u64], seen: &mut Seen) -> (Verdicts, [u64; 4]) {
        let mut all: Vec<(u64, Ours)> = numbers.iter().map(|n| (*n, self.begin(*n))).collect();
        while all.iter().any(|(_, ours)| ours.verdict.is_none()) {
            self.carry();
            let now = self.now();
            let news = self.host.take_changed();
            for (_, ours) in &mut all {
                find(ours, news.iter(), &self.host);
                go_on(ours, &mut self.host, now);
                decide(ours, &self.host, now);
            }
        }
        // Linux has to hear the last acknowledgements.
        let until = self.now() + Time::from_ms(50);
        while self.now() < until {
            self.carry();
        }
        *seen = self.seen;
        (all.into_iter().map(|(n, ours)| (n, ours.verdict.unwrap_or(Ok(())))).collect(), self.path.done)
    }

    /// Packets, for a moment.
    fn carry(&mut self) {
        let mut room = [0; 2048];
        let now = self.now();
        self.host.on_time(now);
        self.host.on_tick(now);
        for (_, frame) in self.host.frames() {
            self.path.send(&frame, true, now);
        }
        while let Ok(Some(bytes)) = self.tun.read(&mut room) {
            if room[0] >> 4 == 4 {
                self.path.send(&room[..bytes], false, now);
            }
        }
        while let Some((to_linux, packet)) = self.path.arrived(now) {
            self.seen.note(&packet, to_linux);
            if to_linux {
                self.tun.write(&packet);
            } else if let Err(error) = self.host.on_frame(PortId(0), &packet, now) {
                println!("a packet of Linux's is refused: {error}: {packet:02x?}");
            }
        }
        let wait = self.path.next_wake().min(self.host.next_wake()).saturating_sub(self.now()).min(Time::from_ms(2));
        let wait = Timespec { tv_sec: 0, tv_nsec: (wait.0 / 1000) as i64 };
        let _ = poll(&mut [PollFd::from_borrowed_fd(self.tun.fd(), PollFlags::IN)], Some(&wait));
    }
}

/// The flow that Linux has opened.
fn find<'a>(ours: &mut Ours, mut news: impl Iterator<Item = &'a EndId>, host: &Host) {
    if ours.end.is_some() {
        return;
    }
    let Some(flow) = ours.flow else { return };
    ours.end = news.find(|end| !end.active && end.flow.0 >> 15 == flow.0 >> 15).copied();
    if ours.end.is_none() {
        ours.end = host.node().endpoints().map(|(flow, active, _)| (flow, active)).find_map(|(known, active)| {
            (!active && known.0 >> 15 == flow.0 >> 15).then_some(EndId { flow: known, peer: NodeId(1), active: false })
        });
    }
}

fn go_on(ours: &mut Ours, host: &mut Host, now: Time) {
    let Some(end) = ours.end.filter(|_| ours.verdict.is_none()) else { return };
    let Some(incoming) = host.incoming(end) else { return };
    let (all, plan) = (incoming.is_done(), &ours.plan);
    if plan.our_order == Order::WriteFirst || all {
        let until = if plan.we_reset { plan.we_send.len() / 2 } else { plan.we_send.len() };
        ours.written += host.write(end, &plan.we_send[ours.written..until], now);
        if plan.we_reset && now >= Time::from_ms(plan.stall_ms) {
            host.abort(end, now);
            return;
        }
        if ours.written == until && !plan.we_reset {
            host.close(end, now);
        }
    }
    let stall = *ours.stalled.get_or_insert(if plan.we_stall { now + Time::from_ms(plan.stall_ms) } else { now });
    if now >= stall {
        host.read(end, 9000, &mut ours.got, now);
    }
}

/// Whether all is over, and as it should be.
fn decide(ours: &mut Ours, host: &Host, now: Time) {
    if ours.verdict.is_some() {
        return;
    }
    let finished = ours.linux.as_ref().is_some_and(|linux| linux.is_finished());
    let ended = ours.end.map(|end| {
        let sent = host.outgoing(end).and_then(|o| o.ended());
        (sent, host.incoming(end).and_then(|i| i.ended()), host.incoming(end).is_some_and(|i| i.is_done()))
    });
    let breaks = ours.plan.linux_resets || ours.plan.we_reset;
    let over = match ended {
        _ if ours.plan.we_reset => true,
        Some((Some(Ended::Complete), _, true)) => true,
        Some((sent, received, _)) => [sent, received].into_iter().flatten().any(|why| why != Ended::Complete),
        None => false,
    };
    if now > PATIENCE {
        let written = ours.written;
        ours.verdict = Some(Err(format!(
            "not over: Linux {finished}, ours {ended:?}, {written} written, {} read",
            ours.got.len()
        )));
    } else if finished && (over || breaks && ended.is_none()) {
        let Some(linux) = ours.linux.take() else { return };
        let outcome = linux.join().unwrap_or_else(|_| Err("Linux's application died".into()));
        ours.verdict = Some(weigh(ours, outcome, ended));
    }
}

type How = Option<(Option<Ended>, Option<Ended>, bool)>;

fn weigh(ours: &Ours, linux: Outcome, ended: How) -> Result<(), String> {
    let plan = &ours.plan;
    if !plan.linux_sends.starts_with(&ours.got) {
        return Err(format!("we have read something else, {} bytes", ours.got.len()));
    }
    if plan.we_reset {
        // An error, or nothing was to come and its own direction was over.
        return match linux {
            Ok(got) if got.len() == plan.we_send.len() / 2 => Err("Linux takes our reset for an end".into()),
            Ok(got) => Err(format!("Linux has read {} bytes and an end", got.len())),
            Err(_) => Ok(()),
        };
    }
    if plan.linux_resets {
        return match ended {
            Some((_, Some(Ended::Complete), _)) => Err("we take Linux's reset for an end".into()),
            _ => Ok(()),
        };
    }
    let got = linux.map_err(|why| format!("Linux: {why}; ours {ended:?}"))?;
    if got != plan.we_send {
        return Err(format!("Linux has read {} of {} bytes, or other ones", got.len(), plan.we_send.len()));
    }
    if ours.got != plan.linux_sends || !matches!(ended, Some((_, Some(Ended::Complete), true))) {
        return Err(format!("we have read {} of {} bytes: {ended:?}", ours.got.len(), plan.linux_sends.len()));
    }
    Ok(())
}
