//! The vectors that every implementation of RPM in this project passes, event by event:
//! `tests/vectors/rpm`, written by a model that shares no code with this one. Each goes through a
//! whole port. `net/p4` plays them to the P4 program, too.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use midpath_core::packet::{Ecn, Flags, FlowId, Kind, NodeId, Packet, Pkt, Pool};
use midpath_core::queue::{
    Aqm, Codel, CodelDataPlane, CodelParams, DelayStep, Done, NoAqm, Queue, Scheduler, Signal, Unsignalled, Verdict,
    View,
};
use midpath_core::roles::{Action, Backlog, Inbound, LinkInfo, Port, PortCtx, StandalonePort};
use midpath_core::units::{Rate, Time};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::rpm::params::{Kept, Mode, RpmParams};
use crate::rpm::registers::Registers;
use crate::rpm::signal::{Counts, Rpm};

/// Registers in these tests: more than the places that the vectors name.
const PLACES: u32 = 64;
/// Who sends what goes out, and who gets it.
const SENDER: NodeId = NodeId(1);
const RECEIVER: NodeId = NodeId(2);

#[derive(Deserialize)]
struct File {
    params: Params,
    usual: BTreeMap<String, Map<String, Value>>,
    flows: BTreeMap<String, Place>,
    events: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
pub(super) struct Place {
    pub(super) place: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    pub(super) aqm: String,
    pub(super) target_ns: u64,
    pub(super) interval_ns: u64,
    pub(super) mtu_bytes: u32,
    pub(super) mode: Mode,
    pub(super) registers: Kept,
    pub(super) aggregate: bool,
    pub(super) register_max: u16,
    pub(super) age_ns: u64,
    #[serde(default)]
    pub(super) window_mib: u32,
}

impl Params {
    fn ours(&self) -> RpmParams {
        RpmParams {
            mode: self.mode,
            registers: self.registers,
            size: PLACES,
            register_max: self.register_max,
            age: Time::from_ns(self.age_ns),
            aggregate: self.aggregate,
            ..RpmParams::default()
        }
    }
}

/// An event with what it must give.
#[derive(Debug, Deserialize)]
#[serde(tag = "dir", rename_all = "lowercase")]
pub(super) enum Event {
    Out(Out),
    In(In),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Out {
    pub(super) t: u64,
    pub(super) flow: String,
    pub(super) sojourn: u64,
    pub(super) behind: u64,
    pub(super) bytes: u32,
    pub(super) ecn: String,
    pub(super) tcp: bool,
    pub(super) flags: String,
    pub(super) signal: bool,
    pub(super) verdict: String,
    pub(super) counted: Option<String>,
    pub(super) register: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct In {
    pub(super) t: u64,
    pub(super) flow: String,
    pub(super) flags: String,
    pub(super) ece: bool,
    pub(super) register: u16,
}

pub(super) fn flags(text: &str) -> Flags {
    let bit = |name| match name {
        "SYN" => Flags::SYN,
        "RST" => Flags::RST,
        "FIN" => Flags::FIN,
        "ACK" => Flags::ACK,
        "ECE" => Flags::ECE,
        "CWR" => Flags::CWR,
        "AE" => Flags::AE,
        other => panic!("no flag {other}"),
    };
    text.split_whitespace().fold(Flags(0), |all, name| all.with(bit(name)))
}

fn ecn(text: &str) -> Ecn {
    match text {
        "not-ect" => Ecn::NotEct,
        "ect0" => Ecn::Ect0,
        "ect1" => Ecn::Ect1,
        "ce" => Ecn::Ce,
        other => panic!("no codepoint {other}"),
    }
}

/// What can be seen of a port from outside, beside what it sends.
#[derive(Default)]
struct Sight {
    behind: u64,
    chosen: bool,
    counts: Counts,
    for_all: u16,
}

/// A queue that has the one packet which leaves now, with so many bytes behind it.
struct Leaving(Option<Pkt>, Arc<Mutex<Sight>>);

impl Scheduler for Leaving {
    fn admits(&self, _packet: &Packet, _waiting: Backlog) -> bool {
        true
    }
    fn push(&mut self, pkt: Pkt, _pool: &Pool) {
        self.0 = Some(pkt);
    }
    fn pop(&mut self, _pool: &Pool) -> Option<Pkt> {
        self.0.take()
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: 1, bytes: self.1.lock().unwrap().behind }
    }
    fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        self.0.take().into_iter().for_each(give);
    }
}

/// An AQM whose choice can be seen. It doesn't hear that the queue is empty after a drop: the
/// vectors' is not.
struct Seen(Box<dyn Aqm>, Arc<Mutex<Sight>>);

impl Aqm for Seen {
    fn watches_leaving(&self) -> bool {
        self.0.watches_leaving()
    }
    fn dequeue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let verdict = self.0.dequeue(packet, view);
        self.1.lock().unwrap().chosen = verdict == Verdict::Signal;
        verdict
    }
    fn signalled(&mut self, packet: &Packet) {
        self.0.signalled(packet);
    }
    fn unable(&mut self, packet: &Packet) -> Unsignalled {
        self.0.unable(packet)
    }
}

