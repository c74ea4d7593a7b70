//! One run of a scenario: the emulator on one thread, the ends of all flows on another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use midpath_core::packet::NodeId;
use midpath_core::units::Time;
use midpath_sim::measure::Capacity;
use midpath_sim::setup::{Direction, Setup};
use rustix::process::Signal;
use rustix::system::RebootCommand;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::emulated::{Emulated, Lines, Losses};
use crate::emulator::{Emulator, Sample, Watched};
use crate::ends::{Ends, Flow, Wanted, Watch};
use crate::frame::{Conversation, TCP};
use crate::packets::now_ns;
use crate::plan::Asked;
use crate::programs::{Program, Programs};
use crate::routers::Routers;

/// From "ready" to the first flow: all threads are there by then.
const LEAD_NS: u64 = 100_000_000;
/// The same where nodes have said that they are there: meanwhile what they send waits.
const SHORT_LEAD_NS: u64 = 10_000_000;
/// Longer than nodes take to come up: nothing is looked at before they have.
const NEVER: Time = Time::from_secs(86_400);
/// The links come before the ends: what is late there is late for all.
const LINKS_PRIORITY: libc::c_int = 10;
const ENDS_PRIORITY: libc::c_int = 5;
/// Looks are no nearer than this: each is a system call for each flow.
const NEAREST: Time = Time::from_ms(5);

/// What to run, one line of JSON on standard input.
#[derive(Debug, Deserialize)]
pub struct Order {
    /// The scenario.
    #[serde(flatten)]
    pub asked: Asked,
    /// The namespace with the links' devices, as a file.
    pub between: String,
    /// Those of hosts, by node.
    pub hosts: BTreeMap<usize, String>,
    /// The kernel's congestion controls by scheme.
    pub controls: BTreeMap<String, String>,
    /// Schemes whose packets the kernel spaces out.
    pub paced: Vec<String>,
    /// When a run without a `stop` ends at the latest.
    pub patience_s: f64,
    /// Directions of links (twice the link's number, one more for its end `b`) before which the kernel has a queue.
    #[serde(default)]
    pub kernel_queues: Vec<usize>,
    /// Where captures go.
    pub files: Option<String>,
    /// Hosts and routers are Midpath's nodes, on lines like these: flows go by the nodes' entrances, and begin with a
    /// second line on standard input.
    #[serde(default)]
    pub lines: Option<Lines>,
    /// Programs of somebody else at hosts.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// When routes change, in seconds, and the script that changes them.
    #[serde(default)]
    pub reroutes: Vec<(f64, String)>,
    /// The file that was to be mounted at /etc/hosts for them.
    pub names: Option<String>,
}

/// Reads the order, says that it is ready, runs, and gives the result.
pub fn run() -> Result<Value, String> {
    die_with_parent();
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    let order: Order = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    let setup = order.asked.setup()?;
    let ran = carry_out(&setup, &order).map_err(|error| error.to_string())?;
    Ok(ran.to_json(&setup))
}

/// A laboratory whose master is killed ends, too.
fn die_with_parent() {
    // It fails for no signal that there is.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
}

/// Switches the guest off. On a machine of its own this is not the first process.
pub fn halt() -> Result<(), String> {
    if std::process::id() != 1 {
        return Err("only PID 1 of a guest may power it off".into());
    }
    rustix::system::reboot(RebootCommand::PowerOff).map_err(|error| io::Error::from(error).to_string())
}

/// Real-time priority for this thread, if that is allowed; what it starts has none.
#[allow(unsafe_code)]
pub fn prioritise(priority: libc::c_int) -> bool {
    let wanted = libc::sched_param { sched_priority: priority };
    // SAFETY: a structure that lives over the call; 0 is this thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const wanted) == 0 }
}

/// Moves this thread into a network namespace.
pub fn enter(file: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
}

struct Ran {
    emulator: Emulator,
    flows: Vec<Flow>,
    watch: Watch,
    looks: Vec<crate::ends::Look>,
    progress: Vec<(Time, Vec<u64>)>,
    /// On the machine's monotonic clock.
    begin_ns: u64,
    span: Time,
    ends_late: Time,
    real_time: bool,
    lines: Option<Lines>,
    programs: Option<Value>,
    names: bool,
}

fn carry_out(setup: &Setup, order: &Order) -> io::Result<Ran> {
    let directions = setup.directions().map_err(|error| io::Error::other(error.to_string()))?;
    let seed = setup.scenario.seed;
    let mut ways: Vec<Emulated> = Vec::new();
    for (direction, index) in directions.into_iter().zip(0..) {
        let rate = direction.info.rate;
        let way = Emulated::new(direction, seed, index);
        let kernel = order.kernel_queues.contains(&ways.len());
        ways.push(match order.lines {
            Some(lines) => way.under_nodes(rate, lines),
            None if kernel => way.behind_the_kernel_s(),
            None => way,
        });
    }
    let before = before(setup, order)?;
    let routers = (!order.kernel_queues.is_empty()).then(|| Routers::new(setup, &order.kernel_queues));
    for capture in setup.captures() {
        let (NodeId(node), port) = capture.place;
        let link = setup.topology.ports(node as usize)[usize::from(port.0)].link as usize;
        let way = &mut ways[setup.directed(link, node as usize) as usize];
        way.capture = Some(capture);
        // What programs say is not filler.
        way.captured = if order.programs.is_empty() { way.captured } else { usize::MAX };
    }
    let watched = (!order.programs.is_empty()).then(|| watched(setup));
    let hosts: BTreeMap<usize, File> =
        order.hosts.iter().map(|(node, path)| Ok((*node, File::open(path)?))).collect::<io::Result<_>>()?;
    let between = File::open(&order.between)?;
    let wanted = wanted(setup, order);
    let (watch, lines) = (watch(setup), order.lines);
    let (over, up, on_the_way) = (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
    let (say, opened) = mpsc::channel::<Result<bool, String>>();
    thread::scope(|scope| {
        // It is gone with this block: a thread that waits for a beginning then ends, too.
        let (begin, begins) = mpsc::channel::<u64>();
        let (over, up, every, on_the_way) = (&over, &up, watch.every, &on_the_way);
        let links = scope.spawn(move || -> io::Result<Emulator> {
            let (first, then) = match before {
                Some(before) => (before, Some(ways)),
                None => (ways, None),
            };
            let opened = enter(&between).and_then(|()| Emulator::open(first, routers, watched));
            let mut emulator = match opened {
                Ok(emulator) => emulator,
                Err(error) => {
                    let _ = say.send(Err(error.to_string()));
                    return Err(error);
                }
            };
            let _ = say.send(Ok(prioritise(LINKS_PRIORITY)));
            if let Some(ways) = then {
                emulator.run(now_ns(), NEVER, up, on_the_way)?;
                emulator.begin_anew(ways);
            }
            let Ok(begin_ns) = begins.recv() else { return Ok(emulator) };
            emulator.run(begin_ns, every, over, on_the_way)?;
            Ok(emulator)
        });
        let real_time = match opened.recv() {
            Ok(Ok(real_time)) => real_time,
            Ok(Err(error)) => return Err(io::Error::other(format!("cannot open the links: {error}"))),
            Err(_) => return Err(io::Error::other("the links could not be opened")),
        };
        let made = Ends::new(&hosts, &wanted, lines);
        prioritise(ENDS_PRIORITY);
        println!("ready");
        let lead = if lines.is_some() { wait_for_nodes() } else { Ok(LEAD_NS) };
        up.store(true, Ordering::Relaxed);
        let (mut ends, lead) = (made?, lead?);
        let mut programs = Programs::new(&order.programs);
        if let Err(error) = programs.serve(&|host| ends.enter(host)) {
            programs.stop(Time::ZERO);
            return Err(error);
        }
        let begin_ns = now_ns() + lead;
        let _ = begin.send(begin_ns);
        let patience = Time::from_secs_f64(order.patience_s);
        let stop = setup.scenario.stop;
        ends.scripts = order.reroutes.iter().map(|(at, script)| (Time::from_secs_f64(*at), script.clone())).collect();
        let span = ends.run(begin_ns, stop, patience, &watch, &mut programs, on_the_way);
        over.store(true, Ordering::Relaxed);
        let emulator = links.join().map_err(|_| io::Error::other("the links' thread failed"))??;
        programs.stop(*span.as_ref().unwrap_or(&patience));
        let span = span?;
        let programs = (!programs.is_empty()).then(|| programs.to_json());
        let Ends { flows, looks, progress, late, .. } = ends;
        let watch = watch.clone();
        let read = |path: &str| std::fs::read(path).ok();
        let names = order.names.as_deref().is_some_and(|file| read(file) == read("/etc/hosts"));
        let ends_late = late;
        Ok(Ran {
            emulator,
            flows,
            looks,
            progress,
            begin_ns,
            span,
            ends_late,
            real_time,
            watch,
            lines,
            programs,
            names,
        })
    })
    .and_then(|ran| write_captures(ran, order.files.as_deref()))
}

/// What hosts say to each other is watched.
fn watched(setup: &Setup) -> Watched {
    let host = |node| setup.topology.is_host(node);
    let hosts = setup.topology.links().iter().map(|link| [host(link.a), host(link.b)]);
    let hosts = hosts.flat_map(|[a, b]| [[a, b], [b, a]]);
    Watched { hosts: hosts.collect(), looks: setup.scenario.measure.flows as usize, ..Watched::default() }
}

/// Until whoever has started this says that all nodes are up: how long after that time begins.
fn wait_for_nodes() -> io::Result<u64> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line)? {
        0 => Err(io::Error::other("the nodes did not report that they are up")),
        _ => Ok(SHORT_LEAD_NS),
    }
}