/// A signal whose counts can be seen.
struct Told(Rpm, Arc<Mutex<Sight>>);

impl Told {
    fn show(&self) {
        let mut sight = self.1.lock().unwrap();
        (sight.counts, sight.for_all) = (self.0.counts(), self.0.waiting_for_all());
    }
}

impl Signal for Told {
    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Done {
        let done = self.0.signal(pkt, ctx);
        self.show();
        done
    }
    fn watches_leaving(&self) -> bool {
        self.0.watches_leaving()
    }
    fn leaving(&mut self, pkt: &Pkt, left: Backlog, ctx: &mut PortCtx<'_>) {
        self.0.leaving(pkt, left, ctx);
    }
    fn watches_inbound(&self) -> bool {
        self.0.watches_inbound()
    }
    fn inbound(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        self.0.inbound(pkt, ctx);
        self.show();
    }
}

/// What a packet that leaves gives: whether it was chosen, what it got, what the register said, and
/// the register.
pub(super) type Left = (bool, &'static str, Option<&'static str>, u16);

/// An implementation that plays events.
pub(super) trait Plays {
    /// A packet leaves.
    fn out(&mut self, event: &Out) -> Left;
    /// A packet comes back: whether it tells its receiver of a signal, and the register.
    fn back(&mut self, event: &In) -> (bool, u16);
}

/// A port that plays events.
pub(super) struct Player {
    port: Queue<Seen, Leaving, Told>,
    bench: StandalonePort,
    params: RpmParams,
    sight: Arc<Mutex<Sight>>,
    flows: BTreeMap<String, FlowId>,
}

impl Player {
    pub(super) fn new(asked: &Params, places: &BTreeMap<String, Place>) -> Player {
        let params = asked.ours();
        let link = LinkInfo { rate: Rate::from_gbps(1), delay: Time::ZERO, mtu: asked.mtu_bytes, peer: RECEIVER };
        let mut bench = StandalonePort::new(link);
        let registers = Registers::new(&params);
        let flows = flows_at(places, &registers);
        bench.state = Some(Box::new(registers));
        let sight = Arc::new(Mutex::new(Sight::default()));
        let port = Queue::new(
            Seen(asked.aqm(), Arc::clone(&sight)),
            Leaving(None, Arc::clone(&sight)),
            Told(Rpm::new(&params), Arc::clone(&sight)),
        );
        Player { port, bench, params, sight, flows }
    }

    fn registers(&self) -> &Registers {
        self.bench.state.as_ref().and_then(|s| s.downcast_ref()).expect("registers")
    }

    /// The flow's register; with `aggregate` the port's.
    fn register(&self, flow: &str) -> u16 {
        if self.params.aggregate {
            return self.sight.lock().unwrap().for_all;
        }
        let packet = Packet::new(self.flows[flow], SENDER, RECEIVER, 40);
        self.registers().waiting(self.registers().flow(packet.key, SENDER))
    }
}

impl Plays for Player {
    fn out(&mut self, event: &Out) -> Left {
        let now = Time::from_ns(event.t);
        let mut packet = Packet::new(self.flows[&event.flow], SENDER, RECEIVER, event.bytes);
        (packet.ecn, packet.flags, packet.queued) = (ecn(&event.ecn), flags(&event.flags), now);
        packet.kind = if event.tcp { Kind::Segment } else { Kind::Datagram };
        packet.queued = now - Time::from_ns(event.sojourn);
        let before = {
            let mut sight = self.sight.lock().unwrap();
            (sight.behind, sight.chosen) = (event.behind, false);
            sight.counts
        };
        self.bench.now = now;
        let pkt = self.bench.pool.insert(packet);
        self.port.outbound(pkt, &mut self.bench.ctx());
        let verdict = match self.port.poll_transmit(&mut self.bench.ctx()) {
            None => "drop",
            Some(pkt) if self.bench.pool[&pkt].ecn != packet.ecn => "mark",
            Some(_) => "pass",
        };
        let dropped = matches!(self.bench.actions.pop_front(), Some(Action::Drop(..)));
        assert_eq!(dropped, verdict == "drop");
        let sight = self.sight.lock().unwrap();
        let (chosen, counted) = (sight.chosen, said(before, sight.counts));
        drop(sight);
        (chosen, verdict, counted, self.register(&event.flow))
    }