/// The lines on which nodes find each other before time begins; none where there are no nodes.
fn before(setup: &Setup, order: &Order) -> io::Result<Option<Vec<Emulated>>> {
    let Some(lines) = order.lines else { return Ok(None) };
    let directions = setup.directions().map_err(|error| io::Error::other(error.to_string()))?;
    let way = |(direction, index): (Direction, u64)| {
        let rate = direction.info.rate;
        Emulated::new(direction, setup.scenario.seed, index).under_nodes(rate, lines).before_all()
    };
    Ok(Some(directions.into_iter().zip(0..).map(way).collect()))
}

fn write_captures(mut ran: Ran, folder: Option<&str>) -> io::Result<Ran> {
    for capture in ran.emulator.ways.iter_mut().filter_map(|way| way.capture.take()) {
        if let Some(folder) = folder {
            let path = Path::new(folder).join(&capture.name);
            std::fs::write(path, capture.file())?;
        }
    }
    Ok(ran)
}

fn wanted(setup: &Setup, order: &Order) -> Vec<Wanted> {
    let of = |i: usize| {
        let (flow, scheme) = (setup.flows.get(i).flow, setup.scheme_of(i));
        Wanted {
            ends: (flow.src as usize, flow.dst as usize),
            size: flow.size.map(|size| size.0),
            start: flow.start,
            stop: flow.stop,
            control: order.controls.get(scheme).cloned().unwrap_or_default(),
            paced: order.paced.iter().any(|paced| paced == scheme),
            writes: flow.writes.clone().map(|laws| (laws, setup.scenario.seed)),
        }
    };
    (0..setup.flows.len()).map(of).collect()
}

fn watch(setup: &Setup) -> Watch {
    let measure = &setup.scenario.measure;
    let mut names: Vec<&str> = Vec::new();
    let mut group = |name| {
        names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    };
    let groups = setup.flows.iter().map(|info| group(info.flow.group())).collect();
    let span = setup.scenario.stop.unwrap_or_default().0 / u64::from(measure.points.max(2));
    let every = setup.sample_interval().max(Time(span)).max(NEAREST);
    Watch { every, flows: measure.flows as usize, groups }
}

impl Ran {
    fn to_json(&self, setup: &Setup) -> Value {
        let losses = self.losses();
        let flows: Vec<Value> = self.flows.iter().map(|flow| flow_json(flow, &losses)).collect();
        let mut report = self.emulator.report();
        report["real_time"] = json!(self.real_time);
        report["ends_late_us"] = json!(self.ends_late.as_ns() / 1000);
        report["stored"] = json!(self.emulator.stored());
        let (numbers, conversations) = self.conversations(&losses);
        let series = if setup.scenario.measure.series { self.series(setup, &numbers) } else { Vec::new() };
        let mut ran = json!({
            "began_s": self.begin_ns as f64 / 1e9, "simulated_s": self.span.as_secs_f64(), "flows": flows,
            "ports": self.ports(setup), "emulator": report, "series": series,
        });
        if let Some(watched) = &self.emulator.watched {
            ran["programs"] = json!(self.programs);
            ran["names"] = json!(self.names);
            ran["conversations"] = json!(conversations);
            ran["others"] = json!(watched.conversations.others);
        }
        ran
    }

    /// What programs said to each other, without the flows; and the flow's number that each conversation continues with.
    fn conversations(&self, losses: &BTreeMap<Conversation, Losses>) -> (BTreeMap<usize, usize>, Vec<Value>) {
        let Some(watched) = &self.emulator.watched else { return Default::default() };
        let flows = self.flows.iter().filter_map(|flow| flow.addresses);
        let there = flows.map(|(own, peer)| Conversation { protocol: TCP, from: own.into(), to: peer.into() });
        let of_flows: BTreeSet<Conversation> = there.flat_map(|there| [there, there.reversed()]).collect();
        let fate = |of: &Conversation| losses.get(of).map_or((0, 0), |found| (found.lost, found.marked));
        let rows = watched.conversations.rows(|of| !of_flows.contains(of), fate);
        let (numbers, rows): (Vec<usize>, Vec<Value>) = rows.unzip();
        (numbers.into_iter().zip(self.flows.len()..).collect(), rows)
    }

    /// What became of each conversation's packets, on all links together.
    fn losses(&self) -> BTreeMap<Conversation, Losses> {
        let mut all: BTreeMap<Conversation, Losses> = BTreeMap::new();
        for (conversation, losses) in self.emulator.ways.iter().flat_map(|way| &way.losses) {
            let sum = all.entry(*conversation).or_default();
            (sum.lost, sum.marked) = (sum.lost + losses.lost, sum.marked + losses.marked);
        }
        all
    }

    /// As docs/results.md has them, node by node.
    fn ports(&self, setup: &Setup) -> Vec<Value> {
        let topology = &setup.topology;
        let mut rows = Vec::new();
        for n in 0..topology.nodes().len() {
            for (p, at) in topology.ports(n).iter().enumerate() {
                let link = &topology.links()[at.link as usize];
                let way = &self.emulator.ways[setup.directed(at.link as usize, n) as usize];
                let counters = &way.counters;
                let used = Capacity::of(setup, at.link as usize, n);
                let delay = |q| counters.delay.quantile(q);
                rows.push(json!({
                    "node": topology.nodes()[n].name, "port": p, "peer": topology.nodes()[at.peer as usize].name,
                    "rate_bps": link.rate_from(n).0, "delay_s": link.delay.as_secs_f64(),
                    "packets": counters.packets, "bytes": counters.bytes,
                    "utilisation": used.used(counters.bytes as f64 * 8.0, Time::ZERO, self.span),
                    "drops_queue": counters.drops_queue, "drops_aqm": counters.drops_aqm,
                    "drops_fault": counters.drops_fault + way.cut, "drops_policy": counters.drops_policy,
                    "corrupted": way.corrupted, "marks": counters.marks,
                    "queue_mean_bytes": counters.waited as f64 / (self.span.0 as f64).max(1.0),
                    "queue_max_bytes": counters.max_bytes, "delay_mean_s": counters.delay.mean(),
                    "delay_p50_s": delay(0.5), "delay_p95_s": delay(0.95), "delay_p99_s": delay(0.99),
                    "delay_max_s": counters.delay.max().as_secs_f64(),
                }));
            }
        }
        rows
    }