    fn back(&mut self, event: &In) -> (bool, u16) {
        self.bench.now = Time::from_ns(event.t);
        let mut packet = Packet::new(self.flows[&event.flow], RECEIVER, SENDER, 40);
        packet.flags = flags(&event.flags);
        let earlier = self.sight.lock().unwrap().counts.told;
        let pkt = self.bench.pool.insert(packet);
        if self.port.watches_inbound() {
            let back = self.port.inbound(pkt, &mut self.bench.ctx());
            let Inbound::Forward(pkt) = back else { panic!("{back:?}") };
            let has_it = self.sight.lock().unwrap().counts.told > earlier;
            let asked = if has_it { packet.flags.with(Flags::ECE) } else { packet.flags };
            assert_eq!(self.bench.pool[&pkt].flags, asked, "no other flag changes");
        }
        let has_it = self.sight.lock().unwrap().counts.told > earlier;
        (has_it, self.register(&event.flow))
    }
}

/// What the register said between two counts.
fn said(before: Counts, after: Counts) -> Option<&'static str> {
    let each = |c: Counts| [c.counted, c.saturated, c.collisions, c.no_acks, c.accecn];
    let names = ["counted", "saturated", "collision", "no-acks", "accecn"];
    let (before, after) = (each(before), each(after));
    let mut changed = (0..5).filter(|i| before[*i] != after[*i]);
    let first = changed.next().map(|i| names[i]);
    assert_eq!(changed.next(), None, "one answer");
    first
}

/// Flows whose registers are where a file wants them.
fn flows_at(places: &BTreeMap<String, Place>, registers: &Registers) -> BTreeMap<String, FlowId> {
    let at = |flow: u32, place: usize| {
        let packet = Packet::new(FlowId(flow), SENDER, RECEIVER, 40);
        registers.flow(packet.key, SENDER).place() == place
    };
    let mut next = 0;
    let mut find = |place: usize| {
        next = (next + 1..).find(|flow| at(*flow, place)).expect("there are many");
        FlowId(next)
    };
    places.iter().map(|(name, p)| (name.clone(), find(p.place))).collect()
}

impl Params {
    fn aqm(&self) -> Box<dyn Aqm> {
        let (target, interval) = (Time::from_ns(self.target_ns), Time::from_ns(self.interval_ns));
        let codel = CodelParams { target, interval };
        match self.aqm.as_str() {
            _ if self.mode == Mode::Off => Box::new(NoAqm),
            "codel" => Box::new(Codel::new(codel)),
            "codel-dataplane" => Box::new(CodelDataPlane::new(codel)),
            "step" => Box::new(DelayStep::new(target)),
            other => panic!("no AQM {other}"),
        }
    }
}

/// The first event that gives something else than the file says.
fn first_difference(file: &File, player: &mut dyn Plays) -> Option<String> {
    file.events.iter().enumerate().find_map(|(i, given)| {
        let mut event = file.usual[given["dir"].as_str().expect("a direction")].clone();
        event.extend(given.clone());
        let event: Event = serde_json::from_value(Value::Object(event)).expect("an event");
        let differs = match &event {
            Event::Out(out) => {
                let asked = (out.signal, out.verdict.as_str(), out.counted.as_deref(), out.register);
                let got = player.out(out);
                (got != asked).then(|| format!("{got:?}"))
            }
            Event::In(back) => {
                let got = player.back(back);
                (got != (back.ece, back.register)).then(|| format!("{got:?}"))
            }
        };
        differs.map(|got| format!("event {i}: {got} at {event:?}"))
    })
}

/// Every file through an implementation that `player` makes for it, but for those about strangers'
/// packets: nobody forges any in the simulator, and the P4 program does not look at TCP's numbers.
pub(super) fn pass_all<P: Plays>(player: impl Fn(&Params, &BTreeMap<String, Place>) -> P) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/rpm");
    let entries = std::fs::read_dir(&folder).expect("the vectors").map(|e| e.expect("an entry").path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    assert!(files.len() >= 31, "{} files", files.len());
    let mut events = 0;
    let mut differences = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable");
        let file: File = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if file.params.window_mib > 0 {
            println!("skipped: {}: the eBPF programs alone look at TCP's numbers", path.display());
            continue;
        }
        events += file.events.len();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        let difference = first_difference(&file, &mut player(&file.params, &file.flows));
        differences.extend(difference.map(|d| format!("{}: {d}", name.unwrap_or_default())));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(events > 4000, "{events} events");
}