    /// Rows of the table `series`: time, entity, metric, value.
    fn series(&self, setup: &Setup, conversations: &BTreeMap<usize, usize>) -> Vec<Value> {
        let mut rows = Vec::new();
        let mut add = |at: Time, entity: &str, metric: &str, value: f64| {
            rows.push(json!([at.as_secs_f64(), entity, metric, value]));
        };
        let faster = self.lines.map_or(1.0, |lines| lines.faster);
        let mut busiest: Vec<usize> = (0..self.emulator.ways.len()).collect();
        busiest.sort_by_key(|n| std::cmp::Reverse(self.emulator.ways[*n].counters.bytes));
        for n in busiest.into_iter().take(setup.scenario.measure.ports as usize) {
            let link = &setup.topology.links()[n / 2];
            let (from, to) = if n % 2 == 0 { (link.a, link.b) } else { (link.b, link.a) };
            let name = |n: usize| &setup.topology.nodes()[n].name;
            let entity = format!("port:{}>{}", name(from), name(to));
            for pair in self.emulator.samples[n].windows(2) {
                let [before, after] = pair else { continue };
                let bps = rate(before, after);
                // Under nodes the queues are theirs.
                if self.lines.is_none() {
                    add(after.at, &entity, "queue_bytes", after.backlog as f64);
                }
                add(after.at, &entity, "throughput_bps", bps);
                add(after.at, &entity, "utilisation", bps / link.rate_from(from).as_f64() / faster);
            }
        }
        for (group, name) in self.groups(setup).into_iter().enumerate() {
            for pair in self.progress.windows(2) {
                let [(before, had), (after, has)] = pair else { continue };
                let bytes = has[group] - had[group];
                let took = after.saturating_sub(*before).as_secs_f64();
                if took > 0.0 {
                    add(*after, &format!("group:{name}"), "goodput_bps", bytes as f64 * 8.0 / took);
                }
            }
        }
        let mut last: BTreeMap<usize, (Time, u64)> = BTreeMap::new();
        for look in &self.looks {
            let entity = format!("flow:{}", look.flow);
            add(look.at, &entity, "cwnd_bytes", f64::from(look.info.cwnd) * f64::from(look.info.mss));
            add(look.at, &entity, "srtt_s", look.info.rtt_s);
            if let Some((before, had)) = last.insert(look.flow, (look.at, look.delivered)) {
                let took = look.at.saturating_sub(before).as_secs_f64();
                if took > 0.0 {
                    add(look.at, &entity, "goodput_bps", (look.delivered - had) as f64 * 8.0 / took);
                }
            }
        }
        let mut last: BTreeMap<usize, (Time, u64)> = BTreeMap::new();
        for &(at, number, delivered) in self.emulator.watched.iter().flat_map(|watched| &watched.conversations.progress)
        {
            let Some(flow) = conversations.get(&number) else { continue };
            if let Some((before, had)) = last.insert(number, (at, delivered)) {
                let took = at.saturating_sub(before).as_secs_f64();
                add(at, &format!("flow:{flow}"), "goodput_bps", (delivered - had) as f64 * 8.0 / took);
            }
        }
        rows
    }

    fn groups<'a>(&self, setup: &'a Setup) -> Vec<&'a str> {
        let mut names = Vec::new();
        for (info, group) in setup.flows.iter().zip(&self.watch.groups) {
            if *group == names.len() {
                names.push(info.flow.group());
            }
        }
        names
    }
}

fn rate(before: &Sample, after: &Sample) -> f64 {
    let took = after.at.saturating_sub(before.at).as_secs_f64();
    if took > 0.0 { (after.bytes - before.bytes) as f64 * 8.0 / took } else { 0.0 }
}

fn flow_json(flow: &Flow, losses: &BTreeMap<Conversation, Losses>) -> Value {
    let lost = flow.addresses.map(|(own, peer)| {
        let there = Conversation { protocol: TCP, from: own.into(), to: peer.into() };
        let both = [there, there.reversed()].map(|way| losses.get(&way).copied().unwrap_or_default());
        (both[0].lost + both[1].lost, both[0].marked + both[1].marked)
    });
    let (rtt, looks, rtt_max) = flow.rtt;
    json!({
        "started_s": flow.started.map(Time::as_secs_f64), "completed_s": flow.completed.map(Time::as_secs_f64),
        "delivered_bytes": flow.delivered, "info": flow.info.map(crate::tcp_info::TcpInfo::to_json),
        "lost_packets": lost.map(|lost| lost.0), "marked_packets": lost.map(|lost| lost.1),
        "rtt_mean_s": (looks > 0).then(|| rtt / looks as f64), "rtt_max_s": (looks > 0).then_some(rtt_max),
        "error": flow.error,
    })
}
